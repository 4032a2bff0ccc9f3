// Lines to words and back by Moses's rules, word for word as text/tokenise.py makes them. Sets of letters and the words before which a
// full stop ends no sentence come with the model, so that both sides read the same lists.

// Control characters, separators and the zero-width space count as spaces; soft hyphens, word joiners and byte order marks vanish.
const BLANK = /[\0-\x1f\x7f-\xa0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u3000]/gu;
const INVISIBLE = /[\xad\u2060\ufeff]/gu;
const HALF = /\p{Surrogate}/gu;

const plain = (line) => line.replace(BLANK, " ").replace(INVISIBLE, "").replace(HALF, "\ufffd");

/** rules: {tokeniser, language, lowercase, prefixes, numeric_prefixes, alnum, alpha, numbers, lower, currency, cjk}: sets as [first, last, …]. */
export function makeTokeniser(rules) {
  const cased = rules.tokeniser === "space" ? spaceTokeniser() : new Moses(rules);
  if (!rules.lowercase) return cased;
  return { words: (line) => cased.words(line).map((word) => word.toLowerCase()), text: (words) => cased.text(words) };
}

function spaceTokeniser() {
  return { words: (line) => split(plain(line)), text: (words) => words.join(" ") };
}

const split = (text) => text.split(" ").filter(Boolean);

class Moses {
  constructor({ language, prefixes, numeric_prefixes: numeric, alnum, alpha, numbers, lower, currency, cjk }) {
    const set = characters;
    const [word, letter, digit, sign] = [set(alnum), set(alpha), set(numbers), set(currency)];
    const rule = (pattern) => new RegExp(pattern, "gu");
    const one = (pattern) => new RegExp(pattern, "u");
    this.language = language;
    this.prefixes = new Set(prefixes);
    this.numeric = new Set(numeric);
    this.letter = one(`[${letter}]`);
    this.small = one(`^[${set(lower)}]`);
    this.apart = rule(`([^${word} .'\`,\\-])`);
    this.commas = [rule(`([^${digit}]),`), rule(`,([^${digit}])`), rule(`([${digit}]),$`)];
    this.apostrophes = apostrophes(language, letter, digit).map(([pattern, by]) => [rule(pattern), by]);
    this.sign = one(`^[${sign}([{¿¡]+$`);
    this.contraction = one(`^'[${letter}]`);
    this.elision = one(`[${letter}]'$`);
    this.begins = one(`^[${letter}]`);
    this.cjk = cjk;
  }

  words(line) {
    let text = split(plain(line)).join(" ").replace(this.apart, " $1 ");
    // Several full stops stay together: they stand aside as a word of letters while the other rules work.
    text = text.replace(/\.{2,}/gu, (dots, at, whole) => ` ${"DOT".repeat(dots.length)}MULTI${at + dots.length < whole.length ? " " : ""}`);
    const [before, after, last] = this.commas;
    text = text.replace(before, "$1 , ").replace(after, " , $1").replace(last, "$1 , ");
    for (const [pattern, by] of this.apostrophes) text = text.replace(pattern, by);
    text = this.fullStops(split(text)).join(" ");
    text = text.replace(/\.' ?$/u, " . ' ");
    return split(text.replace(/(?:DOT)+MULTI/gu, (mark) => ".".repeat((mark.length - 5) / 3)));
  }

  /** Separates a full stop at the end of a word, unless the word is an abbreviation or the sentence goes on. */
  fullStops(words) {
    return words.flatMap((word, place) => {
      if (word.length < 2 || !word.endsWith(".")) return [word];
      const stem = word.slice(0, -1);
      const next = words[place + 1] ?? "";
      const stays =
        (stem.includes(".") && this.letter.test(stem)) ||
        (this.prefixes.has(stem) && !this.numeric.has(stem)) ||
        this.small.test(next) ||
        (this.numeric.has(stem) && /^[0-9]/u.test(next));
      return stays ? [word] : [stem, "."];
    });
  }

  text(tokens) {
    const words = split(` ${tokens.join(" ")} `.replaceAll(" @-@ ", "-"));
    const quotes = new Map();
    const french = ["fr", "it", "ga"].includes(this.language);
    let text = "";
    let space = " ";
    const put = (word, before, after) => {
      text += before + word;
      space = after;
    };
    words.forEach((word, i) => {
      if (this.isCjk(word.codePointAt(0))) {
        put(word, i && this.isCjk([...words[i - 1]].at(-1).codePointAt(0)) ? "" : space, " ");
      } else if (this.sign.test(word)) {
        put(word, space, "");
      } else if (/^[,.?!:;\\%}\])]+$/u.test(word)) {
        put(word, this.language === "fr" && /^[?!:;\\%]$/u.test(word) ? " " : "", " ");
      } else if (this.language === "en" && i && this.contraction.test(word)) {
        put(word, "", " ");
      } else if (french && i <= words.length - 2 && this.elision.test(word) && this.begins.test(words[i + 1])) {
        put(word, space, "");
      } else if (/^['"„“`]+$/u.test(word)) {
        const kind = /^[„“”]+$/u.test(word) ? '"' : word;
        const seen = quotes.get(kind) ?? 0;
        if (seen % 2) {
          put(word, "", " ");
          quotes.set(kind, seen + 1);
        } else if (this.language === "en" && word === "'" && i && words[i - 1].endsWith("s")) {
          put(word, "", " ");
        } else {
          put(word, space, "");
          quotes.set(kind, seen + 1);
        }
      } else {
        put(word, space, " ");
      }
    });
    return text.replace(/ {2,}/gu, " ").trim();
  }

  isCjk(character) {
    for (let k = 0; k < this.cjk.length; k += 2) if (character >= this.cjk[k] && character <= this.cjk[k + 1]) return true;
    return false;
  }
}

/** Returns the rules that separate an apostrophe: English cuts before it, French and Italian after it, the others on both sides. */
function apostrophes(language, letter, digit) {
  if (language === "en") {
    return [
      [`([^${letter}])'([^${letter}])`, "$1 ' $2"],
      [`([^${letter}${digit}])'([${letter}])`, "$1 ' $2"],
      [`([${letter}])'([^${letter}])`, "$1 ' $2"],
      [`([${letter}])'([${letter}])`, "$1 '$2"],
      [`([${digit}])'([s])`, "$1 '$2"],
    ];
  }
  if (language === "fr" || language === "it") {
    return [
      [`([^${letter}])'([^${letter}])`, "$1 ' $2"],
      [`([^${letter}])'([${letter}])`, "$1 ' $2"],
      [`([${letter}])'([^${letter}])`, "$1 ' $2"],
      [`([${letter}])'([${letter}])`, "$1' $2"],
    ];
  }
  return [["'", " ' "]];
}

/** [first, last, first, last, …] as the inside of a character class. */
function characters(ranges) {
  const escaped = (code) => `\\u{${code.toString(16)}}`;
  let inside = "";
  for (let k = 0; k < ranges.length; k += 2) inside += `${escaped(ranges[k])}-${escaped(ranges[k + 1])}`;
  return inside;
}
