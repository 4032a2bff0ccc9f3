// Names, numbers and unknown characters stay what they are in the source, as translation/faithful.py has it, and the filter of words that
// training's target text held, as text/vocabulary.py makes it.

const UNK = 1;
const UNKNOWN = "<unk>";
const RARE = 0.25;
const HASHES = 7;
const SEEDS = [0x811c9dc5, 0x2545f491];
const JOINER = "\u2060"; // stands for a space inside a copied word, as in text/codec.py
const COPIED = 0.5; // the confidence of a copied word
const WORD = "[\\p{L}\\p{N}_]";
const CLUSTER = "[\\u231a\\u231b\\u23e9-\\u23fa\\u2600-\\u27bf\\u2b1b\\u2b1c\\u2b50\\u2b55\\u{1f000}-\\u{1f3fa}\\u{1f400}-\\u{1fbff}]|[0-9#*]\\ufe0f?\\u20e3|\\S\\ufe0f";
const PARTS = {
  front:
    "^(?:(?:[\\-–—*•●○◦▪‣·→⇒□☐☑✓]|>+|\\[(?:[ xX]|[0-9]{1,3})?\\]|[0-9]{1,3}(?:\\.[0-9]{1,3})*[.)]" +
    "|\\(?(?:[0-9]{1,3}|[a-zA-Z]|[ivx]{2,5})\\))\\s+)+",
  tag: `</?[A-Za-z0-9](?:${WORD}|[:\\-])*(?:\\s[^<>]*)?/?>|&(?:#x?)?${WORD}{2,8};`,
  address: `(?:https?://|www\\.)[^\\s<>"]+|(?<![^\\s<>"])[^\\s@<>"]+@[^\\s@<>"]+\\.${WORD}+|[@#]${WORD}+`,
  number: `%(?:\\p{Nd}+\\$)?[\\-+0-9.]*(?:hh?|ll?|z)?[diufg](?!${WORD})`,
  placeholder:
    `%(?:\\(${WORD}+\\)|(?:\\p{Nd}+\\$)?[\\-+0-9.]*)[a-zA-Z@](?!${WORD})|%[1-9](?!${WORD})` +
    `|\\{\\{\\s*(?:[^\\{\\}\\s]+\\s*)?\\}\\}|[$#]?\\{[^\\{\\}\\s]*\\}|__${WORD}+__`,
  emoji: `(?:${CLUSTER})(?:${CLUSTER}|[\\u200d\\ufe0f\\u{1f3fb}-\\u{1f3ff}\\u{e0020}-\\u{e007f}])*`,
  mark: "\\*{2,3}|~~|\\]\\([^()\\s]*\\)|^#{1,6}\\s+", // of Markdown
  snippet: "`[^`]+`",
};
const ANY = Object.entries(PARTS).map(([kind, pattern]) => `(?<${kind}>${pattern})`).join("|");
const VERBATIM = new RegExp(ANY, "gu");
const WHOLE = new RegExp(`^(?:${ANY})$`, "u");
const STAND_INS = { front: [], tag: [], emoji: [], number: ["12"], address: ["XX"], placeholder: ["XX"], mark: [], snippet: ["XX"] };
const CURRENCIES = { "€": "€", $: "$", "£": "£", "¥": "¥", euro: "€", euros: "€", dollar: "$", dollars: "$", pound: "£", pounds: "£", livre: "£", livres: "£" };
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
  for (const found of line.matchAll(VERBATIM)) {
    const copied = found.groups.address ? found[0].replace(AFTER_ADDRESS, "") : found[0];
    words.push(...codec.tokeniser.words(line.slice(end, found.index)), copied.replaceAll(/\s/gu, JOINER));
    end = found.index + copied.length;
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

/** Returns the kind of a word that is copied letter by letter; undefined for others. */
function kindOf(text) {
  const found = WHOLE.exec(text.replaceAll(JOINER, " "));
  return found ? Object.keys(PARTS).find((kind) => found.groups[kind] !== undefined) : undefined;
}

/** Returns the words to read instead of this one: a stand-in, or capitals in lowercase. */
function asRead(codec, word, first) {
  const kind = kindOf(word);
  if (kind) return STAND_INS[kind];
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
    if (!sentence.words.length) return found;
    let made = found.words.map((text, i) => word(text, found.alignment[i], found.confidence[i], found.steps[i]));
    made = verbatim(sentence, made);
    made = numbers(sentence, made);
    made = this.invented(sentence, made);
    made = this.unread(sentence, made);
    made = currencies(sentence, this.capitals(sentence, made));
    const each = (name) => made.map((one) => one[name]);
    return { words: each("text"), alignment: each("row"), confidence: each("confidence"), steps: each("steps") };
  }

  invented(sentence, made) {
    const sizes = sentence.words.map((text) => this.codec.parts(text).length);
    const copied = new Set(made.map((one) => one.copied));
    const written = new Set(made.map((one) => digits(one.text)));
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
      const number = digits(sentence.words[place]);
      if (copied.has(place) || (number && written.has(number))) continue;
      copied.add(place);
      result.push(copy(sentence.words[place], [one], place));
    }
    return result;
  }

  unread(sentence, made) {
    sentence.words.forEach((text, place) => {
      const own = sentence.ids.filter((_, k) => sentence.wordOf[k] === place);
      const unread = own.includes(UNK) && own.filter((id) => id !== UNK).length <= 1;
      const written = made.reduce((sum, one) => sum + one.text.split(text).length - 1, 0);
      const needed = sentence.words.slice(0, place + 1).filter((one) => one === text).length;
      if (unread && written < needed && made.every((one) => one.copied !== place)) insert(made, text, place, sentence.words.length + 1);
    });
    return made;
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

/** Replaces each stand-in by what it stands for, and adds what no word stands for. */
function verbatim(sentence, given) {
  let made = given;
  sentence.words.forEach((text, place) => {
    const kind = kindOf(text);
    if (!kind) return;
    const reading = [...made.keys()].filter((at) => made[at].read === place && made[at].copied === null);
    let standIns = reading.filter((at) => isStandIn(made[at].text, STAND_INS[kind]));
    if (!standIns.length && kind === "number") standIns = reading.sort((one, other) => made[other].row[place] - made[one].row[place]).slice(0, 1);
    if (standIns.length) {
      const [first, ...others] = standIns;
      made[first] = copy(text, [made[first]], place);
      made = made.filter((_, at) => !others.includes(at));
    } else insert(made, text, place, sentence.words.length + 1);
  });
  return made;
}

/** Replaces a number that the source does not have by the source number that it attended to, and leaves out one that repeats another. */
function numbers(sentence, made) {
  const given = new Map(sentence.words.map((text, place) => [place, kindOf(text) ? "" : digits(text)]).filter(([, own]) => own));
  const parts = [...given.keys()].flatMap((place) => sentence.words[place].split(/[-–/:]/u)).filter((part) => /^\p{Nd}+$/u.test(part));
  const right = new Set([...given.values(), ...parts]);
  const isRight = (value) => right.has(value) || right.has(value.replace(/(000)+$/, "")); // 12 000 for 12 thousand
  const within = (one) => isNumber(one) || ([",", "."].includes(one.text) && given.has(one.read));
  const all = runs(made, within).flatMap(([number, run]) => {
    const [first, end] = [Math.max(0, run.findIndex(isNumber)), run.findLastIndex(isNumber) + 1];
    const [before, core, rest] = [run.slice(0, first), run.slice(first, end), run.slice(end)];
    if (number && !isRight(digitsOf(core))) return [before, ...runs(core, (one) => one.read).map(([, part]) => part), rest];
    if (!core.every(isNumber) && core[0].read !== null) return [before, [copy(core.map((one) => one.text).join(""), core, core[0].read)], rest]; // a decimal in several words
    return [before, core, rest];
  });
  const written = new Map();
  const count = (value, more) => written.set(value, (written.get(value) ?? 0) + more);
  for (const run of all) count(digitsOf(run), 1);
  const served = new Map();
  const result = [];
  for (let run of all) {
    let own = digitsOf(run);
    if (own && isNumber(run[0])) {
      let read = run[0].read;
      const row = mean(run);
      const largest = Math.max(...row.slice(0, -1));
      count(own, -1);
      let best = null;
      for (const [place, value] of given) if (!written.get(value) && (best === null || row[place] > row[best])) best = place;
      if (!isRight(own) && best !== null && row[best] > RARE * largest && largest > 0) {
        run = [copy(sentence.words[best], run, best)];
        own = given.get(best);
        read = best;
      }
      if (given.has(read) && served.has(read) && ((served.get(read) === own && own === given.get(read)) || !isRight(own))) continue;
      served.set(read, own);
      count(own, 1);
    }
    result.push(...run);
  }
  return result;
}

/** Leaves out all but one of the currencies beside a number: the last that the source has, or the last. */
function currencies(sentence, made) {
  const sign = (text) => (Object.hasOwn(CURRENCIES, text) ? CURRENCIES[text] : null);
  const given = new Set(sentence.words.map(sign));
  const signs = made.map((one) => sign(one.text.toLowerCase()));
  const extra = new Set();
  made.forEach((one, at) => {
    if (!digits(one.text)) return;
    const before = at && !(at > 1 && digits(made[at - 2].text)) ? [at - 1] : [];
    const beside = [...before, ...(signs[at + 1] ? [at + 1, at + 2] : [])].filter((place) => signs[place]);
    const kept = beside.findLast((place) => given.has(signs[place])) ?? beside.at(-1);
    for (const place of beside) if (place !== kept) extra.add(place);
  });
  return made.filter((_, at) => !extra.has(at));
}

/** Inserts a copy of a source word behind the words that read earlier places; an opening tag, before the words that read later ones. */
function insert(made, text, place, columns) {
  const row = new Array(columns).fill(0);
  row[place] = 1;
  const read = [...made.entries()].filter(([, one]) => one.read !== null);
  const later = read.filter(([, one]) => one.read > place).map(([at]) => at);
  const earlier = read.filter(([, one]) => one.read < place).map(([at]) => at + 1);
  const at = /^<[\p{L}\p{N}_].*[^/]>$/su.test(text) ? Math.min(made.length, ...later) : Math.max(0, ...earlier);
  made.splice(at, 0, word(text, row, COPIED, [], place));
}

function word(text, row, confidence, steps, copied = null) {
  const place = strongest(row);
  return { text, row, confidence, steps, copied, read: row[place] > 0 && place < row.length - 1 ? place : null };
}

/** Returns the word that replaces a run of words by the source word at `place`. */
const copy = (text, run, place) =>
  word(text, mean(run), COPIED, run.flatMap((one) => one.steps), place);
const strongest = (row) => row.reduce((best, weight, j) => (weight > row[best] ? j : best), 0);
const isStandIn = (text, standIns) => text.includes(UNKNOWN) || standIns.some((one) => text.toLowerCase().includes(one.toLowerCase()));
const digitsOf = (run) => run.map((one) => digits(one.text)).join("");
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
