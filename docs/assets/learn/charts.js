// The two charts, drawn anew as SVG at the width that there is. Both networks have a colour, a dash and a name at the end of their line.

import { shape } from "./elements.js";

export const NAMES = ["RNNsearch", "RNNencdec"];
const HEIGHT = 310;
const EDGE = { left: 36, right: 92, top: 30, bottom: 42 };
const GHOSTS = 8; // earlier measures that stay visible

class Chart {
  constructor(place) {
    this.place = place;
    new ResizeObserver(() => this.draw()).observe(place);
  }

  /** x: [low, high]; y: [low, high]. Draws the frame and returns how places become pixels. */
  frame(x, y, { xTicks, yTicks, xName, yName }) {
    const width = Math.max(280, this.place.clientWidth);
    this.svg = shape("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: "img" });
    const right = width - EDGE.right;
    const bottom = HEIGHT - EDGE.bottom;
    const across = (value) => EDGE.left + ((right - EDGE.left) * (value - x[0])) / (x[1] - x[0]);
    const down = (value) => bottom - ((bottom - EDGE.top) * (value - y[0])) / (y[1] - y[0]);
    for (const [value, text] of yTicks) {
      this.add("line", { class: "rule", x1: EDGE.left, x2: right, y1: down(value), y2: down(value) });
      this.text(text, EDGE.left - 8, down(value) + 4, "end");
    }
    for (const [value, text] of xTicks) this.text(text, across(value), bottom + 18, "middle");
    this.text(xName, (EDGE.left + right) / 2, HEIGHT - 4, "middle", "name");
    this.text(yName, 0, 12, "start", "name");
    return { across, down, right, bottom };
  }

  add(name, attributes) {
    this.svg.append(shape(name, attributes));
  }

  text(words, x, y, anchor, className = "") {
    const made = shape("text", { x, y, "text-anchor": anchor, class: className });
    made.textContent = words;
    this.svg.append(made);
  }

  line(points, className) {
    this.add("polyline", { class: className, points: points.map((point) => point.map((each) => each.toFixed(1)).join(",")).join(" ") });
  }

  /** Names at the ends of the lines, moved apart where they would touch. */
  ends(ends) {
    const order = ends.map((end, place) => ({ ...end, place })).sort((a, b) => a.y - b.y);
    if (order.length > 1) {
      const missing = Math.max(0, 32 - (order[1].y - order[0].y));
      order[0].y -= missing / 2;
      order[1].y += missing / 2;
      const below = Math.max(0, order[1].y + 12 - (HEIGHT - EDGE.bottom));
      const above = Math.max(0, EDGE.top + 4 - order[0].y);
      for (const one of order) one.y += above - below;
    }
    for (const { x, y, place, figure } of order) {
      this.text(NAMES[place], x + 10, y, "start", `end series-${place}`);
      this.text(figure, x + 10, y + 15, "start", `end series-${place}`);
    }
  }

  finish(description) {
    this.svg.setAttribute("aria-label", description);
    this.place.replaceChildren(this.svg);
  }
}

/** −log p per word of the training sentences, by update. */
export class LossChart extends Chart {
  points = [];

  clear() {
    this.points = [];
    this.draw();
  }

  push(points) {
    this.points.push(...points);
    if (points.length) this.draw();
  }

  draw() {
    const { points } = this;
    const last = points.at(-1)?.[0] ?? 0;
    const end = niceEnd(Math.max(200, last));
    const highest = 6;
    const { across, down } = this.frame([0, end], [0, highest], {
      xTicks: [0, 0.25, 0.5, 0.75, 1].map((share) => [share * end, (share * end).toLocaleString("en")]),
      yTicks: [0, 1, 2, 3, 4, 5, 6].map((value) => [value, String(value)]),
      xName: "updates",
      yName: "−log p per word",
    });
    if (!points.length) return this.finish("Loss of both networks: nothing yet");
    const every = Math.ceil(points.length / 250);
    const shown = points.filter((_, place) => place % every === 0 || place === points.length - 1);
    NAMES.forEach((_, place) => {
      const path = shown.map((point) => [across(point[0]), down(Math.min(highest, point[place + 1]))]);
      this.line(path, `series series-${place}`);
    });
    const recent = points.slice(-5);
    const ends = NAMES.map((_, place) => {
      const loss = recent.reduce((sum, point) => sum + point[place + 1], 0) / recent.length;
      return { x: across(last), y: down(Math.min(highest, loss)), figure: loss.toFixed(2), loss };
    });
    this.ends(ends);
    this.finish(`Loss per word after ${last} updates: ${NAMES.map((name, place) => `${name} ${ends[place].figure}`).join(", ")}`);
  }
}

function niceEnd(value) {
  const steps = [200, 400, 800, 1200, 1600, 2000, 2400, 3200, 4000, 4800, 6000];
  return steps.find((step) => step >= value) ?? Math.ceil(value / 2000) * 2000;
}

/** The share of right words by the length of the sentence; earlier measures stay as faint lines. */
export class LengthChart extends Chart {
  measures = [];

  /** buckets: [low, high] of each; trained: the longest training sentence. */
  constructor(place, buckets, trained) {
    super(place);
    Object.assign(this, { buckets, trained });
  }

  clear() {
    this.measures = [];
    this.draw();
  }

  push(measure) {
    this.measures.push(measure);
    this.draw();
  }

  draw() {
    const middles = this.buckets.map(([low, high]) => (low + high) / 2);
    const range = [this.buckets[0][0] - 1, this.buckets.at(-1)[1]];
    const { across, down, right, bottom } = this.frame(range, [0, 1], {
      xTicks: this.buckets.map(([low, high], place) => [middles[place], `${low}–${high}`]),
      yTicks: [0, 0.25, 0.5, 0.75, 1].map((value) => [value, String(100 * value)]),
      xName: "words in the source sentence",
      yName: "% right words",
    });
    const from = across(this.trained + 0.5);
    this.add("rect", { class: "beyond", x: from, y: down(1), width: right - from, height: bottom - down(1) });
    const now = this.measures.at(-1);
    if (!now) return this.finish("Right words by length: nothing yet");
    const path = (shares) => shares.map((share, place) => [across(middles[place]), down(share)]);
    const older = this.measures.slice(0, -1);
    const every = Math.ceil(older.length / GHOSTS);
    const ghosts = older.filter((_, place) => place % every === 0);
    for (const ghost of ghosts) ghost.forEach((shares, place) => this.line(path(shares), `ghost series-${place}`));
    now.forEach((shares, place) => {
      this.line(path(shares), `series series-${place}`);
      for (const [x, y] of path(shares)) {
        if (place) this.add("rect", { class: `dot series-${place}`, x: x - 4, y: y - 4, width: 8, height: 8 });
        else this.add("circle", { class: `dot series-${place}`, cx: x, cy: y, r: 4.5 });
      }
    });
    const percent = (share) => `${Math.round(100 * share)} %`;
    this.ends(now.map((shares) => ({ x: across(middles.at(-1)), y: down(shares.at(-1)), figure: percent(shares.at(-1)) })));
    const said = (shares) => shares.map((share, place) => `${this.buckets[place].join(" to ")} words ${percent(share)}`).join(", ");
    this.finish(`Right words by length: ${NAMES.map((name, place) => `${name}: ${said(now[place])}`).join("; ")}`);
  }
}
