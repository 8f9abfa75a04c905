"""Thoughts as data of the replay page, and the command that asks for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from ludus.cli.__main__ import main
from ludus.flow.hosted_replay import HostedReplay
from ludus.games import replays
from ludus.games import spec as spec_of
from ludus.native import core
from ludus.web.from_replay import recording_of
from ludus.web.recording import Recording
from ludus.web.replay_page import pack, to_html
from ludus.web.thoughts.mistakes import MOST_MARKS, drops
from ludus.web.thoughts.page import CHANCE_UNIT, UNIT, page_data, rare
from ludus.web.thoughts.replayed import thoughts_of
from ludus.web.thoughts.thought import HeadNames, HeadThought, Opinion, ThinkError, Thought
from tests.unit.web.test_thoughts import SMALL, recorded, weights


def thought(
    tick: int, value: float | None = 0.0, chance: float | None = None, *, seat: int = 0, choices: int = 3
) -> Thought:
    p = tuple(1.0 / choices for _ in range(choices))
    head = HeadThought(tuple(range(choices)), p)
    return Thought(tick, seat, value, (head,), () if chance is None else (1,), chance)


def opinion(*thoughts: Thought, heads: tuple[HeadNames, ...] = (HeadNames("move", ("a", "b")),)) -> Opinion:
    return Opinion("me", heads, "network", "own", "", thoughts)


def test_drops_are_between_thoughts_of_one_seat_and_the_largest_comes_first() -> None:
    values = [(0, 0, 0.5), (0, 1, -0.5), (1, 0, 0.4), (1, 1, -0.9), (2, 0, 0.45), (3, 0, -0.2), (3, 1, 0.0)]
    found = drops(opinion(*(thought(t, v, seat=s) for t, s, v in values)))
    assert [index for index, _ in found] == [4, 1, 0]
    assert [change for _, change in found] == pytest.approx([-0.65, -0.4, -0.1])
    assert drops(opinion(thought(0, 1.0), thought(1, None), thought(2, 0.5))) == [(0, -0.5)]
    assert drops(opinion(thought(0, 1.0), thought(1, 1.0), thought(2, 0.9999))) == []
    falling = [thought(t, -float(t * t)) for t in range(40)]
    assert [index for index, _ in drops(opinion(*falling))] == list(range(38, 38 - MOST_MARKS, -1))


def test_rare_decisions_have_an_alternative_and_are_not_the_usual_ones() -> None:
    chances = [0.4, 0.01, None, 0.6, 0.2]
    assert rare([thought(t, chance=c) for t, c in enumerate(chances)]) == [1, 4, 0]
    assert rare([thought(0, chance=0.1, choices=1)]) == []


def test_columns_hold_every_choice_once_and_labels_of_those_that_occur() -> None:
    heads = (HeadNames("move", ("a", "b", "c", "never")), HeadNames("force"))
    first = Thought(
        5,
        1,
        -0.25,
        (HeadThought((2, 0), (0.75, 0.25), (0.5, -0.5), (30, 10)), HeadThought(number=(0.5, 0.25, 0.75))),
        (0, 12345),
        0.25,
        (2, 1),
    )
    second = Thought(
        9, 0, None, (HeadThought((1,), (1.0,), (0.0,), (3,)), HeadThought(number=(1.0, 0.0, 2.0)))
    )
    data: dict[str, Any] = page_data(opinion(first, second, heads=heads))
    assert (data["ticks"], data["seats"]) == ([5, 4], [1, 0])
    assert data["values"] == [-0.25 * UNIT, -1 - 2**31]
    assert data["chances"] == [0.25 * CHANCE_UNIT, -1]
    move, force = data["heads"]
    assert move["counts"] == [2, 1]
    assert move["choices"] == [2, 0, 1]
    assert move["made"] == [0, -1]
    assert (move["p"], move["q"], move["visits"]) == ([750, 250, 1000], [500, -500, 0], [30, 10, 3])
    assert move["labels"] == [[0, "a"], [1, "b"], [2, "c"]]
    assert force["numbers"] == [500, 250, 750, 1000, 0, 2000]
    assert force["made"] == [-1, -1]
    assert data["lines"] == [[2, 1], []]


def test_choices_without_a_chance_are_left_out_but_for_the_one_that_was_made() -> None:
    head = HeadThought((0, 1, 2), (0.9999, 0.00005, 0.00005))
    data: dict[str, Any] = page_data(opinion(Thought(0, 0, 0.0, (head,), (2,), 0.00005)))
    assert data["heads"][0]["choices"] == [0, 2]
    assert data["chances"] == [5]


@pytest.mark.parametrize("value", [float("inf"), -1e300, float("nan")])
def test_numbers_of_any_weights_stay_integers_of_the_page(value: float) -> None:
    head = HeadThought((0,), (1.0,), (value,))
    data: dict[str, Any] = page_data(opinion(Thought(0, 0, value, (head,))))
    assert abs(data["values"][0]) <= 2**31 + 1
    assert abs(data["heads"][0]["q"][0]) <= 2**31 + 1


def test_long_matches_of_many_heads_keep_fewer_choices() -> None:
    heads = tuple(HeadNames(f"h{k}") for k in range(40))
    head = HeadThought(tuple(range(24)), tuple(1 / 24 for _ in range(24)))
    many = [Thought(t, 0, 0.0, (head,) * 40) for t in range(2000)]
    data: dict[str, Any] = page_data(opinion(*many, heads=heads))
    assert sum(len(h["choices"]) for h in data["heads"]) == 2 * 40 * 2000


def test_invisible_characters_of_names_are_escaped() -> None:
    heads = (HeadNames("a\x1b[31m", ("\u202e", "x")),)
    named = msgspec.structs.replace(opinion(thought(0), heads=heads), name="m\n\u202e")
    data: dict[str, Any] = page_data(named)
    texts = [data["name"], data["heads"][0]["name"], *(text for _, text in data["heads"][0]["labels"])]
    assert all(text.isprintable() for text in texts)


def test_a_page_without_thoughts_has_none() -> None:
    recording = Recording(game="g", title="g", renderer="g", seats=("a",), views=[b'{"tick": 0}'])
    assert b'"thoughts":[]' in pack(recording)


def test_the_command_writes_a_page_with_two_opinions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    replay = tmp_path / "match.ludus"
    replay.write_bytes(recorded("connect_four"))
    out = tmp_path / "page.html"
    command = [
        "replay",
        "to-html",
        str(replay),
        "--out",
        str(out),
        "--think",
        "mcts:30",
        "--think",
        "mcts:10",
    ]
    assert main(command) == 0
    assert out.read_text() == to_html(replay.read_bytes(), think=("mcts:30", "mcts:10"))
    plain = to_html(replay.read_bytes())
    assert len(plain) < len(out.read_text())


def test_the_moves_of_bots_are_known_by_their_names() -> None:
    bot = spec_of("connect_four").bots[0].name
    replay = replays.record("connect_four", {}, bots=[bot], seed=3)
    recording = recording_of(replay)
    texts = {(d.tick, d.seat): d.text for d in recording.decisions}
    known = thoughts_of(replay, "mcts:30", texts=texts)
    for thought in known.thoughts:
        (choice,) = thought.action
        assert known.heads[0].labels[choice] == texts[thought.tick, thought.seat] == str(choice + 1)
        assert thought.chance is not None
        assert choice in thought.heads[0].choices
    unknown = thoughts_of(replay, "mcts:30", texts=dict.fromkeys(texts, bot))
    assert {t.action for t in unknown.thoughts} == {()}
    assert [t.value for t in unknown.thoughts] == [t.value for t in known.thoughts]


def test_a_name_of_an_illegal_choice_is_no_decision() -> None:
    replay = replays.record("connect_four", {}, bots=["tactical"], seed=1)  # fills the fourth column
    texts = {(d.tick, d.seat): "4" for d in replays.decisions(replay)}
    thoughts = thoughts_of(replay, "mcts:5", texts=texts).thoughts
    full = [t for t in thoughts if 3 not in t.heads[0].choices]
    assert full
    assert all(t.action == ((3,) if t not in full else ()) for t in thoughts)


def test_progress_counts_the_decisions_of_all_players() -> None:
    replay = recorded("connect_four")
    count = replays.info(replay).decisions
    told: list[tuple[int, int]] = []
    to_html(replay, think=("mcts:5", "mcts:6"), progress=lambda done, total: told.append((done, total)))
    assert told == [(n, 2 * count) for n in range(1, 2 * count + 1)]


@pytest.mark.parametrize(
    ("think", "reason"),
    [
        (("OTHER",), "weights of minirts, expected weights of connect_four"),
        (("BOT",), "a bot, not a player"),
        (("simple",), "a bot, not a player"),
        (("run@best",), "run"),
        (("mcts:0",), "visits"),
        (("mcts:5", "mcts:6", "mcts:7"), "--think: 3 players, expected at most 2"),
    ],
)
def test_a_player_without_thoughts_ends_the_command_with_its_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], think: tuple[str, ...], reason: str
) -> None:
    replay = tmp_path / "match.ludus"
    replay.write_bytes(recorded("connect_four"))
    other = tmp_path / "w.safetensors"
    if think == ("OTHER",):
        weights(SMALL, spec_of("minirts"), other)
    bot = tmp_path / "bot.py"
    bot.write_text("raise SystemExit('it ran')\n")
    names = {"OTHER": str(other), "BOT": str(bot)}
    command = ["replay", "to-html", str(replay)]
    for name in think:
        command += ["--think", names.get(name, name)]
    assert main(command) == 2
    said = capsys.readouterr()
    assert reason in said.err
    assert said.out == ""
    assert len(said.err.splitlines()) == 1
    assert not (tmp_path / "match.html").exists()


def test_a_damaged_replay_ends_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    replay = tmp_path / "match.ludus"
    replay.write_bytes(recorded("connect_four")[:-7])
    assert main(["replay", "to-html", str(replay), "--think", "mcts:10"]) == 2
    assert str(replay) in capsys.readouterr().err


def test_only_weights_think_about_the_replay_of_a_python_game() -> None:
    data = core.replay_encode(
        HostedReplay(
            game="gymnasium/CartPole-v1",
            version=1,
            params={},
            seed=1,
            match=0,
            players=["a"],
            heads=1,
            ticks=[0],
            seats=[0],
            actions=[0],
            length=1,
            hash_every=100,
            hashes=[0],
            final_hash=0,
            over=False,
            outcome=[0.0],
            returns=[0.0],
            reproduced=0,
        )
    )
    with pytest.raises(ThinkError, match="mcts:10: only weights give thoughts about a game"):
        thoughts_of(data, "mcts:10")
