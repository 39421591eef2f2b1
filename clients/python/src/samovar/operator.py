"""An operator: asks a running store about itself, and tells it what to do."""

from __future__ import annotations

import asyncio
import logging
import os
import random
from typing import Any

from .endpoints import Endpoints, Listener
from .errors import EndpointError, ErrorCode, NoStore, PeerRefused, RequestRefused
from .protocol.connection import KeyRefused
from .protocol.frame import Frame, Kind
from .protocol.received import Error, Malformed, Reply, parse
from .transport import CLIENT_BYTES, Bell, Link, Routes

log = logging.getLogger("samovar.operator")

#: After so long without an answer, a request is sent again; then after twice as long each time, up to the longest.
_AGAIN = 2.0
_LONGEST = 8.0
#: A store that is away is waited for so long, and one that has the request so long in all, unless the asker says it.
_PATIENCE_FOR_STORE = 3.0
_PATIENCE_FOR_ANSWER = 15.0
#: Where there are others to try, a place that cannot be reached is waited for so long.
_REACH = 1.0
_PAUSE = 0.05
#: What is done once.
_CHANGES = {"requeue", "drop", "pause", "resume", "rule"}


class Operator:
    """Requests to the admin listener of a store: `await Operator(endpoint="ipc:///FOLDER").ask("status")`.

    It is the socket of the store's user; with a key of an operator, a port of its own beside the others.
    """

    def __init__(self, *, endpoint: Endpoints, key: str | os.PathLike[str] | None = None) -> None:
        """Raises `EndpointError` for TCP without a key, where no operator is heard."""
        self._routes = Routes(endpoint, key)
        if key is None and not all(route.endpoint.is_local for route in self._routes.read()):
            raise EndpointError("operators are heard at ipc, and on TCP with a key alone: name the store's folder, or a key file")

    async def ask(self, verb: str, arguments: dict[str, Any] | None = None, *, patience: float | None = None) -> Any:
        """The store's answer to a request: docs/protocol.md, section 3, has the verbs and their arguments.

        It is asked again after two seconds, and then after twice as many each time up to eight, under one number, so that the
        store does nothing twice and gives the same answer. Only a store that was started again meanwhile does not know it.

        - `patience`: how many seconds to wait in all. If None, three for a store that is away or restarting, and fifteen once it
          has the request, which a slow disk or a large answer may take.

        Raises `RequestRefused` with the store's reason, `NoStore`, which says so if a change may be done all the same,
        `PeerRefused` for a key that may not ask, and what a key file or an endpoint does.
        """
        number = random.SystemRandom().randrange(1, 1 << 63)
        request = Frame(Kind.REQUEST, 0, ([number, verb, arguments],))
        loop = asyncio.get_running_loop()
        begin = loop.time()
        limit = _PATIENCE_FOR_STORE if patience is None else patience
        self._routes.check(Listener.ADMIN)
        bell = Bell()
        link = Link(self._routes, Listener.ADMIN, bell, CLIENT_BYTES)
        attempt = 0
        wait = _AGAIN
        was_sent = is_open = False
        refusal: KeyRefused | None = None
        reason: str | None = None
        try:
            while (now := loop.time()) < (deadline := begin + limit):
                if not is_open:
                    link.connect(attempt)
                link.socket.send(request.parts())
                reply = await self._answer(link, bell, number, min(now + wait, deadline))
                if isinstance(reply, Reply):
                    if reply.refusal is None:
                        return reply.value
                    doubt = "asked again, for the first time was not answered: that may have done it"
                    is_doubtful = was_sent and verb in _CHANGES
                    raise RequestRefused(f"{reply.refusal} ({doubt})" if is_doubtful else reply.refusal)
                is_waiting = link.socket.has_sent and reply is None
                # An answer that takes long comes on the connection on which it was asked for. So it is asked again there, and
                # ever more seldom. Of several places, this may have lost the journal: the next one is asked, and longer.
                if is_waiting:
                    wait = min(wait * 2, _LONGEST)
                    if patience is None:
                        limit = _PATIENCE_FOR_ANSWER
                is_open = is_waiting and link.places == 1
                attempt += 1
                was_sent = was_sent or link.socket.has_sent
                reason = reply or reason
                refusal = reply if isinstance(reply, KeyRefused) else refusal
                # Where there are several places, another may take it.
                if refusal is not None and attempt % link.places == 0:
                    raise PeerRefused(ErrorCode.KEY_REFUSED, refusal)
                await asyncio.sleep(_PAUSE)
        finally:
            link.close()
        unknown = "the request has left, and may be done" if was_sent and verb in _CHANGES else None
        reasons = "; ".join(text for text in (reason, unknown) if text)
        raise NoStore(f"no store has answered within {limit:g} s" + (f": {reasons}" if reasons else ""))

    async def status(self) -> dict[str, Any]:
        """How the store is doing: a dictionary for people, which may grow."""
        status: dict[str, Any] = await self.ask("status")
        return status

    async def _answer(self, link: Link, bell: Bell, number: int, deadline: float) -> Reply | str | None:
        """The answer to what was sent, or why the connection is over; None if neither comes in time."""
        loop = asyncio.get_running_loop()
        reached = min(deadline, loop.time() + (_REACH if link.places > 1 else _AGAIN))
        while loop.time() < (until := deadline if link.socket.has_sent else reached):
            await bell.rest([link.socket], until)
            messages, end = link.socket.receive()
            for parts in messages:
                match _content(parts):
                    case Reply(id) as reply if id == number:
                        return reply
                    case Error(ErrorCode.FORBIDDEN | ErrorCode.MISUSE as code, text):
                        raise PeerRefused(code, text)
                    case Error(ErrorCode.KEY_REFUSED, text):
                        return KeyRefused(text)
            if end is not None:
                log.debug("asking again: %s", end)
                return end
        return None


def _content(parts: list[bytes]) -> object:
    try:
        return parse(parts).content
    except Malformed as error:
        log.debug("dropped a message: %s", error)
        return None
