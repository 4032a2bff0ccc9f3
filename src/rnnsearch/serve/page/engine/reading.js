// The forms in which words are read: the functions of translation/reading.py, where they are described.

import { readAmounts } from "./amounts.js";
import { beginsSmall, begun, capitalised, firstWord, inCapitals, inTitleCase } from "./case.js";
import { isAlpha, isEnglishI, isLabel, isUpper, withCapital } from "./case.js";
import { JOINER } from "./codec.js";
import { enclosed, kindOf } from "./copied.js";
import { readMeasures } from "./measures.js";
import { readFigure } from "./number_forms.js";
import { asWritten } from "./typed.js";
import { DOTTED, NAME_SUBWORDS, NOUNS_IN_CAPITALS, STAND_INS, STRAIGHT, UNREAD } from "./tables.js";

const UNK = 1;

/** Encodes the words of a line, which are its own, whatever they are read as. target: the language
 *  of the translation; none if the words are those of a translation. typed: the words as they were
 *  typed, if `words` are in another case. */
export function encodeWordsFaithfully(codec, words, target = "", typed = words) {
  const instead = target ? asWritten(codec, typed) : new Map();
  for (const [place, text] of readMeasures(words, [codec.language, target])) {
    instead.set(place, text);
  }
  const amounts = readAmounts(words, [codec.language, target], (sign) => isUnread(codec, sign));
  for (const [place, text] of amounts) instead.set(place, text);
  for (const place of enclosed(codec, words).keys()) instead.set(place, "");
  const forms = !target || isLabel(words) ? words : withCapitals(codec, words);
  const [first, capitals] = [firstWord(words), inCapitals(words)];
  const large = instead.has(first) && /^\p{Lu}/u.test(forms[first]);
  if (large) instead.set(first, begun(instead.get(first)));
  const read = forms.map((text, at) =>
    instead.has(at)
      ? codec.tokeniser.words(instead.get(at))
      : asRead(codec, text, at === first, capitals),
  );
  const { ids, wordOf } = codec.encodeWords(read.flat());
  const placeOf = [...read.flatMap((parts, place) => parts.map(() => place)), words.length];
  return { words, ids, wordOf: wordOf.map((part) => placeOf[part]) };
}

function withCapitals(codec, words) {
  const first = firstWord(words);
  if (first < 0 || !changes(codec)) return words;
  const large = withCapital(words);
  const small = beginsSmall(words) && !kindOf(codec, words[first]);
  const forms = small && !isUnread(codec, large[first]) ? large : words;
  if (words.some((text) => text !== text.toLowerCase())) return forms;
  const plain = (text) => isAlpha(text.replaceAll("-", "")) && !kindOf(codec, text);
  const title = (text) => text.split("-").map(capitalised).join("-");
  return forms.map((text) =>
    plain(text) ? least(codec, [text, title(text), text.toUpperCase()]) : text,
  );
}

export function inOtherCase(codec, { words, ids }, target) {
  const label = isLabel(words);
  if (!changes(codec)) return null;
  const nouns = NOUNS_IN_CAPITALS.includes(codec.language);
  let other;
  if (label && beginsSmall(words)) other = withCapitals(codec, words);
  else if (label || (inTitleCase(words) && !nouns)) other = withoutCapitals(codec, words, label);
  else if (words.some((text) => text !== text.toLowerCase())) return null;
  else other = withNames(codec, words);
  const read = encodeWordsFaithfully(codec, other, target, words);
  const longer = read.ids.length > ids.length + words.length; // of a word that was cut
  return longer || read.ids.join() === ids.join() ? null : { ...read, words };
}

const changes = (codec) => !codec.lowercase && !DOTTED.includes(codec.language);

function withNames(codec, words) {
  return withCapitals(codec, words).map((text) => {
    const [capital, lower] = sizesOf(codec, [capitalised(text), text]);
    const small = isAlpha(text) && text === text.toLowerCase() && !kindOf(codec, text);
    const name = small && lower > 1 && capital <= Math.min(lower, UNREAD - 1);
    return name ? capitalised(text) : text;
  });
}

function withoutCapitals(codec, words, label) {
  const begin = firstWord(words);
  return words.map((text, place) => {
    const [capital, lower] = sizesOf(codec, [text, text.toLowerCase()]);
    const rare = lower === capital && lower >= NAME_SUBWORDS;
    const name = text !== capitalised(text) || rare || isEnglishI(text, codec.language);
    const stays = (!label && (place === begin || name)) || kindOf(codec, text);
    return stays || lower > capital ? text : text.toLowerCase();
  });
}

/** Returns the number of subwords of each form of a word. */
const sizesOf = (codec, forms) =>
  forms.map((form) => (isUnread(codec, form) ? UNREAD : codec.parts(form).length));

const isUnread = (codec, text) => codec.encodeWords([text]).ids.includes(UNK);

/** Returns the words to read instead of this one: a stand-in; capitals in lowercase, if it has far
 *  fewer subwords, or, if all of the sentence has `capitals`, not more. */
export function asRead(codec, text, first, capitals = false) {
  const kind = kindOf(codec, text);
  const plain = text.replaceAll(JOINER, " ");
  if (kind in STAND_INS) return STAND_INS[kind];
  if (kind) return codec.tokeniser.words(readFigure(plain, codec.language));
  if (STRAIGHT[text] && isUnread(codec, text)) return [STRAIGHT[text]];
  const stays = !isUpper(text) || isEnglishI(text, codec.language);
  if (stays || !(capitals || [...text].length > 1)) return [text];
  const lower = [text.toLowerCase(), capitalised(text)];
  const forms = [text, ...(first ? lower.reverse() : lower)];
  if (!capitals) return [least(codec, forms)]; // it may be an acronym
  const [own, ...sizes] = sizesOf(codec, forms);
  const fewest = Math.min(...sizes);
  return [fewest <= own ? forms[1 + sizes.indexOf(fewest)] : text];
}

function least(codec, forms) {
  const sizes = sizesOf(codec, forms);
  const fewest = Math.min(...sizes);
  return forms[2 * fewest <= sizes[0] ? sizes.indexOf(fewest) : 0];
}
