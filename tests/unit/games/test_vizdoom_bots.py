"""Matches against built-in bots: they agree with the engine's own scoreboard, and bad files are named."""

from __future__ import annotations

import importlib.util
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ludus.games.adapters.vizdoom.bots import Bots, bots_of
from ludus.games.registry import maker

needs_engine = pytest.mark.skipif(
    importlib.util.find_spec("vizdoom") is None, reason="vizdoom is not installed"
)
Playing = Any  # a game of one engine, or a match of several

SMALL = {"height": "30", "width": "40", "colour": "false", "tic_s": "60.0", "respawn_s": "1"}


def game(**params: str) -> Playing:
    return maker("vizdoom/cig", {**SMALL, **params}).make()


def hosts(made: Playing) -> list[Any]:
    """Return the engines, the host first."""
    return list(getattr(made, "_games", None) or [made._game])


def play(made: Playing, seed: int = 1, ticks: int = 1 << 30) -> int:
    """Play random decisions to the end; returns their number."""
    rng, sizes = np.random.default_rng(seed), [h.size for h in made.spec.heads]
    made.reset(seed)
    for tick in range(1, ticks + 1):
        drawn = [rng.integers(0, size, made.spec.seats) for size in sizes]
        if made.step(np.stack(drawn, axis=1).astype(np.int32)):
            return tick
    return ticks


def scored(made: Playing) -> list[dict[str, float]]:
    out = np.full((made.spec.seats, len(made.spec.scores)), np.nan, np.float32)
    made.scores(out)
    return [dict(zip(made.spec.scores, row.tolist(), strict=True)) for row in out]


def still(made: Playing) -> np.ndarray:
    """Return decisions to strafe, which moves no dead player."""
    return np.full((made.spec.seats, len(made.spec.heads)), 2, np.int32)


def check_scoreboard(made: Playing) -> None:
    """Compare the scores of a match that is over with the host's scoreboard."""
    import vizdoom

    host = hosts(made)[0]
    state = host.get_server_state()
    there = [n for n, playing in enumerate(state.players_in_game) if playing]
    assert len(there) == 8
    board = {n: state.players_frags[n] for n in there}
    variables = [getattr(vizdoom.GameVariable, f"PLAYER{n + 1}_FRAGCOUNT") for n in there]
    assert [host.get_game_variable(v) for v in variables] == list(board.values())
    own = [int(e.get_game_variable(vizdoom.GameVariable.PLAYER_NUMBER)) for e in hosts(made)]
    outcome = np.zeros(made.spec.seats, np.float32)
    made.outcome(outcome)
    best, level = max(board.values()), len(set(board.values())) == 1
    for seat, (number, row) in enumerate(zip(own, scored(made), strict=True)):
        assert row["frags"] == board[number] == row["kills"] - row["suicides"]
        assert row["place"] == 1 + sum(frags > board[number] for frags in board.values())
        assert row["best_bot"] == max(frags for n, frags in board.items() if n not in own)
        assert outcome[seat] == (0 if level else 1 if board[number] == best else -1)


@needs_engine
@pytest.mark.parametrize(
    ("players", "tics"),
    [
        (1, 300),
        pytest.param(2, 300, marks=pytest.mark.slow),
        pytest.param(1, 4000, marks=pytest.mark.slow),
        pytest.param(2, 4000, marks=pytest.mark.slow),
    ],
)
def test_scores_equal_the_engines_scoreboard(players: int, tics: int) -> None:
    made = game(players=str(players), bots=str(8 - players), match_tics=str(tics), frame_skip="3")
    try:
        made.reset(1)
        assert hosts(made)[0].get_server_state().player_count == 8  # before the first decision
        assert not any(engine.is_player_dead() for engine in hosts(made))
        assert play(made) == -(-tics // 3)
        check_scoreboard(made)
    finally:
        made.close()


@needs_engine
def test_a_suicide_costs_a_frag_and_the_player_comes_back_by_itself() -> None:
    made = game(bots="1", match_tics="2000", frame_skip="1")
    try:
        made.reset(3)
        engine = hosts(made)[0]
        seen = {t.name: np.zeros(t.packed_shape, t.packed_dtype) for t in made.spec.observation}
        before = scored(made)[0]
        engine.send_game_command("kill")
        dead = 0
        for _ in range(80):
            made.step(still(made))
            made.observe(0, seen)
            assert all(np.isfinite(values).all() for values in seen.values())
            dead += engine.is_player_dead()
            if dead and not engine.is_player_dead():
                break
        assert not engine.is_player_dead()
        assert 30 < dead < 50  # a second
        row = scored(made)[0]
        assert (row["frags"], row["suicides"], row["deaths"]) == (before["frags"] - 1, 1, 1)
        play(made, 4, 3)  # the engine continues to count deaths; the match starts at 0
        assert scored(made)[0]["deaths"] == 0
    finally:
        made.close()


@needs_engine
def test_a_match_against_bots_depends_on_its_seed_and_the_decisions() -> None:
    made = game(match_tics="400")
    seen = {t.name: np.zeros(t.packed_shape, t.packed_dtype) for t in made.spec.observation}

    def screens(seed: int) -> list[bytes]:
        rng, shown = np.random.default_rng(0), []
        made.reset(seed)
        for _ in range(40):
            made.step(rng.integers(0, 6, (1, 1)).astype(np.int32))
            made.observe(0, seen)
            shown.append(seen["variables"].tobytes())
        state = hosts(made)[0].get_server_state()
        return [*shown, str((list(state.players_names), list(state.players_frags))).encode()]

    try:
        first = screens(5)
        assert screens(6) != first
        assert screens(5) == first
    finally:
        made.close()


@needs_engine
def test_a_single_engine_that_dies_ends_only_its_match() -> None:
    made = game(bots="2", match_tics="100000")
    try:
        made.reset(1)
        (victim,) = made.engines
        os.kill(victim, signal.SIGKILL)
        with pytest.raises(RuntimeError, match=r"^tic: the engine is gone: "):
            made.step(still(made))
        assert not made.engines
        with pytest.raises(RuntimeError, match="gone"):
            made.step(still(made))
        made.reset(2)  # another engine
        assert victim not in made.engines
        assert len(made.engines) == 1
        assert not made.step(still(made))
    finally:
        made.close()
    assert not made.engines


@needs_engine
def test_bots_have_the_names_of_their_file(tmp_path: Path) -> None:
    file = tmp_path / "with blank.cfg"
    file.write_text('// own\n{ name Ada\n aiming 90 }\n{\n name "Bob"\n skin base\n}\n{ name Cy }\n')
    made = game(bots="2", bots_file=str(file), bot_names="bob,Ada", match_tics="100")
    try:
        file.unlink()  # the engine has a copy
        made.reset(1)
        state = hosts(made)[0].get_server_state()
        names = [n for n, playing in zip(state.players_names, state.players_in_game, strict=True) if playing]
        assert [n if isinstance(n, str) else n.decode() for n in names][1:] == ["Bob", "Ada"]
    finally:
        made.close()


@needs_engine
def test_bots_that_do_not_join_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    made = game(bots="2", match_tics="100")
    monkeypatch.setattr(made, "_bots", Bots(2, ("Rambo", "Nobody")))
    try:
        with pytest.raises(RuntimeError, match=r"start: .*1 of 2 bots joined within 70 tics"):
            made.reset(1)
        assert not made.engines
    finally:
        made.close()


def test_the_skill_of_all_bots_is_written() -> None:
    bots = bots_of(2, "Ada,Bob", 35)
    text = Path(bots.arguments().split()[1]).read_text()
    assert bots.names == ("Ada", "Bob")
    assert text.count("aiming 35") == text.count("reaction 35") == 2
    assert "name Ada" in text
    assert "name Bob" in text
    assert bots_of(3, "", 0).names == ("Bot1", "Bot2", "Bot3")
    assert bots_of(0, "", 50).arguments() == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "no such file; expected a file like ViZDoom's bots.cfg"),
        (b"", "describes no bot"),
        (b"{ aiming 5 }", "each with the name of a bot"),
        (b"{ name A\n name B }", "each with the name of a bot"),
        (b"{ name Ada", "each with the name of a bot"),
        (b"name Ada", "each with the name of a bot"),
        (b"{ name Ada } { name ADA }", "two bots have one name"),
        (b"{ name a;quit }", "expected letters and digits"),
        (b"{ name \xff }", "expected plain text"),
        (b"{ name Ada }" + b" " * (1 << 16), "larger than 65536 bytes"),
        (b"{ name Ada }", r"describes 1 bots, expected 2 \(bots\)"),
    ],
)
def test_bad_files_of_bots_are_one_sentence(text: bytes | None, said: str, tmp_path: Path) -> None:
    path = tmp_path / "bots.cfg"
    if text is not None:
        path.write_bytes(text)
    with pytest.raises(ValueError, match=f"^bots_file = .*{said}"):
        bots_of(2, "", -1, str(path))


def test_a_folder_and_a_pipe_are_no_file_of_bots(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path, said in ((tmp_path, "is a folder"), (pipe, "not a regular file")):
        with pytest.raises(ValueError, match=said):
            bots_of(1, "", -1, str(path))


def test_wrong_names_of_bots_are_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "bots.cfg"
    path.write_text("{ name Ada }\n{ name Bob }\n")
    for names, skill, file, said in (
        ("Ada", -1, str(path), "1 names, expected one for each of 2 bots"),
        ("Ada,Bop", -1, str(path), "no bot Bop.*did you mean Bob"),
        ("Ada,ADA", 50, "", "ADA comes twice"),
        ("Ada,a b", 50, "", "expected letters and digits"),
        ("", 50, str(path), "bot_skill and bots_file exclude each other"),
    ):
        with pytest.raises(ValueError, match=said):
            bots_of(2, names, skill, file)
