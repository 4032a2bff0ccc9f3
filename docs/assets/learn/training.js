// Both networks, trained on the same batches from the same seed.

import { Adam } from "./adam.js";
import { END, LONGEST, POOL, layOut } from "./corpus.js";
import { Memory } from "./memory.js";
import { Network, SIZES } from "./network.js";

export const KINDS = ["rnnsearch", "rnnencdec"];
const BATCH = 16; // sentences
const SHORTEST = 5; // words of the first sentences
const PER_WORD = 30; // updates until sentences of one word more come in
const WRITTEN = 30; // words at most

export class Training {
  /** settings: {seed, hidden, rate, wiring, initialisation}. */
  constructor(corpus, { seed, hidden, rate, wiring, initialisation }, plain = false) {
    this.corpus = corpus;
    const memory = new Memory(plain);
    this.simd = Boolean(memory.multiplyAdd);
    this.networks = KINDS.map((kind, place) => {
      const settings = { kind, wiring, initialisation, sizes: { ...SIZES, hidden } };
      return new Network(memory, settings, corpus.sizes, generator(2 * seed + place));
    });
    this.optimisers = this.networks.map(({ parameters }) => new Adam(memory, parameters, { rate }));
    this.random = generator(seed + 1e6); // of the batches
    this.batches = [];
    this.updates = 0;
    this.sums = { words: 0, losses: KINDS.map(() => 0) };
  }

  /** Words of the longest sentences that are drawn now: short ones come first. */
  get longest() {
    return Math.min(LONGEST, SHORTEST + Math.floor(this.updates / PER_WORD));
  }

  /** One update of both networks. Returns a point of the loss curves, [update, −log p per word of each], after every POOL
   *  updates, which have all lengths among them. */
  update() {
    if (!this.batches.length) this.batches = this.corpus.draw(this.random, this.longest, BATCH);
    const batch = this.batches.pop();
    this.networks.forEach((network, place) => {
      this.sums.losses[place] += network.addGradients(batch);
      this.optimisers[place].update();
    });
    this.sums.words += batch.targetLengths.reduce((sum, length) => sum + length, 0);
    this.updates++;
    if (this.updates % POOL) return null;
    const { words, losses } = this.sums;
    this.sums = { words: 0, losses: KINDS.map(() => 0) };
    return [this.updates, ...losses.map((loss) => loss / words)];
  }

  /** Returns, for each network and bucket of held-out sentences, the share of words that stand at their place of the reference. */
  measure() {
    return this.networks.map((network) =>
      this.corpus.tests.map((pairs) => {
        const written = network.translate(layOut(pairs), END, WRITTEN).words;
        let [right, all] = [0, 0];
        pairs.forEach(([, target], place) => {
          right += written[place].filter((word, i) => word === target[i]).length;
          all += Math.max(target.length - 1, written[place].length);
        });
        return right / all;
      }),
    );
  }

  /** Returns what both networks make of a sentence, and α of RNNsearch: of the reference's words if there is one, else of its own. */
  look(source, reference) {
    const { ids, vocabularies } = this.corpus;
    const encoded = [...source.map((word) => ids[0].get(word)), END];
    const right = reference?.map((word) => ids[1].get(word));
    const text = (words) => words.map((word) => vocabularies[1][word]);
    const written = this.networks.map((network) => network.translate(layOut([[encoded, [END]]]), END, WRITTEN).words[0]);
    const target = [...(right ?? written[0]), END];
    return {
      sourceTokens: [...source, "</s>"],
      tokens: text(target),
      alignment: this.networks[0].align(layOut([[encoded, target]])),
      written: written.map((words) => text(words).map((word, i) => ({ word, right: right ? words[i] === right[i] : null }))),
    };
  }
}

/** Returns a function that gives numbers from 0 to 1: Mulberry32, the same in every browser. */
function generator(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
