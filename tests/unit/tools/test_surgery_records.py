"""Numbers of the programs about surgery: windows of training matches, thresholds, differences."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")

from benchmarks.strength import surgery_horizon, surgery_runs, surgery_stages
from benchmarks.strength.surgery_runs import UPDATE, Window, Work, difference, reached, windows
from ludus.games import spec
from ludus.games.rulebook import keys, read
from ludus.presets.file import load_preset
from tools.raw_lines import Line


def line(label: str, won: int, seed: int | None = 1) -> Line:
    return Line(label, seed, "run@1", "rush", "drawn", won, 0, 100 - won, 100)


def rows(path: Path, results: list[tuple[int, int]], before: int = 0) -> Path:
    """Write the log of a run that had ``before`` decisions: of each update, matches won and lost."""
    path.mkdir()
    written = [{"kind": "evaluation", "steps": before}]
    for number, (won, lost) in enumerate(results, start=1):
        outcomes = {"rush": [won, 0, lost], "riders": [0, 1, 0]}
        written.append({"kind": "update", "steps": before + number * UPDATE, "outcomes": outcomes})
    (path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in written))
    return path


def test_windows_count_decisions_since_surgery(tmp_path: Path) -> None:
    run = rows(tmp_path / "run", [(1, 1), (2, 0), (3, 0), (0, 9)], before=100_000)
    assert windows(run, 2 * UPDATE) == [Window(2 * UPDATE, 3, 6), Window(4 * UPDATE, 3, 14)]
    assert windows(run, 3 * UPDATE) == [Window(3 * UPDATE, 6, 10)]


@pytest.mark.parametrize(("threshold", "steps"), [(40.0, 2), (50.0, 3), (75.0, 5), (95.0, None)])
def test_a_threshold_needs_its_share_over_all_windows_in_a_row(threshold: float, steps: int | None) -> None:
    found = [Window(n, won, 10) for n, won in enumerate([0, 9, 1, 9, 9], start=1)]
    assert reached(found, threshold, count=2) == steps


def test_a_difference_has_the_interval_of_independent_matches() -> None:
    found = difference("cut", [line("before", 50)] * 4, [line("after", 60)] * 4, 1)
    assert found.value == pytest.approx(10.0)
    assert found.low == pytest.approx(10.0 - 196 * (0.25 / 400 + 0.24 / 400) ** 0.5, abs=1e-3)
    assert (found.low or 0) + (found.high or 0) == pytest.approx(20.0, abs=1e-3)


def test_evaluations_are_kept_in_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.toml").write_text(
        '[game]\nname = "rts"\nparams = { rulebook = "extended" }\n'
    )
    work = Work(tmp_path, 2)
    first = work.judge(tmp_path / "run", "uniform play", None, player="uniform")
    assert [x.against for x in first] == list(surgery_runs.BOTS)
    assert {x.matches for x in first} == {2}
    monkeypatch.setattr(surgery_runs, "evaluate", None)
    assert Work(tmp_path, 2).judge(tmp_path / "run", "uniform play", None) == first


def test_the_settings_of_every_run_are_valid() -> None:
    for changes in (
        *surgery_stages.STAGES,
        *({**surgery_horizon.SMALL, **a} for a in surgery_horizon.ARMS.values()),
    ):
        preset = load_preset(surgery_runs.PRESET, {**surgery_runs.SETTINGS, **changes}).preset
        assert preset.pool.slots * preset.pool.rollout_length in (UPDATE, surgery_horizon.UPDATE)


def test_a_price_that_no_one_can_pay_changes_no_spec(tmp_path: Path) -> None:
    text = read(Path(surgery_stages.RULES["game.params.rulebook"]))
    dear = surgery_stages.priced_out_rules(tmp_path)
    assert keys(dear)["units.pikeman.cost"] == "30000"
    assert keys(text)["units.pikeman.cost"] == "70"
    assert spec("rts", {"rulebook": dear}).spec_hash == spec("rts", {"rulebook": text}).spec_hash


@pytest.mark.parametrize(
    ("words", "text"),
    [("--seeds 1 2 1", "expected each seed once"), ("--matches 0", "--matches 0: expected at least 1")],
)
def test_a_wrong_option_ends_with_one_line(
    words: str, text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for program in (surgery_stages, surgery_horizon):
        monkeypatch.setattr("sys.argv", ["x", *words.split()])
        with pytest.raises(SystemExit) as raised:
            program.main()
        assert raised.value.code == 2
        assert text in capsys.readouterr().err.splitlines()[-1]
