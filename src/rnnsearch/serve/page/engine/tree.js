// Beam search as a tree: what each step kept, what just missed the beam, and where greedy search goes.

import { label } from "./inside.js";
import { search } from "./search.js";

/** question: {line, beam}. Returns {levels, best, greedy, parting}: levels[i] has the nodes of step i, {parent: place in the level before or
 *  null, word, p, score, kind: "kept", "ended" or "missed", lost: nothing of it goes on, best, greedy: on the path of that search}. best and
 *  greedy: {text, score}. parting: the first step at which they differ, or null. */
export function tree(translator, { line, beam }) {
  const encoded = translator.encode(line, translator.settings);
  if (encoded.ids.length - 1 > translator.settings.max_source_length) {
    throw new Error("This sentence is long and was translated in parts: the tree is drawn for shorter ones.");
  }
  const sentence = translator.annotated(encoded.ids);
  const steps = [];
  const find = (width, watch) => {
    const settings = { ...translator.settings, beam: width, nbest: 1, watch };
    const walk = search(translator.network, sentence, settings);
    let found = walk.next();
    while (!found.done) found = walk.next();
    return { ...found.value[0], text: translator.inWords(encoded, found.value[0], settings).text };
  };
  const best = find(beam, (step) => steps.push(step));
  const greedy = find(1, undefined);
  const levels = [];
  for (const { chosen, on, missed } of steps) {
    const above = levels.at(-1) ?? [];
    levels.push(
      [...chosen, ...missed].map((one, place) => {
        const parent = above.findIndex((node) => node.one === one.parent);
        const kind = place >= chosen.length ? "missed" : one.id === 0 ? "ended" : on.includes(one) ? "kept" : "missed";
        const onGreedy = one.id === greedy.ids[levels.length] && (parent < 0 || above[parent].greedy);
        const node = { one, parent: parent < 0 ? null : parent, word: label(translator.target, one.id, "unknown word"), p: Math.exp(one.logProbability), score: one.score };
        return { ...node, kind, lost: kind === "kept", best: best.steps.includes(one), greedy: onGreedy };
      }),
    );
    for (const node of levels.at(-1)) if (node.kind !== "missed" && node.parent !== null) above[node.parent].lost = false;
  }
  const longer = best.ids.length < greedy.ids.length ? greedy : best;
  const parting = longer.ids.findIndex((_, i) => best.ids[i] !== greedy.ids[i]);
  const of = ({ text, score, ids }) => ({ text, score, words: ids.map((id) => label(translator.target, id, "unknown word")) });
  return {
    levels: levels.map((level) => level.map(({ one, ...node }) => node)),
    best: of(best),
    greedy: of(greedy),
    parting: parting < 0 ? null : parting,
  };
}
