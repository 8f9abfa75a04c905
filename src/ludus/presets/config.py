"""A preset: the configuration of a run, one TOML file. Each part receives only its own struct."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from functools import lru_cache, reduce
from operator import or_
from typing import Annotated, Literal

import msgspec
import msgspec.inspect as mi

from ludus.algorithms import registry
from ludus.algorithms.config import MethodConfig
from ludus.algorithms.schedules import ByBudget
from ludus.league.config import LeagueConfig
from ludus.policies.config import EncoderConfig, PolicyConfig

ParamValue = str | int | float | bool
Name = Annotated[str, msgspec.Meta(min_length=1)]
Count = Annotated[int, msgspec.Meta(ge=1)]
Natural = Annotated[int, msgspec.Meta(ge=0)]
Device = Literal["auto", "cpu", "cuda"]
#: Bounds of the core, and of what a run may allocate or start.
Slots = Annotated[int, msgspec.Meta(ge=1, le=1 << 24)]
Threads = Annotated[int, msgspec.Meta(ge=0, le=1024)]
Ticks = Annotated[int, msgspec.Meta(ge=0, le=1 << 20)]
Length = Annotated[int, msgspec.Meta(ge=1, le=1 << 20)]
Window = Annotated[int, msgspec.Meta(ge=1, le=1 << 16)]
Controllers = Annotated[int, msgspec.Meta(ge=1, le=1024)]
MAX_DECISIONS = 1 << 30  # of a slab, of each seat
Queue = Annotated[int, msgspec.Meta(ge=0, le=256)]
Rollouts = Annotated[int, msgspec.Meta(ge=0, le=1024)]
Learners = Annotated[int, msgspec.Meta(ge=1, le=64)]
Servers = Annotated[int, msgspec.Meta(ge=0, le=1024)]
MAX_AHEAD = 64
Ahead = Annotated[int, msgspec.Meta(ge=0, le=MAX_AHEAD)]
RolloutCpus = Annotated[int, msgspec.Meta(ge=1, le=1024)]
Pools = Annotated[int, msgspec.Meta(ge=2, le=64)]
NonNegative = Annotated[float, msgspec.Meta(ge=0)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class BeforeConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Old rules of the game, under which an ever smaller share of the slabs is still played.

    ``params``: parameters of the old rules; the rest is as in the game.
    The share is ``share`` at first and moves linearly to ``share_final``. It reaches that at the share
    ``until`` of the budget that is left when these rules are first played, or after ``over_steps`` trained
    steps.
    ``setback``: points of the win rate (0.05 = 5%), in a game of one seat of the mean return. When an
    evaluation is lower than the highest one by more than that, the share goes back by a tenth of its way and
    moves at half the speed from there; 0 = never.
    """

    params: dict[str, ParamValue] = {}
    share: Share = 1.0
    share_final: Share = 0.0
    until: Share = 0.5
    over_steps: Natural = 0
    setback: NonNegative = 0.0

    @property
    def moves(self) -> bool:
        """Whether the share changes over the run."""
        return self.share != self.share_final

    def share_at(self, way: float) -> float:
        """Return the share of the slabs under the old rules when ``way`` (0..1) of its way is done."""
        return min(1.0, max(0.0, self.share + way * (self.share_final - self.share)))


class GameConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which game under which rules. ``params`` are checked against the game's own declaration.

    ``name`` may be the path of a game, from the preset's folder or from here. ``params.rulebook`` may be the
    path of a TOML file, from here or from the preset's folder.
    ``randomise``: a key of the rulebook -> [low, high]; every match draws its own number. Both are
    resolved when the preset is loaded: a run's configuration holds the lines themselves in ``params``.
    ``before``: rules of old, which new ones replace by degrees.
    """

    name: Name
    params: dict[str, ParamValue] = {}
    randomise: dict[str, tuple[float, float]] = {}
    frame_skip: Ticks = 0  # ticks between decisions of the learner, 0 = the game's default
    before: BeforeConfig | None = None

    @property
    def under_old_rules(self) -> GameConfig:
        """The game under the rules of :attr:`before`."""
        old = self.before.params if self.before is not None else {}
        return msgspec.structs.replace(self, params={**self.params, **old}, before=None)


class OpponentConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of the mixture that fills the other seats.

    ``name``: a bot of the game, a trained player (``zoo:NAME``), ``latest`` (the learner's own weights, whose
    rows are trained on too) or ``past``: weights are frozen every ``past_every`` updates, the last
    ``past_window`` of them are kept, and ``past_slots`` of these, drawn again at each freeze, play at any one
    time.
    """

    name: Name
    weight: NonNegative = 1.0
    frame_skip: Ticks = 0
    past_window: Window = 10
    past_every: Count = 20
    past_slots: Controllers = 2


class PoolConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The pool: matches in parallel, their threads, and the size of a slab (the rollout buffer).

    ``slots``: matches that run in parallel. ``rollout_length``: T, the time steps of a slab.

    ``on_error``: the effect of a failed match: a game that raised, hung, or returned values outside its spec.
    ``continue`` reports it and starts the slot's next match; ``stop`` ends the run.
    """

    slots: Slots = 256
    groups: Slots = 2
    # workers of the core; 0 = as many as run.threads, none if the run has one thread (a Python game has one)
    threads: Threads = 0
    timeout_s: NonNegative = 60.0  # of one step of a Python game, then its process is replaced; 0 = never
    on_error: Literal["continue", "stop"] = "continue"
    rollout_length: Length = 32


class CurriculumConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """ELF's curriculum: ``bot`` plays the learner's first k ticks, k ~ U{0..n}.

    n falls linearly from ``ticks`` to zero over the first ``share`` of the budget.

    ``advance``: n falls by ``step`` instead each time the win rate reaches it, over about ``matches`` matches
    that ended under the present n; 0 = by the budget.
    """

    bot: str = ""
    ticks: Natural = 1000
    share: Share = 0.3
    advance: Share = 0.0
    step: Count = 100
    matches: Count = 200

    def schedules(self) -> Iterator[tuple[str, ByBudget]]:
        """Yield the keys whose values move with the budget, each with its values."""
        if self.bot and self.advance == 0.0:
            yield "ticks", self.ticks_at

    def ticks_at(self, progress: float) -> int:
        """Return n when the share ``progress`` of the budget is spent, without ``advance``."""
        return round(self.ticks * max(0.0, 1.0 - progress / self.share)) if self.share > 0.0 else 0


class TeamConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rewards that a team shares (OpenAI Five), in games with teams: what is learned from, not the results.

    A seat's reward becomes ``(1 - spirit)`` of its own and ``spirit`` of its team's mean. ``spirit_final`` is
    reached linearly at the end of the budget; without it ``spirit`` stays. ``zero_sum``: before that, the
    mean of all seats of other teams is taken off. Seats of bots and of the dead count.
    """

    spirit: Share = 0.0
    spirit_final: Share | None = None
    zero_sum: bool = False

    @property
    def changes(self) -> bool:
        """Whether the spirit moves over the budget."""
        return self.spirit_final is not None and self.spirit_final != self.spirit

    def schedules(self) -> Iterator[tuple[str, ByBudget]]:
        """Yield the keys whose values move with the budget, each with its values."""
        if self.changes:
            yield "spirit", self.spirit_at

    def spirit_at(self, progress: float) -> float:
        """Return the spirit when the share ``progress`` (0..1) of the budget is spent."""
        if self.spirit_final is None:
            return self.spirit
        return min(1.0, max(0.0, self.spirit + progress * (self.spirit_final - self.spirit)))


class EvaluationConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Evaluation matches during training. ``against`` empty = every bot among the opponents.

    ``against`` may also name searches (``mcts:400``) and trained players (``zoo:NAME``). ``visits``: visits
    of AlphaZero's search in these matches; 0 = as in self-play, 1 = only the network. ``max_ticks``: longer
    matches end the run with an error; 0 = the game's limit, 20,000 where it declares none.
    ``initial``: the initial weights play ``floor_matches``, and uniform play over the legal choices as many
    at the end: the floors of the results. ``floor_matches = 0``: as many as ``matches``. They play before
    the run trains; with AlphaZero before the first evaluation, or at the end.
    ``score``: a score that the game names, the higher the better, by which versions are compared: for the
    best one, the play-off and ``run.target``. "" = win rate, in a game of one seat mean return.
    """

    every_steps: Natural = 500_000
    matches: Natural = 200
    final_matches: Natural = 1000
    against: tuple[str, ...] = ()
    greedy: bool = False
    visits: Natural = 0
    max_ticks: Natural = 0
    initial: bool = True
    floor_matches: Natural = 0
    score: str = ""


class RunConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Budget, lag mode and files. The first budget that is reached ends the run; 0 = unbounded.

    ``target``: the run also ends once the lower bound of the win rate reaches it against every
    opponent of an evaluation; in a game of one seat, of the mean return; with ``evaluation.score``, of that
    score (0 = off). Schedules run
    over ``max_steps`` if it is set, otherwise over ``max_minutes``.
    ``start``: initial weights, as ``RUN@best`` or a file; "" = random ones.
    ``topology``: one pool and one network for all matches, or ``one_to_one`` as in A3C: ``pools`` pools
    share ``pool.slots``, each has a copy of the weights, and their gradients are applied in turn.
    ``device``: ``auto`` is a GPU if the network gains by it, and otherwise the processor. ``cuda`` is
    experimental.
    ``lag``: in self-play ``pipelined`` is ``async`` on a GPU and ``sync`` on the processor.
    """

    seed: Natural = 1
    start: str = ""
    max_steps: Natural = 0
    max_minutes: NonNegative = 0.0
    target: float = 0.0
    lag: Literal["sync", "pipelined", "async"] = "pipelined"
    topology: Literal["many_to_one", "one_to_one"] = "many_to_one"
    pools: Pools = 4  # in one_to_one
    queue: Queue = 0  # slabs between sampler and learner: the lag of sync and pipelined is longer by it
    max_lag: Natural = 4  # versions, in async
    over_lag: Literal["wait", "drop"] = "wait"  # what async does rather than exceed max_lag
    threads: Threads = 0  # learner and sampler together; 0 = all processors this process may use
    checkpoint_every_minutes: NonNegative = 2.0
    keep_checkpoints: Count = 3
    device: Device = "auto"
    precision: Literal["auto", "float32", "bfloat16"] = "auto"


class ClusterConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Machines that play, by Ray; the process that was started learns.

    ``rollouts``: processes that play, each with ``pool.slots`` matches; 0 = this process plays.
    ``min_rollouts``: how many of them are enough; they play the matches of the missing ones too, until others
    join; 0 = all.
    ``learners``: processes that learn together, this one included; each learns from the slabs of its share of
    the rollouts. The others have ``run.threads`` threads each (0 = one), and a GPU where ``run.device`` is
    ``cuda``.
    ``inference``: processes whose networks decide for the rollouts, which have none then; 0 = each rollout
    has its own.
    ``cpus``, ``gpus``: processors and share of GPUs of each rollout; with ``inference`` each server has as
    many processors, and the GPUs. ``address``: ``HOST:PORT`` of a Ray
    cluster; ``local`` starts one on this machine, only for this run.
    ``ahead``: rounds of a league that are chosen and asked for before the results of the round in progress,
    so that rollouts play while members learn; 0 = none. Unset: 0, and one less than there are members where
    these are in processes (``league.processes``, ``members``).
    ``members``: ``turns``: members of a league take turns in this process. ``parallel``: each learns in a
    process of the cluster with ``cpus`` and ``gpus``, and plays there or on ``rollouts`` of its own.
    Files that other settings name (a game, a method or a teacher in Python, a teacher's weights) are sent to
    the rollouts.
    """

    rollouts: Rollouts = 0
    min_rollouts: Rollouts = 0
    learners: Learners = 1
    inference: Servers = 0
    cpus: RolloutCpus = 1
    gpus: NonNegative = 0.0
    address: Name = "local"
    ahead: Ahead | None = None
    members: Literal["turns", "parallel"] = "turns"

    @property
    def needs_ray(self) -> bool:
        """Whether other processes play or learn."""
        return self.rollouts > 0 or self.members == "parallel"


class TrackingConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Trackers that receive the numbers of the run, besides its own files.

    ``sinks``: their names: ``tensorboard`` (left out where it is not installed), ``wandb``, ``mlflow``, or
    entry points ``ludus.sinks`` of installed packages.
    ``project``, ``name``, ``tags``: how W&B and MLflow file the run; ``name = ""`` is the run directory's.
    ``offline``: W&B keeps the numbers in the run directory, and sends nothing.
    """

    sinks: tuple[Name, ...] = ("tensorboard",)
    project: Name = "ludus"
    name: str = ""
    tags: tuple[Name, ...] = ()
    offline: bool = False


class Preset(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole of a preset file. ``algorithm``: the settings of a registered method."""

    game: GameConfig
    opponents: tuple[OpponentConfig, ...] = ()
    pool: PoolConfig = PoolConfig()
    policy: PolicyConfig = EncoderConfig()
    algorithm: MethodConfig = registry.DEFAULT
    curriculum: CurriculumConfig = CurriculumConfig()
    team: TeamConfig = TeamConfig()
    league: LeagueConfig | None = None
    evaluation: EvaluationConfig = EvaluationConfig()
    run: RunConfig = RunConfig()
    cluster: ClusterConfig = ClusterConfig()
    tracking: TrackingConfig = TrackingConfig()
    title: str = ""

    @property
    def ahead(self) -> int:
        """Rounds of a league that are asked for before the results of the round in progress."""
        if self.cluster.ahead is not None:
            return self.cluster.ahead
        if self.league is None or not self.in_parallel:
            return 0
        return min(MAX_AHEAD, len(self.league.members) - 1)

    @property
    def in_parallel(self) -> bool:
        """Whether members of a league learn at the same time, in processes of their own."""
        return self.league is not None and (self.league.processes > 0 or self.cluster.members == "parallel")

    def schedules(self) -> dict[str, ByBudget]:
        """Return the settings that move with the run's budget, by path; ``game.before`` has a state instead.

        Each part of a preset lists its own.
        """
        parts = {
            "algorithm": self.algorithm.schedules(),
            "curriculum": self.curriculum.schedules(),
            "team": self.team.schedules(),
        }
        return {f"{name}.{key}": at for name, listed in parts.items() for key, at in listed}


def preset_type(method: str = "") -> mi.StructType:
    """Return the type of a preset, with the settings of the methods that ``method`` may name."""
    kind = _type_info(Preset)
    assert isinstance(kind, mi.StructType)
    algorithm = _type_info(_config_type(method))
    fields = tuple(
        msgspec.structs.replace(f, type=algorithm) if f.name == "algorithm" else f for f in kind.fields
    )
    return msgspec.structs.replace(kind, fields=fields)


@lru_cache(maxsize=32)
def _type_info(kind: Hashable) -> mi.Type:
    """Return msgspec's description of a type; it takes 10 ms for a preset."""
    return mi.type_info(kind)


def preset_of(document: Mapping[str, object], method: str = "") -> Preset:
    """Return the preset of a document that fits :func:`preset_type`."""
    preset = msgspec.convert({k: v for k, v in document.items() if k != "algorithm"}, Preset)
    if "algorithm" not in document:
        return preset
    algorithm = msgspec.convert(document["algorithm"], _config_type(method))
    return msgspec.structs.replace(preset, algorithm=algorithm)


def _config_type(method: str) -> type[MethodConfig]:
    """Return the union of the methods' settings."""
    return reduce(or_, (m.config for m in registry.methods(method)))
