"""Builds the wheel and tries it where there is no repository: in an empty environment, from an empty folder.

    python scripts/wheel_test.py [--wheel FILE] [--keep FOLDER]

Prints a line for each thing tried and ends with exit code 1 at the first that fails. Installing takes a
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

ROOT = Path(__file__).resolve().parents[1]
QUICK = [
    f"--set=training.{change}"
    for change in ("max_updates=60", "max_epochs=0", "validate_every=60", "threads=1")
]
SENTENCES = {
    "en-fr": "The agreement on the European Economic Area was signed in August 1992.\n",
    "fr-en": "L'accord sur l'Espace économique européen a été signé en août 1992.\n",
}
"""What is translated with the models that the project ships."""
ELSEWHERE = r"docs/|(?<!README)\.md\b|https?://(?!127\.0\.0\.1|example\.org)"
"""A page of the documentation or an address, but for examples of the reader's own."""
NAMES = (
    "import rnnsearch, rnnsearch.extending as e; [getattr(rnnsearch, n) for n in rnnsearch.__all__]; "
    "[getattr(e, n) for n in e.__all__]"
)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
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
        try_plainly(installed(environment, str(wheel), str(models)), work)
        try_it(installed(environment, f"{wheel}[all]"), work)
    print("the wheel works")
    return 0


def built(project: Path, out: Path) -> Path:
    """Source archive first, the wheel from it: what is not in the archive cannot be in the wheel."""
    run([sys.executable, "-m", "build", "--outdir", str(out), str(project)], ROOT)
    run([sys.executable, "-m", "twine", "check", "--strict", *map(str, out.iterdir())], ROOT)
    (wheel,) = out.glob("*.whl")
    return wheel


def check_metadata(wheel: Path) -> None:
    """The description's links are whole addresses or none; the typed marker, recipes and templates are
    there."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = message_from_bytes(
            archive.read(next(name for name in names if name.endswith(".dist-info/METADATA")))
        )
    for needed in (
        "rnnsearch/py.typed",
        "rnnsearch/recipes/demo.toml",
        "rnnsearch/drawing/alignment_table.html",
    ):
        expect(needed in names, f"{needed} is in the wheel")
    body = str(metadata.get_payload())
    relative = re.findall(r"\]\((?!https?://|#)[^)]+\)|src=\"(?!https?://)[^\"]+\"", body)
    expect(len(body) > 1000 and not relative, f"the description's links are whole {relative[:3]}")
    expect(metadata["License-Expression"] == "MIT", "the licence is named")


def installed(environment: Path, *packages: str) -> Path:
    """Installs wheels, with what they need, in an environment. Returns its command `rnnsearch`."""
    if not environment.exists():
        run([sys.executable, "-m", "venv", str(environment)], ROOT)
    pip = [str(environment / "bin" / "pip"), "install", "--quiet", "-c", str(ROOT / "constraints.txt")]
    run([*pip, *packages], environment)
    return environment / "bin" / "rnnsearch"


def try_plainly(program: Path, work: Path) -> None:
    """Tries what a plain installation does, and that it says in one line what it lacks."""
    command = str(program)
    for name in re.findall(r"^(\S+)", run([command, "models"], work), re.MULTILINE):
        line = run([command, "translate", name], work, text=SENTENCES[name])
        expect(line.count("\n") == 1 and len(line) > 20, f"translate {name}: {line.strip()}")
    for words in ("demo", "translate en-fr --alignment-plots plots", "evaluate --hyp a --ref b"):
        done = subprocess.run(
            [command, *words.split()], cwd=work, input="", capture_output=True, text=True, check=False
        )
        expect(
            done.returncode == 2 and "pip install 'rnnsearch[" in done.stderr,
            f"{words}: {done.stderr.strip()}",
        )


def try_it(program: Path, work: Path) -> None:
    """Tries what a new user types, in a folder of their own."""
    command = str(program)
    where = run([str(program.parent / "python"), "-c", f"{NAMES}; print(rnnsearch.__file__)"], work)
    expect(str(ROOT / "src") not in where, "all public names are there, and come from the wheel")
    expect(run([command, "--version"], work).startswith("rnnsearch "), "--version")
    listed = re.findall(r"^│ ([a-z]+)  ", run([command, "--help"], work), re.MULTILINE)
    expect({"demo", "train", "translate", "report"} <= {*listed}, "--help")
    for name in sorted({*listed} - {"rnnsearch"}):
        text = run([command, name, "--help"], work)
        expect(not re.search(ELSEWHERE, text), f"{name} --help names no page that is not here")
    run([command, "-q", "demo", "--out", "demo", *QUICK], work)
    expect((work / "demo/alignment.png").exists(), "demo")
    line = run([command, "translate", "demo/run"], work, text="The man sees the house.\n")
    expect(line.count("\n") == 1, "translate")
    for side in ("en", "fr"):
        lines = (work / f"demo/corpus/test.{side}").read_text(encoding="utf-8").split("\n")[:20]
        (work / f"test.{side}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    run([command, "-q", "report", "demo/run", "--test", "test.en", "test.fr", "--out", "report"], work)
    expect("<svg" in (work / "report/index.html").read_text(encoding="utf-8"), "report")
    links = run([command, "align", "demo/run", "test.en", "test.fr"], work)
    expect(links.count("\n") == 20, "align")


def run(words: list[str], where: Path, text: str = "") -> str:
    """A command's stdout, in an environment that knows nothing of this repository."""
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    clean |= {"OMP_NUM_THREADS": "1", "COLUMNS": "100", "MPLBACKEND": "agg"}
    clean["_TYPER_FORCE_DISABLE_TERMINAL"] = "1"
    done = subprocess.run(
        words,
        cwd=where,
        input=text,
        capture_output=True,
        encoding="utf-8",
        env=clean,
        timeout=900,
        check=False,
    )
    if done.returncode:
        print(
            f"FAILED ({done.returncode}): {' '.join(words)}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}",
            file=sys.stderr,
        )
        sys.exit(1)
    return done.stdout


def expect(true: bool, what: str) -> None:
    print(f"{'ok  ' if true else 'FAIL'} {what}", flush=True)
    if not true:
        sys.exit(1)


if __name__ == "__main__":
    sys.exit(main())
