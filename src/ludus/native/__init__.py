"""The only re-export of the compiled core.

Everything compiled is reached as ``ludus.native.core``; its signatures are in the generated
``_core.pyi`` beside this file.
"""

from __future__ import annotations

try:
    from ludus.native import _core as core
except ImportError as error:  # pragma: no cover - depends on the installation
    raise ImportError(
        f"the compiled core of ludus is missing or does not fit this Python ({error}); "
        "install the package (pip install .) or build it: cmake -S . -B build -G Ninja && ninja -C build"
    ) from error

ParamError = core.ParamError
ReplayError = core.ReplayError
GameError = core.GameError

__all__ = ["GameError", "ParamError", "ReplayError", "core"]
