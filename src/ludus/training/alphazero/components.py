"""Components of a run of AlphaZero: learner, replay buffer, game, self-play."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt

from ludus.algorithms.alphazero.learner import AlphaZeroLearner
from ludus.algorithms.alphazero.replay_buffer import ReplayBuffer
from ludus.algorithms.alphazero.samples import Ends
from ludus.algorithms.config import AlphaZeroConfig
from ludus.algorithms.learner import LearnerContext
from ludus.flow import GameSpec
from ludus.flow.positions import MatchMoves, PositionQuery
from ludus.flow.process.as_found import one_thread
from ludus.flow.seeds import SEED_NETWORK, SEED_POOL, derive_seed
from ludus.flow.slab import Array
from ludus.games.searchable import SearchRef, searchable
from ludus.mcts import NEVER_RESIGN, Matches, MatchNumbers, SearchError, SelfPlay
from ludus.mcts.network import NetworkEvaluator
from ludus.policies.config import ResnetConfig
from ludus.policies.layers.residual import ResidualNetwork
from ludus.presets.checks.game import method_problems, resolve_spec
from ludus.presets.config import Preset, RunConfig
from ludus.presets.errors import ConfigError, RunFailed
from ludus.presets.hardware import device_name, precision_name, thread_count
from ludus.storage import CorruptFile
from ludus.storage.matches import MatchesMeta, MatchFiles
from ludus.training.start import load_start

SESSION_SHIFT = 40  # matches of one process are numbered from session << 40
SESSIONS = 1 << 12  # numbers stay below 2^52: the core takes them as doubles
RESIGN_ENOUGH = 50  # matches before the threshold moves
RESIGN_STEP = 0.05  # most that the threshold moves a round
RESIGN_HIGHEST = -0.5


@dataclass(slots=True)
class AlphaZeroComponents:
    """Components of one run."""

    spec: GameSpec
    params: dict[str, str]
    game: SearchRef
    learner: AlphaZeroLearner
    replay_buffer: ReplayBuffer
    config: AlphaZeroConfig
    device: str
    precision: str
    threads: int
    seed: int  # of the matches

    @property
    def learns_ends(self) -> bool:
        """Whether how matches end is learned, by heads of the network or with the value."""
        network = self.learner.network
        heads = network.ownership_plane is not None or network.score_head is not None
        return heads or self.replay_buffer.score_share > 0

    def lead(self, query: PositionQuery) -> tuple[dict[str, Array], npt.NDArray[np.uint8]]:
        """Return packed observations and masks of positions of recorded matches, by row.

        Raises:
            SearchError: Matches that the game does not allow.
        """
        count = len(query.rows)
        obs: dict[str, Array] = {
            t.name: np.zeros((count, *t.packed_shape), t.packed_dtype) for t in self.spec.observation
        }
        mask = np.zeros((count, self.spec.mask_size), np.uint8)
        self.game.games.read_positions(
            self.game.name, self.params, self.seed, query, list(obs.values()), mask
        )
        return obs, mask

    def ends(self, matches: Matches) -> Ends:
        """Replay the matches; return their ends for seat 0. Raises ``RunFailed``."""
        ends = Ends.empty(len(matches), self.spec.counted_cells)
        offset = np.concatenate([[0], np.cumsum(matches.plies, dtype=np.int64)])
        with fitting():
            moves = MatchMoves(matches.match, matches.action, offset)
            self.game.games.read_ends(self.game.name, self.params, self.seed, moves, ends)
        return ends

    def matches_meta(self) -> MatchesMeta:
        """Return the game and seed that the files of its matches name."""
        return MatchesMeta(self.spec.name, self.spec.spec_hash, self.params, self.seed)

    def close(self) -> None:
        """Stop threads."""
        self.learner.close()


def plays_beside_learning(run: RunConfig, device: str) -> bool:
    """Return whether self-play continues while the learner works on ``device``, a name of torch."""
    return run.lag == "async" or (run.lag == "pipelined" and device != "cpu")


@contextmanager
def fitting() -> Iterator[None]:
    """Raise ``RunFailed`` where the core refuses recorded matches that the game does not allow."""
    try:
        yield
    except SearchError as error:
        raise RunFailed(f"recorded matches do not fit the game: {error}") from error


def read_matches(files: MatchFiles, number: int, spec: GameSpec) -> Matches:
    """Read the matches of a file. Raises ``CorruptFile`` or ``RunNotFound``."""
    try:
        matches = Matches.check(files.read(number), spec.mask_size)
    except ValueError as error:
        raise CorruptFile(f"{files.path(number)}: {error}") from error
    if last_session(matches) >= SESSIONS:
        raise CorruptFile(f"{files.path(number)}: a match of session {last_session(matches)}")
    return matches


def last_session(matches: Matches) -> int:
    """Return the number of the newest process that played one of the matches, -1 without matches."""
    return int(matches.match.max()) >> SESSION_SHIFT if len(matches) else -1


def moved_threshold(now: float, lowest: npt.NDArray[np.float32], errors: float) -> float:
    """Return the value below which seats resign, moved one step towards the calibrated one.

    Args:
        now: Current threshold.
        lowest: ``[M]``, the lowest value of the winner's searches in each match without resignation. The
            threshold stays while there are fewer than ``RESIGN_ENOUGH``.
        errors: Largest share of winners that would have resigned.
    """
    if len(lowest) < RESIGN_ENOUGH:
        return now
    wanted = min(max(float(np.quantile(lowest, errors)), NEVER_RESIGN), RESIGN_HIGHEST)
    return min(max(wanted, now - RESIGN_STEP), now + RESIGN_STEP)


def build_alphazero(preset: Preset) -> AlphaZeroComponents:
    """Build the components of a new run. Raises ``ConfigError`` where settings do not fit together."""
    config = cast(AlphaZeroConfig, preset.algorithm)  # the registry's line of this trainer
    if not isinstance(preset.policy, ResnetConfig):
        raise ConfigError('policy.network: algorithm.name = "alphazero" trains "resnet"')
    one_thread()
    spec, params = resolve_spec(preset)
    for problem in method_problems(preset, spec):
        raise ConfigError(problem)
    run = preset.run
    device, threads = device_name(preset), thread_count(run)
    precision = precision_name(run, device)
    game = searchable(preset.game.name)
    try:
        seed = derive_seed(run.seed, SEED_NETWORK)
        network = ResidualNetwork(preset.policy, spec, seed, precision).to(device)
        load_start(network, preset)
        learner = AlphaZeroLearner(config, network, LearnerContext(seed, workers=threads))
        components = AlphaZeroComponents(
            spec=spec,
            params=params,
            game=game,
            learner=learner,
            replay_buffer=ReplayBuffer(config, spec.mask_size, config.search.score_share),
            config=config,
            device=device,
            precision=precision,
            threads=threads,
            seed=derive_seed(run.seed, SEED_POOL),
        )
        make_plays(
            preset, components, 0, NetworkEvaluator(learner.playing, "float32")
        )  # refuses what cannot be
    except (ValueError, SearchError) as error:
        raise ConfigError(error) from error
    return components


def make_plays(
    preset: Preset, components: AlphaZeroComponents, session: int, evaluator: NetworkEvaluator
) -> list[SelfPlay]:
    """Build one self-play a thread; their matches have numbers of their own in every session."""
    threads = components.threads
    numbers = [MatchNumbers((session << SESSION_SHIFT) + i, threads) for i in range(threads)]
    return numbered_plays(preset, components.params, components.seed, numbers, evaluator)


def numbered_plays(
    preset: Preset,
    params: Mapping[str, str],
    seed: int,
    numbers: Sequence[MatchNumbers],
    evaluator: NetworkEvaluator,
) -> list[SelfPlay]:
    """Build one self-play for each of ``numbers``.

    Args:
        preset: Settings of the run.
        params: Effective parameters of the game.
        seed: Seed of the matches.
        numbers: Numbers of the matches of each.
        evaluator: The weights that play first.
    """
    config = cast(AlphaZeroConfig, preset.algorithm)
    game = searchable(preset.game.name)
    return [
        SelfPlay(
            game.name,
            params,
            config.search,
            config.self_play,
            evaluator=evaluator.sibling(i),
            seed=seed,
            numbers=own,
            native=game.games,
        )
        for i, own in enumerate(numbers)
    ]
