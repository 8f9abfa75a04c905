"""An environment and a game that act on their process. Each is one word of ``does``.

``at``: where it happens (``init``, ``reset``, ``step``, ``close``).
"""

from __future__ import annotations

import ctypes
import importlib
import io
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from ludus.flow import HeadSpec
from ludus.flow.slab import Array
from ludus.games.python_game import Floats, Ints, declare, tensor


def _signals() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _dtype() -> None:
    import torch

    torch.set_default_dtype(torch.float64)


def _random() -> None:
    random.seed(1)
    np.random.seed(1)


def _raise(error: BaseException) -> None:
    raise error


def _much() -> None:
    for action in ("folder", "print", "dtype", "signals", "random"):
        ACTIONS[action]()


def _company() -> None:
    threading.Thread(target=time.sleep, args=(3600,), name="the-games-own").start()
    multiprocessing.get_context("fork").Process(target=time.sleep, args=(3600,)).start()


def _close_streams() -> None:
    for stream in (sys.stdout, sys.stderr, sys.stdin, sys.__stdout__, sys.__stderr__):
        assert stream is not None
        stream.close()


def _close_buffers() -> None:
    sys.stdout.buffer.close()
    sys.stderr.detach()  # type: ignore[union-attr]


def _close_descriptors() -> None:
    for number in range(3):
        os.close(number)


def _replace_streams() -> None:
    sys.stdout = sys.__stdout__ = None  # type: ignore[misc]
    sys.stderr = io.StringIO()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


ACTIONS: dict[str, Callable[[], object]] = {
    "close-streams": _close_streams,
    "close-buffers": _close_buffers,
    "close-descriptors": _close_descriptors,
    "replace-streams": _replace_streams,
    "exit": lambda: sys.exit(0),
    "exit-word": lambda: sys.exit("no display"),
    "os-exit": lambda: os._exit(0),
    "print": lambda: print("hello from the game"),  # noqa: T201
    "os-write": lambda: os.write(1, b"hello from the game\n"),
    "child-prints": lambda: subprocess.run(["echo", "hello from the game"], check=True),
    "folder": lambda: os.chdir("/"),
    "dtype": _dtype,
    "signals": _signals,
    "alarm": lambda: signal.setitimer(signal.ITIMER_REAL, 0.01),
    "random": _random,
    "numpy-errors": lambda: np.seterr(all="raise"),
    "recursion": lambda: sys.setrecursionlimit(sys.getrecursionlimit() + 1),
    "hook": lambda: setattr(sys, "excepthook", print),
    "stdout": lambda: setattr(sys, "stdout", io.StringIO()),
    "raise": lambda: _raise(RuntimeError("the window is gone")),
    "base-raise": lambda: _raise(BaseException("not even an Exception")),
    "hang": lambda: time.sleep(3600),
    "import": lambda: importlib.import_module("no_such_module"),
    "abort": os.abort,
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "exec": lambda: os.execv("/bin/true", ["true"]),
    "input": input,
    "read": lambda: [] if os.read(0, 1) == b"" else _raise(RuntimeError("read what was not its own")),
    "close-stdout": lambda: sys.stdout.close(),
    "umask": lambda: os.umask(0o777),
    "environment": lambda: os.environ.update(PATH="/nowhere"),
    "warnings": lambda: warnings.simplefilter("error"),
    "crash": lambda: ctypes.string_at(0),
    "much": _much,
    "company": _company,
}


class Deeds:
    """An environment that performs ``does`` at ``at``."""

    does, at, tick = "", "", 0

    def _maybe(self, at: str) -> None:
        if at == self.at and (at != "step" or self.tick == 2):
            ACTIONS.get(self.does, int)()


class Guest(Deeds, gymnasium.Env[Any, Any]):
    """An environment of five steps that performs ``does`` once, at ``at``."""

    observation_space = spaces.Box(-1, 1, (3,), np.float32)
    action_space = spaces.Discrete(2)

    def __init__(self, does: str = "", at: str = "init") -> None:
        self.does, self.at, self.tick = does, at, 0
        self._maybe("init")

    def _see(self) -> Any:  # noqa: ANN401
        return self.np_random.uniform(-1, 1, 3).astype(np.float32)

    def reset(self, *, seed: int | None = None, options: object = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.tick = 0
        self._maybe("reset")
        return self._see(), {}

    def step(self, action: object) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.tick += 1
        self._maybe("step")
        return self._see(), 1.0, self.tick >= 5, False, {}

    def close(self) -> None:
        self._maybe("close")


gymnasium.register("Guest-v0", entry_point="tests.unit.games.bad_citizens:Guest", max_episode_steps=50)


class Old(Guest):
    """An environment with the reset of an old library."""

    def reset(self, seed: int | None = None) -> tuple[Any, dict[str, Any]]:  # type: ignore[override]
        return super().reset(seed=seed)


gymnasium.register("Old-v0", entry_point="tests.unit.games.bad_citizens:Old", max_episode_steps=50)


class Own(Deeds):
    """A Python game that acts the same way. With ``does = "hash"`` it depends on the order of a set."""

    truncated = False

    def __init__(self, does: str = "", at: str = "init") -> None:
        self.does, self.at, self.tick = does, at, 0
        self.spec = declare("own", observation=[tensor("tick", (1,))], heads=[HeadSpec("move", 2)])
        self._maybe("init")

    def reset(self, seed: int) -> None:
        self.tick = 0
        self._maybe("reset")

    def to_act(self) -> Sequence[int]:
        return (0,)

    def step(self, actions: Ints) -> bool:
        self.tick += 1
        self._maybe("step")
        return self.tick >= 5

    def rewards(self, out: Floats) -> None:
        out[0] = 1

    def outcome(self, out: Floats) -> None:
        out[0] = 0

    def observe(self, seat: int, out: Mapping[str, Array]) -> None:
        names = {"rook", "knight", "bishop", "queen", "king", "pawn"}
        out["tick"][...] = list(names).index("rook") if self.does == "hash" else self.tick

    def close(self) -> None:
        self._maybe("close")


GAME = Own
