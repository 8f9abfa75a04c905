"""Positions of any game that can be searched: from a record, or from moves by their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ludus.flow.inputs.shown import shown, visible
from ludus.flow.names import did_you_mean
from ludus.flow.spec import GameSpec
from ludus.games import replays, spec
from ludus.games.contained import contained
from ludus.games.match import GameError, Match
from ludus.games.records.match_record import HASH_EVERY, Resimulation
from ludus.games.registry import is_python, maker
from ludus.games.replays import ReplayInfo
from ludus.games.views import View, view_of
from ludus.mcts.trees import Trees
from ludus.web.analysis.positions import play_on, start_at
from ludus.web.from_replay import recording_of
from ludus.web.moves import choice_name
from ludus.web.recording import Recording

MOST_MOVES = 10_000
MOST_PICTURE = 1 << 14  # characters of a game's own picture as text


class PositionError(ValueError):
    """A text is no position, or one that cannot be searched. The message has the reason."""


def side_name(view: View | None, seat: int) -> str:
    """Return the name of a side: ``Black`` where the game names its sides, ``seat 0`` elsewhere."""
    sides = view.sides if view is not None else ()
    return sides[seat] if seat < len(sides) else f"seat {seat}"


class SearchPosition(Protocol):
    """A position in which one seat is to move.

    Attributes:
        game: The game's reference.
        spec: The game.
        params: Parameters of its rules.
        moves: Names of the moves so far.
        view: How the game is drawn; None where it declares nothing.
        look: A view document of the match, for the size of its board.
    """

    game: str
    spec: GameSpec
    params: Mapping[str, str]
    moves: tuple[str, ...]
    view: View | None
    look: Mapping[str, Any]

    @property
    def seats(self) -> Sequence[int]:
        """Seats that decide now; empty once the match is over."""
        ...

    @property
    def tick(self) -> int:
        """Ticks that were played."""
        ...

    @property
    def match(self) -> Match | None:
        """The match of a compiled game."""
        ...

    def legal(self) -> list[int]:
        """Return the choices of the seat to move."""
        ...

    def document(self) -> Mapping[str, Any]:
        """Return the view document; empty where the game has none."""
        ...

    def picture(self) -> str:
        """Return the game's own picture as text; empty where it has none."""
        ...

    def play(self, choice: int) -> None:
        """Play a legal choice of the seat to move."""
        ...

    def load(self, trees: Trees) -> None:
        """Set the first slot of ``trees`` to the position."""
        ...

    def under(self, changes: Mapping[str, str]) -> SearchPosition:
        """Return the position under other parameters, which must leave the rules. Raise ``PositionError``."""
        ...

    def recording(self) -> Recording:
        """Return the match up to the position, or all of the record that it comes from."""
        ...


class CompiledPosition:
    """A position of a compiled game."""

    def __init__(self, match: Match, moves: Sequence[str] = (), replay: bytes = b"") -> None:
        """Take the position of ``match``.

        Args:
            match: A match that records itself.
            moves: Names of its moves.
            replay: The whole record, if the position is from one.
        """
        self.game, self.spec = match.game, match.spec
        self.params: Mapping[str, str] = match.params
        self.moves, self.view = tuple(moves), view_of(match.game)
        self.look: Mapping[str, Any] = match.view()
        self._match, self._replay = match, replay

    @property
    def seats(self) -> Sequence[int]:
        """Seats that decide now."""
        return self._match.to_act

    @property
    def tick(self) -> int:
        """Ticks that were played."""
        return self._match.tick

    @property
    def match(self) -> Match | None:
        """The match."""
        return self._match

    def legal(self) -> list[int]:
        """Return the choices of the seat to move."""
        (seat,) = self._match.to_act
        return [int(c) for c in self._match.legal(seat).nonzero()[0]]

    def document(self) -> Mapping[str, Any]:
        """Return the view document."""
        return self._match.view()

    def picture(self) -> str:
        """Return nothing: the view document has it all."""
        return ""

    def play(self, choice: int) -> None:
        """Play a legal choice of the seat to move."""
        self.moves = (*self.moves, name_of_choice(self, choice))
        self._match.play(choice)

    def load(self, trees: Trees) -> None:
        """Set the first slot of ``trees`` to the position."""
        trees.set_state(0, self._match.state)

    def under(self, changes: Mapping[str, str]) -> SearchPosition:
        """Return the position under other parameters, which must leave the rules.

        Raises:
            PositionError: The match is another one under them.
        """
        if all(self.params.get(name) == value for name, value in changes.items()):
            return self
        record = self._match.replay()
        about = replays.info(record)
        other = Match(about.game, {**self.params, **changes}, seed=about.seed, match=about.match, record=True)
        try:
            play_on(other, replays.decisions(record), about.ticks)
        except GameError as error:
            raise PositionError(_otherwise(changes, str(error))) from None
        if other.hash != self._match.hash:
            raise PositionError(_otherwise(changes, "the positions differ"))
        return CompiledPosition(other, self.moves, self._whole())

    def recording(self) -> Recording:
        """Return the match, or all of the record that it comes from."""
        return recording_of(self._whole())

    def _whole(self) -> bytes:
        sides = [side_name(self.view, seat) for seat in range(self.spec.seats)]
        return self._replay or self._match.replay(sides)


class HostedPosition:
    """A position of a game written in Python, which is played again from its start."""

    def __init__(self, game: str, params: Mapping[str, str], seed: int = 1, match: int = 0) -> None:
        """Start a match.

        Args:
            game: Reference of the game, from a person.
            params: Parameters of its rules.
            seed: Seed of the match.
            match: Number of the match.
        """
        self._made, self._seed, self._number = maker(game, params), seed, match
        self.game, self.spec, self.params = game, self._made.spec, params
        self.moves: tuple[str, ...] = ()
        self.view = view_of(self.spec.name)
        self.look: Mapping[str, Any] = {}
        self._played: list[tuple[int, int]] = []  # seat and choice
        self._replay = b""
        with contained():
            self._now = Resimulation(self._made, seed, match, HASH_EVERY, drawn=True)

    @property
    def seats(self) -> Sequence[int]:
        """Seats that decide now."""
        return () if self._now.over else tuple(self._now.deciding)

    @property
    def tick(self) -> int:
        """Ticks that were played."""
        return len(self._played)

    @property
    def match(self) -> Match | None:
        """None: there is no match of the core."""
        return None

    def legal(self) -> list[int]:
        """Return the choices of the seat to move."""
        (seat,) = self.seats
        return [int(c) for c in self._now.deciding[seat][1].nonzero()[0]]

    def document(self) -> Mapping[str, Any]:
        """Return nothing: games written in Python have no view documents."""
        return self.look

    def picture(self) -> str:
        """Return what the game's ``render`` draws, where that is a text."""
        render = getattr(self._now.game, "render", None)
        if not callable(render):
            return ""
        with contained():
            drawn = render()
        return drawn[:MOST_PICTURE] if isinstance(drawn, str) else ""

    def play(self, choice: int) -> None:
        """Play a legal choice of the seat to move."""
        (seat,) = self.seats
        name = name_of_choice(self, choice)
        with contained():
            self._now.play({seat: (choice,)})
        self._played.append((seat, choice))
        self.moves = (*self.moves, name)

    def load(self, trees: Trees) -> None:
        """Set the first slot of ``trees`` to the position."""
        trees.reset(0, self._seed, self._number)
        for _, choice in self._played:
            trees.play(0, choice)

    def under(self, changes: Mapping[str, str]) -> SearchPosition:
        """Return this position: parameters of games in Python may be rules."""
        return self

    def of_record(self, replay: bytes) -> None:
        """Take ``replay`` as the record that the position comes from."""
        self._replay = replay

    def recording(self) -> Recording:
        """Return the match, or all of the record that it comes from."""
        from ludus.web.frames.film import filmed

        return filmed(self._replay or self.encoded(), self.game)

    def encoded(self) -> bytes:
        """Return the match up to the position as the bytes of a ``.ludus`` file."""
        with contained():
            again = Resimulation(self._made, self._seed, self._number, HASH_EVERY)
            try:
                for number, (seat, choice) in enumerate(self._played, 1):
                    again.recorder.decide(seat, (choice,))
                    again.play({seat: (choice,)}, last=number == len(self._played))
            finally:
                again.close()
        sides = [side_name(self.view, seat) for seat in range(self.spec.seats)]
        return again.recorder.encode(self.params, sides, False, ())


def _otherwise(changes: Mapping[str, str], why: str) -> str:
    named = ", ".join(f"{name} = {shown(value)}" for name, value in changes.items())
    return f"the match is another one under {named}: {why}"


def name_of_choice(position: SearchPosition, choice: int) -> str:
    """Return the name of a choice."""
    return choice_name((choice,), position.spec, position.view, position.look)


def of_moves(text: str, game: str, params: Mapping[str, str]) -> SearchPosition:
    """Return the position after moves by their names.

    Args:
        text: Names, as the answers have them, with spaces or commas between; empty or ``start``: none.
        game: Reference of the game, from a person.
        params: Parameters of its rules.

    Raises:
        PositionError: A word names no legal move. The message has its place and the nearest legal one.
        ParamError: There is no such game or parameter.
    """
    _check_game(spec(game, params))
    made = is_python(game)
    position: SearchPosition
    position = HostedPosition(game, params) if made else CompiledPosition(Match(game, params, record=True))
    words = text.replace(",", " ").split()
    if len(words) > MOST_MOVES:
        raise PositionError(f"{len(words):,} moves, expected at most {MOST_MOVES:,}")
    for number, word in enumerate([] if words == ["start"] else words, 1):
        if not position.seats:
            raise PositionError(f"move {number}, {shown(word)}: the match is over after move {number - 1}")
        position.play(_choice(position, number, word))
    return position


def _choice(position: SearchPosition, number: int, word: str) -> int:
    """Return the legal choice that ``word`` names."""
    names = {name_of_choice(position, choice).lower(): choice for choice in position.legal()}
    if (found := names.get(word.lower())) is not None:
        return found
    size = position.spec.heads[0].size
    every = {name_of_choice(position, choice).lower() for choice in range(size)}
    where = f"move {number}, {shown(word)}"
    upper = {name.upper() if position.view is not None else name for name in names}
    near = did_you_mean(word.upper() if position.view is not None else word, sorted(upper), "legal")
    if word.lower() in every:
        raise PositionError(f"{where}: is illegal here{near}")
    raise PositionError(f"{where}: is no move of {position.spec.name}{near}")


def of_replay(replay: bytes, move: int | None, game: str = "") -> SearchPosition:
    """Return a position of a recorded match.

    Args:
        replay: The bytes of a ``.ludus`` file.
        move: The position before this move, from 1; None: after the last one.
        game: Reference of a game that is neither built in nor installed, from a person.

    Raises:
        PositionError: There is no such move, or the match is over then.
        ReplayError: The bytes are no replay, or one of other rules. (Each is a ``ValueError``.)
    """
    about = replays.info(replay)
    tick = _tick(about, move)
    if about.format != 1:
        return _hosted_at(replay, about, tick, replays.python_game_of(about, game))
    replays.load_game(about, game)
    _check_game(spec(about.game, about.params))
    start = start_at(replay, tick)
    return CompiledPosition(start.match, [text for _, _, text in start.moves], replay)


def _tick(about: ReplayInfo, move: int | None) -> int:
    last = about.ticks if about.over else about.ticks + 1
    if move is None and about.over:
        before = f"name a move, such as {about.ticks}, for the position before it"
        raise PositionError(f"the match is over after its last move; {before}")
    if move is not None and not 1 <= move <= last:
        raise PositionError(f"move {move}: expected 1 to {last:,}, the record has {about.ticks:,} moves")
    return about.ticks if move is None else move - 1


def _hosted_at(replay: bytes, about: ReplayInfo, tick: int, game: str) -> SearchPosition:
    check = replays.verify(replay, game)
    if not check.same:
        raise PositionError(f"the replay does not follow its rules: {check.difference}")
    position = HostedPosition(game, about.params, about.seed, about.match)
    _check_game(position.spec)
    for decision in replays.decisions(replay):
        if decision.tick < tick:
            position.play(decision.action[0])
    position.of_record(replay)
    return position


def _check_game(game: GameSpec) -> None:
    """Raise :class:`PositionError` for a game whose positions a search cannot take."""
    if not game.turn_based or len(game.heads) != 1 or game.seats != 2:
        expected = "expected a game of two seats in turn with one choice a move"
        raise PositionError(f"{visible(game.name)} cannot be searched: {expected}")
