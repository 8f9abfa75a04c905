"""Names of moves for people: ``D4``, ``3``, ``pass``, ``up``.

The name of a choice comes from the view's coordinates or the head's labels. A replay keeps only the name of a
bot, not its choice: its move is read from the view documents before and after it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ludus.flow.spec import GameSpec, HeadSpec
from ludus.games.coordinates import cell_name
from ludus.games.views import View

Document = Mapping[str, object]
_NOUGHTS_SIDE = 3
_STEPS = {(-1, 0): "up", (1, 0): "down", (0, -1): "left", (0, 1): "right"}


def choice_name(action: Sequence[int], game: GameSpec, view: View | None, document: Document) -> str:
    """Return the name of a decision.

    Args:
        action: One number a head.
        game: The game's spec.
        view: Its view, None where it declares none.
        document: A view document of the match: a board's size is taken from it.
    """
    if view is not None and len(action) == 1 and view.input in ("cells", "columns"):
        columns, rows = _sides(document)
        cells = columns if view.input == "columns" else columns * rows
        if 0 <= action[0] < cells and (name := cell_name(action[0], columns, rows, view.coordinates)):
            return name
    names = []
    for head, choice in zip(game.heads, action, strict=False):
        if head.labels == ("no", "yes"):  # one of several that may be given at once
            names += [head.name] if choice == 1 else []
            continue
        label = head.labels[choice] if 0 <= choice < len(head.labels) else _place(head, game, choice)
        names.append(label if len(game.heads) == 1 else f"{head.name} {label}")
    return ", ".join(names) or "nothing"


def order_name(
    action: Sequence[int], game: GameSpec, relevant: Sequence[bool], document: Document, seat: int
) -> str:
    """Return the name of a decision of several heads: ``attack tank``, ``move e8``.

    Args:
        action: One number a head.
        game: The game's spec.
        relevant: Flag per head: whether any choice was legal after the others.
        document: The document that the seat saw: its units name the rows that heads point at.
        seat: The seat that decided.
    """
    names = []
    for head, choice, counts in zip(game.heads, action, relevant, strict=False):
        if not counts:
            continue
        if head.labels == ("no", "yes"):
            names += [head.name] if choice == 1 else []
        elif 0 <= choice < len(head.labels):
            names.append(head.labels[choice])
        elif head.points_at and (name := _unit_name(document, game, seat, choice)):
            names.append(name)
        elif choice < head.rows or not head.rows:
            names.append(f"{head.name} {_place(head, game, choice)}")
    return " ".join(names) or "nothing"


def cells_of(head: HeadSpec, game: GameSpec) -> tuple[str, int]:
    """Return how the choices of a head are cells of a map, and the map's side that divides them.

    ``rows`` with its width, ``columns`` with its height; "" and 0 where choices are no cells.
    """
    shapes = [tensor.shape for tensor in game.observation if tensor.name == head.points_at]
    if not shapes or len(shapes[0]) != 3:
        return "", 0
    return ("columns", shapes[0][1]) if head.by_columns else ("rows", shapes[0][2])


def _place(head: HeadSpec, game: GameSpec, choice: int) -> str:
    """Return the column and row of a choice that is a cell of a map, else its number."""
    order, side = cells_of(head, game)
    if not side:
        return str(choice)
    x, y = divmod(choice, side) if order == "columns" else divmod(choice, side)[::-1]
    return f"{x}, {y}"


def _unit_name(document: Document, game: GameSpec, seat: int, row: int) -> str:
    """Return the type of the unit in a row of a seat's observation: its side's units come first."""
    units = document.get("units")
    listed = [u for u in units if isinstance(u, dict)] if isinstance(units, list) else []
    sides = [u.get("seat") for u in listed]
    own = [isinstance(s, int) and 0 <= s < game.seats and game.together(s, seat) for s in sides]
    rows = [u for u, mine in zip(listed, own, strict=True) if mine]
    rows += [u for u, mine in zip(listed, own, strict=True) if not mine]
    name = rows[row].get("type") if 0 <= row < len(rows) else None
    return name if isinstance(name, str) else ""


def move_name(view: View, game: GameSpec, before: Document, after: Document, seat: int) -> str:
    """Return the name of the move of ``seat`` between two successive documents; "" where it is unknown."""
    reader = _READERS.get(view.renderer)
    return "" if reader is None else reader(view, game, before, after, seat)


def labels_of(view: View | None, game: GameSpec) -> tuple[str, ...]:
    """Return the names of cards, or of the choices in a table; empty for other drawings."""
    if view is None or view.labels or view.renderer != "table":
        return view.labels if view is not None else ()
    return game.heads[0].labels if game.heads else ()


def names_moves(view: View | None) -> bool:
    """Return whether moves can be read from the documents of a view."""
    return view is not None and view.renderer in _READERS


def _sides(document: Document) -> tuple[int, int]:
    width, height = document.get("width"), document.get("height")
    if isinstance(width, int) and isinstance(height, int):
        return width, height
    return _NOUGHTS_SIDE, _NOUGHTS_SIDE


def _ints(value: object) -> list[int]:
    return [v if isinstance(v, int) else -1 for v in value] if isinstance(value, list) else []


def _on_board(view: View, game: GameSpec, before: Document, after: Document, seat: int) -> str:
    columns, rows = _sides(after)
    old, new = _ints(before.get("cells")), _ints(after.get("cells"))
    if len(old) != len(new) or len(new) != columns * rows:
        return ""
    if after.get("resigned") == seat:
        return "resign"
    last = after.get("last")
    if isinstance(last, int) and 0 <= last < len(new):
        own = new[last] == seat and old[last] != seat
        gone = new[last] == old[last] == -1 and old != new  # a stone that took itself
        return cell_name(last, columns, rows, view.coordinates) if own or gone else ""
    fresh = [cell for cell, what in enumerate(new) if what == seat and old[cell] != seat]
    if len(fresh) == 1:
        return cell_name(fresh[0], columns, rows, view.coordinates)
    passes, passed = before.get("passes"), after.get("passes")
    return "pass" if isinstance(passes, int) and isinstance(passed, int) and passed > passes else ""


def _in_arena(view: View, game: GameSpec, before: Document, after: Document, seat: int) -> str:
    was, now = _agent(before, seat), _agent(after, seat)
    if was is None or now is None:
        return ""
    step = (now[0] - was[0], now[1] - was[1])
    if step in _STEPS:
        return _STEPS[step]
    if (*was, seat) in _bombs(after) and (*was, seat) not in _bombs(before):
        return "bomb"
    return "stop" if step == (0, 0) else ""


def _agent(document: Document, seat: int) -> tuple[int, int] | None:
    agents = document.get("agents")
    agent = agents[seat] if isinstance(agents, list) and seat < len(agents) else None
    if not isinstance(agent, dict):
        return None
    row, column = agent.get("row"), agent.get("column")
    return (row, column) if isinstance(row, int) and isinstance(column, int) else None


def _bombs(document: Document) -> set[tuple[object, object, object]]:
    bombs = document.get("bombs")
    listed = bombs if isinstance(bombs, list) else []
    return {(b.get("row"), b.get("column"), b.get("seat")) for b in listed if isinstance(b, dict)}


def _with_cards(view: View, game: GameSpec, before: Document, after: Document, seat: int) -> str:
    old, new = bets(before), bets(after)
    return new[-1] if len(new) > len(old) else ""


def bets(document: Document) -> list[str]:
    """Return the bets of a game with cards in order: ``choices``, or ``rounds`` of them."""
    rounds = document.get("rounds", [document.get("choices")])
    listed = rounds if isinstance(rounds, list) else []
    return [bet for one in listed if isinstance(one, list) for bet in one if isinstance(bet, str)]


def _in_table(view: View, game: GameSpec, before: Document, after: Document, seat: int) -> str:
    actions = _ints(after.get("actions"))
    if seat >= len(actions) or actions[seat] < 0:
        return ""
    return choice_name((actions[seat],), game, view, after)


_READERS: Mapping[str, Callable[[View, GameSpec, Document, Document, int], str]] = {
    "board": _on_board,
    "noughts": _on_board,
    "arena": _in_arena,
    "cards": _with_cards,
    "table": _in_table,
}
