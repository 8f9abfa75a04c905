"""Every game is explained: each label has a text, each bot its rules, and prices are the rulebook's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ludus.games import rulebook, spec
from ludus.games.guides.declared import MAX_TEXT, built_in, register_guide
from ludus.games.guides.lookup import EVERY, guide_of
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


def test_prices_are_the_rulebooks() -> None:
    assert guide_of("minirts", {}).choices["strategy"]["build_worker"].cost == 50
    cheaper = guide_of("minirts", {"rulebook": "worker.cost=40"})
    order = cheaper.choices["strategy"]["build_worker"]
    assert (order.cost, "40 money" in order.needs) == (40, True)
    keys = rulebook.keys("extended")
    for piece in guide_of("rts", {}).pieces:
        assert piece.cost == float(keys[f"units.{piece.name}.cost"])


def test_units_of_an_own_rulebook_are_named() -> None:
    found = guide_of("rts", {"rulebook": OWN})
    pike = next(piece for piece in found.pieces if piece.name == "pike")
    assert (pike.cost, pike.made_by, pike.does) == (40, ("barracks",), "Fights hand to hand.")
    order = found.choices["strategy"]["build_pike"]
    assert (order.does, order.needs) == ("Makes a pike.", "an idle barracks and 40 money")
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


def test_a_game_of_ludus_keeps_its_guide() -> None:
    register_guide("foragers2", {"aim": "Find food."})
    with pytest.raises(ValueError, match="unknown game"):
        guide_of("foragers2", {})
    register_guide("minirts", {"aim": "Lose."})
    assert guide_of("minirts", {}).aim.startswith("Gather money")
