"""Live matches: people, bots, networks and searches play them through sockets, and each becomes a replay."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ludus.games import replays
from ludus.games.match import Match
from ludus.web.serve import messages
from ludus.web.serve import session as sessions
from ludus.web.serve.clock import MoveClock, TickSchedule
from ludus.web.serve.library import Library
from ludus.web.serve.matches import Sessions, rules_of
from ludus.web.serve.players import seat_of
from ludus.web.serve.seats import QUEUE, ActorSeat, Choice, Offer, Person
from ludus.web.serve.table import Table
from ludus.web.serve.watching import watch_run
from tests.web.serving import Client, Refused, Socket, legal, served
from tests.web.small_runs import make_run, save

BOARD = "connect_four"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with served(tmp_path) as made:
        yield made


def finish(page: Socket, choose: str = "first") -> dict[str, Any]:
    """Play legal moves to the end and return the last message."""
    (seat,) = page.hello["you"]
    rng = np.random.default_rng(3)
    moment = page.hello["first"]
    while True:
        if seat in moment["to_act"]:
            allowed = legal(moment, seat)
            chosen = allowed[0] if choose == "first" else int(rng.choice(allowed))
            page.act(chosen, tick=moment["tick"])
        message = page.get()
        while message["type"] not in ("moment", "over"):
            assert message["type"] in ("resumed", "thought"), message
            message = page.get()
        if message["type"] == "over":
            return message
        moment = message


def saved(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.ludus"))


@pytest.mark.parametrize("opponent", ["tactical", "mcts:30", "uniform"])
def test_a_board_game_is_played_to_its_end_and_saved(client: Client, tmp_path: Path, opponent: str) -> None:
    page = client.play(BOARD, "person", opponent).greet()
    hello = page.hello
    assert hello["turn_based"]
    assert hello["you"] == [0]
    assert not hello["hidden"]
    assert hello["seats"][0]["kind"] == "person"
    assert legal(hello["first"], 0) == list(range(7))
    over = finish(page, "random")
    assert over["outcome"] in ([1, -1], [-1, 1], [0, 0])
    assert over["url"] == f"/replay/{over['replay']}"
    (file,) = saved(tmp_path)
    assert file.parent == tmp_path / "plays"
    assert ":" not in file.name
    data = file.read_bytes()
    assert replays.verify(data).same
    assert replays.info(data).players == ("person", opponent)
    assert list(replays.info(data).outcome) == over["outcome"]
    assert b"<!doctype html>" in client.ask(over["url"]).body[:40].lower()
    assert [r["id"] for r in client.ask("/api/replays").json["replays"]] == [over["replay"]]


def test_a_network_plays_from_the_table_and_its_match_lies_in_its_run(client: Client, tmp_path: Path) -> None:
    run = make_run(tmp_path / "mine")
    over = finish(client.play("tic_tac_toe", "mine@best", "person").greet())
    assert over["replay"]
    (file,) = saved(tmp_path)
    assert file.parent == run.path / "played"
    assert replays.info(file.read_bytes()).players == ("mine@7", "person")


def test_a_search_with_a_network_plays(client: Client, tmp_path: Path) -> None:
    make_run(tmp_path / "mine")
    page = client.play("tic_tac_toe", "person", "mine@3+search:20").greet()
    assert page.hello["seats"][1].items() >= {"name": "mine@3+search:20", "kind": "search"}.items()
    assert finish(page)["replay"]


def test_taking_back_returns_both_moves_and_the_match_can_be_played_again(
    client: Client, tmp_path: Path
) -> None:
    page = client.play(BOARD, "person", "mcts:30").greet()
    shown = [page.last["view"]["cells"]]
    for move in (3, 2, 4):
        page.act(move)
        page.get("moment")
        page.get("moment")
        shown.append(page.last["view"]["cells"])
    for back in (2, 1, 0):
        assert page.last["can_take_back"]
        page.send({"type": "take_back"})
        moment = page.get("moment")
        assert moment["view"]["cells"] == shown[back]
        assert moment["tick"] == 2 * back
    assert not page.last["can_take_back"]
    page.send({"type": "take_back"})
    assert "no decision to take back" in page.get("refused")["why"]
    assert finish(page)["replay"]
    (file,) = saved(tmp_path)
    assert replays.verify(file.read_bytes()).same


def test_a_network_remembers_after_a_move_is_taken_back_as_it_did_before(tmp_path: Path) -> None:
    from ludus.policies.config import EncoderConfig

    memory = EncoderConfig(channels=(4,), strides=(1,), dense=(8,), hidden=(16,), memory="gru", memory_size=8)
    make_run(tmp_path / "gru", config=memory)
    rules = rules_of("tic_tac_toe", {})
    seat = seat_of("gru@7", rules, 5, Library(tmp_path))
    assert isinstance(seat, ActorSeat)
    match = Match("tic_tac_toe", {})
    seat.decide(match, 0)
    kept = seat.state()
    once = [seat.decide(match, 0), seat.state()]
    seat.restore(kept)
    again = [seat.decide(match, 0), seat.state()]
    assert once[0] == again[0]
    assert kept.row is not None
    assert not np.array_equal(kept.row, once[1].row)  # type: ignore[union-attr]
    assert np.array_equal(once[1].row, again[1].row)  # type: ignore[union-attr]


def test_a_person_who_does_nothing_plays_nothing_in_real_time(client: Client) -> None:
    page = client.play("pommerman", "person", "noop", "noop", "noop", rate=15).greet()
    assert not page.hello["turn_based"]
    first = page.last
    for _ in range(8):
        page.get("moment")
    assert page.last["tick"] > first["tick"]
    assert page.last["echo"] == 0
    page.act(2, echo=41)
    while page.get("moment")["echo"] != 41:
        pass
    page.send({"type": "resign"})
    over = page.get("over")
    assert over["reason"].startswith("You resigned")
    assert over["replay"]


def test_a_turn_waits_and_its_clock_cuts_the_match_off(client: Client) -> None:
    page = client.play(BOARD, "person", "random", clock_s=0.3).greet()
    page.act(0)
    page.get("moment")
    page.get("moment")
    over = page.get("over")
    assert over["outcome"] == []
    assert over["reason"] == "Your time was over"
    assert over["replay"]
    slow = client.play(BOARD, "person", "random").greet()
    with pytest.raises(TimeoutError):
        slow.get(seconds=0.5)


def test_a_lost_page_pauses_the_match_and_its_key_resumes_it(client: Client) -> None:
    page = client.play("minirts", "person", "simple", rate=4).greet()
    page.get("moment")
    onlooker = client.socket(page.hello["match"]).greet()
    assert onlooker.hello["you"] == []
    assert onlooker.hello["key"] == ""
    page.drop()
    assert onlooker.get("paused")["why"] == sessions.LOST
    time.sleep(0.2)
    tick = client.socket(page.hello["match"]).greet().last["tick"]
    back = client.socket(page.hello["match"], page.hello["key"]).greet()
    assert back.hello["first"]["tick"] == tick
    assert back.hello["you"] == [0]
    onlooker.get("resumed")
    while back.get("moment")["tick"] <= tick:
        pass


def test_a_match_that_no_page_returns_to_ends_and_is_saved(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "GRACE_S", 0.3)
    page = client.play(BOARD, "person", "random").greet()
    page.act(3)
    page.get("moment")
    page.drop()
    end = time.monotonic() + 10
    while not saved(tmp_path) and time.monotonic() < end:
        time.sleep(0.05)
    (file,) = saved(tmp_path)
    assert not replays.info(file.read_bytes()).over


def test_a_server_that_stops_saves_its_matches(tmp_path: Path) -> None:
    with served(tmp_path) as client:
        page = client.play(BOARD, "person", "random").greet()
        page.act(3)
        page.get("moment")
    (file,) = saved(tmp_path)
    assert replays.verify(file.read_bytes()).same


def test_a_server_that_stops_waits_for_no_search(tmp_path: Path) -> None:
    with served(tmp_path) as client:
        page = client.play("go", "person", "mcts:100000", params={"size": 19}).greet()
        page.act(3)
        time.sleep(0.3)
        started = time.monotonic()
    assert time.monotonic() - started < 5
    (file,) = saved(tmp_path)
    assert replays.verify(file.read_bytes()).same


def test_pausing_lets_everything_stand_and_a_rate_changes_the_speed(client: Client) -> None:
    page = client.play("minirts", "person", "noop", rate=4).greet()
    page.get("moment")
    page.send({"type": "pause"})
    page.get("paused")
    page.act(0, echo=3)
    assert "the match is paused" in page.get("refused")["why"]
    with pytest.raises(TimeoutError):
        page.get("moment", seconds=0.3)
    page.send({"type": "resume"})
    page.get("resumed")
    page.send({"type": "rate", "value": 20})
    assert page.get("hello")["rate"] == 20
    start, tick = time.monotonic(), page.last["tick"]
    while time.monotonic() < start + 1:
        page.get("moment")
    assert page.last["tick"] - tick > 400  # 1,000 a second, on a busy machine


def test_the_newest_legal_decision_wins_and_others_are_forgotten() -> None:
    match = Match(BOARD, {})
    for _ in range(6):
        match.play(3)
    (seat,) = match.to_act
    person, sender = Person(), object()
    for echo, column in enumerate((0, 1, 2, 3), 1):
        person.offer(Offer(sender, echo, (column,)))
    assert person.decide(match, seat) == Choice((2,))
    assert person.echo == 3
    assert [(offer.echo, why) for offer, why in person.refused] == [(4, "column d is not legal now")]
    assert person.decide(match, seat) is None
    for echo in range(2 * QUEUE):
        person.offer(Offer(sender, echo, (3,)))
    person.refused.clear()
    assert person.decide(match, seat) is None
    assert len(person.refused) == QUEUE


def test_a_spectator_may_neither_play_nor_stop_the_clock(client: Client) -> None:
    page = client.play(BOARD, "person", "random").greet()
    onlooker = client.socket(page.hello["match"]).greet()
    assert onlooker.last["legal"] == {}
    for message in (
        {"type": "act", "echo": 1, "tick": 0, "seat": 0, "action": [1]},
        {"type": "pause"},
        {"type": "take_back"},
        {"type": "resign"},
    ):
        onlooker.send(message)
        assert onlooker.get("refused")["why"]
    page.send({"type": "hints", "on": True})
    assert page.get("refused")["why"] == "hints are off while a person plays"


def test_a_watched_run_plays_match_after_match_with_newer_weights(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "BETWEEN_S", 0.1)
    run = make_run(tmp_path / "mine")
    session = watch_run(client.server.matches, run.path, rate=20)
    page = client.socket(session.match).greet()
    assert page.hello["seats"][0]["name"] == "mine@7"
    assert page.hello["seats"][1]["name"] == "perfect"
    thought = page.get("thought")
    assert thought["seat"] == 0
    assert sum(p for _, p in thought["heads"][0]) == pytest.approx(1, abs=0.01)
    assert -1 <= thought["value"] <= 1
    save(run.checkpoints.path(9) / "weights.safetensors", "tic_tac_toe", 9)
    page.get("over")
    again = page.get("hello")
    assert [seat["name"] for seat in again["seats"]] == ["perfect", "mine@9"]
    shutil.rmtree(run.path)
    page.get("over")
    with pytest.raises(AssertionError, match="the run mine has been removed"):
        page.get("hello")


def test_of_watched_matches_the_newest_stay_and_a_persons_match_stays_too(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "BETWEEN_S", 0.05)
    run = make_run(tmp_path / "mine")
    library = client.server.library
    own = library.keep(b"x", "tic_tac_toe", library.run_at(run.path).id).path
    session = watch_run(client.server.matches, run.path, rate=20, newest=2)
    page = client.socket(session.match).greet()
    for _ in range(4):
        page.get("over")
    session.stop()
    session.join(20)
    left = [path for path in (run.path / "played").iterdir() if path != own]
    assert own.exists()
    assert len(left) == 2
    assert all("-watched" in path.name for path in left)


def test_thoughts_are_shown_after_the_match_and_never_while_a_person_plays(
    client: Client, tmp_path: Path
) -> None:
    make_run(tmp_path / "mine")
    page = client.play("tic_tac_toe", "person", "mine@7").greet()
    page.send({"type": "hints", "on": True})
    assert page.get("refused")["why"] == "hints are off while a person plays"
    finish(page)
    page.send({"type": "hints", "on": True})
    thought = page.get("thought")
    assert thought["seat"] == 1
    assert sum(p for _, p in thought["heads"][0]) == pytest.approx(1, abs=0.01)
    page.send({"type": "resign"})
    assert page.get("refused")["why"] == "the match is over"


def test_a_watched_run_waits_for_the_next_page(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "GRACE_S", 0.1)
    run = make_run(tmp_path / "mine")
    session = watch_run(client.server.matches, run.path, rate=2)
    page = client.socket(session.match).greet()
    page.get("moment")
    page.drop()
    time.sleep(0.5)
    again = client.socket(session.match).greet()
    assert again.hello["first"]["tick"] >= 1
    assert again.get("moment")["tick"] > again.hello["first"]["tick"]


def test_a_run_without_weights_cannot_be_watched(tmp_path: Path) -> None:
    run = make_run(tmp_path / "mine", versions=())
    with pytest.raises(ValueError, match="no checkpoint yet"):
        watch_run(Sessions(Library(tmp_path)), run.path)


def test_all_persons_of_a_page_play_at_one_board(client: Client) -> None:
    page = client.play(BOARD, "person", "person").greet()
    assert page.hello["you"] == [0, 1]
    for tick in range(4):
        page.act(tick, seat=tick % 2)
        assert page.get("moment")["to_act"] == [(tick + 1) % 2]
    page.send({"type": "take_back"})
    assert page.get("moment")["tick"] == 3


def test_a_game_of_simultaneous_decisions_waits_for_the_person(client: Client) -> None:
    page = client.play("matrix", "person", "random").greet()
    assert page.hello["turn_based"]
    with pytest.raises(TimeoutError):
        page.get(seconds=0.3)
    page.act(1)
    assert page.get("over")["replay"]


def test_ticks_that_were_missed_are_not_made_up_for() -> None:
    schedule = TickSchedule(10.0)
    schedule.restart(0.0)
    assert schedule.due == pytest.approx(0.1)
    schedule.advance(0.11, 0.12)
    assert schedule.due == pytest.approx(0.2)
    schedule.advance(0.2, 5.0)  # a stall
    assert schedule.due == pytest.approx(5.0)
    schedule.advance(5.0, 5.01)
    assert schedule.due == pytest.approx(5.1)
    assert [round(tick.late_s, 3) for tick in schedule.ticks] == [0.01, 0.0, 0.0]


def test_a_clock_stands_while_the_match_does() -> None:
    clock = MoveClock(10.0)
    clock.start(1, 100.0)
    assert clock.left(103.0) == {"1": 7.0}
    clock.stand(104.0)
    assert clock.late(1000.0) is None
    assert clock.left(1000.0) == {"1": 6.0}
    clock.stand(1000.0)  # it stands for two reasons
    assert clock.left(1000.0) == {"1": 6.0}
    clock.run(1000.0)
    assert clock.late(1005.9) is None
    assert clock.late(1006.1) == 1


def test_a_socket_of_an_unknown_match_or_with_a_wrong_key_is_closed(client: Client) -> None:
    assert client.socket("0123456789abcdef").wait_closed()[0] == 4404
    page = client.play(BOARD, "person", "random").greet()
    assert client.socket(page.hello["match"], "x" * 22).wait_closed()[0] == 4403
    with pytest.raises(Refused):
        client.socket(page.hello["match"], "x").get("hello")


@pytest.mark.parametrize(
    ("game", "others", "params"),
    [("minirts", ("noop", "random"), {}), ("pommerman", ("noop", "simple"), {"mode": "team", "fog": 1})],
)
def test_a_page_is_sent_nothing_that_its_seat_does_not_observe(
    game: str, others: tuple[str, str], params: dict[str, Any]
) -> None:
    rules = rules_of(game, params)
    compared = 0
    for seed in range(1, 5):
        twins = []
        for other in others:
            seats = [seat_of(n, rules, seed) for n in ("person", *[other] * (rules.spec.seats - 1))]
            twins.append(Table(Match(game, params, seed=seed, record=True), seats, 10_000))
        while not any(table.over for table in twins) and twins[0].match.tick < 1_000:
            one, two = ({"mask": t.match.legal(0), **t.match.observe(0)} for t in twins)
            if any(not np.array_equal(one[name], two[name]) for name in one):
                break
            first, second = (messages.write(table.moment(True, {}, False)) for table in twins)
            assert first == second
            onlookers = (messages.write(table.moment(False, {}, False)) for table in twins)
            assert len(set(onlookers)) == 1
            compared += twins[0].match.hash != twins[1].match.hash
            for table in twins:
                table.play()
    assert compared > 20  # moments of matches that differ out of sight
