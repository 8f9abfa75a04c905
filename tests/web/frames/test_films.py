"""Recorded matches of Python games played again: their moments, and games that misbehave while they are."""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ludus.games import replays
from ludus.web.frames import camera, process
from ludus.web.frames.camera import Camera
from ludus.web.frames.film import Film, filmed, thoughts_about
from ludus.web.frames.messages import Frame, Message
from ludus.web.frames.process import ShowError
from ludus.web.recording import Recording
from tests.web.frames.games import LENGTH, PICTURE, game_file, random_replay


def documents(recording: Recording) -> list[dict[str, Any]]:
    return [json.loads(view) for view in recording.views]


def notes(recording: Recording) -> str:
    return " ".join(documents(recording)[0]["notes"])


def made(folder: Path, render: str = "", name: str = "walk", **game: str) -> tuple[Recording, bytes]:
    path = game_file(folder, render, name, **game)
    replay = random_replay(path)
    return filmed(replay, str(path)), replay


def test_a_game_is_drawn_tick_by_tick(tmp_path: Path) -> None:
    recording, replay = made(tmp_path, PICTURE, "drawn")
    seen = documents(recording)
    about = replays.info(replay)
    assert [d["tick"] for d in seen] == list(range(LENGTH + 1))
    assert {d["kind"] for d in seen} == {"picture"}
    assert [d["returns"] for d in seen] == [[0.5 * t] for t in range(LENGTH + 1)]
    assert seen[0]["notes"] == []
    assert [d.text for d in recording.decisions] == [
        ("left", "right")[d.action[0]] for d in replays.decisions(replay)
    ]
    assert recording.renderer == "frames"
    assert recording.outcome == about.outcome
    assert ("return", f"{about.returns[0]:g}") in recording.facts
    # The column that is red moves as the match has it.
    image = pytest.importorskip("PIL.Image")
    import io

    columns = []
    for document in seen:
        picture = np.asarray(image.open(io.BytesIO(base64.b64decode(document["data"]))).convert("RGB"))
        columns += [int(picture[0].sum(axis=1).argmax())]
    assert (np.abs(np.diff(columns)) == 1).all()


def test_a_game_without_render_shows_its_observation(tmp_path: Path) -> None:
    recording, _ = made(tmp_path, "", "plain")
    first = documents(recording)[0]
    assert first["kind"] == "table"
    assert first["tensors"][0]["labels"] == ["x", "t"]
    ((seat,),) = [json.loads(base64.b64decode(documents(recording)[3]["data"]))]
    assert seat["tensors"][0][1] == 3
    assert notes(recording) == "this game draws nothing: the table shows what the seats observe"


@pytest.mark.slow
def test_a_text_is_kept_and_moments_that_look_the_same_are_kept_once(tmp_path: Path) -> None:
    recording, _ = made(tmp_path, 'return f"tick {self.t // 4}"', "text")
    kinds = [d["kind"] for d in documents(recording)]
    assert kinds[0] == "text"
    assert kinds.count("text") == LENGTH // 4 + 1
    assert set(kinds) == {"text", "same"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "render", "said"),
    [
        ("raises", 'raise OSError("no display")', "render(): OSError: no display at tick 0"),
        ("later", "if self.t >= 5: 1 / 0\n        " + PICTURE, "render(): ZeroDivisionError: division by"),
        ("shape", "return np.zeros((3, 4), np.int64)", "render() returned int64[3, 4], expected uint8"),
        ("exits", "sys.exit(3)", "render(): SystemExit: 3 at tick 0"),
        ("leaves", "os._exit(3)", "render() did not return, or ended the process"),
        ("nothing", "return None", "this game draws nothing"),
    ],
)  # fmt: skip
def test_a_render_that_fails_gives_way_to_the_table(
    tmp_path: Path, name: str, render: str, said: str
) -> None:
    recording, _ = made(tmp_path, render, name)
    assert notes(recording).startswith(said)
    kinds = [d["kind"] for d in documents(recording)]
    assert len(kinds) == LENGTH + 1
    assert kinds[-2] == "table"
    assert kinds[0] == ("picture" if name == "later" else "table")


@pytest.mark.slow
def test_a_render_that_hangs_is_left(tmp_path: Path) -> None:
    started = time.monotonic()
    recording, _ = made(tmp_path, "time.sleep(1000)", "hangs")
    assert time.monotonic() - started < 60
    assert "render(): TimeoutError: did not return within 5 s at tick 0" in notes(recording)
    assert documents(recording)[0]["kind"] == "table"


@pytest.mark.slow
def test_a_render_that_no_one_can_interrupt_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "CALL_S", 8.0)
    holds = "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM]); time.sleep(1000)"
    recording, _ = made(tmp_path, holds, "holds")
    assert "render() did not return" in notes(recording)
    assert len(documents(recording)) == LENGTH + 1


@pytest.mark.slow
def test_a_game_that_prints_keeps_off_stdout(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    made(tmp_path, 'print("hello"); os.system("echo there"); ' + PICTURE, "prints")
    out, error = capfd.readouterr()
    assert out == ""
    assert "hello" in error
    assert "there" in error


@pytest.mark.slow
def test_a_huge_picture_is_small_on_the_page(tmp_path: Path) -> None:
    recording, _ = made(tmp_path, "return np.zeros((10000, 10000, 3), np.uint8)", "huge")
    seen = documents(recording)
    assert seen[0]["kind"] == "picture"
    assert sum(len(d["data"]) for d in seen) < 100_000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "in_step", "said"),
    [
        ("ended", "self.t < 5 or os.kill(os.getpid(), 9)", "step() at tick 4 ended the process (SIGKILL)"),
        ("stuck", "self.t < 5 or time.sleep(1000)", "step() at tick 4 did not return within 8 s"),
    ],
)
def test_a_game_that_ends_or_stops_its_process_gives_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, in_step: str, said: str
) -> None:
    monkeypatch.setattr(process, "CALL_S", 8.0)
    good = game_file(tmp_path, PICTURE, name)
    replay = random_replay(good)
    game_file(tmp_path, PICTURE, name, in_step=in_step)
    with pytest.raises(ShowError, match=re.escape(said)):
        filmed(replay, str(good))


def test_a_match_that_differs_from_its_record_says_so(tmp_path: Path) -> None:
    path = game_file(tmp_path, PICTURE, "differs")
    replay = random_replay(path)
    game_file(tmp_path, PICTURE, "differs", in_step="self.x += self.t == 4")
    recording = filmed(replay, str(path))
    assert "not the recorded match, since the game depends on more than its seed" in notes(recording)
    assert len(documents(recording)) == LENGTH + 1


def test_only_a_person_names_a_game_of_ones_own(tmp_path: Path) -> None:
    data = random_replay(game_file(tmp_path, PICTURE, "own"))
    renamed = replays.info(data)
    assert renamed.game == "own"
    script = (
        "import sys; from ludus.web.frames.film import filmed\n"
        "try: filmed(open(sys.argv[1], 'rb').read())\n"
        "except ValueError as error: print(type(error).__name__, error)"
    )
    import subprocess
    import sys

    file = tmp_path / "own.ludus"
    file.write_bytes(data)
    done = subprocess.run([sys.executable, "-c", script, file], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("UnknownGame replay: of own, a game that is neither built in nor installed")


def test_a_replay_of_another_game_is_refused(tmp_path: Path) -> None:
    data = random_replay(game_file(tmp_path, PICTURE, "first"))
    other = game_file(tmp_path, PICTURE, "second")
    from ludus.games.names import typed

    with pytest.raises(ShowError, match="recorded for first, not second"):
        filmed(data, typed(str(other)))
    with pytest.raises(ShowError, match="no such file"):
        filmed(data, typed(str(tmp_path / "third.py")))
    with pytest.raises(ValueError, match="recorded for first, not minirts"):
        filmed(data, "minirts")


class _Game:
    """A game whose picture is noise."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(1)

    def render(self) -> Any:  # noqa: ANN401
        return self.rng.integers(0, 256, (64, 64, 3)).astype(np.uint8)


def test_a_long_match_is_thinned_and_keeps_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from tests.web.frames.test_looks import SPEC

    monkeypatch.setattr(camera, "MOST_FILM", 60_000)
    film, sent = Film(), list[Message]()

    def take(message: Message) -> None:
        sent.append(message)
        if isinstance(message, Frame):
            film.take(message)

    shot = Camera(_Game(), SPEC, take)  # type: ignore[arg-type]
    shot.start(0, draw=True)
    for tick in range(301):
        shot.take(tick, {}, np.array([float(tick)]), last=tick == 300)
    kept = [frame.tick for frame in film.frames]
    assert shot.stride > 1
    assert sum(len(frame.data) for frame in film.frames[:-1]) <= 60_000
    assert kept[0] == 0
    assert kept[-1] == 300
    assert set(np.diff(kept[:-1])) == {shot.stride}
    assert all(frame.kind == "picture" for frame in film.frames)


def test_thinning_keeps_the_picture_of_moments_that_look_the_same() -> None:
    film = Film()
    for tick in range(9):
        film.take(Frame(tick, 1, "same" if tick % 3 else "text", b"" if tick % 3 else b"%d" % tick, (0.0,)))
    film.take(Frame(10, 2, "same", b"", (0.0,)))
    assert _shown(film.frames) == {0: b"0", 2: b"0", 4: b"3", 6: b"6", 8: b"6", 10: b"6"}


def _shown(frames: Sequence[Frame]) -> dict[int, bytes]:
    found, look = {}, b""
    for frame in frames:
        look = look if frame.kind == "same" else frame.data
        found[frame.tick] = look
    return found


@pytest.mark.slow
def test_a_match_that_takes_long_is_left_early(tmp_path: Path) -> None:
    path = game_file(tmp_path, PICTURE, "slow_again")
    replay = random_replay(path)
    game_file(tmp_path, PICTURE, "slow_again", in_step="time.sleep(0.5)")
    recording = filmed(replay, str(path), most_s=1.2)
    ticks = [d["tick"] for d in documents(recording)]
    assert 0 < ticks[-1] < LENGTH
    assert f"the page ends at tick {ticks[-1]} of {LENGTH}: playing the match again took more" in notes(
        recording
    )


def test_messages_of_another_form_are_refused(tmp_path: Path) -> None:
    import os

    from ludus.web.frames.messages import receive

    reading, writing = os.pipe()
    os.write(writing, (2**31).to_bytes(4, "big"))
    with pytest.raises(ValueError, match="a message of 2147483648 bytes"):
        receive(reading, 1.0)
    os.close(writing)
    os.close(reading)


@pytest.mark.slow
def test_weights_think_about_a_recorded_match(tmp_path: Path) -> None:
    from tests.web.live import make_run

    path = game_file(tmp_path, PICTURE, "thought")
    replay = random_replay(path)
    run = make_run(tmp_path / "run", str(path), [1])
    found = thoughts_about(replay, f"{run.path}@last", str(path))
    assert filmed(replay, str(path), (f"{run.path}@last",)).thoughts == (found,)
    assert [t.tick for t in found.thoughts] == list(range(LENGTH))
    assert found.heads[0].labels == ("left", "right")
    assert all(abs(sum(t.heads[0].p) - 1) < 1e-4 for t in found.thoughts)
