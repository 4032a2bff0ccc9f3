// The case in which words are read and written: the functions of translation/case.py, where they are
// described.

import { JOINER } from "./codec.js";
import { LEAST_GAINS, LONGEST_ACRONYM, LONGEST_LABEL, NOUNS_IN_CAPITALS } from "./tables.js";

const UNK = 1;

export const hasText = (text) => /[\p{L}\p{N}]/u.test(text);
export const isUpper = (text) => text === text.toUpperCase() && text !== text.toLowerCase();
export const isAlpha = (text) => /^\p{L}+$/u.test(text);

export const isEnglishI = (text, language) => text === "I" && language === "en";

export function capitalised(text) {
  const [first = "", ...rest] = text.toLowerCase();
  return first.toUpperCase() + rest.join("");
}

/** Returns -1 if there is none. */
export const firstWord = (words) =>
  words.findIndex((text) => /^[\p{L}\p{N}]/u.test(text) && !text.endsWith(JOINER));

export function beginsSmall(words) {
  const text = words[firstWord(words)] ?? "";
  return /^\p{Ll}/u.test(text) && text === text.toLowerCase() && isAlpha(text.replace(/['-]/g, ""));
}

export function withCapital(words) {
  const first = firstWord(words);
  return words.map((text, place) => (place === first ? begun(text) : text));
}

export function inCapitals(words) {
  const long = words.filter((text) => /^\p{L}{2,}$/u.test(text));
  const several = long.length > 1 || long.some((text) => [...text].length > LONGEST_ACRONYM);
  return several && long.every(isUpper);
}

export function inTitleCase(words) {
  const isLarge = (one) => /^\p{Lu}/u.test(one);
  const some = words.filter(hasText);
  const long = words.filter((one) => /^\p{L}{4,}$/u.test(one));
  const capitals = long.every(isLarge) && !inCapitals(words);
  const most = 3 * some.filter(isLarge).length >= 2 * some.length;
  return capitals && most && long.length > 1 && some.length > LONGEST_LABEL;
}

export function isLabel(words) {
  const some = words.filter(hasText);
  if (!some.length || some.length > LONGEST_LABEL || !some.every(isAlpha)) return false;
  const plain = (text) => [text.toLowerCase(), capitalised(text)].includes(text);
  return inCapitals(words) || some.every(plain);
}

export const leastGain = (words) =>
  LEAST_GAINS[isLabel(words) ? "label" : inTitleCase(words) ? "title" : "sentence"];

export function withSmallLetter(words, target, filter, kept) {
  const first = firstWord(words);
  const text = words[first] ?? "";
  const lower = begun(text, "toLowerCase");
  const nouns = NOUNS_IN_CAPITALS.includes(target.language);
  if (kept.includes(text) || nouns || isEnglishI(text, target.language)) return words;
  const sizes = [text, lower].map((one) => target.parts(one).length);
  const known = !target.encodeWords([lower]).ids.includes(UNK) && (!filter || filter.has(lower));
  if (sizes[1] > sizes[0] || !known) return words;
  return words.map((one, place) => (place === first ? lower : one));
}

export function begun(text, form = "toUpperCase") {
  const [first = "", ...rest] = text;
  return first[form]() + rest.join("");
}
