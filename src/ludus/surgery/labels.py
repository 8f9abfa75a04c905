"""Labels under ``rename`` and ``like``: words of observation columns and choices."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from ludus.flow import GameSpec, HeadSpec, TensorSpec
from ludus.policies.actions.coordinates import Place
from ludus.policies.config import EncoderConfig
from ludus.surgery.plan import Side, SurgeryError

_LABELLED = ("column", "choice")


def _pattern(word: str) -> re.Pattern[str]:
    """Return the pattern of a word between characters that are no letters or digits."""
    return re.compile(rf"(?<![A-Za-z0-9]){re.escape(word)}(?![A-Za-z0-9])")


def replaced(label: str, words: Mapping[str, str]) -> str:
    """Return a label with every word of ``words`` exchanged for another, all at once."""
    if not words:
        return label
    longest = sorted(words, key=len, reverse=True)
    either = "|".join(_pattern(w).pattern for w in longest)
    return re.sub(either, lambda found: words[found.group()], label)


def labels_of(spec: GameSpec) -> list[str]:
    """Return all labels of a spec, each once."""
    parts: list[TensorSpec | HeadSpec] = [*spec.observation, *spec.heads]
    return list(dict.fromkeys(label for part in parts for label in part.labels))


def names_of(spec: GameSpec) -> list[str]:
    """Return the names of all tensors and heads of a spec."""
    return [t.name for t in spec.observation] + [h.name for h in spec.heads]


def _known(spec: GameSpec, word: str, path: str, side: str, names: Sequence[str] = ()) -> None:
    """Raise :class:`SurgeryError` if a word is in no label of a spec and is none of ``names``."""
    labels = labels_of(spec)
    pattern = _pattern(word) if word else None
    if word in names or (pattern is not None and any(pattern.search(label) for label in labels)):
        return
    words = {w for label in labels for w in re.split(r"[^A-Za-z0-9]+", label) if w}
    raise SurgeryError(
        path,
        word,
        f"a word of the {side} game's labels" + (", a tensor or a head" if names else ""),
        valid=sorted({*labels, *words, *names}),
        name=word or "?",
    )


def renamed(old: Side, new: GameSpec, words: Mapping[str, str]) -> Side:
    """Return an old side with the labels, tensors and heads of the new game.

    A tensor or head is renamed where the new game has no other of its old name.

    Raises:
        SurgeryError: A word is in no old label and no name, or its replacement in no new one.
    """
    spec = old.spec
    for before, after in words.items():
        _known(spec, before, "rename", "old", names_of(spec))
        _known(new, after, f"rename.{before}", "new", names_of(new))
    if not words:
        return old
    there = set(labels_of(new))

    def labels(before: tuple[str, ...]) -> tuple[str, ...]:
        both = ((x, replaced(x, words)) for x in before)
        return tuple(y if y in there or x not in there else x for x, y in both)

    def named(parts: Iterable[TensorSpec | HeadSpec]) -> Callable[[str], str]:
        known = {part.name for part in parts}
        return lambda name: words[name] if words.get(name) in known and name not in known else name

    replace = msgspec.structs.replace
    tensor, head = named(new.observation), named(new.heads)
    config = old.config
    if isinstance(config, EncoderConfig):
        config = replace(config, inputs=tuple(map(tensor, config.inputs)))
    return Side(
        config,
        replace(
            spec,
            observation=tuple(
                replace(t, name=tensor(t.name), labels=labels(t.labels)) for t in spec.observation
            ),
            heads=tuple(
                replace(h, name=head(h.name), labels=labels(h.labels), points_at=tensor(h.points_at))
                for h in spec.heads
            ),
        ),
    )


def check_like(old: GameSpec, new: GameSpec, like: Mapping[str, str]) -> None:
    """Raise :class:`SurgeryError` if a word of ``like`` is in no label of its game, or copies nothing."""
    before = set(labels_of(old))
    for child, parent in like.items():
        _known(new, child, "like", "new")
        _known(old, parent, f"like.{child}", "old")
        pattern = _pattern(child)
        added = [x for x in labels_of(new) if x not in before and pattern.search(x)]
        if not any(replaced(x, {child: parent}) in before for x in added):
            raise SurgeryError(f"like.{child}", parent, f"new labels with {child} that {parent} has too")


def parent_of(place: Place, like: Mapping[str, str]) -> Place:
    """Return a place with the labels in it exchanged for the parents' labels."""
    if place[0] in _LABELLED:
        return (*place[:2], replaced(str(place[2]), like))
    return tuple(parent_of(x, like) if isinstance(x, tuple) else x for x in place)


def shown(place: Place) -> str:
    """Return a place in words: ``globals.money``, ``join 0 17``."""
    if place[0] in _LABELLED:
        return f"{place[1]}.{place[2]}"
    return " ".join(shown(x) if isinstance(x, tuple) else str(x) for x in place)


def some(names: Iterable[str], most: int = 8) -> str:
    """Return the first names of a list for a sentence, and how many more there are."""
    every = list(names)
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more
