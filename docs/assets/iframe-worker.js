// The theme searches in a worker, and hides the search where the browser refuses to start one: on a page that was opened
// from a folder (file://). There, an iframe of the page runs the worker's script instead.
class FrameWorker extends EventTarget {
  #inside;
  #waiting = [];

  constructor(url) {
    super();
    const frame = document.createElement("iframe");
    frame.hidden = true;
    document.body.append(frame);
    frame.contentDocument.open();
    frame.contentDocument.write("<!doctype html><body>");
    frame.contentDocument.close();
    const inside = frame.contentWindow;
    inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
    const script = frame.contentDocument.createElement("script");
    script.src = new URL(url, location.href).href;
    script.onload = () => {
      this.#inside = inside;
      this.#waiting.forEach((data) => this.postMessage(data));
    };
    script.onerror = () => this.dispatchEvent(new ErrorEvent("error", { message: `cannot load ${url}` }));
    frame.contentDocument.body.append(script);
  }

  postMessage(data) {
    if (this.#inside) this.#inside.dispatchEvent(new this.#inside.MessageEvent("message", { data }));
    else this.#waiting.push(data);
  }
}

// A query such as "--limit" means the option: a dash before or after a word is no operator.
const QUERY = 2;
const BaseWorker = location.protocol === "file:" ? FrameWorker : window.Worker;
window.Worker = class extends BaseWorker {
  postMessage(message) {
    const isQuery = message.type === QUERY && typeof message.data === "string";
    super.postMessage(isQuery ? { ...message, data: message.data.replace(/(^|\s)-+|-+(?=\s|$)/g, "$1") } : message);
  }
};
