"""What needs PyTorch Geometric, with a stand-in for it (stand_in/). Skipped where the real one is
installed."""
import importlib
import os
import subprocess
import sys
import textwrap
import unittest

import plimsoll
from graphs import StoreTest, has_torch
from test_training import can_train

STAND_IN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stand_in")


def has_pyg():
    try:
        import torch_geometric  # noqa: F401
    except ImportError:
        return False
    return True


@unittest.skipIf(has_pyg() or not has_torch(), "needs torch, and no real torch_geometric")
class WithAStandIn(StoreTest):
    def run_python(self, code):
        path = os.pathsep.join([STAND_IN, os.environ.get("PYTHONPATH", ""), os.path.dirname(STAND_IN)])
        subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=120,
                       env=dict(os.environ, PYTHONPATH=path, STORE=self.path))

    def test_batches_are_data_of_pyg(self):
        self.run_python("""
            import os, plimsoll, torch_geometric
            batch = next(iter(plimsoll.NeighborLoader(os.environ["STORE"], [5, 3], "train", batch_size=8)))
            assert isinstance(batch, torch_geometric.data.Data) and batch.batch_size == 8
        """)

    def test_stores_and_sampler_answer_as_pyg_asks(self):
        self.run_python("""
            import os, torch
            from graphs import graph
            from plimsoll.pyg import stores_of
            from torch_geometric.sampler import NodeSamplerInput
            made = graph()
            features, edges, sampler = stores_of(os.environ["STORE"], [5, 3])
            one, two = features.get_all_tensor_attrs(), features.get_all_tensor_attrs()
            assert [attr.attr_name for attr in one] == ["x", "y"] and one[0] is not two[0]
            one[0].index = one[1].index = torch.tensor([5, 2999, 5])
            x, y = features.multi_get_tensor(one)
            assert (x.numpy() == made.x[[5, 2999, 5]]).all() and (y.numpy() == made.y[[5, 2999, 5]]).all()
            assert features.get_tensor_size(two[0]) == made.x.shape and features.get_tensor_size(None, "y") == made.y.shape
            try:
                features.put_tensor(x, one[0])
            except ValueError:
                pass
            else:
                raise SystemExit("changed a store")
            attr, = edges.get_all_edge_attrs()
            assert attr.layout.value == "csc" and attr.size == (3000, 3000) and attr.is_sorted
            row, colptr = edges.get_edge_index(attr)
            got = {(int(s), d) for d in range(3000) for s in row[colptr[d]:colptr[d + 1]]}
            assert got == made.edges
            out = sampler.sample_from_nodes(NodeSamplerInput(torch.arange(2), torch.tensor([7, 9])))
            assert out.node[:2].tolist() == [7, 9] and out.metadata[0].tolist() == [0, 1]
            pairs = zip(out.node[out.row].tolist(), out.node[out.col].tolist())
            assert all(pair in made.edges for pair in pairs) and len(out.row) == sum(out.num_sampled_edges)
        """)

    def test_features_take_every_index_that_pyg_does(self):
        self.run_python("""
            import os, numpy, torch
            from graphs import graph
            from plimsoll.pyg import stores_of
            from torch_geometric.data import TensorAttr
            made = graph()
            features, _, _ = stores_of(os.environ["STORE"], [5, 3])
            tensors = {"x": torch.from_numpy(made.x), "y": torch.from_numpy(made.y)}
            mask = torch.from_numpy(made.train)
            indices = [7, -1, numpy.int64(7), torch.tensor(7), [3, -3000], slice(None), slice(5, 50, 7), slice(-4, None),
                       torch.tensor([[1, 2], [3, 4]]), torch.tensor([5, 5], dtype=torch.int32), mask, mask.byte(), [], None]
            for index in indices:
                for name, tensor in tensors.items():
                    kind = getattr(index, "dtype", None)  # torch 1.13 takes no int32, and warns of uint8
                    plain = index.long() if kind is torch.int32 else index.bool() if kind is torch.uint8 else index
                    expected = tensor if index is None else tensor[plain]
                    got = features.get_tensor(None, name, index)
                    assert got.dtype == expected.dtype and got.shape == expected.shape, (index, got.shape)
                    assert torch.equal(got, expected), index
                    assert features.get_tensor_size(None, name, index) == tuple(expected.shape), index
            # PyG's own get_tensor() compares the index with a mark, and an array gives several answers.
            array = features._get_tensor(TensorAttr(None, "x", made.train))
            assert torch.equal(array, tensors["x"][mask])
            for index in (3000, -3001, [0.5], mask[:5], "train"):
                try:
                    features.get_tensor(None, "x", index)
                except RuntimeError:
                    continue
                raise SystemExit(f"accepted {index}")
            assert features.get_tensor(None, "z", 1) is None and features.get_tensor_size(None, "z") is None
        """)

    def test_edges_come_in_the_layout_that_was_asked_for(self):
        self.run_python("""
            import os
            from plimsoll.pyg import stores_of
            _, edges, _ = stores_of(os.environ["STORE"], [5, 3])
            assert len(edges.get_edge_index(None, "csc")[1]) == 3001
            for edge_type, layout in ((None, "coo"), (None, "csr"), (("a", "to", "b"), "csc")):
                try:
                    edges.get_edge_index(edge_type, layout)
                except KeyError:
                    continue
                raise SystemExit(f"gave {edge_type} {layout}")
        """)

    def test_an_edge_index_of_pyg_is_one_of_ours(self):
        self.run_python("""
            import os, torch, plimsoll
            from graphs import graph
            from torch_geometric import EdgeIndex
            from torch_geometric.data import Data
            made = graph()
            edges = EdgeIndex(torch.from_numpy(made.edge_index), sort_order="row", sparse_size=(3000, 3000))
            path = os.environ["STORE"] + ".again"
            store = plimsoll.from_pyg(Data(edge_index=edges, x=torch.from_numpy(made.x)), path)
            assert store.num_edges == len(made.edges)
            batch = next(iter(plimsoll.NeighborLoader(store, [5], edge_ids=edges, output="torch")))
            assert torch.equal(edges._data[:, batch.e_id], batch.n_id[batch.edge_index])
        """)

    @unittest.skipUnless(can_train(), "the training library is missing")
    def test_models_take_the_weights_of_checkpoints(self):
        for model, options in (("gcn", {}), ("sage", {"batch_norm": True}), ("gat", {"heads": 2})):
            run = plimsoll.fit(self.path, os.path.join(self.folder, model), model=model, fanout=[3, 3], hidden=8, epochs=1,
                               threads=2, **options)
            self.run_python(f"import plimsoll; assert plimsoll.load({str(run.checkpoint)!r}).num_layers == 2")


@unittest.skipIf(has_pyg(), "torch_geometric is installed")
class WithoutPyg(unittest.TestCase):
    def test_its_module_says_what_is_missing(self):
        with self.assertRaisesRegex(plimsoll.PlimsollError, "torch_geometric"):
            importlib.import_module("plimsoll.pyg")


if __name__ == "__main__":
    unittest.main()
