// A text as the sentences that are translated one by one: the functions of
// translation/source_lines.py, where they are described.

import { AFTER_TIME, BREAK, LAST, LONGEST_WORD, NAME, POINTED_ORDINALS } from "./tables.js";
import { ALSO_WORDS, SHORT_DATES } from "./tables.js";

const ENDS = /^(?:[.!?…]+|[。！？؟।॥]+)$/u;
const CLOSING = /^["'”’»)\]}」』]+$/u;
const CLOSERS = /["'”’)\]}»› \u00a0\u202f]+$/u;
const OPENERS = /^[ \u00a0\u202f"'“‘«„¿¡([{—–-]+/u;
const NEAR = 40;

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
    if (!/^[\p{L}\p{N}]/u.test(after) || /^\p{Ll}/u.test(after)) continue;
    const mark = match.trimEnd().replace(CLOSERS, "");
    if (/^\p{Nd}/u.test(after) && (mark === "…" || mark.endsWith(".."))) continue;
    const before = line.slice(Math.max(0, index - NEAR), index);
    if (mark === "." && !ends(before, after, rules)) continue;
    found.push(line.slice(start, end));
    start = end;
  }
  return [...found, line.slice(start)];
}

function ends(before, after, rules) {
  const { prefixes = [], numeric_prefixes: numeric = [], first_words: words = [] } = rules;
  const earlier = before.split(/[ \u00a0\u202f]/u);
  const stem = earlier.pop().replace(OPENERS, "");
  if (LAST.test(before)) return !AFTER_TIME.test(after);
  const [language] = rules.language.toLowerCase().split(/[-_]/u);
  let date = SHORT_DATES[language]?.[stem.toLowerCase()];
  if (ALSO_WORDS.includes(stem.toLowerCase())) {
    date = /^\p{Lu}/u.test(stem) || /^\p{Nd}+$/u.test(earlier.at(-1) ?? ""); // 3 sept. 1998
  }
  if (numeric.includes(stem) || date) return !/^\p{Nd}/u.test(after);
  if (/\p{Nd}\s[hmgl]$/u.test(before)) return true; // 18 h.
  const ordinal = POINTED_ORDINALS.includes(language);
  if (/^\p{Nd}+$/u.test(stem)) return !ordinal && earlier.some(Boolean);
  if (NAME.test(stem)) return words.includes(after.split(/['’\s]/u)[0]);
  const initial = /^\p{L}$/u.test(stem);
  return !(initial || prefixes.includes(stem) || (stem.includes(".") && /\p{L}/u.test(stem)));
}

export function cut(sentence, codec, limit, encode) {
  if (sentence.ids.length - 1 <= limit) return [sentence];
  const parts = [[]];
  let [used, ended] = [0, false];
  const most = Math.min(limit, LONGEST_WORD);
  const isLong = (word) => codec.parts(word).length > limit;
  const read = (word) => (isLong(word) ? [...word].slice(0, most - 1).join("") : word);
  for (const word of sentence.words) {
    const size = isLong(word) ? most : codec.parts(word).length;
    const [end, closing] = [ENDS.test(word), CLOSING.test(word)];
    if (parts.at(-1).length && (used + size > limit || (ended && !end && !closing))) {
      parts.push([]);
      [used, ended] = [0, false];
    }
    parts.at(-1).push(word);
    used += size;
    ended = end || (ended && closing);
  }
  return parts.map((words) => ({ ...encode(words.map(read)), words }));
}

/** Joins the hypotheses of a sentence's parts to one; `text` makes a line of words. */
export function joinedParts(parts, text) {
  if (parts.length === 1) return parts[0];
  const all = (name) => parts.flatMap((part) => part[name]);
  const tokens = all("tokens");
  const columns = parts.map((part) => new Array(part.sources - 1).fill(0));
  const alignment = parts.flatMap((part, number) =>
    part.alignment.map((row) => {
      const own = columns.with(number, row.slice(0, -1));
      return [...own.flat(), row.at(-1)]; // the ends of the parts are one end
    }),
  );
  return {
    ...{ text: text(tokens), tokens, score: parts.reduce((sum, part) => sum + part.score, 0) },
    ...{ log_probabilities: all("log_probabilities"), confidence: all("confidence") },
    ...{ doubtful_numbers: all("doubtful_numbers"), unknown_words: all("unknown_words") },
    ...{ alignment, sources: columns.flat().length + 1 },
  };
}
