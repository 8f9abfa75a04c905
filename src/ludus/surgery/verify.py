"""The old network beside the new one on recorded moments."""

from __future__ import annotations
