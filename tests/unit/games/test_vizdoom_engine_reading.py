"""A configuration that Ludus accepts is read alike by the engine."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path

import pytest

if importlib.util.find_spec("vizdoom") is None:
    pytest.skip("vizdoom is not installed", allow_module_level=True)

import vizdoom

from ludus.games.adapters.vizdoom.configuration import Configuration, ConfigurationError, read
from tests.unit.games.doom_files import CONFIG, scenario, wad

OWN = sorted(Path(vizdoom.scenarios_path).glob("*.cfg"))
SOLD = ("doom", "doom2")  # games that the library does not have


def assert_alike(found: Configuration) -> None:
    game = vizdoom.DoomGame()
    assert game.load_config(str(found.path)), "the engine skips no line"
    assert found.buttons == tuple(b.name.lower() for b in game.get_available_buttons())
    assert found.variables == tuple(v.name.lower() for v in game.get_available_game_variables())
    assert found.timeout == game.get_episode_timeout()
    assert found.mode == game.get_mode().name.lower()
    assert str(found.map_file or "") == game.get_doom_scenario_path()


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.stem)
def test_the_scenarios_of_the_library(path: Path) -> None:
    if path.stem in SOLD and not (path.parent / f"{path.stem}.wad").exists():
        with pytest.raises(ConfigurationError, match="expected the game beside"):
            read(path)
        return
    assert_alike(read(path))


LINES = (
    *("mode = SPECTATOR", "Mode=async_player", "episodeTimeout = +12", "  # comment", "", "seed = 3"),
    *(
        "available_buttons = { ATTACK USE }",
        "available_buttons += {\n#x\n\nJUMP }",
        "availablebuttons =\n\n{\n}",
    ),
    *("available_game_variables = { health ARMOR }", "availableGameVariables+={\tAMMO1 }", "doom_skill = 9"),
    *("living_reward = -.5", "deathPenalty = 1e2", "button_max_value = attack 5", "doom_map = MAP01"),
    *("screen_format = gray8", "render_hud = 1", "audio_sampling_rate = SR_11025", "ticrate = 35"),
    *(
        "available_buttons = { ATTACK } x",
        "modus = 1",
        "mode == PLAYER",
        "mode = player # x",
        "render_hud = on",
    ),
    *("available_buttons = { ATAK }", "doom_scenario_path =   small.wad  ", "\tautomap_mode = whole"),
)


def test_mixed_lines_are_read_alike(tmp_path: Path) -> None:
    draw, accepted = random.Random(2), 0
    for _ in range(150):
        lines = draw.choices(LINES[:20] if draw.random() < 0.7 else LINES, k=draw.randint(1, 9))
        path = scenario(
            tmp_path, "\n".join(["doom_scenario_path = small.wad", *lines]), map_file=wad((1, 11))
        )
        try:
            found = read(path)
        except ConfigurationError:
            continue
        accepted += 1
        assert_alike(found)
    assert accepted > 60
    assert_alike(read(scenario(tmp_path, CONFIG)))
