"""The inputs of a session that have no outcome yet, in their order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from .frame import MAIN, Submission, instance_value


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """What a client holds and sends at most."""

    #: Inputs that are sent and not answered, and their bytes.
    window: int = 4_096
    window_bytes: int = 1 << 20
    #: Inputs that are not answered, sent or not, and their bytes; `submit` refuses more.
    backlog: int = 16_384
    backlog_bytes: int = 16 << 20
    #: Bytes of those and of the inputs whose outcome nobody has seen, which an outbox keeps; `submit` refuses more. Its file
    #: grows to a little more than twice that, and the next process has to take it.
    kept_bytes: int = 64 << 20
    #: One input; a frame of several.
    input_bytes: int = 1 << 20
    frame_bytes: int = 1 << 20
    #: Requests that are not answered.
    requests: int = 4_096


STANDARD = ClientSettings()


@dataclass(slots=True)
class _Entry:
    instance: str
    #: None once it is answered while an older one is not.
    input: bytes | None

    @property
    def size(self) -> int:
        return 0 if self.input is None else len(self.input) + 32


class Backlog:
    """Everything before `oldest` is answered, so one number confirms all outcomes. `cursor` is the next input to send; going back
    means to move it, and nothing else.
    """

    def __init__(self, inputs: Iterable[Submission] = (), next: int = 1) -> None:
        """With inputs of an earlier process, in order; those between them are answered."""
        inputs = list(inputs)
        self.oldest = inputs[0].sequence if inputs else next
        self.cursor = self.oldest
        self._entries = deque(_Entry(MAIN, None) for _ in range(next - self.oldest))
        for sequence, instance, input in inputs:
            self._entries[sequence - self.oldest] = _Entry(instance or MAIN, input)
        self.bytes = sum(entry.size for entry in self._entries)
        self._in_flight = 0

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def next(self) -> int:
        """The number that the next new input will have."""
        return self.oldest + len(self._entries)

    @property
    def confirmed(self) -> int:
        """All outcomes up to this number have come."""
        return self.oldest - 1

    @property
    def has_in_flight(self) -> bool:
        return self.cursor > self.oldest

    @property
    def has_unsent(self) -> bool:
        return self.cursor < self.next

    @property
    def unanswered(self) -> list[int]:
        return [number for number, entry in enumerate(self._entries, self.oldest) if entry.input is not None]

    def append(self, input: bytes, instance: str) -> int:
        """The number of the input."""
        entry = _Entry(instance, input)
        self._entries.append(entry)
        self.bytes += entry.size
        return self.next - 1

    def answer(self, sequence: int) -> bool:
        """The outcome of an input has come; False if it is known already, or no such input was ever made."""
        if not self.oldest <= sequence < self.next:
            return False
        entry = self._entries[sequence - self.oldest]
        if entry.input is None:
            return False
        self.bytes -= entry.size
        if sequence < self.cursor:
            self._in_flight -= entry.size
        entry.input = None
        while self._entries and self._entries[0].input is None:
            self._entries.popleft()
            self.oldest += 1
        self.cursor = max(self.cursor, self.oldest)
        return True

    def go_back(self, sequence: int) -> None:
        """Sends from this number on again, at the earliest from the oldest without an outcome."""
        self.cursor = min(max(sequence, self.oldest), self.cursor)
        self._in_flight = sum(entry.size for entry in islice(self._entries, self.cursor - self.oldest))

    def take_frame(self, credit: int, settings: ClientSettings) -> list[Submission]:
        """The next inputs to send: none beyond the credit, the window or the size of a frame. One is always let through if
        nothing is in flight, however large it is.
        """
        frame: list[Submission] = []
        size = 0
        while self.cursor < self.next and self.cursor <= credit and self.cursor - self.oldest < settings.window:
            entry = self._entries[self.cursor - self.oldest]
            if entry.input is not None:
                if frame and size + entry.size > settings.frame_bytes:
                    break
                if self._in_flight > 0 and self._in_flight + entry.size > settings.window_bytes:
                    break
                frame.append(Submission(self.cursor, instance_value(entry.instance), entry.input))
                size += entry.size
                self._in_flight += entry.size
            self.cursor += 1
        return frame
