"""The game moba from Python: its spec, rulebooks in TOML, documents for viewers, bots among themselves."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec
import pytest

from ludus.cli.__main__ import main
from ludus.flow import Controller, Lineup, MatchResult, PoolOptions, SeatPlan
from ludus.games import replays, rulebook, spec
from ludus.native import ParamError
from ludus.pool.native import NativePool
from ludus.web.rts.document import RtsView
from ludus.web.serve.seat_view import cut

CLASSES = ("carry", "tank", "support")


def played(heroes: int, bot: str, other: str, matches: int) -> list[MatchResult]:
    """Return the results of one team's bot against another's; the teams change seats by turns."""
    seats = [SeatPlan((Controller(bot=name),)) for name in (*[bot] * heroes, *[other] * heroes)]
    results: list[MatchResult] = []
    options = PoolOptions(slots=16, num_matches=matches, seed=7)
    with NativePool("moba", {"heroes": str(heroes)}, Lineup(tuple(seats)), options) as pool:
        while not pool.finished:
            batch = pool.recv()
            results += batch.results
            pool.send(batch.group)
    return results


def test_one_spec_serves_every_number_of_heroes() -> None:
    one, three = (spec("moba", {"heroes": n}) for n in (1, 3))
    assert (one.seats, three.seats) == (2, 6)
    assert list(three.teams) == [0, 0, 0, 1, 1, 1]
    assert [h.name for h in one.heads] == ["order", "target", "place"]
    assert one.observation == three.observation


def test_a_rulebook_file_changes_numbers_and_names_every_mistake(tmp_path: Path) -> None:
    good = tmp_path / "good.toml"
    good.write_text('[gold]\ncreep = 5\n[hero.tank.ability_1]\nkind = "heal"\n')
    assert spec("moba", {"rulebook": rulebook.read(good, check=False)}).seats == 6
    bad = tmp_path / "bad.toml"
    bad.write_text("[gold]\ncrep = 5\n[tower]\nhp = 0\n")
    with pytest.raises(ParamError) as error:
        spec("moba", {"rulebook": rulebook.read(bad, check=False)})
    lines = str(error.value).splitlines()
    assert len(lines) == 2
    assert "did you mean gold.creep?" in lines[0]
    assert "expected an integer in [1, 20000]" in lines[1]


def test_the_schema_has_every_key_of_the_rulebook() -> None:
    schema = rulebook.schema("moba")
    properties = schema["properties"]
    assert isinstance(properties, dict)
    assert set(properties) >= {"gold", "xp", "hero", "tower", "late", "reward"}
    kind = properties["hero"]["properties"]["carry"]["properties"]["ability_1"]["properties"]["kind"]
    assert kind["enum"] == ["strike", "around", "heal", "stun", "slow", "dash"]
    assert main(["games", "schema", "moab"]) == 2


def test_a_document_is_a_map_with_heroes_and_a_seat_sees_its_own_part() -> None:
    data = replays.record("moba", {"heroes": 3}, seed=4, bots=("simple",))
    assert replays.verify(data).same
    texts = replays.frames(data, every_ticks=300)
    moment = msgspec.json.decode(texts[len(texts) // 2], type=RtsView)
    assert {u.type for u in moment.units} >= {"ancient"}
    assert all(0 <= u.seat < 6 and u.hp <= u.max_hp for u in moment.units)
    document = msgspec.json.decode(texts[len(texts) // 2])
    assert [h["class"] for h in document["heroes"]] == [*CLASSES, *CLASSES]
    assert all(h["worth"] >= h["gold"] for h in document["heroes"])
    seen = cut(document, 0, "map")
    assert [hero["seat"] for hero in seen["heroes"] if "gold" in hero] == [0]
    assert all(hero.keys() <= {"seat", "id", "class", "level", "tier"} for hero in seen["heroes"][1:])
    unseen = [hero for hero in seen["heroes"][1:] if hero["id"] == -1]
    assert unseen
    assert all(hero.keys() == {"seat", "id"} for hero in unseen)
    assert len(seen["units"]) <= len(document["units"])


def test_simple_beats_who_does_nothing_and_who_plays_at_random() -> None:
    for other in ("noop", "random"):
        results = played(3, "simple", other, 20)
        assert sum(r.outcome[r.players.index("simple")] > 0 for r in results) >= 19


@pytest.mark.parametrize("heroes", [1, 3])
def test_simple_beats_who_only_walks_forward(heroes: int) -> None:
    results = played(heroes, "simple", "push", 60)
    assert sum(r.outcome[r.players.index("simple")] > 0 for r in results) >= 30


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("heroes", [1, 3])
def test_simple_against_itself_is_even_and_ends_by_the_ancient(heroes: int) -> None:
    results = played(heroes, "simple", "simple", 2000)
    won = Counter(r.outcome[0] for r in results)
    assert len(results) == 2000
    assert won[0.0] <= 0.05 * 2000
    assert 0.47 <= won[1.0] / (won[1.0] + won[-1.0]) <= 0.53
    assert sum(r.ticks < 12000 for r in results) >= 0.6 * 2000
