"""Which edge of the original graph a sampled edge is."""
from __future__ import annotations

from typing import Any

import numpy as np

from ._arrays import to_numpy
from ._library import PlimsollError, UsageError


class EdgeIds:
    """Finds edges in the ``edge_index`` that a store was made from. A store sorts its edges and keeps no
    numbers of them, so this keeps the original edges itself, sorted: 16 bytes for each.

    Of equal edges it finds the first. In an undirected store, an edge that only the import added has the
    number of its reverse.
    """

    def __init__(self, edge_index: Any, num_nodes: int, undirected: bool) -> None:
        edges = to_numpy(edge_index)
        if edges.ndim != 2 or edges.shape[0] != 2 or not np.issubdtype(edges.dtype, np.integer):
            raise UsageError(f"edge_ids has shape {edges.shape} and type {edges.dtype}; give the edge_index of the graph, "
                             "(2, edges)", "usage")
        if edges.size and (edges.min() < 0 or edges.max() >= num_nodes):
            raise UsageError(f"edge_ids has nodes from {edges.min()} to {edges.max()}, and the store has {num_nodes} nodes; "
                             "give the edge_index that it was made from", "usage")
        self._nodes, self._undirected = num_nodes, undirected
        keys = self._keys(edges[0], edges[1])
        self._order = np.argsort(keys, kind="stable")
        self._sorted = keys[self._order]

    def _keys(self, sources: np.ndarray, destinations: np.ndarray) -> np.ndarray:
        keys = destinations.astype(np.int64)
        keys *= self._nodes  # less than 2^32 nodes
        keys += sources
        return keys

    def find(self, sources: np.ndarray, destinations: np.ndarray) -> np.ndarray:
        """The index of each edge, given by the original ids of its ends."""
        found, missing = self._look(sources, destinations)
        if self._undirected and missing.any():
            found[missing], still = self._look(destinations[missing], sources[missing])
            missing[missing] = still
        if missing.any():
            first = int(np.flatnonzero(missing)[0])
            raise PlimsollError(f"the store has an edge from {sources[first]} to {destinations[first]}, and edge_ids does not; "
                                "give the edge_index that the store was made from", "input")
        return found

    def _look(self, sources: np.ndarray, destinations: np.ndarray) -> Any:
        keys = self._keys(sources, destinations)
        if not len(self._sorted):
            return np.zeros(len(keys), np.int64), np.ones(len(keys), bool)
        places = np.searchsorted(self._sorted, keys)
        np.minimum(places, len(self._sorted) - 1, out=places)
        return self._order[places], self._sorted[places] != keys
