"""Learning methods by name: one line of the table each. No other module names one.

A method comes with Ludus (the table below), is registered by a program (:func:`register`), or is declared by
an installed package:

    [project.entry-points."ludus.methods"]
    reinforce = "my_package.reinforce:METHOD"

Everything but the settings is imported when it is used: reading a preset imports no torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal, cast

from ludus.algorithms.config import (
    A2cConfig,
    AlphaZeroConfig,
    AppoConfig,
    DqnConfig,
    ImitationConfig,
    ImpalaConfig,
    MethodConfig,
    PolicyGradientConfig,
    TrpoConfig,
)
from ludus.flow.process.extensions import ExtensionError, Extensions, Package
from ludus.flow.spec import GameSpec
from ludus.policies.config import PolicyConfig

if TYPE_CHECKING:
    from ludus.algorithms.round_work import RoundSize, RoundWork

Reference = str | Callable[..., object]
Topology = Literal["many_to_one", "one_to_one"]
#: Trains on the slabs of fresh matches; asks for a learner of :class:`ludus.algorithms.learner.Learner`.
ACTOR_LEARNER = "ludus.training.actor_learner.trainer:prepare"
RECORD_KEYS = ("data", "players", "winners", "held_out_decisions")
BOTH: tuple[Topology, ...] = ("many_to_one", "one_to_one")


@dataclass(frozen=True, slots=True)
class CheckInput:
    """Part of a preset that a method's checks read, besides the method's own settings.

    Args:
        spec: Game under the preset's parameters.
        policy: Settings of the network.
        steps: Time steps of a slab.
        rows: Rows of a slab: slots times seats.
    """

    spec: GameSpec
    policy: PolicyConfig
    steps: int
    rows: int


#: Yields the path of each setting that does not fit, and the message. The first argument is the method's own
#: settings struct.
Check = Callable[[Any, CheckInput], Iterable[tuple[str, str]]]
#: Returns the network's work in a round. The first argument is the method's own settings struct.
RoundWorkOf = Callable[[Any, "RoundSize"], "RoundWork"]
OF_SLAB = "ludus.algorithms.round_work:of_slab"


@dataclass(frozen=True, slots=True)
class Method:
    """How a preset's ``algorithm.name`` is trained, and what it needs.

    Args:
        config: Settings, tagged with the name: the keys of ``[algorithm]``.
        learner: Factory of the learner, or ``module:attribute``. For :data:`ACTOR_LEARNER` it is called as
            ``learner(config, network, context)``: the settings, a network, and a
            :class:`~ludus.algorithms.learner.LearnerContext`.
        trainer: Function that prepares a run (:class:`ludus.training.run_builder.RunBuilderFactory`), or
            ``module:attribute``.
        networks: Values of ``policy.network`` that it can train.
        outputs: Values of ``policy.output`` that it can train; networks without that key have ``logits``.
        critics: Values of ``policy.critic`` that it can train, of networks with that key.
        value_heads: Whether it trains several ``policy.value_heads``.
        topologies: Values of ``run.topology`` that it can be trained in.
        value_only: Whether its learner can make updates of the value alone
            (``league.players.*.value_only_updates``).
        divides: Whether processes may divide the parts of its minibatches (``algorithm.parts``): its learner
            is a :class:`~ludus.algorithms.learner.SlabLearner`, and a loss writes nothing but its result.
        teaches: Meaning of the key ``teacher``, if its settings have one. ``weights``: weights that the
            learner reads. ``player``: a player whose decisions it learns from; the keys ``seats``
            (``one``, ``all``) and ``greedy`` say how that player plays.
        records: Whether it may learn from recorded matches in place of a player: its settings have the keys
            ``data``, ``players``, ``winners`` and ``held_out_decisions``.
        rollouts: Whether the method's trainer has all its matches played by the machines that it is given, so
            that the rollouts of a cluster can play them. True of every method of :data:`ACTOR_LEARNER`.
        checks: Finds settings that do not fit a game (:data:`Check`), or ``module:attribute``; "" = none.
        round_work: Returns the network's work in a round (:data:`RoundWorkOf`), or ``module:attribute``; ""
            where it has not been measured: ``run.device = "auto"`` is then the processor.
    """

    config: type[MethodConfig]
    learner: Reference
    trainer: Reference = ACTOR_LEARNER
    networks: tuple[str, ...] = ("encoder",)
    outputs: tuple[str, ...] = ("logits",)
    critics: tuple[str, ...] = ("shared", "own")
    value_heads: bool = False
    topologies: tuple[Topology, ...] = ("many_to_one",)
    value_only: bool = False
    divides: bool = False
    teaches: Literal["weights", "player"] = "weights"
    records: bool = False
    rollouts: bool = False
    checks: Reference = ""
    round_work: Reference = ""

    @property
    def name(self) -> str:
        """Name in presets."""
        return str(self.config.__struct_config__.tag)

    @property
    def learns_from_slabs(self) -> bool:
        """Whether it trains on the slabs of fresh matches, as a league and a queue of slabs need."""
        return self.trainer == ACTOR_LEARNER

    @property
    def plays_on_rollouts(self) -> bool:
        """Whether the rollouts of a cluster can play its matches."""
        return self.learns_from_slabs or self.rollouts

    def problems(self, config: MethodConfig, around: CheckInput) -> Iterable[tuple[str, str]]:
        """Run the method's own checks. Raises :class:`ExtensionError` where they cannot be loaded."""
        return cast(Check, resolve(self.checks))(config, around) if self.checks else ()

    def work(self, config: MethodConfig, size: RoundSize) -> RoundWork:
        """Return the work of a round. Only for methods with ``round_work``."""
        return cast(RoundWorkOf, resolve(self.round_work))(config, size)


def checked(value: object) -> Method:
    """Return ``value`` if it is a method that can be registered. Raises ``ValueError``."""
    if not isinstance(value, Method):
        raise ValueError(f"is {_words(value)}, expected a ludus.algorithms.registry.Method")
    config: object = value.config
    if not (isinstance(config, type) and issubclass(config, MethodConfig)):
        raise ValueError(f"has config = {_words(config)}, expected a class that extends MethodConfig")
    tag = config.__struct_config__.tag
    if not isinstance(tag, str):
        raise ValueError(f'has tag = {tag}, expected class {config.__name__}(..., tag="my_method")')
    for key in ("learner", "trainer", "checks", "round_work"):
        reference: object = getattr(value, key)
        if not (isinstance(reference, str) or callable(reference)):
            raise ValueError(f"has {key} = {_words(reference)}, expected a function or module:attribute")
    for key in ("networks", "outputs", "critics", "topologies"):
        names: object = getattr(value, key)
        if not (isinstance(names, tuple) and all(isinstance(name, str) for name in names)):
            raise ValueError(f"has {key} = {names!r}, expected a tuple of strings")
    if value.learns_from_slabs and callable(value.learner):
        _check_arguments(value.learner)
    missing = [key for key in ("teacher", "seats", "greedy") if key not in config.__struct_fields__]
    if value.teaches == "player" and missing:
        raise ValueError(f'has teaches = "player", expected settings with the key {missing[0]}')
    kept = [key for key in RECORD_KEYS if key not in config.__struct_fields__]
    if value.records and kept:
        raise ValueError(f"has records = True, expected settings with the key {kept[0]}")
    return value


def _check_arguments(learner: Callable[..., object]) -> None:
    """Raise ``ValueError`` for a factory that cannot be called as ``learner(config, network, context)``."""
    try:
        signature(learner).bind("config", "network", "context")
    except TypeError as error:
        name = getattr(learner, "__name__", "learner")
        raise ValueError(
            f"has a learner {name}: {error}; expected {name}(config, network, context)"
        ) from error
    except ValueError:  # a callable without a signature
        return


def _words(value: object) -> str:
    return value.__name__ if isinstance(value, type) else f"of type {type(value).__name__}"


_METHODS: Extensions[Method] = Extensions(
    "ludus.methods",
    "method",
    {
        "appo": Method(
            AppoConfig,
            "ludus.algorithms.appo:make_learner",
            value_heads=True,
            topologies=BOTH,
            value_only=True,
            divides=True,
            round_work=OF_SLAB,
        ),
        "a2c": Method(
            A2cConfig,
            "ludus.algorithms.a2c:make_learner",
            value_heads=True,
            topologies=BOTH,
            value_only=True,
            divides=True,
            round_work=OF_SLAB,
        ),
        "alphazero": Method(
            AlphaZeroConfig,
            "ludus.algorithms.alphazero.learner:AlphaZeroLearner",
            "ludus.training.alphazero.trainer:prepare",
            networks=("resnet",),
            rollouts=True,
            checks="ludus.training.alphazero.checks:problems",
            round_work="ludus.algorithms.round_work:of_search",
        ),
        "dqn": Method(
            DqnConfig,
            "ludus.algorithms.dqn.learner:DqnLearner",
            outputs=("q",),
            checks="ludus.algorithms.dqn.checks:problems",
        ),
        "imitation": Method(
            ImitationConfig,
            "ludus.algorithms.imitation.learner:make_learner",
            networks=("encoder", "resnet"),
            divides=True,
            teaches="player",
            records=True,
            checks="ludus.algorithms.imitation.checks:problems",
        ),
        "impala": Method(
            ImpalaConfig,
            "ludus.algorithms.impala:make_learner",
            value_heads=True,
            topologies=BOTH,
            value_only=True,
            divides=True,
            round_work=OF_SLAB,
        ),
        "policy_gradient": Method(
            PolicyGradientConfig,
            "ludus.algorithms.policy_gradient:make_learner",
            value_heads=True,
            topologies=BOTH,
            value_only=True,
            divides=True,
            round_work=OF_SLAB,
        ),
        "trpo": Method(
            TrpoConfig,
            "ludus.algorithms.trpo.learner:TrpoLearner",
            critics=("own",),
            value_heads=True,
            value_only=True,
            divides=True,
        ),
    },
    checked,
)

#: Settings of a preset that names no method: the first of the table.
DEFAULT: MethodConfig = AppoConfig()


def register(method: Method) -> None:
    """Add a method, until the program ends. Raises :class:`ExtensionError` for a duplicate name."""
    _METHODS.register(method.name, method)


def find(name: str) -> Method | None:
    """Return the method of a name, or None. Raises :class:`ExtensionError` for a broken package."""
    return _METHODS.find(name)


def is_registered(name: str) -> bool:
    """Return whether a program has registered a method, which only its own process knows."""
    return _METHODS.is_registered(name)


def method_package(name: str) -> Package | None:
    """Return the installed distribution that declares a method; None for other methods."""
    return _METHODS.package(name)


def method_of(config: MethodConfig) -> Method:
    """Return the method that settings belong to. Raises ``ValueError`` if it is not registered."""
    name = str(config.__struct_config__.tag)
    method = find(name)
    if method is None:
        raise ValueError(f"algorithm.name = {name!r}: no such method; methods: {', '.join(_METHODS.names())}")
    return method


def methods(name: str = "") -> list[Method]:
    """Return the methods that ``algorithm.name = name`` may refer to; the default comes first.

    Installed packages are looked at only where no other method has that name.
    """
    known = _METHODS.local_names()
    found = [_METHODS.find(n) for n in known]
    if name and name not in known:
        for other in sorted({name, *_METHODS.names()} - set(known)):
            try:
                found.append(_METHODS.find(other))
            except ExtensionError:
                if other == name:
                    raise
    return [method for method in found if method is not None]


def resolve(reference: Reference) -> Callable[..., object]:
    """Return the function or class that a method's field refers to. Raises :class:`ExtensionError`."""
    if not isinstance(reference, str):
        return reference
    module, _, attribute = reference.partition(":")
    try:
        found: object = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ExtensionError(f"method: {reference}: {error}") from error
    if not callable(found):
        raise ExtensionError(f"method: {reference}: expected a function or a class")
    return found
