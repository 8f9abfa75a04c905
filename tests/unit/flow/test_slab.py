"""Slabs that are taken apart into arrays, put together again, and joined along rows."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from ludus.algorithms.updates.samples import rows_of_seats
from ludus.flow import Slab, joined
from ludus.flow.slab import rows_of
from ludus.policies.config import EncoderConfig
from tests.unit.synthetic import make_spec, random_slab, tensor

SPEC = make_spec((tensor("counts", "u8", (7,)), tensor("numbers", "f32", (6,))), (4, 3))
TWO = msgspec.structs.replace(SPEC, seats=2)


def slab_of(rows: int, seed: int) -> Slab:
    """Return a slab with the memory of policy 3, and with two seats a slot."""
    slab = random_slab(SPEC, 5, rows, seed)
    slab.row_slot = np.arange(rows, dtype=np.int32) // 2
    slab.row_seat = np.arange(rows, dtype=np.int32) % 2
    slab.memory = {3: np.random.default_rng(seed).standard_normal((rows, 2, 4)).astype(np.float32)}
    return slab


def assert_joined(whole: Slab, parts: list[Slab]) -> None:
    assert (whole.steps, whole.rows) == (5, sum(part.rows for part in parts))
    fields = [part.fields() for part in parts]
    assert whole.fields().keys() == fields[0].keys()
    for name, array in whole.fields().items():
        axis = 0 if name == "memory.3" else 1
        assert np.array_equal(array, np.concatenate([f[name] for f in fields], axis)), name
        assert array.dtype == fields[0][name].dtype


def test_a_slab_of_its_arrays_is_the_slab() -> None:
    slab = slab_of(4, 1)
    made = Slab.of(slab.fields(), slab.row_slot, slab.row_seat)
    assert (made.steps, made.rows) == (5, 4)
    assert all(a is b for a, b in zip(made.fields().values(), slab.fields().values(), strict=True))


def test_a_slab_may_lack_observations_that_no_learner_reads() -> None:
    slab = slab_of(4, 1)
    fields = slab.learned_fields(["numbers"])
    assert slab.fields().keys() - fields.keys() == {"obs.counts"}
    assert Slab.of(fields, slab.row_slot, slab.row_seat).obs.keys() == {"numbers"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mask": None}, "missing \\['mask'\\]"),
        ({"colour": np.zeros((5, 4))}, "unknown \\['colour'\\]"),
        ({"value": np.zeros((5, 4), np.float32)}, "field value of a slab"),
        ({"obs.numbers": np.zeros((6, 3, 6), np.float32)}, "field obs.numbers"),
        ({"memory.3": np.zeros((3, 4), np.float32)}, "field memory.3"),
    ],
)
def test_arrays_that_make_no_slab_are_refused(change: dict[str, np.ndarray | None], message: str) -> None:
    slab = slab_of(4, 1)
    fields = {n: a for n, a in {**slab.fields(), **change}.items() if a is not None}
    with pytest.raises(ValueError, match=message):
        Slab.of(fields, slab.row_slot, slab.row_seat)
    with pytest.raises(ValueError, match="rows of a slab"):
        Slab.of(slab.fields(), slab.row_slot[1:], slab.row_seat)


def test_joined_slabs_are_their_rows_one_after_another() -> None:
    parts = [slab_of(4, 1), slab_of(6, 2), slab_of(2, 3)]
    whole = joined(parts)
    assert_joined(whole, parts)
    assert whole.row_slot.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert whole.row_seat.tolist() == [0, 1] * 6
    assert whole.row_slot.dtype == np.int32
    assert joined(parts[:1]).row_slot.tolist() == parts[0].row_slot.tolist()


def test_slabs_are_joined_into_one_that_is_there() -> None:
    target = joined([slab_of(2, 7), slab_of(4, 8)])
    kept = target.fields()
    parts = [slab_of(2, 1), slab_of(4, 2)]
    assert joined(parts, target) is target
    assert_joined(target, parts)
    assert all(target.fields()[name] is array for name, array in kept.items())
    bare = Slab(SPEC, 5, 6)  # without memory
    assert_joined(joined(parts, bare), parts)


def test_slabs_that_do_not_fit_are_not_joined() -> None:
    slab, other = slab_of(4, 1), slab_of(4, 2)
    other.memory = {}
    with pytest.raises(ValueError, match=r"unequal fields: \['memory.3'\]"):
        joined([slab, other])
    with pytest.raises(ValueError, match=r"unequal fields: \['obs.counts'\]"):
        joined([slab], Slab.of(slab.learned_fields(["numbers"]), slab.row_slot, slab.row_seat))
    odd = Slab.of({**slab.fields(), "reward": slab.reward.astype(float)}, slab.row_slot, slab.row_seat)
    with pytest.raises(ValueError, match=r"unequal types: \['reward'\]"):
        joined([slab, odd])
    with pytest.raises(ValueError, match="shape"):
        joined([slab], slab_of(6, 1))


def test_a_critic_of_all_seats_finds_them_in_joined_slabs() -> None:
    config = EncoderConfig(critic="own", critic_sees="all")
    rows = rows_of_seats(joined([slab_of(4, 1), slab_of(4, 2)]), config, TWO)
    assert rows[:, 0].tolist() == [1, 0, 3, 2, 5, 4, 7, 6]


def test_rows_of_a_slab_are_copies_whose_slots_start_at_zero() -> None:
    parts = [slab_of(4, 1), slab_of(6, 2)]
    whole = joined(parts)
    taken = rows_of(whole, slice(4, 10))
    assert_joined(taken, parts[1:])
    assert taken.row_slot.tolist() == [0, 0, 1, 1, 2, 2]
    assert taken.row_seat.tolist() == [0, 1, 0, 1, 0, 1]
    assert not any(np.shares_memory(a, b) for a in taken.fields().values() for b in whole.fields().values())
    again = rows_of(whole, slice(0, 6), taken.fields())
    assert all(again.fields()[name] is array for name, array in taken.fields().items())
    assert np.array_equal(again.mask, whole.mask[:, :6])
    other = rows_of(whole, slice(0, 4), taken.fields())
    assert_joined(other, parts[:1])
