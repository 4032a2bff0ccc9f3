// A panel below a word of the translation: other words to choose from, and the inside of the step
// that wrote it, which the visitor can also make look elsewhere.

import { difference } from "./difference.js";
import { button, copyOf, element, fill, percent, shape, span, ui, word } from "./elements.js";

const UNCHANGED = { temperature: 1, only: null, blanked: [] };

export class Inside {
  /** ask(question): what engine/inside.js answers; null where nothing can look inside.
   *  choices(line, before): the likeliest words. choose(word, text): the visitor wants this text
   *  instead of the word. */
  constructor({ ask, choices, choose }) {
    Object.assign(this, { place: ui.inside, ask, choices, choose, word: null, busy: false });
    this.place.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      this.close();
    });
  }

  /** word: {line, hypothesis, token, beam, sentence, before: the text before it}. opener: its
   *  element, which the panel opens below. */
  open(word, opener) {
    this.close(false);
    Object.assign(this, { word, opener });
    const steps = word.hypothesis.steps?.[word.token];
    opener.ariaExpanded = true;
    this.place.hidden = false;
    this.place.replaceChildren(copyOf("panel"));
    this.part(".close").onclick = () => this.close();
    this.offer(word);
    if (!this.ask) this.excuse(heading(`Instead of “${opener.textContent}”:`));
    else if (steps?.length) this.goTo(steps[0]);
    else this.excuse(copyOf(steps ? "copied" : "in-parts"));
    const { left, width } = opener.getClientRects()[0]; // the panel's notch points at its middle
    const notch = Math.round(left + width / 2 - this.place.getBoundingClientRect().left);
    this.place.style.setProperty("--notch", `${notch}px`);
    this.place.focus({ preventScroll: true });
    this.place.scrollIntoView({ block: "nearest" });
  }

  part(selector) {
    return this.place.querySelector(selector);
  }

  async offer(at) {
    const offered = this.part(".offered");
    try {
      const found = await this.choices(at.line, at.before);
      const written = at.hypothesis.tokens[at.token];
      const buttons = found.map(({ word: textContent, probability }) =>
        button(
          () => this.choose(at, textContent),
          { ariaPressed: textContent === written },
          ...[element("bdi", { textContent }), " ", span("number dim", percent(probability))],
        ),
      );
      offered.replaceChildren(...buttons);
    } catch (error) {
      offered.append(error.message);
    }
  }

  close(focus = true) {
    if (!this.word) return;
    this.opener.ariaExpanded = false;
    this.word = null;
    this.place.hidden = true;
    this.place.replaceChildren();
    if (focus) this.opener.focus();
  }

  excuse(title) {
    this.part(".offered").before(title);
    this.part(".step")?.remove();
  }

  goTo(step) {
    Object.assign(this, { step, change: UNCHANGED, rows: null });
    this.part(".step")?.remove();
    this.place.append(copyOf("step-of-a-word"));
    this.part(".undo").onclick = () => this.undo();
    this.part(".temperature input").oninput = ({ target }) => this.heat(target);
    const steps = this.word.hypothesis.steps[this.word.token];
    if (steps.length > 1) this.part(".chips").append(...steps.map((one) => this.chip(one)));
    this.refresh();
  }

  chip(step) {
    const choose = () => {
      this.goTo(step);
      this.part(".chips [aria-pressed=true]").focus();
    };
    return button(choose, { textContent: step + 1, value: step, ariaPressed: step === this.step });
  }

  heat(range) {
    const temperature = 2 ** Number(range.value);
    range.ariaValueText = this.part("output").textContent = temperature.toPrecision(2);
    this.alter({ temperature });
  }

  alter(change) {
    this.change = { ...this.change, ...change };
    this.refresh();
  }

  undo() {
    const range = this.part(".temperature input");
    range.value = 0;
    this.heat(range);
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
        const change = this.altered ? this.change : null;
        const found = await this.ask({ line, ids: hypothesis.ids, step, beam, change });
        if (word === this.word && step === this.step) this.show(found);
      }
    } catch (error) {
      if (this.word) this.excuse(heading(error.message));
    } finally {
      this.busy = false;
    }
  }

  show(found) {
    const { before, written } = found;
    this.part(".written").textContent = written[this.step];
    for (const chip of this.part(".chips").children) chip.textContent = written[chip.value];
    this.part(".so-far").textContent = before.length
      ? `Written so far: ${before.join(" ")}`
      : "Nothing is written yet: the state comes from the encoder.";
    this.showEnergies(found);
    this.showContext(found);
    this.showGates(found);
    this.showLayer(found.layer);
    this.part(".words ol").replaceChildren(...found.likeliest.map(likely));
    this.showOnward(found.changed);
  }

  showEnergies({ sources, energies, weights }) {
    this.part(".energies").hidden = this.part(".temperature").hidden = !energies.length;
    this.part(".no-energies").hidden = energies.length > 0;
    if (!energies.length) return;
    this.rows ??= sources.map((text, j) => this.row(text, j));
    const [low, high] = [Math.min(...energies), Math.max(...energies)];
    const { only, blanked } = this.change;
    this.rows.forEach((row, j) => {
      const [, energy, weight] = row.children;
      const [look, hide] = row.querySelectorAll("button");
      fillCell(energy, (energies[j] - low) / (high - low || 1), energies[j].toFixed(1));
      fillCell(weight, weights[j], percent(weights[j]));
      const blank = blanked.includes(j);
      row.classList.toggle("blank", blank);
      Object.assign(look, { ariaPressed: only === j, disabled: blank });
      const last = blanked.length === sources.length - 1;
      Object.assign(hide, { ariaPressed: blank, disabled: !blank && (last || only === j) });
    });
    const entropy = weights.reduce((sum, p) => sum - (p > 0 ? p * Math.log(p) : 0), 0);
    const spread = Math.exp(entropy).toFixed(1);
    this.part(".spread").textContent = `Spread like equal weights on ${spread} words.`;
  }

  row(text, j) {
    const row = copyOf("energy-row").firstElementChild;
    const [head, , weight] = row.children;
    const [look, hide] = row.querySelectorAll("button");
    head.textContent = text;
    look.ariaLabel = `Look only at “${text}”`;
    look.onclick = () => this.alter({ only: this.change.only === j ? null : j });
    hide.ariaLabel = `Hide “${text}” from here on`;
    hide.onclick = () => {
      const blanked = new Set(this.change.blanked);
      if (!blanked.delete(j)) blanked.add(j);
      this.alter({ blanked: [...blanked] });
    };
    weight.onpointerdown = weight.onpointerenter = ({ type, buttons }) => {
      const drags = type === "pointerdown" || buttons === 1;
      if (drags && !this.change.blanked.includes(j)) this.alter({ only: j });
    };
    this.part(".energies tbody").append(row);
    return row;
  }

  showContext({ annotations, context, sources }) {
    const values = [...annotations.flatMap((one) => one.strip), ...context.map(Math.abs)];
    const largest = Math.max(1e-6, ...values);
    const line = (name, weight, numbers, opacity) => {
      const cell = (one) => [one > 0 ? "plus" : "minus", (opacity * Math.abs(one)) / largest];
      return mixed(word(name), weight, strip(numbers.map(cell), `${name} ${weight}`));
    };
    const shown = annotations.filter((one, place) => one.weight >= 0.01 || !place);
    const lines = shown.map(({ source, weight, strip: numbers }) =>
      line(sources[source], percent(weight), numbers, 0.15 + 0.85 * weight),
    );
    this.part(".context").replaceChildren(...lines, line("context", "= Σ", context, 1));
  }

  showGates({ z, r }) {
    this.part(".no-gates").hidden = Boolean(z);
    if (!z) return this.part(".gates").replaceChildren();
    const gate = (name, { mean, strip: values }, text) => {
      const drawn = strip(values.map((value) => ["plus", value]), `${name}: mean ${percent(mean)}`);
      const called = element("var", { textContent: name });
      return mixed(called, percent(mean), drawn, span("note", text));
    };
    this.part(".gates").replaceChildren(
      gate("z", z, `${percent(z.mean)} of the state was written anew`),
      gate("r", r, `the candidate saw ${percent(r.mean)} of the old state`),
    );
  }

  showLayer({ pairs, first, size }) {
    const values = pairs.map(([value]) => value);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const opacity = (value) => 0.1 + (0.9 * (value - low)) / (high - low || 1);
    const cells = pairs.map(([value, place]) => [place ? "second" : "plus", opacity(value)]);
    const text = `The first won in ${first} of ${size} pairs, the second in ${size - first}.`;
    const note = element("p", { className: "note", textContent: text });
    this.part(".layer").replaceChildren(strip(cells, text), note);
  }

  /** Shows the translation before and after the change; the words that differ are marked. */
  showOnward(changed) {
    this.part(".undo").hidden = !changed;
    this.part(".onward").replaceChildren(copyOf(changed ? "changed" : "unchanged"));
    if (!changed) return;
    const was = this.word.hypothesis.text;
    const words = changed.text.split(" ");
    const [begin, end] = difference(was.split(" "), words);
    const parts = [words.slice(0, begin), words.slice(begin, end), words.slice(end)];
    const [before, middle, after] = parts.map((some) => some.join(" "));
    const marked = middle ? [element("mark", { textContent: middle })] : [];
    this.part(".was").textContent = was;
    this.part(".now").replaceChildren(
      ...(was === changed.text
        ? [was, " ", span("note", "(the same translation)")]
        : [before, " ", ...marked, " ", after]),
    );
  }
}

const heading = (textContent) => element("h3", { textContent });

function likely({ word: text, p, chosen, rank: value }) {
  const number = span("number", p < 0.001 ? "< 0.1 %" : `${(100 * p).toFixed(1)} %`);
  const bar = fill(span("bar"), p);
  return element("li", { value, className: chosen ? "chosen" : "" }, word(text), bar, number);
}

function fillCell(cell, share, text) {
  fill(cell.firstChild, share);
  cell.lastChild.textContent = text;
}

function mixed(name, weight, ...rest) {
  return element("div", { className: "mixed" }, name, span("number", weight), ...rest);
}

/** Draws cells in a row. cells: [[class, opacity]]. */
function strip(cells, name) {
  const size = { viewBox: `0 0 ${cells.length} 1`, preserveAspectRatio: "none" };
  const drawn = cells.map(([kind, opacity], x) => {
    const look = { class: kind, "fill-opacity": opacity.toFixed(3) };
    return shape("rect", { x, y: 0, width: 0.9, height: 1, ...look });
  });
  return shape("svg", { ...size, role: "img", "aria-label": name, class: "strip" }, ...drawn);
}
