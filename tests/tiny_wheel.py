"""A wheel with a few files, its manifest, and a package client that serves it without a network."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import zipfile
from pathlib import Path

from ludus.flow.packaged import PackagedFile, PackagedFiles

CONTENTS = {"LICENSE": b"use it\n", "a.cfg": b"doom_scenario_path = a.wad\n", "a.wad": bytes(range(256)) * 40}
WHEEL = "tiny_games-1.0-py3-none-any.whl"


def made(folder: Path, contents: dict[str, bytes] = CONTENTS) -> tuple[PackagedFiles, Path]:
    """A wheel that has more than is wanted, and its manifest."""
    wheel = folder / WHEEL
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in contents.items():
            archive.writestr(f"tiny/{name}", data)
        archive.writestr("tiny/__init__.py", "raise SystemExit('code of the wheel was run')")
        archive.writestr("../outside", "never unpacked")
    raw = wheel.read_bytes()
    files = tuple(
        PackagedFile(name, f"tiny/{name}", len(data), hashlib.sha256(data).hexdigest())
        for name, data in contents.items()
    )
    manifest = PackagedFiles(
        title="tiny games",
        package="tiny-games",
        version="1.0",
        licence="MIT",
        home="https://example.org",
        wheel_bytes=len(raw),
        wheel_sha256=hashlib.sha256(raw).hexdigest(),
        files=files,
        maps={"a": "a.wad"},
    )
    return manifest, wheel


class Client:
    """A package client that writes ``wheel`` or fails with ``text``."""

    def __init__(self, wheel: Path | None, text: str = "") -> None:
        self.wheel, self.text = wheel, text
        self.words: list[str] = []
        self.requirements = ""

    def __call__(self, words: list[str], cwd: Path, **_: object) -> subprocess.CompletedProcess[bytes]:
        self.words, self.cwd = words, cwd
        self.requirements = Path(words[words.index("-r") + 1]).read_text()
        if self.wheel is not None:
            shutil.copy(self.wheel, Path(words[words.index("--dest") + 1]))
        return subprocess.CompletedProcess(words, 0 if self.wheel else 1, self.text.encode())
