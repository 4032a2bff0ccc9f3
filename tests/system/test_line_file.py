"""Files of lines: whatever ends the work, the same call goes on, and the file is that of undisturbed work."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from folders import names
from refusals import refusal

from rnnsearch.system.line_file import LineFile

ITEMS = [f"item {number}" for number in range(11)]


def work(path: Path, ends_at: int = -1, items: list[str] = ITEMS) -> list[list[str]]:
    """Writes two lines of each item; returns the blocks. It is ended at the block of this number."""
    blocks: list[list[str]] = []
    with LineFile(path, "key", head="(\n") as file:
        for block in file.blocks(items, 1):
            if len(blocks) == ends_at:
                raise KeyboardInterrupt
            blocks.append(block)
            file.append(block, [f"a {item}\nb {item}" for item in block])
    return blocks


def test_blocks_grow_to_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rnnsearch.system.line_file.LINES_AHEAD", 4)
    assert [len(block) for block in work(tmp_path / "out")] == [1, 2, 4, 4]


def test_ended_and_cut_anywhere_it_goes_on_with_whole_blocks(tmp_path: Path) -> None:
    whole = work(tmp_path / "whole")
    expected = (tmp_path / "whole").read_bytes()
    assert expected.decode().count("\n") == 1 + 22
    partial = tmp_path / ".out.partial"
    for ends_at in range(len(whole)):
        for torn in (b"", b"a it", b"a item 5\n"):
            with pytest.raises(KeyboardInterrupt):
                work(tmp_path / "out", ends_at)
            assert partial.exists() == (ends_at > 0)
            if ends_at:
                partial.write_bytes(partial.read_bytes() + torn)
            assert work(tmp_path / "out") == whole[ends_at:]
            assert (tmp_path / "out").read_bytes() == expected
            (tmp_path / "out").unlink()
    assert names(tmp_path) == ["whole"]


def test_a_full_disk_is_one_line_and_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    whole = work(tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        work(tmp_path / "out", 2)
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with refusal("out: cannot be written: No space left on device"):
            work(tmp_path / "out")
    assert work(tmp_path / "out") == whole[2:]


@pytest.mark.parametrize(
    "state",
    [[], 7, {"key": "key"}, *({"key": "key", "items": 1, "checksum": "", "size": 0} | wrong for wrong in (
        {"items": "1"}, {"items": True}, {"size": -1}, {"key": None}, {"size": 1.5}
    ))],
)  # fmt: skip
def test_a_state_file_of_something_else_is_one_line(tmp_path: Path, state: object) -> None:
    (tmp_path / ".out.state").write_text(json.dumps(state))
    with refusal(r"\.out\.state: is damaged: it is not a state"):
        work(tmp_path / "out")


def test_items_are_read_block_by_block(tmp_path: Path) -> None:
    taken: list[int] = []
    with LineFile(tmp_path / "out", "key") as file:
        blocks = file.blocks((taken.append(number) or number for number in range(10**9)), 3)  # type: ignore[func-returns-value]
        assert (next(blocks), taken) == ([0, 1, 2], [0, 1, 2])


def test_a_link_in_place_of_the_state_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".out.state").symlink_to("elsewhere")
    with refusal(r"\.out\.state: is a link"), LineFile(tmp_path / "out", "key"):
        raise AssertionError
    assert not (tmp_path / "elsewhere").exists()
