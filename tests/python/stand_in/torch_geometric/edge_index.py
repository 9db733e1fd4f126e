import enum

import torch


class SortOrder(enum.Enum):
    ROW = "row"
    COL = "col"


class EdgeIndex(torch.Tensor):
    """As PyG's: a tensor without memory of its own around a plain one."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, data, *, sparse_size=(None, None), sort_order=None):
        made = torch.Tensor._make_wrapper_subclass(cls, size=data.size(), strides=data.stride(), dtype=data.dtype,
                                                   device=data.device, layout=data.layout, requires_grad=False)
        made._data, made._sparse_size = data, sparse_size
        made._sort_order = None if sort_order is None else SortOrder(sort_order)
        made._indptr = None
        return made

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        def plain(value):
            return value._data if isinstance(value, cls) else value
        return function(*map(plain, args), **(kwargs or {}))

    def as_tensor(self):
        return self._data
