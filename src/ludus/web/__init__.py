"""Pages: matches and runs, drawn in a browser."""

from __future__ import annotations
