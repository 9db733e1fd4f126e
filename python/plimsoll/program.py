"""The plimsoll program, called from Python."""
from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
from typing import Any, Dict, List, Sequence, Union

from ._library import _CLASSES, _KINDS, PlimsollError, UsageError
from .store import Store

_EXIT_KINDS = {**_KINDS, 9: "stopped", 10: "diverged", 125: "refused"}


def find_program() -> str:
    """The path of the program: named by $PLIMSOLL_PROGRAM, in this package, in the source tree, or on
    $PATH."""
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
    """Runs the program and returns what it prints. With ``show``, its output goes to this process's own
    streams."""
    command = [find_program(), *map(str, arguments)]
    done = subprocess.run(command, stdout=None if show else subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode == 0:
        return done.stdout or ""
    kind = _EXIT_KINDS.get(done.returncode, "internal")
    message = done.stderr.strip() or f"{' '.join(command)} ended with code {done.returncode}"
    raise _CLASSES.get(kind, PlimsollError)(message, kind)


def _frame(series: List[Dict[str, Any]]) -> Any:
    """A pandas DataFrame, or the list itself without pandas."""
    try:
        import pandas
    except ImportError:
        return series
    return pandas.DataFrame(series)


class Run:
    """The results of a training."""

    def __init__(self, save_dir: Union[str, "os.PathLike[str]"]) -> None:
        #: The folder with ``best.pth``, ``last.pth`` and ``results.json``.
        self.save_dir = pathlib.Path(save_dir)
        #: results.json; docs/reference/training.md lists its keys.
        self.results: Dict[str, Any] = json.loads((self.save_dir / "results.json").read_text())

    @property
    def checkpoint(self) -> pathlib.Path:
        """The checkpoint of the best epoch, for :func:`plimsoll.load`; the last one if no epoch was
        evaluated."""
        best = self.save_dir / "best.pth"
        return best if best.exists() else self.save_dir / "last.pth"

    @property
    def history(self) -> Any:
        """Loss, accuracies and seconds of every epoch: a pandas DataFrame, or a list of dicts without
        pandas."""
        return _frame(self.results["series"])

    def __repr__(self) -> str:
        shown = [f"{key} {self.results[key]:.4f}" for key in ("valid_acc", "test_acc")
                 if isinstance(self.results.get(key), float)]
        return f"Run({str(self.save_dir)!r}: {self.results.get('status')}, {len(self.results['series'])} epochs" + \
            "".join(", " + text for text in shown) + ")"


def seed_folders(save_dir: pathlib.Path) -> List[pathlib.Path]:
    """The folders seed_N that ``plimsoll train --seeds`` made in a folder, by N."""
    found = [(int(folder.name[5:]), folder) for folder in save_dir.glob("seed_*")
             if re.fullmatch("[0-9]+", folder.name[5:]) and (folder / "results.json").exists()]
    return [folder for _, folder in sorted(found)]


class Runs(Sequence[Run]):
    """The trainings of several seeds (``fit(..., seeds=5)``): a sequence with a :class:`Run` for each
    seed."""

    def __init__(self, save_dir: Union[str, "os.PathLike[str]"]) -> None:
        #: The folder with a folder ``seed_N`` for each seed.
        self.save_dir = pathlib.Path(save_dir)
        self._runs = [Run(folder) for folder in seed_folders(self.save_dir)]

    def __len__(self) -> int:
        return len(self._runs)

    def __getitem__(self, index: Any) -> Any:
        return self._runs[index]

    @property
    def results(self) -> List[Dict[str, Any]]:
        """The results.json of every seed."""
        return [run.results for run in self._runs]

    @property
    def best(self) -> Run:
        """The run with the best validation accuracy; of equal ones the first."""
        return max(self._runs, key=lambda run: run.results.get("valid_acc") or 0.0)

    @property
    def checkpoint(self) -> pathlib.Path:
        """The checkpoint of :attr:`best`, for :func:`plimsoll.load`."""
        return self.best.checkpoint

    @property
    def history(self) -> Any:
        """The epochs of all seeds, with their seed: a pandas DataFrame, or a list of dicts without pandas."""
        return _frame([{"seed": run.results["recipe"]["seed"], **epoch} for run in self._runs
                       for epoch in run.results["series"]])

    @property
    def ended(self) -> List[Run]:
        """The runs that finished, or ended early by ``patience``. The others are left out of means."""
        return [run for run in self._runs if run.results.get("status") in ("finished", "early stopped")]

    def mean(self, key: str) -> float:
        """The mean of a figure over the seeds that ended, such as ``mean("test_acc")``."""
        return statistics.fmean(self._numbers(key))

    def stdev(self, key: str) -> float:
        """Its standard deviation over these seeds (n - 1); 0 for one seed."""
        values = self._numbers(key)
        return statistics.stdev(values) if len(values) > 1 else 0.0

    def _is_mixed(self) -> bool:
        """Whether the seeds have different recipes or data: then they have no mean."""
        kinds = {json.dumps([{**run.results["recipe"], "seed": None}, run.results.get("dataset"),
                             run.results.get("store_checksum")], sort_keys=True) for run in self._runs}
        return len(kinds) > 1

    def _numbers(self, key: str) -> List[float]:
        if self._is_mixed():
            raise UsageError(f"{self.save_dir} mixes trainings that differ in more than their seed, so they have no mean; "
                             "`plimsoll results` shows how", "usage")
        values = [run.results.get(key) for run in self.ended]
        if not values:
            raise UsageError(f"no seed of {self.save_dir} has finished, so there is no mean", "usage")
        if not all(isinstance(value, (int, float)) for value in values):
            raise UsageError(f"{key!r} is not a number in the results.json of every seed", "usage")
        return values

    def __repr__(self) -> str:
        ended = self.ended
        text = f"Runs({str(self.save_dir)!r}: {len(self)} seed{'' if len(self) == 1 else 's'}"
        if len(ended) < len(self):
            text += f", {len(self) - len(ended)} not finished"
        if self._is_mixed():
            return text + ", different recipes)"
        shown = [f"{key} {self.mean(key):.4f} ± {self.stdev(key):.4f}" for key in ("valid_acc", "test_acc")
                 if ended and all(isinstance(run.results.get(key), float) for run in ended)]
        return text + "".join(", " + one for one in shown) + ")"


def results(save_dir: Union[str, "os.PathLike[str]"]) -> Union[Run, Runs]:
    """The results of a training that has ended, by the folder given as ``save_dir``: a :class:`Run`, or
    :class:`Runs` if it was trained with several seeds."""
    folder = pathlib.Path(save_dir)
    if (folder / "results.json").exists():
        return Run(folder)
    if seed_folders(folder):
        return Runs(folder)
    raise PlimsollError(f"{folder} has no results: neither results.json nor folders seed_N with one. Name the folder that "
                        "was given as save_dir; a training writes its results when it ends", "io")


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
        **options: Any) -> Union[Run, Runs]:
    """Trains a native model: runs ``plimsoll train`` and returns its results.

    ``options`` are those of ``plimsoll train --help``, with underscores: ``model="sage"``,
    ``fanout=[15, 10]``, ``hidden=256``, ``epochs=20``, ``memory="16G"``, ``batch_norm=True``. ``show=True``
    shows its progress. ``seeds=5`` trains five times and returns :class:`Runs`, also for one seed
    (``seeds=1``).

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
    return Runs(save_dir) if options.get("seeds") else Run(save_dir)
