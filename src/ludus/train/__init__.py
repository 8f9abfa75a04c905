"""The composition root: presets, runner, evaluation, reports."""

from __future__ import annotations

from ludus.flow.public import make_callable

make_callable(__name__)
