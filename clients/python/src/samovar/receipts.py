"""What a client is told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .packing import Unreadable, unpack
from .places import OutputPlace
from .protocol.received import Outcome


@dataclass(frozen=True, slots=True)
class Applied:
    """The input is applied, and its turn is on disk."""

    turn: int
    #: In which the turn counts; in another one it is another turn, or there is none.
    timeline: bytes | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Refused:
    """The program turned it away, with this value."""

    value: Any
    turn: int
    timeline: bytes | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Rejected:
    """It was not taken, and will never be: it is no input of the program, a gate has said no, or it was never sent."""

    text: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nobody can tell whether it was applied."""

    reason: str


#: What became of an input.
Receipt: TypeAlias = Applied | Refused | Rejected | Unknown


@dataclass(frozen=True, slots=True)
class View:
    """What outsiders see of the state after a turn."""

    turn: int
    value: Any
    timeline: bytes


@dataclass(frozen=True, slots=True)
class Output:
    """What a program has emitted; keep the place with what is made of the value."""

    place: OutputPlace
    value: Any


def turn_of(turn: int | Applied | Refused) -> tuple[int, bytes | None]:
    """The turn, and of which timeline it is, if that is known."""
    return (turn, None) if isinstance(turn, int) else (turn.turn, turn.timeline)


def receipt_of(outcome: Outcome, timeline: bytes | None = None) -> Receipt:
    match outcome.verdict, outcome.detail:
        case 1, bytes(refusal):
            try:
                return Refused(unpack(refusal), outcome.turn, timeline)
            except Unreadable as error:
                return Rejected(f"refused, with a reason that cannot be read: {error}")
        case 2, str(text):
            return Rejected(text)
    return Applied(outcome.turn, timeline)
