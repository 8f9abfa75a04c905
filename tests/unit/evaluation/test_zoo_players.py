"""``zoo:NAME`` wherever a player is named: it plays as its card sets, and keeps its name."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

import ludus
from ludus.cli.__main__ import main
from ludus.cli.complete import candidates
from ludus.evaluation import players
from ludus.evaluation.evaluate import evaluate
from ludus.evaluation.play import MatchPlayer
from ludus.evaluation.players import game_of_player, measured_opponent, resolve_player
from ludus.evaluation.settings import MatchSettings
from ludus.flow.weights import Provenance
from ludus.games import spec
from ludus.mcts.text import SearchText
from ludus.presets.checks.game import check_game
from ludus.presets.errors import ConfigError
from ludus.presets.file import PresetError, parse_preset
from ludus.rollouts.network_actor import NetworkActor
from ludus.storage import CorruptFile, RunNotFound, is_reference, resolve_weights, zoo
from ludus.training.teacher import teacher_weights
from ludus.web.serve.library import Library
from ludus.web.serve.matches import rules_of
from ludus.web.serve.players import PlayerError, seat_of, thinker_of
from ludus.web.thoughts.resolve import mind_of

from .lone_files import add_to_zoo, weights_of

BOARD = spec("tic_tac_toe")
PRESET = """
[game]
name = "{game}"
[[opponents]]
name = "{opponent}"
[evaluation]
against = ["{against}"]
[algorithm]
name = "appo"
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A zoo of ``sampler``, ``searcher`` (greedy) and ``go5``."""
    made = tmp_path / "zoo"
    made.mkdir()
    monkeypatch.setattr(zoo, "FOLDER", made)
    weights = weights_of("tic_tac_toe")
    add_to_zoo(made, "sampler", weights)
    add_to_zoo(made, "searcher", weights, "search:8", greedy=True)
    size = {"size": "5"}
    add_to_zoo(made, "go5", weights_of("go", size, provenance=Provenance(params=size)), greedy=True)
    return made


def test_a_player_plays_as_its_card_says() -> None:
    sampler, searcher = (resolve_player(f"zoo:{name}", BOARD) for name in ("sampler", "searcher"))
    assert isinstance(sampler.actor, NetworkActor)
    assert not sampler.actor.greedy
    assert searcher.search is not None
    assert (sampler.name, searcher.name) == ("zoo:sampler", "zoo:searcher")
    asked = resolve_player("zoo:searcher+search:4", BOARD)
    assert asked.name == "zoo:searcher+search:4"
    go = resolve_player("zoo:go5", spec("go", {"size": "5"}))
    assert isinstance(go.actor, NetworkActor)
    assert go.actor.greedy


def test_a_greedy_card_plays_the_most_visited_move(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[str, int]] = []

    def search_player(
        name: str, spec: object, params: object, text: SearchText, *rest: object
    ) -> MatchPlayer:
        made.append((name, text.plies))
        return MatchPlayer(name)

    monkeypatch.setattr(players, "search_player", search_player)
    resolve_player("zoo:searcher", BOARD)
    resolve_player("zoo:searcher+search:8", BOARD)
    assert [plies for _, plies in made] == [0, SearchText().plies]


def test_results_name_the_player_of_the_zoo() -> None:
    result = evaluate("zoo:searcher", "zoo:sampler", MatchSettings(matches=4))
    assert (result.player, result.against, result.game) == ("zoo:searcher", "zoo:sampler", "tic_tac_toe")


def test_the_game_has_the_parameters_of_the_file() -> None:
    assert game_of_player("zoo:go5") == ("go", {"size": "5"})
    assert game_of_player("zoo:go5+search:4") == ("go", {"size": "5"})
    assert is_reference("zoo:absent")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("zoo:sampla", r"did you mean zoo:sampler\?"),
        ("zoo:searcher+serch:9", r"did you mean \+search:9\?"),
        ("zoo:searcher@best", r"did you mean zoo:searcher\?"),
    ],
)
def test_unknown_names(text: str, expected: str) -> None:
    with pytest.raises(RunNotFound, match=expected):
        resolve_player(text, BOARD)
    with pytest.raises(RunNotFound, match=expected):
        resolve_weights(text)


def test_a_changed_file_plays_nowhere(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "sampler.safetensors"
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(CorruptFile, match="was changed"):
        resolve_player("zoo:sampler", BOARD)
    assert main(["eval", "zoo:sampler", "--against", "random", "--quiet"]) == 2
    assert "was changed: sha256" in capsys.readouterr().err


def test_weights_of_another_game_are_refused() -> None:
    with pytest.raises(ConfigError, match="zoo:go5: weights of go, expected weights of tic_tac_toe"):
        resolve_player("zoo:go5", BOARD)


def test_a_loaded_policy_is_as_greedy_as_its_card() -> None:
    assert ludus.load_policy("zoo:go5").deterministic
    assert not ludus.load_policy("zoo:sampler").deterministic


def test_a_search_of_the_zoo_from_python() -> None:
    found = ludus.search(ludus.Match("tic_tac_toe"), "zoo:searcher")
    assert int(np.sum(found.root.move_visits)) in (7, 8)
    with pytest.raises(ConfigError, match="expected mcts:VISITS"):
        ludus.search(ludus.Match("tic_tac_toe"), "zoo:sampler")


def test_pages_seat_and_ask_players_of_the_zoo(tmp_path: Path) -> None:
    library, rules = Library(tmp_path), rules_of("tic_tac_toe", {})
    kinds = {text: seat_of(text, rules, 1, library) for text in ("zoo:sampler", "zoo:searcher")}
    assert [(seat.name, seat.kind) for seat in kinds.values()] == [
        ("zoo:sampler", "network"),
        ("zoo:searcher", "search"),
    ]
    assert seat_of("zoo:sampler+search:4", rules, 1, library).kind == "search"
    assert thinker_of("zoo:sampler+search:4", library) == "zoo:sampler+search:4"
    for wrong in ("zoo:absent", "zoo:../x", "zoo:sampler+search:999999", "zoo:sampler+search:1,seconds=9"):
        with pytest.raises(PlayerError):
            seat_of(wrong, rules, 1, library)
        with pytest.raises(PlayerError):
            thinker_of(wrong, library)


def test_minds_have_the_name_of_the_zoo() -> None:
    assert mind_of("zoo:sampler", BOARD, {}).name == "zoo:sampler"
    assert mind_of("zoo:searcher", BOARD, {}).name == "zoo:searcher"


@pytest.mark.parametrize("key", ["opponent", "against"])
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("zoo:samplr", r"did you mean zoo:sampler\?"),
        ("zoo:go5", "plays go, not tic_tac_toe"),
        ("zoo:other", "another version of its rules"),
    ],
)
def test_a_preset_names_what_does_not_fit(folder: Path, key: str, name: str, expected: str) -> None:
    older = msgspec.structs.replace(BOARD, version=BOARD.version + 1)
    text = msgspec.json.encode(older).decode()
    add_to_zoo(folder, "other", weights_of("tic_tac_toe", spec=text, spec_hash=older.spec_hash))
    names = {"opponent": "random", "against": "random"} | {key: name}
    loaded = parse_preset(PRESET.format(game="tic_tac_toe", **names).encode(), "mine.toml")
    with pytest.raises(PresetError, match=expected):
        check_game(loaded)


def test_a_preset_takes_players_of_the_zoo() -> None:
    text = PRESET.format(game="tic_tac_toe", opponent="zoo:searcher", against="zoo:sampler")
    assert check_game(parse_preset(text.encode(), "mine.toml")).name == "tic_tac_toe"
    assert measured_opponent("zoo:searcher", BOARD, {}, 1).name == "zoo:searcher"
    assert measured_opponent("random", BOARD, {}, 1).name == "random"


def test_a_teacher_of_the_zoo_searches_as_its_card_says() -> None:
    imitation = PRESET.replace('"appo"', '"imitation"\nteacher = "zoo:searcher"')
    text = imitation.format(game="tic_tac_toe", opponent="random", against="random")
    preset = parse_preset(text.encode(), "mine.toml").preset
    assert teacher_weights(preset) == ("zoo:searcher", "+search:8")


def test_completion_offers_players_of_the_zoo() -> None:
    assert candidates(["eval", "zoo:s"]) == ["zoo:sampler", "zoo:searcher"]
