// node prefix_search.js: prints {ours, naive} of every case: searches with a beginning, and the best of all sequences of ids that agree with it.

import { Beginning } from "./engine/beginning.js";
import { choices } from "./engine/choices.js";
import { Codec } from "./engine/codec.js";
import { search } from "./engine/search.js";

const SUBWORDS = ["</s>", "<unk>", "▁", "a", "b", "ab", "▁a", "▁ab", "▁b"];
const WORDS = ["</s>", "<unk>", "a", "ab", "b", "ba"];
const TYPED = ["a", "ab", "a ", "b a", "ab b", "aba", "b ab ", "x", "x ", "a x", "ax"];
const LONGEST = 4;

/** Returns log p of every id after these: any numbers that sum to 1. */
function logProbabilities(ids, words) {
  const energies = Array.from({ length: words }, (_, id) => 3 * Math.sin([...ids, id + 1].reduce((sum, one, place) => sum * 1.7 + (one + 2) * (place + 1), 1)));
  const sum = energies.reduce((total, energy) => total + Math.exp(energy), 0);
  return Float32Array.from(energies, (energy) => energy - Math.log(sum));
}

/** Returns a network whose state is the ids so far; a source of two words. */
function networkOf(words) {
  const step = (sentence, state, previous) => {
    const next = state.map((ids, row) => (previous ? [...ids, previous[row]] : ids));
    const each = next.map((ids) => logProbabilities(ids, words));
    return { logProbabilities: Float32Array.from(each.flatMap((one) => [...one])), weights: new Float32Array(3 * next.length), state: next };
  };
  return { words, firstAttended: 0, step, select: (state, rows) => rows.map((row) => state[row]) };
}

function* sequences(words, ids = []) {
  yield [...ids, 0];
  if (ids.length < LONGEST) for (let id = 1; id < words; id++) yield* sequences(words, [...ids, id]);
}

const scored = (ids, words) => ids.reduce((sum, id, k) => sum + logProbabilities(ids.slice(0, k), words)[id], 0);

/** Tells whether the text that the ids spell begins as typed, the complete words in their usual subwords. */
function agrees(codec, typed, ids) {
  const complete = typed.split(" ");
  const open = complete.pop();
  const spellable = codec.ranks ? ![...open].some((letter) => letter === "x") : codec.vocabulary.some((word) => word.startsWith(open));
  if (open && !spellable) complete.push(open);
  const forced = codec.encodeWords(complete).ids.slice(0, -1);
  const rest = ids.slice(forced.length, -1);
  const text = rest.map((id) => codec.vocabulary[id]).join("");
  const begun = open && spellable ? open : "";
  if (forced.some((id, k) => id !== ids[k])) return false;
  if (!codec.ranks) return !begun || (rest.length > 0 && codec.vocabulary[rest[0]].startsWith(begun) && rest[0] > 1);
  if (rest[0] === 1) return false;
  return begun ? text.startsWith(`▁${begun}`) : !text || text.startsWith("▁");
}

const results = [];
for (const vocabulary of [SUBWORDS, WORDS]) {
  const codec = new Codec({ words: vocabulary, subwords: vocabulary === SUBWORDS ? "bpe" : "none", tokeniser: "space", language: "" });
  const network = networkOf(vocabulary.length);
  const sentence = () => ({ length: 3, state: [[]] });
  const settings = { beam: 5000, nbest: 3, min_length_ratio: 0, max_length_ratio: LONGEST / 2, normalise: "none", coverage_beta: 0, no_unk: false };
  for (const typed of TYPED) {
    const walk = search(network, sentence(), { ...settings, prefix: new Beginning(codec, typed) });
    let found = walk.next();
    while (!found.done) found = walk.next();
    const every = [...sequences(vocabulary.length)].filter((ids) => agrees(codec, typed, ids));
    const naive = every.map((ids) => ({ ids, score: scored(ids, vocabulary.length) })).sort((a, b) => b.score - a.score);
    results.push({ name: `${typed}|${vocabulary.length}`, ours: found.value.map(({ ids, score }) => [ids, score]), naive: naive.slice(0, 3).map(({ ids, score }) => [ids, score]) });
  }
  const translator = { network, target: codec, settings: {}, encode: () => ({ ids: [] }), annotated: sentence };
  const after = codec.encodeWords(["b"]).ids.slice(0, -1);
  const words = new Map();
  for (const ids of sequences(vocabulary.length)) {
    const own = [...after, ...ids.slice(0, -1)];
    const { words: spelt } = codec.decode(ids);
    const whole = ids.length > 1 && !ids.includes(1) && spelt.length === 1 && spelt[0] && (!codec.ranks || vocabulary[ids[0]].startsWith("▁")) && ids.slice(1, -1).every((id) => !vocabulary[id].startsWith("▁"));
    if (!whole || (!codec.ranks && ids.length > 2)) continue;
    const p = logProbabilities(own, vocabulary.length);
    const end = codec.ranks ? [...p.keys()].filter((id) => !id || vocabulary[id].startsWith("▁")).reduce((sum, id) => sum + Math.exp(p[id]), 0) : 1;
    const begun = scored(own, vocabulary.length) - scored(after, vocabulary.length);
    words.set(spelt[0], (words.get(spelt[0]) ?? 0) + Math.exp(begun) * end);
  }
  const naive = [...words].sort((a, b) => b[1] - a[1]).slice(0, 3);
  const ours = choices(translator, { line: "", prefix: "b", count: 200 }).slice(0, 3).map(({ word, probability }) => [word, probability]);
  results.push({ name: `choices|${vocabulary.length}`, ours, naive });
}
process.stdout.write(JSON.stringify(results));
