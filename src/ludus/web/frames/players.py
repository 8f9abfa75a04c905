"""ShownPlayers of a match that is looked at while it is played: weights, random play, bots in Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ludus.evaluation.play import RANDOM, UNIFORM
from ludus.evaluation.players import resolve_player
from ludus.flow.problem import Argument
from ludus.flow.slab import Array
from ludus.flow.spec import GameSpec
from ludus.games.names import is_bot_file, typed_player
from ludus.mcts.planner import is_plan
from ludus.mcts.text import is_search
from ludus.presets.errors import ConfigError
from ludus.rollouts.actor import ActInput, Actor
from ludus.storage import is_reference, zoo

EXPECTED = "expected weights, random, uniform or a bot in Python"


def check_opponent(text: str, spec: GameSpec) -> None:
    """Check the name of the other seats' player; an empty one stands for the same weights.

    Raises:
        ConfigError: No one of that name can play.
    """
    if not text:
        return
    if spec.seats == 1:
        raise ConfigError(
            f"{text}: {spec.name} has one seat, expected no opponent", where=Argument("against")
        )
    named = text in (RANDOM, UNIFORM) or text in {bot.name for bot in spec.bots}
    if (
        is_search(zoo.played(text)[0])
        or is_plan(text)
        or not (named or is_bot_file(text) or is_reference(text))
    ):
        raise ConfigError(f"{text}: no player that is shown at {spec.name}; {EXPECTED}")


class _Player:
    """An actor at one seat, with its memory."""

    def __init__(self, actor: Actor) -> None:
        self.actor, self.step, self.fresh = actor, 0, True
        shape = actor.memory_shape
        self.memory: Array | None = None if shape is None else np.zeros((1, *shape), np.float32)

    def decide(self, seat: int, observed: Mapping[str, Array], mask: Array) -> tuple[int, ...]:
        obs = {name: array[None].copy() for name, array in observed.items()}
        first, rows = np.array([self.fresh], np.bool_), np.array([seat], np.int32)
        made = self.actor.act(ActInput(obs, mask[None].copy(), self.memory, first, self.step, rows))
        self.memory, self.fresh = made.memory, False
        self.step += 1
        return tuple(map(int, made.actions[0]))


class ShownPlayers:
    """A player a seat. ``names``: as people read them; ``minds``: names of those that think, each once."""

    def __init__(
        self, players: Sequence[str], spec: GameSpec, params: Mapping[str, str], seed: int, device: str
    ) -> None:
        """Load the players.

        Raises:
            ConfigError: No such player, or one that cannot play here.
            StorageError: No such run, version or file.
        """
        self._seats: list[_Player] = []
        named = []
        for seat, text in enumerate(players):
            if is_search(zoo.played(text)[0]) or is_plan(text):
                raise ConfigError(f"{text}: a search is not shown in a game written in Python; {EXPECTED}")
            player = resolve_player(
                typed_player(text), spec, seed=seed + seat, params=dict(params), device=device
            )
            if player.actor is None:
                raise ConfigError(f"{text}: not a player that decides by itself; {EXPECTED}")
            self._seats.append(_Player(player.actor))
            named.append(player.name)
        self.names = tuple(named)
        self.minds = tuple(
            dict.fromkeys(text for text in players if is_reference(text) and not is_bot_file(text))
        )[:2]

    def decide(self, seat: int, observed: Mapping[str, Array], mask: Array) -> tuple[int, ...]:
        """Return the decision of a seat: one number a head."""
        return self._seats[seat].decide(seat, observed, mask)
