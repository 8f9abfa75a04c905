"""Videos: the contents of the file, and the messages if there can be none."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from ludus.games import replays
from ludus.web.recording import Recording
from ludus.web.renderers import renderer_named
from ludus.web.video import FPS, VideoError, to_video

av = pytest.importorskip("av")


@pytest.fixture(scope="module")
def replay() -> bytes:
    return replays.record("minirts", {"tick_limit": "599"}, seed=3, bots=("simple", "hit_and_run"))


def pictures(path: Path) -> list[np.ndarray]:
    with av.open(str(path)) as container:
        assert container.streams.video[0].codec_context.name == "h264"
        assert float(container.streams.video[0].average_rate) == FPS
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]


def test_a_match_becomes_a_video(replay: bytes, tmp_path: Path) -> None:
    """600 ticks at 20 times 50 ticks a second and 25 frames a second: every 40th tick, and the first."""
    out = tmp_path / "sub" / "match.mp4"
    frames = to_video(replay, out, width=321, speed=20.0)
    shown = pictures(out)
    assert frames == len(shown) == 16
    assert {p.shape[1] for p in shown} == {320}
    assert {p.shape[0] % 2 for p in shown} == {0}
    blue = [((p[..., 2] > 140) & (p[..., 0] < 60)).sum() for p in shown]  # seat 0 has a base from the start
    assert min(blue) > 50
    assert np.abs(shown[0].astype(int) - shown[-1]).max() > 100
    assert [p.name for p in out.parent.iterdir()] == ["match.mp4"]


def test_fog_hides_units(replay: bytes, tmp_path: Path) -> None:
    def orange(seat: int) -> int:
        to_video(replay, tmp_path / "m.mp4", width=320, speed=300.0, seat=seat)
        first = pictures(tmp_path / "m.mp4")[0][40:].astype(int)  # below the headline
        return int(((first[..., 0] > 150) & (first[..., 2] < 80)).sum())

    assert orange(0) < orange(-1) / 4  # a few pixels of the encoder, not a unit


@pytest.mark.parametrize(
    ("game", "params", "bots", "colours"),
    [
        ("go", {"size": "9", "max_moves": "20"}, ("tactical",), {(24, 27, 32): 200, (246, 244, 238): 200}),
        ("gomoku", {}, ("pattern",), {(24, 27, 32): 200, (246, 244, 238): 200}),
        ("connect_four", {}, ("tactical",), {(11, 102, 178): 500, (194, 82, 12): 500}),
        ("tic_tac_toe", {}, ("random",), {(11, 102, 178): 300, (194, 82, 12): 300}),
        ("pommerman", {"max_steps": "10"}, ("simple",), {(92, 100, 106): 2000, (0, 122, 92): 50}),
    ],
)
def test_boards_and_arenas_become_videos(
    tmp_path: Path,
    game: str,
    params: dict[str, str],
    bots: tuple[str, ...],
    colours: dict[tuple[int, int, int], int],
) -> None:
    data = replays.record(game, params, seed=3, bots=bots)
    out = tmp_path / "match.mp4"
    frames = to_video(data, out, width=240, speed=25.0)
    shown = pictures(out)
    assert frames == len(shown)
    last = shown[-1].astype(int)[24:]  # below the headline
    for colour, least in colours.items():
        near = (np.abs(last - colour).max(axis=-1) < 30).sum()
        assert near > least, f"{colour}: {near} pixels"
    assert np.abs(shown[0].astype(int)[24:] - last).max() > 100  # something moved


def test_an_arena_beyond_a_seats_sight_is_dark(tmp_path: Path) -> None:
    data = replays.record("pommerman", {"fog": "1", "max_steps": "5"}, seed=3, bots=("simple",))

    def orange(seat: int) -> int:
        to_video(data, tmp_path / "m.mp4", width=240, speed=25.0, seat=seat)
        first = pictures(tmp_path / "m.mp4")[0][24:].astype(int)
        return int((np.abs(first - (194, 82, 12)).max(axis=-1) < 30).sum())

    assert orange(-1) > 50
    assert orange(3) < orange(-1) / 4  # seat 1 is in the corner opposite to seat 3


@pytest.mark.parametrize("later", [{}, {"cells": "text", "last": "x"}, {"cells": [None, 7, 1e300], "ko": -9}])
def test_a_document_of_any_form_is_a_picture_of_a_board(later: dict[str, object]) -> None:
    pillow = [importlib.import_module(f"PIL.{name}") for name in ("Image", "ImageDraw", "ImageFont")]
    first = {"tick": 0, "width": 3, "height": 2, "cells": [0, 1, -1, -2, -3, 5], "last": 1}
    views = [json.dumps(view) for view in (first, later)]
    for renderer, lines in (("board", "crossings"), ("board", "cells"), ("noughts", "cells")):
        recording = Recording("x", "X", renderer, ("a", "b"), views, lines=lines, coordinates="go")
        frames = renderer_named(renderer).frames
        assert frames is not None
        shown = list(frames(recording, pillow, 161, -1))
        assert len(shown) == 2
        assert {f.shape[0] % 2 + f.shape[1] % 2 for f in shown} == {0}


def test_slow_videos_repeat_frames(replay: bytes, tmp_path: Path) -> None:
    short = replays.record("minirts", {"tick_limit": "20"}, seed=3, bots=("noop", "noop"))
    frames = to_video(short, tmp_path / "m.mp4", width=160, speed=0.1)
    assert frames == 5 * len(replays.frames(short))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"width": 10}, "width 10: expected 160 to 1920"),
        ({"speed": 0.0}, "speed 0: expected 0.1"),
        ({"seat": 2}, r"seat 2: expected -1 \(no fog\) to 1"),
    ],
)
def test_settings_out_of_range_are_refused(
    replay: bytes, tmp_path: Path, settings: dict[str, float], words: str
) -> None:
    with pytest.raises(VideoError, match=words):
        to_video(replay, tmp_path / "m.mp4", **settings)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_games_that_are_tables_and_bytes_that_are_no_replay_are_refused(tmp_path: Path) -> None:
    board = replays.record("kuhn_poker", {}, seed=3, bots=("random", "random"))
    with pytest.raises(VideoError, match="kuhn_poker is shown as a table, which makes no video"):
        to_video(board, tmp_path / "m.mp4")
    with pytest.raises(ValueError, match="replay"):
        to_video(b"nothing", tmp_path / "m.mp4")
    assert not list(tmp_path.iterdir())


def test_a_missing_library_is_named(replay: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(VideoError, match=r"pip install '\.\[video\]' in the clone of Ludus"):
        to_video(replay, tmp_path / "m.mp4")
