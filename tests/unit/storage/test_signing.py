"""The key that authenticates a user's own checkpoints."""

from __future__ import annotations

import stat
import threading
from pathlib import Path

import pytest

from ludus.storage import signing
from ludus.storage.signing import NoKey, is_signed, sign, user_key, why_unsigned
from ludus.storage.user_state import read_private, write_private


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LUDUS_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "state"


def test_the_key_is_made_once_and_private(folder: Path) -> None:
    key = user_key()
    assert len(key) == 32
    assert key == user_key() == (folder / "key").read_bytes()
    assert stat.S_IMODE((folder / "key").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_users_have_keys_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = set()
    for user in ("a", "b"):
        monkeypatch.setenv("LUDUS_STATE_DIR", str(tmp_path / user))
        keys.add(user_key())
    assert len(keys) == 2


def test_concurrent_first_uses_get_one_key(folder: Path) -> None:
    keys: list[bytes] = []
    start = threading.Barrier(8)

    def ask() -> None:
        start.wait()
        keys.append(user_key())

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(keys) == 8
    assert len(set(keys)) == 1
    assert [p.name for p in folder.iterdir()] == ["key"]


def test_a_key_of_another_process_stays(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is made between the look for a key and the writing of one."""
    other = b"o" * 32

    def overtaken(name: str, limit: int) -> bytes | None:
        found = read_private(name, limit)
        if found is None:
            assert write_private(name, other, replace=False)
        return found

    monkeypatch.setattr(signing, "read_private", overtaken)
    assert user_key() == other
    assert (folder / "key").read_bytes() == other


def test_signatures_depend_on_the_message_and_the_key(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    signature = sign(b"message")
    assert len(signature) == 64
    assert is_signed(b"message", signature)
    for message, other in (
        (b"messagf", signature),
        (b"message", ""),
        (b"message", signature[:-1]),
        (b"message", signature.upper()),
        (b"message", "é" * 64),
        (b"message", "\ud800"),
    ):
        assert not is_signed(message, other)
    assert why_unsigned() == f"not signed with this user's key, {folder / 'key'}"
    monkeypatch.setenv("LUDUS_STATE_DIR", str(folder / "another"))
    assert not is_signed(b"message", signature)


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o660])
def test_a_key_that_others_can_read_or_write_is_not_used(folder: Path, mode: int) -> None:
    signature = sign(b"message")
    (folder / "key").chmod(mode)
    assert not is_signed(b"message", signature)
    with pytest.raises(NoKey, match="another user may"):
        sign(b"message")
    assert "another user may" in why_unsigned()


@pytest.mark.parametrize("size", [0, 31, 33])
def test_a_key_of_another_length_is_no_key(folder: Path, size: int) -> None:
    user_key()
    (folder / "key").write_bytes(b"x" * size)
    with pytest.raises(NoKey, match=r"key.*expected"):
        user_key()


def test_without_a_home_there_is_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LUDUS_STATE_DIR", str(tmp_path / "file" / "state"))
    with pytest.raises(NoKey, match="no key can be stored"):
        sign(b"message")
    assert not is_signed(b"message", "")
    assert signing.why_unsigned().startswith("no key can be stored")
