// The state of the page (model, text, sentence, step) in the fragment of its address, so that it
// can be sent to somebody.

/** Copies the page's address; the button says so for a while. */
export async function copyAddress(button) {
  const name = button.textContent;
  button.disabled = true;
  try {
    await navigator.clipboard.writeText(location.href);
    button.textContent = "Copied";
  } catch {
    button.textContent = "The address of this page is the link";
  }
  setTimeout(() => Object.assign(button, { textContent: name, disabled: false }), 2500);
}

/** Returns {model, beam, text, sentence, step} of the address, or null if it has no text. */
export function readState() {
  const values = new URLSearchParams(location.hash.slice(1));
  const [text, model] = [values.get("text"), values.get("model")];
  if (!text) return null;
  const number = (name, otherwise) =>
    Math.max(0, parseInt(values.get(name) ?? otherwise, 10) || 0);
  const beam = number("beam", 5) === 1 ? 1 : 5;
  return { model, beam, text, sentence: number("sentence", 1) - 1, step: number("step", 0) - 1 };
}

/** Writes the state into the address, without a new entry in the browser's history. */
export function writeState({ model, beam, text, sentence, step }) {
  const place = { ...(sentence > 0 && { sentence: sentence + 1 }), step: step + 1 };
  history.replaceState(null, "", `#${new URLSearchParams({ model, beam, text, ...place })}`);
}
