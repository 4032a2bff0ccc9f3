"""`rnnsearch translate`: lines in, translations out."""

from __future__ import annotations

import os
import stat
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rnnsearch.cli.on_ray import Ray, RayOptions, Workers, layout_of, runs_and_corpora, work_on_ray
from rnnsearch.cli.options import (
    Device,
    Json,
    Out,
    Overwrite,
    Set,
    Threads,
    TrustCode,
    changes,
    is_run,
    load,
    one_of,
    say,
    say_if_empty,
)
from rnnsearch.cli.output import LineProgress, as_links, with_links, with_plots
from rnnsearch.errors import InputError
from rnnsearch.system.progress import show

if TYPE_CHECKING:  # they would load numpy and torch
    from rnnsearch.config import SearchSettings
    from rnnsearch.records import Translation
    from rnnsearch.translation.translator import Translator

Runs = Annotated[
    list[str],
    typer.Argument(metavar="RUN... [FILE]", help="Trained runs (several: an ensemble), and the text."),
]
Beam = Annotated[int | None, typer.Option(help="Beam size; default: that of the run.")]
Nbest = Annotated[int | None, typer.Option(help="Translations per line, as a Moses n-best list.")]
Dictionary = Annotated[
    Path | None, typer.Option(help="Target words for unknown ones: source<TAB>target.", metavar="FILE")
]
Glossary = Annotated[
    Path | None, typer.Option(help="Translations that bind: term<TAB>translation.", metavar="FILE")
]
Samples = Annotated[
    int, typer.Option(min=0, max=1_000, metavar="N", help="Sample: draw them at random.", show_default=False)
]
Temperature = Annotated[float, typer.Option(help="Temperature of --samples.")]
Seed = Annotated[int, typer.Option(min=0, metavar="N", help="Random seed of --samples.")]
Links = Annotated[Path | None, typer.Option(metavar="FILE", help="Also write word links (Pharaoh format).")]
AlignmentPlots = Annotated[Path | None, typer.Option(metavar="DIR", help="Also draw each alignment, as PNG.")]
Column = Annotated[
    str,
    typer.Option(metavar="NAME", help="With --ray: key of the text in JSON lines."),
]
TextFormat = Annotated[str, typer.Option(help="text, or html: one page, with its tags.", metavar="FORMAT")]


def translate(
    runs: Runs,
    beam: Beam = None,
    nbest: Nbest = None,
    json: Json = False,
    format: TextFormat = "text",
    out: Out = None,
    threads: Threads = 0,
    set_: Set = None,
    dictionary: Dictionary = None,
    glossary: Glossary = None,
    samples: Samples = 0,
    temperature: Temperature = 1.0,
    seed: Seed = 1,
    links: Links = None,
    alignment_plots: AlignmentPlots = None,
    overwrite: Overwrite = False,
    device: Device = "cpu",
    trust_code: TrustCode = False,
    ray: Ray = None,
    workers: Workers = None,
    column: Column = "",
) -> None:
    """Translate text line by line, stdin without FILE: output line N is the translation of input line N.
    At a terminal, type sentences, or :help."""
    search = changes("search", set_, beam=beam, nbest=nbest)
    if dictionary:
        search.setdefault("replace_unk", True)
    form = "json" if json else "nbest" if max(samples, search.get("nbest", 1)) > 1 else "text"
    refused = {"--samples": samples > 0, "--links": bool(links), "--alignment-plots": bool(alignment_plots)}
    refused["--format html"] = format != "text"
    where = RayOptions(ray, workers, out, overwrite, device, threads, refused)
    models = trust_code, dictionary, glossary
    sampling = {"samples": samples, "temperature": temperature, "seed": seed} if samples else {}
    options = TranslateOptions(search, form, models, links, alignment_plots, sampling, where)
    if ray:
        return translate_on_ray(options, runs, column)
    where.check_unused({"--column": bool(column)})
    *names, file = runs
    if is_run(Path(file)) or (not names and file != "-"):
        names, file = runs, "-"
    plain = form == "text" and not (samples or links or alignment_plots)
    if one_of(format, "--format", ("text", "html")) == "html":
        if not plain or out is not None:
            raise InputError("--format html writes a page only", remedy="write it with > FILE")
        print_html(options.load(names), file, search)
    elif is_typed(file) and is_seen() and plain and out is None:
        print(f"Loading {' + '.join(names)} …", end="", flush=True)  # importing takes a second
        from rnnsearch.terminal import talk

        talk(names, search, options.load)
    elif out is None:
        print_translations(options, names, file)
    elif samples:
        raise InputError("samples cannot be written with --out", remedy="write them with > FILE")
    else:
        translate_into_file(options, names, file)


@dataclass(frozen=True)
class TranslateOptions:
    """The options of the command line. search: settings to change. form: json, nbest or text. models:
    trust_code, dictionary, glossary. sampling: options of `Translator.sample`, if any."""

    search: dict[str, Any]
    form: str
    models: tuple[bool, Path | None, Path | None]
    links: Path | None
    plots: Path | None
    sampling: dict[str, Any]
    where: RayOptions

    def load(self, runs: Sequence[str | Path]) -> Translator:
        """Returns the translator of these runs."""
        return load(runs, self.where.device, self.where.threads, *self.models)

    def key(self, runs: Sequence[str | Path], settings: SearchSettings, more: str) -> str:
        """Returns the key of the answers."""
        from rnnsearch.run import answers_key

        used = [path for path in reversed(self.models[1:]) if path]
        return answers_key(runs, f"{settings.model_dump_json()} {more}", self.form, used)


def print_html(translator: Translator, file: str, search: dict[str, Any]) -> None:
    """Prints a page of HTML, translated."""
    from rnnsearch.text.formats.lines import read_lines
    from rnnsearch.translation.markup import translate_html

    print(translate_html(translator, "\n".join(read_lines(file)), **search))


def print_translations(options: TranslateOptions, runs: Sequence[str], file: str) -> None:
    """Prints each line's answer as soon as it is ready."""
    from rnnsearch.config import changed
    from rnnsearch.text.formats.lines import read_lines
    from rnnsearch.translation.source_lines import noted

    translator, search, typed = options.load(runs), options.search, is_typed(file)
    say_if_empty(file)
    results: Iterable[Translation]
    if options.sampling:
        search["nbest"] = 1
        results = translator.sample(read_lines(file), **options.sampling, **search)
    elif typed:  # the prompt comes after the answer to the line before
        results = (one for line in typed_lines(say) for one in translator.translate(line, **search))
    else:
        results = translator.stream(read_lines(file), full_batches=is_whole(file), **search)
    noticed = noted(results, translator.source, changed(translator.search, search).max_source_length, say)
    dimmed = options.form == "text" and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    answer, show_line = _answers(options.form, dimmed), partial(print, flush=True) if dimmed else show
    shown = sys.stderr.isatty() and not (typed or sys.stdout.isatty())
    resume = "" if typed or options.sampling else "with --out FILE the same command would go on"
    with LineProgress("translating", "words", file, resume, shown) as progress:
        for number, result in enumerate(with_plots(with_links(noticed, options.links), options.plots)):
            progress(number + 1, len(result.tokens))
            show_line(answer(number, result))


def translate_into_file(options: TranslateOptions, runs: Sequence[str], file: str) -> None:
    """Writes the answers into the file of --out. The same command resumes it."""
    from rnnsearch.config import changed
    from rnnsearch.system.line_file import LineFile
    from rnnsearch.text.formats.lines import read_lines
    from rnnsearch.text.formats.opening import is_on_disk
    from rnnsearch.translation.source_lines import noted

    translator, answer = options.load(runs), _answers(options.form)
    settings = changed(translator.search, options.search)
    key = options.key(runs, settings, f"{options.links is not None}")
    out = LineFile(Path(options.where.out or ""), key, beside=options.links)
    out.begin(options.where.overwrite)
    if is_on_disk(file):
        deque(read_lines(file), maxlen=0)  # a line that cannot be read is found before the work

    def translated() -> Iterator[Translation]:
        for block in out.blocks(read_lines(file), settings.batch_size):
            results = translator.stream(block, full_batches=True, first=out.done + 1, **options.search)
            made = list(with_plots(results, options.plots, out.done + 1))
            out.append(block, map(answer, count(out.done), made), map(as_links, made))
            progress(out.done, sum(len(one.tokens) for one in made))
            yield from made
        out.finish()

    with out, LineProgress("translating", "words", file, "the same command goes on") as progress:
        limit = settings.max_source_length
        deque(noted(translated(), translator.source, limit, say, out.before + 1), maxlen=0)


def _answers(form: str, dimmed: bool = False) -> Callable[[int, Translation], str]:
    """Returns a function that formats a line's answer. form: json, nbest or text. dimmed: whether text has
    unsure words dimmed."""
    from rnnsearch.cli.output import as_json, as_nbest, with_unsure_dimmed

    if form == "nbest":
        return as_nbest
    write = as_json if form == "json" else with_unsure_dimmed if dimmed else attrgetter("text")
    return lambda _, result: write(result)


def translate_on_ray(options: TranslateOptions, words: list[str], column: str) -> None:
    """Translates the shards of a corpus."""
    from rnnsearch.config import changed
    from rnnsearch.run import Run

    options.where.check()
    runs, corpora = runs_and_corpora(words, 1)
    trust_code, dictionary, glossary = options.models  # workers have other working directories
    models = trust_code, dictionary and dictionary.resolve(), glossary and glossary.resolve()
    options = replace(options, models=models)
    settings = changed(Run.open(runs[0]).settings.search, options.search)
    find_key, work = partial(options.key, runs, settings, column), partial(_work, options, runs)
    suffix = ".jsonl" if options.form == "json" else ".txt"
    work_on_ray(options.where, corpora, layout_of(runs[0], [column]), work, find_key, suffix)


def _work(options: TranslateOptions, runs: list[Path]) -> Callable[[Iterator[str]], Iterable[str]]:
    """Returns the work on the lines of a shard."""
    one_thread = replace(options, where=options.where._replace(threads=options.where.threads or 1))
    translator, answer = one_thread.load(runs), _answers(options.form)
    return lambda lines: map(answer, count(), translator.stream(lines, full_batches=True, **options.search))


def is_whole(file: str) -> bool:
    """Tells whether the whole text is available: a file on disk, not a pipe or a terminal."""
    from rnnsearch.text.formats.opening import STDIN, is_on_disk

    if file != STDIN:
        return is_on_disk(file)
    try:
        return stat.S_ISREG(os.fstat(sys.stdin.fileno()).st_mode)
    except OSError:  # standard input has no file descriptor
        return False


def is_typed(file: str) -> bool:
    """Tells whether a person types the lines."""
    return file == "-" and sys.stdin.isatty()


def is_seen() -> bool:
    """Tells whether a person sees the output, and notes are wanted."""
    from rnnsearch.system.progress import is_quiet

    return sys.stdout.isatty() and not is_quiet()


def typed_lines(say: Callable[[str], None]) -> Iterator[str]:
    """Yields the lines that a person types, each after a prompt. say: called once with instructions."""
    from rnnsearch.system.progress import is_quiet
    from rnnsearch.text.formats.lines import read_lines

    say("Type a sentence and press Enter to translate it; Ctrl-D ends.")
    lines = read_lines("-")
    while True:
        if not is_quiet():
            print("> ", end="", file=sys.stderr, flush=True)
        line = next(lines, None)
        if line is None:
            if not is_quiet():
                print(file=sys.stderr)
            return
        yield line
