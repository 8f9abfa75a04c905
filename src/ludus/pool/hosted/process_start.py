"""Start and end of a pool of Python games: checks, shared memory, first messages to the workers."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ludus.flow import GameSpec, Lineup, PoolOptions
from ludus.games.names import is_typed
from ludus.pool.core_arguments import refuse_bots
from ludus.pool.hosted.control_block import UNSTARTED, ControlBlock, share
from ludus.pool.hosted.process_group import SlotGroup
from ludus.pool.hosted.shard import PoolPlan
from ludus.pool.hosted.shared import Segment, Sizes
from ludus.pool.hosted.worker import WorkerStart
from ludus.pool.hosted.worker_pool import WorkerPool


def check_options(options: PoolOptions) -> None:
    """Raise ``ValueError`` for sizes that do not fit together, and for options of only compiled games."""
    if options.slots < 1 or options.groups < 1 or options.slots % options.groups:
        raise ValueError(f"slots={options.slots}, groups={options.groups}: expected a multiple of groups")
    if options.threads < 0:
        raise ValueError(f"threads={options.threads}, expected >= 0")
    compiled = {
        "autoreset": (options.autoreset, options.autoreset != "same_step"),
        "record": (options.record, options.record == "all"),
        "log_arrivals": (options.log_arrivals, options.log_arrivals),
        "follow": (options.follow, len(options.follow) > 0),
    }
    for name, (value, refused) in compiled.items():
        if refused:
            raise ValueError(f"{name}={value!r}: only compiled games have this option")


def check_lineup(spec: GameSpec, lineup: Lineup) -> None:
    """Raise ``ValueError`` unless every seat is a policy's: Python games have no bots inside the pool."""
    if len(lineup.plans) != spec.seats:
        raise ValueError(f"{spec.name} has {spec.seats} seats, the lineup {len(lineup.plans)} plans")
    for i, plan in enumerate(lineup.plans):
        if plan.frame_skip not in (0, 1):
            raise ValueError(
                f"plan {i}: frame_skip={plan.frame_skip}; a Python game decides at every step: "
                "use a parameter of the game, or a wrapper"
            )
        refuse_bots(spec, plan, f"plan {i}: ")
        if not plan.controllers or not sum(c.weight for c in plan.controllers) > 0:
            raise ValueError(f"plan {i}: no controller with a weight above 0")
        for c in plan.controllers:
            if c.bot or c.policy < 0 or not c.weight >= 0:
                raise ValueError(f"plan {i}: {c}: every seat of a Python game is a policy's")


def make_control(plan: PoolPlan, workers: int, groups: int) -> tuple[Segment, ControlBlock]:
    """Return a new control block in a new segment, without a match and without orders."""
    sizes = Sizes()
    ControlBlock.allocate(sizes, plan.spec, plan.lineup, workers, groups, plan.slots)
    segment = Segment(sizes.total)
    control = ControlBlock.allocate(segment.allocate, plan.spec, plan.lineup, workers, groups, plan.slots)
    control.match[...] = UNSTARTED
    control.orders[...] = -1
    for p, seat in enumerate(plan.lineup.plans):
        control.mixture[p, : len(seat.controllers)] = [c.weight for c in seat.controllers]
    return segment, control


def start_messages(
    reference: str,
    params: dict[str, str],
    plan: PoolPlan,
    groups: Sequence[SlotGroup],
    workers: int,
    control_bytes: int,
) -> list[WorkerStart]:
    """Return the first message to each worker, which plays its share of every group."""
    return [
        WorkerStart(
            reference=reference,
            typed=is_typed(reference),
            params=params,
            plan=plan,
            groups=[_span(g, workers, number) for g in groups],
            worker=number,
            workers=workers,
            control_bytes=control_bytes,
            doorbell_descriptors=len(groups[0].doorbell.descriptors),
        )
        for number in range(workers)
    ]


def _span(g: SlotGroup, workers: int, number: int) -> tuple[int, int]:
    slots = share(g.slots.start, g.slots.stop, workers, number)
    return slots.start, slots.stop


def close(
    workers: WorkerPool, groups: Sequence[SlotGroup], control: ControlBlock, segment: Segment, owner: int
) -> None:
    """Stop the workers. They exit once ``closing`` is set in the control block; the others are killed.

    ``owner`` is the process that made the pool: its forks have no workers.
    """
    if os.getpid() != owner:
        return
    control.closing[0] = 1
    workers.shutdown()
    for g in groups:
        g.doorbell.close()
    segment.close()
