"""Answers of weights to positions: their likeliest moves, or the most visited ones of a search."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from ludus.analyses.subject import AnalysedGame, searched
from ludus.evaluation.weights import load_network
from ludus.flow.errors import DIVERGED, NotFinite
from ludus.flow.slab import Array
from ludus.games.searchable import searchable
from ludus.mcts.evaluator import Floats, LeafBatch
from ludus.mcts.network import NetworkEvaluator
from ludus.mcts.player import SearchPlayer
from ludus.mcts.text import parse_search
from ludus.policies.actions.outputs import gives_q_values
from ludus.policies.actions.q_values import QValues
from ludus.policies.protocol import Network
from ludus.presets.config import Device, RunConfig
from ludus.presets.errors import ConfigError
from ludus.presets.hardware import precision_name

#: Moves of an answer, at most.
BEST = 5
#: Answers in a record, at most: all players together.
MOST_ANSWERS = 150_000
#: Players of a record, each with its way to answer, at most.
MOST_PLAYERS = 256
_READERS = 2  # networks that are kept at a time


class AskedPositions(NamedTuple):
    """``N`` positions of one game, each with one seat to move.

    Attributes:
        params: Parameters of the game's rules.
        obs: ``packed[N, ...]`` of each observation tensor, as the seat to move sees it.
        mask: ``uint8[N, A]``, 1 = legal.
        states: States of the matches, for a search; empty without one.
    """

    params: Mapping[str, str]
    obs: Mapping[str, Array]
    mask: npt.NDArray[np.uint8]
    states: tuple[bytes, ...] = ()


class ReaderAnswer(NamedTuple):
    """Answer: at most :data:`BEST` legal moves, best first, and the value for the side to move."""

    moves: tuple[int, ...]
    value: float


class VersionReader:
    """Weights that answer. Any thread may ask; one answer is made at a time."""

    def __init__(self, reference: str, game: AnalysedGame, device: Device = "auto") -> None:
        """Load the weights ``reference`` of ``game``.

        Raises:
            ConfigError: Weights of other rules, or with a memory; no such device.
            StorageError: No such weights.
        """
        self._lock = threading.Lock()
        self._reference = reference
        loaded = load_network(reference, game.spec, device)
        self._network = loaded.network
        if self._network.memory_shape is not None:
            raise ConfigError(f"{reference}: weights with a memory, which a single position has not filled")
        self._evaluator: NetworkEvaluator | None = None
        if not gives_q_values(self._network.config):
            self._evaluator = NetworkEvaluator(self._network, precision_name(RunConfig(), loaded.device))

    def answers(
        self,
        game: str,
        asked: AskedPositions,
        visits: int,
        seed: int = 0,
        until: Callable[[], bool] | None = None,
    ) -> list[ReaderAnswer]:
        """Return the answer to each position.

        Args:
            game: Reference of the game.
            asked: The positions; with their states, if ``visits`` is above 0.
            visits: Visits of a search; 0 = the network alone.
            seed: Seed of the search.
            until: Asked between visits whether to give up; the answers are worth nothing then.
        """
        with self._lock:
            if not len(asked.mask):
                return []
            if visits:
                return self._searched(game, asked, visits, seed, until)
            policy, value = self._network_outputs(asked)
        found = []
        for share, legal, worth in zip(policy, asked.mask, value, strict=True):
            moves = np.flatnonzero(legal)
            order = np.argsort(-share[moves], kind="stable")[:BEST]
            found.append(ReaderAnswer(tuple(moves[order].tolist()), float(worth)))
        return found

    def _network_outputs(self, asked: AskedPositions) -> tuple[Floats, Floats]:
        """Return a number of each choice, the best one's the largest, and the values."""
        if self._evaluator is None:
            return _q_values(self._network, asked)
        batch = LeafBatch(self._network.spec, len(asked.mask))
        for name, array in batch.obs.items():
            array[:] = asked.obs[name]
        return self._evaluator.evaluate(batch, len(asked.mask))

    def _searched(
        self, game: str, asked: AskedPositions, visits: int, seed: int, until: Callable[[], bool] | None
    ) -> list[ReaderAnswer]:
        if self._evaluator is None:
            raise ConfigError(f"{self._reference}: weights with Q-values, which a search cannot use")
        _, how = parse_search(searched(self._reference, visits))
        name, native = searchable(game)
        slots = range(len(asked.states))
        try:
            player = SearchPlayer(
                name, asked.params, how, self._evaluator, slots=len(slots), seed=seed, native=native
            )
        except ValueError as error:
            raise ConfigError(error, where=self._reference) from error
        found = []
        for result in player.decide(slots, asked.states, until=until):
            root = result.root
            order = np.lexsort((root.moves, -root.prior, -root.move_visits, root.moves != result.move))
            found.append(ReaderAnswer(tuple(root.moves[order[:BEST]].tolist()), float(result.value)))
        return found


@torch.no_grad()
def _q_values(network: Network, asked: AskedPositions) -> tuple[Floats, Floats]:
    obs = {t.name: torch.from_numpy(asked.obs[t.name]).to(network.device) for t in network.inputs}
    step = network.step(obs)
    assert isinstance(step.distribution, QValues)
    scores = step.distribution.values(torch.from_numpy(asked.mask).to(network.device))
    value = step.value.float()
    if bool(scores.isnan().any()) or not bool(value.isfinite().all()):
        raise NotFinite(f"the weights give no finite numbers: they have diverged; {DIVERGED}")
    return scores.cpu().numpy(), value.cpu().numpy()


class ReaderShelf:
    """The readers of an analysis, by reference; those asked last are kept. Any thread may take one."""

    def __init__(self, game: AnalysedGame, device: Device = "auto") -> None:
        """Hold readers of ``game`` on ``device``."""
        self._game, self._device = game, device
        self._lock = threading.Lock()
        self._readers: OrderedDict[str, VersionReader] = OrderedDict()

    def reader(self, reference: str) -> VersionReader:
        """Return the reader of weights. Raises as :class:`VersionReader`."""
        with self._lock:
            found = self._readers.pop(reference, None) or VersionReader(reference, self._game, self._device)
            self._readers[reference] = found
            while len(self._readers) > _READERS:
                self._readers.popitem(last=False)
            return found


def check_answers(players: int, positions: int, things: str) -> None:
    """Raise ``ConfigError`` for more answers than a record holds.

    Args:
        players: Players, each with its way to answer.
        positions: Positions that each answers.
        things: Plural name of the positions.
    """
    if players > MOST_PLAYERS:
        raise ConfigError(f"{players} players answer, expected at most {MOST_PLAYERS}: fewer versions")
    if players * positions > MOST_ANSWERS:
        raise ConfigError(
            f"{players} players answer {positions} {things}: expected at most {MOST_ANSWERS} answers, "
            f"so up to {MOST_ANSWERS // players} {things}"
        )


def blocks_of(count: int, size: int) -> Sequence[range]:
    """Return the numbers below ``count`` in blocks of at most ``size``."""
    return [range(start, min(start + size, count)) for start in range(0, count, size)]
