"""Makes a shipped model: text, word links, dataset, training, 8-bit weights, scores and card.

    python scripts/shipped_model.py en fr --data DATA --work en-fr.work \\
        --out models/src/rnnsearch_models/en-fr

`scripts/shipped_models.toml` names the sources of text with their weights, and the test sets. The
source `phrases` is in `scripts/phrases`: phrases of letters, clocks and kitchens, with slots, and
what fills them.
After an interruption, give the same command again: finished steps are not repeated, and training
continues. `--from MODEL` begins with the weights and vocabularies of another model. Needs the extra
`align` for eflomal.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from fit_confidence import change_translation, fit_confidence

from rnnsearch.errors import InputError
from rnnsearch.run import Run, write_config
from rnnsearch.system.files import write_text
from rnnsearch.text.formats.lines import IGNORED, raw_lines, read_pairs
from rnnsearch.text.vocabulary import WordFilter
from rnnsearch.training.log import read_statistics

SOURCES = Path(__file__).with_name("shipped_models.toml")
LIMITS = [
    (
        "trained on speeches, everyday sentences, manuals of software and laws: it is weakest far"
        " from these"
    ),
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
"""Example sentences on a page."""
SEED = 20261123
KINDS = Path(__file__).parents[1] / "docs" / "studies" / "everyday-kinds.tsv"
"""Sentences that measure what people type first. None is in the text."""
PHRASES, FILLINGS = Path(__file__).with_name("phrases"), 8
"""Folder of the phrases, and how many sentences are made of a phrase with slots."""


def rnnsearch(*words: object) -> str:
    """Runs a command and returns what it prints."""
    command = [sys.executable, "-m", "rnnsearch", *map(str, words)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(done.returncode)  # the command has printed the reason
    return done.stdout


def read_sources(path: Path, data: Path) -> dict[str, Any]:
    """Returns the table of sources. Raises InputError for a wrong weight or a missing file."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    for source, key in product(table["source"], ("repeat", "pairs")):
        value = source.get(key, 1)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            what = f"{key} of {source['name']} is {value!r}, not a positive whole number"
            raise InputError(what, file=path)
    names = [source["name"] for source in table["source"]]
    for name in {*names, table["development"], *table["tests"].values()} - {PHRASES.name}:
        for file in files_of(data, name):
            if not file.is_file():
                raise InputError("is missing", file=file, remedy=f"see the sources in {path}")
    return table


def files_of(data: Path, name: str, sides: Sequence[str] = ("en", "fr")) -> list[Path]:
    """Returns the two files of a text."""
    return [data / f"{name}.{side}.gz" for side in sides]


def phrases() -> Iterator[tuple[str, str]]:
    """Yields the (English, French) phrases. In one with slots, as "at {time}" has, they are filled
    at random, on both sides alike."""
    drawn, fillings = random.Random(SEED), dict[str, list[list[str]]]()
    for slot, *sides in read_rows(PHRASES / "slots.tsv"):
        fillings.setdefault(slot, []).append(sides)
    for sides in read_rows(PHRASES / "phrases.tsv"):
        for _ in range(FILLINGS if "{" in sides[0] else 1):
            chosen = {slot: drawn.choice(values) for slot, values in fillings.items()}
            english, french = (
                side.format_map({slot: both[at] for slot, both in chosen.items()})
                for at, side in enumerate(sides)
            )
            yield english, french


def read_rows(path: Path) -> Iterator[list[str]]:
    """Yields the columns of each line."""
    yield from (line.split("\t") for line in raw_lines(path, IGNORED))


def pairs_of(data: Path, name: str) -> Iterator[tuple[str, str]]:
    """Yields the (English, French) pairs of a text, repaired by `normalised`."""
    if name == PHRASES.name:
        yield from phrases()
        return
    source, target = files_of(data, name)
    for english, french in read_pairs(source, target):
        if english and french:
            yield " ".join(english.split()), " ".join(french.split())


def fits(english: str, french: str, words: list[int]) -> bool:
    """Tells whether lengths and letters are those of a translated sentence."""
    low, high = words
    here, there = len(english.split()), len(french.split())
    letters = sum(map(str.isalpha, english))
    alike = here <= 2.2 * there + 3 and there <= 2.2 * here + 3
    return (
        low <= here <= high and low <= there <= high + 8 and alike and 2 * letters >= len(english)
    )


def write_pairs(files: Sequence[Path], pairs: Iterable[tuple[str, str]]) -> None:
    """Writes the two files of a text, each completely or not at all."""
    for file, side in zip(files, zip(*pairs, strict=True), strict=True):
        write_text(file, "".join(f"{line}\n" for line in side))


def make_text(table: dict[str, Any], data: Path, work: Path) -> list[list[Path]]:
    """Makes the two files of each source: distinct pairs of the allowed lengths, without sentences
    that measure."""
    held_out = {*table["tests"].values(), table["development"]}
    kept_back = {line for name in held_out for pair in pairs_of(data, name) for line in pair}
    kept_back |= {line for row in read_rows(KINDS) for line in row[2:]}
    texts = []
    for source in table["source"]:
        name, count = source["name"], source.get("pairs")
        texts.append([work / f"{name.replace('/', '-')}.{side}" for side in ("en", "fr")])
        if not texts[-1][1].exists():
            pairs = list(dict.fromkeys(pairs_of(data, name)))
            pairs = [
                pair for pair in pairs if fits(*pair, source["words"]) and not kept_back & {*pair}
            ]
            random.Random(SEED).shuffle(pairs)
            if source.get("like_development"):
                pairs = most_like(pairs_of(data, table["development"]), pairs, count, work)
            write_pairs(texts[-1], pairs[:count])
            print(f"{name}: {len(pairs[:count]):,} pairs", flush=True)
    return texts


def most_like(
    domain: Iterable[tuple[str, str]], pairs: list[tuple[str, str]], count: int, work: Path
) -> list[tuple[str, str]]:
    """Returns the `count` pairs that `rnnsearch select` finds most like the domain."""
    options: list[object] = [f"--pairs={count}", "--out", work / "selected", "--overwrite"]
    for name, some in (("in-domain", domain), ("pool", pairs)):
        files = [work / f"{name}.{side}" for side in ("en", "fr")]
        write_pairs(files, some)
        options += [f"--{name}={file}" for file in files]
    rnnsearch("select", *options)
    return list(read_pairs(work / "selected.en", work / "selected.fr"))


def trained(arguments: argparse.Namespace, table: dict[str, Any]) -> Path:
    """Trains the recipe's run in the folder of --work, with all intermediate files there."""
    pair, work = (arguments.source, arguments.target), arguments.work
    data = [
        f"--set=data.{side}_language={code}"
        for side, code in zip(("source", "target"), pair, strict=True)
    ]
    data += ["--set=data.french_elisions=true", "--recipe", "europarl"]
    texts = make_text(table, arguments.data, work)
    store, run = work / "store", work / "run"
    base = [] if arguments.base is None else [arguments.base]
    if not (store / "data.toml").exists():
        sides = [files if pair[0] == "en" else files[::-1] for files in texts]
        flat = [file for files in sides for file in files]
        links = [work / f"{files[0].stem}.{'-'.join(pair)}.links" for files in sides]
        if not all(file.exists() for file in links):
            outs = [f"--out={file}" for file in links]
            rnnsearch("links", *flat, *outs, "--symmetrise", "intersection", *data)
        given = [word for file in links for word in ("--links", file)]
        given += [word for model in base for word in ("--vocabulary", model)]
        given += ["--repeat", ",".join(str(source.get("repeat", 1)) for source in table["source"])]
        dev = files_of(arguments.data, table["development"], pair)
        rnnsearch("prepare", *flat, "--dev", *dev, *given, "--out", store, *data)
    begin = [word for model in base for word in ("--from", model)]
    changes = [f"--set={change}" for change in arguments.set]
    rnnsearch("train", "europarl", "--data", store, "--out", run, "--resume", *begin, *changes)
    return run


def finish(run: Path, arguments: argparse.Namespace, table: dict[str, Any]) -> None:
    """Prepares the run for search: adds the words of all target texts, turns on
    `translation.faithful`, and calibrates confidence on the development text."""
    opened = Run.open(run)
    side = ("en", "fr").index(arguments.target)
    lines = (
        pair[side]
        for source in table["source"]
        for pair in pairs_of(arguments.data, source["name"])
    )
    known = WordFilter.of({word for line in lines for word in opened.target.tokeniser.words(line)})
    known.save(run / "words.target.bloom")
    write_config(run, opened.settings)
    change_translation(opened, faithful=True)
    dev = files_of(arguments.data, table["development"], (arguments.source, arguments.target))
    change_translation(opened, confidence=fit_confidence(run, dev, []))


def scores(
    model: Path, arguments: argparse.Namespace, table: dict[str, Any]
) -> list[dict[str, object]]:
    """Returns the BLEU of every test text, in the form of the model's card."""
    found: list[dict[str, object]] = []
    for name, text in sorted(table["tests"].items()):
        source, reference = files_of(arguments.data, text, (arguments.source, arguments.target))
        hypotheses = arguments.work / f"{name}.{arguments.target}"
        rnnsearch("translate", model, source, "--out", hypotheses, "--overwrite")
        figures = json.loads(
            rnnsearch("evaluate", "--ref", reference, "--hyp", hypotheses, "--json")
        )
        rows = (
            row for row in figures["scores"] if row["metric"] == "BLEU" and row["pairs"] == "all"
        )
        bleu, signature = round(next(rows)["value"], 2), figures["signatures"]["BLEU"]
        found.append({"test": name, "metric": "BLEU", "value": bleu, "signature": signature})
    return found


def save(run: Path, out: Path, card: dict[str, Any], work: Path) -> None:
    """Writes the run as a model with 8-bit weights, and replaces the model in `out`."""
    lines = [
        f"{key} = {json.dumps(value, ensure_ascii=False)}"
        for key, value in card.items()
        if key != "scores"
    ]
    for row in card.get("scores", []):
        lines += [
            "[[scores]]",
            *(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in row.items()),
        ]
    (work / "card.toml").write_text("\n".join([*lines, ""]), encoding="utf-8")
    if (out / "config.toml").exists():
        shutil.rmtree(out)
    rnnsearch("models", "--save", run, "--out", out, "--int8", "--card", work / "card.toml")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add = parser.add_argument
    add("source", choices=("en", "fr"), help="language of the source text")
    add("target", choices=("en", "fr"))
    add("--data", type=Path, required=True, help="folder of the sources and test sets")
    add("--sources", type=Path, default=SOURCES, help="table of sources and test sets")
    add("--out", type=Path, required=True, help="folder of the model; its name is the model's")
    add("--work", type=Path, required=True, help="folder of text, links, dataset and run")
    add("--from", dest="base", type=Path, help="begin with this model's weights and vocabularies")
    add("--set", action="append", default=[], metavar="SECTION.KEY=VALUE")
    arguments = parser.parse_args()
    table = read_sources(arguments.sources, arguments.data)
    arguments.work.mkdir(parents=True, exist_ok=True)
    run = trained(arguments, table)
    finish(run, arguments, table)
    learnt, draft = read_statistics(run), arguments.work / "model"
    card: dict[str, Any] = {
        "name": arguments.out.name,
        "licence": "mit",
        "data": [source["licence"] for source in table["source"]],
        "training": (
            f"Recipe europarl, {learnt['updates']:,} updates ({learnt['epochs']:g} epochs), "
            f"the weights of update {learnt['best_update']:,}."
        ),
        "limits": LIMITS,
        "examples": EXAMPLES[arguments.source],
    }
    save(run, draft, card, arguments.work)
    card["scores"] = scores(draft, arguments, table)
    save(run, arguments.out, card, arguments.work)


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(str(error))
