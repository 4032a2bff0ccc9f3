// The forms in which the words of a source line are read, as translation/reading.py has them.

import { readAmounts } from "./amounts.js";
import { beginsSmall, capitalised, firstWord, inCapitals, inTitleCase } from "./case.js";
import { isLabel, isUpper, withCapital } from "./case.js";
import { enclosed, JOINER, kindOf } from "./copied.js";
import { readMeasures } from "./measures.js";
import { readFigure } from "./numbers.js";
import { NAME_SUBWORDS, NOUNS_IN_CAPITALS, STAND_INS, STRAIGHT } from "./tables.js";

const UNK = 1;

/** Encodes the words of a line, which are its own, whatever they are read as. target: the language
 *  of the translation; none if the words are those of a translation. */
export function encodeWordsFaithfully(codec, words, target = "") {
  const instead = readMeasures(words, [codec.language, target]);
  const amounts = readAmounts(words, [codec.language, target], (sign) => isUnread(codec, sign));
  for (const [place, text] of amounts) instead.set(place, text);
  for (const place of enclosed(codec, words).keys()) instead.set(place, "");
  const begun = !target || isLabel(words) ? words : withCapitals(codec, words);
  const [first, capitals] = [firstWord(words), inCapitals(words)];
  const read = begun.map((text, at) =>
    instead.has(at)
      ? codec.tokeniser.words(instead.get(at))
      : asRead(codec, text, at === first, capitals),
  );
  const { ids, wordOf } = codec.encodeWords(read.flat());
  const placeOf = [...read.flatMap((parts, place) => parts.map(() => place)), words.length];
  return { words, ids, wordOf: wordOf.map((part) => placeOf[part]) };
}

/** Returns the words with a capital where a sentence begins with a small letter, and, if it has no
 *  capitals, in words that then have far fewer subwords (france, usa). */
function withCapitals(codec, words) {
  const first = words[firstWord(words)];
  if (first === undefined || codec.lowercase) return words;
  const begun = beginsSmall(words) && !kindOf(codec, first) ? withCapital(words) : words;
  if (words.some((text) => text !== text.toLowerCase())) return begun;
  const plain = (text) => /^[\p{L}-]*\p{L}[\p{L}-]*$/u.test(text) && !kindOf(codec, text);
  const title = (text) => text.split("-").map(capitalised).join("-");
  return begun.map((text) =>
    plain(text) ? least(codec, [text, title(text), text.toUpperCase()]) : text,
  );
}

/** Returns a label or a title as it is read in lowercase; a label in lowercase, with capitals; a
 *  sentence in lowercase, with capitals in all words that may be names; null for other text. */
export function inOtherCase(codec, { words }, target) {
  if (codec.lowercase) return null;
  const nouns = NOUNS_IN_CAPITALS.includes(codec.language.split(/[-_]/)[0]);
  const cased = isLabel(words) || (inTitleCase(words) && !nouns);
  const change = !cased ? withNames : beginsSmall(words) ? withCapitals : withoutCapitals;
  const other = change(codec, words);
  if (!other || other.every((text, place) => text === words[place])) return null;
  return { ...encodeWordsFaithfully(codec, other, target), words };
}

/** Returns a sentence without capitals with those of words of several subwords, which may be names;
 *  null if it has no such words. */
function withNames(codec, words) {
  if (words.some((text) => text !== text.toLowerCase())) return null;
  const begun = withCapitals(codec, words);
  const found = begun.map((text) => {
    const plain = /^\p{L}+$/u.test(text) && text === text.toLowerCase() && !kindOf(codec, text);
    const [capital, lower] = [capitalised(text), text].map((one) => codec.parts(one).length);
    return plain && lower > 1 && capital <= lower ? capitalised(text) : text;
  });
  return found.some((text, place) => text !== begun[place]) ? found : null;
}

/** Returns the words in lowercase but for names, those that then have more subwords; in a title, also
 *  but for its first word and for those that have many subwords anyway. */
function withoutCapitals(codec, words) {
  const [begin, label] = [firstWord(words), isLabel(words)];
  return words.map((text, place) => {
    const [capital, lower] = [text, text.toLowerCase()].map((one) => codec.parts(one).length);
    const rare = lower === capital && lower >= NAME_SUBWORDS;
    const stays = !label && (place === begin || rare);
    return stays || lower > capital ? text : text.toLowerCase();
  });
}

const isUnread = (codec, text) => codec.encodeWords([text]).ids.includes(UNK);

/** Returns the words to read instead of this one: a stand-in, or capitals in lowercase. capitals: all
 *  of the sentence has them. */
export function asRead(codec, text, first, capitals = false) {
  const kind = kindOf(codec, text);
  const plain = text.replaceAll(JOINER, " ");
  if (kind === "figure") return codec.tokeniser.words(readFigure(plain, codec.language));
  if (kind) return STAND_INS[kind];
  if (Object.hasOwn(STRAIGHT, text) && isUnread(codec, text)) return [STRAIGHT[text]];
  if (!isUpper(text) || !(capitals || [...text].length > 1)) return [text];
  const lower = [text.toLowerCase(), capitalised(text)];
  const forms = [text, ...(first ? lower.reverse() : lower)];
  if (!capitals) return [least(codec, forms)]; // it may be an acronym
  const sizes = forms.map((form) => codec.parts(form).length);
  const best = sizes[2] < sizes[1] ? 2 : 1;
  return [sizes[best] <= sizes[0] ? forms[best] : text];
}

/** Returns the form of a word with the fewest subwords if they are far fewer; else the first. */
function least(codec, forms) {
  const sizes = forms.map((form) => codec.parts(form).length);
  const fewest = Math.min(...sizes);
  return forms[2 * fewest <= sizes[0] ? sizes.indexOf(fewest) : 0];
}
