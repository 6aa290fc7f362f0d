// Sorting and searching of the table. All texts are in the page already. Where the heads are links, a server sorts.
const body = document.querySelector("#ranking tbody");
const rows = [...body.rows];
const heads = [...document.querySelectorAll("#ranking .heads th")];
const status = document.getElementById("count");
let told = status.textContent;

function keyOf(row, place) {
  const cell = row.cells[place];
  if (cell.matches(".model")) return cell.textContent;
  return cell.dataset.sort === "" ? null : Number(cell.dataset.sort);
}

function rankOf(row, place) {
  const { low, high } = row.cells[place].dataset;
  return low === undefined ? null : [Number(low), Number(high)];
}

// True if all ranks above end before those below begin, or the other way around.
function areApart(above, below) {
  const known = below.filter(Boolean);
  if (!above.length || !known.length || above.some((rank) => rank === null)) return false;
  const lowest = (ranks) => Math.min(...ranks.map((rank) => rank[0]));
  const highest = (ranks) => Math.max(...ranks.map((rank) => rank[1]));
  return highest(above) < lowest(known) || lowest(above) > highest(known);
}

function sortBy(place, order) {
  const sign = order === "ascending" ? 1 : -1;
  const sorted = rows.map((row, at) => ({ row, at, key: keyOf(row, place), isRanked: rankOf(row, place) !== null })).sort((a, b) => {
    if (a.key === null || b.key === null) return (a.key === null) - (b.key === null) || a.at - b.at;
    if (a.isRanked !== b.isRanked) return b.isRanked - a.isRanked;
    const less = typeof a.key === "string" ? a.key.localeCompare(b.key, "en", { numeric: true }) : a.key - b.key;
    return sign * less || a.at - b.at;
  }).map((entry) => entry.row);
  const ranks = sorted.map((row) => rankOf(row, place));
  sorted.forEach((row, at) => {
    row.cells[0].textContent = row.cells[place].dataset.rank || "";
    row.classList.toggle("apart", areApart(ranks.slice(0, at), ranks.slice(at)));
    [...row.cells].forEach((cell, column) => cell.classList.toggle("sorted", column === place && column > 1));
  });
  body.append(...sorted);
  heads.forEach((head, at) => { if (at) head.setAttribute("aria-sort", at === place ? order : "none"); });
}

function sayOrder(place, order) {
  const head = heads[place];
  const button = head.querySelector("button");
  const [usual, other] = head.dataset.words.split(",");
  const words = order === button.dataset.order ? usual : other;
  const by = head.matches(".model") ? words : `${words} first by ${button.textContent.replace(/ ↓$/, "")}`;
  told = `${rows.length === 1 ? "1 model" : `${rows.length.toLocaleString("en")} models`}, ${by}.`;
}

function search() {
  const words = document.getElementById("by-text").value.toLowerCase().split(/\s+/).filter(Boolean);
  let n = 0;
  for (const row of rows) {
    const name = row.cells[1].textContent.toLowerCase();
    row.hidden = !words.every((word) => name.includes(word));
    n += !row.hidden;
  }
  status.textContent = words.length ? `${n} of ${rows.length} models` : told;
}

heads.forEach((head, place) => {
  const button = head.querySelector("button");
  if (!button) return;
  button.addEventListener("click", () => {
    const now = head.getAttribute("aria-sort");
    const first = button.dataset.order;
    const other = first === "ascending" ? "descending" : "ascending";
    const order = now === first ? other : first;
    sortBy(place, order);
    sayOrder(place, order);
    search();
  });
});

document.getElementById("by-text").addEventListener("input", search);
