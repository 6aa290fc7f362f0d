// The browser of samples: filters, the list, the open sample, and the keys.
const DATA = readJson("data");
const IMAGES = readJson("pictures");
const CHUNK = 300;
const byId = (id) => document.getElementById(id);
let matches = [];
let current = null;
let limit = CHUNK;

function words(sample) {
  if (!sample.words) {
    const prompt = promptOf(sample).flatMap((message) => (message.parts || []).map((part) => part.text || ""));
    const all = [sample.id, ...(sample.subset || []), sample.target, answerOf(sample), (sample.error || {}).message, ...prompt];
    Object.defineProperty(sample, "words", { value: all.filter(Boolean).join("\n").toLowerCase() });
  }
  return sample.words;
}

function badness(sample) {
  if (sample.status !== "ok") return 3;
  return typeof sample.good === "number" ? 1 - sample.good : -1;
}

function choose() {
  const task = byId("by-task").value;
  const status = byId("by-status").value;
  const sought = byId("by-text").value.trim().toLowerCase();
  const order = byId("by-order").value;
  matches = DATA.samples.filter((sample) =>
    (task === "" || String(sample.task) === task) && (status === "" || sample.status === status) && (!sought || words(sample).includes(sought)));
  if (order === "worst") matches.sort((a, b) => badness(b) - badness(a));
  if (order === "best") matches.sort((a, b) => badness(a) - badness(b) + (badness(a) < 0 ? 9 : 0) - (badness(b) < 0 ? 9 : 0));
  limit = CHUNK;
  if (!matches.includes(current)) current = matches[0] || null;
}

function rowNode(sample) {
  const answer = answerOf(sample);
  const isOk = sample.status === "ok";
  const thumb = promptOf(sample).flatMap((message) => message.parts || []).find((part) => part.image && IMAGES[part.image.file]);
  const made = drawings(sample).find(({ file }) => IMAGES[file]);
  const uri = made ? IMAGES[made.file] : thumb ? IMAGES[thumb.image.file] : null;
  const gist = !isOk ? (sample.error || {}).message || sample.status : made ? promptText(sample) || "image" : answer || "empty answer";
  const button = el("button", { type: "button", class: made ? "drawn" : null, "aria-current": sample === current ? "true" : null, onclick: () => open(sample, true) },
    uri ? el("img", { src: uri, alt: "", loading: "lazy", decoding: "async" }) : el("span", { class: "no-thumb" }),
    el("span", { class: "gist" }, el("span", { class: "first" }, gist), el("span", { class: "aside" }, `${DATA.tasks[sample.task].title} · ${sample.id}`)),
    isOk
      ? el("span", { class: "mark-value", title: DATA.tasks[sample.task].metric }, sample.value ?? "", typeof sample.good === "number" ? gauge(DATA.tasks[sample.task].lower ? 1 - sample.good : sample.good, 40) : null)
      : el("span", { class: "mark-failed" }, sample.status));
  sample.button = button;
  return el("li", {}, button);
}

function drawList() {
  byId("list").replaceChildren(...matches.slice(0, limit).map(rowNode));
  byId("more").hidden = matches.length <= limit;
  const total = DATA.samples.length;
  byId("count").textContent = matches.length === total ? plural(total, "sample") : `${matches.length.toLocaleString("en")} of ${plural(total, "sample")}`;
}

function drawDetail() {
  const place = matches.indexOf(current);
  const nodes = current
    ? detailNodes(current, place, matches.length, { step, back })
    : [el("p", { class: "nothing" }, "No sample matches. Change a filter or clear the search.")];
  byId("detail").replaceChildren(...nodes);
}

function open(sample, isAsked) {
  if (current && current.button) current.button.removeAttribute("aria-current");
  current = sample;
  const place = matches.indexOf(sample);
  if (place >= limit) { limit = place + CHUNK; drawList(); }
  if (sample.button) {
    sample.button.setAttribute("aria-current", "true");
    const box = byId("list").parentElement;
    const row = sample.button.getBoundingClientRect();
    const frame = box.getBoundingClientRect();
    if (row.top < frame.top || row.bottom > frame.bottom) box.scrollTop += row.top - frame.top - frame.height / 3;
  }
  drawDetail();
  if (!isAsked) return;
  byId("panes").classList.add("is-open");
  if (byId("detail").getBoundingClientRect().top < 0) byId("detail").scrollIntoView({ block: "start" });
  byId("detail-title").focus({ preventScroll: byId("list").offsetParent !== null });
  history.replaceState(null, "", `#${encodeURIComponent(DATA.tasks[sample.task].name)}/${encodeURIComponent(sample.id)}`);
}

function step(by) {
  const sample = matches[matches.indexOf(current) + by];
  if (sample) open(sample, true);
}

function back() {
  byId("panes").classList.remove("is-open");
  if (current && current.button) current.button.focus();
}

function refresh(what) {
  if (what !== "toggle") { byId("panes").classList.remove("is-open"); choose(); drawList(); }
  drawDetail();
}

function fill(select, entries) {
  select.replaceChildren(...entries.map(([value, text]) => el("option", { value }, text)));
}

function openFromAddress() {
  const [task, id] = location.hash.slice(1).split("/").map(safeDecode);
  const sample = DATA.samples.find((one) => DATA.tasks[one.task].name === task && one.id === id);
  if (sample && matches.includes(sample)) open(sample, true);
}

function safeDecode(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || byId("zoom").open) return;
  const isTyping = event.target.closest("input, select, textarea");
  if (isTyping) { if (event.key === "Escape") event.target.blur(); return; }
  if (event.key === "/") { event.preventDefault(); byId("by-text").focus(); }
  else if (event.key === "ArrowRight" || event.key === "j") step(1);
  else if (event.key === "ArrowLeft" || event.key === "k") step(-1);
  else if (event.key === "Escape" && byId("panes").classList.contains("is-open")) back();
}

// Many subsets: the table shows a task's subsets when asked.
function foldSubsets() {
  for (const row of document.querySelectorAll("tr[data-name]")) {
    const own = [...document.querySelectorAll("tr[data-of]")].filter((one) => one.dataset.of === row.dataset.name);
    const names = own.filter((one) => !one.querySelector(".blank")).length;
    if (names < 7) continue;
    const set = (isShown) => { own.forEach((one) => { one.hidden = !isShown; }); button.setAttribute("aria-expanded", String(isShown)); };
    const button = el("button", { type: "button", class: "plain subsets", onclick: () => set(own[0].hidden) }, plural(names, "subset"));
    row.querySelector(".name").append(" ", button);
    set(false);
  }
}

foldSubsets();
if (byId("list")) {
  const statuses = new Map();
  for (const sample of DATA.samples) statuses.set(sample.status, (statuses.get(sample.status) || 0) + 1);
  fill(byId("by-task"), [["", "All tasks"], ...DATA.tasks.map((task, number) => [number, `${task.title} (${task.shown === task.total ? task.total : `${task.shown} of ${task.total}`})`])]);
  fill(byId("by-status"), [["", "Any"], ...[...statuses].map(([status, n]) => [status, `${status} (${n})`])]);
  for (const id of ["by-task", "by-status", "by-order"]) byId(id).addEventListener("change", () => refresh());
  byId("by-text").addEventListener("input", () => refresh());
  byId("more").addEventListener("click", () => { limit += CHUNK; drawList(); });
  byId("zoom").addEventListener("click", (event) => { if (event.target === event.currentTarget) event.currentTarget.close(); });
  document.addEventListener("keydown", onKey);
  window.addEventListener("hashchange", openFromAddress);
  refresh();
  openFromAddress();
}
