// Spoken French without *ne*: the functions of translation/negation.py, where they are described.

import { capitalised, isAlpha } from "./case.js";
import { BEFORE_NEGATION, COUNTED, IDIOMS, NEGATIONS, NO_VERBS, OBJECTS } from "./tables.js";
import { POSITIVE, SUBJECTS, SURE_VERBS, VOWELS, WHOLE_SUBJECTS } from "./tables.js";

export function negate(read) {
  const flat = read.flatMap((parts, place) => parts.map((_, at) => [place, at]));
  const text = flat.map(([place, at]) => read[place][at].toLowerCase());
  const changes = text.map((_, at) => (lacksNe(text, at) ? withNe(text, at) : null));
  for (const [at, parts] of changes.filter(Boolean).reverse()) {
    const [place, part] = flat[at];
    const large = /^\p{Lu}/u.test(read[place][part]);
    if (large) parts[0] = capitalised(parts[0]);
    read[place].splice(part, 1, ...parts);
  }
}

function lacksNe(text, at) {
  const word = text[at];
  if (!NEGATIONS.includes(word) && !(word === "plus" && isNoMore(text, at))) return false;
  const idiom = word !== "jamais" && IDIOMS.includes(text[at + 1]);
  const near = text.slice(Math.max(0, at - 5), at + 5);
  return !idiom && !near.some((one) => ["ne", "n'", "n"].includes(one));
}

function withNe(text, at) {
  const [begun, verb] = verbOf(text, at);
  if (verb < 0 || NO_VERBS.includes(text[verb]) || !isAlpha(text[verb])) return null;
  const subject = begun ? text[begun - 1] : "";
  if (SUBJECTS.includes(subject)) {
    const maybe = subject === "qui" || (begun > 1 && POSITIVE.includes(text[begun - 2]));
    const unsure = maybe && ["jamais", "rien"].includes(text[at]);
    return unsure ? null : [begun - 1, [WHOLE_SUBJECTS[subject] ?? subject, ne(text[begun])]];
  }
  if (begun < verb && begun === 0 && text[0] === "t'") {
    const you = verb === 1 && text[verb].endsWith("s"); // t'as pas, t'inquiète pas
    return [0, you ? ["tu", ne(text[1])] : ["ne", "t'"]];
  }
  if (begun < verb && text[begun] === "y") return [begun, begun ? ["n'", "y"] : ["il", "n'", "y"]];
  if (text[verb] === "faut") return [verb, ["il", "ne", "faut"]];
  const sure = begun > 0 && SURE_VERBS.includes(text[verb]) && text[at] === "pas";
  return sure ? [begun, [ne(text[begun]), text[begun]]] : null;
}

/** Returns where the verb that is negated at `at` begins, with the pronouns in front of it, and its
 *  own place, below 0 if there is none. */
function verbOf(text, at) {
  const isObject = (place) => OBJECTS.includes(text[place]);
  const isSubject = (place) => SUBJECTS.includes(text[place]);
  let verb = at - 1;
  while (verb > 0 && BEFORE_NEGATION.includes(text[verb])) verb -= 1;
  let begun = verb;
  while (begun > 0 && isObject(begun - 1) && !isSubject(begun - 1)) begun -= 1;
  if (begun > 1 && isObject(begun - 1) && isSubject(begun - 2)) begun -= 1; // il nous voit pas
  return [begun, verb];
}

const ne = (following) => (VOWELS.includes(following[0]) ? "n'" : "ne");

function isNoMore(text, at) {
  const ends = at + 1 === text.length || !/^[\p{L}\p{N}]+$/u.test(text[at + 1]);
  if (["peux", "peut"].includes(text[at - 1])) return ends;
  const counted = COUNTED.includes(text[at + 2]) || /^\p{Nd}+$/u.test(text[at + 2] ?? "");
  const gone = ends || (["de", "d'"].includes(text[at + 1]) && !counted);
  return at === 2 && text[0] === "y" && text[1] === "a" && gone;
}
