"""Builds the wheel and tests it without the repository: in an empty environment, from an empty
folder.

    python scripts/wheel_test.py [--wheel FILE] [--keep FOLDER]

Prints a line for each test, and ends with exit code 1 at the first failure. Installing takes a
minute or two.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from email import message_from_bytes
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
QUICK = [
    *(
        "--set=stopping.max_updates=60",
        "--set=stopping.max_epochs=0",
        "--set=stopping.validate_every=60",
    ),
    "--set=training.threads=1",
]
SENTENCES = {
    "en-fr": "The agreement on the European Economic Area was signed in August 1992.\n",
    "fr-en": "L'accord sur l'Espace économique européen a été signé en août 1992.\n",
}
"""Sentences to translate with the shipped models."""
FILES = ("py.typed", "recipes/demo.toml", "lab/document.html", "kernels/digests.json")
"""Files that the package must have: the typed marker, a recipe, a template."""
LACKING = ("demo", "translate en-fr --alignment-plots plots", "evaluate --hyp a --ref b")
"""Commands that need an extra."""
AROUND = ("lab", "serve")
"""Packages that the core does without."""
NAMES = (
    "import rnnsearch, rnnsearch.extending as e; [getattr(rnnsearch, n) for n in"
    " rnnsearch.__all__]; [getattr(e, n) for n in e.__all__]; print(rnnsearch.__file__)"
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--wheel", type=Path, help="a wheel that exists; otherwise one is built")
    parser.add_argument("--keep", type=Path, help="the folder to work in, which then stays")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (arguments.keep or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        wheel = arguments.wheel.resolve() if arguments.wheel else built(ROOT, folder / "dist")
        check_metadata(wheel)
        models, environment = built(ROOT / "models", folder / "dist-models"), folder / "environment"
        work = Path(tempfile.mkdtemp(dir=folder))
        plain = installed(environment, wheel, models)
        try_plainly(plain, work)
        try_core(plain, Path(tempfile.mkdtemp(dir=folder)))
        try_it(installed(environment, f"{wheel}[all]"), work)
    print("the wheel works")


def built(project: Path, out: Path) -> Path:
    """Builds the source archive, and the wheel from it, so that files missing from the archive are
    noticed."""
    run(ROOT, sys.executable, "-m", "build", "--outdir", out, project)
    run(ROOT, sys.executable, "-m", "twine", "check", "--strict", *out.iterdir())
    (wheel,) = out.glob("*.whl")
    return wheel


def check_metadata(wheel: Path) -> None:
    """Checks that links in the description are absolute, and that the wheel has FILES."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (described,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = message_from_bytes(archive.read(described))
    for needed in FILES:
        expect(f"rnnsearch/{needed}" in names, f"{needed} is in the wheel")
    body = str(metadata.get_payload())
    relative = re.findall(r"\]\((?!https?://|#)[^)]+\)|src=\"(?!https?://)[^\"]+\"", body)
    expect(len(body) > 1000 and not relative, f"the description's links are whole {relative[:3]}")
    expect(metadata["License-Expression"] == "MIT", "the licence is named")


def installed(environment: Path, *packages: object) -> Path:
    """Installs wheels with their dependencies in an environment. Returns its command
    `rnnsearch`."""
    if not environment.exists():
        run(ROOT, sys.executable, "-m", "venv", environment)
    run(
        environment,
        environment / "bin/pip",
        "install",
        "--quiet",
        "-c",
        ROOT / "constraints.txt",
        *packages,
    )
    return environment / "bin" / "rnnsearch"


def try_plainly(command: Path, work: Path) -> None:
    """Tests a plain installation: commands that need an extra must say so in one line."""
    for name in re.findall(r"^(\S+)", run(work, command, "models"), re.MULTILINE):
        line = run(work, command, "translate", name, text=SENTENCES[name])
        expect(line.count("\n") == 1 and len(line) > 20, f"translate {name}: {line.strip()}")
    for words in LACKING:
        said = run(work, command, *words.split(), code=2)
        expect("pip install 'rnnsearch[" in said, f"{words}: {said.strip()}")


def try_core(command: Path, work: Path) -> None:
    """Tests the core without the packages around it, which are put back."""
    (package,) = command.parents[1].glob("lib/python*/site-packages/rnnsearch")
    for name in AROUND:
        (package / name).rename(work / name)
    listed = run(work, command, "--help")
    expect(
        "translate" in listed and "serve" not in listed, f"--help without {' and '.join(AROUND)}"
    )
    for name, text in (("en", "The man sees the house.\n"), ("fr", "L'homme voit la maison.\n")):
        (work / f"pairs.{name}").write_text(text * 4, encoding="utf-8")
    for line in "align", "score":
        found = run(work, command, line, "en-fr", "pairs.en", "pairs.fr")
        expect(found.count("\n") == 4, f"{line} without {' and '.join(AROUND)}")
    for name in AROUND:
        (work / name).rename(package / name)


def try_it(command: Path, work: Path) -> None:
    """Tests the first commands of a new user, in a new folder."""
    where = run(work, command.parent / "python", "-c", NAMES)
    expect(str(ROOT / "src") not in where, "all public names are there, and come from the wheel")
    expect(run(work, command, "--version").startswith("rnnsearch "), "--version")
    listed = {*re.findall(r"^│ ([a-z]+)  ", run(work, command, "--help"), re.MULTILINE)}
    expect({"demo", "train", "translate", "report"} <= listed, "--help")
    run(work, command, "-q", "demo", "--out", "demo", *QUICK)
    expect((work / "demo/alignment.png").exists(), "demo")
    line = run(work, command, "translate", "demo/run", text="The man sees the house.\n")
    expect(line.count("\n") == 1, "translate")
    for side in ("en", "fr"):
        lines = (work / f"demo/corpus/test.{side}").read_text(encoding="utf-8").split("\n")[:20]
        (work / f"test.{side}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    run(
        work, command, "-q", "report", "demo/run", "--test", "test.en", "test.fr", "--out", "report"
    )
    expect("<svg" in (work / "report/index.html").read_text(encoding="utf-8"), "report")
    links = run(work, command, "align", "demo/run", "test.en", "test.fr")
    expect(links.count("\n") == 20, "align")


def run(where: Path, *words: object, text: str = "", code: int = 0) -> str:
    """Returns the output of a command that cannot see this repository: stdout, or stderr if `code`
    is not 0.
    code: the expected exit code."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONPATH", "VIRTUAL_ENV")
    }
    clean |= {"OMP_NUM_THREADS": "1", "COLUMNS": "100", "MPLBACKEND": "agg"}
    clean["_TYPER_FORCE_DISABLE_TERMINAL"] = "1"
    command = [*map(str, words)]
    pipes: dict[str, Any] = {
        "input": text,
        "capture_output": True,
        "encoding": "utf-8",
        "timeout": 900,
    }
    done = subprocess.run(command, cwd=where, env=clean, check=False, **pipes)
    if done.returncode != code:
        end = f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        sys.exit(f"FAILED ({done.returncode}): {' '.join(command)}\n{end}")
    return str(done.stderr if code else done.stdout)


def expect(true: bool, what: str) -> None:
    print(f"{'ok  ' if true else 'FAIL'} {what}", flush=True)
    if not true:
        sys.exit(1)


if __name__ == "__main__":
    main()
