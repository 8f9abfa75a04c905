"""Which cluster a run connects to, without one."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray", reason="Ray is not installed: pip install '.[cluster]' in the clone of Ludus")

import ray

from ludus.cluster import session
from ludus.cluster.processes import probe
from ludus.cluster.processes.private_folder import PrivateFolder
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
    monkeypatch.delenv("RAY_TMPDIR", raising=False)
    return calls


def test_a_cluster_that_was_not_named_is_never_joined(
    asked: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    session.connect(ClusterConfig(rollouts=1))
    assert [given["address"] for given in asked] == ["local"]
    session.disconnect()


def test_a_cluster_that_was_named_is_joined(asked: list[dict[str, Any]]) -> None:
    session.connect(ClusterConfig(rollouts=1, address="10.0.0.1:6379"))
    assert [given["address"] for given in asked] == ["10.0.0.1:6379"]


def folders(parent: Path) -> list[Path]:
    return sorted(parent.glob("ludus-ray-*"))


def short_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let short folders be made in one of the test's own, which counts as short enough."""
    short = tmp_path / "s"
    short.mkdir()
    monkeypatch.setattr(session, "SHORT_PARENT", str(short))
    return short


@pytest.mark.parametrize("length", [125, session.PARENT_BYTES + 1])
def test_a_cluster_of_this_run_has_a_short_private_folder_that_ends_with_it(
    length: int, asked: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = short_of(tmp_path, monkeypatch)
    monkeypatch.setattr(tempfile, "tempdir", f"/{'t' * (length - 1)}")
    session.connect(ClusterConfig(rollouts=1))
    (folder,) = folders(short)
    assert [given["_temp_dir"] for given in asked] == [str(folder / "r")]
    assert folder.stat().st_mode & 0o777 == 0o700
    (folder / "session_latest").mkdir()
    session.disconnect()
    assert folders(short) == []


def test_a_short_folder_for_temporary_files_is_the_parent(
    asked: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory(prefix="l", dir="/tmp") as short:
        assert len(short) <= session.PARENT_BYTES
        monkeypatch.setattr(tempfile, "tempdir", short)
        session.connect(ClusterConfig(rollouts=1))
        assert [Path(given["_temp_dir"]).parents[1] for given in asked] == [Path(short)]
        session.disconnect()


def test_the_longest_folder_leaves_room_for_the_sockets_of_ray() -> None:
    folder = "/" + "p" * (session.PARENT_BYTES - 1) + f"/{session.FOLDER}01234567/r"
    name = "session_2026-11-27_23-59-59_123456_4194304"  # the largest process id of Linux
    assert len(f"{folder}/{name}/sockets/plasma_store.12") <= 107


def test_a_folder_of_a_cluster_that_does_not_start_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = short_of(tmp_path, monkeypatch)
    monkeypatch.setattr(tempfile, "tempdir", "/" + "t" * 124)

    for error in (RuntimeError("no port"), KeyboardInterrupt()):

        def init(why: BaseException = error, **given: object) -> None:
            assert folders(short) != []
            raise why

        monkeypatch.setattr(ray, "init", init)
        with pytest.raises((ConfigError, KeyboardInterrupt)):
            session.connect(ClusterConfig(rollouts=1))
        assert folders(short) == []


def test_folders_that_killed_runs_left_are_removed_by_the_next(
    asked: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = short_of(tmp_path, monkeypatch)
    monkeypatch.setattr(tempfile, "tempdir", "/" + "t" * 124)
    (short / "ludus-ray-killed" / "session").mkdir(parents=True)
    lives = PrivateFolder(str(short), session.FOLDER)
    session.connect(ClusterConfig(rollouts=1))
    assert [Path(given["_temp_dir"]).parent for given in asked] == [
        p for p in folders(short) if p != lives.path
    ]
    session.disconnect()
    assert folders(short) == [lives.path]
    lives.remove()


def test_a_folder_that_the_user_chose_for_ray_stays_the_users(
    asked: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    session.connect(ClusterConfig(rollouts=1))
    assert "_temp_dir" not in asked[0]
    session.disconnect()

    def init(**given: object) -> None:
        raise OSError("validate_socket_filename failed: AF_UNIX path length cannot exceed 107 bytes: /x")

    monkeypatch.setattr(ray, "init", init)
    with pytest.raises(
        ConfigError, match=r"107 bytes: /x; set RAY_TMPDIR to a folder of yours with a path of"
    ):
        session.connect(ClusterConfig(rollouts=1))


def test_a_machine_without_a_place_for_the_folder_is_reported_with_the_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "SHORT_PARENT", str(tmp_path / "none"))
    monkeypatch.setattr(tempfile, "tempdir", "/" + "t" * 124)
    with pytest.raises(ConfigError, match=r"no folder for Ray in .*none \(No such file.*; set RAY_TMPDIR"):
        session.connect(ClusterConfig(rollouts=1))


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
