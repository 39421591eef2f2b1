"""SipHash-2-4 (Aumasson, Bernstein), the checksum of an outbox: a tenth of a millisecond for what people send, and a third of a
second for a mebibyte.
"""

from __future__ import annotations

_MASK = (1 << 64) - 1


def siphash(data: bytes, low: int, high: int) -> int:
    """The hash of 64 bits under a key of two words."""
    v0, v1 = low ^ 0x736F6D6570736575, high ^ 0x646F72616E646F6D
    v2, v3 = low ^ 0x6C7967656E657261, high ^ 0x7465646279746573
    padded = data + bytes(-(len(data) + 1) % 8) + bytes([len(data) & 0xFF])
    for place in range(0, len(padded), 8):
        word = int.from_bytes(padded[place : place + 8], "little")
        v0, v1, v2, v3 = _rounds(2, v0, v1, v2, v3 ^ word)
        v0 ^= word
    v0, v1, v2, v3 = _rounds(4, v0, v1, v2 ^ 0xFF, v3)
    return v0 ^ v1 ^ v2 ^ v3


def _rounds(count: int, v0: int, v1: int, v2: int, v3: int) -> tuple[int, int, int, int]:
    for _ in range(count):
        v0 = (v0 + v1) & _MASK
        v1 = ((v1 << 13 | v1 >> 51) & _MASK) ^ v0
        v0 = (v0 << 32 | v0 >> 32) & _MASK
        v2 = (v2 + v3) & _MASK
        v3 = ((v3 << 16 | v3 >> 48) & _MASK) ^ v2
        v0 = (v0 + v3) & _MASK
        v3 = ((v3 << 21 | v3 >> 43) & _MASK) ^ v0
        v2 = (v2 + v1) & _MASK
        v1 = ((v1 << 17 | v1 >> 47) & _MASK) ^ v2
        v2 = (v2 << 32 | v2 >> 32) & _MASK
    return v0, v1, v2, v3
