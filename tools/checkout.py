"""The git repository around the records: its files, commits, and what it cannot tell."""

from __future__ import annotations

import subprocess
from pathlib import Path


class Checkout:
    """The git repository around ``root``; outside of one its questions have no answer (None)."""

    def __init__(self, root: Path) -> None:
        """List the tracked files."""
        self.root = root
        listed = self._git("ls-files", "-z")
        self.tracked = None if listed is None else set(listed.decode().split("\0"))

    def _git(self, *words: str) -> bytes | None:
        try:
            done = subprocess.run(["git", "-C", str(self.root), *words], capture_output=True, check=False)
        except OSError:
            return None
        return done.stdout if done.returncode == 0 else None

    @property
    def partial(self) -> bool:
        """Whether old commits are missing: a shallow clone, or no repository at all."""
        return self.tracked is None or self._git("rev-parse", "--is-shallow-repository") != b"false\n"

    def has(self, path: str) -> bool:
        """Whether the repository has this file; without git, whether it is there."""
        clean = str(Path(path))
        return (self.root / clean).is_file() if self.tracked is None else clean in self.tracked

    def knows(self, commit: str) -> bool:
        """Whether ``commit`` can be read. A shallow clone has few."""
        return self._git("cat-file", "-e", f"{commit}^{{commit}}") is not None

    def file_at(self, commit: str, path: str) -> bytes | None:
        """Return the content of a file at a commit."""
        return self._git("show", f"{commit}:{path}")
