// The raw requests and answers. Rounds and tool calls are unfolded, without what stands above them already.
function sharedMessages(before, now) {
  let n = 0;
  while (n < before.length && n < now.length && JSON.stringify(before[n]) === JSON.stringify(now[n])) n++;
  return n;
}

function messagesOf(exchange) {
  return (exchange.request || {}).messages || [];
}

function hasRounds(exchanges) {
  const isContinued = exchanges.slice(1).some((exchange, k) => {
    const [before, now] = [messagesOf(exchanges[k]), messagesOf(exchange)];
    return before.length > 0 && before.length < now.length && sharedMessages(before, now) === before.length;
  });
  return isContinued || exchanges.some((one) => ((one.response || {}).outputs || []).some((output) => output.tool_calls && output.tool_calls.length));
}

// The text and the calls of a turn of the assistant, as an output has them.
function turnOf(message) {
  const [first] = message.parts || [];
  return JSON.stringify([(first || {}).text || "", message.calls || []]);
}

// The messages of a request that the one before it did not have; its answer is in the history, too.
function roundNode(exchanges, k) {
  const messages = messagesOf(exchanges[k]);
  if (k === 0) {
    const place = questionAt(messages.map((message) => (typeof message === "object" ? message : {})));
    return exchangeNode(exchanges[k], "Request 1", messages.filter((_, at) => at !== place), "the question above");
  }
  const before = messagesOf(exchanges[k - 1]);
  let n = sharedMessages(before, messages);
  const said = ((exchanges[k - 1].response || {}).outputs || []).map((output) => JSON.stringify([output.text || "", output.tool_calls || []]));
  const next = messages[n];
  if (n === before.length && next && next.role === "assistant" && (next.parts || []).length < 2 && said.includes(turnOf(next))) n++;
  return exchangeNode(exchanges[k], `Request ${k + 1}`, messages.slice(n), n ? `after ${plural(n, "message")} above` : "");
}

// The last exchange; an answer that stands above already is only mentioned.
function withoutAnswer(exchange, answer) {
  const outputs = (exchange.response || {}).outputs || [];
  const last = outputs[outputs.length - 1];
  if (!last || typeof last.text !== "string" || !last.text.trim() || last.text.trim() !== (answer || "").trim()) return exchange;
  return { ...exchange, response: { ...exchange.response, outputs: [...outputs.slice(0, -1), { ...last, isAbove: true }] } };
}

function conversationNodes(sample) {
  const all = sample.exchanges || [];
  const own = all.filter((exchange) => (exchange.role || "model") === "model");
  const others = all.filter((exchange) => !own.includes(exchange));
  const isOpen = hasRounds(own);
  const shown = isOpen ? [...own.slice(0, -1), withoutAnswer(own[own.length - 1], answerOf(sample))] : own;
  const title = own.length > 1 ? `Conversation · ${plural(own.length, "request")}` : "Conversation";
  return [
    own.length ? fold(title, isOpen,
      shown.map((exchange, k) => (isOpen ? roundNode(shown, k) : exchangeNode(exchange, own.length > 1 ? `Request ${k + 1}` : "Request"))),
      sample.more ? el("p", { class: "aside" }, `${plural(sample.more, "more request")} in samples/*.jsonl`) : null) : null,
    others.length ? fold(plural(others.length, "judge call"), false,
      others.map((exchange, k) => exchangeNode(exchange, others.length > 1 ? `${k + 1} · ${exchange.role}` : exchange.role))) : null,
  ];
}
