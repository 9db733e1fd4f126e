"""The arguments of PyG's NeighborLoader and of torch's DataLoader: which are refused, and why."""
from __future__ import annotations

from typing import Any, Dict, Tuple

from ._library import UsageError

#: Arguments that change nothing here, with the reason. Any value is accepted.
WITHOUT_EFFECT = {
    "is_sorted": "a store's lists are always sorted",
    "filter_per_worker": "the threads that sample also collect the rows",
    "prefetch_factor": "the plan decides how many batches are made ahead",
    "persistent_workers": "threads are kept from pass to pass",
    "in_order": "batches always come in the order of seed and epoch",
    "pin_memory_device": "batches are pinned for the current device",
}

#: Arguments that are refused unless they have this value, with the reason.
REFUSED: Dict[str, Tuple[Any, str]] = {
    "input_time": (None, "a store has no times"),
    "time_attr": (None, "a store has no times"),
    "temporal_strategy": ("uniform", "a store has no times"),
    "weight_attr": (None, "a store has no edge weights"),
    "replace": (False, "neighbours are drawn without replacement"),
    "disjoint": (False, "the nodes of a batch are distinct"),
    "directed": (True, "only sampled edges are part of a batch"),
    "subgraph_type": ("directional", "only sampled edges are part of a batch, in their own direction; "
                                     "'layers' gives one graph per layer"),
    "transform_sampler_output": (None, "sampling and reading are one step; use transform"),
    "neighbor_sampler": (None, "batches are drawn by Plimsoll itself"),
    "custom_cls": (None, "batches are homogeneous graphs"),
    "input_id": (None, "the index of a node in input_nodes is its input_id"),
    "dataset": (None, "the seeds are input_nodes"),
    "sampler": (None, "the order comes from seed and epoch; use shuffle, or give input_nodes in your order"),
    "batch_sampler": (None, "the order comes from seed and epoch; use batch_size, shuffle and drop_last"),
    "collate_fn": (None, "there is nothing to collate; use transform"),
    "worker_init_fn": (None, "workers are threads, not processes"),
    "multiprocessing_context": (None, "workers are threads, not processes"),
    "timeout": (0, "waiting for a batch ends with Ctrl-C"),
}


def _equal(value: Any, default: Any) -> bool:
    try:
        return bool(value == default)
    except (RuntimeError, TypeError, ValueError):  # a tensor or an array, which has no one answer
        return False


def check_arguments(given: Dict[str, Any]) -> None:
    """Refuses what is not supported, by name and with the reason."""
    for name, value in given.items():
        if name in WITHOUT_EFFECT:
            continue
        if name not in REFUSED:
            raise UsageError(f"{name}= is not an argument of NeighborLoader", "usage")
        default, reason = REFUSED[name]
        value = getattr(value, "value", value)  # PyG has enums for some
        if value is not default and not _equal(value, default):
            raise UsageError(f"{name}={value!r} is not supported: {reason}", "usage")
