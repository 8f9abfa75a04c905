"""Errors of environments that cannot be hosted: one line with the name and the remedy."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from ludus.games.exports.match import make_match
from ludus.games.names import typed
from ludus.games.registry import spec
from ludus.native import ParamError

if importlib.util.find_spec("gymnasium") is None:
    pytest.skip("gymnasium is not installed", allow_module_level=True)

HERE = "gymnasium/tests.unit.games.odd_envs:"
RESET = "expected reset(self, *, seed=None, options=None)"


@pytest.mark.parametrize("limit", ["", "Free"])  # with and without a wrapper around it
@pytest.mark.parametrize(
    ("name", "does", "message"),
    [
        ("OnlySeed", "", f"reset() takes no options: {RESET}"),
        ("OnlyOptions", "", f"reset() takes no seed: {RESET}"),
        ("NoSeed", "", f"reset() takes no seed and no options: {RESET}"),
        ("Odd", "alone", "reset() returned one ndarray: expected observation, info"),
        ("Odd", "three", "reset() returned 3 values: expected observation, info"),
        ("Odd", "type", "cannot be made: TypeError: object of type 'int' has no len()"),
        ("Odd", "key", "cannot be made: KeyError: 'speed'"),
        ("Odd", "missing", "No module named 'no_such_module_of_mine'"),
        ("Odd", "part", "No module named 'gymnasium.no_such_part'"),
        (
            "Odd",
            "library",
            "No module named 'vizdoom'; install it: pip install '.[vizdoom]' in the clone of Ludus",
        ),
        ("Odd", "paragraph", "cannot be made: ImportError: this environment has moved to another package"),
    ],
)
def test_an_environment_that_cannot_be_hosted_is_named_with_a_remedy(
    name: str, does: str, message: str, limit: str
) -> None:
    game = f"{HERE}{name}{limit}-v0"
    with pytest.raises(ParamError) as caught:
        spec(typed(game), {"does": does})
    assert str(caught.value) == f"{game}: {message}"


def test_every_signature_with_seed_and_options_is_accepted() -> None:
    assert spec(typed(f"{HERE}Takes-v0")).seats == 1


@pytest.mark.parametrize("limit", ["", "Free"])
def test_a_step_with_four_values_is_named_in_the_error(limit: str) -> None:
    match = make_match(typed(f"{HERE}Odd{limit}-v0"), {"does": "four"})
    match.reset(1)
    match.step(np.zeros((1, 1), np.int32))
    message = "step() returned 4 values: expected observation, reward, terminated, truncated, info"
    assert match.error == f"ValueError: {message}"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ALE/Breakout-v5", "gymnasium/ale_py:ALE/Breakout-v5, or atari/Breakout)"),
        ("ALE/Pong-ram-v5", "gymnasium/ale_py:ALE/Pong-ram-v5, or atari/Pong)"),
        ("other/World-v0", "gymnasium/MODULE:other/World-v0)"),
    ],
)
def test_a_namespace_that_no_module_has_registered_gets_a_hint(
    name: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import gymnasium

    left = {key: entry for key, entry in gymnasium.registry.items() if entry.namespace != "ALE"}
    monkeypatch.setattr(gymnasium.envs.registration, "registry", left)
    monkeypatch.setattr(gymnasium, "registry", left)
    with pytest.raises(ParamError) as caught:
        spec(f"gymnasium/{name}")
    assert str(caught.value).endswith(f" (name the module that registers it: {message}")


@pytest.mark.parametrize("name", ["Ant-v3", "Humanoid-v2", "GymV26Environment-v0", "GymV21Environment-v0"])
def test_an_environment_that_has_moved_gets_the_message_of_its_library(
    name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ParamError) as caught:
        spec(f"gymnasium/{name}")
    assert str(caught.value).startswith(f"gymnasium/{name}: cannot be made: ImportError: ")
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")
