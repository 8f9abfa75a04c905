"""Games of OpenSpiel: ``openspiel/connect_four``, parameters by their own names.

Sequential and simultaneous games. Chance events are drawn from the match's own random stream. A seat observes
the observation tensor, or the information state if the game has no other; hidden information stays hidden.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ludus.flow.names import nearest
from ludus.flow.slab import Array
from ludus.flow.spec import GameSpec, HeadSpec, ParamSpec
from ludus.games.adapters.values import zeros_and_ones
from ludus.games.python_game import Bytes, Floats, Ints, PythonGame, VectorGame, declare, tensor, typed_params

MAX_CHOICES = 1 << 16


class OpenSpielGame:
    """One state. Seats are OpenSpiel's players, rewards its own; the outcome is the sign of the returns."""

    def __init__(self, maker: OpenSpielMaker) -> None:
        """Prepare a game; its state is created by :meth:`reset` or :meth:`clone`."""
        self._maker, self.spec = maker, maker.spec
        self._rng: np.random.Generator | None = None  # of games with chance
        self._state: Any = None
        self._before: list[float] = []  # returns before the last step
        self.truncated = False

    def reset(self, seed: int) -> None:
        """Start a match. Chance events are drawn from ``seed``."""
        self._rng = None if self.spec.deterministic else np.random.default_rng(seed)
        self._state = self._maker.game.new_initial_state()
        self._before = self._state.returns()
        self._chance()

    def _chance(self) -> None:
        """Play chance events until a seat must decide or the game is over."""
        state = self._state
        while self._rng is not None and not state.is_terminal() and state.is_chance_node():
            actions, odds = zip(*state.chance_outcomes(), strict=True)
            point = self._rng.random() * sum(odds)
            index = min(int(np.searchsorted(np.cumsum(odds), point, side="right")), len(actions) - 1)
            state.apply_action(actions[index])

    def to_act(self) -> Sequence[int]:
        """Return the seats that decide now, ascending."""
        state = self._state
        if not self.spec.turn_based and state.is_simultaneous_node():
            able = [s for s in range(self.spec.seats) if state.legal_actions(s)]
            return able or range(self.spec.seats)
        return (state.current_player(),)

    def step(self, actions: Ints) -> bool:
        """Play the deciding seats' actions. Raises ``ValueError`` for an illegal one. True at the end."""
        state = self._state
        self._before = state.returns()
        if not self.spec.turn_based and state.is_simultaneous_node():
            chosen = [int(actions[s, 0]) if state.legal_actions(s) else 0 for s in range(self.spec.seats)]
            for seat, action in enumerate(chosen):
                self._check(seat, action)
            state.apply_actions(chosen)
        else:
            seat = state.current_player()
            self._check(seat, int(actions[seat, 0]))
            state.apply_action(int(actions[seat, 0]))
        self._chance()
        over = bool(state.is_terminal())
        self.truncated = False
        return over

    def _check(self, seat: int, action: int) -> None:
        legal = self._state.legal_actions(seat)
        if legal and action not in legal:
            raise ValueError(f"action {action} of seat {seat} is illegal; legal are {legal[:20]}")

    def rewards(self, out: Floats) -> None:
        """Write each seat's change of its return in the last step."""
        out[...] = np.asarray(self._state.returns(), np.float32) - np.asarray(self._before, np.float32)

    def outcome(self, out: Floats) -> None:
        """Write the sign of the returns; with more than two seats the highest return wins."""
        returns = np.asarray(self._state.returns(), np.float64)
        if self.spec.seats == 1:
            out[...] = 0.0
        elif self.spec.seats == 2:
            out[...] = np.sign(returns - returns[::-1])
        else:
            best = returns.max()
            out[...] = np.where(returns == best, 1.0, -1.0) if (returns != best).any() else 0.0

    def observe(self, seat: int, out: Mapping[str, Array]) -> None:
        """Write the seat's observation or information state."""
        values = self._maker.tensor_of(self._state, seat)
        target = out["observation"]
        array = np.asarray(values, np.float32).reshape(self._maker.shape)
        if self._maker.bits:
            bits = zeros_and_ones("observation, whose values were 0 and 1 in random play", array)
            target[...] = np.packbits(bits.reshape(-1), bitorder="little")
        else:
            target[...] = array

    def legal(self, seat: int, out: Bytes) -> None:
        """Write the legal actions ``uint8[A]``. Raises ``ValueError`` if a seat in turn has none."""
        choices = self._state.legal_actions(seat)
        if not choices and not self._state.is_simultaneous_node():
            raise ValueError(f"no legal action: legal_actions({seat}) is empty")
        out[...] = 0
        out[choices if choices else [0]] = 1  # OpenSpiel takes any action of a seat that has none

    def render(self) -> str:
        """Return the whole state as the library writes it, for people who look on."""
        return str(self._state)

    def hash(self) -> int:
        """Return a hash of the whole history."""
        text = str(self._state.history()).encode()
        return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")

    def clone(self) -> OpenSpielGame:
        """Return an independent copy of a match of perfect information.

        Raises ``ValueError`` for other games: their copies would reveal hidden information.
        """
        if not self.spec.perfect_information:
            raise ValueError(f"{self.spec.name}: hidden information cannot be cloned")
        other = OpenSpielGame(self._maker)
        other._state = self._state.clone()
        if self._rng is not None:
            other._rng = np.random.default_rng()
            other._rng.bit_generator.state = self._rng.bit_generator.state
        other._before = self._before
        other.truncated = self.truncated
        return other


class OpenSpielMaker:
    """Maker of the game ``name`` under parameters."""

    def __init__(self, name: str, params: Mapping[str, str]) -> None:
        """Load the game and declare its spec. Raises ``ValueError`` for unsupported games."""
        import pyspiel

        if name not in pyspiel.registered_names():
            near = nearest(name, pyspiel.registered_names(), 0.5)
            hint = f" (did you mean openspiel/{near}?)" if near else ""
            raise ValueError(f"openspiel/{name}: no such game{hint}")
        kinds = {t.short_name: t for t in pyspiel.registered_games()}
        declared = _declared(kinds[name].parameter_specification)
        try:
            self.game = pyspiel.load_game(name, typed_params(declared, params))
        except (pyspiel.SpielError, IndexError) as error:
            raise ValueError(f"openspiel/{name}: {error}") from None
        kind, game = self.game.get_type(), self.game
        if kind.dynamics == pyspiel.GameType.Dynamics.MEAN_FIELD:
            raise ValueError(f"openspiel/{name}: a mean field game has no seats")
        if kind.chance_mode == pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC:
            raise ValueError(f"openspiel/{name}: its chance cannot be seeded (sampled stochastic)")
        self._by_observation = bool(kind.provides_observation_tensor)
        if not self._by_observation and not kind.provides_information_state_tensor:
            raise ValueError(f"openspiel/{name}: it gives no tensor to see")
        try:
            shape = (
                game.observation_tensor_shape()
                if self._by_observation
                else game.information_state_tensor_shape()
            )
        except pyspiel.SpielError as error:
            raise ValueError(f"openspiel/{name}: {error}") from None
        self.shape = tuple(int(n) for n in shape) or (1,)
        if len(self.shape) == 2:
            self.shape = (self.shape[0] * self.shape[1],)
        if not 0 < game.num_distinct_actions() <= MAX_CHOICES:
            raise ValueError(
                f"openspiel/{name}: {game.num_distinct_actions()} actions, at most {MAX_CHOICES}"
            )
        self.bits = len(self.shape) == 3 and self._is_binary()
        perfect = kind.information == pyspiel.GameType.Information.PERFECT_INFORMATION
        self.spec: GameSpec = declare(
            f"openspiel/{name}",
            title=f"{kind.long_name} of OpenSpiel",
            observation=[
                tensor("observation", self.shape, "bits", low=0, high=1)
                if self.bits
                else tensor("observation", self.shape)
            ],
            heads=[HeadSpec("action", int(game.num_distinct_actions()))],
            seats=int(game.num_players()),
            turn_based=kind.dynamics == pyspiel.GameType.Dynamics.SEQUENTIAL,
            perfect_information=perfect,
            deterministic=kind.chance_mode == pyspiel.GameType.ChanceMode.DETERMINISTIC,
            max_ticks=int(game.max_game_length()),
            params=declared,
        )

    def _is_binary(self) -> bool:
        """Return whether observations of random play contain only 0 and 1; equal in every process."""
        rng = np.random.default_rng(0)
        for _ in range(5):
            state = self.game.new_initial_state()
            while not state.is_terminal():
                if state.is_chance_node():
                    outcomes = state.chance_outcomes()
                    state.apply_action(outcomes[int(rng.integers(len(outcomes)))][0])
                    continue
                if state.is_simultaneous_node():
                    return False
                values = np.asarray(self.tensor_of(state, state.current_player()))
                if not np.isin(values, (0.0, 1.0)).all():
                    return False
                legal = state.legal_actions()
                state.apply_action(legal[int(rng.integers(len(legal)))])
        return True

    def tensor_of(self, state: Any, seat: int) -> Any:
        """Return a seat's flat observation."""
        return (
            state.observation_tensor(seat) if self._by_observation else state.information_state_tensor(seat)
        )

    def make(self) -> PythonGame:
        """Create a game object."""
        return OpenSpielGame(self)

    def make_vector(self, matches: int) -> VectorGame | None:
        """Return None: OpenSpiel has no vectorised environments."""
        return None


def _declared(specification: Mapping[str, Any]) -> list[ParamSpec]:
    """Return OpenSpiel's parameters, without games as values and without those that have no default."""
    out = []
    for name, value in sorted(specification.items()):
        if isinstance(value, bool):
            out.append(ParamSpec(name, "text", str(value).lower(), choices=("false", "true")))
        elif isinstance(value, int):
            out.append(ParamSpec(name, "integer", str(value), -(2.0**31), 2.0**31))
        elif isinstance(value, float):
            out.append(ParamSpec(name, "real", repr(value), -1e300, 1e300))
        elif isinstance(value, str):
            out.append(ParamSpec(name, "text", value))
    return out


def maker(name: str, params: Mapping[str, str]) -> OpenSpielMaker:
    """Return a maker of the game ``name``: see :class:`OpenSpielMaker`."""
    return OpenSpielMaker(name, params)
