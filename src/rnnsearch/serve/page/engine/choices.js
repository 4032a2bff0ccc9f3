// The likeliest words after a beginning, as translation/choices.py finds them.

import { Beginning } from "./beginning.js";
import { JOINER } from "./codec.js";
import { kindOf } from "./copied.js";
import { best, stepAfter } from "./search.js";
import { STAND_INS } from "./tables.js";

const [EOS, UNK] = [0, 1];

/** Returns [{word, probability}], the likeliest first, as it is after the words of the prefix,
 *  which are complete. A word of subwords ends with the first id that begins another word, or with
 *  the end of sentence. */
export function choices(translator, { line, prefix, count = 8 }) {
  const { network, target, settings } = translator;
  const encoded = translator.encode(line, settings);
  const sentence = translator.annotated(encoded.ids);
  const { ids, words: written } = new Beginning(target, `${prefix} `, settings.faithful);
  const copied = new Map(); // stand-ins for what is copied
  for (const word of settings.faithful ? encoded.words.toReversed() : []) {
    const names = written.includes(word) ? [] : (STAND_INS[kindOf(translator.source, word)] ?? []);
    for (const one of names) copied.set(one, word.replaceAll(JOINER, " "));
  }
  let result = stepAfter(network, sentence, ids);
  let live = [{ score: 0, text: "" }];
  const found = new Map();
  for (let first = true; live.length; first = false) {
    const least = [...found.values()].sort((a, b) => b - a)[count - 1] ?? 0;
    const fits = (id) => id > UNK && target.begins(id) === first;
    live = best(result, live, network.words, 2 * count, fits, sentence.length)
      .map((one) => ({ ...one, text: one.parent.text + target.letters(one.id) }))
      .filter(({ score }) => Math.exp(score) > least);
    if (target.ranks && live.length) {
      const state = network.select(result.state, live.map((one) => one.row));
      result = network.step(sentence, state, live.map((one) => one.id));
    }
    live.forEach(({ text, score }, row) => {
      const own = result.logProbabilities.subarray(row * network.words, (row + 1) * network.words);
      const end = target.ranks ? ending(target, own) : 1;
      if (text) found.set(text, (found.get(text) ?? 0) + Math.exp(score) * end);
    });
    if (!target.ranks) break;
  }
  const words = [...found].map(([word, probability]) => ({
    word: copied.get(word) ?? word,
    probability,
  }));
  return words.sort((a, b) => b.probability - a.probability).slice(0, count);
}

/** Returns the probability that a word ends here. */
function ending(target, logProbabilities) {
  let sum = 0;
  logProbabilities.forEach((value, id) => {
    if (id === EOS || (id > UNK && target.begins(id))) sum += Math.exp(value);
  });
  return sum;
}
