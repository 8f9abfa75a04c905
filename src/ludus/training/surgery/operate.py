"""Surgery on a whole run: everything that belongs to the weights, in a new run directory.

The old run is only read. The new directory appears under its name when all of its files are written and a
learner has loaded them, or not at all.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import torch

from ludus.algorithms.learner import REPLAY_BUFFER, SETTLE
from ludus.algorithms.updates.parameters import tensors_of
from ludus.flow import GameSpec, Weights
from ludus.flow.inputs.decode import from_json
from ludus.flow.problem import Argument, Problem
from ludus.flow.process.as_found import as_found
from ludus.flow.weights import Ancestor
from ludus.games.registry import is_python
from ludus.policies.config import EncoderConfig, PolicyConfig
from ludus.policies.factory import build_network
from ludus.presets import hardware
from ludus.presets.checks.game import resolve_spec
from ludus.presets.checks.training import training_problems
from ludus.presets.config import Preset
from ludus.presets.document import to_toml
from ludus.presets.errors import ConfigError
from ludus.reporting.provenance import provenance_of
from ludus.storage import Checkpoint, CorruptFile, RunDirectory, RunInfo, utc_now
from ludus.surgery.plan import ConversionHints, ConversionPlan, SurgeryError
from ludus.training.actor_learner.build import build_learner
from ludus.training.actor_learner.sampler import first_network
from ludus.training.actor_learner.state import TrainerState
from ludus.training.league.checkpoint import LeagueState
from ludus.training.league.member_parts import LEARNER
from ludus.training.opponents import build_matchmaker, opponents_of, policy_ids
from ludus.training.records.recorded import data_hash, with_data_path
from ludus.training.run_code import code_files
from ludus.training.start import resumed_start
from ludus.training.surgery import carry
from ludus.training.surgery.calibration import calibrate, new_places
from ludus.training.surgery.conversion import (
    Arrays,
    NewNetwork,
    Pair,
    conversion_of,
    longer,
    same_bits,
    side_of,
)
from ludus.training.surgery.matches import Moved, move_matches
from ludus.training.surgery.opponents import Players, carry_matchmaker
from ludus.training.surgery.settings import check_covered, moved_by, why_empty_ring, why_new_matches
from ludus.training.surgery.source import Source
from ludus.training.teacher import demonstration_of, resumed_teacher
from ludus.training.trusted_code import why_not_recorded
from ludus.version import __version__

SETTLE_UPDATES = 200  # at learning rate 0, where weights were added
RUN_SCHEMA = 1


@dataclass(frozen=True)
class Request:
    """Wishes of the user.

    ``preset``: the settings after surgery. ``hints``: what settings cannot tell. ``settle``: updates at
    learning rate 0, None for :data:`SETTLE_UPDATES` where weights are added and 0 elsewhere.
    """

    preset: Preset
    hints: ConversionHints = field(default_factory=ConversionHints)
    settle: int | None = None


class Outline(msgspec.Struct, frozen=True):
    """Summary of surgery on a run, as it is printed.

    ``parameters``: before and after. ``operators``: a sentence each. ``exact``: whether outputs of old inputs
    stay as they were. ``new_matches``: why matches in play start again; empty where they continue, as
    ``matches`` reports.
    ``empty_replay_buffer``: why a replay buffer starts empty. ``players``: number of frozen players and past
    opponents. ``settle``: updates at learning rate 0. ``calibrated``: numbers of new columns
    and of new units under batch norm, which get the statistics of matches that the new network plays.
    """

    source: str
    version: int
    parameters: tuple[int, int]
    operators: tuple[str, ...]
    exact: bool
    new_matches: str
    matches: str
    empty_replay_buffer: str
    players: int
    settle: int
    calibrated: tuple[int, int]


class Operation:
    """Surgery on one checkpoint of a run, decided and not yet carried out."""

    def __init__(self, source: Source, request: Request) -> None:
        """Decide everything.

        Raises:
            SurgeryError: A change that surgery does not cover.
            ConfigError: Settings that do not fit together.
        """
        self.source, self.preset = source, with_data_path(request.preset)
        self.spec, self.params = resolve_spec(self.preset)
        check_covered(source.preset, self.preset)
        if wrong := [*training_problems(self.preset, self.spec)]:
            raise ConfigError(*wrong)
        meta = source.checkpoint.weights.meta
        self.old = side_of(meta, source.run.reference(meta.version))
        if self.old.spec.name != self.spec.name:
            raise SurgeryError("game.name", self.spec.name, self.old.spec.name)
        target = network_after(self.preset, self.spec)
        self.conversion = conversion_of(self.old, target, request.hints)
        same = self.old.spec.spec_hash == self.spec.spec_hash
        frame_skips = [p.game.frame_skip for p in (source.preset, self.preset)]
        if frame_skips[0] != frame_skips[1] and not request.hints.approximate:
            raise SurgeryError(
                "game.frame_skip",
                frame_skips[1],
                (f"{frame_skips[0]}; another one needs ", Argument("approximate", command="surgery")),
            )
        self.new_matches = why_new_matches(
            source.preset,
            self.preset,
            same_spec=same,
            signed=not source.checkpoint.restart,
            compiled=not is_python(self.preset.game.name),
        )
        self.empty_ring = why_empty_ring(source.preset, self.preset, same_spec=same)
        settle = SETTLE_UPDATES if _adds(self.conversion.plan) else 0
        self.settle = settle if request.settle is None else request.settle
        self.players = Players(source, self.conversion, request.hints, self.ancestor)
        self.calibrated = new_places(self.conversion.plan).counts
        self.moved: Moved | None = None
        self.unrecorded: Problem | None = None  # why resuming the run needs its code named again
        self._state = self._counters()
        self._made: Checkpoint | None = None

    @as_found()
    def prepare(self) -> None:
        """Calibrate new columns and units and make the new checkpoint, in memory.

        Raises:
            SurgeryError: An array of the old run is not what its settings imply.
            ConfigError: The game cannot be played.
        """
        if any(self.calibrated):
            calibrate(self.conversion, self.preset, self._weights(self.source.checkpoint.weights))
        self._made = self._checkpoint()

    @property
    def checkpoint(self) -> Checkpoint:
        """The new checkpoint, after :meth:`prepare`."""
        if self._made is None:
            raise RuntimeError("the operation was not prepared")
        return self._made

    @property
    def operators(self) -> tuple[str, ...]:
        """The changes of the network, a sentence each."""
        plan = self.conversion.plan
        return tuple(o.text for o in plan.operators) if plan is not None else ()

    def ancestor(self, weights: Weights) -> Ancestor:
        """Return how the lineage names ``weights``."""
        return self.source.ancestor(weights, self.operators)

    def outline(self) -> Outline:
        """Return what is done."""
        source, plan = self.source, self.conversion.plan
        ring = any(REPLAY_BUFFER in name for name in source.checkpoint.optimizer)
        return Outline(
            source=source.run.reference(source.checkpoint.version),
            version=source.checkpoint.version,
            parameters=(
                count_parameters(self.old.config, self.old.spec),
                count_parameters(self.preset.policy, self.spec),
            ),
            operators=self.operators,
            exact=plan is None or plan.exact,
            new_matches=self.new_matches,
            matches=self._matches_text(),
            empty_replay_buffer=self.empty_ring if ring else "",
            players=self.players.count(),
            settle=self.settle,
            calibrated=self.calibrated,
        )

    def _matches_text(self) -> str:
        """Return what happens to matches that continue; numbers are known once they are moved."""
        if self.moved is not None:
            return self.moved.text()
        moves, slabs = moved_by(self.source.preset, self.preset)
        dropped = "" if slabs else "; decisions in flight are dropped"
        return f"continue where their players keep a seat{dropped}" if moves else "continue"

    def write(self, run_dir: Path) -> RunDirectory:
        """Write the new run, whole or not at all.

        Raises:
            RunExists: ``run_dir`` exists.
            SurgeryError: A frozen player or the teacher cannot be carried over.
            CorruptFile: A file of the old run is damaged, or what was written cannot be resumed.
            OSError: It cannot be written.
        """
        preset = self.preset
        run = RunDirectory.create_whole(
            run_dir, to_toml(preset), self._info(), self._fill, preset.run.keep_checkpoints
        )
        self.unrecorded = why_not_recorded(run, preset, preset)
        return run

    def pair(self) -> Pair:
        """Return the weights before and after, once prepared."""
        old, source = self.source.checkpoint.weights, self.source.preset
        return Pair(self.conversion, old, self.checkpoint.weights, self.preset, source)

    # ---- parts -----------------------------------------------------------------------------------

    def _info(self) -> RunInfo:
        old = self.source
        return RunInfo(
            schema=RUN_SCHEMA,
            package_version=__version__,
            game=self.spec.name,
            spec_hash=self.spec.spec_hash,
            seed=self.preset.run.seed,
            started=utc_now(),
            command=hardware.command(),
            host=hardware.host(),
            versions=hardware.versions(),
            run_id=secrets.token_hex(16),
            signature=hardware.signature_of(self.preset.game.name),
            code=code_files(self.preset),
            data_sha256=data_hash(self.preset),
            lineage=longer(old.info.lineage, self.ancestor(old.checkpoint.weights)),
        )

    def _checkpoint(self) -> Checkpoint:
        """Return the new checkpoint."""
        old, members = self.source.checkpoint, tuple(self.source.members)
        learners, played = carry.split(old.optimizer, members), carry.split(old.rollout, members)
        keep, others = not self.new_matches, self._other_policies()
        for name, arrays in played.items():
            played[name] = (
                carry.rollout_arrays(arrays, self.conversion, others=others)
                if keep
                else carry.time_step_alone(arrays)
            )
        same_rows = self._move(played) if keep else False
        for name, arrays in learners.items():
            learners[name] = carry.learner_arrays(
                arrays, self.conversion, ring=not self.empty_ring, rows=same_rows
            )
        weights = {n: self._weights(w) for n, w in self.source.members.items()}
        return Checkpoint(
            weights[self.source.first] if weights else self._weights(old.weights),
            carry.joined(learners),
            carry.joined(played),
            msgspec.json.encode(self._state),
            members=weights,
            player=self.source.first,
        )

    def _move(self, played: dict[str, Arrays]) -> bool:
        """Put matches in play under the new settings, and return whether rows stand for the same seats."""
        old, new = self.source.preset, self.preset
        moves, slabs = moved_by(old, new)
        if not moves:
            return True
        matchmaker = build_matchmaker(self.spec, new)
        matchmaker.load_state(bytes(self._state.matchmaker))
        played[""], self.moved, same = move_matches(
            played[""], (old, new), self._state, matchmaker, slabs=slabs
        )
        return same

    def _weights(self, old: Weights) -> Weights:
        return self.conversion.weights(old, self.ancestor(old))

    def _counters(self) -> TrainerState:
        """Return the counters, without evaluations: these name versions that the new run does not have."""
        state = from_json(self.source.checkpoint.state, type(self.source.state))
        state.best_score, state.best_version, state.best_player = None, -1, ""
        state.candidates, state.log_sizes = [], {}
        state.new_matches = self.new_matches
        counts = [m.counts for m in state.members.values()] if isinstance(state, LeagueState) else [state]
        for count in counts:
            count.learner.pop(SETTLE, None)
            if self.settle:
                count.learner[SETTLE] = self.settle
        if self.source.preset.game.before != self.preset.game.before:
            state.before = None  # another schedule, which starts where the run is
        if self.source.league is None:
            state.matchmaker = carry_matchmaker(state, self.source.preset, self.preset, self.spec)
        return state

    def _other_policies(self) -> tuple[int, ...]:
        """Return the policy ids of networks that are not the learner's or made of it."""
        preset = self.source.preset
        if preset.league is not None:
            return ()
        ids = policy_ids(opponents_of(self.old.spec, preset))
        teacher = () if demonstration_of(preset) is None else (ids.teacher,)
        return *teacher, *ids.zoo.values()

    def _fill(self, run: RunDirectory) -> None:
        """Write everything but configuration and ``run.json``, and check that it can be resumed."""
        run.write_provenance(provenance_of(self.preset))
        self.players.write(run, self.checkpoint, self.preset)
        run.checkpoints.save(self.checkpoint)
        version = self.source.checkpoint.version
        run.add_event("surgery", source=self.source.run.reference(version), version=version)
        self._check(run)

    def _check(self, run: RunDirectory) -> None:
        """Load the checkpoint and let a learner take it. Raises ``CorruptFile``."""
        again = run.checkpoints.load(self.checkpoint.version)
        for stored, made in (
            (again.optimizer, self.checkpoint.optimizer),
            (again.rollout, self.checkpoint.rollout),
        ):
            if not _equal(stored, made):
                raise CorruptFile(f"{run.path}: its checkpoint is not what was written")
        preset = resumed_teacher(resumed_start(self.preset, run, from_scratch=False), run)
        members = tuple(self.source.members)
        state = self._state
        for name, arrays in carry.split(again.optimizer, members).items():
            counts = state.members[name].counts if isinstance(state, LeagueState) else state
            try:
                build_learner(preset, LEARNER if name else None, drawn=False).load_state(
                    arrays, counts.learner
                )
            except ValueError as error:
                raise SurgeryError(
                    "algorithm", str(error), "settings under which the stored state fits"
                ) from error


def _equal(one: Arrays, two: Arrays) -> bool:
    """Return whether two sets of arrays have the same names, types, shapes and bits."""
    return one.keys() == two.keys() and all(same_bits(a, two[n]) for n, a in one.items())


def network_after(preset: Preset, spec: GameSpec) -> NewNetwork:
    """Return the network that a preset describes."""

    def fresh(config: PolicyConfig, drawn: Collection[str]) -> Arrays:
        assert isinstance(config, EncoderConfig)
        return tensors_of(first_network(msgspec.structs.replace(preset, policy=config), spec, drawn))

    return NewNetwork(preset.policy, spec, fresh)


def count_parameters(config: PolicyConfig, spec: GameSpec) -> int:
    """Return the number of parameters of a network."""
    with torch.device("meta"):
        return sum(p.numel() for p in build_network(config, spec, seed=None).parameters())


def _adds(plan: ConversionPlan | None) -> bool:
    """Return whether the new network has numbers that are not the old one's."""
    if plan is None:
        return False
    lacks = any(not t.source for t in plan.tensors if t.parameter)
    return lacks or any(len(a.fresh()) + len(a.copied) > 0 for a in plan.axes)
