"""Networks behind the engine: their outputs for a position, and their number of threads."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from ludus.games import go, spec
from ludus.games.match import Match
from ludus.gtp.analysis import raw_lines
from ludus.gtp.expectation import NetworkReader, by_playouts
from ludus.policies.accelerator import Plain
from ludus.policies.config import EncoderConfig, ResnetConfig
from ludus.policies.factory import build_network
from ludus.policies.layers.residual import ResidualNetwork
from ludus.policies.layers.symmetry import Symmetries
from ludus.policies.protocol import Network
from tests.taped import Counting, Taped

SIZE = 5
PARAMS = {"size": str(SIZE), "komi": "0.5"}


def residual(*, ends: bool = True) -> ResidualNetwork:
    """Return a network, with heads for the end of a match if ``ends``."""
    config = ResnetConfig(blocks=1, filters=8, ownership=ends, score=ends)
    network = ResidualNetwork(config, spec("go", PARAMS), seed=3)
    with torch.no_grad():  # heads with outputs other than 0
        for head in (network.policy_head, network.value_head, network.score_head, network.ownership_plane):
            if head is not None:
                head.weight.mul_(20.0)
    return network


@pytest.fixture(scope="module")
def reader() -> NetworkReader:
    return NetworkReader(residual())


def position(*moves: str) -> Match:
    match = Match("go", PARAMS)
    for move in moves:
        match.play(go.point_of(move, SIZE) or 0)
    return match


def test_a_policy_covers_legal_moves_and_the_expectation_is_blacks(reader: NetworkReader) -> None:
    black, white = position("c3", "b2"), position("c3", "b2", "pass")
    raw = reader.read(black)
    assert sum(raw.policy) == pytest.approx(1.0, abs=1e-4)
    assert raw.policy[go.point_of("c3", SIZE) or 0] == 0.0
    assert -1.0 <= raw.value <= 1.0
    assert raw.expected is not None
    assert len(raw.expected.ownership) == SIZE * SIZE
    # The heads speak for the mover: for White's turn the network's own numbers change their sign.
    board = reader._network.board
    assert board is not None
    seen = {n: torch.from_numpy(a[None].copy()) for n, a in white.observe(go.WHITE).items()}
    outputs = board.learned(board.boards(seen))
    assert outputs.score is not None
    assert outputs.ownership is not None
    expected = reader.read(white).expected
    assert expected is not None
    assert expected.lead == pytest.approx(-float(outputs.score[0].detach()), abs=1e-4)
    share = torch.sigmoid(outputs.ownership[0]).detach().numpy()
    np.testing.assert_allclose(expected.ownership, 1.0 - 2.0 * share, atol=1e-5)


def test_outputs_of_a_turned_board_are_turned_back(reader: NetworkReader) -> None:
    # Reading under symmetry k is reading the turned position, with the answer turned back.
    symmetries = Symmetries(spec("go", PARAMS))
    for k in range(8):
        turn = symmetries.choice[k]
        turned = Match("go", PARAMS)
        for move in ("a2", "d3", "e5"):
            turned.play(int(turn[go.point_of(move, SIZE) or 0]))
        here, there = reader.read(position("a2", "d3", "e5"), k), reader.read(turned, 0)
        back = np.array(there.policy)[turn]
        np.testing.assert_allclose(here.policy, back, atol=1e-5)
        assert here.expected is not None
        assert there.expected is not None
        owned = np.array([*there.expected.ownership, 0.0])[turn][:-1]
        np.testing.assert_allclose(here.expected.ownership, owned, atol=1e-5)
    with pytest.raises(ValueError, match="symmetry 0 to 7"):
        reader.read(position(), 8)


def test_raw_lines_are_from_whites_perspective(reader: NetworkReader) -> None:
    match = position("c3")
    raw = reader.read(match)
    lines = raw_lines(raw, 2, go.WHITE, SIZE).split("\n")
    assert lines[0] == "symmetry 2"
    assert float(lines[1].split()[1]) == pytest.approx((raw.value + 1) / 2, abs=1e-6)
    assert lines[7] == "policy"
    assert all(len(line.split()) == SIZE for line in lines[8 : 8 + SIZE])
    assert lines[13].startswith("policyPass ")
    assert lines[14] == "whiteOwnership"
    assert raw.expected is not None
    assert float(lines[15].split()[0]) == pytest.approx(-raw.expected.ownership[0], abs=1e-6)


@pytest.mark.parametrize(
    ("make", "symmetries"),
    [
        (residual, 8),
        (lambda: residual(ends=False), 8),
        (lambda: build_network(EncoderConfig(dense=(16,)), spec("go", PARAMS), 3), 1),
    ],
    ids=["ends", "no ends", "no board"],
)
def test_a_position_is_one_program_of_an_accelerator(make: Callable[[], Network], symmetries: int) -> None:
    network, taped = make(), Counting()
    plain = NetworkReader(network, Plain(static=True))
    replayed, late = NetworkReader(network, taped), NetworkReader(network, Taped(7))
    compact = NetworkReader(make())
    read = []
    for match in (position(), position("c3", "b2"), position("c3", "b2", "pass"), position("a1", "e5", "d2")):
        for k in range(symmetries):
            raw, other = plain.read(match, k), compact.read(match, k)
            assert replayed.read(match, k) == late.read(match, k) == raw
            assert raw.policy == pytest.approx(other.policy, abs=1e-5)
            assert raw.value == pytest.approx(other.value, abs=1e-5)
            assert (raw.expected is None) == (other.expected is None)
            if raw.expected is not None and other.expected is not None:
                assert raw.expected.lead == pytest.approx(other.expected.lead, abs=1e-4)
                assert raw.expected.ownership == pytest.approx(other.expected.ownership, abs=1e-5)
            read.append(raw)
    assert len({raw.value for raw in read}) > 3  # each position's own, under any symmetry
    assert taped.prepared == 1


def test_komi_and_handicap_count_in_playouts() -> None:
    (low,) = by_playouts([Match("go", {"size": "5", "komi": "0.5"})])
    (high,) = by_playouts([Match("go", {"size": "5", "komi": "10.5"})])
    assert low.lead - high.lead == pytest.approx(10.0)
    stones = {"size": "7", "komi": "0.5", "handicap": "3"}
    (chinese,) = by_playouts([Match("go", {**stones, "scoring": "chinese"})])
    (tromp,) = by_playouts([Match("go", {**stones, "scoring": "tromp_taylor"})])
    assert tromp.lead - chinese.lead == pytest.approx(3.0)


@pytest.mark.parametrize("command", ["gtp", "eval", "anything"])
def test_every_command_runs_one_thread_per_operation(command: str, tmp_path: Path) -> None:
    code = (
        "import sys; from ludus.cli.__main__ import main; main([sys.argv[1], '--help'])\n"
        "import torch; print(torch.get_num_threads())"
    )
    environment = {"PATH": "/usr/bin:/bin"}  # no OMP_NUM_THREADS from outside
    done = subprocess.run(
        [sys.executable, "-c", code, command],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=environment,
    )
    assert done.stdout.rstrip().endswith("\n1") or done.stdout.strip() == "1"
