"""What who waits for a client is told. The store is played by the test, and there is no socket."""

from __future__ import annotations

import asyncio
import errno
import unittest
from typing import Any
from unittest import mock

from support import busy_threads
from test_client_machine import AWAY, HOME, ME, envelope, machine, receipt, welcome

import zmq
from samovar import Applied, OutboxError, Unknown, Unsettled, View
from samovar.client_loop import ClientLoop
from samovar.endpoints import Listener, parse_all
from samovar.protocol import received as rx
from samovar.protocol.backlog import ClientSettings
from samovar.protocol.frame import HEADER, Frame, Kind, Submission
from samovar.protocol.outbox import Accepted, ClientOutbox
from samovar.receipts import Receipt, turn_of
from samovar.transport import PeerSocket, Route, Routes


def receipt_parts(sequence: int, turn: int) -> list[bytes]:
    return Frame(Kind.RECEIPT, 4096, ([[sequence, turn, 0, None]],)).parts(HOME)


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

    async def test_turns_that_nobody_waits_for_any_more_make_room(self) -> None:
        waiting = {turn: self.settle(turn) for turn in range(4, 8)}
        other = self.settle(4)
        for turn in (4, 5, 6):
            waiting[turn].cancel()
            self.loop.forget_settle(turn, waiting[turn])
        await self.hears()
        await self.hears(envelope(rx.Settled(4, [])), envelope(rx.Settled(7, [])))
        self.assertEqual((other.result(), waiting[7].result()), ([], []))
        self.assertTrue(self.loop.machine.has_room_for_request)

    async def test_a_turn_that_waits_to_be_asked_for_ends_with_its_timeline(self) -> None:
        waiting = [self.settle(turn) for turn in range(4, 8)]
        await self.moves()
        for future in waiting:
            self.assertIsInstance(future.exception(), Unsettled)

    async def test_a_receipt_of_another_timeline_never_settles_and_any_view_is_new_enough_for_it(self) -> None:
        sending: asyncio.Future[tuple[int, Receipt]] = asyncio.get_running_loop().create_future()
        self.loop.submit(b"1", False, sending)
        await self.hears(receipt(rx.Outcome(1, 900, 0)))
        _, applied = sending.result()
        assert isinstance(applied, Applied)
        turn, timeline = turn_of(applied)
        await self.moves()
        settling: asyncio.Future[list[str]] = asyncio.get_running_loop().create_future()
        self.loop.settle(turn, settling, 1, timeline)
        self.assertIsInstance(settling.exception(), Unsettled, "turn 900 of the new journal is another one, if there is one")
        view: asyncio.Future[View] = asyncio.get_running_loop().create_future()
        self.loop.view(turn, view, 1, timeline)
        await self.hears(rx.Envelope(AWAY, rx.InstanceView("main", 3, "new")))
        self.assertEqual(view.result(), View(3, "new", AWAY))

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

    async def test_views_that_nobody_waits_for_any_more_are_forgotten(self) -> None:
        for at_least in range(900, 910):
            view: asyncio.Future[View] = asyncio.get_running_loop().create_future()
            self.loop.view(at_least, view, 1)
            view.cancel()
            self.loop.forget_view(view)
        self.assertEqual((self.loop._views, list(self.loop._postponed)), ([], []))

    async def test_an_outcome_counts_as_untaken_whose_waiter_is_cancelled_when_it_is_there(self) -> None:
        outbox = mock.Mock(outbox=ClientOutbox(ME))
        self.loop = ClientLoop(machine(outbox.outbox), Routes("ipc:///nowhere", None), "main", outbox)
        self.loop.machine.ticked(0)
        await self.hears(welcome(credit=1))
        sending = [asyncio.get_running_loop().create_future() for _ in range(2)]
        for number, future in enumerate(sending, 1):
            self.loop.submit(b"%d" % number, False, future)
        await self.hears(receipt(rx.Outcome(1, 10, 0), credit=1))
        self.assertEqual(self.loop.machine.held_up_by, 1, "nobody has said that it was seen")
        self.loop.leave(sending[0])
        await self.hears()
        self.assertIsNone(self.loop.machine.held_up_by)

    async def test_without_a_descriptor_there_is_no_socket_until_the_next_attempt(self) -> None:
        place = parse_all("tcp://127.0.0.1:1")[0]
        for call in ("zmq.Context.socket", "zmq.Socket.get_monitor_socket"):
            socket = PeerSocket(self.loop._bell)
            with mock.patch(call, side_effect=zmq.ZMQError(errno.EMFILE)):
                socket.open(Route(place), Listener.FRONT)
            self.assertFalse(socket.is_open)
            self.assertIn("Too many open files", socket.receive()[1] or "", call)

    async def test_whoever_sent_something_is_told_of_an_outbox_that_cannot_be_written(self) -> None:
        outbox = mock.Mock(outbox=ClientOutbox(ME))
        client = machine(outbox.outbox)
        client.ticked(0)
        self.loop = ClientLoop(client, Routes("ipc:///nowhere", None), "main", outbox)
        await self.hears(welcome())
        sending = [asyncio.get_running_loop().create_future() for _ in range(2)]
        self.loop.submit(b"1", False, sending[0])
        await self.loop._round(1)
        # The outcome of the first comes in the round in which the second is to be written.
        self.loop.post(lambda _: self.loop.submit(b"2", False, sending[1]))
        outbox.add.side_effect = OutboxError("the outbox cannot be written: No space left on device")
        arrives = mock.patch.object(self.loop._front.socket, "receive", return_value=([receipt_parts(1, 10)], None))
        with arrives, mock.patch.object(self.loop._bell, "rest"):
            await self.loop.run()
        for future in sending:
            self.assertTrue(future.done(), "nobody waits for ever")
        self.assertEqual(sending[1].result(), (2, Unknown("the outbox cannot be written: No space left on device")))

    async def test_inputs_are_written_and_sent_while_others_have_all_threads(self) -> None:
        outbox = mock.Mock(outbox=ClientOutbox(ME))
        client = machine(outbox.outbox)
        client.ticked(0)
        self.loop = ClientLoop(client, Routes("ipc:///nowhere", None), "main", outbox)
        with busy_threads():
            async with asyncio.timeout(5):
                await self.hears(welcome())
                self.loop.submit(b"1", False, asyncio.get_running_loop().create_future())
                await self.loop._round(1)
        self.assertEqual(outbox.add.call_count, 2)
        kinds = [HEADER.unpack(header)[2] for header, *_ in self.loop._front.socket._waiting]
        self.assertEqual(kinds[-1], Kind.SEND)

    async def test_an_outcome_that_nobody_took_does_not_hold_up_the_inputs_of_others(self) -> None:
        outbox = mock.Mock(outbox=ClientOutbox(ME))
        client = machine(outbox.outbox)
        client.ticked(0)
        self.loop = ClientLoop(client, Routes("ipc:///nowhere", None), "main", outbox)
        await self.hears(welcome(credit=2))
        sending = [asyncio.get_running_loop().create_future() for _ in range(3)]
        for number, future in enumerate(sending):
            self.loop.submit(b"%d" % number, False, future)
        await self.loop._round(1)
        sending[0].cancel()
        await self.hears(receipt(rx.Outcome(1, 10, 0), rx.Outcome(2, 11, 0), credit=2))
        client.seen(2)
        for _ in range(2):
            await self.loop._round(1)
        told = [HEADER.unpack(header) for header, *_ in self.loop._front.socket._waiting]
        self.assertIn((Kind.PING, 2), [(kind, number) for _, _, kind, _, _, number in told])

    async def test_an_outcome_that_is_not_read_and_holds_up_inputs_is_told_once(self) -> None:
        outbox = mock.Mock(outbox=ClientOutbox(ME))
        outbox.outbox.add(Accepted(Submission(1, None, b"1")))
        self.loop = ClientLoop(machine(outbox.outbox), Routes("ipc:///nowhere", None), "main", outbox)
        self.loop.machine.ticked(0)
        await self.hears(welcome(credit=1))
        self.loop.submit(b"2", False, asyncio.get_running_loop().create_future())
        await self.hears(receipt(rx.Outcome(1, 10, 0), credit=1))
        with self.assertNoLogs("samovar.client", "WARNING"):
            await self.loop._round(3.9)
        with self.assertLogs("samovar.client", "WARNING") as logs:
            for now in (4, 5):
                await self.loop._round(now)
        self.assertEqual(len(logs.output), 1)
        self.assertIn("the outcome of input 1 was not seen: read `restored`", logs.output[0])

    async def test_nobody_waits_for_a_client_that_has_ended(self) -> None:
        waiting: list[asyncio.Future[Any]] = [self.settle(turn) for turn in range(4, 8)]
        self.loop._end(2)
        for future in waiting:
            self.assertTrue(future.done() and future.exception() is not None)
