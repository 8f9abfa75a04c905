"""What a checkpoint holds beside the tensors, and how a run goes back to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from ludus.flow import Slab
from ludus.flow.decode import from_json
from ludus.flow.slab import Array
from ludus.storage import Checkpoint, CorruptFile
from ludus.training.actor_learner.build import Components
from ludus.training.actor_learner.curriculum import Handover
from ludus.training.actor_learner.rollout_summary import RolloutSummary
from ludus.training.candidates import Candidate
from ludus.training.stopping import Budget

SCHEMA = 1
POOL = "pool"
MAX_TIME_STEP = 1 << 62


class Turns(msgspec.Struct, frozen=True):
    """Of pools that take turns: how many they have had, and of each pool its full slab and its version."""

    turn: int
    full: list[RolloutSummary | None]
    versions: list[int]


class TrainerState(msgspec.Struct):
    """Counters of a run. Everything that decides what happens next, apart from tensors and matches."""

    schema: int = SCHEMA
    budget: Budget = msgspec.field(default_factory=Budget)
    received: int = 0  # decisions collected
    learned: int = 0  # decisions differentiated, epochs counted
    gradient_steps: int = 0  # of the optimiser
    dropped: int = 0
    matches: int = 0
    errors: int = 0
    win_rate: dict[str, float] = {}
    helped: bool = False  # a curriculum's bot played the first ticks of the matches in ``win_rate``
    evaluations: int = 0  # made so far
    evaluated_steps: int = 0  # budget.steps of the last one
    evaluation_due: bool = False  # one that was decided on but not made when the checkpoint was written
    mean_return: float | None = None  # running average of the training matches, None before the first
    best_score: float | None = None
    best_version: int = -1
    best_player: str = ""  # of a league: whose version it is
    candidates: list[Candidate] = []  # best first
    acting_version: int = 0
    filled: RolloutSummary | None = None  # of the slab that waits for the learner; of several the oldest
    queued: list[RolloutSummary] = []  # of the others, oldest first
    matchmaker: msgspec.Raw = msgspec.Raw(b"{}")  # JSON, the matchmaker's own
    snapshots: list[int] = []  # versions of frozen weights that this checkpoint refers to
    lanes: dict[int, str] = {}  # policy id -> the frozen player that it stands for
    turns: Turns | None = None  # with run.topology = "one_to_one"
    handover: Handover = Handover()
    anew: int = 0  # how often the run's matches began anew
    log_sizes: dict[str, int] = {}
    learner: dict[str, int] = {}

    @property
    def waiting(self) -> list[RolloutSummary]:
        """Of the slabs that wait for the learner, oldest first."""
        return [] if self.filled is None else [self.filled, *self.queued]

    def count_help(self, helped: bool) -> None:
        """Whether a curriculum's bot plays for the policy. Win rates with and without it never mix."""
        if helped != self.helped:
            self.helped, self.win_rate = helped, {}

    def drop_waiting(self) -> None:
        """Nothing is in flight any more: what was counts as dropped."""
        turns = self.turns.full if self.turns is not None else []
        self.dropped += sum(s.steps for s in (*self.waiting, *turns) if s is not None)
        self.set_waiting(())
        if self.turns is not None:
            self.turns = msgspec.structs.replace(self.turns, full=[None] * len(turns))

    def set_waiting(self, summaries: Sequence[RolloutSummary]) -> None:
        """Of the slabs that a checkpoint holds, oldest first."""
        self.filled, self.queued = (summaries[0] if summaries else None), list(summaries[1:])

    def set_matchmaker(self, state: bytes, snapshots: Iterable[int]) -> None:
        """What a matchmaker needs to go on, and the versions that it keeps."""
        self.matchmaker, self.snapshots = msgspec.Raw(state), sorted(snapshots)


def make_checkpoint(
    components: Components, state: TrainerState, waiting: Sequence[Slab], matches: bytes = b""
) -> Checkpoint:
    """The run between two rounds: no update and no rollout is under way.

    ``waiting``: slabs that have been collected and not yet learned from, oldest first. ``matches``: what
    the pool was restored from, if it has not played since.
    """
    arrays, counters = components.learner.state()
    state.learner = counters
    rollout: dict[str, Array] = {POOL: np.frombuffer(matches or components.sampler.pool.snapshot(), np.uint8)}
    rollout |= {f"collector.{name}": a for name, a in components.sampler.collector.state().items()}
    for i, slab in enumerate(waiting):
        rollout |= {_slab_name(i, name): a for name, a in _learned_fields(components, slab).items()}
    return Checkpoint(components.learner.weights(), arrays, rollout, msgspec.json.encode(state))


def decode_state(data: bytes) -> TrainerState:
    """The counters in a checkpoint's JSON text. Raises ``CorruptFile`` on anything else."""
    try:
        state = from_json(data, TrainerState)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CorruptFile(f"state of a checkpoint: {error}") from error
    if state.schema != SCHEMA:
        raise CorruptFile(f"state of a checkpoint: schema {state.schema}, expected {SCHEMA}")
    return state


def times_anew(checkpoint: Checkpoint) -> int:
    """How often the run's matches have begun anew, this resume counted. Raises ``CorruptFile``.

    Matches that begin anew have a pool with a seed of its own, so that they are not the run's first ones.
    """
    return max(0, decode_state(checkpoint.state).anew) + (not checkpoint.signed)


def restore_components(components: Components, checkpoint: Checkpoint, state: TrainerState) -> None:
    """Puts back what :func:`make_checkpoint` took. Raises ``CorruptFile`` where it does not fit.

    Slabs that waited are then the sampler's first ones.

    Of a checkpoint that is not signed the learner alone is put back: bytes of unknown origin must not become
    memory of the core. Matches, rows' memory and the slab in flight begin anew.
    """
    where = f"checkpoint of version {checkpoint.version}"
    try:
        components.learner.load_state(checkpoint.optimizer, state.learner)
        if not checkpoint.signed:
            components.sampler.collector.begin_at(_time_step(checkpoint))
            return
        components.sampler.pool.restore(_array(checkpoint, POOL, where).tobytes())
        prefix = "collector."
        arrays = {n.removeprefix(prefix): a for n, a in checkpoint.rollout.items() if n.startswith(prefix)}
        components.sampler.collector.restore(arrays)
    except ValueError as error:
        raise CorruptFile(f"{where}: {error}") from error
    slabs = components.sampler.slabs
    if len(state.waiting) > len(slabs):
        raise CorruptFile(f"{where}: {len(state.waiting)} slabs wait, expected at most {len(slabs)}")
    for i in range(len(state.waiting)):
        _restore_slab(components, checkpoint, i, where)


def _restore_slab(components: Components, checkpoint: Checkpoint, number: int, where: str) -> None:
    slab = components.sampler.slabs[number]
    shape = components.learner.network.memory_shape
    if shape is not None and components.policy in components.sampler.collector.learned:
        slab.memory = {components.policy: np.zeros((slab.rows, *shape), np.float32)}
    for field, target in _learned_fields(components, slab).items():
        name = _slab_name(number, field)
        stored = _array(checkpoint, name, where)
        if stored.shape != target.shape or stored.dtype != target.dtype:
            raise CorruptFile(
                f"{where}: {name} is {stored.dtype}{stored.shape}, expected {target.dtype}{target.shape}"
            )
        target[...] = stored


def _slab_name(number: int, field: str) -> str:
    """Of an array of a waiting slab; the oldest has number 0."""
    return f"slab{number or ''}.{field}"


def _learned_fields(components: Components, slab: Slab) -> dict[str, Array]:
    """What a learner reads of a slab: everything but observations that the network has no input for."""
    inputs = {f"obs.{t.name}" for t in components.learner.network.inputs}
    return {n: a for n, a in slab.fields().items() if n in inputs or not n.startswith("obs.")}


def _time_step(checkpoint: Checkpoint) -> int:
    """The time step of an unsigned checkpoint, so that random draws do not repeat; 0 where it is invalid."""
    stored = checkpoint.rollout.get("collector.time_step")
    if stored is None or stored.shape != (1,) or stored.dtype != np.int64:
        return 0
    step = int(stored[0])
    return step if 0 <= step < MAX_TIME_STEP else 0


def _array(checkpoint: Checkpoint, name: str, where: str) -> Array:
    stored = checkpoint.rollout.get(name)
    if stored is None:
        raise CorruptFile(f"{where}: no array {name}")
    return stored
