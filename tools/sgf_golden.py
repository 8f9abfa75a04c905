"""Positions of records of Go by sgfmill, for tests/golden/sgf.json.

    pip install sgfmill==1.1.1 && python -m tools.sgf_golden > tests/golden/sgf.json

The package is no dependency of anything: its positions are in the repository.
"""

from __future__ import annotations

import importlib
import json

from tests.go_games import by_form, generated

COMMAND = "pip install sgfmill==1.1.1 && python -m tools.sgf_golden > tests/golden/sgf.json"
COUNT, SEED = 1000, 7
MARKS = {None: ".", "b": "X", "w": "O"}


def position(text: str) -> str:
    """Return rows from the top, the side to move, and komi; empty if stones have no liberty."""
    sgf, boards = (importlib.import_module(f"sgfmill.{name}") for name in ("sgf", "boards"))
    game = sgf.Sgf_game.from_string(text)
    size = game.get_size()
    board = boards.Board(size)
    turn = ""
    nodes = game.get_main_sequence()
    # A handicap of Black's stones: White moves first.
    white = any(node.get_setup_stones()[1] for node in nodes)
    first = "w" if (game.get_handicap() or 0) >= 2 and not white else "b"
    for node in nodes:
        if not board.apply_setup(*node.get_setup_stones()):
            return ""
        colour, move = node.get_move()
        if colour and move:
            board.play(*move, colour)
        if colour:
            turn = "w" if colour == "b" else "b"
        turn = node.get("PL") if node.has_property("PL") else turn
    rows = ["".join(MARKS[board.get(r, c)] for c in range(size)) for r in reversed(range(size))]
    return f"{'/'.join(rows)} {turn or first} {game.get_komi():g}"


def main() -> None:
    found = {
        "command": COMMAND,
        "by_form": [position(game.usual) for game in by_form()],
        "generated": [position(game.usual) for game in generated(COUNT, SEED)],
    }
    print(json.dumps(found, indent=0))


if __name__ == "__main__":
    main()
