// A translation that its reader steers: what stands before the cursor is kept, and the rest is
// translated again.

import { ui } from "./elements.js";

const DRAFT = 1; // the beam while somebody types
const UNKNOWN =
  "what you typed stays, and it reads these words as unknown. Check their script and spelling.";

export class Steer {
  /** view: a ResultView. translate(line, prefix, beam, signal): returns a result's sentence that
   *  begins with the prefix. onError(message). */
  constructor(view, { translate, onError }) {
    Object.assign(this, { view, translate, onError, field: ui.field });
    this.field.oninput = ({ isComposing }) => this.typed(isComposing);
    this.field.addEventListener("compositionend", () => this.typed());
    this.field.onkeydown = (event) => this.pressed(event);
    this.field.onblur = () => this.close();
    ui.translation.onkeydown = (event) => this.heard(event);
    ui.edit.onclick = () => this.open(0);
    ui.undo.onclick = () => this.move(-1);
    this.reset();
  }

  /** Forgets what was steered: another translation is coming. */
  reset() {
    this.running?.abort();
    this.field.hidden = true;
    ui.undo.hidden = true;
    this.states = []; // {result, sentence, kept, caret}: the steered sentence, and what is kept
    this.at = 0;
  }

  get state() {
    if (!this.states.length) {
      this.states = [{ result: this.view.result, sentence: 0, kept: "", caret: 0 }];
    }
    return this.states[this.at];
  }

  /** Returns the text of the field, and where each sentence begins in it. White space that was
   *  typed stays, also where the text has none. */
  layout() {
    const { result, sentence, kept } = this.state;
    let [value, end] = ["", 0];
    const begins = located(result).map((place, number) => {
      const own = result.text.slice(...place);
      value += result.text.slice(end, place[0]);
      end = place[1];
      const begin = value.length;
      const spaced = number === sentence && /\s$/u.test(kept);
      value += spaced ? kept + own.slice(kept.trimEnd().length).trimStart() : own;
      return begin;
    });
    return { value: value + result.text.slice(end), begins };
  }

  /** Opens the field; what is typed replaces what follows the cursor. */
  async open(caret, typed = "") {
    const { field, view } = this;
    if (view.result?.brought) await view.translated();
    if (!view.result?.text) return;
    if (view.rank) {
      await this.follow(view.sentence, view.shown.text, caret); // from now on the best one
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
    const [best] = state.result.sentences[sentence].hypotheses;
    if (!goesOn || !best.text.startsWith(kept)) return this.follow(sentence, kept, caret, DRAFT);
    this.running?.abort();
    this.states[this.at] = { ...state, sentence, kept, caret }; // the translation begins so already
    this.show(this.state);
  }

  choose(sentence, before, word) {
    const comma = /[\p{L}\p{N}]$/u.test(before) && /^[\p{L}\p{N}]/u.test(word); // it replaces one
    return this.follow(sentence, `${before}${comma ? " " : ""}${word} `, 0);
  }

  /** Translates the rest of a sentence, if asked for with a smaller beam first. */
  async follow(sentence, kept, caret, draft = null) {
    this.running?.abort();
    const running = (this.running = new AbortController());
    const { result } = this.state;
    const { beam = 5 } = result;
    const { source } = result.sentences[sentence];
    const states = this.states.slice(0, this.at + 1);
    try {
      for (const width of new Set([draft ?? beam, beam])) {
        const made = await this.translate(source, kept, width, running.signal);
        if (running !== this.running || this.composing) return;
        const state = { result: replaced(result, sentence, made), sentence, kept, caret };
        this.states = [...states, state];
        this.at = states.length;
        this.show(state);
        const unknown = made.hypotheses[0].unknown_words.map((word) => `“${word}”`).join(", ");
        if (unknown) this.onError(`The network does not know ${unknown}: ${UNKNOWN}`);
      }
      ui.status.textContent = `Translation: ${this.state.result.text}`;
    } catch (error) {
      if (error.name !== "AbortError") this.onError(error.message);
    }
  }

  show(state, sentence = state.sentence) {
    const { field, view } = this;
    this.onError("");
    ui.undo.hidden = !this.at;
    const draft = field.hidden ? undefined : this.layout().value;
    view.steer({ ...state, sentence }, draft);
    if (!field.hidden) {
      field.value = draft;
      field.setSelectionRange(state.caret, state.caret);
    } else if (document.activeElement === document.body) view.word()?.focus();
  }

  move(by) {
    if (!this.view.result) return;
    const { sentence } = this.state;
    if (!this.states[this.at + by]) return;
    this.running?.abort();
    this.at += by;
    this.show(this.state, by < 0 ? sentence : this.state.sentence);
  }

  pressed(event) {
    const { field } = this;
    if (event.isComposing) return;
    const next = /^\s*\S+/u.exec(field.value.slice(field.selectionEnd));
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
    const { inside } = this.view;
    const control = event.ctrlKey || event.metaKey;
    const word = target.id === "inside" ? inside.opener : target.closest(".word");
    if (control && /^[zy]$/iu.test(key)) this.move(key === "y" || event.shiftKey ? 1 : -1);
    else if (word && key === "Escape") inside.word ? inside.close() : this.move(-this.at);
    else if (word && /^\S$/u.test(key) && !control && !event.altKey) {
      this.open(Number(word.dataset.begin), key);
    } else return;
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

function replaced(result, number, made) {
  const [begin, end] = located(result)[number];
  const text = result.text.slice(0, begin) + made.hypotheses[0].text + result.text.slice(end);
  return { ...result, text, sentences: result.sentences.with(number, made) };
}
