// Holds the numbers of a translation to those of the source: the functions of
// translation/numbers.py, where they are described.

import { isAlpha } from "./case.js";
import { areKnown, bare, begunIn24Hours, certainTime, clock } from "./number_forms.js";
import { converted, hourOfDay, isAmount, isDigits, isNumber } from "./number_forms.js";
import { plain, value, values } from "./number_forms.js";
import { holdDecades, holdShares, isDay, isKing } from "./number_words.js";
import { inDigits } from "./spelt.js";
import { AFTER_DAY, AFTER_HOUR, BEFORE_HOUR, CAPITAL_ORDINAL, COUNTED_BY } from "./tables.js";
import { FIRST_SPELT, FRENCH_ORDINAL, HOUR_LINKS, IN_LETTERS, LONGEST_NUMBER, MARKS } from "./tables.js";
import { MINUS, MINUS_SIGNS, MONTHS, NOONS, NUMERAL, ORDINAL, RARE, ROMAN } from "./tables.js";
import { TIMES_OF_DAY } from "./tables.js";
import { copy, insert, mean, reword } from "./target_words.js";

const textOf = (run) => run.map((one) => one.text).join(" ");

export class Numbers {
  /** given: the words of the source. places: of its numbers. made: the words of the translation. languages:
   *  source, target. */
  constructor(given, places, made, languages) {
    const small = (one) => (CAPITAL_ORDINAL.test(one) ? one.toLowerCase() : one);
    const words = given.map((one) => inDigits(one) ?? small(one));
    const toFrench = languages.join() === "en,fr";
    for (let at = 1; toFrench && at < words.length - 1; at++) {
      if (!HOUR_LINKS.includes(words[at])) continue;
      words[at - 1] = begunIn24Hours(words[at - 1], words[at + 1], words[at + 2]) || words[at - 1];
    }
    Object.assign(this, { words, places, made: [...made], languages });
  }

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
      this.dropThousands();
      this.holdHalves();
      this.holdOrdinals();
      holdDecades(this.words, made, this.languages[1]);
      holdShares(this.words, places, made);
    }
    this.holdNumerals();
    return [this.joined(), doubtful];
  }

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

  isThousand(first, end) {
    const [before, own, after] = [first - 1, first, end].map((at) => this.made[at]?.text ?? "");
    const rest = own === "000" && !this.places.includes(this.made[first].read);
    return rest && end - first === 1 && isDigits(before) && !isNumber(after);
  }

  isDouble(first, end) {
    const { made, words, places } = this;
    const [source, target] = this.languages;
    const written = value(textOf(made.slice(first, end)), target);
    const equal = (place) => value(words[place], source) === written;
    if (written.length > 2 && places.some(equal)) return true;
    return [made[first - 1], made[end]].some((one) => one && places.includes(one.copied));
  }

  figures(place) {
    const { words, languages } = this;
    const text = words[place];
    const [source, target] = languages.map((language) => MARKS[language]?.[1]);
    const [whole, decimals, ...more] = source && target ? text.split(source) : [text];
    const decimal = !more.length && isDigits(whole) && isDigits(decimals ?? "");
    const amount = decimal && isAmount(words[place - 1], text, words[place + 1]);
    return amount ? whole + target + decimals : converted(text, languages);
  }

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
      if (half) {
        if (named(after)) continue;
        this.writeHour(at, hour, hourOfDay(hour, half));
        this.sayHour(at);
      } else if (after[0] === "pm" && hour > 12 && hour < 24) {
        this.writeHour(at, hour, hour - 12); // 15 p.m., 18:00 p.m.
      } else if (after[0] === (hour >= 12 ? "am" : "pm") && !named(words.slice(place + 1, place + 5))) {
        const texts = this.lasts(place) ? [hour === 1 ? "hour" : "hours"] : []; // 2 pm for 2 heures
        if (following.length === 1 && next.text.endsWith(".")) texts.push(".");
        made.splice(at + 1, 1, ...texts.map((text) => ({ ...next, text })));
      }
    }
  }

  sayHour(at) {
    const { text, copied } = this.made[at];
    const alone = this.made.filter((one) => one.copied === copied).length === 1;
    const said = this.languages[1] !== "fr" || AFTER_HOUR.includes(bare(this.made[at + 1]?.text ?? ""));
    if (alone && !said && isDigits(text)) reword(this.made, at, `${text}h`);
  }

  lasts(place) {
    const [before, text, after] = [-1, 0, 1].map((step) => this.words[place + step] ?? "");
    const hours = ["h", "heure", "heures"].includes(after) || /^\p{Nd}\p{Nd}?h$/u.test(text);
    return hours && !BEFORE_HOUR.includes(before.toLowerCase());
  }

  holdSigns() {
    const { made, words } = this;
    for (let at = made.length - 1; at >= 0; at--) {
      const one = made[at];
      const before = made[at - 1];
      if (!/^[-−]\p{Nd}/u.test(words[one.copied] ?? "")) continue;
      const own = MINUS_SIGNS.includes(words[one.copied - 1]); // 5 - -3
      if (before?.copied === null && MINUS_SIGNS.includes(before.text) && !own) {
        const minus = MINUS_SIGNS.includes(one.text[0]) ? "" : "-";
        made.splice(at - 1, 2, { ...one, text: minus + one.text });
        continue;
      }
      if (before && (before.copied === one.copied || MINUS.includes(before.text))) continue;
      if (/[-−–]/u.test(one.text)) continue;
      const found = /^(\P{Nd}*)(\p{Nd}.*)/u.exec(one.text);
      if (!found) continue;
      const marks = found[1] ? [{ ...one, text: found[1], copied: null }] : [];
      made.splice(at, 1, ...marks, { ...one, text: `-${found[2]}` });
    }
  }

  holdThousands() {
    const { made } = this;
    const all = made.map((one) => one.copied);
    for (const [at, one] of made.entries()) {
      const single = one.copied !== null && all.indexOf(one.copied) === all.lastIndexOf(one.copied);
      const text = single && this.figures(one.copied);
      const marked = single && /^\p{Nd}+[\s.,']\p{Nd}{3}/u.test(plain(text));
      if (marked && /^\p{Nd}{4,}(?:[.,]\p{Nd}+)?$/u.test(one.text)) reword(made, at, text);
    }
  }

  dropThousands() {
    const { made, words } = this;
    if (words.some((text) => IN_LETTERS.test(text))) return;
    for (let at = made.length - 1; at > 0; at--) {
      const [number, one] = [made[at - 1], made[at]];
      const marked = /^\p{Nd}+[\s.,']\p{Nd}{3}/u.test(plain(words[number.copied] ?? ""));
      if (marked && one.copied === null && IN_LETTERS.test(one.text)) made.splice(at, 1);
    }
  }

  holdOrdinals() {
    const { made, words, languages } = this;
    for (const [at, one] of made.entries()) {
      const [source, { text }] = [words[one.copied] ?? "", one];
      if (languages[1] === "fr" && text === "1" && MONTHS.includes(made[at + 1]?.text)) {
        reword(made, at, "1er");
      } else if (ORDINAL.test(source)) {
        const right = converted(source, languages);
        const day = languages.join() === "en,fr" && isDay(words, one.copied);
        if (isKing(words, one.copied)) reword(made, at, "I");
        else if (day && /^\p{Nd}+\P{Nd}+$/u.test(text)) {
          reword(made, at, right === "1er" ? right : right.slice(0, -1));
        } else if (this.lacksEnding(at, right)) reword(made, at, right);
      } else if (/^\p{Nd}\p{Nd}?h$/u.test(source) && ORDINAL.test(text)) {
        reword(made, at, `${source.slice(0, -1)}:00`);
      }
    }
  }

  lacksEnding(at, right) {
    const english = this.languages[1] === "en";
    const [text, after = ""] = this.made.slice(at, at + 2).map((one) => one.text);
    if (isDigits(text)) return english || (isAlpha(after) && !AFTER_DAY.includes(after));
    const ordinal = /^\p{Nd}+\p{L}+$/u.test(text) && text !== `${right}s`;
    return english ? ordinal || ROMAN.test(text) : ordinal && !FRENCH_ORDINAL.test(text);
  }

  holdNumerals() {
    const { made, words } = this;
    for (const [at, { text, copied, read }] of made.entries()) {
      const other = read !== null && copied === null && !words.includes(text);
      const both = NUMERAL.test(text) && NUMERAL.test(words[read]);
      if (other && both) made[at] = copy(words[read], [made[at]], read);
    }
  }

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

  mark(before, text, place) {
    if ([before.at(-1), text].some((one) => /^[.,]$/u.test(one))) return "";
    const { words, languages } = this;
    const group = /^[1-9]\p{Nd}{0,2}(?:,\p{Nd}{3})* \p{Nd}{3}(?:\.\p{Nd}+)?$/u;
    const few = /^\p{Nd}{1,3}$/u.test(words[place]); // 45 k€
    const english = few || converted(words[place], languages).includes(",");
    return english && languages[1] === "en" && group.test(`${before} ${text}`) ? "," : null;
  }

  writeHour(at, hour, wanted) {
    const { made } = this;
    let first = at;
    while (first && made[first - 1].copied === made[at].copied) first--;
    const { text } = made[first];
    const [digits] = /^\p{Nd}*/u.exec(text);
    if (digits !== String(hour) || clock(text, "")?.[2]) return;
    const rest = text.slice(digits.length);
    reword(made, first, wanted + (rest === "h" && this.languages[1] === "en" ? ":00" : rest));
  }
}

const spells = (one) =>
  one.copied === null && /^\p{L}/u.test(one.text) && Math.max(...one.row) > 0.5;

