"""Frames as they are sent: docs/protocol.md, section 2."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple, TypeAlias

from ..packing import pack

MAGIC = b"SMV1"
VERSION = 1
HEADER = struct.Struct(">4sBBH16sq")
NO_TIMELINE = bytes(16)
MAIN = "main"

#: The store's start number, and a counter: of two leases, the greater one is the newer.
Lease: TypeAlias = tuple[int, int]


class Kind(IntEnum):
    HELLO = 1
    WELCOME = 2
    ERROR = 3
    PING = 4
    PONG = 5
    GOODBYE = 6
    DRAIN = 7
    SEND = 16
    RECEIPT = 17
    SETTLE = 18
    SETTLED = 19
    WAITING = 20
    VIEW_REQUEST = 21
    VIEW = 22
    TICK = 23
    OUTPUTS_REQUEST = 24
    OUTPUTS = 25
    VIEWS_REQUEST = 26
    VIEWS = 27
    CREDIT = 32
    TASK = 33
    RESULT = 34
    ACKNOWLEDGE = 35
    CANCEL = 36
    STREAMED = 37
    PROGRESS = 38
    REQUEST = 48
    REPLY = 49


class Flag(IntEnum):
    #: In HELLO: I take proofs.
    TAKES_PROOFS = 1
    #: In SEND: the session ends with the last input, if that is applied. In HELLO: I have sent such an input.
    ENDS_SESSION = 2


@dataclass(frozen=True, slots=True)
class Frame:
    """What a peer sends. The timeline is added when it leaves."""

    kind: Kind
    number: int = 0
    values: tuple[Any, ...] = ()
    flags: int = 0

    def parts(self, timeline: bytes = NO_TIMELINE) -> list[bytes]:
        """The parts of the message: a header, and a body unless it would be empty."""
        header = HEADER.pack(MAGIC, VERSION, self.kind, self.flags, timeline, self.number)
        body = b"".join(map(pack, self.values))
        return [header, body] if body else [header]


class Schema(NamedTuple):
    """A program, and the version of its types."""

    name: str
    version: int = 1


class Proof(NamedTuple):
    """That the store has told of a turn: it is shown in HELLO, and returned as it was given."""

    turn: int
    code: int


class Claim(NamedTuple):
    """A job that a worker holds, answered or not."""

    turn: int
    ordinal: int
    lease: Lease
    token: int


class Submission(NamedTuple):
    """A numbered input; the instance is None for `main`."""

    sequence: int
    instance: str | None
    input: bytes


@dataclass(frozen=True, slots=True)
class Offer:
    """What a worker is: its identity, slots, and queues with the limits of some of them."""

    id: bytes
    slots: int
    queues: tuple[tuple[str, int | None], ...]
    capabilities: tuple[str, ...] = ()

    @property
    def objection(self) -> str | None:
        """What a store would take for malformed, and so never answer: in words, or None."""
        if len(self.queues) > 1_024:
            return f"{len(self.queues)} queues; 1,024 at most"
        if (size := max((len(name.encode()) for name, _ in self.queues), default=0)) > 1_024:
            return f"the name of a queue has {size} bytes; 1,024 at most"
        if len(self.capabilities) > 64:
            return f"{len(self.capabilities)} capabilities; 64 at most"
        if (size := max((len(name.encode()) for name in self.capabilities), default=0)) > 128:
            return f"the name of a capability has {size} bytes; 128 at most"
        return None

    def values(self, claims: Sequence[Claim]) -> list[Any]:
        queues = [name if limit is None else [name, limit] for name, limit in self.queues]
        values = [self.id, self.slots, queues, list(claims)]
        return [*values, sorted(self.capabilities)] if self.capabilities else values


def hello(
    schema: Schema | None,
    witness: int | Proof,
    role: str,
    who: bytes | list[Any],
    epoch: int,
    has_ended: bool = False,
    start: int = 0,
) -> Frame:
    """HELLO of a peer that takes proofs; with the greatest start number that it knows, unless that is 0."""
    flags = Flag.TAKES_PROOFS | (Flag.ENDS_SESSION if has_ended else 0)
    values = [schema, witness, role, who]
    return Frame(Kind.HELLO, epoch, ([*values, start] if start else values,), flags)


def send(inputs: list[Submission], confirmed: int, ends_session: bool = False) -> Frame:
    return Frame(Kind.SEND, confirmed, (inputs,), Flag.ENDS_SESSION if ends_session else 0)


def instance_value(instance: str) -> str | None:
    """An instance as frames have it."""
    return None if instance == MAIN else instance
