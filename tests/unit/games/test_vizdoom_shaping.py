"""Tables of rewards: Sample Factory's numbers for the same variables, and TLeague's two stages by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from ludus.games.adapters.vizdoom.shaping import Shaper, shapings

GOLDEN = Path(__file__).parents[2] / "golden/vizdoom_shaping.json"
CASES = json.loads(GOLDEN.read_text())["cases"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["table"])
def test_tables_pay_what_sample_factory_pays(case: dict[str, Any]) -> None:
    table = shapings()[str(case["table"])]
    shaper = Shaper(table)
    values = [dict(zip(case["variables"], row, strict=True)) for row in case["values"]]
    assert set(table.variables) <= set(values[0])
    shaper.start(values[0])
    last = len(values) - 1
    paid = [
        shaper.reward(reward, now, step == last)
        for step, (reward, now) in enumerate(zip(case["scenario"], values, strict=True))
    ]
    assert paid == pytest.approx(case["paid"], abs=1e-7)
    assert len({round(p, 4) for p in paid}) > 4


def at(x: float = 0.0, y: float = 0.0, **more: float) -> dict[str, float]:
    start = {"fragcount": 0.0, "deathcount": 0.0, "hitcount": 0.0, "hits_taken": 0.0, "damage_taken": 0.0}
    start |= {"health": 100.0, "armor": 0.0, "selected_weapon_ammo": 10.0, "dead": 0.0}
    return {**start, "position_x": x, "position_y": y, **more}


def paid(table: str, *steps: dict[str, float]) -> list[float]:
    shaper = Shaper(shapings()[table])
    shaper.start(steps[0])
    return [shaper.reward(0.0, step, False) for step in steps[1:]]


def test_navigation_pays_for_new_cells_and_motion_only() -> None:
    got = paid(
        "navigation",
        at(10, 10),
        at(20, 10),  # far enough
        at(20, 11),  # between
        at(20, 11, fragcount=3.0, health=20.0),  # stood; frags and health count for nothing
        at(200, 11),  # a new cell
        at(10, 10),  # an old one
        at(30, 10, damage_taken=5.0),  # moved by a hit, not by itself
    )
    assert got == pytest.approx([0.001, -0.0005, -0.006, 1.001, 0.001, -0.0005])


def test_the_second_stage_pays_frags_deaths_hits_ammunition_and_little_for_places() -> None:
    moved, stood = 0.00005, -0.0003
    got = paid(
        "cig",
        at(10, 10),
        at(10, 10, fragcount=1.0, hitcount=1.0),
        at(10, 10, fragcount=0.0, hitcount=1.0),  # a suicide
        at(10, 10, fragcount=0.0, hitcount=1.0, selected_weapon_ammo=8.0),
        at(250, 10, fragcount=0.0, hitcount=1.0, selected_weapon_ammo=8.0),
        at(250, 10, fragcount=0.0, hitcount=1.0, selected_weapon_ammo=8.0, dead=1.0, deathcount=1.0),
        at(900, 10, fragcount=0.0, hitcount=1.0, selected_weapon_ammo=20.0, deathcount=1.0),  # a respawn
    )
    assert got == pytest.approx(
        [0.7 + 0.3 + stood, -0.5 + stood, -0.1 + stood, 0.05 + moved, -0.5 + stood, 0.0]
    )


def test_gathering_pays_once_for_a_rise_and_a_little_for_each_decision() -> None:
    health = [100.0, 90.0, 115.0, 115.0]
    got = paid("gathering", *({"health": h, "dead": 0.0} for h in health))
    alive = shapings()["gathering"].alive
    assert got == pytest.approx([alive, 1 + alive, alive])
    assert alive > 0


def test_the_end_of_a_match_pays_the_scenarios_reward_only() -> None:
    shaper = Shaper(shapings()["duel"])
    names = shapings()["duel"].variables
    shaper.start(dict.fromkeys(names, 0.0))
    assert shaper.reward(2.5, dict.fromkeys(names, 50.0), True) == 2.5


def test_every_table_is_finite_and_says_what_it_is() -> None:
    for name, table in shapings().items():
        assert table.meaning, name
        numbers = [n for pair in table.delta.values() for n in pair]
        numbers += [*table.rise.values(), *table.limits.values(), *table.selected.values()]
        assert all(map(math.isfinite, numbers)), name
    assert shapings()["none"].plain
