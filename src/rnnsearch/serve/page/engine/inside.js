// The inside of one step of the decoder, and the translation that follows if the step had looked elsewhere.
//
// question: {line, ids, step, beam, change}: the word ids[step] of a translation of the line. change: null, or {temperature, only, blanked}: the
// temperature of the softmax; the one source id that is looked at, or null; source ids that from here on cannot be looked at.

import { search } from "./search.js";

const SHOWN = 64; // numbers of a strip: the others would be too narrow to be seen
const LIKELIEST = 10;
const READ = 4; // annotations that are shown

/** Returns the values that one step computes, by their names in the paper: {sources, energies, weights, z, r, layer, annotations, context, likeliest}. */
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
    result = network.step(sentence, state, i ? [ids[i - 1]] : null, changed(i + network.firstAttended), seen);
    state = result.state;
  }
  const { weights } = result;
  const size = network.annotation;
  const read = [...weights.keys()].sort((a, b) => weights[b] - weights[a]).slice(0, READ);
  return {
    sources: encoded.ids.map((id, j) => label(source, id, encoded.words[encoded.wordOf[j]])),
    energies: [...(trace.energies ?? [])], // none: the word was read from no context
    weights: [...weights],
    ...{ z: summary(trace.z), r: summary(trace.r), layer: winners(last.layer ?? trace.layer) },
    annotations: read.map((j) => ({ source: j, weight: weights[j], strip: sampled(sentence.annotations.subarray(j * size, (j + 1) * size)) })),
    context: sampled(trace.context ?? new Float32Array(size)),
    likeliest: likeliest(result.logProbabilities, ids[step]).map((one) => ({ ...one, word: label(target, one.id, "unknown word") })),
    before: translator.target.decode(ids.slice(0, step)).words,
    written: ids.map((id) => label(target, id, "unknown word")),
  };
}

/** Returns the best translation that begins with the words before the step and goes on with the change: {text, tokens, alignment, score}. */
export function onward(translator, { line, ids, step, beam, change }) {
  const settings = { ...translator.settings, beam, nbest: 1 };
  const encoded = translator.encode(line, settings);
  const walk = search(translator.network, translator.annotated(encoded.ids), {
    ...settings,
    prefix: { ids: ids.slice(0, step) },
    change: changeAt(change, step, encoded.ids.length),
  });
  let found = walk.next();
  while (!found.done) found = walk.next();
  return translator.inWords(encoded, found.value[0], settings);
}

/** Returns a function: word i → its changed attention {temperature, factors}, or null. `change` applies to the word at `step`. */
function changeAt(change, step, length) {
  return (i) => {
    if (!change || i < step || (i > step && !change.blanked.length)) return null;
    const only = i === step ? change.only : null;
    const factors = Array.from({ length }, (_, j) => Number(!change.blanked.includes(j) && (only === null || only === j)));
    return { temperature: i === step ? change.temperature : 1, factors };
  };
}

/** Returns a target or source id as text for the page. */
export function label(codec, id, unknown) {
  if (id === 0) return "</s>";
  if (id === 1) return unknown;
  const word = codec.vocabulary[id];
  if (!codec.ranks) return word;
  return word.startsWith("▁") ? word.slice(1) || "▁" : `·${word}`; // a subword that goes on with the word before
}

const sampled = (values) => Array.from({ length: Math.min(SHOWN, values.length) }, (_, k) => values[Math.floor((k * values.length) / SHOWN)]);

function summary(values) {
  if (!values) return null;
  return { strip: sampled(values), mean: values.reduce((sum, value) => sum + value, 0) / values.length, size: values.length };
}

/** Returns the larger unit of each pair of the readout's layer, and which of the two it is: {pairs: [[value, 0 or 1]], first, size}. */
function winners(layer) {
  const pairs = Array.from({ length: layer.length / 2 }, (_, k) => {
    const second = layer[2 * k + 1] > layer[2 * k];
    return [layer[2 * k + Number(second)], Number(second)];
  });
  return { pairs: sampled(pairs), first: pairs.filter(([, place]) => !place).length, size: pairs.length };
}

function likeliest(logProbabilities, chosen) {
  const order = [...logProbabilities.keys()].sort((a, b) => logProbabilities[b] - logProbabilities[a]);
  const first = order.slice(0, LIKELIEST);
  if (!first.includes(chosen)) first.push(chosen);
  return first.map((id) => ({ id, p: Math.exp(logProbabilities[id]), chosen: id === chosen, rank: order.indexOf(id) + 1 }));
}
