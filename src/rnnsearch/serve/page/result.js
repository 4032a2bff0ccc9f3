// One translation on the page: its words as they come, the steps, lines and matrix, the n-best
// list.

import { difference } from "./difference.js";
import { button, element, fill, percent, said, span, strongest, ui, word } from "./elements.js";
import { Lines } from "./lines.js";
import { Matrix } from "./matrix.js";

const PACE = 260; // milliseconds from word to word when it goes slowly
const NOTHING = { sourceTokens: [], tokens: [], alignment: [] };
const NEAR = 8; // characters between two words of a text, at most, but for white space
const UNSURE = 0.4; // as evaluation/confidence.py has it

export class ResultView {
  /** inside: the panel that opens below a word, an Inside. onChange(): something else is shown.
   *  translated(): translates the same text again, here. */
  constructor(inside, { onChange, translated }) {
    Object.assign(this, { inside, onChange, translated, range: ui.step });
    this.lines = new Lines((i) => this.goTo(i));
    this.matrix = new Matrix(ui.matrix, ui.value, (i) => this.goTo(i));
    ui.output.onkeydown = (event) => this.moved(event);
    this.range.oninput = () => this.goTo(Number(this.range.value) - 1);
    ui.before.onclick = () => this.goTo(this.step - 1);
    ui.after.onclick = () => this.goTo(this.step + 1);
    ui.replay.onclick = () => this.replay();
    ui.copy.onclick = () => copy(ui.copy, ui.output);
    this.clear();
  }

  clear() {
    this.halt();
    Object.assign(this, { result: null, sentence: 0, rank: 0, step: -1, latest: null });
    this.draft = undefined;
    const { translation, others, lookInside, unsure } = ui;
    for (const one of [translation, others, lookInside, unsure]) one.hidden = true;
    this.inside.close(false);
    this.mirror("");
    ui.output.inert = false;
  }

  /** Shows the words so far of a sentence that is being translated, and their alignment. */
  grow(words, slowly) {
    if (this.latest && words.sentence !== this.latest.sentence) {
      if (slowly) return; // the first sentence is still being shown; the others wait for its end
      this.step = -1;
    }
    this.latest = { ...words, sourceTokens: words.source_tokens };
    ui.translation.hidden = false;
    if (!slowly) {
      this.step = words.tokens.length - 1;
      this.draw();
    } else if (!this.playing) this.play();
  }

  finish(result, slowly) {
    this.result = result;
    if (!result.sentences.length) return;
    ui.translation.hidden = false;
    this.latest = null;
    this.list();
    const last = this.shown.tokens.length - 1;
    if (!slowly || this.step >= last) this.goTo(last);
    else if (!this.playing) this.play();
    this.alternatives();
  }

  /** Returns the hypothesis on the page: the chosen one, or the best so far. */
  get shown() {
    if (!this.result) return this.latest ?? NOTHING;
    const one = this.result.sentences[this.sentence];
    return { sourceTokens: one.source_tokens, ...one.hypotheses[this.rank] };
  }

  /** Shows a steered translation; the words that changed are marked for a moment. draft: the text
   *  as it is being typed. */
  steer({ result, sentence }, draft) {
    const { tokens: before } = this.result.sentences[sentence].hypotheses[0];
    this.halt();
    Object.assign(this, { result, sentence, rank: 0, draft });
    const [begin, end] = difference(before, this.shown.tokens);
    if (begin < end) this.step = begin;
    this.list();
    this.alternatives();
    this.draw();
    ui.output.inert = draft !== undefined;
    for (let token = begin; token < end; token++) this.word(token)?.classList.add("changed");
  }

  mirror(text) {
    this.written = "";
    ui.output.textContent = text;
  }

  word(token = this.step) {
    return ui.output.querySelector(`[data-word="${this.sentence}.${token}"]`);
  }

  play() {
    this.playing = true;
    const more = this.step + 1 < this.shown.tokens.length;
    if (!more && this.result) return this.goTo(this.step);
    if (more) {
      this.step += 1;
      this.draw();
    }
    this.timer = setTimeout(() => this.play(), PACE);
  }

  halt() {
    clearTimeout(this.timer);
    this.playing = false;
  }

  replay() {
    this.halt();
    this.step = -1;
    this.play();
  }

  goTo(step) {
    const last = this.shown.tokens.length - 1;
    this.halt();
    if (last >= 0) this.step = Math.min(Math.max(step, 0), last);
    this.draw();
    if (this.result) this.onChange();
  }

  draw() {
    const { shown } = this;
    const { tokens, sourceTokens, alignment } = shown;
    const last = tokens.length - 1;
    const step = Math.min(this.step, last);
    const end = (this.playing || !this.result ? step : last) + 1;
    this.output(shown, end, step);
    const rows = { tokens: tokens.slice(0, end), alignment: alignment.slice(0, end) };
    this.lines.show({ sourceTokens, ...rows, step });
    this.matrix.show({ sourceTokens, ...rows, step });
    ui.before.disabled = step <= 0;
    ui.after.disabled = step >= last;
    ui.replay.disabled = last < 0 || this.playing;
    const row = alignment[step] ?? [];
    const looked = row.some((weight) => weight > 0)
      ? `it looked at ${said(row, sourceTokens)}.`
      : "it had looked at nothing yet.";
    const text = alignment[step]
      ? `Step ${step + 1} of ${last + 1}: when it wrote “${tokens[step]}”, ${looked}`
      : "There is no word to show.";
    ui.stepSaid.textContent = this.result ? text : `Step ${step + 1}: ${looked}`;
    const range = { max: Math.max(1, last + 1), value: step + 1, disabled: last < 1 };
    Object.assign(this.range, { ...range, ariaValueText: text });
    this.bars(row, sourceTokens);
  }

  /** Shows the words before `end`, the one of `step` marked; the whole text once it is there. */
  output(shown, end, step) {
    const output = ui.output;
    if (this.result && !this.playing) {
      const several = this.result.sentences.length > 1 && this.rank === 0;
      const text = this.draft ?? (several ? this.result.text : shown.text);
      const key = JSON.stringify([several || this.sentence, this.rank, text]);
      if (key === this.written) return; // its words may have the focus, and a panel
      this.written = key;
      this.inside.close(false);
      output.replaceChildren(...this.words(text, shown, several));
      ui.lookInside.hidden = !shown.tokens.length;
    } else {
      this.written = "";
      const words = shown.tokens.slice(0, end).map((text, i) => confident(text, shown, i));
      words[step]?.classList.add("now");
      output.replaceChildren(...words.flatMap((one) => [one, " "]));
    }
    ui.unsure.hidden = !output.querySelector(".unsure");
  }

  /** Returns the words of a text and the text between them. */
  words(text, shown, several) {
    const found = [];
    let end = 0;
    const read = plain(text);
    const best = this.result.sentences.map((one) => one.hypotheses[0]);
    for (const [place, hypothesis] of (several ? best : [shown]).entries()) {
      const sentence = several ? place : this.sentence;
      let [start, most] = [-1, NEAR];
      hypothesis.tokens.forEach((own, token) => {
        const from = end + read.slice(end).search(/\S|$/u);
        const begin = read.indexOf(plain(own), from);
        if (begin < 0 || begin > from + most) return (most += own.length + 1); // written otherwise
        most = NEAR;
        const made = confident(text.slice(begin, begin + own.length), hypothesis, token);
        if (start < 0) start = begin;
        const before = text.slice(start, begin);
        this.opens(made, { sentence, hypothesis, token, begin, before }, !found.length);
        found.push(text.slice(end, begin), made);
        end = begin + own.length;
      });
    }
    return [...found, text.slice(end)];
  }

  /** Makes a word a button that opens the inside of its step; one of them is a stop of the Tab key,
   *  the arrow keys go on. */
  opens(made, at, first) {
    const { sentence, token, begin } = at;
    made.classList.add("word");
    Object.assign(made.dataset, { word: `${sentence}.${token}`, begin });
    Object.assign(made, { role: "button", tabIndex: first ? 0 : -1, ariaExpanded: false });
    made.setAttribute("aria-controls", "inside");
    made.onclick = async () => {
      if (this.result.brought) return this.openAgain(made);
      if (made.ariaExpanded === "true") return this.inside.close();
      if (sentence === this.sentence) this.goTo(token);
      const { sentences, beam = 5 } = this.result;
      this.inside.open({ ...at, line: sentences[sentence].source, beam }, made);
    };
    made.onfocus = () => {
      for (const one of ui.output.querySelectorAll("[tabindex='0']")) one.tabIndex = -1;
      made.tabIndex = 0;
    };
  }

  /** Translates the text here, because no engine knows the steps of a translation that came with
   *  the page; opens the same word. */
  async openAgain(made) {
    const place = wordsOf().indexOf(made);
    await this.translated();
    wordsOf()[place]?.click();
  }

  moved(event) {
    const words = wordsOf();
    const at = words.indexOf(document.activeElement);
    if (at < 0) return;
    const ends = { Home: 0, End: words.length - 1 };
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, ...ends }[event.key];
    if (to !== undefined) words[to]?.focus();
    else if (event.key === "Enter" || event.key === " ") words[at].click();
    else return;
    event.preventDefault();
  }

  bars(row, words) {
    const bars = strongest(row).map(([place, weight]) => {
      const number = span("number", weight.toFixed(2));
      return element("li", {}, word(words[place]), fill(span("bar"), weight), number);
    });
    const list = element("ul", { ariaLabel: "The largest weights of this step" }, ...bars);
    ui.weights.replaceChildren(...(bars.length ? [list] : []));
  }

  list() {
    const { sentences } = this.result;
    ui.sentences.hidden = sentences.length < 2;
    ui.sentences.replaceChildren(
      ...sentences.map(({ source: title }, number) => {
        const textContent = `Sentence ${number + 1}`;
        const ariaPressed = number === this.sentence;
        return button(() => this.choose(number, 0), { textContent, title, ariaPressed });
      }),
    );
  }

  choose(sentence, rank) {
    Object.assign(this, { sentence, rank });
    [...ui.sentences.children].forEach((one, number) => {
      one.ariaPressed = number === sentence;
    });
    this.alternatives();
    this.goTo(this.shown.tokens.length - 1);
  }

  alternatives() {
    const { hypotheses } = this.result.sentences[this.sentence];
    const items = hypotheses.map(({ text, score }, rank) => {
      const choose = () => {
        this.choose(this.sentence, rank);
        ui.nbest.children[rank].firstChild.focus();
      };
      const parts = [word(text || "(nothing)"), span("number", score.toFixed(2))];
      return element("li", {}, button(choose, { ariaPressed: rank === this.rank }, ...parts));
    });
    ui.others.hidden = false;
    ui.nbest.replaceChildren(...items);
  }
}

/** As `_PLAIN` of serve/placing.py. */
const plain = (text) => text.replace(/[’`´]/gu, "'").replace(/[\u2060\u00a0\u202f]/gu, " ");

const wordsOf = () => [...ui.output.querySelectorAll(".word")];

/** Returns a word of a translation, shaded if the network is unsure of it. */
function confident(textContent, { confidence }, place) {
  const sure = confidence?.[place] ?? 1;
  if (sure >= UNSURE) return span("", textContent);
  return Object.assign(span("unsure", textContent), { title: `unsure (${percent(sure)})` });
}

async function copy(pressed, { textContent }) {
  try {
    await navigator.clipboard.writeText(textContent);
    pressed.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(ui.output);
    pressed.textContent = "Selected: press Ctrl+C";
  }
  setTimeout(() => (pressed.textContent = "Copy"), 2000);
}
