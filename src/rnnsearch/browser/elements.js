// Small helpers of the pages. Text goes in as text, never as markup.

export const find = (id) => document.getElementById(id);

/** The elements of the page by their ids: ui.stepSaid has the id "step-said". */
export const ui = Object.fromEntries(
  [...document.querySelectorAll("[id]")].map((one) => [
    one.id.replace(/-./g, ([, letter]) => letter.toUpperCase()),
    one,
  ]),
);

/** element("p", { className: "note", onclick: … }, "text", child, …): properties, and children. */
export function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

export const button = (onclick, properties, ...children) =>
  element("button", { type: "button", onclick, ...properties }, ...children);

export const span = (className, textContent) => element("span", { className, textContent });

/** Returns a word of any language and script. */
export const word = (textContent) => element("span", { dir: "auto", textContent });

/** Returns a copy of what is in a template of the page. */
export const copyOf = (id) => find(id).content.cloneNode(true);

/** As `element`, of a drawing: attributes instead of properties. */
export function shape(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

export const percent = (weight) => `${Math.round(100 * weight)} %`;

/** Fills an element that the style sheet draws as a bar. */
export function fill(bar, weight) {
  bar.style.setProperty("--weight", `${100 * weight}%`);
  return bar;
}

/** Returns the strongest weights of a row as [position, weight]: at most three of at least 0.05,
 *  and always the first. */
export function strongest(row) {
  const order = [...row.entries()].sort((a, b) => b[1] - a[1]);
  return order.filter(([, weight], place) => weight >= 0.05 || !place).slice(0, 3);
}

/** Describes the strongest weights of a row: “zone” 62 %, “European” 20 %. */
export function said(row, words) {
  return strongest(row).map(([place, weight]) => `“${words[place]}” ${percent(weight)}`).join(", ");
}
