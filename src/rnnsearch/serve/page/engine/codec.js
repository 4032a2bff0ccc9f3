// Converts lines of one side to ids and back, as text/codec.py and text/subwords.py do.

import { makeTokeniser } from "./moses.js";

const EOS = 0;
const UNK = 1;
const WORD_START = "▁";
const REMEMBERED = 10000;

/** side: {words, subwords, …}: the vocabulary from id 0 on, whether it holds BPE subwords, best first, and the tokeniser's rules. */
export class Codec {
  constructor(side) {
    this.tokeniser = makeTokeniser(side);
    this.vocabulary = side.words;
    this.ids = new Map(side.words.map((word, id) => [word, id]).slice(2));
    this.ranks = side.subwords === "bpe" ? new Map((side.pieces ?? side.words.slice(2)).map((piece, rank) => [piece, rank])) : null;
    this.known = new Map();
    this.copied = copiedPatterns(side.copied ?? {});
  }

  /** Returns {words, ids, wordOf}: the end of sentence is the last id; ids[k] is words[wordOf[k]] or a part of it. */
  encode(line) {
    return this.encodeWords(this.tokeniser.words(line));
  }

  encodeWords(words) {
    const ids = [];
    const wordOf = [];
    words.forEach((word, number) => {
      for (const part of this.parts(word)) {
        ids.push(this.ids.get(part) ?? UNK);
        wordOf.push(number);
      }
    });
    return { words, ids: [...ids, EOS], wordOf: [...wordOf, words.length] };
  }

  /** Returns the subwords of a word; the word itself if the codec has none. */
  parts(word) {
    if (!this.ranks) return [word];
    let parts = this.known.get(word);
    if (!parts) {
      parts = bytePairs([WORD_START, ...word.replaceAll(WORD_START, "_")], this.ranks);
      if (this.known.size >= REMEMBERED) this.known.clear();
      this.known.set(word, parts);
    }
    return parts;
  }

  /** Returns {words, wordOf} of the ids before the end of sentence. */
  decode(ids) {
    const end = ids.indexOf(EOS);
    const tokens = (end < 0 ? ids : ids.slice(0, end)).map((id) => this.vocabulary[id]);
    return this.ranks ? joined(tokens) : { words: tokens, wordOf: [...tokens.keys()] };
  }

  /** Tells whether a word begins with this id. */
  begins(id) {
    return !this.ranks || this.vocabulary[id].startsWith(WORD_START);
  }

  /** Returns the letters that an id adds to a word. */
  letters(id) {
    return this.ranks && this.begins(id) ? this.vocabulary[id].slice(1) : this.vocabulary[id];
  }

  text(words) {
    return this.tokeniser.text(words).replace(/\u2060 ?/gu, " "); // which stands for a space inside a copied word
  }
}

/** kinds: kind → regular expression of what is copied letter by letter. Returns those of {all: places in a line, whole: a word}. */
function copiedPatterns(kinds) {
  const any = Object.entries(kinds).map(([kind, pattern]) => `(?<${kind}>${pattern})`).join("|") || "(?!)";
  return { all: new RegExp(any, "gu"), whole: new RegExp(`^(?:${any})$`, "u") };
}

/** Merges the best pair of neighbours, the first of equals, until no pair is a subword; then neighbours that are unknown become one. */
function bytePairs(symbols, ranks) {
  const rank = (k) => (k + 1 < symbols.length ? ranks.get(symbols[k] + symbols[k + 1]) ?? Infinity : Infinity);
  const pairs = symbols.map((_, k) => rank(k));
  for (;;) {
    let best = 0;
    for (let k = 1; k < pairs.length; k++) if (pairs[k] < pairs[best]) best = k;
    if (pairs[best] === Infinity) break;
    symbols[best] += symbols[best + 1];
    symbols.splice(best + 1, 1);
    pairs.splice(best + 1, 1);
    pairs[best] = rank(best);
    if (best) pairs[best - 1] = rank(best - 1);
  }
  const parts = [];
  let unknown = false;
  for (const symbol of symbols) {
    const strange = !ranks.has(symbol);
    if (strange && unknown) parts[parts.length - 1] += symbol;
    else parts.push(symbol);
    unknown = strange;
  }
  return parts;
}

function joined(subwords) {
  const words = [];
  let wordOf = [];
  for (const subword of subwords) {
    if (!words.length || (subword.startsWith(WORD_START) && words.at(-1))) words.push("");
    words[words.length - 1] += subword.startsWith(WORD_START) ? subword.slice(1) : subword;
    wordOf.push(words.length - 1);
  }
  if (words.length > 1 && !words.at(-1)) {
    words.pop();
    wordOf = wordOf.map((number) => Math.min(number, words.length - 1));
  }
  return { words, wordOf };
}

/** Returns the alignment of words, made from that of ids: sums over the subwords of a source word, means over those of a target word. */
export function inWords(weights, sourceWordOf, targetWordOf, targetWords) {
  const result = Array.from({ length: targetWords }, () => new Array(sourceWordOf.at(-1) + 1).fill(0));
  targetWordOf.forEach((word, place) => {
    sourceWordOf.forEach((source, j) => {
      result[word][source] += weights[place][j];
    });
  });
  for (const row of result) {
    const sum = row.reduce((a, b) => a + b, 0);
    if (sum > 0) row.forEach((weight, k) => (row[k] = weight / sum));
  }
  return result;
}
