"""Every game is explained: each label has a text, each bot its rules, and prices are the rulebook's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import msgspec
import pytest

from ludus.games import registry, rulebook, spec, typed
from ludus.games.guides.declared import MAX_TEXT, built_in, register_guide, text_of
from ludus.games.guides.lookup import EVERY, guide_of
from ludus.games.guides.pieces import keys_of
from ludus.games.registry import BUILT_IN

_VARIANTS = {"commands", "mode", "table"}
OWN = """title=Pikes
extends=classic
units.pike.cost=40
units.pike.hp=30
units.pike.attack=5
units.pike.attack_range=1
units.pike.speed=0.1
units.pike.accepts=move,attack
units.barracks.builds=pike,melee_attacker,range_attacker
"""


def _variants() -> Iterator[tuple[str, dict[str, str]]]:
    for game in BUILT_IN:
        yield game, {}
        for param in spec(game, {}).params:
            if param.name in _VARIANTS:
                yield from ((game, {param.name: choice}) for choice in param.choices)


@pytest.mark.parametrize(("game", "params"), list(_variants()))
def test_every_label_and_bot_has_words(game: str, params: dict[str, str]) -> None:
    found, about = guide_of(game, params), spec(game, params)
    assert all((found.aim, found.how, found.win, found.lose, found.legend))
    for head in about.heads:
        texts = found.choices[head.name]
        labels = texts if EVERY in texts else head.labels
        assert all(len(texts[label].does) > 10 for label in labels), head.name
        shared = (texts[label].does for label in labels)
        assert head.meaning not in shared  # a text of the game, not the spec's
    assert {bot.name for bot in about.bots} == found.bots.keys()
    assert all(len(text.split()) >= 2 for text in found.bots.values())
    numbered = [text for text in texts_of(found) if re.search(r"seat [0-9]", text)]
    assert numbered == []  # a page gives sides their colour
    assert not found.problem
    assert not re.search(
        r"\{[a-z]", msgspec.json.encode([*texts_of(found)]).decode()
    )  # every number is known


def texts_of(value: object) -> Iterator[str]:
    """Yield every text of a guide."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from texts_of(list(value.values()))
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from texts_of(inner)
    else:
        yield from texts_of([getattr(value, name) for name in getattr(value, "__struct_fields__", ())])


@pytest.mark.parametrize("game", BUILT_IN)
def test_texts_name_what_the_game_has(game: str) -> None:
    text = built_in(game)
    assert text is not None
    variants = [params for name, params in _variants() if name == game]
    heads = {head.name: head for params in variants for head in spec(game, params).heads}
    own = (
        set(text.choices) - set((built_in("_orders") or text).choices) if text.extends else set(text.choices)
    )
    assert own <= heads.keys()
    if text.units:
        assert text.pieces.keys() <= {piece.name for piece in guide_of(game, {}).pieces}
    assert text.bots.keys() <= {bot.name for bot in spec(game, {}).bots}


@pytest.mark.parametrize(("game", "script"), [("pommerman", "arena_view.js"), ("go", "grid_view.js")])
def test_numbers_beside_a_seat_are_explained(game: str, script: str) -> None:
    source = resources.files("ludus.web").joinpath("static", "replay", script).read_text("utf-8")
    labels = set(re.findall(r"\bnumbers(?:\.| = \{ )(\w+)", source)) - {"length"}
    assert labels >= {"alive", "kick"} or labels >= {"komi", "margin"}
    assert labels <= guide_of(game, {}).words.keys()


def test_prices_are_the_rulebooks() -> None:
    assert guide_of("minirts", {}).choices["strategy"]["build_worker"].cost == 50
    cheaper = guide_of("minirts", {"rulebook": "worker.cost=40"})
    order = cheaper.choices["strategy"]["build_worker"]
    assert (order.cost, "40 money" in order.needs) == (40, True)
    spaced = guide_of("minirts", {"rulebook": "# cheap\n worker.cost = 40 # money"})
    assert spaced.choices["strategy"]["build_worker"].cost == 40
    keys = rulebook.keys("extended")
    for piece in guide_of("rts", {}).pieces:
        assert piece.cost == float(keys[f"units.{piece.name}.cost"])


def test_units_of_an_own_rulebook_are_named() -> None:
    found = guide_of("rts", {"rulebook": OWN})
    pike = next(piece for piece in found.pieces if piece.name == "pike")
    assert (pike.cost, pike.made_by, pike.does) == (40, ("barracks",), "Fights hand to hand.")
    order = found.choices["strategy"]["build_pike"]
    assert (order.does, order.needs) == ("Makes a pike.", "a free barracks and 40 money")
    assert "attacks your base" in found.bots["simple"]


def test_a_game_without_texts_is_explained_by_its_spec() -> None:
    found = guide_of("gymnasium/CartPole-v1", {})
    assert found.aim.endswith(".")
    assert found.choices["action"][EVERY].does


@pytest.mark.parametrize(
    ("guide", "why"),
    [
        ({"aim": "x" * (MAX_TEXT + 1)}, "has a text of 2001 characters, expected at most 2000"),
        ({"aim": 3}, "is no guide: Expected `str`, got `int` - at `$.aim`"),
        ({"goal": "x"}, "is no guide: Object contains unknown field `goal`"),
        ({"words": {str(n): "x" for n in range(5000)}}, "texts, expected at most 4096"),
    ],
)
def test_wrong_guides_are_refused(guide: dict[str, object], why: str) -> None:
    with pytest.raises(ValueError, match=r"guide|text") as caught:
        register_guide("foragers", guide)
    assert why in str(caught.value)


def test_texts_may_count_under_parameters_only() -> None:
    team, alone = guide_of("pommerman", {"mode": "team", "fog": 1}), guide_of("pommerman", {})
    assert ("your teammate lives" in team.win, "last one alive" in alone.win) == (True, True)
    assert len(team.how) == len(alone.how) + 1
    assert "Press an order" in guide_of("minirts", {}).how[-1]
    assert "cost the same" in guide_of("rts", {}).draw
    assert guide_of("rts", {"rulebook": "classic"}).draw == "The match is a draw at tick 30000."
    assert guide_of("rts", {"rulebook": f"{OWN}win.money=900\n"}).win.endswith("with 900 money.")
    assert "draw a box" in guide_of("minirts", {"commands": "units"}).how[-1]


@pytest.mark.parametrize("game", BUILT_IN)
def test_texts_under_parameters_name_values_of_the_game(game: str) -> None:
    text = built_in(game)
    assert text is not None
    for part in text.when:
        for name, values in part.params.items():
            if "." in name:
                assert name in keys_of(game, {})
            for value in () if "." in name else values:
                guide_of(game, {name: value})  # raises for a name or value that the game does not have


def test_numbers_in_texts_are_the_matchs() -> None:
    assert "at tick 3000" in guide_of("tower_defense", {}).win
    shorter = guide_of("tower_defense", {"tick_limit": "500", "rulebook": "wave.ticks=80\ntower.cost=40"})
    assert ("at tick 500" in shorter.win, "80 ticks" in shorter.words["wave"]) == (True, True)
    assert "4 of your stones" in guide_of("gomoku", {"length": "4", "size": "9"}).aim
    strike = dict(guide_of("moba", {"rulebook": "hero.carry.ability_1.power=75"}).pieces[0].facts)[
        "first ability"
    ]
    assert strike.startswith("strike: takes 75 hit points")
    assert "30 mana" in strike


GAME_FILE = """
from ludus.flow.spec import HeadSpec
from ludus.games.python_game import declare, tensor

class Coin:
    spec = declare(
        "{name}",
        observation=[tensor("seen", (1,))],
        heads=[HeadSpec("side", 2, ("heads", "tails"))],
        meaning={meaning!r},
    )
    truncated = False

    def reset(self, seed): pass
    def to_act(self): return [0]
    def step(self, actions): return True
    def rewards(self, out): pass
    def outcome(self, out): pass
    def observe(self, seat, out): pass

GAME = Coin
{guide}
"""


def _coin(folder: Path, name: str, guide: str, meaning: str = "call a coin") -> str:
    path = folder / f"{name}.py"
    path.write_text(GAME_FILE.format(name=name, guide=guide, meaning=meaning))
    return typed(str(path))


def test_a_python_file_declares_its_guide(tmp_path: Path) -> None:
    guide = 'GUIDE = {"aim": "Call it.", "choices": {"side": {"heads": {"does": "Calls heads."}}}}'
    found = guide_of(_coin(tmp_path, "coin_a", guide), {})
    assert (found.aim, found.choices["side"]["heads"].does, found.problem) == ("Call it.", "Calls heads.", "")
    assert found.choices["side"]["tails"].does


@pytest.mark.parametrize(
    ("guide", "problem"),
    [
        ("GUIDE = 3", "coin_b.py is no guide: Expected `object`, got `int`"),
        (
            'GUIDE = {"aim": "x" * 1_000_000}',
            "coin_b.py has a text of 1000000 characters, expected at most 2000",
        ),
        (
            'GUIDE = {"choices": {"side": {"head": {"does": "x"}}}}',
            "guide of coin_b: choices.side.head: no such name (did you mean heads?)",
        ),
    ],
    ids=["type", "size", "label"],
)
def test_a_wrong_guide_leaves_the_spec(tmp_path: Path, guide: str, problem: str) -> None:
    found = guide_of(_coin(tmp_path, "coin_b", guide), {})
    assert (found.aim, found.problem.endswith(problem)) == ("Call a coin.", True)


def test_a_spec_of_a_megabyte_is_cut(tmp_path: Path) -> None:
    found = guide_of(_coin(tmp_path, "coin_c", "", "x" * 1_000_000), {})
    assert len(found.aim) <= MAX_TEXT + 1


def test_a_compiled_game_has_its_guide_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = tmp_path / "build" / "foragers.so"
    module.parent.mkdir()
    monkeypatch.setattr(registry, "BUILT_IN", ())
    monkeypatch.setattr(registry, "game_file", lambda _: module)
    (tmp_path / "guide.toml").write_text('aim = "Find food."')
    assert guide_of("tic_tac_toe", {}).aim == "Find food."
    (tmp_path / "guide.toml").write_text("aim = 3")
    found = guide_of("tic_tac_toe", {})
    assert found.problem.endswith("guide.toml: is no guide: Expected `str`, got `int` - at `$.aim`")
    assert found.aim.startswith("Three in a row")


def test_the_example_explains_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    example = Path(__file__).parents[3] / "examples" / "custom_game"
    monkeypatch.setattr(registry, "BUILT_IN", ())
    monkeypatch.setattr(registry, "game_file", lambda _: example / "build" / "foragers.so")
    text = text_of("tic_tac_toe", {})
    assert text is not None
    assert list(text.choices["move"]) == ["stay", "north", "east", "south", "west"]


def test_a_game_of_ludus_keeps_its_guide() -> None:
    register_guide("foragers2", {"aim": "Find food."})
    with pytest.raises(ValueError, match="unknown game"):
        guide_of("foragers2", {})
    register_guide("minirts", {"aim": "Lose."})
    assert guide_of("minirts", {}).aim.startswith("Gather money")
