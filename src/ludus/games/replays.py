"""Match replays (``.ludus`` files): content, verification by re-simulation, frames.

The core checks the bytes (checksum, bounds, the rules themselves). All functions raise ``ReplayError`` (a
``ValueError``) that names the mistake and its place. :mod:`ludus.games.records.match_record` re-simulates
matches of Python games.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

import msgspec

from ludus.flow.hosted_replay import HostedReplay
from ludus.flow.inputs.decode import from_json
from ludus.flow.inputs.shown import shown
from ludus.flow.problem import Argument
from ludus.games import names
from ludus.games.registry import find, is_python, maker, text_params
from ludus.native import ReplayError, core

if TYPE_CHECKING:
    from ludus.flow.spec import GameSpec
    from ludus.games.python_game import GameMaker
    from ludus.games.records.match_record import Resimulation


#: First bytes of every replay.
MAGIC = b"LUDUSREC"
#: Parameters by which a player reads a match, and which leave the match as it is: weights bring their own.
READING_PARAMS = ("features", "resignation")


class ReplayInfo(msgspec.Struct, frozen=True):
    """The content of a replay without decisions and hashes.

    ``players`` names the player at each seat; ``outcome`` is +1 won, 0 drawn, -1 lost, one per seat.
    ``hash_every`` is in ticks. ``over`` is false if the match was truncated from outside. Only replays of
    Python games have ``returns`` (sums of rewards, one per seat) and ``reproduced``: whether a re-simulation
    after the recording gave the same match, "unknown" without one.
    """

    format: int
    game: str
    version: int
    params: dict[str, str]
    seed: int
    match: int
    players: tuple[str, ...]
    ticks: int
    decisions: int
    hash_every: int
    final_hash: str
    over: bool
    outcome: tuple[float, ...]
    reproduced: Literal["", "unknown", "yes", "no"] = ""
    returns: tuple[float, ...] = ()


def short_params(params: Mapping[str, str]) -> dict[str, str]:
    """Return parameters for display in one line each: a rulebook becomes its title and its length."""
    out = {}
    for name, value in params.items():
        lines = value.splitlines()
        title = next((t.removeprefix("title=") for t in lines if t.startswith("title=")), "")
        out[name] = value if len(lines) < 2 else f"{title} ({len(lines)} lines)".strip()
    return out


class ReplayDecision(NamedTuple):
    """One decision before the advance from ``tick``.

    ``bot`` is an index of the spec's bots with an empty ``action``, or -1 with one choice per head in
    ``action``.
    """

    tick: int
    seat: int
    bot: int
    action: tuple[int, ...]


class DecisionColumns(msgspec.Struct):
    """All decisions of a replay by columns, as :class:`ReplayDecision` has them.

    ``actions`` has ``heads`` numbers for each decision with ``bot`` -1, in their order.
    """

    heads: int
    ticks: list[int]
    seats: list[int]
    bots: list[int]
    actions: list[int]


class ReplayCheck(msgspec.Struct, frozen=True):
    """The result of a re-simulation. ``last_same``: the last tick whose recorded hash agreed."""

    same: bool
    ticks: int
    last_same: int
    difference: str


def info(data: bytes) -> ReplayInfo:
    """Read a replay. It also works for games that are not installed."""
    return from_json(core.replay_info(data), ReplayInfo)


def decision_columns(data: bytes) -> DecisionColumns:
    """Return what :func:`decisions` returns, without an object for each decision."""
    return from_json(core.replay_decisions(data), DecisionColumns)


def decisions(data: bytes) -> list[ReplayDecision]:
    """Return the decisions of all seats in order. The game need not be installed."""
    columns = decision_columns(data)
    heads, at = columns.heads, 0
    made = []
    for tick, seat, bot in zip(columns.ticks, columns.seats, columns.bots, strict=True):
        took = heads if bot < 0 else 0
        made.append(ReplayDecision(tick, seat, bot, tuple(columns.actions[at : at + took])))
        at += took
    return made


def verify(data: bytes, game: str = "") -> ReplayCheck:
    """Re-simulate the match and compare every recorded hash and the outcome.

    ``game``: the reference of a game that this process has not loaded. A replay has only the game's name and
    never determines which code runs. Raises ``ReplayError`` for a replay of another game or version, and
    ``UnknownGame`` for a game that is unknown or must be named.
    """
    about = info(data)
    if about.format == 1:
        load_game(about, game)
        return from_json(find(about.game).native.replay_verify(data), ReplayCheck)
    return verify_hosted(data, about, game)


def load_game(about: ReplayInfo, game: str) -> None:
    """Load the compiled game of a replay by the user's reference; empty = nothing to load.

    Raises ``ReplayError`` if it is another game, ``ParamError`` if there is none.
    """
    if game and (found := find(game).name) != about.game:
        raise ReplayError(f"replay: recorded for {shown(about.game)}, not {found}")


def hashes(data: bytes) -> list[int]:
    """Return the recorded hashes at tick 0, ``hash_every``, ... The game need not be installed."""
    return core.replay_hashes(data)


def python_game_of(about: ReplayInfo, game: str) -> str:
    """Return the reference of a replay's game, which is written in Python.

    Args:
        about: The replay.
        game: Reference from a person; empty: as the replay names it, if it is installed or was loaded.

    Raises:
        UnknownGame: A person has to name it.
        ReplayError: ``game`` is a compiled game.
    """
    if game:
        if not is_python(game):
            raise ReplayError(f"replay: recorded for {shown(about.game)}, not {shown(game)}")
        return game
    if names.may_load(about.game) and is_python(about.game):
        return about.game
    raise names.UnknownGame(
        f"replay: of {shown(about.game)}, a game that is neither built in nor installed; say which with ",
        Argument("game", form="REFERENCE"),
    )


def _maker_of(about: ReplayInfo, game: str) -> GameMaker:
    made = maker(python_game_of(about, game), about.params)
    spec = made.spec
    if spec.name != about.game:
        raise ReplayError(f"replay: recorded for {shown(about.game)}, not {spec.name}")
    if about.version != spec.version:
        raise ReplayError(
            f"replay: recorded under version {about.version} of {about.game}, "
            f"this one is version {spec.version}"
        )
    if len(about.players) != spec.seats:
        raise ReplayError("replay: wrong number of seats")
    return made


class MatchFollower(Protocol):
    """Follows the re-simulation of a recorded match of a Python game."""

    def start(self, spec: GameSpec) -> None:
        """Forget what was seen: the match starts."""
        ...

    def decide(self, resimulation: Resimulation, tick: int, actions: Mapping[int, tuple[int, ...]]) -> None:
        """See the recorded actions of a tick, by seat, before they are played."""
        ...

    def earn(self, resimulation: Resimulation) -> None:
        """See what a tick was worth."""
        ...


def verify_hosted(
    data: bytes, about: ReplayInfo, game: str, follower: MatchFollower | None = None
) -> ReplayCheck:
    """Re-simulate a recorded match of a Python game: see :func:`verify`.

    Args:
        data: The replay.
        about: Its content; the match is played under its parameters.
        game: Reference from a person, or empty.
        follower: Sees the match on the way.
    """
    from ludus.games.checks.agent_order import take_over
    from ludus.games.contained import contained  # numpy: not for a look at a replay

    made, reference = _maker_of(about, game), game or about.game
    hashes, made_decisions = core.replay_hashes(data), decisions(data)
    if any(len(d.action) != len(made.spec.heads) for d in made_decisions):
        raise ReplayError("replay: an action has the wrong heads")

    def compared() -> ReplayCheck:
        comparison = _ReplayComparison(about, hashes, follower)
        try:
            with contained():
                return comparison.check(made, made_decisions)
        except Exception as error:  # of the game, or of a decision that it refuses
            return comparison.differs(f"{type(error).__name__}: {error}")

    found = compared()
    if found.same or not take_over(made, reference, about.params):
        return found
    found = compared()  # with the agents in the order of the processes that play
    if found.same:
        return found
    cause = "the order of its agents depends on the process (a set): sort possible_agents"
    return msgspec.structs.replace(found, difference=f"{found.difference}; {cause}")


class _ReplayComparison:
    """Comparison of a recorded match of a Python game with its re-simulation."""

    def __init__(self, about: ReplayInfo, hashes: Sequence[int], follower: MatchFollower | None) -> None:
        self.about, self.hashes, self.follower = about, hashes, follower
        self.last_same = self.tick = 0

    def differs(self, what: str) -> ReplayCheck:
        """Return the result for a difference at the current tick."""
        return ReplayCheck(False, self.tick, self.last_same, f"{what} after tick {self.tick}")

    def check(self, made: GameMaker, made_decisions: Sequence[ReplayDecision]) -> ReplayCheck:
        """Play the match again and compare. Raises the game's errors."""
        from ludus.games.records.match_record import Resimulation

        about = self.about
        by_tick: dict[int, dict[int, tuple[int, ...]]] = {}
        for d in made_decisions:
            by_tick.setdefault(d.tick, {})[d.seat] = d.action
        if self.follower is not None:
            self.follower.start(made.spec)
        resimulation = Resimulation(made, about.seed, about.match, about.hash_every)
        try:
            return self._compare(resimulation, by_tick)
        finally:
            resimulation.close()

    def _compare(
        self, resimulation: Resimulation, by_tick: Mapping[int, Mapping[int, tuple[int, ...]]]
    ) -> ReplayCheck:
        about, recorder = self.about, resimulation.recorder
        for tick in range(about.ticks + 1):
            self.tick = tick
            if tick > 0:
                self._play(resimulation, tick - 1, by_tick.get(tick - 1, {}))
            if tick % about.hash_every == 0:
                if recorder.hash != self.hashes[tick // about.hash_every]:
                    return self.differs("the observations, masks or rewards differ")
                self.last_same = tick
            if resimulation.over and tick < about.ticks:
                return self.differs("this match is over, the recorded one was not,")
        if not resimulation.over and about.over:
            return self.differs("the recorded match was over, this one is not,")
        if str(recorder.hash) != about.final_hash:
            return self.differs("the observations, masks or rewards differ")
        sums = zip(recorder.returns.tolist(), about.returns, strict=True)  # the file has float32
        if not all(math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-5) for a, b in sums):
            return self.differs("the returns differ")
        if about.over and resimulation.outcome() != list(about.outcome):
            return self.differs("the outcome differs")
        return ReplayCheck(True, about.ticks, about.ticks, "")

    def _play(self, resimulation: Resimulation, tick: int, actions: Mapping[int, tuple[int, ...]]) -> None:
        if self.follower is not None:
            self.follower.decide(resimulation, tick, actions)
        resimulation.play(actions, last=tick + 1 == self.about.ticks)
        if self.follower is not None:
            self.follower.earn(resimulation)


def mark_reproduced(data: bytes, game: str = "") -> bytes:
    """Re-simulate a replay of a Python game and set :attr:`ReplayInfo.reproduced`.

    Replays of compiled games are returned unchanged: their rules are deterministic by contract.
    """
    from ludus.games.records.match_record import REPRODUCED

    about = info(data)
    if about.format == 1:
        return data
    same = verify(data, game).same
    columns = decisions(data)
    return core.replay_encode(
        HostedReplay(
            game=about.game,
            version=about.version,
            params=about.params,
            seed=about.seed,
            match=about.match,
            players=list(about.players),
            heads=len(columns[0].action) if columns else 0,
            ticks=[d.tick for d in columns],
            seats=[d.seat for d in columns],
            actions=[a for d in columns for a in d.action],
            length=about.ticks,
            hash_every=about.hash_every,
            hashes=core.replay_hashes(data),
            final_hash=int(about.final_hash),
            over=about.over,
            outcome=list(about.outcome),
            returns=list(about.returns),
            reproduced=REPRODUCED.index("yes" if same else "no"),
        )
    )


def frames(data: bytes, every_ticks: int = 1) -> list[str]:
    """Return the game's view (JSON text) at the start, after every ``every_ticks`` and at the end."""
    if every_ticks < 1:
        raise ValueError(f"every_ticks is {every_ticks}, expected 1 or more")
    return find(info(data).game).native.replay_frames(data, every_ticks)


def record(
    game: str,
    params: Mapping[str, object] | None = None,
    *,
    seed: int = 1,
    match: int = 0,
    bots: Sequence[str] = ("uniform",),
    frame_skip: Sequence[int] = (),
    hash_every: int = 100,
) -> bytes:
    """Play one match of bots inside the core and return its replay.

    One bot or frame skip stands for all seats; ``uniform`` draws random legal actions; no frame skip
    means the game's own. Raises ``ParamError`` on unknown names.
    """
    ref = find(game)
    return ref.native.replay_record(
        ref.name, text_params(params or {}), seed, match, list(bots), list(frame_skip), hash_every
    )
