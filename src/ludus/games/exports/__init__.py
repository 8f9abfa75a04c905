"""Games of Ludus with other libraries' faces: Gymnasium and PettingZoo."""

from __future__ import annotations
