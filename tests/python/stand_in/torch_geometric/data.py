"""As torch_geometric.data: what a TensorAttr and an EdgeAttr accept, and how the stores cast and check
them."""
import enum
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any


class Data:
    def __init__(self, **values):
        self.__dict__.update(values)

    def to(self, device, non_blocking=False):
        return Data(**{name: value.to(device) if hasattr(value, "to") else value for name, value in self.__dict__.items()})


class _Cast:
    @classmethod
    def cast(cls, *args, **options):
        if len(args) == 1 and not options:
            one = args[0]
            if one is None or isinstance(one, _Cast):
                return one
            if isinstance(one, tuple):
                return cls(*one)
            if isinstance(one, dict):
                return cls(**one)
        return cls(*args, **options)


class _FieldStatus(enum.Enum):
    UNSET = None


@dataclass
class TensorAttr(_Cast):
    group_name: Any = _FieldStatus.UNSET
    attr_name: Any = _FieldStatus.UNSET
    index: Any = _FieldStatus.UNSET

    def is_set(self, name):
        return getattr(self, name) != _FieldStatus.UNSET

    def is_fully_specified(self):
        return all(self.is_set(field.name) for field in fields(self))


class EdgeLayout(enum.Enum):
    COO = "coo"
    CSC = "csc"
    CSR = "csr"


@dataclass
class EdgeAttr(_Cast):
    edge_type: Any
    layout: EdgeLayout
    is_sorted: bool = False
    size: Any = None

    def __post_init__(self):
        self.layout = EdgeLayout(self.layout)
        self.is_sorted = self.is_sorted or self.layout is EdgeLayout.CSC


class FeatureStore(ABC):
    def __init__(self, tensor_attr_cls=None):
        super().__init__()
        self.__dict__["_tensor_attr_cls"] = tensor_attr_cls or TensorAttr

    def _whole(self, *args, **options):
        attr = self._tensor_attr_cls.cast(*args, **options)
        if not attr.is_fully_specified():
            raise ValueError(f"{attr} is not fully specified")
        return attr

    @abstractmethod
    def _put_tensor(self, tensor, attr): ...

    @abstractmethod
    def _get_tensor(self, attr): ...

    @abstractmethod
    def _remove_tensor(self, attr): ...

    @abstractmethod
    def _get_tensor_size(self, attr): ...

    @abstractmethod
    def get_all_tensor_attrs(self): ...

    def put_tensor(self, tensor, *args, **options):
        return self._put_tensor(tensor, self._whole(*args, **options))

    def remove_tensor(self, *args, **options):
        return self._remove_tensor(self._whole(*args, **options))

    def get_tensor(self, *args, **options):
        return self._get_tensor(self._whole(*args, **options))

    def _multi_get_tensor(self, attrs):
        return [self._get_tensor(attr) for attr in attrs]

    def multi_get_tensor(self, attrs):
        return self._multi_get_tensor([self._whole(attr) for attr in attrs])

    def get_tensor_size(self, *args, **options):
        attr = self._tensor_attr_cls.cast(*args, **options)
        if not attr.is_set("index"):
            attr.index = None
        return self._get_tensor_size(attr)


class GraphStore(ABC):
    def __init__(self, edge_attr_cls=None):
        super().__init__()
        self.__dict__["_edge_attr_cls"] = edge_attr_cls or EdgeAttr

    @abstractmethod
    def _put_edge_index(self, edge_index, edge_attr): ...

    @abstractmethod
    def _get_edge_index(self, edge_attr): ...

    @abstractmethod
    def _remove_edge_index(self, edge_attr): ...

    @abstractmethod
    def get_all_edge_attrs(self): ...

    def get_edge_index(self, *args, **options):
        attr = self._edge_attr_cls.cast(*args, **options)
        found = self._get_edge_index(attr)
        if found is None:
            raise KeyError(f"no edge_index for {attr}")
        return found
