"""One headless Chromium for all tests, driven through the DevTools protocol over two pipes."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


def found() -> str:
    browser = next((path for name in NAMES if (path := shutil.which(name))), None)
    if browser is None:
        if os.environ.get("CI") == "true":
            pytest.fail("no Chromium on PATH")
        pytest.skip("no Chromium on PATH")
    return browser


class Tab:
    """A page in the browser, and what it did: errors, and requests beyond its own file."""

    def __init__(self, folder: Path) -> None:
        commands, self._write = os.pipe()
        self._read, answers = os.pipe()
        # Chromium reads commands from descriptor 3 and answers on 4.
        commands, answers = (fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (commands, answers))

        def place() -> None:
            os.dup2(commands, 3)
            os.dup2(answers, 4)

        self.process = subprocess.Popen(
            [
                found(), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", *QUIET,
                "--remote-debugging-pipe", f"--user-data-dir={folder / 'profile'}", "about:blank",
            ],
            stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, preexec_fn=place,
            pass_fds=(3, 4),
        )  # fmt: skip
        os.close(commands)
        os.close(answers)
        self._buffer, self._number, self._session = b"", 0, ""
        self.errors: list[str] = []
        self.requests: list[str] = []
        targets = self.call("Target.getTargets")["targetInfos"]
        target = next(one["targetId"] for one in targets if one["type"] == "page")
        answer = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = answer["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(20)
        os.close(self._write)
        os.close(self._read)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                result: dict[str, Any] = answer["result"]
                return result

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            part = os.read(self._read, 1 << 20)
            assert part, "Chromium ended"
            self._buffer += part
        text, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, method: str, params: dict[str, Any]) -> None:
        if method == "Runtime.exceptionThrown":
            self.errors.append(str(params["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
            self.errors.append(str(params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.errors.append(str(params["entry"]))
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"][:200])

    def run(self, script: str) -> Any:
        """Value of a JavaScript expression; of a promise, what it comes to."""
        answer = self.call(
            "Runtime.evaluate",
            expression=script,
            returnByValue=True,
            awaitPromise=True,
            userGesture=True,
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def look(self, width: int = 1400, height: int = 900, scheme: str = "light") -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", features=[feature])

    def open(self, page: Path, **look: Any) -> None:
        """Opens a page and waits until all its charts are drawn."""
        self.look(**look)
        self.errors, self.requests = [], []
        self.call("Page.navigate", url=page.resolve().as_uri())
        self.run(
            """new Promise((done) => {
                const look = () => (document.body && document.body.dataset.ready)
                    ? done(true) : setTimeout(look, 20);
                look();
            })"""
        )

    def click(self, selector: str) -> None:
        self.run(f"document.querySelector({json.dumps(selector)}).click()")

    def picture(self, file: Path, top: int = 0, height: int = 900) -> None:
        width = self.run("innerWidth")
        clip = {"x": 0, "y": top, "width": width, "height": height, "scale": 1}
        answer = self.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(answer["data"]))
