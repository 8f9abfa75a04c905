"""The rollouts of one sampler: asked all together, replaced where they die."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from ludus.cluster.actors import Call, RolloutActor, RolloutLost, gather
from ludus.cluster.rollout import Answer, Facts, Request, SamplerOrder, Tensors
from ludus.flow.seeds import SEED_ACTING, derive_seed
from ludus.pool import PoolError
from ludus.presets.config import Preset
from ludus.presets.game_checks import resolve_spec
from ludus.presets.hardware import device_name, precision_name
from ludus.rollouts.network_actor import NetworkActor
from ludus.training.actor_learner.sampler import NO_WEIGHTS, first_network
from ludus.training.opponents import Seats, build_seats

MAX_DEATHS = 5  # of one rollout without a slab between them


class Fleet:
    """N rollouts with a sampler each. One thread calls it.

    A rollout that dies gets a successor with the next incarnation, which plays matches of its own; the slab
    that it was asked for is played again by the successor, so that every slab counts once.
    """

    def __init__(self, preset: Preset, restarts: int, seats: Seats | None = None) -> None:
        """Start the rollouts of ``preset`` and build their samplers. Raises ``ConfigError``."""
        cluster = preset.cluster
        self._preset, self._restarts, self._seats = preset, restarts, seats
        self.spec, self.params = resolve_spec(preset)
        chosen = seats or build_seats(self.spec, preset)
        self.labels = {f"policy:{policy}": name for policy, name in chosen.labels.items()}
        network = first_network(preset, self.spec).for_acting()
        seed = derive_seed(preset.run.seed, SEED_ACTING)
        self.actors = {chosen.ids.learner: NetworkActor(network, seed, NO_WEIGHTS)}
        self.steps = preset.pool.rollout_length
        self._incarnations = [0] * cluster.rollouts
        self._deaths = [0] * cluster.rollouts
        self._weights: dict[int, tuple[int, Any]] = {}  # newest of each policy id
        self._sent: list[dict[int, int]] = [{} for _ in range(cluster.rollouts)]  # versions that it has
        self._handover: int | None = None
        self.rollouts = [RolloutActor(cluster.cpus, cluster.gpus) for _ in range(cluster.rollouts)]
        try:
            calls = [actor.ask("build", self._order(i)) for i, actor in enumerate(self.rollouts)]
            self.facts: Facts = gather(calls)[0]
        except RolloutLost as error:
            self.close()
            raise PoolError(f"a rollout died while it started: {error}") from error
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        """Return the number of rollouts."""
        return len(self.rollouts)

    def _order(self, number: int) -> SamplerOrder:
        preset = part_of(self._preset)
        return SamplerOrder(preset, number, self._restarts, self._incarnations[number], self._seats)

    def send_weights(self, policy: int, version: int, tensors: Any) -> None:  # noqa: ANN401
        """Send ``tensors`` with the next slab's request: a reference to the acting weights of ``policy``."""
        self._weights[policy] = (version, tensors)

    def every(self, method: str, *arguments: object) -> list[Any]:
        """Call ``method`` of all rollouts and return the answers in their order."""
        try:
            return gather([actor.ask(method, *arguments) for actor in self.rollouts])
        except RolloutLost as error:
            raise PoolError(f"a rollout died: {error}") from error

    def play(self, handover: int | None) -> Iterator[tuple[Answer, Tensors]]:
        """Ask every rollout for a slab, and return the answers in the rollouts' order."""
        if handover is not None:
            self._handover = handover
        calls = [self._ask(number, handover) for number in range(len(self.rollouts))]
        for number, call in enumerate(calls):
            yield self._answer(number, call)

    def _ask(self, number: int, handover: int | None) -> Call:
        sent = self._sent[number]
        fresh = {p: (v, ref) for p, (v, ref) in self._weights.items() if sent.get(p) != v}
        sent.update({policy: version for policy, (version, _) in fresh.items()})
        request = Request(tuple((policy, version) for policy, (version, _) in fresh.items()), handover)
        return self.rollouts[number].ask("play", request, *(ref for _, ref in fresh.values()), returns=2)

    def _answer(self, number: int, call: Call) -> tuple[Answer, Tensors]:
        answer, arrays = call.first(), call.second()
        self._deaths[number] = 0
        return answer, arrays

    def close(self) -> None:
        """End the rollouts. Idempotent."""
        for actor in self.rollouts:
            actor.kill()
        self.rollouts = []


def part_of(preset: Preset) -> Preset:
    """Return the settings of one rollout, with its own threads and device."""
    cluster = preset.cluster
    device = "cuda" if cluster.gpus > 0 else "cpu"
    precision = precision_name(preset.run, device_name(preset.run))  # machines may differ in what they have
    run = msgspec.structs.replace(preset.run, threads=cluster.cpus, device=device, precision=precision)
    return msgspec.structs.replace(preset, run=run)
