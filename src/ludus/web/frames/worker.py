"""The process that plays matches of one game to be looked at: a recorded match again, or one of players."""

from __future__ import annotations

import contextlib
import math
import os
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping

from ludus.flow.inputs.decode import to_json
from ludus.flow.slab import Array
from ludus.games import registry
from ludus.games.contained import GameExit
from ludus.games.names import loaded, typed
from ludus.games.python_game import GameMaker, PythonGame
from ludus.games.records.match_record import HASH_EVERY, Resimulation
from ludus.web.frames.camera import Camera
from ludus.web.frames.messages import (
    At,
    Begun,
    Decided,
    MatchEnded,
    Message,
    NoMatch,
    PlayAgain,
    PlayLive,
    first_order,
    next_task,
    send,
)
from ludus.web.frames.players import ShownPlayers
from ludus.web.frames.thinkers import Thinkers

NICE = 12  # of live matches: beside a training that uses every core they get 6% of one
TICKS_PER_S = 10.0  # of a game that declares no pace
PACES = (0.5, 120.0)

Tell = Callable[[Message], None]


def main(asked: int, answer: int) -> None:
    """Play what is asked. The process ends without waiting for threads of the game that still run."""
    threading.Thread(target=_watch_parent, args=(os.getppid(),), daemon=True).start()
    with contextlib.suppress(BrokenPipeError):  # no one reads any more
        _serve(asked, lambda message: send(answer, message))
    os._exit(0)


def _watch_parent(parent: int) -> None:
    """End this process with its parent, also where a game hangs."""
    while os.getppid() == parent:
        time.sleep(2.0)
    os._exit(0)


def _serve(asked: int, tell: Tell) -> None:
    order = first_order(asked)
    admitted = typed if order.typed else loaded  # checked by the parent
    try:
        tell(At(0, "making the game"))
        made = registry.maker(admitted(order.reference), order.params)
    except Exception as error:
        tell(NoMatch(_said(error)))
        return
    while (task := next_task(asked)) is not None:
        try:
            if isinstance(task, PlayAgain):
                _play_again(made, order.params, task, tell)
            else:
                os.nice(max(0, NICE - os.nice(0)))
                _play_live(made, order.params, task, tell)
        except BrokenPipeError:
            raise
        except SystemExit:
            tell(NoMatch(str(GameExit("the game called sys.exit"))))
        except Exception as error:
            tell(NoMatch(_said(error)))


def _said(error: BaseException) -> str:
    text = " ".join(str(error).split())[:500]
    return text if isinstance(error, ValueError) and text else f"{type(error).__name__}: {text}"


def _pace(game: PythonGame) -> float:
    """Return the ticks a second that a game declares, or the usual ones where it declares nothing usable."""
    try:
        pace = float(getattr(game, "ticks_per_s", 0) or TICKS_PER_S)
    except (TypeError, ValueError):
        return TICKS_PER_S
    return min(PACES[1], max(PACES[0], pace)) if math.isfinite(pace) else TICKS_PER_S


class _Stage:
    """A match in play before a camera."""

    def __init__(self, made: GameMaker, task: PlayAgain | PlayLive, hash_every: int, tell: Tell) -> None:
        self.spec, self.tell = made.spec, tell
        tell(At(0, "reset()"))
        self.sim = Resimulation(made, task.seed, task.match, hash_every, drawn=True)
        live = isinstance(task, PlayLive)
        self.camera = Camera(self.sim.game, self.spec, tell, fast=live)
        self.tick = 0
        self.film = True

    def begin(self, ticks: int, draw: bool, players: tuple[str, ...] = ()) -> None:
        pace = _pace(self.sim.game)
        self.tell(Begun(to_json(self.spec), pace, players))
        self.camera.start(ticks, draw, pace if players else 0.0)
        self.look(last=ticks == 0 and self.sim.over)

    def look(self, last: bool) -> None:
        if self.film:
            self.camera.take(self.tick, self._observed(), self.sim.recorder.returns, last)

    def _observed(self) -> dict[int, Mapping[str, Array]]:
        if self.sim.deciding:
            return {seat: observed for seat, (observed, _) in self.sim.deciding.items()}
        return {}

    def step(self, decisions: Mapping[int, tuple[int, ...]], last: bool) -> None:
        self.tell(At(self.tick, "step()"))
        self.sim.play(decisions, last)
        self.tick += 1
        self.look(last=last or self.sim.over)

    def ended(self, **fields: object) -> MatchEnded:
        if self.camera.stride > 1:
            self.camera.notes.append(f"one tick of {self.camera.stride} is shown")
        sim = self.sim
        return MatchEnded(
            self.tick,
            sim.over and not sim.game.truncated,
            tuple(sim.outcome()),
            tuple(float(r) for r in sim.recorder.returns),
            notes=tuple(self.camera.notes),
            **fields,  # type: ignore[arg-type]
        )


def _play_again(made: GameMaker, params: Mapping[str, str], task: PlayAgain, tell: Tell) -> None:
    """Play a recorded match again, as far as the game follows its record."""
    spec = made.spec
    if spec.name != task.name:
        raise ValueError(f"recorded for {task.name}, not {spec.name}")
    if spec.version != task.version:
        raise ValueError(
            f"recorded under version {task.version} of {spec.name}, this one is version {spec.version}"
        )
    if spec.seats != task.seats or any(len(d.action) != len(spec.heads) for d in task.decisions):
        raise ValueError(f"recorded with other seats or heads than {spec.name} has")
    thinkers = Thinkers(task.think, spec, params, tell)
    by_tick: dict[int, dict[int, tuple[int, ...]]] = defaultdict(dict)
    for d in task.decisions:
        by_tick[d.tick][d.seat] = d.action
    stage = _Stage(made, task, task.hash_every, tell)
    try:
        stage.film = task.film
        stage.begin(task.ticks, task.draw)
        difference = _compared(stage, task)
        end = time.monotonic() + task.most_s
        for tick in range(task.ticks):
            if time.monotonic() > end:
                stage.look(last=True)
                stage.camera.notes.append(
                    f"the page ends at tick {tick:,} of {task.ticks:,}: playing the match again took more "
                    f"than {task.most_s:g} s"
                )
                break
            if stage.sim.over:
                difference = difference or f"this match is over after tick {tick}, the recorded one was not"
                break
            decisions = by_tick.get(tick, {})
            if set(decisions) != set(stage.sim.deciding):
                difference = difference or f"other seats decide after tick {tick}"
                break
            thinkers.see(tick, stage.sim.deciding, decisions)
            try:
                stage.step(decisions, last=tick + 1 == task.ticks)
            except BrokenPipeError:
                raise
            except Exception as error:
                difference = difference or f"{_said(error)} after tick {tick}"
                break
            difference = difference or _compared(stage, task)
        tell(stage.ended(difference=difference, thoughts=thinkers.opinions()))
    finally:
        stage.sim.close()


def _compared(stage: _Stage, task: PlayAgain) -> str:
    """Return how the match differs from its record at a tick that has a digest; empty if it does not."""
    index, rest = divmod(stage.tick, task.hash_every)
    if rest or index >= len(task.hashes) or stage.sim.recorder.hash == task.hashes[index]:
        return ""
    return f"the observations, masks or rewards differ after tick {stage.tick}"


def _play_live(made: GameMaker, params: Mapping[str, str], task: PlayLive, tell: Tell) -> None:
    """Play a match of players to its end, or to its most ticks."""
    spec = made.spec
    tell(At(0, "thinking"))
    players = ShownPlayers(task.players, spec, params, task.seed, task.device)
    thinkers = Thinkers(players.minds, spec, params, tell, task.device)
    stage = _Stage(made, task, HASH_EVERY, tell)
    decided: list[Decided] = []
    try:
        stage.begin(0, task.draw, players.names)
        end = time.monotonic() + task.most_s
        late = False
        while not stage.sim.over and stage.tick < task.most_ticks and not late:
            decisions = {
                seat: players.decide(seat, observed, mask)
                for seat, (observed, mask) in stage.sim.deciding.items()
            }
            thinkers.see(stage.tick, stage.sim.deciding, decisions)
            for seat, action in sorted(decisions.items()):
                decided.append(Decided(stage.tick, seat, action))
                stage.sim.recorder.decide(seat, action)
            late = time.monotonic() > end
            stage.step(decisions, last=late or stage.tick + 1 == task.most_ticks)
        if not stage.sim.over:
            stage.camera.notes.append(f"the match was cut off after {stage.tick:,} ticks")
        over = stage.sim.over and not stage.sim.game.truncated
        replay = stage.sim.recorder.encode(params, players.names, over, stage.sim.outcome())
        tell(stage.ended(decisions=tuple(decided), thoughts=thinkers.opinions(), replay=replay))
    finally:
        stage.sim.close()
