"""Sockets: where a peer connects, and one connection at a time.

The loop of a host is the only one that touches its sockets: it looks what has come, hands it to a machine and carries out what
that says. So what a store has said last is read before the end of its connection is, which libzmq tells elsewhere.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import uuid
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import zmq
from zmq.utils import z85
from zmq.utils.monitor import parse_monitor_message

from . import folders
from .endpoints import Endpoint, Endpoints, Listener, look_up, parse_all
from .errors import EndpointError, KeyFileError
from .keys import PeerKey, read_key
from .protocol.actions import Note
from .protocol.connection import Connection, KeyRefused, Particular

log = logging.getLogger("samovar")

#: The largest parts of messages that peers take.
CLIENT_BYTES = 64 << 20
WORKER_BYTES = 5 << 20

#: Where nobody can ever listen: what connects there fails at once, as it does where no store runs.
_NOWHERE = "ipc:///dev/null/none"
#: So long, in milliseconds, a socket that is closed in order may send what it has.
LINGER = 1_000
_MESSAGES_PER_ROUND = 256
#: Of the addresses of one name so many are tried.
_ADDRESSES = 8

_OPTIONS = {
    zmq.LINGER: 0,
    # Nothing is queued for a store that is away, and a connection that is lost does not come back.
    zmq.IMMEDIATE: 1,
    zmq.RECONNECT_IVL: -1,
    zmq.CONNECT_TIMEOUT: 5_000,
    zmq.HANDSHAKE_IVL: 30_000,
    # The first probe after 15 s of silence, then each 5 s; three without an answer end the connection.
    zmq.TCP_KEEPALIVE: 1,
    zmq.TCP_KEEPALIVE_IDLE: 15,
    zmq.TCP_KEEPALIVE_INTVL: 5,
    zmq.TCP_KEEPALIVE_CNT: 3,
}


#: What the monitor of a socket says of a connection that is over, or came to nothing.
_ENDS: dict[int, str] = {
    zmq.EVENT_DISCONNECTED: "the connection broke",
    zmq.EVENT_CLOSED: "nobody listens there",
    zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL: "the handshake failed: the store wants a key, or has another than the key file says",
    zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL: Particular("the handshake failed: that is no store, or one without keys"),
    zmq.EVENT_HANDSHAKE_FAILED_AUTH: KeyRefused("the store does not take this key"),
}
_EVENTS = sum(_ENDS)
#: A store that ends in the middle of a handshake does so once; one that has another key does so each time.
_UNANSWERED = 5


class Bell:
    """Wakes the loop of a host, from the same thread."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()

    def ring(self) -> None:
        self._rung.set()

    async def rest(self, sockets: Iterable[PeerSocket], until: float | None) -> None:
        """Waits until the bell rings, a socket has something, or a time of the event loop."""
        # A socket's descriptor tells of changes alone, so that what is there already has to be looked for.
        if not any([socket.is_ready() for socket in sockets]):
            try:
                async with asyncio.timeout_at(until):
                    await self._rung.wait()
            except TimeoutError:
                pass
        else:
            # Others want to run as well.
            await asyncio.sleep(0)
        self._rung.clear()


@dataclass(frozen=True, slots=True)
class Route:
    """One way to a store: an endpoint, and on TCP with keys whom to expect there."""

    endpoint: Endpoint
    key: PeerKey | None = None
    server: bytes | None = None
    #: The endpoint as it was given, if its host is a name; `endpoint` is one of its addresses, or the same before the look-up.
    name: Endpoint | None = None

    def address(self, listener: Listener) -> str:
        """What to connect to. Raises `EndpointError` if another user could listen there."""
        address = self.endpoint.address(listener)
        if self.endpoint.folder is None:
            return address
        # Another user might make a folder that is missing between this look and the connection.
        if not folders.check(self.endpoint.folder):
            return _NOWHERE
        file = address.removeprefix("ipc://")
        if os.path.exists(file) and not os.access(file, os.W_OK):
            raise EndpointError(f"permission to use the socket {file} is denied: it belongs to another user")
        return address


class Routes:
    """All ways to a store: every endpoint, of a name every address, with every key that the store may have.

    Raises `EndpointError` for TCP beyond this machine without a key.
    """

    def __init__(self, endpoints: Endpoints, key: str | os.PathLike[str] | None) -> None:
        self._endpoints = parse_all(endpoints)
        self._key = key
        #: The addresses of names, as far as they are known.
        self._addresses: dict[Endpoint, list[Endpoint]] = {}
        for endpoint in self._endpoints:
            if key is None and not endpoint.is_local and not endpoint.is_loopback:
                raise EndpointError(f"{endpoint} is beyond this machine, where anybody could answer: name a key file")

    def check(self, listener: Listener) -> None:
        """Raises what would end every attempt: `KeyFileError`, `EndpointError`."""
        for route in self.read():
            route.address(listener)

    def read(self) -> list[Route]:
        """The ways as they are now: the key file is read again each time. Raises `KeyFileError`."""
        return self._with(None if self._key is None else read_key(self._key))

    def _with(self, key: PeerKey | None) -> list[Route]:
        routes = []
        for endpoint in self._endpoints:
            # A file of `ipc` is for those who may open it, with or without a key.
            servers: Sequence[bytes | None] = [None] if key is None or endpoint.is_local else key.servers
            name = endpoint if endpoint.is_name else None
            for place in self._addresses.get(endpoint, [endpoint]):
                routes += [Route(place, None if server is None else key, server, name) for server in servers]
        return routes

    def found(self, route: Route, answer: list[Endpoint] | EndpointError) -> tuple[Route, int]:
        """The name of a way was looked up. Returns the way to go: the same, if it still is one. And how many there are.

        Raises `EndpointError`: there is none.
        """
        assert route.name is not None
        known = self._addresses.pop(route.name, [])
        if isinstance(answer, EndpointError):
            raise answer
        # Resolvers turn their answers around, and each address shall have its turn.
        places = [place for place in known if place in answer] + [place for place in answer if place not in known]
        self._addresses[route.name] = places[:_ADDRESSES]
        place = route.endpoint if route.endpoint in places[:_ADDRESSES] else places[0]
        return replace(route, endpoint=place), len(self._with(route.key))

    def read_public_key(self) -> bytes | None:
        """The public half of the key that the file has now; None if there is none to be read, and a new one may just be about to be."""
        try:
            return None if self._key is None else read_key(self._key).public
        except KeyFileError:
            return None


class PeerSocket:
    """The connecting socket of a peer: one connection, replaced by a new socket after every break.

    Messages that it cannot take yet wait in order, until it can or until it is closed.
    """

    def __init__(self, bell: Bell, kind: int = zmq.DEALER, largest: int = CLIENT_BYTES, topic: bytes | None = None) -> None:
        self._bell = bell
        self._kind = kind
        self._largest = largest
        self._topic = topic
        self._socket: zmq.Socket[bytes] | None = None
        self._monitor: zmq.Socket[bytes] | None = None
        self._waiting: deque[Sequence[bytes]] = deque()
        #: Whether a message has left since `close`.
        self.has_sent = False
        #: Why there is no socket, and will be none before the next attempt.
        self._failure: Particular | None = None
        #: How many connections have ended in the middle of a handshake, one after the other.
        self._unanswered = 0

    @property
    def is_open(self) -> bool:
        return self._socket is not None

    def connect(self, route: Route, listener: Listener) -> None:
        """Opens another socket in place of the one there is. Raises `EndpointError`."""
        self.close()
        self.open(route, listener)

    def open(self, route: Route, listener: Listener) -> None:
        """Opens a socket, after `close`; what was sent since then waits for it. Raises `EndpointError`."""
        address = route.address(listener)
        socket: zmq.Socket[bytes] | None = None
        try:
            socket = zmq.Context.instance().socket(self._kind)
            self._configure(socket, route)
            monitor = socket.get_monitor_socket(_EVENTS, f"inproc://samovar-monitor-{uuid.uuid4()}")
            monitor.linger = 0
            self._socket, self._monitor = socket, monitor
            loop = asyncio.get_running_loop()
            for one in (socket, monitor):
                loop.add_reader(one.fileno(), self._bell.ring)
            socket.connect(address)
        except zmq.ZMQError as error:
            self.close()
            if socket is not None:
                socket.close(0)
            reason = f"cannot connect to {address}: {error.strerror}"
            # There may be a descriptor at the next attempt.
            if error.errno not in (errno.EMFILE, errno.ENFILE):
                raise EndpointError(reason) from None
            self.fail(reason)

    def _configure(self, socket: zmq.Socket[bytes], route: Route) -> None:
        for option, value in _OPTIONS.items():
            socket.setsockopt(option, value)
        socket.setsockopt(zmq.MAXMSGSIZE, self._largest)
        socket.setsockopt(zmq.IPV6, int(route.endpoint.host.startswith("[")))
        if self._topic is not None:
            socket.setsockopt(zmq.RCVHWM, 16)
            socket.setsockopt(zmq.SUBSCRIBE, self._topic)
        if route.key is not None and route.server is not None:
            socket.setsockopt(zmq.CURVE_SERVERKEY, z85.encode(route.server))
            socket.setsockopt(zmq.CURVE_PUBLICKEY, z85.encode(route.key.public))
            socket.setsockopt(zmq.CURVE_SECRETKEY, z85.encode(route.key.secret))

    def close(self, linger: int = 0) -> None:
        """What is not sent is dropped, if it does not leave within so many milliseconds."""
        self._waiting.clear()
        self.has_sent = False
        self._failure = None
        socket, monitor = self._socket, self._monitor
        self._socket = self._monitor = None
        if socket is None or monitor is None:
            return
        loop = asyncio.get_running_loop()
        for one in (socket, monitor):
            loop.remove_reader(one.fileno())
        socket.disable_monitor()
        monitor.close()
        socket.close(linger)

    def fail(self, reason: str) -> None:
        """There can be no socket, which `receive` tells as the end of the connection."""
        self._failure = Particular(reason)
        self._bell.ring()

    def send(self, parts: Sequence[bytes]) -> None:
        self._waiting.append(parts)
        self._send_waiting()

    def receive(self) -> tuple[list[list[bytes]], str | None]:
        """Sends what waits. Returns what has arrived, and why the connection is over if it is."""
        self._send_waiting()
        reason = self._end()
        messages: list[list[bytes]] = []
        while self._socket is not None and len(messages) < _MESSAGES_PER_ROUND:
            try:
                messages.append(self._socket.recv_multipart(zmq.NOBLOCK))
            except zmq.Again:
                break
            self._unanswered = 0
        return messages, reason

    def is_ready(self) -> bool:
        """Whether `receive` has something to do."""
        if self._socket is None or self._monitor is None:
            return False
        wanted = zmq.POLLIN | (zmq.POLLOUT if self._waiting else 0)
        return bool(_events(self._socket) & wanted or _events(self._monitor) & zmq.POLLIN)

    def _send_waiting(self) -> None:
        while self._socket is not None and self._waiting:
            try:
                self._socket.send_multipart(self._waiting[0], zmq.NOBLOCK)
            except zmq.Again:
                return
            self._waiting.popleft()
            self.has_sent = True

    def _end(self) -> str | None:
        """Why the connection is over, if the monitor says so. It is a hint: an event may be missing."""
        reason: str | None = self._failure
        self._failure = None
        while self._monitor is not None:
            try:
                event = parse_monitor_message(self._monitor.recv_multipart(zmq.NOBLOCK))
            except zmq.Again:
                break
            # The first is the cause, and others follow from it.
            reason = reason or self._reason(event["event"])
        return reason

    def _reason(self, event: int) -> str | None:
        self._unanswered = self._unanswered + 1 if event == zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL else 0
        reason = _ENDS.get(event)
        return Particular(reason) if reason is not None and self._unanswered >= _UNANSWERED else reason


def _events(socket: zmq.Socket[bytes]) -> int:
    events = socket.getsockopt(zmq.EVENTS)
    assert isinstance(events, int)
    return events


class Link:
    """The connection of a machine's host to one listener, at one of the ways to the store."""

    def __init__(self, routes: Routes, listener: Listener, bell: Bell, largest: int) -> None:
        self._routes = routes
        self._listener = listener
        self._bell = bell
        self.socket = PeerSocket(bell, largest=largest)
        #: The way of the newest attempt.
        self.route: Route | None = None
        #: How many ways there are, as far as is known; 0 before the first attempt.
        self.places = 0
        self._attempt: asyncio.Task[None] | None = None
        # One that takes longer than an attempt goes on, and its answer is for the next attempt at that name.
        self._queries: dict[Endpoint, asyncio.Task[list[Endpoint] | EndpointError]] = {}

    def connect(self, place: int) -> int:
        """Opens a socket to one of the places, in turn; if its host is a name, as soon as that has been looked up.

        Returns how many there are, as far as is known. Raises `KeyFileError`, `EndpointError`.
        """
        self.close()
        routes = self._routes.read()
        self.places = len(routes)
        self.route = route = routes[place % len(routes)]
        log.debug("connecting to %s", route.endpoint)
        if route.name is None:
            self.socket.open(route, self._listener)
        else:
            self._attempt = asyncio.create_task(self._look_up(route, route.name))
        return self.places

    async def _look_up(self, route: Route, name: Endpoint) -> None:
        if name not in self._queries:
            self._queries[name] = asyncio.create_task(look_up(name))
        query = self._queries[name]
        try:
            answer = await asyncio.shield(query)
        finally:
            # However it ended, or each later attempt would end so as well.
            if query.done():
                self._queries.pop(name, None)
        try:
            self.route, self.places = self._routes.found(route, answer)
            self.socket.open(self.route, self._listener)
        except EndpointError as error:
            return self.socket.fail(str(error))
        self._bell.ring()

    def close(self, linger: int = 0) -> None:
        """Ends the attempt or the connection; see `PeerSocket.close`."""
        if self._attempt is not None:
            self._attempt.cancel()
        self._attempt = None
        self.socket.close(linger)

    # For machines

    def attempt(self, place: int, connection: Connection) -> None:
        """As `connect`, for a machine, whose connection is told of the places and of the key that is shown."""
        try:
            connection.places = self.connect(place)
            connection.key_shown(self.route.key.public if self.route is not None and self.route.key is not None else None)
        # It may be there again at the next attempt.
        except KeyFileError as error:
            self.socket.fail(str(error))

    def check_key(self, connection: Connection, now: float) -> list[Note]:
        """Tells the connection of a machine which key there is by now."""
        note = connection.key_found(self._routes.read_public_key(), now)
        return [] if note is None else [note]
