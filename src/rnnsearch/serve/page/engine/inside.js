// The inside of one step of the decoder, and the translation that follows if the step had looked
// elsewhere.
//
// question: {line, ids, step, beam, change}: the word ids[step] of a translation of the line.
// change: null, or {temperature, only, blanked}: the temperature of the softmax; the one source id
// that is looked at, or null; source ids that from here on cannot be looked at.

import { bestOf } from "./search.js";

const SHOWN = 64; // numbers of a strip: the others would be too narrow to be seen
const LIKELIEST = 10;
const READ = 4; // annotations that are shown

/** Returns the values that one step computes, by their names in the paper: {sources, energies,
 *  weights, z, r, layer, annotations, context, likeliest}. */
export function inside(translator, { line, ids, step, change }) {
  const { network, source, target } = translator;
  const encoded = translator.encode(line, translator.settings);
  const sentence = translator.annotated(encoded.ids);
  const changed = changeAt(change, step, sentence.length);
  const attended = step - network.firstAttended; // the step whose context the word was read from
  const trace = {}; // of that step
  const last = {}; // of the step that wrote the word
  let { state } = sentence;
  let result;
  for (let i = 0; i <= step; i++) {
    const seen = i === attended ? trace : i === step ? last : null;
    const previous = i ? [ids[i - 1]] : null;
    result = network.step(sentence, state, previous, changed(i + network.firstAttended), seen);
    state = result.state;
  }
  const weights = [...result.weights];
  const size = network.annotation;
  const annotation = (j) => sentence.annotations.subarray(j * size, (j + 1) * size);
  const read = order(weights).slice(0, READ);
  return {
    sources: encoded.ids.map((id, j) => label(source, id, encoded.words[encoded.wordOf[j]])),
    energies: [...(trace.energies ?? [])], // none: the word was read from no context
    weights,
    z: summary(trace.z),
    r: summary(trace.r),
    layer: winners(last.layer ?? trace.layer),
    annotations: read.map((source, k) => ({
      ...{ source, weight: weights[source], strip: sampled(annotation(source)) },
    })),
    context: sampled(trace.context ?? new Float32Array(size)),
    likeliest: likeliest(target, result.logProbabilities, ids[step]),
    before: target.decode(ids.slice(0, step)).words,
    written: ids.map((id) => label(target, id)),
  };
}

/** Returns the best translation that begins with the words before the step and goes on with the
 *  change: {text, tokens, alignment, score}. */
export function onward(translator, { line, ids, step, beam, change }) {
  const encoded = translator.encode(line, translator.settings);
  const prefix = { ids: ids.slice(0, step) };
  const changed = changeAt(change, step, encoded.ids.length);
  return bestOf(translator, encoded, { beam, prefix, change: changed }).shown;
}

/** Returns a function: word i → its changed attention {temperature, factors}, or null. `change`
 *  applies to the word at `step`. */
function changeAt(change, step, length) {
  return (i) => {
    if (!change || i < step || (i > step && !change.blanked.length)) return null;
    const { temperature, only, blanked } = change;
    const looks = (j) => !blanked.includes(j) && (i > step || only === null || only === j);
    const factors = Array.from({ length }, (_, j) => Number(looks(j)));
    return { temperature: i === step ? temperature : 1, factors };
  };
}

/** Returns a target or source id as text for the page. */
export function label(codec, id, unknown = "unknown word") {
  if (id === 0) return "</s>";
  if (id === 1) return unknown;
  const word = codec.vocabulary[id];
  if (!codec.begins(id)) return `·${word}`; // a subword that goes on with the word before
  return codec.letters(id) || word;
}

/** Returns the places of the values, the largest first. */
const order = (values) => [...values.keys()].sort((a, b) => values[b] - values[a]);

const sampled = (values) => {
  const length = Math.min(SHOWN, values.length);
  return Array.from({ length }, (_, k) => values[Math.floor((k * values.length) / SHOWN)]);
};

function summary(values) {
  if (!values) return null;
  const sum = values.reduce((total, value) => total + value, 0);
  return { strip: sampled(values), mean: sum / values.length, size: values.length };
}

/** Returns the larger unit of each pair of the readout's layer, and which of the two it is: {pairs:
 *  [[value, 0 or 1]], first, size}. */
function winners(layer) {
  const pairs = Array.from({ length: layer.length / 2 }, (_, k) => {
    const second = Number(layer[2 * k + 1] > layer[2 * k]);
    return [layer[2 * k + second], second];
  });
  const first = pairs.filter(([, second]) => !second).length;
  return { pairs: sampled(pairs), first, size: pairs.length };
}

/** Returns the likeliest ids, and the chosen one. */
function likeliest(codec, logProbabilities, chosen) {
  const ranked = order(logProbabilities);
  const ids = new Set([...ranked.slice(0, LIKELIEST), chosen]);
  return [...ids].map((id) => ({
    ...{ id, p: Math.exp(logProbabilities[id]), chosen: id === chosen },
    ...{ rank: ranked.indexOf(id) + 1, word: label(codec, id) },
  }));
}
