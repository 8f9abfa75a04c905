"""Prints the digest of the core's C++ sources, as ``build_info()["sources"]`` of a core has it.

cmake/sources_digest.cmake computes the same while the core is built.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

CPP = Path(__file__).resolve().parent.parent / "cpp"
NOT_CORE = ("tests", "tools")


def sources_digest(root: Path = CPP) -> str:
    """Compute the digest of all sources below ``root``, tests and tools left out."""
    found = (p.relative_to(root) for kind in ("*.hpp", "*.cpp") for p in root.rglob(kind))
    paths = sorted(p.as_posix() for p in found if p.parts[0] not in NOT_CORE)
    lines = (f"{path} {hashlib.sha256((root / path).read_bytes()).hexdigest()}\n" for path in paths)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


if __name__ == "__main__":
    print(sources_digest())
