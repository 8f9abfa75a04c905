"""A weights file without its run: the parameters of its game, continuing from it, hostile metadata."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import numpy as np
import pytest

import ludus
from ludus.cli.__main__ import main
from ludus.evaluation.evaluate import evaluate
from ludus.evaluation.players import game_of_player
from ludus.evaluation.settings import MatchSettings
from ludus.evaluation.weights import load_network
from ludus.flow import Weights
from ludus.flow.weights import MAX_TEXT, Provenance
from ludus.games import spec
from ludus.gtp.resolve import resolve_player as go_player
from ludus.policies.weights import WeightsError, load_meta, load_weights, save_weights
from ludus.presets.errors import ConfigError
from ludus.presets.file import PresetError
from ludus.presets.weights_preset import load_settings, settings_of
from ludus.storage import CorruptFile, read_weights
from ludus.web.thoughts.resolve import mind_of

from .lone_files import halved, lone_file, weights_of

SIZE_5 = {"size": "5"}
PRESET = '[game]\nname = "{game}"\n[policy]\nhidden = [4]\n[algorithm]\nname = "appo"\n'


@pytest.fixture
def go5(tmp_path: Path) -> Path:
    return lone_file(tmp_path / "mine.safetensors", "go", SIZE_5)


def test_a_lone_file_plays_on_the_board_that_it_was_trained_on(go5: Path) -> None:
    assert game_of_player(str(go5)) == ("go", SIZE_5)
    result = evaluate(str(go5), "random", MatchSettings(matches=2))
    assert result.params == SIZE_5
    assert result.mean_ticks <= 200  # far fewer moves than on 9x9


def test_every_surface_knows_the_parameters(go5: Path) -> None:
    assert go_player(str(go5), {}).needs["size"] == "5"
    assert go_player(f"{go5}+search:2", {}).needs["size"] == "5"
    rules = spec("go", SIZE_5)
    assert mind_of(str(go5), rules, SIZE_5).name == str(go5)
    policy = ludus.load_policy(str(go5), game="go")
    assert policy.spec.spec_hash == rules.spec_hash


def test_a_file_without_provenance_still_loads(tmp_path: Path) -> None:
    path = tmp_path / "old.safetensors"
    save_weights(weights_of("go"), path)
    assert game_of_player(str(path)) == ("go", {})
    assert load_weights(path).meta.provenance is msgspec.UNSET


def test_the_file_of_a_run_wins_over_its_configuration(tmp_path: Path) -> None:
    folder = tmp_path / "run" / "checkpoints" / "000000003"
    folder.mkdir(parents=True)
    (tmp_path / "run" / "config.toml").write_text('[game]\nname = "go"\n[game.params]\nsize = 7\n')
    old = folder / "weights.safetensors"
    save_weights(weights_of("go", SIZE_5), old)
    assert game_of_player(str(old)) == ("go", {"size": "7"})
    lone_file(old, "go", SIZE_5)
    assert game_of_player(str(old)) == ("go", SIZE_5)


def test_a_link_to_a_file_is_read_and_a_link_to_nothing_is_not(go5: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.safetensors"
    link.symlink_to(go5)
    assert game_of_player(str(link)) == ("go", SIZE_5)
    go5.unlink()
    assert main(["eval", str(link), "--against", "random", "--quiet"]) == 2


def test_half_precision_is_widened_by_both_readers(tmp_path: Path) -> None:
    weights, path = weights_of("tic_tac_toe"), tmp_path / "half.safetensors"
    save_weights(halved(weights), path)
    for read in (load_weights(path), read_weights(path)):
        assert read.tensors.keys() == weights.tensors.keys()
        for name, tensor in read.tensors.items():
            rounded = weights.tensors[name].astype(np.float16).astype(np.float32)
            assert tensor.dtype == weights.tensors[name].dtype
            assert np.array_equal(tensor, rounded)
    assert load_network(str(path), spec("tic_tac_toe")).network.spec == spec("tic_tac_toe")


def test_half_precision_of_numbers_that_are_not_finite_is_refused(tmp_path: Path) -> None:
    weights, path = weights_of("tic_tac_toe"), tmp_path / "half.safetensors"
    name = next(iter(weights.tensors))
    weights.tensors[name] = np.full_like(weights.tensors[name], 1e6)  # infinite in float16
    with np.errstate(over="ignore"):
        save_weights(halved(weights), path)
    with pytest.raises(WeightsError, match="not finite"):
        load_weights(path)
    with pytest.raises(CorruptFile, match="not finite"):
        read_weights(path)


@pytest.mark.parametrize(
    "params",
    [
        {f"p{i}": "1" for i in range(300)},
        {"size": "5" * (MAX_TEXT + 1)},
        {"s" * 200: "5"},
    ],
)
def test_metadata_out_of_bounds_is_refused(tmp_path: Path, params: dict[str, str]) -> None:
    path = tmp_path / "huge.safetensors"
    save_weights(weights_of("go", provenance=Provenance(params=params)), path)
    with pytest.raises(WeightsError, match="header"):
        load_meta(path)
    with pytest.raises(CorruptFile, match="metadata"):
        read_weights(path)


@pytest.mark.parametrize("params", [{"size": "99999"}, {"size": "x" * 5000}, {"\x1b[2J": "1"}, {"sice": "5"}])
def test_parameters_are_checked_as_those_of_a_preset(
    tmp_path: Path, params: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "wrong.safetensors"
    save_weights(weights_of("go", provenance=Provenance(params=params)), path)
    assert main(["eval", str(path), "--against", "random", "--matches", "2", "--quiet"]) == 2
    said = capsys.readouterr().err
    assert "\x1b" not in said
    assert len(said) < 2000


def test_a_file_names_no_code(tmp_path: Path) -> None:
    marker = tmp_path / "loaded"
    code = tmp_path / "evil.py"
    code.write_text(f"open({str(marker)!r}, 'w').close()\n")
    path = tmp_path / "evil.safetensors"
    weights = weights_of("tic_tac_toe")
    named = weights.meta.spec.replace('"name":"tic_tac_toe"', f'"name":"{code}"', 1)
    about = Provenance(preset=PRESET.format(game=code))
    meta = msgspec.structs.replace(weights.meta, game=str(code), spec=named, provenance=about)
    save_weights(Weights(meta, weights.tensors), path)
    with pytest.raises(ConfigError, match="neither a built-in nor an installed game"):
        evaluate(str(path), "random", MatchSettings(matches=2))
    assert main(["train", str(path), "--run.max-steps", "10", "--run-dir", str(tmp_path / "run")]) == 2
    assert not marker.exists()
    assert not (tmp_path / "run").exists()


def test_a_file_reads_no_rulebook(tmp_path: Path) -> None:
    (tmp_path / "secret.toml").write_text("[units]\n")
    text = PRESET.format(game="extended") + f'[game.params]\nrulebook = "{tmp_path}/secret.toml"\n'
    path = lone_file(tmp_path / "mine.safetensors", "tic_tac_toe", preset=text)
    kept = settings_of(str(path)).preset.game.params["rulebook"]
    assert kept == f"{tmp_path}/secret.toml"  # not its content


def test_a_file_goes_on_learning_by_its_preset(tmp_path: Path) -> None:
    path = lone_file(tmp_path / "mine.safetensors", "tic_tac_toe", preset=PRESET.format(game="tic_tac_toe"))
    loaded = load_settings(str(path), {"run.max_steps": "64"})
    assert loaded.preset.run.start == str(path)
    assert loaded.preset.run.max_steps == 64
    assert loaded.name == "tic_tac_toe"
    other = load_settings(str(path), {"run.start": "runs/other@best"})
    assert other.preset.run.start == "runs/other@best"
    assert load_settings("tic_tac_toe").preset.run.start == ""


@pytest.mark.parametrize("preset", ["[game", "[game]\nname = 7\n", "a." * 200 + "b = 1"])
def test_a_damaged_preset_in_a_file_is_one_error(tmp_path: Path, preset: str) -> None:
    path = lone_file(tmp_path / "mine.safetensors", "tic_tac_toe", preset=preset)
    with pytest.raises(PresetError, match=r"the preset in .*mine\.safetensors"):
        load_settings(str(path))


def test_a_file_without_a_preset_names_the_way_on(tmp_path: Path) -> None:
    path = lone_file(tmp_path / "my file.safetensors", "tic_tac_toe")
    with pytest.raises(PresetError, match=r"ludus train PRESET --run.start '.*my file\.safetensors'"):
        load_settings(str(path))


def test_surgery_takes_the_preset_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = PRESET.format(game="tic_tac_toe")
    path = lone_file(tmp_path / "mine.safetensors", "tic_tac_toe", preset=text)
    wide = tmp_path / "wide.safetensors"
    assert main(["surgery", str(path), "--policy.hidden", "8", "-o", str(wide)]) == 0, capsys.readouterr()
    meta = load_meta(wide).provenance
    assert meta is not msgspec.UNSET
    assert "hidden = [8]" in meta.preset
    assert load_network(str(wide), spec("tic_tac_toe")).meta.game == "tic_tac_toe"
    assert main(["surgery", str(path)]) == 2
    assert "--out: expected a new file" in capsys.readouterr().err


def test_a_file_in_a_folder_that_is_no_run(tmp_path: Path, go5: Path) -> None:
    deep = tmp_path / "a" / "b" / "c"
    deep.mkdir(parents=True)
    shutil.move(go5, deep / "w.safetensors")
    assert game_of_player(str(deep / "w.safetensors")) == ("go", SIZE_5)
