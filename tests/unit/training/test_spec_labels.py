"""Labels of tensors and heads are part of the spec hash: weights fit no game with other labels."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from ludus import games
from ludus.cli import __main__ as cli
from ludus.evaluation.weights import check_spec, network_of
from ludus.flow import GameSpec, Weights, WeightsMeta
from ludus.flow.spec_difference import interface_difference
from ludus.flow.weights import Provenance
from ludus.games import rulebook, spec
from ludus.policies.config import EncoderConfig
from ludus.policies.factory import build_network
from ludus.presets.errors import ConfigError

BOARD = spec("tic_tac_toe")


def exchanged(labels: tuple[str, ...]) -> tuple[str, ...]:
    return (labels[1], labels[0], *labels[2:])


def with_labels(where: str) -> GameSpec:
    """Return tic-tac-toe with the first two labels of its board or of its moves exchanged."""
    part = (BOARD.observation if where == "observation" else BOARD.heads)[0]
    changed = msgspec.structs.replace(part, labels=exchanged(part.labels))
    return msgspec.structs.replace(BOARD, **{where: (changed,)})


def small_weights(spec: GameSpec) -> Weights:
    network = build_network(EncoderConfig(hidden=(2,)), spec, 1)
    text = msgspec.json.encode(spec).decode()
    meta = WeightsMeta(1, spec.spec_hash, network.architecture, text, spec.name, 0, 1)
    return Weights(meta, {name: tensor.numpy() for name, tensor in network.state_dict().items()})


def swapped(text: str) -> str:
    return text.replace("swordman", "?").replace("spearman", "swordman").replace("?", "spearman")


def two_types_exchanged(folder: Path) -> tuple[Path, Path]:
    """Return the extended rulebook, and one with the names of two of its types exchanged."""
    text = (Path(games.__file__).parent / "rulebooks" / "extended.toml").read_text(encoding="utf-8")
    one, two = folder / "one.toml", folder / "two.toml"
    one.write_text(text, encoding="utf-8")
    two.write_text(swapped(text), encoding="utf-8")
    return one, two


@pytest.mark.parametrize("where", ["observation", "heads"])
def test_labels_count(where: str) -> None:
    other = with_labels(where)
    assert other.spec_hash != BOARD.spec_hash
    meaning = msgspec.structs.replace(BOARD, meaning="another", title="another")
    assert meaning.spec_hash == BOARD.spec_hash


def test_a_rulebook_with_two_types_exchanged_is_another_game(tmp_path: Path) -> None:
    one, two = (spec("rts", {"rulebook": rulebook.read(p)}) for p in two_types_exchanged(tmp_path))
    found = interface_difference(one, two)
    assert found is not None
    assert found.place.startswith("label ")
    assert one.spec_hash != two.spec_hash


@pytest.mark.parametrize(("where", "names"), [("observation", "'own', 'opponent'"), ("heads", "'a3', 'b3'")])
def test_weights_are_refused_for_other_labels_with_the_first_that_differs(where: str, names: str) -> None:
    weights = small_weights(BOARD)
    network_of(weights, BOARD)
    with pytest.raises(
        ConfigError,
        match=f"^mine: made for tic_tac_toe with other rules: .* is {names} here; .*ludus surgery",
    ):
        network_of(weights, with_labels(where), "mine")


def test_another_version_of_the_rules_names_the_command_that_converts(tmp_path: Path) -> None:
    other = msgspec.structs.replace(BOARD, version=BOARD.version + 1)
    weights, file = small_weights(BOARD), str(tmp_path / "old one.safetensors")
    with pytest.raises(
        ConfigError, match=r"made for version \d of the rules of tic_tac_toe, this is version \d;"
    ):
        network_of(weights, other, "mine")
    with pytest.raises(ConfigError, match=r"surgery WEIGHTS --to PRESET -o NEW\.safetensors$"):
        network_of(weights, other, "mine")
    with pytest.raises(ConfigError, match=f"ludus surgery '{file}' --to PRESET -o NEW.safetensors$"):
        check_spec(weights.meta, other, file)
    meta = msgspec.structs.replace(weights.meta, provenance=Provenance(preset="[game]"))
    with pytest.raises(ConfigError, match=f"ludus surgery '{file}' -o NEW.safetensors$"):
        check_spec(meta, other, file)


def test_a_run_is_not_resumed_with_other_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = ["--pool.slots", "2", "--pool.groups", "1", "--pool.rollout-length", "2", "--policy.dense", "2"]
    small += ["--policy.hidden", "2", "--evaluation.final-matches", "0", "--run.threads", "1"]
    small += ["--evaluation.matches", "1"]
    one, _ = two_types_exchanged(tmp_path)
    train = ["train", "extended", f"--game.params.rulebook={one}", *small]
    at = str(tmp_path / "run")
    assert cli.main([*train, "--run.max-steps", "4", "--run-dir", at, "--quiet"]) == 0, capsys.readouterr()
    config = tmp_path / "run" / "config.toml"
    config.write_text(swapped(config.read_text(encoding="utf-8")), encoding="utf-8")
    capsys.readouterr()
    assert cli.main(["resume", at, "--run.max-steps", "100"]) == 2
    assert "label 2 of cells is 'swordman', 'spearman' here" in capsys.readouterr().err
