"""``ludus go gating``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

import msgspec

from ludus.cli import console
from ludus.cli.arguments import option, positional
from ludus.cli.commands.go.options import GoOptions
from ludus.cli.errors import UserError
from ludus.cli.match_options import Natural

Minutes = Annotated[float, msgspec.Meta(ge=0, le=1e6)]


class GoGating(GoOptions, frozen=True, kw_only=True):
    """Train a preset with and without AlphaGo Zero's gate, and let their weights meet.

    The ablation of ELF OpenGo. Both runs have one seed and one budget: --minutes or --positions. They are
    without-gate and with-gate in the folder of record and page (default: runs/PRESET-gating). Two runs that
    have been trained are compared as they are. Options with a dot are settings of the preset. After Ctrl-C
    the same command with --resume continues, also in the middle of a training.
    """

    EXAMPLES: ClassVar = (
        "ludus go gating go9-small --minutes 60 --visits 100 --matches 100",
        "ludus go gating RUN OTHER_RUN",
    )

    words: Annotated[
        tuple[str, ...], positional("a preset with algorithm.gate, or two runs", "PRESET|RUN RUN")
    ]
    minutes: Annotated[Minutes, option("training time of each run in minutes", "M")] = 0.0
    positions: Annotated[Natural, option("positions that each run plays; 0 = no limit", "N")] = 0
    overrides: dict[str, str] = msgspec.field(default_factory=dict)

    def run(self) -> int:
        """Train, play the matches, write and print the record, and return the exit code."""
        from ludus.analyses.analysis import PreparedAnalysis
        from ludus.analyses.gating import (
            WITH,
            WITHOUT,
            GatingAnalysis,
            budget_notes,
            gating_pairings,
            is_gated,
            training_unit,
        )
        from ludus.analyses.matches import match_units
        from ludus.evaluation.play import UNIFORM
        from ludus.storage import RunDirectory

        if not 1 <= len(self.words) <= 2:
            raise UserError(f"ludus go gating: {len(self.words)} words, expected a preset or two runs")
        folders = self._trained() if len(self.words) == 1 else self._given()
        runs = sorted(
            ((WITH if is_gated(run) else WITHOUT, run) for run in map(RunDirectory.open, folders)),
            key=lambda found: found[0] == WITH,
        )
        if [name for name, _ in runs] != [WITHOUT, WITH]:
            raise UserError(
                f"{folders[0]}, {folders[1]}: expected one run with algorithm.gate and one without"
            )
        game = self.game_of([f"{run.path}@last" for _, run in runs])
        pairings, players = gating_pairings([(name, run.path) for name, run in runs], self.visits)
        prepared = PreparedAnalysis(
            GatingAnalysis,
            ", ".join(str(run.path) for _, run in runs),
            game.spec,
            game.params,
            self.seed,
            self.common_settings(),
            players,
            [training_unit(runs), *match_units(pairings, players, self.terms(game))],
            self.visits,
            (UNIFORM,),
            budget_notes(runs),
        )
        return self.carry_out(prepared, self._folder(folders[0]))

    def _folder(self, run: Path) -> Path:
        if len(self.words) == 1 and not self.out:
            return Path("runs") / f"{Path(self.words[0]).stem}-gating"
        return self.folder(run)

    def _given(self) -> list[Path]:
        if self.overrides or self.minutes or self.positions:
            raise UserError("two runs have been trained: --minutes, --positions, settings are for a preset")
        return [Path(word) for word in self.words]

    def _trained(self) -> list[Path]:
        """Train both runs, as far as they are not finished, and return their folders.

        Raises:
            UserError: No budget, or runs that are there already.
            Interrupted: Ctrl-C.
        """
        from ludus.reporting.run_view import RunView
        from ludus.storage.references import is_run

        if not self.minutes and not self.positions:
            raise UserError("--minutes: expected the training time of each run (or --positions)")
        folder = self._folder(Path())
        folders = [folder / "without-gate", folder / "with-gate"]
        for run, gate in zip(folders, ("false", "true"), strict=True):
            there = run.exists() or run.is_symlink()
            if there and not self.resume:
                raise UserError(f"{run}: exists already; --resume continues, -o FOLDER trains other runs")
            if there and is_run(str(run)) and RunView.open(run).is_finished():
                continue
            console.note(f"{run}: training")
            self._train(run, gate, resume=there)
        return folders

    def _train(self, run: Path, gate: str, *, resume: bool) -> None:
        from ludus.cli.live import make_view
        from ludus.presets.checks.game import check_game
        from ludus.presets.weights_preset import load_settings
        from ludus.training.resumed import resumed_settings
        from ludus.training.runs import resume_run, start_run

        if resume:
            with make_view(self.quiet) as view:
                resume_run(resumed_settings(run), sinks=[view])
            return
        budget = {"run.max_minutes": f"{self.minutes:g}", "run.max_steps": str(self.positions)}
        own = {**self.overrides, "run.seed": str(self.seed), **budget, "algorithm.gate": gate}
        if not hasattr(load_settings(self.words[0]).preset.algorithm, "gate"):
            raise UserError(f"{self.words[0]}: expected a preset with algorithm.gate")
        loaded = load_settings(self.words[0], own)
        check_game(loaded)
        run.parent.mkdir(parents=True, exist_ok=True)
        with make_view(self.quiet) as view:
            start_run(loaded.preset, run, sinks=[view])
