// The engine in a thread of its own, so that the page never stands still. Messages in: {kind:
// "load", "translate", "inside", "tree" or "choices", request, model, question}, {kind: "stop"}.
// Out: {kind: "progress", loaded, bytes}, {kind: "words", "done" or "error", request, …}.

import { breath } from "./breath.js";
import { choices } from "./choices.js";
import { inside, onward } from "./inside.js";
import { fetchBytes } from "./tensors.js";
import { Translator } from "./translator.js";
import { tree } from "./tree.js";

const STOPPED = Symbol("stopped");
const ANSWERS = { load: () => null, translate, choices, inside, tree };
const ready = new Map(); // by the name of the model: a promise of its Translator
let current = 0; // the translation that may go on

addEventListener("message", async ({ data: { kind, request, model, question } }) => {
  if (kind === "stop" || kind === "translate") current = request;
  if (kind === "stop") return;
  try {
    const translator = await load(model);
    const result = await ANSWERS[kind](translator, question, request);
    if (question.change) result.changed = onward(translator, question);
    postMessage({ kind: "done", request, result });
  } catch (error) {
    if (error !== STOPPED) postMessage({ kind: "error", request, message: message(error) });
  }
});

function load(model) {
  if (!ready.has(model.name)) {
    const made = make(model);
    made.catch(() => ready.delete(model.name)); // the next attempt loads it again
    ready.set(model.name, made);
  }
  return ready.get(model.name);
}

async function make({ folder, bytes }) {
  const at = new URL(`../${folder}/`, import.meta.url);
  const text = new TextDecoder().decode(await fetchBytes(new URL("text.json", at)));
  const progress = (loaded) => postMessage({ kind: "progress", loaded, bytes });
  const weights = await fetchBytes(new URL("model.safetensors", at), progress);
  return new Translator(JSON.parse(text), weights);
}

function translate(translator, { text, options, shown }, request) {
  const show = shown && ((words) => postMessage({ kind: "words", request, words }));
  return translator.translate(text, options, show, async () => {
    await breath();
    if (current !== request) throw STOPPED;
  });
}

function message(error) {
  if (error instanceof RangeError) return "This browser has too little memory for the model.";
  return error instanceof Error ? error.message : String(error);
}
