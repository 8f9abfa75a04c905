"""``override`` of :mod:`typing`, for the older versions of Python too.

The type checker reads the decorator. In a running program it does nothing: importing ``typing_extensions``,
which has it for Python 3.10, takes a tenth of a second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from typing_extensions import override as override
else:
    _Method = TypeVar("_Method")

    def override(method: _Method) -> _Method:
        """Return ``method`` as it is."""
        return method
