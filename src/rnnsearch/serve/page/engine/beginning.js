// The given beginning of a sentence's translation, which the search completes, as
// translation/beginning.py has it.

import { faithfulWords, kindOf } from "./copied.js";
import { encodeWordsFaithfully } from "./reading.js";
import { LONGEST_UNFINISHED } from "./tables.js";

const [EOS, UNK] = [0, 1];
const START = "▁";
const CONTROL = /[\0-\x1f\x7f-\x9f\u2028\u2029]/gu;

export class Beginning {
  /** given: typed text. Unless white space ends it, its last word is unfinished: any word that
   *  begins so may follow, in any subwords. */
  constructor(codec, given, faithful = false) {
    const typed = given.replace(CONTROL, " ");
    Object.assign(this, { codec, typed });
    const words = faithful ? faithfulWords(codec, typed, true) : codec.tokeniser.words(typed);
    const last = words.at(-1) ?? "";
    const mark = codec.ranks ? START : "";
    const copied = faithful && kindOf(codec, last);
    const open = /\S$/u.test(typed) && last.length <= LONGEST_UNFINISHED && !copied;
    this.kept = words.length;
    this.spell(open ? mark + last.replaceAll(START, "_") : mark);
    if (!this.reachable[0]) this.spell(mark);
    this.words = this.left === mark ? words : words.slice(0, -1);
    const encode = faithful ? encodeWordsFaithfully : (_, own) => codec.encodeWords(own);
    const { ids, wordOf } = encode(codec, this.words);
    Object.assign(this, { ids: ids.slice(0, -1), wordOf: wordOf.slice(0, -1) });
    const unknown = this.wordOf.filter((_, k) => ids[k] === UNK).map((place) => this.words[place]);
    this.unknown = [...new Set(unknown)];
  }

  /** left: what the ids after the complete words must spell. reachable: whether ids can spell it
   *  from each of its letters on. */
  spell(left) {
    const { ids, ranks, vocabulary } = this.codec;
    const reachable = new Array(left.length).fill(false).concat(true);
    for (let at = left.length - 1; at >= 0; at--) {
      const rest = left.slice(at);
      const spelt = (_, k) => ids.has(rest.slice(0, k + 1)) && reachable[at + k + 1];
      const inside = ranks && Array.from(rest).some(spelt);
      reachable[at] = inside || vocabulary.some((one, id) => id > UNK && one.startsWith(rest));
    }
    Object.assign(this, { left, reachable });
  }

  /** Returns what is left to be spelt after an id, or null if the id must not come next. */
  after(left, id) {
    if (!left || (id === EOS && left === START)) return "";
    if (id <= UNK) return null;
    const token = this.codec.vocabulary[id];
    if (token.startsWith(left)) return "";
    const place = this.left.length - left.length + token.length;
    const spelt = this.codec.ranks && left.startsWith(token) && this.reachable[place];
    return spelt ? left.slice(token.length) : null;
  }

  /** Returns {words, wordOf} of ids that begin with these, as `decode` of the codec. */
  decode(ids) {
    const { words, wordOf } = this.codec.decode(ids.slice(this.ids.length));
    const shifted = wordOf.map((place) => place + this.words.length);
    return { words: [...this.words, ...words], wordOf: [...this.wordOf, ...shifted] };
  }

  /** Returns the line of a translation's words; it begins as typed. White space at the end of that
   *  only ended a word. */
  text(words) {
    const own = this.codec.text(this.codec.tokeniser.words(this.typed));
    const letters = new RegExp(`^(?:\\s*\\S){0,${own.replace(/\s/gu, "").length}}`);
    return this.typed.trimEnd() + this.codec.text(words).replace(letters, "");
  }
}
