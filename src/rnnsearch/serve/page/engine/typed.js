// What people type instead of what is written: the functions of translation/typed.py, where they are
// described.

import { begun, capitalised, firstWord, inCapitals, isAlpha, isUpper } from "./case.js";
import { kindOf } from "./copied.js";
import { negate } from "./negation.js";
import { ABBREVIATIONS, ACCENTS, ANY_TWO, ELIDED, FIRST_TWO, LONGEST_MISSPELT } from "./tables.js";
import { LONGEST_READ, MISSED_LETTERS, MOST_ACCENTS, NOUNS_TOO, PARTICIPLE } from "./tables.js";
import { RARE_SUBWORDS, SHORT_ARTICLES, SHORTEST_DOUBLED, SHORTEST_MISSPELT } from "./tables.js";
import { SINGLE_LETTERS, UNREAD, VOWELS } from "./tables.js";

const UNK = 1;

export function asWritten(codec, words) {
  if (codec.spaced) return new Map();
  const [first, capitals] = [firstWord(words), inCapitals(words)];
  const large = [...words.keys()].filter((at) => words[at] !== words[at].toLowerCase());
  const begins = large.length === 1 && large[0] === first && !isUpper(words[first]);
  const open = begins && /[\p{L}\p{N}]$/u.test(words.at(-1));
  const line = {
    codec,
    language: codec.language,
    hasty: !large.length || open || capitals,
  };
  line.accents = line.language === "fr" && words.every((text) => text.normalize("NFD") === text);
  const isChanged = ([place, parts]) => parts.length !== 1 || parts[0] !== words[place];
  let read = readWords(line, words, first, capitals);
  if (!line.hasty && [...read.entries()].some(isChanged)) {
    read = readWords({ ...line, hasty: true }, words, first, capitals);
  }
  if (line.language === "fr") negate(read);
  const changed = [...read.entries()].filter(isChanged);
  return new Map(changed.map(([place, parts]) => [place, codec.text(parts)]));
}

function readWords(line, words, first, capitals) {
  return words.map((text, place) => {
    const lower = text.toLowerCase();
    const acronym = isUpper(text) && [...text].length > 1;
    const name = text !== lower && !capitals && (place !== first || acronym);
    if (name || kindOf(line.codec, text)) return [text];
    const [before, after] = [-1, 1].map((near) => (words[place + near] ?? "").toLowerCase());
    const found =
      ofTwo(line, `${text} ${after}`, place === first) ||
      written(line, lower, before, after, text !== lower);
    const large = /^\p{Lu}/u.test(text) && (place === first || !capitals);
    return found === lower ? [text] : line.codec.tokeniser.words(large ? begun(found) : found);
  });
}

function ofTwo({ language, hasty }, words, first) {
  const own = (first && hasty && FIRST_TWO[language]) || [];
  const forms = [...own, ...(((first || hasty) && ANY_TWO[language]) || [])];
  return forms.find(([form]) => form.test(words))?.[1];
}

function written(line, text, before, after, name) {
  const { codec } = line;
  const short = ABBREVIATIONS[line.language]?.[text];
  if (short) return isShort(line, text, before, after) ? short : text;
  const has = (form) => codec.filter.has(form);
  if (!codec.filter || text.length < 2 || text.length > LONGEST_READ || !isAlpha(text)) return text;
  const known = has(text);
  if (known && !line.hasty) return text;
  const size = sizeOf(codec, text);
  let found = line.accents && !(known && size === 1) ? accentedForms(codec, text) : [];
  if (known) {
    found = found.filter((form) => 2 * sizeOf(codec, form) <= size);
  }
  const named = name || has(capitalised(text)) || has(text.toUpperCase());
  if (line.hasty && !found.length && !named) {
    found = line.language === "fr" && !known ? withApostrophe(line, text) : [];
    if (!found.length) found = near(codec, text, size);
  }
  const better = (best, form) => (isBetter(codec, form, best) ? form : best);
  return found.length ? found.reduce(better) : text;
}

function isShort({ hasty }, text, before, after) {
  if (NOUNS_TOO[text]) return !NOUNS_TOO[text].split(" ").includes(before);
  const beside = (text === "r" && after === "u") || (text === "u" && !before);
  if (text === "lol") return hasty;
  const letter = SINGLE_LETTERS[text];
  return !letter || (hasty && (beside || letter.split(" ").includes(before)));
}

function withApostrophe({ codec, accents }, text) {
  const [, article, rest] = ELIDED.exec(text) ?? [];
  if (!article) return [];
  const has = (form) => codec.filter.has(form);
  const marked = accents && !(article === "j" && has(rest)) ? accentedForms(codec, rest) : [];
  let forms = [rest, ...marked].filter(has);
  if (SHORT_ARTICLES.includes(article)) {
    forms = forms.filter((form) => has(capitalised(form)) && sizeOf(codec, form) === 1);
  }
  return forms.map((form) => (VOWELS.includes(rest[0]) ? `${article}'` : "je ") + form);
}

/** Returns the known words that differ from this one by accents, not by that of a participle alone,
 *  and do not have many more subwords. */
function accentedForms(codec, text) {
  const most = sizeOf(codec, text);
  const more = (form) => Number(codec.filter.has(capitalised(form)));
  return [...accented(text)]
    .filter((form) => codec.filter.has(form) && form.replace(PARTICIPLE, "e") !== text)
    .filter((form) => sizeOf(codec, form) <= most + more(form));
}

function* accented(text) {
  const places = [...Array(text.length).keys()].filter((at) => ACCENTS[text[at]]);
  const most = MOST_ACCENTS[Number(places.length > 6)];
  for (let number = 1; number <= most; number += 1) yield* withAccents(text, places, number);
  if (text.includes("oe")) yield text.replaceAll("oe", "œ");
}

/** Yields a word with `number` accents on the letters at these places. */
function* withAccents(text, places, number) {
  if (!number) yield text;
  else {
    for (const [at, place] of places.entries()) {
      for (const mark of ACCENTS[text[place]]) {
        const changed = text.slice(0, place) + mark + text.slice(place + 1);
        yield* withAccents(changed, places.slice(at + 1), number - 1);
      }
    }
  }
}

function near(codec, text, size) {
  const [known, length] = [codec.filter.has(text), text.length];
  if (length < SHORTEST_DOUBLED || (known && size < RARE_SUBWORDS)) return [];
  const most = known ? 1 : Math.max(size - 1, 2);
  const among = (forms, limit) =>
    forms.filter((form) => codec.filter.has(form) && sizeOf(codec, form) <= limit);
  const short = length < SHORTEST_MISSPELT || known;
  const found = among([...(short ? doubled(text) : respelt(text))], most);
  const edits = !known && length > SHORTEST_MISSPELT && length <= LONGEST_MISSPELT;
  if (found.length || !edits) return found;
  return among([...edited(text)].filter((form) => codec.isWhole(form)), 1);
}

function* edited(text) {
  for (let at = 1; at <= text.length; at += 1) {
    const [begin, rest] = [text.slice(0, at), text.slice(at)];
    for (const letter of MISSED_LETTERS) yield begin + letter + rest;
    if (rest.length > 1) yield begin + rest.slice(1);
    if (rest && VOWELS.includes(rest[0])) {
      for (const letter of VOWELS) yield begin + letter + rest.slice(1);
    }
  }
}

function* doubled(text) {
  for (let at = 0; at < text.length; at += 1) yield text.slice(0, at + 1) + text.slice(at);
}

function* respelt(text) {
  for (let at = 0; at + 1 < text.length; at += 1) {
    const [begin, one, other, rest] = [text.slice(0, at), text[at], text[at + 1], text.slice(at + 2)];
    if (one !== other) yield begin + other + one + rest;
    else if (text.length > SHORTEST_MISSPELT) yield begin + one + rest;
  }
  yield* doubled(text);
}

const idsOf = (codec, text) => codec.encodeWords(codec.tokeniser.words(text)).ids.slice(0, -1);

function sizeOf(codec, text) {
  const ids = idsOf(codec, text);
  return ids.includes(UNK) ? UNREAD : ids.length;
}

/** Tells whether a form of a word is the more frequent one: it has fewer subwords, is known with a
 *  capital, too, or has frequent subwords. */
function isBetter(codec, form, other) {
  const rank = (text) => {
    const ids = idsOf(codec, text);
    return [ids.length, Number(!codec.filter.has(capitalised(text))), Math.max(...ids)];
  };
  const [ours, theirs] = [rank(form), rank(other)];
  const at = ours.findIndex((value, place) => value !== theirs[place]);
  return at >= 0 && ours[at] < theirs[at];
}
