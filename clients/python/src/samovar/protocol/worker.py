"""What a worker does with its jobs and its connection: which task starts, which answer is sent, and when it may leave.

The idea: a job belongs to the worker from the moment it arrives until its answer is acknowledged, and connections come and go
beside it. HELLO lists all that the worker holds; nothing else needs to survive a lost connection.

The credit is absolute: the number of tasks, counted from HELLO, that the worker has room for.

A worker is stuck while each of its slots has a handler that goes on three seconds after it was told to stop. It grants no
credit, and gives back what it cannot start.

|  | working | draining | leaving | stopped |
|---|---|---|---|---|
| TASK | a free slot: start; stuck: answered `returned`; else it waits | answered `returned` | answered `returned` | – |
| TASK, after others that are missing | begins anew | the same | the same | – |
| PONG that counts tasks which do not come for 3 s | begins anew | the same | the same | – |
| ACKNOWLEDGE | the answer is forgotten | the same; nothing held: goodbye, stop | the same | – |
| CANCEL | running: cancel; waiting, answered: forgotten | the same | the same | – |
| CANCEL, after others that are missing | the same, and begins anew | the same | the same | – |
| WELCOME | answers are sent again | the same | the same | – |
| WELCOME, another timeline | all jobs and answers are dropped | the same | the same | – |
| STREAMED | what was streamed is forgotten, there is room for more | the same | the same | – |
| streamed | kept, to be sent at once | the same | the same, if still wanted | – |
| finished | answer kept, the next task starts | answer kept | answer kept | – |
| ticked | out of time: cancel, answered; stuck: waiting tasks answered `returned` | the same; at a checkpoint: `returned`; at `until` all, leaving | at `until`: goodbye, stop | – |
| drain | DRAIN; waiting tasks, and those with a checkpoint, answered `returned`, draining | – | – | – |
| flush | RESULT with all new answers, or CREDIT | RESULT | RESULT | – |
| refused | all jobs cancelled, stopped | the same | the same | – |

A host calls, in each round of its loop: `received` for every frame, `finished` for every handler that ended, `ticked`, and last
`flush`; it carries the actions out in order.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from enum import Enum

from . import actions as act
from . import connection as conn
from . import received as rx
from .actions import WorkerAction
from .answers import Answer, Failed, Outbox, Returned, Streaming, allowed
from .frame import Claim, Frame, Kind, Lease, Offer, Schema
from .jobs import PATIENCE, HeldJobs, ProgressBox, TaskCount, Verdict
from .text import bounded


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """Times in seconds."""

    #: How long running jobs may go on once the worker drains.
    drain: float = 5.0
    #: How long the last answers may then wait for their acknowledgement.
    farewell: float = 1.0
    #: Answers without acknowledgement at which the credit stops growing, and bytes of them.
    unacknowledged: int = 16_384
    unacknowledged_bytes: int = 64 << 20
    #: One answer: its messages, with 5 bytes more for each and 64 for all. A larger one fails its job for good.
    answer_bytes: int = 4 << 20
    frame_bytes: int = 1 << 20
    #: Reports in a frame that tells of progress. One has less than a kilobyte.
    frame_reports: int = 1_000
    #: The least time from the frames that tell of progress to the next ones.
    progress_interval: float = 0.25


STANDARD = WorkerSettings()


class State(Enum):
    WORKING = 1
    #: Running jobs may finish until a time.
    DRAINING = 2
    #: The last answers may be acknowledged until a time.
    LEAVING = 3
    STOPPED = 4


class WorkerMachine:
    """A worker; see the table above."""

    def __init__(
        self,
        offer: Offer,
        schema: Schema,
        random: random.Random,
        read_ahead: int = 0,
        settings: WorkerSettings = STANDARD,
        times: conn.ConnectionSettings = conn.WORKER,
    ) -> None:
        """`read_ahead`: tasks that may wait beside the running ones: what the worker finishes in 10 ms, 0 for long jobs."""
        self._offer = offer
        self._schema = schema
        self._settings = settings
        self._capacity = offer.slots + read_ahead
        self.connection = conn.Connection(times, random)
        self.state = State.WORKING
        self._until = 0.0
        self._held = HeldJobs(offer.slots)
        self._outbox = Outbox(settings.frame_bytes)
        self._progress = ProgressBox()
        #: Running jobs whose last message came with a checkpoint: they may go on elsewhere at any time.
        self._checkpointed: set[Lease] = set()
        self._tasks = TaskCount()
        #: The credit that the store was told since HELLO.
        self._credit = 0
        #: The greatest lease of this timeline that has come: what is greater is new.
        self._newest: Lease | None = None
        #: When what is not acknowledged is sent again, if any of this still waits then.
        self._repetition: tuple[float, frozenset[tuple[Lease, int]]] | None = None

    @property
    def timeline(self) -> bytes:
        return self.connection.timeline

    @property
    def jobs(self) -> int:
        """Jobs that run or wait."""
        return len(self._held)

    @property
    def deadline(self) -> float | None:
        """When `ticked` is to be called at the latest; None for never."""
        if self.state == State.STOPPED:
            return None
        times = [self.connection.deadline, self._held.earliest_timeout]
        if self._repetition is not None:
            times.append(self._repetition[0])
        if self.connection.is_welcomed:
            times.append(self._progress.due)
        if self.state in (State.DRAINING, State.LEAVING):
            times.append(self._until)
        return min((time for time in times if time is not None), default=None)

    # Events of the host

    def ticked(self, now: float) -> list[WorkerAction]:
        """Time has passed."""
        actions: list[WorkerAction] = []
        if self.state == State.DRAINING and now >= self._until:
            self._leave(now, actions)
        elif self.state == State.DRAINING:
            # Those that have come to a checkpoint since the drain began.
            self._give_back_checkpointed(now, actions)
        elif self.state == State.LEAVING and now >= self._until:
            self._stop(actions)
        if self.state == State.STOPPED:
            return actions
        self._answer_overdue(now, actions)
        self._perform(self.connection.ticked(now), now, actions)
        if self._repetition is not None and now >= self._repetition[0]:
            if self._outbox.holds_any(self._repetition[1]):
                self._outbox.rewind()
            self._await_acknowledgement(now)
        self._stop_if_done(actions)
        return actions

    def finished(self, lease: Lease, answer: Answer, now: float) -> list[WorkerAction]:
        """A handler ended, with this answer."""
        actions: list[WorkerAction] = []
        self._checkpointed.discard(lease)
        claim = self._held.finish(lease)
        if claim is not None:
            self._outbox.add(claim, allowed(answer, self._settings.answer_bytes))
        self._stop_if_done(actions)
        self._start_waiting(now, actions)
        return actions

    def streamed(self, lease: Lease, index: int, message: bytes, checkpoint: bytes | None) -> None:
        """A handler sends a message before its end. `StreamWindow` gave it its number."""
        claim = self._held.running(lease)
        # A handler that was told to stop may not have noticed.
        if claim is None:
            return
        if checkpoint is None:
            self._checkpointed.discard(lease)
        else:
            self._checkpointed.add(lease)
        self._outbox.add(claim, Streaming(index, message, checkpoint))

    def progressed(self, lease: Lease, fraction: float | None, text: str | None) -> None:
        """A handler tells how far it is. Only the newest is sent, now and then, and none is kept for a later connection."""
        claim = self._held.running(lease)
        if claim is not None:
            known = fraction is not None and math.isfinite(fraction)
            clamped = min(max(float(fraction), 0.0), 1.0) if known and fraction is not None else None
            self._progress.note(claim, clamped, None if text is None else bounded(text, 200))

    def flush(self, now: float) -> list[WorkerAction]:
        """Sends what has gathered since the last call: every new answer, the credit, and progress."""
        if not self.connection.is_welcomed:
            return []
        actions: list[WorkerAction] = []
        granted = self._raise_credit()
        if self._outbox.has_unsent:
            self._send_answers(actions)
            if self._repetition is None:
                self._await_acknowledgement(now)
        elif granted:
            self._send(Frame(Kind.CREDIT, self._credit), actions)
        reports = self._progress.take(now, self._settings.progress_interval, self._is_running)
        for first in range(0, len(reports), self._settings.frame_reports):
            self._send(Frame(Kind.PROGRESS, 0, (reports[first : first + self._settings.frame_reports],)), actions)
        return actions

    def disconnected(self, now: float, reason: str = "the connection broke") -> list[WorkerAction]:
        """The transport knows that the connection is gone. Without this event, silence tells."""
        actions: list[WorkerAction] = []
        self._perform(self.connection.disconnected(now, reason), now, actions)
        return actions

    def drain(self, now: float) -> list[WorkerAction]:
        """Takes no more work; what runs may finish."""
        if self.state != State.WORKING:
            return []
        actions: list[WorkerAction] = []
        # A task that is given back must not come again: the credit that the store has is worth nothing from now on.
        if self.connection.is_welcomed:
            self._send(Frame(Kind.DRAIN), actions)
        self._give_back_waiting()
        self._give_back_checkpointed(now, actions)
        self.state = State.DRAINING
        self._until = now + self._settings.drain
        self._stop_if_done(actions)
        return actions

    def received(self, envelope: rx.Envelope, now: float) -> list[WorkerAction]:
        """A frame came from the store."""
        actions: list[WorkerAction] = []
        self._perform(self.connection.received(envelope, now), now, actions)
        self._stop_if_done(actions)
        return actions

    # Frames of the store

    def _welcomed(self, left: bytes | None, now: float, actions: list[WorkerAction]) -> None:
        self._repetition = None
        if left is None:
            return self._outbox.rewind()
        self._newest = None
        dropped = f"dropped {len(self._held)} jobs and {self._outbox.count} answers"
        actions.append(act.Note(f"{conn.timeline_changed(self.timeline, left)}: {dropped}"))
        self._outbox = Outbox(self._settings.frame_bytes)
        self._progress.forget_all()
        self._held.remove_waiting()
        self._stop_all(now, actions)

    def _is_running(self, lease: Lease) -> bool:
        return self._held.running(lease) is not None

    def _take(self, content: rx.Content, now: float, actions: list[WorkerAction]) -> None:
        match content:
            case rx.Tasks(tasks, number):
                self._take_tasks(tasks, number, now, actions)
            case rx.Acknowledge(leases):
                self._outbox.forget(leases)
                self._end_repetition()
            case rx.Cancel(leases, number):
                self._outbox.forget(leases)
                actions += [act.Stopping(claim.lease) for claim in self._held.cancel(set(leases), now)]
                if not self._tasks.take_cancel(number, is_count=not leases) and not self._is_done:
                    self._perform(self.connection.start_over("a CANCEL was lost", now), now, actions)
            case rx.Streamed(marks):
                for mark in marks:
                    self._outbox.forget_streamed(mark)
                    if self._is_running(mark.lease):
                        actions.append(act.Acknowledged(mark))
                self._end_repetition()
            case rx.Drain():
                actions.append(act.Note("the store is about to stop"))
            case rx.Pong(sent):
                if self._tasks.is_incomplete(sent, now, patience=self.connection.silence / 2):
                    self._perform(self.connection.start_over("a TASK was lost", now), now, actions)
            case _:
                actions.append(act.Note(f"dropped a {type(content).__name__}, which is not for workers"))

    def _take_tasks(self, tasks: list[rx.Task], number: int, now: float, actions: list[WorkerAction]) -> None:
        match verdict := self._tasks.take(len(tasks), number, self._credit):
            case Verdict.REPEATED:
                return actions.append(act.Note(verdict.value))
            case Verdict.OVERDRAWN | Verdict.INCOMPLETE:
                return self._perform(self.connection.start_over(verdict.value, now), now, actions)
        for task in tasks:
            if not self._is_new(task.lease):
                continue
            self._newest = task.lease if self._newest is None else max(self._newest, task.lease)
            self.connection.has_told(task.claim.turn)
            if self.state == State.WORKING and not self._held.is_stuck:
                self._held.add(task)
            else:
                self._outbox.add(task.claim, Returned())
        self._start_waiting(now, actions)

    def _is_new(self, lease: Lease) -> bool:
        """Neither held nor answered. A handler of a timeline that was left may still have its slot, under a lease that comes
        anew.
        """
        return self._newest is None or lease > self._newest or not (lease in self._held or lease in self._outbox)

    def _refused(self, error: rx.Error, now: float, actions: list[WorkerAction]) -> None:
        self.state = State.STOPPED
        self._held.remove_waiting()
        self._stop_all(now, actions)
        if len(self._held):
            handlers = "the handler" if len(self._held) == 1 else f"{len(self._held)} handlers"
            waits = f"it waits for {handlers} told to stop, and ends"
            actions.append(act.Note(f"the store refuses this worker: {error.text}; {waits}", is_warning=True))
        actions += [act.Disconnect(), act.Refused(error)]

    # Decisions

    def _perform(self, event: conn.Event, now: float, actions: list[WorkerAction]) -> None:
        match event:
            case conn.Open():
                actions.append(act.Connect(self.connection.place))
                self._greet(actions)
            case conn.Greet():
                self._greet(actions)
            case conn.SayPing():
                self._send(Frame(Kind.PING, self._credit), actions)
            case act.Note():
                actions.append(event)
            case conn.Welcomed(welcome, left):
                actions.append(act.Connected(welcome.head, self.timeline))
                self._welcomed(left, now, actions)
            case conn.Answer(frame):
                self._send(frame, actions)
            case conn.Deliver(content):
                self._take(content, now, actions)
            case conn.Lost(reason):
                self._repetition = None
                actions.append(act.Disconnect())
                if reason is not None:
                    actions.append(act.Note(f"lost the store: {reason}", is_warning=True))
            case conn.CheckKey():
                self._repetition = None
                actions += (act.Disconnect(), act.CheckKey())
            case act.Refused(error):
                self._refused(error, now, actions)

    def _greet(self, actions: list[WorkerAction]) -> None:
        self._tasks = TaskCount()
        self._credit = 0
        self._repetition = None
        claims = sorted(self._held.claims + self._outbox.claims, key=lambda claim: claim.lease)
        self._send(self.connection.hello("worker", self._offer.values(claims), self._schema), actions)

    def _await_acknowledgement(self, now: float) -> None:
        awaits = self._outbox.awaits_acknowledgement
        self._repetition = (now + self.connection.silence, self._outbox.oldest()) if awaits else None

    def _end_repetition(self) -> None:
        if not self._outbox.awaits_acknowledgement:
            self._repetition = None

    def _raise_credit(self) -> bool:
        """Raises the credit to what there is room for; False if it stays."""
        if self.state != State.WORKING or self._held.is_stuck or self._outbox.bytes >= self._settings.unacknowledged_bytes:
            return False
        room = min(self._capacity - len(self._held), self._settings.unacknowledged - self._outbox.count)
        if self._tasks.taken + room <= self._credit:
            return False
        self._credit = self._tasks.taken + room
        return True

    def _start_waiting(self, now: float, actions: list[WorkerAction]) -> None:
        while (task := self._held.start_next(now)) is not None:
            actions.append(act.Start(task, self.timeline))

    def _answer_overdue(self, now: float, actions: list[WorkerAction]) -> None:
        stopped, overstaying = self._held.take_overdue(now)
        for claim in stopped:
            actions.append(act.Stopping(claim.lease))
            self._outbox.add(claim, Failed("timedOut", "the attempt ran out of time"))
        for claim in overstaying:
            handler = f"the handler of effect {claim.turn}/{claim.ordinal}"
            actions.append(act.Note(f"{handler} goes on {PATIENCE:.0f} s after it was told to stop, and keeps its slot", True))
        if overstaying and self._held.is_stuck and self.state == State.WORKING:
            actions.append(act.Note("no slot is left: this worker takes no more tasks until a handler ends", True))
            self._give_back_waiting()

    def _give_back_waiting(self) -> None:
        for claim in self._held.remove_waiting():
            self._outbox.add(claim, Returned())

    def _stop_all(self, now: float, actions: list[WorkerAction]) -> None:
        actions += [act.Stopping(claim.lease) for claim in self._held.stop_running(now)]

    def _give_back(self, stopped: list[Claim], actions: list[WorkerAction]) -> None:
        for claim in stopped:
            actions.append(act.Stopping(claim.lease))
            self._outbox.add(claim, Returned())

    def _give_back_checkpointed(self, now: float, actions: list[WorkerAction]) -> None:
        """Of these nothing is lost: another worker goes on from the checkpoint."""
        self._give_back(self._held.stop_running(now, lambda job: job.claim.lease in self._checkpointed), actions)

    def _leave(self, now: float, actions: list[WorkerAction]) -> None:
        self._give_back(self._held.stop_running(now), actions)
        self.state = State.LEAVING
        self._until = now + self._settings.farewell

    @property
    def _is_done(self) -> bool:
        """It leaves, and has nothing left."""
        return self.state in (State.DRAINING, State.LEAVING) and not len(self._held) and self._outbox.is_empty

    def _stop_if_done(self, actions: list[WorkerAction]) -> None:
        if self._is_done:
            self._stop(actions)

    def _stop(self, actions: list[WorkerAction]) -> None:
        if self.connection.is_welcomed:
            self._send_answers(actions)
            self._send(Frame(Kind.GOODBYE), actions)
        self.connection.close()
        self.state = State.STOPPED
        actions.append(act.Stop())

    def _send_answers(self, actions: list[WorkerAction]) -> None:
        for results in self._outbox.take_unsent():
            self._send(Frame(Kind.RESULT, self._credit, (results,)), actions)

    def _send(self, frame: Frame, actions: list[WorkerAction]) -> None:
        actions.append(act.Send(frame, self.timeline))
