// The sentences of the training: words, ids and batches.

export const END = 0;
export const LONGEST = 16; // words of a training sentence
/** Lengths, in words of the source, that are measured apart. The last one is longer than any training sentence. */
export const BUCKETS = [[4, 6], [7, 9], [10, 12], [13, 16], [17, 20]];
export const POOL = 16; // batches that are sorted by length together

export class Corpus {
  /** training, heldOut: pairs of texts, their words apart; no sentence is in both. */
  constructor({ training, heldOut }) {
    const words = training.map((pair) => pair.map((text) => text.split(" ")));
    this.vocabularies = [0, 1].map((side) => ["</s>", ...new Set(words.flatMap((pair) => pair[side]))]);
    this.ids = this.vocabularies.map((list) => new Map(list.map((word, id) => [word, id])));
    const pairs = words.map((pair) => this.encodePair(pair));
    this.upTo = Array.from({ length: LONGEST + 1 }, (_, longest) => pairs.filter(([source]) => source.length <= longest + 1));
    this.heldOut = heldOut;
    const test = heldOut.map((pair) => this.encodePair(pair.map((text) => text.split(" "))));
    this.tests = BUCKETS.map(([low, high]) => test.filter(([source]) => source.length > low && source.length <= high + 1));
  }

  get sizes() {
    return { source: this.vocabularies[0].length, target: this.vocabularies[1].length };
  }

  encodePair(pair) {
    return pair.map((words, side) => [...words.map((word) => this.ids[side].get(word)), END]);
  }

  /** Returns the words of an English sentence that somebody has written, in the case in which they are known, and those that are not. */
  read(text) {
    const written = text.replace(/([.,?])/g, " $1 ").split(/\s+/).filter(Boolean);
    if (written.length && !/[.?]/.test(written.at(-1))) written.push(".");
    const known = this.ids[0];
    const forms = (word) => [word, word.toLowerCase(), word[0].toUpperCase() + word.slice(1).toLowerCase()];
    const words = written.map((word, place) => {
      const [same, small, capital] = forms(word);
      return (place ? [same, small, capital] : [capital, same, small]).find((form) => known.has(form)) ?? null;
    });
    return { words, unknown: written.filter((_, place) => words[place] === null) };
  }

  /** Returns POOL batches of pairs of at most `longest` words, drawn at random, sentences of alike lengths together. */
  draw(random, longest, size) {
    const pairs = this.upTo[longest];
    const any = (count) => Math.floor(random() * count);
    const drawn = Array.from({ length: POOL * size }, () => pairs[any(pairs.length)]);
    drawn.sort((a, b) => a[0].length - b[0].length || a[1].length - b[1].length);
    const batches = Array.from({ length: POOL }, (_, place) => layOut(drawn.slice(place * size, (place + 1) * size)));
    for (let k = POOL - 1; k > 0; k--) {
      const other = any(k + 1);
      [batches[k], batches[other]] = [batches[other], batches[k]];
    }
    return batches;
  }
}

/** Returns pairs of ids as a batch: word j of all sentences after word j − 1 of all; padding is END. */
export function layOut(pairs) {
  const side = (which) => {
    const lengths = Int32Array.from(pairs, (pair) => pair[which].length);
    const ids = new Int32Array(Math.max(...lengths) * pairs.length);
    pairs.forEach((pair, b) => pair[which].forEach((id, j) => (ids[j * pairs.length + b] = id)));
    return [ids, lengths];
  };
  const [[source, lengths], [target, targetLengths]] = [side(0), side(1)];
  return { source, lengths, target, targetLengths };
}
