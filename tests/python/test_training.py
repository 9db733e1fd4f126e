"""Native trainings from Python: their results, their models, and that a loader has their batches."""
import json
import os
import subprocess
import unittest

import numpy as np

import plimsoll
from graphs import NODES, StoreTest, graph, has_torch


def can_train():
    """Whether the program was built with its training library."""
    program = os.environ.get("PLIMSOLL_PROGRAM", "")
    return has_torch() and os.path.exists(os.path.join(os.path.dirname(program), "libplimsoll_train.so"))


def _rows(history):
    return history if isinstance(history, list) else history.to_dict("records")


@unittest.skipUnless(can_train(), "torch or the training library is missing")
class Training(StoreTest):
    def fit(self, name, **options):
        options = {"fanout": [4, 3], "hidden": 8, "epochs": 2, "batch_size": 128, "threads": 2, **options}
        return plimsoll.fit(self.path, os.path.join(self.folder, name), **options)

    def test_has_the_batches_of_a_loader(self):
        """With a learning rate of almost nothing, the loss of an epoch is that of the first weights on its
        batches."""
        import torch
        run = self.fit("sage", model="sage", epochs=2, lr=1e-30, dropout=0, seed=11)
        state = torch.load(run.checkpoint)["model_state_dict"]

        def sage(i, x, edges):
            near, bias, own = (state[f"conv{i}.{name}"] for name in ("lin_l.weight", "lin_l.bias", "lin_r.weight"))
            sums = torch.zeros_like(x).index_add_(0, edges[1], x[edges[0]])
            counts = torch.bincount(edges[1], minlength=len(x)).clamp(min=1)
            return (sums / counts[:, None]) @ near.T + bias + x @ own.T

        loader = self.loader([4, 3], input_nodes="train", shuffle=True, batch_size=128, seed=11, output="torch",
                             subgraph_type="layers")
        for epoch in range(2):
            total = count = 0
            for batch in loader:
                first, second = plimsoll.layer_edges(batch)
                out = sage(2, torch.relu(sage(1, batch.x, first)), second)[:batch.batch_size]
                total += torch.nn.functional.cross_entropy(out, batch.y[:batch.batch_size], reduction="sum").item()
                count += batch.batch_size
            self.assertAlmostEqual(total / count, run.results["series"][epoch]["loss"], places=4)

    def test_returns_results_and_a_history(self):
        run = self.fit("gcn", model="gcn", batch_norm=True)
        self.assertEqual(run.results["status"], "finished")
        self.assertEqual(len(run.history), 2)
        self.assertRegex(repr(run), "finished, 2 epochs, valid_acc 0.*, test_acc 0")

    def test_of_several_seeds_is_a_sequence_of_runs(self):
        runs = self.fit("seeds", model="mlp", seeds=2, seed=9)
        self.assertEqual([run.save_dir.name for run in runs], ["seed_9", "seed_10"])
        self.assertEqual([epoch["seed"] for epoch in _rows(runs.history)], [9, 9, 10, 10])
        accuracies = [run.results["test_acc"] for run in runs]
        self.assertAlmostEqual(runs.mean("test_acc"), sum(accuracies) / 2)
        self.assertAlmostEqual(runs.stdev("test_acc"), abs(accuracies[0] - accuracies[1]) / 2**0.5)
        self.assertEqual(runs.best.results["valid_acc"], max(run.results["valid_acc"] for run in runs))
        self.assertIn("2 seeds, valid_acc", repr(runs))
        with self.assertRaisesRegex(plimsoll.UsageError, "'status' is not a number"):
            runs.mean("status")

    def test_of_one_seed_is_a_sequence_of_one_run(self):
        runs = self.fit("single", model="mlp", epochs=1, seeds=1)
        self.assertEqual([run.save_dir.name for run in runs], ["seed_0"])
        self.assertEqual(runs.stdev("test_acc"), 0)
        self.assertIn("1 seed, valid_acc", repr(runs))
        with self.assertRaisesRegex(plimsoll.PlimsollError, "seed_0 is of another training: hidden 8 instead of 4"):
            self.fit("single", model="mlp", epochs=1, seeds=1, seed=5, hidden=4)

    def test_that_did_not_end_is_in_no_mean(self):
        runs = self.fit("ended", model="mlp", epochs=1, seeds=2)
        file = runs[1].save_dir / "results.json"
        results = json.loads(file.read_text())
        file.write_text(json.dumps({**results, "status": "stopped"}))
        runs = plimsoll.results(runs.save_dir)
        self.assertEqual(len(runs), 2)
        self.assertEqual(runs.mean("test_acc"), runs[0].results["test_acc"])
        self.assertIn("2 seeds, 1 not finished", repr(runs))
        file.write_text(json.dumps({**results, "recipe": {**results["recipe"], "hidden": 3}}))
        runs = plimsoll.results(runs.save_dir)
        self.assertIn("different recipes", repr(runs))
        with self.assertRaisesRegex(plimsoll.UsageError, "more than their seed"):
            runs.mean("test_acc")

    def test_is_found_again_by_its_folder(self):
        folder = os.path.join(self.folder, "one")
        self.fit("one", model="mlp", epochs=1)
        self.assertEqual(plimsoll.results(folder).results["status"], "finished")
        self.assertEqual(len(list(plimsoll.load(folder).parameters())), 4)
        folder = os.path.join(self.folder, "two")
        self.fit("two", model="mlp", epochs=1, seeds=2)
        runs = plimsoll.results(folder)
        self.assertEqual(len(runs), 2)
        self.assertEqual(len(list(plimsoll.load(runs.checkpoint).parameters())), 4)
        with self.assertRaisesRegex(plimsoll.UsageError, "2 seeds; name one, such as .*seed_"):
            plimsoll.load(folder)
        with self.assertRaisesRegex(plimsoll.PlimsollError, "has no results"):
            plimsoll.results(self.folder)

    def test_fails_with_the_message_of_the_program(self):
        with self.assertRaisesRegex(plimsoll.UsageError, "nonsense"):
            self.fit("bad", nonsense=3)
        with self.assertRaises(plimsoll.MemoryLimitError):
            self.fit("small", memory="2M")
        with self.assertRaisesRegex(plimsoll.UsageError, "resume"):
            self.fit("again", resume="x")

    def test_gives_a_module_with_its_weights(self):
        import torch
        run = self.fit("mlp", model="mlp", dropout=0.3, batch_norm=True)
        model = plimsoll.load(run.checkpoint)
        self.assertFalse(model.training)
        classes = model(torch.from_numpy(graph().x)).argmax(1).numpy()
        path = os.path.join(self.folder, "classes.npy")
        subprocess.run([os.environ["PLIMSOLL_PROGRAM"], "predict", self.path, "--checkpoint", run.checkpoint, "--split",
                        "all", "--out", path, "--quiet"], check=True, stdout=subprocess.DEVNULL)
        self.assertGreater((classes == np.load(path)).mean(), 0.999)

    def test_needs_pyg_for_models_of_pyg(self):
        try:
            import torch_geometric  # noqa: F401
            self.skipTest("torch_geometric is installed")
        except ImportError:
            pass
        run = self.fit("gat", model="gat", epochs=1, heads=2)
        with self.assertRaisesRegex(plimsoll.PlimsollError, "torch_geometric"):
            plimsoll.load(run.checkpoint)

    def test_refuses_files_that_are_no_checkpoints(self):
        import torch
        path = os.path.join(self.folder, "other.pth")
        torch.save({"a": 1}, path)
        with self.assertRaisesRegex(plimsoll.UsageError, "not a checkpoint"):
            plimsoll.load(path)


@unittest.skipUnless(has_torch(), "torch is not installed")
class Layerwise(StoreTest):
    def test_inference_sees_all_neighbours_of_all_nodes(self):
        import torch
        made = graph()

        def layer(x, edges):  # its own row, and the sum of its neighbours
            return x + torch.zeros_like(x).index_add_(0, edges[1], x[edges[0]])

        x, edges = torch.from_numpy(made.x), torch.from_numpy(made.edge_index)
        expected = layer(layer(x, edges), edges).numpy()
        out = os.path.join(self.folder, "out.npy")
        got = plimsoll.layerwise([layer, layer], self.path, batch_size=500, out=out)
        np.testing.assert_allclose(got, expected, rtol=1e-4)
        np.testing.assert_allclose(np.load(out), expected, rtol=1e-4)
        np.testing.assert_allclose(plimsoll.layerwise([layer, layer], self.path, batch_size=NODES), expected, rtol=1e-4)
        with self.assertRaises(plimsoll.UsageError):
            plimsoll.layerwise("model", self.path)


if __name__ == "__main__":
    unittest.main()
