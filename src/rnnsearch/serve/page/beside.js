// A second sentence with a panel of its own, beside the inside of a step: what does the same word look at in another sentence?

import { confidentWord, element, find } from "./elements.js";
import { Inside } from "./inside.js";

export class Beside {
  /** translate(text): a result of the model that is shown; ask(question): as of Inside; first(): the line of the first panel. */
  constructor(translate, ask, first) {
    Object.assign(this, { translate, first });
    this.inside = new Inside(find("beside-inside"), ask);
    this.opener = element("button", { type: "button", textContent: "Another sentence beside it" });
    this.opener.addEventListener("click", () => this.open());
    find("beside-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.run();
    });
    find("beside-close").addEventListener("click", () => {
      this.close();
      if (this.opener.isConnected) this.opener.focus();
    });
  }

  /** Opens the panel with the sentence of the first one, in which a word can be changed. */
  open() {
    if (find("beside").hidden) find("beside-text").value = this.first();
    find("beside").hidden = false;
    find("beside-text").focus();
    if (!find("beside-output").textContent) this.run();
  }

  close() {
    this.inside.close(false);
    find("beside").hidden = true;
    find("beside-output").textContent = "";
    this.running = null;
  }

  async run() {
    const text = find("beside-text").value.trim();
    if (!text) return;
    this.inside.close(false);
    find("beside-output").textContent = "";
    const running = (this.running = {});
    try {
      const result = await this.translate(text);
      if (running === this.running) this.show(result);
    } catch (error) {
      if (running === this.running) find("beside-output").textContent = error.message;
    }
  }

  show({ sentences, beam }) {
    const words = sentences.flatMap(({ source, hypotheses: [hypothesis] }) =>
      hypothesis.tokens.map((word, token) => {
        const button = element("button", { type: "button", className: "word", "aria-expanded": false, "aria-controls": "beside-inside" }, confidentWord(word, hypothesis.confidence?.[token]));
        button.addEventListener("click", () => {
          if (button.getAttribute("aria-expanded") === "true") return this.inside.close();
          this.inside.open({ line: source, hypothesis, token, beam }, button);
        });
        return button;
      }),
    );
    find("beside-output").replaceChildren(...words.flatMap((word) => [word, " "]));
  }
}
