"""A small graph in arrays, and its store, for all tests."""
import functools
import os
import shutil
import tempfile
import unittest

import numpy as np

import plimsoll

NODES, EDGES, COLUMNS, CLASSES = 3000, 24000, 9, 7


class Graph:
    def __init__(self):
        random = np.random.default_rng(1)
        self.edge_index = random.integers(0, NODES, (2, EDGES))
        self.edge_index = np.unique(self.edge_index[:, self.edge_index[0] != self.edge_index[1]], axis=1)
        self.x = random.random((NODES, COLUMNS), dtype=np.float32)
        self.y = random.integers(0, CLASSES, NODES)
        part = random.permutation(NODES) % 4
        self.train, self.valid, self.test = part < 2, part == 2, part == 3
        self.edges = set(zip(*self.edge_index.tolist()))


@functools.lru_cache(None)
def graph():
    return Graph()


def has_torch():
    try:
        import torch  # noqa: F401
    except ImportError:
        return False
    return True


class StoreTest(unittest.TestCase):
    """Has ``self.path``, a store of graph(), in a folder that goes after the tests of the class."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="plimsoll-test-")
        cls.path = os.path.join(cls.folder, "small.plim")
        made = graph()
        plimsoll.from_numpy(made.edge_index, made.x, cls.path, y=made.y, train=made.train, valid=made.valid, test=made.test,
                            features="f32")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def loader(self, *args, **options):
        options.setdefault("output", "numpy")
        options.setdefault("batch_size", 64)
        return plimsoll.NeighborLoader(plimsoll.Store(self.path), *(args or ([5, 3],)), **options)
