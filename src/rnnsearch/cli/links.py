"""`rnnsearch links`: word links of a whole corpus."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rnnsearch.cli.options import Columns, Format, Set, one_of, progress_bar, resumable
from rnnsearch.errors import InputError
from rnnsearch.system.files import prepare_output

if TYPE_CHECKING:  # it would load numpy
    from rnnsearch.text.links import LinkWords

Files = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FILE...",
        help="Source and target files alternating, or bilingual files, as for `prepare`. They are aligned "
        "together.",
    ),
]
Out = Annotated[
    list[Path] | None,
    typer.Option(metavar="FILE", help="Pharaoh file to write; repeat the option for several corpora."),
]
Symmetrise = Annotated[
    str | None,
    typer.Option(
        help="How to symmetrise the links of both directions: grow-diag-final-and (default), "
        "grow-diag-final, grow-diag, grow, intersection, union, forward, reverse; or none, which writes "
        "OUT.forward and OUT.reverse."
    ),
]
Words = Annotated[
    str,
    typer.Option(
        help="Words that the links refer to: `tokenised` words, or words as `given` (split at spaces)."
    ),
]
Forward = Annotated[
    str,
    typer.Option(
        metavar="FILE",
        help="Do not align. Read another aligner's links from this file, with one source word per target "
        "word.",
    ),
]
Reverse = Annotated[
    str,
    typer.Option(
        metavar="FILE",
        help="With --forward: the links of the other direction, with one target word per source word.",
    ),
]
SwapForward = Annotated[
    bool,
    typer.Option("--swap-forward", help="The --forward file lists target-source, not source-target."),
]
SwapReverse = Annotated[
    bool,
    typer.Option("--swap-reverse", help="The --reverse file lists target-source, not source-target."),
]
Recipe = Annotated[
    str,
    typer.Option(help="Use the languages and the tokeniser of this recipe: a built-in name or a TOML file."),
]
ByAligner = Annotated[
    str,
    typer.Option(
        "--aligner",
        help="`eflomal`; a model, as en-fr: links that the model, the model of the opposite direction and "
        "eflomal vote for; or `rnnsearch`: the same with two networks that learn from eflomal's links. "
        "OUT.work keeps what is done; after Ctrl-C, the same command goes on.",
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace existing files.")]


def links(
    files: Files = None,
    out: Out = None,
    symmetrise: Symmetrise = None,
    words: Words = "tokenised",
    forward: Forward = "",
    reverse: Reverse = "",
    swap_forward: SwapForward = False,
    swap_reverse: SwapReverse = False,
    columns: Columns = None,
    format_: Format = "",
    recipe: Recipe = "",
    set_: Set = None,
    overwrite: Overwrite = False,
    aligner: ByAligner = "eflomal",
) -> None:
    """Align the words of a corpus in both directions, with eflomal, or with eflomal and networks together.
    `prepare --links` reads the links."""
    from rnnsearch.config import load_config
    from rnnsearch.text.corpus_links import NONE, DirectionFile, link_files, link_texts
    from rnnsearch.text.formats.readers import Layout, parallel_texts
    from rnnsearch.text.links import DEFAULT, METHODS

    method = one_of(symmetrise or DEFAULT, "--symmetrise", (*METHODS, NONE))
    one_of(words, "--words", ("tokenised", "given"))
    outs = _checked(out or [], files or [], forward, reverse, overwrite)
    if aligner != "eflomal":
        others = any((forward, columns, format_, swap_forward, swap_reverse, symmetrise))
        others = others or (aligner != "rnnsearch" and any((recipe, set_)))
        if len(files or []) != 2 or len(outs) != 1 or others:
            what = f"--aligner {aligner} takes two files of lines and one --out, and symmetrises by `product`"
            raise InputError(what, remedy="remove the other files and options")
        _by_networks(aligner, list(map(Path, files or [])), outs[0], words, recipe, set_ or [])  # type: ignore[arg-type]
        return
    settings = load_config(recipe, tuple(set_ or ())).data
    sides = columns or ("", "")
    layout = Layout(format_, *sides, settings.source_language, settings.target_language)  # type: ignore[arg-type]  # checked there
    with progress_bar() as progress:
        if forward:
            directions = DirectionFile(forward, swap_forward), DirectionFile(reverse, swap_reverse)
            report = link_files(*directions, outs[0], method=method, progress=progress)
        else:
            texts = parallel_texts(files or [], layout=layout)
            report = link_texts(
                texts,
                outs,
                settings=settings,
                method=method,
                words=words,  # type: ignore[arg-type]
                progress=progress,
            )
    print(report.text(), end="")


def _by_networks(
    aligner: str, files: list[Path], out: Path, words: LinkWords, recipe: str, own: list[str]
) -> None:
    """Aligns two files with a model and its opposite, or with two networks that are trained first."""
    from rnnsearch.cli.align import align
    from rnnsearch.learned_aligner import RECIPE, align_with_models, learn_links
    from rnnsearch.text.corpus_links import vote_files
    from rnnsearch.text.links import VOTES

    folder = out.with_name(f"{out.name}.work")
    if aligner == "rnnsearch":
        aligners = learn_links(files, folder, words, recipe or RECIPE, own)
    else:
        aligners = align_with_models(aligner, files, folder, words)
    how: dict[str, Any] = {"posterior": True, "symmetrise": "product", "words": words}
    how |= {"threshold": VOTES[-1], "links_format": "jsonl"}
    with resumable(), aligners as ((forward, backward), votes, step):
        networks = step(
            "networks.jsonl",
            lambda path: align(
                [forward, *map(str, files)], out=str(path), reverse_run=[Path(backward)], **how
            ),
        )
        vote_files(networks, *votes, out)
    print(f"{out}\nnetworks  {forward}, {backward}")


def _checked(out: list[Path], files: list[str], forward: str, reverse: str, overwrite: bool) -> list[Path]:
    """Returns the files to write. Raises InputError for options that contradict each other."""
    if bool(forward) != bool(reverse):
        raise InputError("links needs both directions", remedy="give --forward and --reverse")
    if bool(forward) == bool(files):
        raise InputError(
            "links needs a corpus or the files of an aligner, and not both",
            remedy="give the texts, or give --forward and --reverse",
        )
    if not out or (forward and len(out) > 1):
        raise InputError("links needs one --out file for each corpus", remedy="give --out FILE")
    for path in out:
        prepare_output(path, overwrite)
    return out
