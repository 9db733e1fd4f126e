"""serve_client.py PLIMSOLL FOLDER: reads the pages of `plimsoll serve` as browsers, programs and attackers
do."""
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time

PLIMSOLL, WORK = sys.argv[1], pathlib.Path(sys.argv[2])
PATIENCE = 60  # seconds; for machines that are busy
MOST_RESIDENT = 25 << 20


def check(what, good, *values):
    if not good:
        sys.exit(f"FAILED: {what}: {' '.join(repr(value)[:2000] for value in values)}")


def results(epochs=3, dataset="tiny"):
    """results.json of a training, as docs/reference/training.md lists its keys."""
    series = [{"epoch": i + 1, "loss": 2.0 / (i + 1), "valid_acc": 0.1 * i, "test_acc": 0.1 * i, "seconds": 1.0, "lr": 0.01}
              for i in range(epochs)]
    recipe = {"model": "sage", "fanout": [15, 10], "hidden": 64, "heads": 8, "dropout": 0.5, "batch_norm": False,
              "norm": "full", "sampler": "uniform", "batch_size": 512, "epochs": 30, "lr": 0.01, "weight_decay": 0.0,
              "schedule": "constant", "label_smoothing": 0.0, "patience": 0, "evaluation": "sampled", "log_steps": 1,
              "seed": 0}
    return {"dataset": dataset, "model": "sage", "hidden_dim": 64, "num_params": 1000, "best_epoch": epochs, "train_acc": 0.9,
            "valid_acc": 0.5, "test_acc": 0.4, "training_time": 3.0, "epochs": 10, "lr": 0.01, "dropout": 0.5,
            "weight_decay": 0.0, "batch_size": 512, "num_neighbors": [10, 10], "timestamp": "2026-11-15T08:15:00+00:00",
            "seed": 1, "status": "finished", "epochs_run": epochs, "device": "cpu", "batches_run": 9,
            "batches_per_second": 3.0, "stage_milliseconds": {}, "peak_memory_bytes": 1 << 28,
            "planned_memory_bytes": 1 << 28, "unattributed_bytes": 0, "planned_epoch_seconds": None, "arrangement": {},
            "disk": {}, "store_checksum": "0", "ranks": [], "recipe": recipe, "series": series}


def write_run(folder, **values):
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / "results.json.partial"
    partial.write_text(json.dumps(results(**values)))
    partial.rename(folder / "results.json")


class Server:
    """A server on a free port; ends with the block."""

    def __init__(self, folder, *options):
        self.process = subprocess.Popen([PLIMSOLL, "serve", str(folder), *options], stdout=subprocess.PIPE, text=True)
        self.lines = []
        for line in self.process.stdout:
            self.lines.append(line)
            if "Ctrl-C" in line:
                break
        found = re.search(r"http://(\S+):(\d+)/(?:\?token=(\w+))?", "".join(self.lines))
        check("it prints its address", found, self.lines)
        self.host, self.port, self.token = found.group(1), int(found.group(2)), found.group(3)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def end(self, number=signal.SIGTERM):
        start = time.monotonic()
        self.process.send_signal(number)
        code = self.process.wait(PATIENCE)
        return code, time.monotonic() - start

    def resident(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) << 10

    def connect(self):
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return socket.create_connection(("127.0.0.1", self.port), PATIENCE)
            except OSError:
                if time.monotonic() > deadline:
                    raise

    def raw(self, data):
        """What the server answers to these bytes, until it closes the connection."""
        with self.connect() as connection:
            connection.sendall(data)
            answer = b""
            while True:
                try:
                    block = connection.recv(1 << 16)
                except ConnectionResetError:
                    return answer
                if not block:
                    return answer
                answer += block

    def get(self, path, method="GET", host=None, **headers):
        host = f"127.0.0.1:{self.port}" if host is None else host
        lines = [f"{method} {path} HTTP/1.1", f"Host: {host}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        answer = self.raw(("\r\n".join(lines) + "\r\n\r\n").encode())
        head, _, body = answer.partition(b"\r\n\r\n")
        first, *fields = head.decode("latin-1").split("\r\n")
        fields = dict(field.split(": ", 1) for field in fields)
        return int(first.split()[1]) if first else 0, {name.lower(): value for name, value in fields.items()}, body.decode()

    def events(self, path="/events"):
        return Events(self, path)


class Events:
    """An open page: the events that it gets."""

    def __init__(self, server, path):
        self.connection = server.connect()
        self.connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n".encode())
        self.text = b""
        self.status = int(self.until(b"\r\n\r\n").split()[1])

    def until(self, end):
        deadline = time.monotonic() + PATIENCE
        while end not in self.text:
            check("an event arrives", time.monotonic() < deadline, self.text)
            block = self.connection.recv(4096)
            check("the page stays open", block, self.text)
            self.text += block
        head, _, self.text = self.text.partition(end)
        return head.decode()

    def next(self):
        while True:
            event = dict(line.split(": ", 1) for line in self.until(b"\n\n").split("\n") if not line.startswith(":"))
            if "event" in event:
                return event["event"], event.get("data", "")

    def close(self):
        self.connection.close()


def test_pages(folder):
    with Server(folder) as server:
        check("it counts the runs", "3 runs under" in server.lines[0], server.lines)
        check("it prints how to reach it", any("ssh -N -L" in line for line in server.lines), server.lines)
        status, fields, page = server.get("/")
        check("the list is there", status == 200 and "text/html" in fields["content-type"], status, fields)
        check("the page is complete without a script", "one" in page and "<main" in page and "</html>" in page, page)
        check("names are escaped", "<img" not in page and "&lt;img" in page, page)
        check("nothing comes from outside", not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", page), page)
        check("nothing is inline", "<style" not in page and " style=" not in page and "<script>" not in page, page)
        links = sorted(set(re.findall(r'href="(/run/[0-9a-f]{16})"', page)))
        check("every run has a link", len(links) == 3, links)
        for link in links:
            status, _, page = server.get(link)
            check("a run has a page", status == 200 and "<h1" in page, link, status, page)
            check("a run has a body", server.get(link + "/body")[0] == 200, link)
        for path in ["/", links[0], "/page.js", "/metrics", "/missing"]:
            _, fields, _ = server.get(path)
            policy = fields.get("content-security-policy", "")
            check("there is a strict policy", policy.startswith("default-src 'none'") and "unsafe" not in policy
                  and "frame-ancestors 'none'" in policy, path, policy)
            check("other protections are there", fields.get("x-content-type-options") == "nosniff"
                  and fields.get("referrer-policy") == "no-referrer", path, fields)
        status, fields, body = server.get("/", method="HEAD")
        check("HEAD has no body", status == 200 and body == "" and int(fields["content-length"]) > 0, status, fields, body)
        status, _, text = server.get("/metrics")
        check("Prometheus can read it", status == 200 and 'plimsoll_runs{kind="training",state="finished"} 3' in text
              and re.search(r'^plimsoll_run_epoch\{run="one"\} 3$', text, re.M), text)
        check("a second server says that the port is taken", b"choose another --port" in subprocess.run(
            [PLIMSOLL, "serve", str(folder), "--port", str(server.port)], stderr=subprocess.PIPE, check=False).stderr)
        check("SIGTERM ends it well", server.end()[0] == 0)
    with Server(folder) as server:
        check("SIGINT ends it well", server.end(signal.SIGINT)[0] == 0)


def test_refusals(folder):
    with Server(folder) as server:
        for host in ["evil.example", f"localhost.evil.example:{server.port}", "", "localhost, evil.example", "10.0.0.1"]:
            check("a foreign host is refused", server.get("/", host=host)[0] == 421, host)
        for host in ["localhost", "localhost:9999", "[::1]:8080", "127.0.0.1"]:
            check("a tunnel's host is not", server.get("/", host=host)[0] == 200, host)
        twice = server.raw(b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n")
        check("two hosts are refused", b" 421 " in twice, twice)
        check("no host is refused", b" 421 " in server.raw(b"GET / HTTP/1.1\r\n\r\n"))
        for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"]:
            status, fields, _ = server.get("/", method=method, Content_Length="0")
            check("only reading is allowed", status == 405 and fields.get("allow") == "GET, HEAD", method, status, fields)
        for path in ["/../../etc/passwd", "/run/../../../../etc/passwd", "/run/..%2f..%2fetc%2fpasswd", "/%2e%2e/secret",
                     "/run/one", "/run/one/results.json", "//etc/passwd", "/run/0000000000000000", "/results.json",
                     "/run/%00", "/secret.txt", "http://localhost/etc/passwd", "/run/" + "a" * 4000]:
            status, _, body = server.get(path)
            check("no path leads to a file", status in (400, 404) and "root:" not in body, path, status, body)
        for junk in [b"\0\0\0\0\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\xff" * 9000 + b"\r\n\r\n",
                     b"GET / HTTP/1.1\r\nHost: localhost\r\nRange: bytes=" + b"0-0," * 2000 + b"0-0\r\n\r\n",
                     b"GET /" + b"a" * 20000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
                     b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 20000 + b"\r\n\r\n"]:
            server.raw(junk)
            check("junk ends nothing", server.process.poll() is None and server.get("/")[0] == 200, junk[:60])
        status, _, body = server.get("/")
        check("a link to elsewhere is not shown", "linked" not in body, body)


def test_token(folder):
    with Server(folder, "--token") as server:
        check("the address has a token", server.token and len(server.token) == 32, server.lines)
        for path in ["/", "/events", "/metrics", "/?token=", "/?token=" + "0" * 32, "/page.js"]:
            check("without the token nothing is shown", server.get(path)[0] == 401, path)
        status, fields, page = server.get(f"/?token={server.token}")
        cookie = fields.get("set-cookie", "")
        check("the token becomes a cookie", status == 200 and "HttpOnly" in cookie and "SameSite=Strict" in cookie, fields)
        check("and leaves the address", 'content="0;url=/"' in page and server.token not in page, page)
        check("the cookie lets in", server.get("/", Cookie="a=b; " + cookie.split(";")[0])[0] == 200)
        check("so does a header", server.get("/metrics", Authorization=f"Bearer {server.token}")[0] == 200)
        check("another cookie does not", server.get("/", Cookie=cookie.split("=")[0] + "=x")[0] == 401)
    with Server(folder, "--host", "0.0.0.0") as server:
        check("outside of loopback there is always a token", server.token and server.get("/")[0] == 401, server.lines)
        check("a foreign host is refused there, too", server.get(f"/?token={server.token}", host="evil.example")[0] == 421)


def test_events(folder):
    with Server(folder) as server:
        link = re.search(r'href="(/run/[0-9a-f]{16})"[^>]*>(?:<[^>]*>)*one<', server.get("/")[2]).group(1)
        status, fields, _ = server.get(link)
        listing, one = server.events(), server.events(link + "/events")
        first = one.next()
        check("the first event has the version of the page", first == ("version", fields["x-version"]), first, fields)
        before = listing.next()
        write_run(folder / "one", epochs=4)
        check("a change is an event", one.next() not in (first, ("gone", "")))
        check("also for the list", listing.next() != before)
        check("the body is new", server.get(link + "/body")[1]["x-version"] != first[1])
        write_run(folder / "new", epochs=1)
        listing.next()
        check("a new run is in the list", ">new<" in server.get("/body")[2])
        for file in (folder / "one").iterdir():
            file.unlink()
        (folder / "one").rmdir()
        while one.next()[0] != "gone":
            pass
        check("a removed run has no page", server.get(link)[0] == 404)
        code, _ = server.end()
        check("it ends with open pages", code == 0, code)
    write_run(folder / "one")


def test_many(folder):
    for i in range(1000):
        write_run(folder / f"group_{i % 10}" / f"run_{i}", epochs=20, dataset=f"data_{i}")
    start = time.monotonic()
    with Server(folder) as server:
        page = server.get("/")[2]
        shown = time.monotonic() - start
        check("a thousand runs are shown", page.count('href="/run/') >= 1000, page.count('href="/run/'))
        check("and measured", server.get("/metrics")[2].count("\nplimsoll_run_epoch{") >= 1000)
        links = re.findall(r'href="(/run/[0-9a-f]{16})"', page)
        pages = [server.events("/events" if i % 2 else links[i] + "/events") for i in range(200)]
        check("200 pages are held", all(page.status == 200 for page in pages))
        for page in pages:
            page.next()
        for link in links[:50]:
            server.get(link)
        changed = time.monotonic()
        write_run(folder / "group_1" / "run_1", epochs=21)
        for page in pages[1::2]:
            page.next()
        told = time.monotonic() - changed
        # Readers that ask for a long page and never read it.
        slow = []
        for _ in range(20):
            connection = server.connect()
            connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            slow.append(connection)
        check("slow readers do not block others", server.get("/")[0] == 200)
        check("nor do those who ask for nothing", [server.connect() for _ in range(5)] and server.get("/")[0] == 200)
        resident = server.resident()
        check("memory stays small", resident <= MOST_RESIDENT, f"{resident / 2**20:.1f} MiB")
        code, seconds = server.end()
        check("it ends at once", code == 0, code)
    print(f"1,000 runs shown after {shown:.2f} s, 100 pages told after {told:.2f} s, 200 pages open in "
          f"{resident / 2**20:.1f} MiB, ended after {seconds:.2f} s")


def test_too_many(folder):
    with Server(folder) as server:
        pages = []
        for _ in range(300):
            page = server.events()
            pages.append(page)
            if page.status != 200:
                break
        check("pages beyond the most are refused", 200 < len(pages) < 300 and pages[-1].status == 503, len(pages))
        check("the list is still shown", server.get("/")[0] == 200)
        for page in pages:
            page.close()
        deadline = time.monotonic() + PATIENCE
        while server.events().status != 200:
            check("closed pages make room for others", time.monotonic() < deadline)
            time.sleep(0.1)
        check("it ends at once", server.end()[0] == 0)


def main():
    folder = WORK / "runs"
    for name in ["one", "two", "<img src=x>"]:
        write_run(folder / name)
    outside = WORK / "outside"
    write_run(outside / "linked")
    (WORK / "secret.txt").write_text("root: secret")
    (folder / "linked").symlink_to(outside / "linked")
    (folder / "linked_file").mkdir()
    (folder / "linked_file" / "results.json").symlink_to(outside / "linked" / "results.json")
    test_pages(folder)
    test_refusals(folder)
    test_token(folder)
    test_events(folder)
    test_too_many(folder)
    test_many(folder)


if __name__ == "__main__":
    main()
