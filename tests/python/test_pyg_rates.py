"""bench/pyg_loader.py, which measures PyTorch Geometric: what it reads of a store, and its steps, with
stand-ins for PyG's loader and models."""
import contextlib
import importlib.util
import io
import os
import sys
import types
import unittest
from unittest import mock

import numpy as np

import plimsoll
from graphs import COLUMNS, NODES, StoreTest, graph, has_torch

BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench", "pyg_loader.py")


def load_script():
    spec = importlib.util.spec_from_file_location("pyg_loader", BENCH)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def pyg_modules(batch_sizes):
    """Modules as PyG has them: a loader whose batches are the whole graph, and models of one matrix."""
    import torch

    class Data(types.SimpleNamespace):
        def to(self, device):
            return self

    class NeighborLoader:
        def __init__(self, data, num_neighbors, input_nodes, batch_size, shuffle, num_workers, persistent_workers):
            self.data, self.nodes, self.batch_size = data, input_nodes, batch_size

        def __iter__(self):
            for nodes in self.nodes.split(self.batch_size):
                batch_sizes.append(len(nodes))
                order = torch.cat([nodes, nodes[:3]])
                yield Data(x=self.data.x[order], edge_index=self.data.edge_index[:, :5], y=self.data.y[order],
                           batch_size=len(nodes))

    class Model(torch.nn.Module):
        def __init__(self, in_channels, hidden_channels, num_layers, out_channels, dropout, **options):
            super().__init__()
            self.lin = torch.nn.Linear(in_channels, out_channels)

        def forward(self, x, edge_index):
            return self.lin(x)

    modules = {name: types.ModuleType(name) for name in ("torch_geometric", "torch_geometric.data",
                                                         "torch_geometric.loader", "torch_geometric.nn")}
    modules["torch_geometric"].__version__ = "stand-in"
    modules["torch_geometric.data"].Data = Data
    modules["torch_geometric.loader"].NeighborLoader = NeighborLoader
    for model in ("GCN", "GraphSAGE", "GAT"):
        setattr(modules["torch_geometric.nn"], model, Model)
    return modules


class PygRates(StoreTest):
    def test_reads_the_graph_of_a_store(self):
        edges, x, y, train = load_script().read_store(self.path)
        ids, made = plimsoll.Store(self.path).ids(), graph()
        self.assertEqual(set(zip(*ids[edges].tolist())), made.edges)
        self.assertTrue((np.diff(edges[1]) >= 0).all(), "sorted by destination")
        self.assertEqual(x.shape, (NODES, COLUMNS))
        np.testing.assert_array_equal(x, made.x[ids])
        np.testing.assert_array_equal(y, made.y[ids])
        self.assertEqual(set(ids[train]), set(np.flatnonzero(made.train)))

    @unittest.skipUnless(has_torch(), "there is no torch")
    def test_trains_every_node_in_every_epoch(self):
        for model in ("gcn", "sage", "gat"):
            sizes, output = [], io.StringIO()
            words = ["pyg_loader.py", self.path, "--model", model, "--epochs", "2", "--device", "cpu", "--batch-size", "100"]
            with mock.patch.dict(sys.modules, pyg_modules(sizes)), mock.patch.object(sys, "argv", words), \
                    contextlib.redirect_stdout(output):
                load_script().main()
            self.assertEqual(sum(sizes), 2 * int(graph().train.sum()))
            self.assertIn(f"| {model} 100, [15, 10], 256 | cpu, 8 workers |", output.getvalue())

    def test_says_what_it_needs(self):
        with mock.patch.dict(sys.modules, {"torch_geometric": None}), mock.patch.object(sys, "argv", ["x", self.path]):
            with self.assertRaisesRegex(SystemExit, "needs torch and torch_geometric"):
                load_script().main()

    def test_refuses_a_single_epoch(self):
        with contextlib.redirect_stderr(io.StringIO()) as message, self.assertRaises(SystemExit):
            load_script().parse([self.path, "--epochs", "1"])
        self.assertIn("the first warms up", message.getvalue())


if __name__ == "__main__":
    unittest.main()
