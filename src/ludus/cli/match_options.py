"""Options that ``ludus eval`` and ``ludus rate`` share: the game, and how matches are played."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec

from ludus.cli.arguments import QUIET, option
from ludus.cli.params import game_spec, read_game
from ludus.evaluation.settings import MatchHooks, MatchSettings
from ludus.presets.config import Device

if TYPE_CHECKING:
    from ludus.cli.progress import Progress
    from ludus.evaluation.evaluate import ParamChanges

Count = Annotated[int, msgspec.Meta(ge=1)]
Natural = Annotated[int, msgspec.Meta(ge=0)]
DeviceOption = Annotated[Device, option("device of networks; auto is the processor", "NAME")]


class MatchOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Base of commands that play matches between players given by name."""

    game: Annotated[str, option("the game (default: the one that the weights were trained on)", "GAME")] = ""
    frame_skip: Annotated[Natural, option("ticks between decisions (default: each player's own)", "N")] = 0
    param: Annotated[
        tuple[str, ...],
        option("set a parameter of the game; others stay as weights were trained; repeatable", "NAME=VALUE"),
    ] = ()
    seed: Annotated[Natural, option("seed of the matches", "N")] = 1
    greedy: Annotated[bool, option("play the most probable action instead of sampling")] = False
    threads: Annotated[
        Natural,
        option("simulation threads; 0 = the main thread, or one process (default: 0)", "N"),
    ] = 0
    random_start: Annotated[
        Natural, option("start each match with random play for up to N ticks, drawn per seat and match", "N")
    ] = 0
    max_ticks: Annotated[
        Natural, option("tick limit of a match (default: the game's own limit, else 20,000)", "N")
    ] = 0
    device: DeviceOption = "auto"
    json: Annotated[bool, option("print one JSON document")] = False
    quiet: Annotated[bool, QUIET] = False

    def game_and_params(self) -> tuple[str, ParamChanges | None]:
        """Return the game, "" where weights determine it, and changes of the weights' parameters, if any.

        Raises:
            UserError: An unknown game or a wrong parameter.
        """
        game, params = read_game(self.game, self.param)
        if game:
            game_spec(game, params)
        from ludus.evaluation.evaluate import ParamChanges

        return game, ParamChanges(params) if params else None

    def match_settings(self, matches: int) -> MatchSettings:
        """Return the shared options as settings of ``matches`` matches."""
        return MatchSettings(
            matches=matches,
            seed=self.seed,
            frame_skip=self.frame_skip,
            greedy=self.greedy,
            threads=self.threads,
            random_start=self.random_start,
            max_ticks=self.max_ticks,
            device=self.device,
        )


def hooks_of(progress: Progress) -> MatchHooks:
    """Return hooks that count matches on the display and end play on Ctrl-C."""
    return MatchHooks(progress.should_stop, progress.add, progress.played, progress.started)
