"""Reads what torch.save has written, without torch: tensors as NumPy arrays that lie in the file (mapped, not
copied).

No code of the file is run. Of its pickle only tensors, arrays and plain containers are made; any other object
becomes a :class:`Holder` of its fields.
"""
from __future__ import annotations

import collections
import pickle
import struct
import zipfile
from typing import Any, Dict, Tuple

import numpy as np

from ._library import PlimsollError

_TYPES = {"DoubleStorage": "<f8", "FloatStorage": "<f4", "HalfStorage": "<f2", "LongStorage": "<i8", "IntStorage": "<i4",
          "ShortStorage": "<i2", "CharStorage": "i1", "ByteStorage": "u1", "BoolStorage": "?", "BFloat16Storage": "<u2"}
_BFLOAT16 = "BFloat16Storage"
_PLAIN = {("collections", "OrderedDict"): collections.OrderedDict, ("builtins", "set"): set,
          ("builtins", "frozenset"): frozenset, ("builtins", "slice"): slice, ("torch", "Size"): tuple}


class Holder:
    """Takes the place of an object that is not made; its fields are attributes."""

    def __new__(cls, *_: Any, **__: Any) -> "Holder":
        return object.__new__(cls)

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __setitem__(self, _: Any, __: Any) -> None:
        pass

    def append(self, _: Any) -> None:
        pass

    def extend(self, _: Any) -> None:
        pass

    @classmethod
    def name(cls) -> str:
        return f"{cls.__module__}.{cls.__name__}"


class _Storage:
    def __init__(self, kind: str, values: np.ndarray) -> None:
        self.kind, self.values = kind, values


def _tensor(storage: _Storage, offset: int, size: Tuple[int, ...], stride: Tuple[int, ...], *_: Any) -> np.ndarray:
    last = offset + sum((length - 1) * step for length, step in zip(size, stride))
    empty = 0 in size
    if min((offset, *size, *stride)) < 0 or len(size) != len(stride) or (not empty and last >= len(storage.values)):
        raise PlimsollError(f"a tensor of size {tuple(size)} is larger than its {len(storage.values)} values", "input")
    values = storage.values[offset:]
    if empty:
        values, stride = values[:0], (0,) * len(size)
    view = np.lib.stride_tricks.as_strided(values, size, [step * values.itemsize for step in stride], writeable=False)
    return (view.astype(np.uint32) << 16).view(np.float32) if storage.kind == _BFLOAT16 else view


def _subclass(make: Any, kind: Any, arguments: Any, state: Any) -> Any:
    """A tensor of a class of its own, such as PyG's EdgeIndex: its values are its own, or those of the tensor
    inside it."""
    fields = state[0] if isinstance(state, tuple) and state else state
    inner = fields.get("_data") if isinstance(fields, dict) else None
    made = inner if isinstance(inner, np.ndarray) else make(*arguments)
    return made if isinstance(made, np.ndarray) or not isinstance(kind, type) else kind()


_FUNCTIONS = {("torch._utils", "_rebuild_tensor_v2"): _tensor, ("torch._utils", "_rebuild_tensor"): _tensor,
              ("torch._utils", "_rebuild_parameter"): lambda data, *_: data,
              ("torch._utils", "_rebuild_parameter_with_state"): lambda data, *_: data,
              ("torch._tensor", "_rebuild_from_type_v2"): _subclass, ("torch._tensor", "_rebuild_from_type"): _subclass}


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: Any, path: str, archive: zipfile.ZipFile, folder: str) -> None:
        super().__init__(file, encoding="utf-8")
        self._path, self._archive, self._folder = path, archive, folder
        self._storages: Dict[str, _Storage] = {}

    def find_class(self, module: str, name: str) -> Any:
        if module == "torch" and name in _TYPES:
            return name
        known = _PLAIN.get((module, name)) or _FUNCTIONS.get((module, name))
        return known or type(name, (Holder,), {"__module__": module})

    def persistent_load(self, ident: Any) -> _Storage:
        what, kind, key, _, count = ident
        if what != "storage" or kind not in _TYPES:
            raise PlimsollError(f"{self._path} has values of an unknown type: {getattr(kind, '__name__', kind)}", "input")
        if key not in self._storages:
            self._storages[key] = _Storage(kind, self._values(f"{self._folder}/data/{key}", np.dtype(_TYPES[kind]), count))
        return self._storages[key]

    def _values(self, member: str, kind: np.dtype, count: int) -> np.ndarray:
        info = self._archive.getinfo(member)
        if info.compress_type != zipfile.ZIP_STORED or info.file_size < count * kind.itemsize:
            raise PlimsollError(f"{self._path}: {member} has {info.file_size} bytes, compressed or too few for {count} values",
                                "input")
        if count == 0:
            return np.empty(0, kind)
        with open(self._path, "rb") as file:
            file.seek(info.header_offset + 26)
            name_bytes, extra_bytes = struct.unpack("<HH", file.read(4))
        begin = info.header_offset + 30 + name_bytes + extra_bytes
        values = np.memmap(self._path, dtype=kind, mode="r", offset=begin, shape=(count,))
        return values if values.flags.aligned else np.array(values)


def read(path: str) -> Any:
    """The object in a file of torch.save (torch 1.6 or later)."""
    try:
        with zipfile.ZipFile(path) as archive:
            pickles = [name for name in archive.namelist() if name.endswith("/data.pkl")]
            if not pickles:
                raise PlimsollError(f"{path} is a zip file without data.pkl, so not one of torch.save", "input")
            with archive.open(pickles[0]) as file:
                return _Unpickler(file, path, archive, pickles[0][:-len("/data.pkl")]).load()
    except PlimsollError:
        raise
    except zipfile.BadZipFile:
        raise PlimsollError(f"{path} is not a file of torch.save, or of torch before 1.6; load it and save it again, with "
                            "torch.save(data.to_dict(), …)", "input") from None
    except OSError as error:
        raise PlimsollError(f"{path} cannot be read: {error.strerror or error}", "io") from None
    except Exception as error:  # whatever a broken pickle does
        raise PlimsollError(f"{path} is damaged: {type(error).__name__}: {error}", "input") from None
