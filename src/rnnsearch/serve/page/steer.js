// A translation that its reader steers: what stands before the cursor is kept, and the rest is translated again.

import { find } from "./elements.js";

const DRAFT = 1; // the beam while somebody types

export class Steer {
  /** view: a ResultView. translate(line, prefix, beam, signal): returns a result's sentence that begins with the prefix. onError(message). */
  constructor(view, { translate, onError }) {
    Object.assign(this, { view, translate, onError, field: find("field") });
    for (const kind of ["input", "compositionend"]) this.field.addEventListener(kind, (event) => this.typed(event.isComposing));
    this.field.addEventListener("keydown", (event) => this.pressed(event));
    this.field.addEventListener("blur", () => this.close());
    find("translation").addEventListener("keydown", (event) => this.heard(event));
    find("edit").addEventListener("click", () => this.open(0));
    find("undo").addEventListener("click", () => this.move(-1));
    this.reset();
  }

  /** Forgets what was steered: another translation is coming. */
  reset() {
    this.running?.abort();
    this.field.hidden = true;
    find("undo").hidden = true;
    this.states = []; // {result, sentence, kept, caret}: the sentence that was steered, and what was kept of it
    this.at = 0;
  }

  get state() {
    if (!this.states.length) this.states = [{ result: this.view.result, sentence: 0, kept: "", caret: 0 }];
    return this.states[this.at];
  }

  /** Returns the text of the field, and where each sentence begins in it. White space that was typed stays, also where the text has none. */
  layout() {
    const { result, sentence, kept } = this.state;
    let [value, end] = ["", 0];
    const begins = located(result).map((place, number) => {
      const own = result.text.slice(...place);
      const gap = result.text.slice(end, place[0]);
      const begin = value.length + gap.length;
      value += gap + (number === sentence && /\s$/u.test(kept) ? kept + own.slice(kept.trimEnd().length).trimStart() : own);
      end = place[1];
      return begin;
    });
    return { value: value + result.text.slice(end), begins };
  }

  /** Opens the field with the cursor at this place; what is typed replaces what follows. */
  async open(caret, typed = "") {
    const { field, view } = this;
    if (view.result?.brought) await view.translated();
    if (!view.result?.text) return;
    if (view.rank) {
      await this.follow(view.sentence, view.shown.text, caret); // from now on the best of its sentence
      caret += this.layout().begins[view.sentence];
    }
    field.hidden = false;
    this.show({ ...this.state, caret });
    field.focus();
    if (!typed) return;
    field.setRangeText(typed, caret, caret, "end");
    this.typed();
  }

  close() {
    if (this.field.hidden) return;
    this.field.hidden = true;
    this.view.steer(this.state);
  }

  typed(composing = false) {
    this.composing = composing;
    const { value, selectionStart: caret } = this.field;
    this.view.mirror(value);
    if (composing) return;
    const { value: before, begins } = this.layout();
    const { state } = this;
    let same = 0;
    while (same < caret && value[same] === before[same]) same++;
    const sentence = Math.max(0, begins.findLastIndex((begin) => begin <= same));
    const kept = value.slice(begins[sentence], caret).replaceAll("\n", " ");
    const goesOn = kept.startsWith(state.sentence === sentence ? state.kept : "");
    if (!goesOn || !state.result.sentences[sentence].hypotheses[0].text.startsWith(kept)) return this.follow(sentence, kept, caret, DRAFT);
    this.running?.abort();
    this.show((this.states[this.at] = { ...state, sentence, kept, caret })); // the translation begins so already
  }

  /** Writes this word after the text before it in its sentence. */
  choose(sentence, before, word) {
    const gap = /[\p{L}\p{N}]$/u.test(before) && /^[\p{L}\p{N}]/u.test(word) ? " " : ""; // instead of a comma
    return this.follow(sentence, `${before}${gap}${word} `, 0);
  }

  /** Translates the rest of a sentence, if asked for with a smaller beam first. */
  async follow(sentence, kept, caret, draft = null) {
    this.running?.abort();
    const running = (this.running = new AbortController());
    const { result } = this.state;
    const { beam = 5 } = result;
    try {
      for (const width of new Set([draft ?? beam, beam])) {
        const made = await this.translate(result.sentences[sentence].source, kept, width, running.signal);
        if (running !== this.running || this.composing) return;
        const state = { result: replaced(result, sentence, made), sentence, kept, caret };
        if (width === (draft ?? beam)) this.states = [...this.states.slice(0, ++this.at), state];
        else this.states[this.at] = state;
        this.show(state);
        const unknown = made.hypotheses[0].unknown_words.map((word) => `“${word}”`).join(", ");
        if (unknown) this.onError(`The network does not know ${unknown}: what you typed stays, and it reads these words as unknown. Check their script and spelling.`);
      }
      find("status").textContent = `Translation: ${this.state.result.text}`;
    } catch (error) {
      if (error.name !== "AbortError") this.onError(error.message);
    }
  }

  show(state, sentence = state.sentence) {
    const { field, view } = this;
    this.onError("");
    find("undo").hidden = !this.at;
    if (field.hidden) {
      view.steer({ ...state, sentence });
      if (document.activeElement === document.body) view.word()?.focus();
      return;
    }
    const { value } = this.layout();
    view.steer({ ...state, sentence }, value);
    field.value = value;
    field.setSelectionRange(state.caret, state.caret);
  }

  /** Goes back and forth in what was steered. */
  move(by) {
    const { sentence } = this.state;
    if (!this.states[this.at + by]) return;
    this.running?.abort();
    this.at += by;
    this.show(this.state, by < 0 ? sentence : this.state.sentence);
  }

  pressed(event) {
    const { field } = this;
    const next = /^\s*\S+/u.exec(field.value.slice(field.selectionEnd));
    if (event.isComposing) return;
    if (event.key === "Tab" && !event.shiftKey && next) {
      const caret = field.selectionEnd + next[0].length;
      field.setSelectionRange(caret, caret);
    } else if (event.key === "Enter" || event.key === "Escape") {
      if (event.key === "Escape") this.move(-this.at);
      this.close();
      this.view.word()?.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Takes the keys of the words and their panel: a letter types over a word. */
  heard(event) {
    const { key, target } = event;
    const control = event.ctrlKey || event.metaKey;
    const word = target.id === "inside" ? this.view.inside.opener : target.closest(".word");
    if (control && /^[zy]$/iu.test(key)) this.move(key === "y" || event.shiftKey ? 1 : -1);
    else if (word && key === "Escape") this.view.inside.word ? this.view.inside.close() : this.move(-this.at);
    else if (word && /^\S$/u.test(key) && !control && !event.altKey) this.open(Number(word.dataset.begin), key);
    else return;
    event.preventDefault();
  }
}

/** Returns [begin, end] of the best translation of each sentence in the text of a result. */
function located({ text, sentences }) {
  let end = 0;
  return sentences.map(({ hypotheses: [best] }) => {
    const begin = text.indexOf(best.text, end);
    end = begin + best.text.length;
    return [begin, end];
  });
}

/** Returns the result with another sentence in this place. */
function replaced(result, number, made) {
  const [begin, end] = located(result)[number];
  const text = result.text.slice(0, begin) + made.hypotheses[0].text + result.text.slice(end);
  return { ...result, text, sentences: result.sentences.with(number, made) };
}
