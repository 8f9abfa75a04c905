"""Thoughts about recorded matches are those that the player had when it acted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
import torch
from torch import Tensor

from ludus.evaluation.play import MatchPlayer, play_matches
from ludus.evaluation.players import evaluator_of
from ludus.evaluation.settings import MatchSettings
from ludus.flow import GameSpec, HeadSpec, Weights, WeightsMeta
from ludus.games import replays
from ludus.games import spec as spec_of
from ludus.games.match import Match
from ludus.games.python_game import declare
from ludus.games.python_game import tensor as declared
from ludus.mcts.player import SearchPlayer
from ludus.mcts.text import parse_search
from ludus.policies.actions.autoregressive import AutoregressiveDistribution
from ludus.policies.actions.q_values import QValues
from ludus.policies.config import EncoderConfig, PolicyConfig, ResnetConfig
from ludus.policies.critic import Others, seen_seats
from ludus.policies.factory import build_network
from ludus.policies.network import PolicyNetwork
from ludus.policies.protocol import Network
from ludus.policies.weights import build_policy, save_weights
from ludus.presets.errors import ConfigError
from ludus.rollouts.actor import ActInput, Decision
from ludus.rollouts.network_actor import NetworkActor
from ludus.web.thoughts import replayed
from ludus.web.thoughts.live import Onlooker
from ludus.web.thoughts.mind import Moment
from ludus.web.thoughts.network import NetworkMind
from ludus.web.thoughts.replayed import thoughts_of
from ludus.web.thoughts.resolve import mind_of
from ludus.web.thoughts.searched import SearchMind
from ludus.web.thoughts.thought import MOST_CHOICES, Opinion, ThinkError, Thought

torch.set_num_threads(1)
SMALL = EncoderConfig(channels=(4,), strides=(2,), dense=(8,), hidden=(16,), memory_size=8, context=8)
UNITS = {"commands": "units"}


def small(**changes: object) -> EncoderConfig:
    return msgspec.structs.replace(SMALL, **changes)


def weights(config: PolicyConfig, spec: GameSpec, path: Path, frame_skip: int = 0) -> Path:
    """Save a network with opinions: initial weights are nearly uniform, so each gets noise."""
    network = build_network(config, spec, seed=3)
    generator = torch.Generator().manual_seed(5)
    arrays = {}
    for name, value in network.state_dict().items():
        if value.dtype == torch.float32 and "variance" not in name and "epsilon" not in name:
            value = value + 0.3 * torch.randn(value.shape, generator=generator)
        if name.startswith("values."):
            value = value + 2.0
        arrays[name] = value.numpy()
    meta = WeightsMeta(
        7, spec.spec_hash, network.architecture, msgspec.json.encode(spec).decode(), spec.name, frame_skip
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    save_weights(Weights(meta, arrays), path)
    return path


def loaded(path: Path) -> Network:
    from ludus.policies.weights import load_weights

    return build_policy(load_weights(path))


class Spy(NetworkActor):
    """Acts, and notes what it acted on and by which distribution."""

    def __init__(self, network: Network) -> None:
        super().__init__(network, seed=2)
        self.said: list[tuple[ActInput, Any, Decision]] = []

    def act(self, batch: ActInput) -> Decision:
        copied = batch._replace(
            obs={n: a.copy() for n, a in batch.obs.items()},
            mask=batch.mask.copy(),
            memory=None if batch.memory is None else batch.memory.copy(),
            is_first=batch.is_first.copy(),
            rows=batch.rows.copy(),
        )
        tensors = {t.name: torch.from_numpy(copied.obs[t.name]) for t in self.network.inputs}
        memory = None if copied.memory is None else torch.from_numpy(copied.memory)
        step = self.network.step(tensors, memory, torch.from_numpy(copied.is_first))
        decision = super().act(batch)
        self.said.append((copied, step.distribution, decision))
        return decision


def played(spy: Spy, against: str, params: Mapping[str, str], frame_skip: int, max_ticks: int = 0) -> bytes:
    """Play one match of the spy against a bot and return the replay."""
    spec = spy.network.spec
    (result,) = play_matches(
        spec,
        dict(params),
        MatchPlayer("spy", actor=spy, frame_skip=frame_skip),
        MatchPlayer(against, bot=against, frame_skip=frame_skip),
        MatchSettings(matches=1, seed=4, record=1, max_ticks=max_ticks),
    )
    assert result.replay
    return result.replay


def own(opinion: Opinion, replay: bytes) -> list[Any]:
    """Return the thoughts about decisions that a policy made, in the order of play."""
    made = {(d.tick, d.seat) for d in replays.decisions(replay) if d.bot < 0}
    return [t for t in opinion.thoughts if (t.tick, t.seat) in made]


def rows_of(spy: Spy) -> list[tuple[ActInput, Any, Decision, int]]:
    """Return one entry for each decision of the spy, in the order of play."""
    return [(b, d, made, row) for b, d, made in spy.said for row in range(len(b.rows))]


def check_probabilities(spy: Spy, thoughts: list[Any], spec: GameSpec) -> None:
    said = rows_of(spy)
    assert len(thoughts) == len(said) > 3
    for thought, (batch, distribution, decision, row) in zip(thoughts, said, strict=True):
        assert thought.action == tuple(decision.actions[row])
        assert thought.chance == pytest.approx(np.exp(decision.log_prob[row]), rel=1e-4, abs=1e-6)
        if isinstance(distribution, AutoregressiveDistribution):
            continue
        mask = torch.from_numpy(batch.mask)
        expected = distribution.heads.log_probs(distribution.logits, mask).exp()[row].numpy()
        at = 0
        for head, part in zip(spec.heads, thought.heads, strict=True):
            whole = expected[at : at + head.size]
            assert np.abs(whole[list(part.choices)] - part.p).max() < 1e-6
            at += head.size


@pytest.mark.parametrize("memory", ["none", "gru", "lstm", "recall"])
def test_probabilities_and_values_are_those_of_acting(tmp_path: Path, memory: str) -> None:
    spec = spec_of("minirts")
    path = weights(small(memory=memory), spec, tmp_path / "w.safetensors", frame_skip=40)
    spy = Spy(loaded(path))
    replay = played(spy, spec.bots[0].name, {}, 40)
    opinion = thoughts_of(replay, str(path))
    thoughts = own(opinion, replay)
    check_probabilities(spy, thoughts, spec)
    values = [float(made.value[row]) for _, _, made, row in rows_of(spy)]
    assert np.abs(np.array(values) - [t.value for t in thoughts]).max() < 1e-6
    assert np.std(values) > 1e-3
    assert (opinion.kind, opinion.sees, opinion.tree, opinion.cut) == ("network", "own", "", False)
    # The other seat's decisions, a bot's, are thought over too: their choices are not recorded.
    others = [t for t in opinion.thoughts if t not in thoughts]
    assert {t.tick for t in others} <= set(range(0, replays.info(replay).ticks, 40))
    assert others
    assert all(t.action == () and t.chance is None for t in others)


def test_memory_runs_at_the_frame_skip_of_the_weights_and_not_of_the_match(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replayed, "_CHUNK", 7)  # the memory passes from one part to the next
    spec = spec_of("minirts")
    path = weights(small(memory="gru"), spec, tmp_path / "w.safetensors", frame_skip=40)
    replay = replays.record("minirts", {}, bots=[spec.bots[0].name], frame_skip=[25])
    found = thoughts_of(replay, str(path)).thoughts
    match, network = Match("minirts", {}, seed=1, match=0), loaded(path)
    info, decisions = replays.info(replay), replays.decisions(replay)
    memory, values, ticks = torch.zeros((2, 8)), [], []
    for tick in range(info.ticks):
        if tick % 40 == 0 and match.to_act:
            ticks.append(tick)
            seen = [match.observe(seat) for seat in (0, 1)]
            obs = {t.name: torch.from_numpy(np.stack([o[t.name] for o in seen])) for t in network.inputs}
            step = network.step(obs, memory, torch.zeros(2, dtype=torch.bool))
            assert step.memory is not None
            memory = step.memory
            values += step.value.tolist()
        for d in decisions:
            if d.tick == tick:
                match.bot(d.seat, spec.bots[d.bot].name)
        match.advance()
    assert [t.tick for t in found] == [tick for tick in ticks for _ in (0, 1)]
    assert len(ticks) > 50
    assert np.abs(np.array(values) - [t.value for t in found]).max() < 1e-6


def test_recorded_decisions_between_those_of_the_weights_leave_its_memory_alone(tmp_path: Path) -> None:
    spec = spec_of("minirts")
    slow = weights(small(memory="gru"), spec, tmp_path / "slow.safetensors", frame_skip=40)
    spy = Spy(loaded(weights(SMALL, spec, tmp_path / "fast.safetensors", frame_skip=20)))
    replay = played(spy, spec.bots[0].name, {}, 20)
    every = thoughts_of(replay, str(slow)).thoughts
    assert {d.tick for d in replays.decisions(replay)} == {t.tick for t in every}
    by_place = {(t.tick, t.seat): t for t in every}
    match, mind = Match("minirts", {}, seed=4, match=0), mind_of(str(slow), spec, {})
    onlooker = Onlooker(mind)
    info = replays.info(replay)
    for tick in range(info.ticks):
        if tick % 40 == 0:
            for seat in match.to_act:
                thought = onlooker.think(match, seat)
                assert thought.value == pytest.approx(by_place[tick, seat].value, abs=1e-6)
        for d in replays.decisions(replay):
            if d.tick == tick and d.bot < 0:
                match.act(d.seat, *d.action)
            elif d.tick == tick:
                match.bot(d.seat, spec.bots[d.bot].name)
        match.advance()


def test_heads_that_depend_on_others_are_given_the_choices_that_were_made(tmp_path: Path) -> None:
    spec = spec_of("minirts", UNITS)
    assert any(h.depends_on for h in spec.heads)
    assert any(h.points_at for h in spec.heads)
    path = weights(SMALL, spec, tmp_path / "w.safetensors", frame_skip=50)
    spy = Spy(loaded(path))
    replay = played(spy, spec.bots[0].name, UNITS, 50)
    thoughts = own(thoughts_of(replay, str(path)), replay)
    check_probabilities(spy, thoughts, spec)
    for thought, (batch, distribution, made, row) in zip(thoughts, rows_of(spy), strict=True):
        chosen = torch.from_numpy(made.actions).long()
        turns = distribution.heads.conditionals(
            distribution.features, distribution.pointed, torch.from_numpy(batch.mask), chosen
        )
        relevant = set()
        with torch.no_grad():
            for k, rows, log_probs in turns:
                for at in (rows == row).nonzero():
                    relevant.add(k)
                    head = thought.heads[k]
                    expected = log_probs[at[0]].exp().numpy()[list(head.choices)]
                    assert np.abs(expected - head.p).max() < 1e-6
        assert relevant == {k for k, head in enumerate(thought.heads) if head.choices}


@pytest.mark.parametrize("duelling", [False, True])
def test_a_q_network_gives_values_and_no_probabilities(tmp_path: Path, duelling: bool) -> None:
    spec = spec_of("connect_four")
    path = weights(small(output="q", duelling=duelling), spec, tmp_path / "w.safetensors")
    spy = Spy(loaded(path))
    replay = played(spy, spec.bots[0].name, {}, 0)
    opinion = thoughts_of(replay, str(path))
    assert opinion.kind == "q"
    thoughts = own(opinion, replay)
    assert len(thoughts) == len(rows_of(spy)) > 3
    for thought, (batch, distribution, decision, row) in zip(thoughts, rows_of(spy), strict=True):
        assert isinstance(distribution, QValues)
        (head,) = thought.heads
        expected = distribution.values(torch.from_numpy(batch.mask))[row].detach().numpy()
        assert np.allclose(expected[list(head.choices)], head.q, rtol=1e-6, atol=1e-6)
        assert np.flatnonzero(np.isfinite(expected)).tolist() == sorted(head.choices)
        assert head.p == ()
        assert thought.chance is None
        assert thought.value == max(head.q)
        assert head.choices[0] == decision.actions[row][0]  # greedy: epsilon of weights files is 0


@pytest.mark.parametrize("weighted", [(), (0.5, 2.0, 0.25)])
def test_several_value_heads_are_weighed_as_in_their_run(tmp_path: Path, weighted: tuple[float, ...]) -> None:
    spec = spec_of("minirts")
    run = tmp_path / "run"
    path = weights(small(value_heads=3), spec, run / "checkpoints" / "000000007" / "weights.safetensors", 50)
    (run / "run.json").write_text("{}")
    line = f"value_weights = {list(weighted)}\n" if weighted else ""
    (run / "config.toml").write_text(f'[game]\nname = "minirts"\n[algorithm]\nmethod = "appo"\n{line}')
    spy = Spy(loaded(path))
    replay = played(spy, spec.bots[0].name, {}, 50)
    thoughts = own(thoughts_of(replay, str(path)), replay)
    network = spy.network
    assert isinstance(network, PolicyNetwork)
    for thought, (batch, _, _, row) in zip(thoughts, rows_of(spy), strict=True):
        with torch.no_grad():
            _, value = network.flat({n: torch.from_numpy(a) for n, a in batch.obs.items()})
        heads = network.denormalise(value)[row].numpy()
        assert np.ptp(heads) > 1e-3
        expected = float(np.dot(heads, weighted)) if weighted else float(heads.mean())
        assert thought.value == pytest.approx(expected, abs=1e-6)


def test_value_weights_of_another_number_of_heads_are_refused(tmp_path: Path) -> None:
    network = PolicyNetwork(small(value_heads=3), spec_of("minirts"), seed=1)
    with pytest.raises(ThinkError, match="value_weights of its run are 2, expected 3"):
        NetworkMind(network, "w", 50, (1.0, 0.5))


@pytest.mark.parametrize("sees", ["team", "all"])
def test_a_centralised_critic_sees_the_seats_that_its_learner_saw(tmp_path: Path, sees: str) -> None:
    params = {"mode": "team"}
    spec = spec_of("pommerman", params)
    path = weights(small(critic="own", critic_sees=sees), spec, tmp_path / "w.safetensors", 1)
    spy = Spy(loaded(path))
    replay = played(spy, "simple", params, 1)
    opinion = thoughts_of(replay, str(path))
    assert opinion.sees == sees
    network = spy.network
    assert isinstance(network, PolicyNetwork)
    assert network.critic is not None
    seats = sorted({d.seat for d in replays.decisions(replay) if d.bot < 0})
    latest: dict[int, dict[str, Tensor]] = {}
    expected, together = [], 0
    by_tick: dict[int, list[int]] = {}
    for d in replays.decisions(replay):
        if d.bot < 0:
            by_tick.setdefault(d.tick, []).append(d.seat)
    for (batch, _, _), acting in zip(spy.said, by_tick.values(), strict=True):
        for row, seat in enumerate(acting):
            latest[seat] = {n: torch.from_numpy(a[row]) for n, a in batch.obs.items()}
        for seat in acting:
            near = [(k, s) for k, s in enumerate(seen_seats(network.config, spec, seat)) if s in latest]
            obs = {
                t.name: torch.stack([latest[s][t.name] for _, s in near])
                if near
                else torch.from_numpy(np.zeros((0, *t.packed_shape), t.packed_dtype))
                for t in network.inputs
            }
            together += len(near)
            others = Others(obs, torch.tensor([k for k, _ in near], dtype=torch.int64))
            with torch.no_grad():
                _, value = network.flat({n: x[None] for n, x in latest[seat].items()}, None, others)
            expected.append(float(network.denormalise(value)[0]))
    thoughts = own(opinion, replay)
    assert len(seats) == 2  # of one team: bots play the other two, and are never seen
    assert together > 20
    assert [t.value for t in thoughts] == pytest.approx(expected, abs=1e-5)
    assert np.std(expected) > 1e-3


def test_a_residual_network_is_thought_over_move_by_move(tmp_path: Path) -> None:
    spec = spec_of("connect_four")
    path = weights(ResnetConfig(blocks=1, filters=4), spec, tmp_path / "w.safetensors")
    spy = Spy(loaded(path))
    replay = played(spy, spec.bots[0].name, {}, 0)
    thoughts = own(thoughts_of(replay, str(path)), replay)
    check_probabilities(spy, thoughts, spec)
    values = [float(made.value[row]) for _, _, made, row in rows_of(spy)]
    assert np.abs(np.array(values) - [t.value for t in thoughts]).max() < 1e-6


def recorded(game: str, params: Mapping[str, str] | None = None) -> bytes:
    return replays.record(game, params or {}, bots=["uniform"], seed=3)


@pytest.mark.parametrize("text", ["mcts:60", "+search:40"])
def test_visits_are_those_of_the_search_of_each_position(tmp_path: Path, text: str) -> None:
    spec = spec_of("connect_four")
    evaluator: Any = "rollout"
    if text.startswith("+"):
        path = weights(ResnetConfig(blocks=1, filters=4), spec, tmp_path / "w.safetensors")
        text, evaluator = f"{path}{text}", evaluator_of(str(path), spec)[0]
    replay = recorded("connect_four")
    opinion = thoughts_of(replay, text, seed=9)
    assert (opinion.kind, opinion.tree) == ("search", "fresh")
    assert opinion == thoughts_of(replay, text, seed=9)
    match = Match("connect_four", {}, seed=3, match=0)
    decisions = {d.tick: d for d in replays.decisions(replay)}
    how = parse_search(text)[1]
    for thought in opinion.thoughts:
        (seat,) = match.to_act
        player = SearchPlayer("connect_four", {}, how, evaluator, slots=2, seed=9)
        player.restart(match.tick)
        (found,) = player.decide([seat], [match.state])
        (head,) = thought.heads
        wanted = dict(zip(found.root.moves.tolist(), found.root.move_visits.tolist(), strict=True))
        assert (thought.tick, thought.seat, thought.value) == (match.tick, seat, found.value)
        assert dict(zip(head.choices, head.visits, strict=True)) == wanted
        assert max(head.visits) == head.visits[0]
        assert thought.line == tuple(found.line)
        assert bool(head.p) == (evaluator != "rollout")
        decision = decisions[match.tick]
        if decision.bot < 0:
            match.act(seat, *decision.action)
        else:
            match.bot(seat, spec.bots[decision.bot].name)
        match.advance()
    assert match.over


def test_a_kept_tree_has_the_visits_of_the_search_that_plays_on() -> None:
    match = Match("connect_four", {}, seed=1)
    fresh = Onlooker(mind_of("mcts:50", match.spec, {}, seed=6))
    kept = Onlooker(mind_of("mcts:50", match.spec, {}, seed=6, tree="kept"))
    how = parse_search("mcts:50")[1]
    player = SearchPlayer("connect_four", {}, how, slots=2, seed=6)
    differ = 0
    for _ in range(8):
        (seat,) = match.to_act
        (found,) = player.decide([seat], [match.state])
        head = kept.think(match, seat).heads[0]
        visits = dict(zip(head.choices, head.visits, strict=True))
        assert visits == dict(zip(found.root.moves.tolist(), found.root.move_visits.tolist(), strict=True))
        differ += fresh.think(match, seat).heads[0].visits != head.visits
        match.play(3 if match.legal(seat)[3] else 2)
    assert differ


def test_large_heads_keep_their_first_choices_and_the_one_that_was_made(tmp_path: Path) -> None:
    spec = spec_of("go", {"size": "9"})
    path = weights(ResnetConfig(blocks=1, filters=4), spec, tmp_path / "w.safetensors")
    spy = Spy(loaded(path))
    replay = played(spy, spec.bots[0].name, {"size": "9"}, 0)
    opinion = thoughts_of(replay, str(path))
    for thought in opinion.thoughts:
        (head,) = thought.heads
        assert len(head.choices) <= MOST_CHOICES + 1
        assert list(head.p[:MOST_CHOICES]) == sorted(head.p[:MOST_CHOICES], reverse=True)
        assert not thought.action or thought.action[0] in head.choices


def test_a_continuous_head_gives_mean_and_deviation_in_the_units_of_the_game() -> None:
    heads = (
        HeadSpec("push", 2, kind="continuous", low=-2.0, high=2.0),
        HeadSpec("gear", 3),
        HeadSpec("free", 2, kind="continuous"),
    )
    spec = declare("car", observation=[declared("speed", (3,))], heads=heads)
    network = PolicyNetwork(EncoderConfig(dense=(), hidden=(16,)), spec, seed=1)
    obs = {"speed": np.array([0.3, -1.0, 2.0], np.float32)}
    mask = np.ones(7, np.uint8)
    mask[3] = 0
    (thought,) = NetworkMind(network, "w", 1).think([Moment(0, 0, obs, mask)])
    step = network.step({"speed": torch.from_numpy(obs["speed"][None])})
    push, gear, free = thought.heads
    mean, deviation = step.logits[0, 5].item(), step.logits[0, 6].exp().item()
    assert free.number == pytest.approx((mean, mean - deviation, mean + deviation), abs=1e-6)
    u, spread = step.logits[0, 0].item(), step.logits[0, 1].exp().item()
    assert push.number == pytest.approx([2 * np.tanh(x) for x in (u, u - spread, u + spread)], abs=1e-5)
    assert sorted(gear.choices) == [0, 2]
    assert sum(gear.p) == pytest.approx(1.0)
    assert thought.value == pytest.approx(step.value.item(), abs=1e-6)


def test_players_without_thoughts_are_named_with_the_reason(tmp_path: Path) -> None:
    replay = recorded("connect_four")
    other = weights(SMALL, spec_of("minirts"), tmp_path / "w.safetensors")
    bot = tmp_path / "bot.py"
    bot.write_text("raise SystemExit('it ran')\n")
    for text, error, message in (
        (str(other), ConfigError, "weights of minirts, expected weights of connect_four"),
        (str(bot), ThinkError, "a bot, not a player"),
        ("simple", ThinkError, "a bot, not a player"),
        ("mcts:x", ThinkError, "mcts:x"),
        ("plan:8x100", ThinkError, "a plan keeps no opinion"),
    ):
        with pytest.raises(error, match=message):
            thoughts_of(replay, text)
    with pytest.raises(ThinkError, match="minirts"):
        mind_of("mcts:10", spec_of("minirts"), {})


def test_damaged_replays_and_illegal_decisions_are_refused() -> None:
    replay = bytearray(recorded("connect_four"))
    replay[len(replay) // 2] ^= 1
    with pytest.raises(ValueError, match="replay"):
        thoughts_of(bytes(replay), "mcts:10")
    network = PolicyNetwork(SMALL, spec_of("minirts"), seed=1)
    match = Match("minirts", {}, seed=1)
    wrong = Moment(0, 0, match.observe(0), match.legal(0), (999,))
    with pytest.raises(ThinkError, match="does not fit the heads of minirts"):
        NetworkMind(network, "w", 50).think([wrong])


def said(visits: Sequence[int], prior: Sequence[float], chosen: int = -1, *, priors: bool = True) -> Thought:
    """Return the thought of a search that found this at moves 1, 3, 5, ..."""
    moves = np.arange(len(visits)) * 2 + 1
    root = SimpleNamespace(
        moves=moves,
        move_visits=np.array(visits),
        prior=np.array(prior, np.float32),
        mean=np.linspace(-0.5, 0.5, len(visits), dtype=np.float32),
    )
    found = SimpleNamespace(root=root, value=0.25, line=[3, 1])
    player: Any = SimpleNamespace(restart=lambda tick: None, decide=lambda seats, states: [found])
    mind = SearchMind(lambda: player, "w+search:9", priors=priors)
    moment = Moment(4, 1, {}, np.ones(2 * len(visits) + 1, np.uint8), (chosen,) if chosen >= 0 else ())
    return mind.think([moment])[0]


@pytest.mark.parametrize(
    ("visits", "prior", "order"),
    [
        ((1, 6, 2), (0.9, 0.05, 0.05), [3, 5, 1]),
        ((0, 1), (0.999, 0.001), [3, 1]),
        ((4, 4, 5), (0.2, 0.7, 0.1), [5, 3, 1]),  # equal visits: the likelier one
        ((2, 2, 2), (0.3, 0.3, 0.4), [5, 1, 3]),
        ((300, 299), (0.0, 1.0), [1, 3]),
    ],
)
def test_moves_of_a_search_are_shown_by_visits(
    visits: Sequence[int], prior: Sequence[float], order: list[int]
) -> None:
    (head,) = said(visits, prior).heads
    assert list(head.choices) == order  # and no move that the search had not
    places = [(move - 1) // 2 for move in order]
    assert list(head.visits) == [visits[i] for i in places]
    assert head.p == pytest.approx([prior[i] for i in places])
    assert head.q == pytest.approx(np.linspace(-0.5, 0.5, len(visits))[places])


def test_the_share_of_a_decision_is_its_probability_or_its_part_of_the_visits() -> None:
    assert said((1, 3), (0.9, 0.1), 3).chance == pytest.approx(0.1)
    bare = said((1, 3), (0.5, 0.5), 3, priors=False)
    assert bare.chance == pytest.approx(0.75)
    assert bare.heads[0].p == ()
    assert said((1, 3), (0.9, 0.1)).chance is None
