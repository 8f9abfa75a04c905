"""The documentation builds: every page has its place in the navigation, and every link leads somewhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


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
