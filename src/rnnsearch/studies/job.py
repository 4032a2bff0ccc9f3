"""One run of a study, in a process of its own: trains it, translates the test sets and aligns their references."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from rnnsearch.config import Settings

INTERRUPTED = 130


class Job(BaseModel):
    """What a process is to do. It comes as one line on its standard input, which stays open for as long as whoever asked lives.

    texts: of each test set, (source, reference), already in the direction of the run. translations, forced: test set → file to write.
    gold: the test sets whose links are compared with gold links.
    page: where a report keeps its translations, if there will be one: then they are made as it wants them, once for both.
    """

    run: Path
    store: Path
    settings: Settings
    trust_code: bool = False
    texts: dict[str, tuple[Path, Path]]
    translations: dict[str, Path]
    forced: dict[str, Path]
    gold: frozenset[str] = frozenset()
    page: Path | None = None


def main() -> int:
    """Reads a job and does it; the exit code of the process."""
    from rnnsearch.errors import InputError

    # A shell's background processes are told to ignore Ctrl-C, and so would be what they start.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    job = Job.model_validate_json(sys.stdin.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        return do(job)
    except KeyboardInterrupt:
        say("interrupted")
        return INTERRUPTED
    except InputError as error:
        say(f"rnnsearch: {error}")
        return 2


def do(job: Job) -> int:
    """0, or INTERRUPTED if the training was ended before its time."""
    from rnnsearch.studies.run_states import is_trained
    from rnnsearch.system.machine import usable_device
    from rnnsearch.text.store.corpus import Corpus
    from rnnsearch.training.loop import train

    if not is_trained(job.run, job.settings):
        usable_device(job.settings.training.device)
        train(job.settings, Corpus.open(job.store), job.run, resume=True)
        if not is_trained(job.run, job.settings):
            return INTERRUPTED
    measure(job)
    return 0


def measure(job: Job) -> None:
    """Everything that needs the network, into plain files; what is there already under the same key is left alone."""
    from rnnsearch.run import Run
    from rnnsearch.studies.measuring import force, translate, write_translations
    from rnnsearch.system.checksums import file_checksum
    from rnnsearch.system.machine import hardware, set_up_cpu
    from rnnsearch.text.formats.lines import read_pairs
    from rnnsearch.translation.forced import ROUNDS
    from rnnsearch.translation.translator import Translator

    set_up_cpu(job.settings.training.threads)
    device = job.settings.training.device
    key: dict[str, Any] = {"model": file_checksum(Run.open(job.run).model_path)}
    translator = Translator.load(job.run, device=device, trust_code=job.trust_code)
    parameters = sum(parameter.numel() for parameter in translator.networks[0].parameters())
    facts = {"hardware": hardware(device), "parameters": parameters}
    for name, (source, reference) in job.texts.items():
        pairs = list(read_pairs(source, reference))
        text = {"source": file_checksum(source)}
        if name in job.translations:
            lines = [pair[0] for pair in pairs]
            asked = key | text | {"search": translator.search.model_dump()}
            if job.page is None:
                translate(translator, lines, job.translations[name], asked, facts, say)
            else:
                write_translations(*for_page(job, job.page, name, pairs), job.translations[name], asked, facts)
        if name in job.forced:
            asked = key | text | {"reference": file_checksum(reference)} | ({"posterior": ROUNDS} if name in job.gold else {})
            force(translator, pairs, job.forced[name], asked, facts, say, posterior=name in job.gold)


def for_page(job: Job, page: Path, name: str, pairs: Sequence[tuple[str, str]]) -> tuple[list[str], float]:
    """What a report will ask of the run for this test set, kept where it will look: (translations, seconds that they took)."""
    from rnnsearch.report.gather import gather, known_pairs, open_runs
    from rnnsearch.report.inputs import NamedRun, TestSet
    from rnnsearch.system.machine import hardware

    device = job.settings.training.device
    workers = open_runs([NamedRun(job.run.name, job.run)], {}, device=device, trust_code=job.trust_code)
    test = TestSet(name, [source for source, _ in pairs], [reference for _, reference in pairs])
    page.mkdir(parents=True, exist_ok=True)

    def report(what: str, done: int, total: int | None) -> None:
        say(f"{what}, {done:,} of {total:,}")

    work = gather(workers[0], test, known_pairs(workers, test), page, report, hardware(device))
    return work.texts, sum(kept.seconds for kept in work.translations)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def describe(job: Job) -> str:
    """The line that a process reads."""
    return json.dumps(job.model_dump(mode="json")) + "\n"


def _end_with_parent() -> None:
    """Standard input ends when whoever asked is gone, by kill -9 or otherwise: then training saves its state and ends."""
    while os.read(sys.stdin.fileno(), 1):  # not through the buffer, whose lock would delay the exit
        pass
    os.kill(os.getpid(), signal.SIGINT)
