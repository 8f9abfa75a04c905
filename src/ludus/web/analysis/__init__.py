"""Analysis of whole matches: files to matches, the largest mistakes, the page with both.

``ludus analyze`` and the server use it; the thoughts themselves are made by :mod:`ludus.web.thoughts`.
"""

from __future__ import annotations
