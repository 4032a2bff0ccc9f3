// How amounts of money are read, as translation/amounts.py has it: 30 billion dollars for $30bn, 15
// euros for 15 € if the network cannot read the sign.

import { JOINER } from "./codec.js";
import { NAMES, NUMBER, OWNERS, SIZES, UNITS, UNTIL } from "./tables.js";

/** Returns a map of places of amounts: what is read there instead of the word. */
export function readAmounts(words, [language, target], unread) {
  const read = new Map();
  words.forEach((sign, at) => {
    const own = NAMES[language] ?? {};
    if (!Object.hasOwn(own, sign)) return;
    const owned = sign === "$" && language === "en" && Object.hasOwn(OWNERS, words[at - 1] ?? "");
    const owner = owned ? OWNERS[words[at - 1]] : "";
    const ahead = amountAt(words, at + 1, language);
    const behind = [at - 2, at - 1].map((first) => amountAt(words, first, language));
    const amount = ahead ?? behind.find((one) => one?.end === at);
    if (!amount || !(amount.cut || (owned && ahead) || unread(sign))) return;
    let name = own[sign];
    if (language === "fr" && amount.size.startsWith(" mill")) {
      name = (/^[aeiou]/u.test(name) ? "d'" : "de ") + name;
    }
    for (let place = amount.first; place < amount.end; place++) read.set(place, "");
    const figure = amount.number + readInstead(amount.size, language, target);
    read.set(at, ahead ? "" : name);
    read.set(amount.first, ahead ? `${figure} ${owner} ${name} ${amount.stop}` : figure);
    if (ahead && owned) read.set(at - 1, "");
  });
  return read;
}

/** Returns what is read instead of a size: billion for trillion, as in measures.js. */
function readInstead(size, language, target) {
  const units = Object.hasOwn(UNITS, target) ? UNITS[language] : {};
  return Object.hasOwn(units, size.slice(1)) ? ` ${units[size.slice(1)]}` : size;
}

/** Returns the amount whose number is at `first`: 30, 30bn, 30 bn or 30 billion. */
function amountAt(words, first, language) {
  const sizes = SIZES[language];
  const found = NUMBER.exec((words[first] ?? "").replaceAll(JOINER, " "));
  if (!found || (found[2] && !Object.hasOwn(sizes, found[2]))) return null;
  const [number, short] = [found[1].replace("–", "-"), found[2]];
  let stop = found[3];
  const after = words[first + 1] ?? "";
  const spelt = !short && Object.values(sizes).includes(` ${after}`);
  const apart = spelt || (!short && Object.hasOwn(sizes, after));
  if (stop && "–-".includes(stop)) {
    if (!Object.hasOwn(NAMES[language], after) || !amountAt(words, first + 2, language)) return null;
    stop = UNTIL[language];
  }
  const known = Object.hasOwn(sizes, short || after) ? sizes[short || after] : "";
  const size = spelt ? ` ${after}` : known;
  const two = number.includes("-");
  if (/[.,-]/u.test(number) && /^\d+$/u.test(size.slice(1))) return null; // 2.5k
  return { first, end: first + 1 + apart, number, size, cut: two || (size !== "" && !spelt), stop };
}
