"""Where an output is among all that a program has emitted."""

from __future__ import annotations

from typing import NamedTuple


class OutputPlace(NamedTuple):
    """Turn and ordinal of an output, in the journal of a timeline; None for whichever the store has.

    Who keeps the place of the last output dealt with, together with what was made of it, hears each output exactly once.
    """

    turn: int = 0
    ordinal: int = 0
    timeline: bytes | None = None

    def __str__(self) -> str:
        """`turn/ordinal`, with the timeline and a slash before it where it is known."""
        place = f"{self.turn}/{self.ordinal}"
        return place if self.timeline is None else f"{name_of(self.timeline)}/{place}"

    @classmethod
    def parse(cls, text: str) -> OutputPlace:
        """Reads what `str` gave. Raises ValueError."""
        *timeline, turn, ordinal = text.split("/")
        of = bytes.fromhex(timeline[0].replace("-", "")) if timeline else None
        if len(timeline) > 1 or int(turn) < 0 or int(ordinal) < 0 or (of is not None and len(of) != 16):
            raise ValueError(f"not the place of an output: {text}")
        return cls(int(turn), int(ordinal), of)


def name_of(timeline: bytes) -> str:
    """A timeline as people and keys of jobs have it: a UUID in small letters."""
    digits = timeline.hex()
    return "-".join([digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]])
