"""Explanation of a game under its parameters: declared texts, numbers of the rulebook, names of the spec."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from ludus.flow.names import nearest
from ludus.flow.spec import GameSpec, HeadSpec
from ludus.games.guides.declared import MAX_TEXT, ChoiceText, GuideText, PartText, text_of
from ludus.games.guides.guide import ChoiceGuide, Guide, PieceGuide
from ludus.games.guides.pieces import bots_of, keys_of, pieces_of, title_of, units_of, with_article
from ludus.games.registry import BUILT_IN
from ludus.games.registry import spec as spec_of

EVERY = "*"  #: label of a text for all choices of a head
MANY_LABELS = 64  # a head with more is explained as a whole
_ANSWERS = ("no", "yes")
_LONGEST_VALUE = 40  # of a parameter that a text names
_NUMBER = re.compile(r"\{([a-z][a-z0-9_.]{0,80})\}")


def guide_of(game: str, params: Mapping[str, Any]) -> Guide:
    """Return the explanation of a game.

    A game without declared texts is explained by its spec. So is one whose texts cannot be used; ``problem``
    of its guide is the reason, or a name in the texts that the game does not have.

    Args:
        game: Name of the game.
        params: Parameters of the match.

    Raises:
        ValueError: There is no such game, or it has no such parameters.
    """
    spec = spec_of(game, dict(params))
    try:
        text = text_of(game, dict(params))
        found = explained(spec, text or GuideText(), params)
    except ValueError as error:
        found = explained(spec, GuideText(), params)
        return msgspec.structs.replace(found, problem=_short(" ".join(str(error).split())))
    wrong = "" if text is None or game in BUILT_IN else next(_misspelt(text, spec), "")
    return msgspec.structs.replace(found, problem=wrong) if wrong else found


def explained(spec: GameSpec, text: GuideText, params: Mapping[str, Any]) -> Guide:
    """Return the explanation of ``spec`` by ``text``."""
    units = units_of(spec.name, text.units, params) if text.units else {}
    pieces = pieces_of(units, text.pieces)
    if not units:
        pieces = tuple(PieceGuide(n, t.title or title_of(n), t.does) for n, t in text.pieces.items())
    bots = {**(bots_of(spec.name, params) if text.units else {}), **text.bots}
    known = {piece.name: piece for piece in pieces}
    values = {p.name: p.default_value for p in spec.params}
    values |= {name: str(value) for name, value in params.items()}
    values |= keys_of(spec.name, params) if text.units else {}
    parts: list[GuideText | PartText] = [text, *(part for part in text.when if _counts(part, values))]

    def last(field: str) -> str:
        return next((said for part in reversed(parts) if (said := str(getattr(part, field)))), "")

    return _with_numbers(
        Guide(
            aim=last("aim") or sentence(spec.meaning or spec.title),
            how=tuple(line for part in parts for line in part.how),
            win=last("win"),
            lose=last("lose"),
            draw=last("draw"),
            choices={head.name: _head(head, text.choices.get(head.name, {}), known) for head in spec.heads},
            pieces=pieces,
            legend=text.legend,
            words=text.words,
            bots={bot.name: bots.get(bot.name) or sentence(bot.meaning) for bot in spec.bots},
        ),
        values,
    )


def _counts(part: PartText, values: Mapping[str, str]) -> bool:
    """Return whether a part's texts count in a match whose parameters are ``values``."""
    return all(values.get(name) in wanted for name, wanted in part.params.items())


def _with_numbers(guide: Guide, values: Mapping[str, str]) -> Guide:
    """Return a guide with the numbers of its match in place of ``{NAME}``."""

    def value(found: re.Match[str]) -> str:
        known = values.get(found[1], "")
        short = 0 < len(known) <= _LONGEST_VALUE and "\n" not in known
        return _plain(known) if short else found[0]

    def filled(part: object) -> object:
        if isinstance(part, str):
            return _NUMBER.sub(value, part)
        if isinstance(part, dict):
            return {name: filled(inner) for name, inner in part.items()}
        return [filled(inner) for inner in part] if isinstance(part, (list, tuple)) else part

    return msgspec.convert(filled(msgspec.to_builtins(guide)), Guide)


def _plain(value: str) -> str:
    """Return a value as people write it: ``3.0`` as 3, a list with spaces."""
    return value.removesuffix(".0") if value[:-2].isdigit() else title_of(value).replace(",", ", ")


def _misspelt(text: GuideText, spec: GameSpec) -> Iterator[str]:
    """Yield a sentence on each name of the texts that is nearly one of the game's.

    Other names that the game does not have may be its names under other parameters.
    """

    def near(path: str, named: Iterable[str], there: Iterable[str]) -> Iterator[str]:
        names, valid = set(named), set(there)
        free = sorted(valid - names)[:MANY_LABELS]
        strange = sorted(name[:80] for name in names - valid if EVERY not in name)
        for name in strange[:MANY_LABELS]:
            if meant := nearest(name, free, 0.8):
                yield f"guide of {spec.name}: {path}{name}: no such name (did you mean {meant}?)"

    yield from near("choices.", text.choices, (head.name for head in spec.heads))
    for head in spec.heads:
        yield from near(f"choices.{head.name}.", text.choices.get(head.name, {}), head.labels)
    params = {name for part in text.when for name in part.params}
    yield from near("when.params.", params, (p.name for p in spec.params))
    yield from near("bots.", text.bots, (bot.name for bot in spec.bots))


def _short(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}\N{HORIZONTAL ELLIPSIS}"


def sentence(text: str) -> str:
    """Return ``text`` with a capital and a full stop."""
    plain = _short(text.strip())
    return f"{plain[:1].upper()}{plain[1:]}" + ("" if plain[-1:] in ("", ".", "!", "?") else ".")


def _head(
    head: HeadSpec, texts: Mapping[str, ChoiceText], pieces: Mapping[str, PieceGuide]
) -> dict[str, ChoiceGuide]:
    """Return one text a label of a head; one text for the whole head if it has many labels or none.

    Single choices of a head without labels may have a separate text, by their number.
    """
    whole = texts.get(EVERY) or ChoiceText(sentence(head.meaning or title_of(head.name)))
    labels = head.labels if len(head.labels) <= MANY_LABELS and head.labels != _ANSWERS else ()
    if not labels or ("{name}" not in whole.does and not any(_fits(label, texts) for label in labels)):
        single = (
            {} if head.labels else {k: t for k, t in texts.items() if k.isdecimal() and int(k) < head.size}
        )
        return {**{k: _filled(t, k, pieces) for k, t in single.items()}, EVERY: _filled(whole, EVERY, pieces)}
    return {label: _filled(*_fitting(label, texts, whole), pieces) for label in head.labels}


def _fits(label: str, texts: Iterable[str]) -> bool:
    """Return whether a text is about this label in particular."""
    return any(p != EVERY and fnmatch.fnmatchcase(label, p) for p in texts)


def _fitting(label: str, texts: Mapping[str, ChoiceText], whole: ChoiceText) -> tuple[ChoiceText, str]:
    """Return the text of a label, and the part of the label that its star stands for."""
    if label in texts:
        return texts[label], label
    for pattern in sorted((p for p in texts if EVERY in p and p != EVERY), key=len, reverse=True):
        if fnmatch.fnmatchcase(label, pattern):
            head, _, tail = pattern.partition(EVERY)
            return texts[pattern], label[len(head) : len(label) - len(tail)]
    return whole, label


def _filled(text: ChoiceText, star: str, pieces: Mapping[str, PieceGuide]) -> ChoiceGuide:
    """Return a choice with the numbers of the unit that it makes."""
    piece = pieces.get(star if text.piece == EVERY else text.piece)
    title = piece.title if piece else title_of(star)
    cost = piece.cost if piece else 0.0
    makers = " or ".join(pieces[name].title for name in piece.made_by if name in pieces) if piece else ""

    def fill(line: str) -> str:
        made = line.replace("a {piece}", with_article(title)).replace("{piece}", title)
        made = made.replace("{cost}", f"{cost:g}").replace("{makers}", makers)
        return made.replace("{name}", title_of(star))

    return ChoiceGuide(fill(text.does), fill(text.needs), cost)
