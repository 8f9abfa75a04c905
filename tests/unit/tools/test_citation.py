"""CITATION.cff: its release and repository are the project's; its papers are complete."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from ludus.flow.inputs.decode import from_toml

ROOT = Path(__file__).resolve().parents[3]
PROJECT = from_toml((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
assert isinstance(PROJECT, dict)


@pytest.fixture(scope="module")
def citation() -> dict[str, object]:
    read = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert isinstance(read, dict)
    return read


def test_the_release_is_the_projects(citation: dict[str, object]) -> None:
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]
    newest = re.search(
        r"^## \[([\d.]+)\] - ([\d-]+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE
    )
    assert newest is not None
    assert (citation["version"], citation["date-released"]) == newest.groups()


def test_one_repository_is_named_everywhere(citation: dict[str, object]) -> None:
    url = PROJECT["urls"]["Repository"]
    assert citation["repository-code"] == url
    clones = re.findall(
        r"^git clone (\S+) ludus$", (ROOT / "docs" / "start.md").read_text("utf-8"), re.MULTILINE
    )
    assert clones == [url]


def test_the_papers_have_authors_and_years(citation: dict[str, object]) -> None:
    references = citation["references"]
    assert isinstance(references, list)
    found = [(r["authors"][0]["family-names"], r["year"]) for r in references]
    assert found == [("Tian", 2017), ("Berner", 2019), ("Tian", 2019), ("Sun", 2020), ("Petrenko", 2020)]
    for reference in references:
        assert reference["title"]
        assert reference["url"].startswith("https://arxiv.org/abs/")
        assert all(author["given-names"] for author in reference["authors"])
