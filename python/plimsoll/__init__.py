"""Plimsoll: train on graphs that are larger than memory.

>>> from plimsoll import NeighborLoader, Store
>>> store = Store("papers.plim")
>>> loader = NeighborLoader(store, num_neighbors=[15, 10], batch_size=1024, input_nodes="train", memory="16G")

docs/python.md is the manual.
"""
try:
    import numpy as _numpy  # noqa: F401
except ImportError:
    raise ImportError("plimsoll needs NumPy in Python: pip install numpy. The program does not need it") from None

from ._library import HeldError, MemoryLimitError, PlimsollError, UsageError
from .data import Data
from .importing import from_networkx, from_numpy, from_ogb, from_pyg, from_scipy
from .inference import layerwise
from .loader import NeighborLoader, layer_edges
from .model import load
from .planning import Plan, plan
from .program import Run, fit
from .store import Store

__version__ = "0.2.0"

__all__ = [
    "Data", "HeldError", "MemoryLimitError", "NeighborLoader", "Plan", "PlimsollError", "Run", "Store", "UsageError",
    "fit", "from_networkx", "from_numpy", "from_ogb", "from_pyg", "from_scipy", "layer_edges", "layerwise", "load", "plan",
]
