"""Names of the choices that a player thinks of, as the page names moves."""

from __future__ import annotations

from ludus.flow.spec import GameSpec
from ludus.games.views import view_of
from ludus.web.moves import Document, choice_name
from ludus.web.thoughts.thought import HeadNames

_MOST_LABELS = 4096  # of a head whose choices get their names from a board


def head_names(spec: GameSpec, document: Document) -> tuple[HeadNames, ...]:
    """Return the names of a game's heads and choices.

    Args:
        spec: The game.
        document: A view document of the match: a board's size is taken from it.

    Raises:
        ExtensionError: A ``ValueError``: the game's view cannot be used.
    """
    if len(spec.heads) > 1 or spec.heads[0].size > _MOST_LABELS:
        return tuple(HeadNames(head.name, head.labels) for head in spec.heads)
    (head,), view = spec.heads, view_of(spec.name)
    if head.kind == "continuous":
        return (HeadNames(head.name),)
    names = (choice_name((choice,), spec, view, document) for choice in range(head.size))
    return (HeadNames(head.name, tuple(names)),)
