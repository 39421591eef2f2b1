"""MessagePack, as docs/protocol.md has it: text is `str`, bytes are `bin`, and nothing is an extension."""

from __future__ import annotations

from typing import Any

import msgpack


class Unreadable(ValueError):
    """Bytes that are not the MessagePack they should be."""


def pack(value: Any) -> bytes:
    """The value in MessagePack.

    Raises TypeError, ValueError or OverflowError for what MessagePack cannot say.
    """
    packed: bytes = msgpack.packb(value, use_bin_type=True)
    return packed


def unpack(data: bytes) -> Any:
    """The one value of these bytes. Raises `Unreadable`."""
    return unpack_sequence(data, 1)[0][0]


def unpack_sequence(data: bytes, count: int, optional: int = 0) -> tuple[list[Any], list[Any]]:
    """Exactly `count` values, at most 15, one after the other; and those behind them, of which there may be `optional`.

    Raises `Unreadable` if something is missing or follows.
    """
    # With the header of an array before them, the values are one.
    values, data = _unpack_first(bytes([0x90 | count]) + data)
    more: list[Any] = []
    while data and len(more) < optional:
        value, data = _unpack_first(data)
        more.append(value)
    if data:
        raise Unreadable("bytes after the end")
    return values, more


def _unpack_first(data: bytes) -> tuple[Any, bytes]:
    """A value, and what follows it."""
    try:
        return _unpack(data), b""
    except msgpack.ExtraData as error:
        return error.unpacked, bytes(error.extra)


def _unpack(data: bytes) -> Any:
    try:
        return msgpack.unpackb(data, raw=False, strict_map_key=False)
    except msgpack.ExtraData:
        raise
    # Every way in which msgpack says so: cut off, no text, nested too deep, a key that cannot be one.
    except (ValueError, TypeError, RecursionError, msgpack.UnpackException) as error:
        raise Unreadable(f"no MessagePack: {error}") from None
