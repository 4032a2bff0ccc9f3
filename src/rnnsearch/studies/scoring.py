"""One row of the results: what a trained and measured run is worth, from its files alone."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from rnnsearch.config import DataSettings
from rnnsearch.evaluation.alignment import alignment_error
from rnnsearch.evaluation.bleu import bleu, chrf
from rnnsearch.studies.folder import StudyFolder, StudyRun
from rnnsearch.studies.measuring import checksum, read_forced, read_note
from rnnsearch.studies.study import LONG
from rnnsearch.studies.test_sets import SetFiles, counted_links
from rnnsearch.text.codec import side_tokeniser
from rnnsearch.text.reading import read_lines, read_pairs
from rnnsearch.training.log import read_statistics

Row = dict[str, Any]
LEARNING = ("updates", "epochs", "hours", "train_nll", "dev_nll", "dev_bleu", "best_update", "ended_because", "hardware", "rnnsearch")
"""What the row takes from the run's learning statistics (Table 2)."""


def is_measured(folder: StudyFolder, run: StudyRun, tests: dict[str, SetFiles]) -> bool:
    """Whether all that a row is computed from was made from the weights that the run now has, and from these texts."""
    model = run.path / "model.safetensors"
    if not model.exists():
        return False
    weights = checksum(model)
    for name, test in tests.items():
        texts = {"source": checksum(test.reference if run.reverse else test.source)}
        keys = [read_note(folder.forced(run, name)).get("key")]
        if test.translate and not run.reverse:
            keys.append(read_note(folder.translations(run, name)).get("key"))
        if any(key is None or key["model"] != weights or key["source"] != texts["source"] for key in keys):
            return False
    return True


def fingerprint(folder: StudyFolder, run: StudyRun, tests: dict[str, SetFiles]) -> str:
    """Of all that a row is computed from: with the same fingerprint it would say the same."""
    keys: list[Any] = []
    for name, test in tests.items():
        keys += [name, *(read_note(path).get("key") for path in (folder.translations(run, name), folder.forced(run, name)))]
        keys += [checksum(test.reference), None if test.gold is None else checksum(test.gold), test.gold_counts]
    return hashlib.sha256(json.dumps(keys).encode()).hexdigest()[:16]


def row(folder: StudyFolder, run: StudyRun, tests: dict[str, SetFiles], data: DataSettings) -> Row:
    """The row of a run that is trained and measured. data: of its corpus, whose tokeniser counts words."""
    statistics = read_statistics(run.path)
    notes = [read_note(folder.forced(run, name)) for name in tests]
    return {
        "run": run.name,
        "variant": run.variant,
        "seed": run.seed,
        "reverse": run.reverse,
        "status": "done",
        "parameters": next((note["parameters"] for note in notes if "parameters" in note), None),
        **{key: statistics.get(key) for key in LEARNING},
        "tests": {name: set_scores(folder, run, name, test, data) for name, test in tests.items()},
        "fingerprint": fingerprint(folder, run, tests),
    }


def failed_row(run: StudyRun, error: str) -> Row:
    """Of a run that did not come to its end."""
    return {"run": run.name, "variant": run.variant, "seed": run.seed, "reverse": run.reverse, "status": "failed", "error": error}


def set_scores(folder: StudyFolder, run: StudyRun, name: str, test: SetFiles, data: DataSettings) -> dict[str, Any]:
    """BLEU and chrF of the translations; NLL, perplexity's logarithm a word, and alignment error of forced decoding."""
    scores: dict[str, Any] = {}
    if test.translate and not run.reverse:
        scores |= translation_scores(test, folder.translations(run, name), data)
        note = read_note(folder.translations(run, name))
        scores["seconds"] = note.get("seconds")
    forced = read_forced(folder.forced(run, name))
    total = -sum(pair.log_probability for pair in forced)
    scores |= {"nll": total / len(forced), "nll_per_word": total / sum(pair.words for pair in forced)}
    if test.gold is not None and not run.reverse:
        found = alignment_error(*counted_links(test, [pair.links for pair in forced], data))
        scores |= {"aer": found.aer, "precision": found.precision, "recall": found.recall}
    return scores


def translation_scores(test: SetFiles, translations: Path, data: DataSettings) -> dict[str, Any]:
    """Of all sentences, and BLEU of those of more than LONG source words, if there are any."""
    sources, references = zip(*read_pairs(test.source, test.reference), strict=True)
    hypotheses = list(read_lines(translations))
    whole, characters = bleu(hypotheses, references), chrf(hypotheses, references)
    tokeniser = side_tokeniser("source", data)
    long = [place for place, line in enumerate(sources) if len(tokeniser.words(line)) > LONG]
    scores = {"sentences": len(sources), "bleu": whole.value, "chrf": characters.value, "long_sentences": len(long)}
    if long:
        scores["bleu_long"] = bleu([hypotheses[place] for place in long], [references[place] for place in long]).value
    return scores | {"bleu_signature": whole.signature, "chrf_signature": characters.signature}
