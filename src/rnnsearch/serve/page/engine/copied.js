// What is copied letter by letter: the functions of translation/copied.py, where they are described.

import { JOINER } from "./codec.js";
import { spellDates } from "./dates.js";
import { inDigits } from "./spelt.js";
import { AFTER_ADDRESS, BELOW_ZERO, CENTS, DASHED, DETACHED, EMPHASIS } from "./tables.js";
import { METRES, POINTED_ORDINALS, POINTED_TIME } from "./tables.js";

export function faithfulWords(codec, given, typed = false) {
  const straight = given.trimStart().replaceAll("’", "'");
  const respelt = typed ? "" : codec.language;
  const elided = codec.language === "fr" ? straight.replace(DETACHED, "$1'") : straight;
  const dashed = elided.replace(DASHED, "$1-");
  const timed = respelt === "en" ? dashed.replace(POINTED_TIME, "$1:$2") : dashed;
  const lengths = (text) => text.replace(BELOW_ZERO, "-").replace(METRES, "$1,$2 m");
  const line = spellDates(respelt === "fr" ? lengths(timed) : timed, respelt);
  const amounts = (text) => (respelt === "fr" ? text.replace(CENTS, "$1,$3 $2") : text);
  const plain = (text) => codec.tokeniser.words(amounts(text));
  const words = [];
  let end = 0;
  for (const { 0: found, index, groups } of line.matchAll(codec.copied.all)) {
    const dated = groups.front && POINTED_ORDINALS.includes(codec.language);
    if (dated && /^\p{Nd}.*\.\s*$/u.test(found)) continue; // 3. Oktober
    if (groups.spelt && !inDigits(found, false)) continue;
    let copied = found;
    while (groups.address && AFTER_ADDRESS.includes(copied.at(-1))) copied = copied.slice(0, -1);
    const bare = groups.front && index + found.length < line.length && !/\s$/u.test(found);
    const own = bare ? `${copied} ` : copied; // •Paris
    words.push(...plain(line.slice(end, index)), own.replace(/\s/gu, JOINER));
    end = index + copied.length;
  }
  return [...words, ...plain(line.slice(end))];
}

export function kindOf(codec, text) {
  const groups = codec.copied.whole.exec(text.replaceAll(JOINER, " "))?.groups ?? {};
  if (groups.spelt && !inDigits(text)) return undefined;
  return Object.keys(groups).find((kind) => groups[kind] !== undefined);
}

/** Returns a Map of place → [first, end]. */
export function enclosed(codec, words) {
  const [found, opened, emphasis] = [new Map(), new Map(), new RegExp(`^(?:${EMPHASIS})$`, "u")];
  words.forEach((text, place) => {
    const [emphasised, closes] = [emphasis.test(text), text.startsWith("]")];
    const mark = closes || text === "![" ? "[" : text;
    const first = opened.get(mark);
    if ((emphasised || closes) && opened.delete(mark)) {
      const pair = first + 1 < place && (emphasised || kindOf(codec, text) === "mark");
      if (pair) for (const one of [first, place]) found.set(one, [first + 1, place]);
    } else if (emphasised || (mark === "[" && !closes)) opened.set(mark, place);
  });
  return found;
}
