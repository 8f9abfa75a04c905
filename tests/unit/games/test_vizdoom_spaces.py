"""Actions and observations of ViZDoom, against the papers' spaces and Sample Factory's measurements."""

from __future__ import annotations

import importlib.util
import itertools
import math
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from ludus.games.adapters.vizdoom.buttons import ActionSet, Turning, action_set, named_buttons
from ludus.games.adapters.vizdoom.game import VizdoomGame
from ludus.games.adapters.vizdoom.measures import Measures, chosen
from ludus.games.adapters.vizdoom.scenario import scenarios
from ludus.games.adapters.vizdoom.seat import KINDS, SeatObservation, VizdoomSeat, _kind
from ludus.games.names import typed
from ludus.games.registry import maker, spec
from ludus.native import ParamError

needs_vizdoom = pytest.mark.skipif(
    importlib.util.find_spec("vizdoom") is None, reason="vizdoom is not installed"
)
SMALL = {"height": "30", "width": "40", "colour": "false"}
MOVES = ("move_forward", "move_backward", "move_right", "move_left")
WEAPONS = tuple(f"select_weapon{n}" for n in range(1, 8))
TURN = "turn_left_right_delta"
#: Buttons of Sample Factory's scenarios.
BATTLE = (*MOVES, "attack", "speed", TURN)
DUEL = (*MOVES, *WEAPONS, "attack", "speed", "use", TURN)
DEATHMATCH = (*MOVES, *WEAPONS, "attack", "speed", TURN)
GATHERING = ("turn_left", "turn_right", "move_forward", "move_backward")
ELEVEN, FINE = Turning(11, 10.0), Turning(21, 12.5)


def pressed(actions: ActionSet, *choices: int) -> dict[str, float]:
    """Return the buttons that a decision presses, and their values."""
    values = actions.press(np.array([choices], np.int32)[0])
    return {name: value for name, value in zip(actions.buttons, values, strict=True) if value}


def every_decision(actions: ActionSet) -> list[dict[str, float]]:
    return [pressed(actions, *c) for c in itertools.product(*(range(h.size) for h in actions.heads))]


@pytest.mark.parametrize(
    ("buttons", "turning", "sizes", "joint"),
    [
        (BATTLE, ELEVEN, [3, 3, 2, 2, 11], 396),
        (DUEL, FINE, [3, 3, 8, 2, 2, 2, 21], 12_096),
        (DEATHMATCH, FINE, [3, 3, 8, 2, 2, 21], 6_048),
        (GATHERING, ELEVEN, [3, 3], 9),
        (("turn_left", "turn_right", "attack"), ELEVEN, [3, 2], 6),
        ((*GATHERING, "move_left", "move_right", "attack"), ELEVEN, [3, 3, 3, 2], 54),
    ],
    ids=["battle", "duel", "deathmatch", "my way home", "defend", "deadly corridor"],
)
def test_the_composite_sets_are_those_of_sample_factory(
    buttons: tuple[str, ...], turning: Turning, sizes: list[int], joint: int
) -> None:
    actions = action_set("composite", buttons, turning)
    assert [h.size for h in actions.heads] == sizes
    if joint > 1000:
        assert math.prod(sizes) == joint
        return
    decisions = every_decision(actions)
    assert len({tuple(sorted(d.items())) for d in decisions}) == joint == len(decisions)


def test_opposite_buttons_exclude_each_other_and_turns_are_steps() -> None:
    actions = action_set("composite", BATTLE, ELEVEN)
    for decision in every_decision(actions):
        assert len(decision.keys() & {"move_forward", "move_backward"}) < 2
        assert len(decision.keys() & {"move_right", "move_left"}) < 2
    turns = [pressed(actions, 0, 0, 0, 0, n).get(TURN, 0.0) for n in range(11)]
    assert turns[0] == 0.0
    assert sorted(turns) == pytest.approx(np.linspace(-10, 10, 11))
    fine = action_set("composite", DUEL, FINE)
    turns = [pressed(fine, 0, 0, 0, 0, 0, 0, n).get(TURN, 0.0) for n in range(21)]
    assert sorted(turns) == pytest.approx(np.linspace(-12.5, 12.5, 21))
    weapons = [pressed(fine, 0, 0, n, 0, 0, 0, 0) for n in range(8)]
    assert weapons == [{}, *({w: 1.0} for w in WEAPONS)]


def test_a_button_with_a_range_takes_the_place_of_its_two_buttons() -> None:
    actions = action_set("composite", ("turn_left", "turn_right", TURN), Turning(3, 5.0))
    assert every_decision(actions) == [{}, {TURN: -5.0}, {TURN: 5.0}]


def test_single_presses_one_button_and_multi_any_of_them() -> None:
    buttons = ("turn_left", "turn_right", "attack")
    single, multi = (action_set(kind, buttons, ELEVEN) for kind in ("single", "multi"))
    assert every_decision(single) == [{}, *({b: 1.0} for b in buttons)]
    assert [h.name for h in multi.heads] == [*buttons]
    assert len(every_decision(multi)) == 8
    assert dict.fromkeys(buttons, 1.0) in every_decision(multi)


def test_cig_has_the_six_actions() -> None:
    actions = action_set("cig", scenarios()["cig"].buttons, ELEVEN)
    (head,) = actions.heads
    assert head.labels == ("run", "fire", "left", "right", "turn_left", "turn_right")
    assert pressed(actions, 0) == {"move_forward": 1.0, "speed": 1.0}
    assert pressed(actions, 1) == {"attack": 1.0}
    with pytest.raises(ValueError, match="actions = cig: needs move_forward, speed"):
        action_set("cig", ("attack", "move_left", "move_right", "turn_left", "turn_right"), ELEVEN)


def legal(actions: ActionSet) -> list[int]:
    out = np.full(sum(h.size for h in actions.heads), 7, np.uint8)
    actions.legal(out)
    found: list[int] = out.tolist()
    return found


def test_buttons_that_are_off_make_their_choices_illegal() -> None:
    assert legal(action_set("composite", BATTLE, ELEVEN)) == [1] * 21
    off = legal(action_set("composite", BATTLE, ELEVEN, ("attack", "move_left")))
    assert [i for i, ok in enumerate(off) if not ok] == [5, 7]
    cig = action_set("cig", scenarios()["cig"].buttons, ELEVEN, ("attack",))
    assert legal(cig) == [1, 0, 1, 1, 1, 1]
    with pytest.raises(ValueError, match=r"off = .*attack: the head action has no other choice"):
        action_set("cig", scenarios()["cig"].buttons, ELEVEN, (*MOVES, "turn_left", "turn_right", "attack"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("atack", r"off = atack: no button atack \(did you mean attack\?\)"),
        ("attack, attack", "off = attack, attack: attack comes twice"),
        ("attack,,speed", "no button without a name"),
        (",".join(["attack"] * 65), "65 names, expected at most 64"),
    ],
)
def test_mistakes_in_names_of_buttons(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        named_buttons("off", text, BATTLE)


def test_names_of_buttons() -> None:
    assert named_buttons("off", " ATTACK , speed", BATTLE) == ("attack", "speed")
    assert named_buttons("off", "", BATTLE) == ()


# ---- observations -----------------------------------------------------------------------------------


def test_measurements_are_scaled_as_sample_factory_s() -> None:
    """Computed by Sample Factory's wrapper from the same values of the engine, by hand."""
    raw = {
        "selected_weapon": (2, 2.0),
        "selected_weapon_ammo": (50, 50 / 15),
        "health": (77, 77 / 30),
        "armor": (100, 100 / 30),
        "user2": (7, 0.7),
        "attack_ready": (1, 1.0),
        "player_count": (8, 1.6),
        "weapon2": (1, 1.0),
        "ammo3": (40, 40 / 15),
        "ammo5": (400, 5.0),  # capped
    }
    measured = Measures(tuple(raw)).scaled(np.array([v for v, _ in raw.values()], np.float64))
    assert measured == pytest.approx([expected for _, expected in raw.values()])
    dead = Measures(("selected_weapon", "selected_weapon_ammo", "health"))
    assert dead.scaled(np.array([-1.0, -1.0, -20.0])).tolist() == [0.0, 0.0, 0.0]
    assert Measures(("health",)).scaled(np.array([math.nan])).tolist() == [0.0]
    frags = Measures(("fragcount", "position_x"))
    assert frags.scaled(np.array([-3.0, -500.0])).tolist() == pytest.approx([-0.3, -500.0])


def test_variables_are_chosen_by_name() -> None:
    shown, listed = ("health",), ("position_x", "health", "ammo2")
    assert chosen("", shown, listed) == ("health",)
    assert chosen("none", shown, listed) == ()
    assert chosen("Ammo2, position_x", shown, listed) == ("ammo2", "position_x")
    for text, message in [
        ("helth", r"the scenario does not list helth \(did you mean health\?\)"),
        ("health,", "the scenario does not list an empty name"),
        ("health,health", "health comes twice"),
        (",".join(["health"] * 65), "65 names, expected at most 64"),
    ]:
        with pytest.raises(ValueError, match=message):
            chosen(text, shown, listed)


@pytest.mark.parametrize(
    ("name", "category", "kind"),
    [
        ("DoomPlayer", "Self", "self"),
        ("DoomPlayer", "Player", "player"),
        ("DoomImp", "Monster", "monster"),
        ("Medikit", "Health", "item"),
        ("GreenArmor", "Armor", "item"),
        ("Clip", "Ammo", "ammunition"),
        ("Shotgun", "Weapon", "weapon"),
        ("Rocket", "Explosive", "projectile"),
        ("DeadZombieman", "Gore", "other"),
        ("TeleportFog", "SFX", "other"),
        ("DoomPlayer", "", "player"),
    ],
)
def test_kinds_of_objects(name: str, category: str, kind: str) -> None:
    assert KINDS[_kind(name, category)] == kind


def screen(shape: tuple[int, ...]) -> np.ndarray:
    """Return a picture that is 200 in the middle 30%, and 20 elsewhere."""
    picture = np.full(shape, 20, np.uint8)
    height, width = shape[-2:]
    top, left = int(height * 0.35), int(width * 0.35)
    picture[..., top : height - top, left : width - left] = 200
    return picture


def seen_by(seen: SeatObservation, **state: object) -> dict[str, np.ndarray]:
    seat = VizdoomSeat(seen)
    seat.look(SimpleNamespace(get_state=lambda: SimpleNamespace(**state)))
    out = {t.name: np.zeros(t.packed_shape, t.packed_dtype) for t in seen.tensors()}
    seat.write(out)
    return out


@pytest.mark.parametrize("colour", [True, False])
def test_the_centre_is_enlarged_beside_the_whole_screen(colour: bool) -> None:
    """TLeague: 800 x 450 shrinks to 168 x 168, and so does its centre."""
    seen = SeatObservation(168, 168, colour, True, False, False, ())
    planes = 3 if colour else 1
    got = seen_by(seen, screen_buffer=screen((3, 450, 800) if colour else (450, 800)))["screen"]
    assert got.shape == (2 * planes, 168, 168)
    whole, centre = got[:planes], got[planes:]
    assert (centre == 200).all()
    assert (whole[:, 70:100, 70:100] == 200).all()
    assert (whole[:, :50] == 20).all()
    assert (whole[:, :, :50] == 20).all()


def test_planes_of_depth_and_kinds() -> None:
    labels = np.zeros((120, 160), np.uint8)
    labels[:, 80:], labels[60:, 80:] = 63, 255
    there = [
        SimpleNamespace(value=63, object_name="DoomImp", object_category="Monster"),
        SimpleNamespace(value=255, object_name="DoomPlayer", object_category="Self"),
    ]
    seen = SeatObservation(30, 40, False, False, True, True, ())
    got = seen_by(
        seen,
        screen_buffer=screen((120, 160)),
        depth_buffer=np.full((120, 160), 83, np.uint8),
        labels_buffer=labels,
        labels=there,
    )
    assert (got["depth"] == 83).all()
    assert got["labels"].shape == (1, 30, 40)
    assert (got["labels"][0, :, :20] == 0).all()
    assert (got["labels"][0, :15, 20:] == KINDS.index("monster")).all()
    assert (got["labels"][0, 15:, 20:] == KINDS.index("self")).all()


# ---- scenarios of the library -----------------------------------------------------------------------

#: Figure 6 of Sample Factory's paper: scenario, parameters, sizes of the heads.
FIGURE_6 = {
    "my_way_home": ({"actions": "composite", "buttons": ",".join(GATHERING)}, [3, 3]),
    "deadly_corridor": ({"actions": "composite"}, [3, 2, 3, 3]),
    "defend_the_center": ({"actions": "composite"}, [3, 2]),
    "defend_the_line": ({"actions": "composite"}, [3, 2]),
    "health_gathering": ({"buttons": ",".join(GATHERING)}, [5]),
    "health_gathering_supreme": ({"buttons": ",".join(GATHERING)}, [5]),
    "basic": ({}, [4]),
}


@needs_vizdoom
@pytest.mark.parametrize("name", FIGURE_6)
def test_the_standard_scenarios_have_the_paper_s_spaces(name: str) -> None:
    params, sizes = FIGURE_6[name]
    assert [h.size for h in spec(f"vizdoom/{name}", params).heads] == sizes


def mine(folder: Path, variables: str, buttons: str = "MOVE_LEFT MOVE_RIGHT ATTACK") -> str:
    import vizdoom

    path = folder / "mine.cfg"
    shutil.copy(Path(vizdoom.scenarios_path, "basic.wad"), folder)
    path.write_text(
        "doom_scenario_path = basic.wad\nepisode_timeout = 40\n"
        f"available_buttons = {{ {buttons} }}\navailable_game_variables = {{ {variables} }}\n"
    )
    return typed(f"vizdoom/{path}")


@needs_vizdoom
def test_private_variables_are_observed_only_if_named(tmp_path: Path) -> None:
    name = mine(tmp_path, "POSITION_X POSITION_Y ANGLE HEALTH PLAYER1_FRAGCOUNT AMMO2")

    def labels(**params: str) -> tuple[str, ...]:
        found = [t.labels for t in spec(name, params).observation if t.name == "variables"]
        return found[0] if found else ()

    assert labels() == ("health", "ammo2")
    assert labels(variables="angle,health") == ("angle", "health")
    assert labels(variables="none") == ()
    with pytest.raises(ParamError, match=r"does not list velocity_x"):
        labels(variables="velocity_x")


@needs_vizdoom
@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"off": "atack"}, r"off = atack: no button atack \(did you mean attack\?\)"),
        ({"off": "speed"}, "no button speed"),
        ({"buttons": "turn_lft"}, r"no button turn_lft \(did you mean turn_left\?\)"),
        ({"actions": "cig"}, "actions = cig: needs"),
        ({"turn_choices": "4"}, "expected an odd number"),
        ({"height": "168"}, "expected at most the resolution, 120, 160"),
    ],
)
def test_mistakes_in_parameters(params: dict[str, str], message: str) -> None:
    with pytest.raises(ParamError, match=message):
        spec("vizdoom/basic", params)


def made(name: str, params: Mapping[str, str]) -> VizdoomGame:
    game = maker(name, params).make()
    assert isinstance(game, VizdoomGame)
    return game


def play_at_random(game: VizdoomGame, matches: int, seed: int = 1) -> list[set[int]]:
    """Play legal choices at random. Returns the choices of each head that were played."""
    heads, draw = game.spec.heads, np.random.default_rng(seed)
    allowed = np.zeros(sum(h.size for h in heads), np.uint8)
    ends = np.cumsum([h.size for h in heads])
    played: list[set[int]] = [set() for _ in heads]
    for match in range(matches):
        game.reset(match)
        over = False
        while not over:
            game.legal(0, allowed)
            parts = np.split(allowed, ends[:-1])
            choices = [int(draw.choice(np.flatnonzero(part))) for part in parts]
            for head, choice in zip(played, choices, strict=True):
                head.add(choice)
            over = game.step(np.array([choices], np.int32))
    return played


@needs_vizdoom
@pytest.mark.parametrize(
    ("matches", "params"),
    [
        (15, {"actions": "composite"}),
        pytest.param(1000, {"actions": "composite"}, marks=pytest.mark.slow),
        pytest.param(1000, {"actions": "multi"}, marks=pytest.mark.slow),
        pytest.param(1000, {"actions": "single"}, marks=pytest.mark.slow),
        pytest.param(1000, {"actions": "composite", "off": "attack"}, marks=pytest.mark.slow),
    ],
    ids=["composite of 15", "composite", "multi", "single", "off"],
)
def test_random_play_plays_every_legal_choice(matches: int, params: dict[str, str], tmp_path: Path) -> None:
    """A range of eleven steps, and buttons; every match ends after ten decisions."""
    buttons = "MOVE_LEFT MOVE_RIGHT ATTACK TURN_LEFT_RIGHT_DELTA"
    game = made(mine(tmp_path, "AMMO2", buttons), {**SMALL, **params})
    try:
        played = play_at_random(game, matches)
        legal_ = np.zeros(sum(h.size for h in game.spec.heads), np.uint8)
        game.legal(0, legal_)
        ends = np.cumsum([h.size for h in game.spec.heads])[:-1]
        assert played == [set(np.flatnonzero(part).tolist()) for part in np.split(legal_, ends)]
    finally:
        game.close()


@needs_vizdoom
def test_a_button_that_is_off_is_never_pressed() -> None:
    shots = []
    for params in ({}, {"off": "attack"}):
        game = made("vizdoom/defend_the_center", {**SMALL, "actions": "multi", **params})
        try:
            play_at_random(game, 1)
            out = {t.name: np.zeros(t.packed_shape, t.packed_dtype) for t in game.spec.observation}
            game.observe(0, out)
            shots.append(26 - round(float(out["variables"][0]) * 15))
        finally:
            game.close()
    assert shots[0] > 0
    assert shots[1] == 0


@needs_vizdoom
@pytest.mark.parametrize(
    ("name", "kinds"),
    [("deadly_corridor", {"monster", "self"}), ("health_gathering", {"item"})],
)
def test_the_engine_labels_kinds_of_objects(name: str, kinds: set[str]) -> None:
    params = {**SMALL, "labels": "true", "depth": "true", "resolution": "256x144"}
    game = made(f"vizdoom/{name}", params)
    try:
        out = {t.name: np.zeros(t.packed_shape, t.packed_dtype) for t in game.spec.observation}
        found: set[int] = set()
        game.reset(3)
        for n in range(12):
            game.observe(0, out)
            found |= set(np.unique(out["labels"]).tolist())
            assert len(np.unique(out["depth"])) > 3
            if game.step(np.array([[1 + n % 2]], np.int32)):
                break
        assert kinds <= {KINDS[k] for k in found}
    finally:
        game.close()
