// A search in the rows of a list of a bundle: there is no server to ask. Without this script, the list is whole.
// Lists of samples have a script with the samples of all of their pages, to which filters and orders apply, too.
(() => {
  "use strict";

  const LEAST_ROWS = 6;
  const AT_ONCE = 50;
  const rows = [...document.querySelectorAll("main [data-row]")].map((row) => row.closest("li, tr") || row);
  const list = rows.length ? rows[0].closest("table, ol, ul") : null;
  const all = window.SAMPLES;
  if (!list || document.querySelector("main [data-search]")) return;

  function make(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }

  const wordsOf = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);
  const field = make("input", { type: "search", autocomplete: "off", spellcheck: "false", "data-search": "" });
  const found = make("span", { role: "status" });

  function searchOfPage() {
    const texts = rows.map((row) => row.textContent.toLowerCase());
    const box = make("div", { role: "search" }, make("label", { class: "bundle-search" }, "Search this page", field), found);
    (list.closest("[role=region]") || list).before(box);
    field.addEventListener("input", () => {
      const words = wordsOf(field.value);
      let n = 0;
      rows.forEach((row, place) => {
        row.hidden = !words.every((word) => texts[place].includes(word));
        n += !row.hidden;
      });
      found.textContent = words.length ? `${n} of ${rows.length}` : "";
    });
  }

  function select(label, name, options) {
    const node = make("select", { name }, ...options.map(([value, said]) => make("option", { value }, said)));
    return [node, make("label", {}, `${label} `, node)];
  }

  function searchOfAll() {
    const boxes = Object.entries(all.states).filter(([, places]) => places.length).map(([state, places]) => {
      const box = make("input", { type: "checkbox", name: "state", value: state });
      return [box, make("label", { class: "state" }, box, ` ${state} `, make("span", { class: "state-n" }, places.length.toLocaleString("en"))), new Set(places)];
    });
    const choices = Object.entries(all.choices).map(([name, { values, places }]) =>
      [...select(name, `in:${name}`, [["", "any"], ...values.map((value, code) => [String(code), value])]), places]);
    const metrics = Object.keys(all.metrics);
    const [order, orderLabel] = select("Order", "sort", [["", "Dataset order"],
      ...metrics.flatMap((name) => ["Worst", "Best"].map((way) => [`${way.toLowerCase()}:${name}`, `${way} ${metrics.length > 1 ? `${name} ` : ""}first`]))]);
    const box = make("div", { role: "search", class: "bundle-filters" },
      make("label", { class: "bundle-search" }, "Search all pages", field),
      ...boxes.map(([, label]) => label), ...choices.map(([, label]) => label), ...(metrics.length ? [orderLabel] : []), found);
    const own = make("ol", { class: list.className, hidden: "" });
    const more = make("button", { type: "button", hidden: "" }, "Show more");
    const pager = [...document.querySelectorAll("main .pager")];
    list.before(box);
    list.after(own, more);
    let places = [];

    function chosen() {
      const words = wordsOf(field.value);
      const states = boxes.filter(([input]) => input.checked).map(([, , set]) => set);
      const picked = choices.filter(([node]) => node.value !== "");
      const passes = (place) => (!states.length || states.some((set) => set.has(place)))
        && picked.every(([node, , codes]) => codes[place] === Number(node.value))
        && words.every((word) => all.texts[place].includes(word));
      const kept = all.rows.map((_, place) => place).filter(passes);
      const [way, name] = [order.value.split(":")[0], order.value.slice(order.value.indexOf(":") + 1)];
      if (!way) return kept;
      const { values, isLower } = all.metrics[name];
      const sign = (way === "worst") === isLower ? -1 : 1;
      const rank = (place) => (values[place] === null ? Infinity : sign * values[place]);
      return kept.sort((a, b) => (rank(a) === rank(b) ? a - b : rank(a) < rank(b) ? -1 : 1));
    }

    // The rows are the server's, in which all foreign text is escaped.
    function draw(from) {
      const template = document.createElement("template");
      template.innerHTML = places.slice(from, from + AT_ONCE).map((place) => all.rows[place]).join("");
      own.append(template.content);
      more.hidden = own.children.length >= places.length;
    }

    function apply() {
      const values = new URLSearchParams();
      for (const node of box.querySelectorAll("input, select")) {
        const value = node.type === "checkbox" ? (node.checked ? node.value : "") : node.value;
        if (value) values.append(node.name || "q", value);
      }
      const isFiltered = [...values].length > 0;
      history.replaceState(null, "", isFiltered ? `#${values}` : location.pathname + location.search);
      list.hidden = isFiltered;
      pager.forEach((nav) => { nav.hidden = isFiltered; });
      own.hidden = !isFiltered;
      own.replaceChildren();
      more.hidden = true;
      found.textContent = "";
      if (!isFiltered) return;
      places = chosen();
      found.textContent = `${places.length.toLocaleString("en")} of ${all.rows.length.toLocaleString("en")}`;
      draw(0);
    }

    const values = new URLSearchParams(location.hash.slice(1));
    field.value = values.get("q") || "";
    for (const node of box.querySelectorAll("select")) node.value = values.get(node.name) || "";
    for (const [input] of boxes) input.checked = values.getAll("state").includes(input.value);
    box.addEventListener("input", apply);
    more.addEventListener("click", () => draw(own.children.length));
    apply();
  }

  if (all && all.texts) searchOfAll();
  else if (rows.length >= LEAST_ROWS) searchOfPage();
})();
