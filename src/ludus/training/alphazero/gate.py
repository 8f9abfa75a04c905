"""Weights judged by matches in which they search: in evaluations, and at AlphaGo Zero's gate."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from ludus.evaluation.play import MatchPlayer, play_matches, search_player
from ludus.evaluation.progress import MatchProgress
from ludus.evaluation.results import seat_of_plan
from ludus.evaluation.settings import MatchSettings
from ludus.flow.seeds import SEED_GATE, derive_seed
from ludus.mcts import SearchText
from ludus.mcts.network import NetworkEvaluator, current_evaluator
from ludus.policies.protocol import Network
from ludus.presets.config import Preset
from ludus.ratings.sprt import sprt
from ludus.rollouts.network_actor import NetworkActor
from ludus.training.alphazero.components import AlphaZeroComponents

CHUNK = 50  # matches between two checks of the score; a chunk is always played to its end

Named = tuple[Network, int]  # weights and their version


class GateResult(msgspec.Struct, frozen=True):
    """``score``: won matches and half the drawn ones, of ``matches``. ``passed``: the candidate plays."""

    passed: bool
    score: float
    matches: int


class Gate:
    """Gate of one run: its game, its search, the settings of its evaluations."""

    def __init__(
        self, preset: Preset, components: AlphaZeroComponents, name_of: Callable[[int], str]
    ) -> None:
        """Keep the run's settings; ``name_of``: the name of a version's weights."""
        self._preset, self._components, self._name_of = preset, components, name_of
        self._progress: MatchProgress | None = None
        self._evaluators: dict[int, NetworkEvaluator] = {}  # candidate, playing

    @property
    def doing(self) -> str:
        """The matches that are played now, in words; "" between two gates."""
        progress = self._progress
        return "" if progress is None else f"gate of the newest weights: {progress.text()}"

    def player(
        self, network: Network, seed: int, version: int, evaluator: NetworkEvaluator | None = None
    ) -> MatchPlayer:
        """Return a player with these weights for evaluations: ``evaluation.visits``, no noise.

        ``evaluator``: of the network's present weights; None: a new one.
        """
        evaluation, search, visits = self._preset.evaluation, self._components.config.search, self._visits
        name = self._name_of(version)
        if visits == 1:
            return MatchPlayer(name, actor=NetworkActor(network, seed, version, evaluation.greedy))
        config = msgspec.structs.replace(
            search, visits=visits, noise_share=0.0, forced_playouts=0.0, gumbel_moves=0
        )
        text = SearchText(config, plies=0 if evaluation.greedy else SearchText().plies)
        evaluator = evaluator or NetworkEvaluator(network, self._components.precision)
        return search_player(
            name, self._components.spec, self._components.params, text, evaluator, seed, version
        )

    @property
    def _visits(self) -> int:
        return self._preset.evaluation.visits or self._components.config.search.visits

    def _evaluator(self, seat: int, network: Network) -> NetworkEvaluator | None:
        """Return the evaluator of one side of a gate; None without a search.

        On an accelerator its programs stay in use at the next gate.
        """
        if self._visits == 1:
            return None
        made = current_evaluator(network, self._components.precision, before=self._evaluators.get(seat))
        self._evaluators[seat] = made
        return made

    def gate(
        self, candidate: Named, playing: Named, number: int, interrupted: Callable[[], bool]
    ) -> GateResult:
        """Play ``gate_matches`` between two networks; a sequential test may end them early.

        Args:
            candidate: Network that is judged, and its version.
            playing: Network that plays, and its version.
            number: Number of this gate in the run.
            interrupted: Whether the run is interrupted; then the candidate does not pass.
        """
        config, components = self._components.config, self._components
        low, high = 0.5, 2.0 * config.gate_score - 0.5
        score = 0.0
        wins = losses = played = 0
        verdict = ""
        sides = [self._evaluator(seat, side[0]) for seat, side in enumerate((candidate, playing))]
        progress = self._progress = MatchProgress(config.gate_matches)
        progress.started(components.spec)
        while played < config.gate_matches and not verdict and not interrupted():
            seed = derive_seed(self._preset.run.seed, SEED_GATE, number, played)
            count = min(CHUNK, config.gate_matches - played)
            results = play_matches(
                components.spec,
                components.params,
                self.player(candidate[0], seed, candidate[1], sides[0]),
                self.player(playing[0], seed ^ 1, playing[1], sides[1]),
                MatchSettings(matches=count, seed=seed),
                progress.hooks(),
            )
            outcomes = [r.outcome[seat_of_plan(r, 0)] for r in results if not r.error]
            wins += sum(o > 0 for o in outcomes)
            losses += sum(o < 0 for o in outcomes)
            score += sum(0.5 + 0.5 * o for o in outcomes)
            played += count
            verdict = sprt(wins, losses, low, high)[0] if 0.5 < high < 1.0 else ""
        self._progress = None
        passed = verdict == "accept" or (not verdict and score >= config.gate_score * max(played, 1))
        return GateResult(passed and not interrupted(), score, played)
