"""Lineups and results of matches."""

from __future__ import annotations

import msgspec

from ludus.flow.command import SamplerCommand


class Controller(msgspec.Struct, frozen=True):
    """The player of a seat: a bot of the core by name, or a learned policy by id.

    ``policy`` counts from 0; it is -1 for a bot. ``name`` is the policy's name in replays
    (empty = ``"policy:N"``). With both, the rows of ``policy`` show the bot's matches: the pool writes the
    bot's decisions over the actions of these rows. The bot must be one that demonstrates.
    """

    bot: str = ""
    policy: int = -1
    weight: float = 1.0
    name: str = ""


class SeatPlan(msgspec.Struct, frozen=True):
    """The players and settings of one role of a match.

    ``controllers`` is a mixture: at each reset one is drawn by weight from the match's own random
    stream. ``frame_skip`` is the number of ticks between decisions (0 = the game's default).
    ``handover_bot`` plays the first k ticks, k ~ U{0..handover_ticks}, before a learned controller
    takes over (ELF's curriculum); :class:`Terms` change ``handover_ticks`` while the pool runs.
    """

    controllers: tuple[Controller, ...]
    frame_skip: int = 0
    handover_bot: str = ""
    handover_ticks: int = 0


class Lineup(msgspec.Struct, frozen=True):
    """The plan of every match of a pool.

    With ``rotate``, slot s seats plan p at seat ``(p + k) % seats``, k being ``GameSpec.turns`` in turn, so
    that every role is played from every seat and teams stay together; rows are then fixed by the slot.
    Plans of one team draw their controllers together: mixtures of equal weights give equal players.
    """

    plans: tuple[SeatPlan, ...]
    rotate: bool = True


class Terms(SamplerCommand[None], frozen=True):
    """Conditions of play that change while matches are played. None: no change.

    Args:
        handover: ``handover_ticks`` of the first plan, for matches that start after the group's next send.
        spirit: Share of its team's mean in what a seat's row is paid, 0..1, in every step from the group's
            next send on. Results and replays keep the game's own rewards.
        old_share: Share of the slabs played under the rules of ``game.before``, 0..1; pools ignore
            it.
    """

    handover: int | None = None
    spirit: float | None = None
    old_share: float | None = None


class Order(msgspec.Struct, frozen=True):
    """The players of a match, one a team.

    ``number`` counts from 0; a matchmaker's standing orders in a pool are numbered separately from its drawn
    orders. ``member``: whose pool plays it. ``players``: the member first, or a frozen player in an order
    that rates. ``tags``: the rule that drew each of ``players[1:]``.
    """

    number: int
    member: str
    players: tuple[str, ...]
    tags: tuple[str, ...]

    @property
    def match_tag(self) -> int:
        """Tag of the matches that the order starts: 0 means that a match has none."""
        return self.number + 1


class Orders(msgspec.Struct, frozen=True):
    """Who plays in the matches that start next: a mixture of frozen players, or a batch of orders.

    ``mixture``: frozen player -> the weight by which the pool draws it for a match, beside the other
    controllers of the lineup. ``kept``: frozen players whose weights must stay stored, those that play
    included. ``batch``: orders, each in ``slots`` of its place; without ``slots`` evenly.
    """

    mixture: dict[str, float] = {}
    kept: tuple[str, ...] = ()
    batch: tuple[Order, ...] = ()
    slots: tuple[int, ...] = ()


class MatchResult(msgspec.Struct, frozen=True):
    """One finished match. ``outcome``: one number per seat, +1 won, 0 drawn, -1 lost.

    ``players`` names the player at each seat at the end (``"simple"``, ``"policy:0"``), ``plan_of_seat`` the
    plan of each seat. ``error`` is empty unless the game threw; then ``outcome`` is all zero. ``tag`` belongs
    to the standing order under which the match started, 0 without one. ``scores`` holds for each seat the
    numbers that ``GameSpec.scores`` names; it is empty if the game names none, or threw.
    """

    match: int
    slot: int
    seed: int
    ticks: int
    decisions: int
    outcome: tuple[float, ...]
    returns: tuple[float, ...]
    players: tuple[str, ...]
    plan_of_seat: tuple[int, ...]
    truncated: bool = False
    error: str = ""
    replay: bytes = b""
    tag: int = 0
    scores: tuple[tuple[float, ...], ...] = ()
