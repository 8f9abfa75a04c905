"""The key that authenticates a user's own checkpoints.

A checkpoint's match states are copied into the core's memory byte by byte, so only states that this user's
own runs wrote may be restored. ``key`` in the user's state folder (:mod:`ludus.storage.user_state`) holds 32
random bytes with mode 0600; a signature is HMAC-SHA256 with it.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets

from ludus.storage.errors import StorageError
from ludus.storage.user_state import read_private, state_folder, write_private

KEY_FILE = "key"
KEY_BYTES = 32
_READABLE_BY_OTHERS = 0o077


class NoKey(StorageError):
    """This user has no key and none can be stored. The message gives the reason."""


def user_key() -> bytes:
    """Return the user's key, created at first use. Raises ``NoKey``."""
    try:
        key = read_private(KEY_FILE, KEY_BYTES)
        if key is None:
            write_private(KEY_FILE, secrets.token_bytes(KEY_BYTES), replace=False)
            key = read_private(KEY_FILE, KEY_BYTES)
        path = state_folder() / KEY_FILE
        mode = path.stat().st_mode
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise NoKey(f"no key can be stored ({where}{error.strerror or error})") from error
    except StorageError as error:
        raise NoKey(f"no key can be stored ({error})") from error
    if key is None or len(key) != KEY_BYTES:
        raise NoKey(
            f"{path}: {len(key or b'')} bytes, expected a key of {KEY_BYTES}; remove it for a new one"
        )
    if mode & _READABLE_BY_OTHERS:
        raise NoKey(f"{path}: another user may read it; remove it for a new one")
    return key


def sign(message: bytes) -> str:
    """Return the signature of ``message`` in hexadecimal. Raises ``NoKey``."""
    return hmac.new(user_key(), message, hashlib.sha256).hexdigest()


def is_signed(message: bytes, signature: str) -> bool:
    """Whether this user's key signed ``message``; False without a key."""
    try:
        expected = sign(message)
    except NoKey:
        return False
    return hmac.compare_digest(expected.encode(), signature.encode(errors="replace"))


def why_unsigned() -> str:
    """Return the reason why :func:`is_signed` refused a signature, for a message."""
    try:
        user_key()
    except NoKey as error:
        return str(error)
    return f"not signed with this user's key, {state_folder() / KEY_FILE}"
