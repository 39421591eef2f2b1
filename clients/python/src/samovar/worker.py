"""A worker: runs the effects of a program."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import signal
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any, TypeAlias, TypeVar

from .endpoints import Endpoints, Listener
from .errors import PeerRefused, Permanent, SamovarError, Unhandled
from .job import Job
from .packing import Unreadable, unpack
from .protocol import actions as act
from .protocol.answers import Answer, Done, Failed
from .protocol.frame import Lease, Offer, Schema
from .protocol.received import Malformed, Task, parse
from .protocol.worker import State, WorkerMachine
from .transport import LINGER, WORKER_BYTES, Bell, Link, Routes

log = logging.getLogger("samovar.worker")

#: Gets an effect and its job, and returns a message for the program, or None.
Handler: TypeAlias = Callable[[Any, Job], Awaitable[Any]]
_Handler = TypeVar("_Handler", bound=Handler)

DEFAULT_QUEUE = "default"


class Worker:
    """A worker of a program: handlers that execute effects.

    ```python
    worker = Worker("Counter", endpoint="ipc:///run/user/1000/samovar/counter", slots=4)

    @worker.handler()
    async def handle(effect, job):
        match effect:
            case {"addOne": {"to": count}}:
                return {"finished": {"count": count + 1}}
        raise Unhandled("an effect that this worker does not know")

    asyncio.run(worker.run())
    ```

    What a handler returns and the end of the effect are one record: both happen, once, or neither. It may be run again after a
    crash, with the same `job.key`. What it raises is retried as the effect's `retry` says; `Permanent` is not. Handlers share
    the event loop with the connection: one that blocks it for six seconds is taken for dead, so blocking work goes to
    `asyncio.to_thread`, where nothing can stop it; see `run`.

    - `program`, `version`: whose effects these are; the store refuses another.
    - `endpoint`: where the store is; several, as a list or with commas, are tried in turn.
    - `key`: a key file, for TCP beyond this machine.
    - `slots`: jobs at once.
    - `read_ahead`: jobs that may wait here beside the running ones: what the worker finishes in 10 ms, 0 for long jobs.
    - `capabilities`: what it can do, for effects that need it.
    """

    def __init__(
        self,
        program: str,
        version: int = 1,
        *,
        endpoint: Endpoints,
        key: str | os.PathLike[str] | None = None,
        slots: int = 1,
        read_ahead: int = 0,
        capabilities: Iterable[str] = (),
    ) -> None:
        """Raises `EndpointError`, and ValueError for a number that is out of range."""
        if not 1 <= slots <= 65_536 or not 0 <= read_ahead <= 65_536:
            raise ValueError("a worker has 1 to 65,536 slots, and reads 0 to 65,536 jobs ahead")
        self._schema = Schema(program, version)
        self._routes = Routes(endpoint, key)
        self._slots = slots
        self._read_ahead = read_ahead
        self._capabilities = tuple(set(capabilities))
        self._handlers: dict[str, Handler] = {}
        self._limits: dict[str, int | None] = {}
        self._running: _WorkerLoop | None = None

    def handler(self, *queues: str, limit: int | None = None) -> Callable[[_Handler], _Handler]:
        """Makes a function the handler of these queues, of `default` if none is named; of each of them the worker holds at most
        `limit` jobs at once.
        """
        if limit is not None and not 1 <= limit <= 65_536:
            raise ValueError("a limit is 1 to 65,536 jobs")

        def register(handler: _Handler) -> _Handler:
            for queue in queues or (DEFAULT_QUEUE,):
                if queue in self._handlers:
                    raise ValueError(f"the queue {queue} has a handler already")
                self._handlers[queue] = handler
                self._limits[queue] = limit
            return handler

        return register

    async def run(self, *, signals: bool = True) -> None:
        """Runs jobs until `drain`. A store that is away is waited for. With `signals`, SIGTERM and SIGINT drain, and a second
        one does what it did before, as does any that comes after the run: unless told otherwise, it ends the process. What
        was set by `loop.add_signal_handler` cannot be brought back: for such a signal it is the default.

        Cancellation leaves at once, which is as safe, only slower: the store takes the jobs back after a while.

        What a handler does in `asyncio.to_thread` cannot be stopped: this returns while the thread goes on, the job runs
        elsewhere meanwhile, and `asyncio.run` then joins the thread, so that the process ends only when that returns.

        Raises `PeerRefused` if the store refuses this worker, `EndpointError`, `KeyFileError`, and ValueError for queues or
        capabilities beyond what a store takes.
        """
        if not self._handlers or self._running is not None:
            raise ValueError("a worker needs a handler, and runs once at a time")
        self._routes.check(Listener.WORK)
        offer = Offer(os.urandom(16), self._slots, tuple(self._limits.items()), self._capabilities)
        if (objection := offer.objection) is not None:
            raise ValueError(objection)
        machine = WorkerMachine(offer, self._schema, random.SystemRandom(), self._read_ahead)
        self._running = _WorkerLoop(machine, self._routes, self._handlers)
        try:
            with _draining(self.drain) if signals else nullcontext():
                await self._running.run()
        finally:
            self._running = None

    def drain(self) -> None:
        """Ends `run` in order: takes no more jobs, gives those that run five seconds, and returns the rest to the store."""
        if self._running is not None:
            self._running.drain()


class _WorkerLoop:
    """Alone touches the machine and the socket; handlers run beside it in tasks of their own, and end with it."""

    def __init__(self, machine: WorkerMachine, routes: Routes, handlers: dict[str, Handler]) -> None:
        self._machine = machine
        self._handlers = handlers
        self._bell = Bell()
        self._link = Link(routes, Listener.WORK, self._bell, WORKER_BYTES)
        self._jobs: dict[Lease, tuple[Job, asyncio.Task[Answer]]] = {}
        self._tasks = asyncio.TaskGroup()
        self._wants_to_drain = False
        self._has_ended = False
        self._error: SamovarError | None = None

    def drain(self) -> None:
        self._wants_to_drain = True
        self._bell.ring()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        async with self._tasks:
            try:
                while self._machine.state != State.STOPPED:
                    await self._bell.rest([self._link.socket], self._machine.deadline)
                    self._round(loop.time())
                # A GOODBYE of this moment still has to leave.
                self._link.close(LINGER)
            # Kept, since a group would raise it as one of several.
            except SamovarError as error:
                self._error = error
            finally:
                self._has_ended = True
                self._link.close()
                for _, task in self._jobs.values():
                    task.cancel()
        if self._error is not None:
            raise self._error

    def _round(self, now: float) -> None:
        machine = self._machine
        messages, end = self._link.socket.receive()
        # A name that was looked up may stand for several.
        machine.connection.places = self._link.places or machine.connection.places
        for parts in messages:
            try:
                self._perform(machine.received(parse(parts), now), now)
            except Malformed as error:
                log.debug("dropped a message: %s", error)
        if end is not None:
            self._perform(machine.disconnected(now, end), now)
        if self._wants_to_drain:
            self._perform(machine.drain(now), now)
        self._perform(machine.ticked(now), now)
        self._perform(machine.flush(now), now)

    def _perform(self, actions: Iterable[act.WorkerAction], now: float) -> None:
        for action in actions:
            match action:
                case act.Connect(place):
                    self._link.attempt(place, self._machine.connection)
                case act.Disconnect():
                    self._link.close()
                case act.CheckKey():
                    self._perform(self._link.check_key(self._machine.connection, now), now)
                case act.Send(frame, timeline):
                    self._link.socket.send(frame.parts(timeline))
                case act.Start(task, timeline):
                    self._start(task, timeline, now)
                case act.Stopping(lease):
                    if lease in self._jobs:
                        job, running = self._jobs[lease]
                        job._stop()
                        running.cancel()
                case act.Acknowledged(mark):
                    if mark.lease in self._jobs:
                        self._jobs[mark.lease][0]._acknowledged(mark.index)
                case act.Connected():
                    log.info("connected to %s", self._link.route and self._link.route.endpoint)
                case act.Refused(error):
                    self._error = PeerRefused(error.code, error.text)
                case act.Note() as note:
                    log.log(note.level, "%s", note.text)
                case act.Stop():
                    pass  # The machine has stopped, and with it the loop ends.

    # Jobs

    def _start(self, task: Task, timeline: bytes, now: float) -> None:
        job = Job(task, timeline, now, self._streamed, self._progressed)
        running = self._tasks.create_task(self._attempt(task, job), name=f"samovar job {job.key}")
        self._jobs[task.lease] = (job, running)
        running.add_done_callback(partial(self._ended, task.lease))

    async def _attempt(self, task: Task, job: Job) -> Answer:
        try:
            effect = unpack(task.payload)
        except Unreadable as error:
            return Failed("unhandled", f"the effect cannot be read: {error}", permanent=True)
        try:
            message = await self._handlers[task.queue](effect, job)
            if message is not None:
                job.send(message)
            return Done(tuple(job._close()))
        # Whatever a handler raises fails its attempt and nothing else.
        except Exception as error:
            log.warning("attempt %d of job %s has failed: %s", job.attempt, job.key, type(error).__name__)
            log.debug("where job %s has failed", job.key, exc_info=True)
            return _failure(error)
        finally:
            job._close()

    def _ended(self, lease: Lease, task: asyncio.Task[Answer]) -> None:
        """A handler has really ended. One that was told to stop is not asked for its answer any more."""
        del self._jobs[lease]
        if self._has_ended:
            return
        if task.cancelled() or task.exception() is not None:
            answer: Answer = Failed("threw", "the handler was cancelled")
        else:
            answer = task.result()
        now = task.get_loop().time()
        self._perform(self._machine.finished(lease, answer, now), now)
        self._bell.ring()

    def _streamed(self, lease: Lease, index: int, message: bytes, checkpoint: bytes | None) -> None:
        self._machine.streamed(lease, index, message, checkpoint)
        self._bell.ring()

    def _progressed(self, lease: Lease, fraction: float | None, text: str | None) -> None:
        self._machine.progressed(lease, fraction, text)
        self._bell.ring()


def _failure(error: Exception) -> Failed:
    try:
        text = str(error)
    # It is the handler's own class, and may fail at that.
    except Exception:
        text = ""
    match error:
        case Unhandled():
            return Failed("unhandled", text, permanent=True)
        case Permanent():
            return Failed("threw", text, permanent=True)
    return Failed("threw", f"{type(error).__name__}: {text}" if text else type(error).__name__)


@contextmanager
def _draining(drain: Callable[[], None]) -> Iterator[None]:
    """SIGTERM and SIGINT drain once, and do what they did before from then on. Only the main thread has signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before: dict[signal.Signals, Any] = {}

    def forget() -> None:
        while before:
            number, handler = before.popitem()
            loop.remove_signal_handler(number)
            # None is one that was not set from Python, and cannot be set from there.
            if handler is not None:
                signal.signal(number, handler)

    def stop() -> None:
        forget()
        drain()

    for number in (signal.SIGTERM, signal.SIGINT):
        # Of a handler of the loop only a function that does nothing would be found, and the signal would be lost.
        loop.remove_signal_handler(number)
        before[number] = signal.getsignal(number)
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        forget()
