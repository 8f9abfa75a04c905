"""``ludus go agreement``."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec

from ludus.cli.arguments import option, positional
from ludus.cli.commands.go.options import RecordingOptions, versions_of, with_initial
from ludus.cli.errors import UserError
from ludus.cli.match_options import Count, Natural
from ludus.cli.params import read_game
from ludus.cli.words import said

Positions = Annotated[int, msgspec.Meta(ge=1, le=100_000)]
Part = Literal["held_out", "train", "all"]


class GoAgreement(RecordingOptions, frozen=True, kw_only=True):
    """Compare versions with recorded moves: how often a version's likeliest move was played.

    Figures 3c, 4a and 4b of ELF OpenGo, for any game of two seats with one choice a decision. --data is a
    data set (ludus data import) of the same game and board. A fixed sample of positions is spread over its
    matches. The value is compared with the outcome.
    """

    EXAMPLES: ClassVar = (
        "ludus go agreement RUN --data sets/professional",
        "ludus go agreement RUN --data sets/kgs --split all --positions 10000 --stages 60,120,180",
    )

    run_: Annotated[str, positional("a run", "RUN")]
    data: Annotated[str, option("data set of recorded matches", "SET")] = ""
    versions: Annotated[Count, option("kept versions of the run, evenly spread, at most", "N")] = 8
    visits: Annotated[Natural, option("visits of a decision; 0 = the networks alone", "N")] = 0
    positions: Annotated[Positions, option("positions of the sample", "N")] = 4096
    split: Annotated[Part, option("matches of the sample: held out, to learn from, or all", "PART")] = (
        "held_out"
    )
    game: Annotated[str, option("code of the game, if it is neither built in nor installed", "GAME")] = ""
    stages: Annotated[
        str, option("last moves of stages (default: 60,120,180 on 19x19, else thirds)", "N,N,...")
    ] = ""

    def run(self) -> int:
        """Ask, write and print the record, and return the exit code."""
        from ludus.analyses.analysis import PreparedAnalysis
        from ludus.analyses.positions import agreement, recorded
        from ludus.datasets.errors import DataSetError
        from ludus.evaluation.play import UNIFORM

        if not self.data:
            raise UserError("--data: expected a data set; see: ludus data import --help")
        stages = agreement.stages_of(self.stages) if self.stages else ()
        run, kept, folder = versions_of(self, self.run_, agreement.AgreementAnalysis.name, self.versions)
        named = read_game(self.game, ())[0]
        game = agreement.asked_game([version.reference for version in kept], named, searched=self.visits > 0)
        try:
            data = recorded.open_set(self.data)
            positions = recorded.RecordedPositions(data, game, named, states=self.visits > 0)
        except DataSetError as error:
            raise UserError(said(error)) from None
        matches = recorded.matches_of(data, self.split)
        sampled = recorded.sample(data.decisions, matches, self.positions, self.seed)
        versions, notes = with_initial(run, kept, folder)
        stages = stages or agreement.default_stages(game, recorded.longest(data, matches, game))
        units = agreement.agreement_units(
            positions, recorded.blocks(sampled), versions, self.visits, stages, game, self.seed, self.device
        )
        prepared = PreparedAnalysis(
            agreement.AgreementAnalysis,
            str(run.path),
            game.spec,
            game.params,
            self.seed,
            {
                "visits": self.visits,
                "data": data.sha256,
                "split": self.split,
                "positions": self.positions,
                "stages": ",".join(map(str, stages)),
            },
            {version.name: version.reference for version in versions} | {UNIFORM: UNIFORM},
            units,
            self.visits,
            (*(version.name for version in versions if version.version == 0), UNIFORM),
            (*agreement.NOTES, *recorded.other_rules(data, game), *notes),
            "positions",
        )
        try:
            return self.carry_out(prepared, folder)
        except DataSetError as error:
            raise UserError(said(error)) from None
