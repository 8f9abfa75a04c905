"""Components of a run: a sampler, its learner in this process, and the sources of its weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Protocol, cast

import msgspec
import torch

from ludus.algorithms.config import MethodConfig, SettingError
from ludus.algorithms.learner import Learner, LearnerContext, SlabLearner
from ludus.algorithms.learner_interface import ClosingLearner
from ludus.algorithms.registry import method_of, resolve
from ludus.algorithms.updates.parameters import tensors_of
from ludus.flow import GameSpec, Weights
from ludus.flow.process.as_found import one_thread
from ludus.flow.seeds import SEED_NETWORK, derive_seed
from ludus.games.names import is_typed
from ludus.games.registry import text_params
from ludus.policies.accelerator import Executor, executor_of
from ludus.policies.config import ResnetConfig
from ludus.policies.layers.residual import ResidualNetwork
from ludus.policies.network import PolicyNetwork
from ludus.policies.protocol import Network
from ludus.presets.checks.game import resolve_spec
from ludus.presets.config import Preset
from ludus.presets.errors import ConfigError
from ludus.presets.hardware import device_name, thread_count
from ludus.presets.method_file import method_file
from ludus.presets.parts import learner_processes
from ludus.rollouts.alternating_sampler import AlternatingSampler
from ludus.rollouts.commands import LoadWeights
from ludus.rollouts.exchange import Sampler
from ludus.rollouts.network_actor import NetworkActor
from ludus.training.actor_learner.sampler import first_board_network, first_network
from ludus.training.learner_processes.leader import LearnerProcesses
from ludus.training.learner_processes.worker import Recipe
from ludus.training.machines import LOCAL, Machines
from ludus.training.opponents import opponents_of, policy_ids, trained_rows
from ludus.training.records.sampler import build_record_sampler
from ludus.training.start import load_start
from ludus.training.teacher import data_of


@dataclass(slots=True)
class Components:
    """Parts of a run. The network that acts is never the one that learns.

    ``policy``: the policy id that ``learner`` trains. ``threads``: of this process. ``processes``: number
    of processes that learn, this one included. ``siblings``: the samplers of the other pools,
    where each has a copy of the weights.
    """

    sampler: Sampler
    learner: Learner
    policy: int
    threads: int
    processes: int = 1
    siblings: Sequence[Sampler] = ()

    @property
    def spec(self) -> GameSpec:
        """Spec of the game."""
        return self.sampler.facts.spec

    @property
    def params(self) -> dict[str, str]:
        """Parameters of the game."""
        return self.sampler.facts.params

    @property
    def actor(self) -> NetworkActor:
        """Actor that decides with the weights of :attr:`learner`."""
        return self.sampler.facts.actors[self.policy]

    def learner_threads(self, own: int) -> int:
        """Return the number of threads that only learn, beside ``own`` others.

        It is at most 1 on a GPU, whose kernels run one after another. Other processes that learn take the
        place of threads, but for one.
        """
        threads = max(0, self.threads - own)
        threads = max(min(threads, 1), threads - (self.processes - 1))
        return min(threads, 1) if executor_of(self.learner.network.device).static else threads

    def close(self) -> None:
        """Stop the pools, and the processes that learn."""
        for sampler in (self.sampler, *self.siblings):
            sampler.close()
        if isinstance(self.learner, ClosingLearner):
            self.learner.close()


class LocalWeights:
    """Weights of a learner in this process. Not to be read while an update is under way."""

    def __init__(self, learner: Learner) -> None:
        """Read from ``learner``."""
        self._learner = learner

    @property
    def version(self) -> int:
        """See :class:`ludus.rollouts.exchange.WeightSource`."""
        return self._learner.version

    def newest(self) -> Weights:
        """See :class:`ludus.rollouts.exchange.WeightSource`."""
        return self._learner.acting_weights()

    def copy_to(self, network: Network) -> int:
        """See :class:`ludus.rollouts.exchange.WeightSource`."""
        return self._learner.copy_to(network)


class StagedWeights(LocalWeights):
    """Weights of a learner, from a copy that another thread may take while the learner learns."""

    def __init__(self, learner: Learner) -> None:
        """Copy the weights of ``learner``: ``copy`` has those of version ``staged``."""
        super().__init__(learner)
        mine = learner.network
        self.copy: PolicyNetwork | ResidualNetwork
        if isinstance(mine, ResidualNetwork):
            self.copy = ResidualNetwork(mine.config, mine.spec, 0, mine.precision).to(mine.device)
        else:
            self.copy = PolicyNetwork(mine.config, mine.spec, 0, mine.precision).to(mine.device)
        self._lock = Lock()
        self._meta = learner.acting_weights().meta
        self.staged = learner.copy_to(self.copy)

    @property
    def version(self) -> int:
        """Version of the copy."""
        return self.staged

    def stage(self) -> None:
        """Copy the learner's weights; no update is under way."""
        with self._lock:
            self.staged = self._learner.copy_to(self.copy)

    def newest(self) -> Weights:
        """See :class:`ludus.rollouts.exchange.WeightSource`."""
        with self._lock:
            meta = msgspec.structs.replace(self._meta, version=self.staged)
            return Weights(meta, tensors_of(self.copy))

    @torch.no_grad()
    def copy_to(self, network: Network) -> int:
        """See :class:`ludus.rollouts.exchange.WeightSource`."""
        with self._lock:
            state = self.copy.state_dict()
            for name, tensor in network.state_dict().items():
                tensor.copy_(state[name])
            executor_of(network.device).wait()  # for the copies: the next stage() may be on another stream
            return self.staged


class MakeLearner(Protocol):
    """Factory of a method's learner of slabs. Raises ``ValueError`` for settings that do not fit."""

    def __call__(
        self, config: MethodConfig, network: PolicyNetwork | ResidualNetwork, context: LearnerContext
    ) -> Learner:
        """Build the learner of ``network``, which it owns from then on."""
        ...


def build_learner(
    preset: Preset, policy: int | None = None, *, drawn: bool = True, executor: Executor | None = None
) -> Learner:
    """Build the learner that a preset describes, before its first update. Raises ``ConfigError``.

    Args:
        preset: Settings of the run.
        policy: Policy id whose rows it trains; None: the one that the preset's samplers give the learner.
        drawn: Whether its network is initialised; else it waits for a stored state.
        executor: Runs the learner's programs; None: that of its device.
    """
    one_thread()
    spec, _ = resolve_spec(preset)
    run = preset.run
    network: PolicyNetwork | ResidualNetwork
    if isinstance(preset.policy, ResnetConfig):
        network = first_board_network(preset, spec)
    else:
        network = first_network(preset, spec, None if drawn else ())
    load_start(network, preset)
    try:
        make_learner = cast(MakeLearner, resolve(method_of(preset.algorithm).learner))
        context = LearnerContext(
            seed=derive_seed(run.seed, SEED_NETWORK),
            policy=trained_rows(spec, preset) if policy is None else policy,
            workers=max(thread_count(run), 2),
            frame_skip=preset.game.frame_skip or spec.default_frame_skip,
            executor=executor,
        )
        learner = make_learner(preset.algorithm, network, context)
    except SettingError as error:
        raise ConfigError(error) from error
    except ValueError as error:
        raise ConfigError(error, where="policy") from error
    count = _processes(preset)
    if count > 1 and isinstance(learner, SlabLearner) and isinstance(network, PolicyNetwork):
        learner.divide(LearnerProcesses(learner, _recipe(preset, network, context), count - 1))
    return learner


def _processes(preset: Preset) -> int:
    """Return the number of processes that learn, this one included."""
    return learner_processes(preset, thread_count(preset.run), device_name(preset))


def _recipe(preset: Preset, network: PolicyNetwork, context: LearnerContext) -> Recipe:
    """Return the settings that the other processes build their learners from."""
    file, game = method_file(preset.algorithm), preset.game.name
    return Recipe(
        algorithm=msgspec.json.encode(preset.algorithm).decode(),
        policy=network.architecture,
        spec=msgspec.json.encode(network.spec).decode(),
        precision=network.precision,
        seed=context.seed,
        rows=context.policy,
        frame_skip=context.frame_skip,
        method=file.path if file is not None else "",
        method_sha256=file.sha256 if file is not None else "",
        game=game,
        params=text_params(preset.game.params),
        typed=is_typed(game),
    )


def build(preset: Preset, slabs: int = 2, restarts: int = 0, machines: Machines = LOCAL) -> Components:
    """Build a learner and a sampler; the first weights act. Raises ``ConfigError``.

    Args:
        preset: of the run.
        slabs: number of slabs that the sampler fills in turn.
        restarts: how often the run's matches started again
            (:func:`ludus.training.actor_learner.checkpoint.count_restarts`).
        machines: makes the sampler, and the group of the learner.
    """
    if preset.run.topology not in method_of(preset.algorithm).topologies:
        raise ConfigError(f'run.topology = "{preset.run.topology}": expected an actor-critic method')
    learner = machines.grouped(preset, build_learner(preset))
    sampler, *siblings = _samplers(preset, slabs, restarts, machines)
    policy = policy_ids(opponents_of(sampler.facts.spec, preset)).learner
    sampler.send(LoadWeights({policy: LocalWeights(learner)}))
    return Components(sampler, learner, policy, thread_count(preset.run), _processes(preset), siblings)


def _samplers(preset: Preset, slabs: int, restarts: int, machines: Machines) -> list[Sampler]:
    """Build one sampler; with ``one_to_one`` one for each pool, with its part of the slots."""
    if data_of(preset):
        return [build_record_sampler(preset, slabs=slabs, restarts=restarts)]
    pools = preset.run.pools if preset.run.topology == "one_to_one" else 1
    pool = msgspec.structs.replace(preset.pool, slots=preset.pool.slots // pools)
    part = msgspec.structs.replace(preset, pool=pool)
    made: list[Sampler] = []
    before = preset.game.before
    old = msgspec.structs.replace(part, game=preset.game.under_old_rules)
    try:
        while len(made) < pools:
            made.append(machines.sampler(part, len(made), slabs=slabs, restarts=restarts))
            if before is None:
                continue
            other = machines.sampler(old, pools + len(made) - 1, slabs=1, restarts=restarts)
            made[-1] = AlternatingSampler(made[-1], other, slabs, before.share)
    except BaseException:
        for sampler in made:
            sampler.close()
        raise
    return made
