"""The further learners of a group: their processes, the calls that they have not answered, and their end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import ray
import torch

from ludus.algorithms.group import GroupError, RankLost, TorchGroup
from ludus.cluster.checks import LOCAL_ADDRESS, check_alike, learner_part_of, more_machines
from ludus.cluster.processes.actors import Call, RolloutActor, RolloutLost, end_all, put, ready_of
from ludus.cluster.processes.private_folder import PrivateFolder
from ludus.cluster.processes.starting import REPORT_S, START_S
from ludus.cluster.rank import EXCHANGE_S, LOOPBACK, Meeting, Rank, use_interface_of
from ludus.cluster.sent_preset import sent_preset
from ludus.cluster.session import all_cpus, free_cpus, free_gpus
from ludus.flow.problem import Part, Setting
from ludus.presets.config import Preset
from ludus.presets.errors import ConfigError

if TYPE_CHECKING:
    from torch._C._distributed_c10d import Store

WATCH_S = 2.0  # between two looks at whether the processes answer
WHY_S = 5.0  # for the error of a rank to arrive, after the group has ended


class Ranks:
    """Ranks 1, 2, ... of a group, one process each, placed together.

    One thread at a time calls it. A dedicated thread ends processes that do not answer, so that no rank
    waits for them.
    """

    def __init__(self, preset: Preset, on_card: bool, report: Callable[[str], None]) -> None:
        """Start the processes.

        Args:
            preset: Settings of the run.
            on_card: Whether all ranks learn on GPUs.
            report: Called with a line now and then while machines are missing.

        Raises:
            ConfigError: Too few processors or GPUs, or a machine with another Ludus or game.
        """
        self._cluster = cluster = preset.cluster
        self.size = cluster.learners
        self._local, self._on_card = cluster.address == LOCAL_ADDRESS, on_card
        self._calls: list[Call] = []  # unanswered, one of each rank
        self._held: tuple[str, Sequence[tuple[object, ...]]] | None = None
        self._folder: PrivateFolder | None = None
        self._store: Store | None = None
        self._group: LeadingGroup | None = None
        self._reserved: Any = None
        self._actors: list[RolloutActor] = []
        self._closing = threading.Event()
        self._watch = threading.Thread(target=self._watch_all, name="ranks", daemon=True)
        settings = put(sent_preset(learner_part_of(preset), learns=True))
        try:
            self._start(max(preset.run.threads, 1), report)
            self.tell("build", [(settings, rank, rank if self._local and on_card else -1) for rank in self])
            self._abouts = self.answers()
        except RankLost as error:
            self.close()
            raise ConfigError(error, where=f"cluster.learners = {self.size}") from error
        except BaseException:
            self.close()
            raise

    def __iter__(self) -> Iterator[int]:
        """Yield the numbers of the ranks."""
        return iter(range(1, self.size))

    @property
    def pids(self) -> list[int]:
        """The process ids."""
        return [about.pid for about in self._abouts]

    def _start(self, threads: int, report: Callable[[str], None]) -> None:
        """Start the processes. On this machine they share the processors with the controller."""
        if self._local:
            self._check_room()
            self._actors = [RolloutActor(0, 0.0, Rank, kind="learner") for _ in self]
        else:
            gpus = int(self._on_card)
            self._reserve({"CPU": threads} | ({"GPU": gpus} if gpus else {}), report)
            self._actors = [
                RolloutActor(threads, gpus, Rank, self._place(rank - 1), kind="learner") for rank in self
            ]
        self._watch.start()
        end = time.monotonic() + START_S
        for rank, actor in zip(self, self._actors, strict=True):
            if not actor.wait_for_start(max(0.0, end - time.monotonic())):
                raise RankLost(f"rank {rank} of {self.size} did not start within {START_S:.0f} s")

    def _check_room(self) -> None:
        """Check that each rank has a device of this machine. Raises ``ConfigError``."""
        kind, there = (
            ("GPUs", torch.cuda.device_count()) if self._on_card else ("processors", int(all_cpus()))
        )
        if self.size > there:
            text = f"{self.size} {kind} asked, {there} there"
            raise ConfigError(f"cluster.learners = {self.size}: {text}", *self._advice(there))

    def _reserve(self, bundle: Mapping[str, int], report: Callable[[str], None]) -> None:
        """Reserve places near each other on the cluster. Raises ``ConfigError``."""
        reserved = ray.util.placement_group([dict(bundle)] * (self.size - 1), strategy="PACK")
        self._reserved = reserved
        end = time.monotonic() + START_S
        while not reserved.wait(REPORT_S):
            free = {"CPU": free_cpus(), "GPU": free_gpus()}
            wanted = {kind: count * (self.size - 1) for kind, count in bundle.items()}
            text = ", ".join(f"{n:g} {kind}s asked, {free[kind]:g} free" for kind, n in wanted.items())
            if time.monotonic() >= end:
                fits = 1 + min(int(free[kind] // n) for kind, n in bundle.items())
                why = f"{text} after {START_S:.0f} s"
                raise ConfigError(f"cluster.learners = {self.size}: {why}", *self._advice(fits))
            report(f"learners: {text}")

    def _advice(self, fits: int) -> tuple[Part, ...]:
        """Return what helps if only ``fits`` learners have room."""
        fewer = Setting("cluster.learners", str(max(fits, 1)))
        return ("; set ", fewer, ", or ", *more_machines(self._cluster))

    def _place(self, index: int) -> Any:  # noqa: ANN401
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        return PlacementGroupSchedulingStrategy(self._reserved, placement_group_bundle_index=index)

    def check_alike(self, spec_hash: str) -> None:
        """Check that all machines have the same Ludus and the same game. Raises ``ConfigError``."""
        for about in self._abouts:
            check_alike(about, spec_hash)

    def meet(self, name: str, device: torch.device) -> TorchGroup:
        """Let all ranks join a group of the name ``name``; return it as rank 0 sees it.

        Raises:
            GroupError: A rank did not come.
        """
        store, meeting = self._meeting(name)
        self.tell("join", [(meeting, rank) for rank in self])
        self._group = LeadingGroup(self, store, self.size, device)
        self.answers()
        return self._group

    def _meeting(self, name: str) -> tuple[Store, Meeting]:
        """Return the store of rank 0, and the place where the other ranks find it.

        On one machine they meet at a file that no other user can read, and no port is open to other machines.
        """
        if self._local:
            use_interface_of(LOOPBACK)
            self._folder = PrivateFolder()
            meeting = Meeting(name, self.size, path=str(self._folder.path / "store"))
            return meeting.store(), meeting
        from torch._C._distributed_c10d import PrefixStore, TCPStore

        here = ray.util.get_node_ip_address()
        use_interface_of(here)
        wait = timedelta(seconds=EXCHANGE_S)
        self._store = TCPStore(here, 0, is_master=True, timeout=wait, wait_for_workers=False)
        meeting = Meeting(name, self.size, host=here, port=self._store.port)
        return PrefixStore(name, self._store), meeting

    # ---- calls -----------------------------------------------------------------------------------

    def tell(self, method: str, arguments: Sequence[tuple[object, ...]]) -> None:
        """Call ``method`` of every rank with its own arguments. Raises ``RankLost``."""
        for rank, actor, own in zip(self, self._actors, arguments, strict=True):
            try:
                self._calls.append(actor.ask(method, *own))
            except RolloutLost as error:
                raise self._lost(rank, error) from error

    def hold(self, method: str, arguments: Sequence[tuple[object, ...]]) -> None:
        """Call ``method`` when rank 0 comes to its first exchange, so that no other rank waits for it."""
        self._held = method, arguments

    def release(self) -> None:
        """Make the held call, if there is one. Raises ``RankLost``."""
        if self._held is not None:
            held, self._held = self._held, None
            self.tell(*held)

    def answers(self) -> list[Any]:
        """Wait for the answers of all ranks, in their order.

        Raises:
            RankLost: A rank is gone.
            GroupError: A rank failed.
        """
        calls, self._calls = self._calls, []
        return [self._answer(rank, call) for rank, call in zip(self, calls, strict=True)]

    def _answer(self, rank: int, call: Call) -> Any:  # noqa: ANN401
        try:
            return call.first()
        except RolloutLost as error:
            raise self._lost(rank, error) from error
        except (GroupError, ConfigError):
            raise
        except Exception as error:
            raise self._failed(rank, error) from error

    def _lost(self, rank: int, error: Exception) -> RankLost:
        silent = rank <= len(self._actors) and self._actors[rank - 1].silent
        return RankLost(f"rank {rank} of {self.size} is gone: {'it stopped answering' if silent else error}")

    def _failed(self, rank: int, error: Exception) -> GroupError:
        return error if isinstance(error, GroupError) else GroupError(f"rank {rank} of {self.size}: {error}")

    def why(self, error: GroupError) -> GroupError:
        """Return why the group has ended, by what the ranks answer; ``error`` where they do not say."""
        end, calls = time.monotonic() + WHY_S, dict(zip(self, self._calls, strict=False))
        self._calls = []
        while calls and (left := end - time.monotonic()) > 0:
            for rank in ready_of(calls, left):
                try:
                    calls.pop(rank).first()
                except RolloutLost as gone:
                    return self._lost(rank, gone)
                except RankLost:
                    pass  # it waited for another one, as rank 0 did
                except Exception as own:
                    return self._failed(rank, own)
        return error

    # ---- the end ---------------------------------------------------------------------------------

    def _watch_all(self) -> None:
        while not self._closing.wait(WATCH_S):
            for actor in self._actors:
                if not self._closing.is_set():
                    actor.lives()

    def close(self) -> None:
        """End the processes. Idempotent."""
        self._closing.set()
        actors, self._actors = self._actors, []
        if actors:
            end_all(actors)
        if self._watch.is_alive():
            self._watch.join()
        if self._reserved is not None:
            ray.util.remove_placement_group(self._reserved)
            self._reserved = None
        if self._group is not None:
            self._group.close()
            self._group = None
        if self._folder is not None:
            self._folder.remove()
            self._folder = None
        self._store = None


class LeadingGroup(TorchGroup):
    """A group as rank 0 sees it, which lets the other ranks start and finds out why one is missing."""

    def __init__(self, ranks: Ranks, store: Store, size: int, device: torch.device) -> None:
        """Join as rank 0, and wait until all ranks have. Raises ``GroupError``."""
        self._ranks = ranks
        super().__init__(store, 0, size, device, EXCHANGE_S)

    @contextmanager
    def _failing(self) -> Iterator[None]:
        self._ranks.release()
        try:
            with super()._failing():
                yield
        except RankLost as error:
            raise self._ranks.why(error) from error
