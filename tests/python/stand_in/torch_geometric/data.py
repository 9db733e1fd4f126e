from dataclasses import dataclass
from typing import Any, Optional, Tuple


class Data:
    def __init__(self, **fields):
        self.__dict__.update(fields)

    def to(self, device, non_blocking=False):
        return Data(**{name: value.to(device) if hasattr(value, "to") else value for name, value in self.__dict__.items()})


@dataclass
class TensorAttr:
    group_name: Optional[str] = None
    attr_name: Optional[str] = None
    index: Any = None


@dataclass
class EdgeAttr:
    edge_type: Any = None
    layout: Any = None
    is_sorted: bool = False
    size: Optional[Tuple[int, int]] = None


class FeatureStore:
    def __init__(self, tensor_attr_cls=TensorAttr):
        self.tensor_attr_cls = tensor_attr_cls

    def get_tensor(self, attr):
        return self._get_tensor(attr)

    def put_tensor(self, tensor, attr):
        return self._put_tensor(tensor, attr)

    def multi_get_tensor(self, attrs):
        return [self._get_tensor(attr) for attr in attrs]


class GraphStore:
    def __init__(self, edge_attr_cls=EdgeAttr):
        self.edge_attr_cls = edge_attr_cls

    def get_edge_index(self, attr):
        return self._get_edge_index(attr)
