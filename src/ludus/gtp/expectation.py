"""Expected score and ownership of Go positions: by random continuations, or by a network's heads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ludus.games import go
from ludus.games.match import Match
from ludus.gtp.players import Expectation, RawNetwork

if TYPE_CHECKING:
    from ludus.policies.protocol import Network

PLAYOUTS = 128


def by_playouts(matches: Sequence[Match]) -> list[Expectation]:
    """Return expectations from random continuations of each position."""
    found = []
    for match in matches:
        ownership = go.ownership(match, PLAYOUTS)
        lead = sum(ownership) + _without_stones(match)
        found.append(Expectation(lead, _deviation(ownership), tuple(ownership), sampled=True))
    return found


def _without_stones(match: Match) -> float:
    """Return Black's points on an empty board: komi and the bonus for handicap stones, negative."""
    return go.margin(match, [p for p, c in enumerate(match.view()["cells"]) if c >= 0])


def _deviation(ownership: Sequence[float]) -> float:
    """Return the standard deviation of the area, as if points were independent, which understates it."""
    return math.sqrt(sum(1.0 - min(x * x, 1.0) for x in ownership))


class NetworkReader:
    """Reader of a network at single positions."""

    def __init__(self, network: Network) -> None:
        """Read ``network``; symmetries need one of the boards of a game."""
        from ludus.policies.symmetry import Symmetries

        self._network = network
        self._device = network.device
        self._board = network.board
        self._symmetries = Symmetries(network.spec) if self._board is not None else None

    @property
    def expects(self) -> bool:
        """Whether the network has heads for ownership and score."""
        return self._board is not None and self._board.predicts_ends

    def read(self, match: Match, symmetry: int = 0) -> RawNetwork:
        """Return the outputs for a position, as :class:`ludus.gtp.players.PositionReader`."""
        import torch

        (seat,) = match.to_act
        seen = match.observe(seat).items()
        obs = {name: torch.from_numpy(array[None].copy()).to(self._device) for name, array in seen}
        legal = torch.from_numpy(match.legal(seat)[None].copy()) != 0
        count = 1 if self._symmetries is None else self._symmetries.count
        if not 0 <= symmetry < count:
            raise ValueError(f"this network is read under symmetry 0{f' to {count - 1}' * (count > 1)} alone")
        expected = None
        with torch.no_grad():
            if self._board is None or self._symmetries is None:
                step = self._network.step(obs)
                logits, value = step.logits, float(step.value[0])
            else:
                outputs = self._board.learned(self._symmetries.planes(self._board.boards(obs), symmetry))
                logits, value = (
                    self._symmetries.from_turned(outputs.logits, symmetry),
                    float(outputs.value[0]),
                )
                if outputs.ownership is not None and outputs.score is not None:
                    sign = 1.0 if seat == go.BLACK else -1.0
                    cells = torch.cat([(outputs.ownership.cpu() / 2).tanh(), torch.zeros(1, 1)], dim=1)
                    owned = self._symmetries.from_turned(cells, symmetry)[0, :-1]
                    ownership = tuple(sign * float(x) for x in owned)
                    lead = sign * float(outputs.score[0])
                    expected = Expectation(lead, _deviation(ownership), ownership)
            policy = torch.softmax(logits.cpu().masked_fill(~legal, -torch.inf), dim=1)[0]
        return RawNetwork(tuple(float(p) for p in policy[: match.spec.heads[0].size]), value, expected)

    def expect(self, matches: Sequence[Match]) -> list[Expectation]:
        """Return expectations by the heads; by playouts for finished matches, which have no seat to move."""
        found = []
        for match in matches:
            predicted = self.read(match).expected if match.to_act else None
            found.append(predicted if predicted is not None else by_playouts([match])[0])
        return found
