"""Values that take long to make, while what they are made of keeps changing."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, NamedTuple, TypeVar

Value = TypeVar("Value")

KEPT = 16
PAUSE = 20.0  # a value stays for so many times as long as it took: a twentieth of a processor at most


class _Made(NamedTuple, Generic[Value]):
    stamp: Hashable
    at: float
    took: float
    value: Value


class Remade(Generic[Value]):
    """Values by key. Threads may share it; each value is made by one thread at a time."""

    def __init__(self) -> None:
        """Start without values."""
        self._lock = threading.Lock()
        self._locks: OrderedDict[str, threading.Lock] = OrderedDict()
        self._made: dict[str, _Made[Value]] = {}

    def get(self, key: str, stamp: Hashable, make: Callable[[], Value]) -> Value:
        """Return the value of ``key``, made for ``stamp`` or, while it is young, for an earlier stamp."""
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
            self._locks.move_to_end(key)
            while len(self._locks) > KEPT:
                self._made.pop(self._locks.popitem(last=False)[0], None)
        with lock:
            made, now = self._made.get(key), time.monotonic()
            if made is None or (made.stamp != stamp and now - made.at >= PAUSE * made.took):
                value = make()
                done = time.monotonic()
                self._made[key] = made = _Made(stamp, done, done - now, value)
            return made.value
