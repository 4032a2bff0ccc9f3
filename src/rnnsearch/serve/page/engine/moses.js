// Lines to words and back by Moses's rules, word for word as text/tokens.py and text/moses.py make
// them. Sets of letters, patterns and the words before which a full stop ends no sentence come with
// the model, so that both sides read the same lists.

import * as tables from "./tables.js";

// Control characters, separators and the zero-width space count as spaces; soft hyphens, word
// joiners and byte order marks vanish.
const BLANK = /[\0-\x1f\x7f-\xa0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u3000]/gu;
const INVISIBLE = /[\xad\u2060\ufeff]/gu;
const HALF = /\p{Surrogate}/gu;

/** Returns the tokeniser of a side of a model. rules: {tokeniser, language, lowercase, normalise,
 *  prefixes, numeric_prefixes, alnum, alpha, numbers, lower, whole, detokeniser}: sets as [first,
 *  last, …], the others as serve/export.py writes them. */
export function makeTokeniser(rules) {
  const plain = makePlain(rules.normalise);
  const spaced = { words: (line) => split(plain(line)), text: (words) => words.join(" ") };
  const cased = rules.tokeniser === "space" ? spaced : new Moses(rules, plain);
  if (!rules.lowercase) return cased;
  const dotted = /^(?:tr|az)(?![^-_])/iu.test(rules.language);
  const lower = (word) =>
    (dotted ? word.replaceAll("I", "ı").replaceAll("İ", "i") : word).toLowerCase();
  return { words: (line) => cased.words(line).map(lower), text: (words) => cased.text(words) };
}

/** changes: [pattern, replacement or null for NFKC] of text/tokens.py, or null. */
function makePlain(changes) {
  const compatible = (found) => found.normalize("NFKC");
  const rules = (changes ?? []).map(([pattern, by]) => [regex(pattern), by ?? compatible]);
  return (line) => {
    const changed = rules.reduce((text, [pattern, by]) => text.replace(pattern, by), line);
    const normal = changes ? changed.normalize("NFC") : line;
    return normal.replace(BLANK, " ").replace(INVISIBLE, "").replace(HALF, "\ufffd");
  };
}

const regex = (pattern, flags = "gu") => new RegExp(pattern, flags);
const split = (text) => text.split(" ").filter(Boolean);

class Moses {
  constructor(rules, plain) {
    const [word, letter, digit] = [rules.alnum, rules.alpha, rules.numbers].map(characters);
    this.plain = plain;
    this.whole = regex(rules.whole);
    this.detokeniser = new Detokeniser(rules.language, rules.detokeniser);
    this.prefixes = new Set(rules.prefixes);
    this.numeric = new Set(rules.numeric_prefixes);
    this.letter = regex(`[${letter}]`, "u");
    this.small = regex(`^[${characters(rules.lower)}]`, "u");
    const apart = [[`([^${word} .'\`,\\-])`, " $1 "]];
    const separate = [...commas(digit), ...apostrophes(rules.language, letter, digit)];
    const made = (some) => some.map(([pattern, by]) => [regex(pattern), by]);
    [this.apart, this.separate] = [made(apart), made(separate)];
  }

  words(line) {
    const given = split(this.plain(line)).join(" ");
    let text = replaced(given, this.apart);
    // Several full stops stay together: as a word of letters while the other rules work.
    text = text.replace(/\.{2,}/gu, (dots, at, whole) => {
      const last = at + dots.length === whole.length;
      return ` ${"DOT".repeat(dots.length)}MULTI${last ? "" : " "}`;
    });
    text = this.fullStops(split(replaced(text, this.separate))).join(" ");
    text = text.replace(/\.' ?$/u, " . ' ");
    const dots = (mark) => ".".repeat((mark.length - "MULTI".length) / "DOT".length);
    return this.rejoined(given, split(text.replace(/(?:DOT)+MULTI/gu, dots)));
  }

  /** Returns the words with the parts together that the rules should not have cut. */
  rejoined(text, words) {
    const found = [...text.matchAll(this.whole)];
    const spans = found.map(({ 0: whole, index }) => [index, index + whole.length]);
    const joined = [];
    let place = 0;
    for (const word of words) {
      const start = text.indexOf(word, place);
      while (spans.length && spans[0][1] <= start) spans.shift();
      const inside = joined.length && start === place && spans[0]?.[0] < start;
      if (inside) joined[joined.length - 1] += word;
      else joined.push(word);
      place = start + word.length;
    }
    return joined;
  }

  /** Separates a full stop at the end of a word, unless the word is an abbreviation or the sentence
   *  goes on. */
  fullStops(words) {
    return words.flatMap((word, place) => {
      if (word.length < 2 || !word.endsWith(".")) return [word];
      const stem = word.slice(0, -1);
      const next = words[place + 1] ?? "";
      const stays =
        (stem.includes(".") && this.letter.test(stem)) ||
        (this.numeric.has(stem) ? /^[0-9]/u.test(next) : this.prefixes.has(stem)) ||
        this.small.test(next);
      return stays ? [word] : [stem, "."];
    });
  }

  text(words) {
    return this.detokeniser.line(words);
  }
}

const replaced = (given, rules) => rules.reduce((text, [one, by]) => text.replace(one, by), given);

const commas = (digit) => [
  [`([^${digit}]),`, "$1 , "],
  [`,([^${digit}])`, " , $1"],
  [`([${digit}]),$`, "$1 , "],
];

/** Returns the rules that separate an apostrophe: between letters, English cuts before it, French
 *  and Italian after it; it stands alone elsewhere, and in other languages. */
function apostrophes(language, letter, digit) {
  const between = { en: "$1 '$2", fr: "$1' $2", it: "$1' $2" }[language];
  if (!between) return [["'", " ' "]];
  const english = language === "en";
  return [
    [`([^${letter}])'([^${letter}])`, "$1 ' $2"],
    [`([^${letter}${english ? digit : ""}])'([${letter}])`, "$1 ' $2"],
    [`([${letter}])'([^${letter}])`, "$1 ' $2"],
    [`([${letter}])'([${letter}])`, between],
    ...(english ? [[`([${digit}])'([s])`, "$1 '$2"]] : []),
  ];
}

/** [first, last, first, last, …] as the inside of a character class. */
const characters = (ranges) =>
  ranges.map((code, k) => `${k % 2 ? "-" : ""}\\u{${code.toString(16)}}`).join("");

const KIND = new Map(Object.entries(tables.KIND));
const { CLOSED_BY, SHORTENED } = tables;
const BEGINS = /^[\p{L}\p{N}]/u;
const ENDS = /[\p{L}\p{N}]$/u;

class Detokeniser {
  constructor(language, patterns) {
    this.language = language;
    const tests = Object.entries(patterns).map(([kind, pattern]) => {
      const whole = regex(`^(?:${pattern})$`, "u");
      return [kind, (text) => whole.test(text)];
    });
    this.is = Object.fromEntries(tests);
  }

  line(tokens) {
    const words = split(` ${tokens.join(" ")} `.replaceAll(" @-@ ", "-"));
    const quotes = new Map(); // those that are open: kind → mark
    let [text, right] = ["", true];
    words.forEach((word, place) => {
      const [left, attached] = this.attached(words, place, quotes);
      const spaced = this.is.spaced(word) && !left;
      text += (left || right) && !spaced ? word : ` ${word}`;
      right = attached;
    });
    return text.trim();
  }

  /** Tells whether a word has no space before it, and none after it. */
  attached(words, place, quotes) {
    const { is, language } = this;
    const [before, word, after] = [words[place - 1] ?? "", words[place], words[place + 1] ?? ""];
    if (/^[\p{L}\p{N}]+$/u.test(word) && word < "\u1100") return [is.raised(word), false];
    const inNumber = /\p{Nd}$/u.test(before) && /^\p{Nd}/u.test(after);
    if (":–٫٬".includes(word) && inNumber) return [true, true];
    if (is.escape(word)) return [true, true];
    if (is.cjk([...word][0])) return [Boolean(before) && is.cjk([...before].at(-1)), false];
    if (is.opens(word)) return [false, true];
    if (is.tag(word)) return enclosing(word, words.slice(place + 1), quotes);
    if (is.spaced(word)) return [/^[!?]$/.test(word) && /[!?]$/.test(before), false];
    if (is.ends(word) || (place && is.contraction(word))) return [true, false];
    if (is.elision(word) && /^\p{L}/u.test(after)) return [false, true];
    if (is.emphasis(word)) {
      const paired = quotes.has(word) || words.includes(word, place + 1);
      return paired ? toggled(word, quotes) : [false, false];
    }
    if (/^['"`]+$/u.test(word) || KIND.has(word)) return this.quotation(words, place, quotes);
    if (word === "—" && language === "es") {
      const speaks = !quotes.has("—") && (!place || ".?!…»:".includes(before));
      return speaks ? [false, true] : toggled(word, quotes);
    }
    const address = word === "@" && after.includes(".");
    const inside = "/_".includes(word) || (word === "—" && language === "en") || address;
    if (inside && ENDS.test(before) && BEGINS.test(after)) return [true, true];
    const quoted = language === "ko" && /["'”’)\]»]$/u.test(before);
    if (quoted && is.joined(word)) return [true, false];
    if (BEGINS.test(word)) return [false, false];
    const around = `${before} ${word} ${after}`;
    if (is.both(around)) return [true, true];
    const left = is.left(around);
    return [left, !left && is.right(around)];
  }

  /** As `attached`, of quotation marks and apostrophes. */
  quotation(words, place, quotes) {
    const { is, language } = this;
    const [before, word, after] = [words[place - 1] ?? "", words[place], words[place + 1] ?? ""];
    const kind = KIND.get(word) ?? word;
    const opened = quotes.get(kind) ?? "";
    if ("'’".includes(word) && ENDS.test(before)) {
      const around = `${before} ${word} ${after}`;
      if (is.both(around)) return [true, true];
      if (is.right(around)) return [false, true];
      if (language === "it" && SHORTENED.includes(before.toLowerCase())) return [true, false];
      if (language === "en" || language === "de") {
        if (is.joined(after)) return [true, true];
        const ends = word === "’" || (language === "en" && possessive(words, place));
        if (!opened && ends) return [true, false];
      } else if (word === "’" && !opened && !is.internal(word) && /^\p{L}/u.test(after)) {
        return [true, true];
      }
    }
    if (kind === word) {
      const onEarlierLine = !opened && !words.includes(word, place + 1) && /[,.!?…]$/u.test(before);
      return onEarlierLine ? [true, false] : toggled(word, quotes);
    }
    if (language === "fr" && kind === "«»") return [false, false];
    if (opened && CLOSED_BY[opened].includes(word)) {
      quotes.delete(kind);
      return [true, false];
    }
    if ("”»’›".includes(word)) {
      const opens = word !== "”" || language === "fi" || language === "sv";
      if (word === "’" && ENDS.test(before) && is.internal(word)) return [false, true];
      const closed = words.slice(place + 1).some((other) => CLOSED_BY[word].includes(other));
      if (!opens || !closed) return [true, false];
    }
    quotes.set(kind, word);
    return [false, true];
  }
}

/** As `attached`, of a tag; one without its counterpart stands alone. */
function enclosing(tag, later, quotes) {
  const closing = `</${/[\p{L}\p{N}_:-]+/u.exec(tag)[0]}>`;
  const opened = quotes.get(closing) ?? 0;
  if (tag[1] === "/") {
    quotes.set(closing, Math.max(opened - 1, 0));
    return [opened > 0, false];
  }
  const paired = later.filter((one) => one === closing).length > opened;
  quotes.set(closing, opened + paired);
  return [false, paired];
}

/** Tells whether an apostrophe after an s ends a word; else it opens a quotation, which another
 *  closes. */
function possessive(words, place) {
  const before = words.filter((_, k) => k >= place - 1 && words[k + 1] === "'");
  return before.slice(0, 2).every((word) => word.endsWith("s"));
}

function toggled(mark, quotes) {
  const closes = quotes.delete(mark);
  if (!closes) quotes.set(mark, mark);
  return [closes, !closes];
}
