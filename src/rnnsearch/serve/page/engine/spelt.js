// Numbers of several words in digits: the functions of translation/spelt.py, where they are described.

import { JOINER } from "./codec.js";
import { ADJECTIVE, ENGLISH_NUMBERS, LINKED, MULTIPLIERS, NUMBER_WORDS } from "./tables.js";
import { RANK_WORDS, SPELT, TIME } from "./tables.js";

const english = new Set(ENGLISH_NUMBERS);

export function inDigits(given, times = true) {
  const text = given.replaceAll(JOINER, " ");
  const time = times && TIME.exec(text);
  if (time) {
    const [first, ...rest] = text.split(text.includes(" heure") ? / heures? /u : /[ -]/u);
    const past = text.slice(text.length - rest.join(" ").length);
    return numberOf(first) + (time[1] ? "" : ":") + numberOf(past);
  }
  if (!SPELT.test(text)) return null;
  const adjective = ADJECTIVE.exec(text);
  if (adjective) return numberOf(adjective[1]) + adjective[2];
  const number = numberOf(text);
  const [, ...others] = text.toLowerCase().split(/[ -]/u);
  const round = others.length && others.every((word) => word in MULTIPLIERS);
  if (number < 20 || round) return null;
  const spaced = String(number).replace(/\B(?=(\d{3})+$)/gu, " ");
  const digits = number < 10_000 ? String(number) : spaced;
  return digits + (others.at(-1) in RANK_WORDS ? englishEnding(number) : "");
}

export const englishEnding = (rank) =>
  (Math.floor(rank / 10) % 10 !== 1 && { 1: "st", 2: "nd", 3: "rd" }[rank % 10]) || "th";

/** Returns the number of these words; 0 if they are none. */
function numberOf(text) {
  const parts = [...text.toLowerCase().replace(/^a /u, "one ").matchAll(LINKED)];
  const words = parts.map((part) => part[2]);
  const foreign = (word) => !english.has(word) && word !== "six" && word !== "million";
  if (words.some((word) => english.has(word)) && words.some(foreign)) return 0;
  let [total, part, before] = [0, 0, ""];
  for (const [, link, word] of parts) {
    const times = MULTIPLIERS[word] ?? 0;
    if (times > 100) {
      if (total % (1000 * times) || !(part || word.startsWith("mil"))) return 0;
      [total, part] = [total + Math.max(part, 1) * times, 0];
    } else if (times) {
      const bare = !part && word !== "cent";
      if (part > 16 || bare || (before in MULTIPLIERS && part)) return 0;
      part = Math.max(part, 1) * times;
    } else if (!(part = joined(part, before, link, word))) return 0;
    before = word;
  }
  return total % 1_000_000 || total === 0 ? total + part : 0;
}

function joined(part, before, link, word) {
  const number = NUMBER_WORDS[word] ?? RANK_WORDS[word];
  const tens = part % 100;
  if (number === 20 && before === "quatre") return tens === 4 ? part + 76 : 0;
  if (before === "dix") return number >= 7 && number <= 9 ? part + number : 0;
  if (link.includes("et")) {
    const ten = tens >= 20 && tens <= 60 && tens % 10 === 0 && before in NUMBER_WORDS;
    return ten ? part + number : 0;
  }
  if (!tens) {
    const fresh = !part || before in MULTIPLIERS;
    return fresh && (link !== "-" || !english.has(word)) ? part + number : 0;
  }
  const seventy = (tens === 60 || tens === 80) && !english.has(word) && number < 20;
  const ranked = word in RANK_WORDS && english.has(word) && link !== "-";
  const ten = tens >= 20 && tens % 10 === 0 && link !== " and " && !ranked;
  return ten && (number < 10 || seventy) ? part + number : 0;
}
