// The forms of "Check yourself": docsite/self_checks.py writes the answers beside them.

for (const form of document.querySelectorAll("form.self-check")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const { answer, within, hint } = form.dataset;
    const given = form.elements.answer.value.trim();
    const number = Number(given.replace(",", ".").replace("−", "-"));
    const right = within ? given !== "" && Math.abs(number - Number(answer)) < Number(within) : given === answer;
    const said = form.querySelector("output");
    said.textContent = right ? "Right." : given === "" ? "There is no answer yet." : `Not yet. ${hint}`;
    said.className = right ? "right" : "wrong";
  });
}
