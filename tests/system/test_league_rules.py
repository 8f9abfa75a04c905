"""Rules of one's own by the command line: the guide's rule, kills and resumes, and files that are hostile."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from ludus.cli.__main__ import main
from ludus.games import names
from ludus.league.events import Answered, Frozen, Ordered, Ruled, from_row
from ludus.presets import rule_file
from ludus.storage.journal import Journal
from tests.unit.training.league.test_league_runs import assert_equal_runs, journal_rows, killed_run, written

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "pfsp.py"

LEAGUE = """
[game]
name = "matrix"
[pool]
slots = 16
rollout_length = 8
threads = 1
[policy]
dense = []
hidden = [8]
[algorithm]
learning_rate = 1e-2
minibatches = 1
[evaluation]
every_steps = 0
matches = 0
final_matches = 0
[run]
max_steps = 1500
lag = "sync"
threads = 1
checkpoint_every_minutes = 0.001
precision = "float32"
[league]
rating_share = 0.1
[[league.players]]
name = "main"
rule = "./pfsp.py:Pfsp"
params = {period = 300}
[[league.players]]
name = "exploiter"
role = "main_exploiter"
freeze = {rule = "beats", against = ["mains"], min_steps = 300, max_steps = 600}
"""

#: A rule that leaves a mark where its code runs, and fails after some steps.
FAILS = """
from pathlib import Path
Path("ran").touch()

class Pfsp:
    def __init__(self, period=0): pass
    def meet(self, view, random): return {"exploiter": 1.0}
    def freeze(self, view, random): return 1 / max(0, 500 - view.me.steps) < 0
    def origin(self, view, random): return "itself"
"""


#: A rule that draws by chance and goes back to its first weights.
DRAWS = """
class Pfsp:
    def meet(self, view, random):
        {mistake}
        return {{view.me.name: 1.0, "exploiter": random.uniform()}}
    def freeze(self, view, random): return view.me.steps_since > 200
    def origin(self, view, random): return random.pick(["seed", *view.frozen()])
"""


def forget(patch: pytest.MonkeyPatch) -> None:
    """Act as a process of another user's: nothing was named, nothing was loaded."""
    patch.setattr(names, "_typed", set())
    patch.setattr(rule_file, "_loaded", {})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, with the guide's rule and a league of two."""
    monkeypatch.chdir(tmp_path)
    forget(monkeypatch)
    shutil.copy(EXAMPLE, "pfsp.py")
    Path("league.toml").write_text(LEAGUE)
    return tmp_path


def ended(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Return exit code, stdout and stderr of one command."""
    capsys.readouterr()
    code = main(words)
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def trained(run: str, *more: str) -> None:
    assert main(["train", "league.toml", "--run-dir", run, "--quiet", *more]) == 0


def test_the_rule_of_the_guide_trains_and_its_journal_needs_no_code(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    trained("run")
    with Journal.read(folder / "run" / "league.sqlite") as journal:
        events = [from_row(row) for row in journal.rows()]
    (ruled,) = (event for event in events if isinstance(event, Ruled))
    assert (ruled.member, ruled.rule) == ("main", "pfsp.py:Pfsp")
    orders = [event for event in events if isinstance(event, Ordered) and event.member == "main"]
    assert all(set(event.weights) >= {"main", "main:0"} for event in orders)
    assert {event.answer for event in events if isinstance(event, Answered)} == {"yes", "no", "itself"}
    assert "rule" in {event.reason for event in events if isinstance(event, Frozen)}
    code, out, _ = ended(capsys, "league", "audit", "run", "--json")
    assert code == 0
    assert json.loads(out)["decisions"] > len(orders)
    source = Path("pfsp.py").read_text()
    Path("pfsp.py").write_text(source.replace(">= self.period", ">= 2 * self.period"))
    code, out, err = ended(capsys, "league", "audit", "run")
    assert code == 3
    assert "yes" in out
    assert "were made under another file of the rule" in err
    forget(monkeypatch)
    Path("pfsp.py").unlink()
    code, out, _ = ended(capsys, "league", "status", "run", "--json")
    assert code == 0
    member = json.loads(out)["members"][0]
    assert (member["rule"], member["rule_sha256"]) == ("pfsp.py:Pfsp", ruled.sha256)
    assert member["received_per_s"] > 0
    assert member["consumed_per_s"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("lag", ["sync", "pipelined"])
def test_a_killed_league_with_a_rule_ends_as_one_that_never_was(folder: Path, lag: str) -> None:
    Path("league.toml").write_text(LEAGUE.replace('"sync"', f'"{lag}"'))
    trained("whole")
    rows = written(folder / "whole")
    assert killed_run(folder / "league.toml", folder / "killed", 3, seed=len(lag), rows=rows) == 3
    assert_equal_runs(folder / "whole", folder / "killed")
    assert "answered" in {row[1] for row in journal_rows(folder / "killed")}


def test_a_rule_in_a_stored_file_runs_only_if_the_user_names_it(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    trained("run", "--run.max-steps", "500")
    shutil.copytree("run", "theirs")  # as from another person: this user did not start it there
    Path("pfsp.py").write_text(FAILS)
    forget(monkeypatch)
    code, _, err = ended(capsys, "resume", "theirs", "--run.max-steps", "800", "--quiet")
    assert code == 2
    assert "league.players.0.rule = " in err
    assert "this user did not start the run here" in err
    assert "--rule FILE.py:CLASS" in err
    code, _, err = ended(capsys, "train", "theirs@main", "--quiet", "--run-dir", "new")
    assert code == 2
    assert "a name read from a file loads no Python file" in err
    assert not Path("ran").exists()
    assert not Path("new").exists()
    Path("mine").mkdir()
    shutil.copy(EXAMPLE, "mine/moved.py")
    words = ("resume", "theirs", "--run.max-steps", "800", "--quiet")
    code, _, err = ended(capsys, *words, "--rule", "mine/moved.py:Pfps")
    assert code == 2
    assert "no class Pfsp, which league.players.0.rule of theirs needs" in err
    code, _, err = ended(capsys, *words, "--rule", "mine/moved.py:Pfsp")
    assert (code, err) == (0, "")
    assert not Path("ran").exists()


def test_a_record_counts_for_the_rule_as_it_was_configured(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another rule, or other parameters of the user's own rule, in a run that someone else has edited."""
    trained("run", "--run.max-steps", "300")
    config = Path("run/config.toml")
    text = config.read_text()
    Path("other.py").write_text(FAILS)
    words = ("resume", "run", "--run.max-steps", "600", "--quiet")
    for old, new in (("pfsp.py:Pfsp", "other.py:Pfsp"), ("period = 300", "period = 3")):
        assert old in text
        forget(monkeypatch)
        config.write_text(text.replace(old, new))
        code, _, err = ended(capsys, *words)
        assert code == 2
        assert "this user did not start the run here" in err
    config.write_text(text)
    forget(monkeypatch)
    assert ended(capsys, *words)[0] == 0
    assert not Path("ran").exists()


def test_a_rule_that_fails_ends_a_run_that_is_saved_and_can_be_resumed(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("pfsp.py").write_text(FAILS)
    code, out, err = ended(capsys, "train", "league.toml", "--run-dir", "run", "--quiet", "--json")
    assert code == 2
    assert "league rule pfsp.py:Pfsp: freeze of main failed in line 8: ZeroDivisionError" in err
    assert "the run was saved; once the rule is corrected: ludus resume run" in err
    assert "ZeroDivisionError" in out  # the document of the error
    steps = [e for e in _events("run") if e["event"] == "failed"]
    assert len(steps) == 1
    shutil.copy(EXAMPLE, "pfsp.py")
    forget(monkeypatch)
    code, _, err = ended(capsys, "resume", "run")
    assert code == 0
    assert "league.players.0.rule" in err
    assert "pfsp.py has changed since the run was trained last" in err
    with Journal.read(folder / "run" / "league.sqlite") as journal:
        ruled = [event for row in journal.rows() if isinstance(event := from_row(row), Ruled)]
    assert len({event.sha256 for event in ruled}) == 2


def test_a_corrected_rule_continues_as_if_it_had_never_failed(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opponents could not be chosen in the middle of a run; chance included, the same ones are chosen now."""
    text = LEAGUE.replace("params = {period = 300}\n", "").replace('"sync"', '"pipelined"')
    Path("league.toml").write_text(text)
    Path("pfsp.py").write_text(DRAWS.format(mistake="1 / max(0, 450 - view.me.steps)"))
    assert ended(capsys, "train", "league.toml", "--run-dir", "failed", "--quiet")[0] == 2
    Path("pfsp.py").write_text(DRAWS.format(mistake=""))
    forget(monkeypatch)
    assert ended(capsys, "resume", "failed", "--quiet")[0] == 0
    trained("whole")
    failed, whole = (
        [row[1:] for row in journal_rows(folder / run) if row[1] != "ruled"] for run in ("failed", "whole")
    )
    assert failed == whole
    assert {"reset", "answered"} <= {row[0] for row in whole}


def _events(run: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in Path(run, "events.jsonl").read_text().splitlines()]
