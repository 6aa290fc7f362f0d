// One sample in full.
let highlights = true;

function promptOf(sample) {
  const first = (sample.exchanges || []).find((exchange) => (exchange.role || "model") === "model");
  return ((first && first.request && first.request.messages) || []).filter((message) => typeof message === "object");
}

// A value is drawn only on the scale that its metric declares: one value does not tell of any.
function scoreNode([name, text, value], scale) {
  const place = typeof value === "number" ? placeOf(value, scale) : null;
  return el("div", {}, el("dt", {}, name), el("dd", {}, text, place === null ? null : gauge(place, 56)));
}

function textBlocks(sample) {
  const answer = answerOf(sample);
  const isBoth = typeof sample.target === "string" && typeof answer === "string";
  const { pairs, verdict } = isBoth ? compare(sample.target, answer) : { pairs: null, verdict: "" };
  const shown = highlights ? pairs : null;
  const toggle = pairs && el("label", { class: "toggle" },
    el("input", { type: "checkbox", checked: highlights, onchange: (event) => { highlights = event.target.checked; refresh("toggle"); } }),
    "Mark differences: ", el("del", {}, "missed"), " ", el("ins", {}, "added"));
  const texts = [
    typeof sample.target === "string" ? block("Expected", "", el("pre", { class: "text" }, marked(sample.target, shown, 0))) : null,
    typeof answer === "string"
      ? block("Answer", verdict, answer ? el("pre", { class: "text" }, marked(answer, shown, 1)) : el("p", { class: "aside" }, "The answer is empty."))
      : null,
  ];
  return [el("div", { class: "pair" }, texts), toggle];
}

function errorBlock(sample) {
  if (sample.status === "ok" && !sample.error) return null;
  const error = sample.error || {};
  return el("section", { class: "block failure" }, el("h4", {}, `No score: ${sample.status}`, error.kind ? el("span", { class: "aside" }, ` ${error.kind}`) : null),
    el("pre", { class: "text" }, error.message || "No message was recorded."));
}

function detailNodes(sample, place, count, actions) {
  const task = DATA.tasks[sample.task];
  const messages = promptOf(sample);
  const about = [task.title, ...(sample.subset || []), typeof sample.index === "number" && String(sample.index) !== sample.id ? `#${sample.index}` : null].filter(Boolean).join(" · ");
  const exchanges = sample.exchanges || [];
  const head = el("header", { class: "detail-head" },
    el("button", { type: "button", class: "plain back", onclick: actions.back }, "All samples"),
    el("div", { class: "titles" }, el("h3", { id: "detail-title", tabindex: "-1" }, /^\d+$/.test(sample.id) ? `Sample ${sample.id}` : sample.id), el("p", { class: "aside" }, about)),
    el("div", { class: "steps" },
      el("span", { class: "aside" }, `${place + 1} of ${count}`),
      el("button", { type: "button", id: "previous", "aria-keyshortcuts": "ArrowLeft k", title: "Previous (← or k)", disabled: place <= 0, onclick: () => actions.step(-1) }, "Previous"),
      el("button", { type: "button", id: "next", "aria-keyshortcuts": "ArrowRight j", title: "Next (→ or j)", disabled: place >= count - 1, onclick: () => actions.step(1) }, "Next")));
  const scores = sample.scores ? el("dl", { class: "scores" }, sample.scores.map((score) => scoreNode(score, task.scales[score[0]]))) : null;
  const readBy = sample.read_by ? el("p", { class: "aside" }, `The judge's verdict was read by this rule: ${sample.read_by}.`) : null;
  const why = sample.explanation || readBy ? block("Why this score", "", sample.explanation ? el("pre", { class: "text" }, sample.explanation) : null, readBy) : null;
  const figures = galleryNodes(sample);
  const log = logWithoutImages(sample);
  const isDrawn = drawings(sample).length > 0;
  const isGallery = isDrawn && figures.length > 1;
  const asked = exchanges.filter((exchange) => (exchange.role || "model") === "model").length;
  const prompt = promptBlock(messages, asked > 1 && !isDrawn ? `of the first of ${asked} requests` : "");
  const texts = isDrawn
    ? [errorBlock(sample), isGallery ? null : prompt, scores, why, answerOf(sample) ? textBlocks(sample) : null]
    : [errorBlock(sample), prompt, textBlocks(sample), why];
  return [
    head,
    isDrawn ? null : scores,
    isGallery ? el("div", { class: "texts before-gallery" }, prompt) : null,
    el("div", { class: isGallery || !figures.length ? "body" : isDrawn ? "body with-images with-drawn" : "body with-images" },
      figures.length ? el("div", { class: isGallery ? "gallery" : isDrawn ? "images drawn" : "images" }, figures) : null,
      el("div", { class: "texts" }, texts)),
    exchanges.length ? fold(`${plural(exchanges.length + (sample.more || 0), "exchange")} in full`, false,
      exchanges.map((exchange, number) => exchangeNode(exchange, number, exchanges.length)),
      sample.more ? el("p", { class: "aside" }, `${plural(sample.more, "more exchange")} in samples/*.jsonl`) : null) : null,
    sample.doc ? fold("Row of the dataset", !exchanges.length, el("pre", {}, JSON.stringify(sample.doc, null, 2))) : null,
    log ? fold("Log", false, el("pre", {}, JSON.stringify(log, null, 2))) : null,
  ].filter(Boolean);
}
