"""The arguments of PyG's NeighborLoader and torch's DataLoader: all are known, and docs/reference/python.md
lists them."""
import enum
import inspect
import os
import unittest

import numpy as np

import plimsoll
from plimsoll import _arguments
from graphs import StoreTest, has_torch

# torch_geometric 2.8: NeighborLoader and NodeLoader; torch: DataLoader.
PYG = ["data", "num_neighbors", "input_nodes", "input_time", "replace", "subgraph_type", "disjoint", "temporal_strategy",
       "time_attr", "weight_attr", "transform", "transform_sampler_output", "is_sorted", "filter_per_worker",
       "neighbor_sampler", "directed", "custom_cls", "input_id"]  # it drops "dataset" and "collate_fn", which Lightning gives
TORCH = ["dataset", "batch_size", "shuffle", "sampler", "batch_sampler", "num_workers", "collate_fn", "pin_memory", "drop_last",
         "timeout", "worker_init_fn", "multiprocessing_context", "generator", "prefetch_factor", "persistent_workers",
         "pin_memory_device", "in_order"]


class SubgraphType(enum.Enum):  # as PyG has it
    directional = "directional"
    induced = "induced"


class Arguments(StoreTest):
    def test_of_pyg_and_torch_are_accepted_with_their_defaults(self):
        options = {name: default for name, (default, _) in _arguments.REFUSED.items()}
        options.update({name: None for name in _arguments.WITHOUT_EFFECT})
        options["subgraph_type"] = SubgraphType.directional
        self.assertEqual(next(iter(self.loader(**options))).batch_size, 64)

    def test_that_are_not_supported_are_refused_with_a_reason(self):
        others = {"replace": True, "disjoint": True, "directed": False, "subgraph_type": SubgraphType.induced,
                  "timeout": 5, "temporal_strategy": "last"}
        for name, (_, reason) in _arguments.REFUSED.items():
            with self.assertRaisesRegex(plimsoll.UsageError, name + "=") as raised:
                self.loader(**{name: others.get(name, "something")})
            self.assertIn(reason, str(raised.exception))

    def test_that_are_arrays_are_refused_like_others(self):
        for values in (np.arange(3), np.array([]), "tensor"):
            if isinstance(values, str):
                if not has_torch():
                    continue
                import torch
                values = torch.arange(3)
            for name in ("input_time", "input_id", "timeout", "replace"):
                with self.assertRaisesRegex(plimsoll.UsageError, name + "="):
                    self.loader(**{name: values})

    def test_of_pyg_and_torch_are_all_known(self):
        taken = inspect.signature(plimsoll.NeighborLoader).parameters
        for name in PYG + TORCH:
            self.assertTrue(name in taken or name in _arguments.REFUSED or name in _arguments.WITHOUT_EFFECT, name)

    def test_that_do_not_exist_are_refused(self):
        with self.assertRaisesRegex(plimsoll.UsageError, "nonsense"):
            self.loader(nonsense=1)

    def test_with_wrong_values_are_refused(self):
        for options in ({"batch_size": 0}, {"num_workers": -1}, {"held": 0}, {"labels": "some"}, {"draw": "best"},
                        {"seed": -1}, {"output": "jax"}, {"batch_size": 2.5}, {"node_ids": "mine"},
                        {"device": "cuda"}, {"seed": 2**64}, {"held": 2**40}, {"batch_size": 2**64}, {"num_workers": 5000},
                        {"threads": 2**32 + 1}):
            with self.assertRaises(plimsoll.UsageError, msg=str(options)):
                self.loader(**options)
        for fanout in ([], [-2], 5, {"edges": [5]}, [2.5], ["5"], "15,10"):
            with self.assertRaises(plimsoll.UsageError, msg=str(fanout)):
                self.loader(fanout)
        loader = self.loader()
        for epoch in (-1, "first", 1.5, 2**64):
            loader.set_epoch(epoch)
            with self.assertRaisesRegex(plimsoll.UsageError, "epoch", msg=str(epoch)):
                iter(loader)
        with self.assertRaisesRegex(plimsoll.UsageError, "from_pyg"):
            plimsoll.NeighborLoader(object(), [5])

    def test_are_all_listed_in_the_manual(self):
        root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
        with open(os.path.join(root, "docs", "reference", "python.md"), encoding="utf-8") as file:
            manual = file.read()
        for name in PYG + TORCH + list(_arguments.REFUSED) + list(_arguments.WITHOUT_EFFECT):
            self.assertIn(f"`{name}`", manual)


if __name__ == "__main__":
    unittest.main()
