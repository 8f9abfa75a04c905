"""Rewards and flags of any form: arrays of one element are read, other values are named in the error."""

from __future__ import annotations

import importlib.util
import re
import warnings

import numpy as np
import pytest

from ludus.games.checks.python_conformance import check_python
from ludus.games.exports.match import make_match
from ludus.games.names import typed
from ludus.games.numbers import flag, flags, number, numbers
from ludus.games.registry import maker

if importlib.util.find_spec("gymnasium") is None:
    pytest.skip("gymnasium is not installed", allow_module_level=True)

HERE = "tests.unit.games.paying_envs"
GAMES = [f"gymnasium/{HERE}:Pays-v0", f"pettingzoo/{HERE}", f"dm_env/{HERE}:dm", f"{HERE}:Own"]
WRONG = {
    "two": r"has shape \(2,\), expected a number",
    "word": r"is '1', expected a number",
    "huge": r"1e\+40 is too large: scale it",
}


def play(game: str, **params: str) -> str | float:
    library = game.partition("/")[0]
    if library in ("pettingzoo", "dm_env"):
        pytest.importorskip(library)
    match = make_match(typed(game), params)
    match.reset(1)
    earned = 0.0
    while not match.over:
        match.step(np.zeros((match.spec.seats, len(match.spec.heads)), np.int32))
        earned += float(match.rewards[0])
    return match.error or earned


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("form", ["one", "array", "square", "scalar", "list", "int"])
def test_a_number_in_an_array_of_one_is_a_number(game: str, form: str) -> None:
    assert play(game, reward=form) == 3.0


#: A Python game writes into float32 itself, and numpy reads numbers out of strings.
NAMED = [(game, form) for game in GAMES for form in WRONG if game != GAMES[-1] or form == "two"]


@pytest.mark.parametrize(("game", "form"), NAMED)
def test_a_reward_that_is_no_number_is_named_in_the_error(game: str, form: str) -> None:
    with warnings.catch_warnings(action="error"):
        error = play(game, reward=form)
    assert isinstance(error, str)
    assert re.search(rf"^ValueError: reward( of a)? {WRONG[form]}", error), error


def test_rewards_of_all_seats_are_written_at_once_or_named_in_the_error() -> None:
    assert play(GAMES[-1], reward="array", whole="true") == 3.0
    assert play(GAMES[-1], reward="two", whole="true") == 3.0


@pytest.mark.parametrize("game", [GAMES[0], GAMES[1], GAMES[3]])
def test_a_flag_in_an_array_of_one_is_a_flag(game: str) -> None:
    assert play(game, end="yes") == 3.0
    assert play(game, end="int") == 3.0
    what = {"g": "terminated", "p": "termination of a", "t": r"what step\(\) returned"}[game[0]]
    for end, message in {
        "both": r"has shape \(2,\), expected true or false",
        "word": "is '1', expected true or false",
        "half": "is 0.5, expected true or false",
    }.items():
        with pytest.raises(AssertionError, match=f"ValueError: {what} {message}"):
            raise AssertionError(play(game, end=end))


@pytest.mark.parametrize(
    ("reward", "detail"),
    [
        ("large", "are too large to learn from: scale them, to about -1 to 1"),
        ("inf", "expected finite numbers; a reward beyond 3.4e38 is too large: scale the rewards"),
        ("nan", "expected finite numbers"),
        ("two", "reward has shape (2,), expected a number"),
    ],
)
def test_the_check_names_rewards_that_cannot_be_learned_from(reward: str, detail: str) -> None:
    rows, _ = check_python(maker(typed(GAMES[0]), {"reward": reward}), 1, 1)
    (found,) = [text for _, passed, text in rows if not passed]
    assert detail in found


def test_single_numbers_and_flags_are_converted_or_refused() -> None:
    torch = pytest.importorskip("torch")
    assert number("reward", torch.tensor([2.0], requires_grad=False)) == 2.0
    assert number("reward", True) == 1.0
    assert np.isnan(number("reward", np.nan))
    assert number("reward", -np.inf) == -np.inf
    for wrong, text in {"x": "is 'x'", None: "is None", (1, 2): r"has shape \(2,\)", 1j: "is 1j"}.items():
        with pytest.raises(ValueError, match=f"^reward {text}, expected a number$"):
            number("reward", wrong)
    with pytest.raises(ValueError, match=r"^reward has shape \(0,\), expected a number$"):
        number("reward", [])
    assert flag("end", np.True_)
    assert not flag("end", 0)
    with pytest.raises(ValueError, match=r"^end is None, expected true or false$"):
        flag("end", None)


def test_numbers_and_flags_of_many_matches_are_converted_or_refused() -> None:
    assert numbers("reward", [[1.0], [2.0]], 2).tolist() == [1.0, 2.0]
    assert flags("end", [1, 0], 2).tolist() == [True, False]
    with pytest.raises(ValueError, match=r"^reward has shape \(3,\), expected 2 numbers$"):
        numbers("reward", [1, 2, 3], 2)
