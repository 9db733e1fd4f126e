"""plimsoll import pyg: what torch.save has written becomes the same store, without torch, PyG or code of the
file."""
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import types
import unittest

import numpy as np

import plimsoll
from graphs import NODES, graph, has_torch


@contextlib.contextmanager
def pyg_classes():
    """Classes with the names of PyG's, and what PyG's have in a pickle."""
    names = {"torch_geometric.data.data": ("Data", "HeteroData"), "torch_geometric.data.storage": ("GlobalStorage",)}
    before = dict(sys.modules)
    made = {}
    for parent in ("torch_geometric", "torch_geometric.data"):
        sys.modules[parent] = types.ModuleType(parent)
    for module, classes in names.items():
        sys.modules[module] = types.ModuleType(module)
        for name in classes:
            made[name] = type(name, (), {"__module__": module})
            setattr(sys.modules[module], name, made[name])
    try:
        yield types.SimpleNamespace(**made)
    finally:
        sys.modules.clear()
        sys.modules.update(before)


def homogeneous(torch, edge_attrs=None, add_node_type=True, add_edge_type=True):
    """The fields that PyG's HeteroData.to_homogeneous() gives a graph of two types of nodes and edges, with
    edge_attr."""
    made = graph()
    edges = made.edge_index.shape[1]
    fields = {"edge_index": torch.from_numpy(made.edge_index), "x": torch.from_numpy(made.x)}
    for name in ["edge_attr"] if edge_attrs is None else edge_attrs:
        fields[name] = torch.ones(edges)
    if add_node_type:
        fields["node_type"] = torch.arange(NODES) // (NODES // 2)
    if add_edge_type:
        fields["edge_type"] = torch.arange(edges) % 2
    return fields


class RunsACommand:
    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.system, (f"touch {self.mark}",)


@unittest.skipUnless(has_torch(), "torch is not installed")
class ImportPyg(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="plimsoll-test-")
        self.addCleanup(shutil.rmtree, self.folder)
        import torch
        self.torch = torch
        made = graph()
        self.fields = {"x": torch.from_numpy(made.x), "edge_index": torch.from_numpy(made.edge_index),
                       "y": torch.from_numpy(made.y), "train_mask": torch.from_numpy(made.train),
                       "val_mask": torch.from_numpy(made.valid), "test_mask": torch.from_numpy(made.test)}

    def run_import(self, value, *options, **saving):
        path = os.path.join(self.folder, "data.pt")
        self.torch.save(value, path, **saving)
        return self.run_on(path, *options)

    def run_on(self, path, *options, python=sys.executable):
        self.store = os.path.join(self.folder, "new.plim")
        shutil.rmtree(self.store, ignore_errors=True)
        words = [os.environ["PLIMSOLL_PROGRAM"], "import", "pyg", path, "--out", self.store, "--feature-type", "f32",
                 "--python", python, *options]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout

    def assert_same_store(self, **options):
        made, path = graph(), os.path.join(self.folder, "expected.plim")
        plimsoll.from_numpy(made.edge_index, made.x, path, y=made.y, train=made.train, valid=made.valid, test=made.test,
                            features="f32", replace=True, **options)
        for name in os.listdir(path):
            if name == "meta.json":
                continue
            with open(os.path.join(path, name), "rb") as one, open(os.path.join(self.store, name), "rb") as other:
                self.assertEqual(one.read(), other.read(), name)

    def test_reads_every_form_of_a_graph(self):
        with pyg_classes() as pyg:
            storage, data = pyg.GlobalStorage(), pyg.Data()
            storage._mapping, storage._parent, data._store = self.fields, data, storage
            older = pyg.Data()
            older.__dict__.update(self.fields)
            forms = {"a dict": self.fields, "a Data": data, "a Data of PyG 1": older, "a dataset": (data, None),
                     "a dataset of PyG 2.4": (self.fields, None, pyg.Data),
                     "a dataset with slices": (self.fields, {"x": self.torch.tensor([0, NODES])}, pyg.Data)}
            paths = {}
            for number, (name, value) in enumerate(forms.items()):
                paths[name] = os.path.join(self.folder, f"{number}.pt")
                self.torch.save(value, paths[name])
        for name, path in paths.items():
            with self.subTest(name):
                code, text = self.run_on(path)
                self.assertEqual(code, 0, text)
                self.assert_same_store()

    def test_reads_views_and_other_types(self):
        fields = dict(self.fields, edge_index=self.fields["edge_index"].t().contiguous().t(), x=self.fields["x"].double(),
                      y=self.fields["y"].int().unsqueeze(1))
        self.assertEqual(self.run_import(fields, "--undirected")[0], 0)
        self.assert_same_store(undirected=True)
        short = dict(self.fields, x=self.fields["x"].bfloat16())
        self.assertEqual(self.run_import(short)[0], 0)
        batch = next(iter(plimsoll.NeighborLoader(self.store, [2], output="numpy", batch_size=50)))
        np.testing.assert_array_equal(batch.x, short["x"].float().numpy()[batch.n_id])

    def test_says_what_it_reads_and_what_not(self):
        fields = dict(self.fields, edge_attr=self.torch.zeros(3), name="cora")
        code, text = self.run_import(fields)
        self.assertEqual((code, "--ignore edge_attr imports the rest" in text), (3, True), text)
        code, text = self.run_import(fields, "--ignore", "edge_attr", "--json")
        self.assertEqual(code, 0, text)
        summary = json.loads(text)
        self.assertEqual((summary["left_out"], summary["not_read"], summary["nodes"]), (["edge_attr"], ["name"], NODES))
        fields = dict(self.fields, weight=self.torch.zeros(self.fields["edge_index"].shape[1]), name="cora")
        code, text = self.run_import(fields)
        self.assertEqual((code, "--ignore weight imports the rest" in text), (3, True), text)
        code, text = self.run_import(fields, "--ignore", "weight", "--quiet")
        self.assertEqual((code, text), (0, "note: not read, because a store has no place for it: name\n"))

    def test_runs_no_code_of_the_file(self):
        mark = os.path.join(self.folder, "mark")
        code, text = self.run_import(dict(self.fields, extra=RunsACommand(mark)))
        self.assertEqual((code, os.path.exists(mark)), (0, False), text)
        code, text = self.run_import(dict(self.fields, x=RunsACommand(mark)))
        self.assertEqual((code, os.path.exists(mark)), (3, False), text)
        self.assertIn("x in", text)

    def test_reads_an_edge_index_of_pyg(self):
        path = os.path.join(self.folder, "saved.pt")
        code = f"""
            import sys, torch
            sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})
            from graphs import graph
            from torch_geometric import EdgeIndex
            made = graph()
            fields = {{name: torch.from_numpy(getattr(made, name)) for name in ("x", "y", "edge_index")}}
            for split, name in (("train", "train_mask"), ("valid", "val_mask"), ("test", "test_mask")):
                fields[name] = torch.from_numpy(getattr(made, split))
            fields["edge_index"] = EdgeIndex(fields["edge_index"], sort_order="row", sparse_size=(None, 3000))
            fields["other"] = EdgeIndex(torch.zeros(2, 3, dtype=torch.int64))
            torch.save(fields, {path!r})
        """
        stand_in = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stand_in")
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join([stand_in, os.environ.get("PYTHONPATH", "")]))
        subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, env=environment)
        code, text = self.run_on(path)
        self.assertEqual(code, 0, text)
        self.assert_same_store()

    def test_names_the_class_of_a_tensor_that_it_cannot_read(self):
        class Odd(self.torch.Tensor):
            __torch_function__ = self.torch._C._disabled_torch_function_impl

            @classmethod
            def __torch_dispatch__(cls, *_):
                raise NotImplementedError
        Odd.__module__, Odd.__qualname__ = "somebody", "Odd"  # so that pickle finds it
        module = types.ModuleType("somebody")
        module.Odd = Odd
        sys.modules["somebody"] = module
        self.addCleanup(sys.modules.pop, "somebody")
        odd = self.torch.Tensor._make_wrapper_subclass(Odd, (2, 5), dtype=self.torch.int64)  # without values
        code, text = self.run_import(dict(self.fields, edge_index=odd))
        self.assertEqual((code, "somebody.Odd" in text, "dense" in text), (3, True, True), text)

    def test_reads_a_tensor_of_another_class_with_values_of_its_own(self):
        class Named(self.torch.Tensor):
            pass
        Named.__module__, Named.__qualname__ = "somebody", "Named"
        module = types.ModuleType("somebody")
        module.Named = Named
        sys.modules["somebody"] = module
        self.addCleanup(sys.modules.pop, "somebody")
        code, text = self.run_import(dict(self.fields, edge_index=self.fields["edge_index"].as_subclass(Named)))
        self.assertEqual(code, 0, text)
        self.assert_same_store()

    def test_advises_of_types_what_can_be_imported(self):
        with pyg_classes() as pyg:
            hetero = pyg.HeteroData()
            hetero._edge_store_dict = {}
            paths = [os.path.join(self.folder, name) for name in ("hetero.pt", "dict.pt")]
            self.torch.save(hetero, paths[0])
            self.torch.save(({"_global_store": {}, "paper": {"x": self.fields["x"]},
                              ("paper", "cites", "paper"): {"edge_index": self.fields["edge_index"]}}, None, pyg.HeteroData),
                            paths[1])
        for path in paths:
            code, text = self.run_on(path)
            self.assertEqual(code, 3, text)
            words = re.search(r"to_homogeneous\((.*?)\)", text).group(1)
            code, text = self.run_import(eval(f"homogeneous(self.torch, {words})", {"homogeneous": homogeneous, "self": self}))
            self.assertEqual(code, 0, text)
        code, text = self.run_import(homogeneous(self.torch))
        self.assertEqual((code, "--ignore edge_attr" in text), (3, True), text)
        code, text = self.run_import(homogeneous(self.torch), "--ignore", "edge_attr", "--ignore", "edge_type")
        self.assertEqual(code, 0, text)

    def test_refuses_what_is_not_one_graph(self):
        ends = self.torch.tensor([0, 5, 10])
        with pyg_classes() as pyg:
            hetero = pyg.HeteroData()
            hetero._edge_store_dict = {}
            path = os.path.join(self.folder, "hetero.pt")
            self.torch.save(hetero, path)
        for value, words in ((({"x": self.fields["x"]}, {"x": ends}), "2 graphs"), ([], "no graph"), ({"a": 1}, "no edge_index"),
                             ({"edge_index": self.fields["edge_index"]}, "no x")):
            code, text = self.run_import(value)
            self.assertEqual((code, words in text), (3, True), text)
        self.assertIn("to_homogeneous", self.run_on(path)[1])
        self.assertIn("before 1.6", self.run_import(self.fields, _use_new_zipfile_serialization=False)[1])
        self.assertEqual(self.run_on(os.path.join(self.folder, "missing.pt"))[0], 6)

    def test_refuses_a_file_that_is_cut_or_changed(self):
        path = os.path.join(self.folder, "whole.pt")
        self.torch.save(self.fields, path)
        with open(path, "rb") as file:
            whole = file.read()
        cut = os.path.join(self.folder, "cut.pt")
        for changed in (whole[:len(whole) // 2], whole.replace(b"storage", b"storagf", 1), b""):
            with open(cut, "wb") as file:
                file.write(changed)
            code, text = self.run_on(cut)
            self.assertEqual((code, "Traceback" in text), (3, False), text)

    def test_needs_an_interpreter(self):
        path = os.path.join(self.folder, "data.pt")
        code, text = self.run_on(path, python="no-such-python")
        self.assertEqual((code, "--python" in text), (6, True), text)


if __name__ == "__main__":
    unittest.main()
