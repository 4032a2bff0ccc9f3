// Converts lines of one side to ids and back, as text/codec.py and text/subwords.py do.

import { makeTokeniser } from "./moses.js";
import { WordFilter } from "./word_filter.js";

const [EOS, UNK] = [0, 1];
const WORD_START = "▁";
export const JOINER = "\u2060"; // stands for a space inside a copied word
const REMEMBERED = 10000;

/** side: {words, subwords, …}: the vocabulary from id 0 on, whether it holds BPE subwords, best
 *  first, and the tokeniser's rules. */
export class Codec {
  constructor(side) {
    const { words, subwords, pieces } = side;
    const order = (some) => new Map([...some.entries()].map(([place, one]) => [one, place]));
    Object.assign(this, { language: side.language, lowercase: side.lowercase });
    this.tokeniser = makeTokeniser(side);
    this.vocabulary = words;
    this.ids = new Map([...order(words)].filter(([, id]) => id > UNK));
    this.ranks = subwords === "bpe" ? order(pieces ?? words.slice(2)) : null;
    this.remembered = new Map(); // word → its subwords
    this.filter = side.known ? new WordFilter(side.known) : null;
    this.spaced = side.tokeniser === "space";
    this.copied = copiedPatterns(side.copied ?? {});
  }

  /** Returns {words, ids, wordOf}: the end of sentence is the last id; ids[k] is words[wordOf[k]]
   *  or a part of it. */
  encode(line) {
    return this.encodeWords(this.tokeniser.words(line));
  }

  encodeWords(words) {
    const parts = words.map((word) => this.parts(word));
    const ids = parts.flat().map((part) => this.ids.get(part) ?? UNK);
    const wordOf = parts.flatMap((some, place) => some.map(() => place));
    return { words, ids: [...ids, EOS], wordOf: [...wordOf, words.length] };
  }

  /** Tells whether a word may be one subword. */
  isWhole(word) {
    return this.ids.has((this.ranks ? WORD_START : "") + word);
  }

  /** Returns the subwords of a word; the word itself if the codec has none. */
  parts(word) {
    if (!this.ranks) return [word];
    if (!this.remembered.has(word)) {
      if (this.remembered.size >= REMEMBERED) this.remembered.clear();
      const symbols = [WORD_START, ...word.replaceAll(WORD_START, "_")];
      this.remembered.set(word, bytePairs(symbols, this.ranks));
    }
    return this.remembered.get(word);
  }

  /** Returns {words, wordOf} of the ids before the end of sentence. */
  decode(ids) {
    const end = ids.indexOf(EOS);
    const tokens = (end < 0 ? ids : ids.slice(0, end)).map((id) => this.vocabulary[id]);
    return this.ranks ? joined(tokens) : { words: tokens, wordOf: [...tokens.keys()] };
  }

  begins(id) {
    return !this.ranks || this.vocabulary[id].startsWith(WORD_START);
  }

  /** Returns the letters that an id adds to a word. */
  letters(id) {
    return this.ranks && this.begins(id) ? this.vocabulary[id].slice(1) : this.vocabulary[id];
  }

  text(words) {
    return this.tokeniser.text(words).replace(/\u2060 ?/gu, " "); // a space inside a copied word
  }
}

/** kinds: kind → regular expression of what is copied letter by letter. Returns those of {all:
 *  places in a line, whole: a word}. */
function copiedPatterns(kinds) {
  const each = Object.entries(kinds).map(([kind, pattern]) => `(?<${kind}>${pattern})`);
  const any = each.join("|") || "(?!)";
  return { all: new RegExp(any, "gu"), whole: new RegExp(`^(?:${any})$`, "u") };
}

/** Merges the best pair of neighbours, the first of equals, until no pair is a subword; then
 *  neighbours that are unknown become one. */
function bytePairs(symbols, ranks) {
  const pair = (k) => (k + 1 < symbols.length ? symbols[k] + symbols[k + 1] : null);
  const rank = (k) => ranks.get(pair(k)) ?? Infinity;
  const pairs = symbols.map((_, k) => rank(k));
  for (;;) {
    let best = 0;
    for (let k = 1; k < pairs.length; k++) if (pairs[k] < pairs[best]) best = k;
    if (pairs[best] === Infinity) break;
    symbols.splice(best, 2, symbols[best] + symbols[best + 1]);
    pairs.splice(best + 1, 1);
    pairs[best] = rank(best);
    if (best) pairs[best - 1] = rank(best - 1);
  }
  const parts = [];
  symbols.forEach((symbol, k) => {
    const unknown = k && !ranks.has(symbols[k - 1]) && !ranks.has(symbol);
    if (unknown) parts.push(parts.pop() + symbol);
    else parts.push(symbol);
  });
  return parts;
}

function joined(subwords) {
  const words = [];
  const wordOf = subwords.map((subword) => {
    const begins = subword.startsWith(WORD_START);
    if (!words.length || (begins && words.at(-1))) words.push("");
    words.push(words.pop() + (begins ? subword.slice(1) : subword));
    return words.length - 1;
  });
  if (words.length > 1 && !words.at(-1)) words.pop();
  return { words, wordOf: wordOf.map((place) => Math.min(place, words.length - 1)) };
}

/** Returns the alignment of words, made from that of ids: sums over the subwords of a source word,
 *  means over those of a target word. */
export function inWords(weights, sourceWordOf, targetWordOf, targetWords) {
  const sources = sourceWordOf.at(-1) + 1;
  const result = Array.from({ length: targetWords }, () => new Array(sources).fill(0));
  targetWordOf.forEach((word, place) => {
    sourceWordOf.forEach((source, j) => (result[word][source] += weights[place][j]));
  });
  return result.map((row) => {
    const sum = row.reduce((a, b) => a + b, 0);
    return sum > 0 ? row.map((weight) => weight / sum) : row;
  });
}
