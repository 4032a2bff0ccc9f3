"""The command `rnnsearch`: each command parses, calls one function and prints. Heavy imports wait until a command needs them."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from rnnsearch.errors import InputError

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Recurrent translation models that align and translate jointly (RNNsearch, Bahdanau, Cho & Bengio 2015).",
    epilog="Start with: rnnsearch demo",
)

SourceFile = Annotated[str, typer.Argument(metavar="SRC", help="Source text, one sentence a line; .gz is read as is, - is stdin.")]
TargetFile = Annotated[str, typer.Argument(metavar="TGT", help="Target text, line by line.")]
Set = Annotated[
    list[str] | None, typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Change one setting of the recipe; may be repeated.")
]
TrustCode = Annotated[bool, typer.Option("--trust-code", help="Import the code outside rnnsearch that the run names.")]
Device = Annotated[str, typer.Option(help="cpu, cuda or cuda:N.")]
Threads = Annotated[int, typer.Option(min=0, help="Processor threads; 0 = as many as there are cores.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object a line, with tokens, score and alignment matrix.")]


@app.callback()
def common(debug: Annotated[bool, typer.Option("--debug", help="Show the whole traceback of an error.")] = False) -> None:
    """Options for every command."""
    if debug:
        os.environ["RNNSEARCH_DEBUG"] = "1"


@app.command(epilog="Example: rnnsearch demo --out demo")
def demo(
    out: Annotated[Path, typer.Option(help="Folder for corpus, run and picture.")] = Path("demo"),
    set_: Set = None,
    corpus_only: Annotated[bool, typer.Option("--corpus-only", help="Write the corpus with its gold links, and stop.")] = False,
) -> None:
    """Train, translate, score and draw an alignment on the built-in corpus: a minute or two on two cores."""
    if corpus_only:
        from rnnsearch.builtin.corpus import write
        from rnnsearch.demo import HELD_OUT_PAIRS, TRAIN_PAIRS
        from rnnsearch.text.folder import whole_folder

        with whole_folder(out, lambda folder: False) as folder:
            write(folder, TRAIN_PAIRS, HELD_OUT_PAIRS)
        say(f"corpus   {out} ({TRAIN_PAIRS} training pairs, {HELD_OUT_PAIRS} each for development and test, with gold links)")
        return
    from rnnsearch.demo import SHOWN, run_demo
    from rnnsearch.evaluation.figures import alignment_text

    result = run_demo(out, tuple(set_ or ()))
    shown = result.shown
    print(f"\n{SHOWN}\n{shown.text}\nscore {shown.score:.3f}\n")
    print(alignment_text(shown.source_tokens, shown.tokens, shown.alignment))
    print(f"\nheld out  {result.bleu}\nheld out  {result.alignment}\npicture   {result.picture}\n")
    print("What to type next:")
    print(f'  echo "The old man sees the house." | rnnsearch translate {out}/run')
    print("  rnnsearch prepare train.en train.fr --dev dev.en dev.fr --out store --recipe multi30k")
    print("  rnnsearch train multi30k --data store --out run")


@app.command(epilog="Example: rnnsearch prepare train.en.gz train.fr.gz --dev dev.en dev.fr --out store --recipe multi30k")
def prepare(
    source: SourceFile,
    target: TargetFile,
    out: Annotated[Path, typer.Option(help="Folder of the prepared corpus.")],
    dev: Annotated[
        tuple[str, str] | None, typer.Option(metavar="SRC TGT", help="Development pairs, for validation while training.")
    ] = None,
    recipe: Annotated[str, typer.Option(help="Take the [data] settings of this recipe: a built-in name or a TOML file.")] = "",
    set_: Set = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a corpus that is there already.")] = False,
    workers: Annotated[int, typer.Option(min=0, help="Processes that tokenise; 0 = as many as there are cores.")] = 0,
) -> None:
    """Clean, tokenise and number parallel text, and say what was dropped and why."""
    from rnnsearch.config import load_config
    from rnnsearch.text.prepare import prepare as prepare_corpus

    settings = load_config(recipe, tuple(set_ or ())).data
    workers = workers or len(os.sched_getaffinity(0))
    with progress_bar() as progress:
        report = prepare_corpus(source, target, out, dev=dev, settings=settings, overwrite=overwrite, workers=workers, progress=progress)
    print(report.text(), end="")


@app.command(epilog="Example: rnnsearch train multi30k --data store --out run --set model.hidden_size=512")
def train(
    recipe: Annotated[str, typer.Argument(metavar="RECIPE", help="A built-in recipe (see docs/reference/recipes.md) or a TOML file.")],
    data: Annotated[Path, typer.Option(help="Folder that `rnnsearch prepare` made.")],
    out: Annotated[Path, typer.Option(help="Folder of the run.")],
    set_: Set = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run that is there.")] = False,
) -> None:
    """Train a network, with validation, checkpoints and a log for TensorBoard. Ctrl-C ends it so that --resume can go on."""
    from rnnsearch.config import load_config

    settings = load_config(recipe, tuple(set_ or ()))
    if any(change.strip().startswith("data.") for change in set_ or ()):
        raise InputError("the data settings of a prepared corpus are fixed", file=data, remedy="--set them for `rnnsearch prepare`")
    from rnnsearch.run import usable_device
    from rnnsearch.text.corpus import Corpus
    from rnnsearch.training.loop import train as train_run

    usable_device(settings.training.device)
    train_run(settings, Corpus.open(data), out, resume=resume)
    print(out)


@app.command(epilog="Example: rnnsearch translate run news.en --beam 12 > news.fr")
def translate(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN... [FILE]", help="Trained runs (several make an ensemble), then the text; no FILE or - is stdin."),
    ],
    beam: Annotated[int | None, typer.Option(help="Hypotheses kept; as the run's settings say if not given.")] = None,
    nbest: Annotated[int, typer.Option(help="Translations of each line; more than one gives a Moses n-best list.")] = 1,
    normalise: Annotated[str | None, typer.Option(help="Length normalisation: none, length or gnmt.")] = None,
    coverage: Annotated[float | None, typer.Option(help="Weight of GNMT's coverage penalty.")] = None,
    no_unk: Annotated[bool, typer.Option("--no-unk", help="Never write the unknown word.")] = False,
    replace_unk: Annotated[bool, typer.Option("--replace-unk", help="Write the strongest aligned source word for an unknown one.")] = False,
    dictionary: Annotated[Path | None, typer.Option(help="For --replace-unk: `source<TAB>target` lines.")] = None,
    min_length_ratio: Annotated[
        float | None, typer.Option(help="At least this share of the source's words (released implementation: 0.5).")
    ] = None,
    max_length_ratio: Annotated[float | None, typer.Option(help="At most this many times the source's words.")] = None,
    samples: Annotated[int, typer.Option(min=0, help="Draw this many translations at random instead of searching the best.")] = 0,
    temperature: Annotated[float, typer.Option(help="Of --samples.")] = 1.0,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Of --samples.")] = 1,
    json: Json = False,
    links: Annotated[Path | None, typer.Option(help="Write hard word links here, in Pharaoh format.")] = None,
    alignment_plots: Annotated[Path | None, typer.Option(metavar="DIR", help="Draw the alignment of every line here, as PNG.")] = None,
    batch_size: Annotated[int | None, typer.Option(help="Sentences translated together.")] = None,
    device: Device = "cpu",
    threads: Threads = 0,
    trust_code: TrustCode = False,
) -> None:
    """Translate text line by line: the N-th line out belongs to the N-th line in."""
    from rnnsearch.output import as_json, as_nbest
    from rnnsearch.text.reading import read_lines

    file = "-" if runs[-1].is_dir() or (len(runs) == 1 and str(runs[0]) != "-") else str(runs.pop())
    translator = load(runs, device, threads, trust_code, dictionary)
    search: dict[str, Any] = {"beam": beam, "nbest": nbest, "normalise": normalise, "coverage_beta": coverage, "batch_size": batch_size}
    search |= {"min_length_ratio": min_length_ratio, "max_length_ratio": max_length_ratio}
    search |= {"no_unk": no_unk or None, "replace_unk": replace_unk or bool(dictionary) or None}
    search = {key: value for key, value in search.items() if value is not None}
    lines = read_lines(file)
    if samples:
        nbest = samples
        results: Iterable[Any] = translator.sample(lines, samples=samples, temperature=temperature, seed=seed, **(search | {"nbest": 1}))
    else:
        results = translator.stream(lines, **search)
    for number, result in enumerate(also_written(results, links, alignment_plots)):
        print(as_json(result) if json else as_nbest(number, result) if nbest > 1 else result.text)


@app.command(epilog="Example: rnnsearch score run news.en news.fr")
def score(
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN... SRC TGT", help="Trained runs, source text, and its translations or a Moses n-best list.")
    ],
    json: Json = False,
    batch_size: Annotated[int, typer.Option(min=1, help="Pairs scored together.")] = 64,
    device: Device = "cpu",
    threads: Threads = 0,
    trust_code: TrustCode = False,
) -> None:
    """Print log p(y|x) of every pair, in nats; an n-best list comes back in the order of its scores."""
    from rnnsearch.output import as_json
    from rnnsearch.text.reading import read_lines, read_pairs
    from rnnsearch.translation.rerank import is_nbest, not_nbest, parse_nbest, rerank

    run, source, target = runs_and_texts(runs)
    translator = load(run, device, threads, trust_code)
    # What comes through a pipe can be read only once, so there is no looking ahead.
    if Path(target).is_file() and is_nbest(next(read_lines(target), "")):
        if json:
            raise InputError("an n-best list comes back as an n-best list, not as JSON", file=target, remedy="leave out --json")
        lines = list(read_lines(source))
        for line in rerank(translator, lines, parse_nbest(read_lines(target), len(lines), target)):
            print(line)
        return
    for result in translator.force(not_nbest(read_pairs(source, target), target), batch_size):
        print(as_json(result) if json else f"{result.score:.5f}")


@app.command(epilog="Example: rnnsearch align run news.en news.fr > news.links")
def align(
    runs: Annotated[list[str], typer.Argument(metavar="RUN... SRC TGT", help="Trained runs, source text and its translations.")],
    json: Json = False,
    alignment_plots: Annotated[Path | None, typer.Option(metavar="DIR", help="Draw the alignment of every pair here, as PNG.")] = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Pairs aligned together.")] = 64,
    device: Device = "cpu",
    threads: Threads = 0,
    trust_code: TrustCode = False,
) -> None:
    """Align sentence pairs by forced decoding: Pharaoh links `i-j` (source-target, from 0), or soft matrices with --json."""
    from rnnsearch.output import as_json, as_links
    from rnnsearch.text.reading import read_pairs

    run, source, target = runs_and_texts(runs)
    results = load(run, device, threads, trust_code).force(read_pairs(source, target), batch_size)
    for result in also_written(results, None, alignment_plots):
        print(as_json(result) if json else as_links(result))


@app.command(epilog="Example: rnnsearch evaluate --hyp news.out --ref news.fr")
def evaluate(
    hyp: Annotated[str, typer.Option(help="Translations of any system, detokenised, one a line; - is stdin.")],
    ref: Annotated[str, typer.Option(help="References, line by line.")],
    tokenise: Annotated[str, typer.Option(help="sacreBLEU's tokenisation for BLEU.")] = "13a",
) -> None:
    """BLEU and chrF, each with the signature that says how it was computed."""
    from rnnsearch.evaluation.bleu import bleu, chrf
    from rnnsearch.text.reading import read_pairs

    pairs = list(read_pairs(hyp, ref))
    hypotheses, references = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    print(bleu(hypotheses, references, tokenise=tokenise))
    print(chrf(hypotheses, references))


@app.command(epilog="Example: rnnsearch aer --links news.links --gold news.wa")
def aer(
    links: Annotated[str, typer.Option(help="Word links in Pharaoh format, one sentence a line; - is stdin.")],
    gold: Annotated[str, typer.Option(help="Gold links: Pharaoh (i-j sure, i?j possible) or NAACL .wa.")],
) -> None:
    """Alignment error rate, precision and recall against gold links."""
    from rnnsearch.evaluation.alignment import alignment_error
    from rnnsearch.evaluation.links import read_gold, read_pharaoh

    print(alignment_error(read_pharaoh(links), read_gold(gold)))


def load(runs: list[Path], device: str, threads: int, trust_code: bool, dictionary: Path | None = None) -> Any:
    """The translator of one run, or of an ensemble."""
    from rnnsearch.text.dictionary import read_dictionary
    from rnnsearch.training.processor import set_up_processor
    from rnnsearch.translation.translator import Translator

    set_up_processor(threads)
    entries = read_dictionary(dictionary) if dictionary else None
    return Translator.load(*runs, device=device, trust_code=trust_code, dictionary=entries)


def runs_and_texts(words: list[str]) -> tuple[list[Path], str, str]:
    """RUN... SRC TGT → the runs and the two texts."""
    if len(words) < 3:
        raise InputError("a run, a source text and a target text are needed", remedy="RUN SRC TGT")
    *runs, source, target = words
    return [Path(run) for run in runs], source, target


def also_written(results: Iterable[Any], links: Path | None, plots: Path | None) -> Iterator[Any]:
    """Passes results on, and writes their links and pictures on the way."""
    from rnnsearch.output import as_links

    with faults_named(plots):
        if plots:
            plots.mkdir(parents=True, exist_ok=True)
    with faults_named(links):
        file = links.open("w", encoding="utf-8") if links else None
    try:
        for number, result in enumerate(results, 1):
            with faults_named(links):
                if file:
                    print(as_links(result), file=file)
            if plots:
                result.plot(plots / f"{number:06d}.png")
            yield result
    finally:
        with faults_named(links):
            if file:
                file.close()


@contextmanager
def faults_named(path: Path | None) -> Iterator[None]:
    """Says which file could not be written: on a full disk the system does not."""
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=error.filename or path) from None


def progress_bar() -> Any:
    """A context whose value is called with (what is being done, how many are done, of how many)."""
    from rnnsearch.progress import ProgressBar

    return ProgressBar()


def say(text: str) -> None:
    """Everything that is not a result goes to stderr."""
    print(text, file=sys.stderr)


def main() -> None:
    """Runs the command line: exit code 0, or 2 with one clear line for bad usage or bad input, or 130 after Ctrl-C."""
    open_missing_streams()
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="surrogateescape" if stream is sys.stdin else "backslashreplace", newline="\n")  # type: ignore[union-attr]
    try:
        code = run_command()
        sys.stdout.flush()
    except InputError as error:
        code = failed(str(error))
    except (KeyboardInterrupt, typer.Abort):
        code = 130
        say("rnnsearch: interrupted")
    except BrokenPipeError:  # whoever read the output has seen enough
        code = 0
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        code = failed(f"{error.filename or 'the output cannot be written'}: {error.strerror or error}")
    except Exception as error:
        if not hasattr(error, "format_message"):  # not a usage error
            raise
        context, message = getattr(error, "ctx", None), error.format_message()
        command = context.command_path if context else "rnnsearch"
        code = failed(f"{message} (see {command} --help)") if message else 2  # no command: the help has been shown
    sys.exit(code)


def run_command() -> int:
    """Runs the command that was typed. Not `app()`: that answers Ctrl-C and a reader who has gone in its own way."""
    try:
        with typer.main.get_command(app).make_context("rnnsearch", sys.argv[1:]) as context:
            context.command.invoke(context)
    except typer.Exit as leaving:  # --help has been shown
        return leaving.exit_code
    return 0


def open_missing_streams() -> None:
    """Whoever starts the command may have closed its standard streams: then they are empty."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115


def failed(line: str) -> int:
    """Says what is wrong and returns the exit code for it."""
    if os.environ.get("RNNSEARCH_DEBUG"):
        traceback.print_exc()
    say(f"rnnsearch: {line}")
    return 2
