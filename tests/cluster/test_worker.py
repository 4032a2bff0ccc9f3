"""One worker by itself: its answers are those of the command on one machine, however often it is broken
off."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import fsspec
import pytest

from rnnsearch.cli.on_ray import pair_layout
from rnnsearch.cli.output import as_json, as_nbest
from rnnsearch.cluster.shards import Place, Shard, pair_shards, text_shards
from rnnsearch.cluster.tasks import Aligning, Models, Scoring, Task, Translating
from rnnsearch.cluster.worker import AnswerFolder, StartError, Worker
from rnnsearch.errors import InputError
from rnnsearch.records import Translation
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

    def put(self, name: str, lines: Iterable[object]) -> None:
        """Writes a shard: texts as they are, whatever else as JSON."""
        each = (line if isinstance(line, str) else json.dumps(line) for line in lines)
        (self.corpus / name).write("".join(f"{line}\n" for line in each))

    def shards(self) -> list[Shard]:
        return text_shards(str(self.corpus), None)

    def begun(self, task: Task) -> tuple[AnswerFolder, Worker]:
        folder = AnswerFolder(self.out, task.key(), task.form)
        folder.begin({"command": "test"}, overwrite=False)
        return folder, Worker(task, folder, package_version())

    def answered(self, task: Task, shards: Sequence[Shard] | None = None) -> list[Any]:
        _, worker = self.begun(task)
        return [worker.answer(shard) for shard in shards or self.shards()]

    def answers(self, name: str) -> list[str]:
        """Returns the answers to a shard, each with its origin."""
        return ((self.out / "answers" / name).read() or b"").decode().split("\n")[:-1]


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


def with_origin(name: str, answers: Sequence[str]) -> list[str]:
    return [f"{name}\t{number}\t{answer}" for number, answer in enumerate(answers, 1)]


def on_one_machine(run: Path, lines: Sequence[str], **search: Any) -> list[Translation]:
    search = {"batch_size": 4, "beam": 2} | search
    return list(translator.Translator.load(run).stream(lines, full_batches=True, **search))


def test_text_is_translated_as_on_one_machine(work: Workplace, lines: list[str], tiny_run: Path) -> None:
    shards = {"a/c.txt": lines[12:20], "b.txt": [*lines[:11], "", lines[11]], "empty": []}
    for name, texts in shards.items():
        work.put(name, texts)
    (work.corpus / "a/c.txt").write("\n".join(shards["a/c.txt"]))  # no line feed at the end
    records = work.answered(translating(tiny_run))
    assert [record["shard"] for record in records] == list(shards)
    for record, (name, texts) in zip(records, shards.items(), strict=True):
        expected = with_origin(name, [result.text for result in on_one_machine(tiny_run, texts)])
        assert record["answers"] == f"answers/{name}.tsv"
        assert (work.answers(f"{name}.tsv"), record["lines"]) == (expected, len(texts))
    written = [name for name in work.out.files() if name.startswith("answers/")]
    assert written == [record["answers"] for record in records]


def test_json_and_lists(here: Workplace, lines: list[str], tiny_run: Path) -> None:
    here.put("a.txt", lines[:9])
    results = on_one_machine(tiny_run, lines[:9], nbest=2)
    task = translating(tiny_run, nbest=2)
    here.answered(replace(task, answer=lambda _, result: as_json(result), form="json"))
    assert list(map(json.loads, here.answers("a.txt.jsonl"))) == [
        {"shard": "a.txt", "line": n, **json.loads(as_json(each))} for n, each in enumerate(results, 1)
    ]
    lists = Workplace(here.corpus, here.out / "lists")
    lists.answered(replace(task, answer=as_nbest))
    rows = [line.split("\t") for line in lists.answers("a.txt.tsv")]
    assert "\n".join(row[2] for row in rows) == "\n".join(as_nbest(n, each) for n, each in enumerate(results))
    assert all(int(row[1]) == int(row[2].split(" ||| ")[0]) + 1 for row in rows)


def test_records_of_json_lines_and_parquet(
    work: Workplace, lines: list[str], tiny_run: Path, tmp_path: Path
) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    texts = [*lines[:10], None, "two\nlines"]
    work.put("a.jsonl", ({"text": line, "id": 1} for line in texts))
    parquet.write_table(pa.table({"text": texts}), tmp_path / "table")
    place = work.corpus / "b.parquet"
    place.system.pipe_file(place.path, (tmp_path / "table").read_bytes())
    work.answered(translating(tiny_run))
    expected = [result.text for result in on_one_machine(tiny_run, [*lines[:10], "", "two lines"])]
    for name in ("a.jsonl", "b.parquet"):
        assert work.answers(f"{name}.tsv") == with_origin(name, expected)


def test_pairs_are_scored_and_aligned_as_on_one_machine(
    work: Workplace, lines: list[str], tiny_run: Path, tiny_reverse_run: Path, tiny_corpus: Path
) -> None:
    targets = (tiny_corpus / "train.fr").read_text(encoding="utf-8").split("\n")[:12]
    pairs = list(zip(lines, targets, strict=False))
    work.put("en/1.en", lines[:12])
    work.put("fr/1.fr", targets)
    work.put("both/2.jsonl", ({"translation": {"en": en, "fr": fr}} for en, fr in pairs))
    shards = [
        *pair_shards([f"{work.corpus}/en", f"{work.corpus}/fr"], None),
        *pair_shards([f"{work.corpus}/both"], None),
    ]
    models, layout = Models((tiny_run,)), pair_layout(tiny_run, None)
    work.answered(Scoring(models, 4, lambda result: f"{result.score:.5f}", "text", layout), shards)
    forced = translator.Translator.load(tiny_run).force(pairs, 4)
    scores = [f"{result.score:.5f}" for result in forced]
    for name in ("1.en", "2.jsonl"):
        assert work.answers(f"{name}.tsv") == with_origin(name, scores)
    links = Workplace(work.corpus, work.out / "links")
    reverse, how = Models((tiny_reverse_run,)), {"method": "union", "words": "tokenised"}
    task = Aligning(models, 4, lambda one: format_links(one.links), "text", layout, reverse, how)
    links.answered(task, shards)
    found = [line.removeprefix("1.en\t") for line in links.answers("1.en.tsv")]
    assert found == [line.removeprefix("2.jsonl\t") for line in links.answers("2.jsonl.tsv")]
    assert len(found) == 12


def test_what_is_done_is_not_done_again(work: Workplace, lines: list[str], tiny_run: Path) -> None:
    work.put("a.txt", lines[:9])
    before = work.answered(translating(tiny_run))
    folder, worker = work.begun(translating(tiny_run))
    worker.__dict__["_work"] = None  # whoever calls it fails
    (shard,) = work.shards()
    assert [worker.answer(shard)] == before
    work.put("a.txt", lines[:3])
    (record,) = work.answered(translating(tiny_run))
    assert record["lines"] == len(work.answers("a.txt.tsv")) == 3
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
    place = work.corpus / name
    place.write("")
    place.system.pipe_file(place.path, content)
    (shard,) = work.shards()
    folder, worker = work.begun(translating(tiny_run))
    with pytest.raises(InputError, match=message) as raised:
        worker.answer(shard)
    assert str(raised.value).startswith(str(work.corpus))
    assert folder.record(shard) is None
    assert not work.answers(f"{name}.tsv")


@pytest.mark.parametrize("kind", [Scoring, Aligning])
def test_a_pair_that_cannot_be_aligned_is_named_by_its_line(
    here: Workplace, tiny_run: Path, kind: type[Scoring], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted from the beginning of the shard, not of the block of eight."""
    pair = {"source": "one two", "target": "un deux"}
    here.put("1.jsonl", [*[pair] * 9, pair | {"source": "one two three four five"}])
    monkeypatch.setattr(sentence_search, "LARGEST_ALIGNMENT", 10)
    with pytest.raises(InputError, match=r"1\.jsonl: pair 10 has"):
        here.answered(kind(Models((tiny_run,)), 4, str, "text", Layout()))


def test_lists_are_not_scored(here: Workplace, tiny_run: Path) -> None:
    here.put("1.jsonl", [{"source": "one", "target": "0 ||| un ||| 1 ||| 1"}])
    with pytest.raises(InputError, match="line 1 belongs to an n-best list"):
        here.answered(Scoring(Models((tiny_run,)), 4, str, "text", Layout()))


def test_a_machine_that_differs(
    here: Workplace, tiny_run: Path, other_tiny_run: Path, tmp_path: Path
) -> None:
    here.put("a.txt", ["one"])
    (shard,) = here.shards()
    task = translating(tiny_run)
    folder, _ = here.begun(task)
    elsewhere = replace(folder, place=Place.at(str(tmp_path / "elsewhere")))
    missing = replace(task, models=Models((tmp_path / "missing",)))
    other = replace(task, models=Models((other_tiny_run,)))
    cases: list[tuple[Task, AnswerFolder, str, str]] = [
        (task, folder, "0.0.0", r"on \S+: rnnsearch \S+ is installed, but the command has 0\.0\.0"),
        (task, elsewhere, package_version(), "does not see the folder"),
        (missing, folder, package_version(), "is not a run"),
        (other, folder, package_version(), "its copy of the run differs"),
    ]
    for given, place, version, message in cases:
        with pytest.raises(StartError, match=message):
            Worker(given, place, version).answer(shard)


def test_a_folder_of_other_answers(here: Workplace, tiny_run: Path) -> None:
    one, other = translating(tiny_run), translating(tiny_run, beam=3)
    some = one, translating(tiny_run), other, translating(tiny_run, OneSide(source="line"))
    assert len({task.key() for task in (*some, replace(one, form="json"))}) == 4
    here.begun(one)
    here.begun(one)
    with pytest.raises(InputError, match="holds answers of another command, another run or other settings"):
        here.begun(other)
    AnswerFolder(here.out, other.key(), "text").begin({}, overwrite=True)
    here.begun(other)
    (here.corpus / "a").write("a")
    with pytest.raises(InputError, match="exists and holds other files"):
        AnswerFolder(here.corpus, one.key(), "text").begin({}, overwrite=True)
