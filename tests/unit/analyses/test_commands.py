"""The commands of ``ludus go`` on small runs: lines, records, pages, interruption, refusals."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from ludus.analyses.matches import BLOCK
from ludus.analyses.opening import DrawnOpenings
from ludus.analyses.record import read_record
from ludus.analyses.registry import read_checked
from ludus.cli.__main__ import main
from ludus.cli.progress import Progress
from ludus.evaluation.play import play_matches
from ludus.flow import MatchResult
from ludus.games import replays, typed
from ludus.games.match import Match
from ludus.presets.file import parse_preset
from ludus.storage import RunDirectory, read_weights
from ludus.training.alphazero.components import build_alphazero
from tests.docs.blocks import ALL
from tests.web.live import make_run

from .made_runs import GO, made_run, preset_text, weights_of

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return made_run(tmp_path / "run")


def record(capsys: Capture, *words: str, code: int = 0) -> dict[str, Any]:
    assert main(["go", *words, "--json", "--quiet"]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def refused(capsys: Capture, *words: str) -> str:
    assert main(["go", *words, "--quiet"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    return err


def matches(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [line for line in found["lines"] if "match" in line]


def table(found: dict[str, Any], number: int = 0) -> list[dict[str, Any]]:
    names = [column["name"] for column in found["tables"][number]["columns"]]
    return [dict(zip(names, row, strict=True)) for row in found["tables"][number]["rows"]]


# ---- each command ------------------------------------------------------------------------------------


def test_elo_plays_every_pair_with_its_floors(run: Path, capsys: Capture) -> None:
    found = record(capsys, "elo", str(run), "--visits", "3", "--matches", "2", "--opening", "2")
    assert found["complete"] is True
    assert found["floors"] == ["v0", "uniform"]
    assert Counter((line["a"], line["b"]) for line in matches(found)).most_common()[-1][1] == 2
    assert len(matches(found)) == 2 * 10
    assert found["budget"]["matches"] == 20
    assert (found["game"], found["settings"]["spacings"]) == ("tic_tac_toe", "1 2")
    _, kept = read_checked(run / "analyses" / "elo.json")
    assert [dict(line) for line in kept.lines] == found["lines"]
    assert "<svg" in (run / "analyses" / "elo.html").read_text()


def test_losses_come_from_the_metrics_and_versions_meet_players(run: Path, capsys: Capture) -> None:
    words = (
        "--against",
        "mcts:3",
        "--against",
        "random",
        "--visits",
        "2",
        "--matches",
        "2",
        "--versions",
        "2",
    )
    found = record(capsys, "losses", str(run), *words)
    assert [(row["version"], row["policy"]) for row in table(found, 1)] == [
        (v, 2.0 / v) for v in (1, 2, 3, 4)
    ]
    scores = {(row["against"], row["player"]): row["version"] for row in table(found)}
    players = {"v0": 0, "v1": 1, "v4": 4, "uniform": None}
    assert scores == {(o, name): v for o in ("mcts:3", "random") for name, v in players.items()}


def test_losses_alone_need_no_matches(run: Path, capsys: Capture) -> None:
    found = record(capsys, "losses", str(run))
    assert (found["budget"]["matches"], found["floors"]) == (0, [])
    assert len(table(found, 1)) == 4


def test_puct_meets_its_default(run: Path, capsys: Capture) -> None:
    words = ("--values", "0.5", "--values", "3", "--visits", "4", "--matches", "2")
    found = record(capsys, "puct", f"{run}@2", *words)
    assert [(row["value"], row["is"]) for row in table(found)] == [(0.5, ""), (1.5, "floor"), (3.0, "")]
    assert found["players"]["c_puct = 3"] == f"{run}@2+search:4,plies=0,c_puct=3.0"
    assert table(found)[1]["score"] == 0.5
    assert (run / "analyses" / "puct.html").is_file()


def test_a_virtual_loss_needs_several_leaves(run: Path, capsys: Capture) -> None:
    words = ("--values", "5", "--visits", "8", "--leaves", "4", "--matches", "2")
    found = record(capsys, "virtual-loss", f"{run}@last", *words)
    assert found["players"]["virtual_loss = 5"].endswith("+search:8,plies=0,virtual_loss=5.0,leaves=4")
    assert [row["value"] for row in table(found)] == [1.0, 5.0]


def test_visits_are_counted_by_seat(run: Path, capsys: Capture) -> None:
    words = ("--visits", "2", "--matches", "2", "--versions", "2", "--factor", "3")
    found = record(capsys, "visits", str(run), *words)
    sides = {row["side"] for row in table(found)}
    assert sides == {"crosses, 3 x visits", "noughts, 3 x visits", "crosses, equal", "noughts, equal"}
    assert [row["matches"] for row in table(found)] == [1] * 12
    assert found["players"]["v4, 3 x 2 visits"] == f"{run}@4+search:6,plies=0"


def test_gating_compares_two_runs(tmp_path: Path, capsys: Capture) -> None:
    plain, gated = made_run(tmp_path / "a"), made_run(tmp_path / "b", gate=True)
    RunDirectory.open(gated).add_event("gate", version=1, passed=True, score=3.0, matches=4)
    RunDirectory.open(gated).add_event("gate", version=2, passed=False, score=1.0, matches=4)
    found = record(capsys, "gating", str(gated), str(plain), "--visits", "2", "--matches", "2")
    runs = [(row["run"], row["gate"], row["gates"], row["passed"]) for row in table(found)]
    assert runs == [("without gate", "no", 0, 0), ("with gate", "yes", 2, 1)]
    assert [row["minutes"] for row in table(found)] == [4.0, 4.0]
    pairs = [(row["pairing"], row["is"]) for row in table(found, 1)]
    assert pairs == [
        ("without gate@last against with gate@last", ""),
        ("without gate@last against uniform", "floor"),
        ("with gate@last against uniform", "floor"),
    ]
    assert "without gate: the run is not finished" in found["notes"]


@pytest.mark.slow
def test_gating_trains_a_preset_with_and_without_a_gate(tmp_path: Path, capsys: Capture) -> None:
    preset = tmp_path / "small.toml"
    preset.write_text(preset_text())
    words = (
        "gating",
        str(preset),
        "--positions",
        "300",
        "--visits",
        "2",
        "--matches",
        "2",
        "-o",
        str(tmp_path / "o"),
    )
    found = record(capsys, *words)
    assert [row["gate"] for row in table(found)] == ["no", "yes"]
    assert table(found)[1]["gates"] > 0
    assert all(row["decisions"] >= 300 for row in table(found))
    assert "exists already; --resume continues" in refused(capsys, *words)
    again = record(capsys, *words, "--resume")
    assert again["lines"] == found["lines"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [("elo",), ("visits", "--versions", "2"), ("losses", "--against", "mcts:4")]
)
def test_go_is_analysed(tmp_path: Path, capsys: Capture, words: Sequence[str]) -> None:
    run = made_run(tmp_path / "go5", (1, 2), "go", GO)
    found = record(capsys, words[0], str(run), *words[1:], "--visits", "2", "--matches", "2")
    assert found["params"] == GO
    assert len({line["plies"] for line in matches(found)}) > 1
    if words[0] == "visits":
        assert {row["side"] for row in table(found)} > {"black, 2 x visits", "white, equal"}


@pytest.mark.slow
def nim_run() -> None:
    """Write the game ``nim.py`` of the guide, with copies of its matches, and a run of it."""
    text = next(b.text for b in ALL if b.page.endswith("python_games.md") and "class Nim" in b.text)
    text = text.replace("perfect_information=True,", "perfect_information=True, deterministic=True,")
    method = "    def clone(self):\n        import copy\n        return copy.deepcopy(self)\n\n    def reset("
    Path("nim.py").write_text(text.replace("    def reset(", method, 1))
    make_run(Path("run"), typed("./nim.py"), [3, 7])


def test_a_python_game_is_analysed_once_its_code_is_named(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    nim_run()
    words = ("visits", "run", "--visits", "2", "--matches", "2")
    found = record(capsys, *words, "--game", "./nim.py")
    assert {row["side"] for row in table(found)} > {"seat 0, 2 x visits", "seat 1, equal"}
    assert found["game"] == "nim"


# ---- matches -----------------------------------------------------------------------------------------


def test_openings_come_in_pairs_and_matches_differ(
    run: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    moves: list[list[tuple[int, ...]]] = []

    def recorded(*given: Any) -> list[MatchResult]:  # noqa: ANN401
        spec, params, first, second, settings, hooks = given
        kept = msgspec.structs.replace(settings, record=settings.matches)
        results = play_matches(spec, params, first, second, kept, hooks)
        moves.extend([(d.seat, *d.action) for d in replays.decisions(r.replay)] for r in results)
        return results

    monkeypatch.setattr("ludus.analyses.matches.play_matches", recorded)
    words = ("--values", "3", "--visits", "4", "--matches", "8", "--opening", "3")
    lines = matches(record(capsys, "puct", f"{run}@2", *words))
    assert [line["opening"] for line in lines] == [0, 0, 1, 1, 2, 2, 3, 3] * 2
    assert [line["seat"] for line in lines] == [0, 1] * 8
    openings = [tuple(played[:3]) for played in moves]
    assert openings[::2] == openings[1::2]  # of a pair
    assert openings[:8] == openings[8:]  # of all pairings
    assert len(set(openings)) > 2
    # Equal deterministic players play one match from either seat.
    floor = slice(0, 8) if lines[0]["value"] == 1.5 else slice(8, 16)
    assert moves[floor][::2] == moves[floor][1::2]
    for one, other in zip(lines[floor][::2], lines[floor][1::2], strict=True):
        assert one["points"] == 1.0 - other["points"]


def test_openings_do_not_end_a_match() -> None:
    match = Match("tic_tac_toe")
    for number, cell in enumerate((0, 3, 1, 4)):  # either side may complete a row
        match.act(number % 2, cell)
        match.advance()
    legal = np.array([cell not in (0, 3, 1, 4) for cell in range(9)], np.uint8)
    openings = DrawnOpenings(match.spec, {}, seed=1, plies=9)
    drawn = {openings.move(match.state, legal, number, 4) for number in range(60)}
    assert drawn == {5, 6, 7, 8}
    only = np.array([cell == 2 for cell in range(9)], np.uint8)
    assert openings.move(match.state, only, 0, 4) == 2


def test_version_0_is_made_again_from_the_preset(run: Path, capsys: Capture) -> None:
    found = record(capsys, "visits", str(run), "--visits", "1", "--matches", "2", "--versions", "2")
    (path,) = (run / "analyses").glob("initial-*.safetensors")
    weights = read_weights(path)
    assert weights.meta.version == 0
    components = build_alphazero(parse_preset(preset_text().encode(), "run").preset)
    trained = components.learner.weights().tensors
    components.close()
    assert weights.tensors.keys() == trained.keys()
    assert all(np.array_equal(weights.tensors[name], array) for name, array in trained.items())
    assert found["players"]["v0"].startswith(str(path))


def test_version_0_of_a_snapshot_is_taken_as_it_is(run: Path, capsys: Capture) -> None:
    weights = weights_of(0, "tic_tac_toe", None)
    RunDirectory.open(run).save_snapshot(weights)
    record(capsys, "visits", str(run), "--visits", "1", "--matches", "2", "--versions", "2")
    (path,) = (run / "analyses").glob("initial-*.safetensors")
    taken = read_weights(path).tensors
    assert all(np.array_equal(taken[name], array) for name, array in weights.tensors.items())


# ---- interruption ------------------------------------------------------------------------------------


def interrupted_after(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Ctrl-C arrive after ``count`` matches."""
    add: Callable[[Progress, Sequence[MatchResult]], None] = Progress.add

    def counted(self: Progress, ended: Sequence[MatchResult]) -> None:
        add(self, ended)
        if self.over >= count and not self.stopped:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Progress, "add", counted)


def interrupted_after_units(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Ctrl-C arrive after ``count`` units that play no matches."""
    add: Callable[[Progress, int], None] = Progress.count
    over = 0

    def counted(self: Progress, things: int) -> None:
        nonlocal over
        add(self, things)
        over += 1
        if over == count:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Progress, "count", counted)


@pytest.mark.parametrize("jobs", ["1", pytest.param("2", marks=pytest.mark.slow)])
def test_an_interrupted_analysis_continues_to_the_same_lines(
    run: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, jobs: str
) -> None:
    words = ("elo", str(run), "--visits", "2", "--matches", "2", "--versions", "2", "--jobs", jobs)
    undisturbed = record(capsys, *words, "-o", str(tmp_path / "whole"))
    interrupted_after(3, monkeypatch)
    assert main(["go", *words]) == 130
    out, err = capsys.readouterr()
    assert "--resume continues" in err
    assert "Every pair" in out
    monkeypatch.undo()
    part = read_record(run / "analyses" / "elo.json")
    assert not part.complete
    assert 0 < len(part.lines) < len(undisturbed["lines"])
    assert "Interrupted" in (run / "analyses" / "elo.html").read_text()
    whole = record(capsys, *words, "--resume")
    assert whole["complete"]
    assert whole["lines"] == undisturbed["lines"]
    assert whole["tables"] == undisturbed["tables"]


def test_a_record_is_not_overwritten(run: Path, capsys: Capture) -> None:
    words = ("puct", f"{run}@2", "--values", "3", "--visits", "2", "--matches", "2")
    record(capsys, *words)
    before = (run / "analyses" / "puct.json").read_bytes()
    assert "there is a record already; --resume" in refused(capsys, *words)
    other = refused(capsys, *words, "--seed", "2", "--resume")
    assert "seed 1, asked for 2" in other
    assert "setting matches 2, asked for 4" in refused(capsys, *words[:-1], "4", "--resume")
    path = run / "analyses" / "puct.json"
    assert path.read_bytes() == before
    path.write_bytes(before.replace(b'"points": 1.0', b'"points": 0.0', 1))
    assert "do not follow from the lines" in refused(capsys, *words, "--resume")


# ---- show and refusals -------------------------------------------------------------------------------


def test_show_computes_again_and_refuses_forgeries(run: Path, tmp_path: Path, capsys: Capture) -> None:
    words = ("puct", f"{run}@2", "--values", "3", "--visits", "2", "--matches", "2")
    made = record(capsys, *words)
    path = run / "analyses" / "puct.json"
    page = tmp_path / "page.html"
    assert main(["go", "show", str(path), "-o", str(page)]) == 0
    assert "c_puct against 1.5" in capsys.readouterr().out
    assert page.read_text() == path.with_suffix(".html").read_text()
    assert main(["go", "show", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == made
    forged = json.loads(path.read_text())
    forged["tables"][0]["rows"][0][2] += 1
    (tmp_path / "forged.json").write_text(json.dumps(forged))
    assert main(["go", "show", str(tmp_path / "forged.json"), "-o", str(tmp_path / "no.html")]) == 2
    assert "do not follow from the lines" in capsys.readouterr().err
    assert not (tmp_path / "no.html").exists()
    assert main(["go", "show", str(tmp_path)]) == 2
    assert main(["go", "show", str(path), "-o", str(path)]) == 2


def test_wrong_words_are_refused_before_a_match(run: Path, tmp_path: Path, capsys: Capture) -> None:
    one = made_run(tmp_path / "one", (1,))
    cases = {
        ("elo", str(tmp_path)): "not a run",
        ("elo", str(one)): "expected at least two",
        ("elo", str(run), "--matches", "3"): "expected an even number",
        ("elo", str(run), "--spacings", "1", "--spacings", "1"): "twice",
        ("puct", str(run)): "did you mean",
        ("puct", f"{run}@2+search:5"): "expected weights without a search",
        ("puct", "random"): "expected weights",
        ("puct", f"{run}@7"): "no version",
        ("puct", f"{run}@2", "--visits", "1"): "expected 2 or more",
        ("virtual-loss", f"{run}@2", "--visits", "4"): "expected 8",
        ("losses", str(run), "--against", "mtcs:5"): "mcts",
        ("losses", str(run), "--against", "v1"): "name of a version",
        ("visits", str(run), "--factor", "1"): "factor",
        ("gating", str(run), str(run)): "one run with algorithm.gate",
        ("gating", "tic_tac_toe-alphazero"): "expected the training time",
        (
            "gating",
            "tic_tac_toe",
            "--minutes",
            "1",
            "-o",
            str(tmp_path / "g"),
        ): "expected a preset with algorithm.gate",
    }
    for words, expected in cases.items():
        assert expected in refused(capsys, *words), words
    assert not (run / "analyses" / "elo.json").exists()


def test_games_that_cannot_be_searched_are_refused(tmp_path: Path, capsys: Capture) -> None:
    from ludus.analyses.subject import analysed_game
    from ludus.presets.errors import ConfigError
    from tests.unit.evaluation.lone_files import lone_file

    for game, expected in (("kuhn_poker", "does not allow"), ("minirts", "does not allow")):
        with pytest.raises(ConfigError, match=expected):
            analysed_game([str(lone_file(tmp_path / f"{game}.safetensors", game))])


def test_blocks_hold_an_even_number_of_matches() -> None:
    assert BLOCK % 2 == 0
