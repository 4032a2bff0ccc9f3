"""Scripts beside the package: what they refuse, and what they leave as it was."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from rnnsearch.kernels import digest

SCRIPTS = Path(__file__).parents[1] / "scripts"


def test_digests_stay_when_their_tests_are_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else an edited equation would count as equal to its kernel."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    file = tmp_path / "digests.json"
    file.write_text('{"old": "digest"}\n')
    monkeypatch.setattr(digest, "DIGESTS", file)
    monkeypatch.setattr(subprocess, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        runpy.run_path(str(SCRIPTS / "digests.py"), run_name="__main__")
    assert file.read_text() == '{"old": "digest"}\n'


@pytest.mark.parametrize(
    ("options", "code"),
    [("--moved 0", 0), ("--moved 20", 2), ("--content 0", 2), ("--content 1", 0)],
)
def test_links_are_changed_by_a_share(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: str,
    code: int,
) -> None:
    """With --content, the links of marks and of the most frequent target word go."""
    texts = {"en": "the cats\nthe dog .\n", "fr": "les chats\nles chien .\n"}
    links = "0-0 1-1\n0-0 1-1 2-2\n"
    for name, text in (texts | {"links": links}).items():
        (tmp_path / name).write_text(text)
    files = [str(tmp_path / name) for name in ("en", "fr", "links")]
    monkeypatch.setattr(sys, "argv", ["changed_links.py", *files, *options.split()])
    ended = 0
    try:
        runpy.run_path(str(SCRIPTS / "changed_links.py"), run_name="__main__")
    except SystemExit as end:
        ended = int(end.code or 0)
    assert ended == code
    expected = {"--moved 0": links, "--content 1": "1-1\n1-1\n"}.get(options, "")
    assert capsys.readouterr().out == expected
