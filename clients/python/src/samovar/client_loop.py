"""The loop of a client: one connection for inputs and requests, one subscription for views, two machines that decide."""

from __future__ import annotations

import asyncio
import logging
import math
import random
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeAlias

import zmq

from .endpoints import Listener
from .errors import ClientClosed, PeerRefused, Unsettled
from .outbox_file import OutboxFile
from .protocol import actions as act
from .protocol.client import TIMELINE_CHANGED, ClientMachine, SubmitError
from .protocol.frame import NO_TIMELINE
from .protocol.received import Malformed, parse
from .protocol.requests import OutputsAfter, Page, PageRequest, ViewsAfter
from .protocol.subscriber import KEYED, STANDARD, SubscriberMachine
from .receipts import Receipt, Rejected, Unknown, View, receipt_of
from .transport import CLIENT_BYTES, LINGER, Bell, Link, PeerSocket, Route, Routes

log = logging.getLogger("samovar.client")

#: So long, in seconds, an outcome may hold up inputs before that is told.
_UNSEEN = 3.0

#: What somebody wants of the loop; it gets the time.
Command: TypeAlias = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class _Settle:
    turn: int


@dataclass(frozen=True, slots=True)
class _ViewOf:
    at_least: int


_Request: TypeAlias = _Settle | _ViewOf | PageRequest


class OtherTimeline(Exception):
    """The place of a page is of another timeline than the store's."""


class ClientLoop:
    """Alone touches the machines and the sockets. Others post commands, and wait for futures or at a `Watch`."""

    def __init__(self, machine: ClientMachine, routes: Routes, instance: str, outbox: OutboxFile | None) -> None:
        self.machine = machine
        #: Set when the store has answered for the first time.
        self.is_connected = asyncio.Event()
        #: What became of inputs of an earlier process, with their numbers; None behind the last one.
        self.restored: asyncio.Queue[tuple[int, bytes, Receipt] | None] = asyncio.Queue()
        #: What has ended the loop, other than a wish.
        self.error: Exception | None = None
        self._has_ended = False
        self._is_closing = False
        self._instance = instance
        self._outbox = outbox
        #: Where the outbox is written: the threads of the event loop may all be taken by others, for as long as they like.
        self._thread = ThreadPoolExecutor(1, "samovar-outbox")
        self._restoring = {} if outbox is None else {input.sequence: input.input for input in outbox.outbox.inputs}
        if not self._restoring:
            self.restored.put_nowait(None)
        self._random = random.SystemRandom()
        self._bell = Bell()
        self._front = Link(routes, Listener.FRONT, self._bell, CLIENT_BYTES)
        self._feed = PeerSocket(self._bell, zmq.SUB, CLIENT_BYTES, topic=b"view/" + instance.encode() + b"\0")
        self._feed_route: Route | None = None
        self._subscriber: SubscriberMachine | None = None
        self._commands: deque[Command] = deque()
        self._sends: dict[int, asyncio.Future[tuple[int, Receipt]]] = {}
        #: Why there are no views, as the log says it.
        self._view_obstacle: str | None = None
        #: Inputs whose outcome came when nobody waited for it any more.
        self._untaken: set[int] = set()
        #: The input whose outcome holds up others, and when to warn of that.
        self._held_up: tuple[int, float] | None = None
        self._settles: dict[int, list[asyncio.Future[list[str]]]] = {}
        self._views: list[tuple[int, asyncio.Future[View]]] = []
        self._pages: dict[PageRequest, list[asyncio.Future[tuple[Page, bytes]]]] = {}
        #: Requests for which the machine has no room before others are answered, in order.
        self._postponed: deque[_Request] = deque()
        #: In which the turns count that are waited for.
        self._timeline = machine.timeline
        self._watches: set[Watch] = set()
        self._newest: View | None = None

    # From outside

    def post(self, command: Command) -> None:
        """Raises what has ended the loop."""
        if self._has_ended or self._is_closing:
            raise self.closed()
        self._commands.append(command)
        self._bell.ring()

    def post_if_open(self, command: Command) -> None:
        if not self._has_ended:
            self._commands.append(command)
            self._bell.ring()

    def close(self) -> None:
        """Ends the session, and the loop."""
        self._is_closing = True
        self._bell.ring()

    def closed(self) -> Exception:
        return self.error or ClientClosed("this client has ended")

    # Commands

    def submit(self, input: bytes, ends_session: bool, future: asyncio.Future[tuple[int, Receipt]]) -> None:
        try:
            self._sends[self.machine.submit(input, ends_session)] = future
        except SubmitError as error:
            _resolve(future, (0, Rejected(str(error))))

    def leave(self, future: asyncio.Future[tuple[int, Receipt]]) -> None:
        """Whoever waited was cancelled, perhaps when the outcome was there already."""
        if self._outbox is not None and future.done() and not future.cancelled():
            self._untaken.add(future.result()[0])

    def settle(self, turn: int, future: asyncio.Future[list[str]], now: float, timeline: bytes | None = None) -> None:
        if timeline not in (None, self.machine.timeline):
            return _fail(future, _unsettled(turn, TIMELINE_CHANGED))
        self._settles.setdefault(turn, []).append(future)
        self._ask(_Settle(turn), now)

    def forget_settle(self, turn: int, future: asyncio.Future[list[str]]) -> None:
        waiters = self._settles.get(turn, [])
        if future in waiters:
            waiters.remove(future)
        if not waiters and self._settles.pop(turn, None) is not None:
            self.machine.forget_settle(turn)
            self._postponed = deque(postponed for postponed in self._postponed if postponed != _Settle(turn))

    def view(self, at_least: int, future: asyncio.Future[View], now: float, timeline: bytes | None = None) -> None:
        at_least = at_least if timeline in (None, self.machine.timeline) else 0
        self._views.append((at_least, future))
        self._ask(_ViewOf(at_least), now)

    def forget_view(self, future: asyncio.Future[View]) -> None:
        self._views = [(at_least, other) for at_least, other in self._views if other is not future]
        wanted = {_ViewOf(at_least) for at_least, _ in self._views}
        self._postponed = deque(one for one in self._postponed if not isinstance(one, _ViewOf) or one in wanted)

    def page(self, request: PageRequest, future: asyncio.Future[tuple[Page, bytes]], now: float) -> None:
        self._pages.setdefault(request, []).append(future)
        self._ask(request, now)

    def forget_page(self, request: PageRequest, future: asyncio.Future[tuple[Page, bytes]]) -> None:
        waiters = self._pages.get(request, [])
        if future in waiters:
            waiters.remove(future)
        if not waiters and self._pages.pop(request, None) is not None:
            self.machine.forget_page(request)
            self._postponed = deque(postponed for postponed in self._postponed if postponed != request)

    def watch(self, watch: Watch) -> None:
        self._watches.add(watch)
        if self._newest is not None:
            watch.show(self._newest)

    def unwatch(self, watch: Watch) -> None:
        self._watches.discard(watch)

    def _ask(self, request: _Request, now: float) -> None:
        # A machine that is closed takes nothing, and whoever waits is told at the end of this loop, which is next.
        if not self.machine.is_open:
            return
        if not self.machine.has_room_for_request:
            self._postponed.append(request)
            return
        match request:
            case _Settle(turn):
                actions = self.machine.settle(turn, now)
            case _ViewOf(at_least):
                actions = self.machine.request_view(at_least, now)
            case OutputsAfter() | ViewsAfter():
                actions = self.machine.request_page(request, now)
        self._perform(actions, now)

    def _ask_postponed(self, now: float) -> None:
        while self._postponed and self.machine.has_room_for_request:
            self._ask(self._postponed.popleft(), now)

    # The loop

    async def run(self) -> None:
        """Until `close`, a refusal, or an error, which is kept."""
        loop = asyncio.get_running_loop()
        try:
            while self.machine.is_open:
                await self._bell.rest([self._front.socket, self._feed], self._deadline())
                await self._round(loop.time())
            # A GOODBYE of this moment still has to leave.
            self._front.close(LINGER)
        except Exception as error:
            self.error = error
        finally:
            self._end(loop.time())

    def _deadline(self) -> float | None:
        times = [self.machine.deadline, None if self._subscriber is None else self._subscriber.deadline]
        return min((time for time in times if time is not None), default=None)

    async def _round(self, now: float) -> None:
        while self._commands:
            self._commands.popleft()(now)
        messages, end = self._front.socket.receive()
        # A name that was looked up may stand for several.
        self.machine.connection.places = self._front.places or self.machine.connection.places
        actions: list[act.ClientAction] = []
        for parts in messages:
            try:
                actions += self.machine.received(parse(parts), now)
            except Malformed as error:
                log.debug("dropped a message: %s", error)
        if end is not None:
            actions += self.machine.disconnected(now, end)
        actions += self.machine.ticked(now)
        # The store keeps a window of outcomes. Of those that nobody has taken, the oldest gives way to new inputs.
        if (sequence := self.machine.held_up_by) in self._untaken:
            self._untaken.remove(sequence)
            self.machine.seen(sequence)
        self._warn_of_unseen(now)
        # Whatever anybody is told or sent next may rely on what is in the outbox.
        if self._outbox is not None and (entries := self.machine.take_entries()):
            await asyncio.get_running_loop().run_in_executor(self._thread, self._outbox.add, entries)
        self.machine.saved()
        actions += self.machine.close() if self._is_closing else self.machine.flush(now)
        self._perform(actions, now)
        self._ask_postponed(now)
        self._follow(now)

    def _warn_of_unseen(self, now: float) -> None:
        """Warns of an outcome that was not seen for some time while inputs wait for that: once."""
        sequence = self.machine.held_up_by
        if sequence is None:
            self._held_up = None
        elif self._held_up is None or self._held_up[0] != sequence:
            self._held_up = (sequence, now + _UNSEEN)
        elif now >= self._held_up[1]:
            self._held_up = (sequence, math.inf)
            log.warning("inputs wait, for the outcome of input %d was not seen: read `restored`", sequence)

    def _perform(self, actions: Iterable[act.ClientAction], now: float) -> None:
        for action in actions:
            match action:
                case act.Connect(place):
                    self._front.attempt(place, self.machine.connection)
                case act.Disconnect():
                    self._front.close()
                case act.CheckKey():
                    self._perform(self._front.check_key(self.machine.connection, now), now)
                case act.Send(frame, timeline):
                    self._front.socket.send(frame.parts(timeline))
                case act.Connected(_, timeline):
                    self._connected(timeline, now)
                case act.Answered(outcome):
                    self._complete(outcome.sequence, receipt_of(outcome, self.machine.timeline))
                case act.Unknown(sequence, reason):
                    self._complete(sequence, Unknown(reason))
                case act.IsSettled(turn, dead):
                    for settled in self._settles.pop(turn, []):
                        _resolve(settled, dead)
                case act.Unsettled(turn, reason):
                    self._unsettled(turn, reason)
                case act.IsWaiting(turn, reason):
                    # The store says it each second.
                    is_new = turn is None and reason != self._view_obstacle
                    self._view_obstacle = reason if turn is None else self._view_obstacle
                    what = "a view" if turn is None else f"turn {turn}"
                    log.log(logging.WARNING if is_new else logging.DEBUG, "waiting for %s: %s", what, reason)
                case act.Viewed(turn, value):
                    self._viewed(View(turn, value, self.machine.timeline), now)
                case act.Paged(request, page):
                    for paged in self._pages.pop(request, []):
                        _resolve(paged, (page, self.machine.timeline))
                case act.Pageless(request, reason) if reason == TIMELINE_CHANGED:
                    for paged in self._pages.pop(request, []):
                        _fail(paged, OtherTimeline())
                case act.Pageless() | act.Stop():
                    pass  # The machine is closed now, and with it the loop ends.
                case act.Refused(error):
                    self.error = PeerRefused(error.code, error.text)
                case act.Note() as note:
                    log.log(note.level, "%s", note.text)

    def _connected(self, timeline: bytes, now: float) -> None:
        if self._timeline not in (NO_TIMELINE, timeline):
            self._forget_turns()
        self._timeline = timeline
        log.info("connected to %s", self._front.route and self._front.route.endpoint)
        self.is_connected.set()
        if self._subscriber is not None and self._feed_route != self._front.route:
            self._carry_out(self._subscriber.disconnected(now, "the store is elsewhere"), now)

    def _forget_turns(self) -> None:
        """Turns of one timeline mean nothing in another: what the machine does not know of never settles, any view will do."""
        self._views = [(0, future) for _, future in self._views]
        postponed, self._postponed = self._postponed, deque()
        for request in postponed:
            match request:
                case _Settle(turn):
                    self._unsettled(turn, TIMELINE_CHANGED)
                case _ViewOf():
                    self._postponed.append(_ViewOf(0))
                case _:
                    self._postponed.append(request)

    def _unsettled(self, turn: int, reason: str) -> None:
        for settled in self._settles.pop(turn, []):
            _fail(settled, _unsettled(turn, reason))

    def _complete(self, sequence: int, receipt: Receipt) -> None:
        if (future := self._sends.pop(sequence, None)) is not None:
            if future.cancelled() and self._outbox is not None:
                self._untaken.add(sequence)
            _resolve(future, (sequence, receipt))
        elif (input := self._restoring.pop(sequence, None)) is not None:
            self.restored.put_nowait((sequence, input, receipt))
            if not self._restoring:
                self.restored.put_nowait(None)

    # Views

    def _viewed(self, view: View, now: float) -> None:
        for at_least, future in self._views:
            if view.turn >= at_least:
                _resolve(future, view)
        self._views = [(at_least, future) for at_least, future in self._views if not future.done()]
        if self._subscriber is not None:
            self._carry_out(self._subscriber.answered(view.turn, view.value, view.timeline), now)

    def _follow(self, now: float) -> None:
        """Keeps the SUB socket, as long as somebody watches."""
        if not self._watches:
            self._feed.close()
            self._subscriber = self._newest = None
            return
        if self.machine.is_sent_away:
            self._feed.close()
            self._subscriber = None
            return
        if self._subscriber is None:
            route = self._front.route
            times = STANDARD if route is None or route.key is None else KEYED
            self._subscriber = SubscriberMachine(self._random, self._instance, times)
        messages, end = self._feed.receive()
        actions: list[act.SubscriberAction] = []
        for parts in messages:
            try:
                # A published message begins with its topic.
                actions += self._subscriber.received(parse(parts[1:]), now)
            except Malformed as error:
                log.debug("dropped a publication: %s", error)
        if end is not None:
            actions += self._subscriber.disconnected(now, end)
        self._carry_out(actions + self._subscriber.ticked(now), now)

    def _carry_out(self, actions: Iterable[act.SubscriberAction], now: float) -> None:
        for action in actions:
            match action:
                case act.Reconnect():
                    # Where the store is, the front connection finds out.
                    self._feed_route = self._front.route
                    if self._feed_route is not None and not self._feed_route.endpoint.is_name:
                        self._feed.connect(self._feed_route, Listener.VIEW)
                case act.Stale():
                    # Nothing comes through it any more, and a store that ends waits until it is closed.
                    self._feed.close()
                case act.Show(turn, value, timeline):
                    self._newest = View(turn, value, timeline)
                    for watch in self._watches:
                        watch.show(self._newest)
                case act.RequestView(at_least, timeline):
                    try:
                        self._perform(self.machine.request_view(at_least, now, timeline), now)
                    except SubmitError as error:
                        log.debug("no view is asked for: %s", error)
                case act.Note() as note:
                    log.log(note.level, "%s", note.text)

    def _end(self, now: float) -> None:
        """Nobody waits for ever: whoever still waits is told that nobody can tell any more."""
        self._has_ended = True
        self._front.close()
        self._feed.close()
        self._thread.shutdown(wait=False)
        if self._outbox is not None:
            self._outbox.close()
        # If a round has failed, so has what it was to tell of these, and nobody knows whether they are on disk.
        for sequence in list(self._sends):
            self._complete(sequence, Unknown(str(self.closed())))
        self._perform([action for action in self.machine.close() if not isinstance(action, act.Send)], now)
        # The machine takes nothing any more.
        while self._commands:
            self._commands.popleft()(now)
        waiting: list[asyncio.Future[Any]] = [future for _, future in self._views]
        waiting += [future for futures in self._pages.values() for future in futures]
        waiting += [future for futures in self._settles.values() for future in futures]
        for future in waiting:
            _fail(future, self.closed())
        self.restored.put_nowait(None)
        for watch in self._watches:
            watch.end()


class Watch:
    """What one reader of views has not seen: the newest."""

    def __init__(self) -> None:
        self._view: View | None = None
        self._has_ended = False
        self._changed = asyncio.Event()

    def show(self, view: View) -> None:
        self._view = view
        self._changed.set()

    def end(self) -> None:
        self._has_ended = True
        self._changed.set()

    async def next(self) -> View | None:
        """The newest view that was not seen; None at the end."""
        await self._changed.wait()
        view, self._view = self._view, None
        if not self._has_ended:
            self._changed.clear()
        return view


def _unsettled(turn: int, reason: str) -> Unsettled:
    return Unsettled(f"nobody can tell whether the effects of turn {turn} have ended: {reason}")


def _resolve(future: asyncio.Future[Any], value: Any) -> None:
    # Whoever waited may have been cancelled.
    if not future.done():
        future.set_result(value)


def _fail(future: asyncio.Future[Any], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
