"""A policy network's thoughts: what acting computes, for any number of moments at once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import msgspec
import numpy as np
import torch
from torch import Tensor

from ludus.flow.slab import Array
from ludus.flow.spec import HeadSpec
from ludus.games.adapters.boxes import continuous
from ludus.policies.accelerator import Executor, executor_of
from ludus.policies.actions.action_distribution import ActionDistribution
from ludus.policies.actions.continuous import to_bits
from ludus.policies.config import EncoderConfig
from ludus.policies.critic import Mates, Others, mates_among, seen_seats
from ludus.policies.network import PolicyNetwork
from ludus.policies.protocol import Network
from ludus.policies.replay_support import why_acting_is_eager
from ludus.web.thoughts.mind import Moment, Observed, order_of
from ludus.web.thoughts.outputs import (
    Answers,
    Floats,
    Given,
    HeadArrays,
    MadeDecisions,
    answers,
    decided,
    joined,
)
from ludus.web.thoughts.programs import ThoughtPrograms
from ludus.web.thoughts.thought import HeadThought, Kind, Sees, ThinkError, Thought, Tree


class NetworkMind:
    """Thoughts of a network. Its memory runs through the moments that are ``kept``, seat by seat."""

    tree: Tree = ""

    def __init__(
        self,
        network: Network,
        name: str,
        frame_skip: int,
        value_weights: Sequence[float] = (),
        executor: Executor | None = None,
    ) -> None:
        """Think with ``network``.

        Args:
            network: The network.
            name: Name of the player.
            frame_skip: Ticks between two of its decisions.
            value_weights: Weight of each value head in the value; empty = the mean.
            executor: Executor of the network's device; None: the process's.

        Raises:
            ThinkError: ``value_weights`` do not match the network's value heads.
        """
        self.network, self.name, self.frame_skip = network, name, frame_skip
        self.spec = network.spec
        self.kind: Kind = "network"
        self.sees: Sees = "own"
        count = 1
        if isinstance(network.config, EncoderConfig):
            self.kind = "q" if network.config.output == "q" else "network"
            self.sees = network.config.critic_sees
            count = network.config.value_heads
        weights = tuple(value_weights) or (1.0 / count,) * count
        if len(weights) != count:
            raise ThinkError(
                f"{name}: algorithm.value_weights of its run are {len(weights)}, expected {count}: one for "
                "each value head of the weights"
            )
        self._value_weights = torch.tensor(weights).to(network.device)
        self._memory: dict[int, Tensor] = {}
        executor = executor or executor_of(network.device)
        self._programs: ThoughtPrograms | None = None
        if executor.static and not why_acting_is_eager(network):
            self._programs = ThoughtPrograms(network, self._value_weights, executor)

    def forget(self) -> None:
        """Start another match with an empty memory."""
        self._memory.clear()
        if self._programs is not None:
            self._programs.forget()

    @torch.no_grad()
    def think(self, moments: Sequence[Moment]) -> list[Thought]:
        """Return a thought for each moment; memory takes them by rising tick, and by rising seat within it.

        Raises:
            ThinkError: A decision has choices that its heads do not have.
        """
        if self.network.memory_shape is None:
            return self._owned(moments, self._thoughts(moments, self._at_once(moments))) if moments else []
        thoughts: list[Thought] = []
        for kept, group in groupby(moments, lambda m: (m.kept, -1 if m.kept else m.tick)):
            together = list(group)
            thoughts += self._thoughts(together, self._remembering(together, keep=kept[0]))
        return thoughts

    def _owned(self, moments: Sequence[Moment], thoughts: list[Thought]) -> list[Thought]:
        """Return thoughts with the owners of cells, where the network has a head for them."""
        board = self.network.board
        if board is None or not board.predicts_ends or self._programs is not None:
            return thoughts
        found = board.learned(board.boards(self._tensors([m.obs for m in moments]))).ownership
        if found is None:
            return thoughts
        signs = self._tensor(np.array([[1.0 if m.seat == 0 else -1.0] for m in moments], np.float32))
        owned = (100.0 * signs * (found / 2).tanh()).round().to(torch.int64).cpu().tolist()
        return [
            msgspec.structs.replace(thought, ownership=tuple(cells))
            for thought, cells in zip(thoughts, owned, strict=True)
        ]

    def _tensors(self, observed: Sequence[Observed]) -> dict[str, Tensor]:
        return {t.name: self._tensor(np.stack([o[t.name] for o in observed])) for t in self.network.inputs}

    def _tensor(self, array: Array) -> Tensor:
        return torch.from_numpy(array).to(self.network.device)

    def _at_once(self, moments: Sequence[Moment]) -> Answers:
        """Answer moments by a network without memory."""
        made = self._decisions(moments)
        if self._programs is not None:
            return self._programs.at_once(moments, made)
        obs = self._tensors([m.obs for m in moments])
        distribution, value = decided(self.network, self._value_weights, obs, self._others(moments))
        return self._answers(moments, made, distribution, value)

    def _remembering(self, moments: Sequence[Moment], *, keep: bool) -> Answers:
        """Answer moments by rising tick and seat, run through the memory.

        ``keep``: the memory keeps them; without it all are of one tick.
        """
        network, made = self.network, self._decisions(moments)
        if self._programs is not None:
            return self._programs.remembering(moments, made, keep=keep)
        assert isinstance(network, PolicyNetwork)
        seats, ticks = sorted({m.seat for m in moments}), sorted({m.tick for m in moments})
        row, step = ({n: i for i, n in enumerate(numbers)} for numbers in (seats, ticks))
        at = np.array([step[m.tick] * len(seats) + row[m.seat] for m in moments])
        active = np.zeros((len(ticks), len(seats)), np.bool_)
        active.reshape(-1)[at] = True
        obs = {}
        for tensor in network.inputs:
            each = np.zeros((active.size, *tensor.packed_shape), tensor.packed_dtype)
            each[at] = np.stack([m.obs[tensor.name] for m in moments])
            obs[tensor.name] = self._tensor(each.reshape(*active.shape, *tensor.packed_shape))
        fresh = network.initial_memory(1)
        assert fresh is not None
        new = np.array([seat not in self._memory for seat in seats])
        first = active & new & (active.cumsum(axis=0) == 1)
        memory = torch.cat([self._memory.get(seat, fresh) for seat in seats])
        index = self._tensor(at)
        mates: Mates | None = None
        if network.team_memories:
            mates = Mates(torch.tensor(mates_among(network.config, self.spec, seats), device=network.device))
        out = network.sequence(obs, memory, self._tensor(first), self._tensor(active), mates)
        assert out.memory is not None
        if keep:
            self._memory.update((seat, out.memory[i : i + 1].clone()) for i, seat in enumerate(seats))
        value = joined(network, self._value_weights, out.value.flatten(0, 1)[index])
        return self._answers(moments, made, out.distribution.select(index), value)

    def _answers(
        self, moments: Sequence[Moment], made: MadeDecisions, distribution: ActionDistribution, value: Tensor
    ) -> Answers:
        """Return on the host what the network gives for moments."""
        mask = self._tensor(np.stack([m.mask for m in moments]))
        given = Given(mask, self._tensor(made.action), self._tensor(made.made))
        heads, value = answers(distribution, value, given)
        found = [HeadArrays(h.weights.cpu().numpy(), h.legal.cpu().numpy()) for h in heads]
        return found, value.cpu().numpy()

    def _others(self, moments: Sequence[Moment]) -> Others | None:
        """Return what a centralised critic sees besides its seat; None for other critics."""
        network = self.network
        if not isinstance(network, PolicyNetwork) or not network.centralised:
            return None
        assert network.critic is not None
        place: list[int] = []
        observed: list[Observed] = []
        for row, moment in enumerate(moments):
            for k, seat in enumerate(seen_seats(network.config, self.spec, moment.seat)):
                if moment.others is not None and seat in moment.others:
                    place.append(row * network.critic.seats + k)
                    observed.append(moment.others[seat])
        obs = (
            self._tensors(observed)
            if observed
            else {
                t.name: self._tensor(np.zeros((0, *t.packed_shape), t.packed_dtype)) for t in network.inputs
            }
        )
        return Others(obs, torch.tensor(place, dtype=torch.int64, device=network.device))

    def _decisions(self, moments: Sequence[Moment]) -> MadeDecisions:
        """Return the decisions that were made. Raise ``ThinkError`` for one that does not fit the heads."""
        sizes = [0 if h.kind == "continuous" else h.size for h in self.spec.heads]
        made = MadeDecisions(np.zeros((len(moments), len(sizes)), np.int64), np.zeros(len(moments), np.uint8))
        for row, moment in enumerate(moments):
            fits = len(moment.action) in (0, len(sizes))
            if not fits or any(
                size and not 0 <= a < size for a, size in zip(moment.action, sizes, strict=False)
            ):
                raise ThinkError(
                    f"tick {moment.tick}, seat {moment.seat}: the decision {list(moment.action)} does not "
                    f"fit the heads of {self.spec.name}"
                )
            if moment.action:
                made.action[row], made.made[row] = moment.action, 1
        return made

    def _thoughts(self, moments: Sequence[Moment], found: Answers) -> list[Thought]:
        heads, values = found
        return [self._thought(moment, row, heads, float(values[row])) for row, moment in enumerate(moments)]

    def _thought(self, moment: Moment, row: int, heads: Sequence[HeadArrays], value: float) -> Thought:
        said: list[HeadThought] = []
        chance = 1.0
        for k, head in enumerate(self.spec.heads):
            weights, legal = heads[k].weights[row], heads[k].legal[row]
            if head.kind == "continuous":
                said.append(HeadThought(number=_number(head, weights)))
                continue
            choice = moment.action[k] if moment.action else -1
            if choice >= 0 and legal.any():
                chance *= float(weights[choice])
            order = order_of(weights, legal, choice)
            kept = tuple(weights[order].tolist())
            made = HeadThought(tuple(order), q=kept) if self.kind == "q" else HeadThought(tuple(order), kept)
            said.append(made)
        known = moment.action and self.kind != "q"
        return Thought(
            moment.tick,
            moment.seat,
            value,
            tuple(said),
            moment.action,
            chance if known else None,
        )


def _number(head: HeadSpec, weights: Floats) -> tuple[float, float, float]:
    """Return mean, and one deviation below and above, in the units of the game."""
    mean, deviation = float(weights[0]), float(np.exp(weights[1]))
    bits = to_bits(torch.tensor([[mean], [mean - deviation], [mean + deviation]])).numpy().astype(np.int32)
    middle, low, high = continuous(bits, (head,))[:, 0].tolist()
    return middle, low, high
