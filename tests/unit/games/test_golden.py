from __future__ import annotations

from ludus.games import simulate
from ludus.games.registry import BUILT_IN
from tools import golden


def test_every_game_behaves_as_pinned() -> None:
    assert golden.differences() == [], (
        "if this is meant: python -m tools.golden --write, and name the reason in the commit"
    )


def test_every_game_is_pinned() -> None:
    names = {p.name for p in golden.FOLDER.iterdir()}
    assert names == {f"{g}.txt" for g in BUILT_IN} | {"signature.txt"}


def test_the_signature_is_one_number_for_all_games() -> None:
    signature = simulate.signature()
    assert signature == simulate.signature()
    assert len(signature) == 16
    assert len({simulate.game_signature(g) for g in BUILT_IN}) == len(BUILT_IN)
