"""Public Python API: train, resume, evaluate, search and make_pool, as ``import ludus`` exports them.

References come from the calling program, so they may name the user's own games (:func:`ludus.games.typed`).
A program that passes on text from a file of another person grants it the same right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict

import msgspec

from ludus.evaluation.settings import DEFAULT, MatchSettings
from ludus.flow import PoolOptions
from ludus.flow.inputs.public import takes_options
from ludus.flow.match import Lineup
from ludus.flow.process.as_found import as_found
from ludus.games import typed
from ludus.games.names import typed_player
from ludus.mcts.text import SUFFIX, is_search, parse_search
from ludus.presets.config import Device, ParamValue, Preset
from ludus.presets.errors import ConfigError, RunFailed
from ludus.presets.hardware import run_name
from ludus.storage import zoo

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ludus.evaluation.results import EvalResult
    from ludus.games.match import Match
    from ludus.mcts import Evaluator
    from ludus.mcts.player import SearchResult
    from ludus.pool import Pool
    from ludus.reporting.sinks import Callback, Sink
    from ludus.training.runs import RunResult


class EvaluateOptions(TypedDict, total=False):
    """Keyword options of :func:`evaluate`; their defaults are those of ``MatchSettings``."""

    matches: int
    seed: int
    greedy: bool
    threads: int
    max_ticks: int
    device: Device
    player_seats: int


class MakePoolOptions(TypedDict, total=False):
    """Keyword options of :func:`make_pool`, with the names and types of ``PoolOptions``."""

    groups: int
    threads: int
    seed: int
    num_matches: int | None
    on_error: Literal["raise", "truncate"]


_POOL_DEFAULTS = PoolOptions(slots=1, groups=1, threads=0, on_error="truncate")
Setting = str | int | float | bool | Sequence[str | int | float]


@as_found()
def train(
    preset: str | Path | Preset,
    run_dir: str | Path | None = None,
    *,
    settings: Mapping[str, Setting] | None = None,
    method: str | Path = "",
    callback: Callback | None = None,
    sinks: Sequence[Sink] = (),
) -> RunResult:
    """Train with the settings of a preset, in a new run directory, until its budget is used up.

    Args:
        preset: The name of a shipped preset, a TOML file, or a ``Preset``. Weights (``zoo:NAME``,
            ``RUN@best``, a file) continue to learn by the preset that their file carries.
        run_dir: A directory that does not exist yet (default: ``runs/PRESET-DATE-TIME-XXXX``).
        settings: Settings by dotted path that replace the preset's: ``{"run.max_steps": 100_000}``.
        method: A Python file with the learning method to train by (``reinforce.py``, whose code is run).
        callback: Called with the ``UpdateMetrics`` of every update and the ``EvaluationMetrics`` of every
            evaluation. The run ends in order when it returns False.
        sinks: Receive the reports of the run, besides its files and TensorBoard (:class:`Sink`).

    Returns:
        The result of the run, with the final evaluation of its best weights.

    Raises:
        PresetError: A wrong preset or setting.
        ConfigError: Settings that do not fit together.
        RunExists: ``run_dir`` exists.
        RunFailed: Training cannot continue, its last state could not be saved, or the callback raised.
        Interrupted: Ctrl-C; the run was saved.
    """
    from ludus.presets.checks.game import check_game
    from ludus.presets.code import given_code
    from ludus.presets.method_file import with_method
    from ludus.presets.weights_preset import load_settings
    from ludus.training.runs import start_run

    if isinstance(preset, Preset):
        if settings or method:
            given = "settings" if settings else "method"
            raise ConfigError(
                f"{given}: only with a preset's name or file; replace fields of a Preset instead"
            )
        chosen = given_code(_checked(preset))
        name = Path(chosen.game.name).stem
    else:
        options = {k: _option(k, v) for k, v in (settings or {}).items()}
        loaded = load_settings(str(preset), with_method(str(method), options))
        check_game(loaded)
        chosen, name = loaded.preset, loaded.name
    where = Path(run_dir) if run_dir is not None else Path("runs") / run_name(name)
    return _with_callback(callback, lambda more: start_run(chosen, where, sinks=(*more, *sinks)))


def _checked(preset: Preset) -> Preset:
    """Return a ``Preset`` that a program has made, checked as a file is. Raises ``PresetError``."""
    from ludus.presets.document import to_toml
    from ludus.presets.file import parse_preset

    return parse_preset(to_toml(preset).encode(), "the Preset").preset


def _with_callback(callback: Callback | None, run: Callable[[Sequence[Sink]], RunResult]) -> RunResult:
    """Call ``run`` with the callback as a sink.

    Raises:
        RunFailed: The callback raised; the run is over and saved then.
    """
    from ludus.reporting.sinks import CallbackSink

    if callback is None:
        return run(())
    if not callable(callback):
        raise TypeError(f"callback: {type(callback).__name__}, expected a function of one argument")
    sink = CallbackSink(callback)
    result = run((sink,))
    if sink.error is not None:
        raise RunFailed(f"{sink.stop}; {result.run} was saved at version {result.version}") from sink.error
    return result


def _option(path: str, value: object) -> str:
    """Return a setting as text, as the command line takes it.

    Raises:
        ConfigError: A value of another type.
    """
    value = getattr(value, "tolist", lambda: value)()  # numpy's numbers and arrays
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (str, int, float, Path)):
        return str(value)
    if isinstance(value, Sequence) and all(isinstance(v, (str, int, float)) for v in value):
        return ",".join(map(str, value))
    raise ConfigError(
        f"settings[{path!r}] = {value!r}: expected a string, a number, true or false, or a list of them; "
        'a path names one value: settings={"run.max_steps": 1000}'
    )


@as_found()
def resume(
    run_dir: str | Path,
    *,
    callback: Callback | None = None,
    sinks: Sequence[Sink] = (),
    game: str = "",
    teacher: str = "",
    method: str | Path = "",
    rule: str = "",
) -> RunResult:
    """Continue a run from its newest whole checkpoint.

    Args:
        run_dir: A run directory.
        callback: As for :func:`train`.
        sinks: As for :func:`train`.
        game: The code of a game that is neither built in nor installed, for a run that this user did not
            start here.
        teacher: The file of a bot in Python that the run learns from, for such a run.
        method: The file of the run's learning method, for such a run.
        rule: The rule of a league's members, ``FILE.py:CLASS``, for such a run; several with commas between
            them.

    Returns:
        The result of the run, with the final evaluation of its best weights.

    Raises:
        RunNotFound: No such run.
        CorruptFile: No checkpoint can be read; else as :func:`train`.
    """
    from ludus.training.resumed import resumed_settings
    from ludus.training.runs import resume_run

    resumed = resumed_settings(Path(run_dir), game=game, teacher=teacher, method=str(method), rule=rule)
    return _with_callback(callback, lambda more: resume_run(resumed, sinks=(*more, *sinks)))


@as_found()
@takes_options(EvaluateOptions, DEFAULT)
def evaluate(
    player: str,
    against: str = "",
    *,
    game: str = "",
    params: dict[str, ParamValue] | None = None,
    **options: Unpack[EvaluateOptions],
) -> EvalResult:
    """Play whole matches between two players, each from every seat.

    Args:
        player: A bot, ``random``, ``uniform``, a bot in Python (``my_bot.py``, whose code is run),
            ``RUN@best|last|VERSION|PLAYER|PLAYER:VERSION``, a weights file, ``zoo:NAME``, any of
            these weights with ``+search:VISITS``, or ``mcts:VISITS``.
        against: The same; empty in games of one seat.
        game: The game; may stay empty where one of the two names weights of a built-in or installed game.
        params: Parameters of the game (default: the run's).
        matches: Number of matches.
        seed: Seed of the matches and of the players' random choices.
        greedy: Networks take their most probable choices instead of samples.
        threads: Threads that play, or processes of a Python game; 0 = the calling thread, or one process.
        max_ticks: Highest number of ticks of a match; a longer one is an error. 0 = the game's limit, else
            20,000.
        device: Device of the networks: ``auto`` (the processor), ``cpu`` or ``cuda``.
        player_seats: Seats of a match that the player has; the opponent has the others. 0 = one, or all of
            its team.

    Returns:
        Win rate with its 95% interval, or the mean return with its own in games of one seat.

    Raises:
        ConfigError: Players or a game that cannot be played.
        StorageError: No such weights.
        RunFailed: Every match ended by an error of the game; the text names the first.
    """
    from ludus.evaluation.evaluate import evaluate as play

    result = play(
        typed_player(player),
        typed_player(against),
        MatchSettings(**options),
        game=typed(game),
        params=params,
    )
    if result.nothing_played:
        raise RunFailed(result.nothing_played)
    return result


@as_found()
@takes_options(MakePoolOptions, _POOL_DEFAULTS)
def make_pool(
    game: str,
    params: Mapping[str, object] | None,
    lineup: Lineup,
    *,
    slots: int,
    **options: Unpack[MakePoolOptions],
) -> Pool:
    """Return a pool that plays ``slots`` matches in parallel and asks for the decisions of policies.

    Args:
        game: A game by name or reference.
        params: Parameters of its rules.
        lineup: Controller of each role of a match.
        slots: Number of matches that run in parallel.
        groups: Rows are received and sent in this many groups.
        threads: Threads of a compiled game (0: the calling thread plays), or processes of a Python game (at
            least one).
        seed: Seed of all matches.
        num_matches: Number of matches to play in total (default: unlimited).
        on_error: An error of the game ends its match (``"truncate"``), or is raised (``"raise"``).

    Returns:
        The pool; attach a :class:`Slab` for each group, then receive and send.

    Raises:
        ParamError: An unknown game, or a wrong parameter.
        PoolError: A lineup that the game cannot seat.
        ValueError: Sizes that do not fit together.
    """
    from ludus.pool.factory import make_pool as make

    chosen = msgspec.structs.replace(_POOL_DEFAULTS, slots=slots, **options)
    return make(typed(game), params or {}, lineup, chosen)


@as_found()
def search(
    match: Match,
    player: str = "mcts:400",
    *,
    seed: int = 0,
    seconds: float = 0.0,
    device: Device = "auto",
) -> SearchResult:
    """Search the position of a match for the move of the seat to decide; the match does not change.

    Args:
        match: A match of a game of two seats in turn, without chance or hidden information.
        player: ``mcts:VISITS`` (random rollouts), ``RUN@best+search:VISITS`` (a network's evaluations), or a
            player of the zoo that searches (``zoo:go9``).
        seed: Seed of the search.
        seconds: Time of the decision (0: by visits alone).
        device: Device of the network: ``auto`` (the processor), ``cpu`` or ``cuda``.

    Returns:
        Move, value for that seat in [-1, 1], visits of every move, and the expected line of play.

    Raises:
        ConfigError: No searched player, weights of another game, or a match that is over; no such device.
        ValueError: A game that cannot be searched.
    """
    from ludus.evaluation.players import check_device, evaluator_of
    from ludus.games.registry import find
    from ludus.mcts.player import SearchPlayer

    check_device(device)
    player, greedy = zoo.played(player)
    if not is_search(player):
        raise ConfigError(f"{player}: expected mcts:VISITS or WEIGHTS{SUFFIX}:VISITS")
    if match.over:
        raise ConfigError(f"{match.game}: the match is over; no one decides")
    try:
        weights, text = parse_search(player)
    except ValueError as error:
        raise ConfigError(error) from None
    if greedy:
        text = msgspec.structs.replace(text, plies=0)
    evaluator: Evaluator | str = "rollout"
    if weights:
        evaluator = evaluator_of(weights, match.spec, device, text.symmetries)[0]
    native = find(match.game).native
    searcher = SearchPlayer(match.game, match.params, text, evaluator, seed=seed, native=native)
    return searcher.decide([0], [match.state], seconds=seconds)[0]
