"""A resume under another budget: what moves with the budget, and what is said about it."""

from __future__ import annotations

import msgspec
import pytest

from ludus.algorithms import registry
from ludus.algorithms.config import (
    AlphaZeroConfig,
    AppoConfig,
    DqnConfig,
    MethodConfig,
)
from ludus.presets.config import (
    BeforeConfig,
    CurriculumConfig,
    GameConfig,
    Preset,
    RunConfig,
    TeamConfig,
)
from ludus.reporting.changes import Change, schedules_in_words
from ludus.training.schedules import moved_schedules, used_budget
from ludus.training.stopping import Budget

GAME = GameConfig("tic_tac_toe")
OLD, NEW = RunConfig(max_steps=1000), RunConfig(max_steps=2000)
MINUTES = RunConfig(max_minutes=10.0)


def state(steps: int = 1000, minutes: float = 0.0, **more: object) -> bytes:
    return msgspec.json.encode({"budget": Budget(steps=steps, minutes=minutes), **more})


def moved(
    algorithm: MethodConfig,
    before: RunConfig = OLD,
    after: RunConfig = NEW,
    used: bytes = b"",
    **parts: object,
) -> dict[str, tuple[float, float]]:
    preset = msgspec.structs.replace(Preset(GAME, algorithm=algorithm, run=after), **parts)
    return moved_schedules(before, preset, used or state())


def without_entropy(**settings: object) -> AppoConfig:
    constant = AppoConfig(entropy_coefficient=0.0, entropy_coefficient_final=0.0)
    return msgspec.structs.replace(constant, **settings)


@pytest.mark.parametrize(
    ("algorithm", "expected"),
    [
        (without_entropy(), {}),
        (
            without_entropy(learning_rate=1e-3, learning_rate_schedule="linear"),
            {"algorithm.learning_rate": (0.0, 5e-4)},
        ),
        (
            without_entropy(learning_rate=1e-3, learning_rate_final=1e-4, learning_rate_schedule="cosine"),
            {"algorithm.learning_rate": (1e-4, 5.5e-4)},
        ),
        (
            AppoConfig(entropy_coefficient=0.02, entropy_coefficient_final=0.0),
            {"algorithm.entropy_coefficient": (0.0, 0.01)},
        ),
        (without_entropy(horizon=100.0, horizon_final=300.0), {"algorithm.horizon": (300.0, 200.0)}),
        (
            without_entropy(teacher="RUN@best", teacher_coefficient=2.0),
            {"algorithm.teacher_coefficient": (0.0, 1.0)},
        ),
        (
            DqnConfig(epsilon_share=1.0, epsilon_final=0.0, priority_alpha=0.6),
            {"algorithm.epsilon": (0.0, 0.5), "algorithm.priority_beta": (1.0, 0.7)},
        ),
        (DqnConfig(epsilon_share=0.3), {}),  # both budgets are past its end
        (
            AlphaZeroConfig(learning_rate=0.02, learning_rate_schedule="linear"),
            {"algorithm.learning_rate": (0.002, 0.011)},
        ),
        (AlphaZeroConfig(learning_rate_schedule="steps", rate_steps=(10,)), {}),  # they count minibatches
    ],
)
def test_settings_that_move_with_the_budget(
    algorithm: MethodConfig, expected: dict[str, tuple[float, float]]
) -> None:
    found = moved(algorithm)
    assert found.keys() == expected.keys()
    for path, values in expected.items():
        assert found[path] == pytest.approx(values)


def test_parts_of_a_preset_besides_the_method() -> None:
    team = TeamConfig(spirit=0.2, spirit_final=1.0)
    assert moved(without_entropy(), team=team) == {"team.spirit": pytest.approx((1.0, 0.6))}
    curriculum = CurriculumConfig(bot="random", ticks=1000, share=1.0)
    assert moved(without_entropy(), curriculum=curriculum) == {"curriculum.ticks": (0.0, 500.0)}
    by_wins = CurriculumConfig(bot="random", ticks=1000, share=1.0, advance=0.5)
    assert moved(without_entropy(), curriculum=by_wins) == {}


@pytest.mark.parametrize(
    ("before", "after", "used", "expected"),
    [
        (OLD, OLD, state(), None),  # the same budget
        (OLD, RunConfig(max_steps=500), state(250), (0.75, 0.5)),  # smaller
        (MINUTES, RunConfig(max_minutes=40.0), state(5, 10.0), (0.0, 0.75)),
        (
            RunConfig(max_minutes=10.0),
            RunConfig(max_minutes=10.0, max_steps=100),
            state(50, 10.0),
            (0.0, 0.5),
        ),
        (RunConfig(target=0.5), RunConfig(max_steps=2000), state(), (1.0, 0.5)),  # unbounded before
        (OLD, NEW, state(0), None),  # nothing was trained
        (OLD, RunConfig(max_steps=1000, target=0.9), state(), None),
    ],
)
def test_budgets(
    before: RunConfig, after: RunConfig, used: bytes, expected: tuple[float, float] | None
) -> None:
    found = moved(without_entropy(learning_rate=1.0, learning_rate_schedule="linear"), before, after, used)
    assert found == ({} if expected is None else {"algorithm.learning_rate": pytest.approx(expected)})


def test_old_rules_keep_their_share_and_change_their_pace() -> None:
    before = BeforeConfig(params={"x": 1}, until=1.0)
    game = msgspec.structs.replace(GAME, before=before)
    half_way = {"span": 1.0, "clock": 0.5, "way": 0.5}
    used = state(500, before=half_way)
    (path,) = (larger := moved(without_entropy(), used=used, game=game))
    assert (path, larger[path]) == ("game.before.share", (0.5, 0.5))
    (line,) = schedules_in_words(Change("", (), schedules=larger))
    assert "game.before.share stays at 0.5 and moves at another pace" in line
    smaller = moved(without_entropy(), after=RunConfig(max_steps=625), used=used, game=game)
    assert smaller["game.before.share"] == pytest.approx((0.5, 0.2))
    by_steps = msgspec.structs.replace(GAME, before=BeforeConfig(params={"x": 1}, over_steps=800))
    assert moved(without_entropy(), used=used, game=by_steps) == {}
    assert moved(without_entropy(), used=state(500, before=half_way | {"way": 1.0}), game=game) == {}


def test_members_of_a_league_with_settings_of_their_own_are_named() -> None:
    used = state(members={"main": {"hyper": {"algorithm.learning_rate": 0.5}}, "copy": {"hyper": {}}})
    found = moved(without_entropy(learning_rate=1.0, learning_rate_schedule="linear"), used=used)
    assert found == {"algorithm.learning_rate": (0.0, 0.5), "main: algorithm.learning_rate": (0.0, 0.25)}


def test_one_sentence_says_what_continues_from_where() -> None:
    values = {"algorithm.learning_rate": (1.25e-4, 5e-4), "team.spirit": (1.0, 0.6)}
    assert schedules_in_words(Change("", (), schedules=values)) == [
        "schedules run over the new budget: algorithm.learning_rate was 0.000125 and continues from 0.0005, "
        "team.spirit was 1 and continues from 0.6"
    ]
    assert schedules_in_words(Change("", ())) == []


#: Settings under which the schedules of a struct are in force.
ENABLED = {"teacher": "RUN@best", "horizon": 10.0, "priority_alpha": 0.5, "learning_rate_schedule": "linear"}


@pytest.mark.parametrize("method", registry.methods(), ids=lambda m: m.name)
def test_every_setting_with_a_final_value_is_listed(method: registry.Method) -> None:
    """A setting that gets a schedule later must be listed, too."""
    fields = method.config.__struct_fields__
    names = {name.removesuffix("_final") for name in fields if name.endswith("_final")}
    names |= {name.removesuffix("_schedule") for name in fields if name.endswith("_schedule")}
    some = {name: value for name, value in ENABLED.items() if name in fields}
    assert {key for key, _ in method.config(**some).schedules()} == names


def test_the_budget_of_a_checkpoint_is_read_from_every_state() -> None:
    assert used_budget(state(77, other={"a": [1]})).steps == 77
