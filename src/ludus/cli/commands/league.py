"""``ludus league``: the contents of a league's journal, also while the run continues."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec

from ludus.cli import console
from ludus.cli.arguments import option, positional
from ludus.cli.errors import DONE, REFUSED, UserError
from ludus.cli.results import note_groups
from ludus.cli.words import said
from ludus.flow.names import did_you_mean

if TYPE_CHECKING:
    from ludus.league.record import Record
    from ludus.league.summary import PayoffTable
    from ludus.reporting.run_view import RunView

Count = Annotated[int, msgspec.Meta(ge=1)]
Run = Annotated[str, positional("the directory of a run with a league", "RUN")]
Json = Annotated[bool, option("print one JSON document")]
NONE_MET = "no player has met another: a league that has just started, or a game of one seat"
RULE_FORM = "FILE.py:CLASS"
WIDE = 12  # columns of a payoff that fit a terminal


def _read(text: str) -> tuple[RunView, Record]:
    from ludus.reporting.run_view import RunView

    view = RunView.open(Path(text))
    return view, view.league()


def _unknown(name: str, valid: list[str]) -> UserError:
    return UserError(f"{name}: no such player in this league{did_you_mean(name, valid, 'players')}")


def _cell(table: PayoffTable, i: int, j: int) -> str:
    """Return a win rate in percent, or ``-`` for a pair that has not met."""
    met = table.wins[i][j] + table.draws[i][j] + table.losses[i][j]
    return "." if i == j else f"{100 * table.rate[i][j]:.0f}" if met else "-"


def _rate(decisions_per_s: float | None) -> str:
    return "-" if decisions_per_s is None else f"{console.si(decisions_per_s)}/s"


def _gone(kind: str) -> str:
    """Return what a retired player of a kind is called."""
    return "withdrawn" if kind == "learner" else "retired"


def _ago(then: float) -> str:
    return f"{console.duration(max(0.0, time.time() - then) / 60)} ago" if then else "-"


class LeagueStatus(msgspec.Struct, frozen=True):
    """Show the members of a league: how far each is, what it froze, and what it is doing.

    Works during the run and does not slow it down. STEPS are decisions that a member learned from; RECEIVED
    and CONSUMED are decisions a second of its rounds, CONSUMED counts each as often as it was learned.
    """

    EXAMPLES: ClassVar = ("ludus league status runs/league", "ludus league status runs/league --json")

    run_dir: Run
    json: Json = False

    def run(self) -> int:
        """Print the members and return the exit code."""
        view, record = _read(self.run_dir)
        from ludus.league.summary import status

        rates = {n: (r.received_per_s, r.consumed_per_s) for n, r in view.newest_rates().items()}
        shown = status(record, view.status().state, rates)
        if self.json:
            console.document(shown)
            return DONE
        console.result(
            f"{shown.state}: {shown.events:,} events, {shown.matches:,} matches, "
            f"{shown.frozen} frozen players, last event {_ago(shown.last_time)}"
        )
        rows = [
            (
                m.name,
                m.role,
                str(m.version),
                console.si(m.steps),
                str(m.frozen),
                console.si(m.steps - m.last_frozen_steps) if m.frozen else "-",
                "-" if m.win_rate is None else console.percent(m.win_rate),
                "-" if m.mean_return is None else f"{m.mean_return:.3g}",
                _rate(m.received_per_s),
                _rate(m.consumed_per_s),
                "withdrawn" if m.withdrawn else m.asked or "-",
            )
            for m in shown.members
        ]
        head = (
            "member", "role", "version", "steps", "frozen", "since", "against frozen", "return", "received",
            "consumed", "last",
        )  # fmt: skip
        console.result(console.filled(rows, head))
        for m in shown.members:
            if m.withdrawn:
                console.note(f"{m.name} was withdrawn: {m.withdrawn}")
        hyper = [
            (m.name, ", ".join(f"{k} {v:.4g}" for k, v in m.hyper.items())) for m in shown.members if m.hyper
        ]
        if hyper:
            console.result("\n" + console.table(hyper, ("member", "settings")))
        ruled = [(m.name, m.rule, m.rule_sha256[:12]) for m in shown.members if m.rule]
        if ruled:
            console.result("\n" + console.table(ruled, ("member", "rule", "sha256")))
        for why, count in shown.ignored.items():
            console.note(f"not counted, {why}: {count}")
        return DONE


class LeaguePlayers(msgspec.Struct, frozen=True):
    """List all players of a league: members, what they froze, and bots.

    A frozen player plays anywhere as RUN@PLAYER:VERSION, a member with its newest weights as RUN@PLAYER:
    ludus eval runs/league@main --against runs/league@main:last
    """

    EXAMPLES: ClassVar = (
        "ludus league players runs/league",
        "ludus league players runs/league --json > players.json",
    )

    run_dir: Run
    json: Json = False

    def run(self) -> int:
        """Print the players and return the exit code."""
        view, record = _read(self.run_dir)
        from ludus.league.summary import players
        from ludus.storage.references import labelled

        frozen = view.directory.frozen
        there = {f"{p}:{v}" for p in frozen.players() for v in frozen.versions(p)}
        shown, met = players(record, there), record.anybody_met()
        if self.json:
            console.document(shown)
            return DONE
        rows = [
            (
                labelled(p.player),
                p.kind,
                p.role or "-",
                "-" if p.steps is None else console.si(p.steps),
                p.parent or "-",
                p.reason or "-",
                f"{p.matches:,}" if met else "-",
                console.percent(p.score) if p.matches else "-",
                _gone(p.kind) if p.retired else "no file" if p.kind == "frozen" and not p.file else "",
            )
            for p in shown
        ]
        head = ("player", "kind", "role", "steps", "from", "why", "matches", "score", "")
        console.result(console.filled(rows, head))
        return DONE


class LeaguePayoff(msgspec.Struct, frozen=True):
    """Show how often each player of a league beats each other, in percent; a draw is half a win.

    A rate is the mean of a Beta distribution; - stands for players that have not met. Rates of live members
    cover about their last 100 matches with each opponent (a star marks these members), rates between
    frozen players count all. With --player the table has one player's opponents, their matches and the 95%
    interval: counts are of all matches since either's weights were replaced, RATE OF names the matches that a
    rate counts, DRAWN BY has all matches ever. The document of --json has all counts.
    """

    EXAMPLES: ClassVar = (
        "ludus league payoff runs/league",
        "ludus league payoff runs/league --player main",
        "ludus league payoff runs/league --json > payoff.json",
    )

    run_dir: Run
    player: Annotated[str, option("show one player's results with their intervals", "PLAYER")] = ""
    most: Annotated[Count, option("columns: members, bots, and the newest frozen players", "N")] = WIDE
    json: Json = False

    def run(self) -> int:
        """Print the table and return the exit code."""
        _, record = _read(self.run_dir)
        from ludus.league.summary import against, payoff, the_newest
        from ludus.storage.references import labelled

        if self.player:
            names = [p.name for p in record.players]
            if self.player not in names:
                raise _unknown(self.player, names)
            rows = against(record, self.player)
            if self.json:
                console.document(rows)
                return DONE
            cells = [
                (
                    labelled(r.opponent),
                    f"{r.wins:,}",
                    f"{r.draws:,}",
                    f"{r.losses:,}",
                    console.percent(r.rate),
                    f"last {r.window:.0f}" if r.window else "all",
                    f"{console.percent(r.low)} to {console.percent(r.high)}",
                    ", ".join(f"{tag} {count:,}" for tag, count in r.tags.items()) or "-",
                )
                for r in rows
            ]
            if not cells:
                console.result(f"{self.player} has not met another player")
                return DONE
            head = (
                "against", "won in all", "drawn", "lost", "rate", "rate of", "95% interval", "drawn by, ever",
            )  # fmt: skip
            console.result(console.table(cells, head))
            console.note("rate: a draw is half a win, as in the score of ludus eval")
            return DONE
        if self.json:
            console.document(payoff(record))
            return DONE
        if not record.anybody_met():
            console.result(NONE_MET)
            return DONE
        chosen = the_newest(record, self.most)
        table = payoff(record, chosen)
        numbers = [str(k + 1) for k in range(len(chosen))]
        live = {m.name for m in record.members} if table.window else set[str]()
        lines = [
            (
                numbers[i],
                f"{labelled(name)} *" if name in live else labelled(name),
                *(_cell(table, i, j) for j in range(len(chosen))),
            )
            for i, name in enumerate(table.players)
        ]
        console.result(console.table(lines, ("", "player", *numbers)))
        if live:
            console.note(f"* live member: rates of about the last {table.window:.0f} matches of each pair")
        left = len(record.players) - len(chosen)
        if left > 0:
            console.note(f"{left} more players; --most {len(record.players)} or --json shows them")
        return DONE


class LeagueRatings(msgspec.Struct, frozen=True):
    """Rate the players of a league from its journal: no match is played.

    ELO is the Bradley-Terry rating with its 95% interval: rank players by it. SKILL is TrueSkill with random
    play at 0: a lead of d wins with probability Phi(d / 9.862), so 8.3 is 80%. NASH is the share of a player
    in the unbeaten (maximum-entropy Nash) mixture, and its Elo against that mixture. A live member counts as
    a new player after each freeze.

    The bot random has rating 0 if it was met; without an anchor the mean Elo is 0.
    """

    EXAMPLES: ClassVar = (
        "ludus league ratings runs/league",
        "ludus league ratings runs/league --anchor simple=1000 --json",
    )

    run_dir: Run
    anchor: Annotated[
        tuple[str, ...], option("a bot or frozen player whose Elo stays; repeatable", "PLAYER=ELO")
    ] = ()
    json: Json = False

    def run(self) -> int:
        """Print the ratings and return the exit code."""
        anchors = dict(self._anchor(text) for text in self.anchor)
        _, record = _read(self.run_dir)
        from ludus.league.strengths import Z95, strengths
        from ludus.storage.references import labelled

        try:
            shown = strengths(record, anchors)
        except ValueError as error:
            raise UserError(said(error)) from None
        if self.json:
            console.document(shown)
            return DONE
        if not record.anybody_met():
            console.result(NONE_MET)
            return DONE
        ordered = sorted(shown.players, key=lambda s: (s.rating is None, -(s.rating or 0.0)))
        rows = [
            (
                labelled(s.player),
                "-" if s.rating is None else f"{s.rating:+.0f}",
                "-" if s.error is None else f"{Z95 * s.error:.0f}",
                "-" if s.skill is None else f"{s.skill:.1f}",
                "-" if s.skill_error is None else f"{s.skill_error:.1f}",
                "-" if s.nash_share is None else console.percent(s.nash_share),
                "-" if s.nash_rating is None else f"{s.nash_rating:+.0f}",
                f"{s.matches:,}",
            )
            for s in ordered
        ]
        head = ("player", "Elo", "95% +-", "skill", "+-", "Nash share", "Elo against it", "matches")
        console.result(console.filled(rows, head))
        note_groups(shown.groups)
        return DONE

    def _anchor(self, text: str) -> tuple[str, float]:
        name, equals, number = text.rpartition("=")
        try:
            if name and equals:
                return name, float(number)
        except ValueError:
            pass
        raise UserError(f"ludus league ratings: --anchor {text}: expected PLAYER=ELO, as in random=0")


class LeagueLineage(msgspec.Struct, frozen=True):
    """Show the parent of each frozen player and of each copy of a member, as a tree.

    A member that restarted from its first weights, or from another player's, starts a new line.
    """

    EXAMPLES: ClassVar = (
        "ludus league lineage runs/league",
        "ludus league lineage runs/league --member main_exploiter",
    )

    run_dir: Run
    member: Annotated[str, option("show one member's events", "MEMBER")] = ""
    json: Json = False

    def run(self) -> int:
        """Print the tree, or one member's events, and return the exit code."""
        _, record = _read(self.run_dir)
        from ludus.league.summary import lineage, tree

        names = [m.name for m in record.members]
        if self.member and self.member not in names:
            raise _unknown(self.member, names)
        milestones = [m for m in lineage(record) if self.member in ("", m.member)]
        if self.json:
            console.document(milestones)
            return DONE
        if not self.member:
            console.result("\n".join(tree(record)) or "nothing is frozen yet")
            return DONE
        rows = [
            (
                console.si(m.steps),
                m.what,
                m.detail,
                ", ".join(f"{k} {v:.4g}" for k, v in m.hyper.items()),
            )
            for m in milestones
        ]
        console.result(console.table(rows, ("steps", "event", "", "settings")))
        return DONE


class LeagueAudit(msgspec.Struct, frozen=True):
    """Ask the rules of a league's members again for every decision, and compare the journal's.

    Rules are those from files or packages (league.players.*.rule). Equal inputs must have equal answers.
    Exit code 3: some differ. A file is loaded if you started the run on this machine, or if --rule names it.
    """

    EXAMPLES: ClassVar = (
        "ludus league audit runs/league",
        "ludus league audit runs/league --rule ./pfsp.py:Pfsp",
    )

    run_dir: Run
    rule: Annotated[
        str, option("rule of the members, if the run was started elsewhere; several: with commas", RULE_FORM)
    ] = ""
    json: Json = False

    def run(self) -> int:
        """Print how many decisions differ, and return the exit code."""
        from ludus.league.league import League
        from ludus.league.rules.audit import audit
        from ludus.presets.code import typed_code, with_code
        from ludus.presets.rule_file import rule_problems, rules_of
        from ludus.reporting.changes import run_settings
        from ludus.storage.journal import Journal
        from ludus.storage.rundir import RunDirectory
        from ludus.training.trusted_code import resumed_rules

        run = RunDirectory.open(Path(self.run_dir))
        preset = run_settings(run).preset
        found = resumed_rules(run.path, preset, self.rule)
        preset = with_code(preset, {path: typed_code(text) for path, text in found.items()})
        config = preset.league
        if config is None or not any(player.rule for player in config.players):
            raise UserError(f"{self.run_dir}: no member of this run has a rule from a file or a package")
        if wrong := [*rule_problems(config)]:
            raise UserError("\n".join(said(problem) for problem in wrong))
        with Journal.read(run.league) as journal:
            league = League(config, preset.run.seed)
            result = audit(league, journal.rows(), rules_of(config), preset.run.seed)
        if self.json:
            console.document(result)
        else:
            console.result(f"{result.decisions:,} decisions, {result.different:,} differ")
            if result.other_file:
                console.note(f"{result.other_file:,} of them were made under another file of the rule")
            rows = [(str(d.number), d.member, d.method, d.recorded, d.now) for d in result.differences]
            if rows:
                console.result(console.table(rows, ("event", "member", "method", "journal", "now")))
        return REFUSED if result.different else DONE
