// Numbers of several words in digits, as translation/spelt.py has them.

import { JOINER } from "./codec.js";
import { ADJECTIVE, FRENCH_NUMBERS, MULTIPLIERS, NUMBER_WORDS, RANK_WORDS, SPELT } from "./tables.js";

const has = Object.hasOwn;

/** Returns a number of several words in digits: 256, 25 600, 1984, 43rd, 3:45, 32-year-old; else
 *  null. */
export function inDigits(given) {
  const text = given.replaceAll(JOINER, " ");
  if (!SPELT.test(text)) return null;
  const adjective = ADJECTIVE.exec(text);
  if (adjective) {
    const digits = inDigits(adjective[1]);
    return digits && !digits.includes(":") ? digits + adjective[2] : null;
  }
  const parts = text.toLowerCase().split(/ heures? /u);
  const [first, ...minutes] = parts.map((part) => part.split(/[ -](?:(?:and|et)[ -])?/u));
  const number = minutes.length ? 0 : numberOf(first);
  if (minutes.length) return clock(first, ...minutes);
  const none = has(FRENCH_NUMBERS, first[1] ?? "") || has(RANK_WORDS, first.at(-1));
  if (!number) return none ? null : clock(first.slice(0, 1), first.slice(1));
  const others = first.slice(1);
  const round = others.length && others.every((word) => has(MULTIPLIERS, word));
  if (number < 20 || round) return null;
  const ending = { 1: "st", 2: "nd", 3: "rd" }[number % 10] ?? "th";
  const large = number >= 10_000;
  const digits = large ? String(number).replace(/\B(?=(\d{3})+$)/gu, " ") : String(number);
  return digits + (has(RANK_WORDS, first.at(-1)) ? ending : "");
}

/** Returns a time of day; null if the minutes are few, or what is counted in an hour. */
function clock(hour, minutes, ...others) {
  const [hours, past] = [hour, minutes].map(numberOf);
  const time = hours > 0 && hours < 25 && past > 12 && past < 60 && !others.length;
  return time ? `${hours}:${past}` : null;
}

/** Returns the number of these words; 0 if they are none. */
function numberOf(words) {
  let [total, part, before] = [0, 0, ""];
  for (const word of words[0] === "a" ? words.slice(1) : words) {
    const times = MULTIPLIERS[word] ?? 0;
    if (times > 100) {
      if (total % (1000 * times)) return 0;
      [total, part] = [total + Math.max(part, 1) * times, 0];
    } else if (times) {
      if (part >= 100) return 0;
      part = Math.max(part, 1) * times;
    } else if (!(part = joined(part, before, word))) return 0;
    before = word;
  }
  return total + part;
}

/** Returns the number below 1,000, or the year, of a word and those before it; 0 if none. */
function joined(part, before, word) {
  const number = NUMBER_WORDS[word] ?? RANK_WORDS[word];
  const tens = part % 100;
  const french = has(FRENCH_NUMBERS, word) || word.endsWith("ième");
  if (number === 20 && before === "quatre") return part + 76;
  if (before === "dix") return number >= 7 && number <= 9 ? part + number : 0;
  const behind = number < 10 && tens >= 20 && tens % 10 === 0;
  const seventy = french && (tens === 60 || tens === 80) && number < 20;
  if (!tens || behind || seventy) return part + number;
  return !french && part >= 15 && part <= 20 && number >= 10 ? 100 * part + number : 0;
}
