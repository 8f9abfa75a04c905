"""Labels are part of what a policy depends on; files from before they counted go on being read.

``tests/golden/old_runs`` holds runs at tic-tac-toe from before 0.1.0: ``ppo`` and ``alphazero`` have specs
whose hash left labels out, ``past`` (past weights are the only opponent) has past opponents without lanes.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from ludus import games
from ludus.cli import __main__ as cli
from ludus.evaluation.weights import network_of
from ludus.flow import GameSpec
from ludus.games import rulebook, spec
from ludus.policies.weights import load_weights
from ludus.presets.errors import ConfigError
from ludus.storage import RunDirectory

RUNS = Path(__file__).resolve().parents[2] / "golden" / "old_runs"
BOARD = spec("tic_tac_toe")


def exchanged(labels: tuple[str, ...]) -> tuple[str, ...]:
    return (labels[1], labels[0], *labels[2:])


def with_labels(where: str) -> GameSpec:
    """Tic-tac-toe with the first two labels of its board or of its moves exchanged."""
    part = (BOARD.observation if where == "observation" else BOARD.heads)[0]
    changed = msgspec.structs.replace(part, labels=exchanged(part.labels))
    return msgspec.structs.replace(BOARD, **{where: (changed,)})


def swapped(text: str) -> str:
    return text.replace("swordman", "?").replace("spearman", "swordman").replace("?", "spearman")


def two_types_exchanged(folder: Path) -> tuple[Path, Path]:
    """The extended rulebook, and the same with the names of two of its types exchanged."""
    text = (Path(games.__file__).parent / "rulebooks" / "extended.toml").read_text(encoding="utf-8")
    one, two = folder / "one.toml", folder / "two.toml"
    one.write_text(text, encoding="utf-8")
    two.write_text(swapped(text), encoding="utf-8")
    return one, two


@pytest.mark.parametrize("where", ["observation", "heads"])
def test_labels_count(where: str) -> None:
    other = with_labels(where)
    assert other.spec_hash != BOARD.spec_hash
    assert other.former_hash == BOARD.former_hash
    meaning = msgspec.structs.replace(BOARD, meaning="another", title="another")
    assert meaning.spec_hash == BOARD.spec_hash


def test_a_rulebook_with_two_types_exchanged_is_another_game(tmp_path: Path) -> None:
    one, two = (spec("rts", {"rulebook": rulebook.read(p)}) for p in two_types_exchanged(tmp_path))
    assert one.former_hash == two.former_hash
    assert one.spec_hash != two.spec_hash


@pytest.mark.parametrize("run", ["ppo", "alphazero"])
def test_weights_from_before_load_by_the_spec_that_they_carry(run: str) -> None:
    (path,) = (RUNS / run).glob("checkpoints/*/weights.safetensors")
    weights = load_weights(path)
    assert weights.meta.spec_hash == BOARD.former_hash != BOARD.spec_hash
    network_of(weights, BOARD)
    for where, names in (("observation", "'own', 'opponent'"), ("heads", "'a3', 'b3'")):
        with pytest.raises(ConfigError, match=f"^old: made for tic_tac_toe with spec .* is {names} here"):
            network_of(weights, with_labels(where), "old")


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize(("run", "steps"), [("ppo", 128), ("alphazero", 400), ("past", 500)])
def test_a_run_from_before_goes_on(
    run: str, steps: int, own: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``own``: this user's run, whose match states are taken back; another user's begins its matches anew."""
    shutil.copytree(RUNS / run, tmp_path / "run")
    at = str(tmp_path / "run")
    if own:
        store = RunDirectory.open(Path(at)).checkpoints
        store.save(store.load_last()[0])  # signed with this user's key
    assert cli.main(["eval", f"{at}@last", "--against", "random", "--matches", "10"]) == 0
    capsys.readouterr()
    assert cli.main(["resume", at, "--run.max-steps", str(steps)]) == 0, capsys.readouterr()
    assert ("begin anew" in "".join(capsys.readouterr())) == (run == "past" or (run == "ppo" and not own))
    checkpoint, problems = RunDirectory.open(Path(at)).checkpoints.load_last()
    assert problems == []
    assert checkpoint.version > int(next(p.name for p in (RUNS / run).glob("checkpoints/0*")))
    assert checkpoint.weights.meta.spec_hash == BOARD.spec_hash


def test_a_run_does_not_go_on_with_other_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = ["--pool.slots", "2", "--pool.groups", "1", "--pool.rollout-length", "2", "--policy.dense", "2"]
    small += ["--policy.hidden", "2", "--evaluation.final-matches", "0", "--run.threads", "1"]
    one, _ = two_types_exchanged(tmp_path)
    train = ["train", "extended", f"--game.params.rulebook={one}", *small]
    at = str(tmp_path / "run")
    assert cli.main([*train, "--run.max-steps", "4", "--run-dir", at, "--quiet"]) == 0, capsys.readouterr()
    config = tmp_path / "run" / "config.toml"
    config.write_text(swapped(config.read_text(encoding="utf-8")), encoding="utf-8")
    capsys.readouterr()
    assert cli.main(["resume", at, "--run.max-steps", "100"]) == 2
    assert "label 2 of cells is 'swordman', 'spearman' here" in capsys.readouterr().err
