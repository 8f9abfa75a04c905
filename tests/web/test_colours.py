"""Colours of the page: readable, and distinct for people with a colour vision deficiency.

Colour vision: matrices for full dichromacy of Machado, Oliveira, Fernandes, *A Physiologically-based Model
for Simulation of Color Vision Deficiency*, 2009, applied to linear RGB. Distances are CIE76 in L*a*b*.
Contrast: WCAG 2.
"""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from numpy.typing import NDArray

from ludus.web.replay_page import asset

Colour = NDArray[np.float64]

VISION = {
    "usual": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def themes() -> dict[str, dict[str, Colour]]:
    """Return linear RGB of every opaque variable, for each theme."""
    blocks = re.findall(r":root \{(.*?)\}", asset("style.css"), re.DOTALL)
    assert len(blocks) == 2
    light, dark = ({n: linear(c) for n, c in re.findall(r"--([\w-]+): #(\w{6});", block)} for block in blocks)
    return {"light": light, "dark": {**light, **dark}}


def linear(text: str) -> Colour:
    srgb = np.array([int(text[i : i + 2], 16) for i in (0, 2, 4)]) / 255
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def lab(colour: Colour) -> Colour:
    t = TO_XYZ @ np.clip(colour, 0, 1) / (TO_XYZ @ np.ones(3))
    x, y, z = np.where(t > (6 / 29) ** 3, np.cbrt(t), t / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(a: Colour, b: Colour) -> float:
    low, high = sorted((float(TO_XYZ[1] @ a), float(TO_XYZ[1] @ b)))
    return (high + 0.05) / (low + 0.05)


THEMES = themes()


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("group", [("seat0", "seat1"), ("hp-high", "hp-middle", "hp-low")])
def test_colours_that_mean_different_things_look_different(
    theme: str, vision: str, group: tuple[str, ...]
) -> None:
    for a, b in itertools.combinations(group, 2):
        distance = np.linalg.norm(
            lab(VISION[vision] @ THEMES[theme][a]) - lab(VISION[vision] @ THEMES[theme][b])
        )
        assert distance > 20, f"{a} and {b}: {distance:.1f}"


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(
    ("front", "back", "least"),
    [
        ("ink", "card", 7.0),
        ("ink", "bg", 7.0),
        ("muted", "card", 4.5),
        ("muted", "bg", 4.5),
        ("glyph", "seat0", 4.5),
        ("glyph", "seat1", 4.5),
        ("seat0", "ground", 3.0),
        ("seat1", "ground", 3.0),
        ("alarm", "card", 3.0),
        ("thought", "ground", 3.0),
        ("wood-thought", "board", 3.0),
        ("thought-ink", "thought", 4.5),
        ("wood-thought-ink", "wood-thought", 4.5),
        ("board-ink", "board", 4.5),
        ("board-line", "board", 3.0),
        ("stone0", "board", 3.0),
        ("stone1-rim", "board", 1.5),
        ("stone0", "stone1", 7.0),
    ],
)
def test_text_has_enough_contrast(theme: str, front: str, back: str, least: float) -> None:
    assert contrast(THEMES[theme][front], THEMES[theme][back]) >= least
