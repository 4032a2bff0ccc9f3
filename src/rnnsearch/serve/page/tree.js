// The search as a tree that grows from step to step.

import { element, percent, shape } from "./elements.js";

const PACE = 450; // milliseconds from step to step
const [COLUMN, ROW, TOP] = [118, 34, 30]; // of the drawing
const LONGEST = 13; // letters of a word

export class Tree {
  /** place: an element. */
  constructor(place) {
    this.place = place;
    this.range = element("input", { type: "range", min: 1, max: 1, value: 1, "aria-label": "Step of the search" });
    this.range.addEventListener("input", () => this.stop(Number(this.range.value)));
    this.play = element("button", { type: "button", textContent: "Watch it grow" });
    this.play.addEventListener("click", () => this.grow());
    this.said = element("p", { className: "said", "aria-live": "polite" });
    this.verdict = element("p", {});
    this.field = element("div", { className: "tree-field", tabIndex: 0, role: "region", "aria-label": "Tree of the search; it can be scrolled" });
    const key = [["best", "the translation"], ["greedy", "beam 1"], ["kept", "kept"], ["lost", "kept, then lost"], ["missed", "just missed the beam"], ["ended", "ended"]];
    const keys = key.map(([kind, text]) => element("li", { className: kind, textContent: text }));
    place.replaceChildren(this.verdict, element("ul", { className: "tree-key", "aria-hidden": "true" }, ...keys), this.field, element("div", { className: "steps" }, this.range, this.play), this.said);
  }

  /** found: what engine/tree.js returns. */
  show(found) {
    this.found = found;
    this.range.max = found.levels.length;
    this.verdict.textContent = verdict(found);
    this.place.hidden = false;
    this.draw();
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) this.stop(found.levels.length);
    else this.grow();
  }

  close() {
    clearTimeout(this.timer);
    this.place.hidden = true;
  }

  stop(step) {
    clearTimeout(this.timer);
    this.goTo(step);
  }

  grow(step = 1) {
    clearTimeout(this.timer);
    if (this.place.hidden) return;
    this.goTo(step);
    if (step < this.found.levels.length) this.timer = setTimeout(() => this.grow(step + 1), PACE);
  }

  /** Shows the first steps; before the last of them nothing is known to be lost. */
  goTo(step) {
    this.range.value = step;
    const level = this.found.levels[step - 1];
    const text = this.tell(step, level);
    this.said.textContent = text;
    this.range.setAttribute("aria-valuetext", text);
    this.columns.forEach((column, i) => column.setAttribute("visibility", i < step ? "visible" : "hidden"));
    this.drawing.querySelectorAll(".lost").forEach((one) => one.classList.toggle("not-yet", Number(one.dataset.step) >= step));
    const right = step * COLUMN + COLUMN / 2 - this.field.clientWidth;
    this.field.scrollLeft = Math.max(0, right);
  }

  tell(step, level) {
    const named = (nodes) => nodes.map((node) => `“${node.word}” ${percent(node.p)}`).join(", ");
    const parts = [["keeps", "kept"], ["ends", "ended"], ["just leaves out", "missed"]].map(([verb, kind]) => [verb, named(level.filter((node) => node.kind === kind))]);
    return `Step ${step} ${parts.filter(([, words]) => words).map((part) => part.join(" ")).join("; ")}.`;
  }

  draw() {
    const { levels } = this.found;
    const rows = Math.max(...levels.map((level) => level.length));
    const [width, height] = [(levels.length + 0.6) * COLUMN, TOP + rows * ROW + 10];
    this.drawing = shape("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": this.verdict.textContent, class: "tree" });
    const at = (i, place) => [i * COLUMN + 26, TOP + place * ROW + ROW / 2];
    const root = [8, TOP + ROW / 2];
    this.columns = levels.map((level, i) => {
      const column = shape("g", {});
      const title = shape("text", { x: i * COLUMN + 26, y: 16, class: "number" });
      title.textContent = i + 1;
      column.append(title);
      const boxes = level.map((node, place) => {
        const [x, y] = at(i, place);
        const from = node.parent === null ? root : at(i - 1, node.parent).map((value, k) => value + (k ? 0 : 84));
        const classes = [node.kind, ...["lost", "best", "greedy"].filter((name) => node[name])].join(" ");
        const middle = (from[0] + x) / 2;
        column.append(shape("path", { d: `M${from[0]} ${from[1]}C${middle} ${from[1]} ${middle} ${y} ${x} ${y}`, class: classes }));
        return this.box(node, x, y, classes, i + 1);
      });
      column.append(...boxes);
      return column;
    });
    this.drawing.append(shape("circle", { cx: root[0], cy: root[1], r: 4, class: "root" }), ...this.columns.toReversed());
    this.field.replaceChildren(this.drawing);
  }

  box(node, x, y, classes, step) {
    const group = shape("g", { class: classes, "data-step": step });
    const word = shape("text", { x: x + 7, y: y + 4 });
    word.textContent = node.word.length > LONGEST ? `${node.word.slice(0, LONGEST - 1)}…` : node.word;
    const title = shape("title", {});
    title.textContent = `${node.word}: ${percent(node.p)} after the words before it; log p of all so far ${node.score.toFixed(2)}`;
    group.append(title, shape("rect", { x, y: y - 12, width: 84, height: 24, rx: 5 }), word);
    return group;
  }
}

function verdict({ best, greedy, parting, levels }) {
  if (parting === null) return "Beam 1 and beam 5 write the same translation: the likeliest word was the right one at every step.";
  const word = (one) => one.words[parting] ?? "</s>";
  const fell = levels.findIndex((level, i) => i >= parting && !level.some((node) => node.greedy && node.kind !== "missed"));
  const parts = [`Beam 1 and beam 5 part at step ${parting + 1}: beam 1 writes “${word(greedy)}”, the best translation “${word(best)}”.`];
  if (fell >= 0 && fell < greedy.words.length) parts.push(`At step ${fell + 1} beam 1's words fall out of the wider beam.`);
  parts.push(`In the end the scores are ${best.score.toFixed(2)} for “${best.text}” and ${greedy.score.toFixed(2)} for “${greedy.text}”.`);
  return parts.join(" ");
}
