"""One attempt of one effect, as its handler sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .errors import StreamError
from .packing import pack, unpack
from .places import name_of
from .protocol.frame import Lease
from .protocol.jobs import StreamWindow
from .protocol.received import StreamPlace, Task


@dataclass(frozen=True, slots=True)
class Resume:
    """How far earlier attempts of an effect came with `stream`."""

    #: How many messages of this effect are applied.
    index: int
    #: The newest checkpoint, None if none was given. Messages that were streamed after it are counted in `index`.
    checkpoint: Any


class Job:
    """What a handler knows of its effect, and what it may say before it returns.

    When nobody wants the answer any more (the effect was cancelled or ran out of time, or this worker has to stop), the
    handler's task is cancelled.
    """

    def __init__(
        self,
        task: Task,
        timeline: bytes,
        now: float,
        stream: Callable[[Lease, int, bytes, bytes | None], None],
        progress: Callable[[Lease, float | None, str | None], None],
    ) -> None:
        claim = task.claim
        #: The identity of the effect, the same in every attempt: hand it to other services as their idempotency key.
        self.key = f"{name_of(timeline)}/{claim.turn}/{claim.ordinal}"
        #: From 1.
        self.attempt = task.attempt
        #: Of the program that ordered the effect.
        self.instance = task.instance
        #: In which the effect was ordered.
        self.queue = task.queue
        #: How long this attempt may take, in seconds; None for as long as it likes.
        self.timeout = task.timeout
        #: When this attempt is cancelled, by the clock of the event loop; None for never.
        self.deadline = None if task.timeout is None else now + task.timeout
        self._resume = task.resume
        self._lease = claim.lease
        self._stream = stream
        self._progress = progress
        self._messages: list[bytes] = []
        self._window = StreamWindow(0 if task.resume is None else task.resume.index)
        self._has_room = asyncio.Event()
        self._has_ended = False
        self._is_unwanted = False

    @property
    def resume(self) -> Resume | None:
        """How far earlier attempts came; None if none has streamed anything.

        Raises ValueError for a checkpoint that is no MessagePack: it is the worker's own, and may be that of another one.
        """
        return None if self._resume is None else _resume(self._resume)

    def send(self, message: Any) -> None:
        """Adds a message to the answer, before the one that the handler returns. All of them are applied together, when the
        handler has returned; an attempt that fails has sent nothing. An answer has at most 4 MiB, with 5 bytes more for each
        message.

        Raises TypeError for a message that MessagePack cannot say.
        """
        self._messages.append(pack(message))

    async def stream(self, message: Any, *, checkpoint: Any = None) -> None:
        """Sends a message at once. It is applied once and in order, even if this attempt dies later: the next one finds in
        `resume` how many messages there were. So a handler that streams begins after `resume`, or it streams things twice.

        With a checkpoint, another attempt goes on there: failed attempts before it do not count any more, and a worker that
        drains stops the job, because nothing of it is lost.

        Waits while 64 messages or 4 MiB of this job are not on disk; its return does not mean that this one is.

        Raises `StreamError` for a message of more than 1 MiB with its checkpoint, a checkpoint of more than 64 KiB, or a handler
        that has returned; TypeError for what MessagePack cannot say.
        """
        data = pack(message)
        mark = None if checkpoint is None else pack(checkpoint)
        size = len(data) + len(mark or b"")
        if mark is not None and len(mark) > StreamWindow.CHECKPOINT_BYTES:
            raise StreamError(f"a checkpoint of {len(mark)} bytes; {StreamWindow.CHECKPOINT_BYTES} at most")
        if size > StreamWindow.MESSAGE_BYTES:
            raise StreamError(f"a streamed message of {size} bytes with its checkpoint; {StreamWindow.MESSAGE_BYTES} at most")
        while True:
            if self._has_ended:
                raise StreamError("the handler of this job has returned: nothing can be streamed any more")
            if self._is_unwanted:
                raise asyncio.CancelledError
            index = self._window.next(size)
            if index is not None:
                return self._stream(self._lease, index, data, mark)
            self._has_room.clear()
            await self._has_room.wait()

    def progress(self, fraction: float | None = None, text: str | None = None) -> None:
        """Tells people how far the job is, from 0 to 1, and in at most 200 characters: in `effects`, `status` and nowhere else.
        It is told now and then, kept by nobody and lost with the worker.
        """
        if not self._has_ended:
            self._progress(self._lease, fraction, text)

    # What the worker tells the job.

    def _acknowledged(self, index: int) -> None:
        self._window.acknowledged(index)
        self._has_room.set()

    def _stop(self) -> None:
        """Nobody wants the answer any more: nothing makes room for what is streamed, and whoever waits for that ends."""
        self._is_unwanted = True
        self._has_room.set()

    def _close(self) -> list[bytes]:
        """What was sent; nothing can be said after this."""
        self._has_ended = True
        self._has_room.set()
        return self._messages


def _resume(place: StreamPlace) -> Resume:
    return Resume(place.index, None if place.checkpoint is None else unpack(place.checkpoint))
