"""The mutation run: its sample, the tested copy, and the list of survivors."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

from tools import mutate
from tools.mutate import PACKAGES, Bench, Mutant, MutationError, as_toml, drawn, read_listed, sample, stale

ROOT = Path(__file__).parents[3]
CODE = '''"""A module."""


def share(wins: int | None, matches: int = 8) -> "float | None":
    """The rate - or None."""
    check(wins)
    if wins is None or matches < 1:
        return None
    return wins / matches
'''


def changes(code: str, seed: int) -> list[tuple[str, str]]:
    return [(m.before, m.after) for m in drawn("x.py", code, seed)]


def test_mutants_change_code_and_leave_annotations_and_prose_alone() -> None:
    found = {m.after for seed in range(8) for m in drawn("x.py", CODE, seed)}
    assert {"pass", "return wins * matches", "if wins is None and matches < 1:"} <= found
    assert "if wins is None or matches <= 1:" in found
    texts = " ".join(found)
    assert "int &" not in texts
    assert "rate" not in texts
    for mutant in drawn("x.py", CODE, 1):
        compile(mutant.code, "x.py", "exec")
        assert mutant.code != CODE


def test_the_seed_decides_and_changes_of_other_lines_do_not() -> None:
    first = changes(CODE, 1)
    assert changes(CODE, 1) == first
    assert changes(CODE, 2) != first
    longer = CODE.replace("def share", "LIMIT = 7\n\n\ndef share", 1)
    assert [c for c in changes(longer, 1) if "LIMIT" not in c[0]] == first


def test_every_package_gets_its_turn_and_has_tests() -> None:
    drawn_first = list(islice(sample(ROOT / "src" / "ludus", PACKAGES, 1), len(PACKAGES)))
    assert [m.module.split("/")[0] for m in drawn_first] == list(PACKAGES)
    for test in (t for tests in mutate.TESTS.values() for t in tests):
        file, _, name = test.partition("::")
        path = ROOT / "tests" / "unit" / file
        assert path.exists(), test
        assert not name or f"def {name}(" in path.read_text(), test


def test_the_table_names_modules_that_exist() -> None:
    for prefix in mutate.TESTS:
        path = ROOT / "src" / "ludus" / prefix
        assert path.is_dir() or path.with_suffix(".py").is_file(), prefix


@pytest.mark.slow
def test_the_mutated_module_is_the_one_that_tests_import(tmp_path: Path) -> None:
    """An error in Wilson's interval is found, and afterwards the copy is unchanged again."""
    bench = Bench(tmp_path)
    path = bench.package / "ratings" / "interval.py"
    code = path.read_text()
    line = "p = wins / matches"
    assert line in code
    assert not bench.survives(
        Mutant("ratings/interval.py", line, "", code.replace(line, "p = wins * matches"))
    )
    assert path.read_text() == code
    assert bench.survives(Mutant("ratings/interval.py", line, "", code.replace(line, f"{line}  # equal")))
    where = "import ludus.native, ludus.ratings; print(ludus.ratings.__file__)"
    shown = subprocess.run(
        [sys.executable, "-c", where], capture_output=True, text=True, check=True, env=bench.environment
    ).stdout
    assert shown.startswith(str(tmp_path))  # with the compiled core
    assert os.environ.get("PYTHONPATH") != str(tmp_path)  # tests after this one import the package


class Sure:
    """Bench on which every second mutant survives."""

    package = ROOT / "src" / "ludus"

    def __init__(self) -> None:
        self.number = 0

    def survives(self, mutant: Mutant) -> bool:
        self.number += 1
        return self.number % 2 == 0


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(mutate, "Bench", Sure)
    monkeypatch.setattr(mutate, "LISTED", tmp_path / "listed.toml")
    (tmp_path / "listed.toml").touch()
    return tmp_path / "listed.toml"


def test_a_survivor_that_is_not_listed_is_exit_code_3(
    bench: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--only", "ratings", "--count", "4"]
    assert mutate.main(arguments) == 3
    entries = capsys.readouterr().out.partition("with a reason:\n")[2]
    assert entries.count("[[survivor]]") == 2
    bench.write_text(entries)
    assert mutate.main(arguments) == 2  # no reasons yet
    filled = entries.replace('kind = ""', 'kind = "speed"').replace('reason = ""', 'reason = "a reason"')
    bench.write_text(filled)
    assert mutate.main(arguments) == 0
    gone = as_toml(Mutant("ratings/elo.py", "no such line", "x", "")).replace('kind = ""', 'kind = "text"')
    bench.write_text(filled + gone.replace('reason = ""', 'reason = "a reason"'))
    assert mutate.main(arguments) == 3
    assert "no line 'no such line' any more" in capsys.readouterr().out


def test_a_list_without_reasons_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "listed.toml"
    entry = as_toml(Mutant("a.py", "it's", "x\ny", "")).replace('kind = ""', 'kind = "equivalent"')
    path.write_text(entry)
    with pytest.raises(MutationError, match="expected a reason"):
        read_listed(path)
    path.write_text(entry.replace('reason = ""', 'reason = "the same"'))
    assert read_listed(path) == {("a.py", "it's", "x\ny"): "the same"}
    assert stale(read_listed(path), tmp_path) == [("a.py", "it's", "x\ny")]
    path.write_text(path.read_text().replace("equivalent", "boring"))
    with pytest.raises(MutationError, match="kind 'boring': expected one of equivalent, text, speed, limit"):
        read_listed(path)


def test_the_projects_own_list_has_reasons() -> None:
    read_listed(mutate.LISTED)
