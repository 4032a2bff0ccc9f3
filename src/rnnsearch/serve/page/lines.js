// Both sentences side by side, with lines between their words: the weights as opacity and width.

import { element, percent, said, shape } from "./elements.js";

const FAINTEST = 0.04;

export class Lines {
  /** place: an element. onTarget(i): a word of the translation is pointed at or focused. */
  constructor(place, onTarget) {
    this.place = place;
    this.onTarget = onTarget;
    this.source = element("ol", { "aria-label": "Your sentence" });
    this.target = element("ol", { "aria-label": "Translation" });
    this.drawing = shape("svg", { "aria-hidden": "true" });
    this.key = "";
    place.append(this.source, this.drawing, this.target);
    new ResizeObserver(() => this.draw()).observe(place);
  }

  /** shown: {sourceTokens, tokens, alignment, step}: rows up to `step` are drawn, that of `step` (from 0) stands out. */
  show(shown) {
    const key = JSON.stringify([shown.sourceTokens, shown.tokens]);
    this.shown = shown;
    this.from = null;
    if (key !== this.key) {
      this.key = key;
      this.fill(this.source, shown.sourceTokens, (j) => this.pointSource(j));
      this.fill(this.target, shown.tokens, (i) => this.onTarget(i));
    }
    this.label();
    this.draw();
  }

  fill(list, words, onPoint) {
    list.replaceChildren(
      ...words.map((word, place) => {
        const button = element("button", { type: "button", dir: "auto", textContent: word });
        button.addEventListener("pointerenter", () => onPoint(place));
        button.addEventListener("focus", () => onPoint(place));
        button.addEventListener("click", () => onPoint(place));
        if (list === this.source) for (const name of ["pointerleave", "blur"]) button.addEventListener(name, () => this.pointSource(null));
        return element("li", {}, button);
      }),
    );
  }

  label() {
    const { sourceTokens, tokens, alignment } = this.shown;
    tokens.forEach((word, i) => this.target.children[i].firstChild.setAttribute("aria-label", `“${word}” looked at ${said(alignment[i], sourceTokens)}`));
    sourceTokens.forEach((word, j) => {
      const column = alignment.map((row) => row[j]);
      const readers = column.some((weight) => weight >= 0.05) ? `read by ${said(column, tokens)}` : "hardly read";
      this.source.children[j].firstChild.setAttribute("aria-label", `${word}, ${readers}`);
    });
  }

  pointSource(j) {
    this.from = j;
    this.draw();
  }

  draw() {
    if (!this.shown || !this.place.clientWidth) return;
    const { alignment, tokens, sourceTokens, step } = this.shown;
    const box = this.drawing.getBoundingClientRect();
    const middle = (item) => {
      const own = item.firstChild.getBoundingClientRect();
      return own.top + own.height / 2 - box.top;
    };
    const left = sourceTokens.map((_, j) => middle(this.source.children[j]));
    const right = tokens.map((_, i) => middle(this.target.children[i]));
    const chosen = (i, j) => (this.from === null ? i === step : j === this.from);
    const paths = [];
    alignment.forEach((row, i) => {
      if (i > step) return;
      row.forEach((weight, j) => {
        if (weight < FAINTEST) return;
        const strong = chosen(i, j);
        const half = box.width / 2;
        const path = shape("path", {
          d: `M0 ${left[j]}C${half} ${left[j]} ${half} ${right[i]} ${box.width} ${right[i]}`,
          "stroke-width": 1 + 5 * weight,
          "stroke-opacity": strong ? 0.25 + 0.75 * weight : 0.4 * weight,
          class: strong ? "chosen" : "",
        });
        (strong ? paths.push(path) : paths.unshift(path));
      });
    });
    this.drawing.replaceChildren(...paths);
    this.mark(step, alignment);
  }

  mark(step, alignment) {
    [...this.target.children].forEach((item, i) => {
      const weight = this.from === null ? Number(i === step) : i <= step ? alignment[i][this.from] : 0;
      this.shade(item.firstChild, weight, i > step);
      if (i === step) item.firstChild.setAttribute("aria-current", "step");
      else item.firstChild.removeAttribute("aria-current");
    });
    [...this.source.children].forEach((item, j) => {
      const weight = this.from === null ? (alignment[step]?.[j] ?? 0) : Number(j === this.from);
      this.shade(item.firstChild, weight, false);
      item.firstChild.dataset.weight = this.from === null && weight >= 0.05 ? percent(weight) : "";
    });
  }

  shade(button, weight, later) {
    button.style.setProperty("--weight", `${Math.round(100 * weight)}%`);
    button.classList.toggle("later", later);
  }
}
