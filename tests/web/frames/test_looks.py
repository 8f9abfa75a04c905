"""Values that ``render`` may return, and the files that are made of it."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pytest

from ludus.flow.spec import HeadSpec
from ludus.games.python_game import declare, tensor
from ludus.web.frames import looks
from ludus.web.frames.looks import PictureEncoder, UnusableRender, checked, observed_picture, png, table

image = pytest.importorskip("PIL.Image")


def pixels(height: int, width: int) -> looks.Pixels:
    return np.random.default_rng(1).integers(0, 256, (height, width, 3)).astype(np.uint8)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.zeros((4, 5, 3), np.float32), "float32[4, 5, 3]"),
        (np.zeros((4, 5, 2), np.uint8), "uint8[4, 5, 2]"),
        (np.zeros((0, 5, 3), np.uint8), "uint8[0, 5, 3]"),
        (np.zeros(9, np.uint8), "uint8[9]"),
        ([np.zeros((4, 5, 3), np.uint8)], "list"),
        (3, "int"),
    ],
)
def test_a_picture_of_another_form_is_named(value: Any, expected: str) -> None:  # noqa: ANN401
    with pytest.raises(UnusableRender) as error:
        checked(value)
    assert str(error.value) == f"render() returned {expected}, expected uint8[H, W, 3], a text or None"


@pytest.mark.parametrize("shape", [(7, 9), (7, 9, 1), (7, 9, 4)])
def test_grey_pictures_and_those_with_transparency_have_three_channels(shape: tuple[int, ...]) -> None:
    given = np.arange(np.prod(shape), dtype=np.uint8).reshape(shape)
    made = checked(given)
    assert isinstance(made, np.ndarray)
    assert made.shape == (7, 9, 3)
    colours = given[:, :, :3] if given.ndim == 3 else given[:, :, None]
    assert (made == np.broadcast_to(colours, (7, 9, 3))).all()


def test_a_picture_of_100_megapixels_is_made_small() -> None:
    made = checked(np.broadcast_to(np.array([7, 8, 9], np.uint8), (10_000, 10_000, 3)))
    assert isinstance(made, np.ndarray)
    assert made.shape == (1000, 1000, 3)
    assert made.flags.owndata or made.base is None or made.base.nbytes < 4 << 20
    assert (made == [7, 8, 9]).all()


def test_a_text_keeps_its_colours_and_nothing_else_that_a_terminal_obeys() -> None:
    assert checked("a\x1b[41mb\x1b[0m\x1b[2J\x1b]0;title\x07\n\tc\x00") == "a\x1b[41mb\x1b[0m0;title\n\tc"
    assert len(str(checked("x" * 10**6))) == looks.MOST_TEXT


def test_a_png_has_the_same_pixels() -> None:
    given = pixels(11, 17)
    made = image.open(io.BytesIO(png(given)))
    assert made.format == "PNG"
    assert (np.asarray(made) == given).all()


def test_pictures_are_kept_without_loss_until_one_is_noise() -> None:
    encoder = PictureEncoder()
    flat = np.zeros((40, 60, 3), np.uint8)
    flat[10:20] = (200, 30, 4)
    assert (np.asarray(image.open(io.BytesIO(encoder.encode(flat))).convert("RGB")) == flat).all()
    noise = pixels(200, 200)
    made = encoder.encode(noise)
    assert len(made) < 0.6 * noise.nbytes
    assert image.open(io.BytesIO(made)).size == (200, 200)


def test_without_pillow_pictures_are_png(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "PIL", None)
    assert PictureEncoder().encode(pixels(4, 4)).startswith(b"\x89PNG")


SPEC = declare(
    "seen",
    observation=[
        tensor("grey", (4, 20, 24), "u8", low=0, high=255),
        tensor("numbers", (3,), labels=("a", "b", "c")),
        tensor("flags", (10,), "bits"),
    ],
    heads=[HeadSpec("x", 2)],
)


def observed() -> dict[str, Any]:
    out = {t.name: np.zeros(t.packed_shape, t.packed_dtype) for t in SPEC.observation}
    out["grey"][3] = 77
    out["numbers"][:] = 1.5, np.nan, -2
    out["flags"][0] = 0b101
    return out


def test_an_observed_picture_is_shown_where_a_game_draws_nothing() -> None:
    found = observed_picture(SPEC, observed())
    assert found is not None
    assert found.shape == (20, 24, 3)
    assert (found == 77).all()


def test_a_table_has_the_first_values_of_each_tensor() -> None:
    ((seat,),) = [json.loads(table(SPEC, {0: observed()}))]
    assert seat["seat"] == 0
    grey, numbers, flags = seat["tensors"]
    assert len(grey) == looks.MOST_VALUES
    assert numbers == [1.5, None, -2]
    assert flags == [1, 0, 1, 0, 0, 0, 0, 0, 0, 0]
    assert looks.columns_of(SPEC)[1] == {
        "name": "numbers",
        "shape": [3],
        "labels": ["a", "b", "c"],
        "meaning": "",
    }
