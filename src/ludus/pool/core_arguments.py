"""Arguments of the core's ``make_pool``: names of bots and tensors resolved to numbers."""

from __future__ import annotations

from collections.abc import Collection

from ludus.flow import Controller, GameSpec, Lineup, SeatPlan, Terms
from ludus.flow.names import did_you_mean

#: Index of the bot (-1: none), policy (-1: none), weight, name.
CoreController = tuple[int, int, float, str]
#: Controllers, frame skip, index of the handover bot (-1: none), handover ticks.
CorePlan = tuple[list[CoreController], int, int, int]


def input_bits(spec: GameSpec, inputs: Collection[str]) -> int:
    """Return the set of tensors in use: bit i stands for tensor i of the spec (empty = all).

    Raises:
        ValueError: A name that the spec does not contain, with the nearest one.
    """
    names = [t.name for t in spec.observation]
    for name in inputs:
        if name not in names:
            hint = did_you_mean(name, names, "valid", 0.4)
            raise ValueError(f"inputs: {spec.name} does not observe {name!r}{hint}")
    return sum(1 << i for i, name in enumerate(names) if not inputs or name in inputs)


def encode_lineup(spec: GameSpec, lineup: Lineup) -> list[CorePlan]:
    """Resolve the bots of a lineup to their numbers.

    Raises:
        ValueError: A plan that the game cannot seat, with plan, value and nearest valid name.
    """
    if len(lineup.plans) != spec.seats:
        raise ValueError(f"{spec.name} has {spec.seats} seats, the lineup {len(lineup.plans)} plans")
    return [_encode_plan(spec, plan, f"plan {i}") for i, plan in enumerate(lineup.plans)]


def refuse_bots(spec: GameSpec, played: SeatPlan | Terms, where: str = "") -> None:
    """Raise ``ValueError`` if a bot would play before a policy: Python games have no bots in the pool."""
    asked = isinstance(played, SeatPlan) and (played.handover_bot or played.handover_ticks)
    if asked or (isinstance(played, Terms) and played.handover):
        raise ValueError(f"{where}{spec.name} has no bots, so no handover")


def _encode_plan(spec: GameSpec, plan: SeatPlan, where: str) -> CorePlan:
    if not plan.controllers:
        raise ValueError(f"{where}: no controllers; name a bot or a policy")
    if plan.frame_skip < 0:
        raise ValueError(f"{where}: frame_skip={plan.frame_skip}, expected >= 0 (0 = the game's default)")
    if plan.handover_ticks < 0:
        raise ValueError(f"{where}: handover_ticks={plan.handover_ticks}, expected >= 0")
    if plan.handover_ticks > 0 and not plan.handover_bot:
        raise ValueError(f"{where}: handover_ticks={plan.handover_ticks} without a handover_bot")
    handover = _bot_index(spec, plan.handover_bot, f"{where}: handover_bot") if plan.handover_bot else -1
    controllers = [_encode_controller(spec, c, where) for c in plan.controllers]
    if not sum(c.weight for c in plan.controllers) > 0:
        raise ValueError(f"{where}: the weights of the controllers sum to 0")
    return controllers, plan.frame_skip, handover, plan.handover_ticks


def _encode_controller(spec: GameSpec, controller: Controller, where: str) -> CoreController:
    if not controller.bot and controller.policy < 0:
        raise ValueError(f"{where}: {controller}: expected a bot, a policy or both")
    if not controller.weight >= 0:
        raise ValueError(f"{where}: weight={controller.weight} of a controller, expected >= 0")
    bot = _bot_index(spec, controller.bot, where) if controller.bot else -1
    if controller.policy >= 0 and bot >= 0 and not spec.bots[bot].demonstrates:
        raise ValueError(f"{where}: {spec.cannot_demonstrate(controller.bot)}")
    return bot, max(controller.policy, -1), controller.weight, controller.name


def _bot_index(spec: GameSpec, name: str, where: str) -> int:
    names = [b.name for b in spec.bots]
    if name in names:
        return names.index(name)
    hint = did_you_mean(name, names, "valid", 0.4)
    raise ValueError(f"{where}: {spec.name} has no bot {name!r}{hint}")
