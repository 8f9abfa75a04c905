"""Codecs by name: from packed observation rows to the float tensors that a network reads.

A spec names a codec for each tensor. Codecs come with Ludus (the table below), are registered by the module
of a game, or are declared by an installed package:

    [project.entry-points."ludus.codecs"]
    hex_cells = "my_package.codec:HexCells"

torch is imported with the first codec that is used, not by this module: games' worker processes register
codecs and never decode.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from ludus.codecs.layout import TensorLayout
from ludus.codecs.protocol import Codec
from ludus.flow import TensorSpec
from ludus.flow.problem import Argument, HasProblems
from ludus.flow.process.extensions import Extensions, Package

_BUILT_IN: Mapping[str, Codec | str] = {
    "identity": "ludus.codecs.identity:IDENTITY",
    "bits": "ludus.codecs.identity:IDENTITY",
    "pommerman": "ludus.codecs.pommerman:PommermanCells",
    "rts_cells": "ludus.codecs.rts_cells:RtsCells",
    "rts_flag_cells": "ludus.codecs.rts_flag_cells:RtsFlagCells",
}
_AXES = {"planes": 3, "rows": 2, "vector": 1}


def _checked(value: object) -> Codec:
    codec: object = value() if isinstance(value, type) else value
    missing = [n for n in ("layout", "decode") if not callable(getattr(codec, n, None))]
    if missing:
        raise ValueError(f"has no {missing[0]}(); a codec has layout() and decode()")
    return cast(Codec, codec)


_CODECS: Extensions[Codec] = Extensions("ludus.codecs", "codec", _BUILT_IN, _checked)


def register_codec(name: str, codec: Codec | type[Codec] | str) -> None:
    """Register ``codec`` under ``name``. The module of a game calls it.

    Args:
        name: As specs have it. Names of codecs that come with Ludus are taken.
        codec: An object, its class, or ``"my_package.codec:HexCells"``, which is imported when a network
            first needs it and so keeps torch out of the processes that play the game.

    Raises:
        ExtensionError: A ``ValueError``: a name that is taken, or something that is no codec.
    """
    _CODECS.register(name, codec)


class UnknownCodec(HasProblems, ValueError):
    """A tensor names a codec that is not known here."""


def codec_package(name: str) -> Package | None:
    """Return the installed distribution that declares a codec; None for other codecs."""
    return _CODECS.package(name)


def codec_of(spec: TensorSpec) -> Codec:
    """Return the codec that a tensor names. Raises ``ValueError`` with the known codecs if there is none."""
    codec = _CODECS.find(spec.codec)
    if codec is None:
        raise UnknownCodec(
            f"tensor {spec.name!r} names the codec {spec.codec[:80]!r}; known codecs: "
            f"{', '.join(_CODECS.names())}; a game of your own brings its codec once you name the game: ",
            Argument("game", form="REFERENCE"),
        )
    return codec


def layout_of(spec: TensorSpec) -> TensorLayout:
    """Return the layout of the decoded tensor.

    Raises ``ValueError`` if the codec cannot read ``spec`` or returns something that is no layout.
    """
    codec = codec_of(spec)
    try:
        layout: object = codec.layout(spec)
    except (ValueError, OverflowError):
        raise
    except Exception as error:
        raise ValueError(
            f"tensor {spec.name!r}: layout() of the codec {spec.codec}: {type(error).__name__}: {error}"
        ) from error
    if not _fits(layout):
        raise ValueError(
            f"tensor {spec.name!r}: layout() of the codec {spec.codec} gives {layout!r}; expected a "
            "TensorLayout: planes (C, H, W), rows (U, F) or vector (D,), sizes from 1"
        )
    return cast(TensorLayout, layout)


def _fits(layout: object) -> bool:
    if not isinstance(layout, TensorLayout):
        return False
    sizes: tuple[object, ...] = layout.shape
    axes = _AXES.get(layout.kind, -1)
    return len(sizes) == axes and all(isinstance(n, int) and n >= 1 for n in sizes)
