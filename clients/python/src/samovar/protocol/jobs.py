"""The jobs that a worker holds, and what of them the store has said that it sent."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from enum import Enum

from .frame import Claim, Lease
from .received import Task


#: How long a handler may go on once it was told to stop, in seconds.
PATIENCE = 3.0


class _Phase(Enum):
    WANTED = 1
    STOPPING = 2
    OVERSTAYING = 3


@dataclass(slots=True)
class _Running:
    claim: Claim
    #: When it is out of time; once it was told to stop, when it overstays.
    until: float | None
    phase: _Phase = _Phase.WANTED

    @property
    def is_wanted(self) -> bool:
        return self.phase == _Phase.WANTED


class HeldJobs:
    """Those that wait for a slot, first in, first out, and those that have one.

    A job that is told to stop keeps its slot until its handler has really ended; its answer is not wanted any more. One whose
    handler goes on beyond a patience overstays: its slot may never be free again.
    """

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._waiting: deque[Task] = deque()
        self._running: dict[Lease, _Running] = {}
        #: No running job is out of time and none overstays before this time.
        self.earliest_timeout: float | None = None

    def __len__(self) -> int:
        return len(self._waiting) + len(self._running)

    @property
    def is_stuck(self) -> bool:
        """Every slot has a job that overstays: nothing that waits can be expected to start."""
        return sum(job.phase == _Phase.OVERSTAYING for job in self._running.values()) == self._slots

    @property
    def claims(self) -> list[Claim]:
        """Jobs whose answer is still owed."""
        running = [job.claim for job in self._running.values() if job.is_wanted]
        return [task.claim for task in self._waiting] + running

    def __contains__(self, lease: Lease) -> bool:
        return lease in self._running or any(task.lease == lease for task in self._waiting)

    def running(self, lease: Lease) -> Claim | None:
        """The claim of a job that runs and whose answer is still wanted."""
        job = self._running.get(lease)
        return job.claim if job is not None and job.is_wanted else None

    def add(self, task: Task) -> None:
        self._waiting.append(task)

    def start_next(self, now: float) -> Task | None:
        """The next task, if a slot is free for it; it then has that slot.

        Passes by those whose lease is still that of a job with a slot, from a timeline that was left.
        """
        if len(self._running) >= self._slots:
            return None
        task = next((task for task in self._waiting if task.lease not in self._running), None)
        if task is None:
            return None
        self._waiting.remove(task)
        until = None if task.timeout is None else now + task.timeout
        self._running[task.lease] = _Running(task.claim, until)
        self._note_timeout(until)
        return task

    def finish(self, lease: Lease) -> Claim | None:
        """A handler ended. Its claim, if its answer is still wanted."""
        job = self._running.pop(lease, None)
        return job.claim if job is not None and job.is_wanted else None

    def take_overdue(self, now: float) -> tuple[list[Claim], list[Claim]]:
        """Tells the running jobs that have run out of time to stop, and finds those that overstay from now on."""
        if self.earliest_timeout is None or now < self.earliest_timeout:
            return [], []

        def is_overdue(job: _Running) -> bool:
            return job.until is not None and now >= job.until

        overstaying = [job for job in self._running.values() if not job.is_wanted and is_overdue(job)]
        for job in overstaying:
            job.phase, job.until = _Phase.OVERSTAYING, None
        stopped = self.stop_running(now, is_overdue)
        self.earliest_timeout = None
        for job in self._running.values():
            self._note_timeout(job.until)
        return stopped, [job.claim for job in overstaying]

    def cancel(self, leases: Container[Lease], now: float) -> list[Claim]:
        """Drops those of these jobs that wait, and tells those that run to stop, which it gives back."""
        self._waiting = deque(task for task in self._waiting if task.lease not in leases)
        return self.stop_running(now, lambda job: job.claim.lease in leases)

    def remove_waiting(self) -> list[Claim]:
        """Drops every job that waits for a slot."""
        claims = [task.claim for task in self._waiting]
        self._waiting.clear()
        return claims

    def stop_running(self, now: float, is_meant: Callable[[_Running], bool] = lambda _: True) -> list[Claim]:
        """Tells the running jobs to stop, or those of them that are meant."""
        stopped = [job for job in self._running.values() if job.is_wanted and is_meant(job)]
        for job in stopped:
            job.phase, job.until = _Phase.STOPPING, now + PATIENCE
            self._note_timeout(job.until)
        return [job.claim for job in stopped]

    def _note_timeout(self, until: float | None) -> None:
        if until is not None:
            self.earliest_timeout = until if self.earliest_timeout is None else min(until, self.earliest_timeout)


class Verdict(Enum):
    TAKEN = "taken"
    #: More than the credit allows.
    OVERDRAWN = "the store overdrew its credit"
    #: These have come before.
    REPEATED = "dropped a TASK that came twice"
    #: Others before these have not come.
    INCOMPLETE = "a TASK was lost"


class TaskCount:
    """The tasks and CANCELs that the store has sent since HELLO, by its own numbers: what of them has come, and what was lost on
    the way.
    """

    def __init__(self) -> None:
        #: The number of the newest task that has come.
        self.taken = 0
        #: The number of the newest CANCEL that has come; 0 from a store that does not count them.
        self._cancels = 0
        self._missing: tuple[int, float] | None = None

    def take(self, tasks: int, number: int, credit: int) -> Verdict:
        """Counts the tasks of a frame, of which the last has this number."""
        if not tasks <= number <= credit:
            return Verdict.OVERDRAWN
        if number <= self.taken:
            return Verdict.REPEATED
        if number - tasks > self.taken:
            return Verdict.INCOMPLETE
        self.taken = number
        return Verdict.TAKEN

    def take_cancel(self, number: int, is_count: bool) -> bool:
        """Counts a CANCEL; false if others before it are lost. A count names no job, and tells the number of those before it."""
        before, self._cancels = self._cancels, max(self._cancels, number)
        return number <= (before if is_count else before + 1)

    def is_incomplete(self, sent: int, now: float, patience: float) -> bool:
        """Whether tasks are lost, by what PONG says was sent. PONG does not wait for the disk, as tasks do: what it counts is
        late at first, and lost when it stays away for longer than `patience`.
        """
        if sent <= self.taken:
            self._missing = None
        elif self._missing is None or self._missing[0] <= self.taken:
            self._missing = (sent, now)
        else:
            return now - self._missing[1] >= patience
        return False


class StreamWindow:
    """The stream of one job as its handler sees it: the number of the next message, and whether there is room for it.

    Only so much may be without acknowledgement. Numbers go on from those of earlier attempts.
    """

    LIMIT = 64
    BYTES = 4 << 20
    MESSAGE_BYTES = 1 << 20
    CHECKPOINT_BYTES = 64 << 10

    def __init__(self, last: int = 0) -> None:
        #: The number of the newest message.
        self.last = last
        self._sizes: deque[int] = deque()
        self._bytes = 0

    def next(self, size: int) -> int | None:
        """The number for a message of this size; None if it has to wait for an acknowledgement."""
        if self._sizes and (len(self._sizes) >= self.LIMIT or self._bytes + size > self.BYTES):
            return None
        self.last += 1
        self._sizes.append(size)
        self._bytes += size
        return self.last

    def acknowledged(self, index: int) -> None:
        """Messages up to this number are on disk."""
        while self._sizes and self.last - index < len(self._sizes):
            self._bytes -= self._sizes.popleft()


class ProgressBox:
    """What running jobs told of themselves and the store has not heard: only the newest of each, and not too often."""

    def __init__(self) -> None:
        self._reports: dict[Lease, tuple[Claim, float | None, str | None]] = {}
        self._next = float("-inf")

    @property
    def due(self) -> float | None:
        """When there is something to send; None for never."""
        return self._next if self._reports else None

    def note(self, claim: Claim, fraction: float | None, text: str | None) -> None:
        self._reports[claim.lease] = (claim, fraction, text)

    def forget_all(self) -> None:
        self._reports.clear()

    def take(self, now: float, interval: float, is_running: Callable[[Lease], bool]) -> list[list[object]]:
        """Those of jobs that still run, as they stand in a frame, if it is time."""
        if not self._reports or now < self._next:
            return []
        self._next = now + interval
        reports: Iterable[tuple[Claim, float | None, str | None]] = [
            report for lease, report in sorted(self._reports.items()) if is_running(lease)
        ]
        self._reports.clear()
        return [[claim.turn, claim.ordinal, claim.lease, fraction, text] for claim, fraction, text in reports]
