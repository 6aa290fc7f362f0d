// Keys, and the few things that links and forms alone cannot do. Every page works without this.
"use strict";
(() => {
  const one = (selector) => document.querySelector(selector);
  const help = one("#help");
  const button = one("#help-button");
  button.hidden = false;
  button.addEventListener("click", () => help.showModal());

  const rows = () => [...document.querySelectorAll("[data-row]")].filter((row) => row.offsetParent !== null);

  function step(selector, by) {
    const link = one(selector);
    const list = rows();
    if (list.length === 0) {
      if (link) link.click();
      return;
    }
    const at = list.indexOf(document.activeElement);
    const next = at < 0 ? (by > 0 ? 0 : list.length - 1) : at + by;
    if (list[next]) list[next].focus();
    else if (link) link.click();
  }

  function turn(selector) {
    const link = one(selector);
    if (link) link.click();
  }

  // The first link of the site's navigation: in a folder of files, the address "/" is not that of the runs.
  function home() {
    const link = one("header nav a[href]");
    if (link) link.click();
  }

  const KEYS = {
    "j": () => step("[data-after]", 1),
    "k": () => step("[data-before]", -1),
    "ArrowRight": () => turn("[data-after]"),
    "ArrowLeft": () => turn("[data-before]"),
    "u": () => turn("[data-up]"),
    "g": home,
    "/": () => { const field = one("[data-search]"); if (field) { field.focus(); field.select(); } else home(); },
    "n": () => { const field = one("[data-note]"); if (field) { field.closest("details")?.setAttribute("open", ""); field.focus(); } },
    "?": () => help.showModal(),
  };

  const isTyped = (node) => node.closest("input:not([type=checkbox]), textarea, select, [contenteditable], audio, video, [data-keys]") !== null;

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (event.key === "Escape") {
      if (document.activeElement && isTyped(document.activeElement)) document.activeElement.blur();
      return;
    }
    if (document.querySelector("dialog[open]") || isTyped(event.target)) return;
    // A region that scrolls sideways keeps its arrows.
    if (event.key.startsWith("Arrow") && event.target.scrollWidth > event.target.clientWidth && event.target !== document.body) return;
    const act = KEYS[event.key];
    if (act) {
      event.preventDefault();
      act();
    }
  });

  // A choice in a list of filters is shown at once; texts and numbers are shown with Enter. htmx does so for forms that
  // ask for a part of the page.
  document.addEventListener("change", (event) => {
    const form = event.target.closest("form[role=search]:not([hx-get]), form[data-at-once]");
    if (form && event.target.matches("select, input[type=checkbox]")) form.requestSubmit();
  });

  // Folded parts stay as the reader left them, except on a phone, where they would cover the list.
  for (const fold of document.querySelectorAll("details[data-keep]")) {
    const key = `open:${fold.dataset.keep}`;
    if (window.innerWidth > 700 && sessionStorage.getItem(key)) fold.open = true;
    fold.addEventListener("toggle", () => sessionStorage.setItem(key, fold.open ? "1" : ""));
  }

  // A page that waits for its samples has other style sheets and scripts than the page that follows, perhaps of one sample.
  document.addEventListener("htmx:beforeSwap", (event) => {
    const { target, serverResponse } = event.detail;
    if (target.id !== "waiting" || serverResponse.includes('id="waiting"')) return;
    event.detail.shouldSwap = false;
    location.reload();
  });

  // Fields that were left empty need no place in the address.
  document.addEventListener("htmx:configRequest", (event) => {
    const data = event.detail.formData;
    for (const name of new Set(data.keys())) {
      const told = data.getAll(name).filter((value) => value !== "");
      data.delete(name);
      told.forEach((value) => data.append(name, value));
    }
  });
  document.addEventListener("submit", (event) => {
    if (event.target.method !== "get") return;
    for (const field of event.target.querySelectorAll("input[name], select[name]")) {
      if (field.value === "" && !field.disabled) {
        field.disabled = true;
        setTimeout(() => { field.disabled = false; }, 0);
      }
    }
  });
})();
