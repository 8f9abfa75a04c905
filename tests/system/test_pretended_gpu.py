"""Every method trains on a pretended GPU: no tensors of two devices meet, and no cost rises."""

import json
import subprocess
import sys

import pytest
import torch

from tests.pretend import KINDS
from tests.pretended_faults import CASES
from tests.pretended_training import QUICK, ROOT, SLOW, TABLE, Costs, measured

table = json.loads(TABLE.read_text(encoding="utf-8"))
pytestmark = pytest.mark.skipif(
    torch.__version__.partition("+")[0] != table["torch"].partition("+")[0],
    reason=f"costs were counted with torch {table['torch']}, this is {torch.__version__}",
)


def risen(counted: Costs, allowed: Costs) -> list[str]:
    """Return a line for each cost above the table's."""
    return [
        f"{part}: {costs[kind]} x {kind}, at most {allowed[part][kind]} expected"
        for part, costs in counted.items()
        for kind in KINDS
        if costs[kind] > allowed[part][kind]
    ]


@pytest.fixture(scope="module")
def quick() -> dict[str, Costs]:
    return measured(*QUICK)


def check(counted: Costs, allowed: Costs) -> None:
    assert counted.keys() == allowed.keys()
    assert not risen(counted, allowed)


@pytest.mark.parametrize("case", QUICK)
def test_a_preset_learns_on_the_gpu_at_no_higher_cost(case: str, quick: dict[str, Costs]) -> None:
    check(quick[case], table["costs"][case])


@pytest.mark.slow
@pytest.mark.parametrize("case", SLOW)
def test_further_presets_learn_on_the_gpu_at_no_higher_cost(case: str) -> None:
    check(measured(case)[case], table["costs"][case])


def test_a_cost_above_the_table_is_reported() -> None:
    allowed = {"act": dict.fromkeys(KINDS, 2)}
    assert risen({"act": {**dict.fromkeys(KINDS, 2), "wait": 3}}, allowed) == [
        "act: 3 x wait, at most 2 expected"
    ]
    assert risen(allowed, allowed) == []


def test_tensors_of_two_devices_must_not_meet() -> None:
    with pytest.raises(AssertionError, match=r"a tensor of the GPU meets the processor's torch\.float32"):
        measured("--meet")


PROGRAMS = (
    "minirts",
    "minirts-mixture",
    "minirts-impala",
    "minirts-a2c",
    "minirts-policy-gradient",
    "capture-the-flag",
    "minirts-cells",
    "pommerman-team-critic",
    "pommerman-team-league",
    "minirts policy.value_heads=2",
)


@pytest.mark.parametrize("case", PROGRAMS)
def test_programs_copy_once_an_act_and_never_wait_between_steps(case: str) -> None:
    """The table's costs of programs equal the costs of graphs."""
    costs = table["costs"][case]
    assert costs["act"] == {"launch": 1, "upload": 1, "download": 1, "wait": 0}
    for update in ("update", "update at lag 1"):
        assert costs[update]["wait"] == 0
        assert costs[update]["download"] <= 3  # each is a wait: values, moments, numbers
        assert costs[update]["launch"] <= 60


def test_what_a_card_refuses_or_adds_in_any_order_is_found() -> None:
    command = [sys.executable, "-m", "tests.pretended_faults", "all"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=590, check=False)
    found = json.loads(done.stdout or "{}")
    assert found == {name: kind for name, (kind, _) in CASES.items()}, done.stderr[-3000:]


def test_a_job_with_such_a_fault_fails() -> None:
    with pytest.raises(AssertionError, match=r"unordered: aten\.index_add"):
        measured("--add")
