"""A page as a browser reads it: its elements with their attributes, and its text."""

from __future__ import annotations

from html.parser import HTMLParser

Attributes = dict[str, str | None]
VOID = ("meta", "link", "img", "br", "hr", "input", "path", "use", "image", "rect")
"""Elements that need no end."""


class Elements(HTMLParser):
    """The elements in their order, and the text outside style sheets. `open`: elements that were not closed.

    An element that is closed before another one inside it fails the test.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, Attributes]] = []
        self.text = ""
        self.scripts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["script"]:
            self.scripts.append(data)
        if self.open[-1:] != ["style"]:
            self.text += data

    def every(self, *tags: str) -> list[Attributes]:
        """Returns the attributes of all elements with one of these tags."""
        return [attributes for tag, attributes in self.found if tag in tags]

    def values(self, attribute: str) -> list[str]:
        """Returns the values of an attribute, whichever elements have it."""
        return [
            str(attributes[attribute]) for _, attributes in self.found if attribute in attributes
        ]
