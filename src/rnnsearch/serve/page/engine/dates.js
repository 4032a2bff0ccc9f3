// Hours, days and months as signs and timetables write them: the functions of translation/dates.py,
// where they are described.

import { begun } from "./case.js";
import { JOINER } from "./codec.js";
import { afternoon, hourOfDay } from "./number_forms.js";
import { BETWEEN_DAYS, ENGLISH_DATES, FRENCH_DATES, HALVED, SENTENCE_END } from "./tables.js";
import { SHORT_DATE, SHORT_DATES, UNTIL_DAY } from "./tables.js";

const DATES = { en: ENGLISH_DATES, fr: FRENCH_DATES };

export function spellDates(line, language) {
  if (!DATES[language]) return line;
  const names = SHORT_DATES[language];
  return line.replace(DATES[language], (found, at) => {
    const ends = found.endsWith(".") && SENTENCE_END.test(line.slice(at + found.length));
    const spelt = found.replace(SHORT_DATE, (one, short) => names[short.toLowerCase()] ?? one);
    const text = spelt.replace(BETWEEN_DAYS, UNTIL_DAY[language]) + (ends ? "." : "");
    return /^\p{Lu}/u.test(found) ? begun(text) : text;
  });
}

export function writtenHours(text, [source, target]) {
  let plain = text.replaceAll(JOINER, " ");
  const found = HALVED.exec(plain);
  if (source === "fr" && target === "en") {
    plain = plain.replace(/\s?[hH](?!\s?\p{Nd})/gu, ":00").replace(/\s?[hH]\s?(?=\p{Nd})/gu, ":");
  } else if (source === "en" && target === "fr" && found) {
    const [, first, minutes = "", half, dash, last, others = "", other] = found;
    const inDay = (hour, letter) => hourOfDay(Number(hour), `${letter.toLowerCase()}m`);
    const guessed = /p/iu.test(other) ? afternoon(Number(first), Number(last)) : Number(first);
    plain = `${half ? inDay(first, half) : guessed}h${minutes}${dash}${inDay(last, other)}h${others}`;
  }
  return plain.replaceAll(" ", JOINER);
}
