"""Texts within the limits of docs/protocol.md."""

from __future__ import annotations

CHARACTERS = 1_000
BYTES = 4_000


def bounded(text: str, characters: int = CHARACTERS, size: int = BYTES) -> str:
    """The text, or of a longer one the beginning and how many bytes it had."""
    encoded = text.encode(errors="replace")
    if len(text) <= characters and len(encoded) <= size:
        return encoded.decode()
    end = f"… ({len(encoded)} bytes)"
    kept = encoded.decode()[: characters - len(end)].encode()[: size - len(end.encode())]
    return kept.decode(errors="ignore") + end
