// The alignment matrix of the paper's Figure 3, as a table: one tab stop, and the arrow keys from
// cell to cell.

import { element, word } from "./elements.js";

const MOVES = {
  ...{ ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] },
  ...{ Home: [0, -1 / 0], End: [0, 1 / 0] },
};
const CAPTION =
  "Attention weights: rows are words of the translation, columns words of the source";

export class Matrix {
  /** value: the element where the value of a cell is said; onRow(i): a cell of this row is pointed
   *  at; marks(i, j): {class: word} of a cell. */
  constructor(place, value, onRow = () => {}, marks = () => ({})) {
    Object.assign(this, { place, value, onRow, marks, at: [0, 0] });
    place.addEventListener("keydown", (event) => this.pressed(event));
  }

  /** step: the current row; the later ones are shown as not yet written. */
  show({ sourceTokens, tokens, alignment, step }) {
    const key = JSON.stringify([sourceTokens, tokens]);
    this.shown = { sourceTokens, tokens, alignment };
    if (key !== this.key) this.build();
    this.key = key;
    this.rows.forEach((row, i) => {
      row.classList.toggle("current", i === step);
      row.classList.toggle("later", i > step);
      this.cells[i].forEach((cell, j) => {
        cell.style.setProperty("--grey", Math.round(255 * alignment[i][j]));
        cell.ariaLabel = this.said(i, j);
      });
    });
  }

  build() {
    const { sourceTokens, tokens } = this.shown;
    const head = (scope, text) => {
      const title = text.replaceAll("\u2060", " "); // of a copied word
      return element("th", { scope, title }, word(title));
    };
    this.heads = sourceTokens.map((title) => head("col", title));
    this.cells = tokens.map((_, i) => sourceTokens.map((_, j) => this.cell(i, j)));
    this.rows = tokens.map((title, i) => element("tr", {}, head("row", title), ...this.cells[i]));
    const table = element(
      "table",
      { role: "grid" },
      element("caption", { className: "hidden", textContent: CAPTION }),
      element("thead", {}, element("tr", {}, element("td"), ...this.heads)),
      element("tbody", {}, ...this.rows),
    );
    this.at = [0, 0];
    this.place.style.setProperty("--columns", sourceTokens.length);
    this.place.replaceChildren(table);
    this.value.textContent = "";
  }

  cell(i, j) {
    const focused = ({ target }) => {
      const [row, column] = this.at;
      this.cells[row][column].tabIndex = -1;
      this.at = [i, j];
      target.tabIndex = 0;
      this.point(i, j);
    };
    return element("td", {
      ...{ role: "gridcell", tabIndex: i || j ? -1 : 0, onfocus: focused },
      className: Object.keys(this.marks(i, j)).join(" "),
      onpointerenter: () => this.point(i, j),
      onclick: ({ target }) => target.focus(),
    });
  }

  said(i, j) {
    const { sourceTokens, tokens, alignment } = this.shown;
    const text = `${tokens[i]} ← ${sourceTokens[j]}: ${alignment[i][j].toFixed(2)}`;
    return [text, ...Object.values(this.marks(i, j))].join(", ");
  }

  point(i, j) {
    this.value.textContent = this.said(i, j);
    this.heads.forEach((head, column) => head.classList.toggle("on", column === j));
    this.onRow(i);
  }

  pressed(event) {
    const move = MOVES[event.key];
    if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const last = [this.rows.length - 1, this.heads.length - 1];
    const [i, j] = move.map((by, k) => Math.max(0, Math.min(this.at[k] + by, last[k])));
    this.cells[i][j].focus();
  }
}
