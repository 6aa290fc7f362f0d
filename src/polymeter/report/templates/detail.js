// One sample in full.
let highlights = true;

// The step of a value on the colour scale of its metric, 0 to 4; null where the scale or the direction is not known.
function stepOf(value, metric, task) {
  const [place, isLower] = [typeof value === "number" ? placeOf(value, task.scales[metric]) : null, task.lower[metric]];
  return place === null || typeof isLower !== "boolean" ? null : Math.min(Math.floor((isLower ? 1 - place : place) * 5), 4);
}

function chip(text, step, attributes = {}) {
  return el("span", { ...attributes, class: [attributes.class, "value", step === null ? "" : `v${step}`].filter(Boolean).join(" ") }, text);
}

function scoreNode([name, text, value], task) {
  return el("div", {}, el("dt", {}, name), el("dd", {}, chip(text, stepOf(value, name, task))));
}

// The text of the model, if another one was read from it and scored, such as the letter of a choice.
function writtenOf(sample) {
  const outputs = (sample.exchanges || []).filter((exchange) => (exchange.role || "model") === "model").flatMap((exchange) => (exchange.response || {}).outputs || []);
  const text = outputs.length === 1 ? outputs[0].text : null;
  if (typeof sample.answer !== "string" || typeof text !== "string" || !text.trim() || text.includes("</think>")) return null;
  return oneLine(text) === oneLine(sample.answer) ? null : text;
}

function textBlocks(sample) {
  const answer = answerOf(sample);
  const isBoth = typeof sample.target === "string" && typeof answer === "string";
  const { pairs, verdict } = isBoth ? compare(sample.target, answer) : { pairs: null, verdict: "" };
  const shown = highlights ? pairs : null;
  const toggle = pairs && el("label", { class: "toggle" },
    el("input", { type: "checkbox", checked: highlights, onchange: (event) => { highlights = event.target.checked; refresh("toggle"); } }),
    "Mark differences: ", el("del", {}, "missed"), " ", el("ins", {}, "added"));
  const written = writtenOf(sample);
  const scored = (title) => (typeof answer === "string"
    ? block(title, verdict, answer ? el("pre", { class: "text" }, marked(answer, shown, 1)) : el("p", { class: "aside" }, "The answer is empty."))
    : null);
  const texts = [
    typeof sample.target === "string" ? block("Expected", "", el("pre", { class: "text" }, marked(sample.target, shown, 0))) : null,
    written === null ? scored("Answer") : el("div", { class: "read" }, block("Answer", "", el("pre", { class: "text" }, written)), scored("Scored as")),
  ];
  return [el("div", { class: "pair" }, texts), toggle];
}

function errorBlock(sample) {
  if (sample.status === "ok" && !sample.error) return null;
  const error = sample.error || {};
  return el("section", { class: "block failure" }, el("h4", {}, `No score: ${sample.status}`, error.kind ? el("span", { class: "aside" }, ` ${error.kind}`) : null),
    el("pre", { class: "text" }, error.message || "No message was recorded."));
}

// The explanation of the score; where nothing is stored, the verdict of the sample's only judge call.
function whyBlock(sample) {
  const calls = (sample.exchanges || []).filter((exchange) => (exchange.role || "model") !== "model");
  const outputs = calls.length === 1 ? (calls[0].response || {}).outputs || [] : [];
  const verdict = !sample.explanation && outputs.length === 1 && typeof outputs[0].text === "string" ? outputs[0].text : "";
  const readBy = sample.read_by ? el("p", { class: "aside" }, `The judge's verdict was read by this rule: ${sample.read_by}.`) : null;
  if (!sample.explanation && !verdict && !readBy) return null;
  const text = sample.explanation || verdict;
  return block("Why this score", verdict ? "the judge's verdict" : "", text ? el("pre", { class: "text" }, text) : null, readBy);
}

function choicesBlock(sample) {
  const own = (sample.exchanges || []).filter((exchange) => (exchange.role || "model") === "model");
  const found = own.map((exchange) => [exchange, ((exchange.response || {}).outputs || []).find((output) => output.logprobs)]);
  if (found.length !== 1 || !found[0][1]) return null;
  return block("Choices", "", logprobTable(found[0][1].logprobs, ((found[0][0].request || {}).ask || {}).continuations, typeof sample.target === "string" ? sample.target : null));
}

function headNode(sample, heading, place, count, actions) {
  const task = DATA.tasks[sample.task];
  const index = typeof sample.index === "number" && String(sample.index) !== sample.id ? `#${sample.index}` : null;
  const about = [task.title, ...(sample.subset || []), nameOf(sample) === heading.text ? null : nameOf(sample), index].filter(Boolean).join(" · ");
  return el("header", { class: "detail-head" },
    el("div", { class: "steps" },
      el("button", { type: "button", class: "plain back", onclick: actions.back }, "All samples"),
      el("button", { type: "button", id: "previous", "aria-keyshortcuts": "ArrowLeft k", title: "Previous (← or k)", disabled: place <= 0, onclick: () => actions.step(-1) }, "Previous"),
      el("span", { class: "aside" }, `${(place + 1).toLocaleString("en")} of ${count.toLocaleString("en")}`),
      el("button", { type: "button", id: "next", "aria-keyshortcuts": "ArrowRight j", title: "Next (→ or j)", disabled: place >= count - 1, onclick: () => actions.step(1) }, "Next")),
    el("div", { class: "titles" }, el("h3", { id: "detail-title", tabindex: "-1" }, heading.text), el("p", { class: "aside" }, about),
      sample.blind ? el("p", { class: "aside" }, `Answered blind: right in the ablation ${sample.blind}.`) : null));
}

// What the model was shown of each medium: the facts on a line, and all of them when it is opened.
function shownNodes(sample) {
  return (sample.shown || []).map(([title, facts]) => el("details", { class: "shown" },
    el("summary", {}, title),
    el("dl", {}, facts.map(([label, text]) => el("div", {}, el("dt", {}, label), el("dd", {}, text))))));
}

// The question with its media beside it, the outcome, and then all else: as the viewer shows a sample.
function detailNodes(sample, place, count, actions) {
  const task = DATA.tasks[sample.task];
  const heading = headingOf(sample);
  const scores = sample.scores ? el("dl", { class: "scores" }, sample.scores.map((score) => scoreNode(score, task))) : null;
  const figures = galleryNodes(sample);
  const shown = shownNodes(sample);
  const log = logWithoutImages(sample);
  const isDrawn = drawings(sample).length > 0;
  const isGallery = isDrawn && figures.length > 1;
  const asked = heading.isQuestion ? null : questionBlock(sample);
  const style = isGallery ? "gallery" : isDrawn ? "images drawn" : figures.length > 1 ? "images several" : "images";
  const hasTexts = !isDrawn || answerOf(sample);
  return [
    headNode(sample, heading, place, count, actions),
    el("div", { class: ["body", asked ? "has-asked" : "", (figures.length || shown.length) && !isGallery ? "has-side" : ""].filter(Boolean).join(" ") },
      asked ? el("div", { class: "texts ask" }, asked) : null,
      figures.length || shown.length ? el("div", { class: style }, figures, shown) : null,
      el("div", { class: "texts outcome" }, errorBlock(sample), hasTexts ? textBlocks(sample) : null, scores, whyBlock(sample), choicesBlock(sample))),
    ...conversationNodes(sample),
    sample.doc ? fold("Row of the dataset", !(sample.exchanges || []).length, el("pre", {}, JSON.stringify(sample.doc, null, 2))) : null,
    log ? fold("Log", false, el("pre", {}, JSON.stringify(log, null, 2))) : null,
  ].flat().filter(Boolean);
}
