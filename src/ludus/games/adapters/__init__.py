"""Other people's games behind the protocol of ours. Each module imports its library on first use."""

from __future__ import annotations

#: First part of a reference -> module with ``maker(name, params)``, extra of the package, what it hosts.
ADAPTERS: dict[str, tuple[str, str, str]] = {
    "gymnasium": ("ludus.games.adapters.gymnasium", "gymnasium", "any environment that Gymnasium knows"),
}
