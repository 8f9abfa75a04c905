"""A match with its seats, as pages may see it. One thread uses it (:mod:`ludus.web.serve.session`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from ludus.flow.inputs.shown import visible
from ludus.flow.masks import head_spans, illegal_choice, legal_choices
from ludus.games.endings import Sides, ending_of, fate_of, side_names
from ludus.games.match import GameError, Match
from ludus.games.views import View, view_of
from ludus.web.analysis.advisor import Advisor, Asker
from ludus.web.from_replay import TICKS_PER_S
from ludus.web.moves import cells_of, choice_name, labels_of, move_name, names_moves, order_name
from ludus.web.recording import ViewError
from ludus.web.renderers import renderer_of
from ludus.web.serve import messages
from ludus.web.serve.live.guides import guide_for
from ludus.web.serve.live.labels import short_name
from ludus.web.serve.messages import ThoughtView
from ludus.web.serve.seats import Choice, Offer, Person, SearchSeat, Seat
from ludus.web.serve.sight import Sight, sight_of
from ludus.web.serve.thinking import Thinking

MOST_TAKEN_BACK = 1024  # decisions of a person that can be taken back
MOST_MASK = 1 << 16  # bytes of a mask that travels to a page
MOST_LAST = 64  # decisions that one moment names
MOST_LABELS = 4096
MOST_NAME = 200  # characters of a player's name on a page


class IllegalDecision(ValueError):
    """A player that is no person decided against the rules."""


class _Before(NamedTuple):
    """State of a match before a decision of a person."""

    match: Match
    memories: list[Any]


class Table:
    """A match and the players at its seats.

    Attributes:
        match: The match; a decision that is taken back puts another in its place.
        seats: Player of each seat.
        persons: Seats of persons.
        real_time: Whether the match continues without decisions; otherwise it waits for each person.
        ticks_per_s: Ticks a second at rate 1.
        limit: Most ticks of the match.
        started_at: Tick of the match when the players sat down.
        advisor: Who gives hints to persons, or None.
        decided: Whether a person's decision was played in the last tick.
        thinks: Whether thoughts are asked for; only where no person plays.
    """

    def __init__(
        self, match: Match, seats: Sequence[Seat], limit: int, moves: Sequence[tuple[int, int, str]] = ()
    ) -> None:
        """Seat the players; ``moves``: decisions of the match so far, as pages list them."""
        self.match, self.seats, self.limit = match, list(seats), limit
        self.persons = tuple(seat for seat, player in enumerate(seats) if isinstance(player, Person))
        self.view = view_of(match.game) or View("document")
        self.real_time = not (match.spec.turn_based or _waits(match))
        for seat in self.seats if not self.real_time else ():
            seat.skip = 1
        pace = TICKS_PER_S["ticks" if self.real_time else "turns"]
        self.ticks_per_s = self.view.ticks_per_s or pace
        self.decided = self.thinks = False
        self.sight: Sight = sight_of(match.spec, self.view, self.persons)
        self._thinking = Thinking(match, self.view, self.seats)
        self._latest: dict[int, ThoughtView] = {}  # of each seat
        self._before: list[_Before] = []
        self._last: list[tuple[int, str]] = []
        self.started_at = match.tick
        self.advisor: Advisor | None = None
        self._hint: tuple[messages.Hint, Asker] | None = None  # that waits for its seat's turn
        # Tick after the decision, seat and text: the newest ones.
        self._moves = list(moves[-messages.MOST_MOVES :])
        self._thoughts: list[ThoughtView] = []
        self._changes = 0
        self._seen: tuple[int, dict[str, Any] | None] = (-1, None)
        self._fates: dict[int, str] = {}  # person's seat that is out -> why
        self._why: Callable[[Sides], str] | None = None  # of an end that is not the rules'
        self._guide = guide_for(match.game, match.params)
        self._sides = side_names(self.view, len(self.seats))
        self._renderer = "document" if self.sight.no_document else _renderer(match, self.view)

    @property
    def over(self) -> bool:
        """Whether the match has ended by its rules."""
        return self.match.over

    @property
    def too_long(self) -> bool:
        """Whether the limit of ticks is reached."""
        return self.match.tick >= self.limit

    @property
    def can_take_back(self) -> bool:
        """Whether there is a decision to take back."""
        return bool(self._before) and not self.over

    @property
    def names(self) -> list[str]:
        """Names of the players, for the replay."""
        return [seat.name for seat in self.seats]

    def watch(self) -> None:
        """Show thoughts from the start."""
        self.thinks = True

    def waits_for(self) -> tuple[int, ...]:
        """Return the seats of persons that the match waits for."""
        if self.real_time:
            return ()
        acting = set(self.match.to_act)
        return tuple(s for s, person in self._people() if s in acting and not person.waiting)

    def malformed(self, seat: int, action: tuple[int, ...]) -> str:
        """Return why a decision is refused now, or an empty text."""
        spec = self.match.spec
        if seat in self.match.to_act:
            return illegal_choice(spec, self.match.legal(seat), action)
        if len(action) != len(spec.heads):
            return f"{len(action)} numbers, expected {len(spec.heads)}: one per head"
        return ""

    def no_hint(self, seat: int) -> str:
        """Return why a person gets no hint for a seat now, or an empty text."""
        if self.advisor is None:
            return "no one gives hints here"
        if seat not in self.persons or not (self.real_time or seat in self.match.to_act):
            return f"it is not the turn of a person at seat {seat}"
        return self.advisor.refusal()

    def ask_hint(self, hint: messages.Hint, asker: Asker) -> None:
        """Answer ``asker`` with a hint about the next moment at which the seat may decide, later."""
        self._hint = (hint, asker)
        self._pass_hint_on()

    def _pass_hint_on(self) -> None:
        if self._hint is not None and self.advisor is not None and self._hint[0].seat in self.match.to_act:
            self.advisor.ask(self.match.clone(), *self._hint)
            self._hint = None

    def offer(self, seat: int, sender: object, echo: int, action: tuple[int, ...]) -> None:
        """Take a decision for the seat of a person."""
        person = self.seats[seat]
        assert isinstance(person, Person)
        person.offer(Offer(sender, echo, action))

    def refused(self) -> list[tuple[Offer, str]]:
        """Return and forget the decisions that were not legal when their time came."""
        found = [refused for _, person in self._people() for refused in person.refused]
        for _, person in self._people():
            person.refused.clear()
        return found

    def play(self) -> bool:
        """Play one tick; False: a person has not decided, and nothing has changed.

        Raises:
            IllegalDecision: By a player that is no person.
            GameError: The rules refuse to continue.
        """
        acting = self.match.to_act
        self._pass_hint_on()
        made: dict[int, Choice] = {}
        for seat, person in self._people():
            choice = person.decide(self.match, seat) if seat in acting else None
            if choice is not None:
                made[seat] = choice
        if not self.real_time:
            if any(seat in acting and seat not in made for seat in self.persons):
                return False
            self._remember(bool(made))
        self.decided = bool(made)
        for seat in acting:
            if seat not in self.persons and (choice := self.seats[seat].decide(self.match, seat)) is not None:
                made[seat] = choice
        named = names_moves(self.view)
        before = self.match.view() if named and made else {}
        orders = {seat: order for seat, choice in made.items() if (order := self._order(seat, choice))}
        for seat, choice in made.items():
            self._think(seat, choice)
            self._act(seat, choice)
        self.match.advance()
        self._changes += 1
        if self.sight.hides:
            self._document()  # the numbers of units depend on every moment
        self._note_fates()
        after = self.match.view() if named and made else {}
        for seat, choice in made.items():
            self._last.append((seat, orders.get(seat) or self._text(seat, choice, before, after)))
            self._moves.append((self.match.tick, *self._last[-1]))
        del self._last[:-MOST_LAST]
        del self._moves[: -messages.MOST_MOVES]
        return True

    def take_back(self) -> None:
        """Return to the state before the last decision of a person."""
        before = self._before.pop()
        self.match = before.match
        for seat, memory in zip(self.seats, before.memories, strict=True):
            seat.restore(memory)
        self._last = []
        self._moves = [move for move in self._moves if move[0] <= self.match.tick]
        self._latest.clear()
        self._thinking.take_back()
        self._changes += 1

    def resign(self) -> tuple[float, ...]:
        """Return the outcome of a match that the persons give up; plays the game's own choice."""
        spec = self.match.spec
        acting = [s for s in self.persons if s in self.match.to_act]
        seat = (acting or list(self.persons))[0]
        self._why = lambda sides: f"{sides.who(seat)} resigned"
        labels = spec.heads[0].labels
        if acting and spec.turn_based and len(spec.heads) == 1 and "resign" in labels:
            choice = labels.index("resign")
            if not illegal_choice(spec, self.match.legal(seat), (choice,)):
                self.match.act(seat, choice)
                self.match.advance()
                self._changes += 1
        sides = {min(t for t in range(spec.seats) if spec.together(s, t)) for s in range(spec.seats)}
        if len(sides) != 2:  # the others play on, or there is no one else
            return tuple(-1.0 if spec.together(s, seat) else 0.0 for s in range(spec.seats))
        return tuple(-1.0 if spec.together(s, seat) else 1.0 for s in range(spec.seats))

    def out_of_time(self, seat: int) -> None:
        """Note that the time of a seat was over, which ends the match."""
        self._why = lambda sides: f"{sides.whose(seat)} time was over"

    def ending(self, plays: bool) -> str:
        """Return why the match has ended, for a page that plays, or looks on."""
        if self._why is not None:
            text = self._why(self._named_sides(plays))
            return text[:1].upper() + text[1:]
        view = msgspec.structs.replace(self.view, labels=labels_of(self.view, self.match.spec))
        match, sides = self.match, self._named_sides(plays)
        return ending_of(match.game, view, match.view(), match.outcome, match.tick, sides)

    def _named_sides(self, plays: bool) -> Sides:
        names = [short_name(visible(seat.name)[:MOST_NAME]) for seat in self.seats]
        return Sides(names, self._sides, self.persons if plays else ())

    def _note_fates(self) -> None:
        """Note why persons are out of a match that continues."""
        for seat in self.persons if self.view.renderer == "arena" and not self.over else ():
            if seat not in self._fates and seat not in self.match.to_act:
                why = fate_of(self.view, self.match.view(), seat, self.match.tick, self._named_sides(True))
                if why:
                    self._fates[seat] = why

    def hurry(self) -> None:
        """Let no search keep the match from its end. For any thread."""
        for seat in self.seats:
            if isinstance(seat, SearchSeat):
                seat.hurry()

    def forget(self) -> None:
        """Forget what only a match that continues needs."""
        self._before.clear()

    def replay(self) -> bytes:
        """Return the match as the bytes of a ``.ludus`` file."""
        return self.match.replay(self.names)

    # For the pages.

    def hello(self, plays: bool, first: messages.MomentView) -> messages.Hello:
        """Return the match for a page; id, key, rate, clock and signs of life are the caller's."""
        spec, view = self.match.spec, self.view
        named = self._moves[: len(self._moves) - len(self._last)]  # the next moment names the others
        heads = (
            messages.HeadView(h.name, h.size, h.labels[:MOST_LABELS], cells_of(h, spec)[0])
            for h in spec.heads
        )
        return messages.Hello(
            game=spec.name,
            title=spec.title,
            renderer=self._renderer,
            view=messages.Drawing(
                view.input,
                view.keys,
                view.lines,
                view.coordinates,
                labels_of(view, spec)[:MOST_LABELS],
                view.turned,
            ),
            heads=tuple(heads),
            seats=tuple(map(self._seat_name, self.seats, self._sides)),
            you=self.persons if plays else (),
            turn_based=not self.real_time,
            ticks_per_s=self.ticks_per_s,
            rate=1.0,
            clock_s=0.0,
            confirm_default=False,
            hidden=self.sight.hides,
            match="",
            key="",
            first=msgspec.structs.replace(first, last=()),
            advisor=visible(self.advisor.name)[:MOST_NAME] if plays and self.advisor else "",
            params=messages.linked(self.match.params),
            moves=tuple(move for move in named if move[1] in self._named_seats),
            teams=spec.teams,
            guide=self._guide,
        )

    def _seat_name(self, seat: Seat, side: str) -> messages.SeatName:
        name = visible(seat.name)[:MOST_NAME]
        return messages.SeatName(name, seat.kind, side, short_name(name))

    def moment(self, plays: bool, left_s: Mapping[str, float], paused: bool) -> messages.MomentView:
        """Return the present state for a page that plays, or looks on."""
        people = [person for _, person in self._people()]
        return messages.MomentView(
            tick=self.match.tick,
            view=self._document(),
            to_act=tuple(s for s in self.match.to_act if s in self.persons or not self._secret),
            legal=self._legal() if plays else {},
            left_s=dict(left_s),
            echo=max((p.echo for p in people), default=0) if plays else 0,
            last=tuple(entry for entry in self._last if entry[0] in self._named_seats),
            paused=paused,
            can_take_back=plays and self.can_take_back,
            out={str(seat): why for seat, why in self._fates.items()} if plays else {},
        )

    def shown(self) -> list[ThoughtView]:
        """Return the thoughts since the last call; the decisions so far have been named now."""
        thoughts, self._thoughts, self._last = self._thoughts, [], []
        return thoughts

    @property
    def _secret(self) -> bool:
        """Whether a page may not know which other seats decide."""
        return self.sight.hides and self.real_time

    @property
    def _named_seats(self) -> Sequence[int]:
        """Seats whose decisions a page may know."""
        return self.persons if self.sight.hides else range(len(self.seats))

    def last_thoughts(self) -> list[ThoughtView]:
        """Return what each player thought of its last decision. Not for a page while a person plays."""
        return list(self._latest.values())

    def _document(self) -> dict[str, Any] | None:
        if self._seen[0] != self._changes:
            self._seen = (self._changes, self.sight.see(self.match))
        return self._seen[1]

    def _legal(self) -> dict[str, list[list[int]]]:
        spec, acting = self.match.spec, self.match.to_act
        if spec.mask_size > MOST_MASK:
            return {}
        spans = head_spans(spec)
        masks = {seat: self.match.legal(seat) for seat in self.persons if seat in acting}
        return {str(seat): [mask[span].tolist() for span in spans] for seat, mask in masks.items()}

    def _people(self) -> list[tuple[int, Person]]:
        return [(s, p) for s, p in enumerate(self.seats) if isinstance(p, Person)]

    def _remember(self, decided: bool) -> None:
        """Keep the state before a decision of a person, where taking it back shows nothing hidden."""
        if decided and self.match.spec.perfect_information:
            self._before.append(_Before(self.match.clone(), [seat.state() for seat in self.seats]))
            del self._before[:-MOST_TAKEN_BACK]

    def _think(self, seat: int, choice: Choice) -> None:
        """Let the player of a seat think about its decision; a memory is to see every one of them."""
        thought = self._thinking.thought(self.match, seat, choice.action or ())
        if thought is not None:
            self._latest[seat] = thought
            if self.thinks and not self.persons:
                self._thoughts.append(thought)

    def _act(self, seat: int, choice: Choice) -> None:
        if choice.action is None:
            self.match.bot(seat, choice.bot)
            return
        why = illegal_choice(self.match.spec, self.match.legal(seat), choice.action)
        if why:
            raise IllegalDecision(f"{self.seats[seat].name} (seat {seat}): {why}")
        self.match.act(seat, *choice.action)

    def _order(self, seat: int, choice: Choice) -> str:
        """Return the name of a person's decision of several heads, by what the person sees; "" for others."""
        spec = self.match.spec
        if choice.action is None or len(spec.heads) == 1 or seat not in self.persons:
            return ""
        mask, action = self.match.legal(seat)[None], np.array([choice.action])
        relevant = [bool(legal_choices(spec, mask, k, action).any()) for k in range(len(spec.heads))]
        return order_name(choice.action, spec, relevant, self._document() or {}, seat)

    def _text(self, seat: int, choice: Choice, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
        """Return a decision as people read it; ``before``, ``after``: documents that tell a move."""
        if choice.action is not None:
            return choice_name(choice.action, self.match.spec, self.view, after)
        return move_name(self.view, self.match.spec, before, after, seat) or choice.bot


def _waits(match: Match) -> bool:
    """Whether the rules refuse to continue without decisions."""
    try:
        match.clone().advance()
    except GameError:
        return True
    return False


def _renderer(match: Match, view: View) -> str:
    document = msgspec.json.encode(match.view())
    try:
        return renderer_of(match.game, view, document)
    except ViewError:
        return "document"
