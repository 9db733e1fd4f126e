"""Stores from arrays, tensors and other libraries' graphs."""
from __future__ import annotations

import ctypes
import os
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np

from . import _library
from ._arrays import to_numpy
from ._library import UsageError, check, library, sized
from ._memory import parse_bytes
from .program import run_program
from .store import Store

_TYPES = {"int32": 1, "int64": 2, "float16": 3, "float32": 4, "float64": 5, "bool": 6}

Path = Union[str, "os.PathLike[str]"]


class _Arrays:
    """The arrays of an import as the C interface wants them. Keeps them until it is done."""

    def __init__(self) -> None:
        self._kept: List[np.ndarray] = []

    def column(self, values: np.ndarray, what: str, allowed: Sequence[str]) -> _library.Array:
        name = values.dtype.name
        if name not in allowed:
            if np.issubdtype(values.dtype, np.integer) and "int64" in allowed:
                values = values.astype(np.int64)
            elif np.issubdtype(values.dtype, np.floating) and "float32" in allowed:
                values = values.astype(np.float32)
            else:
                raise UsageError(f"{what} has type {values.dtype}; it must be {', '.join(allowed)}", "usage")
        self._kept.append(values)
        return _library.Array(data=values.ctypes.data, count=len(values), stride_bytes=values.strides[0],
                              type=_TYPES[values.dtype.name])


def _edges(edge_index: Any) -> Tuple[np.ndarray, np.ndarray]:
    edges = to_numpy(edge_index)
    if edges.ndim == 2 and edges.shape[0] == 2:
        return edges[0], edges[1]
    if edges.ndim == 2 and edges.shape[1] == 2:
        return edges[:, 0], edges[:, 1]
    raise UsageError(f"edge_index has shape {edges.shape}; it must be (2, edges) or (edges, 2)", "usage")


def from_numpy(edge_index: Any, x: Any, path: Path, *, y: Any = None, train: Any = None, valid: Any = None,
               test: Any = None, undirected: bool = False, features: str = "f16", name: Optional[str] = None,
               memory: Union[None, int, str] = None, replace: bool = False, threads: int = 0) -> Store:
    """Makes a store from arrays or tensors and opens it.

    The arrays are read in place: the import copies nothing in memory, whatever their layout (of ``x`` only
    the rows must be contiguous).

    Args:
        edge_index: (2, edges) or (edges, 2), from source to destination.
        x: (nodes, columns).
        path: the new store, such as "my.plim".
        y: a label for each node; -1 or NaN for none.
        train, valid, test: ids, or a mask with a value for each node.
        undirected: adds the reverse of every edge.
        features: "f16" (half the space) or "f32".
        memory: limit of this process during the import, the arrays included; without it half of the machine's
            memory.
        replace: replaces a store of that name.

    Self-loops are dropped, and duplicates if the graph is made undirected, as by ``plimsoll import``.
    """
    if features not in ("f16", "f32"):
        raise UsageError(f"features={features!r}: choose 'f16' or 'f32'", "usage")
    arrays = _Arrays()
    options = sized(_library.ImportOptions)
    options.out, options.name = os.fsencode(path), None if name is None else name.encode()
    sources, destinations = _edges(edge_index)
    whole = ("int32", "int64")
    options.sources = arrays.column(sources, "edge_index", whole)
    options.destinations = arrays.column(destinations, "edge_index", whole)
    rows = to_numpy(x)
    if rows.ndim != 2:
        raise UsageError(f"x has shape {rows.shape}; it must be (nodes, columns)", "usage")
    if rows.shape[1] > 1 and rows.strides[1] != rows.itemsize:
        rows = np.ascontiguousarray(rows)
    options.nodes, options.columns = rows.shape
    options.features = arrays.column(rows, "x", ("float16", "float32", "float64"))
    if y is not None:
        labels = to_numpy(y)
        if labels.ndim == 2 and labels.shape[1] == 1:
            labels = labels[:, 0]
        if labels.ndim != 1:
            raise UsageError(f"y has shape {labels.shape}; it must have one label per node", "usage")
        options.labels = arrays.column(labels, "y", whole + ("float32", "float64"))
    for i, (split, nodes) in enumerate((("train", train), ("valid", valid), ("test", test))):
        if nodes is not None:
            ids = to_numpy(nodes)
            if ids.ndim != 1:
                raise UsageError(f"{split} has shape {ids.shape}; give ids, or a mask of one column", "usage")
            options.splits[i] = arrays.column(ids, split, whole + ("bool",))
    options.memory_bytes, options.threads = parse_bytes(memory), threads
    options.undirected, options.replace = bool(undirected), bool(replace)
    options.feature_bits = 16 if features == "f16" else 32
    check(library().plimsoll_import(ctypes.byref(options)))
    return Store(path)


def from_scipy(adjacency: Any, x: Any, path: Path, **options: Any) -> Store:
    """Makes a store from a SciPy matrix: a value at (i, j) is an edge from i to j. Weights are ignored; the
    other arguments are those of :func:`from_numpy`."""
    matrix = adjacency.tocoo()
    return from_numpy(np.stack([matrix.row, matrix.col], axis=1), x, path, **options)


def _mask(fields: Dict[str, Any], names: Sequence[str], column: Optional[int]) -> Optional[np.ndarray]:
    for name in names:
        mask = fields.get(name)
        if mask is None:
            continue
        mask = to_numpy(mask)
        if mask.ndim == 2:
            if column is None:
                raise UsageError(f"{name} has {mask.shape[1]} columns, one for each split; choose one with mask_column",
                                 "usage")
            mask = mask[:, column]
        return mask
    return None


#: The fields of a graph of PyG that a store keeps.
PYG_FIELDS = ("edge_index", "x", "y", "train_mask", "val_mask", "valid_mask", "test_mask")

SEVERAL_TYPES = ("several types of nodes; a store has one. data.to_homogeneous(edge_attrs=[], add_edge_type=False) makes one "
                 "type of them; all types need x")


def _lengths(value: Any) -> Tuple[int, ...]:
    if isinstance(value, (list, tuple)):
        return (len(value),)
    shape = getattr(value, "shape", None)
    return tuple(shape[:2]) if isinstance(shape, tuple) else ()


def edge_fields(fields: Dict[str, Any]) -> List[str]:
    """Which fields of a graph of PyG have values for its edges, such as edge_attr or weight. A graph without
    them is another graph, so nothing leaves them out unless the user says so."""
    edges = max(_lengths(fields.get("edge_index")), default=0)
    nodes = (_lengths(fields.get("x")) or (0,))[0]

    def is_one(name: str, value: Any) -> bool:
        if name in PYG_FIELDS or name.startswith("node_"):
            return False
        if name.startswith("edge_"):
            return True
        lengths = _lengths(value)
        if not edges or edges not in lengths or (edges == nodes and "edge" not in name):
            return False
        return lengths[0] in (edges, 2)  # as PyG has an index: a row of sources, a row of destinations

    return [name for name, value in fields.items() if is_one(name, value)]


def from_pyg(data: Any, path: Path, *, ignore: Sequence[str] = (), mask_column: Optional[int] = None,
             **options: Any) -> Store:
    """Makes a store from a ``torch_geometric.data.Data``, or from any object with its fields, without a
    second copy of it.

    Takes ``edge_index``, ``x``, ``y`` and the masks. Weights and features of edges are refused unless
    ``ignore`` names them, such as ``ignore=["edge_attr"]``; it leaves out labels and masks, too.
    ``mask_column`` chooses a split if the masks have several columns. The other arguments are those of
    :func:`from_numpy`.
    """
    if "_edge_store_dict" in getattr(data, "__dict__", {}):
        raise UsageError(f"a {type(data).__name__} has {SEVERAL_TYPES}", "usage")
    keys = getattr(data, "keys", None)  # of a Data; a list in older versions of PyG
    names = vars(data) if keys is None else keys() if callable(keys) else keys
    fields = {name: getattr(data, name, None) for name in [*names, *PYG_FIELDS, "edge_weight", "edge_attr"]}
    fields = {name: value for name, value in fields.items() if value is not None and name not in ignore}
    for name in edge_fields(fields):
        raise UsageError(f"data has {name}, with values for edges, and a store has no place for it; ignore=['{name}'] imports "
                         "the rest", "usage")
    if "edge_index" not in fields:
        raise UsageError("data has no edge_index; without one there are no edges to import", "usage")
    if "x" not in fields:
        raise UsageError("data has no x; give features, for example degrees", "usage")
    taken: Dict[str, Any] = {"y": fields.get("y"), "train": _mask(fields, ("train_mask",), mask_column),
                             "valid": _mask(fields, ("val_mask", "valid_mask"), mask_column),
                             "test": _mask(fields, ("test_mask",), mask_column)}
    taken.update(options)
    return from_numpy(fields["edge_index"], fields["x"], path, **taken)


def _attribute(graph: Any, name: str) -> List[Any]:
    values = []
    for node in graph.nodes:
        if name not in graph.nodes[node]:
            raise UsageError(f"node {node!r} has no attribute {name!r}; every node needs one", "usage")
        values.append(graph.nodes[node][name])
    return values


def from_networkx(graph: Any, path: Path, *, x: str = "x", y: Optional[str] = None, **options: Any) -> Store:
    """Makes a store from a NetworkX graph, for graphs of toy size. Nodes are numbered in the graph's order;
    ``x`` and ``y`` name their attributes. The other arguments are those of :func:`from_numpy`."""
    number = {node: i for i, node in enumerate(graph.nodes)}
    edges = np.array([(number[a], number[b]) for a, b in graph.edges], dtype=np.int64).reshape(-1, 2)
    features = np.array(_attribute(graph, x), dtype=np.float32)
    if y is not None:
        options["y"] = np.array(_attribute(graph, y))
    options.setdefault("undirected", not graph.is_directed())
    return from_numpy(edges, features.reshape(len(number), -1), path, **options)


def from_ogb(folder: Path, path: Path, *, undirected: Optional[bool] = None, features: str = "f16",
             memory: Union[None, int, str] = None, replace: bool = False) -> Store:
    """Makes a store from a folder of the Open Graph Benchmark, such as papers100M-bin, by
    ``plimsoll import ogb``."""
    arguments = ["import", "ogb", os.fspath(folder), "--out", os.fspath(path), "--feature-type", features, "--quiet"]
    if undirected is not None:
        arguments.append("--undirected" if undirected else "--directed")
    if memory is not None:
        arguments += ["--memory", str(parse_bytes(memory))]
    if replace:
        arguments.append("--force")
    run_program(arguments)
    return Store(path)
