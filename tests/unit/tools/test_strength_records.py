"""Programs of benchmarks/strength write records whose figures their raw lines give."""

from __future__ import annotations

import argparse
from pathlib import Path

import msgspec
import pytest

pytest.importorskip("torch")

from benchmarks.strength import equilibria, minirts_planner, population
from tools.raw_lines import Line, write_record
from tools.record_faults import faults
from tools.records import Record, load


def kept(made: Record, lines: list[Line], folder: Path) -> tuple[Record, list[str]]:
    """Return the record after it was written and read again, and its faults."""
    write_record("made", made, lines, folder)
    records = load(folder)
    return records["made"], faults(records, folder)


def row(method: str, seed: int, uniform: float, last: float) -> equilibria.Row:
    return equilibria.Row("disc", method, seed, 500_000, 9, uniform, last, 0.0, 1.0, {}, [])


def test_methods_of_other_seeds_have_commands_of_their_own(tmp_path: Path) -> None:
    rows = [row("fsp", s, 0.1 * s, 0.2) for s in (1, 2, 3)] + [row("roles", 1, 0.3, 0.4)]
    made = equilibria.record_of(rows, 500_000, "4a911c7", "M")
    made, wrong = kept(made, equilibria.lines_of(rows), tmp_path)
    assert wrong == []
    assert made.commands == (
        "python -m benchmarks.strength.equilibria disc --methods fsp --seeds 1 2 3",
        "python -m benchmarks.strength.equilibria disc --methods roles --seeds 1",
    )
    texts = [f.text() for f in made.figures]
    assert texts[0] == "disc, fsp, uniform: 0.2 [-0.048, 0.448] of 3 seeds"
    assert "disc, roles, uniform: 0.3 of 1 seed" in texts  # one seed has no interval


def test_a_population_has_floors_and_its_seeds(tmp_path: Path) -> None:
    def result(seed: int, changes: bool, returns: tuple[float, ...]) -> population.Result:
        floors = [
            {"label": f"{k}, drawn", "seed": seed, "value": 20.0 + seed}
            for k in ("initial weights", "uniform")
        ]
        fields = {"seed": seed, "changes": changes, "steps": 9, "minutes": 1.0, "first": [], "last": []}
        ends = {"returns": returns, "copies": 0, "best": "a", "final": 499.0}
        return msgspec.convert(fields | ends | {"floors": floors if changes else []}, population.Result)

    results = [
        result(1, True, (500.0, 490.0)),
        result(1, False, (20.0, 495.0, 280.0)),
        result(2, True, (500.0, 500.0)),
        result(2, False, (20.0, 491.0, 290.0)),
    ]
    command = "python -m benchmarks.strength.population --seeds 1 2"
    made, wrong = kept(*population.record_of(results, command, "9 decisions", "4a911c7", "M"), tmp_path)
    assert wrong == []
    values = {f.label: f.value for f in made.figures}
    assert values["population, worst member"] == 495.0
    assert values["best fixed rate"] == 493.0
    assert values["second best fixed rate"] == 285.0
    assert [f.value for f in made.floors] == [21.5, 21.5]


@pytest.mark.parametrize("opponent", ["random", "simple"])
def test_a_planners_record_names_the_knowledge_of_its_search(opponent: str, tmp_path: Path) -> None:
    player = f"plan:8x100,opponent={opponent}"
    chunks = [
        minirts_planner.Chunk(player, bot, n, 10, 6 + n, 1, 3 - n, 70, 35.0, 1.5)
        for bot in ("simple", "hit_and_run")
        for n in (0, 1)
    ]
    args = argparse.Namespace(
        player=player,
        against=["simple", "hit_and_run"],
        matches=20,
        seed=1,
        commit="4a911c7",
        machine="M",
        note=["N"],
    )
    floors = [Line(f"uniform, against {b}", None, "uniform", b, "drawn", 3, 0, 17, 20) for b in args.against]
    made, wrong = kept(*minirts_planner.record_of(chunks, floors, args), tmp_path)
    assert wrong == []
    assert [f.text() for f in made.figures] == [
        f"against {bot}: 65% [43.3, 81.9] of 20" for bot in args.against
    ]
    assert ("the opponent's program" in made.notes[0]) == (opponent == "simple")
    assert ("Rollouts are random self-play, as in ELF." in made.notes) == (opponent == "random")
    assert "future draws" in made.notes[0]
    assert made.budget.startswith("0.50 processor seconds a move")
