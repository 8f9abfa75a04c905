"""Settings of a search are listed once, in the core; the ones of presets agree with it."""

from __future__ import annotations

import msgspec
import msgspec.inspect as mi
import pytest

from ludus.mcts.config import SearchConfig
from ludus.native import SearchError, core

CORE = {name: (default, low, high) for name, default, low, high in core.search_settings()}


def test_presets_have_the_settings_and_defaults_of_the_core() -> None:
    mine = SearchConfig(noise_share=0.0).settings()  # a search that asks for no noise has none
    assert mine.keys() == CORE.keys()
    # The core keeps real numbers in single precision.
    assert mine == pytest.approx({name: default for name, (default, _, _) in CORE.items()}, rel=1e-6)


def test_limits_of_presets_are_those_of_the_core() -> None:
    info = mi.type_info(SearchConfig)
    assert isinstance(info, mi.StructType)
    compared = 0
    for field in info.fields:
        if isinstance(field.type, mi.IntType | mi.FloatType) and field.name != "cache":
            _, low, high = CORE[field.name]
            assert field.type.ge == low, field.name
            assert field.type.le in (None, high), field.name
            compared += 1
    assert compared == 17


@pytest.mark.parametrize("name", ["leaves", "c_base", "gumbel_visit", "score_share", "solver"])
def test_the_core_refuses_what_its_list_does_not_hold(name: str) -> None:
    above = 2.0 * CORE[name][2] + 1.0
    settings = SearchConfig().settings() | {name: above}
    if name == "solver":  # any number but 0 is true
        settings["score_share"] = 0.5
        name = "score_share goes without solver"
    with pytest.raises(SearchError, match=name):
        core.make_search("tic_tac_toe", {}, settings, 1, "uniform")


def test_leaves_have_an_upper_limit() -> None:
    with pytest.raises(msgspec.ValidationError, match="<= 4096"):
        msgspec.convert({"leaves": 5000}, SearchConfig)
