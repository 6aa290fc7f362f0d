// The browser of samples: the list, the open sample, and the keys.
const DATA = readJson("data");
const IMAGES = readJson("pictures");
const HAS_IMAGES = Object.values(IMAGES).some((one) => [one].flat()[0].startsWith("data:image/"));
const CHUNK = 100;
const buttons = new Map();
let matches = [];
let current = null;
let limit = CHUNK;

function choose() {
  matches = chosen();
  limit = CHUNK;
  if (!matches.includes(current)) current = matches[0] || null;
}

// The value that the list is filtered by, else that of the metric which tells the worst.
function markNode(sample) {
  const task = DATA.tasks[sample.task];
  const metric = byId("by-metric").value || task.metric;
  const score = (sample.scores || []).find(([name, , value]) => name === metric && typeof value === "number");
  if (!score) return el("span", { class: "mark-value", title: metric });
  return chip(metric === task.metric ? sample.value : score[1], stepOf(score[2], metric, task), { class: "mark-value", title: metric });
}

function gistNode(sample, made) {
  const task = DATA.tasks[sample.task];
  const [file, asked] = [fileName(sample), oneLine(questionText(sample) || askedByRow(sample)).slice(0, 300)];
  const answer = answerOf(sample);
  const gist = sample.status !== "ok" ? (sample.error || {}).message || sample.status : made && !answer ? plural(drawings(sample).length, "image") : answer || "empty answer";
  return el("span", { class: "gist" },
    el("span", { class: "first" }, file ? el("strong", {}, file, asked ? " " : "") : null, asked || (file ? "" : nameOf(sample))),
    el("span", { class: "second" }, oneLine(gist.slice(0, 600)).slice(0, 300)),
    el("span", { class: "aside" }, [sample.blind ? "answered blind" : null, DATA.tasks.length > 1 ? task.title : null, nameOf(sample)].filter(Boolean).join(" · ")));
}

function rowNode(sample) {
  const isOk = sample.status === "ok";
  const thumb = promptOf(sample).flatMap((message) => message.parts || []).map(pictureOf).find((note) => note && uriOf(note.file));
  const made = drawings(sample).find(({ file }) => uriOf(file));
  const uri = made ? uriOf(made.file) : thumb ? uriOf(thumb.file) : null;
  const button = el("button", { type: "button", class: made ? "drawn" : HAS_IMAGES ? null : "of-text", "aria-current": sample === current ? "true" : null, onclick: () => open(sample, true) },
    uri ? el("img", { src: uri, alt: "", loading: "lazy", decoding: "async" }) : HAS_IMAGES ? el("span", { class: "no-thumb" }) : null,
    gistNode(sample, made),
    isOk ? markNode(sample) : el("span", { class: "mark-failed" }, sample.status));
  buttons.set(sample, button);
  return el("li", {}, button);
}

function drawList() {
  buttons.clear();
  byId("list").replaceChildren(...matches.slice(0, limit).map(rowNode));
  byId("more").hidden = matches.length <= limit;
  const total = DATA.samples.length;
  byId("count").textContent = matches.length === total ? plural(total, "sample") : `${matches.length.toLocaleString("en")} of ${plural(total, "sample")}`;
}

// The rows up to a place, added to those that are drawn.
function drawMore(least) {
  const from = limit;
  limit = least;
  byId("list").append(...matches.slice(from, limit).map(rowNode));
  byId("more").hidden = matches.length <= limit;
}

function drawDetail() {
  const place = matches.indexOf(current);
  const nodes = current
    ? detailNodes(current, place, matches.length, { step, back })
    : [el("p", { class: "nothing" }, "No sample matches. Change a filter or clear the search.")];
  byId("detail").replaceChildren(...nodes);
  // A keyboard reaches texts that may scroll, also those that are still folded.
  for (const node of document.querySelectorAll("#detail pre")) {
    if (node.textContent.length > 600 || node.textContent.split("\n").length > 14) node.tabIndex = 0;
  }
}

function open(sample, isAsked) {
  buttons.get(current)?.removeAttribute("aria-current");
  current = sample;
  const place = matches.indexOf(sample);
  if (place >= limit) drawMore(place + CHUNK);
  const button = buttons.get(sample);
  if (button) {
    button.setAttribute("aria-current", "true");
    const box = byId("list").parentElement;
    const row = button.getBoundingClientRect();
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
  buttons.get(current)?.focus();
}

function refresh(what) {
  if (what !== "toggle") { byId("panes").classList.remove("is-open"); choose(); drawList(); }
  drawDetail();
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
  if (isTyping) { if (event.key === "Escape" && !event.defaultPrevented) event.target.blur(); return; }
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
  setUpFilters(() => refresh());
  byId("more").addEventListener("click", () => drawMore(limit + CHUNK));
  new IntersectionObserver((seen) => { if (seen.some((one) => one.isIntersecting)) drawMore(limit + CHUNK); }).observe(byId("more"));
  byId("zoom").addEventListener("click", (event) => { if (event.target === event.currentTarget) event.currentTarget.close(); });
  document.addEventListener("keydown", onKey);
  window.addEventListener("hashchange", openFromAddress);
  refresh();
  openFromAddress();
}
