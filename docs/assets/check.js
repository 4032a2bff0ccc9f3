// The forms of "Check yourself": docsite/self_checks.py writes the answers beside them.

/** What a text may mean as a number: its commas separate decimals (0,5) or thousands (1,280). */
function numbers(text) {
  const plain = text.replace("−", "-").replace(/\s/g, "");
  const grouped = /^-?\d{1,3}(,\d{3})+(\.\d+)?$/.test(plain);
  return plain === "" ? [] : [plain.replace(",", "."), plain.replaceAll(",", grouped ? "" : ".")].map(Number);
}

for (const form of document.querySelectorAll("form.self-check")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const { answer, within, hint } = form.dataset;
    const given = form.elements.answer.value.trim();
    const close = (number) => Math.abs(number - Number(answer)) <= Number(within) + 1e-9;
    const right = within ? numbers(given).some(close) : given === answer;
    const said = form.querySelector("output");
    said.textContent = right ? "Right." : given === "" ? "There is no answer yet." : `Not yet. ${hint}`;
    said.className = right ? "right" : "wrong";
  });
}
