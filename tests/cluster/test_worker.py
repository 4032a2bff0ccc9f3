"""One worker by itself: its answers are those of the command on one machine, however often it is broken
off."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import fsspec
import pytest

from rnnsearch.cli.on_ray import pair_layout
from rnnsearch.cli.output import as_json, as_nbest
from rnnsearch.cluster import worker as worker_module
from rnnsearch.cluster.shards import Place, Shard, pair_shards, text_shards
from rnnsearch.cluster.tasks import Aligning, Models, Scoring, Task, Translating
from rnnsearch.cluster.worker import AnswerFolder, StartError, Worker
from rnnsearch.errors import InputError
from rnnsearch.system.extras import package_version
from rnnsearch.text.formats.records import Layout, OneSide
from rnnsearch.translation import sentence_search, translator
from rnnsearch.word_links import format_links


@pytest.fixture(scope="module")
def lines(tiny_corpus: Path) -> list[str]:
    return (tiny_corpus / "train.en").read_text(encoding="utf-8").split("\n")[:40]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight lines each, with batches of four."""
    for module in ("rnnsearch.cluster.worker", "rnnsearch.translation.translator"):
        monkeypatch.setattr(f"{module}.READ_AHEAD", 2)


def translating(run: Path, layout: Layout | None = None, **search: Any) -> Translating:
    search = {"batch_size": 4, "beam": 2} | search
    size = search["batch_size"]
    return Translating(Models((run,)), size, lambda _, one: one.text, "text", layout or OneSide(), search)


@dataclass
class Workplace:
    """A corpus of shards, a folder of answers, and a worker for them."""

    corpus: Place
    out: Place

    def answered(self, task: Task, shards: Sequence[Shard] | None = None) -> list[Any]:
        _, worker = self.begun(task)
        return [
            worker.answer(shard)
            for shard in (text_shards(str(self.corpus), None) if shards is None else shards)
        ]

    def begun(self, task: Task) -> tuple[AnswerFolder, Worker]:
        folder = AnswerFolder(self.out, task.key(), task.form)
        folder.begin({"command": "test"}, overwrite=False)
        return folder, Worker(task, folder, package_version())

    def put(self, name: str, content: bytes) -> None:
        """A shard of bytes."""
        place = self.corpus / name
        place.system.makedirs(self.corpus.path, exist_ok=True)
        place.system.pipe_file(place.path, content)

    def answers(self, name: str) -> str:
        return ((self.out / "answers" / name).read() or b"").decode()


@pytest.fixture(params=["folder", "memory"])
def work(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Workplace]:
    """On this machine, and at URLs: fsspec's memory stands for storage elsewhere."""
    home = Place.at(str(tmp_path) if request.param == "folder" else "memory://work")
    yield Workplace(home / "corpus", home / "out")
    fsspec.filesystem("memory").store.clear()
    fsspec.filesystem("memory").pseudo_dirs[:] = [""]


@pytest.fixture
def here(tmp_path: Path) -> Workplace:
    return Workplace(Place.at(str(tmp_path / "corpus")), Place.at(str(tmp_path / "out")))


def with_origin(name: str, answers: Sequence[str]) -> str:
    return "".join(f"{name}\t{number}\t{answer}\n" for number, answer in enumerate(answers, 1))


def test_text_is_translated_as_on_one_machine(work: Workplace, lines: list[str], tiny_run: Path) -> None:
    lines = [*lines[:11], "", *lines[11:20]]
    (work.corpus / "b.txt").write("".join(f"{line}\n" for line in lines[:13]))
    (work.corpus / "a/c.txt").write("\n".join(lines[13:]))  # no line feed at the end
    (work.corpus / "empty").write("")
    records = work.answered(translating(tiny_run))
    model = translator.Translator.load(tiny_run)
    for record, texts in zip(records, (lines[13:], lines[:13], []), strict=True):
        expected = [result.text for result in model.stream(texts, full_batches=True, batch_size=4, beam=2)]
        assert work.answers(f"{record['shard']}.tsv") == with_origin(record["shard"], expected)
        assert record["lines"] == len(texts)
        assert (work.out / record["answers"]).read() == work.answers(f"{record['shard']}.tsv").encode()
    assert [name for name in work.out.files() if name.startswith("answers/")] == [
        record["answers"] for record in records
    ]


def test_json_and_lists(here: Workplace, lines: list[str], tiny_run: Path) -> None:
    (here.corpus / "a.txt").write("".join(f"{line}\n" for line in lines[:9]))
    model = translator.Translator.load(tiny_run)
    results = list(model.stream(lines[:9], full_batches=True, batch_size=4, beam=2, nbest=2))
    here.answered(
        replace(translating(tiny_run, nbest=2), answer=lambda _, result: as_json(result), form="json")
    )
    written = [json.loads(line) for line in here.answers("a.txt.jsonl").split("\n")[:-1]]
    assert written == [
        {"shard": "a.txt", "line": n, **json.loads(as_json(each))} for n, each in enumerate(results, 1)
    ]
    lists = Workplace(here.corpus, here.out / "lists")
    lists.answered(replace(translating(tiny_run, nbest=2), answer=as_nbest))
    rows = [line.split("\t") for line in lists.answers("a.txt.tsv").split("\n")[:-1]]
    assert "\n".join(row[2] for row in rows) == "\n".join(as_nbest(n, each) for n, each in enumerate(results))
    assert all(int(row[1]) == int(row[2].split(" ||| ")[0]) + 1 for row in rows)


def test_records_of_json_lines_and_parquet(
    work: Workplace, lines: list[str], tiny_run: Path, tmp_path: Path
) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    lines = [*lines[:10], None, "two\nlines"]
    (work.corpus / "a.jsonl").write("".join(json.dumps({"text": line, "id": 1}) + "\n" for line in lines))
    parquet.write_table(pa.table({"text": lines}), tmp_path / "table")
    work.put("b.parquet", (tmp_path / "table").read_bytes())
    work.answered(translating(tiny_run))
    given = ["" if line is None else line.replace("\n", " ") for line in lines]
    expected = [
        result.text
        for result in translator.Translator.load(tiny_run).stream(
            given, full_batches=True, batch_size=4, beam=2
        )
    ]
    for name in ("a.jsonl", "b.parquet"):
        assert work.answers(f"{name}.tsv") == with_origin(name, expected)


def test_pairs_are_scored_and_aligned_as_on_one_machine(
    work: Workplace, lines: list[str], tiny_run: Path, tiny_reverse_run: Path, tiny_corpus: Path
) -> None:
    targets = (tiny_corpus / "train.fr").read_text(encoding="utf-8").split("\n")[:12]
    pairs = list(zip(lines, targets, strict=False))
    (work.corpus / "en/1.en").write("".join(f"{line}\n" for line, _ in pairs))
    (work.corpus / "fr/1.fr").write("".join(f"{line}\n" for _, line in pairs))
    (work.corpus / "both/2.jsonl").write(
        "".join(json.dumps({"translation": {"en": en, "fr": fr}}) + "\n" for en, fr in pairs)
    )
    two = pair_shards([str(work.corpus / "en"), str(work.corpus / "fr")], None)
    one = pair_shards([str(work.corpus / "both")], None)
    layout, model = pair_layout(tiny_run, None), translator.Translator.load(tiny_run)
    work.answered(
        Scoring(Models((tiny_run,)), 4, lambda result: f"{result.score:.5f}", "text", layout), [*two, *one]
    )
    scores = [f"{result.score:.5f}" for result in model.force(pairs, 4)]
    assert work.answers("1.en.tsv") == with_origin("1.en", scores)
    assert work.answers("2.jsonl.tsv") == with_origin("2.jsonl", scores)
    links = Workplace(work.corpus, work.out / "links")
    reverse, how = Models((tiny_reverse_run,)), {"method": "union", "words": "tokenised"}
    task = Aligning(
        *(Models((tiny_run,)), 4, lambda aligned: format_links(aligned.links), "text", layout),
        *(reverse, how),
    )
    links.answered(task, [*two, *one])
    assert links.answers("1.en.tsv").replace("1.en\t", "2.jsonl\t") == links.answers("2.jsonl.tsv")
    assert len(links.answers("1.en.tsv").split("\n")) == 13


def test_what_is_done_is_not_done_again(work: Workplace, lines: list[str], tiny_run: Path) -> None:
    (work.corpus / "a.txt").write("".join(f"{line}\n" for line in lines[:9]))
    before = work.answered(translating(tiny_run))
    folder, worker = work.begun(translating(tiny_run))
    worker.__dict__["_work"] = None  # whoever calls it fails
    (shard,) = text_shards(str(work.corpus), None)
    assert [worker.answer(shard)] == before
    (work.corpus / "a.txt").write("".join(f"{line}\n" for line in lines[:3]))
    (record,) = work.answered(translating(tiny_run))
    assert record["lines"] == 3
    assert len(work.answers("a.txt.tsv").split("\n")) == 4
    assert folder.record(shard) is None  # of the shard as it was


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"one\ntwo\n\xff\n", r"a\.txt:3: byte 1 of the line is not UTF-8"),
        ("a.jsonl", b'{"text": "one"}\n{"words": "two"}\n', r"a\.jsonl:2: does not have the key 'text'"),
        ("a.parquet", b"PAR1 but no more", r"a\.parquet: cannot be read"),
        ("a.txt", b"one\n" * 9 + b"word " * 5001 + b"\n", r"a\.txt: line 10 has 5,001 words"),
    ],
)
def test_bad_shards(name: str, content: bytes, message: str, work: Workplace, tiny_run: Path) -> None:
    """The message names the file as the corpus calls it, and the line."""
    work.put(name, content)
    shard = next(shard for shard in text_shards(str(work.corpus), None) if shard.name == name)
    folder, worker = work.begun(translating(tiny_run))
    with pytest.raises(InputError, match=message) as raised:
        worker.answer(shard)
    assert str(raised.value).startswith(str(work.corpus))
    assert folder.record(shard) is None
    assert not work.answers(f"{name}.tsv")


@pytest.mark.parametrize("doing", ["scoring", "aligning"])
def test_a_pair_that_cannot_be_aligned_is_named_by_its_line(
    here: Workplace, tiny_run: Path, doing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted from the beginning of the shard, not of the block of eight."""
    pairs = ['{"source": "one two", "target": "un deux"}\n'] * 9 + [
        '{"source": "one two three four five", "target": "un deux"}\n'
    ]
    (here.corpus / "1.jsonl").write("".join(pairs))
    monkeypatch.setattr(worker_module, "READ_AHEAD", 2)
    monkeypatch.setattr(sentence_search, "LARGEST_ALIGNMENT", 10)
    models = Models((tiny_run,))
    scoring = Scoring(models, 4, str, "text", Layout())
    _, worker = here.begun(scoring if doing == "scoring" else Aligning(models, 4, str, "text", Layout()))
    with pytest.raises(InputError, match=r"1\.jsonl: pair 10 has"):
        worker.answer(pair_shards([str(here.corpus)], None)[0])


def test_lists_are_not_scored(here: Workplace, tiny_run: Path) -> None:
    (here.corpus / "1.jsonl").write(json.dumps({"source": "one", "target": "0 ||| un ||| 1 ||| 1"}) + "\n")
    task = Scoring(Models((tiny_run,)), 4, str, "text", Layout())
    with pytest.raises(InputError, match="line 1 belongs to an n-best list"):
        here.answered(task, pair_shards([str(here.corpus)], None))


def test_a_machine_that_differs(
    here: Workplace, tiny_run: Path, other_tiny_run: Path, tmp_path: Path
) -> None:
    (here.corpus / "a.txt").write("one\n")
    (shard,) = text_shards(str(here.corpus), None)
    task = translating(tiny_run)
    folder, _ = here.begun(task)
    elsewhere = replace(folder, place=Place.at(str(tmp_path / "elsewhere")))
    missing = replace(task, models=Models((tmp_path / "missing",)))
    other = replace(task, models=Models((other_tiny_run,)))
    cases: list[tuple[Task, AnswerFolder, str, str]] = [
        (task, folder, "0.0.0", r"on \S+: rnnsearch \S+ is installed, and the command is of 0\.0\.0"),
        (task, elsewhere, package_version(), "does not see the folder"),
        (missing, folder, package_version(), "is not a run"),
        (other, folder, package_version(), "its copy of the run differs"),
    ]
    for given, place, version, message in cases:
        with pytest.raises(StartError, match=message):
            Worker(given, place, version).answer(shard)


def test_a_folder_of_other_answers(here: Workplace, tiny_run: Path) -> None:
    one, other = translating(tiny_run), translating(tiny_run, beam=3)
    column = translating(tiny_run, OneSide(source="line"))
    assert (
        len(
            {
                one.key(),
                other.key(),
                column.key(),
                replace(one, form="json").key(),
                translating(tiny_run).key(),
            }
        )
        == 4
    )
    here.begun(one)
    here.begun(one)
    with pytest.raises(InputError, match="holds answers of another command, another run or other settings"):
        here.begun(other)
    AnswerFolder(here.out, other.key(), "text").begin({}, overwrite=True)
    here.begun(other)
    (here.corpus / "a").write("a")
    with pytest.raises(InputError, match="exists and holds other files"):
        AnswerFolder(here.corpus, one.key(), "text").begin({}, overwrite=True)
