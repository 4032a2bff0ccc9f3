"""Any file of translations is a system, and a file that is not one is refused with one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from rnnsearch.errors import InputError
from rnnsearch.evaluation.test_set import System, read_hypotheses, read_system


def test_plain_lines_are_kept_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "moses.test.fr"
    file.write_text("Un homme.\n\n a = b \u2028c ||| d\n", encoding="utf-8")
    expected = ["Un homme.", "", " a = b  c ||| d"]
    system = read_system(f"phrase-based={file}", 3)
    assert system == System("phrase-based", expected)
    assert read_hypotheses(file, 3).name == "moses"


def test_an_nbest_list_gives_its_first_candidates(tmp_path: Path) -> None:
    file = tmp_path / "list"
    file.write_text(
        "0 ||| a b ||| lm= -1 ||| -3\n0 ||| a c ||| lm= -2 ||| -4\n1 |||  ||| lm= 0 ||| 0\n2 ||| d ||| lm= "
        "0 ||| 0\n"
    )
    system = read_system(f"lattice={file}", 3)
    assert system.texts == ["a b", "", "d"]
    assert system.candidates == 4


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"hyp: has no translations \(give one line for each of the 3 sentences\)"),
        ("\n", "hyp: has 1 line, but there are 3 references"),
        ("a\nb\n", r"hyp: has 2 lines, but there are 3 references \(line N"),
        ("a\n", "hyp: has 1 line, but there are 3 references"),
        ("a\nb\nc\nd\n", "hyp: has 4 lines, but"),
        ("0 ||| a\n1 ||| b\n", "hyp: the n-best list has no candidate for sentence 2 .*from 0 to 2"),
        ("0 ||| a\n2 ||| b\n", "hyp: the n-best list has no candidate for sentence 1 "),
        ("1 ||| a\n2 ||| b\n", "hyp: the n-best list has no candidate for sentence 0 "),
        ("0 ||| a\n1 ||| b\n2 ||| c\n3 ||| d\n", "hyp:4: sentence 3 of 3"),
        ("0 ||| a\n2 ||| b\n1 ||| c\n", "hyp:3: sentence 1 of 3 comes after sentence 2"),
        ("0 ||| a\nb\n", "hyp:2: is not a line of an n-best list"),
    ],
)
def test_what_is_no_system(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "hyp"
    file.write_text(content)
    with pytest.raises(InputError, match=message) as caught:
        read_system(f"name={file}", 3)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("argument", ["moses.out", "=moses.out", " =moses.out", "moses="])
def test_a_system_needs_a_name_and_a_file(argument: str) -> None:
    with pytest.raises(InputError, match=r"is not NAME=FILE \("):
        read_system(argument, 3)
