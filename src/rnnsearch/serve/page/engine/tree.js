// Beam search as a tree: what each step kept, what just missed the beam, and where greedy search
// goes.

import { label } from "./inside.js";
import { bestOf } from "./search.js";

/** Returns {levels, best, greedy, parting}: levels[i] has the nodes of step i, {parent: place in
 *  the level before or null, word, p, score, kind: "kept", "ended" or "missed", lost: nothing of it
 *  goes on, best, greedy: on the path of that search}. best and greedy: {text, score, words}.
 *  parting: the first step at which they differ, or null. */
export function tree(translator, { line, beam }) {
  const { target, settings } = translator;
  const encoded = translator.encode(line, settings);
  if (encoded.ids.length - 1 > settings.max_source_length) {
    const remedy = "the tree is drawn for shorter ones.";
    throw new Error(`This sentence is long and was translated in parts: ${remedy}`);
  }
  const steps = [];
  const best = bestOf(translator, encoded, { beam, watch: (step) => steps.push(step) });
  const greedy = bestOf(translator, encoded, { beam: 1 });
  const levels = [];
  let above = []; // the level before, with the hypotheses of its nodes
  for (const { chosen, on, missed } of steps) {
    const level = [...chosen, ...missed].map((one, place) => {
      const from = above.find((node) => node.one === one.parent);
      const goesOn = place < chosen.length && on.includes(one);
      const ends = place < chosen.length && one.id === 0;
      const node = {
        parent: from ? above.indexOf(from) : null,
        ...{ word: label(target, one.id), p: Math.exp(one.logProbability), score: one.score },
        ...{ kind: ends ? "ended" : goesOn ? "kept" : "missed", lost: goesOn },
        best: best.path.includes(one),
        greedy: one.id === greedy.ids[levels.length] && (!from || from.node.greedy),
      };
      if (from && node.kind !== "missed") from.node.lost = false;
      return { one, node };
    });
    levels.push(level.map(({ node }) => node));
    above = level;
  }
  const length = Math.max(best.ids.length, greedy.ids.length);
  const differ = Array.from({ length }, (_, i) => best.ids[i] !== greedy.ids[i]);
  const [bestShown, greedyShown] = [best, greedy].map(({ shown, score, ids }) => {
    return { text: shown.text, score, words: ids.map((id) => label(target, id)) };
  });
  const parting = differ.includes(true) ? differ.indexOf(true) : null;
  return { levels, best: bestShown, greedy: greedyShown, parting };
}
