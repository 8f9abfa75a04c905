"""Errors of presets and runs."""

from __future__ import annotations

from pathlib import Path

from ludus.flow.errors import RunFailed as RunFailed
from ludus.flow.inputs.shown import shell
from ludus.flow.problem import Argument, HasProblems, Setting


class ConfigError(HasProblems, ValueError):
    """A preset that cannot be carried out. Its problems name the key, its value and what is expected."""


class GroupLost(RunFailed):
    """A learner of a group is gone. A new group may continue from the newest checkpoint."""


class RunUnsaved(RunFailed):
    """A run ended, and its last state is not on disk, or not the record of its end.

    Resuming ``run`` makes again what is missing. ``saved``: version of its newest checkpoint; None: none.
    """

    def __init__(self, run: Path, missing: str, saved: int | None) -> None:
        """Describe the end of ``run``; ``missing``: why it ended, and what was refused."""
        if saved is None:
            stands, again = "there is no checkpoint", "start it again"
        else:
            stands, again = "the newest checkpoint stands", f"resume it from version {saved}"
        super().__init__(f"{missing}; {stands}; {again}: ludus resume {shell(str(run))}")
        self.run, self.saved = run, saved


class EndlessMatch(RunFailed):
    """Matches of an evaluation exceed their limit of ticks."""

    def __init__(self, game: str, max_ticks: int, left: int, matches: int) -> None:
        """Describe the evaluation: ``left`` of ``matches`` matches were not over."""
        super().__init__(
            f"{game}: matches are longer than {max_ticks:,} ticks ({matches - left} of {matches} were over), "
            "so this evaluation might never end; raise the limit with ",
            Argument("max_ticks", form="N"),
            " (ludus eval, rate) or ",
            Setting("evaluation.max_ticks", form="N"),
            " (ludus train, resume), or truncate the matches (max_episode_steps of Gymnasium)",
        )


class Interrupted(Exception):
    """Ctrl-C: the run was saved and can be resumed from ``run``."""

    def __init__(self, run: Path, version: int) -> None:
        """Describe the run directory and the version that was saved."""
        super().__init__(
            f"interrupted after version {version} was saved; resume it: ludus resume {shell(str(run))}"
        )
        self.run, self.version = run, version
