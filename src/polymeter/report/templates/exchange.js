// Exchanges: requests and responses, with every setting, and the images in it.
function imageFigure(note, isSmall, { label = "", facts = [], kind = "" } = {}) {
  const size = note.width ? `${note.width} × ${note.height} px` : "";
  const uri = note.file ? IMAGES[note.file] : null;
  const style = ["image", isSmall ? "small" : "", kind].filter(Boolean).join(" ");
  const said = [label ? el("strong", {}, label) : null, ...[note.name, size, ...facts].filter(Boolean).map((fact) => el("span", {}, fact))].filter(Boolean);
  if (!uri) {
    const why = note.file ? "left out of this report; the file is in media/" : note.source ? String(note.source) : "no preview was kept";
    return el("figure", { class: `${style} absent` }, el("figcaption", {}, said.length ? said : "Image", el("br"), why));
  }
  const alt = [label || "Image", size ? `of ${size}` : ""].filter(Boolean).join(" ");
  const image = el("img", { src: uri, alt, loading: "lazy", decoding: "async" });
  const button = el("button", { type: "button", class: "image-button", title: "Show at full size", onclick: () => zoom(uri, [label, note.name, size, ...facts].filter(Boolean).join(" · ")) }, image);
  return el("figure", { class: style }, button, said.length ? el("figcaption", {}, said) : null);
}

function zoom(uri, said) {
  const dialog = document.getElementById("zoom");
  const close = el("button", { type: "button", class: "plain", onclick: () => dialog.close() }, "Close");
  dialog.replaceChildren(el("p", {}, el("span", {}, said), close), el("img", { src: uri, alt: "Image at full size" }));
  dialog.showModal();
}

function partNode(part, isSmall) {
  if (typeof part === "string") return el("p", { class: "aside" }, part);
  if ("text" in part) return el("pre", {}, part.text);
  if (part.image) return imageFigure(part.image, isSmall);
  const [kind, note] = Object.entries(part)[0] || ["part", {}];
  return el("p", { class: "aside" }, `${kind}: ${typeof note === "string" ? note : JSON.stringify(note)}`);
}

function messageNode(message, isSmall) {
  if (typeof message === "string") return el("p", { class: "aside" }, message);
  return el("div", { class: "turn" }, el("h5", {}, message.role || "?"), (message.parts || []).map((part) => partNode(part, isSmall)));
}

function outputNode(output, number, many, continuations) {
  if (typeof output === "string") return el("p", { class: "aside" }, output);
  const facts = [];
  if (output.finish_reason) facts.push(output.finish_reason === "length" ? "reached the token limit" : `ended by ${output.finish_reason}`);
  const [input, written, reasoned] = output.usage || [];
  if (typeof input === "number") facts.push(`${plural(input, "token")} in`);
  if (typeof written === "number") facts.push(`${plural(written, "token")} out`);
  if (typeof reasoned === "number") facts.push(`${reasoned.toLocaleString("en")} of them reasoning`);
  return el("div", { class: "turn answer" },
    el("h5", {}, many ? `answer ${number + 1}` : "answer", facts.length ? el("span", { class: "aside" }, ` ${facts.join(", ")}`) : null),
    output.reasoning ? fold("Reasoning", false, el("pre", {}, output.reasoning)) : null,
    typeof output.text === "string" ? el("pre", {}, output.text) : null,
    (output.images || []).map((file) => imageFigure({ file }, true)),
    output.logprobs ? logprobTable(output.logprobs, continuations) : null,
    output.tool_calls ? el("pre", {}, JSON.stringify(output.tool_calls, null, 2)) : null);
}

function logprobTable(logprobs, continuations) {
  const best = Math.max(...logprobs.map((one) => (typeof one[0] === "number" ? one[0] : -Infinity)));
  const rows = logprobs.filter(Array.isArray).map(([logprob, isGreedy, tokens], number) =>
    el("tr", { class: logprob === best ? "best" : null },
      el("th", { scope: "row" }, (continuations || [])[number] ?? `continuation ${number + 1}`),
      el("td", {}, typeof logprob === "number" ? logprob.toFixed(3) : String(logprob)),
      el("td", {}, isGreedy ? "greedy" : ""),
      el("td", {}, plural(Number(tokens), "token"))));
  return el("table", { class: "logprobs" }, el("tbody", {}, rows));
}

function exchangeNode(exchange, number, count) {
  const request = exchange.request || {};
  const response = exchange.response || {};
  const { kind, continuations, ...settings } = request.ask || {};
  const said = Object.entries(settings).map(([name, value]) => `${name.replaceAll("_", " ")} ${typeof value === "string" ? value : JSON.stringify(value)}`);
  if (request.judge_prompt) said.push(`prompt ${request.judge_prompt}`);
  if (exchange.model) said.push(`judge ${exchange.model.slice(0, 12)}`);
  if (exchange.endpoint) said.push(`at ${exchange.endpoint}`);
  if (typeof response.latency_ms === "number") said.push(`${(response.latency_ms / 1000).toFixed(2)} s`);
  const outputs = response.outputs || [];
  return el("section", { class: "exchange" },
    el("h4", {}, count > 1 ? `${number + 1} · ` : "", `${exchange.role || "model"}`, el("span", { class: "aside" }, ` ${[kind, ...said].filter(Boolean).join(" · ")}`)),
    (request.messages || []).map((message) => messageNode(message, true)),
    outputs.map((output, j) => outputNode(output, j, outputs.length > 1, continuations)));
}
