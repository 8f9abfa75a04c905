"""``ludus games list | show | check``."""

from __future__ import annotations

from typing import Annotated

import msgspec

from ludus.cli import console
from ludus.cli.arguments import option, positional
from ludus.cli.errors import DONE, CheckError
from ludus.flow.spec import GameSpec, ParamSpec, TensorSpec

JSON = option("one JSON document on stdout")


class GamesList(msgspec.Struct, frozen=True):
    """The games that can be played here: built in, and installed as packages."""

    json: Annotated[bool, JSON] = False

    def run(self) -> int:
        from ludus.games import list_games, spec

        specs = [spec(name) for name in list_games()]
        if self.json:
            console.document(
                [
                    {
                        "name": s.name,
                        "title": s.title,
                        "version": s.version,
                        "seats": s.seats,
                        "bots": [b.name for b in s.bots],
                        "default_frame_skip": s.default_frame_skip,
                    }
                    for s in specs
                ]
            )
        else:
            rows = [(s.name, str(s.seats), ", ".join(b.name for b in s.bots) or "-", s.title) for s in specs]
            console.result(console.table(rows, ("game", "seats", "bots", "")))
        return DONE


class GamesShow(msgspec.Struct, frozen=True):
    """What a game declares: parameters, bots, observation tensors and action heads."""

    game: Annotated[str, positional("a game's name, or the path of a compiled game")]
    param: Annotated[tuple[str, ...], option("a parameter of the rules; may be repeated", "NAME=VALUE")] = ()
    json: Annotated[bool, JSON] = False

    def run(self) -> int:
        from ludus.cli.params import game_spec, read_params

        spec = game_spec(self.game, read_params(self.param))
        if self.json:
            console.document({**msgspec.to_builtins(spec), "spec_hash": spec.spec_hash})
        else:
            console.result(describe(spec))
        return DONE


class GamesCheck(msgspec.Struct, frozen=True):
    """Whether a game keeps the contract: determinism, cloning, masks, ranges, refusals, ends, replays.

    Exit code 3 if it does not."""

    game: Annotated[str, positional("a game's name, or the path of a compiled game")]
    matches: Annotated[int, msgspec.Meta(ge=1), option("matches to play", "N")] = 20
    seed: Annotated[int, msgspec.Meta(ge=0), option("of the matches", "N")] = 1
    param: Annotated[tuple[str, ...], option("a parameter of the rules; may be repeated", "NAME=VALUE")] = ()
    json: Annotated[bool, JSON] = False

    def run(self) -> int:
        from ludus.cli.params import game_spec, read_params
        from ludus.games import check_game

        params = read_params(self.param)
        game_spec(self.game, params)
        report = check_game(self.game, params, matches=self.matches, seed=self.seed)
        if self.json:
            console.document({**msgspec.to_builtins(report), "passed": report.passed})
        else:
            rows = [("ok" if f.passed else "FAILED", f.check, f.detail) for f in report.findings]
            console.result(console.table(rows))
            console.result(
                f"{report.game}: {report.ns_per_tick:.1f} ns a tick, state {report.state_bytes} bytes, "
                f"cloned in {report.clone_ns:.1f} ns"
            )
        failed = [f.check for f in report.findings if not f.passed]
        if failed:
            raise CheckError(
                f"{report.game}: {len(failed)} of {len(report.findings)} checks failed: {', '.join(failed)}"
            )
        return DONE


def describe(spec: GameSpec) -> str:
    """A page of text about a game."""
    how = "turn by turn" if spec.turn_based else "all seats at once"
    sees = "everything" if spec.perfect_information else "what its own seat may see"
    parts = [
        f"{spec.name}: {spec.title} (version {spec.version})",
        *([spec.meaning] if spec.meaning else []),
        f"{spec.seats} seats, {how}; a policy sees {sees}; at most {spec.max_ticks} ticks; "
        f"frame skip {spec.default_frame_skip} by default; spec {spec.spec_hash}",
    ]
    if spec.bots:
        parts += ["", "bots", console.table([(b.name, b.meaning) for b in spec.bots], indent="  ")]
    if spec.params:
        rows = [(p.name, p.default_value, _range(p), p.meaning) for p in spec.params]
        parts += ["", "parameters", console.table(rows, ("name", "default", "range", ""), indent="  ")]
    rows = [(t.name, _shape(t), t.codec, t.meaning) for t in spec.observation]
    parts += ["", "observation", console.table(rows, ("tensor", "", "codec", ""), indent="  ")]
    heads = [(h.name, str(h.size), ", ".join(h.labels) or h.meaning) for h in spec.heads]
    parts += ["", "actions", console.table(heads, ("head", "size", ""), indent="  ")]
    return "\n".join(parts)


def _range(param: ParamSpec) -> str:
    if param.kind == "text":
        return "|".join(param.choices) or "text"
    return f"{param.low:g}..{param.high:g}"


def _shape(tensor: TensorSpec) -> str:
    return f"{tensor.dtype}[{', '.join(map(str, tensor.shape))}]"
