"""Numbers of the programs about surgery: windows of training matches, thresholds, differences."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

pytest.importorskip("torch")

from benchmarks.strength import surgery_horizon, surgery_runs, surgery_stages
from benchmarks.strength.surgery_runs import UPDATE, Window, Work, reached, windows
from ludus.flow import WeightsMeta
from ludus.games import spec
from ludus.games.rulebook import keys, read
from ludus.presets.file import load_preset
from ludus.reporting.metrics import UpdateMetrics, metrics_row
from tools.raw_lines import Line, Setting, counted
from tools.records import Run


def rows(path: Path, results: list[tuple[int, int]], before: int = 0) -> Path:
    """Write the log of a run that had ``before`` decisions: of each update, matches won and lost."""
    path.mkdir()
    written = []
    for number, (won, lost) in enumerate(results, start=1):
        outcomes = {"rush": (won, 0, lost), "riders": (0, 1, 0)}
        steps = before + number * UPDATE
        written.append(metrics_row(UpdateMetrics(number, steps, steps, 0, 0, 0.0, {}, outcomes=outcomes)))
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


def test_evaluations_are_kept_in_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Run("id", 1, "x", 3, "")
    monkeypatch.setattr(surgery_runs, "run_of", lambda *_, **__: made)
    monkeypatch.setattr(surgery_runs, "load_meta", lambda _: WeightsMeta(3, "", "", "", "rts", 5))
    monkeypatch.setattr(surgery_runs, "resolve_weights", Path)
    played = []

    def play(label: str, setting: Setting, seed: int, run: object, folder: Path) -> Line:
        played.append(setting)
        return replace(counted(label, "wwdlll", setting=setting, eval_seed=seed), seed=1)

    monkeypatch.setattr(surgery_runs, "play", play)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.toml").write_text(
        '[game]\nname = "rts"\nparams = { rulebook = "extended" }\n'
    )
    first = Work(tmp_path, 2, tmp_path).judge(tmp_path / "run", "end")
    assert played[0].opponent == "rush + swords + riders"
    assert played[0].matches == 6
    assert Work(tmp_path, 2, tmp_path).judge(tmp_path / "run", "end") == first
    assert len(played) == 1


def test_differences_are_to_the_unchanged_continuation() -> None:
    args = surgery_horizon.parser_of().parse_args(["--settle", "3", "--updates", "4", "--seeds", "1", "2"])
    labels = [surgery_horizon.BEFORE, *(label for _, _, label in surgery_horizon.arms(args))]
    lines = [
        replace(counted(label, "w" * (n + 5) + "l" * 9, eval_seed=1), seed=s)
        for n, label in enumerate(labels)
        for s in (1, 2)
    ]
    figures = surgery_horizon.figures_of_arms(lines, args)
    differences = [f for f in figures if f.kind == "difference"]
    assert len(differences) == 6
    assert {f.of[1] for f in differences} == {"discount 0.97, settle 0, after 4 updates"}
    assert all(f.of[0] != f.of[1] for f in differences)


def test_a_stage_shows_all_decisions_and_differences_of_its_parts() -> None:
    args = surgery_stages.parser_of().parse_args(["--seeds", "1", "2"])
    names = [f"{cut}: {when}" for cut in surgery_stages.CUTS for when in ("before", "after")]
    names += [
        f"{surgery_stages.CUTS[0]}: {surgery_stages.PRICED_OUT}",
        surgery_stages.END,
        surgery_stages.SCRATCH,
    ]
    lines = [replace(counted(name, "wwdl" * 9, eval_seed=s), seed=s) for name in names for s in (1, 2)]
    figures = surgery_stages.figures_of_stages(lines, args)
    assert sum(f.kind == "difference" for f in figures) == 3 * 3 + 1
    assert {f.number() for f in figures if f.kind == "difference"} >= {"equal in all 72 matches"}


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
