// What people type instead of what is written, as translation/typed.py has it.

import { capitalised, firstWord, inCapitals, isAlpha } from "./case.js";
import { kindOf } from "./copied.js";
import { ACCENTS, BEFORE_NEGATION, BEGINNINGS, ELIDED, MOST_ACCENTS, NEGATIONS } from "./tables.js";
import { OBJECTS, PAIRS, PARTICIPLE, SHORTEST_MISSPELT, SUBJECTS, SURE_VERBS } from "./tables.js";
import { TYPED, VOWELS, WHOLE } from "./tables.js";

const UNK = 1;

/** Returns a map of places of words that were typed in haste: what is read there. */
export function asTyped(codec, words) {
  if (codec.spaced) return new Map();
  const language = languageOf(codec);
  const [first, capitals] = [firstWord(words), inCapitals(words)];
  const line = {
    bare: words.every((text) => text.normalize("NFD") === text),
    hasty: words.every((text) => text === text.toLowerCase()),
  };
  const read = words.map((text, place) => {
    const lower = text.toLowerCase();
    const name = text !== lower && !capitals && place !== first;
    if (name || kindOf(codec, text)) return [text];
    const two = `${text} ${(words[place + 1] ?? "").toLowerCase()}`;
    const found =
      ofTwo(language, two, place === first) || written(codec, lower, line, text !== lower);
    const large = /^\p{Lu}/u.test(text) && (place === first || !capitals);
    return found === lower ? [text] : codec.tokeniser.words(large ? begin(found) : found);
  });
  if (language === "fr") negate(read);
  const changed = [...read.entries()].filter(
    ([place, parts]) => parts.length > 1 || parts[0] !== words[place],
  );
  return new Map(changed.map(([place, parts]) => [place, codec.text(parts)]));
}

const languageOf = (codec) => codec.language.split(/[-_]/u)[0].toLowerCase();
const begin = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);

/** Returns how the first of two words is written if both together tell it; else undefined. first:
 *  they begin the line. */
function ofTwo(language, words, first) {
  const of = (table) => (Object.hasOwn(table, language) ? table[language] : []);
  const forms = [...(first ? of(BEGINNINGS) : []), ...of(PAIRS)];
  return forms.find(([form]) => new RegExp(form, "u").test(words))?.[1];
}

/** Returns how a word in lowercase is written. bare: no word of the line has an accent. hasty: none
 *  has a capital. name: the word may be a name. */
function written(codec, text, { bare, hasty }, name) {
  const language = languageOf(codec);
  const table = Object.hasOwn(TYPED, language) ? TYPED[language] : {};
  const short = Object.hasOwn(table, text) ? table[text] : "";
  if (short && (text.length > 1 || hasty)) return short;
  const { filter } = codec;
  if (!filter || text.length < 2 || !isAlpha(text)) return text;
  const [known, has] = [filter.has(text), (form) => filter.has(form)];
  const marked = bare && Object.hasOwn(ACCENTS, language);
  if (known && !marked) return text;
  const size = sizeOf(codec, text);
  let found = marked && !(known && size === 1) ? accentedForms(codec, text, language) : [];
  if (known) {
    found = found.filter((form) => 2 * sizeOf(codec, form) <= size);
    found = found.filter((form) => form.replace(PARTICIPLE, "e") !== text);
  } else if (!found.length && !name && ![capitalised(text), text.toUpperCase()].some(has)) {
    const [, article, rest] = (language === "fr" && ELIDED.exec(text)) || [];
    if (article) {
      const verb = article === "j" && has(rest);
      const accents = marked && !verb ? accentedForms(codec, rest, language) : [];
      const forms = [rest, ...accents].filter(has);
      const sure = forms.filter((form) => article === "j" || has(capitalised(form)));
      found = sure.map((form) => (VOWELS.includes(rest[0]) ? `${article}'` : "je ") + form);
    }
    if (!found.length && text.length >= SHORTEST_MISSPELT) {
      found = [...respelt(text)].filter((form) => has(form) && sizeOf(codec, form) < size);
    }
  }
  const better = (best, form) => (isBetter(codec, form, best) ? form : best);
  return found.length ? found.reduce(better) : text;
}

/** Returns the known words that differ from this one by accents and do not have many more
 *  subwords. */
function accentedForms(codec, text, language) {
  const most = sizeOf(codec, text);
  const more = (form) => Number(codec.filter.has(capitalised(form)));
  return [...accented(text, language)]
    .filter((form) => codec.filter.has(form))
    .filter((form) => sizeOf(codec, form) <= most + more(form));
}

/** Yields a word with accents on its letters, few of them first. */
function* accented(text, language) {
  const marks = Object.hasOwn(ACCENTS, language) ? ACCENTS[language] : {};
  const places = [...Array(text.length).keys()].filter((at) => Object.hasOwn(marks, text[at]));
  const most = MOST_ACCENTS[Number(places.length > 6)];
  for (let number = 1; number <= most; number += 1) yield* withAccents(text, places, marks, number);
  if (language === "fr" && text.includes("oe")) yield text.replaceAll("oe", "œ");
}

/** Yields a word with `number` accents on the letters at these places. */
function* withAccents(text, places, marks, number) {
  if (!number) yield text;
  else {
    for (const [at, place] of places.entries()) {
      for (const mark of marks[text[place]]) {
        const changed = text.slice(0, place) + mark + text.slice(place + 1);
        yield* withAccents(changed, places.slice(at + 1), marks, number - 1);
      }
    }
  }
}

/** Yields a word with two neighbours exchanged, with a letter twice, or once instead of twice. */
function* respelt(text) {
  for (let at = 0; at + 1 < text.length; at += 1) {
    const [one, other, rest] = [text[at], text[at + 1], text.slice(at + 2)];
    yield text.slice(0, at) + (one === other ? one + rest : other + one + rest);
  }
  for (let at = 0; at < text.length; at += 1) yield text.slice(0, at + 1) + text.slice(at);
}

const idsOf = (codec, text) => codec.encodeWords(codec.tokeniser.words(text)).ids.slice(0, -1);

function sizeOf(codec, text) {
  const ids = idsOf(codec, text);
  return ids.includes(UNK) ? 1000 : ids.length;
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

/** Adds *ne* to the subject of each verb that has *pas*, *rien* or *jamais* without it. read: the
 *  words that are read, by place. */
function negate(read) {
  const flat = read.flatMap((parts, place) => parts.map((_, at) => [place, at]));
  const text = flat.map(([place, at]) => read[place][at].toLowerCase());
  const vowel = (word) => VOWELS.includes(word[0]);
  const changes = [];
  for (const [at, word] of text.entries()) {
    const idiom = word === "pas" && ["mal", "à"].includes(text[at + 1]);
    const gone = text.slice(0, at).join(" ") === "y a";
    const plus = word === "plus" && (["peux", "peut"].includes(text[at - 1]) || gone);
    const there = text.slice(Math.max(0, at - 5), at).some((one) => ["ne", "n'", "n"].includes(one));
    if (there || idiom || !(NEGATIONS.includes(word) || plus)) continue;
    let verb = at - 1;
    while (verb > 0 && BEFORE_NEGATION.includes(text[verb])) verb -= 1;
    let begun = verb;
    const isObject = (place) => OBJECTS.includes(text[place]);
    const isSubject = (place) => SUBJECTS.includes(text[place]);
    while (begun > 0 && isObject(begun - 1) && !isSubject(begun - 1)) begun -= 1;
    if (begun > 1 && isObject(begun - 1) && isSubject(begun - 2)) begun -= 1; // il nous voit pas
    if (verb < 0 || !isAlpha(text[verb].replaceAll("-", ""))) continue;
    const subject = begun ? text[begun - 1] : "";
    const ever = word === "jamais" && text[begun - 2] === "que";
    if (SUBJECTS.includes(subject) && !ever) {
      const whole = Object.hasOwn(WHOLE, subject) ? WHOLE[subject] : subject;
      changes.push([begun - 1, [whole, vowel(text[begun]) ? "n'" : "ne"]]);
    } else if (begun < verb && begun === 0 && text[0] === "t'") {
      const you = verb === 1 && text[verb].endsWith("s"); // t'as pas, t'inquiète pas
      changes.push([0, you ? ["tu", vowel(text[1]) ? "n'" : "ne"] : ["ne", "t'"]]);
    } else if (begun < verb && text[begun] === "y") {
      changes.push([begun, ["il", "n'", "y"]]);
    } else if (text[verb] === "faut") {
      changes.push([verb, ["il", "ne", "faut"]]);
    } else if (begun && SURE_VERBS.includes(text[verb]) && !(text[verb] === "a" && word === "jamais")) {
      changes.push([begun, [vowel(text[begun]) ? "n'" : "ne", text[begun]]]);
    }
  }
  for (const [at, parts] of changes.reverse()) {
    const [place, part] = flat[at];
    const large = /^\p{Lu}/u.test(read[place][part]);
    if (large) parts[0] = capitalised(parts[0]);
    read[place].splice(part, 1, ...parts);
  }
}
