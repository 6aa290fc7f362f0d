// What is seen of one sample: images at their true size in a dialog, two images under a slider, the length of recordings.
// All of it works without this script, too: as links, side by side, in the player itself.
(() => {
  "use strict";

  function make(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }

  // --- images ---------------------------------------------------------------------------------------------------------

  let dialog = null;

  function dialogOf() {
    if (dialog && dialog.isConnected) return dialog;
    const said = make("span", { class: "c-said", id: "c-zoom-said" });
    const fit = make("button", { type: "button", class: "c-fit", "aria-pressed": "false" }, "Fit to window");
    const close = make("button", { type: "button", class: "c-close" }, "Close");
    const stage = make("div", { class: "c-at-size", tabindex: "0", "aria-label": "Image, scrollable" });
    dialog = make("dialog", { class: "c-dialog", "aria-labelledby": "c-zoom-said" }, make("p", {}, said, fit, close), stage);
    fit.addEventListener("click", () => fitTo(!dialog.classList.contains("c-fitted")));
    close.addEventListener("click", () => dialog.close());
    dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
    // What the page does with keys is none of the dialog's; Escape closes it by itself.
    dialog.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "f" && !event.ctrlKey && !event.metaKey && !event.altKey) fitTo(!dialog.classList.contains("c-fitted"));
    });
    document.body.append(dialog);
    return dialog;
  }

  function fitTo(isFitted) {
    dialog.classList.toggle("c-fitted", isFitted);
    dialog.querySelector(".c-fit").setAttribute("aria-pressed", String(isFitted));
  }

  function zoom(link) {
    const shown = dialogOf();
    const frame = link.querySelector(".c-frame").cloneNode(true);
    const originals = link.querySelectorAll(".c-shapes g");
    // What the legend hides stays hidden in the copy, which stands outside of the figure that its rules look at.
    [...frame.querySelectorAll(".c-shapes g")].forEach((group, place) => {
      if (getComputedStyle(originals[place]).display === "none") group.remove();
      else group.classList.add("c-first");
    });
    const width = Number(link.dataset.width);
    const height = Number(link.dataset.height);
    const image = frame.querySelector("img");
    image.classList.remove("c-tiny");
    if (width && height) {
      image.width = width;
      image.height = height;
      frame.style.width = `${width}px`;
    }
    const kept = link.dataset.kept;
    shown.querySelector(".c-said").textContent = link.dataset.said
      + (kept ? ` · the run keeps a preview of ${kept} px, shown here at the true size` : "");
    shown.querySelector(".c-at-size").replaceChildren(frame);
    fitTo(false);
    shown.showModal();
    shown.querySelector(".c-at-size").focus();
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest && event.target.closest("[data-c-zoom]");
    if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    zoom(link);
  });

  // --- two images under a slider --------------------------------------------------------------------------------------

  function place(compare) {
    const range = compare.querySelector("input[type=range]");
    const [left, right] = ["left", "right"].map((side) => compare.querySelector(`[data-c-side=${side}]`).selectedOptions[0]);
    compare.querySelector(".c-over").style.clipPath = `inset(0 0 0 ${range.value}%)`;
    compare.querySelector(".c-edge").style.left = `${range.value}%`;
    range.setAttribute("aria-valuetext", `${range.value} % ${left.textContent}, ${100 - range.value} % ${right.textContent}`);
  }

  function choose(compare, side) {
    const option = compare.querySelector(`[data-c-side=${side}]`).selectedOptions[0];
    const image = compare.querySelector(side === "left" ? ".c-under" : ".c-over");
    image.removeAttribute("width");
    image.removeAttribute("height");
    image.src = option.value;
    image.alt = option.textContent;
    place(compare);
  }

  document.addEventListener("input", (event) => {
    const compare = event.target.closest && event.target.closest("[data-c-compare]");
    if (compare && event.target.type === "range") place(compare);
  });
  document.addEventListener("change", (event) => {
    const compare = event.target.closest && event.target.closest("[data-c-compare]");
    if (compare && event.target.dataset.cSide) choose(compare, event.target.dataset.cSide);
  });

  // --- recordings -----------------------------------------------------------------------------------------------------

  function tellLength(player) {
    const place = player.closest("figure") && player.closest("figure").querySelector("[data-c-length]");
    if (!place || !Number.isFinite(player.duration)) return;
    const whole = Math.round(player.duration);
    place.textContent = player.duration < 60 ? `${player.duration.toFixed(1)} s` : `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, "0")} s`;
    place.hidden = false;
  }

  // --- what a page has when it is there, or gets later ----------------------------------------------------------------

  function ready(root) {
    for (const compare of root.querySelectorAll("[data-c-compare]")) {
      compare.hidden = false;
      place(compare);
    }
    for (const player of root.querySelectorAll("audio, video")) {
      if (player.readyState > 0) tellLength(player);
      else player.addEventListener("loadedmetadata", () => tellLength(player), { once: true });
    }
  }

  document.addEventListener("htmx:load", (event) => ready(event.target));
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", () => ready(document));
  else ready(document);
})();
