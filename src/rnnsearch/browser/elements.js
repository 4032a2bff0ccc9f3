// Small helpers of the page. Text goes in as text, never as markup.

export const find = (id) => document.getElementById(id);

/** element("button", {type: "button", onclick: …}, "text", child, …): properties, attributes with a hyphen or of SVG, and children. */
export function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.includes("-") || key === "role" || key === "scope" || key === "dir") made.setAttribute(key, value);
    else made[key] = value;
  }
  made.append(...children);
  return made;
}

const SVG = "http://www.w3.org/2000/svg";

export function shape(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

export const percent = (weight) => `${Math.round(100 * weight)} %`;

/** Returns the strongest weights of a row as [position, weight]: at most three of at least 0.05, and always the first. */
export function strongest(row) {
  const order = [...row.entries()].sort((a, b) => b[1] - a[1]);
  return order.filter(([, weight], place) => weight >= 0.05 || !place).slice(0, 3);
}

/** Describes the strongest weights of a row: “zone” 62 %, “European” 20 %. */
export function said(row, words) {
  return strongest(row).map(([place, weight]) => `“${words[place]}” ${percent(weight)}`).join(", ");
}

const UNSURE = 0.4; // as evaluation/confidence.py has it

/** Returns a word of a translation, shaded if the network is unsure of it. confidence: undefined if unknown. */
export function confidentWord(word, confidence = 1) {
  const made = element("span", { textContent: word });
  if (confidence < UNSURE) Object.assign(made, { className: "unsure", title: `unsure (${percent(confidence)})` });
  return made;
}
