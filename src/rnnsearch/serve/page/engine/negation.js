// Spoken French without *ne*, as translation/negation.py has it.

import { capitalised, isAlpha } from "./case.js";
import { BEFORE_NEGATION, COUNTED, IDIOMS, NEGATIONS, NO_VERBS, OBJECTS } from "./tables.js";
import { POSITIVE, SUBJECTS, SURE_VERBS, VOWELS, WHOLE_SUBJECTS } from "./tables.js";

/** Adds *ne* to verbs with *pas*, *rien*, *jamais* or, after *peux* and *y a*, *plus*, and the
 *  pronouns that speech leaves out. read: the words that are read, by place; they are changed. */
export function negate(read) {
  const flat = read.flatMap((parts, place) => parts.map((_, at) => [place, at]));
  const text = flat.map(([place, at]) => read[place][at].toLowerCase());
  const vowel = (word) => VOWELS.includes(word[0]);
  const isObject = (place) => OBJECTS.includes(text[place]);
  const isSubject = (place) => SUBJECTS.includes(text[place]);
  const changes = [];
  for (const [at, word] of text.entries()) {
    if (!NEGATIONS.includes(word) && !(word === "plus" && isNoMore(text, at))) continue;
    const idiom = word !== "jamais" && IDIOMS.includes(text[at + 1]);
    const near = text.slice(Math.max(0, at - 5), at + 5);
    if (idiom || near.some((one) => ["ne", "n'", "n"].includes(one))) continue;
    let verb = at - 1;
    while (verb > 0 && BEFORE_NEGATION.includes(text[verb])) verb -= 1;
    let begun = verb;
    while (begun > 0 && isObject(begun - 1) && !isSubject(begun - 1)) begun -= 1;
    if (begun > 1 && isObject(begun - 1) && isSubject(begun - 2)) begun -= 1; // il nous voit pas
    if (verb < 0 || NO_VERBS.includes(text[verb]) || !isAlpha(text[verb])) continue;
    const subject = begun ? text[begun - 1] : "";
    const unsure = subject === "qui" || (begun > 1 && POSITIVE.includes(text[begun - 2]));
    if (SUBJECTS.includes(subject)) {
      const whole = Object.hasOwn(WHOLE_SUBJECTS, subject) ? WHOLE_SUBJECTS[subject] : subject;
      const parts = [whole, vowel(text[begun]) ? "n'" : "ne"];
      if (!(unsure && ["jamais", "rien"].includes(word))) changes.push([begun - 1, parts]);
    } else if (begun < verb && begun === 0 && text[0] === "t'") {
      const you = verb === 1 && text[verb].endsWith("s"); // t'as pas, t'inquiète pas
      changes.push([0, you ? ["tu", vowel(text[1]) ? "n'" : "ne"] : ["ne", "t'"]]);
    } else if (begun < verb && text[begun] === "y") {
      changes.push([begun, begun ? ["n'", "y"] : ["il", "n'", "y"]]);
    } else if (text[verb] === "faut") {
      changes.push([verb, ["il", "ne", "faut"]]);
    } else if (begun > 0 && SURE_VERBS.includes(text[verb]) && word === "pas") {
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

/** Tells whether *plus* means no more: *j'en peux plus*, *y a plus de lait*. */
function isNoMore(text, at) {
  const ends = at + 1 === text.length || !/^[\p{L}\p{N}]+$/u.test(text[at + 1]);
  if (["peux", "peut"].includes(text[at - 1])) return ends;
  const counted = COUNTED.includes(text[at + 2]) || /^\p{Nd}+$/u.test(text[at + 2] ?? "");
  const gone = ends || (["de", "d'"].includes(text[at + 1]) && !counted);
  return at === 2 && text[0] === "y" && text[1] === "a" && gone;
}
