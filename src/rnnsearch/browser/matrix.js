// The alignment matrix of the paper's Figure 3, as a table: one tab stop, and the arrow keys from cell to cell.

import { element } from "./elements.js";

const MOVES = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -1 / 0], End: [0, 1 / 0] };

export class Matrix {
  /** place: an element; value: where the value of a cell is said; onRow(i): a cell of this row is pointed at; marks(i, j): {class: word} of a cell. */
  constructor(place, value, onRow = () => {}, marks = () => ({})) {
    Object.assign(this, { place, value, onRow, marks, at: [0, 0] });
    place.addEventListener("keydown", (event) => this.pressed(event));
  }

  /** step: the current row; the later ones are shown as not yet written. */
  show({ sourceTokens, tokens, alignment, step }) {
    const key = JSON.stringify([sourceTokens, tokens]);
    this.shown = { sourceTokens, tokens, alignment };
    if (key !== this.key) {
      this.key = key;
      this.build();
    }
    this.rows.forEach((row, i) => {
      row.classList.toggle("current", i === step);
      row.classList.toggle("later", i > step);
      this.cells[i].forEach((cell, j) => {
        cell.style.setProperty("--grey", Math.round(255 * alignment[i][j]));
        cell.setAttribute("aria-label", this.said(i, j));
      });
    });
  }

  build() {
    const { sourceTokens, tokens } = this.shown;
    this.heads = sourceTokens.map((word) => element("th", { scope: "col", title: word }, element("span", { dir: "auto", textContent: word })));
    this.cells = tokens.map((_, i) => sourceTokens.map((_, j) => this.cell(i, j)));
    this.rows = tokens.map((word, i) => element("tr", {}, element("th", { scope: "row", dir: "auto", title: word, textContent: word }), ...this.cells[i]));
    const table = element(
      "table",
      { role: "grid" },
      element("caption", { className: "hidden", textContent: "Attention weights: rows are words of the translation, columns words of the source" }),
      element("thead", {}, element("tr", {}, element("td", {}), ...this.heads)),
      element("tbody", {}, ...this.rows),
    );
    this.at = [0, 0];
    this.place.style.setProperty("--columns", sourceTokens.length);
    this.place.replaceChildren(table);
    this.value.textContent = "";
  }

  cell(i, j) {
    const cell = element("td", { role: "gridcell", tabIndex: i || j ? -1 : 0, className: Object.keys(this.marks(i, j)).join(" ") });
    cell.addEventListener("pointerenter", () => this.point(i, j));
    cell.addEventListener("click", () => cell.focus());
    cell.addEventListener("focus", () => {
      const [before, column] = this.at;
      this.cells[before][column].tabIndex = -1;
      this.at = [i, j];
      cell.tabIndex = 0;
      this.point(i, j);
    });
    return cell;
  }

  said(i, j) {
    const { sourceTokens, tokens, alignment } = this.shown;
    return [`${tokens[i]} ← ${sourceTokens[j]}: ${alignment[i][j].toFixed(2)}`, ...Object.values(this.marks(i, j))].join(", ");
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
    const [i, j] = move.map((by, axis) => Math.max(0, Math.min(this.at[axis] + by, (axis ? this.heads : this.rows).length - 1)));
    this.cells[i][j].focus();
  }
}
