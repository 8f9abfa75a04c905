"""`ludus eval` and `ludus rate` as a user meets them: progress, Ctrl-C, endless games, stored results."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from ludus.games import replays
from tests.system.test_command_line import COMMAND, ENVIRONMENT, PRESET, ludus, read_until

STAIRS = '''\
"""A walk that is over after `length` steps; 0: never. `nap` makes a step slow."""

import time

from ludus.flow import HeadSpec
from ludus.games.python_game import declare, tensor


class Stairs:
    truncated = False

    def __init__(self, length: int = 0, nap: float = 0.0, declared: int = 1 << 30) -> None:
        self.length, self.nap = length, nap
        self.spec = declare(
            "stairs", observation=[tensor("x", (1,))], heads=[HeadSpec("move", 2)], max_ticks=declared
        )

    def reset(self, seed):
        self.tick = 0

    def to_act(self):
        return [0]

    def step(self, actions):
        time.sleep(self.nap)
        self.tick += 1
        return 0 < self.length <= self.tick

    def rewards(self, out):
        out[...] = 1.0

    def outcome(self, out):
        out[...] = 0.0

    def observe(self, seat, out):
        out["x"][...] = 0.0


GAME = Stairs
'''
SAID = (
    "raise the limit with --max-ticks N (ludus eval, rate) or --evaluation.max-ticks N (ludus train, resume)"
)


@pytest.fixture
def stairs(tmp_path: Path) -> Path:
    """Return a folder with a game of one seat in it."""
    (tmp_path / "stairs.py").write_text(STAIRS)
    return tmp_path


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a finished run ``runs/r``."""
    folder = tmp_path_factory.mktemp("evaluations")
    (folder / "small.toml").write_text(PRESET.replace("every_steps = 0", "every_steps = 500"))
    done = ludus("train", "small.toml", "--run-dir", "runs/r", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


# ---- matches that never end ----------------------------------------------------------------------------


@pytest.mark.slow
def test_an_endless_game_ends_an_evaluation_with_a_hint(stairs: Path) -> None:
    done = ludus("eval", "random", "--game", "./stairs.py", "--matches", "2", cwd=stairs)
    assert (done.returncode, done.stdout) == (1, "")
    line = done.stderr.splitlines()[-1]
    assert line.startswith(
        "stairs: matches are longer than 20,000 ticks (0 of 2 were over), so this evaluation"
    )
    assert SAID in line


@pytest.mark.slow
def test_the_limit_is_the_option_or_the_games_own(stairs: Path) -> None:
    words = ["eval", "random", "--game", "./stairs.py", "--matches", "3"]
    long = [*words, "--param", "length=400"]
    assert ludus(*long, "--max-ticks", "400", cwd=stairs).returncode == 0
    assert ludus(*long, "--max-ticks", "300", cwd=stairs).returncode == 1
    assert ludus(*long, "--param", "declared=400", cwd=stairs).returncode == 0
    done = ludus(*words, "--param", "declared=50", cwd=stairs)  # the pool cuts a match at its declared limit
    assert done.returncode == 0
    assert "50 ticks" in done.stdout


@pytest.mark.slow
def test_games_check_reports_a_match_that_never_ends(stairs: Path) -> None:
    done = ludus("games", "check", "./stairs.py", "--matches", "2", cwd=stairs)
    assert done.returncode == 3
    (line,) = [x for x in done.stdout.splitlines() if " ends " in x]
    assert line.startswith("FAILED  ends")
    assert "was not over after 20000 ticks; the spec declares no max_ticks" in line
    words = ["games", "check", "./stairs.py", "--matches", "2", "--param", "length=5000"]
    assert ludus(*words, cwd=stairs).returncode == 0
    broken = ludus(*words, "--param", "declared=4000", "--json", cwd=stairs)
    assert broken.returncode == 3
    (ends,) = [f for f in json.loads(broken.stdout)["findings"] if f["check"] == "ends"]
    assert "was not over after 4000 ticks; the spec declares at most 4000" in ends["detail"]


@pytest.mark.slow
def test_a_run_whose_evaluation_never_ends_can_be_resumed_with_a_higher_limit(stairs: Path) -> None:
    preset = PRESET.replace("tic_tac_toe", "./stairs.py").replace("= 1000", "= 200")
    (stairs / "p.toml").write_text(preset.replace('[[opponents]]\nname = "random"\n', ""))
    words = ["--game.params.length", "40", "--evaluation.max-ticks", "20"]
    done = ludus("train", "p.toml", "--run-dir", "run", *words, cwd=stairs)
    assert done.returncode == 1
    assert "stairs: matches are longer than 20 ticks" in done.stderr
    again = ludus("resume", "run", "--evaluation.max-ticks", "40", "--json", cwd=stairs)
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["final"][0]["mean_ticks"] == 40


# ---- Ctrl-C and progress -------------------------------------------------------------------------------


def interrupted(words: list[str], folder: Path) -> tuple[int, str, str]:
    """Press Ctrl-C once matches are over; return stderr from the line about it on."""
    process = subprocess.Popen(
        [*COMMAND, *words],
        cwd=folder,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        first = read_until(process.stderr, " left")  # only where some are over
        process.send_signal(signal.SIGINT)
        out, err = process.stdout.read(), process.stderr.read()
        process.wait(timeout=60)
    finally:
        process.kill()
    assert "Traceback" not in first + err
    return process.returncode, out, first.splitlines()[-1] + "\n" + err


def test_ctrl_c_ends_an_evaluation_with_the_matches_that_are_over(stairs: Path) -> None:
    words = ["eval", "random", "--game", "./stairs.py", "--param", "length=4", "--param", "nap=0.002"]
    code, out, err = interrupted([*words, "--matches", "100000", "--json"], stairs)
    assert code == 130, err
    result = json.loads(out)
    assert result["interrupted"] is True
    assert 0 < result["matches"] < 100000
    assert result["mean_return"] == 4.0
    assert " of 100,000 matches, " in err.splitlines()[0]
    assert "left" in err.splitlines()[0]
    assert err.splitlines()[-1].startswith(f"interrupted: {result['matches']} of 100000 matches were over")


@pytest.mark.slow
def test_ctrl_c_ends_a_tournament_with_the_matches_that_are_over(trained: Path) -> None:
    words = ["rate", "runs/r@best", "random", "mcts:30", "--matches", "10000000", "--game", "tic_tac_toe"]
    code, out, err = interrupted([*words, "--json"], trained)
    assert code == 130, err
    table = json.loads(out)
    assert table["interrupted"] is True
    met = table["matches"]
    assert 0 < met[0][1] < 10000000
    assert met[0][2] == met[1][2] == 0
    assert "interrupted: " in err.splitlines()[-1]
    last = (trained / "runs" / "r" / "results.jsonl").read_text().splitlines()[-1]
    row = json.loads(last)
    assert (row["kind"], row["interrupted"], row["matches"]) == ("rate", True, met)


# ---- results and names ---------------------------------------------------------------------------------


def test_results_are_kept_in_the_run_and_weights_have_one_name(trained: Path) -> None:
    run = trained / "runs" / "r"
    before = (run / "results.jsonl").read_text().splitlines() if (run / "results.jsonl").exists() else []
    words = ["eval", "runs/r@best", "--against", "runs/r@last+search:4", "--matches", "4", "--json"]
    done = ludus(*words, "--record", "kept", cwd=trained)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    best = json.loads((run / "checkpoints" / "best.json").read_text())["version"]
    last = json.loads((run / "checkpoints" / "last.json").read_text())["version"]
    assert (result["player"], result["against"]) == (f"r@{best}", f"r@{last}+search:4")
    info = replays.info((trained / result["replays"][0]).read_bytes())
    assert sorted(info.players) == sorted([f"r@{best}", f"r@{last}+search:4"])
    rows = [json.loads(line) for line in (run / "results.jsonl").read_text().splitlines()]
    assert len(rows) == len(before) + 1  # once, though both players are of this run
    row = rows[-1]
    assert (row["kind"], row["player"], row["wins"]) == ("eval", f"r@{best}", result["wins"])
    assert row["command"][1:] == [*words, "--record", "kept"]
    matches = [json.loads(line) for line in (run / "matches.jsonl").read_text().splitlines()]
    assert matches
    for match in matches:
        rated = "uniform" if match["evaluation"] == "uniform" else f"r@{match['version']}"
        assert sorted(match["players"]) == sorted([rated, "random"])
    final = sorted((run / "replays").glob("*.ludus"))[0]
    assert f"r@{best}" in replays.info(final.read_bytes()).players
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    evaluations = [r for r in rows if r["kind"] == "evaluation"]
    assert evaluations
    assert all(r["results"][0]["player"] == f"r@{r['version']}" for r in evaluations)
    again = ludus("rate", "runs/r@all", "random", "--versions", "2", "--matches", "2", "--json", cwd=trained)
    names = [s["player"] for s in json.loads(again.stdout)["standings"]]
    assert f"r@{last}" in names
    assert names[-1] == "random"


@pytest.mark.slow
def test_a_run_records_its_machine_and_its_report_links_a_plot(trained: Path) -> None:
    run = trained / "runs" / "r"
    info = json.loads((run / "run.json").read_text())
    games = json.loads(ludus("signature", "--json", cwd=trained).stdout)["games"]
    assert info["signature"] == games["tic_tac_toe"]
    doctor = json.loads(ludus("doctor", "--json", cwd=trained).stdout)
    assert info["host"]["processor"] == doctor["machine"]["processor"]
    report = (run / "report.md").read_text()
    assert "<svg" not in report
    assert "![Win rate over steps](report.svg)" in report
    assert (run / "report.svg").read_text().startswith("<svg xmlns=")


def test_one_seat_has_no_win_rate_where_nothing_is_won(stairs: Path) -> None:
    words = ["eval", "random", "--game", "./stairs.py", "--param", "length=3", "--matches", "4", "--json"]
    result = json.loads(ludus(*words, cwd=stairs).stdout)
    assert result["mean_return"] == 3.0
    assert not {"win_rate", "ci_low", "ci_high", "wins", "draws", "losses", "score"} & set(result)


@pytest.mark.parametrize(
    "words", [["eval", "runs/r"], ["eval", "random", "--against", "runs/r"], ["gtp", "runs/r"]]
)
def test_a_run_without_its_version_is_explained(trained: Path, words: list[str]) -> None:
    done = ludus(*words, cwd=trained)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "runs/r: a run, not a player (did you mean runs/r@best?); also RUN@last, RUN@VERSION\n"
    )
