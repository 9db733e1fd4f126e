"""Plimsoll behind PyTorch Geometric's own protocols: a FeatureStore, a GraphStore and a sampler.

>>> from plimsoll.pyg import stores_of
>>> features, graph, sampler = stores_of("papers.plim", num_neighbors=[15, 10], memory="16G")
>>> loader = torch_geometric.loader.NeighborLoader(
...     data=(features, graph), num_neighbors=[15, 10], neighbor_sampler=sampler, input_nodes=nodes,
...     batch_size=1024)

Importing this module needs torch and torch_geometric. :class:`plimsoll.NeighborLoader` is faster: it reads
ahead, which these protocols do not allow.
"""
from __future__ import annotations

import os
from typing import Any, List, Optional, Sequence, Tuple, Union

import numpy as np

from ._arrays import to_numpy
from ._library import PlimsollError, UsageError
from .loader import NeighborLoader
from .store import Store

try:
    import torch
    from torch_geometric.data import EdgeAttr, FeatureStore as _FeatureStore, GraphStore as _GraphStore, TensorAttr
    from torch_geometric.sampler import BaseSampler, NodeSamplerInput, SamplerOutput
except ImportError as _error:
    raise PlimsollError(f"plimsoll.pyg needs torch and torch_geometric, which cannot be imported here: {_error}",
                        "input") from None


def _read_only(*_: Any) -> bool:
    raise UsageError("a store cannot be changed; import the graph again", "usage")


class FeatureStore(_FeatureStore):
    """The features ``x`` and labels ``y`` of a store, read when they are asked for."""

    def __init__(self, loader: NeighborLoader) -> None:
        super().__init__()
        self.loader = loader

    def get_all_tensor_attrs(self) -> List[TensorAttr]:
        # Fresh objects: PyG's loader writes the index into them.
        names = ["x"] + (["y"] if self.loader.store.num_classes else [])
        return [TensorAttr(None, name) for name in names]

    def _get_tensor_size(self, attr: TensorAttr) -> Optional[Tuple[int, ...]]:
        store = self.loader.store
        nodes = (store.num_nodes,) if attr.index is None else self._ids(attr.index).shape
        return {"x": nodes + (store.num_features,), "y": nodes if store.num_classes else None}.get(attr.attr_name)

    def _ids(self, index: Any) -> np.ndarray:
        """The nodes of an index, in the shape that an index of this kind gives a tensor of torch."""
        nodes = self.loader.store.num_nodes
        if index is None:
            return np.arange(nodes)
        if isinstance(index, slice):
            return np.arange(*index.indices(nodes))
        if isinstance(index, torch.Tensor) and index.dtype == torch.uint8:
            index = index.bool()  # a mask, as torch takes it
        ids = to_numpy(index)
        if ids.dtype == bool:
            if ids.shape != (nodes,):
                raise UsageError(f"index: a mask of shape {ids.shape} for {nodes} nodes; it needs one value per node", "usage")
            return np.flatnonzero(ids)
        if ids.size and not np.issubdtype(ids.dtype, np.integer):
            raise UsageError(f"index has type {ids.dtype}; give ids, a mask, a slice or None", "usage")
        ids = ids.astype(np.int64)
        return np.where((ids < 0) & (ids >= -nodes), ids + nodes, ids)  # -1 is the last one

    def _get_tensor(self, attr: TensorAttr) -> Optional[torch.Tensor]:
        if attr.attr_name == "x":
            read = self.loader.rows
        elif attr.attr_name == "y" and self.loader.store.num_classes:
            read = self.loader.labels
        else:
            return None
        ids = self._ids(attr.index)
        values = torch.from_numpy(read(ids.reshape(-1)))
        return values.reshape(ids.shape + tuple(values.shape[1:]))

    _put_tensor = _remove_tensor = _read_only


class GraphStore(_GraphStore):
    """The edges of a store. They are only read as a whole, 8 bytes per edge and per node, if PyG's own
    sampler asks for them; with :class:`Sampler` nothing is."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.store = store

    def get_all_edge_attrs(self) -> List[EdgeAttr]:
        nodes = self.store.num_nodes
        return [EdgeAttr(None, "csc", size=(nodes, nodes))]

    def _get_edge_index(self, edge_attr: EdgeAttr) -> Optional[Tuple[torch.Tensor, torch.Tensor]]:
        if edge_attr.edge_type is not None or getattr(edge_attr.layout, "value", edge_attr.layout) != "csc":
            # PyG then says that there is none; its csr() and coo() convert what get_all_edge_attrs() offers.
            return None
        row, colptr = lists_by_original_id(self.store)
        return torch.from_numpy(row), torch.from_numpy(colptr)

    _put_edge_index = _remove_edge_index = _read_only


class Sampler(BaseSampler):
    """Draws as :class:`plimsoll.NeighborLoader` does: the batches of successive calls are those of successive
    batches."""

    def __init__(self, loader: NeighborLoader) -> None:
        self.loader = loader
        self._index = 0

    def sample_from_nodes(self, inputs: NodeSamplerInput, **_: Any) -> SamplerOutput:
        fields = self.loader.sample(inputs.node.cpu().numpy(), 0, self._index)
        self._index += 1
        edges = torch.from_numpy(fields["edge_index"].copy())
        return SamplerOutput(node=torch.from_numpy(fields["n_id"].copy()), row=edges[0], col=edges[1], edge=None,
                             batch=None, num_sampled_nodes=fields["num_sampled_nodes"],
                             num_sampled_edges=fields["num_sampled_edges"],
                             metadata=(inputs.input_id, getattr(inputs, "time", None)))

    def sample_from_edges(self, *_: Any, **__: Any) -> Any:
        raise UsageError("links are not sampled; a store is for training on nodes", "usage")

    @property
    def edge_permutation(self) -> None:
        return None


def lists_by_original_id(store: Store) -> Tuple[np.ndarray, np.ndarray]:
    """The in-neighbour lists as (row, colptr) with original ids: 8 bytes per edge and per node."""
    ids = store.ids()
    offsets = np.fromfile(store.path / "offsets.u64", dtype=np.uint64).astype(np.int64)
    degrees = np.diff(offsets)
    colptr = np.zeros(store.num_nodes + 1, dtype=np.int64)
    colptr[ids + 1] = degrees
    np.cumsum(colptr, out=colptr)
    neighbors = np.memmap(store.path / "neighbors.u32", dtype=np.uint32, mode="r")
    row = np.empty(store.num_edges, dtype=np.int64)
    step = 1 << 20
    for first in range(0, store.num_nodes, step):
        last = min(store.num_nodes, first + step)
        begin, end = offsets[first], offsets[last]
        moved = np.repeat(colptr[ids[first:last]] - offsets[first:last], degrees[first:last])
        row[moved + np.arange(begin, end)] = ids[neighbors[begin:end]]
    return row, colptr


def stores_of(store: Union[Store, str, "os.PathLike[str]"], num_neighbors: Sequence[int], *,
              memory: Union[None, int, str] = None, seed: int = 0) -> Tuple[FeatureStore, GraphStore, Sampler]:
    """The three objects for PyG's NeighborLoader, which share one memory limit."""
    opened = store if isinstance(store, Store) else Store(store)
    loader = NeighborLoader(opened, num_neighbors, memory=memory, seed=seed, labels="none", output="numpy", held=8)
    return FeatureStore(loader), GraphStore(opened), Sampler(loader)
