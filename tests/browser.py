"""Headless Chromium, driven over DevTools through a pipe: no package, no port."""

import base64
import fcntl
import itertools
import json
import os
import select
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--remote-debugging-pipe",
)
# Chromium reads commands from descriptor 3 and writes answers to 4
ON_3_AND_4 = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); "
    "os.execv(sys.argv[3], sys.argv[3:])"
)
PATIENCE = 30  # seconds


def found_chromium():
    """Return the path of Chromium; skip where there is none, except in CI."""
    found = next((path for path in map(shutil.which, NAMES) if path), None)
    if found is None:
        assert os.environ.get("CI") != "true", "CI has no Chromium: install it"
        pytest.skip("no Chromium here")
    return found


class Page:
    """A tab: what a test evaluates in it, does to it, and hears from its console."""

    def __init__(self, browser, session):
        self.browser, self.session, self.console = browser, session, []

    def call(self, method, **params):
        return self.browser.call(method, params, self)

    def open(self, url):
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=url)
        self.until("document.readyState === 'complete'")

    def front(self):
        """Show this tab, so that it paints, and return it."""
        self.call("Page.bringToFront")
        return self

    def evaluate(self, code):
        """Return the value of an expression, or of the promise that it is."""
        answer = self.call(
            "Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"]["exception"].get("description"))
        return answer["result"].get("value")

    def until(self, code, patience=PATIENCE):
        """Wait until an expression is true."""
        end = time.monotonic() + patience
        while not self.evaluate(code):
            assert time.monotonic() < end, f"never true: {code}"
            time.sleep(0.02)

    def mouse(self, kind, x, y, buttons=0):
        self.call(
            "Input.dispatchMouseEvent",
            type=kind,
            x=x,
            y=y,
            button="left" if buttons or kind == "mouseReleased" else "none",
            buttons=buttons,
            clickCount=1,
        )

    def click(self, x, y):
        self.drag((x, y))

    def drag(self, *places):
        """Press at the first place, move over the others, release."""
        self.mouse("mouseMoved", *places[0])
        self.mouse("mousePressed", *places[0], buttons=1)
        for place in places[1:]:
            self.mouse("mouseMoved", *place, buttons=1)
        self.mouse("mouseReleased", *places[-1])

    def press(self, key, text=""):
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                text=text if kind == "keyDown" else "",
            )

    def size(self, width, height, scheme="light"):
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", features=features)

    def picture(self, path):
        answer = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(answer["data"]))


class Browser:
    """A process of Chromium that is written to and read from."""

    def __init__(self, writer, reader):
        self._writer, self._reader = writer, reader
        self._numbers, self._rest, self._pages = itertools.count(1), b"", {}

    def page(self):
        """Open a tab."""
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        attached = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})
        page = self._pages[attached["sessionId"]] = Page(self, attached["sessionId"])
        for domain in ("Page", "Runtime", "Log"):
            page.call(f"{domain}.enable")
        page.call("Emulation.setFocusEmulationEnabled", enabled=True)
        return page

    def call(self, method, params, page=None):
        """Return the answer to a command; what pages say meanwhile goes to their consoles."""
        message = {"id": next(self._numbers), "method": method, "params": params}
        if page:
            message["sessionId"] = page.session
        os.write(self._writer, json.dumps(message).encode() + b"\0")
        while True:
            told = self._read()
            if told.get("id") == message["id"]:
                assert "error" not in told, f"{method}: {told.get('error')}"
                return told["result"]
            self._hear(told)

    def _hear(self, told):
        page, params = self._pages.get(told.get("sessionId")), told.get("params", {})
        if page is None:
            return
        if told["method"] == "Runtime.consoleAPICalled":
            page.console.append([arg.get("value") for arg in params["args"]])
        elif told["method"] == "Runtime.exceptionThrown":
            page.console.append(params["exceptionDetails"])
        elif told["method"] == "Log.entryAdded":
            page.console.append(params["entry"]["text"])

    def _read(self):
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._reader], [], [], PATIENCE)
            assert ready, "Chromium does not answer"
            part = os.read(self._reader, 1 << 20)
            assert part, "Chromium has ended"
            self._rest += part
        message, self._rest = self._rest.split(b"\0", 1)
        return json.loads(message)


@contextmanager
def started(folder):
    """Start Chromium with its profile in a folder, and end it."""
    (commands, writer), (reader, answers) = os.pipe(), os.pipe()
    theirs = [fcntl.fcntl(each, fcntl.F_DUPFD, 10) for each in (commands, answers)]
    command = [
        found_chromium(),
        *OPTIONS,
        f"--user-data-dir={folder / 'profile'}",
        "about:blank",
    ]
    process = subprocess.Popen(
        [sys.executable, "-c", ON_3_AND_4, *map(str, theirs), *command],
        pass_fds=theirs,
        stderr=subprocess.DEVNULL,
    )
    for each in (commands, answers, *theirs):
        os.close(each)
    browser = Browser(writer, reader)
    try:
        yield browser
        browser.call("Browser.close", {})
    finally:
        os.close(writer)
        process.terminate()
        process.wait(30)
        os.close(reader)
