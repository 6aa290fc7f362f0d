// What a sample was answered, and a titled block.
function answerOf(sample) {
  if (typeof sample.answer === "string") return sample.answer;
  for (const exchange of sample.exchanges || []) {
    const output = ((exchange.response || {}).outputs || [])[0];
    if ((exchange.role || "model") === "model" && output && typeof output.text === "string") return output.text;
  }
  return null;
}

function block(title, tag, ...children) {
  return el("section", { class: "block" }, el("h4", {}, title, tag ? el("span", { class: "aside" }, ` ${tag}`) : null), ...children);
}
