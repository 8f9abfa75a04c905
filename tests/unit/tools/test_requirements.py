"""Requirements that make install fetches while the core is compiled."""

from __future__ import annotations

import pytest

from tools.requirements import UnknownExtra, main, requirements

OPTIONAL = {
    "cli": ["rich>=13", "tomli>=2; python_version < '3.11'"],
    "train": ["ludus-rl[cli]", "torch>=2.4"],
    "dev": ["ludus-rl[train, cli]", "pytest>=8", "rich>=13"],
}


def test_extras_of_extras_are_followed_and_nothing_is_named_twice() -> None:
    assert requirements(["numpy"], OPTIONAL, ["dev", "cli"]) == [
        "numpy",
        "pytest>=8",
        "rich>=13",
        "tomli>=2; python_version < '3.11'",
        "torch>=2.4",
    ]
    assert requirements(["numpy"], OPTIONAL, [""]) == ["numpy"]


def test_an_unknown_extra_is_named_with_those_that_there_are() -> None:
    with pytest.raises(UnknownExtra, match=r"no extra 'trian', it has: cli, dev, train"):
        requirements([], OPTIONAL, ["trian"])


def test_the_projects_requirements_are_listed_without_ludus_itself(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["train,cli,dev"])
    lines = capsys.readouterr().out.splitlines()
    names = {line.split(">")[0].split("=")[0].split("[")[0] for line in lines}
    assert {
        "numpy",
        "torch",
        "safetensors",
        "rich",
        "pytest",
        "ale-py",
        "vizdoom",
        "mkdocs-material",
    } <= names
    assert not {"ludus", "ludus-rl"} & names
