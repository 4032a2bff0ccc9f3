// The case in which the words of a sentence are read, and that of the first word of a translation,
// as translation/case.py has them.

import { JOINER } from "./codec.js";
import { LEAST_GAINS, LONGEST_ACRONYM, LONGEST_LABEL, NOUNS_IN_CAPITALS } from "./tables.js";

const UNK = 1;

export const hasText = (text) => /[\p{L}\p{N}]/u.test(text);
export const isUpper = (text) => text === text.toUpperCase() && text !== text.toLowerCase();
export const isAlpha = (text) => /^\p{L}+$/u.test(text);

/** Tells whether a word is the English I, a capital everywhere. */
export const isEnglishI = (text, language) => text === "I" && language === "en";

export function capitalised(text) {
  const [first = "", ...rest] = text.toLowerCase();
  return first.toUpperCase() + rest.join("");
}

/** Returns the place of the first word that begins with a letter or digit; -1 if there is none. */
export const firstWord = (words) =>
  words.findIndex((text) => /^[\p{L}\p{N}]/u.test(text) && !text.endsWith(JOINER));

/** Tells whether the first word has letters alone, apostrophes and hyphens apart, and no capital. */
export function beginsSmall(words) {
  const text = words[firstWord(words)] ?? "";
  return /^\p{Ll}/u.test(text) && text === text.toLowerCase() && isAlpha(text.replace(/['-]/g, ""));
}

/** Returns the words, the first of those with letters or digits with a capital. */
export function withCapital(words) {
  const first = firstWord(words);
  return words.map((text, place) => (place === first ? begun(text, "toUpperCase") : text));
}

/** Tells whether a sentence has capitals alone, and is no acronym. */
export function inCapitals(words) {
  const long = words.filter((text) => /^\p{L}{2,}$/u.test(text));
  const several = long.length > 1 || long.some((text) => [...text].length > LONGEST_ACRONYM);
  return several && long.every(isUpper);
}

/** Tells whether a sentence longer than a label has a capital in two thirds of its words, and in each
 *  of several words of four letters or more. */
export function inTitleCase(words) {
  const isLarge = (one) => /^\p{Lu}/u.test(one);
  const some = words.filter(hasText);
  const long = words.filter((one) => /^\p{L}{4,}$/u.test(one));
  const capitals = long.every(isLarge) && !inCapitals(words);
  const most = 3 * some.filter(isLarge).length >= 2 * some.length;
  return capitals && most && long.length > 1 && some.length > LONGEST_LABEL;
}

/** Tells whether a sentence is a few words of letters, each in lowercase or with a capital, or all
 *  in capitals. */
export function isLabel(words) {
  const some = words.filter(hasText);
  if (!some.length || some.length > LONGEST_LABEL || !some.every(isAlpha)) return false;
  const plain = (text) => [text.toLowerCase(), capitalised(text)].includes(text);
  return inCapitals(words) || some.every(plain);
}

/** Returns the one of LEAST_GAINS that holds for these words. */
export const leastGain = (words) =>
  LEAST_GAINS[isLabel(words) ? "label" : inTitleCase(words) ? "title" : "sentence"];

/** Returns the words of a translation, the first of which begins with a small letter, unless it has
 *  a capital everywhere. filter: a WordFilter, or null. kept: words that stay as they are. */
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

function begun(text, form) {
  const [first = "", ...rest] = text;
  return first[form]() + rest.join("");
}
