// How numbers are written: the functions of translation/number_forms.py, where they are described.

import { JOINER } from "./codec.js";
import { englishEnding, inDigits } from "./spelt.js";
import { AFTER_HOUR, AMOUNT, BILLIONS, CLOCK, CURRENCY, HALVES, MARKS } from "./tables.js";
import { ORDINAL, ROMAN, THOUSAND, TOO_LATE } from "./tables.js";

export const isDigits = (text) => /^\p{Nd}+$/u.test(text);
export const plain = (text) => text.replaceAll(JOINER, " ");
export const bare = (text = "") => text.toLowerCase().replaceAll(".", "");

/** Tells whether ordinals and times of day are known: those of English and French. */
export const areKnown = ([source, target]) => ["enfr", "fren"].includes(source + target);

export const isNumber = (text) => /\p{Nd}/u.test(text) || ROMAN.test(text);

export const isSourceNumber = (text) => isNumber(text) || inDigits(text) !== null;

export function readFigure(figure, language) {
  const letters = inDigits(figure);
  if (letters) return plain(converted(letters, [language === "fr" ? "en" : "fr", language]));
  return figure
    .replace(/(?<=\p{Nd})[ap]m$/iu, (half) => ` ${half.toLowerCase()}`)
    .replace(/^No\.\s?/u, ({ fr: "numéro ", en: "number " })[language] ?? "$&")
    .replace(BILLIONS, (_, space, english) => space + (english ? "billion" : "milliards"));
}

export function value(given, language) {
  const roman = ROMAN.exec(given);
  if (roman) {
    const ones = [...roman[1]].map((letter) => ({ I: 1, V: 5, X: 10 })[letter]);
    return String(ones.reduce((sum, one, k) => sum + (one < ones[k + 1] ? -one : one), 0));
  }
  const marks = ".,".replace(MARKS[language]?.[1] ?? "", "");
  const thousand = `(?<!\\p{Nd})(\\p{Nd}{1,3})${THOUSAND}(\\p{Nd}{1,3})(?!\\p{Nd})`;
  const thousands = `(?<![\\p{Nd}.,])[1-9]\\p{Nd}{0,2}(?:[${marks}'\\s]\\p{Nd}{3}(?!\\p{Nd}))+`;
  return plain(given)
    .replace(new RegExp(thousand, "gu"), (_, whole, rest) => whole + rest.padStart(3, "0"))
    .replace(new RegExp(thousands, "gu"), (found) => found.replace(/\P{Nd}/gu, ""))
    .replace(/(?<=\p{Nd})\s?[.,]\s?(?=\p{Nd})/gu, ".")
    .replace(/\.(?!\p{Nd})|(?<!\p{Nd})\.|\+(?!\p{Nd})|[^\p{Nd}.+]/gu, "|")
    .replace(/\|+/gu, "|")
    .replace(/^\||\|$/gu, "");
}

export function clock(text, after) {
  const found = CLOCK.exec(plain(text).toLowerCase());
  const half = HALVES.includes(bare(after)) ? bare(after) : "";
  return found && [Number(found[1]), found[2] ?? "00", found[3] ?? half];
}

export const hourOfDay = (hour, half) => (half ? (hour % 12) + (half === "pm" ? 12 : 0) : hour);

export const certainTime = (text, after) =>
  AFTER_HOUR.includes(bare(after)) || !isDigits(text) ? clock(text, after) : null;

function in24Hours(text, after) {
  const found = bare(after) === "pm" && /^(\p{Nd}{1,2})([-–])(\p{Nd}{1,2})$/u.exec(text);
  if (!found) return "";
  const [first, last] = [Number(found[1]), Number(found[3])];
  return afternoon(first, last) + found[2] + hourOfDay(last, "pm");
}

export const afternoon = (first, last) =>
  first <= 12 && first % 12 < last % 12 ? hourOfDay(first, "pm") : first;

export function begunIn24Hours(text, last, after) {
  const [begin, end] = [clock(text, ""), clock(last, after)];
  if (!begin || !end || begin[2] || end[2] !== "pm") return "";
  const hour = afternoon(begin[0], end[0]);
  const minutes = isDigits(text) ? "" : `${JOINER}h${JOINER}${begin[1]}`;
  return hour === begin[0] ? "" : hour + minutes;
}

export const isAmount = (before, text, after = "") =>
  /\p{Nd}$/u.test(text) &&
  (CURRENCY.test(before ?? "") || AMOUNT.test(after)) &&
  !AFTER_HOUR.includes(bare(after));

export function values(text, after, language, before = "") {
  if (TOO_LATE.test(text)) return [];
  const own = [value(text, language)];
  const thousands = /^\p{Nd}+k$/iu.test(text + (after === "k" || after === "K" ? after : ""));
  if (thousands) own.push(`${own[0]}000`);
  own.push(...[value(in24Hours(text, after), language)].filter(Boolean));
  const time = certainTime(text, after);
  if (!time || (text.includes(".") && isAmount(before, text, after))) return own;
  const [hour, minutes, half] = time;
  return [...own, `${hour}h${minutes}`, `${hourOfDay(hour, half)}h${minutes}`];
}

export function converted(word, [source, target]) {
  const text = word.replace(BILLIONS, "");
  if (source === target || !MARKS[source] || !MARKS[target]) return text;
  const both = areKnown([source, target]);
  if (both && ORDINAL.test(text)) {
    const rank = value(text, source);
    if (target === "fr") return rank + (rank === "1" ? "er" : "e");
    return rank + englishEnding(Number(rank));
  }
  const given = plain(text);
  if (both && target === "en" && /^\p{Nd}{1,2}\s?h\s?\p{Nd}\p{Nd}$/u.test(given)) return given.replace(/\s?h\s?/u, ":");
  const [whole, ...decimals] = value(given, source).split(".");
  const marked = new RegExp(`^\\p{Nd}+(?:[\\s.,']\\p{Nd}\\p{Nd}|${THOUSAND})\\p{Nd}`, "u");
  if (decimals.length > 1 || !isDigits(whole) || !marked.test(given)) return text;
  const [thousands, decimal] = MARKS[target];
  const between = /(?<=\p{Nd})(?=(?:\p{Nd}{3})+$)/gu;
  return [whole.replace(between, thousands.replace(" ", JOINER)), ...decimals].join(decimal);
}
