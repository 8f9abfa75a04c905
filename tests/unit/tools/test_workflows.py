"""Workflows of .github: what they run exists, actions are pinned, rights are the least, a tag releases."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

if sys.version_info >= (3, 11):
    import tomllib
else:
    from pip._vendor import tomli as tomllib

ROOT = Path(__file__).resolve().parents[3]
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
NAMES = [file.stem for file in FILES]
#: Programs of the runners. `python` is set up by a step, `empty` is an environment that a step makes.
PROGRAMS = {"make", "python", "sudo", "empty/bin/python", "cd"}
#: Modules that a step has installed, and which install them.
INSTALLED = {"pip": "", "venv": "", "cibuildwheel": "cibuildwheel", "build": "build"}
#: Rights beyond reading the sources, each where it is needed.
RIGHTS = {("docs", "deploy"): {"pages", "id-token"}, ("release", "publish"): {"id-token"}}


def workflow(name: str) -> dict[Any, Any]:
    found = yaml.safe_load((ROOT / ".github" / "workflows" / f"{name}.yml").read_text("utf-8"))
    assert isinstance(found, dict)
    return found


def steps(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for job, settings in workflow(name)["jobs"].items():
        for step in settings["steps"]:
            yield job, step


def commands(name: str) -> Iterator[list[str]]:
    """Words of each command of a workflow, and of cibuildwheel's trial for the release."""
    for _, step in steps(name):
        for line in step.get("run", "").splitlines():
            if words := shlex.split(line, comments=True):
                yield words
    if name == "release":
        for command in wheels()["test-command"].replace("{project}", ".").split(" && "):
            yield shlex.split(command)


def wheels() -> dict[str, Any]:
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    found = tomllib.loads(text)["tool"]["cibuildwheel"]
    assert isinstance(found, dict)
    return found


def problems(words: list[str]) -> list[str]:
    """Return programs, targets of make, modules and files of a command that are missing."""
    if words[0] not in PROGRAMS and not (ROOT / words[0]).is_file():
        return [f"program {words[0]}"]
    found = []
    if words[0] == "make":
        targets = set(re.findall(r"^([\w-]+):(?!=)", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
        found += [f"target {w}" for w in words[1:] if "=" not in w and w not in targets]
    if "-m" in words and words[0].endswith("python"):
        module = words[words.index("-m") + 1]
        if module not in INSTALLED and not (ROOT / f"{module.replace('.', '/')}.py").is_file():
            found.append(f"module {module}")
    for word in words[1:]:
        if re.search(r"\.(txt|py|sh|toml)$", word) or word.startswith((".ci/", "tools/")):
            found += [] if (ROOT / word).exists() else [f"file {word}"]
    return found


@pytest.mark.parametrize("name", NAMES)
def test_what_a_workflow_runs_exists(name: str) -> None:
    run = list(commands(name))
    assert run
    assert [p for words in run for p in problems(words)] == []
    installed = {w for words in run if "pip" in words and "install" in words for w in words}
    used = {words[words.index("-m") + 1] for words in run if "-m" in words}
    assert {INSTALLED[m] for m in used & INSTALLED.keys()} - {""} <= installed
    assert installed & {"build", "cibuildwheel"} <= {
        line.partition("==")[0] for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    }


def test_what_there_is_not_is_found() -> None:
    assert problems(["make", "tset", "PYTHON=python3"]) == ["target tset"]
    assert problems(["python", "-m", "tools.whel"]) == ["module tools.whel"]
    assert problems(["python", "-m", "pip", "install", "-c", "constraint.txt"]) == ["file constraint.txt"]
    assert problems([".ci/runn"]) == ["program .ci/runn"]
    assert problems(["tox"]) == ["program tox"]


@pytest.mark.parametrize("name", NAMES)
def test_actions_are_pinned_by_commit_and_say_the_version(name: str) -> None:
    text = (ROOT / ".github" / "workflows" / f"{name}.yml").read_text("utf-8")
    used = re.findall(r"uses: (.*)", text)
    assert len(used) == sum("uses" in step for _, step in steps(name)) >= 2
    for action in used:
        assert re.fullmatch(r"(actions|pypa)/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action


def test_an_action_has_one_pin_everywhere() -> None:
    pins = {step["uses"] for name in NAMES for _, step in steps(name) if "uses" in step}
    assert len(pins) == len({pin.partition("@")[0] for pin in pins})


@pytest.mark.parametrize("name", NAMES)
def test_rights_are_the_least(name: str) -> None:
    found = workflow(name)
    assert found["permissions"] == {}
    for job, settings in found["jobs"].items():
        rights = settings["permissions"]
        written = {right for right, level in rights.items() if level == "write"}
        assert written == RIGHTS.get((name, job), set()), job
        assert set(rights.items()) - {(r, "write") for r in written} <= {("contents", "read")}
        assert settings["timeout-minutes"] <= 240
        for step in settings["steps"]:
            assert not step.get("uses", "").startswith("actions/checkout") or (
                step["with"]["persist-credentials"] is False
            )
            assert "${{" not in step.get("run", "")  # text of others would be run


def test_only_a_tag_publishes_and_after_everything_was_tried() -> None:
    release = workflow("release")
    assert release[True].keys() == {"push"}  # YAML reads `on` as a truth value
    assert release[True]["push"].keys() == {"tags"}
    jobs = release["jobs"]
    assert set(jobs["publish"]["needs"]) == {"wheels", "sdist"}
    assert all(jobs[job]["needs"] == "version" for job in ("wheels", "sdist"))
    assert jobs["publish"]["environment"]["name"] == "pypi"
    assert not [name for name in NAMES if "secrets." in (ROOT / f".github/workflows/{name}.yml").read_text()]
    last = jobs["publish"]["steps"][-1]
    assert last["uses"].startswith("pypa/gh-action-pypi-publish@")
    assert "with" not in last  # PyPI itself, by its trust in this workflow


def test_wheels_are_built_for_each_machine_that_is_promised() -> None:
    machines = {
        m["machine"]: m["runner"]
        for m in workflow("release")["jobs"]["wheels"]["strategy"]["matrix"]["include"]
    }
    assert machines.keys() == {"linux-x86_64", "linux-aarch64", "macos-arm64"}
    assert machines["linux-aarch64"].endswith("-arm")
    versions = [re.fullmatch(r"cp3(\d+)-\*", one) for one in wheels()["build"]]
    assert [int(v[1]) for v in versions if v] == [10, 11, 12, 13]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert set(wheels()["test-extras"]) <= extras.keys()
    assert wheels()["macos"]["archs"] == ["arm64"]


@pytest.mark.slow
def test_cibuildwheel_reads_its_settings() -> None:
    pytest.importorskip("cibuildwheel", reason="needs Python 3.11")
    for platform, last in (("linux", "manylinux_x86_64"), ("macos", "macosx_arm64")):
        command = [sys.executable, "-m", "cibuildwheel", "--print-build-identifiers", "--platform", platform]
        command += ["--archs", last.rpartition("x_")[2] if platform == "linux" else "arm64"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout.split() == [f"cp3{minor}-{last}" for minor in (10, 11, 12, 13)]
