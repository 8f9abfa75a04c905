"""AlphaZero against the same training with AlphaGo Zero's gate, for equal budgets: ELF OpenGo's ablation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from ludus.analyses.analysis import UNIT, TableCurve, WorkUnit
from ludus.analyses.matches import ELO, SCORE, PlayedPairing, matches_in, number, score_of, whole, word
from ludus.analyses.record import Cell, Line, RecordColumn, RecordTable
from ludus.analyses.subject import searched
from ludus.evaluation.play import UNIFORM
from ludus.flow.inputs.decode import from_toml, text_of
from ludus.presets.errors import ConfigError
from ludus.reporting.run_view import RunView
from ludus.storage import RunDirectory, resolve_weights

_TRAINING = "training"
MOST_EVENTS = 100_000  # newest events of a run, among which its gates are counted
_SAME = 0.1  # relative difference of budgets that count as equal
WITHOUT, WITH = "without gate", "with gate"


class GatingAnalysis:
    """Two runs, one with a gate, and their matches. See :class:`ludus.analyses.analysis.Analysis`."""

    name: ClassVar[str] = "gating"
    title: ClassVar[str] = "AlphaZero against AlphaGo Zero's gate, equal budgets"
    curves: ClassVar[tuple[TableCurve, ...]] = (
        TableCurve(1, "pairing", ("score",), "low", "high", level=0.5, level_name="equal play"),
    )

    @staticmethod
    def tables(lines: Sequence[Line]) -> tuple[RecordTable, ...]:
        """Return the budgets of the runs, and the scores of their weights."""
        names = ("minutes", "decisions", "updates", "matches", "gates", "passed")
        budget = tuple(
            (word(line, "run"), bool(line["gate"]) and "yes" or "no", *(number(line, n) for n in names))
            for line in lines
            if line.get(UNIT) == _TRAINING
        )
        columns = (
            RecordColumn("run"),
            RecordColumn("gate"),
            RecordColumn("minutes", "min", 1),
            *(RecordColumn(name) for name in names[1:]),
        )
        met: dict[tuple[int, str, bool], list[Line]] = {}
        for line in matches_in(lines):
            key = whole(line, "order"), f"{word(line, 'a')} against {word(line, 'b')}", bool(line["floor"])
            met.setdefault(key, []).append(line)
        rows: list[tuple[Cell, ...]] = []
        for key in sorted(met):
            score = score_of(met[key])
            rows.append((key[1], "floor" if key[2] else "", *score.cells(), *score.elo()))
        score_columns = (RecordColumn("pairing"), RecordColumn("is"), *SCORE, *ELO)
        return (
            RecordTable("Training", columns, budget),
            RecordTable("Matches of their weights", score_columns, tuple(rows)),
        )


def is_gated(run: RunDirectory) -> bool:
    """Return whether a run has the gate. Raises ``ConfigError`` for a method that knows none."""
    algorithm = from_toml(text_of(run.config_bytes())).get("algorithm", {})
    gate = algorithm.get("gate") if isinstance(algorithm, dict) else None
    if not isinstance(gate, bool):
        raise ConfigError(f"{run.path}: expected a run of a method with algorithm.gate")
    return gate


def training_unit(runs: Sequence[tuple[str, RunDirectory]]) -> WorkUnit:
    """Return the unit with one line a run: its budget, and the gates that its weights passed.

    Args:
        runs: Name and run of each.
    """

    def read(_: object) -> list[Line]:
        lines: list[Line] = []
        for name, run in runs:
            newest = RunView(run).newest()
            update = RunView(run).newest_update()
            gates = [row for row in RunView(run).events(MOST_EVENTS) if row.get("event") == "gate"]
            lines.append(
                {
                    UNIT: _TRAINING,
                    "run": name,
                    "gate": is_gated(run),
                    "minutes": newest.minutes or 0.0,
                    "decisions": newest.steps or 0,
                    "updates": update.version if update else 0,
                    "matches": update.matches if update else 0,
                    "gates": len(gates),
                    "passed": sum(row.get("passed") is True for row in gates),
                }
            )
        return lines

    return WorkUnit(_TRAINING, 0, read, plays=False)


def budget_notes(runs: Sequence[tuple[str, RunDirectory]]) -> tuple[str, ...]:
    """Return in words what the budgets of two runs differ in; empty where they are equal.

    Args:
        runs: Name and run of each.
    """
    views = [RunView(run) for _, run in runs]
    seeds = [run.info().seed for _, run in runs]
    minutes, steps = ([getattr(view.newest(), what) or 0 for view in views] for what in ("minutes", "steps"))
    notes = []
    if seeds[0] != seeds[1]:
        notes.append(f"the runs have different seeds, {seeds[0]} and {seeds[1]}")
    if not any(_close(pair) for pair in (minutes, steps)):
        notes.append(
            f"the runs have different budgets: {minutes[0]:.1f} and {minutes[1]:.1f} minutes, "
            f"{steps[0]:,} and {steps[1]:,} decisions"
        )
    notes += [f"{name}: the run is not finished" for (name, _), v in zip(runs, views) if not v.is_finished()]
    return tuple(notes)


def _close(pair: Sequence[float]) -> bool:
    return min(pair) >= (1.0 - _SAME) * max(pair)


def gating_pairings(
    runs: Sequence[tuple[str, Path]], visits: int
) -> tuple[list[PlayedPairing], dict[str, str]]:
    """Return the pairings of two runs' last and best weights, each also against uniform play as the floor.

    Args:
        runs: Name and folder of the two runs.
        visits: Visits of every decision.
    """
    players = {UNIFORM: UNIFORM}
    (first, folder), (second, other) = runs
    pairings: list[PlayedPairing] = []
    for which in ("last", "best"):
        references = f"{folder}@{which}", f"{other}@{which}"
        files = [resolve_weights(reference) for reference in references]
        if which == "best" and files == [resolve_weights(f"{path}@last") for path in (folder, other)]:
            continue
        names = f"{first}@{which}", f"{second}@{which}"
        players |= {n: searched(r, visits) for n, r in zip(names, references, strict=True)}
        pairings.append(PlayedPairing(*names, {"order": len(pairings), "floor": False}))
    for name in (f"{first}@last", f"{second}@last"):
        pairings.append(PlayedPairing(name, UNIFORM, {"order": len(pairings), "floor": True}))
    return pairings, players
