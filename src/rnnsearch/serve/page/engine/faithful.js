// Names, numbers and unknown characters stay what they are in the source, as translation/faithful.py has it, and the filter of words that
// training's target text held, as text/vocabulary.py makes it.

import { heldNumbers, inBillions, isNumber, keepEqual } from "./numbers.js";
import { CURRENCIES, RARE, STAND_INS } from "./tables.js";
import { copy, insert, strongest, word } from "./target_words.js";

const UNK = 1;
const UNKNOWN = "<unk>";
const HASHES = 7;
const SEEDS = [0x811c9dc5, 0x2545f491];
const JOINER = "\u2060"; // stands for a space inside a copied word, as in text/codec.py
const AFTER_ADDRESS = /[.,;:!?"')\]}»”’]+$/u;

/** A Bloom filter. bits: Uint8Array. */
export class WordFilter {
  constructor(bits) {
    this.bits = bits;
  }

  has(word) {
    const data = new TextEncoder().encode(word);
    const [first, second] = SEEDS.map((seed) => hashed(data, seed));
    for (let k = 0; k < HASHES; k++) {
      const place = (first + k * second) % (8 * this.bits.length);
      if (!((this.bits[Math.floor(place / 8)] >> place % 8) & 1)) return false;
    }
    return true;
  }
}

function hashed(data, seed) {
  let value = seed;
  for (const byte of data) value = Math.imul(value ^ byte, 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}

/** Returns the words of a line; what is copied letter by letter is one word. */
export function faithfulWords(codec, given) {
  const line = given.trimStart().replaceAll("’", "'");
  const words = [];
  let end = 0;
  for (const found of line.matchAll(codec.copied.all)) {
    const copied = found.groups.address ? found[0].replace(AFTER_ADDRESS, "") : found[0];
    words.push(...codec.tokeniser.words(line.slice(end, found.index)), copied.replaceAll(/\s/gu, JOINER));
    end = found.index + copied.length;
  }
  words.push(...codec.tokeniser.words(line.slice(end)));
  return words;
}

/** Encodes the words of a line, which are its own, whatever they are read as. */
export function encodeWordsFaithfully(codec, words) {
  const read = words.map((word, place) => asRead(codec, word, place === 0));
  const encoded = codec.encodeWords(read.flat());
  const placeOf = [...read.flatMap((parts, place) => parts.map(() => place)), words.length];
  return { words, ids: encoded.ids, wordOf: encoded.wordOf.map((part) => placeOf[part]) };
}

/** Returns the kind of a word that is copied letter by letter; undefined for others. */
export function kindOf(codec, text) {
  const groups = codec.copied.whole.exec(text.replaceAll(JOINER, " "))?.groups ?? {};
  return Object.keys(groups).find((kind) => groups[kind] !== undefined);
}

/** Returns the words to read instead of this one: a stand-in, or capitals in lowercase. */
function asRead(codec, word, first) {
  const kind = kindOf(codec, word);
  if (kind) return kind === "figure" ? codec.tokeniser.words(inBillions(word.replaceAll(JOINER, " "))) : STAND_INS[kind];
  if ([...word].length < 2 || !isUpper(word)) return [word];
  const forms = [word, ...(first ? [capitalised(word), word.toLowerCase()] : [word.toLowerCase(), capitalised(word)])];
  const sizes = forms.map((form) => codec.parts(form).length);
  const best = sizes.indexOf(Math.min(...sizes));
  return [2 * sizes[best] <= sizes[0] ? forms[best] : word];
}

/** Replaces the invented words of a translation. filter: a WordFilter, or null. languages: source, target. */
export class Faithful {
  constructor(codec, filter, languages) {
    this.codec = codec;
    this.filter = filter;
    this.languages = languages;
  }

  /** Returns {words, alignment, confidence, steps, doubtful_numbers} of a translation with its alignment [word][source word]; steps: the ids of each word, by place. */
  hold(sentence, found) {
    if (!sentence.words.length) return { ...found, doubtful_numbers: [] };
    let made = this.verbatim(sentence, asWords(found));
    const places = [...sentence.words.keys()].filter((place) => isNumber(sentence.words[place]) && !(kindOf(this.codec, sentence.words[place]) in STAND_INS));
    const held = heldNumbers(sentence.words, places, made, ...this.languages);
    made = this.invented(sentence, held.made);
    made = this.unread(sentence, made);
    made = currencies(sentence, this.capitals(sentence, made));
    const each = (name) => made.map((one) => one[name]);
    return { words: each("text"), alignment: each("row"), confidence: each("confidence"), steps: each("steps"), doubtful_numbers: held.doubtful };
  }

  /** As `hold`; the first `kept` words stay what they are, and nothing repeats the source words that they have. */
  holdRest(sentence, found, kept) {
    const cut = (values, ...range) => Object.fromEntries(Object.entries(values).map(([name, each]) => [name, each.slice(...range)]));
    const [own, rest] = [cut(found, 0, kept), cut(found, kept)];
    const words = [...sentence.words];
    const places = [...words.keys()].filter((place) => isNumber(words[place]));
    for (const { text, copied } of keepEqual(words, places, asWords(own), ...this.languages)) {
      const place = copied ?? words.indexOf(text);
      if (place >= 0) words[place] = "";
    }
    const held = this.hold({ ...sentence, words }, rest);
    for (const name of Object.keys(own)) held[name].unshift(...own[name]);
    return held;
  }

  /** Replaces each stand-in by what it stands for, and adds what no word stands for. */
  verbatim(sentence, given) {
    let made = given;
    sentence.words.forEach((text, place) => {
      const kind = kindOf(this.codec, text);
      if (!(kind in STAND_INS)) return;
      const reading = [...made.keys()].filter((at) => made[at].read === place && made[at].copied === null);
      let standIns = reading.filter((at) => isStandIn(made[at].text, STAND_INS[kind]));
      if (!standIns.length && kind === "number") standIns = reading.sort((one, other) => made[other].row[place] - made[one].row[place]).slice(0, 1);
      if (standIns.length) {
        const [first, ...others] = standIns;
        made[first] = copy(text, [made[first]], place);
        made = made.filter((_, at) => !others.includes(at));
      } else insert(made, text, place, sentence.words.length);
    });
    return made;
  }

  invented(sentence, made) {
    const sizes = sentence.words.map((text) => this.codec.parts(text).length);
    const copied = new Set(made.map((one) => one.copied));
    const result = [];
    for (const one of made) {
      const weights = one.row.slice(0, -1);
      const kept = one.copied !== null || (!one.text.includes(UNKNOWN) && this.knows(one.text));
      if (kept || !weights.some((weight) => weight > 0)) {
        result.push(one);
        continue;
      }
      const top = strongest(weights);
      let place = -1;
      weights.forEach((weight, j) => {
        if (sizes[j] > 1 && (place < 0 || weight > weights[place])) place = j;
      });
      if (place < 0 || weights[place] < RARE * weights[top]) place = top;
      if (copied.has(place) || !sentence.words[place]) continue;
      copied.add(place);
      result.push(copy(sentence.words[place], [one], place));
    }
    return result;
  }

  unread(sentence, made) {
    sentence.words.forEach((text, place) => {
      const own = sentence.ids.filter((_, k) => sentence.wordOf[k] === place);
      const unread = text && own.includes(UNK) && own.filter((id) => id !== UNK).length <= 1;
      const written = made.reduce((sum, one) => sum + one.text.split(text).length - 1, 0);
      const needed = sentence.words.slice(0, place + 1).filter((one) => one === text).length;
      if (unread && written < needed && made.every((one) => one.copied !== place)) insert(made, text, place, sentence.words.length);
    });
    return made;
  }

  capitals(sentence, made) {
    const { words } = sentence;
    const lowered = new Set();
    words.forEach((text, place) => {
      if ([...text].length > 3 && isUpper(text) && !kindOf(this.codec, text) && asRead(this.codec, text, place === 0)[0] !== text) lowered.add(place);
    });
    const long = words.filter((text) => [...text].length > 1 && /^\p{L}+$/u.test(text));
    const whole = long.length > 1 && long.every(isUpper);
    return made.map((one) =>
      one.copied === null && (whole || (lowered.has(one.read) && Math.max(...one.row) > 0.5)) ? { ...one, text: one.text.toUpperCase() } : one,
    );
  }

  /** Tells whether the word, in any case, or all of its parts occurred in the training data. Words with digits count as known. */
  knows(text) {
    if (!this.filter || !/\p{L}/u.test(text) || /\p{Nd}/u.test(text)) return true;
    if ([text, text.toLowerCase(), capitalised(text)].some((form) => this.filter.has(form))) return true;
    const parts = text.split(/[-'’./&]/u).filter(Boolean);
    return parts.length > 1 && parts.every((part) => this.knows(part));
  }
}

/** Leaves out all but one of the currencies beside a number: the last that the source has, or the last. */
function currencies(sentence, made) {
  const sign = (text) => (Object.hasOwn(CURRENCIES, text) ? CURRENCIES[text] : null);
  const given = new Set(sentence.words.map(sign));
  const signs = made.map((one) => sign(one.text.toLowerCase()));
  const extra = new Set();
  const digits = made.map((one) => /\p{Nd}/u.test(one.text));
  made.forEach((_, at) => {
    if (!digits[at]) return;
    const before = at && !digits[at - 2] ? [at - 1] : [];
    const beside = [...before, ...(signs[at + 1] ? [at + 1, at + 2] : [])].filter((place) => signs[place]);
    const kept = beside.findLast((place) => given.has(signs[place])) ?? beside.at(-1);
    for (const place of beside) if (place !== kept) extra.add(place);
  });
  return made.filter((_, at) => !extra.has(at));
}

const asWords = ({ words, alignment, confidence, steps }) => words.map((text, i) => word(text, alignment[i], confidence[i], steps[i]));
const isStandIn = (text, standIns) => text.includes(UNKNOWN) || standIns.some((one) => text.toLowerCase().includes(one.toLowerCase()));
const isUpper = (text) => text === text.toUpperCase() && text !== text.toLowerCase();

function capitalised(text) {
  const [first = "", ...rest] = text;
  return first.toUpperCase() + rest.join("").toLowerCase();
}
