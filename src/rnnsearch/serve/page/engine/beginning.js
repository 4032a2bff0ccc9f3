// The given beginning of a sentence's translation, which the search completes, as translation/beginning.py has it.

import { encodeWordsFaithfully, faithfulWords, kindOf } from "./faithful.js";

const EOS = 0;
const UNK = 1;
const START = "▁";
const LONGEST = 100; // letters of an unfinished word
const CONTROL = /[\0-\x1f\x7f-\x9f\u2028\u2029]/gu;

export class Beginning {
  /** given: typed text. Unless white space ends it, its last word is unfinished: any word that begins so may follow, in any subwords. */
  constructor(codec, given, faithful = false) {
    const typed = given.replace(CONTROL, " ");
    Object.assign(this, { codec, typed });
    const words = faithful ? faithfulWords(codec, typed) : codec.tokeniser.words(typed);
    const last = words.at(-1);
    this.kept = words.length;
    const mark = codec.ranks ? START : "";
    const open = /\S$/u.test(typed) && last.length <= LONGEST && !(faithful && kindOf(codec, last));
    this.spell(open ? mark + last.replaceAll(START, "_") : mark);
    if (!this.reachable[0]) this.spell(mark);
    const complete = this.left === mark ? words : words.slice(0, -1);
    const { ids, wordOf } = faithful ? encodeWordsFaithfully(codec, complete) : codec.encodeWords(complete);
    Object.assign(this, { words: complete, ids: ids.slice(0, -1), wordOf: wordOf.slice(0, -1) });
    this.unknown = complete.filter((word, place) => complete.indexOf(word) === place && ids.some((id, k) => id === UNK && complete[wordOf[k]] === word));
  }

  /** left: what the ids after the complete words must spell. reachable: whether ids can spell it from each of its letters on. */
  spell(left) {
    const { ids, ranks, vocabulary } = this.codec;
    Object.assign(this, { left, reachable: [] });
    this.reachable[left.length] = true;
    for (let at = left.length - 1; at >= 0; at--) {
      const rest = left.slice(at);
      const inside = ranks && Array.from(rest, (_, k) => k + 1).some((end) => ids.has(rest.slice(0, end)) && this.reachable[at + end]);
      this.reachable[at] = inside || vocabulary.some((token, id) => id > UNK && token.startsWith(rest));
    }
  }

  /** Returns what is left to be spelt after an id, or null if the id must not come next. */
  after(left, id) {
    if (!left || (id === EOS && left === START)) return "";
    const token = this.codec.vocabulary[id];
    if (id <= UNK) return null;
    if (token.startsWith(left)) return "";
    const spelt = this.codec.ranks && left.startsWith(token) && this.reachable[this.left.length - left.length + token.length];
    return spelt ? left.slice(token.length) : null;
  }

  /** Returns {words, wordOf} of ids that begin with these, as `decode` of the codec. */
  decode(ids) {
    const { words, wordOf } = this.codec.decode(ids.slice(this.ids.length));
    return { words: [...this.words, ...words], wordOf: [...this.wordOf, ...wordOf.map((word) => word + this.words.length)] };
  }

  /** Returns the line of a translation's words; it begins as typed. White space at the end of that only ended a word. */
  text(words) {
    const [line, own] = [words, this.codec.tokeniser.words(this.typed)].map((some) => this.codec.text(some));
    const letters = own.replace(/\s/gu, "").length;
    return this.typed.trimEnd() + line.replace(new RegExp(`^(?:\\s*\\S){0,${letters}}`), "");
  }
}
