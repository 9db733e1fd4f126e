"""A headless Chromium, driven through its debugging pipe: Python's own modules are enough."""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

NAMES = ["chromium", "chromium-browser", "google-chrome"]


def find():
    """The path of a browser, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page. Ends with the block."""

    def __init__(self, patience=60):
        self.patience = patience
        self.profile = tempfile.mkdtemp()
        to_browser, self.commands = os.pipe()
        self.answers, from_browser = os.pipe()
        # The browser reads from 3 and writes to 4.
        words = [find(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 "--disable-extensions", "--remote-debugging-pipe", f"--user-data-dir={self.profile}", "about:blank"]
        script = f'exec "$@" 3<&{to_browser} 4>&{from_browser}'
        self.process = subprocess.Popen(["sh", "-c", script, "sh", *words], pass_fds=[to_browser, from_browser],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.text, self.number, self.session = b"", 0, None
        self.problems = []  # what the console says of errors
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Log", "Accessibility"]:
            self.call(f"{domain}.enable")
        self.call("Emulation.setScrollbarsHidden", hidden=True)  # a picture of a whole page would lose their width

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.commands)
        os.close(self.answers)
        shutil.rmtree(self.profile, ignore_errors=True)

    def receive(self):
        while b"\0" not in self.text:
            block = os.read(self.answers, 1 << 16)
            if not block:
                raise RuntimeError("the browser has ended")
            self.text += block
        message, _, self.text = self.text.partition(b"\0")
        message = json.loads(message)
        values = message.get("params", {})
        if message.get("method") == "Log.entryAdded" and values["entry"]["level"] == "error":
            self.problems.append(f"{values['entry']['text']} {values['entry'].get('url', '')}")
        if message.get("method") == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(values["exceptionDetails"]))
        if message.get("method") == "Runtime.consoleAPICalled" and values["type"] in ("error", "assert"):
            self.problems.append(json.dumps(values["args"]))
        return message

    def call(self, method, **values):
        self.number += 1
        number = self.number
        message = {"id": number, "method": method, "params": values}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def value(self, expression):
        """Of a JavaScript expression in the page."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait_for(self, what, expression):
        """Until the expression is true; it may fail while a page loads."""
        deadline = time.monotonic() + self.patience
        while True:
            try:
                value = self.value(expression)
            except RuntimeError as error:
                value = str(error) and None
            if value:
                return value
            if time.monotonic() > deadline:
                raise SystemExit(f"FAILED: {what}: {expression}\n{self.value('document.body.innerText')[:3000]}")
            time.sleep(0.05)

    def open(self, address):
        self.call("Page.navigate", url=address)
        self.wait_for("the page loads", f"document.readyState === 'complete' && location.href.startsWith({json.dumps(address)})")

    def resize(self, width, height, scale=1):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False)

    def color_scheme(self, scheme):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def press(self, key, code=0):
        for kind in ["keyDown", "keyUp"]:
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code,
                      text="\r" if key == "Enter" and kind == "keyDown" else "")

    def nodes(self):
        """The accessibility tree, as screen readers get it: (role, name) of each node."""
        tree = self.call("Accessibility.getFullAXTree")["nodes"]
        return [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in tree if not node.get("ignored")]

    def screenshot(self, file, whole=False):
        picture = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        with open(file, "wb") as out:
            out.write(base64.b64decode(picture))
