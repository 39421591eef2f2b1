"""Peers with keys, at a store of a few lines."""

from __future__ import annotations

import asyncio
import socket
import tempfile
import threading
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import zmq
from fake_store import FakeStore
from support import DEADLINE, busy_threads, eventually

from samovar import Applied, Client, Endpoint, ErrorCode, KeyFileError, NoStore, Operator, PeerRefused, RequestRefused, Worker
from samovar.endpoints import Listener, look_up, parse_all
from samovar.protocol.frame import Frame, Kind
from samovar.transport import CLIENT_BYTES, Bell, Link, Routes


def addresses(*hosts: str) -> list[Any]:
    """What a resolver says of a name that stands for them."""
    kinds = [socket.AF_INET6 if ":" in host else socket.AF_INET for host in hosts]
    return [(kind, socket.SOCK_STREAM, 6, "", (host, 0)) for kind, host in zip(kinds, hosts, strict=True)]


class CurveTests(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="samovar-python-")
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "peer.key"
        self.public, self.secret = zmq.curve_keypair()
        self.store = await self.enterAsyncContext(FakeStore())
        self.store.allowed = {self.public}
        self.write(self.store.public)

    def write(self, *servers: bytes) -> None:
        lines = ["samovar-key: 1", "name: peer", f"public: {self.public.decode()}", f"secret: {self.secret.decode()}"]
        draft = self.path.with_suffix(".new")
        draft.touch(0o600)
        draft.write_text("\n".join([*lines, *(f"server: {server.decode()}" for server in servers)]))
        draft.rename(self.path)

    def client(self, endpoint: str | None = None) -> Client:
        return Client("Counter", endpoint=endpoint or self.store.endpoint, key=self.path)

    async def test_a_client_with_a_key_sends_and_sees(self) -> None:
        async with asyncio.timeout(DEADLINE), self.client() as client:
            self.assertIsInstance(await client.send("increment"), Applied)
            async for view in client.views():
                if view.turn > 12:
                    break

    def resolver(self, look_up: Callable[..., list[Any]]) -> Any:
        """In place of that of the system, which nobody else asks: with libzmq the name of these tests has no address."""
        return mock.patch("socket.getaddrinfo", look_up)

    @property
    def named(self) -> str:
        return self.store.endpoint.replace("127.0.0.1", "store.invalid")

    async def test_a_name_is_looked_up_for_each_attempt_and_its_addresses_are_places(self) -> None:
        asked: list[str] = []

        def look_up(host: str, *_: object, **__: object) -> list[Any]:
            asked.append(host)
            if len(asked) == 1:
                raise socket.gaierror("nobody knows it yet")
            return addresses("127.0.0.9", "127.0.0.1")

        with self.resolver(look_up):
            async with asyncio.timeout(DEADLINE), self.client(self.named) as client:
                self.assertIsInstance(await client.send("increment"), Applied)
                async for view in client.views():
                    if view.turn > 12:
                        break
        self.assertEqual(set(asked), {"store.invalid"})
        self.assertGreaterEqual(len(asked), 3)

    async def test_a_look_up_that_takes_longer_than_an_attempt_is_for_the_next_one(self) -> None:
        may_answer = threading.Event()
        self.addCleanup(may_answer.set)
        asked: list[str] = []

        def look_up(host: str, *_: object, **__: object) -> list[Any]:
            asked.append(host)
            may_answer.wait()
            return addresses("127.0.0.1", "::1")

        link = Link(Routes(self.named, self.path), Listener.FRONT, Bell(), CLIENT_BYTES)
        with self.resolver(look_up):
            for place in range(3):
                link.connect(place)
                await asyncio.sleep(0.01)
                self.assertFalse(link.socket.is_open)
            may_answer.set()
            await eventually("a socket", lambda: link.socket.is_open)
        self.assertEqual((len(asked), link.places), (1, 2))
        link.close()

    async def test_a_look_up_without_a_thread_is_an_attempt_that_failed_and_the_next_one_asks_again(self) -> None:
        link = Link(Routes(self.named, self.path), Listener.FRONT, Bell(), CLIENT_BYTES)
        with self.resolver(lambda *_, **__: addresses("127.0.0.1")):
            with mock.patch("threading.Thread.start", side_effect=RuntimeError("can't start new thread")):
                link.connect(0)
                reason = await eventually("it has failed", lambda: link.socket.receive()[1])
            self.assertEqual(reason, "the name store.invalid cannot be looked up: can't start new thread")
            link.connect(1)
            await eventually("a socket", lambda: link.socket.is_open)
        link.close()

    async def test_a_look_up_that_somebody_has_cancelled_is_begun_anew_by_the_next_attempt(self) -> None:
        may_answer = threading.Event()
        self.addCleanup(may_answer.set)

        def look_up(host: str, *_: object, **__: object) -> list[Any]:
            may_answer.wait()
            return addresses("127.0.0.1")

        link = Link(Routes(self.named, self.path), Listener.FRONT, Bell(), CLIENT_BYTES)
        with self.resolver(look_up):
            link.connect(0)
            query = await eventually("it has begun", lambda: next(iter(link._queries.values()), None))
            query.cancel()
            await eventually("it has ended", lambda: query.done())
            may_answer.set()
            link.connect(1)
            await eventually("a socket", lambda: link.socket.is_open)
        link.close()

    async def test_a_name_is_looked_up_while_others_have_all_threads(self) -> None:
        with busy_threads(), self.resolver(lambda *_, **__: addresses("127.0.0.1")):
            async with asyncio.timeout(5):
                found = await look_up(Endpoint.parse("tcp://store.invalid:7000"))
        self.assertEqual(found, [Endpoint.parse("tcp://127.0.0.1:7000")])

    async def test_a_worker_with_a_key_works(self) -> None:
        worker = Worker("Counter", endpoint=self.store.endpoint, key=self.path)

        @worker.handler()
        async def handle(effect: object, job: object) -> object:
            return "done"

        async with asyncio.timeout(DEADLINE), asyncio.TaskGroup() as group:
            group.create_task(worker.run(signals=False))
            await eventually("a result", lambda: self.store.results)
            worker.drain()
        self.assertEqual(self.store.results[0][:5], [4, 0, [1, 1], 7, 0])

    async def test_an_operator_with_a_key_asks_at_the_fourth_port(self) -> None:
        operator = Operator(endpoint=self.store.endpoint, key=self.path)
        self.assertEqual(await operator.ask("status", patience=DEADLINE), {"asked": "status"})

    async def refusal(self, endpoint: str) -> str:
        """Of a change."""
        self.store.refusal = "no such effect"
        with self.assertRaises(RequestRefused) as caught:
            await Operator(endpoint=endpoint, key=self.path).ask("drop", patience=DEADLINE)
        return str(caught.exception)

    async def test_a_change_that_is_refused_when_asked_again_may_have_been_made_the_first_time(self) -> None:
        self.store.ignored = 1
        with mock.patch("samovar.operator._AGAIN", 1.0):
            self.assertIn("no such effect (asked again", await self.refusal(self.store.endpoint))

    async def test_a_change_that_has_left_and_is_not_answered_may_be_done(self) -> None:
        self.store.ignored = 99
        operator = Operator(endpoint=self.store.endpoint, key=self.path)
        with self.assertRaisesRegex(NoStore, "within 6 s: the request has left, and may be done$"):
            await operator.ask("drop", patience=6)
        self.assertTrue(self.store.requests)
        with self.assertRaisesRegex(NoStore, "within 6 s$"):
            await operator.ask("inspect", patience=6)

    async def test_a_store_that_has_the_request_is_waited_for_longer_than_one_that_is_away(self) -> None:
        self.store.ignored = 2
        # It asks for the third time after as long as one that is away is waited for.
        with mock.patch("samovar.operator._AGAIN", 1.0):
            self.assertEqual(await Operator(endpoint=self.store.endpoint, key=self.path).ask("drop"), {"asked": "drop"})
        self.assertEqual(len(self.store.requests), 3)

    async def test_an_operator_waits_where_it_has_asked_and_asks_again_ever_more_seldom(self) -> None:
        self.store.ignored = 2
        with mock.patch("samovar.operator._AGAIN", 0.3):
            status = await Operator(endpoint=self.store.endpoint, key=self.path).ask("status", patience=DEADLINE)
        self.assertEqual(status, {"asked": "status"})
        times, routes = zip(*self.store.requests, strict=True)
        self.assertEqual(len(times), 3)
        self.assertEqual(len(set(routes)), 1)
        self.assertGreater(times[2] - times[1], 0.55)

    async def test_of_several_places_the_next_one_is_asked(self) -> None:
        async with FakeStore() as other:
            other.ignored = 99
            other.allowed = {self.public}
            self.write(other.public, self.store.public)
            endpoint = f"{other.endpoint},{self.store.endpoint}"
            with mock.patch("samovar.operator._AGAIN", 0.3):
                status = await Operator(endpoint=endpoint, key=self.path).ask("status", patience=DEADLINE)
        self.assertEqual(status, {"asked": "status"})
        self.assertEqual(len(other.requests), 1)

    async def test_a_change_that_no_earlier_place_was_sent_is_refused_without_a_doubt(self) -> None:
        self.assertEqual(await self.refusal(f"tcp://127.0.0.1:1,{self.store.endpoint}"), "no such effect")

    async def test_an_operator_is_told_that_its_key_is_not_taken(self) -> None:
        self.store.allowed = set()
        with self.assertRaises(PeerRefused) as caught:
            await Operator(endpoint=self.store.endpoint, key=self.path).ask("status")
        self.assertEqual(caught.exception.code, ErrorCode.KEY_REFUSED)

    async def test_a_key_that_the_store_does_not_take_is_tried_again(self) -> None:
        self.store.allowed = set()
        with self.assertLogs("samovar", "INFO") as logs:
            async with asyncio.timeout(DEADLINE), self.client() as client:
                await eventually("the key is turned away twice", lambda: len(self.store.denied) > 1)
                self.assertFalse(client.is_connected)
                self.store.allowed = {self.public}
                await client.connected()
        self.assertIn("does not take this key", logs.output[0])
        self.assertNotIn(self.secret.decode(), "".join(logs.output))

    async def test_a_key_file_is_read_again_at_each_attempt(self) -> None:
        self.write(zmq.curve_keypair()[0])
        async with asyncio.timeout(DEADLINE), self.client() as client:
            await asyncio.sleep(0.3)
            self.assertFalse(client.is_connected)
            self.path.unlink()
            await asyncio.sleep(0.3)
            self.write(self.store.public)
            await client.connected()

    async def test_why_there_can_be_no_connection_is_told_though_another_reason_was_before(self) -> None:
        with self.assertLogs("samovar", "WARNING") as logs:
            async with asyncio.timeout(DEADLINE), self.client("tcp://127.0.0.1:1"):
                await eventually("nobody listens there", lambda: logs.output)
                self.path.unlink()
                await eventually("the key file is missing", lambda: any("cannot be opened" in line for line in logs.output))

    async def test_a_store_that_has_another_key_is_told_though_another_reason_was_before(self) -> None:
        with self.assertLogs("samovar", "WARNING") as logs:
            async with asyncio.timeout(DEADLINE), self.client("tcp://127.0.0.1:1") as client:
                await eventually("nobody listens there", lambda: logs.output)
                self.write(zmq.curve_keypair()[0])
                with mock.patch.object(client._routes, "_endpoints", parse_all(self.store.endpoint)):
                    await eventually("another key", lambda: any("the handshake failed" in line for line in logs.output))

    async def test_each_endpoint_and_server_key_is_tried_before_any_pause(self) -> None:
        self.write(zmq.curve_keypair()[0], self.store.public)
        with self.assertLogs("samovar", "DEBUG") as logs:
            async with asyncio.timeout(DEADLINE), self.client(f"tcp://127.0.0.1:1,{self.store.endpoint}") as client:
                await client.connected()
        self.assertEqual(len([line for line in logs.output if "connecting to" in line]), 4)
        self.assertFalse([line for line in logs.output if "lost the store" in line])

    async def test_what_is_forbidden_is_told_and_final(self) -> None:
        self.store.welcome = Frame(Kind.ERROR, 0, ([ErrorCode.FORBIDDEN, "not a client", 0, 0],))
        with self.assertRaisesRegex(PeerRefused, "not a client"):
            async with asyncio.timeout(DEADLINE), self.client() as client:
                await client.connected()

    async def test_a_key_that_is_refused_comes_again(self) -> None:
        good, self.store.welcome = self.store.welcome, Frame(Kind.ERROR, 0, ([ErrorCode.KEY_REFUSED, "expired", 0, 0],))
        worker = Worker("Counter", endpoint=self.store.endpoint, key=self.path)
        worker.handler()(lambda effect, job: asyncio.sleep(0))
        async with asyncio.timeout(DEADLINE), asyncio.TaskGroup() as group:
            group.create_task(worker.run(signals=False))
            await eventually("it is refused", lambda: self.store.greetings == 1)
            self.store.welcome = good
            await eventually("it comes again", lambda: self.store.greetings == 2)
            worker.drain()

    async def test_an_operator_is_told_why_there_is_no_store(self) -> None:
        with self.assertRaisesRegex(NoStore, "within 2 s: nobody listens there"):
            await Operator(endpoint="tcp://127.0.0.1:1", key=self.path).ask("status", patience=2)

    async def test_a_peer_without_a_key_gets_nowhere(self) -> None:
        with self.assertRaises(NoStore):
            await Operator(endpoint=self.store.endpoint, key=self.path).ask("status", patience=0)
        async with self.client() as client:
            await client.connected()
        async with Client("Counter", endpoint=self.store.endpoint) as client:
            await asyncio.sleep(0.3)
            self.assertFalse(client.is_connected)

    async def test_a_key_file_that_is_no_good_is_told_at_once(self) -> None:
        self.path.chmod(0o644)
        with self.assertRaisesRegex(KeyFileError, "chmod 600"):
            async with self.client():
                pass


if __name__ == "__main__":
    unittest.main()
