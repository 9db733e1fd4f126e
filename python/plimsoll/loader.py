"""Batches of sampled neighbourhoods, within a memory limit."""
from __future__ import annotations

import ctypes
import gc
import operator
import os
import warnings
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Set, Tuple, Union

import numpy as np

from . import _library
from ._arguments import check_arguments
from ._arrays import to_numpy
from ._batch import choose_output, fields_of, import_torch, make_data, to_tensors
from ._device import CopiesAhead, CudaStream
from ._library import END, HELD, OK, WAIT, HeldError, UsageError, check, library, sized
from ._memory import format_bytes, parse_bytes
from .edges import EdgeIds
from .store import Store, split_name

_PATIENCE_MS = 200  # between two looks for Ctrl-C
_STATE_EVERY = 64   # batches between two looks at the memory


def _fanout(num_neighbors: Any) -> List[int]:
    if hasattr(num_neighbors, "get_values"):  # PyG's NumNeighbors
        num_neighbors = num_neighbors.get_values()
    if isinstance(num_neighbors, dict) or not isinstance(num_neighbors, (list, tuple, np.ndarray)):
        raise UsageError(f"num_neighbors={num_neighbors!r}: give a list with one number for each hop, such as [15, 10]; "
                         "a store has one type of edges", "usage")
    try:
        counts = [operator.index(count) for count in num_neighbors]
    except TypeError:
        counts = []  # 2.5 neighbours
    if not counts or any(count < -1 or count >= _library.ALL_NEIGHBORS for count in counts):
        raise UsageError(f"num_neighbors={num_neighbors!r}: give one number for each hop; -1 takes all neighbours", "usage")
    return counts


def _check_whole(name: str, value: Any, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not least <= value <= most:
        raise UsageError(f"{name}={value!r}: give a whole number from {least} to {most}", "usage")


def _is_mask(nodes: Any) -> bool:
    return nodes is not None and not isinstance(nodes, str) and to_numpy(nodes).dtype == bool


def input_ids(nodes: Any, num_nodes: int) -> np.ndarray:
    """Original ids from a mask, a tensor, an array or a list."""
    if isinstance(nodes, tuple) and len(nodes) == 2 and isinstance(nodes[0], (str, type(None))):
        raise UsageError(f"input_nodes={nodes!r}: a store has one type of nodes; give the nodes alone", "usage")
    ids = to_numpy(nodes)
    if ids.dtype == bool:
        if ids.shape != (num_nodes,):
            raise UsageError(f"input_nodes: a mask of shape {ids.shape} for {num_nodes} nodes; it needs one value per node",
                             "usage")
        ids = np.flatnonzero(ids)
    if ids.ndim != 1 or not (np.issubdtype(ids.dtype, np.integer) or ids.size == 0):
        raise UsageError(f"input_nodes has shape {ids.shape} and type {ids.dtype}; give ids, a mask, or a split by name",
                         "usage")
    return np.ascontiguousarray(ids, dtype=np.int64)


class Options:
    """The options of a loader for the C interface. Keeps the arrays that they point to."""

    def __init__(self, store: Store, num_neighbors: Any, *, batch_size: int = 1, input_nodes: Any = None,
                 shuffle: bool = False, drop_last: bool = False, memory: Union[None, int, str] = None, seed: int = 0,
                 num_workers: int = 0, threads: int = 0, held: int = 3, labels: str = "all", draw: str = "uniform",
                 layers: bool = False, node_ids: str = "original", pinning: int = _library.NOT_PINNED,
                 gpu: int = 0) -> None:
        for name, value, choices in (("labels", labels, tuple(_library.LABELS)), ("draw", draw, ("uniform", "labor")),
                                     ("node_ids", node_ids, ("original", "store"))):
            if value not in choices:
                raise UsageError(f"{name}={value!r}: choose one of {', '.join(map(repr, choices))}", "usage")
        for name, value, least, most in (("batch_size", batch_size, 1, 2**32 - 1), ("num_workers", num_workers, 0, 2**32 - 1),
                                         ("held", held, 1, 2**32 - 1), ("seed", seed, 0, 2**64 - 1),
                                         ("threads", threads, 0, 2**32 - 1)):
            _check_whole(name, value, least, most)
        fanout = _fanout(num_neighbors)
        made = sized(_library.LoaderOptions)
        self._fanout = (ctypes.c_uint32 * len(fanout))(
            *[_library.ALL_NEIGHBORS if count < 0 else count for count in fanout])
        made.fanout, made.hops = self._fanout, len(fanout)
        made.batch_size = batch_size
        if isinstance(input_nodes, str):
            made.split = split_name(input_nodes).encode()
        elif input_nodes is not None:
            self._nodes = input_ids(input_nodes, store.num_nodes)
            if self._nodes.size == 0:
                raise UsageError("input_nodes is empty; give at least one node", "usage")
            made.nodes, made.node_count = self._nodes.ctypes.data, len(self._nodes)
        made.seed, made.memory_bytes = seed, parse_bytes(memory)
        made.workers, made.threads, made.held = num_workers, threads, held
        made.labels = _library.LABELS[labels]
        made.shuffle, made.drop_last = bool(shuffle), bool(drop_last)
        made.labor, made.every_hop, made.positions = draw == "labor", layers, node_ids == "store"
        made.pinning, made.gpu = pinning, gpu
        self.made = made


class _Pass:
    """The batches of one epoch. Keeps none of them."""

    def __init__(self, loader: "NeighborLoader", number: int) -> None:
        self._loader, self._number, self._taken = loader, number, 0

    def __iter__(self) -> "_Pass":
        return self

    def __next__(self) -> Any:
        taken = self._taken
        self._taken = taken + 1
        return self._loader._take(self._number, taken)

    def __length_hint__(self) -> int:
        return max(0, len(self._loader) - self._taken)


class NeighborLoader:
    """Batches of seeds with sampled neighbours, like ``torch_geometric.loader.NeighborLoader``, from a store
    that may be larger than memory.

    >>> loader = NeighborLoader(Store("papers.plim"), num_neighbors=[15, 10], batch_size=1024,
    ...                         input_nodes="train", shuffle=True, memory="16G")
    >>> for batch in loader:
    ...     out = model(batch.x, batch.edge_index)[:batch.batch_size]

    A batch has ``x``, ``y``, ``edge_index`` (local, from sampled neighbour to the node it was sampled for),
    ``n_id`` (original ids, the seeds first), ``input_id``, ``batch_size``, ``num_sampled_nodes`` and
    ``num_sampled_edges``. It is a ``torch_geometric.data.Data`` where PyG is installed, else a
    :class:`plimsoll.Data` of tensors, or of NumPy arrays without torch.

    Arrays and tensors of a batch are the loader's own memory, which it uses again when the last of them is
    gone. At most ``held`` batches exist outside the loader; the next one raises :class:`HeldError` instead of
    waiting for ever. To keep batches longer, use ``batch.clone()``.

    Args:
        data: a :class:`Store`, or its path. Loaders of one ``Store`` object share its memory.
        num_neighbors: neighbours to sample in each hop; -1 takes all.
        input_nodes: the seeds: "train", "valid" or "test"; ids or a mask (array, tensor, list); None for all
            nodes.
        shuffle: another order in every epoch. The order depends only on ``seed`` and the epoch.
        memory: limit of the whole process, such as "16G". What this process holds itself counts; see
            docs/reference/python.md. Without it, what is free now.
        seed: the batches are those of ``plimsoll train --seed`` with the same number.
        num_workers: threads that make batches; 0 lets the plan choose. No processes are started.
        held: batches that may exist outside the loader at the same time.
        labels: "all" for the labels of all nodes of a batch, "seeds" for those of the seeds (saves 4 bytes of
            memory per node of the graph), "none".
        draw: "uniform", or "labor" as ``plimsoll train --sampler labor``.
        subgraph_type: "directional" samples for each node once, as PyG does. "layers" samples for every layer
            anew, as ``plimsoll train`` does; :func:`plimsoll.layer_edges` cuts a batch into the graphs of its
            layers.
        node_ids: "original", or "store" for positions in the store (saves 4 bytes of memory per node of the
            graph).
        edge_ids: the ``edge_index`` that the store was made from; batches then have ``e_id``, the index of
            each sampled edge in it. Takes 16 bytes of memory for each edge of the graph, because a store has
            no numbers of edges.
        output: "auto", "numpy", "torch" or "pyg".
        device: moves every batch there (needs torch). To a GPU, batches are copied ahead, from pinned memory
            and on a stream of their own. A batch is for the stream that is current when it is handed out.
        pin_memory: batches are in pinned memory, for ``batch.to(device, non_blocking=True)`` (needs torch).
            Without a GPU a warning says so, and batches are in ordinary memory.
        transform: called with every batch; what it returns is the batch.
        generator: a ``torch.Generator`` whose initial seed is taken as ``seed``.

    The other arguments of PyG's and torch's loaders are accepted without effect, or refused with the reason;
    docs/reference/python.md lists them all.
    """

    def __init__(self, data: Union[Store, str, "os.PathLike[str]"], num_neighbors: Sequence[int],
                 input_nodes: Any = None, *, batch_size: int = 1, shuffle: bool = False, drop_last: bool = False,
                 memory: Union[None, int, str] = None, seed: int = 0, num_workers: int = 0, held: int = 3,
                 labels: str = "all", draw: str = "uniform", subgraph_type: str = "directional",
                 node_ids: str = "original", edge_ids: Any = None, output: str = "auto", device: Any = None,
                 pin_memory: bool = False, transform: Optional[Callable[[Any], Any]] = None, generator: Any = None,
                 threads: int = 0, **others: Any) -> None:
        self._handle = ctypes.c_void_p()
        self._c_close = library().plimsoll_loader_close
        self._arguments: Tuple[Any, Dict[str, Any]] = (data, dict(
            others, num_neighbors=num_neighbors, input_nodes=input_nodes, batch_size=batch_size, shuffle=shuffle,
            drop_last=drop_last, memory=memory, seed=seed, num_workers=num_workers, held=held, labels=labels, draw=draw,
            subgraph_type=subgraph_type, node_ids=node_ids, edge_ids=edge_ids, output=output, device=device,
            pin_memory=pin_memory, transform=transform, generator=generator, threads=threads))
        subgraph_type = getattr(subgraph_type, "value", subgraph_type)
        if subgraph_type != "layers":
            others["subgraph_type"] = subgraph_type
        check_arguments(others)
        self.store = self._open(data)
        self._output = choose_output(output)
        if (device is not None or pin_memory) and self._output == "numpy":
            raise UsageError("device= and pin_memory= need torch, and this loader makes NumPy batches", "usage")
        if edge_ids is not None and node_ids != "original":
            raise UsageError("edge_ids= needs node_ids='original': edges are found by the ids of their ends", "usage")
        self._edge_ids = None if edge_ids is None else EdgeIds(edge_ids, self.store.num_nodes, self.store.undirected)
        if generator is not None:
            seed = generator.initial_seed() & 0xFFFFFFFFFFFFFFFF
        self._device, self._transform = device, transform
        gpu = _gpu_of(device)
        if gpu is not None:
            self._device = import_torch().device("cuda", gpu)
        self._copies = None if gpu is None else CopiesAhead(CudaStream(self._device))
        pinning = (_library.PINNED_UNTIL_COPIED if self._copies is not None else
                   _library.PINNED if pin_memory and device is None else _library.NOT_PINNED)
        self.batch_size, self.shuffle, self.seed = batch_size, bool(shuffle), seed
        self.num_neighbors = _fanout(num_neighbors)
        options = Options(self.store, num_neighbors, batch_size=batch_size, input_nodes=input_nodes, shuffle=shuffle,
                          drop_last=drop_last, memory=memory, seed=seed, num_workers=num_workers, threads=threads,
                          held=held, labels=labels, draw=draw, layers=subgraph_type == "layers", node_ids=node_ids,
                          pinning=pinning, gpu=gpu if gpu is not None else _current_gpu() if pinning else 0)
        check(library().plimsoll_loader_open(self.store.handle, ctypes.byref(options.made), ctypes.byref(self._handle)))
        self._input_nodes, self._node_ids = input_nodes, node_ids
        self._masked = _is_mask(input_nodes)
        self._seed_count: int = (self.store.num_nodes if input_nodes is None else
                                 self.store.split_sizes[split_name(input_nodes)] if isinstance(input_nodes, str) else
                                 options.made.node_count)
        self._seed_ids: Optional[np.ndarray] = None
        #: The epoch of the next pass, which counts from 0. Set it to repeat a pass or to resume.
        self.epoch = 0
        self._passes = 0
        self._warned = False
        self._warn_if_not_pinned()
        self._batch = sized(_library.Batch)
        self._place = ctypes.byref(self._batch)
        self._c_next = library().plimsoll_loader_next

    @staticmethod
    def _open(data: Any) -> Store:
        if isinstance(data, Store):
            return data
        if isinstance(data, (str, os.PathLike)):
            return Store(data)
        raise UsageError(f"a {type(data).__name__} is not a store; make one with plimsoll.from_pyg(data, 'my.plim') and give "
                         "that", "usage")

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._c_close(self._handle)  # at the end of the interpreter, this module's names may be gone

    def close(self) -> None:
        """Gives back all memory but that of batches still in use. Happens by itself when the loader is
        gone."""
        if self._copies is not None:
            self._copies.end()
        if self._handle:
            library().plimsoll_loader_close(self._handle)
            self._handle = ctypes.c_void_p()

    def __reduce__(self) -> Any:
        data, arguments = self._arguments
        return _reopened, (data, arguments)

    @property
    def handle(self) -> ctypes.c_void_p:
        if not self._handle:
            raise UsageError("this loader is closed", "usage")
        return self._handle

    def __len__(self) -> int:
        return int(library().plimsoll_loader_batches(self.handle))

    @property
    def dataset(self) -> range:
        """The indices of all seeds in ``input_nodes``: ``len(loader.dataset)`` is how many there are."""
        return range(self._seed_count)

    def set_epoch(self, epoch: int) -> None:
        """The next pass is this epoch."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[Any]:
        _check_whole("epoch", self.epoch, 0, 2**64 - 1)
        check(library().plimsoll_loader_start(self.handle, self.epoch))
        self.epoch += 1
        self._passes += 1
        if self._copies is not None:
            self._copies.begin()
        return _Pass(self, self._passes)

    def _take(self, number: int, taken: int) -> Any:
        if self._passes != number:
            raise UsageError("another pass of this loader has begun; use two loaders to have two at a time", "usage")
        fields = self._next() if self._copies is None else self._copies.take(self._next_for_copy)
        if fields is None:
            raise StopIteration
        if taken % _STATE_EVERY == 0:
            self._warn_if_over()
            self._warn_if_not_pinned()
        return self._finish(fields) if self._copies is None else self._transformed(make_data(fields, self._output))

    def _next_for_copy(self, wait: bool) -> Any:
        """See CopiesAhead.take()."""
        fields = self._next(wait)
        return fields if fields is None or fields is NotImplemented else self._tensors(fields)

    def _next(self, wait: bool = True) -> Any:
        """The fields of the next batch; None after the last; without `wait` NotImplemented if there is none
        now."""
        collected = False
        while True:
            status = self._c_next(self.handle, _PATIENCE_MS if wait else 0, self._place)
            if status == OK:
                return fields_of(self._batch)
            if not wait and status in (WAIT, HELD):
                return NotImplemented
            if status == HELD and self._copies is not None and self._copies.wait():
                continue
            if status == HELD and not collected:
                gc.collect()  # a batch in a cycle of objects is not in use
                collected = True
                continue
            if status == HELD:
                raise HeldError(
                    "all batches that this loader lends are still in use. Delete one before the next, keep copies "
                    "(batch.clone()), or let the loader lend more (held=8)", "held")
            if check(status) == END:
                return None

    def _tensors(self, fields: Dict[str, Any]) -> Dict[str, Any]:
        if self._masked:  # PyG's index of a seed in a mask is its id
            fields["input_id"][:] = (fields["n_id"][:fields["batch_size"]] if self._node_ids == "original"
                                     else self._seeds()[fields["input_id"]])
        if self._edge_ids is not None:
            fields["e_id"] = self._edge_ids.find(*fields["n_id"][fields["edge_index"]])
        return fields if self._output == "numpy" else to_tensors(fields)

    def _transformed(self, data: Any) -> Any:
        return data if self._transform is None else self._transform(data)

    def _finish(self, fields: Dict[str, Any]) -> Any:
        data = make_data(self._tensors(fields), self._output)
        return self._transformed(data if self._device is None else data.to(self._device))

    def _seeds(self) -> np.ndarray:
        """The original ids of ``input_nodes``."""
        if self._seed_ids is None:
            nodes = self._input_nodes
            self._seed_ids = (self.store.split(nodes) if isinstance(nodes, str) else
                              np.arange(self.store.num_nodes) if nodes is None else
                              input_ids(nodes, self.store.num_nodes))
        return self._seed_ids

    def __call__(self, index: Any, number: int = 0) -> Any:
        """The batch of some seeds, now. ``index`` is their place in ``input_nodes``, as for PyG's loader.
        They draw as batch ``number`` of the epoch that comes next."""
        places = to_numpy(index)
        try:
            nodes = places if self._input_nodes is None and places.dtype != bool else self._seeds()[places]
        except IndexError as error:
            raise UsageError(f"index={index!r}: {error}; the loader has {self._seed_count} input nodes", "usage") from None
        fields = self.sample(nodes, self.epoch, number)
        fields = {"x": self.rows(fields["n_id"]), **fields}
        fields["input_id"][:] = np.flatnonzero(places) if places.dtype == bool else places
        return self._finish(fields)

    def sample(self, nodes: Any, epoch: int = 0, index: int = 0) -> Dict[str, Any]:
        """The sampled neighbourhood of some nodes as a dict of NumPy arrays, without features."""
        ids = input_ids(nodes, self.store.num_nodes)
        batch = sized(_library.Batch)
        check(library().plimsoll_loader_sample(self.handle, ids.ctypes.data, len(ids), epoch, index, ctypes.byref(batch)))
        return fields_of(batch)

    def rows(self, nodes: Any) -> np.ndarray:
        """The features of these nodes (original ids), in their order."""
        ids = input_ids(nodes, self.store.num_nodes)
        out = np.empty((len(ids), self.store.num_features), dtype=np.float32)
        check(library().plimsoll_loader_rows(self.handle, ids.ctypes.data, len(ids), out.ctypes.data))
        return out

    def labels(self, nodes: Any) -> np.ndarray:
        """The labels of these nodes; -1 = unlabelled."""
        ids = input_ids(nodes, self.store.num_nodes)
        out = np.empty(len(ids), dtype=np.int64)
        check(library().plimsoll_loader_labels(self.handle, ids.ctypes.data, len(ids), out.ctypes.data))
        return out

    def state(self) -> Dict[str, int]:
        """Memory and reads so far: the limit, what loaders and the rest of the process hold, rows read from
        disk."""
        state = sized(_library.LoaderState)
        check(library().plimsoll_loader_state_now(self.handle, ctypes.byref(state)))
        return {name: getattr(state, name) for name, _ in state._fields_ if name != "size"}

    def _warn_if_not_pinned(self) -> None:
        problem = library().plimsoll_loader_pinning_problem(self.handle).decode(errors="replace")
        if not problem or problem in _told:
            return
        _told.add(problem)
        warnings.warn(f"batches are in ordinary memory, from which copies to a GPU are slower: {problem}", RuntimeWarning,
                      stacklevel=3)

    def _warn_if_over(self) -> None:
        state = self.state()
        if not state["over_bytes"] or self._warned:
            return
        self._warned = True
        warnings.warn(
            f"this process holds {format_bytes(state['host_bytes'])} besides its loaders, which need "
            f"{format_bytes(state['leased_bytes'])}: {format_bytes(state['over_bytes'])} more than the limit of "
            f"{format_bytes(state['limit_bytes'])}. Raise memory=, or make the model or its batches smaller",
            RuntimeWarning, stacklevel=4)

    def __repr__(self) -> str:
        return (f"NeighborLoader({str(self.store.path)!r}, num_neighbors={self.num_neighbors}, "
                f"batch_size={self.batch_size}, batches={len(self) if self._handle else 'closed'}, shuffle={self.shuffle}, "
                f"seed={self.seed})")


_told: Set[str] = set()  # why memory is not pinned: said once in a process


def _gpu_of(device: Any) -> Optional[int]:
    """The index of a GPU; None for another device, or if torch cannot use it: then torch says so when a batch
    is moved."""
    if device is None:
        return None  # loading torch takes some 200 MiB, which a program without tensors does not need
    torch = import_torch()
    if torch is None or not torch.cuda.is_available() or torch.version.cuda is None:
        return None
    wanted = torch.device(device)
    if wanted.type != "cuda":
        return None
    return int(torch.cuda.current_device() if wanted.index is None else wanted.index)


def _current_gpu() -> int:
    torch = import_torch()
    return int(torch.cuda.current_device()) if torch is not None and torch.cuda.is_available() else 0


def _reopened(data: Any, arguments: Dict[str, Any]) -> NeighborLoader:
    return NeighborLoader(data, **arguments)


def layer_edges(batch: Any) -> List[Any]:
    """The graphs of the layers of a batch with ``subgraph_type="layers"``, in the order of computation: an
    ``edge_index`` for each layer. The first layer computes all nodes that later layers need."""
    ends = np.cumsum([0] + list(batch.num_sampled_edges)).tolist()
    return [batch.edge_index[:, ends[i]:ends[i + 1]] for i in reversed(range(len(ends) - 1))]
