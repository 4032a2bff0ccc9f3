// Holds the numbers of a translation to those of the source, as translation/numbers.py does.

import * as tables from "./tables.js";
import { copy, insert, mean } from "./target_words.js";

const { AFTER_HOUR, HALVES, LONGEST_NUMBER, MARKS, RARE, TIMES_OF_DAY } = tables;
const THOUSAND = "\\s(?:thousand|mille)\\s";
const [CLOCK, ROMAN, ORDINAL] = [tables.CLOCK, tables.ROMAN, tables.ORDINAL].map((pattern) => new RegExp(`^(?:${pattern})$`, "u"));
const BILLIONS = /([ \u2060])(?:(thousand)|mille)[ \u2060]millions?$/u;
const JOINER = /\u2060/gu;
const isDigits = (text) => /^\p{Nd}+$/u.test(text);
const plain = (text) => text.replaceAll(JOINER, " ");
const bare = (text = "") => text.toLowerCase().replaceAll(".", "");

export const isNumber = (text) => /\p{Nd}/u.test(text) || ROMAN.test(text);

/** Returns a figure with "billion" for "thousand million", which networks seldom know. */
export const inBillions = (figure) => figure.replace(BILLIONS, (_, space, english) => space + (english ? "billion" : "milliards"));

/** Returns the digits of a number without marks of thousands: "." is the decimal mark, and "|" is what stands between other parts. */
function value(given, language) {
  const roman = ROMAN.exec(given);
  if (roman) {
    const ones = [...roman[1]].map((letter) => ({ I: 1, V: 5, X: 10 })[letter]);
    return String(ones.reduce((sum, one, k) => sum + (one >= (ones[k + 1] ?? 0) ? one : -one), 0));
  }
  const marks = ".,".replace(MARKS[language]?.[1] ?? "", "");
  const thousands = new RegExp(`(?<![\\p{Nd}.,])[1-9]\\p{Nd}{0,2}(?:[${marks}'\\s]\\p{Nd}{3}(?!\\p{Nd}))+`, "gu");
  return plain(given)
    .replace(new RegExp(`(?<!\\p{Nd})(\\p{Nd}{1,3})${THOUSAND}(\\p{Nd}{1,3})(?!\\p{Nd})`, "gu"), (_, whole, rest) => whole + rest.padStart(3, "0"))
    .replace(thousands, (found) => found.replace(/\P{Nd}/gu, ""))
    .replace(/(?<=\p{Nd})\s?[.,]\s?(?=\p{Nd})/gu, ".")
    .replace(/\.(?!\p{Nd})|(?<!\p{Nd})\.|\+(?!\p{Nd})|[^\p{Nd}.+]/gu, "|")
    .replace(/\|+/gu, "|")
    .replace(/^\||\|$/gu, "");
}

/** Returns [hour, minutes, "am", "pm" or ""]; null for what is no time. after: the next word. */
function clock(text, after) {
  const found = CLOCK.exec(plain(text).toLowerCase());
  const half = HALVES.includes(bare(after)) ? bare(after) : "";
  return found && [Number(found[1]), found[2] ?? "00", found[3] ?? half];
}

/** Returns the hour counted to 24. */
const hourOfDay = (hour, half) => (half ? (hour % 12) + (half === "pm" ? 12 : 0) : hour);

/** Returns the value of a number, and that of a time of day (5 pm, 17h: 17h00). after: the next word. */
function values(text, after, language) {
  const own = new Set([value(text, language)]);
  const time = clock(text, after);
  if (!time || (isDigits(text) && !AFTER_HOUR.includes(bare(after)))) return own;
  const [hour, minutes, half] = time;
  return own.add(`${hour}h${minutes}`).add(`${hourOfDay(hour, half)}h${minutes}`);
}

/** Returns a number with the target language's marks of thousands and decimals, if it has thousands; an hour of a clock with a colon (12h45); an ordinal
 *  with the target language's ending. */
function converted(word, source, target) {
  const text = word.replace(BILLIONS, "");
  if (source === target || !MARKS[source] || !MARKS[target]) return text;
  if (ORDINAL.test(text)) {
    const rank = value(text, source);
    const english = (rank.at(-2) !== "1" && { 1: "st", 2: "nd", 3: "rd" }[rank.at(-1)]) || "th";
    return rank + (target === "en" ? english : rank === "1" ? "er" : "e");
  }
  const given = plain(text);
  if (/^\p{Nd}{1,2}\s?h\s?\p{Nd}\p{Nd}$/u.test(given)) return given.replace(/\s?h\s?/u, ":");
  const [whole, ...decimals] = value(given, source).split(".");
  if (decimals.length > 1 || !isDigits(whole) || !new RegExp(`^\\p{Nd}+(?:[\\s.,']\\p{Nd}\\p{Nd}|${THOUSAND})\\p{Nd}`, "u").test(given)) return text;
  const [thousands, decimal] = MARKS[target];
  const grouped = whole.replace(/(?<=\p{Nd})(?=(?:\p{Nd}{3})+$)/gu, thousands.replace(" ", "\u2060"));
  return [grouped, ...decimals].join(decimal);
}

/** Returns {made, doubtful}: the words of a translation with each source number once, and the numbers to check. places: of the source's numbers. */
export function heldNumbers(words, places, made, source, target) {
  made = keepEqual(words, places, made, source, target);
  const copied = new Set(made.map((one) => one.copied));
  const missing = places.filter((place) => !copied.has(place));
  const doubtful = [];
  for (const [first, end] of wrong(made).reverse()) {
    if (isThousand(places, made, first, end)) continue;
    const run = made.slice(first, end);
    const row = mean(run);
    const place = missing.length ? missing.reduce((best, one) => (row[one] > row[best] ? one : best)) : null;
    if (place !== null && row[place] > RARE * Math.max(...row.slice(0, -1))) {
      missing.splice(missing.indexOf(place), 1);
      replaceRun(made, first, end, place, converted(words[place], source, target));
    } else if (places.includes(run[0].read) || isDouble(words, places, made, first, end, source, target)) {
      if (run[0].text === "000") doubtful.push(made.slice(Math.max(first - 1, 0), end + 1).map((one) => one.text).join(" ")); // 9 000 200 for 9 thousand 200
      made.splice(first, end - first);
    } else doubtful.push(run.map((one) => one.text).join(" "));
  }
  for (const place of missing) doubtful.push(...add(made, words, place, converted(words[place], source, target)));
  return { made: joined(holdHalves(words, places, made)), doubtful };
}

/** Marks the runs of words that are equal to a source number, the longest first, and those with the largest weights. */
export function keepEqual(words, places, given, source, target) {
  const made = [...given];
  const own = places.map((place) => [place, values(words[place], words[place + 1] ?? "", source)]);
  const found = runs(made).flatMap(([first, end]) => {
    const written = values(made.slice(first, end).map((one) => one.text).join(" "), made[end]?.text ?? "", target);
    const row = mean(made.slice(first, end));
    return own.filter(([, right]) => [...right].some((one) => written.has(one))).map(([place]) => [first - end, -row[place], place, first, end]);
  });
  found.sort((one, other) => one.map((key, k) => key - other[k]).find((difference) => difference) ?? 0);
  for (const [, , place, first, end] of found) {
    if (made.some((one) => one.copied === place) || made.slice(first, end).some((one) => one.copied !== null)) continue;
    for (let at = first; at < end; at++) made[at] = { ...made[at], copied: place };
  }
  return made;
}

/** Returns the runs of words that may be one number: between two words with digits is at most one other. */
function runs(made) {
  const found = [];
  const free = made.map((one) => one.copied === null && isNumber(one.text));
  for (const first of free.keys()) {
    if (!free[first]) continue;
    for (let end = first + 1; end <= Math.min(first + LONGEST_NUMBER, free.length); end++) {
      if (end - first > 1 && made.slice(first, end).some((one) => ROMAN.test(one.text))) break;
      if (free[end - 1]) found.push([first, end]);
      else if (!free[end]) break;
    }
  }
  return found;
}

/** Returns the runs of words with digits that are equal to no source number and read the same word. */
function wrong(made) {
  const found = [];
  for (const [at, one] of made.entries()) {
    if (one.copied !== null || !isNumber(one.text)) continue;
    const [first, end] = found.at(-1) ?? [0, 0];
    const together = found.length && at - end <= 1 && made.slice(end, at + 1).every((each) => each.copied === null && each.read === made[first].read);
    if (together) found[found.length - 1] = [first, at + 1];
    else found.push([at, at + 1]);
  }
  return found;
}

/** Tells whether the run is the 000 of 12 000, which stands for 12 thousand. */
function isThousand(places, made, first, end) {
  const spelt = made[first].text === "000" && !places.includes(made[first].read) && isDigits(made[first - 1]?.text ?? "");
  return end - first === 1 && spelt && !isNumber(made[end]?.text ?? "");
}

/** Tells whether the run stands beside a source number, or repeats one that is too long to be spelt in the source. */
function isDouble(words, places, made, first, end, source, target) {
  const run = made.slice(first, end).map((one) => one.text);
  const written = value(run.join(" "), target);
  if (written.length > 2 && places.some((place) => value(words[place], source) === written)) return true;
  return [made[first - 1], made[end]].some((one) => one && places.includes(one.copied));
}

/** Replaces a run of words by a source number; in one word, its digits only (17h). */
function replaceRun(made, first, end, place, text) {
  const [digits, written] = [text, made[first].text].map((one) => one.match(/\p{Nd}+/gu) ?? []);
  const inside = digits.length === 1 && end - first === 1 && written.length === 1;
  const begin = !inside && text[0] === "+" && made[first - 1]?.text === "+" ? first - 1 : first;
  const by = inside ? made[first].text.replace(/\p{Nd}+/u, digits[0]) : text;
  made.splice(begin, end - begin, copy(by, made.slice(begin, end), place));
}

/** Writes a number that is missing: its figures instead of a word that spells it, or at the place of its neighbours. Returns the number if it is to be
 *  checked. */
function add(made, words, place, figures) {
  const spelt = [...made.keys()].filter((at) => made[at].read === place && spells(made[at]));
  const digits = value(words[place], "");
  if (!spelt.length || !isDigits(digits)) {
    insert(made, figures, place, words.length);
    return [plain(words[place])];
  }
  const text = words[place];
  const certain = text === digits || figures !== text; // else 40-year-old, or another language's ordinal
  if (certain || (/^\p{Nd}/u.test(text) && !ORDINAL.test(text))) made[spelt[0]] = copy(certain ? figures : digits, [made[spelt[0]]], place);
  return certain ? [] : [text];
}

const spells = (one) => one.copied === null && /^\p{L}/u.test(one.text) && Math.max(...one.row) > 0.5;

/** Removes the a.m. or p.m. that the source has not and that makes another time (6h05, 6:05 p.m.). Where the source's own is missing, writes the hour of 24 (9 pm, 21 heures). */
function holdHalves(words, places, made) {
  const named = (texts) => texts.some((text) => TIMES_OF_DAY.includes(text));
  for (let at = made.length - 1; at >= 0; at--) {
    const [place, following] = [made[at].copied, made.slice(at + 1, at + 5)];
    if (!places.includes(place) || following[0]?.copied === place) continue;
    const time = clock(words[place], words[place + 1]);
    const after = following.map((one) => bare(one.text));
    if (!time) continue;
    const [hour, , half] = time;
    if (half) {
      if (!named(after)) writeHour(made, at, hour, hourOfDay(hour, half));
    } else if (HALVES.includes(after[0]) && hour >= 12 !== (after[0] === "pm") && !named(words.slice(place + 1, place + 5))) {
      const stops = following.length === 1 && following[0].text.endsWith(".");
      made.splice(at + 1, 1, ...(stops ? [{ ...following[0], text: "." }] : []));
    }
  }
  return made;
}

/** Writes this hour at the beginning of the number that ends at `at`, unless a.m. or p.m. is in it. */
function writeHour(made, at, hour, wanted) {
  let first = at;
  while (first && made[first - 1].copied === made[at].copied) first--;
  const { text } = made[first];
  if (/^\p{Nd}*/u.exec(text)[0] === String(hour) && !clock(text, "")?.[2]) made[first] = { ...made[first], text: wanted + text.slice(String(hour).length) };
}

/** Returns the words, with the words of a decimal (1 , 5) in one. */
function joined(made) {
  const result = [];
  for (const one of made) {
    const before = result.at(-1);
    const marked = before && [before.text.at(-1), one.text].some((text) => text === "," || text === ".");
    if (marked && one.copied !== null && before.copied === one.copied) result[result.length - 1] = copy(before.text + one.text, [before, one], one.copied);
    else result.push(one);
  }
  return result;
}
