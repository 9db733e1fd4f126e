"""Stores from arrays and other libraries' graphs, plans, and what is shown of them."""
import os
import shutil
import tempfile
import types
import unittest

import numpy as np

import plimsoll
from graphs import COLUMNS, NODES, StoreTest, graph, has_torch


class Importing(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="plimsoll-test-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.path = os.path.join(self.folder, "new.plim")

    def files(self, path=None):
        """All files of a store but meta.json, which has its name."""
        path = path or self.path
        contents = {}
        for name in sorted(os.listdir(path)):
            if name != "meta.json":
                with open(os.path.join(path, name), "rb") as file:
                    contents[name] = file.read()
        return contents

    def expected(self, **options):
        made = graph()
        path = os.path.join(self.folder, "expected.plim")
        plimsoll.from_numpy(made.edge_index, made.x, path, y=made.y, train=made.train, valid=made.valid, test=made.test,
                            **options)
        return self.files(path)

    def test_takes_edges_and_splits_in_every_form(self):
        made = graph()
        plimsoll.from_numpy(np.asfortranarray(made.edge_index.T.astype(np.int32)), made.x.astype(np.float64), self.path,
                            y=made.y.astype(np.float32), train=np.flatnonzero(made.train), valid=made.valid,
                            test=np.flatnonzero(made.test).astype(np.uint16))
        self.assertEqual(self.files(), self.expected())

    def test_does_not_copy_what_it_reads_in_place(self):
        """Columns of a wider array are read where they are."""
        made = graph()
        wide = np.zeros((NODES, COLUMNS + 5), dtype=np.float32)
        wide[:, 2:2 + COLUMNS] = made.x
        plimsoll.from_numpy(made.edge_index, wide[:, 2:2 + COLUMNS], self.path, y=made.y, train=made.train,
                            valid=made.valid, test=made.test)
        self.assertEqual(self.files(), self.expected())

    def test_adds_reverse_edges_if_asked(self):
        made = graph()
        store = plimsoll.from_numpy(made.edge_index, made.x, self.path, undirected=True)
        self.assertTrue(store.undirected)
        both = made.edges | {(b, a) for a, b in made.edges}
        self.assertEqual(store.num_edges, len(both))
        self.assertEqual((store.num_classes, store.split_sizes["train"]), (0, 0))

    def test_takes_an_object_like_pyg_has_it(self):
        made = graph()
        data = types.SimpleNamespace(edge_index=made.edge_index, x=made.x, y=made.y[:, None], train_mask=made.train,
                                     val_mask=made.valid, test_mask=made.test, edge_attr=np.ones(5))
        with self.assertRaisesRegex(plimsoll.UsageError, "edge_attr"):
            plimsoll.from_pyg(data, self.path)
        plimsoll.from_pyg(data, self.path, ignore=["edge_attr"])
        self.assertEqual(self.files(), self.expected())
        data.edge_time = data.edge_attr
        with self.assertRaisesRegex(plimsoll.UsageError, "edge_time"):
            plimsoll.from_pyg(data, self.path, ignore=["edge_attr"], replace=True)
        del data.edge_time
        for name, value in (("weight", np.ones(made.edge_index.shape[1])), ("kinds", ["a"] * made.edge_index.shape[1]),
                            ("face_index", made.edge_index)):
            setattr(data, name, value)
            with self.assertRaisesRegex(plimsoll.UsageError, rf"{name}.*ignore=\['{name}'\]"):
                plimsoll.from_pyg(data, self.path, ignore=["edge_attr"], replace=True)
            plimsoll.from_pyg(data, self.path, ignore=["edge_attr", name], replace=True)
            self.assertEqual(self.files(), self.expected(replace=True))
            delattr(data, name)
        store = plimsoll.from_pyg(data, self.path, ignore=["edge_attr", "y", "test_mask"], replace=True)
        self.assertEqual((store.num_classes, store.split_sizes["test"]), (0, 0))
        data.train_mask = np.stack([made.test, made.train], axis=1)
        with self.assertRaisesRegex(plimsoll.UsageError, "mask_column"):
            plimsoll.from_pyg(data, self.path, ignore=["edge_attr"], replace=True)

    def test_tells_fields_of_nodes_from_fields_of_edges(self):
        edges = np.array([[0, 1, 2], [1, 2, 0]])
        data = types.SimpleNamespace(edge_index=edges, x=np.ones((3, 2)), pos=np.ones((3, 3)), node_type=np.zeros(3),
                                     name="abc")
        plimsoll.from_pyg(data, self.path)  # as many edges as nodes: the names decide, as in PyG
        data.of_edges = np.zeros(3)
        with self.assertRaisesRegex(plimsoll.UsageError, "of_edges"):
            plimsoll.from_pyg(data, self.path, replace=True)
        data = types.SimpleNamespace(edge_index=edges[:, :2], x=np.ones((3, 2)), pos=np.ones((3, 2)), n_id=np.arange(3))
        plimsoll.from_pyg(data, self.path, replace=True)

    def test_refuses_a_graph_of_several_types(self):
        data = types.SimpleNamespace(_edge_store_dict={}, _node_store_dict={})
        with self.assertRaisesRegex(plimsoll.UsageError, "to_homogeneous"):
            plimsoll.from_pyg(data, self.path)

    @unittest.skipUnless(has_torch(), "torch is not installed")
    def test_takes_tensors(self):
        import torch
        made = graph()
        plimsoll.from_numpy(torch.from_numpy(made.edge_index), torch.from_numpy(made.x), self.path,
                            y=torch.from_numpy(made.y), train=torch.from_numpy(made.train),
                            valid=torch.from_numpy(made.valid), test=torch.from_numpy(np.flatnonzero(made.test)))
        self.assertEqual(self.files(), self.expected())

    def test_takes_a_scipy_matrix(self):
        try:
            import scipy.sparse
        except ImportError:
            self.skipTest("scipy is not installed")
        made = graph()
        matrix = scipy.sparse.csr_matrix((np.ones(made.edge_index.shape[1]), tuple(made.edge_index)), shape=(NODES, NODES))
        plimsoll.from_scipy(matrix, made.x, self.path, y=made.y, train=made.train, valid=made.valid, test=made.test)
        self.assertEqual(self.files(), self.expected())

    def test_takes_a_graph_of_networkx(self):
        class Toy:  # what is used of networkx.DiGraph
            nodes = {"a": {"x": [1.0, 2.0], "kind": 0}, "b": {"x": [3.0, 4.0], "kind": 1}, "c": {"x": [5.0, 6.0], "kind": 0}}
            edges = [("a", "b"), ("b", "c")]

            def is_directed(self):
                return True
        store = plimsoll.from_networkx(Toy(), self.path, y="kind", features="f32")
        batch, = plimsoll.NeighborLoader(store, [-1], [2], output="numpy")
        self.assertEqual((batch.n_id.tolist(), batch.x.tolist()), ([2, 1], [[5.0, 6.0], [3.0, 4.0]]))
        for options in ({"x": "rows"}, {"y": "label"}):
            with self.assertRaisesRegex(plimsoll.UsageError, "node 'a' has no attribute"):
                plimsoll.from_networkx(Toy(), self.path, replace=True, **options)

    def test_refuses_what_does_not_fit_together(self):
        made = graph()
        for options, text in (({"y": made.y[:5]}, "5 labels"), ({"train": made.train[:5]}, "5 values in a mask"),
                              ({"train": [NODES]}, "id 3000"), ({"features": "f8"}, "f16"), ({"y": made.x}, "one label"),
                              ({"train": made.train, "valid": made.train}, "")):
            with self.assertRaisesRegex(plimsoll.PlimsollError, text):
                plimsoll.from_numpy(made.edge_index, made.x, self.path, **options)
        self.assertFalse(os.path.exists(self.path))
        with self.assertRaisesRegex(plimsoll.UsageError, "edge_index"):
            plimsoll.from_numpy(made.edge_index[0], made.x, self.path)
        with self.assertRaises(plimsoll.UsageError):
            plimsoll.from_numpy(made.edge_index, np.full((NODES, 2), "text"), self.path)

    def test_replaces_a_store_only_if_asked(self):
        made = graph()
        plimsoll.from_numpy(made.edge_index, made.x, self.path)
        with self.assertRaises(plimsoll.PlimsollError) as raised:
            plimsoll.from_numpy(made.edge_index, made.x, self.path)
        self.assertEqual(raised.exception.kind, "exists")
        plimsoll.from_numpy(made.edge_index, made.x, self.path, replace=True)


class Showing(StoreTest):
    def test_a_store_says_what_it_is(self):
        store = plimsoll.Store(self.path)
        self.assertIn("nodes 3,000", repr(store))
        self.assertIn("<td>3,000</td>", store._repr_html_())
        with self.assertRaises(plimsoll.PlimsollError):
            plimsoll.Store("/nowhere")

    def test_a_plan_says_whether_a_loader_fits(self):
        plan = plimsoll.plan(self.path, [5, 3], batch_size=64, input_nodes="train", memory="4G")
        self.assertTrue(plan)
        self.assertEqual(plan["limit_bytes"], plan.limit_bytes)
        self.assertEqual(sum(plan.parts_bytes.values()), plan.peak_bytes)
        self.assertIn("fits", repr(plan))
        self.assertIn("<table>", plan._repr_html_())
        self.assertEqual(plan.batches, -(-plimsoll.Store(self.path).split_sizes["train"] // 64))
        small = plimsoll.plan(self.path, [5, 3], batch_size=64, input_nodes="train", memory="20M")
        self.assertFalse(small)
        self.assertIn("needs", repr(small))

    def test_errors_of_an_unknown_field_name_those_there_are(self):
        batch = next(iter(self.loader()))
        with self.assertRaisesRegex(AttributeError, "edge_index"):
            batch.nonsense
        self.assertIn("x=[", repr(batch))


if __name__ == "__main__":
    unittest.main()
