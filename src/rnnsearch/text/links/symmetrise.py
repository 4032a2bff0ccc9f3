"""Word links of two directions made one (Och & Ney 2003; Koehn, Och & Marcu 2003)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial

from rnnsearch.word_links import Link

DEFAULT = "grow-diag-final-and"

_STRAIGHT = ((0, -1), (-1, 0), (0, 1), (1, 0))
_DIAGONAL = ((-1, -1), (1, -1), (-1, 1), (1, 1))
"""Neighbours (source, target), in the order in which Moses's symal looks at them; the order decides which of
two rivals is added."""


def symmetrise(forward: Collection[Link], reverse: Collection[Link], method: str = DEFAULT) -> list[Link]:
    """Returns one set of links from those of both directions, sorted.

    forward: links (source, target) of the direction that gives every target word its source word, as
    RNNsearch itself does; reverse: links, (source, target) too, of the direction that gives every source word
    its target word. method: one of METHODS. The growing methods do exactly what Moses's symal does where a
    direction links a word at most once, and are defined for any links.
    """
    return sorted(METHODS[method](set(forward), set(reverse)))


def _grow(
    forward: set[Link], reverse: set[Link], *, diagonal: bool, final: Callable[[bool, bool], bool] | None
) -> set[Link]:
    """Begins with the intersection; adds neighbours from the union that reach a word without link, until
    there are none; then `final`.

    final: decides about a link that only one direction has. It takes whether the source word and the target
    word have links already, and returns True to add the link.
    """
    union, grown = forward | reverse, forward & reverse
    sources, targets = {i for i, _ in grown}, {j for _, j in grown}

    def add(link: Link) -> None:
        grown.add(link)
        sources.add(link[0])
        targets.add(link[1])

    fresh = True
    while fresh:
        fresh = False
        waiting = sorted(grown, key=_by_target, reverse=True)
        # By target, then source; what is added further on in this order has its turn in the same round.
        while waiting:
            i, j = waiting.pop()
            for di, dj in _STRAIGHT + _DIAGONAL if diagonal else _STRAIGHT:
                link = (i + di, j + dj)
                if link in union and not (link[0] in sources and link[1] in targets):
                    add(link)
                    fresh = True
                    if _by_target(link) > _by_target((i, j)):
                        waiting = sorted([*waiting, link], key=_by_target, reverse=True)
    if final is not None:
        for alone in (forward - reverse, reverse - forward):
            for link in sorted(alone - grown, key=_by_target):
                if final(link[0] in sources, link[1] in targets):
                    add(link)
    return grown


def _by_target(link: Link) -> Link:
    return link[1], link[0]


METHODS: dict[str, Callable[[set[Link], set[Link]], set[Link]]] = {
    "grow-diag-final-and": partial(
        _grow, diagonal=True, final=lambda source, target: not source and not target
    ),
    "grow-diag-final": partial(_grow, diagonal=True, final=lambda source, target: not (source and target)),
    "grow-diag": partial(_grow, diagonal=True, final=None),
    "grow": partial(_grow, diagonal=False, final=None),
    "intersection": set.intersection,
    "union": set.union,
    "forward": lambda forward, reverse: forward,
    "reverse": lambda forward, reverse: reverse,
}
"""Name → what it makes of (forward, reverse). `final-and` adds links between two words without any, `final`
those of one such word."""
