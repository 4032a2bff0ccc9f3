"""Self-checking exercises. The site runs a chapter's block that begins with `answer = … # kind`,
and shows it as a form; the notebook has an empty answer, and prints whether it is right."""

from __future__ import annotations

import ast
import re
from html import escape

BLOCK = re.compile(
    r'^<details markdown="1"><summary>Answer</summary>\n+```python\n(answer = .*?)^```$',
    re.M | re.S,
)
FIRST = re.compile(r"answer = (.+?)  # (.+)")
SCRIPT = '<script defer src="../assets/check.js"></script>'


def with_forms(text: str) -> str:
    """Returns a chapter with a form before each answer."""
    found = BLOCK.sub(lambda match: f"{form(match[1])}\n\n{match[0]}", text)
    return found if found == text else f"{found}\n\n{SCRIPT}\n"


def form(block: str) -> str:
    """Returns the form of a block whose last statement is an assertion: an equality, or a distance
    below a number."""
    first = FIRST.match(block)
    check = ast.parse(block).body[-1]
    if not (
        first
        and isinstance(check, ast.Assert)
        and isinstance(check.test, ast.Compare)
        and check.msg
    ):
        raise ValueError(f"is no check: {block}")
    answer, kind = first.groups()
    values = {"answer": str(ast.literal_eval(answer)), "hint": ast.literal_eval(check.msg)}
    if isinstance(check.test.ops[0], ast.Lt):
        values["within"] = ast.unparse(check.test.comparators[0])
        field = (
            '<input name="answer" inputmode="decimal" autocomplete="off" size="8"> '
            f"<span>{escape(kind)}</span>"
        )
    else:
        choices = ["", *kind.removeprefix("one of: ").split(" | ")]
        options = "".join(f"<option>{escape(one)}</option>" for one in choices)
        field = f'<select name="answer">{options}</select>'
    data = " ".join(f'data-{name}="{escape(value)}"' for name, value in values.items())
    return (
        f'<form class="self-check" {data}><label>Your answer {field}</label> <button>Check</button>'
        " <output></output></form>"
    )


def unanswered(block: str) -> str:
    """Returns a block for the notebook: without the answer, and with what the check says instead of
    an assertion, which would end "Run all"."""

    def replaced(match: re.Match[str]) -> str:
        nothing = '""' if match[1].startswith('"') else 'float("nan")'
        return f"answer = {nothing}  # {match[2]}"

    check = ast.parse(block).body[-1]
    assert isinstance(check, ast.Assert)
    before = "\n".join(block.splitlines()[: check.lineno - 1])
    if not isinstance(ast.literal_eval(FIRST.match(block)[1]), str):  # type: ignore[index]
        before += '\nif isinstance(answer, (str, tuple)):\n    answer = float("nan")'
    said = (
        f"print('Right.' if {ast.unparse(check.test)} else 'Not yet. ' + {ast.unparse(check.msg)})"
    )
    return f"{FIRST.sub(replaced, before, count=1)}\n{said}"
