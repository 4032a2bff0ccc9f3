"""A headless Chromium that tests drive through its debugging pipe: no driver and no library is needed.

with browser(tmp_path) as page:
    page.open("http://127.0.0.1:8000/")
    page.wait("document.title")
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
NEEDS_CHROMIUM = pytest.mark.skipif(
    CHROMIUM is None, reason="needs Chromium (Debian: apt install chromium)"
)
OPTIONS = """
--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
--disable-component-update --disable-sync --disable-dev-shm-usage
"""
KEYS = {
    "Tab": 9,
    "Enter": 13,
    "Backspace": 8,
    "Escape": 27,
    "ArrowLeft": 37,
    "ArrowUp": 38,
    "ArrowRight": 39,
    "ArrowDown": 40,
    " ": 32,
}
SECONDS = 300
"""After which a page that does not answer fails the test."""


class BrowserError(Exception):
    """What the browser, or a script in the page, has to complain about."""


class Page:
    """One tab. `messages` is all that the page wrote to its console or threw."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to, self._from = to_browser, from_browser
        self._rest = b""
        self._number = 0
        self._session = ""
        self.messages: list[str] = []
        targets = self.call("Target.getTargets")["targetInfos"]
        target = next(one["targetId"] for one in targets if one["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """A command of the DevTools protocol."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise BrowserError(answer["error"]["message"])
                return dict(answer["result"])
            self._note(answer)

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            some = os.read(self._from, 1 << 16)
            if not some:
                raise BrowserError("the browser has ended")
            self._rest += some
        first, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(first))

    def _note(self, event: dict[str, Any]) -> None:
        values = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            self.messages.append(
                json.dumps(values["exceptionDetails"].get("exception", values["exceptionDetails"]))
            )
        elif event.get("method") == "Log.entryAdded":
            self.messages.append(values["entry"]["text"])

    def open(self, address: str) -> None:
        self.call("Page.navigate", url=address)
        self.wait("document.readyState === 'complete'")

    def run(self, script: str) -> Any:
        """The value of an expression in the page; a promise is waited for. Raises BrowserError for what it
        throws."""
        answer = self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        if details := answer.get("exceptionDetails"):
            raise BrowserError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def wait(self, condition: str) -> Any:
        """The value of the expression as soon as it is true, in the page that is there then. Raises
        BrowserError after SECONDS."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            try:
                if value := self.run(condition):
                    return value
            except BrowserError as error:
                if "navigated" not in str(error):
                    raise
            time.sleep(0.05)
        raise BrowserError(
            f"never true: {condition}; the page says {self.messages} and shows "
            f"{self.run('document.body.innerText')[:500]!r}"
        )

    def press(self, key: str, modifiers: int = 0) -> None:
        """A key with its code; a letter. modifiers: 2 for Ctrl."""
        for kind in (
            ("rawKeyDown", "char", "keyUp") if key in ("Enter", " ") else ("rawKeyDown", "keyUp")
        ):
            text = {"text": {"Enter": "\r"}.get(key, key)} if kind == "char" else {}
            code = KEYS.get(key, ord(key[0].upper()))
            self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                windowsVirtualKeyCode=code,
                modifiers=modifiers,
                **text,
            )

    def type(self, text: str) -> None:
        """As if typed or pasted into what has the focus."""
        self.call("Input.insertText", text=text)

    def click(self, selector: str) -> None:
        """A click with the mouse in the middle of the element, which is scrolled to first."""
        x, y = self.middle(selector)
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call(
                "Input.dispatchMouseEvent",
                type=kind,
                x=x,
                y=y,
                button="none" if kind == "mouseMoved" else "left",
                clickCount=1,
            )

    def tap(self, selector: str) -> None:
        """A finger in the middle of the element, on a phone's screen."""
        x, y = self.middle(selector)
        self.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def middle(self, selector: str) -> tuple[float, float]:
        script = (
            f"(() => {{ const one = document.querySelector({json.dumps(selector)}); "
            f"one.scrollIntoView({{block: 'center'}});"
        )
        x, y = self.run(
            script
            + " const box = one.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height "
            "/ 2]; })()"
        )
        return float(x), float(y)

    def screen(self, width: int, height: int = 900, dark: bool = False) -> None:
        """The size of the window, and which colours the visitor likes. One as wide as a phone's is
        touched."""
        self.call("Emulation.setTouchEmulationEnabled", enabled=width < 600)
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
        )


@contextmanager
def browser(folder: Path) -> Iterator[Page]:
    """A browser with a profile of its own in `folder`."""
    read_here, write_there = os.pipe()
    read_there, write_here = os.pipe()

    def connect() -> None:
        high = [
            os.dup(os.dup(os.dup(one))) for one in (read_there, write_there)
        ]  # beyond 3 and 4, which they become
        for number, one in zip((3, 4), high, strict=True):
            os.dup2(one, number)

    command = [
        str(CHROMIUM),
        *OPTIONS.split(),
        "--remote-debugging-pipe",
        f"--user-data-dir={folder / 'chromium'}",
        "about:blank",
    ]
    process = subprocess.Popen(
        command,
        preexec_fn=connect,
        pass_fds=(3, 4),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    for one in (read_there, write_there):
        os.close(one)
    try:
        yield Page(write_here, read_here)
    finally:
        process.terminate()
        process.wait(20)
        for one in (read_here, write_here):
            os.close(one)


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: Any) -> None:
        pass


@contextmanager
def static_host(folder: Path) -> Iterator[str]:
    """The address of a web host of files on this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
