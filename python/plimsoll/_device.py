"""Batches that are copied to a GPU ahead of the consumer, on a stream of their own."""
from __future__ import annotations

import collections
import contextlib
from typing import Any, Callable, Deque, Dict, Optional, Tuple

from ._batch import import_torch

AHEAD = 2  # batches beyond the one that is handed out

Fields = Dict[str, Any]


class CudaStream:
    """A stream for copies to a device."""

    def __init__(self, device: Any) -> None:
        self._cuda = import_torch().cuda
        self.device = device
        self._stream = self._cuda.Stream(device)
        #: What copy() raises if the device has no room.
        self.no_room = getattr(self._cuda, "OutOfMemoryError", RuntimeError)

    def copy(self, fields: Fields) -> Tuple[Fields, Any]:
        """The fields with their tensors on the device, and what tells when they are there (query,
        synchronize)."""
        try:
            with self._cuda.stream(self._stream):
                return ({name: value.to(self.device, non_blocking=True) if hasattr(value, "to") else value
                         for name, value in fields.items()}, self._stream.record_event())
        except BaseException:
            self._stream.synchronize()  # some of the copies may run
            raise

    def hand_out(self, fields: Fields, copied: Any) -> None:
        """What the current stream does from now on comes after the copy. The memory of the tensors belongs to
        the copying stream, which must not use it again before the current one is done with it."""
        current = self._cuda.current_stream(self.device)
        current.wait_event(copied)
        for value in fields.values():
            if hasattr(value, "record_stream"):
                value.record_stream(current)


class _Copy:
    """A batch of the loader and its copy. `host` is None when the loader may have its memory back."""
    __slots__ = ("host", "fields", "copied")

    def __init__(self, host: Fields) -> None:
        self.host: Optional[Fields] = host
        self.fields: Optional[Fields] = None
        self.copied: Any = None


class CopiesAhead:
    """Hands out copies of batches in order, and begins with the copies of the next ones before. Keeps the
    memory of a batch until its copy has ended. If the device has no room for copies ahead, it makes one when
    it is needed."""

    def __init__(self, stream: Any, ahead: int = AHEAD) -> None:
        self._stream, self._ahead = stream, ahead
        self._ready: Deque[_Copy] = collections.deque()    # to be handed out
        self._running: Deque[_Copy] = collections.deque()  # whose batches are kept; they end in this order
        self._more = True

    def begin(self) -> None:
        """Forgets what was not handed out: a new pass begins."""
        self._ready.clear()
        self._more = True

    def take(self, fetch: Callable[[bool], Any]) -> Optional[Fields]:
        """The next batch on the device; None after the last. `fetch(True)` waits for the fields of the next
        batch and returns None after the last; `fetch(False)` returns NotImplemented instead of waiting."""
        self.let_go()
        while self._more and len(self._ready) <= self._ahead:
            host = fetch(not self._ready)
            if host is NotImplemented:
                break
            if host is None:
                self._more = False
                break
            self._ready.append(_Copy(host))
            if not self._copy_ahead():
                break
        if not self._ready:
            return None
        first = self._ready[0]
        if first.fields is None:
            self._copy(first)
        self._stream.hand_out(first.fields, first.copied)
        self._ready.popleft()
        return first.fields

    def _copy_ahead(self) -> bool:
        """Copies all that is ready; False if the device has no room for more."""
        for copy in self._ready:
            if copy.fields is None:
                try:
                    self._copy(copy)
                except self._stream.no_room:
                    return False
        return True

    def _copy(self, copy: _Copy) -> None:
        copy.fields, copy.copied = self._stream.copy(copy.host)
        self._running.append(copy)

    def let_go(self) -> bool:
        """Gives back the batches whose copies have ended. False if there are none to wait for."""
        while self._running and self._running[0].copied.query():
            self._running.popleft().host = None
        return bool(self._running)

    def wait(self) -> bool:
        """Waits for the oldest copy and gives its batch back. False if none runs."""
        if not self._running:
            return False
        self._running[0].copied.synchronize()
        self._running.popleft().host = None
        return True

    def end(self) -> None:
        """Waits for all copies and gives everything back."""
        self._ready.clear()
        while self.wait():
            pass

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # torch may be gone already when the process ends
            self.end()
