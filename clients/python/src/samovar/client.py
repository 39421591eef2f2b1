"""A client: sends inputs, and watches what becomes of the program."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any, Self

from .client_loop import ClientLoop, OtherTimeline, Watch
from .endpoints import Endpoints, Listener
from .errors import ClientClosed, OutputGap, ViewGap
from .outbox_file import OutboxFile
from .packing import pack, unpack
from .places import OutputPlace
from .protocol.client import TIMELINE_CHANGED, ClientMachine
from .protocol.connection import CLIENT, KEYED_CLIENT
from .protocol.frame import MAIN, Schema
from .protocol.received import OutputPage, ViewPage
from .protocol.requests import NOW, OutputsAfter, Page, PageRequest, ViewsAfter
from .receipts import Applied, Output, Receipt, Refused, View, turn_of
from .transport import Routes


class Client:
    """A client of a running program.

    ```python
    async with Client("Counter", endpoint="ipc:///run/user/1000/samovar/counter") as counter:
        receipt = await counter.send({"increment": {}})
        async for view in counter.views():
            print(view.turn, view.value)
    ```

    What was sent is applied once or not at all, however often connection or store break meanwhile; a store that is away is
    waited for. All of it belongs to one event loop. Inputs, refusals, views and outputs are values as docs/protocol.md writes
    them: an enum case is a dictionary with the case's name as its key.

    - `program`, `version`: whose inputs these are; the store refuses another. None takes the store as it is.
    - `endpoint`: where the store is; several, as a list or with commas, are tried in turn.
    - `key`: a key file, for TCP beyond this machine.
    - `outbox`: a file in which inputs are kept until their outcome is seen, so that a process that is killed loses none; one
    process   at a time. Whoever opens it next is told by `restored` what became of them.

    Once the store refuses the client for good, every call raises `PeerRefused`; after `close` they raise `ClientClosed`.
    """

    def __init__(
        self,
        program: str | None = None,
        version: int = 1,
        *,
        endpoint: Endpoints,
        key: str | os.PathLike[str] | None = None,
        instance: str = MAIN,
        outbox: str | os.PathLike[str] | None = None,
    ) -> None:
        """Raises `EndpointError`, and ValueError for an instance that no store takes. Nothing is opened or sent before the client
        is entered.
        """
        if (size := len(instance.encode())) > 128:
            raise ValueError(f"an instance key of {size} bytes; 128 at most")
        self._schema = None if program is None else Schema(program, version)
        self._routes = Routes(endpoint, key)
        self._times = CLIENT if key is None else KEYED_CLIENT
        self._instance = instance
        self._outbox = outbox
        self._entered: ClientLoop | None = None
        self._task: asyncio.Task[None] | None = None

    # Life

    async def __aenter__(self) -> Self:
        """Opens the outbox and begins to connect; it waits for no store.

        Raises `EndpointError`, `KeyFileError`, `OutboxError`.
        """
        if self._entered is not None:
            raise ClientClosed("a client is entered once: make another one")
        self._routes.check(Listener.FRONT)
        outbox = None if self._outbox is None else OutboxFile(self._outbox)
        session = os.urandom(16) if outbox is None else outbox.outbox
        machine = ClientMachine(session, self._schema, random.SystemRandom(), self._instance, times=self._times)
        machine.connection.places = len(self._routes.read())
        self._entered = ClientLoop(machine, self._routes, self._instance, outbox)
        self._task = asyncio.create_task(self._entered.run(), name="samovar client")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Ends the session: inputs without an outcome stay unknown, or in the outbox. Raises what has ended the client before,
        if nothing else is raised.
        """
        await self.close()
        if kind is None and self._loop.error is not None:
            raise self._loop.error

    async def close(self) -> None:
        """Ends the session, and everything that waits for this client."""
        self._loop.close()
        if self._task is not None:
            await asyncio.wait([self._task])

    @property
    def is_connected(self) -> bool:
        """Whether the store has answered on the present connection."""
        return self._loop.machine.connection.is_welcomed

    @property
    def obstacle(self) -> str | None:
        """Why the store takes nothing at present, in its words, such as a full disk; None if it takes all."""
        return self._loop.machine.obstacle

    async def connected(self) -> None:
        """Waits until the store has answered for the first time."""
        waiting = asyncio.create_task(self._loop.is_connected.wait())
        try:
            await asyncio.wait([task for task in (waiting, self._task) if task is not None], return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        if not self._loop.is_connected.is_set():
            raise self._loop.closed()

    @property
    def _loop(self) -> ClientLoop:
        if self._entered is None:
            raise ClientClosed("enter the client first: `async with client:`")
        return self._entered

    # Inputs

    async def send(self, input: Any, *, ends_session: bool = False) -> Receipt:
        """Sends an input, and waits for what becomes of it, as long as it takes. Inputs are applied in the order in which they
        were sent.

        Cancellation does not take it back. With an outbox, an input is on disk before it is sent, and an outcome that nobody
        was here to take is told to whoever opens the outbox next, unless a window of inputs has followed it by then.

        With `ends_session` the session ends in the turn of this input, if it is applied: no other one follows.

        Raises TypeError for an input that MessagePack cannot say.
        """
        data = pack(input)
        future: asyncio.Future[tuple[int, Receipt]] = asyncio.get_running_loop().create_future()
        self._loop.post(lambda _: self._loop.submit(data, ends_session, future))
        try:
            sequence, receipt = await future
        except asyncio.CancelledError:
            self._loop.post_if_open(lambda _: self._loop.leave(future))
            raise
        self._seen(sequence)
        return receipt

    async def restored(self) -> AsyncIterator[tuple[Any, Receipt]]:
        """Inputs that the outbox held when it was opened, each with what has become of it, as they are told; then it ends.

        An outcome counts as seen when the next one is asked for; those that were not seen are told again by the next process.
        Iterate over this: the store keeps outcomes until they are seen, and no more inputs than a window beyond the oldest of
        them.
        """
        restored = self._loop.restored
        while (item := await restored.get()) is not None:
            sequence, input, receipt = item
            yield unpack(input), receipt
            self._seen(sequence)
        # For whoever iterates again.
        restored.put_nowait(None)

    async def settled(self, turn: int | Applied | Refused) -> list[str]:
        """Waits until no effect is open that the turn of a receipt has caused, directly or through others. Returns what the
        store says of those that have failed for good.

        Raises `Unsettled` if nobody can tell any more, as after a receipt of another journal. A number that is no turn of the
        store's ends the client, as misuse; so who waits for the turn of a receipt passes the receipt.
        """
        number, timeline = turn_of(turn)
        if number < 1:
            raise ValueError(f"{number} is no turn")
        future: asyncio.Future[list[str]] = asyncio.get_running_loop().create_future()
        self._loop.post(lambda now: self._loop.settle(number, future, now, timeline))
        try:
            return await future
        except asyncio.CancelledError:
            self._loop.post_if_open(lambda _: self._loop.forget_settle(number, future))
            raise

    def _seen(self, sequence: int) -> None:
        self._loop.post_if_open(lambda _: self._loop.machine.seen(sequence))

    # Views and outputs

    async def view(self, at_least: int | Applied | Refused = 0) -> View:
        """A view of at least this turn: who asks for that of a receipt sees what it has sent, unless the store has another
        journal since.
        """
        number, timeline = turn_of(at_least)
        future: asyncio.Future[View] = asyncio.get_running_loop().create_future()
        self._loop.post(lambda now: self._loop.view(number, future, now, timeline))
        try:
            return await future
        finally:
            self._loop.post_if_open(lambda _: self._loop.forget_view(future))

    async def views(self) -> AsyncIterator[View]:
        """The current view and those that follow, until the client is closed. The newest wins: a slow reader misses some, and
        never the last one.
        """
        watch = Watch()
        self._loop.post(lambda _: self._loop.watch(watch))
        try:
            while (view := await watch.next()) is not None:
                yield view
            if self._loop.error is not None:
                raise self._loop.error
        finally:
            self._loop.post_if_open(lambda _: self._loop.unwatch(watch))

    async def every_view(self) -> AsyncIterator[View]:
        """The current view, and then that of each turn, in order, changed or not. It costs the store a view after each turn.

        Raises `ViewGap` if this reader was too slow, or the store was restarted: another `every_view` begins with the current
        view.
        """
        turn, timeline = NOW, None
        while True:
            try:
                page, timeline = await self._page(ViewsAfter(turn, timeline))
            except OtherTimeline:
                raise ViewGap(f"views after turn {turn} are missing: {TIMELINE_CHANGED}") from None
            assert isinstance(page, ViewPage)
            if page.is_missing_some:
                raise ViewGap(f"views after turn {turn} are missing: the store does not keep them any more, or was restarted")
            for turn, value in page.views:
                yield View(turn, value, timeline)

    async def outputs(self, after: OutputPlace | None = None, *, wait: bool = True) -> AsyncIterator[Output]:
        """What the program has emitted after a place, or all that the store still has, and what it will: in order, none twice
        and none left out. Without `wait` it ends with what there is.

        Raises `OutputGap` if some cannot be had.
        """
        place = after or OutputPlace()
        while True:
            try:
                page, timeline = await self._page(OutputsAfter(place.turn, place.ordinal, place.timeline, wait))
            except OtherTimeline:
                text = f"the store has another journal: outputs after {place} cannot be told from what came before"
                raise OutputGap(text, OutputPlace(timeline=self._loop.machine.timeline)) from None
            assert isinstance(page, OutputPage)
            last, place = place, OutputPlace(*(page.lost or page.after), timeline)
            # Who begins at the start wants what there is.
            if page.lost is not None and last[:2] != (0, 0):
                raise OutputGap(f"outputs after {last} and up to {place} are not kept any more", place)
            for turn, ordinal, value in page.outputs:
                place = OutputPlace(turn, ordinal, timeline)
                yield Output(place, unpack(value))
            if not page.outputs and not wait:
                return

    async def _page(self, request: PageRequest) -> tuple[Page, bytes]:
        """A page, when there is something in it, and the timeline that it is of. Raises `OtherTimeline`."""
        future: asyncio.Future[tuple[Page, bytes]] = asyncio.get_running_loop().create_future()
        self._loop.post(lambda now: self._loop.page(request, future, now))
        try:
            return await future
        finally:
            self._loop.post_if_open(lambda _: self._loop.forget_page(request, future))
