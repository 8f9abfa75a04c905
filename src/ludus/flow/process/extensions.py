"""Extension tables, open to packages outside of Ludus: codecs, views of games, learning methods.

A name is looked up among the registered objects, then among those that come with Ludus, then among the entry
points of installed distributions. Names also come from untrusted files: a name selects among these objects
and never determines an import.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./-]{0,127}")
_REFERENCE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


class ExtensionError(ValueError):
    """An extension that cannot be used; the message names its package."""


class Package(NamedTuple):
    """An installed distribution. ``noun``: word for its extension in messages; ``extension``: its name."""

    noun: str
    extension: str
    distribution: str
    version: str


def package_of(entry: EntryPoint, noun: str) -> Package | None:
    """Return the distribution that declares an entry point; None where it has no name."""
    about = getattr(entry, "dist", None)
    return Package(noun, entry.name, about.name, about.version) if about is not None else None


class Extensions(Generic[T]):
    """Objects by name. Any thread may look up; the object of a name never changes once it was used."""

    def __init__(
        self,
        group: str,
        noun: str,
        built_in: Mapping[str, T | str],
        check: Callable[[object], T],
    ) -> None:
        """Create a table without registered objects.

        Args:
            group: Group of the entry points.
            noun: Word for an object in messages.
            built_in: Objects of Ludus, or ``module:attribute``.
            check: Converts a loaded value to an object of the table. Raises ``ValueError`` that names the
                missing part.
        """
        self.group, self.noun = group, noun
        self._built_in = built_in
        self._check = check
        self._registered: dict[str, T | str] = {}
        self._found: dict[str, T] = {}

    def register(self, name: str, value: object) -> None:
        """Add an object, or the ``module:attribute`` that is imported when the name is first used.

        A module that is loaded a second time replaces its own objects.

        Raises:
            ExtensionError: Not a name, a name that is taken, or an object that the table cannot use.
        """
        if _NAME.fullmatch(name) is None:
            raise ExtensionError(f"{self.noun} {name[:80]!r}: expected letters, digits and _ - . / as a name")
        if name in self._built_in:
            raise ExtensionError(f"{self.noun} {name!r}: the name of a {self.noun} that comes with Ludus")
        made: T | str
        if isinstance(value, str):
            if _REFERENCE.fullmatch(value) is None:
                raise ExtensionError(f"{self.noun} {name!r}: {value!r}, expected module:attribute")
            made = value
        else:
            made = self._checked(name, value, f"{type(value).__name__}")
        before = self._registered.get(name)
        if before is not None and _origin(before) != _origin(made):
            raise ExtensionError(
                f"{self.noun} {name!r}: registered by {_origin(before)}, and again by {_origin(made)}"
            )
        self._registered[name] = made
        self._found.pop(name, None)

    def find(self, name: str) -> T | None:
        """Return the object of ``name``, or None. Raises :class:`ExtensionError` if its package is broken."""
        found = self._found.get(name)
        if found is not None:
            return found
        value = self._registered.get(name, self._built_in.get(name))
        if value is None:
            found = self._from_entry_point(name)
            if found is None:
                return None
        elif isinstance(value, str):
            module, _, attribute = value.partition(":")
            try:
                loaded: object = getattr(import_module(module), attribute)
            except Exception as error:
                raise ExtensionError(
                    f"{self.noun} {name!r}, registered as {value}: {type(error).__name__}: {error}"
                ) from error
            found = self._checked(name, loaded, value)
        else:
            found = value
        self._found[name] = found
        return found

    def package(self, name: str) -> Package | None:
        """Return the distribution that brings the object of ``name``; None for other objects."""
        if name in self._built_in or name in self._registered or _NAME.fullmatch(name) is None:
            return None
        entries = self._entry_points(name)
        return package_of(entries[0], self.noun) if entries else None

    def is_registered(self, name: str) -> bool:
        """Return whether the object of ``name`` was registered in this process."""
        return name in self._registered

    def local_names(self) -> list[str]:
        """Return the names that need no look at other distributions, those that come with Ludus first."""
        return [*self._built_in, *(n for n in self._registered if n not in self._built_in)]

    def names(self) -> list[str]:
        """Return all names, sorted."""
        return sorted({*self._built_in, *self._registered, *(e.name for e in self._entry_points())})

    def _entry_points(self, name: str = "") -> list[EntryPoint]:
        from importlib.metadata import entry_points  # slow to load, and most names do not need it

        found = entry_points(group=self.group, name=name) if name else entry_points(group=self.group)
        return [e for e in found if _NAME.fullmatch(e.name) is not None]

    def _from_entry_point(self, name: str) -> T | None:
        if _NAME.fullmatch(name) is None:
            return None
        entries = {f"{e.value} of {_distribution(e)}": e for e in self._entry_points(name)}
        if not entries:
            return None
        if len(entries) > 1:
            raise ExtensionError(
                f"{self.noun} {name!r} is declared several times ({', '.join(sorted(entries))}); "
                "uninstall all but one"
            )
        ((where, entry),) = entries.items()
        try:
            loaded: object = entry.load()
        except Exception as error:
            raise ExtensionError(
                f"{self.noun} {name!r}: the entry point {where} cannot be loaded: "
                f"{type(error).__name__}: {error}"
            ) from error
        return self._checked(name, loaded, f"the entry point {where}")

    def _checked(self, name: str, value: object, where: str) -> T:
        try:
            return self._check(value)
        except Exception as error:
            raise ExtensionError(f"{self.noun} {name!r}: {where} {error}") from error


def _distribution(entry: EntryPoint) -> str:
    package = package_of(entry, "")
    return f"{package.distribution} {package.version}" if package else "an unnamed distribution"


def _origin(value: object) -> str:
    """Return where an object comes from, the same for a module that was loaded twice."""
    if isinstance(value, str):
        return value
    made = type(value)
    file = getattr(sys.modules.get(made.__module__), "__file__", None) or made.__module__
    return f"{made.__qualname__} of {file}"
