"""Pool factory: native threads for compiled games, processes for Python games."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from ludus.flow import Lineup
from ludus.games import registry
from ludus.pool.protocol import Pool


def make_pool(
    game: str,
    params: Mapping[str, object],
    lineup: Lineup,
    *,
    slots: int,
    groups: int,
    threads: int,
    seed: int,
    num_matches: int | None = None,
    on_error: Literal["raise", "truncate"] = "truncate",
    timeout_s: float = 60.0,
    record: Sequence[int] = (),
    inputs: Sequence[str] = (),
    states: bool = False,
) -> Pool:
    """Threads of the core (0 = the calling thread plays), or as many processes of a Python game.

    A Python game has at least one: its code does not run here, where it could end or change the process.

    ``record``: matches that keep a replay; ``states``: enables ``slot_state``, which compiled games
    always have. ``timeout_s`` is for Python games, ``inputs`` (the observation tensors in use, empty = all)
    for compiled ones. Raises the errors of the pools.
    """
    if registry.is_python(game):
        from ludus.pool.process import ProcessPool

        return ProcessPool(
            game,
            params,
            lineup,
            slots=slots,
            groups=groups,
            workers=max(1, threads),
            seed=seed,
            num_matches=num_matches,
            on_error=on_error,
            timeout_s=timeout_s,
            record=frozenset(record) or (),
            states=states,
        )
    from ludus.pool.native import NativePool

    return NativePool(
        game,
        params,
        lineup,
        slots=slots,
        groups=groups,
        threads=threads,
        seed=seed,
        num_matches=num_matches,
        on_error=on_error,
        record=record,
        inputs=inputs,
    )
