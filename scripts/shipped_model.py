"""Makes a shipped model: text, word links, dataset, training, 8-bit weights, scores and card.

    python scripts/shipped_model.py en fr --data DATA --work en-fr.work \\
        --out models/src/rnnsearch_models/en-fr

`scripts/shipped_models.toml` names the sources of text with their weights, and the test sets. A step whose
result is there is not made again, and the training goes on where it stopped: give the command again after an
interruption. `--from MODEL` begins with the weights and vocabularies of another model. Needs the extra
`align` for eflomal.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from rnnsearch.run import Run, write_config
from rnnsearch.text.vocabulary import WordFilter
from rnnsearch.training.log import read_statistics

SOURCES = Path(__file__).with_name("shipped_models.toml")
LIMITS = [
    "trained on speeches, everyday sentences, manuals of software and laws: it is weakest far from these",
    "a small network: names, rare words and long sentences are often wrong; check what matters",
]
EXAMPLES = {
    "en": [
        "Where is the nearest train station?",
        "I have never seen such a beautiful sunset.",
        "We should have left earlier because of the rain.",
    ],
    "fr": [
        "Où est la gare la plus proche ?",
        "Je n'ai jamais vu un aussi beau coucher de soleil.",
        "Nous aurions dû partir plus tôt à cause de la pluie.",
    ],
}
"""Sentences which a page offers."""
SEED = 20261123


def rnnsearch(*words: object, into: Path | None = None) -> None:
    """Runs a command. What it prints becomes the file `into` when it has ended well."""
    command = [sys.executable, "-m", "rnnsearch", *map(str, words)]
    begun = into and into.with_name(into.name + ".begun")
    with begun.open("wb") if begun else nullcontext() as file:
        done = subprocess.run(command, stdout=file)
    if done.returncode:
        sys.exit(done.returncode)  # the command has said why
    if begun and into:
        begun.rename(into)


def read_sources(path: Path, data: Path) -> dict[str, Any]:
    """Returns the table of sources. Ends with one line for a wrong weight or a file that is missing, before
    any work."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    for source in table["source"]:
        for key in ("repeat", "pairs"):
            value = source.get(key, 1)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                sys.exit(f"{path}: {key} of {source['name']} is {value!r}, not a positive whole number")
    names = [source["name"] for source in table["source"]]
    for name in [*names, table["development"], *table["tests"].values()]:
        for side in ("en", "fr"):
            if not (file := data / f"{name}.{side}.gz").is_file():
                sys.exit(f"{file}: is missing; see the sources in {path}")
    return table


def read_pairs(data: Path, name: str) -> Iterator[tuple[str, str]]:
    """Yields the (English, French) pairs of a text, without what `normalised` mends."""
    sides = []
    for side in ("en", "fr"):
        file = data / f"{name}.{side}.gz"
        try:
            sides.append(gzip.decompress(file.read_bytes()).decode("utf-8").split("\n"))
        except (OSError, EOFError, UnicodeDecodeError) as error:
            sys.exit(f"{file}: cannot be read: {error}")
    if len(sides[0]) != len(sides[1]):
        sys.exit(f"{data / name}: {len(sides[0]):,} English and {len(sides[1]):,} French lines")
    for english, french in zip(*sides, strict=True):
        if english and french:
            yield " ".join(english.split()), " ".join(french.split())


def fits(english: str, french: str, words: list[int]) -> bool:
    """Says whether lengths and letters are those of a translated sentence."""
    low, high = words
    here, there = len(english.split()), len(french.split())
    letters = sum(map(str.isalpha, english))
    alike = here <= 2.2 * there + 3 and there <= 2.2 * here + 3
    return low <= here <= high and low <= there <= high + 8 and alike and 2 * letters >= len(english)


def write_pairs(path: Path, pairs: list[tuple[str, str]]) -> tuple[Path, Path]:
    """Writes PATH.en and PATH.fr, whole or not at all."""
    files = path.with_name(path.name + ".en"), path.with_name(path.name + ".fr")
    for file, side in zip(files, zip(*pairs, strict=True), strict=True):
        begun = file.with_name(file.name + ".begun")
        begun.write_text("".join(f"{line}\n" for line in side), encoding="utf-8")
        begun.rename(file)
    return files


def make_text(table: dict[str, Any], data: Path, work: Path) -> list[tuple[Path, Path]]:
    """Returns the two files of each source: pairs of its lengths, once each, without sentences of a test
    set."""
    kept_back = {
        line
        for name in {*table["tests"].values(), table["development"]}
        for pair in read_pairs(data, name)
        for line in pair
    }
    files = []
    for source in table["source"]:
        place = work / source["name"].replace("/", "-")
        made = place.with_name(place.name + ".en"), place.with_name(place.name + ".fr")
        if not made[1].exists():
            pairs = list(dict.fromkeys(read_pairs(data, source["name"])))
            pairs = [pair for pair in pairs if fits(*pair, source["words"]) and not kept_back & {*pair}]
            random.Random(SEED).shuffle(pairs)
            if source.get("like_development"):
                pairs = most_like_development(pairs, source["pairs"], table, data, work)
            write_pairs(place, pairs[: source.get("pairs")])
            print(f"{source['name']}: {len(pairs[: source.get('pairs')]):,} pairs", flush=True)
        files.append(made)
    return files


def most_like_development(
    pairs: list[tuple[str, str]], count: int, table: dict[str, Any], data: Path, work: Path
) -> list[tuple[str, str]]:
    """Returns the `count` pairs that `rnnsearch select` finds most like the development text."""
    news = write_pairs(work / "in-domain", list(read_pairs(data, table["development"])))
    pool = write_pairs(work / "pool", pairs)
    domain = [f"--in-domain={file}" for file in news]
    out = work / "selected"
    rnnsearch(
        "select",
        *domain,
        *(f"--pool={file}" for file in pool),
        f"--pairs={count}",
        "--out",
        out,
        "--overwrite",
    )
    sides = [
        out.with_name(f"selected.{side}").read_text(encoding="utf-8").split("\n") for side in ("en", "fr")
    ]
    return [pair for pair in zip(*sides, strict=True) if all(pair)]


def trained(arguments: argparse.Namespace, table: dict[str, Any]) -> Path:
    """Returns the run of the recipe. All that leads to it lies in the folder of --work."""
    pair, work = (arguments.source, arguments.target), arguments.work
    languages = zip(("source", "target"), pair, strict=True)
    data = [
        *(f"--set=data.{side}_language={code}" for side, code in languages),
        "--set=data.french_elisions=true",
    ]
    texts = make_text(table, arguments.data, work)
    store, run = work / "store", work / "run"
    base = [] if arguments.base is None else [arguments.base]
    if not (store / "data.toml").exists():
        sides = [files if pair[0] == "en" else files[::-1] for files in texts]
        flat = [file for files in sides for file in files]
        links = [work / f"{files[0].stem}.{'-'.join(pair)}.links" for files in sides]
        if not all(file.exists() for file in links):
            outs = [word for file in links for word in ("--out", file)]
            rnnsearch("links", *flat, *outs, "--symmetrise", "intersection", "--recipe", "europarl", *data)
        dev = [arguments.data / f"{table['development']}.{side}.gz" for side in pair]
        given = [word for file in links for word in ("--links", file)]
        repeat = ",".join(str(source.get("repeat", 1)) for source in table["source"])
        vocabulary = [word for model in base for word in ("--vocabulary", model)]
        rnnsearch(
            "prepare", *flat, "--dev", *dev, *given, "--repeat", repeat, *vocabulary, "--out", store,
            "--recipe", "europarl", *data,
        )  # fmt: skip
    begin = [word for model in base for word in ("--from", model)]
    changes = [f"--set={change}" for change in arguments.set]
    rnnsearch("train", "europarl", "--data", store, "--out", run, "--resume", *begin, *changes)
    return run


def finish(run: Path, arguments: argparse.Namespace, table: dict[str, Any]) -> None:
    """Gives the run what search needs: the words of all target texts, names and numbers held to the source,
    and confidences that fit the development text."""
    opened = Run.open(run)
    side = ("en", "fr").index(arguments.target)
    lines = (pair[side] for source in table["source"] for pair in read_pairs(arguments.data, source["name"]))
    known = WordFilter.of({word for line in lines for word in opened.target.tokeniser.words(line)})
    known.save(run / "words.target.bloom")
    write_config(run, opened.settings)
    opened.change_search(faithful=True)
    dev = [
        arguments.data / f"{table['development']}.{code}.gz" for code in (arguments.source, arguments.target)
    ]
    rnnsearch("calibrate", run, *dev, "--write")


def scores(model: Path, arguments: argparse.Namespace, table: dict[str, Any]) -> list[dict[str, object]]:
    """Returns BLEU of every test text, as the model's card has it."""
    found = []
    for name, text in sorted(table["tests"].items()):
        source, reference = (
            arguments.data / f"{text}.{side}.gz" for side in (arguments.source, arguments.target)
        )
        hypotheses, result = arguments.work / f"{name}.{arguments.target}", arguments.work / f"{name}.json"
        rnnsearch("translate", model, source, into=hypotheses)
        rnnsearch("evaluate", "--ref", reference, "--hyp", hypotheses, "--json", into=result)
        figures = json.loads(result.read_text(encoding="utf-8"))
        rows = (row for row in figures["scores"] if row["metric"] == "BLEU" and row["pairs"] == "all")
        bleu, signature = round(next(rows)["value"], 2), figures["signatures"]["BLEU"]
        found.append({"test": name, "metric": "BLEU", "value": bleu, "signature": signature})
    return found


def save(run: Path, out: Path, card: dict[str, object], work: Path) -> None:
    """Writes the run as a model with 8-bit weights, in place of the one that `out` holds."""
    rows = card.get("scores", [])
    lines = [
        f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in card.items() if key != "scores"
    ]
    for row in rows:  # type: ignore[attr-defined]
        lines += ["[[scores]]", *(f"{key} = {json.dumps(value)}" for key, value in row.items())]
    (work / "card.toml").write_text("\n".join([*lines, ""]), encoding="utf-8")
    if (out / "config.toml").exists():
        for file in out.iterdir():
            file.unlink()
        out.rmdir()
    rnnsearch("models", "--save", run, "--out", out, "--int8", "--card", work / "card.toml")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", choices=("en", "fr"), help="language of the source text")
    parser.add_argument("target", choices=("en", "fr"))
    parser.add_argument("--data", type=Path, required=True, help="folder of the sources and test sets")
    parser.add_argument("--sources", type=Path, default=SOURCES, help="table of sources and test sets")
    parser.add_argument(
        "--out", type=Path, required=True, help="folder of the model; its name is the model's"
    )
    parser.add_argument("--work", type=Path, required=True, help="folder of text, links, dataset and run")
    parser.add_argument(
        "--from", dest="base", type=Path, help="begin with this model's weights and vocabularies"
    )
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE")
    arguments = parser.parse_args()
    table = read_sources(arguments.sources, arguments.data)
    arguments.work.mkdir(parents=True, exist_ok=True)
    run = trained(arguments, table)
    finish(run, arguments, table)
    learnt, draft = read_statistics(run), arguments.work / "model"
    card: dict[str, object] = {
        "name": arguments.out.name,
        "licence": "mit",
        "data": [source["licence"] for source in table["source"]],
        "training": f"Recipe europarl, {learnt['updates']:,} updates ({learnt['epochs']:g} epochs), "
        f"the weights of update {learnt['best_update']:,}.",
        "limits": LIMITS,
        "examples": EXAMPLES[arguments.source],
    }
    save(run, draft, card, arguments.work)
    card["scores"] = scores(draft, arguments, table)
    save(run, arguments.out, card, arguments.work)


if __name__ == "__main__":
    main()
