"""A stand-in for the parts of PyTorch Geometric that the package uses, after the sources of PyG 2.8. It shows
that our code runs; it does not show that it works with PyG itself."""
from torch_geometric.edge_index import EdgeIndex  # noqa: F401

__version__ = "stand-in"
