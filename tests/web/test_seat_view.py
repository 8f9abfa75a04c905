"""Documents of a seat that depend on its observations and on nothing else.

Twin matches have the same seed and the same play at the viewer's seat. The other side acts differently, out
of sight at first. As long as the seat's observations and masks are equal, its documents must be.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest

from ludus.flow.masks import legal_choices
from ludus.games import spec
from ludus.games.match import Match
from ludus.web.serve.seat_view import SeatView, cut

Document = dict[str, Any]
Params = Mapping[str, object]


class Twins(NamedTuple):
    """How twins play: who decides for the viewer and its team, and two ways of the others."""

    game: str
    params: Params
    hide: str
    viewer: int
    own: tuple[int, ...]
    mine: tuple[str, ...]  # bots in turn; "" = random choices
    others: tuple[tuple[str, str], ...]
    decides_every: int
    looks_every: int
    max_ticks: int


MINIRTS = Twins(
    "minirts", {}, "map", 0, (0,), ("simple", "hit_and_run", ""),
    (("simple", "noop"), ("hit_and_run", "simple"), ("random", "simple")), 50, 10, 1500,
)  # fmt: skip
TEAM = Twins(
    "pommerman", {"mode": "team", "fog": 1}, "arena", 0, (0, 2), ("simple",),
    (("simple", "noop"), ("random", "simple"), ("noop", "random")), 1, 1, 200,
)  # fmt: skip
FLAG = Twins(
    "capture_the_flag", {}, "map", 0, (0,), ("simple", "", "random"),
    (("random", "simple"), ("noop", "random")), 50, 5, 1000,
)  # fmt: skip
RULEBOOK = Twins(
    "rts", {}, "map", 1, (1,), ("rush", "", "mixed"), (("mixed", "noop"), ("rush", "riders")), 50, 10, 900
)
LANE = Twins(
    "moba", {"heroes": 1}, "map", 0, (0,), ("simple", "push", ""),
    (("simple", "noop"), ("push", "simple"), ("random", "push")), 10, 10, 1000,
)  # fmt: skip
LANE_TEAM = LANE._replace(params={"heroes": 3}, own=(0, 1, 2))
FAST = [
    (MINIRTS._replace(looks_every=20, max_ticks=1000), 60),
    (MINIRTS._replace(viewer=1, own=(1,), params={"commands": "units"}), 6),
    (TEAM, 200),
    (TEAM._replace(params={"mode": "radio", "fog": 1}, viewer=2), 20),
    (TEAM._replace(params={"mode": "ffa", "fog": 1}, own=(0,)), 20),
    (FLAG, 20),
    (FLAG._replace(viewer=1, own=(1,), params={"commands": "units"}), 6),
    (RULEBOOK, 6),
    (LANE, 20),
    (LANE._replace(viewer=1, own=(1,)), 20),
    (LANE_TEAM, 12),
    (LANE_TEAM._replace(viewer=4, own=(3, 4, 5)), 12),
]
SLOW = [
    (MINIRTS._replace(looks_every=5), 200),
    (MINIRTS._replace(params={"commands": "tactical"}, viewer=1, own=(1,), mine=("",), looks_every=5), 60),
    (MINIRTS._replace(params={"commands": "combined"}, mine=("",), looks_every=5), 60),
    (FLAG, 200),
    (RULEBOOK, 40),
    (LANE._replace(looks_every=5), 100),
    (LANE_TEAM._replace(looks_every=5, viewer=1), 60),
]


def _name(value: object) -> str:
    if isinstance(value, Twins):
        return "-".join((value.game, *map(str, value.params.values()), str(value.viewer)))
    return str(value)


def _looks_same(a: Match, b: Match, seat: int) -> bool:
    one, two = a.observe(seat), b.observe(seat)
    same = all(one[name].tobytes() == two[name].tobytes() for name in one)
    return same and a.legal(seat).tobytes() == b.legal(seat).tobytes()


def _random_action(match: Match, seat: int, seed: int) -> list[int]:
    rng = np.random.default_rng([seed, match.tick])
    mask, action = match.legal(seat)[None], np.zeros((1, len(match.spec.heads)), np.int64)
    for k in range(len(match.spec.heads)):
        choices = np.flatnonzero(legal_choices(match.spec, mask, k, action)[0])
        action[0, k] = rng.choice(choices) if len(choices) else 0
    return [int(x) for x in action[0]]


def _twins(how: Twins, seed: int) -> Iterator[tuple[Match, Match]]:
    """Play twins; give them whenever they look the same to the viewer, until they no longer do."""
    matches = [Match(how.game, how.params, seed=seed) for _ in range(2)]
    mine, others = how.mine[seed % len(how.mine)], how.others[seed % len(how.others)]
    while matches[0].tick < how.max_ticks:
        for match, other in zip(matches, others, strict=True):
            for seat in match.to_act if match.tick % how.decides_every == 0 else ():
                if seat not in how.own:
                    match.bot(seat, other)
                elif mine:
                    match.bot(seat, mine)
                else:
                    match.act(seat, *_random_action(match, seat, seed))
            match.advance()
        if any(m.over for m in matches):
            return
        if matches[0].tick % how.looks_every == 0:
            if not _looks_same(matches[0], matches[1], how.viewer):
                return
            yield matches[0], matches[1]


def _text(document: Document) -> str:
    return json.dumps(document)


class _Counts(NamedTuple):
    compared: int  # moments that look the same to the viewer, of matches that are not the same
    differ: int  # of them, documents that differ
    naive: int  # of them, documents that differ when they are cut in the obvious way alone


def _compare(how: Twins, matches: int, obvious: Callable[[Document, int], Document]) -> _Counts:
    compared = differ = naive = 0
    for seed in range(1, matches + 1):
        mates = [seat for seat in how.own if seat != how.viewer]
        views = [SeatView(how.viewer, how.hide, mates) for _ in range(2)]
        for a, b in _twins(how, seed):
            whole = a.view(), b.view()
            one, two = (_text(view.cut(document)) for view, document in zip(views, whole, strict=True))
            if a.hash == b.hash:
                continue
            compared += 1
            differ += one != two
            naive += _text(obvious(whole[0], how.viewer)) != _text(obvious(whole[1], how.viewer))
    return _Counts(compared, differ, naive)


def _by_place(document: Document, seat: int) -> Document:
    """Leave out what is out of sight, and nothing else: ids, orders, heroes and power-ups under wood stay."""
    if "units" in document:
        rows = document["seen"][seat]
        near = [
            u
            for u in document["units"]
            if u["seat"] == seat
            or (0 <= int(u["y"] + 0.5) < len(rows) and rows[int(u["y"] + 0.5)][int(u["x"] + 0.5)] == "1")
        ]
        return {"tick": document["tick"], "units": near, "seen": rows, "heroes": document.get("heroes")}
    me, radius = document["agents"][seat], document["view_radius"]
    near_me = [
        (r, c)
        for r, c in product(range(document["size"]), repeat=2)
        if max(abs(r - me["row"]), abs(c - me["column"])) <= radius
    ]
    return {
        "board": [document["board"][r][c] for r, c in near_me],
        "agents": [[a["seat"], a["alive"], a["ammo"], a["blast"]] for a in document["agents"]],
        "bombs": [b for b in document["bombs"] if (b["row"], b["column"]) in near_me],
    }


@pytest.mark.parametrize(("how", "matches"), FAST, ids=_name)
def test_a_document_depends_on_what_the_seat_saw_and_on_nothing_else(how: Twins, matches: int) -> None:
    counts = _compare(how, matches, _by_place)
    assert counts.compared > matches / 2
    assert counts.differ == 0
    assert counts.naive > 0  # the test can fail


@pytest.mark.slow
@pytest.mark.parametrize(("how", "matches"), SLOW, ids=_name)
def test_documents_of_many_twins_are_equal(how: Twins, matches: int) -> None:
    counts = _compare(how, matches, _by_place)
    assert counts.compared > 3 * matches
    assert counts.differ == 0
    assert counts.naive > counts.compared / 200


@pytest.mark.parametrize(("game", "lines"), [("kuhn_poker", 4), ("leduc_poker", 40)])
@pytest.mark.parametrize("seat", [0, 1])
def test_cards_of_others_are_hidden_until_they_are_shown(game: str, lines: int, seat: int) -> None:
    compared = whole_differ = shown = 0
    for line in range(lines):
        before: dict[bytes, str] = {}  # what the seat saw -> its document
        whole: dict[bytes, str] = {}
        for seed in range(40):
            match = Match(game, seed=seed)
            rng = np.random.default_rng(line)
            while True:
                document = match.view()
                seen = cut(document, seat, "cards")
                folded = document.get("folded", -1) >= 0 or document.get("choices", [])[-2:] == [
                    "bet",
                    "pass",
                ]
                if match.over and not folded:
                    assert seen == document
                    shown += 1
                    break
                assert seen["cards"][1 - seat] is None
                assert seen["cards"][seat] == document["cards"][seat]
                key = match.observe(seat)[match.spec.observation[0].name].tobytes() + bytes(
                    (match.tick, match.over)
                )
                compared += key in before
                assert before.setdefault(key, _text(seen)) == _text(seen)
                whole_differ += whole.setdefault(key, _text(document)) != _text(document)
                if match.over:
                    break
                (to_move,) = match.to_act
                match.play(int(rng.choice(np.flatnonzero(match.legal(to_move)))))
    assert compared > 20 * lines
    assert whole_differ > 10 * lines  # the whole document shows it
    assert shown > 0


@pytest.mark.parametrize(
    ("game", "bots"),
    [
        ("minirts", ("simple", "hit_and_run")),
        ("capture_the_flag", ("simple", "random")),
        ("rts", ("rush", "rush")),
    ],
)
@pytest.mark.parametrize("seat", [0, 1])
def test_a_seat_sees_as_many_units_as_its_observation_has(
    game: str, bots: tuple[str, str], seat: int
) -> None:
    match = Match(game, seed=5)
    most = 0
    while not match.over and match.tick < 3000 and most < 3:
        if match.tick % 50 == 0:
            for other in match.to_act:
                match.bot(other, bots[other])
        match.advance()
        if match.tick % 10:
            continue
        rows = int(match.observe(seat)["units"].any(axis=1).sum())
        document = cut(match.view(), seat, "map")
        assert len(document["units"]) == rows
        most = max(most, sum(u["seat"] == 1 - seat for u in document["units"]))
    assert most > 0


def _map_of(units: list[Document], tick: int = 1) -> Document:
    rows = ["1100"] * 2 + ["0000"] * 2
    looks = {"type": "worker", "hp": 10, "max_hp": 10, "built": 0, "command": "idle"}
    return {
        "game": "minirts", "tick": tick, "map": {"width": 4, "height": 4}, "over": False, "winner": -1,
        "congested": True, "money": [70, 90], "roles": {"worker": "worker"}, "bullets": [],
        "units": [looks | unit for unit in units], "seen": [rows, ["1111"] * 4],
    }  # fmt: skip


def test_of_a_map_only_what_is_seen_stays() -> None:
    orders = {
        "command": "attack",
        "target": 8,
        "phase": 1,
        "since": 3,
        "cooldown": {"attack": 0.5, "move": 0.1},
    }
    document = _map_of(
        [
            {"id": 5, "seat": 0, "x": 0.0, "y": 0.0} | orders,
            {"id": 7, "seat": 0, "x": 1.0, "y": 0.0} | orders | {"target": 9},
            {"id": 8, "seat": 1, "x": 1.0, "y": 1.0} | orders | {"target": 5},
            {"id": 9, "seat": 1, "x": 3.0, "y": 3.0} | orders,
        ]
    )
    document["bullets"] = [
        {"x": 0.5, "y": 0.5, "shooter": shooter, "target": target, "state": "ready"}
        for shooter, target in ((5, 8), (8, 5), (5, 9), (9, 5))
    ]
    before = _text(document)
    seen = cut(document, 0, "map")
    assert _text(document) == before
    assert [(u["id"], u["seat"]) for u in seen["units"]] == [(1, 0), (2, 0), (3, 1)]
    first, second, enemy = seen["units"]
    assert (first["target"], first["command"], first["phase"]) == (3, "attack", 1)
    assert first["cooldown"] == {"attack": 0.502}
    assert "target" not in second  # out of sight
    assert set(enemy) == {"id", "seat", "type", "x", "y", "hp", "max_hp", "built"}
    assert seen["money"] == [70, None]
    assert seen["seen"] == [document["seen"][0], []]
    assert "congested" not in seen
    assert [(b["shooter"], b["target"]) for b in seen["bullets"]] == [(1, 3)]
    assert len(cut(document, (0, 1), "map")["units"]) == 4


def test_of_heroes_a_team_knows_its_own_and_the_looks_of_those_in_sight() -> None:
    numbers = {
        "class": "carry", "level": 3, "xp": 9, "tier": 1, "gold": 50, "worth": 90, "mana": 7, "max_mana": 80,
        "kills": 1, "deaths": 2, "helps": 0, "last_hits": 4, "respawn": 0, "stunned": 0, "slowed": 0,
        "cooldowns": [0, 5],
    }  # fmt: skip
    places = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (3.0, 3.0)]
    document = _map_of([{"id": 20 + s, "seat": s, "x": x, "y": y} for s, (x, y) in enumerate(places)])
    document["money"] = [50] * 4
    document["seen"] = [document["seen"][0]] * 4
    document["heroes"] = [{"seat": s, "id": 20 + s, **numbers} for s in range(4)]
    own, mate, near, far = SeatView(0, "map", (1,)).cut(document)["heroes"]
    known = numbers.keys() - {"xp", "helps", "stunned", "slowed"}
    assert own == {"seat": 0, "id": 1} | {name: numbers[name] for name in known}
    assert mate == own | {"seat": 1, "id": 2}
    assert near == {"seat": 2, "id": 3, "class": "carry", "level": 3, "tier": 1}
    assert far == {"seat": 3, "id": -1}
    assert SeatView(0, "map").cut(document)["heroes"][1] == near | {"seat": 1, "id": 2}


def test_a_unit_keeps_its_number_while_it_is_in_sight() -> None:
    view = SeatView(0, "map")
    own, far, near = (
        {"id": n, "seat": s, "x": x, "y": 1.0} for n, s, x in ((90, 0, 0), (91, 1, 3), (92, 1, 1))
    )

    def numbers(units: list[Document], tick: int) -> list[int]:
        return [u["id"] for u in view.cut(_map_of(units, tick))["units"]]

    assert numbers([own, far, near], 1) == [1, 2]
    assert numbers([own, far | {"x": 0.0}, near], 2) == [1, 3, 2]
    assert numbers([own, far, near | {"x": 0.0}], 3) == [1, 2]
    assert numbers([own, far | {"x": 1.0}], 4) == [1, 4]  # it may be another one
    assert numbers([own], 2) == [5]  # taken back


def test_of_an_arena_only_what_is_near_stays() -> None:
    match = Match("pommerman", {"mode": "team", "fog": 1}, seed=3)
    while match.tick < 40:
        for seat in match.to_act:
            match.bot(seat, "simple")
        match.advance()
    whole = match.view()
    for seats in (0, (0, 2)):
        seen = cut(whole, seats, "arena")
        own = (seats,) if isinstance(seats, int) else seats
        places = [(whole["agents"][s]["row"], whole["agents"][s]["column"]) for s in own]
        for r, c in product(range(whole["size"]), repeat=2):
            near = any(max(abs(r - y), abs(c - x)) <= whole["view_radius"] for y, x in places)
            assert seen["board"][r][c] == (whole["board"][r][c] if near else 5)
            assert seen["hidden"][r][c] == 0
        for agent, all_of_it in zip(seen["agents"], whole["agents"], strict=True):
            if agent["seat"] in own:
                assert agent == all_of_it
            else:
                assert not {"ammo", "blast", "can_kick", "hears"} & set(agent)
    assert any(any(row) for row in whole["hidden"])
    assert cut(whole, 1, "") == whole


def only_the_tick(document: Document, seat: int) -> Document:
    """Show a seat the tick alone: the cut of a game of one's own."""
    return {"tick": document["tick"], "seat": seat}


def test_a_choice_in_a_table_is_hidden_until_all_have_chosen() -> None:
    twins = Match("matrix"), Match("matrix")
    for match, choice in zip(twins, (0, 2), strict=True):
        match.act(1, choice)
    whole = [match.view() for match in twins]
    assert whole[0] != whole[1]  # the game's own documents hold a queued choice
    assert cut(whole[0], 0, "choices") == cut(whole[1], 0, "choices")
    assert cut(whole[1], 1, "choices") == whole[1]
    for match in twins:
        match.act(0, 1)
        match.advance()
    assert cut(twins[1].view(), 0, "choices")["actions"] == [1, 2]


def test_a_game_of_ones_own_brings_its_cut() -> None:
    assert cut({"tick": 4, "secret": 1}, 1, f"{__name__}:only_the_tick") == {"tick": 4, "seat": 1}
    with pytest.raises(ValueError, match="shows one seat, expected one person, found 2"):
        SeatView((0, 1), f"{__name__}:only_the_tick")
    for how, message in (
        ("mpa", r"unknown cut 'mpa' \(did you mean map\?"),
        ("no_such_module:cut", "cannot be loaded"),
        (f"{__name__}:missing", "cannot be loaded"),
    ):
        with pytest.raises(ValueError, match=message):
            SeatView(0, how)


@pytest.mark.parametrize(
    "game", ["minirts", "capture_the_flag", "rts", "pommerman", "kuhn_poker", "leduc_poker"]
)
def test_games_that_hide_something_have_a_cut_that_fits_their_documents(game: str) -> None:
    from ludus.games.views import view_of

    view = view_of(game)
    assert view is not None
    assert not spec(game).perfect_information
    match = Match(game)
    seen = cut(match.view(), 0, view.hide)
    assert seen != match.view()
    assert seen["tick"] == 0
