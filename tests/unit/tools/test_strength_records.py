"""Programs of benchmarks/strength make figures that their raw lines give, with floors."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

pytest.importorskip("torch")

from benchmarks.strength import equilibria, minirts_planner, moba_bots, population
from tools.figures import figures_of
from tools.play_lines import again
from tools.raw_lines import Line, sampled
from tools.records import Run


def row(method: str, seed: int, uniform: float, last: float) -> equilibria.Row:
    run = Run(f"{method}{seed}", seed, "x", 9, "", cell=method)
    return equilibria.Row(
        "kuhn", method, seed, 500_000, 9, uniform, last, 0.0, 1.0, {}, [(9, uniform)], 0.7, run
    )


def test_exploitability_has_floors_and_is_better_when_lower() -> None:
    rows = [row("fsp", s, 0.1 * s, 0.2) for s in (1, 2, 3)] + [row("roles", 1, 0.3, 0.4)]
    lines = equilibria.lines_of(rows)
    figures, floors = equilibria.figures_of(lines)
    texts = [f.text() for f in figures]
    assert "fsp, mixture of all frozen: 0.2 [-0.048, 0.448] of 3 seeds (0.1, 0.2, 0.3)" in texts
    assert "seed 1, roles, mixture of all frozen: 0.3" in texts  # one seed has no interval
    assert all(f.lower_is_better for f in (*figures, *floors))
    kuhn = {f.value for f in floors if f.floor == "uniform"}
    assert kuhn == {0.458}
    assert {f.value for f in floors if f.floor == "initial weights"} == {0.7}
    assert len([x for x in lines if x.player == "uniform"]) == len(figures)


def test_a_population_shows_members_and_the_matches_of_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    def played(label: str, setting: object, seed: int, run: Run, folder: Path) -> Line:
        line = sampled(label, [499.0, 500.0])
        return msgspec.structs.replace(line, seed=run.seed, run=run.id)

    monkeypatch.setattr(population, "play", played)

    def result(seed: int, changes: bool, returns: tuple[float, ...]) -> population.Result:
        run = Run(f"{changes}{seed}", seed, "x", 9, "", cell=population.CELLS[changes])
        return population.Result(seed, changes, 9, 1.0, (), (), returns, 0, "a", 499.0, "", run)

    results = [
        result(1, True, (500.0, 490.0)),
        result(1, False, (20.0, 495.0, 280.0)),
        result(2, True, (500.0, 500.0)),
        result(2, False, (20.0, 491.0, 290.0)),
    ]
    lines = population.lines_of(results, Path())
    values = {f.label: f.value for f in figures_of(lines, "return", "seeds")}
    assert values["population, worst member while it learns"] == 495.0
    assert values["best fixed rate while it learns"] == 493.0
    assert values["second best fixed rate while it learns"] == 285.0
    assert values["population, final matches"] == 499.5


@pytest.mark.parametrize("opponent", ["random", "simple"])
def test_a_planners_record_names_the_knowledge_of_its_search(opponent: str) -> None:
    notes = minirts_planner.notes_of(f"plan:8x100,opponent={opponent}")
    assert ("the opponent's program" in notes[0]) == (opponent == "simple")
    assert ("Rollouts are random self-play, as in ELF." in notes) == (opponent == "random")
    assert "future draws" in notes[0]


@pytest.mark.slow
def test_a_chunk_of_a_planner_is_played_again() -> None:
    player = "plan:1x2,opponent=random,draw=0"
    chunk = minirts_planner.play_chunk(player, "simple", 0, 2, 1)
    (line,) = minirts_planner.lines_of([chunk])
    assert not line.fault()
    assert again(line).outcomes == line.outcomes


def test_bots_of_moba_have_floors_but_the_evenness_of_teams_has_none() -> None:
    lines = moba_bots.measured(1, 8)
    assert [x.matches for x in lines] == [8, 4]
    from tools.play_lines import floor_kinds

    kinds = [floor_kinds(x.setting, trained=False) for x in lines if x.setting]
    assert kinds[0] == []
    assert {"uniform", "bot noop", "bot simple"} <= set(kinds[1])
    assert again(lines[0]).outcomes == lines[0].outcomes
