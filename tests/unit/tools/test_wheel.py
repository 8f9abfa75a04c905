"""Tags and contents of the wheel for PyPI, and the name of the distribution."""

from __future__ import annotations

import re
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from ludus.flow.process.extras import install_command
from tools.page_player import play_address
from tools.requirements import PYPROJECT
from tools.wheel import above_baseline
from tools.wheel_files import (
    LARGEST,
    NEWEST_GLIBC,
    WheelError,
    check_contents,
    check_file,
    check_name,
    check_sdist,
    check_size,
    check_tag,
    main,
    python_tag,
    sources,
)
from tools.wheel_trial import Installed, compare

if sys.version_info >= (3, 11):
    import tomllib
else:
    from pip._vendor import tomli as tomllib

ROOT = Path(__file__).resolve().parents[3]
INFO = "ludus_rl-0.1.0.dist-info"
CONTENTS = (
    "ludus/__init__.py",
    "ludus/native/_core.cpython-311-x86_64-linux-gnu.so",
    "ludus/native/_core.pyi",
    "ludus/native/cmake/ludus-config.cmake",
    "ludus/native/cpp/game/spec.hpp",
    "ludus/py.typed",
    "ludus/web/static/replay/page.html",
    "ludus/web/static/app/index.html",
    *(
        f"ludus/web/static/vendor/{name}"
        for name in ("preact.mjs", "hooks.mjs", "htm.mjs", "uplot.mjs", "uplot.css")
    ),
    "ludus/data/presets/minirts.toml",
    f"{INFO}/METADATA",
    f"{INFO}/licenses/LICENSE",
    f"{INFO}/licenses/licenses/nanobind.txt",
    f"{INFO}/licenses/licenses/robin-map.txt",
    *(f"{INFO}/licenses/licenses/{name}.txt" for name in ("preact", "htm", "uplot")),
)


def test_the_tag_is_this_pythons_and_an_old_enough_glibc() -> None:
    assert python_tag(3, 11) == "cp311"
    assert check_name("ludus_rl-0.1.0-cp311-cp311-manylinux_2_34_x86_64.whl", "cp311") == "glibc >= 2.34"
    both = "ludus_rl-0.1.0-cp311-cp311-manylinux_2_17_aarch64.manylinux2014_aarch64.whl"
    assert check_name(both, "cp311") == "glibc >= 2.17"
    assert check_name("ludus_rl-0.1.0-cp312-cp312-macosx_13_0_arm64.whl", "cp312") == "macOS >= 13"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ludus_rl-0.1.0-cp311-cp311-linux_x86_64.whl", "platform linux_x86_64, expected a manylinux tag"),
        ("ludus_rl-0.1.0-cp311-cp311-macosx_10_9_x86_64.whl", "or macosx_11_0_arm64"),
        ("ludus_rl-0.1.0-cp312-cp312-manylinux_2_34_x86_64.whl", "tags cp312-cp312, expected cp311-cp311"),
        ("ludus_rl-0.1.0-cp311-abi3-manylinux_2_34_x86_64.whl", "expected ludus_rl-VERSION-cp311-cp311"),
        ("ludus-0.1.0-cp311-cp311-manylinux_2_34_x86_64.whl", "expected ludus_rl-VERSION-cp311-cp311"),
        (
            "ludus_rl-0.1.0-cp311-cp311-manylinux_2_38_x86_64.whl",
            r"needs glibc 2\.38, expected at most 2\.34; build it on an older system",
        ),
    ],
)
def test_a_wheel_that_pypi_or_an_old_system_would_refuse_is_refused(name: str, message: str) -> None:
    with pytest.raises(WheelError, match=message):
        check_name(name, "cp311")


def test_a_wheel_holds_the_core_the_presets_and_every_licence() -> None:
    check_contents(CONTENTS, ["minirts.toml"])
    for left_out in CONTENTS:
        if left_out not in ("ludus/__init__.py", f"{INFO}/METADATA"):
            with pytest.raises(WheelError, match=r"^the wheel: missing \S+$"):
                check_contents(set(CONTENTS) - {left_out}, ["minirts.toml"])
    with pytest.raises(WheelError, match=r"missing ludus/data/presets/go\.toml$"):
        check_contents(CONTENTS, ["minirts.toml", "go.toml"])
    with pytest.raises(WheelError, match=r"missing ludus/zoo/go9\.safetensors$"):
        check_contents(CONTENTS, ["minirts.toml"], ["go9.safetensors"])


@pytest.mark.parametrize(
    "file",
    ["ludus_rl.libs/libz-1a2b.so.1", "tests/unit/test_x.py", "ludus/__pycache__/x.pyc", "ludus/_core.pyi.in"],
)
def test_a_wheel_holds_nothing_else(file: str) -> None:
    with pytest.raises(WheelError, match=f"^the wheel: unexpected {re.escape(file)}$"):
        check_contents([*CONTENTS, file], ["minirts.toml"])


def test_a_file_of_a_release_has_at_most_16_mb() -> None:
    check_size("a.whl", LARGEST)
    with pytest.raises(WheelError, match=r"a\.whl: 16\.1 MB, expected at most 16 MB"):
        check_size("a.whl", LARGEST + 100_000)


def test_a_source_distribution_has_every_source_and_nothing_built() -> None:
    names = [
        "ludus_rl-0.1.0/PKG-INFO",
        *(f"ludus_rl-0.1.0/{name}" for name in ("pyproject.toml", "cpp/a.cpp")),
    ]
    check_sdist("ludus_rl-0.1.0.tar.gz", names, ["pyproject.toml", "cpp/a.cpp"])
    with pytest.raises(WheelError, match=r"^ludus_rl-0\.1\.0\.tar\.gz: missing src/x\.toml$"):
        check_sdist("ludus_rl-0.1.0.tar.gz", names, ["pyproject.toml", "src/x.toml"])
    with pytest.raises(WheelError, match=r"unexpected src/a\.so$"):
        check_sdist("ludus_rl-0.1.0.tar.gz", [*names, "ludus_rl-0.1.0/src/a.so"], ["pyproject.toml"])
    assert {"pyproject.toml", "CMakeLists.txt", "presets/minirts.toml"} <= set(sources())


def test_a_folder_of_a_release_is_checked_file_by_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = tmp_path / "ludus_rl-0.1.0.tar.gz"
    with tarfile.open(archive, "w:gz") as file:
        for name in sources():
            file.addfile(tarfile.TarInfo(f"ludus_rl-0.1.0/{name}"))
    assert check_file(archive).endswith("MB of at most 16 MB, sources")
    assert main([str(tmp_path)]) == 0
    assert capsys.readouterr().out.startswith("ludus_rl-0.1.0.tar.gz: ")
    with zipfile.ZipFile(tmp_path / "ludus_rl-0.1.0-cp311-cp311-manylinux_2_28_x86_64.whl", "w") as wheel:
        wheel.writestr("ludus/py.typed", "")
    assert main([str(tmp_path)]) == 1
    assert "the wheel: missing ludus/native/_core" in capsys.readouterr().err
    assert main([str(tmp_path / "nothing")]) == 1


def test_the_tag_of_a_release_is_the_version() -> None:
    check_tag("v0.1.0", '[project]\nversion = "0.1.0"\n')
    with pytest.raises(
        WheelError, match=r"tag v0\.2\.0: the package's version is 0\.1\.0, expected v0\.1\.0"
    ):
        check_tag("v0.2.0", '[project]\nversion = "0.1.0"\n')


def test_a_result_is_compared_with_its_card() -> None:
    card = '[[figures]]\nagainst = "simple"\nvalue = 0.92\nlow = 0.9\nhigh = 0.94\n'
    compare({"win_rate": 0.9, "ci_low": 0.85, "ci_high": 0.93}, card, "simple")
    percent = card.replace("0.92", "92.0").replace("0.94", "94.0").replace("0.9\n", "90.0\n")
    compare({"win_rate": 0.9, "ci_low": 0.85, "ci_high": 0.93}, percent, "simple")
    with pytest.raises(WheelError, match=r"against simple: 50\.0%"):
        compare({"win_rate": 0.5, "ci_low": 0.4, "ci_high": 0.6}, card, "simple")
    with pytest.raises(WheelError, match="no figure against random"):
        compare({"win_rate": 0.5, "ci_low": 0.4, "ci_high": 0.6}, card, "random")


@pytest.mark.slow
def test_the_trial_plays_a_match_over_the_printed_address(tmp_path: Path) -> None:
    with Installed(tmp_path).serving(
        "play", "random", "--game", "tic_tac_toe", "--seat", "1", "--no-browser"
    ) as address:
        outcome, moves = play_address(address)
    assert sorted(outcome) in ([-1, 1], [0, 0])
    assert 2 <= moves <= 4
    assert list(tmp_path.rglob("*.ludus"))


def test_options_above_the_baseline_are_found() -> None:
    commands = [
        {"command": "g++ -O3 -ffp-contract=off -march=native -o 'a b.o' -c a.cpp"},
        {"command": "g++ -O3 -mavx2 -march=native -mtune=generic -c b.cpp"},
        {"command": "g++ -O3 -mno-red-zone -pthread -c m-march=x.cpp"},
    ]
    assert above_baseline(commands) == ["-march=native", "-mavx2", "-mtune=generic"]
    assert above_baseline(commands[2:]) == []


def test_the_distribution_has_one_name_everywhere() -> None:
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    assert project["name"] == "ludus-rl"
    assert install_command("train") == "pip install '.[train]' in the clone of Ludus"
    custom = tomllib.loads((ROOT / "examples/custom_game/pyproject.toml").read_text(encoding="utf-8"))
    assert custom["project"]["dependencies"] == ["ludus-rl"]
    assert "ludus-rl" in custom["build-system"]["requires"]
    # `pip install ludus` brings another project's package, and `ludus-rl` is not on PyPI.
    files = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "pyproject.toml")]
    for folder in ("docs", "examples", "src"):
        files += [f for f in (ROOT / folder).rglob("*") if f.suffix in (".md", ".py", ".toml")]
    wrong = re.compile(r"\bludus\[[a-z]|pip install (?:-\S+ )*['\"]?ludus(?:-rl)?\b(?!_rl)|no web server")
    for file in files:
        found = wrong.search(file.read_text(encoding="utf-8"))
        assert found is None, f"{file}: {found}"
        # Every extra that a document installs from a clone is one of the project's.
        for extras in re.findall(r"pip install '\.\[([\w,-]+)\]'", file.read_text(encoding="utf-8")):
            assert set(extras.split(",")) <= project["optional-dependencies"].keys(), f"{file}: {extras}"


def test_no_message_names_a_distribution_that_pip_cannot_find() -> None:
    # One function makes the sentence: no other text of the sources has a command of pip with an extra.
    for file in (ROOT / "src").rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        if file.name != "extras.py":
            assert not re.search(r"pip install '?(?:\{|\.\[|ludus)(?!name)", text), file


def test_the_start_page_promises_the_glibc_that_the_wheel_may_need() -> None:
    page = (ROOT / "docs" / "start.md").read_text(encoding="utf-8")
    assert f"glibc >= {NEWEST_GLIBC[0]}.{NEWEST_GLIBC[1]}" in page
