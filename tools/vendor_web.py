"""Fetches the JavaScript libraries of the live page from npm into ``src/ludus/web/static/vendor``.

    python -m tools.vendor_web [--out src/ludus/web/static/vendor]

The files are committed, so neither users nor CI need Node or a network. Versions and the SHA-256 of every
tarball and of every file are below; a tarball with another hash is refused. To change a version, change
it here, run the command, and take over the hashes that it reports.

Browsers load the files as ES modules without a build. Two files need one change each for this, named in
:data:`FILES`: the hooks import Preact by a relative path; uPlot, a script that sets a variable, exports it.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "src" / "ludus" / "web" / "static" / "vendor"
LICENCES = ROOT / "licenses"
_MOST_BYTES = 1 << 20  # of one file: the largest has 51 kB


@dataclass(frozen=True)
class Package:
    """A package of npm. ``sha256``: of its tarball."""

    name: str
    version: str
    licence: str
    home: str
    sha256: str


@dataclass(frozen=True)
class Vendored:
    """A file: its place in the tarball, its name here, the SHA-256 of the result, and the change.

    Each part of ``change`` is (text that occurs once, its replacement); an empty text appends.
    """

    package: str
    member: str
    name: str
    sha256: str
    change: tuple[tuple[str, str], ...] = ()


PACKAGES = (
    Package(
        "preact",
        "11.2.0",
        "MIT",
        "https://github.com/preactjs/preact",
        "3c4456766bd32b6b534d52bf4e9c2a29b33e7eedf6e96ed479300ba1a7888ebf",
    ),
    Package(
        "htm",
        "3.1.1",
        "Apache-2.0",
        "https://github.com/developit/htm",
        "2425b9bee11409177bcabc7f32e319926fc6690c1701c0b257c88bdff2d5ba90",
    ),
    Package(
        "uplot",
        "1.6.32",
        "MIT",
        "https://github.com/leeoniya/uPlot",
        "4b8a8191e425658e3ea8c8c1314b0fc679c861ee3a1af2b20c7b16ba50b5133d",
    ),
)
# Source maps are not shipped, so the lines that name them go.
FILES = (
    Vendored(
        "preact",
        "dist/preact.mjs",
        "preact.mjs",
        "225d7a773766e6fb2cfcc45274fe41d2059f5782f3f2c4569aa5132a2d3a2902",
        (("\n//# sourceMappingURL=preact.mjs.map", ""),),
    ),
    Vendored(
        "preact",
        "hooks/dist/hooks.mjs",
        "hooks.mjs",
        "13518e8899847145604866b14612f994ed70d894a423b64694b6e764d7b956c9",
        (('from"preact"', 'from"./preact.mjs"'), ("\n//# sourceMappingURL=hooks.mjs.map", "")),
    ),
    Vendored(
        "htm", "dist/htm.mjs", "htm.mjs", "ab33dd3f38059b9be4d5f5350128eefb2356639c4e0bbe9d9e8b3ba75847e9e4"
    ),
    Vendored(
        "uplot",
        "dist/uPlot.iife.min.js",
        "uplot.mjs",
        "073f022c867cb9c40f0be28f5d680830857a5b3a04082c2473880c8328a12e04",
        (("", "export default uPlot;\n"),),
    ),
    Vendored(
        "uplot",
        "dist/uPlot.min.css",
        "uplot.css",
        "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
    ),
)


class VendorError(ValueError):
    """A package or a file that is not the one named here."""


def digest(data: bytes) -> str:
    """Return the SHA-256 of ``data`` in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def fetch(package: Package, folder: Path) -> Path:
    """Return the tarball of a package, fetched from npm into ``folder``.

    Raises:
        VendorError: It cannot be fetched, or its hash differs.
    """
    spec = f"{package.name}@{package.version}"
    done = subprocess.run(
        ["npm", "pack", "--silent", spec], cwd=folder, capture_output=True, text=True, timeout=300
    )
    if done.returncode:
        raise VendorError(f"npm pack {spec}: {done.stderr.strip() or 'failed'}")
    path = folder / f"{package.name}-{package.version}.tgz"
    if (found := digest(path.read_bytes())) != package.sha256:
        raise VendorError(f"{spec}: SHA-256 of the tarball is {found}, expected {package.sha256}")
    return path


def member(tarball: Path, name: str) -> str:
    """Return the text of a file of a tarball. Raises ``VendorError`` if there is none of a fitting size."""
    with tarfile.open(tarball) as files:
        try:
            info = files.getmember(f"package/{name}")
        except KeyError:
            raise VendorError(f"{tarball.name}: no file {name}") from None
        opened = files.extractfile(info) if info.size <= _MOST_BYTES else None
        if opened is None:
            raise VendorError(f"{tarball.name}: {name} is no file of at most {_MOST_BYTES} bytes")
        return opened.read().decode()


def changed(text: str, file: Vendored) -> str:
    """Return the text with the file's changes. Raises ``VendorError`` where a text does not occur once."""
    for old, new in file.change:
        if not old:
            text += new
            continue
        if text.count(old) != 1:
            raise VendorError(f"{file.name}: {old!r} occurs {text.count(old)} times, expected 1")
        text = text.replace(old, new)
    return text


def readme() -> str:
    """Return the text of the folder's README: versions, hashes and changes."""
    lines = [
        "# Libraries of the live page",
        "",
        "Made by `python -m tools.vendor_web`, which fetches them from npm; do not edit them by hand.",
        "Licences: `licenses/NAME.txt` of the repository, shipped with the package.",
        "",
        "| package | version | licence | source | SHA-256 of the tarball |",
        "|---|---|---|---|---|",
        *(f"| {p.name} | {p.version} | {p.licence} | {p.home} | `{p.sha256}` |" for p in PACKAGES),
        "",
        "| file | from | SHA-256 | changes |",
        "|---|---|---|---|",
    ]
    for file in FILES:
        changes = "; ".join(
            f"appended `{new.strip()}`" if not old else f"`{old.strip()}` {_became(new)}"
            for old, new in file.change
        )
        lines.append(f"| `{file.name}` | {file.package}: `{file.member}` | `{file.sha256}` | {changes} |")
    return "\n".join(lines) + "\n"


def _became(new: str) -> str:
    return f"is `{new}`" if new else "is gone"


def licence(package: Package, text: str) -> str:
    """Return the text of a licence file."""
    names = ", ".join(f.name for f in FILES if f.package == package.name)
    head = f"{package.name} {package.version} ({package.home}), shipped as ludus/web/static/vendor/: {names}"
    return f"{head}\n\n{text.strip()}\n"


def vendor(out: Path, licences: Path) -> None:
    """Write all files. Raises ``VendorError``; then nothing is written."""
    texts: dict[Path, str] = {}
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        for package in PACKAGES:
            tarball = fetch(package, Path(folder))
            texts[licences / f"{package.name}.txt"] = licence(package, member(tarball, "LICENSE"))
            for file in (f for f in FILES if f.package == package.name):
                texts[out / file.name] = text = changed(member(tarball, file.member), file)
                if (found := digest(text.encode())) != file.sha256:
                    wrong.append(f"{file.name}: SHA-256 is {found}, expected {file.sha256 or 'one'}")
    if wrong:
        raise VendorError("; ".join(wrong))
    texts[out / "README.md"] = readme()
    out.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        path.write_bytes(text.encode())


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Fetch the libraries of the live page from npm.")
    parser.add_argument("--out", type=Path, default=FOLDER)
    parser.add_argument("--licences", type=Path, default=LICENCES)
    options = parser.parse_args()
    try:
        vendor(options.out, options.licences)
    except VendorError as error:
        raise SystemExit(f"vendor_web: {error}") from None


if __name__ == "__main__":
    main()
