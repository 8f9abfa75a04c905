"""Ludus raises game-playing policies: it simulates games fast, trains, matches and rates policies.

Importing the package costs numpy and msgspec alone; torch comes with the parts that learn.
"""

from __future__ import annotations

__version__ = "0.1.0"

__all__ = ["__version__"]
