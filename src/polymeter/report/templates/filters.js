// Which samples are listed: by task, subset, status, the value of a metric, and text; and in which order.
const byId = (id) => document.getElementById(id);

function fill(select, entries) {
  const before = select.value;
  select.replaceChildren(...entries.map(([value, text]) => el("option", { value }, text)));
  select.value = entries.some(([value]) => String(value) === before) ? before : "";
}

function words(sample) {
  if (!sample.words) {
    const prompt = promptOf(sample).flatMap((message) => (message.parts || []).map((part) => part.text || ""));
    const all = [sample.id, fileName(sample), ...(sample.subset || []), sample.target, answerOf(sample), (sample.error || {}).message, ...prompt];
    Object.defineProperty(sample, "words", { value: all.filter(Boolean).join("\n").toLowerCase() });
  }
  return sample.words;
}

// The subsets that a sample belongs to: its own path and what contains that, or the values of the columns that name subsets.
function subsetsOf(sample) {
  if (sample.subset) return sample.subset.map((_, depth) => sample.subset.slice(0, depth + 1).join(" / "));
  const row = sample.doc || {};
  return DATA.tasks[sample.task].columns
    .filter((name) => ["string", "number", "boolean"].includes(typeof row[name]) && row[name] !== "")
    .map((name) => `${name}: ${row[name]}`);
}

// Where a value lies on a scale, from 0 to 1; null where the scale is not known.
function placeOf(value, scale) {
  return scale ? Math.min(Math.max((value - scale[0]) / (scale[1] - scale[0]), 0), 1) : null;
}

// How far a sample is from the best: by the metric's scale, or where that is not known by its rank among the task's.
function rate(samples, tasks) {
  tasks.forEach((task, number) => {
    const scale = task.metric === null ? null : task.scales[task.metric];
    const valued = samples.filter((sample) => sample.task === number && typeof sample.at === "number");
    const sorted = valued.map((sample) => sample.at).sort((a, b) => a - b);
    const ranks = new Map(sorted.map((value, place) => [value, sorted.length > 1 ? place / (sorted.length - 1) : 0.5]));
    for (const sample of valued) {
      const place = placeOf(sample.at, scale) ?? ranks.get(sample.at);
      sample.bad = task.is_lower_better ? place : 1 - place;
    }
  });
  for (const sample of samples) if (sample.bad === undefined) sample.bad = sample.status === "ok" ? -1 : 3;
}

function inOrder(samples, order) {
  if (order === "worst") return samples.sort((a, b) => b.bad - a.bad);
  const rank = (sample) => (sample.bad < 0 ? 9 : sample.bad);
  return order === "best" ? samples.sort((a, b) => rank(a) - rank(b)) : samples;
}

function valueOf(sample, metric) {
  const score = (sample.scores || []).find(([name]) => name === metric);
  return score && typeof score[2] === "number" ? score[2] : null;
}

function counted(values) {
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) || 0) + 1);
  return [...counts];
}

// What can be chosen among the samples of the chosen task.
function offer() {
  const task = byId("by-task").value;
  const own = DATA.samples.filter((sample) => task === "" || String(sample.task) === task);
  const subsets = counted(own.flatMap(subsetsOf));
  fill(byId("by-subset"), [["", "All subsets"], ...subsets.map(([name, n]) => [name, `${name} (${n})`])]);
  byId("of-subset").hidden = !subsets.length;
  const metrics = counted(own.flatMap((sample) => (sample.scores || []).filter(([, , value]) => typeof value === "number").map(([name]) => name)));
  fill(byId("by-metric"), [["", "Any value"], ...metrics.map(([name]) => [name, name])]);
  byId("of-metric").hidden = !metrics.length;
  offerRange(own);
}

function offerRange(own) {
  const metric = byId("by-metric").value;
  byId("of-range").hidden = !metric;
  if (!metric) { byId("least").value = ""; byId("greatest").value = ""; return; }
  let [low, high] = [Infinity, -Infinity];
  for (const sample of own || DATA.samples) {
    const value = valueOf(sample, metric);
    if (value !== null) { low = Math.min(low, value); high = Math.max(high, value); }
  }
  byId("least").placeholder = String(Number(low.toPrecision(4)));
  byId("greatest").placeholder = String(Number(high.toPrecision(4)));
}

function limitOf(id, otherwise) {
  const value = byId(id).valueAsNumber;
  return Number.isNaN(value) ? otherwise : value;
}

function chosen() {
  const task = byId("by-task").value;
  const status = byId("by-status").value;
  const subset = byId("by-subset").value;
  const blind = byId("by-blind").value;
  const metric = byId("by-metric").value;
  const sought = byId("by-text").value.trim().toLowerCase();
  const [least, greatest] = [limitOf("least", -Infinity), limitOf("greatest", Infinity)];
  const isWithin = (value) => value !== null && value >= least && value <= greatest;
  byId("clear").hidden = !(task || status || subset || blind || metric || sought);
  return inOrder(DATA.samples.filter((sample) =>
    (task === "" || String(sample.task) === task)
    && (status === "" || sample.status === status)
    && (subset === "" || subsetsOf(sample).includes(subset))
    && (blind === "" || Boolean(sample.blind) === (blind === "blind"))
    && (metric === "" || isWithin(valueOf(sample, metric)))
    && (!sought || words(sample).includes(sought))), byId("by-order").value);
}

// Typing in a page of many samples waits for the next letter before it looks through all of them.
function afterTyping(act) {
  let waiting = 0;
  return () => {
    clearTimeout(waiting);
    if (DATA.samples.length < 2000) act();
    else waiting = setTimeout(act, 150);
  };
}

function setUpFilters(refresh) {
  fill(byId("by-task"), [["", "All tasks"], ...DATA.tasks.map((task, number) => [number, `${task.title} (${task.shown === task.total ? task.total : `${task.shown} of ${task.total}`})`])]);
  fill(byId("by-status"), [["", "Any"], ...counted(DATA.samples.map((sample) => sample.status)).map(([status, n]) => [status, `${status} (${n})`])]);
  const n = DATA.samples.filter((sample) => sample.blind).length;
  fill(byId("by-blind"), [["", "Any"], ["blind", `answered blind (${n})`], ["seeing", `not answered blind (${DATA.samples.length - n})`]]);
  byId("of-blind").hidden = !n;
  rate(DATA.samples, DATA.tasks);
  offer();
  byId("by-task").addEventListener("change", offer);
  byId("by-metric").addEventListener("change", () => offerRange());
  for (const id of ["by-task", "by-subset", "by-status", "by-blind", "by-metric", "by-order"]) byId(id).addEventListener("change", refresh);
  for (const id of ["by-text", "least", "greatest"]) {
    byId(id).addEventListener("input", afterTyping(refresh));
    byId(id).addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      if (byId(id).value === "") byId(id).blur();
      byId(id).value = "";
      refresh();
    });
  }
  byId("clear").addEventListener("click", () => {
    for (const id of ["by-task", "by-subset", "by-status", "by-blind", "by-metric", "by-text", "least", "greatest"]) byId(id).value = "";
    offer();
    refresh();
    byId("by-task").focus();
  });
}
