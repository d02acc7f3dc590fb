"""A browser without a screen, driven by its DevTools through a pair of pipes: no package is needed for that."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def find_browser():
    """The path of a Chromium, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One page in one browser. Messages are JSON, each ended by a zero byte."""

    def __init__(self, path, timeout=60.0):
        self.timeout, self.count, self.events, self.rest = timeout, 0, [], b""
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        theirs, self.out = os.pipe()
        self.into, ours = os.pipe()

        def take_pipes():
            # Chromium reads from 3 and writes to 4; through high numbers, in case one of them is 3 or 4 already
            os.dup2(theirs, 100), os.dup2(ours, 101)
            os.dup2(100, 3), os.dup2(101, 4)

        self.process = subprocess.Popen(
            [path, *FLAGS, f"--user-data-dir={self.folder.name}", "about:blank"],
            preexec_fn=take_pipes,
            close_fds=False,  # or Python would close 3 and 4 again
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs), os.close(ours)
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.out), os.close(self.into)
        self.folder.cleanup()

    def call(self, method, **params):
        """Ask for something and return the answer; what happens meanwhile is kept in `events`."""
        self.count += 1
        message = {"id": self.count, "method": method, "params": params}
        if self.session is not None:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self.count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def _read(self):
        until = time.monotonic() + self.timeout
        while b"\0" not in self.rest:
            if not select.select([self.into], [], [], max(0.0, until - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            part = os.read(self.into, 1 << 20)
            if not part:
                raise RuntimeError("the browser has gone")
            self.rest += part
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def open(self, url, width=1000, height=900, dark=False):
        """Load a page and wait until it is there."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=scheme)
        self.events.clear()
        self.call("Page.navigate", url=url)
        until = time.monotonic() + self.timeout
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            if time.monotonic() > until:
                raise TimeoutError(f"{url} does not load")
            self.events.append(self._read())

    def run(self, expression):
        """The value of some JavaScript, evaluated by the debugger (which the page's policy does not bind)."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def point(self, selector, dx=0.5, dy=0.5, kind="mouseMoved", **more):
        """Move the mouse over an element, to a place inside its box."""
        self.run(f"found = document.querySelector({json.dumps(selector)})")
        self.run("found.scrollIntoView({block: 'center', behavior: 'instant'})")
        self.run(
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )  # scrolling has been told
        box = self.run("(b => [b.x, b.y, b.width, b.height])(found.getBoundingClientRect())")
        place = {"x": box[0] + dx * box[2], "y": box[1] + dy * box[3]}
        self.call("Input.dispatchMouseEvent", type=kind, **place, **more)
        return place

    def click(self, selector):
        """Press and release the mouse in the middle of an element."""
        for kind in ("mousePressed", "mouseReleased"):
            self.point(selector, kind=kind, button="left", clickCount=1)

    def pdf(self, path):
        """Print the page into a file."""
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.printToPDF", printBackground=False)["data"]))

    def problems(self):
        """What the page complained of, and every request other than the one for the page itself."""
        self.run("1")  # whatever is under way has been said after this
        said = []
        for event in self.events:
            method, params = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown" or (
                method == "Log.entryAdded" and params["entry"]["level"] != "info"
            ):
                said.append(json.dumps(params))
            if method == "Runtime.consoleAPICalled":
                said.append(json.dumps(params["args"]))
            if method == "Network.requestWillBeSent" and params.get("type") != "Document":
                said.append(f"request for {params['request']['url']}")
        return said
