"""Weights of the zoo: as small as play allows, with their metadata complete.

Half precision is taken where play does not change: on recorded positions of matches the network decides the
same, or between choices that it holds for equally good, and its probabilities stay within a bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from ludus.evaluation.evaluate import decide_game
from ludus.evaluation.play import MatchPlayer, play_evaluation
from ludus.evaluation.results import ALONE
from ludus.evaluation.settings import MatchSettings
from ludus.flow import Weights
from ludus.flow.process.as_found import one_thread
from ludus.flow.slab import Array
from ludus.games import spec as game_spec
from ludus.policies.protocol import Network
from ludus.policies.weights import build_policy, load_weights
from ludus.rollouts.actor import ActInput, Decision
from ludus.rollouts.network_actor import NetworkActor
from ludus.storage import resolve_weights
from tools.kept_weights import rounded

MATCHES = 16  # of a round; their positions are compared
ROUNDS = 16
ENOUGH, MOST = 2_000, 4_000  # compared decisions
TIE = 0.01  # between two choices that a network holds for equally good
BOUND = 0.02  # of probabilities, and of values of a search


class Precision(NamedTuple):
    """Effect of half precision on recorded decisions: largest differences, and other choices."""

    decisions: int
    changed: int  # other choices, of nearly equal probability
    wrong: int  # other choices of another probability
    probability: float
    value: float

    def holds(self, searched: bool) -> bool:
        """Whether play does not change; of searched players the value counts too."""
        return not self.wrong and self.probability <= BOUND and (not searched or self.value <= BOUND)

    def text(self) -> str:
        """One line."""
        return (
            f"{self.decisions:,} decisions: {self.changed} other choices among equals, {self.wrong} others; "
            f"probabilities differ by at most {self.probability:.2g}, values by {self.value:.2g}"
        )


class _Recorder:
    """An actor that keeps what it decided on."""

    def __init__(self, actor: NetworkActor) -> None:
        self._actor, self.decisions = actor, 0
        self.seen: list[ActInput] = []
        self.memory_shape = actor.memory_shape

    @property
    def version(self) -> int:
        return self._actor.version

    def act(self, batch: ActInput) -> Decision:
        if self.decisions < MOST:
            self.decisions += len(batch.rows)
            copied = {name: np.array(a) for name, a in batch.obs.items()}
            memory = None if batch.memory is None else np.array(batch.memory)
            self.seen.append(
                batch._replace(
                    obs=copied, mask=np.array(batch.mask), memory=memory, is_first=np.array(batch.is_first)
                )
            )
        return self._actor.act(batch)

    def value(
        self, obs: Mapping[str, Array], memory: Array | None, is_first: Array
    ) -> npt.NDArray[np.float32]:
        return self._actor.value(obs, memory, is_first)


def recorded(reference: str) -> tuple[Weights, list[ActInput]]:
    """Return the weights and what they decide on in matches against themselves, actions drawn."""
    one_thread()  # several of torch wait for each other on a busy machine
    weights = load_weights(resolve_weights(reference))
    game, params = decide_game([reference])
    spec = game_spec(game, params)
    recorder = _Recorder(NetworkActor(build_policy(weights), 1))
    first = MatchPlayer("recorded", actor=recorder, frame_skip=weights.meta.frame_skip)
    second = MatchPlayer(ALONE)
    if spec.seats > 1:
        actor = NetworkActor(build_policy(weights), 2)
        second = MatchPlayer("itself", actor=actor, frame_skip=weights.meta.frame_skip)
    for number in range(ROUNDS):
        play_evaluation(spec, params, first, second, MatchSettings(matches=MATCHES, seed=5 + number))
        if recorder.decisions >= ENOUGH:
            break
    return weights, recorder.seen


def compare(weights: Weights, seen: list[ActInput]) -> Precision:
    """Return what half precision changes on these decisions."""
    whole, half = build_policy(weights), build_policy(widened(rounded(weights)))
    decisions = changed = wrong = 0
    probability = value = 0.0
    for batch in seen:
        one, other = _Outputs(whole, batch), _Outputs(half, batch)
        first, second = one.chosen, other.chosen
        shares = torch.stack([o.share(a) for o in (one, other) for a in (first, second)])  # [4, N]
        differ = (first != second).any(1)
        apart = differ & ((shares[0] - shares[1]).abs() > TIE)
        decisions += len(differ)
        changed += int((differ & ~apart).sum())
        wrong += int(apart.sum())
        probability = max(probability, float((shares[:2] - shares[2:]).abs().max()))
        value = max(value, float((one.value - other.value).abs().max()))
    return Precision(decisions, changed, wrong, probability, value)


class _Outputs:
    """Outputs of a network for a batch."""

    @torch.no_grad()
    def __init__(self, network: Network, batch: ActInput) -> None:
        obs = {t.name: torch.from_numpy(batch.obs[t.name]) for t in network.inputs}
        memory = None if batch.memory is None else torch.from_numpy(batch.memory)
        out = network.step(obs, memory, torch.from_numpy(batch.is_first))
        self._mask, self._distribution = torch.from_numpy(batch.mask), out.distribution
        self.value = out.value.float()
        self.chosen = out.distribution.sample(self._mask, None).actions

    @torch.no_grad()
    def share(self, actions: torch.Tensor) -> torch.Tensor:
        """Return the probability of whole decisions."""
        return self._distribution.evaluate(self._mask, actions).log_prob.exp()


def widened(weights: Weights) -> Weights:
    """Return weights with float32 in place of half precision."""
    tensors = {n: a.astype(np.float32) if a.dtype == np.float16 else a for n, a in weights.tensors.items()}
    return Weights(weights.meta, tensors)
