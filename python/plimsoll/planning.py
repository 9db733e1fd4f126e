"""What a loader will hold in memory, before anything is loaded."""
from __future__ import annotations

import ctypes
import html
import json
import os
from typing import Any, Dict, List, Sequence, Tuple, Union

from ._library import check, library
from ._memory import format_bytes
from .loader import Options
from .store import Store


class Plan:
    """The plan of a loader. ``plan["minimum_bytes"]`` and ``plan.minimum_bytes`` are the same;
    docs/reference/memory.md lists the keys, :meth:`keys` too. True if it fits."""

    def __init__(self, values: Dict[str, Any]) -> None:
        self._values = values

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_values"][name]
        except KeyError:
            raise AttributeError(f"a plan has no {name!r}; it has {', '.join(self._values)}") from None

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __bool__(self) -> bool:
        return bool(self._values["fits"])

    def keys(self) -> List[str]:
        return list(self._values)

    def to_dict(self) -> Dict[str, Any]:
        return dict(self._values)

    def _lines(self) -> List[Tuple[str, str]]:
        values = self._values
        rows = [("fits", "yes" if values["fits"] else f"no: needs {format_bytes(values['minimum_bytes'])} at least"),
                ("limit", format_bytes(values["limit_bytes"])),
                ("peak", format_bytes(values["peak_bytes"]))]
        rows += [("  " + name, format_bytes(count)) for name, count in values["parts_bytes"].items() if count]
        rows += [("features", f"{100 * values['resident']['features']:.0f} % in memory, "
                              f"{100 * values['hits']['rows']:.0f} % of visits"),
                 ("workers", str(values["workers"])),
                 ("batches", f"{values['batches']:,} per epoch")]
        if values.get("epoch_seconds"):
            rows.append(("epoch", f"{values['epoch_seconds']:.1f} s to make its batches"))
        return rows

    def __repr__(self) -> str:
        return "Plan\n" + "\n".join(f"  {what:<12} {value}" for what, value in self._lines())

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th style='text-align:left'>{html.escape(what).replace(' ', '&nbsp;')}</th>"
                       f"<td>{html.escape(value)}</td></tr>" for what, value in self._lines())
        return f"<table><caption>Plan</caption>{rows}</table>"


def plan(store: Union[Store, str, "os.PathLike[str]"], num_neighbors: Sequence[int], *, batch_size: int = 1,
         input_nodes: Any = None, shuffle: bool = False, memory: Union[None, int, str] = None, num_workers: int = 0,
         held: int = 3, labels: str = "all", draw: str = "uniform", node_ids: str = "original", threads: int = 0) -> Plan:
    """The plan of a :class:`NeighborLoader` with these arguments: what it would hold, and whether that fits.

    ``shuffle`` matters: without it, the first batches of a split hold its nodes with the largest
    neighbourhoods, and need more memory than batches of random nodes.
    ``memory`` may be more than this machine has. What this process holds now counts as the host's part
    (``host_bytes``), so plan after the model was made. For the plan of a native training, use
    ``plimsoll plan``.

    >>> plan("papers.plim", [15, 10], batch_size=1024, input_nodes="train", shuffle=True, memory="16G")
    """
    opened = store if isinstance(store, Store) else Store(store)
    options = Options(opened, num_neighbors, batch_size=batch_size, input_nodes=input_nodes, shuffle=shuffle, memory=memory,
                      num_workers=num_workers, held=held, labels=labels, draw=draw, node_ids=node_ids, threads=threads)
    text = ctypes.c_void_p()
    check(library().plimsoll_plan(opened.handle, ctypes.byref(options.made), ctypes.byref(text)))
    try:
        return Plan(json.loads(ctypes.string_at(text.value).decode()))
    finally:
        library().plimsoll_text_free(text)
