"""Prints docs/reference/settings.md: every setting as config.py defines it.

python scripts/settings_reference.py > docs/reference/settings.md
"""

from __future__ import annotations

import sys

from rnnsearch.config import Settings
from rnnsearch.schema import described_keys

INTRODUCTION = """\
# Settings

<!-- Written by `python scripts/settings_reference.py > docs/reference/settings.md`. Change src/rnnsearch/config.py, not this page. -->

A recipe is a TOML file with any of the four sections below. It holds only what differs from the defaults, and the defaults are the
paper's. An unknown key or an invalid value is an error. `--set section.key=value` changes one setting on the command line and may be
repeated; the resolved settings are saved in the run's `config.toml`. [Recipes](recipes.md) lists what each built-in recipe changes.
`rnnsearch settings` prints these tables in the terminal; `rnnsearch settings --recipe multi30k` prints a recipe.

The section `[data]` takes effect in `rnnsearch prepare` and is fixed from then on. `[model]` and `[training]` take effect in
`rnnsearch train`. `[search]` holds the defaults of `rnnsearch translate`, whose options change them.

The column *the paper* has the value that the paper states (Bahdanau, Cho & Bengio 2015, with the section), or *not used* for methods that
it does not use. It is empty where the paper says nothing.
"""

UNUSED = "*not used*"
PAPER = {
    "data": {
        "source_language": '`"en"` (4)',
        "target_language": '`"fr"` (4)',
        "tokeniser": "Moses's (4.1)",
        "lowercase": "`false` (4.1)",
        "subwords": UNUSED,
        "vocabulary_size": "`30000` (4.1)",
        "seed": "shuffled once (B.2)",
    },
    "model": {
        "cell": '`"gated"` (A.1.1)',
        "encoder": '`"bidirectional"` (3.2)',
        "alignment": '`"additive"` (A.1.2)',
        "readout": '`"maxout"` (A.2.2)',
        "wiring": '`"eq4"` in 3.1, `"appendix"` in A.2.2',
        "decoder": '`"forward"` (A.2.2)',
        "embedding_size": "`620` (A.2.3)",
        "hidden_size": "`1000` (4.2, A.2.3)",
        "encoder_size": "as hidden_size (4.2)",
        "alignment_size": "`1000` (A.2.3)",
        "maxout_size": "`500` (A.2.3)",
        "factored_output": "`false` (A.2.2)",
        "initialisation": '`"paper"` (B.1)',
        "tie_output": UNUSED,
    },
    "training": {
        "max_length": "`30` or `50` (4.2)",
        "batch_size": "`80` (B.2)",
        "pool_batches": "`20` (B.2)",
        "reshuffle": "`false` (B.2)",
        "optimiser": '`"adadelta"` (B.2)',
        "rho": "`0.95` (B.2)",
        "epsilon": "`1e-6` (B.2)",
        "clip_norm": "`1` (B.2)",
        "max_updates": "Table 2",
        "device": "a GPU (Table 2)",
        "batch_tokens": UNUSED,
        "accumulate": UNUSED,
        "weight_decay": UNUSED,
        "dropout_embedding": UNUSED,
        "dropout_recurrent": UNUSED,
        "dropout_readout": UNUSED,
        "label_smoothing": UNUSED,
        "sampled_softmax": UNUSED,
        "alignment_loss": UNUSED,
        "alignment_weight": UNUSED,
        "alignment_annealing": UNUSED,
        "alignment_final_weight": UNUSED,
        "alignment_forcing": UNUSED,
        "alignment_forcing_probability": UNUSED,
        "average_decay": UNUSED,
        "patience": "for RNNsearch-50 with a star only (Table 1)",
    },
    "search": {
        "coverage_beta": UNUSED,
        "lexical_shortlist_frequent": UNUSED,
        "lexical_shortlist_per_word": UNUSED,
        "replace_unk": UNUSED,
        "no_unk": "`false` and `true` (Table 1)",
        "beam": "beam search, width not stated (4.2)",
    },
}
"""What the paper states, by section and key."""


def page() -> str:
    """The whole page."""
    return "\n".join([INTRODUCTION, *(section(name) for name in Settings.model_fields)])


def section(name: str) -> str:
    """The table of one section of a recipe."""
    model = type(getattr(Settings(), name))
    paper = PAPER[name]
    rows = [
        f"| `{key}` | {allowed} | {default} | {paper.get(key, '')} | {cell(text)} |"
        for key, allowed, default, text in described_keys(model, "`")
    ]
    head = ["| key | type | default | the paper | description |", "|---|---|---|---|---|"]
    return "\n".join([f"## [{name}]\n", " ".join((model.__doc__ or "").split()) + "\n", *head, *rows, ""])


def cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    sys.stdout.write(page())
