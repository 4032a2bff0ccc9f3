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
  if (source === "fr" && target === "en") {
    const whole = text.replaceAll(JOINER, " ").replace(/\s?[hH](?!\s?\p{Nd})/gu, ":00");
    return whole.replace(/\s?[hH]\s?(?=\p{Nd})/gu, ":").replaceAll(" ", JOINER);
  }
  const found = HALVED.exec(text);
  if (source !== "en" || target !== "fr" || !found) return text;
  const [, first, minutes, dash, last, others, letter] = found;
  const end = hourOfDay(Number(last), `${letter.toLowerCase()}m`);
  const begin = /p/i.test(letter) ? afternoon(Number(first), Number(last)) : Number(first);
  return `${begin}h${minutes}${dash}${end}h${others}`;
}
