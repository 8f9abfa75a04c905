"""Makers of scenarios under parameters.

A tick is one decision, repeated for ``frame_skip`` tics of the engine. A seat observes the screen, scaled
down by area averaging, and the game variables that the scenario lists.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ludus.flow.spec import GameSpec, ParamSpec
from ludus.games.adapters.vizdoom import configuration
from ludus.games.adapters.vizdoom.bots import bots_of
from ludus.games.adapters.vizdoom.buttons import SETS, Turning, action_set, known_buttons, named_buttons
from ludus.games.adapters.vizdoom.engine import MAX_PLAYERS, EngineSettings
from ludus.games.adapters.vizdoom.measures import chosen, is_private
from ludus.games.adapters.vizdoom.scenario import Scenario, config_of, scenario_of
from ludus.games.adapters.vizdoom.seat import SeatObservation, VizdoomSeat
from ludus.games.adapters.vizdoom.shaping import PARTS, shapings, weighted
from ludus.games.adapters.vizdoom.tally import ALONE, BEST_BOT, FRAGS
from ludus.games.python_game import PythonGame, VectorGame, declare, typed_params

if TYPE_CHECKING:
    from ludus.games.adapters.vizdoom.bare import BareEngine

_SWITCH = ("false", "true")
RESOLUTIONS = (
    *("160x120", "200x125", "200x150", "256x144", "256x160", "256x192", "320x180", "320x200", "320x240"),
    *("400x225", "400x250", "400x300", "512x288", "512x320", "512x384", "640x360", "640x400", "640x480"),
    *("800x450", "800x500", "800x600"),
)


def params_of(data: Scenario) -> tuple[ParamSpec, ...]:
    """Return the parameters of a scenario, with its defaults."""
    return (
        ParamSpec("frame_skip", "integer", "4", 1, 100, meaning="tics that a decision is held for"),
        ParamSpec("height", "integer", "72", 8, 600, meaning="of the observed screen, pixels"),
        ParamSpec("width", "integer", "128", 8, 800, meaning="of the observed screen, pixels"),
        ParamSpec("colour", "text", "true", choices=_SWITCH, meaning="red, green and blue, else grey"),
        ParamSpec("resolution", "text", "160x120", choices=RESOLUTIONS, meaning="of the engine's picture"),
        ParamSpec(
            "centre", "text", "false", choices=_SWITCH, meaning="also the enlarged centre of the screen"
        ),
        ParamSpec("depth", "text", "false", choices=_SWITCH, meaning="also the distance of each pixel"),
        ParamSpec(
            "labels", "text", "false", choices=_SWITCH, meaning="also the kind of object at each pixel"
        ),
        ParamSpec(
            "variables",
            "text",
            "",
            meaning="observed game variables, by name, or none; empty: the scenario's",
        ),
        ParamSpec(
            *("actions", "text", data.actions),
            choices=SETS,
            meaning="one button at most, a head for each, opposite buttons in one head, six actions",
        ),
        ParamSpec(
            *("turn_choices", "integer", str(data.turn_choices), 3, 101),
            meaning="choices of a button with a range, an odd number",
        ),
        ParamSpec(
            *("turn_degrees", "real", f"{data.turn_degrees:g}", 0.1, 180.0),
            meaning="largest turn of such a button in a tic",
        ),
        ParamSpec("buttons", "text", "", meaning="of the engine, by name; empty: the scenario's"),
        ParamSpec("off", "text", "", meaning="buttons that no legal choice presses, by name"),
        ParamSpec("shaping", "text", data.shaping, choices=tuple(shapings()), meaning="table of rewards"),
        *(
            ParamSpec(name, "real", "1.0", 0.0, 100.0, meaning=f"of the rewards for {', '.join(paid)}")
            for name, paid in PARTS.items()
        ),
        ParamSpec("skill", "integer", "0", 0, 5, meaning="difficulty; 0 = the scenario's own"),
        ParamSpec(
            *("players", "integer", str(data.players), 1, MAX_PLAYERS),
            meaning="seats; from 2 on they play against each other",
        ),
        ParamSpec(
            "bots", "integer", str(data.bots), 0, MAX_PLAYERS - 1, meaning="built-in bots in the match"
        ),
        ParamSpec("bot_names", "text", "", meaning="their names in bots.cfg; empty: drawn by the engine"),
        ParamSpec(
            "bot_skill", "integer", "-1", -1, 100, meaning="skill of all bots; -1 = as bots.cfg has it"
        ),
        ParamSpec("bots_file", "text", "", meaning="path of another bots.cfg"),
        ParamSpec(
            *("match_tics", "integer", str(data.match_tics), 1, 1 << 20),
            meaning="length of a match against players or bots; 35 are a second",
        ),
        ParamSpec(
            "respawn_s", "integer", str(data.respawn_s), 0, 60, meaning="seconds until a player is back"
        ),
        ParamSpec(
            *("tic_s", "real", "10.0", 0.1, 600),
            meaning="an engine that needs longer for a tic is frozen",
        ),
    )


class VizdoomMaker:
    """Maker of a scenario under parameters."""

    def __init__(self, name: str, params: Mapping[str, str]) -> None:
        """Load the scenario and declare its spec. Raises ``ValueError`` for one that cannot be played."""
        config, data = config_of(name), scenario_of(name)
        declared = params_of(data)
        values: dict[str, Any] = {
            **typed_params(declared, {p.name: p.default_value for p in declared}),
            **typed_params(declared, params),
        }
        self.frame_skip, self.match_tics = values["frame_skip"], values["match_tics"]
        self.tic_s, self.respawn_s = float(values["tic_s"]), values["respawn_s"]
        self.players = values["players"]
        self.bots = bots_of(*(values["bots"], values["bot_names"], values["bot_skill"], values["bots_file"]))
        most = min(MAX_PLAYERS, data.most_players)
        if self.players + self.bots.count > most:
            raise ValueError(
                f"vizdoom/{name}: {self.players} players and {self.bots.count} bots, "
                f"expected at most {most} together"
            )
        if values["turn_choices"] % 2 == 0:
            raise ValueError(f"turn_choices = {values['turn_choices']}: expected an odd number")
        self.shaping = weighted(shapings()[values["shaping"]], {name: float(values[name]) for name in PARTS})
        width, height = map(int, values["resolution"].split("x"))
        if values["height"] > height or values["width"] > width:
            raise ValueError(
                f"height, width = {values['height']}, {values['width']}: expected at most the resolution, "
                f"{height}, {width}"
            )
        read = configuration.read(config)
        read.check_match(self.players, self.bots.count)
        buttons, listed = data.buttons or read.buttons, read.variables
        shown = data.variables or tuple(v for v in listed if not is_private(v))
        self._seen = SeatObservation(
            *(values["height"], values["width"], values["colour"], values["centre"]),
            *(values["depth"], values["labels"]),
            chosen(values["variables"], shown, listed),
        )
        buttons = named_buttons("buttons", values["buttons"], known_buttons()) or buttons
        self.actions = action_set(
            values["actions"],
            buttons,
            Turning(values["turn_choices"], float(values["turn_degrees"])),
            named_buttons("off", values["off"], buttons),
        )
        self._settings = EngineSettings(
            *(config, values["resolution"], values["colour"], values["depth"], values["labels"]),
            *(values["skill"], self.actions.buttons, self._seen.variables),
        )
        self.match = data.match or self.players > 1 or self.bots.count > 0
        tics = self.match_tics if self.match else read.timeout or 1 << 30
        best = (BEST_BOT,) if self.bots.count else ()
        self.spec: GameSpec = declare(
            f"vizdoom/./{config.name}" if name.endswith(".cfg") else f"vizdoom/{name}",
            title=data.title or f"{config.stem} of ViZDoom",
            version=2,
            observation=self._seen.tensors(),
            heads=self.actions.heads,
            seats=self.players,
            max_ticks=-(-int(tics) // self.frame_skip),
            params=declared,
            scores=(*FRAGS, *best) if self.match else ALONE,
            # Engines that play each other continue with the random numbers of their last match.
            reproducible=self.players == 1,
            meaning="A tick is one decision: frame_skip tics of the engine, 35 of which are a second.",
        )

    def engine(self) -> Any:
        """Create a DoomGame that is not started yet."""
        return self._settings.engine()

    def seat(self) -> VizdoomSeat:
        """Create the observation of one player."""
        return VizdoomSeat(self._seen)

    def make(self) -> PythonGame:
        """Create a game of one engine, or a match of several."""
        from ludus.games.adapters.vizdoom.game import VizdoomGame
        from ludus.games.adapters.vizdoom.match import VizdoomMatch

        return VizdoomGame(self) if self.players == 1 else VizdoomMatch(self)

    def bare(self, seed: int) -> BareEngine | None:
        """Start an engine that plays by itself; None for matches of several players."""
        from ludus.games.adapters.vizdoom.bare import BareEngine

        return BareEngine(self, seed) if self.players == 1 else None

    def make_vector(self, matches: int) -> VectorGame | None:
        """Return None: ViZDoom has no vectorised environments."""
        return None


def maker(name: str, params: Mapping[str, str]) -> VizdoomMaker:
    """Return a maker of the scenario ``name``: see :class:`VizdoomMaker`."""
    return VizdoomMaker(name, params)
