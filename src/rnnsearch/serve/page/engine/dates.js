// Hours, days and months as signs and timetables write them: the functions of translation/dates.py,
// where they are described.

import { begun } from "./case.js";
import { JOINER } from "./codec.js";
import { afternoon, hourOfDay } from "./number_forms.js";
import { BEFORE_DAY_ALONE, BETWEEN_DAYS, ENGLISH_DATES, FRENCH_DATES } from "./tables.js";
import { ALSO_WORDS, HALVED, SENTENCE_END, SHORT_DATE, SHORT_DATES, UNTIL_DAY } from "./tables.js";

const DATES = { en: ENGLISH_DATES, fr: FRENCH_DATES };

export function spellDates(line, language) {
  if (!DATES[language]) return line;
  const names = SHORT_DATES[language];
  return line.replace(DATES[language], (text, at) => {
    const short = (text.toLowerCase().match(/\p{L}+/gu) ?? []).filter((one) => names[one]);
    const words = short.every((one) => ALSO_WORDS.includes(one));
    const sure = text.includes(".") || text.search(BETWEEN_DAYS) >= 0 || /^\p{Nd}/u.test(text);
    const large = /^\p{Lu}/u.test(text);
    const before = line.slice(0, at).trimEnd();
    const on = before.slice(-3).toLowerCase().trimStart() === "on";
    const begins = on || BEFORE_DAY_ALONE.includes(before.slice(-1));
    if (words && !(sure || (begins && large))) return text;
    const ends = text.endsWith(".") && SENTENCE_END.test(line.slice(at + text.length));
    const spelt = text.replace(SHORT_DATE, (one, name) => names[name.toLowerCase()] ?? one);
    const read = spelt.replace(BETWEEN_DAYS, UNTIL_DAY[language]) + (ends ? "." : "");
    return large ? begun(read) : read;
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
    const [hour, end] = [Number(first) % 12, inDay(last, other)]; // 11-1 am
    const late = hour + (hour >= end ? 12 : 0);
    const guessed = /p/iu.test(other) ? afternoon(Number(first), Number(last)) : late;
    plain = `${half ? inDay(first, half) : guessed}h${minutes}${dash}${end}h${others}`;
  }
  return plain.replaceAll(" ", JOINER);
}
