"""Makes a shipped model: text, word links, datasets, trainings, 8-bit weights, scores and card.

    python scripts/shipped_model.py en fr --data DATA --work en-fr.work \\
        --out models/src/rnnsearch_models/en-fr

`scripts/shipped_models.toml` names the sources of text, the test sets, and the steps: trainings
that begin with the weights of the step before. The sources `phrases`, `first`, `everyday` and
`usage` are in `scripts/phrases`: phrases of letters, clocks and kitchens, with slots, and what
fills them; what people type first; conversation, situations, labels and words; and verbs with their
objects, constructions, idioms and words. `words` are single words of another source and their
translations.
After an interruption, give the same command again: finished steps are not repeated, and training
continues. `--from MODEL --steps N` begins with the weights and vocabularies of a model and carries
out the last N steps. Needs the extra `align` for eflomal.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from fit_confidence import change_translation, fit_confidence
from torch import Tensor

from rnnsearch.errors import InputError
from rnnsearch.lab.eflomal_links import require_eflomal
from rnnsearch.pretrained.card import card_of
from rnnsearch.run import Run, read_statistics, write_config
from rnnsearch.system.files import write_text
from rnnsearch.system.tensors import load_tensors, save_tensors
from rnnsearch.text.formats.lines import raw_lines, read_pairs
from rnnsearch.text.vocabulary import WordFilter

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
OWN = ("phrases", "first", "everyday", "usage", "daily")
"""Sources in that folder."""
COUNT, USUAL = 6, 0.55
"""Minimum number of a word's links in a dictionary, and minimum share of those to its
translation."""
TYPED = 8
"""Maximum number of words of a sentence that is also there as people type it."""


def rnnsearch(*words: object) -> str:
    """Runs a command and returns what it prints."""
    command = [sys.executable, "-m", "rnnsearch", *map(str, words)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(done.returncode)  # the command has printed the reason
    return done.stdout


def read_sources(path: Path, data: Path) -> dict[str, Any]:
    """Returns the table of sources and steps. Raises InputError for an unknown name, a wrong number
    or a missing file."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    names = {source["name"] for source in table["source"]}
    for step in table["step"]:
        for key, value in [*step["text"].items(), *step.get("pairs", {}).items()]:
            if (
                key not in names
                or isinstance(value, bool)
                or not isinstance(value, int)
                or value < 1
            ):
                what = f"a step has {value!r} for {key}, not a positive whole number of a source"
                raise InputError(what, file=path)
    made = {source["name"] for source in table["source"] if "dictionary" in source}
    for name in {*names, table["development"], *table["tests"].values()} - made - set(OWN):
        for file in files_of(data, name):
            if not file.is_file():
                raise InputError("is missing", file=file, remedy=f"see the sources in {path}")
    return table


def files_of(data: Path, name: str, sides: Sequence[str] = ("en", "fr")) -> list[Path]:
    """Returns the two files of a text."""
    return [data / f"{name}.{side}.gz" for side in sides]


def phrases(name: str) -> Iterator[tuple[str, str]]:
    """Yields the (English, French) phrases of a file. In one with slots, as "at {time}" has, they
    are filled at random, on both sides alike."""
    drawn, fillings = random.Random(SEED), dict[str, list[list[str]]]()
    for slot, *sides in read_rows(PHRASES / "slots.tsv"):
        fillings.setdefault(slot, []).append(sides)
    for sides in read_rows(PHRASES / f"{name}.tsv"):
        for _ in range(FILLINGS if "{" in sides[0] else 1):
            chosen = {slot: drawn.choice(values) for slot, values in fillings.items()}
            english, french = (
                side.format_map({slot: both[at] for slot, both in chosen.items()})
                for at, side in enumerate(sides)
            )
            yield english, french


def dictionary(data: Path, text: str, folder: Path) -> Iterator[tuple[str, str]]:
    """Yields words of a text that have one usual translation, of one word, in both directions."""
    out = folder / "dictionary.tsv"
    if not out.exists():
        given = [*files_of(data, text), "--dictionary", out, "--out", folder / "dictionary.links"]
        given += ["--symmetrise", "intersection", "--set=data.french_elisions=true", "--overwrite"]
        rnnsearch("links", *given)
    for english, french, count, forward, backward in read_rows(out):
        usual = int(count) >= COUNT and min(float(forward), float(backward)) >= USUAL
        words = all(side.replace("-", "").isalpha() for side in (english, french))
        if usual and words and english[:1].isupper() == french[:1].isupper():
            yield english[:1].upper() + english[1:], french[:1].upper() + french[1:]


def typed(pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yields the short pairs as people type them: most in small letters and without the last mark,
    a tenth in capitals."""
    drawn = random.Random(SEED)
    for pair in pairs:
        if all(len(side.split()) <= TYPED for side in pair):
            change = str.upper if drawn.random() < 0.1 else small
            english, french = (change(side.rstrip(" .!?")) for side in pair)
            if (english, french) != pair:
                yield english, french


def small(text: str) -> str:
    """Returns the text with its first letter small; after an English I, with it small, too."""
    return re.sub(r"\bI\b", "i", text[:1].lower() + text[1:])


def read_rows(path: Path) -> Iterator[list[str]]:
    """Yields the columns of each line."""
    yield from (line.split("\t") for line in raw_lines(path))


def pairs_of(data: Path, name: str) -> Iterator[tuple[str, str]]:
    """Yields the (English, French) pairs of a text, repaired by `normalised`."""
    if name in OWN:
        yield from phrases(name)
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


def make_text(
    step: dict[str, Any], table: dict[str, Any], data: Path, folder: Path
) -> dict[str, list[Path]]:
    """Makes the two files of each source of a step: distinct pairs of the allowed lengths, without
    sentences that measure; and those of the pairs as people type them."""
    held_out = {*table["tests"].values(), table["development"]}
    kept_back = {line for name in held_out for pair in pairs_of(data, name) for line in pair}
    kept_back |= {line for row in read_rows(KINDS) for line in row[2:]}
    texts = dict[str, list[Path]]()
    for source in (one for one in table["source"] if one["name"] in step["text"]):
        name = source["name"]
        count = step.get("pairs", {}).get(name, source.get("pairs"))
        stem, kinds = (
            name.replace("/", "-"),
            ["", "-typed"] if name in step.get("typed", []) else [""],
        )
        made = {
            name + kind: [folder / f"{stem}{kind}.{side}" for side in ("en", "fr")]
            for kind in kinds
        }
        texts |= made
        if all(file.exists() for files in made.values() for file in files):
            continue
        text = source.get("dictionary")
        found = dictionary(data, text, folder) if text else pairs_of(data, name)
        pairs = list(dict.fromkeys(found))
        pairs = [pair for pair in pairs if fits(*pair, source["words"]) and not kept_back & {*pair}]
        random.Random(SEED).shuffle(pairs)
        if source.get("like_development") and count:
            pairs = most_like(pairs_of(data, table["development"]), pairs, count, folder)
        write_pairs(made[name], pairs[:count])
        if len(made) > 1:
            write_pairs(made[f"{name}-typed"], typed(pairs[:count]))
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


def trained(
    step: dict[str, Any], arguments: argparse.Namespace, table: dict[str, Any], base: Path | None
) -> Path:
    """Trains the run of a step in its folder, where all intermediate files are. base: the run or
    model whose weights it begins with. Returns the run with the mean of weights, if the step asks
    for it."""
    pair, folder = (arguments.source, arguments.target), step["folder"]
    data = [
        f"--set=data.{side}_language={code}"
        for side, code in zip(("source", "target"), pair, strict=True)
    ]
    data += ["--set=data.french_elisions=true", "--recipe", "europarl"]
    folder.mkdir(parents=True, exist_ok=True)
    texts = make_text(step, table, arguments.data, folder)
    store, run = folder / "store", folder / "run"
    if not (store / "data.toml").exists():
        sides = {name: files if pair[0] == "en" else files[::-1] for name, files in texts.items()}
        flat = [file for files in sides.values() for file in files]
        given = [word for file in links(step, sides, data) for word in ("--links", file)]
        given += ["--vocabulary", base] if base else []
        repeats = (step["text"][name.removesuffix("-typed")] for name in sides)
        given += ["--repeat", ",".join(map(str, repeats))]
        dev = files_of(arguments.data, table["development"], pair)
        rnnsearch("prepare", *flat, "--dev", *dev, *given, "--out", store, *data)
    begin = ["--from", base] if base else []
    changes = [f"--set={change}" for change in (*step["settings"], *arguments.set)]
    rnnsearch("train", "europarl", "--data", store, "--out", run, "--resume", *begin, *changes)
    return mean(base, run, step, folder) if base and "mean" in step else run


def links(step: dict[str, Any], texts: dict[str, list[Path]], data: list[str]) -> list[Path]:
    """Returns the files of word links of the texts; those of texts without links have empty
    lines."""
    files = {
        name: sides[0].with_suffix(f"{sides[0].suffix}.links") for name, sides in texts.items()
    }
    without = {name for name in files if step.get("links") == "short" and "europarl" in name}
    for name in without:
        write_text(files[name], "\n" * sum(1 for _ in raw_lines(texts[name][0])))
    linked = files.keys() - without
    if not all(files[name].exists() for name in linked):
        names = [name for name in files if name in linked]
        text = [file for name in names for file in texts[name]]
        outs = [f"--out={files[name]}" for name in names]
        rnnsearch("links", *text, *outs, "--symmetrise", "intersection", *data, "--overwrite")
    return [*files.values()]


def last_weights(run: Path) -> dict[str, Tensor]:
    """Returns the weights after a run's last update, averaged if it keeps an average. On the
    development text, those before a step may be better than all of the step's own."""
    tensors, _ = load_tensors(Run.open(run).checkpoint_path, "carry out this step again")
    kind = "average." if any(name.startswith("average.") for name in tensors) else "network."
    return {name.removeprefix(kind): one for name, one in tensors.items() if name.startswith(kind)}


def mean(base: Path, run: Path, step: dict[str, Any], folder: Path) -> Path:
    """Returns a copy of the run with weighted means of the weights before and after it."""
    share, kept = step["mean"], tuple(step.get("kept", []))
    own, before = last_weights(run), Run.open(base).load_network().state_dict()
    out = folder / "mean"
    shutil.copytree(run, out, dirs_exist_ok=True)
    means = {
        name: before[name] if name.startswith(kept) else before[name].lerp(tensor, share)
        for name, tensor in own.items()
    }
    save_tensors(out / "model.safetensors", means, {})
    return out


def finish(run: Path, arguments: argparse.Namespace, table: dict[str, Any]) -> None:
    """Prepares the run for search: adds the words of all texts, turns on
    `translation.faithful`, and calibrates confidence on the development text."""
    opened = Run.open(run)
    names = [source["name"] for source in table["source"] if "dictionary" not in source]
    for side, codec in (("source", opened.source), ("target", opened.target)):
        number = ("en", "fr").index(getattr(arguments, side))
        lines = (pair[number] for name in names for pair in pairs_of(arguments.data, name))
        known = WordFilter.of({word for line in lines for word in codec.tokeniser.words(line)})
        known.save(run / f"words.{side}.bloom")
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
    add("--steps", type=int, help="carry out only so many of the steps, the last ones")
    add("--set", action="append", default=[], metavar="SECTION.KEY=VALUE")
    arguments = parser.parse_args()
    require_eflomal()
    table = read_sources(arguments.sources, arguments.data)
    steps = len(table["step"]) if arguments.steps is None else arguments.steps
    if not 1 <= steps <= len(table["step"]):
        parser.error(f"--steps is from 1 to {len(table['step'])}")
    numbered = [*enumerate(table["step"], 1)][-steps:]
    run = arguments.base
    for number, step in numbered:
        print(f"step {number}", flush=True)
        step["folder"] = arguments.work / f"step-{number}"
        run = trained(step, arguments, table, run)
    finish(run, arguments, table)
    learnt, draft = read_statistics(run), arguments.work / "model"
    before = "Recipe europarl: "
    if arguments.base:
        before = f"{card_of(arguments.base).training.rstrip('.')}; then "
    card: dict[str, Any] = {
        "name": arguments.out.name,
        "licence": "mit",
        "data": list(dict.fromkeys(source["licence"] for source in table["source"])),
        "training": (
            f"{before}{learnt['updates']:,} updates ({learnt['epochs']:.2f} epochs)"
            f"{', and the mean with the weights before' * ('mean' in numbered[-1][1])}."
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
