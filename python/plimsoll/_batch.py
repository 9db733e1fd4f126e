"""Turns a batch of the C interface into arrays or tensors that share its memory."""
from __future__ import annotations

import ctypes
import functools
from typing import Any, Dict, Optional, Tuple

import numpy as np

from . import _library
from .data import Data

_ARRAYS = ("x", "y", "edge_index", "n_id", "input_id", "e_id")
_CAPSULE = b"plimsoll_batch"  # must outlive the capsules


@functools.lru_cache(None)
def import_torch() -> Optional[Any]:
    """torch, or None if it is not installed."""
    try:
        import torch
    except ImportError:
        return None
    return torch


def import_pyg() -> Optional[Any]:
    """torch_geometric, or None if it is not installed."""
    if import_torch() is None:
        return None
    try:
        import torch_geometric
        import torch_geometric.data  # noqa: F401
    except ImportError:
        return None
    return torch_geometric


@functools.lru_cache(None)
def _capsules() -> Tuple[Any, Any]:
    """The function that makes a capsule, and the destructor of ours."""
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new, ctypes.cast(_library.library().plimsoll_batch_capsule_end, ctypes.c_void_p)


# All addresses but the first page. np.frombuffer takes an array out of it by its address, in a fifth of the
# time that NumPy needs for an object with __array_interface__.
_PAGE = 4096
_Memory = ctypes.c_char * (1 << 62)
_FLOAT, _INTEGER = np.dtype("<f4"), np.dtype("<i8")


def _lent(handle: int) -> Any:
    """The memory of a batch, which arrays are taken from. Gives the batch back when no array refers to it any
    more: a capsule does so without running Python, where a Ctrl-C could get lost."""
    new, destructor = _capsules()
    memory = _Memory.from_address(_PAGE)
    memory.batch = new(handle, _CAPSULE, destructor)
    return memory


def _array(memory: Any, address: Optional[int], count: int, kind: np.dtype) -> np.ndarray:
    if not count:
        return np.empty(0, kind)
    return np.frombuffer(memory, kind, count, address - _PAGE)


@functools.lru_cache(None)
def _numbers(count: int) -> Any:
    return ctypes.c_int64 * count


def fields_of(batch: _library.Batch) -> Dict[str, Any]:
    """The fields of a batch in PyG's form, as NumPy arrays. Takes over the batch."""
    memory = _lent(batch.handle)
    nodes, seeds, hops, columns, labels = batch.nodes, batch.seeds, batch.hops, batch.columns, batch.label_count
    edges = batch.edges
    fields: Dict[str, Any] = {}
    if columns:
        fields["x"] = _array(memory, batch.x, nodes * columns, _FLOAT).reshape(nodes, columns)
    if labels:
        fields["y"] = _array(memory, batch.y, labels, _INTEGER)
    fields["edge_index"] = _array(memory, batch.edge_index, 2 * edges, _INTEGER).reshape(2, edges)
    fields["n_id"] = _array(memory, batch.n_id, nodes, _INTEGER)
    fields["input_id"] = _array(memory, batch.input_id, seeds, _INTEGER)
    fields["batch_size"] = seeds
    fields["num_sampled_nodes"] = _numbers(hops + 1).from_address(batch.hop_nodes)[:]
    fields["num_sampled_edges"] = _numbers(hops).from_address(batch.hop_edges)[:]
    return fields


def to_tensors(fields: Dict[str, Any]) -> Dict[str, Any]:
    """The same fields, with tensors that share the arrays' memory."""
    to_tensor = import_torch().from_numpy
    return {name: to_tensor(value) if name in _ARRAYS else value for name, value in fields.items()}


def make_data(fields: Dict[str, Any], output: str) -> Any:
    """The fields as a batch: NumPy arrays or tensors, in a Data of PyG or of ours."""
    if output in ("numpy", "torch"):
        return Data(**fields)
    data = import_pyg().data.Data(**fields)
    if "x" not in fields:
        data.num_nodes = len(fields["n_id"])
    return data


def choose_output(output: str) -> str:
    """What "auto" means here: "pyg" where PyG is installed, else "torch", else "numpy"."""
    if output == "auto":
        return "pyg" if import_pyg() else "torch" if import_torch() else "numpy"
    if output not in ("numpy", "torch", "pyg"):
        raise _library.UsageError(f"output={output!r}: choose 'auto', 'numpy', 'torch' or 'pyg'", "usage")
    if output != "numpy" and import_torch() is None:
        raise _library.UsageError(f"output={output!r} needs torch, which is not installed here", "usage")
    if output == "pyg" and import_pyg() is None:
        raise _library.UsageError("output='pyg' needs torch_geometric, which is not installed here", "usage")
    return output
