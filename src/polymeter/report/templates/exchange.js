// Exchanges: requests and responses, with every setting, and the media in it.
// The beginning of the key of a medium in a dataset, its fingerprint and the row: it names nothing to a reader.
const ROW_KEY = /^[0-9a-f]{32}:\d+:/;

// A medium is its data URI, or where it was scaled down a list of that, and width and height of the file.
function uriOf(file) {
  const found = IMAGES[file];
  return Array.isArray(found) ? found[0] : found || null;
}

// The picture of a part of a message: an image, or the strip of frames of a video.
function pictureOf(part) {
  if (part.image) return part.image;
  return part.video && part.video.file ? { ...part.video, isStrip: true } : null;
}

// The name of the file of a medium; empty: it has none.
function nameOfFile(note) {
  const named = [note.name, note.source, note.url].find((name) => typeof name === "string" && name && !ROW_KEY.test(name)) || "";
  return named.startsWith("data:") ? "" : named.replaceAll("\\", "/").replace(/\/+$/, "").split("/").pop();
}

function pixels(width, height) {
  return `${width} × ${height} px`;
}

const TINY = 200;

function absentFigure(style, said, note, otherwise) {
  const why = note.file ? "left out of this report; the file is in media/" : note.source ? String(note.source) : "no preview was kept";
  return el("figure", { class: `${style} absent` }, el("figcaption", {}, said.length ? said : otherwise, el("br"), why));
}

function imageFigure(note, isSmall, { label = "", facts = [], kind = "" } = {}) {
  const scaled = Array.isArray(IMAGES[note.file]) ? IMAGES[note.file] : null;
  const [width, height] = note.width ? [note.width, note.height] : scaled ? scaled.slice(1) : [];
  const size = width ? pixels(width, height) : "";
  const uri = note.file ? uriOf(note.file) : null;
  const style = ["image", isSmall ? "small" : "", kind].filter(Boolean).join(" ");
  const length = typeof note.duration_s === "number" ? `${note.duration_s.toFixed(1)} s` : "";
  const known = [note.isStrip ? "frames of a video" : "", note.name, size, length, ...facts].filter(Boolean);
  const said = [label ? el("strong", {}, label) : null, ...known.map((fact) => el("span", {}, fact))].filter(Boolean);
  if (!uri) return absentFigure(style, said, note, "Image");
  const alt = [label || "Image", size ? `of ${size}` : ""].filter(Boolean).join(" ");
  const isTiny = !isSmall && width && width < TINY && height < TINY;
  const image = el("img", { src: uri, alt, class: isTiny ? "tiny" : null, loading: "lazy", decoding: "async" });
  const show = () => zoom(uri, [label, ...known.filter((fact) => fact !== size)].filter(Boolean).join(" · "), note.isStrip ? null : width, height);
  const button = el("button", { type: "button", class: "image-button", title: "Show at full size", onclick: show }, image);
  return el("figure", { class: style }, button, said.length ? el("figcaption", {}, said) : null);
}

// A recording or video with its player. A report has no room for large ones.
function clipFigure(kind, note, { label, file = note.file, facts = [] }) {
  const uri = file ? uriOf(file) : null;
  const said = [el("strong", {}, label), ...[nameOfFile(note), ...facts].filter(Boolean).map((fact) => el("span", {}, fact))];
  if (!uri) return absentFigure("image", [said[0]], note, label);
  const player = el(kind, { controls: true, preload: "metadata", playsinline: kind === "video", src: uri, "aria-label": `${label} of the prompt` });
  return el("figure", { class: "image" }, player, el("figcaption", {}, said));
}

// One pixel of the file for each of the page, and from there in steps. A preview is said to be one.
function zoom(uri, said, width, height) {
  const dialog = document.getElementById("zoom");
  const image = el("img", { src: uri, alt: "Image at full size" });
  const shown = el("span", { class: "aside", role: "status" });
  let factor = 1;
  const scale = (by) => {
    factor = Math.min(Math.max(factor * by, 0.25), 16);
    image.width = Math.round(image.naturalWidth * factor);
    const isPreview = width && image.naturalWidth < width;
    const own = pixels(image.naturalWidth, image.naturalHeight);
    const what = isPreview ? `preview of ${own}; the image has ${pixels(width, height)}` : own;
    shown.textContent = `${factor === 1 ? "" : `${factor * 100} % of `}${what}`;
  };
  image.decode().then(() => scale(1), () => {});
  const button = (text, label, act) => el("button", { type: "button", "aria-label": label, onclick: act }, text);
  dialog.replaceChildren(
    el("div", { class: "zoom-head" }, el("p", {}, said, said ? el("br") : null, shown),
      el("div", { class: "zoom-tools" }, button("−", "Smaller", () => scale(0.5)), button("+", "Larger", () => scale(2)), button("Close", null, () => dialog.close()))),
    el("div", { class: "zoom-room", tabindex: "0", role: "region", "aria-label": "The image" }, image));
  dialog.showModal();
}

function partNode(part, isSmall) {
  if (typeof part === "string") return el("p", { class: "aside" }, part);
  if ("text" in part) return el("pre", {}, part.text);
  if (pictureOf(part)) return imageFigure(pictureOf(part), isSmall);
  if (part.audio) return clipFigure("audio", part.audio, { label: "Audio" });
  const [kind, note] = Object.entries(part)[0] || ["part", {}];
  return el("p", { class: "aside" }, `${kind}: ${typeof note === "string" ? note : JSON.stringify(note)}`);
}

function callNode(call) {
  const aside = ` ${[call.id, call.problem].filter(Boolean).join(" · ")}`;
  return el("div", { class: "turn" },
    el("h5", {}, `calls ${call.name || "a tool without a name"}`, el("span", { class: "aside" }, aside)),
    el("pre", {}, call.arguments));
}

function messageNode(message, isSmall) {
  if (typeof message === "string") return el("p", { class: "aside" }, message);
  const role = [message.role || "?", message.call_id ? el("span", { class: "aside" }, ` result of ${message.call_id}`) : null];
  return el("div", { class: "turn" }, el("h5", {}, role), (message.parts || []).map((part) => partNode(part, isSmall)), (message.calls || []).map(callNode));
}

function outputNode(output, number, many, continuations) {
  if (typeof output === "string") return el("p", { class: "aside" }, output);
  const facts = [];
  if (output.finish_reason) facts.push(output.finish_reason === "length" ? "reached the token limit" : `ended by ${output.finish_reason}`);
  if (output.cut && "images" in output.cut) facts.push("images scaled down by the processor");
  if (output.cut && "prompt" in output.cut) facts.push("prompt truncated");
  const [input, written, reasoned] = output.usage || [];
  if (typeof input === "number") facts.push(`${plural(input, "token")} in`);
  if (typeof written === "number") facts.push(`${plural(written, "token")} out`);
  if (typeof reasoned === "number") facts.push(`${reasoned.toLocaleString("en")} of them reasoning`);
  return el("div", { class: "turn answer" },
    el("h5", {}, many ? `answer ${number + 1}` : "answer", facts.length ? el("span", { class: "aside" }, ` ${facts.join(", ")}`) : null),
    output.reasoning ? fold("Reasoning", false, el("pre", {}, output.reasoning)) : null,
    output.isAbove ? el("p", { class: "aside" }, "The answer above.") : typeof output.text === "string" && (output.text || !output.tool_calls) ? el("pre", {}, output.text) : null,
    (output.images || []).map((file) => imageFigure({ file }, true)),
    output.logprobs ? logprobTable(output.logprobs, continuations) : null,
    (output.tool_calls || []).map(callNode));
}

// `target` is the text of the right choice, where it is known.
function logprobTable(logprobs, continuations, target = null) {
  const isRight = (number) => target !== null && String((continuations || [])[number] ?? "").trim() === target.trim();
  const best = Math.max(...logprobs.map((one) => (typeof one[0] === "number" ? one[0] : -Infinity)));
  const rows = logprobs.filter(Array.isArray).map(([logprob, isGreedy, tokens], number) =>
    el("tr", { class: logprob === best ? "best" : null },
      el("th", { scope: "row" }, (continuations || [])[number] ?? `continuation ${number + 1}`),
      el("td", {}, typeof logprob === "number" ? logprob.toFixed(3) : String(logprob)),
      el("td", {}, isGreedy ? "greedy" : ""),
      el("td", {}, tokens ? plural(Number(tokens), "token") : ""),
      el("td", { class: "right-choice" }, isRight(number) ? "right" : "")));
  return el("table", { class: "logprobs" }, el("tbody", {}, rows));
}

// `shown` are the messages that do not stand above already; `above` says which do.
function exchangeNode(exchange, title, shown = (exchange.request || {}).messages || [], above = "") {
  const request = exchange.request || {};
  const response = exchange.response || {};
  const { kind, continuations, tools, ...settings } = request.ask || {};
  const said = Object.entries(settings).map(([name, value]) => `${name.replaceAll("_", " ")} ${typeof value === "string" ? value : JSON.stringify(value)}`);
  if (tools) said.push(`tools ${tools.join(", ")}`);
  if (request.judge_prompt) said.push(`prompt ${request.judge_prompt}`);
  if (exchange.model) said.push(`judge ${exchange.model.slice(0, 12)}`);
  if (exchange.endpoint) said.push(`at ${exchange.endpoint}`);
  const origin = response.reused;
  if (origin) said.push(`reused from ${origin.run}, sample ${origin.sample} of ${origin.task}`);
  if (typeof response.latency_ms === "number") said.push(`${(response.latency_ms / 1000).toFixed(2)} s`);
  const outputs = response.outputs || [];
  return el("section", { class: "exchange" },
    el("h4", {}, title, el("span", { class: "aside" }, ` ${[above, kind, ...said].filter(Boolean).join(" · ")}`)),
    shown.map((message) => messageNode(message, true)),
    outputs.map((output, j) => outputNode(output, j, outputs.length > 1, continuations)));
}
