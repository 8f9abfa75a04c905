"""``results.jsonl``: results of commands about the weights of a run, kept in the run."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from ludus.cli import console
from ludus.cli.words import said
from ludus.version import __version__


def keep(kind: str, players: Iterable[str], result: msgspec.Struct | Mapping[str, object]) -> None:
    """Append ``result`` to the file of every run whose weights played.

    If a run cannot be written to, a note on stderr names it: the result itself has been shown.
    """
    from ludus.mcts.text import SUFFIX
    from ludus.storage import StorageError, is_reference, resolve_weights, run_of

    row = {"kind": kind, "ludus": __version__, "command": sys.argv, **msgspec.to_builtins(result)}
    kept = set()
    for player in players:
        weights = player.partition(SUFFIX)[0].replace("@all", "@last")
        if not weights or weights.endswith(".py") or not is_reference(weights):
            continue
        try:
            run = run_of(resolve_weights(weights))
            if run is not None and run.path not in kept:
                kept.add(run.path)
                run.add_result(row)
        except (OSError, StorageError) as error:
            console.note(f"the result was not added to the run of {player}: {said(error)}")


def note_groups(groups: Sequence[Sequence[str]]) -> None:
    """Report on stderr groups of players that never met, whose ratings cannot be compared."""
    from ludus.storage.references import labelled

    if len(groups) > 1:
        named = "; ".join(", ".join(labelled(name) for name in group) for group in groups)
        console.note(f"groups that never met each other: {named}; ratings compare within a group alone")
