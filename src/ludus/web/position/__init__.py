"""One position searched by hand: from a file or moves to candidates, as text, JSON and a page.

``ludus search`` uses it.
"""

from __future__ import annotations
