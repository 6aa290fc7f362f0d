// Samples of several runs side by side: filters, and one card for each sample.
const DATA = readJson("data");
const IMAGES = readJson("pictures");
const CHUNK = 30;
const LONGEST_HEAD = 160;
const byId = (id) => document.getElementById(id);
let matches = [];
let limit = CHUNK;

function words(sample) {
  if (!sample.words) {
    const prompt = sample.messages.flatMap((message) => (message.parts || []).map((part) => part.text || ""));
    const all = [sample.id, ...sample.subsets, sample.target, ...sample.sides.map(answerOf), ...prompt];
    Object.defineProperty(sample, "words", { value: all.filter(Boolean).join("\n").toLowerCase() });
  }
  return sample.words;
}

// Who is better in a pair of runs: "1" the other, "-1" the first, "0" none, "x" one has no score.
function outcome(gain) {
  return gain === null ? "x" : String(Math.sign(gain));
}

function winners() {
  const [first, ...others] = DATA.runs;
  const entries = [["", "Any"]];
  others.forEach((name, number) => {
    const counted = (wanted) => DATA.samples.filter((sample) => outcome(sample.gains[number]) === wanted).length;
    const against = others.length > 1 ? ` than ${first}` : "";
    for (const [wanted, said] of [
      ["1", `${name}${against}`],
      ["-1", others.length > 1 ? `${first} than ${name}` : first],
      ["0", others.length > 1 ? `neither, of ${name} and ${first}` : "neither"],
      ["x", others.length > 1 ? `no score, in ${name} or ${first}` : "no score in one"],
    ]) {
      if (counted(wanted)) entries.push([`${number}:${wanted}`, `${said} (${counted(wanted)})`]);
    }
  });
  return entries;
}

function choose() {
  const task = byId("by-task").value;
  const subset = byId("by-subset").value;
  const [number, wanted] = byId("by-winner").value.split(":");
  const sought = byId("by-text").value.trim().toLowerCase();
  matches = DATA.samples.filter((sample) => (task === "" || String(sample.task) === task) && (subset === "" || sample.subsets.includes(subset))
    && (!wanted || outcome(sample.gains[Number(number)]) === wanted) && (!sought || words(sample).includes(sought)));
}

function mediaNodes(messages) {
  return messages.flatMap((message) => message.parts || []).filter((part) => !("text" in part)).map((part) => partNode(part, false));
}

// The question, as the head of a card: the last text that the user said.
function questionOf(sample) {
  const users = sample.messages.filter((message) => message.role === "user");
  const texts = users.map((message) => (message.parts || []).map((part) => part.text || "").join(" ").trim()).filter(Boolean);
  return texts.length ? texts[texts.length - 1].replace(/\s+/g, " ") : "";
}

function fileOf(sample) {
  const parts = sample.messages.flatMap((message) => message.parts || []).filter((part) => !("text" in part));
  const media = parts.flatMap((part) => Object.values(part)).find((one) => one && typeof one === "object" && one.name);
  return media ? String(media.name) : "";
}

function headOf(sample) {
  const said = questionOf(sample) || fileOf(sample) || `Sample ${sample.id}`;
  return said.length > LONGEST_HEAD ? `${said.slice(0, LONGEST_HEAD - 1)}…` : said;
}

// The head has a short question already; a longer prompt is folded.
function promptNode(sample) {
  const said = sample.messages.flatMap((message) => (message.parts || []).map((part) => part.text || "")).join(" ").replace(/\s+/g, " ").trim();
  if (!said || said === headOf(sample)) return null;
  return el("details", { class: "whole-prompt" }, el("summary", {}, "Whole prompt"), promptBlock(sample.messages));
}

function askedNode(sample) {
  const media = mediaNodes(sample.messages);
  const target = typeof sample.target === "string" ? block("Expected", "", el("pre", { class: "text" }, sample.target)) : null;
  return el("div", { class: media.length ? "asked with-media" : "asked" },
    media.length ? el("div", { class: "images" }, media) : null,
    el("div", { class: "texts" }, promptNode(sample), target));
}

function sideNode(sample, side, number) {
  const answer = answerOf(side);
  const isBoth = typeof sample.target === "string" && typeof answer === "string";
  const { pairs, verdict } = isBoth ? compare(sample.target, answer) : { pairs: null, verdict: "" };
  const outputs = (side.exchanges || []).flatMap((exchange) => (exchange.response || {}).outputs || []);
  const ask = ((side.exchanges || []).map((exchange) => (exchange.request || {}).ask || {})).find((one) => one.continuations);
  const logprobs = outputs.find((output) => output.logprobs);
  const made = outputs.flatMap((output) => output.images || []);
  return el("section", { class: sample.won.includes(number) ? "side won" : "side" },
    el("h4", {}, DATA.runs[number], verdict ? el("span", { class: "aside" }, verdict === "identical" ? "as expected" : verdict) : null,
      el("span", { class: typeof side.step === "number" ? `score value v${side.step}` : "score" }, side.status === "ok" ? side.value || "no value" : "no score")),
    side.status !== "ok" ? el("div", { class: "failure" }, el("pre", { class: "text" }, `${side.status}: ${(side.error || {}).message || "no message was recorded"}`)) : null,
    side.messages ? [el("h5", {}, "Its own prompt"), promptBlock(side.messages), mediaNodes(side.messages)] : null,
    made.length ? el("div", { class: "gallery" }, made.map((file) => imageFigure({ file }, false, { kind: "made" }))) : null,
    typeof answer === "string" && !(made.length && !answer)
      ? answer ? el("pre", { class: "text" }, marked(answer, pairs, 1)) : el("p", { class: "aside" }, "The answer is empty.")
      : null,
    logprobs ? logprobTable(logprobs.logprobs, (ask || {}).continuations) : null,
    side.explanation ? el("p", { class: "aside" }, side.explanation) : null);
}

function who(sample) {
  const [first, ...others] = DATA.runs;
  const said = others.map((name, number) => {
    const which = outcome(sample.gains[number]);
    if (which === "x") return "no score in one run";
    if (which === "0") return others.length > 1 ? `${name} as good` : "equal";
    return which === "1" ? `${name} is better` : others.length > 1 ? `${name} is worse` : `${first} is better`;
  });
  const tones = new Set(sample.gains.map(outcome));
  const tone = tones.size === 1 ? { 1: "gain", "-1": "loss" }[[...tones][0]] || "" : "";
  return el("span", { class: `who ${tone}` }, said.join(" · "));
}

function cardNode(sample) {
  const task = DATA.tasks[sample.task];
  return el("li", { class: "card" },
    el("header", { class: "card-head" },
      el("h3", {}, headOf(sample)),
      el("span", { class: "aside" }, [fileOf(sample), `sample ${sample.id}`, task.title, ...sample.subsets, task.metric].filter(Boolean).join(" · ")),
      who(sample)),
    askedNode(sample),
    el("div", { class: "sides" }, sample.sides.map((side, number) => sideNode(sample, side, number))));
}

function draw() {
  byId("list").replaceChildren(...matches.slice(0, limit).map(cardNode));
  byId("more").hidden = matches.length <= limit;
  const total = DATA.samples.length;
  byId("count").textContent = matches.length === total ? plural(total, "sample") : `${matches.length.toLocaleString("en")} of ${plural(total, "sample")}`;
}

function refresh() {
  limit = CHUNK;
  choose();
  draw();
}

function fill(select, entries) {
  select.replaceChildren(...entries.map(([value, text]) => el("option", { value }, text)));
}

// The subsets of the task that is chosen, or of all; hidden where there is none.
function subsets() {
  const task = byId("by-task").value;
  const counts = new Map();
  for (const sample of DATA.samples) {
    if (task !== "" && String(sample.task) !== task) continue;
    for (const name of sample.subsets) counts.set(name, (counts.get(name) || 0) + 1);
  }
  const before = byId("by-subset").value;
  fill(byId("by-subset"), [["", "All subsets"], ...[...counts].map(([name, n]) => [name, `${name} (${n})`])]);
  byId("by-subset").value = counts.has(before) ? before : "";
  byId("of-subset").hidden = !counts.size;
}

fill(byId("by-task"), [["", "All tasks"], ...DATA.tasks.map((task, number) => [number, task.title])]);
subsets();
byId("by-task").addEventListener("change", subsets);
fill(byId("by-winner"), winners());
for (const id of ["by-task", "by-subset", "by-winner"]) byId(id).addEventListener("change", refresh);
byId("by-text").addEventListener("input", refresh);
byId("more").addEventListener("click", () => { limit += CHUNK; draw(); });
byId("zoom").addEventListener("click", (event) => { if (event.target === event.currentTarget) event.currentTarget.close(); });
refresh();
