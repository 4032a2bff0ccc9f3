// One translation on the page: its words as they come, the steps, lines and matrix, the n-best list.

import { difference } from "./difference.js";
import { confidentWord, element, find, percent, said, strongest } from "./elements.js";
import { Lines } from "./lines.js";
import { Matrix } from "./matrix.js";

const PACE = 260; // milliseconds from word to word when it goes slowly
const NOTHING = { sourceTokens: [], tokens: [], alignment: [] };

export class ResultView {
  /** inside: the panel that opens below a word, an Inside. onChange(): something else is shown. translated(): translates the same text again, here. */
  constructor(inside, { onChange, translated }) {
    Object.assign(this, { inside, onChange, translated });
    find("output").addEventListener("keydown", (event) => this.moved(event));
    this.lines = new Lines(find("lines"), (i) => this.goTo(i));
    this.matrix = new Matrix(find("matrix"), find("value"), (i) => this.goTo(i));
    this.range = find("step");
    this.range.addEventListener("input", () => this.goTo(Number(this.range.value) - 1));
    find("before").addEventListener("click", () => this.goTo(this.step - 1));
    find("after").addEventListener("click", () => this.goTo(this.step + 1));
    find("replay").addEventListener("click", () => this.replay());
    find("copy").addEventListener("click", () => this.copy());
    this.clear();
  }

  clear() {
    clearTimeout(this.timer);
    Object.assign(this, { result: null, sentence: 0, rank: 0, step: -1, latest: null, playing: false, slowly: false, timer: 0, draft: undefined });
    for (const id of ["translation", "others"]) find(id).hidden = true;
    this.inside.close(false);
    this.mirror("");
    find("output").inert = false;
    find("look-inside").hidden = true;
    find("unsure").hidden = true;
  }

  /** Shows the words so far of a sentence that is being translated, and their alignment. */
  grow(words, slowly) {
    this.slowly = slowly;
    if (this.latest && words.sentence !== this.latest.sentence) {
      if (slowly) return; // the first sentence is still being shown; the others are there when it is done
      this.step = -1;
    }
    this.latest = { ...words, sourceTokens: words.source_tokens };
    find("translation").hidden = false;
    if (!slowly) {
      this.step = words.tokens.length - 1;
      this.draw(this.latest);
    } else if (!this.playing) this.play();
  }

  /** Shows the whole result. */
  finish(result, slowly) {
    this.result = result;
    this.slowly = slowly;
    if (!result.sentences.length) return;
    find("translation").hidden = false;
    this.latest = null;
    this.list();
    if (slowly && this.sentence === 0 && this.step < this.shown.tokens.length - 1) {
      if (!this.playing) this.play();
    } else {
      this.stop();
      this.goTo(this.shown.tokens.length - 1);
    }
    this.alternatives();
  }

  /** Returns the hypothesis on the page: the chosen one, or the best so far. */
  get shown() {
    if (!this.result) return this.latest ?? NOTHING;
    const one = this.result.sentences[this.sentence];
    return { sourceTokens: one.source_tokens, ...one.hypotheses[this.rank] };
  }

  /** Shows a steered translation; the words that changed are marked for a moment. draft: the text as it is being typed. */
  steer({ result, sentence }, draft) {
    const { tokens: before } = this.result.sentences[sentence].hypotheses[0];
    Object.assign(this, { result, sentence, rank: 0, draft, playing: false });
    clearTimeout(this.timer);
    const [begin, end] = difference(before, this.shown.tokens);
    if (begin < end) this.step = begin;
    this.list();
    this.alternatives();
    this.draw(this.shown);
    find("output").inert = draft !== undefined;
    for (let token = begin; token < end; token++) this.word(token)?.classList.add("changed");
  }

  /** Shows a text that is being typed, until its translation comes. */
  mirror(text) {
    this.written = "";
    find("output").textContent = text;
  }

  /** Returns the element of a word of the chosen sentence. */
  word(token = this.step) {
    return find("output").querySelector(`[data-word="${this.sentence}.${token}"]`);
  }

  play() {
    this.playing = true;
    const more = this.step + 1 < this.shown.tokens.length;
    if (more) {
      this.step += 1;
      this.draw(this.shown);
    }
    if (more || !this.result) this.timer = setTimeout(() => this.play(), PACE);
    else this.stop();
  }

  stop() {
    clearTimeout(this.timer);
    this.playing = false;
    if (!this.result) return;
    this.draw(this.shown);
    this.onChange();
  }

  replay() {
    clearTimeout(this.timer);
    this.step = -1;
    this.play();
  }

  goTo(step) {
    const last = this.shown.tokens.length - 1;
    if (last < 0) return this.draw(this.shown);
    clearTimeout(this.timer);
    this.playing = false;
    this.step = Math.min(Math.max(step, 0), last);
    this.draw(this.shown);
    if (this.result) this.onChange();
  }

  draw(shown) {
    const { tokens, sourceTokens, alignment } = shown;
    const last = tokens.length - 1;
    const step = Math.min(this.step, last);
    const rest = this.playing || !this.result;
    this.output(shown, rest ? step : last, step);
    const drawn = rest ? { sourceTokens, tokens: tokens.slice(0, step + 1), alignment: alignment.slice(0, step + 1), step } : { sourceTokens, tokens, alignment, step };
    this.lines.show(drawn);
    this.matrix.show(drawn);
    Object.assign(this.range, { max: Math.max(1, last + 1), value: step + 1, disabled: last < 1 });
    find("before").disabled = step <= 0;
    find("after").disabled = step >= last;
    find("replay").disabled = last < 0 || this.playing;
    const row = alignment[step];
    const looked = row?.some((weight) => weight > 0) ? `it looked at ${said(row, sourceTokens)}` : "it had looked at nothing yet";
    const text = row ? `Step ${step + 1} of ${last + 1}: when it wrote “${tokens[step]}”, ${looked}.` : "There is no word to show.";
    find("step-said").textContent = rest && !this.result ? `Step ${step + 1}: ${looked}.` : text;
    this.range.setAttribute("aria-valuetext", text);
    this.bars(row ?? [], sourceTokens);
  }

  /** Shows the words up to `until`, the one of `step` marked; the whole text once it is there. */
  output(shown, until, step) {
    const output = find("output");
    if (this.result && !this.playing) {
      const several = this.result.sentences.length > 1 && this.rank === 0;
      const hypotheses = several ? this.result.sentences.map((one) => one.hypotheses[0]) : [shown];
      const text = this.draft ?? (several ? this.result.text : shown.text);
      const key = JSON.stringify([several || this.sentence, this.rank, text]);
      if (key === this.written) return; // its words may have the focus, and a panel
      this.written = key;
      this.inside.close(false);
      output.replaceChildren(...this.words(text, hypotheses, several));
      find("look-inside").hidden = !shown.tokens.length;
    } else {
      this.written = "";
      const words = shown.tokens.slice(0, until + 1).map((word, i) => confidentWord(word, shown.confidence?.[i]));
      words[step]?.classList.add("now");
      output.replaceChildren(...words.flatMap((word) => [word, " "]));
    }
    find("unsure").hidden = !output.querySelector(".unsure");
  }

  /** Returns the words of a text, in their places, and the text between them. */
  words(text, hypotheses, several) {
    const found = [];
    let end = 0;
    for (const [place, hypothesis] of hypotheses.entries()) {
      const { tokens, confidence } = hypothesis;
      let start = -1;
      tokens.forEach((word, i) => {
        const begin = text.indexOf(word, end);
        if (begin < 0) return; // the rules of the language have joined it with another one
        const made = confidentWord(word, confidence?.[i]);
        if (start < 0) start = begin;
        const at = { sentence: several ? place : this.sentence, hypothesis, token: i, begin, before: text.slice(start, begin) };
        this.opens(made, at, !found.length);
        found.push(text.slice(end, begin), made);
        end = begin + word.length;
      });
    }
    return [...found, text.slice(end)];
  }

  /** Makes a word a button that opens the inside of its step; one of them is a stop of the Tab key, the arrow keys go on. */
  opens(word, at, first) {
    const { sentence, token } = at;
    word.classList.add("word");
    Object.assign(word.dataset, { word: `${sentence}.${token}`, begin: at.begin });
    for (const [name, value] of Object.entries({ role: "button", tabindex: first ? 0 : -1, "aria-expanded": false, "aria-controls": "inside" })) word.setAttribute(name, value);
    word.addEventListener("click", async () => {
      if (this.result.brought) return this.openAgain([...find("output").querySelectorAll(".word")].indexOf(word));
      if (word.getAttribute("aria-expanded") === "true") return this.inside.close();
      if (sentence === this.sentence) this.goTo(token);
      this.inside.open({ ...at, line: this.result.sentences[sentence].source, beam: this.result.beam ?? 5 }, word);
    });
    word.addEventListener("focus", () => {
      find("output").querySelectorAll("[tabindex='0']").forEach((one) => (one.tabIndex = -1));
      word.tabIndex = 0;
    });
  }

  /** Translates the text here, because no engine knows the steps of a translation that came with the page; opens the same word. */
  async openAgain(place) {
    await this.translated();
    find("output").querySelectorAll(".word")[place]?.click();
  }

  moved(event) {
    const words = [...find("output").querySelectorAll(".word")];
    const at = words.indexOf(document.activeElement);
    if (at < 0) return;
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: words.length - 1 }[event.key];
    if (to !== undefined) words[to]?.focus();
    else if (event.key === "Enter" || event.key === " ") words[at].click();
    else return;
    event.preventDefault();
  }

  bars(row, words) {
    const bars = strongest(row).map(([place, weight]) => {
      const bar = element("span", { className: "bar" });
      bar.style.setProperty("--weight", percent(weight).replace(" ", ""));
      return element("li", {}, element("span", { dir: "auto", textContent: words[place] }), bar, element("span", { className: "number", textContent: weight.toFixed(2) }));
    });
    find("weights").replaceChildren(...(bars.length ? [element("ul", { "aria-label": "The largest weights of this step" }, ...bars)] : []));
  }

  /** Shows buttons for the sentences of a longer text. */
  list() {
    const many = this.result.sentences.length > 1;
    find("sentences").hidden = !many;
    find("sentences").replaceChildren(
      ...this.result.sentences.map((one, number) => {
        const button = element("button", { type: "button", textContent: `Sentence ${number + 1}`, title: one.source });
        button.setAttribute("aria-pressed", number === this.sentence);
        button.addEventListener("click", () => this.choose(number, 0));
        return button;
      }),
    );
  }

  choose(sentence, rank) {
    Object.assign(this, { sentence, rank });
    [...find("sentences").children].forEach((button, number) => button.setAttribute("aria-pressed", number === sentence));
    this.alternatives();
    this.goTo(this.shown.tokens.length - 1);
  }

  alternatives() {
    const { hypotheses } = this.result.sentences[this.sentence];
    find("others").hidden = false;
    find("nbest").replaceChildren(
      ...hypotheses.map((one, rank) => {
        const text = element("span", { dir: "auto", textContent: one.text || "(nothing)" });
        const button = element("button", { type: "button" }, text, element("span", { className: "number", textContent: one.score.toFixed(2) }));
        button.setAttribute("aria-pressed", rank === this.rank);
        button.addEventListener("click", () => {
          this.choose(this.sentence, rank);
          find("nbest").children[rank].firstChild.focus();
        });
        return element("li", {}, button);
      }),
    );
  }

  async copy() {
    const button = find("copy");
    try {
      await navigator.clipboard.writeText(find("output").textContent);
      button.textContent = "Copied";
    } catch {
      const range = document.createRange();
      range.selectNodeContents(find("output"));
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      button.textContent = "Selected: press Ctrl+C";
    }
    setTimeout(() => (button.textContent = "Copy"), 2000);
  }
}
