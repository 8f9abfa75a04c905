"""Arguments of the public Python API."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from ludus.flow.inputs.whole import whole
from ludus.flow.names import did_you_mean

P = ParamSpec("P")
R = TypeVar("R")

#: Annotations of arguments that take an integer.
_INTEGERS = ("int", "int | None")


def _integer(name: str, value: object) -> object:
    found = whole(getattr(value, "tolist", lambda: value)())  # numpy's numbers
    if isinstance(found, bool) or not isinstance(found, (int, type(None))):
        raise ValueError(f"{name} = {value!r}: expected an integer")
    return found


def takes_options(declared: type, defaults: object) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator for a function of ``**options: Unpack[declared]``.

    The signature that ``help`` and notebooks show lists the options one by one; an unknown one raises
    ``TypeError`` with the nearest name.

    Args:
        declared: A ``TypedDict``: option -> type.
        defaults: An object whose attributes are the defaults of the options.
    """
    options = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=getattr(defaults, name),
            annotation=getattr(kind, "__forward_arg__", kind),
        )
        for name, kind in declared.__annotations__.items()
    ]

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        named = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        known = [p.name for p in (*named, *options)]
        integers = {p.name for p in (*named, *options) if p.annotation in _INTEGERS}

        @functools.wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            for name in kwargs:
                if name not in known:
                    hint = did_you_mean(name, known)
                    raise TypeError(
                        f"{function.__name__}() got an unexpected keyword argument '{name}'{hint}"
                    )
            for name in integers & kwargs.keys():
                kwargs[name] = _integer(name, kwargs[name])
            return function(*args, **kwargs)

        called.__signature__ = signature.replace(parameters=[*named, *options])  # type: ignore[attr-defined]
        return called

    return decorate
