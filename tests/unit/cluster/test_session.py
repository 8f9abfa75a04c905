"""Which cluster a run connects to, without one."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray", reason="Ray is not installed: pip install '.[cluster]' in the clone of Ludus")

import ray

from ludus.cluster import probe, session
from ludus.presets.config import ClusterConfig
from ludus.presets.errors import ConfigError

ROOT = Path(__file__).parents[3]


class Socket:
    """A connection that was made."""

    def close(self) -> None:
        """Do nothing."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Arguments of ``ray.init``, which connects to nothing."""
    calls: list[dict[str, Any]] = []
    monkeypatch.setattr(ray, "init", lambda **given: calls.append(given))
    monkeypatch.setattr("socket.create_connection", lambda where, timeout: Socket())
    monkeypatch.setattr(probe, "lets_in", lambda host, port: "yes")
    return calls


def test_a_cluster_that_was_not_named_is_never_joined(
    asked: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    session.connect(ClusterConfig(rollouts=1))
    assert [given["address"] for given in asked] == ["local"]


def test_a_cluster_that_was_named_is_joined(asked: list[dict[str, Any]]) -> None:
    session.connect(ClusterConfig(rollouts=1, address="10.0.0.1:6379"))
    assert [given["address"] for given in asked] == ["10.0.0.1:6379"]


def test_an_address_that_something_else_answers_at_is_refused(
    asked: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "lets_in", lambda host, port: "silent")
    with pytest.raises(ConfigError, match=r'"10.0.0.1:6379": no Ray cluster answers there: something else'):
        session.connect(ClusterConfig(rollouts=1, address="10.0.0.1:6379"))
    assert asked == []


@pytest.mark.parametrize(
    ("program", "seconds", "answer"),
    [
        ("pass", 60.0, "yes"),
        (f"import sys; sys.exit({probe.REFUSED})", 60.0, "refused"),
        ("import os; os.abort()", 60.0, "refused"),  # Ray, without a token
        (f"import sys; sys.exit({probe.SILENT})", 60.0, "silent"),
        ("import time; time.sleep(60)", 0.5, "silent"),
    ],
)
def test_an_end_of_the_process_that_asks_is_an_answer(
    program: str, seconds: float, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = subprocess.run

    def other(command: list[str], **given: Any) -> subprocess.CompletedProcess[bytes]:  # noqa: ANN401
        assert command[-1] == "[::1]:6379"
        return run([sys.executable, "-c", program], **given)

    monkeypatch.setattr(probe, "ANSWER_S", seconds)
    monkeypatch.setattr(subprocess, "run", other)
    assert probe.lets_in("::1", 6379) == answer


def test_the_process_that_asks_imports_nothing_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("ray", "ludus"):
        (tmp_path / f"{name}.py").write_text("open('ran', 'w')")
    monkeypatch.setattr(probe, "ANSWER_S", 1.0)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    assert probe.lets_in("127.0.0.1", 1) in ("silent", "refused")
    assert not (tmp_path / "ran").exists()


def programs() -> list[Path]:
    """Return the project's programs and scripts, without its tests."""
    folders = [ROOT / name for name in ("src", "tools", "benchmarks")]
    found = [p for folder in folders for ending in ("py", "sh") for p in folder.rglob(f"*.{ending}")]
    return [*found, ROOT / "Makefile", *(ROOT / ".ci").glob("*")]


def test_nothing_of_ours_ends_other_peoples_rays() -> None:
    """``ray stop`` and ``ray symmetric-run`` end every Ray process of a machine."""
    ends = re.compile(r"""\bray["', ]+(stop|symmetric-run)\b""")
    files = [p for p in programs() if p.is_file()]
    assert ROOT / "src/ludus/cluster/session.py" in files
    assert ends.search('["ray", "stop"]')
    assert ends.search("ray stop --force")
    assert [str(p) for p in files if ends.search(p.read_text())] == []


def test_ray_is_connected_to_in_one_place() -> None:
    of = [p.name for p in programs() if p.is_file() and re.search(r"\bray\.init\(", p.read_text())]
    assert of == ["session.py"]
