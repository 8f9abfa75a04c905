"""Learning methods by name: one line of the table each. No other module names one.

A method comes with Ludus (the table below), is registered by a program (:func:`register`), or is declared by
an installed package:

    [project.entry-points."ludus.methods"]
    reinforce = "my_package.reinforce:METHOD"

Everything but the settings is imported when it is used: reading a preset imports no torch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

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
from ludus.flow.extensions import ExtensionError, Extensions

Reference = str | Callable[..., object]
#: Trains on the slabs of fresh matches; asks for a learner of :class:`ludus.algorithms.learner.Learner`.
ON_POLICY = "ludus.training.actor_learner.trainer:prepare"


@dataclass(frozen=True, slots=True)
class Method:
    """How a preset's ``algorithm.name`` is trained.

    Args:
        config: Settings, tagged with the name: the keys of ``[algorithm]``.
        learner: What makes the learner, or ``module:attribute``. For :data:`ON_POLICY` it is called with
            the settings, a network and a :class:`~ludus.algorithms.learner.LearnerContext`.
        trainer: What prepares a run (:class:`ludus.training.prepared.Prepare`), or ``module:attribute``.
        networks: Which ``policy.network`` it can train.
        outputs: Which ``policy.output`` it can train; networks without that key have ``logits``.
        critics: Which ``policy.critic`` it can train, of networks with that key.
        checks: Finds what is wrong with a preset for a game (:class:`ludus.presets.game_checks.Check`), or
            ``module:attribute``; "" = nothing.
    """

    config: type[MethodConfig]
    learner: Reference
    trainer: Reference = ON_POLICY
    networks: tuple[str, ...] = ("encoder",)
    outputs: tuple[str, ...] = ("logits",)
    critics: tuple[str, ...] = ("shared", "own")
    checks: Reference = ""

    @property
    def name(self) -> str:
        """As presets have it."""
        return str(self.config.__struct_config__.tag)


def _checked(value: object) -> Method:
    if not isinstance(value, Method):
        raise ValueError("is no ludus.algorithms.registry.Method")
    return value


_METHODS: Extensions[Method] = Extensions(
    "ludus.methods",
    "method",
    {
        "appo": Method(AppoConfig, "ludus.algorithms.appo:make_learner"),
        "a2c": Method(A2cConfig, "ludus.algorithms.a2c:make_learner"),
        "alphazero": Method(
            AlphaZeroConfig,
            "ludus.algorithms.alphazero.learner:AlphaZeroLearner",
            "ludus.training.alphazero.trainer:prepare",
            networks=("resnet",),
            checks="ludus.training.alphazero.checks:problems",
        ),
        "dqn": Method(
            DqnConfig,
            "ludus.algorithms.dqn.learner:DqnLearner",
            outputs=("q",),
            checks="ludus.training.actor_learner.dqn_checks:problems",
        ),
        "imitation": Method(
            ImitationConfig,
            "ludus.algorithms.imitation:ImitationLearner",
            checks="ludus.training.actor_learner.imitation_checks:problems",
        ),
        "impala": Method(ImpalaConfig, "ludus.algorithms.impala:make_learner"),
        "policy_gradient": Method(PolicyGradientConfig, "ludus.algorithms.policy_gradient:make_learner"),
        "trpo": Method(TrpoConfig, "ludus.algorithms.trpo.learner:TrpoLearner", critics=("own",)),
    },
    _checked,
)

#: Of a preset that names no method: the first of the table.
DEFAULT: MethodConfig = AppoConfig()


def register(method: Method) -> None:
    """Adds a method, until the program ends. Raises :class:`ExtensionError` for a name that is taken."""
    _METHODS.register(method.name, method)


def find(name: str) -> Method | None:
    """The method of a name; None where there is none. Raises :class:`ExtensionError` for a broken package."""
    return _METHODS.find(name)


def method_of(config: MethodConfig) -> Method:
    """The method that settings belong to. ``ValueError`` where it is not registered (any more)."""
    name = str(config.__struct_config__.tag)
    method = find(name)
    if method is None:
        raise ValueError(f"algorithm.name = {name!r}: no such method; methods: {', '.join(_METHODS.names())}")
    return method


def methods(name: str = "") -> list[Method]:
    """The methods that a preset may mean whose ``algorithm.name`` is ``name``; the default comes first.

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
    """What a method's field refers to. Raises :class:`ExtensionError`."""
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
