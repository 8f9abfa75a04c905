"""Those that a learner meets, carried over: past opponents, a league's frozen players, a teacher."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from ludus.flow import GameSpec, Weights
from ludus.flow.inputs.decode import from_json
from ludus.flow.weights import Ancestor
from ludus.league.matchmaker import LEARNER, NO_STATE, PAST
from ludus.league.players import member_and_version, player_of
from ludus.presets.config import Preset
from ludus.storage import Checkpoint, RunDirectory, read_weights
from ludus.storage.files import read_bounded
from ludus.storage.frozen import LearnerState
from ludus.storage.journal import copy_journal
from ludus.storage.tensors import MAX_FILE_BYTES, encode_weights
from ludus.surgery.labels import renamed
from ludus.surgery.plan import ConversionHints
from ludus.training.actor_learner.state import TrainerState
from ludus.training.opponents import build_matchmaker
from ludus.training.surgery import carry
from ludus.training.surgery.conversion import Conversion, conversion_of, side_of
from ludus.training.surgery.source import Source
from ludus.training.teacher import teacher_file, teacher_weights


class Players:
    """Files of a run's frozen players, its journal and its teacher."""

    def __init__(
        self,
        source: Source,
        conversion: Conversion,
        hints: ConversionHints,
        ancestor: Callable[[Weights], Ancestor],
    ) -> None:
        """Carry over those of ``source`` by ``conversion``, or by one like it for another architecture."""
        self._source, self._conversion, self._hints = source, conversion, hints
        self._ancestor = ancestor
        self._others: dict[tuple[str, str], Conversion] = {}

    def count(self) -> int:
        """Return the number of frozen players."""
        frozen = self._source.run.frozen
        return len(self._source.state.frozen) + sum(len(frozen.versions(p)) for p in frozen.players())

    def write(self, run: RunDirectory, checkpoint: Checkpoint, preset: Preset) -> None:
        """Write all of them into the new run.

        Raises:
            SurgeryError: One that does not fit the new spec.
            StorageError: A file of the old run is missing or damaged.
            OSError: A file cannot be written.
        """
        self._write_teacher(run, preset)
        if self._source.league is None:
            self._write_past(run, checkpoint)
            return
        copy_journal(self._source.run.league, run.league)
        frozen = self._source.run.frozen
        for player in frozen.players():
            for version in frozen.versions(player):
                old = frozen.load(player, version)
                conversion = self._for(old, f"{player}:{version}")
                run.frozen.save(player, conversion.weights(old, self._ancestor(old)))
                if frozen.learner_path(player, version).is_file():
                    state = frozen.load_learner(player, version)
                    arrays = carry.learner_arrays(state.arrays, conversion, ring=False, rows=False)
                    run.frozen.save_learner(player, version, LearnerState(arrays, state.counters))

    def _write_past(self, run: RunDirectory, checkpoint: Checkpoint) -> None:
        """Write the weights that past opponents of the new run have."""
        known = {member_and_version(player)[1] for player in self._source.state.frozen}
        states = from_json(from_json(checkpoint.state, TrainerState).matchmaker, dict[str, msgspec.Raw])
        window = from_json(bytes(states[PAST]), _Window) if PAST in states else _Window()
        for version in sorted({*window.versions, *window.playing} | known):
            if version == checkpoint.version and version not in known:
                run.save_snapshot(checkpoint.weights)
                continue
            old = self._source.run.load_snapshot(version)
            run.save_snapshot(self._for(old, f"snapshot {version}").weights(old, self._ancestor(old)))

    def _write_teacher(self, run: RunDirectory, preset: Preset) -> None:
        """Write the teacher's weights: the old run's copy, where the preset names the same ones."""
        name, _ = teacher_weights(preset)
        if not name:
            return
        before, _ = teacher_weights(self._source.preset)
        old = self._source.run.teacher
        if name != before or not old.is_file():
            path = teacher_file(preset)
            assert path is not None
            run.save_teacher(read_bounded(path, MAX_FILE_BYTES))
            return
        weights = read_weights(old)
        conversion = self._kept(weights, "algorithm.teacher")
        data = (
            read_bounded(old, MAX_FILE_BYTES)
            if conversion.identical
            else encode_weights(conversion.weights(weights, self._ancestor(weights)))
        )
        run.save_teacher(data)

    def _for(self, old: Weights, where: str) -> Conversion:
        """Return the conversion of a frozen player: the run's, or one for its own architecture."""
        meta = self._source.checkpoint.weights.meta
        if (old.meta.architecture, old.meta.spec_hash) == (meta.architecture, meta.spec_hash):
            return self._conversion
        return self._kept(old, where)

    def _kept(self, old: Weights, where: str) -> Conversion:
        """Return a conversion to the new spec that keeps the architecture."""
        key = (old.meta.architecture, old.meta.spec_hash)
        if key not in self._others:
            side = side_of(old.meta, where)
            target = self._conversion.target
            target = target._replace(config=renamed(side, target.spec, self._hints.rename).config)
            self._others[key] = conversion_of(side, target, self._hints)
        return self._others[key]


class _Window(msgspec.Struct):
    """Versions that past opponents need."""

    versions: list[int] = []
    playing: list[int] = []


def carry_matchmaker(state: TrainerState, old: Preset, new: Preset, spec: GameSpec) -> msgspec.Raw:
    """Return the state of the matchmaker of ``new``.

    An opponent that both presets have keeps its own. New past opponents start with the newest weights.
    """
    if old.opponents == new.opponents:
        return state.matchmaker
    mixture, version = build_matchmaker(spec, new), state.learner["version"]
    stored = from_json(bytes(state.matchmaker), dict[str, msgspec.Raw])
    for name, part in mixture.parts.items():
        try:
            part.load_state(bytes(stored.get(name, NO_STATE)))
        except ValueError:
            part.on_lost(player_of(LEARNER, 0), version)
    return msgspec.Raw(mixture.state())
