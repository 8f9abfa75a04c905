"""The record of the league in a run directory, also during the run."""

from __future__ import annotations

from typing import Annotated

import msgspec

from ludus.flow.decode import from_toml, text_of
from ludus.league.payoff import DECAY
from ludus.league.record import MAKE_PLAYERS, Record
from ludus.storage import CorruptFile, RunDirectory, RunNotFound
from ludus.storage.journal import Journal


def read_record(run: RunDirectory) -> Record:
    """Return the record of the journal of ``run`` up to now, without delaying the process that writes it.

    Raises ``RunNotFound`` where the run has no league, and ``CorruptFile`` (damaged, or of a newer ludus).
    """
    if not run.league.exists() and not run.league.is_symlink():
        raise RunNotFound(
            f"{run.path}: no league in this run (no {run.league.name}); a league has "
            "[[league.players]] in its preset"
        )
    with Journal.read(run.league) as journal:
        try:
            return Record(_decay(run)).read(journal.rows(), journal.count(*MAKE_PLAYERS))
        except ValueError as error:
            raise CorruptFile(f"{run.league}: {error}") from error


class _League(msgspec.Struct, frozen=True):
    """The one setting without which a journal's rates differ from those of the run."""

    decay: Annotated[float, msgspec.Meta(gt=0, le=1)] = DECAY


class _Settings(msgspec.Struct, frozen=True):
    league: _League = _League()


def _decay(run: RunDirectory) -> float:
    try:
        return msgspec.convert(from_toml(text_of(run.config_bytes())), _Settings).league.decay
    except ValueError as error:
        raise CorruptFile(f"{run.config}: {error}") from error
