"""The process of one member: it carries out the requests of the league's manager in their order."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from ludus.cluster.members.machines import OwnMachines
from ludus.cluster.messages import About
from ludus.cluster.processes.actors import fetch
from ludus.cluster.received import ReceivedFiles
from ludus.cluster.sent_preset import SentPreset
from ludus.flow.inputs.decode import to_json
from ludus.flow.process.as_found import one_thread
from ludus.flow.slab import Array
from ludus.presets.checks.game import resolve_spec
from ludus.presets.errors import ConfigError, RunFailed
from ludus.training.league.remote import messages as m
from ludus.training.league.remote.hosting import MemberHost
from ludus.training.league.remote.link import failure
from ludus.training.machines import LOCAL
from ludus.version import __version__

#: Weights of a member as an object of the cluster: why there are none (a request that failed, as bytes, else
#: empty), their version, their arrays.
Published = tuple[bytes, int, Mapping[str, Array]]
#: Arrays beside a request: themselves, or a list of one reference to them.
Beside = Mapping[str, Array] | Sequence[Any]


class ObjectBoard:
    """Weights by version as objects (:class:`ludus.training.league.remote.board.VersionBoard`).

    Those that the member publishes leave its process as part of the answer. Weights of other members come
    with the request that plays them, as references.
    """

    def __init__(self) -> None:
        """Start without weights."""
        self.given: dict[m.LiveWeights, Any] = {}  #: references to weights of others, of this request
        self.published: Published | None = None  #: by this request
        self._newest: dict[str, tuple[int, dict[str, Array]]] = {}  # of each member that was met here

    def put(self, member: str, slot: int, version: int, tensors: Mapping[str, Array]) -> None:
        """Publish a copy: the learner continues to change its arrays."""
        self.published = b"", version, {name: np.array(array) for name, array in tensors.items()}

    def wait(self, live: m.LiveWeights) -> tuple[int, dict[str, Array]]:
        """Wait for weights that their member may still learn.

        Of a member that failed, the newest that came here are returned; without any, what went wrong there
        is raised.
        """
        failed, version, tensors = fetch(self.given[live], "member")
        if failed and live.member in self._newest:
            return self._newest[live.member]
        if failed:
            raise failure(live.member, msgspec.msgpack.decode(failed, type=m.RequestFailed))
        if live.version not in (m.NEWEST, version):
            raise RunFailed(f"{live.member}: weights of version {version}, expected {live.version}")
        self._newest[live.member] = version, dict(tensors)
        return self._newest[live.member]

    def fail(self, member: str) -> None:
        """Do nothing: the answer without weights reports it."""


class MemberPart:
    """A member in its process."""

    def __init__(self, files: ReceivedFiles, node: str) -> None:
        """Start without settings.

        Args:
            files: Files of this process.
            node: Address of this machine.
        """
        self._files, self._node = files, node
        self._board = ObjectBoard()
        self._host: MemberHost | None = None
        self._machines: OwnMachines | None = None
        self._settings = b""

    def build(self, sent: SentPreset) -> About:
        """Take the settings, and describe this machine. Raises ``ConfigError``."""
        one_thread()
        preset = self._files.preset(sent)
        try:
            spec, _ = resolve_spec(preset)
        except ValueError as error:
            raise ConfigError(error, where=f"node {self._node}") from error
        self._settings = to_json(preset)
        self._machines = OwnMachines() if preset.cluster.rollouts else None
        self._host = MemberHost(self._board, self._machines or LOCAL)
        return About(socket.gethostname(), os.getpid(), __version__, spec.spec_hash)

    def carry_out(
        self, member: str, data: bytes, beside: Beside = (), live: Sequence[Any] = ()
    ) -> tuple[bytes, Mapping[str, Array]] | None:
        """Carry out a request; return its answer, if it has one, and the arrays beside that.

        Args:
            member: The member.
            data: The request.
            beside: Its arrays.
            live: References to the weights of live players, in the order of the request's lanes.
        """
        assert self._host is not None, "settings come first"
        request = msgspec.msgpack.decode(data, type=m.Request)
        if isinstance(request, m.BeginMember):
            request = msgspec.structs.replace(request, settings=self._settings)
        self._board.published = None
        self._board.given = {}
        if isinstance(request, m.TakeLive):
            self._board.given = dict(zip(request.lanes.values(), live, strict=True))
        arrays = beside if isinstance(beside, Mapping) else fetch(beside[0], "member") if beside else {}
        answer, out = self._host.carry_out(member, request, arrays)
        self._board.given = {}
        if answer is None:
            return None
        if isinstance(answer, m.RequestFailed):
            text = str(self._files.named_as_sent(ValueError(answer.text)))
            answer = msgspec.structs.replace(answer, text=text)
            self._board.published = msgspec.msgpack.encode(answer), 0, {}
        return msgspec.msgpack.encode(answer), dict(out)

    def carry_out_and_publish(
        self, member: str, data: bytes, beside: Beside = ()
    ) -> tuple[tuple[bytes, Mapping[str, Array]] | None, Published]:
        """Carry out a request that publishes weights: these are the second object of the answer."""
        answer = self.carry_out(member, data, beside)
        published, self._board.published = self._board.published, None
        if published is None:
            failed = m.RequestFailed("other", "no weights were published")
            published = msgspec.msgpack.encode(failed), 0, {}
        return answer, published

    def close(self) -> None:
        """Stop the matches. Idempotent."""
        if self._host is not None:
            self._host.close()
            self._host = None
        if self._machines is not None:
            self._machines.close()
            self._machines = None
