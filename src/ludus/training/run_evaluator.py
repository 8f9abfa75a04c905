"""Evaluation matches of a run, apart from the matches that it trains on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from ludus.evaluation.play import UNIFORM, MatchPlayer, play_evaluation, scripted_player
from ludus.evaluation.players import measured_opponent
from ludus.evaluation.progress import MatchProgress
from ludus.evaluation.results import EvalResult, seat_of_plan
from ludus.evaluation.settings import MatchSettings
from ludus.flow import GameSpec, MatchResult
from ludus.flow.seeds import SEED_EVALUATION, derive_seed
from ludus.presets.config import Preset
from ludus.presets.hardware import pool_thread_count
from ludus.storage import RunLog, write_atomic
from ludus.storage.replay_files import replay_name
from ludus.training.opponents import opponent_skip

FINAL = 1 << 20  # number of the final evaluation, above those during training
PLAYOFF = FINAL + 1  # of the matches that choose the weights of the final one: the same for all candidates
INITIAL = FINAL + 2  # of the initial weights
UNIFORM_PLAY = FINAL + 3  # of uniform play over the legal choices
#: Names in matches.jsonl; evaluations during training have numbers.
NAMES = {FINAL: "final", PLAYOFF: "playoff", INITIAL: "initial", UNIFORM_PLAY: UNIFORM}
#: Names in messages; evaluations during training are of a version.
WHAT = {
    FINAL: "final matches",
    PLAYOFF: "play-off",
    INITIAL: "evaluation of the initial weights",
    UNIFORM_PLAY: "uniform play",
}
REPLAYS_PER_OPPONENT = 2

#: From the seed of random choices to a player with some weights.
PlayerFactory = Callable[[int], MatchPlayer]


class RunEvaluator:
    """Plays evaluations on matches that neither training nor another evaluation uses.

    ``matches.jsonl`` receives its rows opponent by opponent.
    """

    def __init__(
        self,
        preset: Preset,
        spec: GameSpec,
        params: dict[str, str],
        against: tuple[str, ...],
        log: RunLog,
        should_stop: Callable[[], bool],
    ) -> None:
        """Prepare the evaluations of a run.

        Args:
            preset: The settings of the run.
            spec: Its game.
            params: Parameters of the game.
            against: The opponents.
            log: The log that receives the matches.
            should_stop: Ends an evaluation early; called between slabs.
        """
        self.preset, self.spec, self.params, self.against, self.log = preset, spec, params, against, log
        self.should_stop = should_stop
        self._recorded: dict[str, list[MatchResult]] = {}
        self.length = 0.0  #: mean length in ticks of the matches of the last evaluation; 0 before the first
        self._what, self._now = "", MatchProgress(0)

    @property
    def doing(self) -> str:
        """The matches that are played now, in words; "" between two evaluations."""
        what = self._what
        return f"{what}: {self._now.text()}" if what else ""

    @property
    def share(self) -> float | None:
        """The played share of these matches, 0..1; None between two evaluations."""
        return self._now.share() if self._what else None

    def uniform(self, matches: int) -> tuple[EvalResult, ...] | None:
        """Return the results of uniform play over the legal choices against the same opponents."""
        skip = self.preset.game.frame_skip
        return self.rate(
            lambda seed: scripted_player(UNIFORM, self.spec, seed, skip), None, UNIFORM_PLAY, matches
        )

    def rate(
        self,
        player_of: Callable[[int], MatchPlayer],
        version: int | None,
        number: int,
        matches: int,
        record: int = 0,
    ) -> tuple[EvalResult, ...] | None:
        """Play against every opponent in turn; return None where ``should_stop`` ended the matches.

        Args:
            player_of: Returns the player for the seed of its random choices.
            version: Version of its weights; None for a player without weights.
            number: Number of the evaluation, from which its seeds follow.
            matches: Number of matches against each opponent.
            record: Number of matches that have a replay.
        """
        try:
            return self._rate(player_of, version, number, matches, record)
        finally:
            self._what = ""

    def _rate(
        self,
        player_of: Callable[[int], MatchPlayer],
        version: int | None,
        number: int,
        matches: int,
        record: int,
    ) -> tuple[EvalResult, ...] | None:
        preset = self.preset
        results: list[EvalResult] = []
        progress = self._now = MatchProgress(matches * len(self.against), self.length)
        progress.started(self.spec)
        self._what = WHAT.get(number, f"evaluation of version {version}")
        settings = MatchSettings(
            matches=matches,
            threads=pool_thread_count(preset),
            record=record,
            max_ticks=preset.evaluation.max_ticks,
            timeout_s=preset.pool.timeout_s,
        )
        for index, name in enumerate(self.against):
            seed = derive_seed(preset.run.seed, SEED_EVALUATION, number, index)
            result, played = play_evaluation(
                self.spec,
                self.params,
                player_of(seed),
                measured_opponent(name, self.spec, self.params, seed ^ 1, opponent_skip(preset, name)),
                msgspec.structs.replace(settings, seed=seed),
                progress.hooks(self.should_stop),
            )
            if self.should_stop():
                return None
            if record:
                self._recorded[name] = played
            self.log.matches([match_row(r, number, version, self.spec.scores) for r in played])
            results.append(result)
        self.length = progress.length
        return tuple(results)

    def keep_replays(self, folder: Path) -> list[str]:
        """Write a few of the recorded matches, won ones first; return the errors of files."""
        problems: list[str] = []
        used: set[str] = set()
        for name, played in self._recorded.items():
            whole = [r for r in played if r.replay and not r.error]
            won_first = sorted(whole, key=lambda r: (r.outcome[seat_of_plan(r, 0)] <= 0, r.match))
            for index, result in enumerate(won_first[:REPLAYS_PER_OPPONENT]):
                path = folder / replay_name("final", name, index + 1, taken=used)
                used.add(path.name.lower())
                try:
                    write_atomic(path, result.replay)
                except OSError as error:
                    problems.append(f"{path} was not written: {error.strerror or error}")
        return problems


def match_row(
    result: MatchResult, evaluation: int, version: int | None, scores: Sequence[str] = ()
) -> dict[str, object]:
    """Return a row of ``matches.jsonl``; ``scores`` are the names of the game's scores."""
    row: dict[str, object] = {
        "evaluation": NAMES.get(evaluation, evaluation),
        "version": version,
        "match": result.match,
        "seed": result.seed,
        "ticks": result.ticks,
        "seat": seat_of_plan(result, 0),
        "outcome": result.outcome,
        "players": result.players,
        "truncated": result.truncated,
        "error": result.error,
    }
    if result.scores:
        row["scores"] = {name: [of[k] for of in result.scores] for k, name in enumerate(scores)}
    return row
