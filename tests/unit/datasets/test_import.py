"""Imports: kills, order, duplicates, splits, several kinds of sources."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ludus.datasets import DataSet, DataSetError, manifest, staging, writer
from ludus.datasets.export import export
from ludus.datasets.from_replay import ReadingRules
from ludus.datasets.importer import ImportOrder, ImportWatch, Stopped, import_records
from ludus.datasets.manifest import SplitRule
from ludus.datasets.play import BotMatches, record_matches
from ludus.games import replays
from ludus.games.match import Match
from ludus.games.records import go_match as sgf
from ludus.mcts.config import SearchConfig, SelfPlayConfig
from ludus.mcts.self_play import Matches, SelfPlay
from ludus.storage import files
from ludus.storage.matches import MatchesMeta, MatchFiles
from tests.unit.datasets.made import files_hash, imported, records, told


class _Killed(BaseException):
    pass


def _sources(folder: Path) -> Path:
    records(folder / "in", 12)
    games = "".join(
        f"(;GM[1]SZ[5]DT[20{n:02d}-01-02]RE[B+R];B[{chr(97 + n % 5)}{chr(97 + n // 5)}];W[ee];B[ae])"
        for n in range(20)
    )
    (folder / "in" / "many.sgf").write_text(games)
    (folder / "in" / "bad.sgf").write_text("(;GM[1]SZ[5];B[aa];W[aa])")
    return folder / "in"


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_a_killed_import_continues_to_the_same_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    monkeypatch.setattr(staging, "_MOST_ROWS", 5)
    monkeypatch.setattr(writer, "TARGET_BYTES", 1000)
    source = _sources(tmp_path)
    whole = imported(source, to=tmp_path / "whole")
    assert len(whole.shards) > 2
    assert whole.counts.left_out == {"illegal move": 1}
    steps: dict[str, Callable[..., None]] = {
        "staging.write_atomic": files.write_atomic,
        "writer.write_atomic": files.write_atomic,
        "writer.write_manifest": manifest.write_manifest,
        "writer.remove_tree": files.remove_tree,
    }

    def killed(at: int) -> bool:
        """Import until step ``at``, which fails; return whether there are so many."""
        left = [at]

        def killing(step: Callable[..., None]) -> Callable[..., None]:
            def run(*given: object) -> None:
                left[0] -= 1
                if left[0] < 0:
                    raise _Killed
                step(*given)

            return run

        with monkeypatch.context() as patched:
            for name, step_of in steps.items():
                patched.setattr(f"ludus.datasets.{name}", killing(step_of))
            try:
                imported(source, to=tmp_path / f"cut{at}")
            except _Killed:
                return True
        return False

    at = 0
    while killed(at):
        folder = tmp_path / f"cut{at}"
        if not (folder / "dataset.json").exists():
            with pytest.raises(DataSetError, match="not finished"):
                DataSet.open(folder)
        again = imported(source, to=folder)
        assert again == whole
        assert files_hash(folder) == files_hash(tmp_path / "whole")
        assert not (folder / "parts").exists()
        assert not (folder / "import.jsonl").exists()
        assert DataSet.open(folder).check() == []
        at += step
    assert at > 12


def test_a_stopped_import_reads_no_record_twice(tmp_path: Path) -> None:
    source = _sources(tmp_path)
    whole = imported(source, to=tmp_path / "whole")
    read = 0
    for _ in range(100):
        left = [4]

        def record(left: list[int] = left) -> None:
            nonlocal read
            read += 1
            left[0] -= 1

        watch = ImportWatch(record=record, stop=lambda left=left: left[0] <= 0)  # type: ignore[misc]
        try:
            made = import_records(ImportOrder((source,), tmp_path / "cut"), watch)
        except Stopped:
            continue
        break
    assert made == whole
    assert read == whole.counts.read


def test_an_import_continues_only_with_its_own_sources(tmp_path: Path) -> None:
    source = _sources(tmp_path)
    watch = ImportWatch(stop=lambda: True)
    order = ImportOrder((source,), tmp_path / "cut")
    for _ in range(3):
        with pytest.raises(Stopped):
            import_records(order, watch)
    with pytest.raises(DataSetError, match="another import has started"):
        import_records(order._replace(rules=ReadingRules(allow_partial=True)))
    (source / "000.ludus").write_bytes((source / "001.ludus").read_bytes())
    with pytest.raises(DataSetError, match="have changed"):
        import_records(order)


def test_the_order_of_files_makes_no_difference(tmp_path: Path) -> None:
    source = _sources(tmp_path)
    renamed = tmp_path / "renamed" / "deeper"
    renamed.mkdir(parents=True)
    for number, path in enumerate(sorted(source.iterdir(), reverse=True)):
        (renamed / f"{number:03d}{path.suffix}").write_bytes(path.read_bytes())
    a = imported(source, to=tmp_path / "a")
    b = imported(tmp_path / "renamed", to=tmp_path / "b")
    assert a.sha256 == b.sha256
    assert a.matches == b.matches == 32
    assert DataSet.open(tmp_path / "a").indices("held_out").tolist() == (
        DataSet.open(tmp_path / "b").indices("held_out").tolist()
    )


def test_added_records_make_the_set_of_all(tmp_path: Path) -> None:
    first, second = records(tmp_path / "one", 6), records(tmp_path / "two", 8, first=3)
    whole = imported(first, second, to=tmp_path / "whole")
    imported(first, to=tmp_path / "parts", licence="CC0")
    with pytest.raises(DataSetError, match="a data set already"):
        imported(second, to=tmp_path / "parts")
    added = imported(second, to=tmp_path / "parts", append=True)
    assert added.sha256 == whole.sha256
    assert added.matches == 11
    assert (added.counts.read, added.counts.duplicates) == (14, 3)
    assert added.licence == "CC0"
    assert [s.name for s in added.sources] == ["one", "two"]
    data = DataSet.open(tmp_path / "parts")
    assert data.check() == []
    assert {data.match(i).source for i in range(11)} == {0, 1}
    assert sorted(p.name for p in tmp_path.iterdir() if "parts" in p.name) == ["parts"]


def test_turned_and_mirrored_games_are_duplicates(tmp_path: Path) -> None:
    moves = [(0, 0), (2, 1), (3, 3), (4, 1), (1, 2)]
    turns: list[Callable[[int, int], tuple[int, int]]] = [
        lambda x, y: (x, y), lambda x, y: (4 - x, y), lambda x, y: (x, 4 - y), lambda x, y: (4 - x, 4 - y),
        lambda x, y: (y, x), lambda x, y: (4 - y, x), lambda x, y: (y, 4 - x), lambda x, y: (4 - y, 4 - x),
    ]  # fmt: skip
    games = []
    for number, turn in enumerate(turns):
        points = ["".join(chr(97 + c) for c in turn(*move)) for move in moves]
        body = "".join(f";{'BW'[i % 2]}[{p}]" for i, p in enumerate(points))
        games.append(f"(;GM[1]SZ[5]PB[player {number}]{'RE[B+R]' if number == 5 else ''}{body})")
    other = "(;GM[1]SZ[5];B[aa];W[cb];B[dd];W[eb];B[bd])"
    (tmp_path / "a.sgf").write_text("\n".join([*games, other]))
    made = imported(tmp_path / "a.sgf", to=tmp_path / "set")
    assert (made.matches, made.counts.duplicates) == (2, 7)
    data = DataSet.open(tmp_path / "set")
    assert "player 5" in [data.match(i).players[0] for i in range(2)]  # the record with a winner


def test_links_are_not_followed(tmp_path: Path) -> None:
    source = records(tmp_path / "in", 2)
    secret = records(tmp_path / "secret", 2, first=5)
    (source / "a.ludus").symlink_to(secret / "005.ludus")
    (source / "folder").symlink_to(secret)
    os.mkfifo(source / "pipe.sgf")
    made, problems = told(source, to=tmp_path / "set")
    assert made.matches == 2
    assert made.counts.links == 2
    assert sorted(p.split(":")[0] for p in problems) == ["a.ludus", "folder"]


def test_one_size_one_game(tmp_path: Path) -> None:
    source = records(tmp_path / "in", 2)
    (source / "tic.ludus").write_bytes(replays.record("tic_tac_toe"))
    (source / "nine.sgf").write_text("(;GM[1]SZ[9];B[aa])")
    made, problems = told(source, to=tmp_path / "five")
    assert made.counts.left_out == {"another game": 1, "another size": 1}
    assert made.matches == 2
    assert problems[0] == "nine.sgf: a board of 9 lines, expected 5"
    made, _ = told(source, to=tmp_path / "nine", size=9)
    assert made.counts.left_out["another size"] == 2
    assert made.matches == 1
    added, problems = told(source / "nine.sgf", to=tmp_path / "five", append=True)
    assert added.counts.left_out["another size"] == 2
    assert problems == ["nine.sgf: a board of 9 lines, expected 5"]
    with pytest.raises(DataSetError, match="boards of 5 lines, not of 9"):
        told(source / "nine.sgf", to=tmp_path / "five", size=9, append=True)
    with pytest.raises(DataSetError, match=r"no matches .*another game"):
        told(source / "000.ludus", to=tmp_path / "none", rules=ReadingRules("tic_tac_toe"))
    assert not (tmp_path / "none").exists()


def test_a_data_set_is_no_source(tmp_path: Path) -> None:
    imported(records(tmp_path / "in", 2), to=tmp_path / "set")
    with pytest.raises(DataSetError, match="export its matches"):
        imported(tmp_path / "set", to=tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_decisions_of_bots_of_other_games_stay(tmp_path: Path) -> None:
    for number in range(3):
        replay = replays.record("connect_four", bots=["tactical"], match=number)
        (tmp_path / f"{number}.ludus").write_bytes(replay)
    made = imported(tmp_path / "0.ludus", tmp_path / "1.ludus", tmp_path / "2.ludus", to=tmp_path / "set")
    data = DataSet.open(tmp_path / "set")
    assert data.check() == []
    assert {data.match(i).replay for i in range(made.matches)} == {
        (tmp_path / f"{n}.ludus").read_bytes() for n in range(3)
    }


def test_splits(tmp_path: Path) -> None:
    source = _sources(tmp_path)
    by_date = imported(source / "many.sgf", to=tmp_path / "date", split=SplitRule("date", 0.2))
    data = DataSet.open(tmp_path / "date")
    newest = sorted(data.match(i).date for i in range(len(data)))[-4:]
    assert sorted(data.match(int(i)).date for i in data.indices("held_out")) == newest
    assert by_date.held_out == 4
    assert not set(data.indices("train")) & set(data.indices("held_out"))
    with pytest.raises(DataSetError, match="several days"):
        imported(records(tmp_path / "undated", 4), to=tmp_path / "no", split=SplitRule("date"))
    half = imported(source, to=tmp_path / "half", split=SplitRule("match", 0.5))
    assert 8 <= half.held_out <= 24
    none = imported(source, to=tmp_path / "none", split=SplitRule("match", 0.0))
    assert none.held_out == 0
    assert DataSet.open(tmp_path / "none").check() == []


def test_decisions_of_bots_become_moves(tmp_path: Path) -> None:
    source = records(tmp_path / "in", 5)
    imported(source, to=tmp_path / "set")
    data = DataSet.open(tmp_path / "set")
    recorded = [sgf.record_of(path.read_bytes()).moves for path in source.iterdir()]
    kept = [sgf.record_of(data.match(i).replay).moves for i in range(len(data))]
    assert sorted(map(str, kept)) == sorted(map(str, recorded))  # the same moves, not other draws of the bot
    for index in range(len(data)):
        match = data.match(index)
        made = replays.decisions(match.replay)
        assert all(d.bot < 0 for d in made)
        assert replays.verify(match.replay).same
        assert match.players == ("tactical", "tactical")
        assert np.bincount([d.seat for d in made]).tolist() == list(match.decisions)
        assert data.decisions[index].tolist() == list(match.decisions)


def test_records_get_other_features(tmp_path: Path) -> None:
    source = records(tmp_path / "in", 3)
    (source / "a.sgf").write_text("(;GM[1]SZ[5];B[aa];W[bb])")
    features = next(p for p in Match("go").spec.params if p.name == "features")
    other = next(v for v in features.choices if v != features.default_value)
    made, problems = told(source, to=tmp_path / "set", rules=ReadingRules(params={"features": other}))
    assert problems == []
    assert {p["features"] for p in made.params} == {other}
    assert DataSet.open(tmp_path / "set").check() == []


def resigned(folder: Path, seat: int) -> Path:
    """Write a match in which ``seat`` resigns at its turn."""
    match = Match("go", {"size": 5, "resignation": "on"}, record=True)
    for point in (12, 7, 11)[: 2 + seat]:
        match.play(point)
    assert match.to_act == (seat,)
    match.play(26)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{seat}.ludus").write_bytes(match.replay(["x", "y"]))
    return folder


@pytest.mark.parametrize(("seat", "result"), [(0, "W+R"), (1, "B+R")])
def test_a_resigned_match_is_read_without_the_choice_to_resign(
    tmp_path: Path, seat: int, result: str
) -> None:
    source = resigned(tmp_path / "in", seat)
    made, problems = told(source, to=tmp_path / "set", rules=ReadingRules(params={"resignation": "off"}))
    assert problems == []
    data = DataSet.open(tmp_path / "set")
    match = data.match(0)
    assert (match.result, len(replays.decisions(match.replay))) == (result, 2 + seat)
    assert match.outcome == ((-1.0, 1.0) if seat == 0 else (1.0, -1.0))
    assert "resignation" not in made.params[0]
    export(data, tmp_path / "out", "sgf")
    imported(tmp_path / "out", to=tmp_path / "again")
    assert DataSet.open(tmp_path / "again").sha256 == data.sha256
    imported(source, to=tmp_path / "on")
    export(DataSet.open(tmp_path / "on"), tmp_path / "sgf", "sgf")
    told(tmp_path / "sgf", to=tmp_path / "off", rules=ReadingRules(params={"resignation": "off"}))
    assert DataSet.open(tmp_path / "off").sha256 == data.sha256


def test_a_resignation_stays_a_decision_where_the_rules_have_it(tmp_path: Path) -> None:
    made, _ = told(resigned(tmp_path / "in", 0), to=tmp_path / "set")
    assert made.params[0]["resignation"] == "on"
    (*_, last) = replays.decisions(DataSet.open(tmp_path / "set").match(0).replay)
    assert last.action == (26,)


def test_bots_of_any_game(tmp_path: Path) -> None:
    order = BotMatches(
        "minirts", tmp_path / "set", {"commands": "combined"}, ("simple",), 6, frame_skip=(50,)
    )
    made = record_matches(order)
    data = DataSet.open(tmp_path / "set")
    assert made.matches == 6
    assert data.check() == []
    assert data.match(0).outcome is not None
    stopped = order._replace(to=tmp_path / "cut")
    with pytest.raises(Stopped):
        record_matches(stopped, ImportWatch(stop=lambda: True))
    assert record_matches(stopped).sha256 == made.sha256


def test_self_play_of_a_run(tmp_path: Path) -> None:
    params = {"size": "5"}
    plays = SelfPlayConfig(slots=4)
    play = SelfPlay("go", params, SearchConfig(visits=4), plays, evaluator="uniform", seed=3)
    matches = Matches.empty()
    while len(matches) < 6:
        play.step()
        matches = Matches.join([matches, play.take_matches()])
    spec = Match("go", params).spec
    stored = MatchFiles(tmp_path / "run" / "self_play", MatchesMeta("go", spec.spec_hash, params, 3))
    stored.write(1, matches.columns())
    made, problems = told(tmp_path / "run", to=tmp_path / "set")
    assert problems == []
    assert made.matches + made.counts.duplicates == len(matches)
    data = DataSet.open(tmp_path / "set")
    assert data.check() == []
    found = {tuple(d.action[0] for d in replays.decisions(data.match(i).replay)) for i in range(len(data))}
    ends = np.cumsum(matches.plies)
    there = {tuple(map(int, matches.action[e - n : e])) for e, n in zip(ends, matches.plies, strict=True)}
    assert found <= there
    columns = matches.columns()
    columns["seat"] = 1 - columns["seat"]
    stored.write(2, columns)
    (tmp_path / "run" / "self_play" / "000000003.safetensors").write_bytes(b"no")
    made, problems = told(tmp_path / "run", to=tmp_path / "more")
    assert made.counts.left_out == {"illegal move": len(matches), "not readable": 1}
    assert made.sha256 == data.sha256
