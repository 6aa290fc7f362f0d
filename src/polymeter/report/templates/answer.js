// What a sample was asked and answered, and a titled block.
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

function promptBlock(messages, tag = "") {
  const texts = messages.map((message) => ({
    role: message.role,
    text: (message.parts || []).filter((part) => typeof part.text === "string").map((part) => part.text).join("\n"),
  })).filter((message) => message.text);
  if (!texts.length) return null;
  const isPlain = texts.length === 1 && texts[0].role === "user";
  return block("Prompt", tag, texts.map(({ role, text }) => [isPlain ? null : el("h5", {}, role), el("pre", { class: "text prompt" }, text)]));
}
