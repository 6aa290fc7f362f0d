// Generated images: what went in, what came out of which seed, what it was compared to.
function drawings(sample) {
  return (sample.exchanges || [])
    .filter((exchange) => (exchange.role || "model") === "model")
    .flatMap((exchange) => {
      const seeds = ((exchange.request || {}).ask || {}).seeds || [];
      return ((exchange.response || {}).outputs || []).flatMap((output, j) =>
        (output.images || []).map((file) => ({ file, seed: seeds[j], note: output.note })));
    });
}

function comparedTo(sample) {
  return Object.entries(sample.log || {}).filter(([, value]) => value && typeof value === "object" && value.image);
}

function logWithoutImages(sample) {
  const images = new Set(comparedTo(sample).map(([name]) => name));
  const rest = Object.entries(sample.log || {}).filter(([name]) => !images.has(name));
  return rest.length ? Object.fromEntries(rest) : null;
}

// A video that the report has room for has a player above its frames.
function inputFigures(note, label) {
  if (!note.isStrip || !note.clip || !uriOf(note.clip)) return [imageFigure(note, false, { label })];
  const facts = [note.width ? pixels(note.width, note.height) : "", typeof note.duration_s === "number" ? `${note.duration_s.toFixed(1)} s` : ""];
  return [clipFigure("video", note, { label, file: note.clip, facts }), imageFigure({ file: note.file, isStrip: true }, false)];
}

function galleryNodes(sample) {
  const parts = promptOf(sample).flatMap((message) => message.parts || []);
  const inputs = parts.map(pictureOf).filter(Boolean);
  const made = drawings(sample);
  const wordOf = (note) => (note.isStrip ? "Video" : made.length ? "Input" : "Image");
  const numbered = (word, number, count) => (count > 1 ? `${word} ${number + 1}` : word);
  return [
    ...inputs.flatMap((note, i) => inputFigures(note, numbered(wordOf(note), i, inputs.length))),
    ...parts.filter((part) => part.audio).map((part) => clipFigure("audio", part.audio, { label: "Audio" })),
    ...made.map(({ file, seed, note }, i) => imageFigure({ file }, false, {
      label: numbered(inputs.length ? "Output" : "Image", i, made.length),
      facts: [seed === undefined ? null : `seed ${seed}`, note].filter(Boolean),
      kind: "made",
    })),
    ...comparedTo(sample).map(([name, value]) => imageFigure(value.image, false, { label: name.charAt(0).toUpperCase() + name.slice(1), kind: "compared" })),
  ];
}
