"""serve_ssh.py PLIMSOLL FOLDER SSHD: reads the pages of `plimsoll serve` through `ssh -L`. FOLDER has the
keys server_key and user_key."""
import getpass
import pathlib
import re
import socket
import subprocess
import sys
import time

from serve_client import PATIENCE, Server, check, write_run

PLIMSOLL, WORK, SSHD = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]


class Near(Server):
    """A server as the reader's machine sees it: a port there."""

    def __init__(self, port):
        self.port = port


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def answers(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


def start(words, port, log):
    """A program that listens on a port, once it does; nothing if another program took the port first."""
    with open(WORK / log, "a") as output:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None and not answers(port):
        check(f"{words[0]} listens", time.monotonic() < deadline, (WORK / log).read_text())
        time.sleep(0.05)
    return process if process.poll() is None else None


def start_somewhere(words_for, log):
    for _ in range(5):
        port = free_port()
        process = start(words_for(port), port, log)
        if process:
            return process, port
    sys.exit(f"FAILED: {log}: {(WORK / log).read_text()[-3000:]}")


def sshd_words(port):
    settings = WORK / "sshd_config"
    settings.write_text(f"Port {port}\nListenAddress 127.0.0.1\nHostKey {WORK}/server_key\n"
                        f"AuthorizedKeysFile {WORK}/user_key.pub\nStrictModes no\nUsePAM no\nPidFile none\n"
                        "PasswordAuthentication no\nAllowTcpForwarding local\n")
    return [SSHD, "-D", "-e", "-f", str(settings)]


def tunnel_words(ssh_port, port, there):
    return ["ssh", "-F", "none", "-i", str(WORK / "user_key"), "-p", str(ssh_port), "-o", "StrictHostKeyChecking=no",
            "-o", f"UserKnownHostsFile={WORK}/known", "-o", "ExitOnForwardFailure=yes", "-o", "BatchMode=yes",
            "-N", "-L", f"127.0.0.1:{port}:127.0.0.1:{there}", f"{getpass.getuser()}@127.0.0.1"]


def end(process):
    if process and process.poll() is None:
        process.terminate()
        process.wait(PATIENCE)


def check_pages(server, near):
    status, fields, page = near.get("/")
    check("the list comes through", status == 200 and ">one<" in page, status, page)
    check("a foreign host is refused behind the tunnel, too", near.get("/", host="evil.example")[0] == 421)
    link = re.search(r'href="(/run/[0-9a-f]{16})"', page).group(1)
    pages = [near.events(), *[near.events(link + "/events") for _ in range(20)]]
    for one in pages:
        check("its events come through", one.status == 200 and one.next()[0] == "version", one.status)
    check("the page is the same", near.get(link)[2] == server.get(link)[2])
    changed = time.monotonic()
    write_run(WORK / "runs" / "one", epochs=4)
    for one in pages:
        one.next()
    print(f"21 pages told through ssh -L after {time.monotonic() - changed:.2f} s")
    check("the change is there", near.get(link + "/body")[1]["x-version"] != fields["x-version"])
    check("the server ends with pages open behind the tunnel", server.end()[0] == 0)


def main():
    write_run(WORK / "runs" / "one")
    sshd = tunnel = None
    try:
        sshd, ssh_port = start_somewhere(sshd_words, "sshd.log")
        with Server(WORK / "runs") as server:
            check("it prints what to run", any(f"ssh -N -L {server.port}:127.0.0.1:{server.port} " in line for line in server.lines),
                  server.lines)
            tunnel, port = start_somewhere(lambda port: tunnel_words(ssh_port, port, server.port), "ssh.log")
            near = Near(port)
            check_pages(server, near)
        # The tunnel stays, so the next server on this port is found again.
        with Server(WORK / "runs", "--port", str(server.port)):
            check("the tunnel leads to the next server", near.get("/")[0] == 200)
    finally:
        end(tunnel)
        end(sshd)


main()
