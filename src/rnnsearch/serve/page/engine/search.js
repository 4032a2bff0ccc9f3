// Beam search for one sentence (Sec. 4.2), as search/beam.py does it: a finished hypothesis leaves the beam and shrinks it by one.

const EOS = 0;
const UNK = 1;
const MISSED = 3; // continuations shown of those that did not get in
const REMEMBERED = 200; // steps
const SMALLEST_COVERAGE = 1.1754943508222875e-38;

/** Searches the best translations of a sentence. A generator, so that its driver may stop, and show what there is, between two words:
 *  it yields the best hypothesis so far, {ids, weights}, and returns hypotheses {ids, score, logProbabilities, weights, finished, steps}.
 *  network: step and select of network.js. sentence: of its `encode`. settings: the search settings of the model, with beam and nbest.
 *  settings.watch({chosen, on, missed}) is told of each step: what it chose, what of that goes on, and the next best that did not get in.
 *  settings.prefix: the Beginning of all hypotheses, or nothing. What if: settings.change(i), how word i looks (`attend` of network.js). */
export function* search(network, sentence, settings) {
  const size = sentence.length - 1;
  const shortest = Math.floor(settings.min_length_ratio * size);
  const longest = Math.max(1, Math.floor(settings.max_length_ratio * size));
  const { prefix, change } = settings;
  const kept = prefix?.ids ?? [];
  if (kept.length > longest) throw new Error(`The beginning has ${kept.length} subwords, and ${longest} are the most for this sentence.`);
  const found = [];
  let live = [{ score: 0, parent: null, left: prefix?.left }];
  let state = sentence.state;
  let width = settings.beam;
  for (let words = 0; ; words++) {
    const result =
      prefix && !change && live.length === 1
        ? stepAfter(network, sentence, traced(live[0]).ids)
        : network.step(sentence, state, words ? live.map((one) => one.id) : null, change?.(words + network.firstAttended));
    const free = (id, { left }) => !(id === UNK && settings.no_unk) && !(id === EOS && words < shortest) && (!left || prefix.after(left, id) !== null);
    const allowed = words < kept.length ? (id) => id === kept[words] : free;
    const ranked = best(result, live, network.words, width + (settings.watch ? MISSED : 0), allowed, sentence.length);
    const chosen = ranked.slice(0, width);
    const ended = chosen.filter((one) => one.id === EOS);
    for (const one of ended) found.push(hypothesis(one, settings, true));
    const on = words < longest ? chosen.filter((one) => one.id !== EOS) : [];
    settings.watch?.({ chosen, on, missed: ranked.slice(width) });
    if (!on.length || settled(found, on, settings)) {
      if (!found.length) live.filter((one) => one.parent).forEach((one) => found.push(hypothesis(one, settings, false)));
      break;
    }
    width -= ended.length;
    live = on;
    if (prefix) for (const one of on) one.left = words < kept.length || !one.parent.left ? one.parent.left : prefix.after(one.parent.left, one.id);
    state = network.select(result.state, on.map((one) => one.row));
    if (words + 1 >= kept.length) yield traced(on[0]);
  }
  if (!found.length) found.push({ ids: [], score: 0, logProbabilities: [], weights: [], finished: false });
  return found.sort((a, b) => b.score - a.score).slice(0, settings.nbest);
}

/** Returns the network's step after the ids of one hypothesis. Those of a sentence are remembered: who types asks for most of them again. */
export function stepAfter(network, sentence, ids) {
  const known = (sentence.known ??= new Map());
  const key = ids.join();
  if (!known.has(key)) {
    const state = ids.length ? stepAfter(network, sentence, ids.slice(0, -1)).state : sentence.state;
    if (known.size >= REMEMBERED) known.clear();
    known.set(key, network.step(sentence, state, ids.length ? ids.slice(-1) : null));
  }
  return known.get(key);
}

/** Returns the `width` best continuations by an id that is allowed, best first; equal ones in the order of their hypotheses and ids. */
export function best({ logProbabilities, weights }, live, words, width, allowed, positions) {
  const top = [];
  let least = -Infinity;
  live.forEach((parent, row) => {
    for (let id = 0, at = row * words; id < words; id++, at++) {
      const score = Math.fround(parent.score + logProbabilities[at]);
      if (!(score > least) || !allowed(id, parent)) continue;
      let place = top.length;
      while (place && top[place - 1].score < score) place--;
      top.splice(place, 0, { score, row, id });
      if (top.length > width) top.pop();
      if (top.length === width) least = top[width - 1].score;
    }
  });
  return top.map(({ score, row, id }) => ({
    ...{ score, row, id, parent: live[row] },
    logProbability: logProbabilities[row * words + id],
    weights: weights.slice(row * positions, (row + 1) * positions),
  }));
}

/** Tells whether no live hypothesis can become one of the best any more, because log p only falls. */
function settled(found, live, settings) {
  if (settings.normalise !== "none" || found.length < settings.nbest) return false;
  const ranked = found.map((one) => one.score).sort((a, b) => b - a);
  return ranked[settings.nbest - 1] >= live[0].score;
}

function traced(last) {
  const steps = [];
  for (let one = last; one.parent; one = one.parent) steps.unshift(one);
  return { ids: steps.map((one) => one.id), weights: steps.map((one) => one.weights), steps };
}

function hypothesis(last, settings, finished) {
  const { ids, weights, steps } = traced(last);
  const logProbabilities = steps.map((one) => one.logProbability);
  return { ids, score: finalScore(last.score, weights, settings), logProbabilities, weights, finished, steps };
}

/** log p / penalty(n) + β Σ_j log min(Σ_i α_ij, 1) */
function finalScore(score, weights, { normalise, length_alpha: alpha, coverage_beta: beta }) {
  const n = Math.max(weights.length, 1);
  const penalty = { none: 1, length: n, gnmt: ((5 + n) / 6) ** alpha }[normalise];
  let covered = 0;
  if (beta) {
    for (let j = 0; j < weights[0].length; j++) {
      const sum = weights.reduce((total, row) => total + row[j], 0);
      covered += Math.log(Math.min(Math.max(sum, SMALLEST_COVERAGE), 1));
    }
  }
  return score / penalty + beta * covered;
}
