"""What who waits for a client is told. The store is played by the test, and there is no socket."""

from __future__ import annotations

import asyncio
import unittest
from typing import Any

from test_client_machine import AWAY, envelope, machine, welcome

from samovar import Unsettled, View
from samovar.client_loop import ClientLoop
from samovar.protocol import received as rx
from samovar.protocol.backlog import ClientSettings
from samovar.transport import Routes


class WaitingTests(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        client = machine(settings=ClientSettings(requests=2))
        client.ticked(0)
        self.loop = ClientLoop(client, Routes("ipc:///nowhere", None), "main", None)
        await self.hears(welcome())

    async def hears(self, *envelopes: rx.Envelope) -> None:
        """What the loop does with frames of the store."""
        for one in envelopes:
            self.loop._perform(self.loop.machine.received(one, 1), 1)
        await self.loop._round(1)

    async def moves(self) -> None:
        """The store comes back with another timeline."""
        self.loop.machine.disconnected(1)
        self.loop.machine.ticked(1)
        await self.hears(welcome(timeline=AWAY))

    def settle(self, turn: int) -> asyncio.Future[list[str]]:
        future: asyncio.Future[list[str]] = asyncio.get_running_loop().create_future()
        self.loop.settle(turn, future, 1)
        return future

    async def test_a_request_beyond_those_that_may_be_open_waits_for_the_answer_to_another(self) -> None:
        waiting = {turn: self.settle(turn) for turn in range(4, 8)}
        self.assertFalse(any(future.done() for future in waiting.values()))
        for turn, future in waiting.items():
            await self.hears(envelope(rx.Settled(turn, [])))
            self.assertEqual(future.result(), [])

    async def test_a_turn_that_waits_to_be_asked_for_ends_with_its_timeline(self) -> None:
        waiting = [self.settle(turn) for turn in range(4, 8)]
        await self.moves()
        for future in waiting:
            self.assertIsInstance(future.exception(), Unsettled)

    async def test_a_view_that_is_waited_for_may_be_any_in_another_timeline(self) -> None:
        view: asyncio.Future[View] = asyncio.get_running_loop().create_future()
        self.loop.view(900, view, 1)
        settling = [self.settle(turn) for turn in range(4, 6)]
        postponed: asyncio.Future[View] = asyncio.get_running_loop().create_future()
        self.loop.view(901, postponed, 1)
        await self.moves()
        await self.hears(rx.Envelope(AWAY, rx.InstanceView("main", 3, "new")))
        for future in settling:
            self.assertIsInstance(future.exception(), Unsettled)
        for one in (view, postponed):
            self.assertEqual(one.result(), View(3, "new", AWAY))

    async def test_nobody_waits_for_a_client_that_has_ended(self) -> None:
        waiting: list[asyncio.Future[Any]] = [self.settle(turn) for turn in range(4, 8)]
        self.loop._end(2)
        for future in waiting:
            self.assertTrue(future.done() and future.exception() is not None)
