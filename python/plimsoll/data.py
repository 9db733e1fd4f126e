"""A batch for programs without PyTorch Geometric: fields as attributes."""
from __future__ import annotations

from typing import Any, Dict, Iterator, List

import numpy as np


class Data:
    """Fields by name, like ``torch_geometric.data.Data``, whose place it takes where PyG is not installed.

    ``batch.x`` and ``batch["x"]`` are the same. :meth:`to` copies tensors to a device, :meth:`clone` copies
    everything, so that the loader's memory is free for the next batch.
    """

    def __init__(self, **fields: Any) -> None:
        self.__dict__["_fields"]: Dict[str, Any] = dict(fields)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_fields"][name]
        except KeyError:
            raise AttributeError(f"this batch has no {name!r}; it has {', '.join(self.keys())}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self._fields[name] = value

    def __delattr__(self, name: str) -> None:
        del self._fields[name]

    def __len__(self) -> int:
        return len(self.keys())

    def __getitem__(self, name: str) -> Any:
        return self._fields[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._fields[name] = value

    __delitem__ = __delattr__

    def __contains__(self, name: str) -> bool:
        return name in self._fields

    def __iter__(self) -> Iterator[Any]:
        return iter(self._fields.items())

    def __copy__(self) -> "Data":
        return Data(**self._fields)

    def __getstate__(self) -> Dict[str, Any]:
        return self._fields

    def __setstate__(self, fields: Dict[str, Any]) -> None:
        self.__dict__["_fields"] = fields

    def keys(self) -> List[str]:
        return [name for name, value in self._fields.items() if value is not None]

    def to_dict(self) -> Dict[str, Any]:
        return dict(self._fields)

    @property
    def num_nodes(self) -> int:
        return len(self._fields["n_id"])

    @property
    def num_edges(self) -> int:
        return int(self._fields["edge_index"].shape[1])

    @property
    def num_node_features(self) -> int:
        x = self._fields.get("x")
        return 0 if x is None else int(x.shape[1])

    num_features = num_node_features

    def _map(self, change: Any) -> "Data":
        return Data(**{name: change(value) for name, value in self._fields.items()})

    def clone(self) -> "Data":
        """A copy that does not use the loader's memory."""
        return self._map(lambda value: value.copy() if isinstance(value, np.ndarray)
                         else value.clone() if hasattr(value, "clone") else value)

    def to(self, device: Any, non_blocking: bool = False) -> "Data":
        """A copy with all tensors on the device."""
        return self._map(lambda value: value.to(device, non_blocking=non_blocking) if hasattr(value, "to") else value)

    def cpu(self) -> "Data":
        return self.to("cpu")

    def cuda(self, device: Any = "cuda", non_blocking: bool = False) -> "Data":
        return self.to(device, non_blocking)

    def pin_memory(self) -> "Data":
        return self._map(lambda value: value.pin_memory() if hasattr(value, "pin_memory") else value)

    def __repr__(self) -> str:
        def size(value: Any) -> str:
            if hasattr(value, "shape"):
                return "[" + ", ".join(str(length) for length in value.shape) + "]"
            return f"[{len(value)}]" if isinstance(value, (list, tuple)) else repr(value)
        return "Data(" + ", ".join(f"{name}={size(self._fields[name])}" for name in self.keys()) + ")"
