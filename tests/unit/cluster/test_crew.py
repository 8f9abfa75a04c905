"""How rollouts join, leave and are lost in a crew, with stand-ins for processes and machines. No cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("ray", reason="Ray is not installed: pip install 'ludus-rl[cluster]'")

from ludus.cluster.elastic import nodes, roster
from ludus.cluster.elastic.nodes import ClusterNode, NodeUse, find_node
from ludus.cluster.processes import crew as crews
from ludus.cluster.processes.actors import RolloutLost
from ludus.cluster.processes.crew import Crew, NamedRollouts
from ludus.pool import PoolError
from ludus.presets.errors import ConfigError
from ludus.presets.file import load_preset


@dataclass(eq=False)
class Process:
    """A process in place of a rollout's; a test decides when it starts."""

    number: int
    started: bool = True
    error: Exception | None = None
    killed: bool = False

    def named(self, name: str) -> Any:  # noqa: ANN401
        return self

    def same_process(self, other: Process) -> bool:
        return self is other

    def wait_for_start(self, seconds: float) -> bool:
        return self.started

    def ask(self, *call: object) -> Any:  # noqa: ANN401
        def first() -> None:
            if self.error is not None:
                raise self.error

        return SimpleNamespace(first=first, is_there=lambda: self.started)

    def kill(self) -> None:
        self.killed = True


@dataclass
class Cluster:
    """Machines with a process each."""

    patch: pytest.MonkeyPatch
    asked: list[Process] = field(default_factory=list)
    drained: set[str] = field(default_factory=set)
    now: float = 100.0

    def start(self, *, started: bool = False) -> Process:
        made = Process(len(self.asked), started)
        self.asked.append(made)
        return made

    def crew(self, present: int, parts: int, least: int) -> Crew:
        """Return a crew that starts with some of its rollouts."""
        settings = {"cluster.rollouts": str(parts), "cluster.min_rollouts": str(least)}
        first = [self.start(started=True) for _ in range(present)]
        self.patch.setattr(roster, "start_all", lambda *_: (first, []))
        return Crew(load_preset("tic_tac_toe", settings).preset)

    def look(self, crew: Crew) -> list[str]:
        """Let the crew look for machines. Return what happened."""
        self.now += crews.LOOK_S
        crew.attend()
        return [event.kind.removeprefix("rollout ") for event in crew.take_events()]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    made = Cluster(monkeypatch)
    monkeypatch.setattr(crews, "put_settings", lambda preset: None)
    monkeypatch.setattr(roster, "check_alike", lambda about, spec_hash: None)
    monkeypatch.setattr(roster, "start_one", lambda preset: made.start())
    monkeypatch.setattr(roster, "end_all", lambda actors: [actor.kill() for actor in actors])
    monkeypatch.setattr(nodes, "node_of", lambda actor: ClusterNode(f"id{actor.number}", "rack"))
    monkeypatch.setattr(nodes, "draining", lambda: made.drained)
    clock = SimpleNamespace(monotonic=lambda: made.now)
    monkeypatch.setattr(crews, "time", clock)
    monkeypatch.setattr(roster, "time", clock)
    return made


def user_of(crew: Crew, carry: Callable[[NamedRollouts, int, Any], None]) -> NamedRollouts:
    """Return a user of all parts; ``carry`` is called with each that moves."""
    user: NamedRollouts = NamedRollouts(
        crew, len(crew), lambda number: None, lambda number, error: None, lambda i, to: carry(user, i, to)
    )
    return user


def moved_to(user: NamedRollouts, number: int, target: Any) -> None:  # noqa: ANN401
    """Move a part."""
    user.actors[number] = target


def there(user: NamedRollouts) -> list[int]:
    """Return the number of the process that each part of ``user`` has."""
    actors: list[Any] = list(user.actors)
    return [actor.number for actor in actors]


def homes(crew: Crew) -> list[int]:
    return [crew.home(part) for part in range(len(crew))]


def test_missing_rollouts_are_asked_for_and_play_when_they_have_started(cluster: Cluster) -> None:
    crew = cluster.crew(present=1, parts=3, least=1)
    user = user_of(crew, moved_to)
    assert cluster.look(crew) == ["joined"]
    assert len(cluster.asked) == 3
    assert homes(crew) == [0, 0, 0]
    cluster.asked[2].started = True
    assert cluster.look(crew) == ["joined"]
    assert homes(crew) == [0, 0, 1]
    assert there(user) == [0, 0, 2]
    cluster.asked[1].started = True
    assert cluster.look(crew) == ["joined"]
    assert sorted(homes(crew)) == [0, 1, 2]
    assert cluster.look(crew) == []
    assert len(cluster.asked) == 3


def test_a_drained_machine_is_left_at_once_where_the_others_are_enough(cluster: Cluster) -> None:
    crew = cluster.crew(present=2, parts=2, least=1)
    user = user_of(crew, moved_to)
    cluster.look(crew)
    cluster.drained.add("id0")
    assert cluster.look(crew) == ["drained"]
    assert (homes(crew), cluster.asked[0].killed, crew.deaths) == ([1, 1], True, 0)
    assert there(user) == [1, 1]
    assert len(cluster.asked) == 3  # another was asked for


def test_a_drained_machine_is_kept_until_another_has_joined_where_all_are_needed(cluster: Cluster) -> None:
    crew = cluster.crew(present=2, parts=2, least=0)
    cluster.look(crew)
    cluster.drained.add("id1")
    assert cluster.look(crew) == ["waits to leave"]
    assert cluster.look(crew) == []
    assert homes(crew) == [0, 1]
    cluster.asked[2].started = True
    assert cluster.look(crew) == ["joined", "drained"]
    assert homes(crew) == [0, 2]
    assert cluster.asked[1].killed


def test_parts_of_a_lost_rollout_go_to_the_others_with_the_next_incarnation(cluster: Cluster) -> None:
    crew = cluster.crew(present=2, parts=4, least=1)
    user = user_of(crew, moved_to)
    lost: Any = user.actors[0]
    assert homes(crew) == [0, 0, 1, 1]
    user.replace(0, RolloutLost("gone"))
    assert (homes(crew), crew.incarnations, crew.deaths) == ([1, 1, 1, 1], [1, 1, 0, 0], 1)
    user.replace(1, RolloutLost("gone"))  # found later, of the same process
    assert (crew.incarnations, crew.deaths) == ([1, 1, 0, 0], 1)
    assert user.incarnations == [1, 1, 0, 0]
    assert lost.killed
    assert [event.kind for event in crew.take_events()][2:] == ["rollout lost"]


def test_a_part_whose_rollout_dies_while_it_moves_starts_other_matches(cluster: Cluster) -> None:
    def breaks(user: NamedRollouts, number: int, target: object) -> None:
        raise RolloutLost("gone")

    crew = cluster.crew(present=2, parts=2, least=1)
    user = user_of(crew, breaks)
    cluster.look(crew)
    cluster.drained.add("id0")
    assert cluster.look(crew) == ["lost"]
    assert (homes(crew), crew.incarnations, user.incarnations) == ([1, 1], [1, 0], [1, 0])
    assert there(user) == [1, 1]


def test_a_part_whose_rollouts_die_one_after_another_ends_the_run(cluster: Cluster) -> None:
    crew = cluster.crew(present=8, parts=8, least=1)
    user = user_of(crew, moved_to)
    for _ in range(crews.MAX_DEATHS - 1):
        user.replace(0, RolloutLost("gone"))
    with pytest.raises(PoolError, match="the rollout of part 0 died 5 times without a slab: gone"):
        user.replace(0, RolloutLost("gone"))


@pytest.mark.parametrize("error", [ConfigError("another Ludus"), RolloutLost("gone")])
def test_a_rollout_that_cannot_play_is_refused_and_another_asked_for_later(
    error: Exception, cluster: Cluster
) -> None:
    crew = cluster.crew(present=1, parts=2, least=1)
    cluster.look(crew)
    cluster.asked[1].started, cluster.asked[1].error = True, error
    assert cluster.look(crew) == ["refused"]
    assert cluster.asked[1].killed
    cluster.look(crew)
    assert len(cluster.asked) == 2
    cluster.now += roster.REFUSED_S
    cluster.look(crew)
    assert len(cluster.asked) == 3


def test_a_user_that_has_closed_is_not_moved(cluster: Cluster) -> None:
    crew = cluster.crew(present=1, parts=2, least=1)
    user = user_of(crew, lambda *_: pytest.fail("moved"))
    cluster.look(crew)
    user.close()
    cluster.asked[1].started = True
    assert cluster.look(crew) == ["joined"]


def use_of(name: str, number: str, address: str = "10.0.0.1") -> NodeUse:
    return NodeUse(ClusterNode(number, name), address, 1.0, 0.0, 1, draining=False)


def test_a_machine_is_found_by_name_address_or_the_start_of_its_id() -> None:
    there = [use_of("rack7", "aabbcc"), use_of("rack8", "aabbdd", "10.0.0.2"), use_of("rack8", "ffbbdd")]
    assert find_node("rack7", there) is there[0]
    assert find_node("10.0.0.2", there) is there[1]
    assert find_node("ffbb", there) is there[2]
    with pytest.raises(ConfigError, match=r"rack8: several machines; .*: rack8 \(aabbdd\), rack8 \(ffbbdd\)"):
        find_node("rack8", there)
    with pytest.raises(ConfigError, match="aabb: several machines"):
        find_node("aabb", there)
    with pytest.raises(ConfigError, match=r"rack9: no machine of the cluster; .*rack7 \(aabbcc\)"):
        find_node("rack9", there)
