// Beam search for one sentence (Sec. 4.2), as search/beam.py does it: a finished hypothesis leaves
// the beam and shrinks it by one.

const [EOS, UNK] = [0, 1];
const MISSED = 3; // continuations shown of those that did not get in
const REMEMBERED = 200; // steps
const SMALLEST_COVERAGE = 1.1754943508222875e-38;

/** A generator, so that its driver may stop, and show what there is, between two words: it yields
 *  the best hypothesis so far, and returns {ids, score, logProbabilities, weights, path} of each.
 *  settings: those of the model, with beam and nbest. watch({chosen, on, missed}) is told of each
 *  step: what it chose, what of that goes on, and the next best that did not get in. prefix: the
 *  Beginning of all hypotheses. change(i): how word i looks (`attend` of network.js). */
export function* search(network, sentence, settings) {
  const { prefix, change, watch, no_unk: noUnknown } = settings;
  const [shortest, longest] = limits(sentence.length - 1, settings);
  const kept = prefix?.ids ?? [];
  if (kept.length > longest) {
    const most = `${longest} are the most for this sentence`;
    throw new Error(`The beginning has ${kept.length} subwords, and ${most}.`);
  }
  const found = [];
  let live = [{ score: 0, parent: null, left: prefix?.left }];
  let state = sentence.state;
  let width = settings.beam;
  for (let words = 0; ; words++) {
    const alone = prefix && !change && live.length === 1;
    const previous = words ? live.map((one) => one.id) : null;
    const result = alone
      ? stepAfter(network, sentence, traced(live[0]).ids)
      : network.step(sentence, state, previous, change?.(words + network.firstAttended));
    const allowed = (id, { left }) => {
      if (words < kept.length) return id === kept[words];
      if ((id === UNK && noUnknown) || (id === EOS && words < shortest)) return false;
      return !left || prefix.after(left, id) !== null;
    };
    const wanted = width + (watch ? MISSED : 0);
    const ranked = best(result, live, network.words, wanted, allowed, sentence.length);
    const chosen = ranked.slice(0, width);
    const ended = chosen.filter((one) => one.id === EOS);
    const on = words < longest ? chosen.filter((one) => one.id !== EOS) : [];
    found.push(...ended.map((one) => hypothesis(one, settings)));
    watch?.({ chosen, on, missed: ranked.slice(width) });
    if (!on.length || settled(found, on, settings)) break;
    width -= ended.length;
    for (const one of on) {
      const { left } = one.parent;
      one.left = words < kept.length || !left ? left : prefix.after(left, one.id);
    }
    live = on;
    state = network.select(result.state, on.map((one) => one.row));
    if (words + 1 >= kept.length) yield traced(on[0]);
  }
  const unfinished = found.length ? [] : live.map((one) => hypothesis(one, settings));
  return [...found, ...unfinished].sort((a, b) => b.score - a.score).slice(0, settings.nbest);
}

function limits(size, { min_length_ratio: least, max_length_ratio: most }) {
  return [Math.floor(least * size), Math.max(1, Math.floor(most * size))];
}

/** Returns the best hypothesis with these settings; shown: all of it in words. */
export function bestOf(translator, encoded, given) {
  const settings = { ...translator.settings, ...given, nbest: 1 };
  const walk = search(translator.network, translator.annotated(encoded.ids), settings);
  let next = walk.next();
  while (!next.done) next = walk.next();
  const [found] = next.value;
  const shown = translator.inWords(encoded, found, { ...settings, prefix: null });
  return { ...found, shown };
}

/** Returns the network's step after the ids of one hypothesis. Those of a sentence are remembered:
 *  who types asks for most of them again. */
export function stepAfter(network, sentence, ids) {
  const known = (sentence.known ??= new Map());
  const key = ids.join();
  if (!known.has(key)) {
    const before = ids.length ? stepAfter(network, sentence, ids.slice(0, -1)) : sentence;
    if (known.size >= REMEMBERED) known.clear();
    known.set(key, network.step(sentence, before.state, ids.length ? ids.slice(-1) : null));
  }
  return known.get(key);
}

/** Returns the `width` best continuations by an id that is allowed, best first; equal ones in the
 *  order of their hypotheses and ids. */
export function best({ logProbabilities, weights }, live, words, width, allowed, positions) {
  const top = [];
  let least = -Infinity;
  live.forEach((parent, row) => {
    for (let id = 0; id < words; id++) {
      const logProbability = logProbabilities[row * words + id];
      const score = Math.fround(parent.score + logProbability);
      if (!(score > least) || !allowed(id, parent)) continue;
      let place = top.length;
      while (place && top[place - 1].score < score) place--;
      top.splice(place, 0, { score, row, id, parent, logProbability });
      if (top.length > width) top.pop();
      if (top.length === width) least = top[width - 1].score;
    }
  });
  const row = (number) => weights.slice(number * positions, (number + 1) * positions);
  return top.map((one) => ({ ...one, weights: row(one.row) }));
}

/** Tells whether no live hypothesis can become one of the best any more: log p only falls. */
function settled(found, live, { normalise, nbest }) {
  if (normalise !== "none" || found.length < nbest) return false;
  const ranked = found.map((one) => one.score).sort((a, b) => b - a);
  return ranked[nbest - 1] >= live[0].score;
}

/** Returns {ids, weights, logProbabilities, path} of the words up to this one. */
function traced(last) {
  const path = [];
  for (let one = last; one.parent; one = one.parent) path.unshift(one);
  const each = (name) => path.map((one) => one[name]);
  const [ids, weights] = [each("id"), each("weights")];
  return { ids, weights, logProbabilities: each("logProbability"), path };
}

function hypothesis(last, settings) {
  const found = traced(last);
  return { ...found, score: finalScore(last.score, found.weights, settings) };
}

/** log p / penalty(n) + β Σ_j log min(Σ_i α_ij, 1) */
function finalScore(score, weights, { normalise, length_alpha: alpha, coverage_beta: beta }) {
  const n = Math.max(weights.length, 1);
  const penalty = { none: 1, length: n, gnmt: ((5 + n) / 6) ** alpha }[normalise];
  const covered = (j) => {
    const sum = weights.reduce((total, row) => total + row[j], 0);
    return Math.log(Math.min(Math.max(sum, SMALLEST_COVERAGE), 1));
  };
  const columns = beta && weights.length ? [...weights[0].keys()] : [];
  return score / penalty + beta * columns.reduce((sum, j) => sum + covered(j), 0);
}
