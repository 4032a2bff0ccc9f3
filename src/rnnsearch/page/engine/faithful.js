// Names, numbers and unknown characters stay what they are in the source, as translation/faithful.py has it, and the filter of words that
// training's target text held, as text/vocabulary.py makes it.

const UNK = 1;
const UNKNOWN = "<unk>";
const RARE = 0.25;
const HASHES = 7;
const SEEDS = [0x811c9dc5, 0x2545f491];
const ADDRESS = /(?:https?:\/\/|www\.)\S+|[^\s@]+@[^\s@]+\.[\p{L}\p{N}_]+|[@#][\p{L}\p{N}_]+/gu;
const WHOLE_ADDRESS = new RegExp(`^(?:${ADDRESS.source})$`, "u");
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

/** Encodes a source line; its words are its own, whatever they are read as. */
export function encodeFaithfully(codec, given) {
  const line = given.replaceAll("’", "'");
  const words = [];
  let end = 0;
  for (const found of line.matchAll(ADDRESS)) {
    const address = found[0].replace(AFTER_ADDRESS, "");
    words.push(...codec.tokeniser.words(line.slice(end, found.index)), address);
    end = found.index + address.length;
  }
  words.push(...codec.tokeniser.words(line.slice(end)));
  return encodeWordsFaithfully(codec, words);
}

export function encodeWordsFaithfully(codec, words) {
  const read = words.map((word, place) => asRead(codec, word, place === 0));
  const encoded = codec.encodeWords(read.flat());
  const placeOf = [...read.flatMap((parts, place) => parts.map(() => place)), words.length];
  return { words, ids: encoded.ids, wordOf: encoded.wordOf.map((part) => placeOf[part]) };
}

/** Returns the words to read instead of this one: the parts of an address, or capitals in lowercase. */
function asRead(codec, word, first) {
  if (WHOLE_ADDRESS.test(word)) {
    const parts = codec.tokeniser.words(word);
    return parts.length ? parts : [word];
  }
  if ([...word].length < 2 || !isUpper(word)) return [word];
  const forms = [word, ...(first ? [capitalised(word), word.toLowerCase()] : [word.toLowerCase(), capitalised(word)])];
  const sizes = forms.map((form) => codec.parts(form).length);
  const best = sizes.indexOf(Math.min(...sizes));
  return [2 * sizes[best] <= sizes[0] ? forms[best] : word];
}

/** Replaces the invented words of a translation. filter: a WordFilter, or null. */
export class Faithful {
  constructor(codec, filter) {
    this.codec = codec;
    this.filter = filter;
  }

  /** Returns {words, alignment, confidence, steps} of a translation with its alignment [word][source word]; steps: the ids of each word, by place. */
  hold(sentence, found) {
    if (!sentence.words.length || !found.words.length) return found;
    let made = found.words.map((text, i) => word(text, found.alignment[i], found.confidence[i], found.steps[i]));
    made = this.addresses(sentence, made);
    made = this.numbers(sentence, made);
    made = this.invented(sentence, made);
    made = this.unread(sentence, made);
    made = this.capitals(sentence, made);
    const each = (name) => made.map((one) => one[name]);
    return { words: each("text"), alignment: each("row"), confidence: each("confidence"), steps: each("steps") };
  }

  addresses(sentence, made) {
    const result = [];
    for (const [place, run] of runs(made, (one) => one.read)) {
      if (place === null || !WHOLE_ADDRESS.test(sentence.words[place])) result.push(...run);
      else if (!result.some((one) => one.copied === place)) result.push(copy(sentence.words[place], run, place));
    }
    return result;
  }

  numbers(sentence, made) {
    const given = new Map(sentence.words.map((text, place) => [place, digits(text)]).filter(([, own]) => own));
    if (!given.size) return made;
    const values = new Set(given.values());
    const written = new Set(made.map((one) => digits(one.text)));
    for (const [, run] of runs(made, isNumber)) written.add(run.map((one) => digits(one.text)).join(""));
    const result = [];
    for (const [number, run] of runs(made, isNumber)) {
      const own = run.map((one) => digits(one.text)).join("");
      const row = mean(run);
      let best = null;
      for (const [place, value] of given) if (!written.has(value) && (best === null || row[place] > row[best])) best = place;
      const largest = Math.max(...row.slice(0, -1));
      if (number && !values.has(own) && best !== null && row[best] > RARE * largest && largest > 0) {
        result.push(copy(sentence.words[best], run, best));
        written.add(given.get(best));
      } else result.push(...run);
    }
    return result;
  }

  invented(sentence, made) {
    const sizes = sentence.words.map((text) => this.codec.parts(text).length);
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
      if (!result.some((other) => other.copied === place)) result.push(copy(sentence.words[place], [one], place));
    }
    return result;
  }

  unread(sentence, made) {
    const all = [...made];
    sentence.words.forEach((text, place) => {
      const own = sentence.ids.filter((_, k) => sentence.wordOf[k] === place);
      const unread = own.includes(UNK) && own.filter((id) => id !== UNK).length <= 1;
      if (!unread || all.some((one) => one.text.includes(text))) return;
      let at = 0;
      all.forEach((one, i) => {
        if (one.read !== null && one.read < place) at = i + 1;
      });
      const row = new Array(sentence.words.length + 1).fill(0);
      row[place] = 1;
      all.splice(at, 0, word(text, row, 1, [], place));
    });
    return all;
  }

  capitals(sentence, made) {
    const { words } = sentence;
    const lowered = new Set();
    words.forEach((text, place) => {
      if ([...text].length > 3 && isUpper(text) && asRead(this.codec, text, place === 0)[0] !== text) lowered.add(place);
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

function word(text, row, confidence, steps, copied = null) {
  const place = strongest(row);
  return { text, row, confidence, steps, copied, read: row[place] > 0 && place < row.length - 1 ? place : null };
}

/** Returns the word that replaces a run of words by the source word at `place`. */
const copy = (text, run, place) =>
  word(text, mean(run), Math.min(...run.map((one) => one.confidence)), run.flatMap((one) => one.steps), place);
const strongest = (row) => row.reduce((best, weight, j) => (weight > row[best] ? j : best), 0);
const digits = (text) => text.replaceAll(/\P{Nd}/gu, "");
const isNumber = (one) => one.copied === null && Boolean(digits(one.text)) && !/\p{Nd}h/u.test(one.text);
const isUpper = (text) => text === text.toUpperCase() && text !== text.toLowerCase();
const mean = (run) => run[0].row.map((_, j) => run.reduce((sum, one) => sum + one.row[j], 0) / run.length);

function capitalised(text) {
  const [first = "", ...rest] = text;
  return first.toUpperCase() + rest.join("").toLowerCase();
}

/** [key, neighbours with this key] of a list. */
function runs(made, key) {
  const found = [];
  for (const one of made) {
    const value = key(one);
    if (found.length && found.at(-1)[0] === value) found.at(-1)[1].push(one);
    else found.push([value, [one]]);
  }
  return found;
}
