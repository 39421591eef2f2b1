"""What a durable client keeps over its own death, and how it stands in a file: docs/outbox.md.

The format is that of all Samovar clients: a file that `samovar send --outbox` has left is taken over, and the other way round.
"""

from __future__ import annotations

import os
from collections import deque
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..packing import Unreadable, pack, unpack_sequence
from .frame import NO_TIMELINE, Proof, Submission, instance_value
from .received import Malformed, array, binary, instance, integer, unsigned
from .siphash import siphash

FORMAT = 1
HEADER_BYTES = 12
_KEY = (0x6F78, 0x6F757462)


@dataclass(frozen=True, slots=True)
class Opened:
    """A process opened it, with nothing but what follows."""

    session: bytes
    openings: int
    next: int


@dataclass(frozen=True, slots=True)
class WelcomedBy:
    """The store said WELCOME. Another timeline than before voids all inputs."""

    timeline: bytes
    head: int
    proof: Proof | None = None
    #: Kept with a proof only.
    start: int = 0


@dataclass(frozen=True, slots=True)
class Accepted:
    """An input was accepted; from here on it will be sent."""

    input: Submission


@dataclass(frozen=True, slots=True)
class Seen:
    """The outcome of this input was seen by whoever sent it."""

    sequence: int


Entry: TypeAlias = Opened | WelcomedBy | Accepted | Seen


@dataclass
class ClientOutbox:
    """The sum of its entries: a session, and the inputs whose outcome nobody has seen yet."""

    session: bytes = field(default_factory=lambda: os.urandom(16))
    #: How many processes have used this session.
    openings: int = 1
    oldest: int = 1
    timeline: bytes = NO_TIMELINE
    witness: int = 0
    proof: Proof | None = None
    #: The greatest start number of a store that has welcomed it, in the timeline.
    start: int = 0
    #: The inputs from the oldest unseen one on; None for one that was seen, of which nobody needs more than its number.
    _kept: deque[Submission | None] = field(default_factory=deque)

    @property
    def next(self) -> int:
        """The number of the next input."""
        return self.oldest + len(self._kept)

    @property
    def inputs(self) -> list[Submission]:
        """Inputs without an outcome that was seen, in order."""
        return [input for input in self._kept if input is not None]

    def reopened(self) -> ClientOutbox:
        """For the next process: the same session if something is left, else another one, because the old one may be over."""
        if not self._kept:
            return ClientOutbox()
        self.openings += 1
        return self

    def add(self, entry: Entry) -> None:
        """Raises `Malformed` if the entry cannot follow those before."""
        match entry:
            case Opened(session, openings, next):
                self._kept.clear()
                self.session, self.openings, self.oldest = session, openings, next
                self.timeline, self.witness, self.proof, self.start = NO_TIMELINE, 0, None, 0
            case WelcomedBy(timeline, head, proof, start):
                if self.timeline not in (NO_TIMELINE, timeline):
                    self._kept.clear()
                    self.oldest, self.witness, self.proof, self.start = 1, 0, None, 0
                self.timeline = timeline
                self.witness = max(self.witness, head)
                if proof is not None and (self.proof is None or proof.turn >= self.proof.turn):
                    self.proof = proof
                self.start = max(self.start, start)
            case Accepted(input):
                if input.sequence != self.next:
                    raise Malformed(f"input {input.sequence} where {self.next} is next")
                self._kept.append(input)
            case Seen(sequence):
                if not self.oldest <= sequence < self.next:
                    return
                self._kept[sequence - self.oldest] = None
                while self._kept and self._kept[0] is None:
                    self._kept.popleft()
                    self.oldest += 1

    @property
    def entries(self) -> list[Entry]:
        """The fewest entries that add up to this. Numbers have no holes: an input that was seen is there without its bytes."""
        entries: list[Entry] = [Opened(self.session, self.openings, self.oldest)]
        if self.timeline != NO_TIMELINE:
            entries.append(WelcomedBy(self.timeline, self.witness, self.proof, self.start))
        numbered = list(enumerate(self._kept, self.oldest))
        entries += [Accepted(Submission(number, None, b"") if input is None else input) for number, input in numbered]
        return entries + [Seen(number) for number, input in numbered if input is None]


def encode(entry: Entry) -> bytes:
    """The entry as it is written: the length of its body, a checksum, the body."""
    match entry:
        case Opened(session, openings, next):
            body = pack([1, FORMAT, session, openings, next])
        case WelcomedBy(timeline, head, proof, start):
            # Behind the array, where the first builds do not look.
            body = pack([2, timeline, head])
            if proof is not None:
                body += pack(proof) + (pack(start) if start else b"")
        case Accepted(Submission(sequence, instance, input)):
            body = pack([3, sequence, instance, input])
        case Seen(sequence):
            body = pack([4, sequence])
    return len(body).to_bytes(4, "big") + _checksum(body).to_bytes(8, "big") + body


def read(data: bytes) -> ClientOutbox | None:
    """The outbox of a file; None if there is nothing in it.

    The last write before a crash may be there in part: what is cut off at the end, or zero to the end, was never relied on and is
    left out. Raises `Malformed` for any other damage.
    """
    outbox: ClientOutbox | None = None
    place = 0
    while len(data) - place >= HEADER_BYTES:
        start = place + HEADER_BYTES
        end = start + int.from_bytes(data[place : place + 4], "big")
        if end == start or end > len(data):
            break
        body = data[start:end]
        if _checksum(body).to_bytes(8, "big") != data[place + 4 : start]:
            if end == len(data):
                break
            raise Malformed(f"the entry at byte {place} is damaged")
        entry = _decode(body)
        if isinstance(entry, Opened):
            outbox = ClientOutbox(entry.session, entry.openings, entry.next)
        elif outbox is None:
            break
        else:
            outbox.add(entry)
        place = end
    # A whole entry is there before the file has its name. What is in any other one is somebody else's.
    if outbox is None and any(data):
        raise Malformed("it does not begin like an outbox")
    return outbox


def _decode(body: bytes) -> Entry:
    try:
        values, more = unpack_sequence(body, 1, optional=2)
    except Unreadable as error:
        raise Malformed(str(error)) from None
    fields = array(values[0])
    match fields:
        case [1, int(format), session, openings, next]:
            if format != FORMAT:
                raise Malformed(f"an outbox of format {format}")
            return Opened(_id(session), integer(openings), integer(next))
        case [2, timeline, head]:
            return WelcomedBy(_id(timeline), integer(head), _proof(more[0]) if more else None, integer(more[1]) if more[1:] else 0)
        case [3, sequence, where, input]:
            return Accepted(Submission(integer(sequence), instance_value(instance(where)), binary(input)))
        case [4, sequence]:
            return Seen(integer(sequence))
    raise Malformed(f"an unknown entry of {len(fields)} fields")


def _id(value: Any) -> bytes:
    if len(binary(value)) != 16:
        raise Malformed("an identity has 16 bytes")
    return binary(value)


def _proof(value: Any) -> Proof:
    turn, code = array(value, 2)
    return Proof(integer(turn), unsigned(code))


def _checksum(body: bytes) -> int:
    # The count comes first, so that no body is the beginning of another.
    return siphash(len(body).to_bytes(8, "little") + body, *_KEY)
