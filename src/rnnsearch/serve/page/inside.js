// A panel below a word of the translation: other words to choose from, and the inside of the step that wrote it, which the visitor can also make
// look elsewhere.

import { difference } from "./difference.js";
import { element, percent, shape } from "./elements.js";

const UNCHANGED = { temperature: 1, only: null, blanked: [] };
const NAMES = { energies: "It compares", context: "It reads a mixture", gates: "It remembers and forgets", layer: "The larger of two wins", words: "It chooses a word" };
const variable = (name, index) => element("var", {}, name, ...(index ? [element("sub", { textContent: index })] : []));

export class Inside {
  /** place: the panel, an element. ask(question): what engine/inside.js answers; null where nothing can look inside. choices(line, before): the
   *  likeliest words. choose(word, text): the visitor wants this text instead of the word. */
  constructor(place, { ask, choices, choose }) {
    Object.assign(this, { place, ask, choices, choose, word: null, busy: false });
    place.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      this.close();
    });
  }

  /** word: {line, hypothesis, token, beam, sentence, before: the text before it}. opener: its element, which the panel opens below. */
  open(word, opener) {
    this.close(false);
    Object.assign(this, { word, opener, change: UNCHANGED, found: null, offered: element("div", { className: "offered", role: "group", "aria-label": "Other words here" }) });
    opener.setAttribute("aria-expanded", "true");
    this.place.hidden = false;
    const steps = word.hypothesis.steps?.[word.token];
    this.offer(word);
    if (!this.ask) this.excuse(`Instead of “${opener.textContent}”:`);
    else if (steps?.length) this.goTo(steps[0]);
    else this.excuse(steps ? "No step of the network wrote this word: it is a copy from your sentence." : "This sentence is long and was translated in parts: the inside of a step is shown for shorter ones.");
    this.notch();
    this.place.focus({ preventScroll: true });
    this.place.scrollIntoView({ block: "nearest" });
  }

  /** Offers the likeliest words at this place. */
  async offer(word) {
    const { offered } = this;
    const found = await this.choices(word.line, word.before).catch((error) => offered.append(error.message));
    if (!Array.isArray(found)) return;
    const buttons = found.map(({ word: text, probability }) => {
      const button = element("button", { type: "button" }, element("bdi", { textContent: text }), " ", element("span", { className: "number dim", textContent: percent(probability) }));
      button.setAttribute("aria-pressed", text === word.hypothesis.tokens[word.token]);
      button.addEventListener("click", () => this.choose(word, text));
      return button;
    });
    offered.replaceChildren(...buttons);
  }

  close(focus = true) {
    if (!this.word) return;
    this.opener.setAttribute("aria-expanded", "false");
    this.word = null;
    this.place.hidden = true;
    this.place.replaceChildren();
    if (focus) this.opener.focus();
  }

  /** Puts the panel's notch below the middle of the word. */
  notch() {
    const box = this.opener.getClientRects()[0];
    const middle = box.left + box.width / 2 - this.place.getBoundingClientRect().left;
    this.place.style.setProperty("--notch", `${Math.round(middle)}px`);
  }

  excuse(text) {
    this.place.replaceChildren(this.header(element("h3", { textContent: text })), this.offered);
  }

  goTo(step) {
    Object.assign(this, { step, change: UNCHANGED });
    this.build();
    this.refresh();
  }

  alter(change) {
    this.change = { ...this.change, ...change };
    this.refresh();
  }

  undo() {
    this.range.value = 0;
    this.range.dispatchEvent(new Event("input"));
    this.alter(UNCHANGED);
    this.place.focus({ preventScroll: true }); // the button goes
  }

  get altered() {
    const { temperature, only, blanked } = this.change;
    return temperature !== 1 || only !== null || blanked.length > 0;
  }

  /** Asks the engine; while it works, only the latest wish waits. */
  async refresh() {
    this.again = true;
    if (this.busy) return;
    this.busy = true;
    try {
      while (this.again && this.word) {
        this.again = false;
        const { word, step } = this;
        const { line, hypothesis, beam } = word;
        const found = await this.ask({ line, ids: hypothesis.ids, step, beam, change: this.altered ? this.change : null });
        if (word === this.word && step === this.step) this.show(found);
      }
    } catch (error) {
      if (this.word) this.excuse(error.message);
    } finally {
      this.busy = false;
    }
  }

  header(...content) {
    const close = element("button", { type: "button", className: "close", "aria-label": "Close", title: "Close (Escape)", textContent: "✕" });
    close.addEventListener("click", () => this.close());
    return element("div", { className: "heading" }, element("div", {}, ...content), close);
  }

  build() {
    const { hypothesis, token } = this.word;
    const steps = hypothesis.steps[token];
    this.title = element("h3", { textContent: "Inside a step" });
    this.chips = element("span", { className: "chips", role: "group", "aria-label": "Subwords of this word" });
    this.before = element("p", { className: "note" });
    this.onward = element("div", { className: "onward", "aria-live": "polite" });
    this.reset = element("button", { type: "button", textContent: "Undo" });
    this.reset.addEventListener("click", () => this.undo());
    const step = (number, name, formula, text, ...rest) =>
      element("section", {}, element("h4", {}, `${number}. ${NAMES[name]} `, element("span", { className: "formula" }, ...formula)), element("p", { className: "note", textContent: text }), (this[name] = element("div", { className: name })), ...rest);
    const [e, s, h, c, a] = [variable("e", "ij"), variable("s", "i−1"), variable("h", "j"), variable("c", "i"), variable("α", "ij")];
    this.place.replaceChildren(
      this.header(this.offered), // first, so that nothing that comes later moves it away from a finger
      element("div", {}, this.title, this.chips, this.before),
      element("div", { className: "what-if" }, this.onward, this.reset),
      element(
        "div",
        { className: "rooms" },
        element(
          "div",
          {},
          step(1, "energies", [e, " = ", variable("a"), "(", s, ", ", h, ")"], "An energy says how well a source word fits what comes next; the softmax makes weights of the energies. “only” moves all attention to a word; “hide” blanks it from here on. Or drag over the weights.", this.slider()),
          step(2, "context", [c.cloneNode(true), " = Σ ", a, " ", h.cloneNode(true)], "Each strip is a word's annotation, 64 of its numbers: positive ones are blue, negative ones orange. Their weighted sum is all that this step reads."),
        ),
        element(
          "div",
          {},
          step(3, "gates", [variable("z"), ", ", variable("r")], "The state takes in the word just written. The update gate z says how much of each unit is written anew, the reset gate r how much of the old state the proposal may see."),
          step(4, "layer", ["max(", variable("t", "2k−1"), ", ", variable("t", "2k"), ")"], "State, context and previous word make pairs of numbers. Of each pair the larger goes on: the first in blue, the second in green."),
          step(5, "words", [variable("p"), "(", variable("y", "i"), ")"], "The ten likeliest subwords. The words above are made of them."),
        ),
      ),
    );
    this.chips.replaceChildren(...(steps.length > 1 ? steps.map((one) => this.chip(one)) : []));
    this.rows = null;
  }

  chip(step) {
    const button = element("button", { type: "button", textContent: step + 1 });
    button.dataset.step = step;
    button.setAttribute("aria-pressed", step === this.step);
    button.addEventListener("click", () => {
      this.goTo(step);
      this.chips.querySelector("[aria-pressed=true]").focus();
    });
    return button;
  }

  slider() {
    const range = (this.range = element("input", { type: "range", min: -3, max: 3, step: 0.25, value: 0, id: "inside-temperature" }));
    const said = element("output", { htmlFor: range.id, textContent: "1" });
    range.addEventListener("input", () => {
      const temperature = 2 ** Number(range.value);
      said.textContent = temperature.toPrecision(2);
      range.setAttribute("aria-valuetext", said.textContent);
      this.alter({ temperature });
    });
    this.spread = element("p", { className: "note" });
    return element("div", {}, element("div", { className: "row temperature" }, element("label", { htmlFor: range.id, textContent: "Temperature of the softmax" }), range, said), this.spread);
  }

  show(found) {
    this.found = found;
    this.title.replaceChildren("Inside the step that wrote “", element("bdi", { textContent: found.written[this.step] }), "”");
    for (const chip of this.chips.children) chip.textContent = found.written[chip.dataset.step];
    this.before.textContent = found.before.length ? `Written so far: ${found.before.join(" ")}` : "Nothing is written yet: the state comes from the encoder.";
    this.showEnergies(found);
    this.showContext(found);
    this.showGates(found);
    this.showLayer(found.layer);
    this.showWords(found.likeliest);
    this.showOnward(found.changed);
  }

  showEnergies({ sources, energies, weights }) {
    if (!energies.length) {
      this.energies.replaceChildren(element("p", { textContent: "This word was read from no context: in this decoder variant the first word looks at nothing." }));
      this.energies.parentElement.querySelector(".temperature").hidden = true;
      return;
    }
    this.rows ??= this.table(sources);
    const [low, high] = [Math.min(...energies), Math.max(...energies)];
    const { only, blanked } = this.change;
    this.rows.forEach(({ row, energy, weight, buttons }, j) => {
      fill(energy, (energies[j] - low) / (high - low || 1), energies[j].toFixed(1));
      fill(weight, weights[j], percent(weights[j]));
      row.classList.toggle("blank", blanked.includes(j));
      buttons[0].setAttribute("aria-pressed", only === j);
      buttons[1].setAttribute("aria-pressed", blanked.includes(j));
      buttons[1].disabled = !blanked.includes(j) && (blanked.length === sources.length - 1 || only === j);
      buttons[0].disabled = blanked.includes(j);
    });
    const entropy = weights.reduce((sum, weight) => sum - (weight > 0 ? weight * Math.log(weight) : 0), 0);
    this.spread.textContent = `Spread like equal weights on ${Math.exp(entropy).toFixed(1)} words.`;
  }

  table(sources) {
    const rows = sources.map((word, j) => {
      const [energy, weight] = [bar("energy"), bar("weight")];
      const buttons = ["only", "hide"].map((text, kind) =>
        element("button", { type: "button", textContent: text, "aria-label": kind ? `Hide “${word}” from here on` : `Look only at “${word}”` }),
      );
      buttons[0].addEventListener("click", () => this.alter({ only: this.change.only === j ? null : j }));
      buttons[1].addEventListener("click", () => this.hide(j));
      const drag = (event) => (event.type === "pointerdown" || event.buttons === 1) && !this.change.blanked.includes(j) && this.alter({ only: j });
      weight.addEventListener("pointerdown", drag);
      weight.addEventListener("pointerenter", drag);
      return { row: element("tr", {}, element("th", { scope: "row", dir: "auto", textContent: word }), energy, weight, element("td", {}, ...buttons)), energy, weight, buttons };
    });
    const heads = ["Source", "Energy", "Weight", "What if"].map((text) => element("th", { scope: "col", textContent: text }));
    this.energies.replaceChildren(element("table", {}, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows.map((one) => one.row))));
    return rows;
  }

  hide(j) {
    const { blanked } = this.change;
    this.alter({ blanked: blanked.includes(j) ? blanked.filter((one) => one !== j) : [...blanked, j] });
  }

  showContext({ annotations, context, sources }) {
    const largest = Math.max(1e-6, ...annotations.flatMap((one) => one.strip), ...context.map(Math.abs));
    const line = (name, weight, values, opacity) =>
      element("div", { className: "mixed" }, element("span", { dir: "auto", textContent: name }), element("span", { className: "number", textContent: weight }), strip(values.map((value) => [value > 0 ? "plus" : "minus", (opacity * Math.abs(value)) / largest]), `${name} ${weight}`));
    const shown = annotations.filter((one, place) => one.weight >= 0.01 || !place);
    this.context.replaceChildren(
      ...shown.map((one) => line(sources[one.source], percent(one.weight), one.strip, 0.15 + 0.85 * one.weight)),
      line("context", "= Σ", context, 1),
    );
  }

  showGates({ z, r }) {
    const gate = (name, values, text) =>
      element("div", { className: "mixed" }, element("var", { textContent: name }), element("span", { className: "number", textContent: percent(values.mean) }), strip(values.strip.map((value) => ["plus", value]), `${name}: mean ${percent(values.mean)}`), element("span", { className: "note", textContent: text }));
    this.gates.replaceChildren(
      ...(z
        ? [gate("z", z, `${percent(z.mean)} of the state was written anew`), gate("r", r, `the candidate saw ${percent(r.mean)} of the old state`)]
        : [element("p", { textContent: "No gate has worked yet: the first state is made from the encoder's last backward state." })]),
    );
  }

  showLayer({ pairs, first, size }) {
    const values = pairs.map(([value]) => value);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const text = `The first won in ${first} of ${size} pairs, the second in ${size - first}.`;
    this.layer.replaceChildren(strip(pairs.map(([value, place]) => [place ? "second" : "plus", 0.1 + (0.9 * (value - low)) / (high - low || 1)]), text), element("p", { className: "note", textContent: text }));
  }

  showWords(words) {
    const items = words.map(({ word, p, chosen, rank }) => {
      const box = element("span", { className: "bar" });
      box.style.setProperty("--weight", `${100 * p}%`);
      const number = element("span", { className: "number", textContent: p < 0.001 ? "< 0.1 %" : `${(100 * p).toFixed(1)} %` });
      return element("li", { value: rank, className: chosen ? "chosen" : "" }, element("span", { dir: "auto", textContent: word }), box, number);
    });
    this.words.replaceChildren(element("ol", {}, ...items));
  }

  /** Shows the translation before and after the change; the words that differ are marked. */
  showOnward(changed) {
    this.reset.hidden = !changed;
    if (!changed) return this.onward.replaceChildren(element("p", { className: "note", textContent: "What if? Move the attention to another word, hide one, or turn the temperature: the translation from here on appears here." }));
    const { text } = this.word.hypothesis;
    const words = changed.text.split(" ");
    const [begin, end] = difference(text.split(" "), words);
    const [before, middle, after] = [words.slice(0, begin), words.slice(begin, end), words.slice(end)].map((some) => some.join(" "));
    const marked = [before, " ", ...(middle ? [element("mark", { textContent: middle })] : []), " ", after];
    this.onward.replaceChildren(
      element("p", { className: "note" }, "As it was: ", element("span", { dir: "auto", textContent: text })),
      element("p", { className: "now", dir: "auto" }, ...(text === changed.text ? [text, " ", element("span", { className: "note", textContent: "(the same translation)" })] : marked)),
    );
  }
}

function bar(name) {
  return element("td", { className: name }, element("span", { className: "bar" }), element("span", { className: "number" }));
}

function fill(cell, share, text) {
  cell.firstChild.style.setProperty("--weight", `${100 * share}%`);
  cell.lastChild.textContent = text;
}

/** Draws cells in a row. cells: [[class, opacity]]. */
function strip(cells, name) {
  const drawing = shape("svg", { viewBox: `0 0 ${cells.length} 1`, preserveAspectRatio: "none", role: "img", "aria-label": name, class: "strip" });
  drawing.append(...cells.map(([kind, opacity], k) => shape("rect", { x: k, y: 0, width: 0.9, height: 1, class: kind, "fill-opacity": opacity.toFixed(3) })));
  return drawing;
}
