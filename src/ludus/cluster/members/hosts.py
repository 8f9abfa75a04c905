"""The manager's side of members in processes of a Ray cluster.

Requests are bytes, arrays travel beside them as objects of the cluster. The newest weights of a member are an
object by version: a process that plays them gets a reference, and its machine a copy when it needs one. Only
small ones pass through the manager's process. A frozen player's weights are put once for all members.
"""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NoReturn

import msgspec

from ludus.cluster.members.starting import start_members
from ludus.cluster.processes import actors
from ludus.cluster.processes.actors import Call, RolloutLost, end_all, put, ready_of
from ludus.cluster.weights import digest_of
from ludus.flow.slab import Array
from ludus.presets.config import Preset
from ludus.presets.errors import RunFailed
from ludus.storage import load_weights
from ludus.training.league.remote import messages as m
from ludus.training.league.remote.board import slot_count
from ludus.training.league.remote.link import Coming, MemberHosts

LOOK_S = 1.0  # longest wait for an answer at a time


class ActorHosts(MemberHosts):
    """Members in processes of a cluster, one process each."""

    def __init__(self, preset: Preset, ahead: int, report: Callable[[str], None]) -> None:
        """Start the processes.

        Args:
            preset: Settings of the run.
            ahead: Rounds that are asked for before the results of the round in progress.
            report: Called with a line now and then while machines are missing.

        Raises:
            ConfigError: Too few processors or GPUs, or a machine with another Ludus or game.
        """
        league = preset.league
        assert league is not None
        names = [player.name for player in league.members]
        super().__init__(names, slot_count(len(names), ahead))
        self._seeds = {player.name: player.seed for player in league.members}
        self._calls: dict[int, Call] = {}
        self._comings: dict[int, Coming] = {}
        self._heard = dict.fromkeys(names, time.monotonic())  # last answer, or last time without a request
        self._weights: dict[tuple[str, int], Call] = {}  # of the version in a slot
        self._newest: dict[str, deque[Call]] = {name: deque() for name in names}  # oldest first
        self._frozen: OrderedDict[tuple[str, str], Any] = OrderedDict()  # by player and digest
        self._most_frozen = max(league.cache, 1)
        self._numbers = 0
        self._actors, self.pids = start_members(preset, names, report)

    # ---- requests --------------------------------------------------------------------------------

    def send(self, member: str, request: m.Request, arrays: Mapping[str, Array] | None = None) -> Coming:
        """See :meth:`MemberHosts.send`."""
        actor, coming, live = self._actors[member], Coming(member), []
        beside: object = dict(arrays) if arrays else {}
        match request:
            case m.BeginMember():
                request, beside = self._begun(member, request)
            case m.PutPlayer() if arrays:
                beside = [self._frozen_ref(request.player, arrays)]
            case m.TakeLive():
                live = [self._live_ref(place) for place in request.lanes.values()]
        arguments: list[object] = [member, msgspec.msgpack.encode(request), beside]
        slot = request.slot if isinstance(request, m.PUBLISHING) else -1
        if not any(c.member == member for c in self._comings.values()):
            self._heard[member] = time.monotonic()
        try:
            if slot >= 0:
                call = actor.ask("carry_out_and_publish", *arguments, returns=2)
                self._publish(member, slot, Call(actor, call.refs[1:]))
                call = Call(actor, call.refs[:1])
            else:
                call = actor.ask("carry_out", *arguments, live)
        except RolloutLost as error:
            self._gone(member, error)
        self._numbers += 1
        self._calls[self._numbers], self._comings[self._numbers] = call, coming
        return coming

    def _begun(self, member: str, request: m.BeginMember) -> tuple[m.BeginMember, object]:
        """Return the request without what its process has already, and the arrays of the member's seed."""
        request = msgspec.structs.replace(request, settings=b"", typed=(), method="", method_sha256="")
        seed = self._seeds[member]
        return request, dict(load_weights(seed).tensors) if seed and request.seeded else {}

    def _frozen_ref(self, player: str, arrays: Mapping[str, Array]) -> Any:  # noqa: ANN401
        """Return a reference to the weights of a frozen player, which are put once for all members."""
        key = player, digest_of(arrays)
        if key not in self._frozen:
            self._frozen[key] = put(dict(arrays))
            if len(self._frozen) > self._most_frozen:
                self._frozen.popitem(last=False)
        self._frozen.move_to_end(key)
        return self._frozen[key]

    # ---- weights by version ----------------------------------------------------------------------

    def _publish(self, member: str, slot: int, weights: Call) -> None:
        """Note weights that the member will have published when it comes to the request."""
        self._weights[member, slot] = weights
        self._newest[member].append(weights)
        self._newest_of(member)

    def _newest_of(self, member: str) -> Call:
        """Return the newest weights that are there, else the first that will be; forget older ones."""
        newest = self._newest[member]
        there = ready_of(dict(enumerate(newest)), 0.0)
        for _ in range(max(there, default=0)):
            newest.popleft()
        return newest[0]

    def _live_ref(self, live: m.LiveWeights) -> Any:  # noqa: ANN401
        newest = live.version == m.NEWEST
        weights = self._newest_of(live.member) if newest else self._weights[live.member, live.slot]
        return weights.refs[0]

    # ---- answers ---------------------------------------------------------------------------------

    def look(self, seconds: float) -> None:
        """See :meth:`MemberHosts.look`."""
        for number in ready_of(self._calls, min(seconds, LOOK_S)) if self._calls else ():
            self._take(number)
        now = time.monotonic()
        for member in {coming.member for coming in self._comings.values()}:
            if now - self._heard[member] > actors.PATIENCE_S:
                self._check(member)
                self._heard[member] = time.monotonic()

    def _take(self, number: int) -> None:
        """Take in one answer."""
        call, coming = self._calls.pop(number), self._comings.pop(number)
        try:
            answer = call.first()
        except RolloutLost as error:
            self._gone(coming.member, error)
        except Exception as error:
            self._check_all()  # another member's end may be the reason
            raise RunFailed(f"{coming.member}: {error}") from error
        self._heard[coming.member] = time.monotonic()
        if answer is None:
            return
        data, arrays = answer
        given = msgspec.msgpack.decode(data, type=m.Answer)
        if isinstance(given, m.RequestFailed):
            self._check_all()
            if given.kind == "lost":
                raise self.lost(f"{coming.member}: {given.text}")
        coming.come(given, arrays)

    # ---- losses ----------------------------------------------------------------------------------

    def _check_all(self) -> None:
        for member in self.members:
            self._check(member)

    def _check(self, member: str) -> None:
        """Check that a member's process answers. Raises :class:`MemberLost`."""
        if not self._actors[member].lives():
            self._gone(member, None)

    def _gone(self, member: str, error: RolloutLost | None) -> NoReturn:
        why = "it stopped answering" if self._actors[member].silent else str(error or "it ended")
        raise self.lost(f"the process of {member} is gone: {why}") from error

    def close(self) -> None:
        """See :meth:`MemberHosts.close`."""
        self._calls, self._comings, self._weights = {}, {}, {}
        self._frozen.clear()
        for newest in self._newest.values():
            newest.clear()
        ended, self._actors = list(self._actors.values()), {}
        calls, end = dict[int, Call](), time.monotonic() + actors.LEAVE_S
        for number, actor in enumerate(ended):
            with suppress(RolloutLost):
                calls[number] = actor.ask("close")  # its rollouts and ranks end first
        while calls and (left := end - time.monotonic()) > 0:
            for number in ready_of(calls, left):
                del calls[number]
        end_all(ended)
