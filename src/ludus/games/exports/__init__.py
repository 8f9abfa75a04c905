"""Games of Ludus as environments of other libraries: Gymnasium and PettingZoo."""

from __future__ import annotations
