"""Parameters of a game's rules against its declaration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ludus.flow.inputs.shown import shell
from ludus.flow.inputs.whole import number_of
from ludus.flow.problem import Problem, near_of
from ludus.flow.spec import GameSpec, ParamSpec
from ludus.presets.config import ParamValue


def param_problems(
    params: Mapping[str, ParamValue],
    declared: GameSpec,
    prefix: str = "game.params.",
    reference: str = "",
) -> Iterator[Problem]:
    """Yield every mistake of ``params`` against the game's declaration.

    ``reference``: how the game was named, where that is not its own name.
    """
    known = {p.name: p for p in declared.params}
    show = f"; see: ludus games show {shell(reference or declared.name)}"
    for key, value in params.items():
        path = prefix + key
        if key not in known:
            near = near_of(key, known, "parameters")
            yield Problem(path, f"unknown parameter {path}", value, near=near, more=show)
        elif not _param_fits(value, known[key]):
            want = _param_expected(known[key])
            near = near_of(str(value), known[key].choices if known[key].kind == "text" else (), kind="")
            yield Problem(path, value=value, expected=want, near=near, more=show)


def _param_fits(value: ParamValue, param: ParamSpec) -> bool:
    if isinstance(value, bool) and param.choices != ("false", "true"):
        return False
    text = value if isinstance(value, str) else repr(value).lower()
    if param.kind == "text":
        return not param.choices or text in param.choices
    number = number_of(text)
    if number is None or (param.kind == "integer" and not isinstance(number, int)):
        return False
    return param.low <= number <= param.high


def _param_expected(param: ParamSpec) -> str:
    if param.choices == ("false", "true"):
        return "true or false"
    if param.kind == "text":
        return "one of " + ", ".join(param.choices) if param.choices else "a string"
    return param.expected
