"""Answers about runs: what changes, what is bounded, what is refused."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from ludus.reporting.page import page as report_page
from ludus.storage.rundir import RunDirectory
from ludus.web.serve.library import Library, Run
from ludus.web.serve.runs import page_of, pages
from ludus.web.serve.runs.evaluated import MOST_MATCHES
from tests.web.serving import Client, served
from tests.web.small_runs import make_run

HOSTILE = "<img src=x onerror=alert(1)>"


def row(steps: int, kind: str = "update", **numbers: object) -> dict[str, object]:
    named = {name.replace("__", "/"): value for name, value in numbers.items()}
    return {"schema": 2, "kind": kind, "version": steps // 100, "steps": steps, **named}


def result(rate: float, against: str = "simple") -> dict[str, object]:
    return {
        "against": against, "matches": 100, "wins": round(100 * rate), "draws": 0, "losses": 0,
        "win_rate": rate, "ci_low": rate - 0.1, "ci_high": rate + 0.1, "mean_ticks": 50.0,
    }  # fmt: skip


def evaluation(steps: int, rate: float, space: str = "eval", **more: object) -> dict[str, object]:
    one = result(rate)
    named = {f"{space}/simple/{name}": one[name] for name in ("win_rate", "ci_low", "ci_high")}
    return {**row(steps, "evaluation"), "results": [one], **named, **more}


def write(run: RunDirectory, *rows: dict[str, object], mode: str = "w") -> None:
    with run.metrics_path.open(mode) as file:
        file.writelines(json.dumps(one, separators=(",", ":")) + "\n" for one in rows)


LEARNED = (
    evaluation(0, 0.19, initial=True),
    row(100, time__minutes=1.0, loss__value=2.0, rollout__win_rate__simple=0.2),
    evaluation(100, 0.5, best=True),
    row(200, time__minutes=3.0, loss__value=1.0, rollout__win_rate__simple=0.6),
    evaluation(200, 0.8, best=True),
    evaluation(100, 0.45, "playoff", playoff=True),
    {**evaluation(250, 0.87, "final", final=True, uniform=[result(0.3)]), "version": 2},
)


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    made = make_run(tmp_path / "served" / "learned", versions=(1, 2))
    write(made, *LEARNED)
    return made


@pytest.fixture
def client(run: RunDirectory) -> Iterator[Client]:
    with served(run.path.parent) as made:
        yield made


def test_a_page_has_one_plot_a_measure_with_its_floor_and_its_interval(client: Client) -> None:
    page = client.ask("/api/runs/learned").json
    (measure,) = page["measures"]
    assert measure["title"] == "Win rate against simple, evaluations"
    (line,) = measure["lines"]
    assert (line["steps"], line["minutes"]) == ([0, 100, 200], [0, 1, 3])
    assert [value["value"] for value in line["values"]] == [0.19, 0.5, 0.8]
    assert line["values"][1] == {"value": 0.5, "low": 0.4, "high": 0.6}
    (floor,) = measure["levels"]  # the higher one
    assert (floor["what"], floor["value"]["value"]) == ("uniform", 0.3)
    stages = [(one["stage"], one["result"]["value"]["value"]) for one in page["results"]]
    assert stages == [
        ("Final matches of version 2", 0.87),
        ("Initial weights", 0.19),
        ("Uniform legal play", 0.3),
        ("Play-off, version 1", 0.45),
    ]
    about = page["about"]
    assert (about["results"][0]["value"]["value"], about["measured"]) == (0.87, "final matches")
    assert {one["name"]: one["results"][0]["value"]["value"] for one in page["weights"]} == {
        "1": 0.5,
        "2": 0.87,
    }
    assert [one["steps"] for one in page["weights"]] == [100, 200]
    leading = [plot for plot in page["plots"] if plot["leads"]]
    assert [plot["title"] for plot in leading] == ["Win rate against simple, training matches"]
    assert not any(plot["name"].startswith(("final/", "playoff/")) for plot in page["plots"])


LADDER = {
    "rungs": [50, 400], "elo": 310.0, "elo_low": 240.0, "elo_high": 380.0, "place": "within", "size": 190,
    "size_low": 120, "size_high": None,
}  # fmt: skip


def test_a_page_says_which_plain_search_the_weights_are_equal_to(client: Client, run: RunDirectory) -> None:
    assert client.ask("/api/runs/learned").json["strength"] == ""
    elo = {"eval/mcts:50/elo": 310.0, "eval/mcts:50/elo_low": 240.0, "eval/mcts:50/elo_high": 380.0}
    rated = {**evaluation(300, 0.9, ladder=LADDER), **elo, "eval/mcts/visits": 190.0}
    write(run, rated, evaluation(100, 0.5, "playoff", playoff=True), mode="a")
    page = client.ask("/api/runs/learned").json
    assert page["strength"] == "Version 3 plays about as mcts:190 (95% interval: at least mcts:120)."
    win_rate, strength = page["measures"]
    assert (strength["title"], strength["kind"], strength["levels"]) == (
        "Elo against mcts:50, evaluations",
        "elo",
        [],
    )
    assert win_rate["kind"] == "rate"
    assert [one["against"] for one in page["weights"][-1]["results"]] == ["simple"]
    assert "Visits of a plain search of equal strength" in [plot["title"] for plot in page["plots"]]


@pytest.mark.parametrize(
    "wrong",
    [
        HOSTILE, None, [], {"rungs": []}, {**LADDER, "rungs": [HOSTILE]}, {**LADDER, "place": HOSTILE},
        {**LADDER, "size": -4}, {**LADDER, "size": 2**60}, {**LADDER, "elo": "x"}, {**LADDER, "place": ""},
    ],
)  # fmt: skip
def test_a_strength_that_is_none_is_left_out(wrong: object) -> None:
    assert pages._strength_in_words((evaluation(300, 0.9, ladder=LADDER), evaluation(400, 0.9))) != ""
    assert pages._strength_in_words((evaluation(300, 0.9, ladder=wrong),)) == ""


def test_a_page_that_knows_the_newest_state_gets_no_more(client: Client, run: RunDirectory) -> None:
    page = client.ask("/api/runs/learned").json
    assert client.ask(f"/api/runs/learned?known={page['stamp']}").json == {
        "stamp": page["stamp"], "unchanged": True,
    }  # fmt: skip
    path = "/api/runs/learned/curves?series=loss/value"
    curves = client.ask(path).json
    assert curves["series"]["loss/value"]["mean"] == [2, 1]
    assert client.ask(f"{path}&known={curves['stamp']}").json["unchanged"]
    write(run, row(300, time__minutes=4.0, loss__value=0.5), mode="a")
    assert client.ask(f"{path}&known={curves['stamp']}").json["series"]["loss/value"]["mean"] == [2, 1, 0.5]
    assert client.ask(f"/api/runs/learned?known={page['stamp']}").json["about"]["steps"] == 300
    write(run, *LEARNED[:2])  # a resume cut the log
    cut = client.ask(f"{path}&known={curves['stamp']}").json
    assert (cut["x"], cut["series"]["loss/value"]["mean"]) == ([100], [2])


def test_the_list_has_the_best_evaluation_until_there_are_final_matches(
    client: Client, run: RunDirectory
) -> None:
    for rows, rate, measured in (
        (LEARNED[:1], 0.19, "initial weights"),
        ((*LEARNED[:3], evaluation(200, 0.4)), 0.5, "best evaluation"),
        ((evaluation(100, 0.4),), 0.4, "newest evaluation"),
        (LEARNED, 0.87, "final matches"),
    ):
        write(run, *rows)
        (line,) = client.ask("/api/runs").json["runs"]
        assert (line["results"][0]["value"]["value"], line["measured"]) == (rate, measured)


def test_curves_of_a_league_are_of_one_member(client: Client, run: RunDirectory) -> None:
    write(run, *(row(steps, player=name, loss__value=value) for steps, name, value in (
        (100, "main", 1.0), (100, "other", 5.0), (200, "main", 2.0), (300, "other", 6.0),
    )))  # fmt: skip
    assert client.ask("/api/runs/learned").json["players"] == ["main", "other"]
    path = "/api/runs/learned/curves?series=loss/value&player="
    assert client.ask(path + "main").json["series"]["loss/value"]["mean"] == [1, 2]
    assert client.ask(path + "other").json["x"] == [100, 300]
    assert client.ask(path + "no%20one").json["x"] == []


def test_settings_have_their_origin_the_changed_ones_first(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    run.config.write_text(
        '[game]\nname = "tic_tac_toe"\n\n[algorithm]\nname = "appo"\nlearning_rate = 0.25\nepochs = 1\n'
        "\n[run]\nmax_steps = 900\nseed = 1\n"
    )
    info = json.loads(run.info_path.read_text())
    command = ["ludus", "train", "tic_tac_toe", "--max-steps", "500", "--json"]
    run.info_path.write_text(json.dumps({**info, "command": command}))
    change = {"time": "now", "command": [], "settings": {"run.max_steps": [500, 900]}}
    run.changes.write_text(json.dumps(change) + "\n")
    settings = page_of(Run("run", "run", run.path)).settings
    assert [(s.path, s.origin) for s in settings if s.origin in ("resume", "command line")] == [
        ("run.max_steps", "resume")
    ]
    origins = {s.path: (s.value, s.origin, s.default) for s in settings}
    assert origins["algorithm.learning_rate"] == ("0.25", "preset", "0.0005")
    assert origins["algorithm.epochs"] == ("1", "default", "")
    assert [s.origin for s in settings] == sorted(
        (s.origin for s in settings), key=["resume", "command line", "preset", "default"].index
    )
    run.changes.unlink()
    now = {s.path: s.origin for s in page_of(Run("run", "run", run.path)).settings}
    assert now["run.max_steps"] == "command line"


def test_a_report_is_served_under_a_policy_that_admits_its_style_only(
    client: Client, run: RunDirectory
) -> None:
    assert "removed" in client.ask("/run/learned/report").why
    run.page.write_text(report_page(f"# {HOSTILE}\n", {}))
    answer = client.ask("/run/learned/report")
    policy = answer.headers["content-security-policy"]
    assert (answer.status, answer.headers["content-type"].startswith("text/html")) == (200, True)
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert policy.endswith("sandbox")
    assert "script" not in policy
    assert "unsafe" not in policy
    run.page.write_text("<script>alert(1)</script><meta content=\"style-src 'unsafe-inline'\">")
    assert "style-src 'none'" in client.ask("/run/learned/report").headers["content-security-policy"]
    secret = run.path.parent.parent / "secret.html"
    secret.write_text("secret")
    run.page.unlink()
    run.page.symlink_to(secret)
    assert client.ask("/run/learned/report").why == "the file is a link; links are not followed"
    assert client.ask("/api/runs/learned").json["has_report"] is False


@pytest.mark.parametrize("name", ["config.toml", "log.txt", "metrics.jsonl", "events.jsonl", "report.md"])
def test_no_file_of_a_run_is_followed_out_of_the_folder(client: Client, run: RunDirectory, name: str) -> None:
    secret = run.path.parent.parent / "secret"
    secret.write_text('secret = "secret"\n')
    (run.path / name).unlink(missing_ok=True)
    (run.path / name).symlink_to(secret)
    answer = client.ask("/api/runs/learned")
    assert answer.why == f"{name} is a link; links are not followed"
    (line,) = client.ask("/api/runs").json["runs"]
    assert line["problem"] == answer.why


def test_what_a_hostile_log_holds_is_bounded(client: Client, run: RunDirectory) -> None:
    names = {f"many/{HOSTILE}{k}": 1.0 for k in range(20_000)}
    write(run, *LEARNED[:2], {**row(300), **names}, {**row(400), "long/" + "n" * 300_000: 1.0})
    run.log.write_bytes(b"\x1b[31m" + b"x" * 2_000_000)
    with run.events_path.open("a") as file:
        for _ in range(3):
            file.write(json.dumps({"event": "problem", "text": "t" * 900_000}) + "\n")
    answer = client.ask("/api/runs/learned")
    assert answer.status == 200
    assert len(answer.body) < 4 << 20
    page = answer.json
    assert len(page["series"]) <= 600
    assert len(page["plots"]) <= 600
    assert all(len(plot["title"]) < 300 for plot in page["plots"])
    assert "\x1b" not in page["log"]
    query = "&".join(f"series=many/{k}" for k in range(300))
    assert client.ask(f"/api/runs/learned/curves?{query}").status == 200


def test_of_very_many_evaluations_a_page_has_the_ends_and_some_between(
    client: Client, run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "MOST_SPARSE", 40)
    monkeypatch.setattr(pages, "MOST_EVALUATIONS", 20)
    write(run, LEARNED[0], *(evaluation(100 * k, 0.5) for k in range(1, 1000)), LEARNED[-1])
    page = client.ask("/api/runs/learned").json
    (line,) = page["measures"][0]["lines"]
    assert (line["steps"][0], line["steps"][-1]) == (0, 99900)
    assert 15 <= len(line["steps"]) <= 20
    assert page["about"]["results"][0]["value"]["value"] == 0.87
    assert len(page["evaluations"]) == 20


def test_runs_beside_each_other_have_the_settings_in_which_they_differ(
    client: Client, run: RunDirectory
) -> None:
    other = make_run(run.path.parent / "other", versions=())
    other.config.write_text('[game]\nname = "tic_tac_toe"\n\n[algorithm]\nname = "appo"\nepochs = 4\n')
    run.config.write_text('[game]\nname = "tic_tac_toe"\n\n[algorithm]\nname = "appo"\nepochs = 1\n')
    write(other, evaluation(100, 0.6))
    client.ask("/api/runs")
    both = client.ask("/api/beside?run=learned&run=other").json
    assert both["settings"] == [{"path": "algorithm.epochs", "name": "epochs", "values": ["1", "4"]}]
    assert [one["label"] for one in both["runs"]] == ["epochs=1", "epochs=4"]
    (measure,) = both["measures"]
    assert (measure["title"], measure["runs"]) == ("Win rate against simple, evaluations", [0, 1])
    assert [line["steps"] for line in measure["lines"]] == [[0, 100, 200], [100]]
    (group,) = client.ask("/api/grouping").json["settings"]
    assert (group["name"], group["values"]) == ("epochs", {"learned": "1", "other": "4"})
    assert "expected 2 to 8" in client.ask("/api/beside?run=learned").why
    assert client.ask("/api/beside?run=learned&run=gone").status == 404


def test_how_a_run_ended_is_one_sentence(client: Client, run: RunDirectory) -> None:
    for events, told in (
        ([{"event": "started"}], "Its process ended without a word"),
        ([{"event": "started"}, {"event": "finished", "reason": "max_steps = 9 reached"}],
         "It has ended: max_steps = 9 reached."),
        ([{"event": "failed", "text": f"disk full\n{HOSTILE}"}], "It failed: disk full"),
        ([{"event": "interrupted", "version": 3}], "It was interrupted. Continue it: ludus resume"),
    ):  # fmt: skip
        run.events_path.write_text("".join(json.dumps(event) + "\n" for event in events))
        told_now = client.ask("/api/runs/learned").json["told"]
        assert told_now.startswith(told)
        assert "\n" not in told_now


def test_names_of_replays_are_words() -> None:
    from ludus.storage.replay_files import replay_title

    for name, players, title in (
        ("final-simple-1.ludus", ("run@3", "simple"), "final against simple, match 1"),
        ("final-mcts-400-12.ludus", ("run@3", "mcts:400"), "final against mcts:400, match 12"),
        ("final-alone-2.ludus", ("run@3",), "final, match 2"),
        ("match-000007.ludus", (), "match 7"),
        ("go-20261128-164501.ludus", (), "played 2026-11-28 16:45"),
        ("go-20261128-164501-watched.3.ludus", (), "played 2026-11-28 16:45, 3, watched"),
        ("other.ludus", (), "other"),
    ):
        assert replay_title(name, players) == title


def test_a_page_asked_for_during_the_first_scan_is_found(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = Library(run.path.parent)
    find, started = library._find_runs, threading.Event()

    def slow() -> dict[str, Run]:
        started.set()
        time.sleep(0.2)
        return find()

    monkeypatch.setattr(library, "_find_runs", slow)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(library.runs)
        assert started.wait(10)
        assert library.run("learned").id == "learned"
        first.result(10)


def test_a_pipe_in_place_of_a_log_is_an_empty_log(client: Client, run: RunDirectory) -> None:
    run.metrics_path.unlink()
    os.mkfifo(run.metrics_path)
    page = client.ask("/api/runs/learned").json
    assert (page["measures"], page["about"]["results"]) == ([], [])
    assert msgspec.json.decode(client.ask("/api/runs/learned/curves?series=a/b").body)["x"] == []


def match(number: int, **more: object) -> dict[str, object]:
    about = {"evaluation": 3, "version": 2, "match": number, "seed": (1 << 62) + number, "ticks": 40}
    return {**about, "outcome": [1.0, -1.0], "players": ["learned@2", "simple"], "truncated": False, **more}


def test_a_page_lists_the_matches_of_its_evaluations(client: Client, run: RunDirectory) -> None:
    assert client.ask("/api/runs/learned/matches").json == {"matches": [], "left_off": False}
    rows = [
        match(0, evaluation="initial", version=0),
        match(1, error="simple: " + "x" * (1 << 20)),
        match(2, players=7),
        match(3, evaluation="final", truncated=True, players=[HOSTILE, "\x1b[31m"]),
        match(4),
    ]
    run.matches.write_text("".join(json.dumps(one) + "\n" for one in rows) + '{"evaluation": 3, "pla')
    listed = client.ask("/api/runs/learned/matches").json["matches"]
    assert listed[0] == {
        "evaluation": "evaluation of version 2",
        "players": ["learned@2", "simple"],
        "outcome": [1.0, -1.0],
        "ticks": 40,
        "seed": str((1 << 62) + 4),
        "over": True,
        "why": "",
    }
    assert (listed[1]["evaluation"], listed[1]["over"]) == ("final", False)
    assert listed[1]["players"] == [HOSTILE, "\\x1b[31m"]
    run.matches.write_text("".join(json.dumps(match(k)) + "\n" for k in range(MOST_MATCHES + 1)))
    answer = client.ask("/api/runs/learned/matches").json
    assert (len(answer["matches"]), answer["left_off"]) == (MOST_MATCHES, True)
    assert answer["matches"][0]["seed"] == str((1 << 62) + MOST_MATCHES)
    run.matches.unlink()
    run.matches.symlink_to(run.metrics_path)
    assert "is a link" in client.ask("/api/runs/learned/matches").why
