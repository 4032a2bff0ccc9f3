"""A folder of static files that translates in the browser: the page, its engine, and the models."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any

from rnnsearch.errors import InputError
from rnnsearch.installed import model_names
from rnnsearch.kernels.digest import edited
from rnnsearch.kernels.gated import FastDecoder
from rnnsearch.pretrained.card import examples_of
from rnnsearch.run import WEIGHTS_FILE, Run
from rnnsearch.serve.page import page_files
from rnnsearch.serve.page.tables import in_javascript
from rnnsearch.system.files import file_name, holds_only, whole_folder, write_text
from rnnsearch.system.tensors import quantise, save_tensors
from rnnsearch.text.codec import Codec
from rnnsearch.text.language_codes import base
from rnnsearch.text.moses import FIRST_WORDS, Detokeniser, WholeWords
from rnnsearch.text.tokens import changes
from rnnsearch.text.vocabulary import SPECIALS
from rnnsearch.training.loss import needs_links
from rnnsearch.translation.copied import COPIED_PATTERNS

EXPORTABLE = {
    "model.cell": ["gated"],
    "model.encoder": ["bidirectional"],
    "model.alignment": ["additive"],
    "model.readout": ["maxout"],
    "model.decoder": ["forward"],
    "data.subwords": ["bpe", "none"],
}
"""Setting → the parts that the page's engine supports. It supports all decoder variants and
sizes."""
ENGINE_EQUALS = (
    *FastDecoder.EQUALS,
    "model.layers:WordEmbedding.forward",
    "model.encoder:BidirectionalEncoder.__init__",
    "model.encoder:BidirectionalEncoder.forward",
    "model.encoder:run_cell",
    "model.alignment.additive:AdditiveAlignment.keys",
    "model.decoder:Decoder.__init__",
    "model.decoder:Decoder.start",
    "model.readout:Readout.__init__",
    "model.readout:Readout.forward",
    "model.readout:MaxoutReadout.activation",
    "model.readout:OutputLayer.__init__",
    "model.readout:OutputLayer.features",
    "model.readout:OutputLayer.logits",
    "model.network:TranslationNetwork.begin",
    "model.network:TranslationNetwork.step",
    "search.beam:best_sums",
    "search.beam:final_score",
)
"""Functions that the page's engine repeats in JavaScript."""
CONFIG, MODELS = "config.json", "models"
TEXT_FILE = "text.json"
SEARCH = (
    *("beam", "normalise", "length_alpha", "coverage_beta", "no_unk"),
    *("min_length_ratio", "max_length_ratio", "max_source_length", "faithful"),
    "confidence",
)
"""The settings of search and translation that the engine reads."""


def export_page(runs: Sequence[str | Path], out: str | Path) -> tuple[int, dict[str, int]]:
    """Writes the folder for any static host, whole or not at all. The models appear in the page in
    the order of `runs`; the first is chosen. Returns the bytes of the page, and those of each
    model.

    Raises InputError for a run that cannot be opened or that the page's engine cannot run, and for
    an existing folder that this function did not make.
    """
    out = Path(out)
    opened = [Run.open(run) for run in runs]
    for run in opened:
        check_exportable(run)
    paths = [run.path for run in opened]
    languages = [
        (run.settings.data.source_language, run.settings.data.target_language) for run in opened
    ]
    names = [file_name(name) for name in model_names([""] * len(paths), languages, paths)]
    files, sizes, models = page_files(), {}, []
    with whole_folder(out, made_here) as folder:
        for name, run, (source, target) in zip(names, opened, languages, strict=True):
            sizes[name] = write_browser_model(run, folder / MODELS / name)
            models.append(
                {
                    "name": name,
                    "source": source,
                    "target": target,
                    "taught_links": needs_links(run.settings.known_alignments),
                    "folder": f"{MODELS}/{name}",
                    "bytes": sizes[name],
                }
            )
        examples = dict(zip(names, map(examples_of, paths), strict=True))
        described = {"engine": "local", "models": models, "examples": examples}
        config = json.dumps(described, ensure_ascii=False, indent=1).encode()
        for path, content in {**files, CONFIG: config}.items():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
    return sum(map(len, files.values())), sizes


def made_here(folder: Path) -> bool:
    """Tells whether the folder is such a page, and nothing else; a new one may then replace it."""
    files = page_files()
    own = (folder / CONFIG).is_file() and (folder / "engine" / "worker.js").is_file()
    model = re.compile(rf"{MODELS}/[^/]+/(?:{TEXT_FILE}|{WEIGHTS_FILE})")
    return own and holds_only(
        folder, lambda name: name == CONFIG or name in files or model.fullmatch(name)
    )


def check_exportable(run: Run) -> None:
    """Raises InputError for a model that the page's engine cannot run, and if an equation is
    edited; the message names the first one, or the first unsupported setting."""
    for function in edited(ENGINE_EQUALS):
        what = f"{function} is edited, and the engine of the page has the equation as it was"
        remedy = "translate with `rnnsearch translate` or `serve`"
        raise InputError(what, remedy, file=run.path)
    for setting, known in EXPORTABLE.items():
        value = attrgetter(setting)(run.settings)
        if value not in known:
            what = f'{setting} = "{value}": the engine of the page has only {" and ".join(known)}'
            remedy = "export a model with the parts of recipe multi30k"
            raise InputError(what, remedy, file=run.path)
    if run.source.tokeniser.unspaced or run.target.tokeniser.unspaced:
        data = run.settings.data
        pair = f"{data.source_language} to {data.target_language}"
        what = f"the engine of the page has no tokeniser for text without spaces ({pair})"
        remedy = "the tokeniser `space` works for every language"
        raise InputError(what, remedy, file=run.path)


def write_browser_model(run: Run, folder: Path) -> int:
    """Writes a run in the format of the engine (page/engine) into a new `folder`: `text.json`, and
    `model.safetensors` with int8 matrices. Returns their size in bytes."""
    network = run.load_network()
    tables = run.settings.search, run.settings.translation
    search = {key: value for table in tables for key, value in table if key in SEARCH}
    copied = {kind: in_javascript(pattern) for kind, pattern in COPIED_PATTERNS.items()}
    text = {
        "format": 1,
        "wiring": run.settings.model.wiring,
        "search": search,
        "source": _side(run.source) | {"copied": copied},
        "target": _side(run.target),
    }
    folder.mkdir(parents=True)
    write_text(folder / TEXT_FILE, json.dumps(text, ensure_ascii=False, separators=(",", ":")))
    save_tensors(folder / WEIGHTS_FILE, quantise(network.state_dict(), tied=network.tied), {})
    return sum((folder / name).stat().st_size for name in (TEXT_FILE, WEIGHTS_FILE))


def _side(codec: Codec) -> dict[str, Any]:
    tokeniser, language = codec.tokeniser, base(codec.tokeniser.language)
    words = [codec.vocabulary.word(number) for number in range(len(codec.vocabulary))]
    pieces = None if codec.subwords is None else codec.subwords.vocabulary()
    result = {
        "words": words,
        "subwords": "none" if pieces is None else "bpe",
        # The subwords are the vocabulary itself, unless one is spelt like a special token.
        "pieces": None if pieces == words[len(SPECIALS) :] else pieces,
        "tokeniser": tokeniser.kind,
        "language": language,
        "lowercase": tokeniser.lowercase,
        "normalise": list(changes(language).values()) if tokeniser.normalised else None,
    }
    if codec.known is not None:
        result["known"] = base64.b64encode(codec.known.bits.tobytes()).decode()
    return result if tokeniser.kind == "space" else result | moses_rules(language)


def moses_rules(language: str) -> dict[str, Any]:
    """Returns the data of Moses's rules: sets of characters as [first, last, …], and words whose
    full stop does not end a sentence."""
    from sacremoses import MosesTokenizer

    tokeniser = MosesTokenizer(language)
    prefixes = tokeniser.NONBREAKING_PREFIXES, tokeniser.NUMERIC_ONLY_PREFIXES
    return {
        "prefixes": list(dict.fromkeys(chain(*prefixes))),
        "numeric_prefixes": list(prefixes[1]),
        "first_words": FIRST_WORDS.get(language, "").split(),
        "alnum": _code_point_ranges(tokeniser.IsAlnum),
        "alpha": _code_point_ranges(tokeniser.IsAlpha),
        "numbers": _code_point_ranges(tokeniser.IsN),
        "lower": _code_point_ranges(tokeniser.IsLower),
        "whole": WholeWords.pattern(language),
        "detokeniser": Detokeniser(language).patterns,
    }


def _code_point_ranges(characters: str) -> list[int]:
    """Returns the code points of a set as runs: first, last, first, last, …"""
    ends: list[int] = []
    for code in sorted(set(map(ord, characters))):
        if ends and code == ends[-1] + 1:
            ends[-1] = code
        else:
            ends += [code, code]
    return ends
