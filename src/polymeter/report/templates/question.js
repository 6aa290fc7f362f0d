// What a sample was asked: its question, the file that it was asked about, and the heading that tells samples apart.
const LONGEST_WHOLE = 240;
const MOST_LINES = 4;
const LONGEST_HEADING = 100;
const QUESTION_COLUMNS = ["question", "prompt", "query", "problem", "instruction", "input", "q"];

function promptOf(sample) {
  const first = (sample.exchanges || []).find((exchange) => (exchange.role || "model") === "model");
  return ((first && first.request && first.request.messages) || []).filter((message) => typeof message === "object");
}

// The last message that neither the model nor a tool wrote.
function questionAt(messages) {
  return messages.map((message) => !["assistant", "tool"].includes(message.role)).lastIndexOf(true);
}

function questionText(sample) {
  const messages = promptOf(sample);
  const asked = messages[questionAt(messages)];
  return asked ? (asked.parts || []).map((part) => part.text).filter((text) => typeof text === "string").join("\n") : "";
}

function fileName(sample) {
  const notes = promptOf(sample).flatMap((message) => message.parts || []).map((part) => part.image || part.video || part.audio);
  for (const note of notes) {
    const named = note ? nameOfFile(note) : "";
    if (named) return named;
  }
  return "";
}

function oneLine(text) {
  return text.split(/\s+/).filter(Boolean).join(" ");
}

function askedByRow(sample) {
  const row = sample.doc || {};
  return row[QUESTION_COLUMNS.find((name) => typeof row[name] === "string")] || "";
}

// A question that is the heading as a whole is not repeated below it.
function headingOf(sample) {
  const file = fileName(sample);
  if (file) return { text: file, isQuestion: false };
  const whole = questionText(sample).trim();
  if (whole && whole.length <= LONGEST_WHOLE && whole.split("\n").length <= MOST_LINES) return { text: whole, isQuestion: true };
  const text = oneLine(whole || askedByRow(sample));
  if (text) return { text: text.length > LONGEST_HEADING ? `${text.slice(0, LONGEST_HEADING - 1)}…` : text, isQuestion: false };
  return { text: nameOf(sample), isQuestion: false };
}

// The id, as a name.
function nameOf(sample) {
  return /^\d+$/.test(sample.id) ? `Sample ${sample.id}` : sample.id;
}

function questionBlock(sample) {
  const text = questionText(sample);
  if (!text) return null;
  const before = questionAt(promptOf(sample));
  const title = drawings(sample).length ? "Prompt" : "Question";
  return block(title, before ? `after ${plural(before, "message")}, in the conversation` : "", el("pre", { class: "text prompt" }, text));
}
