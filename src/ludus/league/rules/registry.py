"""Rules of one's own by name, of installed packages.

A package declares its rule's class as an entry point::

    [project.entry-points."ludus.league_rules"]
    newest = "my_package.rules:Newest"

A name selects among installed packages and loads no file; files are :mod:`ludus.presets.rule_file`'s.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from typing import cast

from ludus.flow.problem import Near, near_of
from ludus.flow.process.extensions import Extensions, Package
from ludus.league.rules.rule import METHODS, LeagueRule

#: Makes a rule of the keys of ``params``.
MakeRule = Callable[..., LeagueRule]


def checked(value: object) -> MakeRule:
    """Return ``value`` if it is the class of a rule. Raises ``ValueError``."""
    if not isinstance(value, type):
        raise ValueError(f"is of type {type(value).__name__}, expected a class with {', '.join(METHODS)}")
    for name in METHODS:
        method = getattr(value, name, None)
        if not callable(method):
            raise ValueError(f"has no method {name}, expected {', '.join(METHODS)}")
        try:
            signature(method).bind("self", "view", "random")
        except TypeError as error:
            raise ValueError(f"has a method {name}: {error}; expected {name}(self, view, random)") from error
        except ValueError:  # a callable without a signature
            continue
    return cast(MakeRule, value)


_RULES: Extensions[MakeRule] = Extensions("ludus.league_rules", "league rule", {}, checked)


def find(name: str) -> MakeRule | None:
    """Return the class of an installed rule, or None. Raises ``ExtensionError`` for a broken package."""
    return _RULES.find(name)


def near(name: str) -> Near:
    """Return the installed rules nearest to an unknown name."""
    return near_of(name, _RULES.names(), "installed rules")


def rule_package(name: str) -> Package | None:
    """Return the installed distribution that declares a rule; None for other rules."""
    return _RULES.package(name)


def keywords(make: MakeRule) -> tuple[str, ...] | None:
    """Return the names of ``params`` that a rule's class takes; None where it takes any."""
    try:
        parameters = signature(make).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(p.kind is Parameter.VAR_KEYWORD for p in parameters):
        return None
    return tuple(
        p.name for p in parameters if p.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    )
