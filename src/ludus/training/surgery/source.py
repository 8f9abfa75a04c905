"""The run that surgery starts from, as its files say."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ludus.flow import Weights
from ludus.flow.inputs.shown import utf8
from ludus.flow.weights import Ancestor
from ludus.presets.config import Preset
from ludus.reporting.changes import run_settings
from ludus.storage import Checkpoint, RunDirectory, RunInfo, RunNotFound, read_weights
from ludus.surgery.plan import SurgeryError
from ludus.training.actor_learner.state import TrainerState, decode_state
from ludus.training.league.checkpoint import LeagueState, decode_league_state


@dataclass
class Source:
    """One checkpoint of a run with all that belongs to it.

    ``members``: weights of each member of a league, by name; ``first`` is the one that numbers checkpoints.
    """

    run: RunDirectory
    info: RunInfo
    preset: Preset
    checkpoint: Checkpoint
    state: TrainerState
    members: dict[str, Weights]
    first: str

    @property
    def league(self) -> LeagueState | None:
        """The state of a league; None of any other run."""
        return self.state if isinstance(self.state, LeagueState) else None

    def ancestor(self, weights: Weights, operators: tuple[str, ...]) -> Ancestor:
        """Return how the lineage of what is made of ``weights`` names them."""
        return Ancestor(
            run=utf8(self.run.path.resolve().name)[:256],
            version=weights.meta.version,
            spec_hash=weights.meta.spec_hash,
            run_id=self.info.run_id,
            operators=operators,
        )


def read_source(text: str) -> Source:
    """Read the checkpoint that ``RUN@last``, ``RUN@best``, ``RUN@VERSION`` or ``RUN`` names.

    Raises:
        SurgeryError: The run is being trained, or is of a kind that surgery does not cover.
        StorageError: No such run or checkpoint, or a file is damaged.
        PresetError: Its settings cannot be read.
    """
    folder, at, reference = text.rpartition("@")
    run = RunDirectory.open(Path(folder if at else text))
    info = run.info()
    if info.method:
        raise SurgeryError(
            "algorithm.name", info.method, "a built-in method: those of a file are not covered"
        )
    if run.status().state == "running":
        raise SurgeryError("source", str(run.path), "a run that no process trains; stop it first (Ctrl-C)")
    preset = run_settings(run).preset
    version = run.checkpoints.resolve(reference if at else "last")
    checkpoint = run.checkpoints.load(version)
    if preset.league is None:
        return Source(run, info, preset, checkpoint, decode_state(checkpoint.state), {}, "")
    state = decode_league_state(checkpoint.state)
    paths = run.checkpoints.members(version)
    if missing := sorted(state.members.keys() - paths.keys()):
        raise RunNotFound(f"{run.checkpoints.path(version)}: no weights of the member {missing[0][:80]}")
    members = {name: read_weights(paths[name]) for name in state.members}
    return Source(run, info, preset, checkpoint, state, members, _first(checkpoint, members))


def _first(checkpoint: Checkpoint, members: dict[str, Weights]) -> str:
    """Return the member whose weights a checkpoint of a league is known by."""
    own = checkpoint.weights
    for name, weights in members.items():
        if weights.meta == own.meta and all(
            weights.tensors[n].tobytes() == a.tobytes()
            for n, a in own.tensors.items()
            if n in weights.tensors
        ):
            return name
    raise RunNotFound(f"checkpoint of version {checkpoint.version}: its weights are those of no member")
