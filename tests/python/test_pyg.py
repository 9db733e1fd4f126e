"""What needs PyTorch Geometric, with a stand-in for it (stand_in/). Skipped where the real one is installed."""
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
            assert features._get_tensor_size(two[0]) == made.x.shape
            try:
                features.put_tensor(x, one[0])
            except ValueError:
                pass
            else:
                raise SystemExit("changed a store")
            attr, = edges.get_all_edge_attrs()
            assert attr.layout == "csc" and attr.size == (3000, 3000)
            row, colptr = edges.get_edge_index(attr)
            got = {(int(s), d) for d in range(3000) for s in row[colptr[d]:colptr[d + 1]]}
            assert got == made.edges
            out = sampler.sample_from_nodes(NodeSamplerInput(torch.arange(2), torch.tensor([7, 9])))
            assert out.node[:2].tolist() == [7, 9] and out.metadata[0].tolist() == [0, 1]
            pairs = zip(out.node[out.row].tolist(), out.node[out.col].tolist())
            assert all(pair in made.edges for pair in pairs) and len(out.row) == sum(out.num_sampled_edges)
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
