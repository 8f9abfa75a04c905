"""Encoders of users: torch modules that replace a network's torsos, by name.

A preset sets ``policy.encoder = "mine"``, a program registers the class:

    ludus.register_encoder("mine", Mine)

An installed package declares its encoders instead, so that every command finds them:

    [project.entry-points."ludus.encoders"]
    mine = "my_package.encoders:Mine"

Names also come from weights files: a name selects among these and never imports anything. torch is
imported with the first encoder that is made, not by this module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, cast

from ludus.codecs.layout import TensorLayout
from ludus.flow.names import did_you_mean
from ludus.flow.process.extensions import Extensions, Package

if TYPE_CHECKING:
    from torch import nn

#: Layouts of the observations by name -> a module with ``size``, the width of its features.
EncoderFactory = Callable[[Mapping[str, TensorLayout]], "nn.Module"]


def _checked(value: object) -> EncoderFactory:
    if not callable(value):
        raise ValueError("cannot be called; an encoder is a torch.nn.Module class that takes the layouts")
    return cast(EncoderFactory, value)


_ENCODERS: Extensions[EncoderFactory] = Extensions("ludus.encoders", "encoder", {}, _checked)


def register_encoder(name: str, encoder: EncoderFactory | str) -> None:
    """Make ``encoder`` the one for ``policy.encoder = name``, in this process.

    Registering a name again replaces its encoder.

    Args:
        name: As in presets and weights: letters, digits and ``_ - . /``.
        encoder: A ``torch.nn.Module`` class, or a function that makes one, called with the layouts of the
            observations by name (``kind``: planes, rows or vector; ``shape``). The module has ``size``, and
            its ``forward`` takes the observations by name, ``float32[N, *shape]``, and gives
            ``float32[N, size]``. Or ``"my_package.encoders:Mine"``, imported when it is first needed.

    Raises:
        ExtensionError: A ``ValueError``: a name of other characters, or nothing to call.
    """
    _ENCODERS.register(name, encoder)


def encoder_problem(name: str) -> str:
    """Return the reason why no encoder has this name; "" if one has.

    Raises:
        ExtensionError: The package of the encoder is broken.
    """
    if not name or _ENCODERS.find(name) is not None:
        return ""
    known = _ENCODERS.names()
    near = did_you_mean(name, known, "registered") if known else " (none is registered)"
    return f"unknown encoder {name[:80]!r}{near}; register it first: ludus.register_encoder(NAME, CLASS)"


def encoder_package(name: str) -> Package | None:
    """Return the installed distribution that declares an encoder; None for other encoders."""
    return _ENCODERS.package(name)


def encoder_is_registered(name: str) -> bool:
    """Return whether a program has registered an encoder, which only its own process knows."""
    return _ENCODERS.is_registered(name)


def make_encoder(name: str, layouts: Mapping[str, TensorLayout], seed: int | None) -> nn.Module:
    """Return the module of an encoder for these observations, its initial weights drawn with ``seed``.

    Raises:
        ValueError: The name is unknown, or the module breaks the contract.
    """
    import torch
    from torch import nn

    if problem := encoder_problem(name):
        raise ValueError(f"policy.encoder: {problem}")
    factory = _ENCODERS.find(name)
    assert factory is not None
    from ludus.policies.actions.own_draws import foreign_draws

    with foreign_draws(0 if seed is None else seed):
        try:
            made: object = factory(dict(layouts))
        except Exception as error:
            raise ValueError(
                f"policy.encoder = {name!r}: making it failed: {type(error).__name__}: {error}"
            ) from error
    if not isinstance(made, nn.Module):
        raise ValueError(f"policy.encoder = {name!r}: {type(made).__name__}, expected a torch.nn.Module")
    size: object = getattr(made, "size", None)
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        raise ValueError(
            f"policy.encoder = {name!r}: {type(made).__name__}.size is {size!r}, expected the width of its "
            "features, an integer from 1"
        )
    for part, tensor in (*made.named_parameters(), *made.named_buffers()):
        wanted = (torch.float32,) if isinstance(tensor, nn.Parameter) else (torch.float32, torch.int64)
        if tensor.dtype not in wanted:
            kinds = " or ".join(str(kind).removeprefix("torch.") for kind in wanted)
            raise ValueError(f"policy.encoder = {name!r}: {part} is {tensor.dtype}, expected {kinds}")
    return made
