// The engine in a thread of its own, so that the page never stands still. Messages in: {kind: "load", model}, {kind: "translate", request,
// text, options, shown}, {kind: "stop"}, {kind: "inside", "tree" or "choices", request, model, question}. Out: progress, ready, words, done, error.

import { breath } from "./breath.js";
import { choices } from "./choices.js";
import { inside, onward } from "./inside.js";
import { fetchBytes } from "./tensors.js";
import { Translator } from "./translator.js";
import { tree } from "./tree.js";

const ANSWERS = { choices, inside, tree };
const ready = new Map(); // by the name of the model: a promise of its Translator
let current = 0;

addEventListener("message", async ({ data }) => {
  try {
    if (data.kind === "load") await load(data.model);
    if (data.kind === "stop") current = 0;
    if (data.kind === "translate") await translate(data);
    if (data.kind in ANSWERS) await explain(data);
  } catch (error) {
    if (error !== STOPPED) postMessage({ kind: "error", request: data.request, model: data.model?.name, message: message(error) });
  }
});

const STOPPED = Symbol("stopped");

function load(model) {
  if (!ready.has(model.name)) {
    const made = make(model);
    made.catch(() => ready.delete(model.name)); // the next attempt loads it again
    ready.set(model.name, made);
  }
  return ready.get(model.name);
}

async function make({ name, folder, bytes }) {
  const at = new URL(`${folder}/`, new URL("..", import.meta.url));
  const text = JSON.parse(new TextDecoder().decode(await fetchBytes(new URL("text.json", at))));
  const weights = await fetchBytes(new URL("model.safetensors", at), (loaded) => postMessage({ kind: "progress", model: name, loaded, bytes }));
  const translator = new Translator(text, weights);
  postMessage({ kind: "ready", model: name, simd: Boolean(translator.network.kernel.sums) });
  return translator;
}

async function translate({ request, text, model, options, shown }) {
  current = request;
  const translator = await load(model);
  const show = shown && ((words) => postMessage({ kind: "words", request, words }));
  const result = await translator.translate(text, options, show, async () => {
    await breath();
    if (current !== request) throw STOPPED;
  });
  postMessage({ kind: "done", request, result });
}

async function explain({ kind, request, model, question }) {
  const translator = await load(model);
  const result = ANSWERS[kind](translator, question);
  if (question.change) result.changed = onward(translator, question);
  postMessage({ kind: "done", request, result });
}

function message(error) {
  if (error instanceof RangeError) return "This browser has too little memory for the model.";
  return error instanceof Error ? error.message : String(error);
}
