"""Records a conversation with the model en-fr: `python scripts/terminal_picture.py` writes
docs/images/terminal.svg."""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console

from rnnsearch import Translator
from rnnsearch.serve.terminal import Conversation

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "terminal.svg"
TYPED = (
    "The agreement on the European Economic Area was signed in August 1992.",
    ":why européen",
    "She bought fresh bread and two bottles of water at the market.",
    ":nbest 3",
    ":matrix",
)
WITHOUT_FONTS = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
"""Rich's SVG template without web fonts."""


def main() -> None:
    console = Console(
        file=io.StringIO(),
        record=True,
        width=80,
        highlight=False,
        force_terminal=True,
        color_system="truecolor",
    )
    conversation = Conversation(
        Translator.load("en-fr"), {}, lambda _: Translator.load("fr-en"), console
    )
    for line in TYPED:
        console.print(conversation.prompt + line, markup=False)
        conversation.answer(line)
    svg = console.export_svg(
        title="rnnsearch translate en-fr", code_format=WITHOUT_FONTS, unique_id="terminal"
    )
    PICTURE.write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
