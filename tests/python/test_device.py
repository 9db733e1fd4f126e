"""Batches for a GPU, without one: a device that copies when the test lets it, and a loader whose driver is
missing."""
import collections
import gc
import os
import subprocess
import sys
import textwrap
import types
import unittest
import warnings

import numpy as np

import plimsoll
from graphs import StoreTest, has_torch
from plimsoll import _device, loader as loader_module
from plimsoll._device import CopiesAhead


class NoRoom(RuntimeError):
    pass


class Copied:
    """The event after a copy. The copy reads its source when the device gets to it, not when it is asked
    for."""

    def __init__(self, device, host, fields):
        self.device, self.host, self.fields, self.ended = device, host, fields, False

    def query(self):
        return self.ended

    def synchronize(self):
        self.device.run(until=self)


class FakeDevice:
    no_room = NoRoom

    def __init__(self, lazy=True):
        self.lazy, self.full, self.asked, self.waiting = lazy, False, 0, collections.deque()
        self.handed_out = []

    def copy(self, fields):
        if self.full:
            raise NoRoom("the device is full")
        self.asked += 1
        arrays = {name: value for name, value in fields.items() if hasattr(value, "shape")}
        copied = Copied(self, arrays, {name: None if name in arrays else value for name, value in fields.items()})
        self.waiting.append(copied)
        if not self.lazy:
            self.run()
        return copied.fields, copied

    def run(self, until=None):
        while self.waiting:
            copied = self.waiting.popleft()
            for name, value in copied.host.items():
                copied.fields[name] = value.clone() if hasattr(value, "clone") else np.array(value)
            copied.ended, copied.host = True, None
            if copied is until:
                break

    def hand_out(self, fields, copied):
        self.handed_out.append(copied)
        if not copied.ended:
            copied.synchronize()  # what the consumer's stream would wait for


class Source:
    """A loader's batches: `ready` of them are made, and `lent` are outside."""

    def __init__(self, count, ready=100):
        self.left, self.ready, self.lent, self.asked = collections.deque(range(count)), ready, 0, []

    def fetch(self, wait):
        self.asked.append(wait)
        if not self.left:
            return None
        if self.ready == 0 and not wait:
            return NotImplemented
        self.ready = max(0, self.ready - 1)
        source = self

        class Lent(np.ndarray):
            def __del__(self):
                if self.base is None:
                    source.lent -= 1
        self.lent += 1
        made = np.ndarray.__new__(Lent, 2)
        made[:] = self.left.popleft()
        return {"x": made, "batch_size": 2}


class CopyingAhead(unittest.TestCase):
    def test_hands_out_all_batches_in_order(self):
        for lazy in (True, False):
            source, copies = Source(7), CopiesAhead(FakeDevice(lazy))
            got = []
            while True:
                fields = copies.take(source.fetch)
                if fields is None:
                    break
                self.assertEqual(fields["batch_size"], 2)
                got.append(fields["x"].tolist())
            self.assertEqual(got, [[i, i] for i in range(7)])
            self.assertIsNone(copies.take(source.fetch))
            copies.end()
            self.assertEqual(source.lent, 0)

    def test_begins_with_the_next_two_copies_before_it_hands_out_one(self):
        device, source = FakeDevice(), Source(7)
        copies = CopiesAhead(device)
        copies.take(source.fetch)
        self.assertEqual(device.asked, 3)
        self.assertEqual(source.asked, [True, False, False])  # it waits for the first only
        copies.take(source.fetch)
        self.assertEqual(device.asked, 4)

    def test_does_not_wait_for_batches_ahead(self):
        device, source = FakeDevice(), Source(3, ready=0)
        copies = CopiesAhead(device)
        self.assertEqual(copies.take(source.fetch)["x"][0], 0)
        self.assertEqual(device.asked, 1)
        source.ready = 5
        self.assertEqual(copies.take(source.fetch)["x"][0], 1)
        self.assertEqual(device.asked, 3)

    def test_keeps_a_batch_until_its_copy_has_ended(self):
        device, source = FakeDevice(), Source(7)
        copies = CopiesAhead(device)
        copies.take(source.fetch)  # waits for the first copy alone
        self.assertEqual(source.lent, 3)
        copies.let_go()
        self.assertEqual(source.lent, 2)
        device.run()
        self.assertEqual(source.lent, 2)
        copies.let_go()
        self.assertEqual(source.lent, 0)

    def test_keeps_batches_of_a_pass_that_was_left_until_their_copies_have_ended(self):
        device, source = FakeDevice(), Source(7)
        copies = CopiesAhead(device)
        copies.take(source.fetch)
        copies.begin()
        copies.let_go()
        self.assertEqual(source.lent, 2)
        other = Source(2)
        self.assertEqual(copies.take(other.fetch)["x"][0], 0)
        copies.let_go()
        self.assertEqual(source.lent, 0)  # the copies end in order, and the new pass came after
        del copies
        gc.collect()
        self.assertEqual((source.lent, other.lent), (0, 0))

    def test_waits_for_copies_when_it_ends(self):
        device, source = FakeDevice(), Source(7)
        copies = CopiesAhead(device)
        copies.take(source.fetch)
        copies.end()
        self.assertEqual((source.lent, len(device.waiting)), (0, 0))

    def test_makes_copies_when_they_are_needed_if_the_device_has_no_room_ahead(self):
        device, source = FakeDevice(), Source(4)
        copies = CopiesAhead(device)
        self.assertEqual(copies.take(source.fetch)["x"][0], 0)
        device.full = True
        self.assertEqual([copies.take(source.fetch)["x"][0] for _ in range(2)], [1, 2])  # copied before
        with self.assertRaises(NoRoom):
            copies.take(source.fetch)
        device.full = False
        self.assertEqual(copies.take(source.fetch)["x"][0], 3)  # it is not lost
        self.assertIsNone(copies.take(source.fetch))


def with_fake_device(loader, lazy=True):
    """The loader as with device="cuda", with a fake in the place of the GPU."""
    device = FakeDevice(lazy)
    loader._copies = CopiesAhead(device)
    return device


def wait_for_batches_ahead(loader):
    """Each take() then begins with all copies ahead, however slowly batches are made."""
    fetch = loader._next_for_copy
    loader._next_for_copy = lambda wait: fetch(True)


class OfALoader(StoreTest):
    def all_of(self, loader, **options):
        return [{name: value.tolist() if hasattr(value, "tolist") else value for name, value in batch} for batch in loader]

    def test_are_those_in_ordinary_memory(self):
        expected = self.all_of(self.loader(input_nodes="train", shuffle=True))
        for lazy in (True, False):
            for held in (1, 3):
                loader = self.loader(input_nodes="train", shuffle=True, held=held)
                with_fake_device(loader, lazy)
                self.assertEqual(self.all_of(loader), expected)
                loader.epoch = 0
                for _ in loader:  # a pass that is left
                    break
                loader.epoch = 0
                self.assertEqual(self.all_of(loader), expected)
                loader.close()

    def test_may_all_be_kept(self):
        loader = self.loader(input_nodes="train", held=2, transform=lambda batch: (batch, 1))
        with_fake_device(loader)
        kept = [batch for batch, _ in loader]
        self.assertEqual(len(kept), len(loader))
        for batch, expected in zip(kept, self.loader(input_nodes="train")):
            np.testing.assert_array_equal(batch.x, expected.x)
            np.testing.assert_array_equal(batch.edge_index, expected.edge_index)

    def test_come_back_to_the_loader(self):
        loader = self.loader(input_nodes="train")
        device = with_fake_device(loader)
        for _ in loader:
            pass
        self.assertLessEqual(loader.state()["held"], 3)
        device.run()
        loader._copies.let_go()
        self.assertEqual(loader.state()["held"], 0)
        next(iter(loader))
        self.assertGreater(loader.state()["held"], 0)
        loader._copies.end()
        self.assertEqual(loader.state()["held"], 0)

    def test_end_with_their_loader(self):
        loader = self.loader(input_nodes="train")
        device = with_fake_device(loader)
        wait_for_batches_ahead(loader)
        next(iter(loader))
        self.assertGreater(len(device.waiting), 0)
        del loader
        gc.collect()
        self.assertEqual(len(device.waiting), 0)


@unittest.skipUnless(has_torch(), "torch is not installed")
class PinnedMemory(StoreTest):
    """Without a GPU."""

    def setUp(self):
        import torch
        if torch.cuda.is_available():
            self.skipTest("this machine has a GPU")
        loader_module._told.clear()

    def test_that_cannot_be_had_is_said_once_and_batches_are_ordinary_ones(self):
        import torch
        with self.assertWarnsRegex(RuntimeWarning, "ordinary memory.*NVIDIA's driver"):
            loader = self.loader(input_nodes="train", shuffle=True, output="torch", pin_memory=True)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.loader(input_nodes="train", output="torch", pin_memory=True)
            for batch, expected in zip(loader, self.loader(input_nodes="train", shuffle=True, output="torch")):
                for name in ("x", "y", "edge_index", "n_id", "input_id"):
                    self.assertTrue(torch.equal(batch[name], expected[name]))
        self.assertEqual(loader.state()["pinned_bytes"], 0)
        del batch
        self.assertEqual(loader.state()["held"], 0)

    def test_is_not_asked_for_without_need(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            batch = next(iter(self.loader(input_nodes="train", output="torch", device="cpu")))
        self.assertEqual(batch.x.device.type, "cpu")

    def test_of_a_torch_without_cuda_is_torchs_error(self):
        with self.assertRaises((AssertionError, RuntimeError)):
            next(iter(self.loader(input_nodes="train", output="torch", device="cuda")))


class FakeStream:
    def __init__(self, log, name):
        self.log, self.name = log, name

    def record_event(self):
        self.log.append(("record", self.name))
        return "event"

    def wait_event(self, event):
        self.log.append(("wait", self.name, event))

    def synchronize(self):
        self.log.append(("synchronize", self.name))


class FakeTensor:
    def __init__(self, log, name, fails=False):
        self.log, self.name, self.fails = log, name, fails

    def to(self, device, non_blocking=False):
        if self.fails:
            raise NoRoom("the device is full")
        self.log.append(("copy", self.name, device, non_blocking, self.log[-1][0] == "enter" or self.log[-1][0] == "copy"))
        return FakeTensor(self.log, self.name + "'")

    def record_stream(self, stream):
        self.log.append(("uses", self.name, stream.name))


class Streams(unittest.TestCase):
    """What is asked of torch, in which order."""

    def setUp(self):
        self.log = log = []

        class Entered:
            def __init__(self, stream):
                self.stream = stream

            def __enter__(self):
                log.append(("enter", self.stream.name))

            def __exit__(self, *_):
                log.append(("leave", self.stream.name))
        cuda = types.SimpleNamespace(Stream=lambda device: FakeStream(log, "copies"), stream=Entered,
                                     current_stream=lambda device: FakeStream(log, "current"), OutOfMemoryError=NoRoom)
        self.import_torch, _device.import_torch = _device.import_torch, lambda: types.SimpleNamespace(cuda=cuda)
        self.addCleanup(setattr, _device, "import_torch", self.import_torch)

    def test_copy_on_their_own_and_the_current_one_waits(self):
        stream = _device.CudaStream("gpu")
        fields, copied = stream.copy({"x": FakeTensor(self.log, "x"), "batch_size": 5})
        self.assertEqual(self.log, [("enter", "copies"), ("copy", "x", "gpu", True, True), ("record", "copies"), ("leave", "copies")])
        self.assertEqual(fields["batch_size"], 5)
        del self.log[:]
        stream.hand_out(fields, copied)
        self.assertEqual(self.log, [("wait", "current", "event"), ("uses", "x'", "current")])

    def test_wait_for_copies_that_began_before_one_failed(self):
        stream = _device.CudaStream("gpu")
        with self.assertRaises(stream.no_room):
            stream.copy({"x": FakeTensor(self.log, "x"), "y": FakeTensor(self.log, "y", fails=True)})
        self.assertEqual(self.log[-1], ("synchronize", "copies"))


class AtTheEndOfTheProcess(StoreTest):
    def test_running_copies_do_no_harm(self):
        code = textwrap.dedent(f"""
            import sys
            sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})
            import plimsoll
            from test_device import with_fake_device
            loader = plimsoll.NeighborLoader({self.path!r}, [5, 3], "train", batch_size=64, output="numpy")
            with_fake_device(loader)
            kept = next(iter(loader))
        """)
        done = subprocess.run([sys.executable, "-c", code], timeout=60, stderr=subprocess.PIPE, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
