"""Blocks of code in the documentation, their commands, and marks of what they need.

A block of commands runs, or the line before it names its needs: ``<!-- needs: minutes, a GPU -->``.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
]
#: Generated: signatures in place of programs (tests/unit/tools/test_api_page.py).
WITHOUT = {"docs/reference/api.md"}
#: Needs that a block may have, and a word of its text that shows each.
NEEDS = {
    "network": r"\b(pip install|git clone|make \w+|games fetch)",
    "a compiler": r"\b(pip install|cmake|make \w+)",
    "minutes": r"\b(train|resume|sweep|bench|gating|zoo check)\b",
    "measured rates": r"\brollout\.json",
    "a tracker": r"\b(wandb|mlflow)\b",
    "onnxruntime": r"\b(onnx|onnxruntime|policy)\b",
    "a GPU": r"\bcuda\b",
    "a browser": r"\btensorboard\b",
    "Ray": r"\b(cluster|ray)\b",
    "GNU Go": r"--gnugo\b",
    "pandas": r"\b(pd|rows|evaluations|runs|curves)\b",
    "a file with mistakes": r"mine\.toml",
    "a changed preset": r"\b(new|wider)\.toml",
    "a finished sweep": r"\bludus (sweep|report)\b",
    "a wheel": r"\.whl\b",
    "another person's run": r"\bTHEIR_RUN\b",
    "a game with scores": r"\barena\.py",
    "a clone to change": r"\b(cp|make|sed)\b",
}
#: Programs whose lines are commands.
PROGRAMS = {
    "ludus", "make", "pip", "python", "git", "cd", "cp", "mv", "sed", "ls", "export", "echo", "ray",
    "tensorboard", "cmake",
}  # fmt: skip
_FENCE = re.compile(
    r"(?:^<!-- needs: (?P<needs>[^>]*) -->\n)?^(?P<indent> *)```(?P<kind>\w*)\n(?P<text>.*?)^ *```",
    re.MULTILINE | re.DOTALL,
)
_MARK = re.compile(r"<!-- needs:")


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    page: str  # from the root
    line: int
    kind: str  # python, toml, ..., or "" for commands and everything else
    text: str
    needs: tuple[str, ...]

    @property
    def where(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def commands(self) -> list[str]:
        """Command lines without their comments; none in a block of anything else."""
        if self.kind not in ("", "sh", "bash", "console"):
            return []
        lines = self.text.replace("\\\n", " ").splitlines()
        if any(line.startswith("$ ") for line in lines):  # with what they print
            lines = [line[2:] for line in lines if line.startswith("$ ")]
        stripped = [" ".join(_without_comment(line).split()) for line in lines]
        found = [line for line in stripped if line]
        return found if found and is_command(found[0]) else []


def is_command(line: str) -> bool:
    """Whether a line starts with a program."""
    first = line.split()[0].removeprefix(".venv/bin/") if line.split() else ""
    return first in PROGRAMS


def _without_comment(line: str) -> str:
    return re.sub(r"(^|\s)#.*", "", line)


def words_of(command: str) -> list[str]:
    """Words of a simple command: what stands before a pipe, ``&&`` or a redirection."""
    return shlex.split(re.split(r"\s(?:\||&&|2?>)\s", command)[0])


def blocks(page: Path) -> list[Block]:
    """Blocks of a page, in order."""
    text = page.read_text("utf-8")
    name = page.relative_to(ROOT).as_posix()
    out = []
    for found in _FENCE.finditer(text):
        body = re.sub(rf"^{found['indent']}", "", found["text"], flags=re.MULTILINE)
        needs = tuple(need.strip() for need in (found["needs"] or "").split(",") if need.strip())
        line = text.count("\n", 0, found.start("kind")) + 1
        out.append(Block(name, line, found["kind"], body, needs))
    return out


ALL = [b for page in PAGES if page.relative_to(ROOT).as_posix() not in WITHOUT for b in blocks(page)]


def marks(page: Path) -> int:
    """Number of marks in the text of a page, those with a typing error too."""
    return len(_MARK.findall(page.read_text("utf-8")))
