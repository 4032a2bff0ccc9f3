// A visitor's text as the sentences that are translated one by one.

import * as tables from "./tables.js";

const ENDS = /^(?:[.!?…]+|[。！？؟।॥]+)$/u;
const CLOSING = /^["'”’»)\]}」』]+$/u;
const BREAK = new RegExp(tables.BREAK, "gu");
const CLOSERS = /["'”’)\]}»› \u00a0\u202f]+$/u;
const OPENERS = /^[ "'“‘«„¿¡([{—–-]+/u;
const NEAR = 40;
const LAST = new RegExp(tables.LAST, "iu");
const AFTER_TIME = new RegExp(`^(?:${tables.AFTER_TIME})`, "u");
const NAME = new RegExp(`^(?:${tables.NAME})$`, "u");

/** Returns the sentences of a text, none of them empty; a line break ends one. rules: {language, prefixes, numeric_prefixes} of the source.
 *  The rules are those of translation/source_lines.py. */
export function sentences(text, rules) {
  return text
    .split("\n")
    .flatMap((line) => lineSentences(line, rules))
    .map((sentence) => sentence.trim().replace(/\s+/gu, " "))
    .filter(Boolean);
}

function lineSentences(line, rules) {
  const found = [];
  let start = 0;
  for (const { 0: match, index } of line.matchAll(BREAK)) {
    const end = index + match.length;
    const after = line.slice(end, end + NEAR).replace(OPENERS, "");
    const following = [...after][0];
    if (!following || !/^[\p{L}\p{N}]/u.test(following) || /^\p{Ll}/u.test(following)) continue;
    const mark = match.trimEnd().replace(CLOSERS, "");
    if (/^\p{Nd}/u.test(following) && (mark === "…" || mark.endsWith(".."))) continue;
    if (mark === "." && !ends(line.slice(Math.max(0, index - NEAR), index), after, rules)) continue;
    found.push(line.slice(start, end));
    start = end;
  }
  return [...found, line.slice(start)];
}

/** Tells whether a full stop between this text and a capital or digit ends a sentence. */
function ends(before, after, { language, prefixes = [], numeric_prefixes: numeric = [], first_words: words = [] }) {
  const earlier = before.split(" ");
  const stem = earlier.pop().replace(OPENERS, "");
  if (LAST.test(before)) return !AFTER_TIME.test(after);
  if (numeric.includes(stem)) return !/^\p{Nd}/u.test(after);
  if (/\p{Nd}\s[hmgl]$/u.test(before)) return true; // 18 h.
  if (/^\p{Nd}+$/u.test(stem)) return !tables.ORDINALS.includes(language.toLowerCase().split(/[-_]/u)[0]) && earlier.some(Boolean);
  if (NAME.test(stem)) return words.includes(after.split(/['’\s]/u)[0]);
  return !(/^\p{L}$/u.test(stem) || prefixes.includes(stem) || (stem.includes(".") && /\p{L}/u.test(stem)));
}

/** Returns the sentence itself, or parts of at most `limit` ids each, cut after sentence ends where there are any; `encode` makes a part of
 *  words, and of a longer word only the beginning is read (translation/source_lines.py). */
export function cut(sentence, codec, limit, encode) {
  if (sentence.ids.length - 1 <= limit) return [sentence];
  const parts = [[]];
  let used = 0;
  let ended = false;
  const size = (word) => codec.parts(word).length;
  const most = Math.min(limit, tables.LONGEST_WORD);
  const shortened = (word) => (size(word) > limit ? [...word].slice(0, most - 1).join("") : word);
  for (const word of sentence.words) {
    const own = size(word) > limit ? most : size(word);
    const end = ENDS.test(word);
    if (parts.at(-1).length && (used + own > limit || (ended && !end && !CLOSING.test(word)))) {
      parts.push([]);
      used = 0;
      ended = false;
    }
    parts.at(-1).push(word);
    used += own;
    ended = end || (ended && CLOSING.test(word));
  }
  return parts.map((words) => ({ ...encode(words.map(shortened)), words }));
}

/** Joins the hypotheses of a sentence's parts to one; `text` makes a line of words. */
export function joinedParts(parts, text) {
  if (parts.length === 1) return parts[0];
  const columns = parts.map((part) => part.sources - 1);
  const before = columns.map((_, k) => columns.slice(0, k).reduce((a, b) => a + b, 0));
  const all = columns.reduce((a, b) => a + b, 0);
  const tokens = parts.flatMap((part) => part.tokens);
  const alignment = parts.flatMap((part, number) =>
    part.alignment.map((row) => {
      const whole = new Array(all + 1).fill(0);
      row.slice(0, -1).forEach((weight, k) => (whole[before[number] + k] = weight));
      whole[all] = row.at(-1); // the ends of the parts are one end
      return whole;
    }),
  );
  return {
    text: text(tokens),
    tokens,
    score: parts.reduce((sum, part) => sum + part.score, 0),
    log_probabilities: parts.flatMap((part) => part.log_probabilities),
    confidence: parts.flatMap((part) => part.confidence),
    doubtful_numbers: parts.flatMap((part) => part.doubtful_numbers),
    unknown_words: parts.flatMap((part) => part.unknown_words),
    alignment,
    sources: all + 1,
  };
}
