"""Bots in Python: what they are shown, what they may answer, and that they play."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ludus.cli import __main__ as cli
from ludus.evaluation.evaluate import evaluate
from ludus.evaluation.settings import MatchSettings
from ludus.games import spec
from ludus.games.names import is_bot_file, typed
from ludus.rollouts.actor import ActInput
from ludus.rollouts.scripted import BotError, Scene, ScriptedActor, load_bot

GAME = spec("rts")

BOT = """
class Rusher:
    def __init__(self):
        self.decisions = 0

    def decide(self, scene):
        self.decisions += 1
        legal = scene.legal()
        if "defend" in legal:
            return "defend"
        if scene.count("own", "peasant") < 3 and "build_peasant" in legal:
            return "build_peasant"
        if scene.count("own", "barrack") == 0:
            return "build_barrack" if "build_barrack" in legal else "wait"
        if scene.count("own", "spearman") >= 5 and "attack" in legal:
            return "attack"
        return "build_spearman" if "build_spearman" in legal else "wait"
"""


def written(folder: Path, text: str) -> str:
    path = folder / "my_bot.py"
    path.write_text(text, encoding="utf-8")
    return str(path)


def row() -> tuple[dict[str, np.ndarray], np.ndarray]:
    obs = {t.name: np.zeros(t.packed_shape, t.packed_dtype) for t in GAME.observation}
    return obs, np.zeros(GAME.mask_size, np.uint8)


def test_a_scene_shows_the_spec_by_name() -> None:
    obs, mask = row()
    units = next(t for t in GAME.observation if t.name == "units")
    numbers = next(t for t in GAME.observation if t.name == "globals")
    obs["globals"][numbers.labels.index("money_500")] = 0.5
    obs["units"][0, units.labels.index("own")] = 255
    obs["units"][0, units.labels.index("dragon")] = 255
    obs["units"][0, units.labels.index("hp_ratio")] = 51
    mask[GAME.heads[0].labels.index("attack")] = 1
    scene = Scene(GAME, obs, mask)
    assert scene.numbers["money_500"] == 0.5
    assert scene.count("own", "dragon") == 1
    assert scene.count("enemy") == 0
    assert scene.entities()[0]["hp_ratio"] == pytest.approx(0.2)
    assert scene.legal() == ["attack"]
    with pytest.raises(BotError, match="no entity tensor 'cells'; there are units"):
        scene.entities("cells")
    with pytest.raises(BotError, match="no head 'x'; there are strategy"):
        scene.legal("x")


def test_wrong_answers_and_faults_are_named() -> None:
    obs, mask = row()
    batch = {name: array[None] for name, array in obs.items()}

    def act(answer: object) -> list[int]:
        class Fixed:
            def decide(self, scene: Scene) -> object:
                if isinstance(answer, Exception):
                    raise answer
                return answer

        actor = ScriptedActor(Fixed, GAME)  # type: ignore[arg-type]
        one = np.ones(1, np.uint8)
        seen = ActInput(batch, mask[None], None, one, 0, np.zeros(1, np.int32))
        return [int(a) for a in actor.act(seen).actions[0]]

    labels = GAME.heads[0].labels
    assert act("attack") == [labels.index("attack")]
    assert act(2) == [2]
    assert act({"strategy": "wait"}) == [0]
    with pytest.raises(BotError, match=r"'atack' is no choice of strategy \(did you mean attack\?\)"):
        act("atack")
    with pytest.raises(BotError, match="99 is no choice"):
        act(99)
    with pytest.raises(BotError, match=r"decide failed at .*test_scripted.py:\d+: KeyError"):
        act(KeyError("x"))


def test_files_that_hold_no_bot_are_refused(tmp_path: Path) -> None:
    assert is_bot_file("a/b.py")
    assert is_bot_file("b.py:Name")
    for other in ("simple", "a.py:b/run@best", "b.py:", "RUN@main:1", "a.py/run@best"):
        assert not is_bot_file(other)
    with pytest.raises(BotError, match="no such file"):
        load_bot(typed(str(tmp_path / "none.py")))
    with pytest.raises(BotError, match="SyntaxError"):
        load_bot(typed(written(tmp_path, "def (")))
    with pytest.raises(BotError, match=r"expected one class with decide; there are: none"):
        load_bot(written(tmp_path, "x = 1"))
    with pytest.raises(BotError, match=r"no class Other with decide.*there are: Rusher"):
        load_bot(typed(written(tmp_path, BOT) + ":Other"))


def test_a_bot_in_python_plays_whole_matches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bot = typed(written(tmp_path, BOT))
    result = evaluate(bot, "noop", MatchSettings(matches=6, seed=1), game="rts")
    assert result.errors == 0
    assert result.wins == 6
    again = evaluate(bot, "noop", MatchSettings(matches=6, seed=1), game="rts")
    assert again.mean_ticks == result.mean_ticks
    written(
        tmp_path,
        BOT.replace('return "defend"', 'return "defent"').replace(
            'in legal:\n            return "build_p', 'in legal or True:\n            return "build_pp'
        ),
    )
    assert cli.main(["eval", bot, "--against", "noop", "--game", "rts", "--matches", "2"]) == 2
    assert "did you mean build_peasant?" in capsys.readouterr().err
