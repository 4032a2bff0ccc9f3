// How amounts of money are read: the functions of translation/amounts.py, where they are described.

import { JOINER } from "./codec.js";
import { NAMES, NUMBER, OWNERS, SIZES, UNITS, UNTIL } from "./tables.js";

export function readAmounts(words, [language, target], unread) {
  const read = new Map();
  words.forEach((sign, at) => {
    let name = NAMES[language]?.[sign];
    if (!name) return;
    const owner = (sign === "$" && language === "en" && OWNERS[words[at - 1]]) || "";
    const ahead = amountAt(words, at + 1, language);
    const behind = [at - 2, at - 1].map((first) => amountAt(words, first, language));
    const amount = ahead ?? behind.find((one) => one?.end === at);
    if (!amount || !(amount.cut || (owner && ahead) || unread(sign))) return;
    if (language === "fr" && amount.size.startsWith(" mill")) {
      name = (/^[aeiou]/u.test(name) ? "d'" : "de ") + name;
    }
    for (let place = amount.first; place < amount.end; place++) read.set(place, "");
    const size = amount.size.slice(1);
    const units = UNITS[target] && UNITS[language]; // billion for trillion, as in measures.js
    const figure = amount.number + amount.size.replace(size, units?.[size] ?? size);
    read.set(at, ahead ? "" : name);
    read.set(amount.first, ahead ? `${figure} ${owner} ${name} ${amount.stop}` : figure);
    if (ahead && owner) read.set(at - 1, "");
  });
  return read;
}

/** Returns the amount whose number is at `first`: 30, 30bn, 30 bn or 30 billion. */
function amountAt(words, first, language) {
  const sizes = SIZES[language];
  const found = NUMBER.exec((words[first] ?? "").replaceAll(JOINER, " "));
  let [, number, short, stop] = found ?? [];
  if (!found || (short && !sizes[short])) return null;
  number = number.replace("–", "-");
  const after = words[first + 1] ?? "";
  const spelt = !short && Object.values(sizes).includes(` ${after}`);
  const apart = spelt || (!short && after in sizes);
  if (stop && "–-".includes(stop)) {
    if (!NAMES[language][after] || !amountAt(words, first + 2, language)) return null;
    stop = UNTIL[language];
  }
  const size = spelt ? ` ${after}` : (sizes[short || after] ?? "");
  if (/[.,-]/u.test(number) && /^\d+$/u.test(size.slice(1))) return null; // 2.5k
  const cut = number.includes("-") || (size !== "" && !spelt);
  return { first, end: first + 1 + apart, number, size, cut, stop };
}
