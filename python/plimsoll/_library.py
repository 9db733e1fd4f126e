"""The C interface, called through ctypes. docs/reference/c-interface.md describes it."""
from __future__ import annotations

import ctypes
import ctypes.util
import os
import pathlib
from typing import Any, Optional

INTERFACE = 1

ALL_NEIGHBORS = 0xFFFFFFFF
LABELS = {"all": 0, "seeds": 1, "none": 2}
NOT_PINNED, PINNED, PINNED_UNTIL_COPIED = 0, 1, 2

OK, END, WAIT, HELD = 0, -1, -2, -3
_KINDS = {1: "internal", 2: "usage", 3: "input", 4: "memory", 5: "disk", 6: "io", 7: "exists", 8: "store"}


class PlimsollError(RuntimeError):
    """Something could not be done. ``kind`` is one of the words of docs/reference/errors.md, such as
    "memory"."""

    def __init__(self, message: str, kind: str = "internal") -> None:
        super().__init__(message)
        self.kind = kind


class UsageError(PlimsollError, ValueError):
    """An argument is wrong."""


class MemoryLimitError(PlimsollError, MemoryError):
    """The memory limit is too small; the message says how much is needed."""


class HeldError(PlimsollError):
    """All batches that the loader lends are still in use."""


_CLASSES = {"usage": UsageError, "memory": MemoryLimitError}


class Shape(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t)] + [
        (name, ctypes.c_uint64)
        for name in ("nodes", "edges", "columns", "classes", "labelled", "train_nodes", "valid_nodes", "test_nodes",
                     "row_bytes", "store_bytes")
    ] + [(name, ctypes.c_uint32) for name in ("undirected", "feature_bits", "precomputed", "reserved")]


class LoaderOptions(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("fanout", ctypes.POINTER(ctypes.c_uint32)),
        ("hops", ctypes.c_uint64),
        ("batch_size", ctypes.c_uint64),
        ("split", ctypes.c_char_p),
        ("nodes", ctypes.c_void_p),
        ("node_count", ctypes.c_uint64),
        ("seed", ctypes.c_uint64),
        ("memory_bytes", ctypes.c_uint64),
    ] + [(name, ctypes.c_uint32)
         for name in ("workers", "threads", "held", "labels", "shuffle", "drop_last", "labor", "every_hop",
                      "positions", "reserved", "pinning", "gpu")]


class Batch(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("handle", ctypes.c_void_p)] + [
        (name, ctypes.c_uint64)
        for name in ("index", "seeds", "nodes", "edges", "columns", "label_count", "hops")
    ] + [(name, ctypes.c_void_p)
         for name in ("x", "y", "edge_index", "n_id", "input_id", "hop_nodes", "hop_edges")]


class LoaderState(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t)] + [
        (name, ctypes.c_uint64)
        for name in ("limit_bytes", "leased_bytes", "host_bytes", "over_bytes", "resident_rows", "rows",
                     "rows_on_disk", "bytes_read")
    ] + [(name, ctypes.c_uint32) for name in ("workers", "held")] + [("pinned_bytes", ctypes.c_uint64)]


class Array(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("count", ctypes.c_uint64), ("stride_bytes", ctypes.c_int64),
                ("type", ctypes.c_uint32), ("reserved", ctypes.c_uint32)]


class ImportOptions(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("out", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("nodes", ctypes.c_uint64),
        ("sources", Array),
        ("destinations", Array),
        ("features", Array),
        ("columns", ctypes.c_uint64),
        ("labels", Array),
        ("splits", Array * 3),
        ("memory_bytes", ctypes.c_uint64),
    ] + [(name, ctypes.c_uint32) for name in ("undirected", "feature_bits", "replace", "threads")]


_FUNCTIONS = {
    "plimsoll_interface": (ctypes.c_int, []),
    "plimsoll_version": (ctypes.c_char_p, []),
    "plimsoll_last_error": (ctypes.c_char_p, []),
    "plimsoll_store_open": (ctypes.c_int, [ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p)]),
    "plimsoll_store_close": (None, [ctypes.c_void_p]),
    "plimsoll_store_shape": (ctypes.c_int, [ctypes.c_void_p, ctypes.POINTER(Shape)]),
    "plimsoll_store_split": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]),
    "plimsoll_store_ids": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_void_p]),
    "plimsoll_plan": (ctypes.c_int, [ctypes.c_void_p, ctypes.POINTER(LoaderOptions), ctypes.POINTER(ctypes.c_void_p)]),
    "plimsoll_text_free": (None, [ctypes.c_void_p]),
    "plimsoll_loader_open": (ctypes.c_int, [ctypes.c_void_p, ctypes.POINTER(LoaderOptions),
                                            ctypes.POINTER(ctypes.c_void_p)]),
    "plimsoll_loader_close": (None, [ctypes.c_void_p]),
    "plimsoll_loader_batches": (ctypes.c_uint64, [ctypes.c_void_p]),
    "plimsoll_loader_start": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_uint64]),
    "plimsoll_loader_next": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(Batch)]),
    "plimsoll_batch_give_back": (None, [ctypes.c_void_p]),
    "plimsoll_batch_capsule_end": (None, [ctypes.py_object]),
    "plimsoll_loader_sample": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64,
                                              ctypes.c_uint64, ctypes.POINTER(Batch)]),
    "plimsoll_loader_rows": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p]),
    "plimsoll_loader_labels": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p]),
    "plimsoll_loader_state_now": (ctypes.c_int, [ctypes.c_void_p, ctypes.POINTER(LoaderState)]),
    "plimsoll_loader_pinning_problem": (ctypes.c_char_p, [ctypes.c_void_p]),
    "plimsoll_import": (ctypes.c_int, [ctypes.POINTER(ImportOptions)]),
}

_NAME = "libplimsoll.so.1"
_loaded: Optional[ctypes.CDLL] = None


def _places() -> list[str]:
    """Where the library may be: named by $PLIMSOLL_LIBRARY, in this package, beside an installed one, on the
    system."""
    named = os.environ.get("PLIMSOLL_LIBRARY")
    if named:
        return [named]
    package = pathlib.Path(__file__).resolve().parent
    places = [package / "lib" / _NAME, package.parent.parent / "build" / "release" / _NAME]
    places += [folder / "lib" / _NAME for folder in list(package.parents)[1:6]]
    found = [str(place) for place in places if place.exists()]
    return found + [_NAME]


def library() -> ctypes.CDLL:
    """The library, opened when it is first needed."""
    global _loaded
    if _loaded is not None:
        return _loaded
    problems = []
    for place in _places():
        try:
            loaded = ctypes.CDLL(place)
            break
        except OSError as error:
            problems.append(str(error))
    else:
        raise PlimsollError(
            "libplimsoll.so cannot be opened: " + "; ".join(problems) +
            ". Build it with `make program`, or name it in PLIMSOLL_LIBRARY", "io")
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, arguments
    if loaded.plimsoll_interface() != INTERFACE:
        raise PlimsollError(
            f"{place} has interface {loaded.plimsoll_interface()}, this package needs {INTERFACE}; "
            "install both from one version", "io")
    _loaded = loaded
    return loaded


def last_error() -> str:
    return library().plimsoll_last_error().decode(errors="replace")


def check(status: int) -> int:
    """Raises the error of a status; returns END and WAIT, which are none."""
    if status == HELD:
        raise HeldError(last_error(), "held")
    if status > 0:
        kind = _KINDS.get(status, "internal")
        raise _CLASSES.get(kind, PlimsollError)(last_error(), kind)
    return status


def sized(structure: Any) -> Any:
    """A new structure of this type with its size set."""
    made = structure()
    made.size = ctypes.sizeof(structure)
    return made
