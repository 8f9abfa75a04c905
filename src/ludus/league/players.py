"""Names of frozen players: ``MEMBER:VERSION``, as in ``RUN@MEMBER:VERSION``."""

from __future__ import annotations


def player_of(member: str, version: int) -> str:
    """Return the name of the player that a member's weights of ``version`` are."""
    return f"{member}:{version}"


def member_and_version(player: str) -> tuple[str, int]:
    """Return the arguments of :func:`player_of` that give ``player``.

    Raises ``ValueError`` for the name of a member or a bot.
    """
    member, _, version = player.partition(":")
    return member, int(version)
