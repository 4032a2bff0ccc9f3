// The beginning of a translation that a person keeps: the ids that may come next, and its words as they were typed, as translation/beginning.py
// has it.

import { encodeWordsFaithfully, faithfulWords, kindOf } from "./faithful.js";

const EOS = 0;
const UNK = 1;
const START = "▁";

export class Prefix {
  /** typed: text. Unless white space ends it, its last word is unfinished: any word that begins so may follow, in any subwords. */
  constructor(codec, typed, faithful = false) {
    Object.assign(this, { codec, typed });
    this.typedWords = faithful ? faithfulWords(codec, typed) : codec.tokeniser.words(typed);
    const last = this.typedWords.at(-1);
    const mark = codec.ranks ? START : "";
    this.spell(/\s$/u.test(typed) || (faithful && kindOf(codec, last)) ? mark : mark + last.replaceAll(mark || " ", "_"));
    if (!this.reachable[0]) this.spell(mark);
    this.letters = this.left === mark ? "" : last;
    const complete = this.letters ? this.typedWords.slice(0, -1) : this.typedWords;
    const { ids, wordOf } = faithful ? encodeWordsFaithfully(codec, complete) : codec.encodeWords(complete);
    Object.assign(this, { words: complete, ids: ids.slice(0, -1), wordOf: wordOf.slice(0, -1) });
  }

  /** left: what the ids after the complete words must spell; reachable: whether the vocabulary can spell it from each of its letters on. */
  spell(left) {
    const { codec } = this;
    this.left = left;
    this.reachable = [];
    this.reachable[left.length] = true;
    for (let at = left.length - 1; at >= 0; at--) {
      const rest = left.slice(at);
      const ends = codec.ranks ? Array.from(rest, (_, k) => k + 1) : [];
      this.reachable[at] = ends.some((end) => codec.ids.has(rest.slice(0, end)) && this.reachable[at + end]) || codec.vocabulary.some((word, id) => id > UNK && word.startsWith(rest));
    }
  }

  /** Returns what is left to be spelt after an id, or null if the id must not come next. */
  after(left, id) {
    if (!left) return "";
    if (id === EOS && left === START) return "";
    if (id <= UNK) return null;
    const token = this.codec.vocabulary[id];
    if (token.startsWith(left)) return "";
    return this.codec.ranks && left.startsWith(token) && this.reachable[this.left.length - left.length + token.length] ? left.slice(token.length) : null;
  }

  /** Returns {words, wordOf} of ids that begin with these, as `decode` of the codec. */
  decode(ids) {
    const { words, wordOf } = this.codec.decode(ids.slice(this.ids.length));
    return { words: [...this.words, ...words], wordOf: [...this.wordOf, ...wordOf.map((word) => word + this.words.length)] };
  }

  /** Returns the line of a translation's words; it begins as typed. White space at the end of that only ended a word. */
  text(words) {
    const [line, own] = [words, this.typedWords].map((some) => this.codec.text(some));
    const letters = own.replace(/\s/gu, "").length;
    return this.typed.trimEnd() + line.slice(new RegExp(`^(?:\\s*\\S){${letters}}`).exec(line)?.[0].length);
  }
}
