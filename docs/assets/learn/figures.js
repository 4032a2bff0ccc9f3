// Figures as files: the alignment drawn anew as a picture of its own, or a drawing of the page in the colours that it has there.

import { element, shape } from "./elements.js";

const FONT = "system-ui, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif";
const KEPT = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "opacity", "text-decoration", "visibility", "font-weight"];
const colour = (name) => getComputedStyle(document.body).getPropertyValue(`--${name}`).trim();

function page(width, height) {
  const drawing = shape("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "font-family": FONT, "font-size": 15 });
  drawing.append(shape("rect", { width, height, fill: colour("ground") }));
  return drawing;
}

const ruler = document.createElement("canvas").getContext("2d");
function widest(words) {
  ruler.font = `15px ${FONT}`;
  return Math.ceil(Math.max(0, ...words.map((word) => ruler.measureText(word).width)));
}

function word(text, attributes) {
  const made = shape("text", { fill: colour("text"), ...attributes });
  made.textContent = text;
  return made;
}

/** Draws the matrix of Figure 3. shown: {sourceTokens, tokens, alignment}. */
export function matrixFigure({ sourceTokens, tokens, alignment }) {
  const [cell, gap] = [26, 10];
  const left = widest(tokens) + 2 * gap;
  const top = widest(sourceTokens) + 2 * gap;
  const drawing = page(left + cell * sourceTokens.length + gap, top + cell * tokens.length + gap);
  sourceTokens.forEach((text, j) => drawing.append(word(text, { transform: `translate(${left + j * cell + 18} ${top - gap}) rotate(-90)` })));
  tokens.forEach((text, i) => {
    drawing.append(word(text, { x: left - gap, y: top + i * cell + 18, "text-anchor": "end" }));
    alignment[i].forEach((weight, j) => {
      const grey = Math.round(255 * weight);
      drawing.append(shape("rect", { x: left + j * cell, y: top + i * cell, width: cell, height: cell, fill: `rgb(${grey},${grey},${grey})`, stroke: "#777", "stroke-width": 0.5 }));
    });
  });
  return drawing;
}

/** Draws both sentences with lines between their words. */
export function linesFigure({ sourceTokens, tokens, alignment }) {
  const [row, gap, between] = [30, 14, 220];
  const rows = Math.max(sourceTokens.length, tokens.length);
  const left = widest(sourceTokens) + 2 * gap;
  const right = left + between;
  const height = rows * row + 2 * gap;
  const drawing = page(right + widest(tokens) + 2 * gap, height);
  const at = (place, count) => gap + ((place + 0.5) * (height - 2 * gap)) / count;
  alignment.forEach((weights, i) =>
    weights.forEach((weight, j) => {
      if (weight < 0.04) return;
      const [from, to, middle] = [at(j, sourceTokens.length), at(i, tokens.length), left + between / 2];
      drawing.append(shape("path", { d: `M${left} ${from}C${middle} ${from} ${middle} ${to} ${right} ${to}`, fill: "none", stroke: colour("accent"), "stroke-width": 1 + 5 * weight, "stroke-opacity": weight, "stroke-linecap": "round" }));
    }),
  );
  sourceTokens.forEach((text, j) => drawing.append(word(text, { x: left - gap, y: at(j, sourceTokens.length) + 5, "text-anchor": "end" })));
  tokens.forEach((text, i) => drawing.append(word(text, { x: right + gap, y: at(i, tokens.length) + 5 })));
  return drawing;
}

/** Copies a drawing of the page, with its colours as attributes. */
export function copied(drawing) {
  const { width, height } = drawing.viewBox.baseVal;
  const whole = page(width, height);
  const copy = drawing.cloneNode(true);
  const own = [...copy.querySelectorAll("*")];
  [...drawing.querySelectorAll("*")].forEach((one, k) => {
    const style = getComputedStyle(one);
    for (const name of KEPT) own[k].setAttribute(name, style.getPropertyValue(name));
  });
  whole.setAttribute("font-size", 13);
  whole.append(...copy.childNodes);
  return whole;
}

/** Puts a button for each kind of file into a place. draw(): the drawing to save; name: of the file. */
export function offerFiles(place, draw, name, onError) {
  const buttons = ["svg", "png"].map((kind) => {
    const button = element("button", { type: "button", textContent: kind.toUpperCase() });
    button.addEventListener("click", () => save(draw(), name, kind).catch(onError));
    return button;
  });
  place.append("Save as", ...buttons);
}

/** Saves a drawing as a file of this kind, "svg" or "png". */
async function save(drawing, name, kind) {
  const text = new XMLSerializer().serializeToString(drawing);
  let blob = new Blob([text], { type: "image/svg+xml" });
  if (kind === "png") blob = await painted(blob);
  const address = URL.createObjectURL(blob);
  const link = document.createElement("a");
  Object.assign(link, { href: address, download: `${name}.${kind}` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

/** Converts an SVG file to PNG, with two dots for each of its units. */
async function painted(blob) {
  const address = URL.createObjectURL(blob);
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width: 2 * image.naturalWidth, height: 2 * image.naturalHeight });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  } finally {
    URL.revokeObjectURL(address);
  }
}
