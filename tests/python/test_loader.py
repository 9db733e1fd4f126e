"""Batches: what they hold, that they are the same again, and how their memory comes back."""
import gc
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import unittest
import warnings

import numpy as np

import plimsoll
from graphs import COLUMNS, NODES, StoreTest, graph, has_torch


def as_lists(batch):
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in batch}


class Batches(StoreTest):
    def test_hold_rows_labels_and_edges_of_the_graph(self):
        made = graph()
        seen = []
        for batch in self.loader(input_nodes="train", shuffle=True):
            self.assertEqual(batch.keys(), ["x", "y", "edge_index", "n_id", "input_id", "batch_size",
                                            "num_sampled_nodes", "num_sampled_edges"])
            np.testing.assert_array_equal(batch.x, made.x[batch.n_id])
            np.testing.assert_array_equal(batch.y, made.y[batch.n_id])
            sources, destinations = batch.n_id[batch.edge_index]
            self.assertTrue(all(edge in made.edges for edge in zip(sources.tolist(), destinations.tolist())))
            self.assertEqual(len(set(zip(sources.tolist(), destinations.tolist()))), batch.num_edges)
            seen += batch.n_id[:batch.batch_size].tolist()
        self.assertEqual(sorted(seen), np.flatnonzero(made.train).tolist())

    def test_have_the_order_of_pyg(self):
        degrees = np.bincount(graph().edge_index[1], minlength=NODES)
        for batch in self.loader(input_nodes="train"):
            nodes, edges = np.cumsum(batch.num_sampled_nodes), np.cumsum([0] + batch.num_sampled_edges)
            self.assertEqual((nodes[0], nodes[-1], edges[-1]), (batch.batch_size, batch.num_nodes, batch.num_edges))
            begin = 0  # each hop samples for the nodes that the hop before met first
            for hop, fanout in enumerate((5, 3)):
                destinations = batch.edge_index[1, edges[hop]:edges[hop + 1]]
                self.assertTrue((np.diff(destinations) >= 0).all())
                drawn = np.bincount(destinations, minlength=nodes[hop])
                expected = np.minimum(degrees[batch.n_id[:nodes[hop]]], fanout)
                expected[:begin] = 0
                np.testing.assert_array_equal(drawn, expected)
                begin = nodes[hop]

    def test_have_the_ids_of_their_edges_if_asked(self):
        made = graph()
        shuffled = np.random.default_rng(5).permutation(made.edge_index.shape[1])
        edges = np.concatenate([made.edge_index[:, shuffled], made.edge_index[:, :50]], axis=1)  # some of them twice
        for batch in self.loader(input_nodes="train", edge_ids=edges):
            np.testing.assert_array_equal(edges[:, batch.e_id], batch.n_id[batch.edge_index])
            self.assertLess(batch.e_id.max(initial=0), len(shuffled))  # the first of equal ones
        self.assertNotIn("e_id", next(iter(self.loader())))
        if has_torch():
            import torch
            batch = next(iter(self.loader(edge_ids=torch.from_numpy(edges), output="torch")))
            self.assertTrue(torch.equal(torch.from_numpy(edges)[:, batch.e_id], batch.n_id[batch.edge_index]))

    def test_have_the_ids_of_reverse_edges_in_an_undirected_store(self):
        made = graph()
        path = os.path.join(self.folder, "undirected.plim")
        plimsoll.from_numpy(made.edge_index, made.x, path, undirected=True)
        reversed_ones = 0
        for batch in plimsoll.NeighborLoader(path, [-1, 3], batch_size=500, output="numpy", edge_ids=made.edge_index):
            found, drawn = made.edge_index[:, batch.e_id], batch.n_id[batch.edge_index]
            np.testing.assert_array_equal(np.sort(found, axis=0), np.sort(drawn, axis=0))
            for edge, wanted in zip(drawn.T.tolist(), found.T.tolist()):
                if tuple(edge) in made.edges:
                    self.assertEqual(edge, wanted)
                else:
                    reversed_ones += 1
        self.assertGreater(reversed_ones, 0)

    def test_refuse_edge_ids_of_another_graph(self):
        made = graph()
        with self.assertRaisesRegex(plimsoll.UsageError, "the store has 3000 nodes"):
            self.loader(edge_ids=made.edge_index + 1)
        with self.assertRaisesRegex(plimsoll.UsageError, "give the edge_index of the graph"):
            self.loader(edge_ids=made.edge_index[0])
        with self.assertRaisesRegex(plimsoll.UsageError, "node_ids='original'"):
            self.loader(edge_ids=made.edge_index, node_ids="store")
        for few in (made.edge_index[:, :10], made.edge_index[:, :0]):
            with self.assertRaisesRegex(plimsoll.PlimsollError, "edge_ids does not"):
                next(iter(self.loader(edge_ids=few)))

    def test_depend_only_on_seed_and_epoch(self):
        one, two = self.loader(input_nodes="train", shuffle=True, num_workers=1), \
            self.loader(input_nodes="train", shuffle=True, num_workers=3)
        first = [as_lists(batch) for batch in one]
        self.assertEqual(first, [as_lists(batch) for batch in two])
        second = [as_lists(batch) for batch in one]
        self.assertNotEqual(first, second)
        one.set_epoch(0)
        self.assertEqual(first, [as_lists(batch) for batch in one])
        other = self.loader(input_nodes="train", shuffle=True, seed=1)
        self.assertNotEqual(first, [as_lists(batch) for batch in other])

    def test_take_all_neighbours(self):
        made = graph()
        batch = next(iter(self.loader([-1], input_nodes=[17], batch_size=1)))
        expected = {source for source, destination in made.edges if destination == 17}
        self.assertEqual(set(batch.n_id[batch.edge_index[0]].tolist()), expected)

    def test_take_nodes_as_ids_masks_and_lists(self):
        made = graph()
        mask = np.zeros(NODES, dtype=bool)
        mask[[3, 700, 2999]] = True
        for nodes in ([3, 700, 2999], np.array([3, 700, 2999], dtype=np.int32), mask):
            batch, = self.loader(input_nodes=nodes)
            self.assertEqual(batch.n_id[:3].tolist(), [3, 700, 2999])
            self.assertEqual(batch.input_id.tolist(), [3, 700, 2999] if nodes is mask else [0, 1, 2])
        batches = self.loader(input_nodes=None, batch_size=1000)
        self.assertEqual([int(batch.n_id[0]) for batch in batches], [0, 1000, 2000])
        split = plimsoll.Store(self.path).split("val")
        self.assertEqual(sorted(split.tolist()), np.flatnonzero(made.valid).tolist())
        for batch in self.loader(input_nodes="valid", shuffle=True):
            self.assertEqual(split[batch.input_id].tolist(), batch.n_id[:batch.batch_size].tolist())

    def test_refuse_nodes_that_are_none(self):
        for nodes, text in (([NODES], "no node"), ([5, 5], "twice"), ([], "empty"), ([0.5], "type"), ("nonsense", "split"),
                            (np.zeros(3, dtype=bool), "mask"), (("paper", [1]), "type of nodes")):
            with self.assertRaisesRegex(plimsoll.PlimsollError, text):
                self.loader(input_nodes=nodes)

    def test_leave_out_what_is_not_wanted(self):
        batch = next(iter(self.loader(input_nodes="train", labels="seeds")))
        np.testing.assert_array_equal(batch.y, graph().y[batch.n_id[:batch.batch_size]])
        for batch in self.loader(input_nodes=graph().train, labels="none", node_ids="store"):
            np.testing.assert_array_equal(batch.input_id, plimsoll.Store(self.path).ids()[batch.n_id[:batch.batch_size]])
        batch = next(iter(self.loader(input_nodes="train", labels="none", node_ids="store")))
        self.assertNotIn("y", batch)
        np.testing.assert_array_equal(batch.x, graph().x[plimsoll.Store(self.path).ids()[batch.n_id]])

    def test_are_sampled_for_any_seeds_at_once(self):
        made = graph()
        ids = np.flatnonzero(made.train)[::-1].copy()
        for nodes in ("train", made.train, ids, None):
            loader = self.loader(input_nodes=nodes, shuffle=True)
            self.assertEqual(len(loader.dataset), NODES if nodes is None else len(ids))
            first, second, *_ = (batch.clone() for batch in loader)
            loader.epoch = 0
            for number, batch in enumerate((first, second)):
                index = np.searchsorted(np.flatnonzero(made.train), batch.input_id) if nodes is made.train else batch.input_id
                again = loader(index.tolist(), number)
                for name in batch.keys():
                    np.testing.assert_array_equal(again[name], batch[name], name)
        loader = self.loader(input_nodes=ids)
        self.assertEqual(loader([-1, 0]).n_id[:2].tolist(), [ids[-1], ids[0]])
        chosen = np.arange(len(ids)) % 500 == 1
        self.assertEqual(loader(chosen).input_id.tolist(), np.flatnonzero(chosen).tolist())
        for index in ([len(ids)], [0.5], [], [1, 1]):
            with self.assertRaises(plimsoll.PlimsollError, msg=str(index)):
                loader(index)
        np.testing.assert_array_equal(loader.rows([5, 5, 2999]), made.x[[5, 5, 2999]])
        np.testing.assert_array_equal(loader.labels([5, 2999]), made.y[[5, 2999]])

    def test_can_have_a_graph_for_each_layer(self):
        for batch in self.loader(input_nodes="train", subgraph_type="layers"):
            first, second = plimsoll.layer_edges(batch)
            self.assertEqual(second.shape[1], batch.num_sampled_edges[0])
            self.assertLess(second[1].max(), batch.batch_size)
            self.assertTrue(np.isin(np.arange(batch.batch_size), first[1]).mean() > 0.9)  # sampled for again

    def test_are_mappings_of_their_fields(self):
        batch = next(iter(self.loader()))
        self.assertEqual(len(batch), 8)
        del batch.y
        del batch["x"]
        self.assertEqual(len(batch), 6)
        self.assertNotIn("x", batch)
        with self.assertRaisesRegex(AttributeError, "no 'y'; it has edge_index"):
            batch.y  # noqa: B018

    def test_go_through_a_transform(self):
        def add(batch):
            batch.number = 5
            return batch
        self.assertEqual(next(iter(self.loader(transform=add))).number, 5)


class Memory(StoreTest):
    def test_comes_back_when_the_arrays_are_gone(self):
        loader = self.loader(input_nodes="train", held=2)
        batches = iter(loader)
        first = next(batches)
        rows = first.x[3:5]  # a view keeps the batch
        del first
        self.assertEqual(loader.state()["held"], 1)
        kept = rows.copy()
        next(batches)
        next(batches)
        np.testing.assert_array_equal(rows, kept)
        del rows
        self.assertEqual(loader.state()["held"], 0)

    def test_that_is_all_held_is_an_error_with_a_remedy(self):
        loader = self.loader(input_nodes="train", held=2)
        with self.assertRaisesRegex(plimsoll.HeldError, r"clone\(\).*held="):
            list(loader)
        self.assertEqual(len(list(batch.clone() for batch in loader)), len(loader))

    def test_of_batches_in_cycles_is_found(self):
        gc.disable()
        try:
            for batch in self.loader(input_nodes="train", held=2):
                batch.me = batch
        finally:
            gc.enable()

    def test_of_a_batch_outlives_its_pass_its_loader_and_its_store(self):
        loader = self.loader(input_nodes="train")
        for batch in loader:
            pass
        ids = batch.n_id.copy()
        for _ in loader:
            pass
        del loader
        gc.collect()
        np.testing.assert_array_equal(batch.n_id, ids)
        np.testing.assert_array_equal(batch.x, graph().x[ids])

    def test_is_shared_by_loaders_of_one_store(self):
        store = plimsoll.Store(self.path)
        train = plimsoll.NeighborLoader(store, [5], "train", memory="1G", output="numpy")
        valid = plimsoll.NeighborLoader(store, [5], "valid", output="numpy")
        self.assertEqual(train.state()["limit_bytes"], valid.state()["limit_bytes"])
        with self.assertRaisesRegex(plimsoll.UsageError, "share a memory limit"):
            plimsoll.NeighborLoader(store, [5], "test", memory="900M", output="numpy")
        a, b = iter(train), iter(valid)
        self.assertNotEqual(next(a).n_id[0], next(b).n_id[0])

    def test_of_the_whole_process_counts(self):
        loader = self.loader(memory="2G")
        before = loader.state()
        model = np.ones(200 << 20, dtype=np.uint8)
        after = loader.state()
        self.assertAlmostEqual((after["host_bytes"] - before["host_bytes"]) / len(model), 1, delta=0.1)
        self.assertEqual(after["over_bytes"], 0)

    def test_beyond_the_limit_is_reported(self):
        loader = self.loader(memory="512M", input_nodes="train")
        model = np.ones(600 << 20, dtype=np.uint8)
        self.assertGreater(loader.state()["over_bytes"], 0)
        with self.assertWarnsRegex(RuntimeWarning, "more than the limit"):
            for _ in loader:
                pass
        del model

    def test_that_is_too_little_is_refused_with_what_is_needed(self):
        with self.assertRaises(plimsoll.MemoryLimitError):
            self.loader(memory="1M")
        for amount in ("8", "sixteen", 3.5, "-1G"):
            with self.assertRaises(plimsoll.UsageError):
                self.loader(memory=amount)


class InOrder(unittest.TestCase):
    """Nodes with many neighbours come first, as in a split of a store: together, in the first batches."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="plimsoll-test-")
        random = np.random.default_rng(2)
        few = np.stack([random.integers(0, 40000, 40000), np.arange(40000)])
        cls.nodes = random.permutation(40000)
        many = np.stack([random.integers(0, 40000, 80000), np.repeat(cls.nodes[:1000], 80)])
        edges = np.concatenate([few, many], axis=1)
        cls.store = plimsoll.from_numpy(edges, random.random((40000, 128), dtype=np.float32),
                                        os.path.join(cls.folder, "a.plim"))

    @classmethod
    def tearDownClass(cls):
        del cls.store
        shutil.rmtree(cls.folder)

    def test_batches_fit_into_what_was_planned(self):
        arguments = dict(num_neighbors=[80], batch_size=500, input_nodes=self.nodes, num_workers=1)
        plans = {shuffle: plimsoll.plan(self.store, shuffle=shuffle, memory="8G", **arguments) for shuffle in (False, True)}
        self.assertGreater(plans[False].parts_bytes["batches"], 2 * plans[True].parts_bytes["batches"])
        limit = plans[False].minimum_bytes + (16 << 20)  # the process may have grown since it was planned
        loader = plimsoll.NeighborLoader(self.store, memory=limit, output="numpy", **arguments)
        largest = max(batch.num_nodes for batch in loader)
        self.assertGreater(largest, 10000)


class Passes(StoreTest):
    def test_of_a_closed_loader_are_refused(self):
        loader = self.loader()
        batches = iter(loader)
        batch = next(batches)
        loader.close()
        loader.close()
        self.assertIn("closed", repr(loader))
        for use in (lambda: next(batches), lambda: iter(loader), lambda: len(loader), loader.state, lambda: loader([0])):
            with self.assertRaisesRegex(plimsoll.UsageError, "closed"):
                use()
        np.testing.assert_array_equal(batch.x, graph().x[batch.n_id])  # still there

    def test_end_the_one_before(self):
        loader = self.loader(input_nodes="train")
        first = iter(loader)
        next(first)
        second = iter(loader)
        next(second)
        with self.assertRaisesRegex(plimsoll.UsageError, "another pass"):
            next(first)

    def test_can_be_left_early(self):
        loader = self.loader(input_nodes="train")
        for _ in range(5):
            for _ in loader:
                break
        self.assertEqual(sum(batch.batch_size for batch in loader), plimsoll.Store(self.path).split_sizes["train"])

    def test_have_a_length(self):
        nodes = plimsoll.Store(self.path).split_sizes["train"]
        self.assertEqual(len(self.loader(input_nodes="train")), -(-nodes // 64))
        dropping = self.loader(input_nodes="train", drop_last=True)
        self.assertEqual(len(dropping), nodes // 64)
        self.assertEqual({batch.batch_size for batch in dropping}, {64})

    def test_are_refused_by_a_closed_loader(self):
        loader = self.loader()
        loader.close()
        with self.assertRaisesRegex(plimsoll.UsageError, "closed"):
            iter(loader)

    def test_end_with_ctrl_c(self):
        """The signal is noticed while a loop over a loader runs."""
        loader = self.loader(input_nodes="train")
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            while True:
                for _ in loader:
                    pass
        timer.join()


class Processes(StoreTest):
    def test_that_are_forked_refuse_what_their_parent_opened(self):
        loader = self.loader(input_nodes="train")
        batches = iter(loader)
        next(batches)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # newer Pythons warn of forks beside threads
            child = os.fork()
        if child == 0:
            code = 1
            try:
                next(batches)
            except plimsoll.UsageError as error:
                reopened = plimsoll.NeighborLoader(plimsoll.Store(self.path), [5], "train", output="numpy")
                code = 0 if "forked child" in str(error) and next(iter(reopened)).batch_size == 1 else 2
            finally:
                del loader, batches
                os._exit(code)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        next(batches)  # the parent's goes on

    def test_that_are_spawned_open_the_store_again(self):
        store = pickle.loads(pickle.dumps(plimsoll.Store(self.path)))
        self.assertEqual(store.num_nodes, NODES)
        loader = self.loader(input_nodes="train", shuffle=True)
        again = pickle.loads(pickle.dumps(loader))
        self.assertEqual([as_lists(batch) for batch in again], [as_lists(batch) for batch in loader])

    def test_end_while_batches_are_held(self):
        code = textwrap.dedent(f"""
            import plimsoll
            loader = plimsoll.NeighborLoader({self.path!r}, [5, 3], "train", batch_size=64)
            kept = next(iter(loader))
        """)
        subprocess.run([sys.executable, "-c", code], check=True, timeout=60)

    def test_end_without_words_while_loader_and_store_are_kept(self):
        code = textwrap.dedent(f"""
            import os, sys, plimsoll
            # Modules that something keeps lose their names at the end, the last ones first: when os loses
            # these two, the names in our modules are None.
            os.loader = plimsoll.NeighborLoader({self.path!r}, [5, 3], "train", batch_size=64)
            os.store = plimsoll.Store({self.path!r})
            sys.kept = list(sys.modules.values())
        """)
        done = subprocess.run([sys.executable, "-c", code], check=True, timeout=60, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.stderr, "")

    def test_without_torch_have_numpy_batches(self):
        code = textwrap.dedent(f"""
            import sys
            sys.modules["torch"] = None
            import numpy, plimsoll
            batch = next(iter(plimsoll.NeighborLoader({self.path!r}, [5, 3], "train", batch_size=64)))
            assert isinstance(batch.x, numpy.ndarray)
            try:
                plimsoll.NeighborLoader({self.path!r}, [5], output="torch")
            except plimsoll.UsageError as error:
                assert "not installed" in str(error)
            else:
                raise SystemExit("accepted")
        """)
        subprocess.run([sys.executable, "-c", code], check=True, timeout=60)

    def test_of_numpy_batches_do_not_load_torch(self):
        code = textwrap.dedent(f"""
            import sys, plimsoll
            next(iter(plimsoll.NeighborLoader({self.path!r}, [5, 3], "train", batch_size=64, output="numpy")))
            assert "torch" not in sys.modules
        """)
        subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@unittest.skipUnless(has_torch(), "torch is not installed")
class Tensors(StoreTest):
    def test_share_the_memory_of_the_batch(self):
        import torch
        loader = self.loader(input_nodes="train", output="torch", held=2)
        batch = next(iter(loader))
        for name in ("x", "y", "edge_index", "n_id", "input_id"):
            self.assertIsInstance(batch[name], torch.Tensor)
        self.assertEqual((batch.x.dtype, batch.edge_index.dtype), (torch.float32, torch.int64))
        self.assertTrue(torch.equal(batch.x, torch.from_numpy(graph().x)[batch.n_id]))
        self.assertEqual(loader.state()["held"], 1)
        moved = batch.to("cpu", non_blocking=True)
        self.assertEqual(repr(moved), repr(batch))
        del batch, moved
        self.assertEqual(loader.state()["held"], 0)

    def test_keep_the_batch_while_a_computation_needs_it(self):
        import torch
        loader = self.loader(input_nodes="train", output="torch", held=2)
        weight = torch.ones(COLUMNS, 1, requires_grad=True)
        batch = next(iter(loader))
        out = (batch.x @ weight).sum()
        del batch
        self.assertEqual(loader.state()["held"], 1)
        out.backward()
        del out
        self.assertEqual(loader.state()["held"], 0)

    def test_come_with_a_seed_from_a_generator(self):
        import torch
        generator = torch.Generator()
        generator.manual_seed(5)
        self.assertEqual(self.loader(generator=generator).seed, 5)

    def test_may_choose_the_nodes(self):
        import torch
        batch, = self.loader(input_nodes=torch.tensor([7, 3]), output="torch")
        self.assertEqual(batch.n_id[:2].tolist(), [7, 3])


if __name__ == "__main__":
    unittest.main()
