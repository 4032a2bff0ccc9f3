// Both sentences side by side, with lines between their words: the weights as opacity and width.

import { button, element, percent, said, shape, ui } from "./elements.js";

const FAINTEST = 0.04;

export class Lines {
  /** onTarget(i): a word of the translation is pointed at or focused. */
  constructor(onTarget) {
    this.place = ui.lines;
    [this.source, this.drawing, this.target] = this.place.children;
    Object.assign(this, { onTarget, key: "" });
    new ResizeObserver(() => this.draw()).observe(this.place);
  }

  /** shown: {sourceTokens, tokens, alignment, step}: rows up to `step` are drawn, that of `step`
   *  (from 0) stands out. */
  show(shown) {
    const key = JSON.stringify([shown.sourceTokens, shown.tokens]);
    Object.assign(this, { shown, from: null });
    if (key !== this.key) {
      this.key = key;
      const leave = () => this.pointSource(null);
      fill(this.source, shown.sourceTokens, (j) => this.pointSource(j), leave);
      fill(this.target, shown.tokens, this.onTarget);
    }
    this.label();
    this.draw();
  }

  label() {
    const { sourceTokens, tokens, alignment } = this.shown;
    const [sources, targets] = this.buttons();
    tokens.forEach((word, i) => {
      targets[i].ariaLabel = `“${word}” looked at ${said(alignment[i], sourceTokens)}`;
    });
    sourceTokens.forEach((word, j) => {
      const column = alignment.map((row) => row[j]);
      const read = column.some((weight) => weight >= 0.05);
      sources[j].ariaLabel = `${word}, ${read ? `read by ${said(column, tokens)}` : "hardly read"}`;
    });
  }

  buttons() {
    return [this.source, this.target].map((list) => [...list.querySelectorAll("button")]);
  }

  pointSource(j) {
    this.from = j;
    this.draw();
  }

  draw() {
    if (!this.shown || !this.place.clientWidth) return;
    const { alignment, step } = this.shown;
    this.mark(step, alignment); // first, because it changes widths
    const { top, width } = this.drawing.getBoundingClientRect();
    const middle = (button) => {
      const box = button.getBoundingClientRect();
      return box.top + box.height / 2 - top;
    };
    const [left, right] = this.buttons().map((side) => side.map(middle));
    const [strong, weak] = [[], []];
    alignment.slice(0, step + 1).forEach((row, i) => {
      row.forEach((weight, j) => {
        if (weight < FAINTEST) return;
        const chosen = this.from === null ? i === step : j === this.from;
        const path = shape("path", {
          d: `M0 ${left[j]}C${width / 2} ${left[j]} ${width / 2} ${right[i]} ${width} ${right[i]}`,
          "stroke-width": 1 + 5 * weight,
          "stroke-opacity": chosen ? 0.25 + 0.75 * weight : 0.4 * weight,
          class: chosen ? "chosen" : "",
        });
        (chosen ? strong : weak).push(path);
      });
    });
    this.drawing.replaceChildren(...weak, ...strong);
  }

  mark(step, alignment) {
    const { from } = this;
    const [sources, targets] = this.buttons();
    targets.forEach((button, i) => {
      const read = i <= step ? alignment[i][from] : 0;
      shade(button, from === null ? Number(i === step) : read);
      button.classList.toggle("later", i > step);
      button.ariaCurrent = i === step ? "step" : null;
    });
    sources.forEach((button, j) => {
      const weight = alignment[step]?.[j] ?? 0;
      shade(button, from === null ? weight : Number(j === from));
      button.dataset.weight = from === null && weight >= 0.05 ? percent(weight) : "";
    });
  }
}

function fill(list, words, onPoint, onLeave = null) {
  const items = words.map((textContent, place) => {
    const point = () => onPoint(place);
    const events = { onpointerenter: point, onfocus: point };
    const ends = { onpointerleave: onLeave, onblur: onLeave };
    return element("li", {}, button(point, { dir: "auto", textContent, ...events, ...ends }));
  });
  list.replaceChildren(...items);
}

const shade = (button, weight) =>
  button.style.setProperty("--weight", `${Math.round(100 * weight)}%`);
