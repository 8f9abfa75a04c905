"""``ludus replay verify replays/*`` where pages and videos lie beside the replays."""

from __future__ import annotations

from pathlib import Path

from ludus.games import replays
from tests.unit.api.from_folder import LUDUS, ludus, run


def test_a_file_that_is_no_replay_is_named_and_skipped(tmp_path: Path) -> None:
    ludus(tmp_path, "eval", "random", "--against", "random", "--game", "tic_tac_toe", *("--matches", "2"),
          *("--record", "replays"))  # fmt: skip
    folder = tmp_path / "replays"
    ludus(tmp_path, "replay", "to-html", "replays/match-000000.ludus")
    (folder / "old").mkdir()
    (folder / "renamed").write_bytes((folder / "match-000000.ludus").read_bytes())
    files = sorted(f"replays/{p.name}" for p in folder.iterdir())
    assert any(f.endswith(".html") for f in files)
    done = run(tmp_path, LUDUS, "replay", "verify", *files)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("reproduced") == len(files) - 2
    assert "replays/renamed: reproduced" in done.stdout
    assert "replays/match-000000.html: skipped: not a replay" in done.stderr
    assert "replays/old: skipped: a folder" in done.stderr

    alone = run(tmp_path, LUDUS, "replay", "verify", "replays/match-000000.html")
    assert alone.returncode == 2
    assert "no replay among replays/match-000000.html" in alone.stderr


def test_a_replay_with_a_damaged_start_is_not_skipped(tmp_path: Path) -> None:
    data = bytearray(replays.record("tic_tac_toe"))
    assert data.startswith(replays.MAGIC)
    data[0] ^= 1
    (tmp_path / "damaged.ludus").write_bytes(data)
    done = run(tmp_path, LUDUS, "replay", "verify", "damaged.ludus")
    assert done.returncode == 3
    assert "damaged.ludus" in done.stdout
    missing = run(tmp_path, LUDUS, "replay", "verify", "nothing.ludus")
    assert missing.returncode == 2
