"""The sentence about the end of a match, by what its last view document shows.

A document of a game that is not known here gets the general sentence. Documents may come from packages, so
that any field may be missing or of another type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ludus.games.coordinates import cell_name
from ludus.games.endings.sides import Sides
from ludus.games.views import View

Document = Mapping[str, Any]
_LINE = {"tic_tac_toe": 3, "connect_four": 4, "gomoku": 5}  # game -> length of a winning line
_NUMBERS = {3: "three", 4: "four", 5: "five"}
_NOUGHTS_SIDE = 3


class LastMoment(NamedTuple):
    """The end of a match."""

    game: str
    view: View
    document: Document
    outcome: Sequence[float]
    tick: int
    sides: Sides

    @property
    def losers(self) -> list[int]:
        """Seats that lost."""
        return [seat for seat, value in enumerate(self.outcome) if value < 0]

    @property
    def winners(self) -> list[int]:
        """Seats that won."""
        return [seat for seat, value in enumerate(self.outcome) if value > 0]


def ending_of(
    game: str, view: View, document: Document, outcome: Sequence[float], tick: int, sides: Sides
) -> str:
    """Return why a match is over, one sentence without a full stop.

    Args:
        game: Name of the game.
        view: Its view.
        document: Its last view document.
        outcome: +1, 0 or -1 a seat.
        tick: Ticks that were played.
        sides: Names for the reader.
    """
    scene = LastMoment(game, view, document, outcome, tick, sides)
    for sentence in (*_OF_GAME.get(game, ()), *_OF_RENDERER.get(view.renderer, ())):
        try:
            text = sentence(scene)
        except (TypeError, ValueError, KeyError, IndexError, AttributeError):
            continue  # a document of a package with other fields
        if text:
            return _capital(text)
    return _capital(_general(scene))


def fate_of(view: View, document: Document, seat: int, tick: int, sides: Sides) -> str:
    """Return why a seat is out of a match that continues; empty while it is in."""
    if view.renderer != "arena":
        return ""
    for agent in _list(document.get("agents")):
        if isinstance(agent, Mapping) and agent.get("seat") == seat and agent.get("alive") is False:
            return _capital(f"{sides.was(seat)} caught in flames at tick {tick:,}")
    return ""


def _general(scene: LastMoment) -> str:
    ticks = f"{scene.tick:,} tick{'' if scene.tick == 1 else 's'}"
    if scene.winners:
        return f"the match is over after {ticks}: {scene.sides.all_of(scene.winners)} won"
    if scene.losers and len(scene.losers) == len(scene.outcome):
        return f"the match is over after {ticks}: {'lost' if len(scene.outcome) == 1 else 'no one won'}"
    return f"the match is over after {ticks}: {'a draw' if len(scene.outcome) > 1 else 'no result'}"


# Games on a map.


def _points(scene: LastMoment) -> str:
    """Tell the points that one side has reached."""
    score = scene.document.get("score")
    if not isinstance(score, list) or not scene.winners:
        return ""
    seat = scene.winners[0]
    points = int(score[seat])
    if seat == scene.sides.you:
        return f"you brought the flag to your base {_times(points)}, the last time at tick {scene.tick:,}"
    who = scene.sides.who(seat)
    return f"{who} brought the flag to its base {_times(points)}, the last time at tick {scene.tick:,}"


def _bases(scene: LastMoment) -> str:
    """Tell which side has no base left."""
    roles = scene.document.get("roles")
    if not isinstance(roles, Mapping) or not scene.losers:
        return ""
    bases = [name for name, role in roles.items() if role == "base"]
    left = {unit["seat"] for unit in scene.document["units"] if unit["type"] in bases}
    if not bases or left & set(scene.losers):
        return ""
    seat = scene.sides.you if scene.sides.you in scene.losers else scene.losers[0]
    name = bases[0].replace("_", " ")
    if len(scene.outcome) == 1:
        return f"{scene.sides.whose(seat)} {name} fell at tick {scene.tick:,}"
    if len(scene.losers) > 1:  # a team
        owner = "your team's" if seat == scene.sides.you else _team(scene, scene.losers)
        return f"{owner} {name} fell at tick {scene.tick:,}"
    return f"{scene.sides.whose(seat)} last {name} fell at tick {scene.tick:,}"


def _team(scene: LastMoment, seats: Sequence[int]) -> str:
    if scene.sides.you >= 0 and scene.sides.you not in seats:
        return "the other team's"
    return f"{scene.sides.all_of(seats)}'s"


def _survived(scene: LastMoment) -> str:
    """Tell that the only side held out."""
    if len(scene.outcome) != 1 or not scene.winners:
        return ""
    return f"{scene.sides.whose(0)} base stands at the end of the last wave, at tick {scene.tick:,}"


def _time(scene: LastMoment) -> str:
    if scene.winners and scene.losers:
        return f"time is up at tick {scene.tick:,}: {scene.sides.all_of(scene.winners)} had the advantage"
    if not scene.winners:
        return f"time is up at tick {scene.tick:,}: a draw"
    return ""


# Boards.


def _row(scene: LastMoment) -> str:
    """Tell the winning line."""
    document, side = scene.document, scene.document.get("winner")
    cells = _list(document.get("cells"))
    if not scene.winners or side not in scene.winners:
        return ""
    width = document.get("width", _NOUGHTS_SIDE if scene.view.renderer == "noughts" else 0)
    line = _line(cells, int(width), int(side), _LINE[scene.game])
    if not line:
        return ""
    count = _NUMBERS.get(len(line), str(len(line)))
    return f"{scene.sides.who(side)} made {count} in a row: {_cells(scene, line, int(width))}"


def _line(cells: Sequence[Any], width: int, side: int, length: int) -> list[int]:
    """Return the cells of the longest line of a side, if it has ``length`` of them."""
    height = len(cells) // width
    for start, owner in enumerate(cells):
        if owner != side:
            continue
        for right, down in ((1, 0), (0, 1), (1, 1), (-1, 1)):
            x, y = start % width, start // width
            line = []
            while 0 <= x < width and 0 <= y < height and cells[y * width + x] == side:
                line.append(y * width + x)
                x, y = x + right, y + down
            if len(line) >= length:
                return line
    return []


def _cells(scene: LastMoment, line: Sequence[int], width: int) -> str:
    document = scene.document
    height = int(document.get("height", len(document["cells"]) // width))
    if scene.view.input == "columns":
        return (
            "column"
            + ("s" if len({cell % width for cell in line}) > 1 else "")
            + " "
            + ", ".join(dict.fromkeys(str(cell % width + 1) for cell in line))
        )
    return ", ".join(cell_name(cell, width, height, scene.view.coordinates or "chess") for cell in line)


def _territory(scene: LastMoment) -> str:
    """Tell the count after two passes, or the side that gave up."""
    document = scene.document
    if "komi" not in document:
        return ""
    resigned = document.get("resigned", -1)
    if resigned in (0, 1):
        return f"{scene.sides.who(resigned)} resigned"
    margin, komi = float(document["margin"]), float(document["komi"])
    why = "after both passed" if int(document.get("passes", 0)) >= 2 else "at the limit of moves"
    if margin == 0:
        return f"both have the same area {why}, with komi {komi:g}"
    ahead = "Black" if margin > 0 else "White"
    return f"{ahead} leads by {abs(margin):g} {why}, with komi {komi:g}"


def _full(scene: LastMoment) -> str:
    return "the board is full and no one has a row: a draw" if not scene.winners else ""


# The others.


def _arena(scene: LastMoment) -> str:
    """Tell which agents are left."""
    agents = [agent for agent in _list(scene.document.get("agents")) if isinstance(agent, Mapping)]
    alive = [agent["seat"] for agent in agents if agent.get("alive")]
    you = scene.sides.you
    if not agents:
        return ""
    if scene.winners and you in scene.winners:
        last = "you are the last one alive" if alive == [you] else "everyone of the other side is out"
        return f"{last} at tick {scene.tick:,}"
    if scene.winners:
        lived = scene.sides.all_of(alive or scene.winners)
        return f"{lived} {'is' if len(alive) < 2 else 'are'} left; all others are out at tick {scene.tick:,}"
    if not alive:
        return f"the last agents fell together at tick {scene.tick:,}"
    if len(alive) > 1:
        return f"time is up at tick {scene.tick:,} and {len(alive)} agents live: a tie"
    return ""


def _cards(scene: LastMoment) -> str:
    """Tell the fold, or the cards that are shown."""
    document, sides = scene.document, scene.sides
    bets = [str(bet) for bet in _list(document.get("choices"))]
    bets += [str(bet) for round_ in _list(document.get("rounds")) for bet in _list(round_)]
    cards = [_card(scene, card) for card in _list(document.get("cards"))]
    if len(scene.outcome) != 2 or len(cards) < 2:
        return ""
    folded = document.get("folded", -1)
    if folded == -1 and bets[-2:] == ["bet", "pass"]:
        folded = scene.losers[0] if scene.losers else -1
    if folded in (0, 1):
        return f"{sides.who(folded)} folded"
    shown = f"{sides.who(0)} had {cards[0]}, {sides.who(1)} had {cards[1]}"
    table = f" with {cards[2]} on the table" if len(cards) > 2 else ""
    if not scene.winners:
        return f"{shown}{table}: equal hands share the chips"
    seat = scene.winners[0]
    return f"{shown}{table}: {sides.whose(seat)} hand is better"


def _card(scene: LastMoment, number: object) -> str:
    labels = scene.view.labels
    return labels[number] if isinstance(number, int) and 0 <= number < len(labels) else str(number)


def _payoff(scene: LastMoment) -> str:
    """Tell the cell that both chose."""
    row, column = (int(action) for action in scene.document["actions"])
    result = float(scene.document["payoff"][row * int(scene.document["columns"]) + column])
    names = scene.sides
    chose = f"{names.who(0)} chose {_card(scene, row)} and {names.who(1)} chose {_card(scene, column)}"
    return f"{chose}: the row's side gets {result:+g}" if result else f"{chose}: a draw"


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


Sentence = Callable[[LastMoment], str]
#: Game -> sentences; the first that has something to say counts.
_OF_GAME: Mapping[str, tuple[Sentence, ...]] = {
    **dict.fromkeys(_LINE, (_row, _full)),
    "go": (_territory,),
    "capture_the_flag": (_points,),
    "kuhn_poker": (_cards,),
    "leduc_poker": (_cards,),
    "matrix": (_payoff,),
}
#: Renderer -> sentences of every other game.
_OF_RENDERER: Mapping[str, tuple[Sentence, ...]] = {"map": (_bases, _survived, _time), "arena": (_arena,)}
