"""A store of a few lines, with CURVE: who is let in is decided by ZAP, and all that is asked is answered."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import zmq
import zmq.asyncio
import zmq.auth.asyncio

from samovar.packing import pack, unpack
from samovar.protocol.frame import HEADER, Frame, Kind

TIMELINE = b"t" * 16
WELCOME = Frame(Kind.WELCOME, 0, (["Counter", 1, 1, 4096, 9, 6000],))


class FakeStore:
    """Listens on four ports with the key of a store, and lets the peers in whose keys are in `allowed`."""

    def __init__(self) -> None:
        self.public, self._secret = zmq.curve_keypair()
        self.allowed: set[bytes] = set()
        #: What HELLO is answered with.
        self.welcome = WELCOME
        #: Fingerprints of nobody: the public keys that were turned away.
        self.denied: list[bytes] = []
        self.greetings = 0
        self.results: list[Any] = []
        #: Why operators are refused, if they are.
        self.refusal: str | None = None
        #: So many of their requests are taken and not answered.
        self.ignored = 0
        #: When each of their requests came, and through which connection.
        self.requests: list[tuple[float, bytes]] = []
        self._context = zmq.asyncio.Context()
        self._tasks: list[asyncio.Task[None]] = []
        self._turn = 9

    async def __aenter__(self) -> FakeStore:
        self._zap = zmq.auth.asyncio.AsyncioAuthenticator(self._context)
        self._zap.start()
        self._zap.configure_curve_callback("samovar", credentials_provider=self)
        sockets = self._bind()
        answers: list[Callable[[Frame], Awaitable[list[Frame]]]] = [self._front, self._work, self._admin]
        for socket, answer in zip([sockets[0], sockets[1], sockets[3]], answers, strict=True):
            self._tasks.append(asyncio.create_task(self._serve(socket, answer)))
        self._tasks.append(asyncio.create_task(self._publish(sockets[2])))
        self._sockets = sockets
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._zap.stop()
        for socket in self._sockets:
            socket.close(0)
        self._context.term()

    def callback(self, domain: str, key: bytes) -> bool:
        """ZAP asks whether a public key is let in."""
        if key not in self.allowed:
            self.denied.append(key)
        return key in self.allowed

    def _bind(self) -> list[zmq.asyncio.Socket]:
        while True:
            port = random.randrange(20_000, 32_000)
            sockets = [self._context.socket(kind) for kind in (zmq.ROUTER, zmq.ROUTER, zmq.XPUB, zmq.ROUTER)]
            try:
                for number, socket in enumerate(sockets):
                    socket.setsockopt(zmq.CURVE_SERVER, 1)
                    socket.setsockopt(zmq.CURVE_SECRETKEY, self._secret)
                    socket.setsockopt(zmq.ZAP_DOMAIN, b"samovar")
                    socket.bind(f"tcp://127.0.0.1:{port + number}")
            except zmq.ZMQError:
                for socket in sockets:
                    socket.close(0)
                continue
            self.endpoint = f"tcp://127.0.0.1:{port}"
            return sockets

    async def _serve(self, socket: zmq.asyncio.Socket, answer: Callable[[Frame], Awaitable[list[Frame]]]) -> None:
        while True:
            route, header, *body = await socket.recv_multipart()
            _, _, kind, flags, _, number = HEADER.unpack(header)
            frame = Frame(Kind(kind), number, tuple(unpack(part) for part in body[:1] if kind != Kind.VIEW_REQUEST), flags)
            if frame.kind == Kind.REQUEST:
                self.requests.append((asyncio.get_running_loop().time(), route))
            for reply in await answer(frame):
                await socket.send_multipart([route, *reply.parts(TIMELINE)])

    async def _front(self, frame: Frame) -> list[Frame]:
        match frame.kind:
            case Kind.HELLO:
                self.greetings += 1
                return [self.welcome]
            case Kind.PING:
                return [Frame(Kind.PONG, 4096)]
            case Kind.SEND:
                self._turn += len(frame.values[0])
                outcomes = [[sequence, self._turn, 0, None] for sequence, _, _ in frame.values[0]]
                return [Frame(Kind.RECEIPT, 4096, (outcomes,))]
            case Kind.VIEW_REQUEST:
                return [Frame(Kind.VIEW, self._turn, (None, {"turn": self._turn}))]
        return []

    async def _work(self, frame: Frame) -> list[Frame]:
        match frame.kind:
            case Kind.HELLO:
                self.greetings += 1
                return [self.welcome]
            case Kind.CREDIT if frame.number == 1:
                task = [4, 0, [1, 1], 7, 1, None, "default", None, None, pack({"addOne": {"to": 1}})]
                return [Frame(Kind.TASK, 1, ([task],))]
            case Kind.RESULT:
                self.results += frame.values[0]
                return [Frame(Kind.ACKNOWLEDGE, 0, ([result[2] for result in frame.values[0]],))]
        return []

    async def _admin(self, frame: Frame) -> list[Frame]:
        number, verb, _ = frame.values[0]
        if self.ignored > 0:
            self.ignored -= 1
            return []
        return [Frame(Kind.REPLY, 0, ([number, self.refusal, {"asked": verb}],))]

    async def _publish(self, socket: zmq.asyncio.Socket) -> None:
        while True:
            await asyncio.sleep(0.02)
            self._turn += 1
            view = Frame(Kind.VIEW, self._turn, (None, {"turn": self._turn}))
            await socket.send_multipart([b"view/main\0", *view.parts(TIMELINE)])
