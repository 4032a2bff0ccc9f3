// The likeliest words after a beginning, as translation/choices.py finds them.

import { Beginning } from "./beginning.js";
import { best, stepAfter } from "./search.js";

const [EOS, UNK] = [0, 1];

/** question: {line, prefix, count}. Returns [{word, probability}], the likeliest first, as it is after the words of the prefix, which
 *  are complete. A word of subwords ends with the first id that begins another word, or with the end of sentence. */
export function choices(translator, { line, prefix, count = 8 }) {
  const { network, target } = translator;
  const encoded = translator.encode(line, translator.settings);
  const sentence = translator.annotated(encoded.ids);
  let result = stepAfter(network, sentence, new Beginning(target, `${prefix} `, translator.settings.faithful).ids);
  let live = [{ score: 0, text: "" }];
  const found = new Map();
  for (let first = true; live.length; first = false) {
    const least = [...found.values()].sort((a, b) => b - a)[count - 1] ?? 0;
    const going = best(result, live, network.words, 2 * count, (id) => id > UNK && target.begins(id) === first, sentence.length);
    live = going.map((one) => ({ ...one, text: one.parent.text + target.letters(one.id) })).filter(({ score }) => Math.exp(score) > least);
    if (target.ranks && live.length) result = network.step(sentence, network.select(result.state, live.map((one) => one.row)), live.map((one) => one.id));
    live.forEach(({ text, score }, row) => {
      const end = target.ranks ? ending(target, result.logProbabilities.subarray(row * network.words, (row + 1) * network.words)) : 1;
      if (text) found.set(text, (found.get(text) ?? 0) + Math.exp(score) * end);
    });
    if (!target.ranks) break;
  }
  return [...found].map(([word, probability]) => ({ word, probability })).sort((a, b) => b.probability - a.probability).slice(0, count);
}

/** Returns the probability that a word ends here. */
function ending(target, logProbabilities) {
  let sum = Math.exp(logProbabilities[EOS]);
  for (let id = UNK + 1; id < logProbabilities.length; id++) if (target.begins(id)) sum += Math.exp(logProbabilities[id]);
  return sum;
}
