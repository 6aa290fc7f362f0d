// Sorting and searching of the table. All texts are in the page already.
const body = document.querySelector("#ranking tbody");
const rows = [...body.rows];
const heads = [...document.querySelectorAll("#ranking thead th")];
const status = document.getElementById("count");
const told = status.textContent;

function keyOf(row, place) {
  const cell = row.cells[place];
  if (place === 0) return cell.textContent;
  return cell.dataset.sort === "" ? null : Number(cell.dataset.sort);
}

function sortBy(place, order) {
  const sign = order === "ascending" ? 1 : -1;
  const sorted = rows.map((row, at) => ({ row, at, key: keyOf(row, place) })).sort((a, b) => {
    if (a.key === null || b.key === null) return (a.key === null) - (b.key === null) || a.at - b.at;
    const less = typeof a.key === "string" ? a.key.localeCompare(b.key, "en", { numeric: true }) : a.key - b.key;
    return sign * less || a.at - b.at;
  });
  body.append(...sorted.map((entry) => entry.row));
  heads.forEach((head, at) => head.setAttribute("aria-sort", at === place ? order : "none"));
}

heads.forEach((head, place) => {
  const button = head.querySelector("button");
  button.addEventListener("click", () => {
    const now = head.getAttribute("aria-sort");
    const first = button.dataset.order;
    const other = first === "ascending" ? "descending" : "ascending";
    sortBy(place, now === first ? other : first);
  });
});

document.getElementById("by-text").addEventListener("input", (event) => {
  const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
  let n = 0;
  for (const row of rows) {
    const name = row.cells[0].textContent.toLowerCase();
    row.hidden = !words.every((word) => name.includes(word));
    n += !row.hidden;
  }
  status.textContent = words.length ? `${n} of ${rows.length} models` : told;
});
