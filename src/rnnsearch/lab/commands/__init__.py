"""The commands of `lab/`."""

from __future__ import annotations

from collections.abc import Callable

from rnnsearch.lab.commands.bench import bench
from rnnsearch.lab.commands.corpora import links, select, try_
from rnnsearch.lab.commands.evaluate import aer, evaluate
from rnnsearch.lab.commands.ray import ray
from rnnsearch.lab.commands.studies import experiment, report, reproduce

COMMANDS: dict[Callable[..., None], str] = {
    try_: "rnnsearch try corpus.en corpus.fr --minutes 30",
    links: "rnnsearch links train.en.gz train.fr.gz --out train.links",
    select: (
        "rnnsearch select --in-domain news.en news.fr --pool crawl.en.gz crawl.fr.gz --words"
        " 348000000 --out selected"
    ),
    evaluate: (
        "rnnsearch evaluate --hyp news.out --system moses=moses.out --ref news.fr --src news.en "
        "--by-length --significance"
    ),
    aer: "rnnsearch aer --links news.links --gold news.wa",
    report: (
        "rnnsearch report rnnsearch-50 rnnencdec-50 --test news.en news.fr --system Moses=moses.fr "
        "--out report"
    ),
    experiment: "rnnsearch experiment study.toml --out study --jobs 2",
    reproduce: "rnnsearch reproduce europarl-small --data corpora --out study",
    ray: "rnnsearch ray translate run crawl --out translated --workers 4",
    bench: (
        "rnnsearch bench translate --recipe multi30k --words 6000 --length 15 --set"
        " training.threads=1"
    ),
}
"""Command → the example that its help shows."""
