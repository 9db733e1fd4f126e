"""The plimsoll program, called from Python."""
from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
from typing import Any, Dict, List, Sequence, Union

from ._library import _CLASSES, _KINDS, PlimsollError, UsageError
from .store import Store

_EXIT_KINDS = {**_KINDS, 9: "stopped", 10: "diverged", 125: "refused"}


def find_program() -> str:
    """The path of the program: named by $PLIMSOLL_PROGRAM, in this package, in the source tree, or on $PATH."""
    named = os.environ.get("PLIMSOLL_PROGRAM")
    if named:
        return named
    package = pathlib.Path(__file__).resolve().parent
    for place in (package / "bin" / "plimsoll", package.parent.parent / "build" / "release" / "plimsoll"):
        if place.exists():
            return str(place)
    found = shutil.which("plimsoll")
    if not found:
        raise PlimsollError("there is no program named plimsoll on the PATH; install it, or name it in PLIMSOLL_PROGRAM", "io")
    return found


def run_program(arguments: Sequence[str], show: bool = False) -> str:
    """Runs the program and returns what it prints. With ``show``, its output goes to this process's own streams."""
    command = [find_program(), *map(str, arguments)]
    done = subprocess.run(command, stdout=None if show else subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode == 0:
        return done.stdout or ""
    kind = _EXIT_KINDS.get(done.returncode, "internal")
    message = done.stderr.strip() or f"{' '.join(command)} ended with code {done.returncode}"
    raise _CLASSES.get(kind, PlimsollError)(message, kind)


class Run:
    """The results of a training."""

    def __init__(self, save_dir: Union[str, "os.PathLike[str]"]) -> None:
        #: The folder with ``best.pth``, ``last.pth`` and ``results.json``.
        self.save_dir = pathlib.Path(save_dir)
        #: results.json; docs/training.md lists its keys.
        self.results: Dict[str, Any] = json.loads((self.save_dir / "results.json").read_text())

    @property
    def checkpoint(self) -> pathlib.Path:
        """The checkpoint of the best epoch, for :func:`plimsoll.load`; the last one if no epoch was evaluated."""
        best = self.save_dir / "best.pth"
        return best if best.exists() else self.save_dir / "last.pth"

    @property
    def history(self) -> Any:
        """Loss, accuracies and seconds of every epoch: a pandas DataFrame, or a list of dicts without pandas."""
        series = self.results["series"]
        try:
            import pandas
        except ImportError:
            return series
        return pandas.DataFrame(series)

    def __repr__(self) -> str:
        shown = [f"{key} {self.results[key]:.4f}" for key in ("best_valid_acc", "test_acc")
                 if isinstance(self.results.get(key), float)]
        return f"Run({str(self.save_dir)!r}: {self.results.get('status')}, {len(self.results['series'])} epochs" + \
            "".join(", " + text for text in shown) + ")"


def _option(name: str, value: Any) -> List[str]:
    flag = "--" + name.replace("_", "-")
    if value is None or value is False:
        return []
    if value is True:
        return [flag]
    if isinstance(value, (list, tuple)):
        return [flag, ",".join("all" if part == -1 else str(part) for part in value)]
    return [flag, str(value)]


def fit(store: Union[Store, str, "os.PathLike[str]"], save_dir: Union[str, "os.PathLike[str]"], *, show: bool = False,
        **options: Any) -> Run:
    """Trains a native model: runs ``plimsoll train`` and returns its results.

    ``options`` are those of ``plimsoll train --help``, with underscores: ``model="sage"``, ``fanout=[15, 10]``,
    ``hidden=256``, ``epochs=20``, ``memory="16G"``, ``batch_norm=True``. ``show=True`` shows its progress.

    >>> run = fit("papers.plim", "models", model="gcn", fanout=[15, 10], epochs=20)
    >>> run.results["test_acc"], run.history, plimsoll.load(run.checkpoint)
    """
    for name in ("save_dir", "resume"):
        if name in options:
            raise UsageError(f"{name}= is not an option of fit; use `plimsoll train --resume` for that", "usage")
    path = store.path if isinstance(store, Store) else store
    arguments = ["train", os.fspath(path), "--save-dir", os.fspath(save_dir)]
    for name, value in options.items():
        arguments += _option(name, value)
    if not show:
        arguments.append("--quiet")
    sys.stdout.flush()
    run_program(arguments, show)
    return Run(save_dir)
