// Words beside numbers: the functions of translation/number_words.py, where they are described.

import { isUpper } from "./case.js";
import { JOINER } from "./codec.js";
import { isDigits, isNumber } from "./number_forms.js";
import { AFTER_NUMBER, BEFORE_DAY, COUNTED_OF, DECADES_OF_LIFE, ENGLISH_MONTHS } from "./tables.js";
import { PERIODS, POSSESSIVES, POSSESSORS, WEEKDAYS } from "./tables.js";
import { copy, reword } from "./target_words.js";

export function isDay(words, place) {
  const [after, next] = [1, 2].map((step) => words[place + step] ?? "");
  const the = words[place - 1] === "the";
  const before = words[place - (the ? 2 : 1)] ?? "";
  const alone = BEFORE_DAY.includes(before.toLowerCase()) && AFTER_NUMBER.includes(after);
  if (the && (WEEKDAYS.includes(before) || alone)) return true;
  return ENGLISH_MONTHS.includes(before) || ENGLISH_MONTHS.includes(after === "of" ? next : after);
}

export function isKing(words, place) {
  const [before, text, after] = [-1, 0, 1].map((step) => words[place + step] ?? "");
  const name = /^\p{Lu}/u.test(before) && !isUpper(before) && [...before].length > 2;
  const counted = ["siècle", "arrondissement"].includes(after);
  return name && ["Ier", "Ire"].includes(text) && !counted;
}

export function holdDecades(words, made, language) {
  for (let at = made.length - 1; at >= 0; at--) {
    const { text, copied: place } = made[at];
    if (place === null || !/^\p{Nd}*\p{Nd}0$/u.test(text)) continue;
    const before = words.slice(0, place).map((one) => one.toLowerCase());
    const last = made[at - 1]?.text.toLowerCase();
    if (language === "en" && before.at(-1) === "années") {
      reword(made, at, `${text}s`);
      const year = (near) => ["year", "years"].includes(made[near]?.text);
      const near = [at + 1, at - 1].find(year);
      if (near !== undefined) made.splice(near, 1);
    } else if (language === "fr" && /^\p{Nd}*\p{Nd}0s$/u.test(words[place]) && last) {
      const own = before.slice(-2).some((one) => POSSESSORS.includes(one));
      if (own && DECADES_OF_LIFE[text] && POSSESSIVES.includes(last)) {
        reword(made, at, DECADES_OF_LIFE[text]);
        reword(made, at - 1, "la");
        if (["ans", "heures"].includes(made[at + 1]?.text)) made.splice(at + 1, 1);
      } else if (!own && ["les", "des", "aux"].includes(last)) {
        made.splice(at, 0, { ...made[at], text: "années" });
      }
    }
  }
}

export function holdShares(words, places, made) {
  for (const end of places) {
    const link = end - 1;
    const first = link < 0 ? null : share(words, places, link);
    if (first === null) continue;
    const begin = made.findLastIndex((one) => one.copied === first) + 1;
    const stop = made.findIndex((one) => one.copied === end);
    const most = 2 + (first < link - 1 ? 1 : 0);
    if (!begin || stop <= begin || stop - begin > most) continue;
    const run = made.slice(begin, stop);
    if (words[link] !== "sur") {
      if (!run.some((one) => isNumber(one.text))) {
        made.splice(begin, run.length, copy("sur", run, link));
      }
    } else if (["on", "to", "at", "for"].includes(run.at(-1).text)) {
      const counted = COUNTED_OF.includes(words[Math.max(first - 1, 0)].toLowerCase());
      const text = counted ? "of" : `out${JOINER}of`;
      made[stop - 1] = copy(text, [made[stop - 1]], link);
    }
  }
}

/** Returns the place of the part if this word is between the numbers of a share; else null. */
function share(words, places, link) {
  const [before, text, whole, after] = [-1, 0, 1, 2].map((step) => words[link + step] ?? "");
  const noun = text === "sur" && !places.includes(link - 1);
  const first = link - 1 - (before === "out" || noun ? 1 : 0);
  if (!["of", "in", "sur"].includes(text) || !places.includes(first)) return null;
  const part = words[first].replaceAll(",", ".");
  if (!/^\p{Nd}+(?:\.\p{Nd}+)?$/u.test(part) || !isDigits(whole)) return null;
  const large = Number(part) > Number(whole) || (text === "in" && Number(whole) > 10);
  const during = text === "in" && PERIODS.includes(after.replace(/s$/u, "")); // 2 in 10 minutes
  const counts = during || (noun && /[sx]$/u.test(after)); // sur 10 ans
  const unit = [...ENGLISH_MONTHS, "m", "cm", "km"].includes(after);
  return large || counts || unit ? null : first;
}
