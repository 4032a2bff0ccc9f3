// Names, numbers and unknown characters stay what they are in the source: the functions of
// translation/faithful.py, where they are described.

import { begun, capitalised, firstWord, hasText, inCapitals, isUpper } from "./case.js";
import { enclosed, kindOf } from "./copied.js";
import { writtenHours } from "./dates.js";
import { holdMeasures } from "./measures.js";
import { areKnown, isSourceNumber } from "./number_forms.js";
import { Numbers } from "./numbers.js";
import { asRead } from "./reading.js";
import { CURRENCIES, MONEY_NAMES, MONEY_SIGNS, NAMES, NEAR_MONEY } from "./tables.js";
import { PRICED, RARE, PERCENTS, SIZED, STAND_INS } from "./tables.js";
import { added, copy, insert, reword, strongest, word } from "./target_words.js";

const UNK = 1;
const UNKNOWN = "<unk>";

/** filter: a WordFilter, or null. languages: source, target. */
export class Faithful {
  constructor(codec, filter, languages) {
    Object.assign(this, { codec, filter, languages });
  }

  /** found: {words, alignment [word][source word], confidence, steps: the ids of each word, by
   *  place}. Returns the same and doubtful_numbers. */
  hold(sentence, found, kept = 0) {
    if (!sentence.words.length) return { ...found, doubtful_numbers: [] };
    const { words } = sentence;
    const numbers = numbersOf(words).filter((at) => !(kindOf(this.codec, words[at]) in STAND_INS));
    const written = this.verbatim(sentence, asWords(found));
    const [held, doubtful] = new Numbers(words, numbers, written, this.languages).held();
    doubtful.push(...holdMeasures(words, held, this.languages));
    let made = this.unread(sentence, this.invented(sentence, held));
    made = currencies(sentence, this.capitals(sentence, made), this.languages);
    addCurrencies(sentence, made, NAMES[this.languages[1]]);
    if (!kept) begunLarge(sentence, made);
    const each = (name) => made.map((one) => one[name]);
    return {
      ...{ words: each("text"), alignment: each("row"), confidence: each("confidence") },
      ...{ steps: each("steps"), doubtful_numbers: doubtful },
    };
  }

  /** As `hold`; the first `kept` words stay what they are, and nothing repeats the source words
   *  that they have. */
  holdRest(sentence, found, given) {
    const equal = (all) =>
      new Numbers(sentence.words, numbersOf(sentence.words), asWords(all), this.languages).keepEqual();
    const numbers = equal(found).map((one) => one.copied);
    let kept = given; // with the rest of a number that it breaks off in
    while (kept && (numbers[kept] ?? null) !== null && numbers[kept] === numbers[kept - 1]) kept++;
    const cut = (...range) =>
      Object.fromEntries(Object.entries(found).map(([name, each]) => [name, each.slice(...range)]));
    const [own, rest] = [cut(0, kept), cut(kept)];
    const words = [...sentence.words];
    for (const { text, copied } of equal(own)) {
      const place = copied ?? words.indexOf(text);
      if (place >= 0) words[place] = "";
    }
    const held = this.hold({ ...sentence, words }, rest, kept);
    for (const name of Object.keys(own)) held[name].unshift(...own[name]);
    return held;
  }

  verbatim({ words }, given) {
    let made = given;
    const paired = enclosed(this.codec, words);
    const read = (at) => given.some((one) => one.read === at);
    const front = (at) => kindOf(this.codec, words[at]) === "front";
    const allRead = numbersOf(words).every((at) => front(at) || read(at));
    words.forEach((text, place) => {
      const kind = paired.has(place) ? "mark" : kindOf(this.codec, text);
      if (!(kind in STAND_INS)) return;
      const free = (at) => made[at].read === place && made[at].copied === null;
      const reading = [...made.keys()].filter(free);
      const standIns = reading.filter((at) => isStandIn(made[at].text, STAND_INS[kind]));
      const inOrder = [...reading];
      const likeliest = reading.sort((at, other) => made[other].row[place] - made[at].row[place]);
      if (!standIns.length && kind === "number") standIns.push(...likeliest.slice(0, 1));
      const written = made.some((one) => one.text.toUpperCase().includes("XX"));
      if (!standIns.length && (kind === "hours" || (!written && STAND_INS[kind].length && allRead)))
        standIns.push(...inOrder.filter((at) => /\p{Nd}/u.test(made[at].text)).slice(0, 1));
      const own = kind === "hours" ? writtenHours(text, this.languages) : text;
      if (!standIns.length) return insert(made, own, place, words.length, paired.get(place));
      const [first, ...others] = standIns;
      made[first] = copy(own, [made[first]], place);
      made = made.filter((_, at) => !others.includes(at));
    });
    return made;
  }

  invented({ words }, made) {
    const copied = new Set(made.map((one) => one.copied));
    const rare = [...words.keys()].filter((place) => this.codec.parts(words[place]).length > 1);
    return made.flatMap((one) => {
      const weights = one.row.slice(0, -1);
      const known = !one.text.includes(UNKNOWN) && this.knows(one.text);
      if (one.copied !== null || known || !weights.some((weight) => weight > 0)) return [one];
      const top = strongest(weights);
      const best = rare[strongest(rare.map((at) => weights[at]))];
      const place = weights[best] >= RARE * weights[top] ? best : top;
      if (copied.has(place) || !words[place]) return [];
      copied.add(place);
      return [copy(words[place], [one], place)];
    });
  }

  unread({ words, ids, wordOf }, made) {
    words.forEach((text, place) => {
      const own = ids.filter((_, k) => wordOf[k] === place);
      const unread = text && own.includes(UNK) && own.filter((id) => id !== UNK).length <= 1;
      const written = made.reduce((sum, one) => sum + one.text.split(text).length - 1, 0);
      const needed = words.slice(0, place + 1).filter((one) => one === text).length;
      const copied = made.some((one) => one.copied === place);
      if (unread && written < needed && !copied) insert(made, text, place, words.length);
    });
    return made;
  }

  capitals({ words }, made) {
    const lowered = words.map((text, place) => {
      if ([...text].length <= 3 || !isUpper(text) || kindOf(this.codec, text)) return false;
      return asRead(this.codec, text, place === firstWord(words))[0] !== text;
    });
    const whole = inCapitals(words);
    return made.map((one) => {
      const read = lowered[one.read] && Math.max(...one.row) > 0.5;
      const stays = one.copied !== null || !(whole || read);
      return stays ? one : { ...one, text: one.text.toUpperCase() };
    });
  }

  knows(text) {
    if (!this.filter || !/\p{L}/u.test(text) || /\p{Nd}/u.test(text)) return true;
    const forms = [text, text.toLowerCase(), capitalised(text)];
    if (forms.some((form) => this.filter.has(form))) return true;
    const parts = text.split(/[-'’./&]/u).filter(Boolean);
    return parts.length > 1 && parts.every((part) => this.knows(part));
  }
}

function begunLarge({ words }, made) {
  const first = words.find(hasText) ?? "";
  const at = made.findIndex((one) => hasText(one.text));
  if (at < 0 || made[at].copied !== null || !/^\p{Lu}/u.test(first)) return;
  reword(made, at, begun(made[at].text));
}

function ownCurrency(words, place) {
  const [before, after] = place === null ? [] : [words[place - 1], words[place + 1]];
  const signs = [MONEY_SIGNS.includes(before) && CURRENCIES[before], CURRENCIES[after]];
  const beside = new Set(signs.filter(Boolean));
  const weight = after !== "£" && CURRENCIES[after] === "£";
  return weight || beside.size !== 1 ? undefined : [...beside][0];
}

function currencies({ words }, given, languages) {
  const [made, names] = [[...given], NAMES[languages[1]] ?? {}];
  const known = words.map((text) => CURRENCIES[text]);
  const signs = made.map((one) => CURRENCIES[one.text.toLowerCase()]);
  const digits = made.map((one) => /\p{Nd}/u.test(one.text));
  const extra = digits.flatMap((number, last) => {
    if (!number || digits[last + 1]) return [];
    const first = digits.lastIndexOf(false, last) + 1;
    const places = digits[first - 2] ? [] : [first - 1];
    if (signs[last + 1]) places.push(last + 1, last + 2);
    const near = places.filter((at) => signs[at]);
    const kept = near.findLast((at) => known.includes(signs[at])) ?? near.at(-1);
    const own = ownCurrency(words, made[last].copied);
    if (kept !== undefined && own && signs[kept] !== own) {
      reword(made, kept, /^[$£€]$/u.test(made[kept].text) ? own : (names[own] ?? own));
    }
    const one = first === last && made[last].text === "1" && kept === last + 1;
    const name = one && MONEY_NAMES.includes(made[kept].text);
    if (name) reword(made, kept, made[kept].text.replace(/s$/u, ""));
    return near.filter((at) => at !== kept);
  });
  const beside = (at) => digits.slice(Math.max(at - 1, 0), at + 2).some(Boolean);
  const line = words.join(" ");
  const both = areKnown(languages);
  const money = PRICED.test(line) ? [] : [...MONEY_SIGNS, ...(both ? MONEY_NAMES : [])];
  const units = both && !PERCENTS.test(line) ? [...money, "%"] : money;
  return made.filter(({ text }, at) => !extra.includes(at) && !(units.includes(text) && beside(at)));
}

function addCurrencies({ words }, made, names) {
  for (let at = made.length - 1; at >= 0; at--) {
    const { text, copied: place } = made[at];
    if (place === null || !/\p{Nd}$/u.test(text)) continue;
    const [before, after] = [words[place - 1], words[place + 1]];
    const behind = after === "£" || (CURRENCIES[after] ?? "£") !== "£";
    const name = names?.[behind ? CURRENCIES[after] : before];
    const first = made.findIndex((one) => one.copied === place);
    const last = made.findLastIndex((one) => one.copied === place);
    const equals = made.findIndex((one, k) => k > at && one.text === "=");
    const end = Math.min(at + 4, equals < 0 ? made.length : equals);
    const near = made.slice(Math.max(first - 2, 0), end).map((one) => one.text);
    const sized = SIZED.test(made[at + 1]?.text ?? "");
    if (!name || at !== last || sized || NEAR_MONEY.test(near.join(" "))) continue;
    const one = text === "1" ? name.replace(/s$/u, "") : name;
    made.splice(at + 1, 0, added(one, behind ? place + 1 : place - 1, words.length));
  }
}

const asWords = ({ words, alignment, confidence, steps }) =>
  words.map((text, i) => word(text, alignment[i], confidence[i], steps[i]));
const numbersOf = (words) => [...words.keys()].filter((place) => isSourceNumber(words[place]));
const isStandIn = (text, standIns) =>
  text.includes(UNKNOWN) || standIns.some((one) => text.toLowerCase().includes(one.toLowerCase()));
