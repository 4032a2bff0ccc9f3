"""Files of word links from those of both directions: symmetrised, or voted for by several runs of
an aligner and by networks."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import NamedTuple

from rnnsearch.arguments import in_step
from rnnsearch.errors import InputError, InputWarning
from rnnsearch.lab.gold_checks import EXCHANGE
from rnnsearch.system.files import reading, written_whole
from rnnsearch.text.formats.lines import raw_lines
from rnnsearch.text.formats.links import parse_links, read_link_lines
from rnnsearch.text.links import symmetrise
from rnnsearch.word_links import Link, format_links

BothWays = tuple[list[Link], list[Link]]
"""The links of a pair, forward and reverse."""
Directions = tuple[Path, Path]
"""Link files (source-target): forward, with one source word or none for each target word, and
reverse, with one target word or none for each source word."""
CHECK_DISK = "check the free disk space"
VOTE = "vote"
"""The method that reads several runs; those of `symmetrise` read one."""
HALF = 0.5
"""Smallest share of all directions that have a link, without networks."""
LOWEST = 0.03
"""Smaller probabilities do not count: with MODELS_VOTE, a link of five of six directions needs
0.033."""


class NetworksVote(NamedTuple):
    """A link needs p + weight · s ≥ enough, with its probability p by networks and the share s of
    the directions that have it."""

    weight: float
    enough: float


MODELS_VOTE = NetworksVote(0.8, 0.7)
"""If the networks are models that were trained with far more text. Chosen on the 37 development
sentences of the Hansards."""
LEARNERS_VOTE = NetworksVote(2.0, 1.05)
"""If they have learned from the links of these directions. Chosen on Czech, Romanian and Spanish
development sentences."""


def vote(directions: Sequence[Iterable[Link]], least: float = HALF) -> list[Link]:
    """Returns the links, sorted, that at least this share of the directions has. directions: links
    (source, target) of both directions of each run."""
    return sorted(link for link, share in _shares(directions).items() if share >= least)


def vote_with_networks(
    directions: Sequence[Iterable[Link]],
    probabilities: Mapping[Link, float],
    rule: NetworksVote,
) -> list[Link]:
    """Returns the links, sorted, that have enough by the rule. directions: as in `vote`.
    probabilities: of links, by networks of both directions, √(p→ p←); 0 for others."""
    shares = _shares(directions)
    return sorted(
        link
        for link in {*probabilities, *shares}
        if probabilities.get(link, 0.0) + rule.weight * shares.get(link, 0.0) >= rule.enough
    )


def _shares(directions: Sequence[Iterable[Link]]) -> dict[Link, float]:
    """Returns for each link the share of the directions that have it."""
    votes = Counter(chain.from_iterable(map(set, directions)))
    return {link: count / len(directions) for link, count in votes.items()}


def link_files(
    runs: Sequence[Directions],
    outs: Sequence[Path],
    *,
    sizes: Sequence[int | None] = (None,),
    method: str,
    least: float = HALF,
) -> str:
    """Writes a Pharaoh file for each text, with one line per pair, completely or not at all, from
    the link files of any aligner. Returns a report.

    runs: several for VOTE, otherwise one. sizes: pairs of each text; None: all. method: VOTE or one
    of METHODS. least: as in `vote`. Raises InputError for an invalid link, if one file has more
    lines, if they have fewer than `sizes` say, and if they are empty.
    """
    pairs, counts = _pairs(runs), Counter[str]()
    with ExitStack() as stack:
        for out, size in zip(outs, sizes, strict=True):
            expected = counts["pairs"] + (size or 0)
            whole = stack.enter_context(written_whole(out))
            file = stack.enter_context(whole.open("w", encoding="utf-8"))
            for found in islice(pairs, size):
                links = (
                    vote([*chain(*found)], least)
                    if method == VOTE
                    else symmetrise(*found[0], method)
                )
                print(format_links(links), file=file)
                counts.update(pairs=1, written=len(links), without=not any(chain(*found)))
                for one, other in found:
                    both, exchanged = set(one) & set(other), {link[::-1] for link in other}
                    counts.update(forward=len(one), reverse=len(other), both=len(both))
                    counts.update(exchanged=len(exchanged.intersection(one)))
            if counts["pairs"] < expected:
                what = f"ends after {counts['pairs']:,} of {expected:,} lines"
                raise InputError(what, CHECK_DISK, file=runs[0][0])
        if not counts["pairs"]:
            raise InputError("is empty", "give files with one line for each pair", file=runs[0][0])
    return _report(counts, runs, method)


def _report(counts: Counter[str], runs: Sequence[Directions], method: str) -> str:
    """Returns the report. Issues an InputWarning if one direction seems to list target-source."""
    agreement, exchanged = (
        200 * counts[found] / max(counts["forward"] + counts["reverse"], 1)
        for found in ("both", "exchanged")
    )
    if exchanged > max(2 * agreement, agreement + 20):
        forward, reverse = runs[0]
        what = f"{forward} and {reverse} have {agreement:.1f} % of their links in common, but "
        what += f"{exchanged:.1f} % with source and target exchanged in one. If one lists "
        what += f"target-source: {EXCHANGE}"
        warnings.warn(what, InputWarning, stacklevel=3)
    several = f" of {len(runs)} runs" * (len(runs) > 1)
    return (
        f"pairs    {counts['pairs']:,}, {counts['without']:,} without links\nlinks   "
        f" {counts['forward']:,} forward, {counts['reverse']:,} reverse, {counts['both']:,} in both"
        f"{several} (agreement {agreement:.1f} %); {counts['written']:,} written ({method})\n"
    )


def vote_files(
    networks: Path, runs: Sequence[Directions], out: Path, *, rule: NetworksVote
) -> None:
    """Writes the links that networks and the runs of an aligner vote for.

    networks: lines of `align --format jsonl`. Raises InputError for an invalid link, and if the
    files differ in length.
    """
    remedy = f"delete {networks.parent}, and begin again"
    pairs = in_step(raw_lines(networks), _pairs(runs), (networks, runs[0][0]), remedy)
    with written_whole(out) as whole, whole.open("w", encoding="utf-8") as file:
        for line, found in pairs:
            with reading(networks, "delete it, and give the same command", "is damaged"):
                read = json.loads(line)
                probable = dict(zip(map(tuple, read["links"]), read["probabilities"], strict=True))
            print(format_links(vote_with_networks([*chain(*found)], probable, rule)), file=file)


def _pairs(runs: Sequence[Directions]) -> Iterator[list[BothWays]]:
    """Yields the links of each pair: of both directions of each run."""
    for found in zip_longest(*(_pairs_of_run(*run) for run in runs)):
        if None in found:
            short = runs[found.index(None)][0]
            raise InputError("has fewer lines than others", CHECK_DISK, file=short)
        yield list(found)


def _pairs_of_run(forward: Path, reverse: Path) -> Iterator[BothWays]:
    files = read_link_lines(forward), read_link_lines(reverse)
    lines = in_step(*files, (forward, reverse), "give one line for each pair")
    for number, (one, other) in enumerate(lines, 1):
        yield parse_links(one, forward, number), parse_links(other, reverse, number)
