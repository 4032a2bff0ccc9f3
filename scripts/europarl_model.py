"""A model of Europarl as it can be shipped: word links, dataset, training, 8-bit weights, scores.

    python scripts/europarl_model.py en fr --data europarl --out models/src/rnnsearch_models/en-fr --work en-fr.work

The folder of the data has train.en.gz, train.fr.gz, the development text dev.en.gz and dev.fr.gz (newstest2013, say), and test texts in two
files each, NAME.en.gz and NAME.fr.gz, all of which are scored. A step whose result is there is not made again, and the training goes on
where it stopped: give the command again after an interruption. Needs the extra `align` for eflomal.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

from rnnsearch.training.log import read_statistics

LIMITS = ["trained on speeches of the European Parliament: other texts are translated as if they were such speeches"]
LICENCE = "mit"


def rnnsearch(*words: object, into: Path | None = None) -> None:
    """Runs a command; what it prints becomes the file `into` when it has ended well."""
    command = [sys.executable, "-m", "rnnsearch", *map(str, words)]
    begun = into and into.with_name(into.name + ".begun")
    with begun.open("wb") if begun else nullcontext() as file:
        done = subprocess.run(command, stdout=file)
    if done.returncode:
        sys.exit(done.returncode)  # the command has said why
    if begun and into:
        begun.rename(into)


def of_data(change: str) -> bool:
    """Whether it concerns the dataset: then it is settled when that is prepared."""
    return change.startswith("data.")


def trained(source: str, target: str, data: Path, work: Path, changes: list[str]) -> Path:
    """The run of the recipe. All that leads to it lies in `work`."""
    sides = (f"data.source_language={source}", f"data.target_language={target}")
    sets = [f"--set={change}" for change in (*sides, *changes)]
    train, dev = ([data / f"{part}.{side}.gz" for side in (source, target)] for part in ("train", "dev"))
    links, store, run = work / "train.links", work / "store", work / "run"
    if not links.exists():
        rnnsearch("links", *train, "--out", links, "--symmetrise", "intersection", "--recipe", "europarl", *sets)
    if not (store / "data.toml").exists():
        rnnsearch("prepare", *train, "--dev", *dev, "--links", links, "--out", store, "--recipe", "europarl", *sets)
    rnnsearch(
        "train", "europarl", "--data", store, "--out", run, "--resume", *(f"--set={change}" for change in changes if not of_data(change))
    )
    return run


def scores(model: Path, source: str, target: str, data: Path, work: Path) -> list[dict[str, object]]:
    """BLEU of every test text, as the model's card has it."""
    found = []
    for text in sorted(data.glob(f"*.{source}.gz")):
        name = text.name.removesuffix(f".{source}.gz")
        if name in ("train", "dev"):
            continue
        hypotheses, result = work / f"{name}.{target}", work / f"{name}.json"
        rnnsearch("translate", model, text, into=hypotheses)
        rnnsearch("evaluate", "--ref", data / f"{name}.{target}.gz", "--hyp", hypotheses, "--json", into=result)
        figures = json.loads(result.read_text(encoding="utf-8"))
        bleu = next(row["value"] for row in figures["scores"] if row["metric"] == "BLEU" and row["pairs"] == "all")
        found.append({"test": name, "metric": "BLEU", "value": round(bleu, 2), "signature": figures["signatures"]["BLEU"]})
    return found


def save(run: Path, out: Path, card: dict[str, object], work: Path) -> None:
    """The run as a model with 8-bit weights. card: a string, a list of strings or a list of tables for each key."""
    tables = [key for key, value in card.items() if isinstance(value, list) and value and isinstance(value[0], dict)]
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in card.items() if key not in tables]
    for key in tables:
        for table in card[key]:  # type: ignore[attr-defined]
            lines += [f"[[{key}]]", *(f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in table.items())]
    (work / "card.toml").write_text("\n".join([*lines, ""]), encoding="utf-8")
    if (out / "config.toml").exists():
        for file in out.iterdir():
            file.unlink()
        out.rmdir()
    rnnsearch("models", "--save", run, "--out", out, "--int8", "--card", work / "card.toml")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", help="language of the source text")
    parser.add_argument("target")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="folder of the model; its name is the model's")
    parser.add_argument("--work", type=Path, required=True, help="folder of links, dataset, run and translations")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE")
    arguments = parser.parse_args()
    source, target, out, work = arguments.source, arguments.target, arguments.out, arguments.work
    work.mkdir(parents=True, exist_ok=True)
    run = trained(source, target, arguments.data, work, arguments.set)
    draft = work / "model"
    learnt = read_statistics(run)
    training = (
        f"Recipe europarl, {learnt['updates']:,} updates ({learnt['epochs']:g} epochs), the weights of update {learnt['best_update']:,}."
    )
    card = {"name": out.name, "licence": LICENCE, "data": ["Europarl v7"], "training": training, "limits": LIMITS}
    save(run, draft, card, work)
    card["scores"] = scores(draft, source, target, arguments.data, work)
    save(run, out, card, work)


if __name__ == "__main__":
    main()
