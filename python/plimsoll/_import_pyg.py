"""What ``plimsoll import pyg`` runs: a file of torch.save with a graph of PyG becomes a store. Needs NumPy,
but neither torch nor PyG."""
from __future__ import annotations

import json
import resource
import sys
import time
import types
from typing import Any, Dict, List

import numpy as np

from . import _torch_file
from ._library import _KINDS, PlimsollError
from ._memory import format_bytes
from ._torch_file import Holder
from .importing import PYG_FIELDS, SEVERAL_TYPES, edge_fields, from_pyg


def _fields(value: Any, path: str) -> Dict[str, Any]:
    """The fields of the graph in a file: of a Data, of its dict, or of an InMemoryDataset."""
    if isinstance(value, (tuple, list)) and value:  # (data, slices), since PyG 2.4 (dict, slices, class)
        slices = value[1] if len(value) > 1 else None
        ends = slices.values() if isinstance(slices, dict) else ()
        graphs = max((len(one) - 1 for one in ends if isinstance(one, np.ndarray)), default=1)
        if graphs > 1:
            raise PlimsollError(f"{path} has {graphs} graphs; a store is one graph", "input")
        value = value[0]
    if isinstance(value, Holder):
        inner = value.__dict__.get("_store")
        if "_edge_store_dict" in value.__dict__:
            raise PlimsollError(f"{path} has a {type(value).__name__} with {SEVERAL_TYPES}", "input")
        value = inner.__dict__.get("_mapping") if isinstance(inner, Holder) else value.__dict__ or value
    if not isinstance(value, dict):
        raise PlimsollError(f"{path} has no graph: it must have a Data of PyG, a dict of its fields, or be the file of an "
                            "InMemoryDataset", "input")
    if any(isinstance(name, tuple) for name in value):  # (from, relation, to): the dict of a HeteroData
        raise PlimsollError(f"{path} has {SEVERAL_TYPES}", "input")
    return {str(name): field for name, field in value.items() if field is not None}


def _names(names: List[str]) -> str:
    return ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")


def _check(fields: Dict[str, Any], path: str, ignore: List[str]) -> None:
    for name in edge_fields(fields):
        if name not in ignore:
            raise PlimsollError(f"{path} has {name}, with values for edges, and a store has no place for it; --ignore {name} "
                                "imports the rest", "input")
    for name, what in (("edge_index", "edges"), ("x", "features")):
        if name not in fields:
            raise PlimsollError(f"{path} has no {name}, so there are no {what}; it has {_names(sorted(fields)) or 'nothing'}",
                                "input")
    for name in PYG_FIELDS:
        field = fields.get(name)
        if field is not None and name not in ignore and not isinstance(field, np.ndarray):
            kind = field.name() if isinstance(field, Holder) else type(field).__name__
            raise PlimsollError(f"{name} in {path} is not a dense tensor (it is of type {kind}); save the graph with dense "
                                "tensors", "input")


def import_file(options: Dict[str, Any], say: Any) -> Dict[str, Any]:
    """Makes the store; returns what --json prints."""
    start, path, ignore = time.monotonic(), options["file"], options["ignore"]
    fields = _fields(_torch_file.read(path), path)
    _check(fields, path, ignore)
    given = {name: fields[name] for name in PYG_FIELDS if name in fields and name not in ignore}
    left = [name for name in fields if name in ignore]
    unknown = [name for name in fields if name not in PYG_FIELDS and name not in ignore and name != "num_nodes"]
    say(f"importing {path}: {', '.join(given)}")
    if left:
        say(f"  left out  {_names(left)}, by --ignore")
    if unknown:
        note = f"not read, because a store has no place for it: {_names(unknown)}"
        say(f"  note      {note}")
        if options["quiet"] and not options["json"]:
            print(f"note: {note}", file=sys.stderr)
    store = from_pyg(types.SimpleNamespace(**given), options["out"], mask_column=options["mask_column"],
                     undirected=options["undirected"], features=options["features"], name=options["name"] or None,
                     memory=options["memory"] or None, replace=options["force"], threads=options["threads"])
    direction = "undirected: reverse edges added, duplicates removed" if store.undirected else "directed, as listed"
    say(f"  direction {direction}")
    seconds, peak = time.monotonic() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    say(f"wrote {options['out']}: {store.num_nodes:,} nodes, {store.num_edges:,} edges, {format_bytes(store.size_bytes)} in "
        f"{seconds:.1f} s; peak memory {format_bytes(peak)}")
    return {"nodes": store.num_nodes, "edges": store.num_edges,
            "direction": "undirected" if store.undirected else "directed", "read": list(given), "left_out": left,
            "not_read": unknown, "out": options["out"], "bytes": store.size_bytes, "seconds": seconds,
            "peak_memory_bytes": peak}


def main(words: List[str]) -> int:
    """Takes the options as JSON; returns an exit code of the program."""
    options = json.loads(words[0])
    silent = options["quiet"] or options["json"]
    try:
        summary = import_file(options, lambda line: None if silent else print(line, flush=True))
    except PlimsollError as error:
        print(f"plimsoll import pyg: {error}", file=sys.stderr)
        return next((code for code, kind in _KINDS.items() if kind == error.kind), 1)
    except KeyboardInterrupt:
        print("plimsoll import pyg: ended by signal 2 (Interrupt)", file=sys.stderr)
        return 130
    if options["json"]:
        print(json.dumps(summary, indent=2))
    return 0
