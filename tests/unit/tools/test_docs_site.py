"""The documentation builds: every page is in the navigation, and every link has a target."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ludus

ROOT = Path(__file__).parents[3]


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mkdocs",
            "build",
            "--strict",
            "--site-dir",
            str(tmp_path / "site"),
        ],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    # Without --quiet: it hides the warnings that --strict counts.
    assert done.returncode == 0, done.stderr
    pages = {p.relative_to(ROOT / "docs").with_suffix("") for p in (ROOT / "docs").rglob("*.md")}
    assert len(pages) > 40
    for page in pages:
        folder = page.parent if page.name in ("README", "index") else page
        assert (tmp_path / "site" / folder / "index.html").is_file(), page


#: Columns of code that fit beside the navigation at 1280 pixels (docs/stylesheets/extra.css).
COLUMNS = 118
BLOCK = re.compile(r"^ *```\w*\n(.*?)^ *```", re.DOTALL | re.MULTILINE)


def test_code_fits_the_page() -> None:
    wide = [
        f"{page.relative_to(ROOT)}: {line}"
        for page in sorted((ROOT / "docs").rglob("*.md"))
        for block in BLOCK.findall(page.read_text("utf-8"))
        for line in block.split("\n")
        if len(line) > COLUMNS
    ]
    assert wide == []
    assert "stylesheets/extra.css" in (ROOT / "mkdocs.yml").read_text("utf-8")


def test_the_home_page_shows_how_to_install_a_picture_and_code_before_anything_else() -> None:
    home = (ROOT / "docs" / "index.md").read_text("utf-8").partition("\n## ")[0]
    install, program = BLOCK.findall(home)
    assert install == "pip install '.[train]'\n"
    assert home.count("](images/") == 1
    compile(program, "index.md", "exec")
    for name in re.findall(r"ludus\.(\w+)\(", program):
        assert callable(getattr(ludus, name))
