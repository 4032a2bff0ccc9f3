"""The demo replaces what an earlier demo left, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from rnnsearch.demo import NOTE, clear, run_demo
from rnnsearch.errors import InputError


def test_an_earlier_demo_is_replaced(tmp_path: Path) -> None:
    clear(tmp_path / "deep" / "demo")
    (tmp_path / "deep" / "demo" / "run").mkdir()
    (tmp_path / "deep" / "demo" / "run" / "old").touch()
    clear(tmp_path / "deep" / "demo")
    assert [path.name for path in (tmp_path / "deep" / "demo").rglob("*")] == [NOTE]


@pytest.mark.parametrize(
    "names", [["corpus"], ["corpus", "store", "run"], ["corpus", NOTE, "thesis"], ["other"]]
)
def test_a_persons_own_work_is_left_alone(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        (tmp_path / name).mkdir()
    with pytest.raises(InputError, match="is not a folder that a demo made"):
        run_demo(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "demo").touch()
    with pytest.raises(InputError, match="is not a folder that a demo made"):
        clear(tmp_path / "demo")


def test_a_wrong_setting_is_found_before_anything_is_removed(tmp_path: Path) -> None:
    clear(tmp_path / "demo")
    (tmp_path / "demo" / "run").mkdir()
    with pytest.raises(InputError):
        run_demo(tmp_path / "demo", ("model.nosuch=1",))
    assert (tmp_path / "demo" / "run").exists()
