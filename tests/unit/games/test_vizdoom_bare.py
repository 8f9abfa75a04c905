"""The engine of ViZDoom without Ludus, as ``ludus bench sim`` plays it. No engine runs here."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from ludus.games.adapters.vizdoom.bare import BareEngine
from ludus.games.adapters.vizdoom.bots import Bots
from ludus.games.adapters.vizdoom.buttons import MAX_KNOWN, Turning, action_set

BUTTONS = ("move_forward", "move_backward", "attack", "turn_left_right_delta")
ACTIONS = action_set("composite", BUTTONS, Turning(11, 10.0))


class Doom:
    """An engine whose episodes have ``length`` decisions; it counts what is called."""

    def __init__(self, length: int) -> None:
        self.length, self.at = length, 0
        self.pressed: list[list[float]] = []
        self.calls: dict[str, int] = {}

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as the library's
        def call(*_: object) -> None:
            self.calls[name] = self.calls.get(name, 0) + 1

        return call

    def make_action(self, buttons: list[float], tics: int) -> float:
        self.pressed.append(list(buttons))
        self.at += 1
        return float(tics)

    def new_episode(self) -> None:
        self.at = 0
        self.calls["new_episode"] = self.calls.get("new_episode", 0) + 1

    def is_episode_finished(self) -> bool:
        return self.at >= self.length

    def get_state(self) -> object:
        self.calls["get_state"] = self.calls.get("get_state", 0) + 1
        return None if self.is_episode_finished() else SimpleNamespace(screen_buffer=np.zeros(3))


def played(length: int, bots: int, match_tics: int, ticks: int) -> Doom:
    doom = Doom(length)
    setting = SimpleNamespace(
        engine=lambda: doom,
        actions=ACTIONS,
        bots=Bots(bots),
        match=bots > 0,
        match_tics=match_tics,
        frame_skip=4,
        respawn_s=0,
    )
    bare = BareEngine(cast(Any, setting), seed=3)
    assert bare.frames == 4
    for _ in range(ticks):
        bare.tick()
    bare.close()
    return doom


def test_a_bare_engine_plays_every_choice_and_goes_on_after_an_episode() -> None:
    doom = played(length=10, bots=0, match_tics=8, ticks=200)
    assert doom.calls["new_episode"] == 20
    assert doom.calls["get_state"] == 200
    assert doom.calls["close"] == 1
    for button in range(len(BUTTONS)):
        values = {pressed[button] for pressed in doom.pressed}
        assert values == ({0.0, 1.0} if button < 3 else set(np.linspace(-10, 10, 11).tolist()))


def test_a_match_against_bots_ends_after_its_tics_and_has_its_bots_again() -> None:
    doom = played(length=1000, bots=2, match_tics=40, ticks=30)
    assert doom.calls["new_episode"] == 3
    assert doom.calls["send_game_command"] == 4 * 3  # at the start too: all away, then two more
    assert doom.calls["set_episode_timeout"] == 1


def test_the_buttons_of_a_decision_are_the_same_when_they_are_looked_up() -> None:
    actions = action_set("composite", BUTTONS, Turning(11, 10.0))
    decisions = [np.array([m, a, t], np.int32) for m in range(3) for a in range(2) for t in range(11)]
    first = [list(actions.press(d)) for d in decisions]
    assert [list(actions.press(d)) for d in decisions] == first
    assert len({tuple(pressed) for pressed in first}) == len(decisions)
    assert len(decisions) < MAX_KNOWN
