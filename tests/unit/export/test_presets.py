"""The network of every shipped preset: its graph computes what it computes."""

from __future__ import annotations

import functools

import pytest
from _pytest.mark.structures import ParameterSet

from ludus.export.check import TOLERANCE
from ludus.flow.process.extensions import ExtensionError
from ludus.native import ParamError
from ludus.policies.config import PolicyConfig
from ludus.policies.factory import build_network
from ludus.presets.file import load_preset, shipped_presets
from tests.unit.export.moments import disturb, exported
from tests.unit.policies.static_cases import observed

pytest.importorskip("onnxruntime")

#: Presets whose network cannot be exported, with a part of the reason.
REFUSED: dict[str, str] = {}
#: Large networks, and kinds that others here have too.
SLOW = frozenset(
    {
        *("alphastar", "connect-four", "lunar-lander", "pommerman-league", "pong", "vizdoom-basic"),
        *("alphastar-full", "minirts-league-full", "openai-five-opponents-full", "pbt-full"),
        *("go7", "go9", "go9-small", "go19", "pommerman-league-full", "breakout", "moba-3v3"),
        *("vizdoom-battle", "vizdoom-duel", "vizdoom-health-gathering", "openspiel-connect_four"),
        *(
            "vizdoom-cig",
            "vizdoom-cig-navigation",
            "vizdoom-cig-full",
            "vizdoom-duel-bots",
            "vizdoom-duel-pbt",
        ),
    }
)


def every_preset() -> list[ParameterSet]:
    names = sorted(shipped_presets())
    assert set(names) >= SLOW | REFUSED.keys()
    return [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in names]


@functools.cache
def largest_difference(policy: PolicyConfig, spec_hash: str, name: str) -> float:
    spec, slab = observed(name)
    assert spec.spec_hash == spec_hash
    return exported(disturb(build_network(policy, spec, 1)), slab).largest


#: The first preset with a network and a game, for all that have the same.
_first: dict[tuple[PolicyConfig, str], str] = {}


@pytest.mark.parametrize("name", every_preset())
def test_graph_of_a_preset_equals_its_network(name: str) -> None:
    policy = load_preset(name).preset.policy
    try:
        spec = observed(name)[0]
    except (ParamError, ExtensionError, ImportError) as error:
        pytest.skip(f"{name}: {error}")
    first = _first.setdefault((policy, spec.spec_hash), name)
    if name in REFUSED:
        with pytest.raises(ValueError, match=REFUSED[name]):
            largest_difference(policy, spec.spec_hash, first)
        return
    assert 0.0 < largest_difference(policy, spec.spec_hash, first) <= TOLERANCE
