// The search as a tree that grows from step to step.

import { percent, shape, ui } from "./elements.js";

const PACE = 450; // milliseconds from step to step
const [COLUMN, ROW, TOP, WIDTH] = [118, 34, 30, 84]; // of the drawing; the width of a word's box
const LONGEST = 13; // letters of a word
const ROOT = [8 - WIDTH, TOP + ROW / 2]; // as if it were a word, too
const SAME =
  "Beam 1 and beam 5 write the same translation: " +
  "the likeliest word was the right one at every step.";

export class Tree {
  constructor() {
    Object.assign(this, { place: ui.tree, range: ui.treeStep, field: ui.treeField });
    this.range.oninput = () => this.stop(Number(this.range.value));
    ui.treePlay.onclick = () => this.grow();
  }

  /** found: what engine/tree.js returns. */
  show(found) {
    this.found = found;
    this.range.max = found.levels.length;
    ui.verdict.textContent = verdict(found);
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
    if (this.place.hidden) return;
    this.stop(step);
    if (step < this.found.levels.length) {
      this.timer = setTimeout(() => this.grow(step + 1), PACE);
    }
  }

  /** Shows the first steps; before the last of them nothing is known to be lost. */
  goTo(step) {
    const text = told(step, this.found.levels[step - 1]);
    ui.treeSaid.textContent = text;
    Object.assign(this.range, { value: step, ariaValueText: text });
    this.columns.forEach((column, i) => {
      column.setAttribute("visibility", i < step ? "visible" : "hidden");
      const lost = column.querySelectorAll("g.lost");
      lost.forEach((one) => one.classList.toggle("not-yet", i + 1 >= step));
    });
    this.field.scrollLeft = Math.max(0, step * COLUMN + COLUMN / 2 - this.field.clientWidth);
  }

  draw() {
    const { levels } = this.found;
    const rows = Math.max(...levels.map((level) => level.length));
    const [width, height] = [(levels.length + 0.6) * COLUMN, TOP + rows * ROW + 10];
    const at = (i, place) => [i * COLUMN + 26, TOP + place * ROW + ROW / 2];
    this.columns = levels.map((level, i) => {
      const number = shape("text", { x: i * COLUMN + 26, y: 16, class: "number" }, i + 1);
      const edges = level.map(({ parent, ...node }, place) =>
        edge(parent === null ? ROOT : at(i - 1, parent), at(i, place), classes(node)),
      );
      const boxes = level.map((node, place) => box(node, ...at(i, place)));
      return shape("g", {}, number, ...edges, ...boxes);
    });
    const size = { viewBox: `0 0 ${width} ${height}`, width, height, class: "tree" };
    const name = { role: "img", "aria-label": ui.verdict.textContent };
    const root = shape("circle", { cx: 8, cy: ROOT[1], r: 4, class: "root" });
    const drawing = shape("svg", { ...size, ...name }, root, ...this.columns.toReversed());
    this.field.replaceChildren(drawing);
  }
}

function told(step, level) {
  const kinds = Object.entries({ kept: "keeps", ended: "ends", missed: "just leaves out" });
  const parts = kinds.flatMap(([kind, verb]) => {
    const nodes = level.filter((node) => node.kind === kind);
    const words = nodes.map(({ word, p }) => `“${word}” ${percent(p)}`).join(", ");
    return words ? [`${verb} ${words}`] : [];
  });
  return `Step ${step} ${parts.join("; ")}.`;
}

const classes = (node) =>
  [node.kind, ...["lost", "best", "greedy"].filter((name) => node[name])].join(" ");

/** Draws the line from one word's box to the next one's. */
function edge([left, from], [right, to], kind) {
  const begin = left + WIDTH;
  const middle = (begin + right) / 2;
  const d = `M${begin} ${from}C${middle} ${from} ${middle} ${to} ${right} ${to}`;
  return shape("path", { d, class: kind });
}

function box(node, x, y) {
  const { word, p, score } = node;
  const short = word.length > LONGEST ? `${word.slice(0, LONGEST - 1)}…` : word;
  const likely = `${word}: ${percent(p)} after the words before it`;
  return shape(
    "g",
    { class: classes(node) },
    shape("title", {}, `${likely}; log p of all so far ${score.toFixed(2)}`),
    shape("rect", { x, y: y - 12, width: WIDTH, height: 24, rx: 5 }),
    shape("text", { x: x + 7, y: y + 4 }, short),
  );
}

function verdict({ best, greedy, parting, levels }) {
  if (parting === null) return SAME;
  const word = (one) => `“${one.words[parting] ?? "</s>"}”`;
  const fell = levels.findIndex(
    (level, i) => i >= parting && !level.some((node) => node.greedy && node.kind !== "missed"),
  );
  const parts = [
    `Beam 1 and beam 5 part at step ${parting + 1}:`,
    `beam 1 writes ${word(greedy)}, the best translation ${word(best)}.`,
  ];
  if (fell >= 0 && fell < greedy.words.length) {
    parts.push(`At step ${fell + 1} beam 1's words fall out of the wider beam.`);
  }
  const ends = [best, greedy].map(({ score, text }) => `${score.toFixed(2)} for “${text}”`);
  return [...parts, `In the end the scores are ${ends.join(" and ")}.`].join(" ");
}
