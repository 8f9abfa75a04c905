"""Settings of a league: ``[league]`` and ``[[league.players]]`` of a preset. Plain structs, nothing else.

Each choice of a player (its opponents, when to freeze, what to continue from) is a table tagged by ``rule``
that has its own fields only. A missing choice comes from the player's role (``roles.ROLES``). ::

    [league]
    rating_share = 0.05

    [[league.players]]
    name = "main"
    role = "main"
    meet = [{rule = "pfsp", weight = 0.65}, {rule = "latest", weight = 0.35}]
    freeze = {rule = "beats", min_steps = 2_000_000, max_steps = 4_000_000}
    from = {rule = "itself"}

    [league.players.tune."algorithm.learning_rate"]
    low = 1e-5
    high = 1e-2

    [[league.players]]
    names = ["exploiter-a", "exploiter-b"]
    role = "league_exploiter"

``checks.problems`` finds mistakes in such settings beyond the types of their values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
Count = Annotated[int, msgspec.Meta(ge=1)]
Natural = Annotated[int, msgspec.Meta(ge=0)]
Positive = Annotated[float, msgspec.Meta(gt=0)]
NonNegative = Annotated[float, msgspec.Meta(ge=0)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Rate = Annotated[float, msgspec.Meta(ge=0, le=1)]

MAX_COPIES = 256  # members that one entry stands for
MAX_RULE = 4096  # characters of a path with a class

Weighting = Literal["squared", "linear", "linear_capped", "variance", "variance_floor"]


class MeetRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="rule", kw_only=True):
    """Choice of opponents. ``weight``: how often the rule decides, relative to the player's other rules.

    A rule that finds no one leaves its matches to the other rules.
    """

    weight: NonNegative = 1.0


class Pfsp(MeetRule, frozen=True, tag="pfsp"):
    """Prioritised fictitious self-play: a frozen player, by the rate x at which it is beaten.

    ``squared`` (1-x)^2, ``linear`` 1-x, ``linear_capped`` min(1/2, 1-x), ``variance`` x(1-x),
    ``variance_floor`` the same with x at least ``floor``. ``among``: ``all``, ``mains``, ``exploiters`` or
    names of members and bots; ``bots`` adds the game's bots.
    """

    weighting: Weighting = "squared"
    floor: Rate = 0.1
    among: tuple[Name, ...] = ("all",)


class Fsp(MeetRule, frozen=True, tag="fsp"):
    """Fictitious self-play: a frozen player, each as often."""

    among: tuple[Name, ...] = ("all",)


class Uniform(MeetRule, frozen=True, tag="uniform"):
    """One of the ``last`` newest frozen players, each as often; the live self among them if ``self_too``."""

    last: Count = 50
    self_too: bool = True
    among: tuple[Name, ...] = ("all",)


class Latest(MeetRule, frozen=True, tag="latest"):
    """The member's own live weights."""


class Main(MeetRule, frozen=True, tag="main"):
    """A live main, or its past: AlphaStar's branch of self-play (0.3) and of main exploiters (0.1).

    The live main if it is beaten at a rate over ``above``, and otherwise with probability ``anyway``;
    if not, one of its frozen players by ``variance``.
    """

    above: Rate = 0.3
    anyway: Share = 0.0


class Verification(MeetRule, frozen=True, tag="verification"):
    """AlphaStar's check of what a main forgot.

    Frozen exploiters, if one is beaten at a rate below ``exploited``. If not, the past of a live main without
    its monotonic suffix, if one is beaten at a rate below ``forgotten``, or no one. Both by ``squared``.
    """

    exploited: Rate = 0.3
    forgotten: Rate = 0.7


class Quality(MeetRule, frozen=True, tag="quality"):
    """OpenAI Five's past selves (appendix N): p_i = softmax(q)_i; a match won lowers q_i by rate / (N p_i).

    A player frozen later starts with the greatest q. Its 80 to 20: ``latest`` of weight 0.8, this of 0.2.
    """

    rate: Positive = 0.01


class Elo(MeetRule, frozen=True, tag="elo"):
    """Players of about the same online Elo: the density of a normal distribution at (expected rate - 1/2).

    Live and frozen ones (FTW: sigma 1/6). ``sigma`` can be tuned as ``meet.elo.sigma``.
    """

    sigma: Positive = 1 / 6


class Psro(MeetRule, frozen=True, tag="psro"):
    """A frozen player from the meta-strategy: the Nash mixture of the ``last`` newest.

    The mixture is solved again at each freeze.
    """

    solver: Literal["nash", "uniform"] = "nash"
    last: Count = 200


class NamedMember(MeetRule, frozen=True, tag="member"):
    """The live weights of another member."""

    name: Name


class NamedPlayer(MeetRule, frozen=True, tag="player"):
    """One frozen player, as ``MEMBER:VERSION`` names it."""

    name: Name


class NamedBot(MeetRule, frozen=True, tag="bot"):
    """A bot of the game."""

    name: Name


AnyNamed = NamedMember | NamedPlayer | NamedBot
AnyMeet = Pfsp | Fsp | Uniform | Latest | Main | Verification | Quality | Elo | Psro | AnyNamed


class FreezeRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="rule", kw_only=True):
    """When a copy of the member is frozen. Steps and updates count from its last freeze or reset."""


class FreezeOfRole(FreezeRule, frozen=True, tag="role"):
    """Choice of the player's role."""


class Period(FreezeRule, frozen=True, tag="period"):
    """Every ``steps`` decisions (TLeague's learning period). Can be tuned as ``freeze.steps``."""

    steps: Count = 1_000_000


class Beats(FreezeRule, frozen=True, tag="beats"):
    """Once it beats every one of ``against`` at a rate over ``rate``, or after ``max_steps`` (0 = never).

    Not before ``min_steps``. ``against``: ``all`` frozen players, ``mains`` that live, or names of members
    whose frozen players are meant. ``matches``: how many are needed with each of them.
    """

    rate: Rate = 0.7
    min_steps: Natural = 1_000_000
    max_steps: Natural = 2_000_000
    matches: Natural = 0
    against: tuple[Name, ...] = ("all",)


class Updates(FreezeRule, frozen=True, tag="updates"):
    """Every ``every`` updates (OpenAI Five: 10)."""

    every: Count = 20


class Never(FreezeRule, frozen=True, tag="never"):
    """Freeze no weights."""


AnyFreeze = FreezeOfRole | Period | Beats | Updates | Never


class OriginRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="rule", kw_only=True):
    """Choice of the weights that the member continues from after a freeze.

    ``only_after_timeout``: this rule after a freeze that ``max_steps`` forced, itself after any other.
    """

    only_after_timeout: bool = False


class OriginOfRole(OriginRule, frozen=True, tag="role"):
    """Choice of the player's role."""


class Itself(OriginRule, frozen=True, tag="itself"):
    """From itself."""


class Seed(OriginRule, frozen=True, tag="seed"):
    """From its first weights with ``probability``, or from itself (AlphaStar's league exploiter: 0.25)."""

    probability: Share = 1.0


class Best(OriginRule, frozen=True, tag="best"):
    """From the frozen player of its role that a main beats least (TLeague's evolutionary exploiter)."""


class Nearest(OriginRule, frozen=True, tag="nearest"):
    """TLeague's adaptive evolutionary exploiter: a frozen player of its role.

    It is the one that mains beat at a rate in ``low`` to ``high``, nearest to ``to``; the seed if there is
    none.
    """

    low: Rate = 0.5
    high: Rate = 0.8
    to: Rate = 0.5


class Cycle(OriginRule, frozen=True, tag="cycle"):
    """TLeague's CE: the seed until there are ``leaves`` lines, then the line that waited longest."""

    leaves: Count = 3


class Meta(OriginRule, frozen=True, tag="meta"):
    """From a player drawn from the meta-strategy (TLeague's PSRO)."""

    solver: Literal["nash", "uniform"] = "nash"
    last: Count = 200


AnyOrigin = OriginOfRole | Itself | Seed | Best | Nearest | Cycle | Meta


class Tune(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A setting that a population changes. Values stay in ``low`` to ``high`` or are one of ``choices``.

    ``how``: ``factor`` multiplies or divides (for discounts: of 1 - value, ``complement``), ``resample``
    draws evenly, in the logarithm where ``low`` is above 0. ``step``: change by up to this share instead
    of the rule's. ``start``: the first values of the members, in turn; without it the preset's.
    """

    low: float = 0.0
    high: float = 0.0
    choices: tuple[float, ...] = ()
    how: Literal["factor", "complement", "resample"] = "factor"
    step: NonNegative = 0.0
    integer: bool = False
    start: tuple[float, ...] = ()


class PopulationRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="rule", kw_only=True):
    """When members of the role ``population`` copy each other and change settings.

    ``every``: decisions of a member between two exploit steps. ``fitness``: mean rate against the other
    members, or the mean return (the one choice in games of one seat).
    """

    every: Count = 5_000_000
    fitness: Literal["win_rate", "return"] = "win_rate"


class NoPopulation(PopulationRule, frozen=True, tag="none"):
    """Members neither copy each other nor change settings."""


class SampleFactory(PopulationRule, frozen=True, tag="sample_factory"):
    """The best ``top`` stay. The rest mutates; the worst ``bottom`` copy one of the best first.

    A copy is made where the best's fitness leads by more than ``gap`` of its size. With ``fitness`` win_rate:
    where its own is below ``ratio`` of the best's (the paper: 0.5).
    """

    top: Share = 0.3
    bottom: Share = 0.3
    gap: NonNegative = 0.1
    ratio: Share = 0.5
    mutation: Share = 0.15  # probability for each setting
    low: Positive = 1.1  # factors; of a complement 1.01 to 1.2
    high: Positive = 1.5
    to_default: Share = 0.01
    keep_first: bool = True  # the first member's settings never change


class Ftw(PopulationRule, frozen=True, tag="ftw"):
    """Draws another member; an expected score under ``below`` by Elo: copy it and mutate."""

    below: Rate = 0.3
    mutation: Share = 0.05
    by: Share = 0.2  # up or down by exactly this share


class TLeague(PopulationRule, frozen=True, tag="tleague"):
    """As ``ftw``, but a setting changes by up to ``by``, and more often."""

    below: Rate = 0.3
    mutation: Share = 0.2
    by: Share = 0.2


class Diversity(PopulationRule, frozen=True, tag="diversity"):
    """TLeague's PBT-PSRO, by diversity d_i = sum over j of max(2 rate_ij - 1, 0).

    A member copies another if its diversity is at most ``below`` of the greatest.
    """

    below: Share = 0.4
    mutation: Share = 0.2
    by: Share = 0.2


AnyPopulation = NoPopulation | SampleFactory | Ftw | TLeague | Diversity


class PlayerConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"origin": "from"}):
    """One member, or several with the same settings. What is left out comes from the role.

    ``count``: that many members, called ``name`` with a number behind it: ``p0``, ``p1``, ... ``names``:
    one member for each of these names, in place of ``name``. ``share``: share of all learned
    decisions, relative to other members. ``seed``: a weights file or ``RUN@VERSION`` to start with, empty = a
    new network. ``value_only_updates``: number of updates after each reset to other weights that move only
    the parameters that only the value depends on (TLeague's burn-in).
    ``rule``: code that decides in place of ``meet``, ``freeze`` and ``from``: ``FILE.py:CLASS``, or the name
    of an installed package's rule; empty = none. ``params``: its parameters.
    """

    name: Annotated[str, msgspec.Meta(max_length=64)] = ""
    role: str = "main"
    count: Annotated[int, msgspec.Meta(ge=1, le=MAX_COPIES)] | None = None
    names: Annotated[tuple[Name, ...], msgspec.Meta(max_length=MAX_COPIES)] = ()
    share: Positive = 1.0
    meet: tuple[AnyMeet, ...] = ()
    freeze: AnyFreeze = FreezeOfRole()
    origin: AnyOrigin = OriginOfRole()
    tune: dict[str, Tune] = {}
    seed: str = ""
    value_only_updates: Natural = 0
    rule: Annotated[str, msgspec.Meta(max_length=MAX_RULE)] = ""
    params: dict[str, str | int | float | bool] = {}

    @property
    def member_names(self) -> tuple[str, ...]:
        """Names of the members that the entry stands for: ``names``, or ``name`` with a number behind it."""
        if self.names or self.count is None:
            return self.names or (self.name,)
        return tuple(f"{self.name}{number}" for number in range(self.count))


class LeagueConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table ``[league]``.

    ``rating_share``: share of all matches that frozen players play who met least. ``lanes``: frozen networks
    that act at once in a pool; ``cache``: networks in memory. ``decay``: decay of the rates of live
    players, a match. ``score``: rates are shares of matches won, or mean leads in ``return``, of which
    ``score_range`` is the most in a match: 1/2 + lead / (2 score_range). ``processes``: processes of this
    machine in which members learn and play at the same time; 0 = members take turns in the run's process.
    ``on_failure``: a member whose matches or updates fail ends the run (``stop``), or it is withdrawn and the
    others continue (``continue``).
    """

    players: tuple[PlayerConfig, ...] = ()
    population: AnyPopulation = NoPopulation()
    rating_share: Share = 0.0
    lanes: Annotated[int, msgspec.Meta(ge=1, le=64)] = 8
    cache: Count = 64
    decay: Annotated[float, msgspec.Meta(gt=0, le=1)] = 0.99
    elo_k: Positive = 0.1
    score: Literal["outcome", "return"] = "outcome"
    score_range: NonNegative = 0.0
    freeze_first: bool = True  # the first weights of members that are no exploiters
    processes: Annotated[int, msgspec.Meta(ge=0, le=256)] = 0
    on_failure: Literal["stop", "continue"] = "stop"

    @property
    def members(self) -> tuple[PlayerConfig, ...]:
        """The players with one entry for each member, in the order of the preset."""
        return tuple(
            msgspec.structs.replace(self.players[entry], name=name, count=None, names=())
            for entry, name in self._entries()
        )

    def entry_of(self, member: int) -> int:
        """Return the index in ``players`` of the entry that the ``member``-th of ``members`` is from."""
        return [entry for entry, _ in self._entries()][member]

    def _entries(self) -> Iterator[tuple[int, str]]:
        for entry, player in enumerate(self.players):
            for name in player.member_names:
                yield entry, name
