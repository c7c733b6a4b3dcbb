"""A Chromium that tests and benchmarks drive, by the DevTools protocol over a pipe: no package, no port, no driver.

``--remote-debugging-pipe`` reads messages of JSON from descriptor 3 and writes them to 4, each ended by a zero byte.
Playwright and selenium would bring a browser or a driver of their own, and be 40 MB more.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "headless_shell")
_SECONDS = 60.0

Event = dict[str, Any]


def found() -> str:
    """The browser that is installed here; empty where there is none."""
    return next(filter(None, map(shutil.which, NAMES)), "")


class Browser:
    """A running browser and the pipe to it. Each tab has a fresh profile: they share no storage, cache or downloads."""

    def __init__(self, send: int, receive: int) -> None:
        self._send, self._receive = send, receive
        self._rest = b""
        self._number = 0
        self._events: dict[str, list[Event]] = {}

    @contextlib.contextmanager
    def tab(self) -> Iterator[Page]:
        """An empty tab, closed with all that its pages stored."""
        profile = str(self.call("Target.createBrowserContext")["browserContextId"])
        try:
            target = self.call("Target.createTarget", url="about:blank", browserContextId=profile)["targetId"]
            session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            yield Page(self, profile, session, self._events.setdefault(session, []))
        finally:
            self._events.clear()
            self.call("Target.disposeBrowserContext", browserContextId=profile)

    def call(self, method: str, session: str = "", **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer; raises RuntimeError where it is refused."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._send, data) :]
        deadline = time.monotonic() + _SECONDS
        while True:
            told = self._next(deadline)
            if told.get("id") == self._number:
                if "error" in told:
                    raise RuntimeError(f"{method}: {told['error']['message']}")
                result: dict[str, Any] = told["result"]
                return result

    def _next(self, deadline: float) -> Event:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._receive], [], [], max(0.0, deadline - time.monotonic()))
            data = os.read(self._receive, 1 << 20) if ready else b""
            if not data:
                raise TimeoutError("the browser says nothing any more")
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\0")
        told: Event = json.loads(line)
        if "method" in told and told.get("sessionId") in self._events:
            self._events[told["sessionId"]].append(told)
        return told


class Page:
    """One tab. ``events`` are all that were told so far: requests, errors, console messages."""

    def __init__(self, browser: Browser, profile: str, session: str, events: list[Event]) -> None:
        self._browser, self._profile, self._session = browser, profile, session
        self.events = events
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command about this tab and wait for its answer; raises RuntimeError where it is refused."""
        return self._browser.call(method, self._session, **parameters)

    def save_downloads(self, folder: Path) -> None:
        """Save what this tab downloads in a folder, and ask nobody."""
        self._browser.call(
            "Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder), browserContextId=self._profile
        )

    def open(self, path: Path, fragment: str = "") -> float:
        """Open a file and wait until it is loaded and was painted; the seconds that this took."""
        began = time.monotonic()
        self.call("Page.navigate", url=path.resolve().as_uri() + fragment)
        self.until("document.readyState === 'complete'")
        self.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
        return time.monotonic() - began

    def evaluate(self, expression: str) -> Any:
        """The value of an expression, or of what its promise gives; raises RuntimeError for what it throws."""
        told = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in told:
            raise RuntimeError(str(told["exceptionDetails"]))
        return told["result"].get("value")

    def until(self, expression: str, seconds: float = _SECONDS) -> None:
        """Wait until an expression is true; raises TimeoutError."""
        deadline = time.monotonic() + seconds
        while not self.evaluate(f"!!({expression})"):
            if time.monotonic() > deadline:
                raise TimeoutError(expression)
            time.sleep(0.02)

    def look(self, width: int, height: int = 900, *, dark: bool = False, mobile: bool = False) -> None:
        """Give the page a size and a colour scheme."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def press(self, key: str, *, shift: bool = False) -> None:
        """Press a key as a user does: ``Tab``, ``Enter``, a space, or a letter."""
        code = {"Tab": 9, "Enter": 13, " ": 32, "ArrowDown": 40}.get(key, ord(key[0].upper()))
        text = {"Enter": "\r", "Tab": "", "ArrowDown": ""}.get(key, key)
        same = {"key": key, "windowsVirtualKeyCode": code, "modifiers": 8 if shift else 0}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **same)
        self.call("Input.dispatchKeyEvent", type="keyUp", **same)

    def picture(self, path: Path, *, whole: bool = True) -> None:
        """Save a screenshot, of all of the page or of what is in view."""
        told = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(told["data"]))


@contextlib.contextmanager
def browser(program: str) -> Iterator[Browser]:
    """A browser without a tab and with a profile of its own, ended with all its processes."""
    theirs_in, send = os.pipe()
    receive, theirs_out = os.pipe()
    for each in (theirs_in, theirs_out):
        os.set_inheritable(each, True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        flags = (
            "--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --hide-scrollbars "
            "--disable-background-networking --disable-component-update --disable-sync --remote-debugging-pipe"
        )
        # The browser wants descriptors 3 and 4, and ours may lie there: a shell moves them through higher ones.
        shell = f'exec "$0" "$@" 3<&{theirs_in} 4>&{theirs_out}'
        if {theirs_in, theirs_out} & {3, 4}:
            shell = f'exec 8<&{theirs_in} 9>&{theirs_out}; exec "$0" "$@" 3<&8 4>&9 8<&- 9>&-'
        process = subprocess.Popen(
            ["bash", "-c", shell, program, *flags.split(), f"--user-data-dir={profile}"],
            pass_fds=(theirs_in, theirs_out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        os.close(theirs_in)
        os.close(theirs_out)
        running = Browser(send, receive)
        try:
            yield running
        finally:
            with contextlib.suppress(OSError, RuntimeError, TimeoutError):
                running.call("Browser.close")
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            os.close(send)
            os.close(receive)
