// The list of runs: buttons are enabled when they can work, and checkpoints fold without a request.
"use strict";
(() => {
  const form = document.querySelector("#runs-form");
  if (!form) return;
  const note = form.querySelector("#choice");
  const first = note.textContent;
  const compare = form.querySelector("button[value=compare]");
  const rank = form.querySelector("button[value=rank]");

  function common(ticked) {
    const [one, ...others] = ticked.map((box) => new Set(box.dataset.tasks.split(" ").filter(Boolean)));
    return [...one].some((task) => others.every((own) => own.has(task)));
  }

  function update() {
    const ticked = [...form.querySelectorAll("input[name=run]:checked")];
    const n = ticked.length;
    const has = n > 1 && common(ticked);
    compare.disabled = !(n >= 2 && n <= 3 && has);
    rank.textContent = n ? "Rank selected" : "Rank all";
    const selected = `${n} selected. `;
    note.textContent = n === 0 ? first
      : n === 1 ? `${selected}Select one or two more to compare them.`
      : n > 3 ? `${selected}At most three runs are compared.`
      : has ? `${selected}They have a common task.`
      : `${selected}They have no task in common, so they cannot be compared.`;
  }

  form.addEventListener("change", update);
  // A page from the browser's history has the ticks of before.
  window.addEventListener("pageshow", update);
  update();

  form.addEventListener("click", (event) => {
    const link = event.target.closest("[data-fold]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const isOpen = link.getAttribute("aria-expanded") === "true";
    link.setAttribute("aria-expanded", String(!isOpen));
    for (let row = link.closest("tr").nextElementSibling; row && row.classList.contains("member"); row = row.nextElementSibling) row.hidden = isOpen;
  });
})();
