"""One run of a study, in a process of its own: trains it, translates the test sets and aligns their references."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path

from pydantic import BaseModel

from rnnsearch.config import Settings

INTERRUPTED = 130


class Job(BaseModel):
    """What a process is to do. It comes as one line on its standard input, which stays open for as long as whoever asked lives.

    texts: of each test set, (source, reference), already in the direction of the run. kinds: what is made of each, as
    translation/outputs.py names it. outputs: the folder that it lies in.
    """

    run: Path
    store: Path
    settings: Settings
    trust_code: bool = False
    texts: dict[str, tuple[Path, Path]]
    kinds: dict[str, list[str]]
    outputs: Path


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
    """Everything that needs the network, into files; what they hold already is not made again."""
    from rnnsearch.evaluation.test_set import read_test_set
    from rnnsearch.system.machine import set_up_cpu
    from rnnsearch.translation.outputs import Kind, load_run, outputs, write_texts

    def report(what: str, done: int, total: int | None) -> None:
        say(f"{what}, {done:,} of {total:,}")

    set_up_cpu(job.settings.training.threads)
    run = load_run(job.run.name, job.run, device=job.settings.training.device, trust_code=job.trust_code)
    for name, files in job.texts.items():
        test = read_test_set(name, *files)
        for kind in map(Kind, job.kinds[name]):
            lines = outputs(run, test, kind, job.outputs, report)
            if kind == Kind.TRANSLATIONS:
                write_texts(job.outputs, run, test, lines)


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
