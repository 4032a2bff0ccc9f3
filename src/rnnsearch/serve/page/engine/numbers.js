// Holds the numbers of a translation to those of the source, as translation/numbers.py does: its
// functions have the same names there, and their rules.

import { isAlpha } from "./case.js";
import { areKnown, bare, begunIn24Hours, certainTime, clock } from "./number_forms.js";
import { converted, hourOfDay, in24Hours, isAmount, isDigits, isNumber } from "./number_forms.js";
import { plain, value, values } from "./number_forms.js";
import { holdDecades, holdShares, isDay, isKing } from "./number_words.js";
import { inDigits } from "./spelt.js";
import { AFTER_DAY, BEFORE_HOUR, CAPITAL_ORDINAL, COUNTED_BY, FIRST_SPELT } from "./tables.js";
import { FRENCH_ORDINAL, HALVES, HOUR_LINKS, LONGEST_NUMBER, MARKS, MINUS } from "./tables.js";
import { MONTHS, NOONS, NUMERAL, ORDINAL, RARE, ROMAN, TIMES_OF_DAY } from "./tables.js";
import { copy, insert, mean } from "./target_words.js";

const textOf = (run) => run.map((one) => one.text).join(" ");

export class Numbers {
  /** given: the words of the source. places: of its numbers. made: the words of the translation. languages:
   *  source, target. */
  constructor(given, places, made, languages) {
    const small = (one) => (CAPITAL_ORDINAL.test(one) ? one.toLowerCase() : one);
    const digits = given.map((one) => inDigits(one) ?? small(one));
    const toFrench = languages.join() === "en,fr"; // 5-7 pm
    const words = digits.map((one, k) => (toFrench && in24Hours(one, digits[k + 1])) || one);
    for (let at = 1; toFrench && at < words.length - 1; at++) {
      if (!HOUR_LINKS.includes(words[at])) continue;
      words[at - 1] = begunIn24Hours(words[at - 1], words[at + 1], words[at + 2]) || words[at - 1];
    }
    Object.assign(this, { words, places, made: [...made], languages });
  }

  /** Returns the words with each source number once, and the numbers to check. */
  held() {
    const { made, places } = this;
    if (this.isCounted()) return [made, []];
    this.keepEqual();
    const doubtful = [];
    const missing = places.filter((place) => !this.copies(place));
    const add = (run) => doubtful.push(textOf(run));
    for (const [first, end] of this.wrong().reverse()) {
      if (this.isThousand(first, end)) continue;
      const run = made.slice(first, end);
      const row = mean(run);
      const place = missing.toSorted((one, other) => row[other] - row[one])[0];
      if (row[place] > RARE * Math.max(...row.slice(0, -1))) {
        missing.splice(missing.indexOf(place), 1);
        this.copy(first, end, place);
      } else if (places.includes(run[0].read) || this.isDouble(first, end)) {
        const rest = run[0].text === "000"; // 9 000 200 for 9 thousand 200
        if (rest) add(made.slice(Math.max(first - 1, 0), end + 1));
        made.splice(first, end - first);
      } else add(run);
    }
    for (const place of missing) doubtful.push(...this.add(place));
    this.holdSigns();
    this.holdThousands();
    if (areKnown(this.languages)) {
      this.holdHalves();
      this.holdOrdinals();
      holdDecades(this.words, made, this.languages[1]);
      holdShares(this.words, places, made);
    }
    this.holdNumerals();
    return [this.joined(), doubtful];
  }

  /** Tells whether a word of COUNTED_BY is behind a number. */
  isCounted() {
    const sides = [this.words, this.made.map((one) => one.text)];
    return this.languages.some((language, side) => {
      const counts = COUNTED_BY[language];
      return counts && new RegExp(`\\p{Nd}\\s?[${counts}]`, "u").test(sides[side].join(" "));
    });
  }

  copies(place) {
    return this.made.some((one) => one.copied === place);
  }

  /** Marks the runs of words that are equal to a source number. Returns the words. */
  keepEqual() {
    const { made, words, places } = this;
    const [source, target] = this.languages;
    const given = (k) => values(words[k], words[k + 1] ?? "", source, words[k - 1] ?? "");
    const own = places.map((place) => [place, given(place)]);
    const found = this.runs().flatMap(([first, end]) => {
      const run = made.slice(first, end);
      const written = values(textOf(run), made[end]?.text, target);
      const equal = own.filter(([, right]) => right.some((one) => written.includes(one)));
      const row = mean(run);
      return equal.map(([place]) => [first - end, -row[place], place, first, end]);
    });
    found.sort((one, other) => one.map((key, k) => key - other[k]).find(Boolean) ?? 0);
    for (const [, , place, first, end] of found) {
      const run = made.slice(first, end);
      if (this.copies(place) || run.some((one) => one.copied !== null)) continue;
      made.splice(first, run.length, ...run.map((one) => ({ ...one, copied: place })));
    }
    return made;
  }

  /** Returns the runs of words, [first, end], that may be one number. */
  runs() {
    const found = [];
    const free = this.made.map((one) => one.copied === null && isNumber(one.text));
    for (const first of free.keys()) {
      if (!free[first]) continue;
      for (let end = first + 1; end <= Math.min(first + LONGEST_NUMBER, free.length); end++) {
        const run = this.made.slice(first, end);
        if (run.length > 1 && run.some((one) => ROMAN.test(one.text))) break;
        if (free[end - 1]) found.push([first, end]);
        else if (!free[end]) break;
      }
    }
    return found;
  }

  /** Returns the runs that are equal to no source number. */
  wrong() {
    const { made } = this;
    const found = [];
    for (const [at, one] of made.entries()) {
      if (one.copied !== null || !isNumber(one.text)) continue;
      const last = found.at(-1);
      const rest = last ? made.slice(last[1], at + 1) : [];
      const same = (each) => each.copied === null && each.read === made[last[0]].read;
      if (last && rest.length <= 2 && rest.every(same)) last[1] = at + 1;
      else found.push([at, at + 1]);
    }
    return found;
  }

  /** Tells whether the run is the 000 of 12 000. */
  isThousand(first, end) {
    const [before, own, after] = [first - 1, first, end].map((at) => this.made[at]?.text ?? "");
    const rest = own === "000" && !this.places.includes(this.made[first].read);
    return rest && end - first === 1 && isDigits(before) && !isNumber(after);
  }

  /** Tells whether the run repeats a source number, or stands beside one. */
  isDouble(first, end) {
    const { made, words, places } = this;
    const [source, target] = this.languages;
    const written = value(textOf(made.slice(first, end)), target);
    const equal = (place) => value(words[place], source) === written;
    if (written.length > 2 && places.some(equal)) return true;
    return [made[first - 1], made[end]].some((one) => one && places.includes(one.copied));
  }

  /** Returns a source number as it is written; an amount (5.30 %) with the target language's decimal mark. */
  figures(place) {
    const { words, languages } = this;
    const text = words[place];
    const [source, target] = languages.map((language) => MARKS[language]?.[1]);
    const [whole, decimals, ...more] = source && target ? text.split(source) : [text];
    const decimal = !more.length && isDigits(whole) && isDigits(decimals ?? "");
    const amount = decimal && isAmount(words[place - 1], text, words[place + 1]);
    return amount ? whole + target + decimals : converted(text, languages);
  }

  /** Replaces a run of words by a source number; in one word, its digits only (17h). */
  copy(first, end, place) {
    const { made } = this;
    let text = this.figures(place);
    const written = made[first].text;
    const [digits, own] = [text, written].map((one) => one.match(/\p{Nd}+/gu) ?? []);
    if (digits.length === 1 && end - first === 1 && own.length === 1) {
      text = written.replace(/\p{Nd}+/u, digits[0]);
    }
    const begin = text[0] === "+" && made[first - 1]?.text === "+" ? first - 1 : first;
    made.splice(begin, end - begin, copy(text, made.slice(begin, end), place));
  }

  /** Writes a number that is missing. Returns it if it is to be checked. */
  add(place) {
    const { made, words, languages } = this;
    const text = words[place];
    const figures = this.figures(place);
    const spelt = [...made.keys()].filter((k) => made[k].read === place && spells(made[k]));
    const time = certainTime(text, words[place + 1]);
    const first = ORDINAL.test(text) && value(text, "") === "1";
    const isRight = (k) => first && spelt.includes(k) && FIRST_SPELT.test(made[k].text);
    const isNoon = (k) => NOONS.includes(made[k].text.toLowerCase());
    const right = [...made.keys()].find([0, 12].includes(time?.[0]) ? isNoon : isRight);
    if (right !== undefined) {
      made[right] = { ...made[right], copied: place };
      return [];
    }
    const at = spelt[0] ?? -1;
    const digits = value(text, "");
    if (at < 0 || /^[+-]/u.test(text) || !isDigits(digits)) {
      insert(made, figures, place, words.length);
      return [plain(text)];
    }
    const certain = text === digits || figures !== text;
    const known = /^\p{Nd}/u.test(text) && !ORDINAL.test(text); // else 40-year-old, or an ordinal
    if (certain || known) made[at] = copy(certain ? figures : digits, [made[at]], place);
    return certain || /^\p{Nd}\p{Nd}?[hH]$/u.test(text) ? [] : [text];
  }

  /** Removes a wrong a.m. or p.m. (6h05, 6:05 p.m.); writes the hour of 24 for a missing one. */
  holdHalves() {
    const { made, words, places } = this;
    const named = (texts) => texts.some((text) => TIMES_OF_DAY.includes(text));
    for (let at = made.length - 1; at >= 0; at--) {
      const place = made[at].copied;
      const following = made.slice(at + 1, at + 5);
      const [next] = following;
      if (!places.includes(place) || next?.copied === place) continue;
      const time = clock(words[place], words[place + 1]);
      if (!time) continue;
      const [hour, , half] = time;
      const after = following.map((one) => bare(one.text));
      if (!half && after[0] === "pm" && hour > 12 && hour < 24) {
        this.writeHour(at, hour, hour - 12); // 15 p.m., 18:00 p.m.
        continue;
      }
      if (half && !named(after)) this.writeHour(at, hour, hourOfDay(hour, half));
      const other = HALVES.includes(after[0]) && hour >= 12 !== (after[0] === "pm");
      if (half || !other || named(words.slice(place + 1, place + 5))) continue;
      const stops = following.length === 1 && next.text.endsWith(".");
      const rest = stops ? [{ ...next, text: "." }] : [];
      const name = hour === 1 ? "hour" : "hours"; // 2 pm for 2 heures
      if (this.lasts(place)) rest.unshift({ ...next, text: name });
      made.splice(at + 1, 1, ...rest);
    }
  }

  /** Tells whether the source number is one of hours that something lasts: not *à 2 heures*. */
  lasts(place) {
    const [before, text, after] = [-1, 0, 1].map((step) => this.words[place + step] ?? "");
    const hours = ["h", "heure", "heures"].includes(after) || /^\p{Nd}\p{Nd}?h$/u.test(text);
    return hours && !BEFORE_HOUR.includes(before.toLowerCase());
  }

  /** Writes the minus of a source number that its copy has lost (:5 % for *: -5 %*). */
  holdSigns() {
    const { made, words } = this;
    for (let at = made.length - 1; at >= 0; at--) {
      const one = made[at];
      const before = made[at - 1];
      if (!/^[-−]\p{Nd}/u.test(words[one.copied] ?? "") || /[-−–]/u.test(one.text)) continue;
      if (before && (before.copied === one.copied || MINUS.includes(before.text))) continue;
      const found = /^(\P{Nd}*)(\p{Nd}.*)/u.exec(one.text);
      if (!found) continue;
      const marks = found[1] ? [{ ...one, text: found[1], copied: null }] : [];
      made.splice(at, 1, ...marks, { ...one, text: `-${found[2]}` });
    }
  }

  /** Writes the target language's marks of thousands where only the source has its own (12500 for
   *  12,500). */
  holdThousands() {
    const { made } = this;
    const all = made.map((one) => one.copied);
    for (const [at, one] of made.entries()) {
      const single = one.copied !== null && all.indexOf(one.copied) === all.lastIndexOf(one.copied);
      if (!single || !/^\p{Nd}{4,}(?:[.,]\p{Nd}+)?$/u.test(one.text)) continue;
      const text = this.figures(one.copied);
      if (/^\p{Nd}+[\s.,']\p{Nd}{3}/u.test(plain(text))) made[at] = { ...one, text };
    }
  }

  /** Writes the target language's ending of an ordinal without or with another one (22d, 3th,
   *  3 étage), and the hour of 18h for 18th. */
  holdOrdinals() {
    const { made, words, languages } = this;
    for (const [at, one] of made.entries()) {
      const source = words[one.copied] ?? "";
      const hour = /^\p{Nd}\p{Nd}?h$/u.test(source) && ORDINAL.test(one.text);
      const right = ORDINAL.test(source) ? converted(source, languages) : "";
      const day = right && languages.join() === "en,fr" && isDay(words, one.copied) && /^\p{Nd}+\P{Nd}+$/u.test(one.text);
      const first = languages[1] === "fr" && one.text === "1" && MONTHS.includes(made[at + 1]?.text);
      if (first) made[at] = { ...one, text: "1er" };
      else if (right && isKing(words, one.copied)) made[at] = { ...one, text: "I" };
      else if (day) made[at] = { ...one, text: right === "1er" ? right : right.slice(0, -1) };
      else if (right && this.lacksEnding(at, right)) made[at] = { ...one, text: right };
      else if (!right && hour) made[at] = { ...one, text: `${source.slice(0, -1)}:00` };
    }
  }

  /** Tells whether a word with the digits of an ordinal needs its right ending: not 4 in 4 juillet
   *  and le 4. */
  lacksEnding(at, right) {
    const { made, languages } = this;
    const [, target] = languages;
    const { text } = made[at];
    const after = made[at + 1]?.text ?? "";
    if (isDigits(text)) return target === "en" || (isAlpha(after) && !AFTER_DAY.includes(after));
    const french = target === "fr" && FRENCH_ORDINAL.test(text);
    const ordinal = /^\p{Nd}+\p{L}+$/u.test(text) || (target === "en" && ROMAN.test(text));
    return ordinal && !french && text !== `${right}s`;
  }

  /** Writes the source's Roman numeral (Louis XIV) for another one that reads it. */
  holdNumerals() {
    const { made, words } = this;
    for (const [at, { text, copied, read }] of made.entries()) {
      const other = read !== null && copied === null && !words.includes(text);
      const both = NUMERAL.test(text) && NUMERAL.test(words[read]);
      if (other && both) made[at] = copy(words[read], [made[at]], read);
    }
  }

  /** Returns the words, with the words of a decimal (1 , 5) in one, and those of English thousands
   *  (1 200: 1,200). */
  joined() {
    const result = [];
    for (const one of this.made) {
      const before = result.at(-1);
      const same = before && one.copied !== null && before.copied === one.copied;
      const mark = same ? this.mark(before.text, one.text, one.copied) : null;
      if (mark !== null) {
        result.splice(-1, 1, copy(before.text + mark + one.text, [before, one], one.copied));
      } else result.push(one);
    }
    return result;
  }

  /** Returns what joins two words of one number; null if nothing does. */
  mark(before, text, place) {
    if ([before.at(-1), text].some((one) => /^[.,]$/u.test(one))) return "";
    const { words, languages } = this;
    const group = /^[1-9]\p{Nd}{0,2}(?:,\p{Nd}{3})* \p{Nd}{3}(?:\.\p{Nd}+)?$/u;
    const few = /^\p{Nd}{1,3}$/u.test(words[place]); // 45 k€
    const english = few || converted(words[place], languages).includes(",");
    return english && languages[1] === "en" && group.test(`${before} ${text}`) ? "," : null;
  }

  /** Writes this hour in the number that ends at `at`. */
  writeHour(at, hour, wanted) {
    const { made } = this;
    let first = at;
    while (first && made[first - 1].copied === made[at].copied) first--;
    const { text } = made[first];
    const [digits] = /^\p{Nd}*/u.exec(text);
    if (digits !== String(hour) || clock(text, "")?.[2]) return;
    made[first] = { ...made[first], text: wanted + text.slice(digits.length) };
  }
}

const spells = (one) =>
  one.copied === null && /^\p{L}/u.test(one.text) && Math.max(...one.row) > 0.5;

