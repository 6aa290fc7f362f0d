// Small helpers to build elements. Text only ever enters the report through textContent.
const SVG = "http://www.w3.org/2000/svg";

function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) node.append(child);
  }
  return node;
}

function svg(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  node.append(...children);
  return node;
}

// A short scale with a needle at `place` (0 to 1).
function gauge(place, width) {
  const x = 1 + Math.min(Math.max(place, 0), 1) * (width - 2);
  return svg("svg", { viewBox: `0 0 ${width} 8`, width, height: 8, class: "gauge", "aria-hidden": "true" },
    svg("path", { class: "rail", d: `M0 4h${width}` }),
    svg("path", { class: "fill", d: `M0 4H${x.toFixed(1)}` }),
    svg("path", { class: "needle", d: `M${x.toFixed(1)} 0v8` }));
}

function plural(n, noun) {
  return `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
}

function readJson(id) {
  return JSON.parse(document.getElementById(id).textContent);
}

function fold(title, isOpen, ...children) {
  return el("details", { class: "fold", open: isOpen }, el("summary", {}, title), ...children);
}
