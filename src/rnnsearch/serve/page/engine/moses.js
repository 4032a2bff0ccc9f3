// Lines to words and back by Moses's rules, word for word as text/tokens.py and text/moses.py make them. Sets of letters, patterns and the words
// before which a full stop ends no sentence come with the model, so that both sides read the same lists.

import * as tables from "./tables.js";

// Control characters, separators and the zero-width space count as spaces; soft hyphens, word joiners and byte order marks vanish.
const BLANK = /[\0-\x1f\x7f-\xa0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u3000]/gu;
const INVISIBLE = /[\xad\u2060\ufeff]/gu;
const HALF = /\p{Surrogate}/gu;

/** Returns the function that makes lines plain. changes: [pattern, replacement or null for NFKC] of text/tokens.py, or null. */
function makePlain(changes) {
  const rules = (changes ?? []).map(([pattern, by]) => [new RegExp(pattern, "gu"), by ?? ((found) => found.normalize("NFKC"))]);
  return (line) => {
    const normal = changes ? rules.reduce((text, [pattern, by]) => text.replace(pattern, by), line).normalize("NFC") : line;
    return normal.replace(BLANK, " ").replace(INVISIBLE, "").replace(HALF, "\ufffd");
  };
}

/** rules: {tokeniser, language, lowercase, normalise, prefixes, numeric_prefixes, alnum, alpha, numbers, lower, whole, detokeniser}: sets as
 *  [first, last, …], the others as serve/export.py writes them. */
export function makeTokeniser(rules) {
  const plain = makePlain(rules.normalise);
  const cased = rules.tokeniser === "space" ? spaceTokeniser(plain) : new Moses(rules, plain);
  if (!rules.lowercase) return cased;
  const dotted = ["tr", "az"].includes(rules.language.toLowerCase().split(/[-_]/u)[0]);
  const lower = (word) => (dotted ? word.replaceAll("I", "ı").replaceAll("İ", "i") : word).toLowerCase();
  return { words: (line) => cased.words(line).map(lower), text: (words) => cased.text(words) };
}

function spaceTokeniser(plain) {
  return { words: (line) => split(plain(line)), text: (words) => words.join(" ") };
}

const split = (text) => text.split(" ").filter(Boolean);

class Moses {
  constructor({ language, prefixes, numeric_prefixes: numeric, alnum, alpha, numbers, lower, whole, detokeniser }, plain) {
    const set = characters;
    const [word, letter, digit] = [set(alnum), set(alpha), set(numbers)];
    const rule = (pattern) => new RegExp(pattern, "gu");
    const one = (pattern) => new RegExp(pattern, "u");
    this.plain = plain;
    this.whole = rule(whole);
    this.detokeniser = new Detokeniser(language, detokeniser);
    this.prefixes = new Set(prefixes);
    this.numeric = new Set(numeric);
    this.letter = one(`[${letter}]`);
    this.small = one(`^[${set(lower)}]`);
    this.apart = rule(`([^${word} .'\`,\\-])`);
    this.commas = [rule(`([^${digit}]),`), rule(`,([^${digit}])`), rule(`([${digit}]),$`)];
    this.apostrophes = apostrophes(language, letter, digit).map(([pattern, by]) => [rule(pattern), by]);
  }

  words(line) {
    const given = split(this.plain(line)).join(" ");
    let text = given.replace(this.apart, " $1 ");
    // Several full stops stay together: they stand aside as a word of letters while the other rules work.
    text = text.replace(/\.{2,}/gu, (dots, at, whole) => ` ${"DOT".repeat(dots.length)}MULTI${at + dots.length < whole.length ? " " : ""}`);
    const [before, after, last] = this.commas;
    text = text.replace(before, "$1 , ").replace(after, " , $1").replace(last, "$1 , ");
    for (const [pattern, by] of this.apostrophes) text = text.replace(pattern, by);
    text = this.fullStops(split(text)).join(" ");
    text = text.replace(/\.' ?$/u, " . ' ");
    return this.rejoined(given, split(text.replace(/(?:DOT)+MULTI/gu, (mark) => ".".repeat((mark.length - 5) / 3))));
  }

  /** Returns the words with the parts together that the rules should not have cut. */
  rejoined(text, words) {
    const spans = [...text.matchAll(this.whole)].map((found) => [found.index, found.index + found[0].length]);
    if (!spans.length) return words;
    const joined = [];
    let place = 0;
    for (const word of words) {
      const start = text.indexOf(word, place);
      while (spans.length && spans[0][1] <= start) spans.shift();
      if (joined.length && start === place && spans.length && spans[0][0] < start) joined[joined.length - 1] += word;
      else joined.push(word);
      place = start + word.length;
    }
    return joined;
  }

  /** Separates a full stop at the end of a word, unless the word is an abbreviation or the sentence goes on. */
  fullStops(words) {
    return words.flatMap((word, place) => {
      if (word.length < 2 || !word.endsWith(".")) return [word];
      const stem = word.slice(0, -1);
      const next = words[place + 1] ?? "";
      const stays =
        (stem.includes(".") && this.letter.test(stem)) ||
        (this.prefixes.has(stem) && !this.numeric.has(stem)) ||
        this.small.test(next) ||
        (this.numeric.has(stem) && /^[0-9]/u.test(next));
      return stays ? [word] : [stem, "."];
    });
  }

  text(words) {
    return this.detokeniser.line(words);
  }
}

const KIND = new Map(Object.entries(tables.KIND));
const { CLOSED_BY, SHORTENED } = tables;
const first = (word) => String.fromCodePoint(word.codePointAt(0));
const ends = (word, kind) => new RegExp(`${kind}$`, "u").test(word);
const begins = (word, kind) => new RegExp(`^${kind}`, "u").test(word);
const ALNUM = "[\\p{L}\\p{N}]";

/** Joins words to a line, as text/moses.py does. */
class Detokeniser {
  constructor(language, patterns) {
    this.language = language;
    this.is = Object.fromEntries(Object.entries(patterns).map(([kind, pattern]) => [kind, new RegExp(`^(?:${pattern})$`, "u")]));
  }

  line(tokens) {
    const words = split(` ${tokens.join(" ")} `.replaceAll(" @-@ ", "-"));
    const quotes = new Map();
    let text = "";
    let right = true;
    words.forEach((word, place) => {
      const [left, attached] = this.attached(words, place, quotes);
      const spaced = this.is.spaced.test(word) && !left;
      text += (left || right) && !spaced ? word : ` ${word}`;
      right = attached;
    });
    return text.trim();
  }

  /** Tells whether a word has no space before it, and none after it. */
  attached(words, place, quotes) {
    const [before, word, after] = [words[place - 1] ?? "", words[place], words[place + 1] ?? ""];
    if (/^[\p{L}\p{N}]+$/u.test(word) && word < "\u1100") return [false, false];
    if (":–٫٬".includes(word) && ends(before, "\\p{Nd}") && begins(after, "\\p{Nd}")) return [true, true];
    if (this.is.cjk.test(first(word))) return [Boolean(before) && this.is.cjk.test([...before].at(-1)), false];
    if (this.is.opens.test(word)) return [false, true];
    if (this.is.spaced.test(word)) return [false, false];
    if (this.is.ends.test(word) || (place && this.is.contraction.test(word))) return [true, false];
    if (this.is.elision.test(word) && begins(after, "\\p{L}")) return [false, true];
    if (/^['"`]+$/u.test(word) || KIND.has(word)) return this.quotation(words, place, quotes);
    if (word === "—" && this.language === "es") {
      const speaks = !quotes.has("—") && (!place || ".?!…»:".includes(before));
      return speaks ? [false, true] : toggled(word, quotes);
    }
    const inside = "/_".includes(word) || (word === "—" && this.language === "en") || (word === "@" && after.includes("."));
    if (inside && ends(before, ALNUM) && begins(after, ALNUM)) return [true, true];
    if (this.language === "ko" && ends(before, `["'”’)\\]»]`) && this.is.joined.test(word)) return [true, false];
    if (begins(word, ALNUM)) return [false, false];
    const around = `${before} ${word} ${after}`;
    if (this.is.both.test(around)) return [true, true];
    const left = this.is.left.test(around);
    return [left, !left && this.is.right.test(around)];
  }

  quotation(words, place, quotes) {
    const [before, word, after] = [words[place - 1] ?? "", words[place], words[place + 1] ?? ""];
    const kind = KIND.get(word) ?? word;
    const opened = quotes.get(kind) ?? "";
    const internal = this.is.internal;
    if ("'’".includes(word) && ends(before, ALNUM)) {
      const around = `${before} ${word} ${after}`;
      if (this.is.both.test(around) || this.is.right.test(around)) return [this.is.both.test(around), true];
      if (this.language === "it" && SHORTENED.includes(before.toLowerCase())) return [true, false];
      if (this.language === "en" || this.language === "de") {
        if (this.is.joined.test(after)) return [true, true];
        if (!opened && (word === "’" || (this.language === "en" && possessive(words, place)))) return [true, false];
      } else if (word === "’" && !opened && !internal.test(word) && begins(after, "\\p{L}")) return [true, true];
    }
    if (kind === word) {
      const onEarlierLine = !opened && !words.includes(word, place + 1) && ends(before, "[,.!?…]");
      return onEarlierLine ? [true, false] : toggled(word, quotes);
    }
    if (this.language === "fr" && kind === "«»") return [false, false];
    if (opened && CLOSED_BY[opened].includes(word)) {
      quotes.delete(kind);
      return [true, false];
    }
    if ("”»’›".includes(word)) {
      const opens = word !== "”" || this.language === "fi" || this.language === "sv";
      if (word === "’" && ends(before, ALNUM) && internal.test(word)) return [false, true];
      if (!opens || !words.slice(place + 1).some((other) => CLOSED_BY[word].includes(other))) return [true, false];
    }
    quotes.set(kind, word);
    return [false, true];
  }
}

/** Tells whether an apostrophe after an s ends a word; else it opens a quotation, which another closes. */
function possessive(words, place) {
  const before = words.filter((_, k) => k >= place - 1 && words[k + 1] === "'");
  return before.slice(0, 2).every((word) => word.endsWith("s"));
}

function toggled(mark, quotes) {
  const closes = quotes.delete(mark);
  if (!closes) quotes.set(mark, mark);
  return [closes, !closes];
}

/** Returns the rules that separate an apostrophe: English cuts before it, French and Italian after it, the others on both sides. */
function apostrophes(language, letter, digit) {
  if (language === "en") {
    return [
      [`([^${letter}])'([^${letter}])`, "$1 ' $2"],
      [`([^${letter}${digit}])'([${letter}])`, "$1 ' $2"],
      [`([${letter}])'([^${letter}])`, "$1 ' $2"],
      [`([${letter}])'([${letter}])`, "$1 '$2"],
      [`([${digit}])'([s])`, "$1 '$2"],
    ];
  }
  if (language === "fr" || language === "it") {
    return [
      [`([^${letter}])'([^${letter}])`, "$1 ' $2"],
      [`([^${letter}])'([${letter}])`, "$1 ' $2"],
      [`([${letter}])'([^${letter}])`, "$1 ' $2"],
      [`([${letter}])'([${letter}])`, "$1' $2"],
    ];
  }
  return [["'", " ' "]];
}

/** [first, last, first, last, …] as the inside of a character class. */
function characters(ranges) {
  const escaped = (code) => `\\u{${code.toString(16)}}`;
  let inside = "";
  for (let k = 0; k < ranges.length; k += 2) inside += `${escaped(ranges[k])}-${escaped(ranges[k + 1])}`;
  return inside;
}
