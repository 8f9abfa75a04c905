"""Packages that can be called: ``ludus.train(...)`` where ``ludus.train`` is a package too."""

from __future__ import annotations

import sys
from types import ModuleType


class CallablePackage(ModuleType):
    """A package ``ludus.NAME`` that is callable as the public function ``ludus.NAME``.

    Importing a module of the package rebinds the name in ``ludus`` to the package, so the package must
    forward the call.
    """

    def __call__(self, *args: object, **kwargs: object) -> object:
        root, _, name = self.__name__.rpartition(".")
        return sys.modules[root].function(name)(*args, **kwargs)


def make_callable(package: str) -> None:
    """Called by the package itself, with its ``__name__``."""
    sys.modules[package].__class__ = CallablePackage
