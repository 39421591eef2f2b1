"""Transcripts of a worker: one test per row of the table of `WorkerMachine`."""

from __future__ import annotations

import asyncio
import random
import signal
import unittest
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from support import DEADLINE

from samovar import ErrorCode, Job
from samovar.packing import pack
from samovar.protocol import actions as act
from samovar.protocol import received as rx
from samovar.protocol.answers import Done, Failed, Returned, Streaming
from samovar.protocol.connection import ConnectionSettings
from samovar.protocol.frame import NO_TIMELINE, Claim, Frame, Kind, Lease, Offer, Schema, hello
from samovar.protocol.jobs import StreamWindow, TaskCount, Verdict
from samovar.protocol.worker import STANDARD, State, WorkerMachine, WorkerSettings
from samovar.transport import Routes
from samovar.worker import Handler, _draining, _WorkerLoop

HOME, AWAY = b"h" * 16, b"a" * 16
ME = b"m" * 16
COUNTER = Schema("Counter", 1)
STILL = ConnectionSettings(first_pause=0, longest_pause=0)
DONE = Done((b"\x01",))


def machine(slots: int = 1, read_ahead: int = 1, settings: WorkerSettings = STANDARD) -> WorkerMachine:
    offer = Offer(ME, slots, (("default", None),))
    return WorkerMachine(offer, COUNTER, random.Random(1), read_ahead, settings, STILL)


def welcomed(slots: int = 1, read_ahead: int = 1, settings: WorkerSettings = STANDARD) -> WorkerMachine:
    """A machine that is welcomed and has told its credit."""
    worker = machine(slots, read_ahead, settings)
    worker.ticked(0)
    worker.received(welcome(), 0)
    worker.flush(0)
    return worker


def welcome(timeline: bytes = HOME) -> rx.Envelope:
    return rx.Envelope(timeline, rx.Welcome(COUNTER, 1, 0, 9, 6.0))


def lease(number: int) -> Lease:
    return (1, number)


def claim(number: int) -> Claim:
    return Claim(number, 0, lease(number), number)


def task(number: int, timeout: float | None = None, resume: rx.StreamPlace | None = None) -> rx.Task:
    return rx.Task(claim(number), 1, "main", "default", timeout, resume, b"\xc0")


def tasks(*numbers: int, number: int, timeout: float | None = None) -> rx.Envelope:
    return envelope(rx.Tasks([task(one, timeout) for one in numbers], number))


def envelope(content: Any) -> rx.Envelope:
    return rx.Envelope(HOME, content)


def sent(frame: Frame, timeline: bytes = HOME) -> act.Send:
    return act.Send(frame, timeline)


def greets(epoch: int, *claims: int, witness: int = 9, timeline: bytes = HOME, slots: int = 1) -> list[Any]:
    values = Offer(ME, slots, (("default", None),)).values([claim(number) for number in claims])
    return [act.Connect(0), sent(hello(COUNTER, witness, "worker", values, epoch), timeline)]


def results(credit: int, *answers: tuple[int, Any]) -> act.Send:
    return sent(Frame(Kind.RESULT, credit, ([[*claim(number), *answer.values()] for number, answer in answers],)))


def done(credit: int, *numbers: int) -> act.Send:
    return results(credit, *((number, DONE) for number in numbers))


class GreetingTests(unittest.TestCase):
    def test_it_connects_and_says_hello(self) -> None:
        self.assertEqual(machine().ticked(0), greets(1, witness=0, timeline=NO_TIMELINE))

    def test_after_welcome_it_gives_credit(self) -> None:
        worker = machine(slots=2, read_ahead=3)
        worker.ticked(0)
        self.assertEqual(worker.received(welcome(), 0), [act.Connected(9, HOME)])
        self.assertEqual(worker.flush(0), [sent(Frame(Kind.CREDIT, 5))])
        self.assertEqual(worker.flush(0), [])

    def test_a_ping_carries_the_credit(self) -> None:
        self.assertEqual(welcomed().ticked(1), [sent(Frame(Kind.PING, 2))])


class TaskTests(unittest.TestCase):
    def test_a_task_starts_if_a_slot_is_free_and_else_waits(self) -> None:
        worker = welcomed()
        self.assertEqual(worker.received(tasks(1, 2, number=2), 0), [act.Start(task(1), HOME)])
        self.assertEqual(worker.jobs, 2)
        self.assertEqual(worker.finished(lease(1), DONE, 0), [act.Start(task(2), HOME)])

    def test_a_task_that_it_holds_is_ignored_and_costs_no_credit(self) -> None:
        worker = welcomed()
        worker.received(tasks(1, number=1), 0)
        self.assertEqual(worker.received(tasks(1, number=2), 0), [])
        self.assertEqual(worker.flush(0), [sent(Frame(Kind.CREDIT, 3))])

    def test_a_task_that_was_answered_is_ignored(self) -> None:
        worker = welcomed()
        worker.received(tasks(1, number=1), 0)
        worker.finished(lease(1), DONE, 0)
        self.assertEqual(worker.received(tasks(1, number=2), 0), [])

    def test_a_task_that_came_twice_is_dropped(self) -> None:
        worker = welcomed()
        worker.received(tasks(1, number=1), 0)
        self.assertEqual(worker.received(tasks(1, number=1), 0), [act.Note(Verdict.REPEATED.value)])

    def test_tasks_that_are_missing_begin_a_new_connection(self) -> None:
        worker = welcomed()
        self.assertEqual(worker.received(tasks(2, number=2), 0)[0], act.Disconnect())
        self.assertEqual(worker.ticked(0), greets(2))

    def test_more_tasks_than_the_credit_begin_a_new_connection(self) -> None:
        self.assertEqual(welcomed().received(tasks(1, 2, 3, number=3), 0)[0], act.Disconnect())

    def test_a_pong_that_counts_tasks_which_do_not_come_for_3_s_begins_a_new_connection(self) -> None:
        worker = welcomed()
        for second in (0, 1, 2):
            self.assertEqual(worker.received(envelope(rx.Pong(1)), second), [])
        self.assertEqual(worker.received(envelope(rx.Pong(1)), 3)[0], act.Disconnect())

    def test_a_cancel_that_is_missing_begins_a_new_connection(self) -> None:
        for second in (rx.Cancel([lease(9)], 2), rx.Cancel([], 1)):
            worker = welcomed()
            worker.received(tasks(1, 2, number=2), 0)
            lost = [act.Disconnect(), act.Note("lost the store: a CANCEL was lost", is_warning=True)]
            self.assertEqual(worker.received(envelope(second), 0), lost)
            self.assertEqual(worker.ticked(0), greets(2, 1, 2))
            worker.received(welcome(), 0)
            self.assertEqual(worker.received(envelope(rx.Cancel([lease(1)], 1)), 0), [act.Stopping(lease(1))])
            self.assertEqual(worker.received(envelope(rx.Cancel([], 1)), 0), [])

    def test_who_leaves_with_nothing_left_says_goodbye_whatever_it_has_missed(self) -> None:
        worker = welcomed()
        worker.received(tasks(1, number=1), 0)
        worker.finished(lease(1), Done(()), 0)
        worker.flush(0)
        worker.drain(0)
        self.assertEqual(worker.received(envelope(rx.Cancel([lease(1)], 2)), 0), [sent(Frame(Kind.GOODBYE)), act.Stop()])

    def test_from_a_store_that_does_not_count_no_cancel_is_missed(self) -> None:
        worker = welcomed()
        worker.received(tasks(1, 2, number=2), 0)
        for number in (2, 1):
            worker.received(envelope(rx.Cancel([lease(number)], 0)), 0)
        self.assertTrue(worker.connection.is_welcomed)

    def test_a_pong_is_forgotten_when_its_tasks_come(self) -> None:
        count = TaskCount()
        self.assertFalse(count.is_incomplete(1, 0, 3))
        self.assertEqual(count.take(1, 1, 2), Verdict.TAKEN)
        self.assertFalse(count.is_incomplete(2, 9, 3))
        self.assertFalse(count.is_incomplete(2, 11, 3))
        self.assertTrue(count.is_incomplete(2, 12, 3))


class AnswerTests(unittest.TestCase):
    def test_answers_leave_together_and_carry_the_credit(self) -> None:
        worker = welcomed(slots=2, read_ahead=0)
        worker.received(tasks(1, 2, number=2), 0)
        worker.finished(lease(1), DONE, 0)
        worker.finished(lease(2), DONE, 0)
        self.assertEqual(worker.flush(0), [done(4, 1, 2)])
        self.assertEqual(worker.flush(0), [])

    def test_an_answer_is_sent_again_after_welcome_until_it_is_acknowledged(self) -> None:
        worker = welcomed()
        worker.received(tasks(1, number=1), 0)
        worker.finished(lease(1), DONE, 0)
        worker.flush(0)
        worker.disconnected(0)
        self.assertEqual(worker.ticked(0), greets(2, 1))
        worker.received(welcome(), 0)
        self.assertEqual(worker.flush(0), [done(2, 1)])
        worker.received(envelope(rx.Acknowledge([lease(1)])), 0)
        worker.disconnected(0)
        self.assertEqual(worker.ticked(0), greets(3))

    def test_an_answer_is_sent_again_after_the_silence(self) -> None:
        worker = welcomed()
        worker.received(tasks(1, number=1), 0)
        worker.finished(lease(1), DONE, 0)
        worker.flush(0)
        for second in range(1, 6):
            worker.received(envelope(rx.Pong(1)), second)
            worker.ticked(second)
        worker.ticked(6.0)
        self.assertEqual(worker.flush(6.0), [done(3, 1)])

    def test_an_answer_that_is_too_large_fails_for_good(self) -> None:
        worker = welcomed(settings=WorkerSettings(answer_bytes=72))
        worker.received(tasks(1, number=1), 0)
        worker.finished(lease(1), Done((b"1234",)), 0)
        failed = Failed("unhandled", "an answer of 73 bytes; 72 at most", permanent=True)
        self.assertEqual(worker.flush(0), [results(3, (1, failed))])

    def test_an_answer_of_many_messages_leaves_in_a_frame_that_the_store_takes_or_fails(self) -> None:
        for count, is_taken in ((300_000, True), (595_000, False)):
            worker = welcomed()
            worker.received(tasks(1, number=1), 0)
            worker.finished(lease(1), Done((b"1234567",) * count), 0)
            [action] = worker.flush(0)
            assert isinstance(action, act.Send)
            self.assertLess(sum(map(len, action.frame.parts(HOME))), 5 << 20)
            [[*_, verdict, _]] = action.frame.values[0]
            self.assertEqual(verdict == 0, is_taken)

    def test_answers_that_are_not_acknowledged_stop_the_credit(self) -> None:
        worker = welcomed(settings=WorkerSettings(unacknowledged=1))
        worker.received(tasks(1, number=1), 0)
        worker.finished(lease(1), DONE, 0)
        self.assertEqual(worker.flush(0), [done(1, 1)])

    def test_a_frame_of_answers_has_a_size(self) -> None:
        worker = welcomed(slots=2, settings=WorkerSettings(frame_bytes=100))
        worker.received(tasks(1, 2, number=2), 0)
        worker.finished(lease(1), DONE, 0)
        worker.finished(lease(2), DONE, 0)
        self.assertEqual(worker.flush(0), [done(5, 1), done(5, 2)])

    def test_cancel_stops_what_runs_and_forgets_the_rest(self) -> None:
        worker = welcomed(slots=2, read_ahead=1)
        worker.received(tasks(1, 2, 3, number=3), 0)
        worker.finished(lease(1), DONE, 0)
        cancel = envelope(rx.Cancel([lease(1), lease(2), lease(3)], 1))
        self.assertEqual(worker.received(cancel, 0), [act.Stopping(lease(2)), act.Stopping(lease(3))])
        worker.finished(lease(2), DONE, 0)
        self.assertEqual(worker.flush(0), [sent(Frame(Kind.CREDIT, 5))])

    def test_a_job_that_was_told_to_stop_keeps_its_slot_until_it_has_ended(self) -> None:
        worker = welcomed()
        worker.received(tasks(1, 2, number=2), 0)
        self.assertEqual(worker.received(envelope(rx.Cancel([lease(1)], 1)), 0), [act.Stopping(lease(1))])
        self.assertEqual(worker.finished(lease(1), DONE, 0), [act.Start(task(2), HOME)])

    def test_a_worker_whose_handlers_all_go_on_says_so_gives_back_what_waits_and_takes_no_more(self) -> None:
        worker = welcomed(slots=1, read_ahead=2)
        worker.received(tasks(1, 2, number=2), 0)
        worker.received(envelope(rx.Cancel([lease(1)], 1)), 0)
        worker.ticked(2.9)
        self.assertEqual(worker.flush(2.9), [])
        told = [action.text for action in worker.ticked(3) if isinstance(action, act.Note)]
        self.assertEqual(
            told,
            [
                "the handler of effect 1/0 goes on 3 s after it was told to stop, and keeps its slot",
                "no slot is left: this worker takes no more tasks until a handler ends",
            ],
        )
        self.assertEqual(worker.flush(3), [results(3, (2, Returned()))])
        self.assertEqual(worker.received(tasks(3, number=3), 3), [])
        self.assertEqual(worker.flush(3), [results(3, (3, Returned()))])
        self.assertEqual(worker.finished(lease(1), DONE, 3), [])
        self.assertEqual(worker.flush(3), [sent(Frame(Kind.CREDIT, 6))])
        self.assertEqual(worker.received(tasks(4, number=4), 3), [act.Start(task(4), HOME)])

    def test_a_job_out_of_time_is_stopped_and_answered_at_once(self) -> None:
        worker = welcomed()
        worker.received(tasks(1, number=1, timeout=0.5), 0)
        self.assertEqual(worker.deadline, 0.5)
        self.assertEqual(worker.ticked(0.5), [act.Stopping(lease(1))])
        timed_out = Failed("timedOut", "the attempt ran out of time")
        self.assertEqual(worker.flush(0.5), [results(2, (1, timed_out))])
        self.assertEqual(worker.finished(lease(1), DONE, 1), [])
        self.assertEqual(worker.flush(1), [sent(Frame(Kind.CREDIT, 3))])

    def test_another_timeline_drops_all_jobs_and_answers(self) -> None:
        worker = welcomed(slots=2)
        worker.received(tasks(1, 2, 3, number=3), 0)
        worker.finished(lease(1), DONE, 0)
        worker.disconnected(0)
        worker.ticked(0)
        actions = worker.received(welcome(AWAY), 0)
        self.assertEqual(
            [action for action in actions if not isinstance(action, act.Note)],
            [act.Connected(9, AWAY), act.Stopping(lease(2)), act.Stopping(lease(3))],
        )
        self.assertEqual(worker.flush(0), [sent(Frame(Kind.CREDIT, 1), AWAY)])

    def test_a_refusal_cancels_all_jobs_and_stops(self) -> None:
        worker = welcomed()
        worker.received(tasks(1, number=1), 0)
        error = rx.Error(ErrorCode.SCHEMA, "another")
        note = act.Note("the store refuses this worker: another; it waits for the handler told to stop, and ends", is_warning=True)
        self.assertEqual(worker.received(envelope(error), 0), [act.Stopping(lease(1)), note, act.Disconnect(), act.Refused(error)])
        self.assertEqual(worker.state, State.STOPPED)

    def test_a_refusal_names_no_handlers_where_none_goes_on(self) -> None:
        error = rx.Error(ErrorCode.SCHEMA, "another")
        self.assertEqual(welcomed().received(envelope(error), 0), [act.Disconnect(), act.Refused(error)])


class StreamTests(unittest.TestCase):
    def streaming(self) -> WorkerMachine:
        worker = welcomed()
        worker.received(tasks(1, number=1), 0)
        worker.streamed(lease(1), 1, b"a", None)
        worker.streamed(lease(1), 2, b"b", b"c")
        return worker

    def row(self, index: int, message: bytes, checkpoint: bytes | None) -> list[Any]:
        return [*claim(1), 3, [index, message, checkpoint]]

    def test_streamed_messages_leave_at_once_in_order(self) -> None:
        frame = Frame(Kind.RESULT, 2, ([self.row(1, b"a", None), self.row(2, b"b", b"c")],))
        self.assertEqual(self.streaming().flush(0), [sent(frame)])

    def test_what_is_not_acknowledged_is_sent_again_before_the_answer(self) -> None:
        worker = self.streaming()
        worker.flush(0)
        mark = rx.Mark(lease(1), 1)
        self.assertEqual(worker.received(envelope(rx.Streamed([mark])), 0), [act.Acknowledged(mark)])
        worker.finished(lease(1), DONE, 0)
        worker.disconnected(0)
        worker.ticked(0)
        worker.received(welcome(), 0)
        frame = Frame(Kind.RESULT, 2, ([self.row(2, b"b", b"c"), [*claim(1), *DONE.values()]],))
        self.assertEqual(worker.flush(0), [sent(frame)])

    def test_a_job_that_was_told_to_stop_streams_nothing(self) -> None:
        worker = welcomed()
        worker.received(tasks(1, number=1), 0)
        worker.received(envelope(rx.Cancel([lease(1)], 1)), 0)
        worker.streamed(lease(1), 1, b"a", None)
        self.assertEqual(worker.flush(0), [])

    def test_a_window_has_64_messages_or_4_mib_and_goes_on_after_earlier_attempts(self) -> None:
        window = StreamWindow(5)
        self.assertEqual([window.next(10) for _ in range(65)], [*range(6, 70), None])
        window.acknowledged(6)
        self.assertEqual(window.next(10), 70)
        window.acknowledged(70)
        self.assertEqual([window.next(3 << 20), window.next(2 << 20)], [71, None])

    def test_progress_is_sent_now_and_then_clamped_and_cut(self) -> None:
        worker = welcomed()
        worker.received(tasks(1, number=1), 0)
        worker.progressed(lease(1), 0.1, None)
        worker.progressed(lease(1), 7, "half")
        sends = [sent(Frame(Kind.PROGRESS, 0, ([[1, 0, lease(1), 1.0, "half"]],)))]
        self.assertEqual(worker.flush(0), sends)
        worker.progressed(lease(1), float("nan"), None)
        self.assertEqual(worker.flush(0.2), [])
        self.assertEqual(worker.deadline, 0.25)
        self.assertEqual(worker.flush(0.25), [sent(Frame(Kind.PROGRESS, 0, ([[1, 0, lease(1), None, None]],)))])

    def test_a_job_that_tells_of_its_progress_all_the_time_keeps_the_connection(self) -> None:
        worker = welcomed()
        worker.received(tasks(1, number=1), 0)
        for step in range(1, 81):
            now = step / 8
            worker.progressed(lease(1), 0.5, None)
            actions = worker.ticked(now) + worker.flush(now)
            self.assertNotIn(act.Disconnect(), actions, now)
            # The store answers this, and no report.
            if any(isinstance(action, act.Send) and action.frame.kind == Kind.PING for action in actions):
                worker.received(envelope(rx.Pong(1)), now)

    def test_no_part_of_what_tells_of_progress_is_larger_than_a_mebibyte(self) -> None:
        worker = welcomed(slots=5_000)
        worker.received(tasks(*range(1, 5_001), number=5_000), 0)
        for number in range(1, 5_001):
            worker.progressed(lease(number), 0.5, "🫖" * 200)
        frames = [action.frame for action in worker.flush(0) if isinstance(action, act.Send)]
        self.assertEqual([report[2] for frame in frames for report in frame.values[0]], [lease(n) for n in range(1, 5_001)])
        self.assertLessEqual(max(len(part) for frame in frames for part in frame.parts(HOME)), 1 << 20)


class HandlerTests(unittest.IsolatedAsyncioTestCase):
    """What the loop does with handlers. The store is played by the test, and there is no socket."""

    @asynccontextmanager
    async def running(self, handle: Handler, resume: rx.StreamPlace | None = None) -> AsyncIterator[_WorkerLoop]:
        """A job that begins, and has to end."""
        self.worker = welcomed()
        loop = _WorkerLoop(self.worker, Routes("ipc:///nowhere", None), {"default": handle})
        async with asyncio.timeout(DEADLINE), loop._tasks:
            loop._perform(self.worker.received(envelope(rx.Tasks([task(1, resume=resume)], 1)), 0), 0)
            yield loop

    async def test_a_checkpoint_that_cannot_be_read_fails_its_attempt_and_nothing_else(self) -> None:
        async def handle(effect: Any, job: Job) -> Any:
            return job.resume

        # A map whose key is an array, as the next attempt of a handler finds it that has a tuple for a key.
        checkpoint = pack({(1, 2): 3})
        for resume in (checkpoint, b"", b"no MessagePack"):
            with self.assertLogs("samovar.worker"):
                async with self.running(handle, rx.StreamPlace(1, resume)):
                    pass
            (action,) = self.worker.flush(0)
            assert isinstance(action, act.Send)
            self.assertEqual(action.frame.values[0][0][4], 1)
            self.assertIn("Unreadable", str(action.frame.values[0][0][5]))

    async def test_an_exception_that_cannot_be_told_fails_its_attempt_and_nothing_else(self) -> None:
        class Unspeakable(Exception):
            def __str__(self) -> str:
                raise LookupError("no text")

        async def handle(effect: Any, job: Job) -> None:
            raise Unspeakable

        with self.assertLogs("samovar.worker"):
            async with self.running(handle):
                pass
        self.assertEqual(self.worker.flush(0), [results(3, (1, Failed("threw", "Unspeakable")))])

    async def test_a_handler_that_was_told_to_stop_waits_for_no_room_in_its_stream(self) -> None:
        async def handle(effect: Any, job: Job) -> None:
            try:
                for number in range(65):
                    await job.stream(number)
            finally:
                await job.stream("it was stopped")

        async with self.running(handle) as loop:
            await asyncio.sleep(0)
            loop._perform(self.worker.received(envelope(rx.Cancel([lease(1)], 1)), 0), 0)
        self.assertEqual(self.worker.jobs, 0, "its slot is free again")


class SignalTests(unittest.IsolatedAsyncioTestCase):
    """What signals do while a worker runs, and afterwards."""

    NUMBERS = (signal.SIGTERM, signal.SIGINT)

    def setUp(self) -> None:
        for number in self.NUMBERS:
            self.addCleanup(signal.signal, number, signal.getsignal(number))
            signal.signal(number, self.note)

    def note(self, number: int, frame: object) -> None:
        """The handler that was there before."""

    def assert_as_before(self) -> None:
        self.assertEqual([signal.getsignal(number) for number in self.NUMBERS], [self.note, self.note])

    async def test_the_first_one_drains_and_the_next_one_does_what_it_did_before(self) -> None:
        for number in self.NUMBERS:
            drained = asyncio.Event()
            with _draining(drained.set):
                signal.raise_signal(number)
                async with asyncio.timeout(DEADLINE):
                    await drained.wait()
                self.assert_as_before()

    async def test_after_a_run_without_one_they_do_what_they_did_before(self) -> None:
        with _draining(self.fail):
            self.assertNotEqual(signal.getsignal(signal.SIGTERM), self.note)
        self.assert_as_before()

    async def test_none_is_lost_on_a_handler_of_the_loop_that_cannot_be_brought_back(self) -> None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self.fail)
        with _draining(self.fail):
            pass
        self.assertEqual(signal.getsignal(signal.SIGTERM), signal.SIG_DFL)


class LeavingTests(unittest.TestCase):
    def test_drain_gives_waiting_tasks_and_those_with_a_checkpoint_back(self) -> None:
        worker = welcomed(slots=2)
        worker.received(tasks(1, 2, 3, number=3), 0)
        worker.streamed(lease(1), 1, b"a", b"c")
        worker.flush(0)
        self.assertEqual(worker.drain(0), [sent(Frame(Kind.DRAIN)), act.Stopping(lease(1))])
        self.assertEqual(worker.flush(0), [results(3, (3, Returned()), (1, Returned()))])
        self.assertEqual(worker.drain(0), [])

    def test_a_draining_worker_gives_a_job_back_when_it_comes_to_a_checkpoint(self) -> None:
        worker = welcomed()
        worker.received(tasks(1, number=1), 0)
        worker.streamed(lease(1), 1, b"a", None)
        worker.drain(0)
        self.assertEqual(worker.ticked(0), [])
        worker.streamed(lease(1), 2, b"b", b"c")
        self.assertEqual(worker.ticked(0), [act.Stopping(lease(1))])
        worker.streamed(lease(1), 3, b"d", None)
        told = results(2, (1, Streaming(1, b"a", None)), (1, Streaming(2, b"b", b"c")), (1, Returned()))
        self.assertEqual(worker.flush(0), [told])

    def test_a_task_that_comes_to_a_draining_worker_is_returned(self) -> None:
        worker = welcomed()
        worker.received(tasks(1, number=1), 0)
        worker.drain(0)
        self.assertEqual(worker.received(tasks(2, number=2), 0), [])
        self.assertEqual(worker.flush(0), [results(2, (2, Returned()))])

    def test_with_nothing_left_it_says_goodbye_and_stops(self) -> None:
        self.assertEqual(welcomed().drain(0), [sent(Frame(Kind.DRAIN)), sent(Frame(Kind.GOODBYE)), act.Stop()])

    def test_a_job_that_runs_may_finish_and_its_acknowledgement_is_waited_for(self) -> None:
        worker = welcomed()
        worker.received(tasks(1, number=1), 0)
        worker.drain(0)
        self.assertEqual(worker.finished(lease(1), DONE, 1), [])
        self.assertEqual(worker.flush(1), [done(2, 1)])
        self.assertEqual(worker.received(envelope(rx.Acknowledge([lease(1)])), 1), [sent(Frame(Kind.GOODBYE)), act.Stop()])

    def test_after_5_s_what_runs_is_returned_and_a_second_later_it_leaves(self) -> None:
        worker = welcomed()
        worker.received(tasks(1, number=1), 0)
        worker.drain(0)
        for second in range(1, 5):
            worker.received(envelope(rx.Pong(1)), second)
            worker.ticked(second)
        self.assertIn(act.Stopping(lease(1)), worker.ticked(5))
        self.assertEqual(worker.flush(5), [results(2, (1, Returned()))])
        self.assertEqual(worker.ticked(6)[-2:], [sent(Frame(Kind.GOODBYE)), act.Stop()])
        self.assertIsNone(worker.deadline)


if __name__ == "__main__":
    unittest.main()
