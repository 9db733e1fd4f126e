#!/usr/bin/env python3
"""make_wheel.py [BUILD [OUT]]: makes a wheel of the Python package with libplimsoll.so, the program, the
libraries that they need, and the sources of the training library (plimsoll torch build), from a build
(build/release), in OUT (dist). Needs nothing but Python, cmake and ldd.

The wheel does not depend on the version of Python or torch. glibc, libstdc++ and libgcc come from the system:
its tag names the glibc of this machine, and a system with that glibc or a newer one has a libstdc++ that is
new enough, too."""
import base64
import hashlib
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import zipfile

root = pathlib.Path(__file__).resolve().parent.parent
SYSTEM = re.compile(r"^(linux-vdso|ld-linux|libc|libm|libdl|libpthread|librt|libstdc\+\+|libgcc_s)[.-]")
SCRIPT = """#!python
import importlib.util, os, sys
os.environ.setdefault("PLIMSOLL_PYTHON", sys.executable)
program = os.path.join(os.path.dirname(importlib.util.find_spec("plimsoll").origin), "bin", "plimsoll")
os.execv(program, ["plimsoll"] + sys.argv[1:])
"""


def needed(binary):
    """The libraries that a binary needs, as paths, less the system's."""
    text = subprocess.run(["ldd", binary], check=True, stdout=subprocess.PIPE, text=True).stdout
    found = dict(re.findall(r"^\s*(\S+) => (/\S+)", text, re.M))
    return {name: path for name, path in found.items() if not SYSTEM.match(name)}


def stage(build, folder):
    """The package as it will be installed; returns its folder."""
    shutil.rmtree(folder, ignore_errors=True)
    installed = folder / "installed"
    subprocess.run(["cmake", "--install", build, "--prefix", installed], check=True, stdout=subprocess.DEVNULL)
    package = folder / "plimsoll"
    shutil.copytree(root / "python" / "plimsoll", package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "bin").mkdir()
    (package / "lib").mkdir()
    shutil.copy2(installed / "bin" / "plimsoll", package / "bin" / "plimsoll")
    shutil.copy2(installed / "lib" / "libplimsoll.so.1", package / "lib" / "libplimsoll.so.1")
    shutil.copytree(installed / "share" / "plimsoll", package / "share" / "plimsoll")  # for plimsoll torch build
    libraries = {**needed(build / "plimsoll"), **needed(build / "libplimsoll.so.1")}
    for name, path in libraries.items():
        shutil.copy(path, package / "lib" / name)
    return package, sorted(libraries)


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else root / "build" / "release").resolve()
    out = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else root / "dist")
    version = re.search(r"project\(plimsoll VERSION ([0-9.]+)", (root / "CMakeLists.txt").read_text()).group(1)
    package, libraries = stage(build, build / "wheel")
    glibc = platform.libc_ver()[1] or os.confstr("CS_GNU_LIBC_VERSION").split()[1]
    tag = f"py3-none-manylinux_{glibc.replace('.', '_')}_{platform.machine()}"
    info = f"plimsoll-{version}.dist-info"
    files = {f"plimsoll/{path.relative_to(package).as_posix()}": path for path in package.rglob("*") if path.is_file()}
    texts = {
        f"plimsoll-{version}.data/scripts/plimsoll": SCRIPT,
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: make_wheel.py\nRoot-Is-Purelib: false\nTag: {tag}\n",
        f"{info}/METADATA": (
            f"Metadata-Version: 2.1\nName: plimsoll\nVersion: {version}\n"
            "Summary: Train on graphs that are larger than memory\nLicense: Apache-2.0\nRequires-Python: >=3.9\n"
            "Provides-Extra: loader\nRequires-Dist: numpy>=1.20; extra == 'loader'\n"),
    }
    out.mkdir(parents=True, exist_ok=True)
    target = out / f"plimsoll-{version}-{tag}.whl"
    record = []
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as wheel:
        def add(name, data, mode):
            entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))  # the same bytes every time
            entry.external_attr, entry.compress_type = (0o100000 | mode) << 16, zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(data)}")
        for name, path in sorted(files.items()):
            add(name, path.read_bytes(), 0o755 if "/bin/" in name else 0o644)
        for name, text in texts.items():
            add(name, text.encode(), 0o755 if "/scripts/" in name else 0o644)
        add(f"{info}/RECORD", ("\n".join(record) + f"\n{info}/RECORD,,\n").encode(), 0o644)
    print(f"{target}: {target.stat().st_size / 2**20:.1f} MiB, needs glibc {glibc}; brings {', '.join(libraries)}")


if __name__ == "__main__":
    main()
