// Two ways to a translation, one interface: translate(text, {model, beam, nbest, key, glossary, prefix}, onWords, signal) → {text, sentences}, load(model,
// onProgress), choices({line, prefix}, {model, key}) → [{word, probability}]. Only the engine in the browser has weights, and `ask`. onWords, which may be missing, gets {sentence,
// source_tokens, tokens, alignment} after each word. Errors are Errors with a message for the visitor.

export function makeBackend(config) {
  return config.engine === "http" ? new HttpBackend() : new LocalBackend(config.models);
}

/** The engine in this browser, in a thread of its own. */
class LocalBackend {
  constructor(models) {
    this.models = new Map(models.map((model) => [model.name, model]));
    this.worker = new Worker(new URL("engine/worker.js", import.meta.url), { type: "module" });
    this.loads = new Map();
    this.request = 0;
    this.pending = new Map();
    this.worker.onmessage = ({ data }) => this.heard(data);
    this.worker.onerror = (event) => {
      event.preventDefault();
      const error = new Error("The engine could not be started in this browser.");
      for (const one of [...this.pending.values(), ...this.loads.values()]) one.reject(error);
    };
  }

  load(name, onProgress) {
    const before = this.loads.get(name);
    if (before) {
      before.listeners.push(onProgress);
      return before.promise;
    }
    const one = { listeners: [onProgress] };
    one.promise = new Promise((resolve, reject) => Object.assign(one, { resolve, reject }));
    this.loads.set(name, one);
    this.worker.postMessage({ kind: "load", model: this.models.get(name) });
    return one.promise;
  }

  choices(question, { model }) {
    return this.ask("choices", model, question);
  }

  /** kind: "inside", of a step (engine/inside.js), or "tree", of a search (engine/tree.js). */
  ask(kind, name, question) {
    return new Promise((resolve, reject) => {
      this.pending.set(++this.request, { resolve, reject });
      this.worker.postMessage({ kind, request: this.request, model: this.models.get(name), question });
    });
  }

  translate(text, { model, beam, nbest, prefix }, onWords, signal) {
    const request = ++this.request;
    return new Promise((resolve, reject) => {
      this.pending.set(request, { resolve, reject, onWords });
      signal?.addEventListener("abort", () => {
        this.worker.postMessage({ kind: "stop" });
        this.pending.delete(request);
        reject(new DOMException("stopped", "AbortError"));
      });
      this.worker.postMessage({ kind: "translate", request, text, model: this.models.get(model), options: { beam, nbest, prefix }, shown: Boolean(onWords) });
    });
  }

  heard(data) {
    const load = this.loads.get(data.model);
    const one = this.pending.get(data.request);
    if (data.kind === "progress") load?.listeners.forEach((listener) => listener(data.loaded, data.bytes));
    if (data.kind === "ready") load?.resolve();
    if (data.kind === "words") one?.onWords(data.words);
    if (data.kind === "error" && !data.request) {
      load?.reject(new Error(data.message));
      this.loads.delete(data.model);
    }
    if (data.kind === "done" || (data.kind === "error" && data.request)) {
      this.pending.delete(data.request);
      if (data.kind === "done") one?.resolve(data.result);
      else one?.reject(new Error(data.message));
    }
  }
}

/** The HTTP service that served this page. */
class HttpBackend {
  async load() {}

  async translate(text, { key, ...options }, _, signal) {
    const answer = await this.ask("v1/translate", { text, ...options, alignment: true }, key, signal);
    return (await answer.json()).translations[0];
  }

  async choices({ line, prefix }, { model, key }) {
    return (await (await this.ask("v1/choices", { text: line, prefix, model }, key)).json()).choices;
  }

  async ask(address, body, key, signal) {
    const headers = { "content-type": "application/json", ...(key && { authorization: `Bearer ${key}` }) };
    let answer;
    try {
      answer = await fetch(address, { method: "POST", headers, body: JSON.stringify(body), signal });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Error("The service cannot be reached. Is it still running?");
    }
    if (answer.ok) return answer;
    const said = await answer.json().catch(() => ({}));
    throw new Error(said.error?.message ?? `The service answers ${answer.status}.`);
  }
}
