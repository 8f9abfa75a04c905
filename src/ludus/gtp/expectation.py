"""Expected score and ownership of Go positions: by random continuations, or by a network's heads."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from ludus.games import go
from ludus.games.match import Match
from ludus.gtp.players import Expectation, RawNetwork

if TYPE_CHECKING:
    from torch import Tensor

    from ludus.flow.slab import Array
    from ludus.policies.accelerator import Executor
    from ludus.policies.protocol import Network

    Turn = Callable[[Tensor], Tensor]

PLAYOUTS = 128
_TURN, _OBS = "turn", "obs."  # an input, and the prefix of the names of observations among them


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


def _as_it_is(tensor: Tensor) -> Tensor:
    return tensor


class NetworkReader:
    """Reader of a network at single positions.

    On the processor it computes operation by operation; on an accelerator a position is one program.
    """

    def __init__(self, network: Network, executor: Executor | None = None) -> None:
        """Read ``network``; symmetries need one of the boards of a game.

        Args:
            network: The network.
            executor: Executor of its device; None: the process's.
        """
        from ludus.mcts.programs import BatchPrograms
        from ludus.policies.accelerator import executor_of
        from ludus.policies.layers.symmetry import Symmetries
        from ludus.policies.replay_support import use_static, why_acting_is_eager

        self._network = network
        self._device = network.device
        self._board = network.board
        self._symmetries = Symmetries(network.spec) if self._board is not None else None
        executor = executor or executor_of(self._device)
        self._programs: BatchPrograms | None = None
        if executor.static and not why_acting_is_eager(network):
            use_static(network)
            self._programs = BatchPrograms(executor, self._compute)

    @property
    def expects(self) -> bool:
        """Whether the network has heads for ownership and score."""
        return self._board is not None and self._board.predicts_ends

    def read(self, match: Match, symmetry: int = 0) -> RawNetwork:
        """Return the outputs for a position, as :class:`ludus.gtp.players.PositionReader`."""
        import torch

        (seat,) = match.to_act
        legal = torch.from_numpy(match.legal(seat)[None].copy()) != 0
        count = 1 if self._symmetries is None else self._symmetries.count
        if not 0 <= symmetry < count:
            raise ValueError(f"this network is read under symmetry 0{f' to {count - 1}' * (count > 1)} alone")
        outputs = self._outputs({n: a[None].copy() for n, a in match.observe(seat).items()}, symmetry)
        expected = None
        if "score" in outputs:
            sign = 1.0 if seat == go.BLACK else -1.0
            ownership = tuple(sign * float(x) for x in outputs["ownership"][0])
            lead = sign * float(outputs["score"][0])
            expected = Expectation(lead, _deviation(ownership), ownership)
        policy = torch.softmax(outputs["logits"].masked_fill(~legal, -torch.inf), dim=1)[0]
        return RawNetwork(
            tuple(float(p) for p in policy[: match.spec.heads[0].size]), float(outputs["value"][0]), expected
        )

    def _outputs(self, obs: Mapping[str, Array], symmetry: int) -> dict[str, Tensor]:
        """Return the outputs for one position on the host, as :meth:`_answer` makes them."""
        import numpy as np
        import torch

        if self._programs is not None:
            arrays: dict[str, Array] = {_OBS + t.name: obs[t.name] for t in self._network.inputs}
            found = self._programs(1, arrays | {_TURN: np.array([symmetry], np.int64)})
            return {name: torch.from_numpy(array) for name, array in found.items()}
        symmetries = self._symmetries
        with torch.no_grad():
            tensors = {name: torch.from_numpy(array).to(self._device) for name, array in obs.items()}
            if symmetries is None:
                made = self._answer(tensors)
            else:
                made = self._answer(
                    tensors,
                    lambda planes: symmetries.planes(planes, symmetry),
                    lambda policy: symmetries.from_turned(policy, symmetry),
                )
            return {name: tensor.cpu() for name, tensor in made.items()}

    def _compute(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the outputs for positions, each under its own symmetry: the function of the programs."""
        import torch

        symmetries, turns = self._symmetries, inputs[_TURN]
        obs = {t.name: inputs[_OBS + t.name] for t in self._network.inputs}
        with torch.no_grad():
            if symmetries is None or symmetries.count == 1:
                return self._answer(obs)
            return self._answer(
                obs, symmetries.each(turns).planes, lambda policy: symmetries.turned_back(policy, turns)
            )

    def _answer(
        self, obs: Mapping[str, Tensor], turned: Turn = _as_it_is, back: Turn = _as_it_is
    ) -> dict[str, Tensor]:
        """Return logits and value, and ownership of cells and score if there are heads for them.

        Args:
            obs: Observations by name.
            turned: Returns planes under a symmetry.
            back: Returns numbers per choice before it.
        """
        import torch

        if self._board is None:
            step = self._network.step(obs)
            return {"logits": step.logits, "value": step.value}
        outputs = self._board.learned(turned(self._board.boards(obs)))
        made = {"logits": back(outputs.logits), "value": outputs.value}
        if outputs.ownership is not None and outputs.score is not None:
            owned = (outputs.ownership / 2).tanh()
            choices = torch.cat([owned, owned.new_zeros((len(owned), 1))], dim=1)  # the pass owns nothing
            made |= {"ownership": back(choices)[:, :-1], "score": outputs.score}
        return made

    def expect(self, matches: Sequence[Match]) -> list[Expectation]:
        """Return expectations by the heads; by playouts for finished matches, which have no seat to move."""
        found = []
        for match in matches:
            predicted = self.read(match).expected if match.to_act else None
            found.append(predicted if predicted is not None else by_playouts([match])[0])
        return found
