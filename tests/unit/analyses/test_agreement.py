"""``ludus go agreement``: what is sampled, asked and counted, its floors, and other games refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from ludus.analyses.positions.agreement import (
    AgreementAnalysis,
    default_stages,
    stage_name,
    stages_of,
)
from ludus.analyses.positions.recorded import (
    BLOCK,
    RecordedPositions,
    SampledMatch,
    blocks,
    check_rules,
    differences,
    sample,
)
from ludus.analyses.positions.shares import match_interval
from ludus.analyses.positions.version_reader import check_answers
from ludus.analyses.record import Line
from ludus.analyses.registry import read_checked
from ludus.analyses.subject import AnalysedGame
from ludus.cli.__main__ import main
from ludus.datasets import DataSet
from ludus.datasets.from_replay import ReadingRules
from ludus.datasets.importer import ImportOrder, import_records
from ludus.datasets.manifest import SplitRule
from ludus.evaluation.play import play_matches, scripted_player
from ludus.evaluation.settings import MatchSettings
from ludus.games import replays, spec, typed
from ludus.games.match import Match
from ludus.games.records.rows import read_rows
from ludus.policies.config import EncoderConfig
from ludus.presets.errors import ConfigError
from ludus.ratings import wilson_interval
from tests.unit.training.recorded import record_matches

from .made_runs import made_run
from .test_commands import interrupted_after_units, nim_run, record, refused, table

Capture = pytest.CaptureFixture[str]
GO5 = {"size": "5", "komi": "24.5"}


@pytest.fixture(scope="module")
def set_(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record_matches(tmp_path_factory.mktemp("set") / "xo", "tic_tac_toe", 60, held_out=0.4)


@pytest.fixture(scope="module")
def go_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record_matches(tmp_path_factory.mktemp("set") / "go5", "go", 12, plies=30, size=5, komi=24.5)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return made_run(tmp_path / "run")


# ---- the command -------------------------------------------------------------------------------------


def test_versions_are_compared_with_recorded_moves(run: Path, set_: Path, capsys: Capture) -> None:
    words = ("agreement", str(run), "--data", str(set_), "--positions", "40", "--versions", "2")
    found = record(capsys, *words)
    assert found["complete"] is True
    assert found["floors"] == ["v0", "uniform"]
    rows = {row["player"]: row for row in table(found)}
    assert rows.keys() == {"v0", "v1", "v4", "uniform"}
    assert {row["positions"] for row in rows.values()} == {40}
    assert found["settings"]["data"] == DataSet.open(set_).sha256
    data = DataSet.open(set_)
    held = set(data.indices("held_out").tolist())
    moves: dict[tuple[int, int], dict[str, Any]] = {}
    for line in found["lines"]:
        assert line["match_index"] in held
        moves.setdefault((line["match_index"], line["move"]), {})[line["player"]] = line
    assert len(moves) == 40
    assert all(by.keys() == rows.keys() for by in moves.values())
    for (index, number), by in moves.items():
        match = data.match(index)
        made = next(d for d in replays.decisions(match.replay) if d.tick == number - 1)
        assert match.outcome is not None
        assert by["v4"]["legal"] == 10 - number
        assert by["v4"]["seat"] == made.seat == (number - 1) % 2
        assert by["v4"]["outcome"] == match.outcome[made.seat]
    expected = sum(1 / line["legal"] for line in found["lines"] if line["player"] == "uniform") / 40
    assert rows["uniform"]["expected"] == pytest.approx(expected)
    _, kept = read_checked(run / "analyses" / "agreement.json")
    assert [dict(made) for made in kept.lines] == found["lines"]
    assert main(["go", "show", str(run / "analyses" / "agreement.json")]) == 0
    assert "Agreement by stage" in capsys.readouterr().out
    assert "<svg" in (run / "analyses" / "agreement.html").read_text()


def test_a_search_is_asked_from_the_recorded_position(run: Path, set_: Path, capsys: Capture) -> None:
    words = ("agreement", str(run), "--data", str(set_), "--split", "all", "--versions", "2")
    found = record(capsys, *words, "--visits", "40", "--positions", "500")
    last = [made for made in found["lines"] if made["player"] == "v4" and made["legal"] == 1]
    assert len(last) > 3
    for made in last:  # the last move decides, and a search sees its end
        assert made["value"] == pytest.approx(made["outcome"], abs=0.1)
        assert made["rank"] == 1


@pytest.mark.parametrize("visits", ["0", "3"])
def test_go_is_compared_under_the_weights_features(
    go_set: Path, tmp_path: Path, capsys: Capture, visits: str
) -> None:
    run = made_run(tmp_path / "rich", (1, 2), "go", {**GO5, "features": "rich"})
    found = record(
        capsys, "agreement", str(run), "--data", str(go_set), "--split", "all", "--visits", visits,
        "--positions", "30",
    )  # fmt: skip
    assert found["notes"][2:] == []
    assert {row["moves"] for row in table(found, 1)} == {"1-10", "11-20", "21+"}


def test_the_first_seat_of_the_records_is_agreed_with(set_: Path) -> None:
    """The first seat takes its first legal move: that rule agrees always."""
    game = AnalysedGame(spec("tic_tac_toe"), {})
    data = DataSet.open(set_)
    found = RecordedPositions(data, game).read(
        0, [SampledMatch(0, tuple(range(sum(data.match(0).decisions))))]
    )
    (asked,), (about,) = found.asked, found.about
    agreed = [np.flatnonzero(legal)[0] == move.played for legal, move in zip(asked.mask, about, strict=True)]
    assert all(agreed[::2])
    assert [move.move for move in about] == list(range(1, len(about) + 1))


def test_positions_are_those_of_the_match(go_set: Path) -> None:
    params = {**GO5, "features": "rich"}
    game = AnalysedGame(spec("go", params), params)
    data = DataSet.open(go_set)
    made = RecordedPositions(data, game, states=True)
    found = made.read(0, [SampledMatch(3, (0, 4, 20)), SampledMatch(5, (1,))])
    (asked,), (about,) = found.asked, found.about
    assert asked.params["features"] == "rich"
    assert [(move.match, move.move) for move in about[:3]] == [(3, 1), (3, 9), (3, 12)]
    rows = read_rows(data.match(3).replay, params={"features": "rich"})
    assert np.array_equal(asked.obs["planes"][0], rows[0].obs["planes"][0])
    assert np.array_equal(asked.obs["planes"][2], rows[1].obs["planes"][5])
    for state, move in zip(asked.states, about, strict=True):
        replay = data.match(move.match).replay
        match = Match("go", params, seed=replays.info(replay).seed)
        for decision in replays.decisions(replay)[: move.move - 1]:
            match.play(*decision.action)
        assert match.state == state
    assert made.read(0, ()) is found  # kept for the next version


@pytest.mark.parametrize("output", ["logits", "q"])
def test_encoder_policies_are_asked(
    tmp_path: Path, set_: Path, capsys: Capture, output: Literal["logits", "q"]
) -> None:
    run = made_run(tmp_path / "encoder", (3, 4), policy=EncoderConfig(hidden=(8,), output=output))
    words = ("agreement", str(run), "--data", str(set_), "--positions", "20")
    found = record(capsys, *words)
    assert {"v3", "v4", "uniform"} <= {row["player"] for row in table(found)}
    if output == "q":
        assert "Q-values" in refused(capsys, *words, "--visits", "2", "-o", str(tmp_path / "o"))


def test_a_python_game_is_compared_once_its_code_is_named(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    nim_run()
    game = typed("./nim.py")
    declared = spec(game)
    settings = MatchSettings(matches=12, seed=3, record=12)
    one, other = (scripted_player("uniform", declared, seed, 0) for seed in (1, 2))
    Path("replays").mkdir()
    for k, result in enumerate(play_matches(declared, {}, one, other, settings)):
        Path(f"replays/{k}.ludus").write_bytes(result.replay)
    order = ImportOrder((Path("replays"),), Path("set"), ReadingRules(game), split=SplitRule(held_out=0.0))
    import_records(order)
    words = ("agreement", "run", "--data", "set", "--split", "all", "--positions", "20", "--game", "./nim.py")
    found = record(capsys, *words)
    assert {row["player"] for row in table(found)} == {"v3", "v7", "uniform"}
    assert "cannot be searched" in refused(capsys, *words, "--visits", "2", "-o", "o")


def test_an_interrupted_analysis_continues_to_the_same_lines(
    run: Path, set_: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("agreement", str(run), "--data", str(set_), "--positions", "30", "--versions", "2")
    undisturbed = record(capsys, *words, "-o", str(tmp_path / "whole"))
    interrupted_after_units(2, monkeypatch)
    assert main(["go", *words, "--quiet"]) == 130
    monkeypatch.undo()
    capsys.readouterr()
    whole = record(capsys, *words, "--resume", "--jobs", "2")
    assert whole["lines"] == undisturbed["lines"]
    assert whole["tables"] == undisturbed["tables"]


# ---- refusals ----------------------------------------------------------------------------------------


def test_other_games_and_boards_are_refused_by_name(
    run: Path, set_: Path, go_set: Path, tmp_path: Path, capsys: Capture
) -> None:
    seven = made_run(tmp_path / "seven", (1, 2), "go", {"size": "7", "komi": "9.0"})
    cases = {
        ("agreement", str(run), "--data", str(go_set)): "matches of go, the weights are of tic_tac_toe",
        ("agreement", str(seven), "--data", str(go_set)): "size is 5, of the weights 7",
        ("agreement", str(run), "--data", str(tmp_path)): "dataset.json",
        ("agreement", str(run)): "--data: expected a data set",
        ("agreement", str(run), "--data", str(set_), "--stages", "9,3"): "expected rising numbers",
        ("agreement", str(run), "--data", str(set_), "--positions", "0"): "--positions",
        ("agreement", str(run), "--data", str(set_), "--split", "test"): "--split",
        ("agreement", str(tmp_path), "--data", str(set_)): "not a run",
    }
    for words, expected in cases.items():
        assert expected in refused(capsys, *words), words
    assert not (run / "analyses" / "agreement.json").exists()


def test_a_split_without_matches_is_refused(run: Path, tmp_path: Path, capsys: Capture) -> None:
    whole = record_matches(tmp_path / "whole", "tic_tac_toe", 4, held_out=0.0)
    words = ("agreement", str(run), "--data", str(whole))
    assert "no matches for split held_out: 0 held out" in refused(capsys, *words)
    assert record(capsys, *words, "--split", "train")["complete"]


def test_forged_lines_are_refused(run: Path, set_: Path, tmp_path: Path, capsys: Capture) -> None:
    words = ("agreement", str(run), "--data", str(set_), "--positions", "10", "--versions", "2")
    made = record(capsys, *words)
    for name, value in (("rank", 9), ("moves", "4-2"), ("move", 99), ("outcome", 7.0), ("rank", 1)):
        forged = json.loads(json.dumps(made))
        line = next(line for line in forged["lines"] if line["rank"] != 1)
        line[name] = value
        path = tmp_path / "forged.json"
        path.write_text(json.dumps(forged))
        assert main(["go", "show", str(path)]) == 2
        error = capsys.readouterr().err
        assert "does not write" in error or "do not follow from the lines" in error, (name, value)


def test_rules_are_compared_with_their_defaults(go_set: Path) -> None:
    params = {"size": "5", "komi": "24.50", "ko": "positional"}
    game = AnalysedGame(spec("go", params), params)
    check_rules(DataSet.open(go_set), game)
    assert differences([{"size": "5", "komi": "24.5", "features": "rich"}], game) == []
    assert differences([{"size": "5", "komi": "7"}, {"size": "5"}], game) == [
        "komi is 7, 7.5, of the weights 24.5"
    ]


# ---- sample, stages and tables -----------------------------------------------------------------------


def test_a_sample_is_fixed_and_spread_over_matches() -> None:
    decisions = np.array([[30, 30], [1, 0], [30, 29], [0, 0], [2, 3]], np.int32)
    matches = np.arange(5, dtype=np.int64)
    found = sample(decisions, matches, 30, seed=4)
    assert found == sample(decisions, matches, 30, seed=4)
    assert found != sample(decisions, matches, 30, seed=5)
    counts = {match.index: len(match.decisions) for match in found}
    assert counts[1] == 1
    assert counts[4] == 5
    assert counts[0] + counts[2] == 24
    assert 3 not in counts
    for match in found:
        assert len(set(match.decisions)) == len(match.decisions)
        assert 0 <= match.decisions[0] <= match.decisions[-1] < decisions[match.index].sum()
    assert sum(len(match.decisions) for match in sample(decisions, matches, 10_000, 1)) == 125
    few = sample(np.full((100, 2), 5, np.int32), np.arange(100, dtype=np.int64), 7, 1)
    assert [len(match.decisions) for match in few] == [1] * 7


def test_blocks_are_bounded() -> None:
    sampled = [SampledMatch(0, tuple(range(3 * BLOCK + 1))), SampledMatch(1, (2, 5)), SampledMatch(2, (1,))]
    found = blocks(sampled)
    assert [sum(len(match.decisions) for match in block) for block in found] == [BLOCK, BLOCK, BLOCK, 4]
    assert [match.index for match in found[-1]] == [0, 1, 2]


def test_more_answers_than_a_record_holds_are_refused() -> None:
    check_answers(10, 15_000, "positions")
    with pytest.raises(ConfigError, match="expected at most 150000 answers, so up to 15000 positions"):
        check_answers(10, 15_001, "positions")
    with pytest.raises(ConfigError, match="257 players answer"):
        check_answers(257, 1, "positions")


def test_stages_have_names() -> None:
    assert [stage_name(move, (60, 120)) for move in (1, 60, 61, 120, 121, 400)] == [
        "1-60", "1-60", "61-120", "61-120", "121+", "121+",
    ]  # fmt: skip
    for params, expected in (({"size": "19"}, (60, 120, 180)), (GO5, (14, 28))):
        assert default_stages(AnalysedGame(spec("go", params), params), 40) == expected
    assert stages_of("3,9") == (3, 9)
    for text in ("", "0", "3,3", "x", "1,2,", "9" * 5000, ",".join(map(str, range(1, 20)))):
        with pytest.raises(ConfigError, match="expected rising numbers"):
            stages_of(text)


def line(
    player: str, version: int, match: int, move: int, rank: int, value: float, outcome: float | None
) -> Line:
    return {
        "unit": "u",
        "player": player,
        "version": version,
        "match_index": match,
        "seat": 0,
        "move": move,
        "moves": "1-5" if move <= 5 else "6+",
        "legal": 8,
        "rank": rank,
        "value": value,
        "outcome": outcome,
    }


def test_tables_count_agreement_by_hand() -> None:
    lines = [
        line("v3", 3, 0, 1, 1, 0.5, 1.0),
        line("v3", 3, 0, 6, 3, 0.5, -1.0),
        line("v3", 3, 1, 7, 0, 0.0, None),
        line("v3", 3, 2, 2, 1, 1.0, 1.0),
        line("uniform", -1, 0, 1, 2, 0.0, 1.0),
    ]
    agreement, by_stage, errors = AgreementAnalysis.tables(lines)
    half = wilson_interval(2, 4)
    first = dict(zip([column.name for column in agreement.columns], agreement.rows[0], strict=True))
    assert (first["positions"], first["matches"], first["is"]) == (4, 3, "")
    assert (first["top 1"], first["low"], first["high"]) == (0.5, half.low, half.high)
    assert first["top 5"] == 0.75
    assert (first["low by matches"], first["high by matches"]) == match_interval([1, 0, 0, 1], [0, 0, 1, 2])
    second = dict(zip([column.name for column in agreement.columns], agreement.rows[1], strict=True))
    assert (second["version"], second["expected"], second["expected of 5"]) == (None, 1 / 8, 5 / 8)
    stages = {(row[1], row[2]): row[3:5] for row in by_stage.rows}
    assert stages == {("v3", "1-5"): (2, 1.0), ("v3", "6+"): (2, 0.0), ("uniform", "1-5"): (1, 0.0)}
    means = {(row[1], row[2]): row[3:5] for row in errors.rows}
    assert means["v3", "all"] == (3, (0.25 + 2.25 + 0.0) / 3)
    assert means["v3", "6+"] == (1, 2.25)
    assert means["uniform", "all"] == (1, 1.0)


def test_an_interval_by_matches_counts_whole_matches() -> None:
    rng = np.random.default_rng(1)
    share = rng.random(80)
    values = [float(rng.random() < p) for p in share for _ in range(50)]
    apart = match_interval(values, list(range(4000)))
    whole = match_interval(values, [k // 50 for k in range(4000)])
    assert whole == match_interval(values, [k // 50 for k in range(4000)])
    (low, high), (lower, higher) = apart, whole
    assert isinstance(low, float)
    assert isinstance(high, float)
    assert isinstance(lower, float)
    assert isinstance(higher, float)
    found = wilson_interval(sum(values), 4000)
    assert (low, high) == pytest.approx((found.low, found.high), abs=0.003)
    means = np.array(values).reshape(80, 50).mean(axis=1)
    assert higher - lower == pytest.approx(2 * 1.96 * means.std() / np.sqrt(80), rel=0.1)
    assert higher - lower > 3 * (high - low)
    assert match_interval([1.0, 0.0], ["a", "a"]) == (None, None)


def test_many_matches_have_a_normal_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    values = (rng.random(2000) < 0.3).astype(float).tolist()
    matches = rng.integers(0, 300, 2000).tolist()
    drawn = match_interval(values, matches)
    monkeypatch.setattr("ludus.analyses.positions.shares.MOST_DRAWN", 100)
    normal = match_interval(values, matches)
    assert normal != drawn
    assert normal == pytest.approx(drawn, abs=0.004)
