"""``ludus go puct`` and ``ludus go virtual-loss``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec

from ludus.cli.arguments import option, positional
from ludus.cli.commands.go.options import GoOptions
from ludus.cli.errors import UserError

if TYPE_CHECKING:
    from ludus.analyses.analysis import Analysis

_FLOOR = (
    "the default against itself scores 50% by construction: equal searches repeat the match of a pair with "
    "the seats exchanged"
)
Value = Annotated[float, msgspec.Meta(ge=0, le=1000)]
Leaves = Annotated[int, msgspec.Meta(ge=2, le=4096)]


class _SettingOptions(GoOptions, frozen=True, kw_only=True):
    """Base of the two commands: weights, and how their searches meet."""

    weights: Annotated[str, positional("weights: RUN@best, RUN@VERSION, a file, zoo:NAME", "WEIGHTS")]

    def compare(
        self,
        analysis: type[Analysis],
        setting: str,
        values: Sequence[float],
        others: Mapping[str, float],
    ) -> int:
        """Play the values of a setting against its default, and return the exit code."""
        from ludus.analyses.analysis import PreparedAnalysis
        from ludus.analyses.matches import match_units
        from ludus.analyses.setting_values import value_pairings
        from ludus.analyses.subject import weights_of
        from ludus.mcts import SearchConfig
        from ludus.storage import resolve_weights

        if len(set(values)) < len(values):
            raise UserError("--values: a value twice")
        if self.visits < 2:
            raise UserError(f"--visits {self.visits}: expected 2 or more, the setting is one of a search")
        weights = weights_of(self.weights)
        game = self.game_of([weights])
        default = float(getattr(SearchConfig(), setting))
        pairings, players = value_pairings(weights, setting, values, default, self.visits, others)
        prepared = PreparedAnalysis(
            analysis,
            weights,
            game.spec,
            game.params,
            self.seed,
            {
                **self.common_settings(),
                "values": " ".join(f"{value:g}" for value in sorted(values)),
                **others,
            },
            players,
            match_units(pairings, players, self.terms(game)),
            self.visits,
            (f"{setting} = {default:g}",),
            (_FLOOR,),
        )
        return self.carry_out(prepared, self.folder(Path(resolve_weights(weights)).absolute()))


class GoPuct(_SettingOptions, frozen=True, kw_only=True):
    """Play values of the search's c_puct against the default, with equal visits.

    Figure 6 of ELF OpenGo. The default against itself is the floor. Other settings of the search are the
    defaults.
    """

    EXAMPLES: ClassVar = ("ludus go puct RUN@best --values 0.5 --values 3 --visits 100 --matches 100",)

    values: Annotated[
        tuple[Value, ...],
        option("value of c_puct; repeatable (default: 0.5, 0.85, 1.0, 1.5, 2.0, 3.0)", "X"),
    ] = (0.5, 0.85, 1.0, 1.5, 2.0, 3.0)

    def run(self) -> int:
        """Play the matches, write and print the record, and return the exit code."""
        from ludus.analyses.setting_values import PuctAnalysis

        return self.compare(PuctAnalysis, "c_puct", self.values, {})


class GoVirtualLoss(_SettingOptions, frozen=True, kw_only=True):
    """Play values of the search's virtual loss against the default, with equal visits.

    Table 1 of ELF OpenGo. A virtual loss acts only where one tree has several leaves in a batch (--leaves).
    The default against itself is the floor.
    """

    EXAMPLES: ClassVar = ("ludus go virtual-loss RUN@best --values 0.2 --values 5 --leaves 16 --visits 200",)

    values: Annotated[
        tuple[Value, ...], option("a virtual loss; repeatable (default: 0.1, 0.2, 0.5, 1, 2, 3, 5)", "X")
    ] = (0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 5.0)
    leaves: Annotated[Leaves, option("leaves of one tree in a batch", "N")] = 8

    def run(self) -> int:
        """Play the matches, write and print the record, and return the exit code."""
        from ludus.analyses.setting_values import VirtualLossAnalysis

        if self.visits < self.leaves:
            raise UserError(f"--visits {self.visits}: expected {self.leaves} (--leaves) or more")
        return self.compare(VirtualLossAnalysis, "virtual_loss", self.values, {"leaves": self.leaves})
