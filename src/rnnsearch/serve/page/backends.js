// Two ways to a translation, one interface: load(model), translate(text, {model, beam, nbest, key,
// glossary, prefix}, onWords, signal) → {text, sentences}, choices({line, prefix}, {model, key})
// → [{word, probability}]. Only the engine in the browser has weights, and `ask`. onWords, which
// may be missing, gets {sentence, source_tokens, tokens, alignment} after each word. Errors have a
// message for the visitor.

export function makeBackend({ engine, models }, onProgress) {
  return engine === "http" ? new HttpBackend() : new LocalBackend(models, onProgress);
}

/** The engine in this browser, in a thread of its own. */
class LocalBackend {
  constructor(models, onProgress) {
    this.models = models;
    this.worker = new Worker(new URL("engine/worker.js", import.meta.url), { type: "module" });
    this.pending = []; // by request
    this.worker.onmessage = ({ data: { kind, request, ...data } }) => {
      const { resolve, reject, onWords } = this.pending[request] ?? {};
      if (kind === "progress") return onProgress(data.loaded, data.bytes);
      if (kind === "words") return onWords?.(data.words);
      delete this.pending[request];
      if (kind === "done") resolve?.(data.result);
      if (kind === "error") reject?.(new Error(data.message));
    };
    this.worker.onerror = (event) => {
      event.preventDefault();
      this.broken = new Error("The engine could not be started in this browser. Load the page again.");
      for (const one of this.pending) one?.reject(this.broken);
    };
  }

  load(model) {
    return this.ask("load", model);
  }

  choices(question, { model }) {
    return this.ask("choices", model, question);
  }

  translate(text, { model, beam, nbest, prefix }, onWords, signal) {
    const question = { text, options: { beam, nbest, prefix }, shown: Boolean(onWords) };
    return this.ask("translate", model, question, onWords, signal);
  }

  /** kind: one of those above, "inside", of a step (engine/inside.js), or "tree", of a search. */
  ask(kind, name, question = {}, onWords = null, signal = null) {
    return new Promise((resolve, reject) => {
      if (this.broken) throw this.broken;
      signal?.throwIfAborted();
      const request = this.pending.push({ resolve, reject, onWords }) - 1;
      signal?.addEventListener("abort", () => {
        this.worker.postMessage({ kind: "stop" });
        delete this.pending[request];
        reject(new DOMException("stopped", "AbortError"));
      });
      const model = this.models.find((one) => one.name === name);
      this.worker.postMessage({ kind, request, model, question });
    });
  }
}

/** The HTTP service that served this page. */
class HttpBackend {
  async load() {}

  async translate(text, { key, ...options }, _, signal) {
    const body = { text, ...options, alignment: true };
    return (await post("v1/translate", body, key, signal)).translations[0];
  }

  async choices({ line, prefix }, { model, key }) {
    return (await post("v1/choices", { text: line, prefix, model }, key)).choices;
  }
}

async function post(address, body, key, signal) {
  const authorization = key && { authorization: `Bearer ${key}` };
  const headers = { "content-type": "application/json", ...authorization };
  let answer;
  try {
    answer = await fetch(address, { method: "POST", headers, body: JSON.stringify(body), signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The service cannot be reached. Is it still running?");
  }
  if (answer.ok) return answer.json();
  const said = await answer.json().catch(() => ({}));
  throw new Error(said.error?.message ?? `The service answers ${answer.status}.`);
}
