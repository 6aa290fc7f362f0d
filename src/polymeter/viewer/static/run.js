// Copies a command or a file's name.
"use strict";
(() => {
  function ready(root) {
    if (!navigator.clipboard) return;
    for (const button of root.querySelectorAll("[data-copy]")) {
      if (!button.hidden) continue;
      button.hidden = false;
      button.addEventListener("click", async () => {
        await navigator.clipboard.writeText(button.previousElementSibling.textContent);
        button.textContent = "Copied";
        setTimeout(() => { button.textContent = "Copy"; }, 1500);
      });
    }
  }
  document.addEventListener("htmx:load", (event) => ready(event.target));
  ready(document);
})();
