// Small helpers to build elements. Text only ever enters the report through textContent.

// Characters that would change the display of other text, or cannot be seen, are replaced by their numbers. Joiners
// stand inside letters and emoji.
const UNSEEN = /([\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00a0\u00ad\u034f\u061c\u180e\u2000-\u200b\u200e\u200f\u2028-\u202f\u205f-\u206f\u3000\u3164\ufeff\ufff9-\ufffb])/u;
const EXACT = ["pre", "del", "ins"];

function seen(text) {
  return text.split(UNSEEN).map((part, place) => (place % 2
    ? el("span", { class: "character" }, `U+${part.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`)
    : part)).filter((part) => part !== "");
}

function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    if (typeof child === "string" && EXACT.includes(tag) && UNSEEN.test(child)) node.append(...seen(child));
    else node.append(child);
  }
  return node;
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
