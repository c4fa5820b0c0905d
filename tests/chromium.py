"""Control of headless Chromium by the DevTools protocol over a pipe, without another package."""

from __future__ import annotations

import base64
import itertools
import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

#: Path of the browser; None if none is installed.
PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)

#: Moves two file descriptors to 3 and 4, where the browser looks for them, and becomes the browser.
_AT_3_AND_4 = """
import os, sys
reader, writer = (os.dup(os.dup(os.dup(int(fd)))) for fd in sys.argv[1:3])
os.dup2(reader, 3)
os.dup2(writer, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One page of a browser, controlled by file descriptors to write to and to read from."""

    def __init__(self, to_browser, from_browser):
        self._write, self._read = to_browser, from_browser
        self._numbers = itertools.count(1)
        self._rest = b""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    _session = None

    def call(self, method, **parameters):
        """Call a method of the protocol and return its result."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            reply = self._message()
            if reply.get("id") == number:
                assert "error" not in reply, reply
                return reply["result"]

    def _message(self):
        while b"\0" not in self._rest:
            block = os.read(self._read, 1 << 20)
            assert block, "the browser ended"
            self._rest += block
        text, _, self._rest = self._rest.partition(b"\0")
        return json.loads(text)

    def open(self, path: Path, width=1400, height=1000, scheme="light"):
        """Load a file in a window of this size and colour scheme."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Page.enable")
        self.call("Page.navigate", url=path.resolve().as_uri())
        self.wait("document.readyState === 'complete'")

    def evaluate(self, expression):
        """Return the value of a JavaScript expression in the page."""
        reply = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in reply, reply
        return reply["result"].get("value")

    def wait(self, expression, seconds=120.0):
        """Wait until a JavaScript expression is true."""
        end = time.monotonic() + seconds
        while not self.evaluate(expression):
            assert time.monotonic() < end, f"{expression} stays false"
            time.sleep(0.05)

    def screenshot(self, path: Path):
        """Write a picture of the whole page, as PNG."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))


@contextmanager
def browser(folder: Path):
    """Yield a browser whose profile is in a folder, and end it afterwards."""
    (read_in, write_in), (read_out, write_out) = os.pipe(), os.pipe()
    flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--remote-debugging-pipe",
        f"--user-data-dir={folder}",
    ]
    with (folder / "browser.log").open("wb") as log:
        command = [sys.executable, "-c", _AT_3_AND_4, str(read_in), str(write_out), PROGRAM, *flags]
        process = subprocess.Popen(command, pass_fds=(read_in, write_out), stdout=log, stderr=log)
    os.close(read_in)
    os.close(write_out)
    try:
        yield Browser(write_in, read_out)
    finally:
        process.terminate()
        process.wait(30)
        os.close(write_in)
        os.close(read_out)
