"""A learner process: it makes every update of a run together with the run's own process, which started it.

It is built from the settings of the run's learner, gets that learner's state, and then an order for each
update. When the run's process exits for any reason, the kernel ends this one.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import sys
from collections.abc import Sequence
from typing import Any

import msgspec

from ludus.algorithms import registry
from ludus.algorithms.learner import SETTLE, LearnerContext, SlabLearner
from ludus.codecs.registry import codec_of
from ludus.flow import GameSpec, Slab, decode_spec
from ludus.flow.inputs.decode import from_json
from ludus.flow.process.as_found import one_thread
from ludus.flow.process.interrupts import leave_to_parent
from ludus.games.names import loaded, typed
from ludus.games.registry import find, is_python, maker
from ludus.policies.config import EncoderConfig, decode_config
from ludus.policies.network import PolicyNetwork
from ludus.pool.hosted.shared import wait_for
from ludus.pool.hosted.worker import die_with_parent, receive_message, send_message
from ludus.presets.method_file import load_method
from ludus.training.learner_processes.exchange import Exchange, digest_of
from ludus.training.learner_processes.memory import DIGEST, ORDER, Bundle, Field, Memory

LOOK_S = 1.0  # longest sleep between two looks at the run's process
ROW_SLOT, ROW_SEAT = "row_slot", "row_seat"  # fields of a slab's bundle besides its own


class Recipe(msgspec.Struct, frozen=True):
    """Settings that a learner is built from.

    ``algorithm``, ``policy``, ``spec``: as JSON. ``method``, ``method_sha256``: file of the method, and the
    hash of its bytes; "" for methods of installed packages. ``game``, ``params``: the game, whose module may
    bring codecs; ``typed``: the user named it here. The other fields are as in
    :class:`~ludus.algorithms.learner.LearnerContext`.
    """

    algorithm: str
    policy: str
    spec: str
    precision: str
    seed: int
    rows: int  # policy id in slabs that is trained
    frame_skip: int
    method: str = ""
    method_sha256: str = ""
    game: str = ""
    params: dict[str, str] = {}
    typed: bool = False


class Start(msgspec.Struct, frozen=True):
    """The first message. The descriptors of :class:`Memory` come with it."""

    recipe: Recipe
    rank: int
    size: int


class LearnerOrder(msgspec.Struct, frozen=True):
    """A message: load a state, or make an update.

    ``fields``: layout of the arrays whose descriptor comes with the message; None: those of the last order.
    """

    number: int
    update: bool
    counters: dict[str, int]
    algorithm: str = ""
    fields: tuple[Field, ...] | None = None
    progress: float = 0.0
    value_only: bool = False


class _Named(msgspec.Struct, frozen=True):
    name: str


class Follower(Exchange):
    """Part of a process that follows the orders of the run's."""

    def __init__(self, learner: SlabLearner[Any], rank: int, memory: Memory, channel: socket.socket) -> None:
        """See :class:`Exchange`. ``channel``: leads to the run's process."""
        super().__init__(learner, rank)
        self._memory = memory
        self._channel = channel
        self._poll = select.poll()
        self._poll.register(memory.bells[rank].wait_descriptor, select.POLLIN)
        self._poll.register(channel, select.POLLHUP)
        self._slab: Bundle | None = None

    def start(self, slab: Slab, progress: float, value_only: bool) -> None:
        """See :meth:`Processes.start`. The run's process starts updates."""

    def prepare(self) -> None:
        """See :meth:`Processes.prepare`. The run's process does that."""

    def state_loaded(self) -> None:
        """See :meth:`Processes.state_loaded`. The state is that of the run's process."""

    def close(self) -> None:
        """See :meth:`Processes.close`. The run's process does that."""

    def follow(self) -> None:
        """Carry out orders. Raises ``EOFError`` when the run's process ends this one."""
        self._report(0)
        while True:
            data, descriptors = receive_message(self._channel)
            order = from_json(data, LearnerOrder)
            if order.update:
                self._update(order, descriptors)
            else:
                self._load(order, descriptors)
            self._report(order.number)

    def _report(self, order: int) -> None:
        ended = self.memory.ended[self.rank]
        ended[DIGEST] = digest_of(self.learner)
        ended[ORDER] = order
        self.memory.bells[0].notify()

    def _load(self, order: LearnerOrder, descriptors: Sequence[int]) -> None:
        assert order.fields is not None
        bundle = Bundle(order.fields, descriptors[0])
        self.learner.load_state(bundle.arrays, order.counters)
        bundle.close()

    def _update(self, order: LearnerOrder, descriptors: Sequence[int]) -> None:
        if order.fields is not None:
            self._slab = Bundle(order.fields, descriptors[0])
            self._slab.close()
        assert self._slab is not None
        fields = dict(self._slab.arrays)
        row_slot, row_seat = fields.pop(ROW_SLOT), fields.pop(ROW_SEAT)
        learner = self.learner
        learner.config = from_json(order.algorithm, type(learner.config))
        learner.version, learner.steps = order.counters["version"], order.counters["steps"]
        learner.seed, learner.settle = order.counters["seed"], order.counters[SETTLE]
        slab = Slab.of(fields, row_slot, row_seat)
        learner.start(slab, order.progress, value_only=order.value_only).help(0)
        learner.finish()

    def _wait(self) -> None:
        news = wait_for(self._poll, LOOK_S)
        self.memory.bells[self.rank].clear()
        self._leave(news)

    def _look(self) -> None:
        self._leave(wait_for(self._poll, 0.0))

    def _leave(self, news: Sequence[tuple[int, int]]) -> None:
        if any(descriptor == self._channel.fileno() for descriptor, _ in news):
            raise EOFError

    def _end(self) -> None:
        """Do nothing: the end is reported with the digest."""


def build(recipe: Recipe) -> SlabLearner[Any]:
    """Return the learner of a recipe, without a state. Raises ``ValueError``."""
    one_thread()
    spec = decode_spec(recipe.spec)
    _load_codecs(recipe, spec)
    if recipe.method:
        file = load_method(typed(recipe.method))
        if file.sha256 != recipe.method_sha256:
            raise ValueError(f"{recipe.method}: the file has changed since this run loaded it")
    name = from_json(recipe.algorithm, _Named).name
    if (method := registry.find(name)) is None:
        raise ValueError(
            f'algorithm.name = "{name}": no such method in a new process; register it in a package'
        )
    policy = decode_config(recipe.policy)
    assert isinstance(policy, EncoderConfig)
    network = PolicyNetwork(policy, spec, None, recipe.precision)
    context = LearnerContext(recipe.seed, recipe.rows, 1, recipe.frame_skip)
    config = from_json(recipe.algorithm, method.config)
    made = registry.resolve(method.learner)(config, network, context)
    if not isinstance(made, SlabLearner):
        raise ValueError(f"{type(made).__name__}: expected a SlabLearner")
    return made


def _load_codecs(recipe: Recipe, spec: GameSpec) -> None:
    """Load the game if a tensor's codec is neither Ludus's nor a package's: the game's module brings it."""
    try:
        for tensor in spec.observation:
            codec_of(tensor)
    except ValueError:
        if not recipe.game:
            raise
        name = typed(recipe.game) if recipe.typed else loaded(recipe.game)  # checked by the run's process
        if is_python(name):
            maker(name, recipe.params)
        else:
            find(name)


def main(channel_descriptor: int, lifeline: int) -> int:
    """Run a learner process from its first message to its end; return the exit code."""
    die_with_parent(lifeline)
    leave_to_parent()
    channel = socket.socket(fileno=channel_descriptor)
    try:
        data, descriptors = receive_message(channel)
        start = from_json(data, Start)
        learner = build(start.recipe)
        follower = Follower(learner, start.rank, Memory(start.size, descriptors), channel)
        learner.divide(follower)
        follower.follow()
    except (EOFError, ConnectionError):
        return 0
    except Exception as error:
        with contextlib.suppress(OSError):
            send_message(channel, f"{type(error).__name__}: {error}".encode())
        return 1
    return 0


def run(channel_descriptor: int, lifeline: int) -> None:
    """Call :func:`main` and exit, without the interpreter's own end."""
    code = main(channel_descriptor, lifeline)
    sys.stderr.flush()
    os._exit(code)
