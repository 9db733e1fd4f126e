"""serve_browser.py PLIMSOLL FOLDER: opens the pages of `plimsoll serve` in a browser while FOLDER/a.plim is
trained on. Writes screenshots to $PLIMSOLL_SCREENSHOTS if it is set."""
import os
import pathlib
import re
import signal
import subprocess
import sys

import browser

PLIMSOLL, WORK = sys.argv[1], pathlib.Path(sys.argv[2])
PICTURES = os.environ.get("PLIMSOLL_SCREENSHOTS")
STATE = "document.getElementById('live').textContent"
TEXT = "document.querySelector('main').innerText"
VERSION = "document.querySelector('main').dataset.version"


def check(what, good, *values):
    if not good:
        sys.exit(f"FAILED: {what}: {' '.join(repr(value)[:3000] for value in values)}")


def start_server(port):
    server = subprocess.Popen([PLIMSOLL, "serve", str(WORK / "runs"), "--port", str(port)], stdout=subprocess.PIPE, text=True)
    for line in server.stdout:
        found = re.search(r":(\d+)/$", line.strip())
        if found:
            port = int(found.group(1))
        if "Ctrl-C" in line:
            return server, port
    sys.exit("FAILED: the server does not start")


def start_training(name):
    words = [PLIMSOLL, "train", str(WORK / "a.plim"), "--save-dir", str(WORK / "runs" / name), "--epochs", "100000",
             "--hidden", "16", "--batch-size", "256", "--threads", "1", "--model", "sage"]
    with open(WORK / f"{name}.log", "w") as log:
        return subprocess.Popen(words, stdout=log, stderr=log)


def picture(page, name):
    if PICTURES:
        page.screenshot(pathlib.Path(PICTURES) / f"{name}.png")


def check_sizes(page, name):
    """No page is wider than its window, from a phone to 4K, light and dark."""
    for width, height in [(360, 740), (1280, 900), (3840, 2160)]:
        for scheme in ["light", "dark"]:
            page.resize(width, height)
            page.color_scheme(scheme)
            page.value("window.scrollTo(0, 0)")
            widths = page.value("[document.documentElement.scrollWidth, window.innerWidth]")
            check("the page fits its window", widths[0] <= widths[1], name, width, widths)
            picture(page, f"{name}_{width}_{scheme}")
    page.color_scheme("light")
    page.resize(1280, 900)


def check_labels(page, name):
    nodes = page.nodes()
    roles = [role for role, _ in nodes]
    for role in ["main", "heading", "navigation", "status"]:
        check(f"a screen reader finds the {role}", role in roles, name, sorted(set(roles)))
    for role, label in nodes:
        if role in ("link", "button", "img", "image", "graphics-document", "table", "columnheader"):
            check(f"every {role} has a name", label.strip() or role == "table", name, nodes)
    check("the page has one first heading", page.value("document.querySelectorAll('h1').length") == 1, name)
    check("the page has a language", page.value("document.documentElement.lang") == "en", name)


def check_keyboard(page, address, link):
    page.open(address + "?keys")  # a page that nobody has clicked on
    page.wait_for("the list is live again", f"{STATE} === 'Live'")
    page.press("Tab", 9)
    check("the first key leads to the content", page.value("document.activeElement.className") == "skip")
    for _ in range(20):
        page.press("Tab", 9)
        if page.value("document.activeElement.getAttribute('href')") == link:
            break
    check("keys reach a run", page.value("document.activeElement.getAttribute('href')") == link)
    check("the focus is visible", page.value("document.activeElement.matches(':focus-visible')"))
    page.press("Enter", 13)
    page.wait_for("Enter opens it", f"location.pathname === '{link}' && document.readyState === 'complete'")


def check_updates(page):
    """Changes arrive, and the reader's focus and place stay."""
    page.wait_for("the page is live", f"{STATE} === 'Live'")
    page.value("window.stays = document.querySelector('main h1'); document.getElementById('main').focus(); 0")
    page.resize(1280, 300)
    page.value("window.scrollTo(0, 120)")
    place = page.value("window.scrollY")
    for _ in range(2):
        before = page.value(VERSION)
        page.wait_for("the page changes by itself", f"{VERSION} !== '{before}'")
    check("the focus stays", page.value("document.activeElement.id") == "main")
    check("the place stays", page.value("window.scrollY") == place, place, page.value("window.scrollY"))
    check("what is the same stays", page.value("window.stays.isConnected"))
    page.resize(1280, 900)


def main():
    if PICTURES:
        os.makedirs(PICTURES, exist_ok=True)
    (WORK / "runs").mkdir()
    server, port = start_server(0)
    address = f"http://127.0.0.1:{port}/"
    training = None
    try:
        with browser.Browser() as page:
            page.open(address)
            page.wait_for("the list is live", f"{STATE} === 'Live'")
            training = start_training("first")
            link = page.wait_for("a new run appears", "(document.querySelector('main a[href^=\"/run/\"]') || "
                                 "{getAttribute: () => ''}).getAttribute('href')")
            page.wait_for("it runs", f"/running/i.test({TEXT})")
            page.value(f"document.querySelector('main a[href=\"{link}\"]').focus()")
            before = page.value(VERSION)
            page.wait_for("the list changes", f"{VERSION} !== '{before}'")
            check("the focus stays on the run", page.value("document.activeElement.getAttribute('href')") == link)
            check_labels(page, "list")
            check_sizes(page, "list")
            check_keyboard(page, address, link)
            check_updates(page)
            check_labels(page, "running")
            check_sizes(page, "running")
            training.send_signal(signal.SIGINT)
            training.wait()
            page.wait_for("the page shows the end", f"/stopped/i.test({TEXT})")
            check("the page is still live", page.value(STATE) == "Live")
            check_labels(page, "stopped")
            check_sizes(page, "stopped")
            check("the console has no errors", not page.problems, page.problems)
            server.send_signal(signal.SIGTERM)
            check("the server ends well with an open page", server.wait() == 0, server.returncode)
            page.wait_for("the page says that it lost its server", f"{STATE} === 'Connection lost, trying again'")
            check("it still shows the run", page.value(f"/stopped/i.test({TEXT})"))
            page.value("window.scrollTo(0, 500)")
            check("the reader sees it anywhere on the page", page.value(
                "document.getElementById('live').getBoundingClientRect().top >= 0"))
            picture(page, "lost")
            server, _ = start_server(port)
            page.wait_for("the page finds its server again", f"{STATE} === 'Live'")
            (WORK / "runs" / "first").rename(WORK / "moved")
            page.wait_for("the page says that its run is gone", f"{STATE} === 'This run was removed'")
            check("it still shows what it was", page.value(f"/stopped/i.test({TEXT})"))
            thrown = [problem for problem in page.problems if "ERR_" not in problem]
            check("nothing else went wrong", not thrown, thrown)
    finally:
        for process in (training, server):
            if process and process.poll() is None:
                process.kill()
                process.wait()
    print("the pages work in", subprocess.run([browser.find(), "--version"], stdout=subprocess.PIPE, text=True,
                                              check=False).stdout.strip())


main()
