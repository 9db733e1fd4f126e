"""A graph on disk."""
from __future__ import annotations

import ctypes
import html
import os
import pathlib
from typing import Any, Callable, Dict, Tuple, Union

import numpy as np

from . import _library
from ._library import UsageError, check, library, sized
from ._memory import format_bytes

_SPLITS = {"train": "train", "valid": "valid", "val": "valid", "validation": "valid", "test": "test"}


def split_name(name: str) -> str:
    """The store's name of a split: "valid" for "val"."""
    try:
        return _SPLITS[name]
    except KeyError:
        raise UsageError(f"{name!r} is not a split; choose 'train', 'valid' or 'test'", "usage") from None


class Store:
    """A store: a folder made by ``plimsoll import``, :func:`plimsoll.from_numpy` or
    :func:`plimsoll.from_pyg`.

    Opening it reads a few kilobytes. Loaders of one ``Store`` object share the part of it that is in memory.

    >>> store = Store("papers.plim")
    >>> store.num_nodes, store.num_features
    (111059956, 128)

    A store can be sent to other processes (it is opened again there). After a fork, open it anew: the child
    gets an error that says so.
    """

    def __init__(self, path: Union[str, "os.PathLike[str]"]) -> None:
        self._handle = ctypes.c_void_p()
        self._c_close = library().plimsoll_store_close
        self.path = pathlib.Path(path)
        check(library().plimsoll_store_open(os.fsencode(self.path), ctypes.byref(self._handle)))
        shape = sized(_library.Shape)
        check(library().plimsoll_store_shape(self._handle, ctypes.byref(shape)))
        self.num_nodes: int = shape.nodes
        #: Edges as stored: both directions of an undirected graph.
        self.num_edges: int = shape.edges
        self.num_features: int = shape.columns
        #: 0 if the graph has no labels.
        self.num_classes: int = shape.classes
        self.num_labelled: int = shape.labelled
        #: How many nodes each split has.
        self.split_sizes: Dict[str, int] = {
            "train": shape.train_nodes, "valid": shape.valid_nodes, "test": shape.test_nodes}
        self.undirected: bool = bool(shape.undirected)
        #: 16 or 32.
        self.feature_bits: int = shape.feature_bits
        self.size_bytes: int = shape.store_bytes

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._c_close(self._handle)  # at the end of the interpreter, this module's names may be gone

    def __reduce__(self) -> Tuple[Callable[..., Any], Tuple[Any, ...]]:
        return Store, (str(self.path),)

    @property
    def handle(self) -> ctypes.c_void_p:
        return self._handle

    def split(self, name: str) -> np.ndarray:
        """The original ids of a split, in the order that ``input_id`` of a loader of this split refers to."""
        name = split_name(name)
        out = np.empty(self.split_sizes[name], dtype=np.int64)
        check(library().plimsoll_store_split(self._handle, name.encode(), out.ctypes.data))
        return out

    def ids(self) -> np.ndarray:
        """The original id of the node at each position of the store: 8 bytes per node."""
        out = np.empty(self.num_nodes, dtype=np.int64)
        check(library().plimsoll_store_ids(self._handle, out.ctypes.data))
        return out

    def _facts(self) -> Dict[str, str]:
        splits = ", ".join(f"{name} {count:,}" for name, count in self.split_sizes.items() if count)
        return {
            "nodes": f"{self.num_nodes:,}",
            "edges": f"{self.num_edges:,} ({'undirected' if self.undirected else 'directed'})",
            "features": f"{self.num_features} × f{self.feature_bits}",
            "classes": f"{self.num_classes:,}" if self.num_classes else "no labels",
            "splits": splits or "none",
            "size": format_bytes(self.size_bytes),
        }

    def __repr__(self) -> str:
        return f"Store({str(self.path)!r}: " + ", ".join(f"{what} {value}" for what, value in self._facts().items()) + ")"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th style='text-align:left'>{what}</th><td>{html.escape(value)}</td></tr>"
                       for what, value in self._facts().items())
        return f"<table><caption>Store {html.escape(str(self.path))}</caption>{rows}</table>"
