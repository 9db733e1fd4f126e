"""What PyG's own tests ask of its NeighborLoader on graphs with one type of nodes, asked of ours.
docs/reference/python.md lists what they ask beyond that, and why it does not apply."""
import os
import shutil
import tempfile
import unittest
import warnings

import numpy as np

import plimsoll
from graphs import has_torch

# In-neighbours: 0 of 2, 1 of 3, 2 of 4 and 7, 3 of 5 and 7, 7 of 10 to 13.
CHAIN = np.array([[2, 3, 4, 5, 7, 7, 10, 11, 12, 13],
                  [0, 1, 2, 3, 2, 3, 7, 7, 7, 7]])


class LikePyg(unittest.TestCase):
    """A graph of 100 nodes and 500 random edges, loops and repeated edges among them, as PyG's tests have it.
    The row of a node is its id."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="plimsoll-test-")
        cls.random = np.random.default_rng(12345)
        cls.edges = cls.random.integers(0, 100, (2, 500))
        cls.x = np.arange(100, dtype=np.float32)[:, None]
        cls.path = os.path.join(cls.folder, "random.plim")
        plimsoll.from_numpy(cls.edges, cls.x, cls.path)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def chain(self, **options):
        path = os.path.join(self.folder, "chain.plim")
        plimsoll.from_numpy(CHAIN, np.arange(14, dtype=np.float32)[:, None], path, replace=True)
        return plimsoll.NeighborLoader(path, **options)

    def test_batches_have_their_sizes_and_the_edges_of_the_graph(self):
        original = set(zip(*self.edges.tolist()))
        for per_worker in (None, True, False):
            for output in ("numpy", "torch") if has_torch() else ("numpy",):
                loader = plimsoll.NeighborLoader(self.path, num_neighbors=[5] * 2, batch_size=20, output=output,
                                                 filter_per_worker=per_worker, edge_ids=self.edges)
                self.assertEqual(len(loader), 5)
                self.assertEqual(loader([0]).n_id[:1].tolist(), [0])
                for i, batch in enumerate(loader):
                    self.assertEqual(tuple(batch.n_id.shape), (batch.num_nodes,))
                    self.assertEqual(tuple(batch.e_id.shape), (batch.num_edges,))
                    self.assertEqual((len(batch.input_id), batch.batch_size), (20, 20))
                    self.assertLessEqual(batch.num_nodes, 100)
                    self.assertTrue(0 <= int(batch.edge_index.min()) and int(batch.edge_index.max()) < batch.num_nodes)
                    self.assertEqual(batch.x[:20, 0].tolist(), list(range(20 * i, 20 * i + 20)))  # the seeds come first
                    self.assertEqual(batch.x[:, 0].tolist(), batch.n_id.tolist())
                    ends = batch.n_id[batch.edge_index].tolist()
                    self.assertLessEqual(set(zip(*ends)), original)

    def test_edges_of_32_bits_are_the_same_graph(self):
        path = os.path.join(self.folder, "narrow.plim")
        plimsoll.from_numpy(self.edges.astype(np.int32), self.x, path)
        narrow, wide = (plimsoll.NeighborLoader(store, [5, 5], batch_size=20, output="numpy") for store in (path, self.path))
        for one, other in zip(narrow, wide):
            np.testing.assert_array_equal(one.edge_index, other.edge_index)

    def test_batches_with_all_neighbours_give_what_the_whole_graph_gives(self):
        """Two sums of weighted neighbours, computed for a few nodes from a batch and from the graph."""
        one_way = self.edges[:, self.edges[0] < self.edges[1]]
        both = np.concatenate([one_way, one_way[::-1]], axis=1)
        both = np.unique(both, axis=1)
        weights = self.random.random(both.shape[1])
        path = os.path.join(self.folder, "undirected.plim")
        store = plimsoll.from_numpy(one_way, self.x, path, undirected=True)
        self.assertEqual(store.num_edges, both.shape[1])

        def model(x, edges, weight):
            for _ in range(2):
                sums = np.zeros_like(x)
                np.add.at(sums, edges[1], x[edges[0]] * weight[:, None])
                x = x + np.maximum(sums, 0)
            return x

        seeds = np.arange(5, 8)
        loader = plimsoll.NeighborLoader(store, num_neighbors=[-1, -1], batch_size=len(seeds), input_nodes=seeds,
                                         edge_ids=both, output="numpy")
        self.assertEqual(len(loader), 1)
        batch, = loader
        whole = model(self.x.astype(np.float64), both, weights)[seeds]
        part = model(batch.x.astype(np.float64), batch.edge_index, weights[batch.e_id])[:batch.batch_size]
        np.testing.assert_allclose(part, whole, atol=1e-6)

    def test_features_in_a_mapped_file_are_read_by_threads(self):
        mapped = np.memmap(os.path.join(self.folder, "x.npy"), dtype=np.float32, mode="w+", shape=(100, 32))
        mapped[:] = self.random.normal(size=(100, 32))
        path = os.path.join(self.folder, "mapped.plim")
        plimsoll.from_numpy(self.edges, mapped, path, features="f32")
        loader = plimsoll.NeighborLoader(path, num_neighbors=[5] * 2, batch_size=20, num_workers=2, output="numpy")
        for batch in loader:
            np.testing.assert_array_equal(batch.x, mapped[batch.n_id])
        self.assertEqual(loader.state()["workers"], 2)

    def test_batches_say_how_many_nodes_and_edges_each_hop_has(self):
        batch = next(iter(self.chain(num_neighbors=[1, 2, 4], batch_size=2, output="numpy")))
        self.assertEqual(batch.num_sampled_nodes, [2, 2, 3, 4])
        self.assertEqual(batch.num_sampled_edges, [2, 4, 4])

    def test_ids_of_edges_belong_to_the_edges_that_were_drawn(self):
        edges = np.array([[0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 5],
                          [1, 2, 3, 4, 5, 8, 6, 7, 9, 10, 6, 11]])
        path = os.path.join(self.folder, "tree.plim")
        plimsoll.from_numpy(edges, np.zeros((12, 1)), path)
        seen = 0
        for batch in plimsoll.NeighborLoader(path, [1], batch_size=2, shuffle=True, edge_ids=edges, output="numpy"):
            np.testing.assert_array_equal(batch.n_id[batch.edge_index], edges[:, batch.e_id])
            seen += batch.num_edges
        self.assertEqual(seen, 11)  # node 6 has two in-neighbours, of which one is drawn

    def test_input_id_of_a_mask_is_the_id_of_the_node(self):
        mask = np.ones(14, dtype=bool)
        mask[0] = False
        ids = [batch.input_id.tolist() for batch in self.chain(num_neighbors=[2, 2], batch_size=2, input_nodes=mask)]
        self.assertEqual(ids, [[1, 2], [3, 4], [5, 6], [7, 8], [9, 10], [11, 12], [13]])

    def test_nodes_may_be_a_range_and_need_no_edges(self):
        ids = [batch.n_id.tolist() for batch in self.chain(num_neighbors=[2], batch_size=2, input_nodes=range(10, 14))]
        self.assertEqual(ids, [[10, 11], [12, 13]])  # nothing points to them

    def test_numbers_of_neighbours_may_be_pygs_object(self):
        class NumNeighbors:  # as PyG's: for one type of edges, its values are a list
            def get_values(self):
                return [1, 2, 4]

        batch = next(iter(self.chain(num_neighbors=NumNeighbors(), batch_size=2)))
        self.assertEqual(batch.num_sampled_edges, [2, 4, 4])

    def test_what_needs_more_than_a_store_has_is_refused_by_name(self):
        for options in ({"weight_attr": "edge_weight"}, {"time_attr": "time"}, {"input_time": np.zeros(14)},
                        {"subgraph_type": "induced"}, {"subgraph_type": "bidirectional"}):
            with self.assertRaisesRegex(plimsoll.UsageError, next(iter(options))):
                self.chain(num_neighbors=[1], **options)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.chain(num_neighbors=[1], is_sorted=True, persistent_workers=True, prefetch_factor=4)


if __name__ == "__main__":
    unittest.main()
