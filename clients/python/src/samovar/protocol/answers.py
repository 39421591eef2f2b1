"""The answers of a worker, and those of them that the store has not acknowledged."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from .frame import Claim, Lease
from .received import Mark
from .text import bounded


@dataclass(frozen=True, slots=True)
class Done:
    """The messages of a job, in MessagePack."""

    messages: tuple[bytes, ...] = ()

    @property
    def size(self) -> int:
        """No less than what it takes in a frame: each message has a header there."""
        return 64 + sum(len(message) + 5 for message in self.messages)

    def values(self) -> list[Any]:
        return [0, list(self.messages)]


@dataclass(frozen=True, slots=True)
class Failed:
    """Why there are none: `threw`, `timedOut`, `unhandled`."""

    reason: str
    text: str
    permanent: bool = False

    @property
    def size(self) -> int:
        return 80 + len(self.text.encode())

    def values(self) -> list[Any]:
        return [1, [self.reason, self.text, self.permanent]]


@dataclass(frozen=True, slots=True)
class Returned:
    """Given back unharmed, for another worker."""

    size = 64

    def values(self) -> list[Any]:
        return [2, None]


@dataclass(frozen=True, slots=True)
class Streaming:
    """A message that is sent before the end: no answer yet."""

    index: int
    message: bytes
    checkpoint: bytes | None

    @property
    def size(self) -> int:
        return 80 + len(self.message) + len(self.checkpoint or b"")

    def values(self) -> list[Any]:
        return [3, [self.index, self.message, self.checkpoint]]


Answer: TypeAlias = Done | Failed | Returned


def allowed(answer: Answer, limit: int) -> Answer:
    """The answer, or what the store is told instead if it cannot take it."""
    match answer:
        case Done() if answer.size > limit:
            return Failed("unhandled", f"an answer of {answer.size} bytes; {limit} at most", permanent=True)
        case Failed(reason, text, permanent):
            return Failed(reason, bounded(text), permanent)
    return answer


@dataclass(slots=True)
class _Result:
    claim: Claim
    answer: Answer | Streaming
    is_sent: bool = False
    is_forgotten: bool = False

    @property
    def key(self) -> tuple[Lease, int]:
        return self.claim.lease, self.answer.index if isinstance(self.answer, Streaming) else 0


class Outbox:
    """A result stays until its acknowledgement, because the store may die between taking it and writing it down. How many there
    are is bounded by the worker's credit, and by the window of each stream.
    """

    def __init__(self, limit: int) -> None:
        """`limit`: the bytes of a frame; a larger result has a frame of its own."""
        self._limit = limit
        # Both in the order in which they came.
        self._answers: dict[Lease, _Result] = {}
        self._streams: dict[Lease, deque[_Result]] = {}
        self._unsent: deque[_Result] = deque()
        self._sent = 0
        self.bytes = 0

    @property
    def is_empty(self) -> bool:
        return not self._answers and not self._streams

    @property
    def count(self) -> int:
        """Answers, streamed messages not counted."""
        return len(self._answers)

    @property
    def claims(self) -> list[Claim]:
        return [result.claim for result in self._answers.values()]

    @property
    def has_unsent(self) -> bool:
        while self._unsent and self._unsent[0].is_forgotten:
            self._unsent.popleft()
        return bool(self._unsent)

    @property
    def awaits_acknowledgement(self) -> bool:
        """Some results are sent and not acknowledged."""
        return self._sent > 0

    def __contains__(self, lease: Lease) -> bool:
        return lease in self._answers

    def oldest(self) -> frozenset[tuple[Lease, int]]:
        """What has waited longest for its acknowledgement: the oldest answer, and the oldest message of each stream."""
        results = [next((result for result in self._answers.values() if result.is_sent), None)]
        results += [messages[0] for messages in self._streams.values() if messages[0].is_sent]
        return frozenset(result.key for result in results if result is not None)

    def holds_any(self, former: frozenset[tuple[Lease, int]]) -> bool:
        """Whether some of these still wait."""
        return not former.isdisjoint(self.oldest())

    def add(self, claim: Claim, answer: Answer | Streaming) -> None:
        result = _Result(claim, answer)
        if isinstance(answer, Streaming):
            self._streams.setdefault(claim.lease, deque()).append(result)
        else:
            self._answers[claim.lease] = result
        self._unsent.append(result)
        self.bytes += answer.size

    def forget(self, leases: Iterable[Lease]) -> None:
        """These answers, and what their jobs have streamed, are acknowledged or not wanted any more."""
        for lease in leases:
            for message in self._streams.pop(lease, ()):
                self._drop(message)
            if (answer := self._answers.pop(lease, None)) is not None:
                self._drop(answer)

    def forget_streamed(self, mark: Mark) -> None:
        """The streamed messages of a job up to this number are on disk."""
        messages = self._streams.get(mark.lease, deque())
        while messages and messages[0].key[1] <= mark.index:
            self._drop(messages.popleft())
        if not messages:
            self._streams.pop(mark.lease, None)

    def rewind(self) -> None:
        """Everything is to be sent again, the oldest lease first, and of each lease what it streamed before its answer."""
        self._unsent.clear()
        self._sent = 0
        for lease in sorted(self._answers.keys() | self._streams.keys()):
            self._unsent += self._streams.get(lease, ())
            if lease in self._answers:
                self._unsent.append(self._answers[lease])
        for result in self._unsent:
            result.is_sent = False

    def take_unsent(self) -> list[list[list[Any]]]:
        """What was not sent yet, in frames of at most `limit` bytes."""
        frames: list[list[list[Any]]] = []
        size = 0
        while self._unsent:
            result = self._unsent.popleft()
            if result.is_forgotten:
                continue
            if not frames or size + result.answer.size > self._limit:
                frames.append([])
                size = 0
            frames[-1].append([*result.claim, *result.answer.values()])
            size += result.answer.size
            result.is_sent = True
            self._sent += 1
        return frames

    def _drop(self, result: _Result) -> None:
        result.is_forgotten = True
        self.bytes -= result.answer.size
        self._sent -= result.is_sent
