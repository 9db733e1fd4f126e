"""Inference over all nodes, one layer at a time."""
from __future__ import annotations

import os
import tempfile
from typing import Any, Callable, List, Optional, Sequence, Union

import numpy as np

from ._batch import import_torch
from ._library import MemoryLimitError, UsageError
from .loader import NeighborLoader
from .store import Store

Layer = Callable[[Any, Any], Any]


def _layers_of(model: Any) -> List[Callable[[Any, Any, int], Any]]:
    """The layers as functions of (x, edge_index, seeds)."""
    if hasattr(model, "inference_per_layer"):
        count = int(model.num_layers)
        return [lambda x, edges, seeds, i=i: model.inference_per_layer(i, x, edges, seeds) for i in range(count)]
    if isinstance(model, (list, tuple)) and all(callable(layer) for layer in model):
        return [lambda x, edges, seeds, layer=layer: layer(x, edges)[:seeds] for layer in model]
    raise UsageError("model must have inference_per_layer and num_layers, as PyG's BasicGNN and plimsoll.load have, or be a "
                     "list with a function (x, edge_index) for each layer", "usage")


def layerwise(model: Union[Any, Sequence[Layer]], store: Union[Store, str, "os.PathLike[str]"], *, batch_size: int = 1024,
              memory: Union[None, int, str] = None, device: Any = None,
              out: Union[None, str, "os.PathLike[str]"] = None, loader: Optional[NeighborLoader] = None) -> np.ndarray:
    """The output of a model for all nodes, by original id, computed with all neighbours and one layer at a
    time.

    Each layer runs over batches of ``batch_size`` nodes with all their neighbours; if a batch does not fit
    into the memory limit, it is halved. What one layer hands to the next is in a file: next to ``out`` if
    that is given, else in the folder for temporary files. ``out`` names an .npy file for the result; the
    returned array then is a view of that file.

    Layers see one hop: a node's own row and the rows of its in-neighbours. That is exact for SAGEConv,
    GATConv and others that use nothing else. GCNConv normalises by degrees, which it would count in the one
    hop; give it weights, or use ``plimsoll predict --eval full``.
    """
    torch = import_torch()
    if torch is None:
        raise UsageError("layerwise needs torch, which is not installed here", "usage")
    layers = _layers_of(model)
    opened = store if isinstance(store, Store) else Store(store)
    loader = loader or NeighborLoader(opened, [-1], batch_size=batch_size, memory=memory, labels="none", output="numpy",
                                      num_workers=1, held=2)
    before: Optional[np.ndarray] = None
    with tempfile.TemporaryDirectory(dir=None if out is None else os.path.dirname(os.path.abspath(out))) as folder, \
            torch.no_grad():
        for i, layer in enumerate(layers):
            last = i + 1 == len(layers)
            path = out if last and out is not None else os.path.join(folder, f"{i}.npy")
            before = _run_layer(layer, loader, before, opened.num_nodes, batch_size, device, path)
        if out is None:
            before = np.array(before)  # the file goes with the folder
    return before


def _run_layer(layer: Callable[[Any, Any, int], Any], loader: NeighborLoader, before: Optional[np.ndarray], nodes: int,
               batch_size: int, device: Any, path: Any) -> np.ndarray:
    torch = import_torch()
    rows: Optional[np.ndarray] = None
    first, count = 0, batch_size
    while first < nodes:
        ids = np.arange(first, min(nodes, first + count))
        try:
            fields = loader.sample(ids)
            x = loader.rows(fields["n_id"]) if before is None else before[fields["n_id"]]
        except MemoryLimitError:
            if count == 1:
                raise
            count = (count + 1) // 2
            continue
        got = layer(torch.from_numpy(x).to(device), torch.from_numpy(fields["edge_index"]).to(device), len(ids))
        values = got.float().cpu().numpy()
        if rows is None:
            rows = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(nodes, values.shape[1]))
        rows[first:first + len(ids)] = values
        first += len(ids)
    rows.flush()
    return rows
