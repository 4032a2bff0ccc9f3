// The alignment matrix of the paper's Figure 3, as a table: one tab stop, and the arrow keys from cell to cell.

import { element } from "./elements.js";

const MOVES = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

export class Matrix {
  /** place: an element; value: where the value of a cell is said; onRow(i): a cell of this row is pointed at. */
  constructor(place, value, onRow) {
    Object.assign(this, { place, value, onRow, at: [0, 0] });
    place.addEventListener("keydown", (event) => this.pressed(event));
  }

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
      [...row.querySelectorAll("td")].forEach((cell, j) => {
        const weight = alignment[i][j];
        cell.style.setProperty("--grey", Math.round(255 * weight));
        cell.setAttribute("aria-label", this.said(i, j));
      });
    });
  }

  build() {
    const { sourceTokens, tokens } = this.shown;
    const heads = sourceTokens.map((word) => element("th", { scope: "col" }, element("span", { dir: "auto", textContent: word })));
    this.rows = tokens.map((word, i) =>
      element("tr", {}, element("th", { scope: "row", dir: "auto", textContent: word }), ...sourceTokens.map((_, j) => this.cell(i, j))),
    );
    const table = element(
      "table",
      { role: "grid" },
      element("caption", { className: "hidden", textContent: "Attention weights: rows are words of the translation, columns words of the source" }),
      element("thead", {}, element("tr", {}, element("td", {}), ...heads)),
      element("tbody", {}, ...this.rows),
    );
    this.at = [0, 0];
    this.place.style.setProperty("--columns", sourceTokens.length);
    this.place.replaceChildren(table);
    this.value.textContent = "";
  }

  cell(i, j) {
    const cell = element("td", { role: "gridcell", tabIndex: i || j ? -1 : 0 });
    cell.addEventListener("pointerenter", () => this.point(i, j));
    cell.addEventListener("click", () => cell.focus());
    cell.addEventListener("focus", () => {
      this.find(...this.at).tabIndex = -1;
      this.at = [i, j];
      cell.tabIndex = 0;
      this.point(i, j);
    });
    return cell;
  }

  find(i, j) {
    return this.rows[i].querySelectorAll("td")[j];
  }

  said(i, j) {
    const { sourceTokens, tokens, alignment } = this.shown;
    return `${tokens[i]} ← ${sourceTokens[j]}: ${alignment[i][j].toFixed(2)}`;
  }

  point(i, j) {
    this.value.textContent = this.said(i, j);
    this.onRow(i);
  }

  pressed(event) {
    const move = MOVES[event.key];
    if (!move) return;
    event.preventDefault();
    const { sourceTokens, tokens } = this.shown;
    const i = Math.min(Math.max(this.at[0] + move[0], 0), tokens.length - 1);
    const j = Math.min(Math.max(this.at[1] + move[1], 0), sourceTokens.length - 1);
    this.find(i, j).focus();
  }
}
