"""Plimsoll: train on graphs that are larger than memory.

>>> from plimsoll import NeighborLoader, Store
>>> store = Store("papers.plim")
>>> loader = NeighborLoader(store, num_neighbors=[15, 10], batch_size=1024, input_nodes="train", memory="16G")

docs/reference/python.md is the manual.
"""
try:
    import numpy as _numpy  # noqa: F401
except ImportError:
    raise ImportError("plimsoll needs NumPy in Python: pip install numpy. The program does not need it") from None

from ._library import HeldError, MemoryLimitError, PlimsollError, UsageError, library as _library_opened
from .data import Data
from .importing import from_networkx, from_numpy, from_ogb, from_pyg, from_scipy
from .inference import layerwise
from .loader import NeighborLoader, layer_edges
from .model import load
from .planning import Plan, plan
from .program import Run, Runs, fit, results
from .store import Store


def __getattr__(name: str) -> str:
    """__version__ is the library's: the number stands in one place, CMakeLists.txt."""
    if name == "__version__":
        return _library_opened().plimsoll_version().decode()
    raise AttributeError(f"module 'plimsoll' has no attribute '{name}'")


__all__ = [
    "Data", "HeldError", "MemoryLimitError", "NeighborLoader", "Plan", "PlimsollError", "Run", "Runs", "Store", "UsageError",
    "fit", "from_networkx", "from_numpy", "from_ogb", "from_pyg", "from_scipy", "layer_edges", "layerwise", "load", "plan",
    "results",
]
