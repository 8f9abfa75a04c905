"""The start of the processes of a league's members."""

from __future__ import annotations

import msgspec

from ludus.algorithms.updates.parameters import tensors_of
from ludus.games.registry import is_python
from ludus.presets.checks.game import resolve_spec
from ludus.presets.config import Preset
from ludus.presets.hardware import pool_thread_count, thread_count
from ludus.training.actor_learner.sampler import first_network
from ludus.training.league.remote.board import slot_count
from ludus.training.league.remote.processes import ProcessHosts
from ludus.training.learner_processes.memory import fields_of


def started_hosts(preset: Preset, ahead: int) -> ProcessHosts:
    """Start the processes of ``preset``, without waiting for them.

    Args:
        preset: Settings of the run.
        ahead: Rounds that are asked for before the results of the round in progress.

    Raises:
        RunFailed: The system starts no process.
    """
    assert preset.league is not None
    members = {player.name: player.share for player in preset.league.members}
    spec, _ = resolve_spec(preset)
    fields = fields_of(tensors_of(first_network(preset, spec, ())))
    return ProcessHosts(
        members, min(preset.league.processes, len(members)), fields, slot_count(len(members), ahead)
    )


def with_shared_threads(preset: Preset) -> Preset:
    """Return the preset with each process's share of the run's threads.

    The matches of a game in Python depend on the number of the pool's processes, which stays what it is.
    """
    assert preset.league is not None
    if preset.cluster.members == "parallel":
        threads = preset.cluster.cpus
    else:
        threads = max(1, thread_count(preset.run) // max(1, preset.league.processes))
    pool = preset.pool
    if is_python(preset.game.name):
        pool = msgspec.structs.replace(pool, threads=max(1, pool_thread_count(preset)))
    run = msgspec.structs.replace(preset.run, threads=threads)
    return msgspec.structs.replace(preset, run=run, pool=pool)
