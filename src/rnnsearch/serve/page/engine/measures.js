// Units and sizes behind a number: the functions of translation/measures.py, where they are described.

import { copy, insert } from "./target_words.js";
import { COUNTED_NOUN, MANY, MEASURE, MONEY, PLURALS, TRILLIONS } from "./tables.js";
import { UNIT_STAND_INS, UNITS, WRITTEN } from "./tables.js";

/** Returns the measures of a source sentence: the place of the unit, that of its number, the number
 *  in the same word, a full stop there, and what is read instead of the unit. */
function measuresOf(words, [source, target]) {
  if (!UNITS[source] || !UNITS[target]) return [];
  return words.flatMap((text, place) => {
    const [, figure = "", unit, stop] = MEASURE.exec(text) ?? [];
    if (!UNITS[source][unit]) return [];
    const number = figure ? place : place - 1;
    const after = words[place + 1] ?? "";
    const millions = figure && unit === "m" && source === "en";
    const beside = millions ? words : [words[number - 1] ?? "", after];
    const size = TRILLIONS.includes(unit);
    const money = !size && beside.some((one) => MONEY.test(one));
    const counted = (millions && MANY.test(after)) || ["/", "'"].includes(after);
    const behind = number >= 0 && (size || /^\p{Nd}/u.test(words[number]));
    if (!behind || money || counted) return [];
    return [{ place, number, figure, unit, stop, read: UNITS[source][unit] }];
  });
}

export function readMeasures(words, languages) {
  const measures = measuresOf(words, languages);
  const all = new Map(
    measures.map(({ place, figure, read, stop }) => [place, `${figure} ${read}${stop}`]),
  );
  if (languages.join() !== "en,fr") return all;
  for (const [place, text] of words.entries()) {
    const counted = COUNTED_NOUN.exec(text); // 5-inch
    if (counted) all.set(place, `${counted[1]} ${PLURALS[counted[2]]}`);
  }
  return all;
}

export function holdMeasures(words, made, languages) {
  const doubtful = [];
  for (const { place, number, unit, read } of measuresOf(words, languages)) {
    if (read === unit || !UNIT_STAND_INS[read]) continue;
    const written = WRITTEN[languages[1]][unit] ?? unit;
    const isNear = (at) => made[at - 1]?.copied === number || [number, place].includes(made[at].read);
    const near = [...made.keys()].filter(isNear);
    const pattern = new RegExp(UNIT_STAND_INS[read], "u");
    const held = near.find((at) => made[at].copied === null && pattern.test(made[at].text));
    if (held !== undefined) {
      made[held] = copy(made[held].text.replace(pattern, written), [made[held]], place);
    } else if (read !== "kg" && read !== "km") {
      doubtful.push(words.slice(number, place + 1).join(" "));
    } else if (!near.some((at) => made[at].text.includes(written))) {
      insert(made, written, place, words.length, [number, number + 1]);
    }
  }
  return doubtful;
}
