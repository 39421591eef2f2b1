"""Transcripts of a client: one test per row of the table of `ClientMachine`."""

from __future__ import annotations

import random
import unittest
from typing import Any

from samovar import ErrorCode
from samovar.protocol import actions as act
from samovar.protocol import received as rx
from samovar.protocol.backlog import STANDARD, ClientSettings
from samovar.protocol.client import CLOSED, KEPT, TIMELINE_CHANGED, ClientMachine, SubmitError
from samovar.protocol.connection import ConnectionSettings
from samovar.protocol.frame import NO_TIMELINE, Frame, Kind, Schema, Submission, hello, send
from samovar.protocol.outbox import Accepted, ClientOutbox, Seen, WelcomedBy
from samovar.protocol.requests import OutputsAfter, ViewsAfter

HOME, AWAY = b"h" * 16, b"a" * 16
ME = b"m" * 16
COUNTER = Schema("Counter", 1)
STILL = ConnectionSettings(first_pause=0, longest_pause=0)


def machine(session: Any = ME, settings: ClientSettings = STANDARD) -> ClientMachine:
    return ClientMachine(session, COUNTER, random.Random(1), settings=settings, times=STILL)


def welcome(expected: int = 1, credit: int = 4096, head: int = 9, timeline: bytes = HOME) -> rx.Envelope:
    return rx.Envelope(timeline, rx.Welcome(COUNTER, expected, credit, head, 6.0))


def welcomed(credit: int = 4096, settings: ClientSettings = STANDARD) -> ClientMachine:
    client = machine(settings=settings)
    client.ticked(0)
    client.received(welcome(credit=credit), 0)
    return client


def envelope(content: Any) -> rx.Envelope:
    return rx.Envelope(HOME, content)


def receipt(*outcomes: rx.Outcome, credit: int = 4096) -> rx.Envelope:
    return envelope(rx.Receipts(list(outcomes), credit))


def sent(frame: Frame, timeline: bytes = HOME) -> act.Send:
    return act.Send(frame, timeline)


def inputs(*numbers: int, confirmed: int = 0, ends_session: bool = False) -> act.Send:
    return sent(send([Submission(number, None, b"%d" % number) for number in numbers], confirmed, ends_session))


def submit(client: ClientMachine, *numbers: int) -> None:
    for number in numbers:
        assert client.submit(b"%d" % number) == number


class InputTests(unittest.TestCase):
    def test_it_connects_and_says_hello(self) -> None:
        client = machine()
        self.assertEqual(client.ticked(0), [act.Connect(0), sent(hello(COUNTER, 0, "client", ME, 1), NO_TIMELINE)])

    def test_inputs_wait_for_welcome_and_leave_together(self) -> None:
        client = machine()
        submit(client, 1, 2)
        client.ticked(0)
        self.assertEqual(client.flush(0), [])
        self.assertEqual(client.received(welcome(), 0), [act.Connected(9, HOME)])
        self.assertEqual(client.flush(0), [inputs(1, 2)])
        self.assertEqual(client.flush(0), [])

    def test_each_outcome_is_told_once(self) -> None:
        client = welcomed()
        submit(client, 1, 2)
        client.flush(0)
        first, second = rx.Outcome(1, 10, 0), rx.Outcome(2, 11, 1, b"\xc0")
        self.assertEqual(client.received(receipt(second, first), 0), [act.Answered(second), act.Answered(first)])
        self.assertEqual(client.received(receipt(first, second), 0), [])
        self.assertEqual(client.received(receipt(rx.Outcome(3, 12, 0)), 0), [])

    def test_after_a_new_connection_it_goes_back_to_the_oldest_without_an_outcome(self) -> None:
        client = welcomed()
        submit(client, 1, 2, 3)
        client.flush(0)
        client.received(receipt(rx.Outcome(1, 10, 0)), 0)
        self.assertEqual(client.disconnected(0)[0], act.Disconnect())
        self.assertEqual(client.ticked(0), [act.Connect(0), sent(hello(COUNTER, 10, "client", ME, 2))])
        client.received(welcome(expected=3), 0)
        self.assertEqual(client.flush(0), [inputs(2, 3, confirmed=1)])

    def test_no_input_goes_beyond_the_credit_and_a_ping_confirms_for_more(self) -> None:
        client = welcomed(credit=2)
        submit(client, 1, 2, 3)
        self.assertEqual(client.flush(0), [inputs(1, 2)])
        client.received(receipt(rx.Outcome(1, 10, 0), rx.Outcome(2, 11, 0), credit=2), 0)
        self.assertEqual(client.flush(0), [sent(Frame(Kind.PING, 2))])
        self.assertEqual(client.flush(0), [])
        client.received(envelope(rx.Pong(4)), 0)
        self.assertEqual(client.flush(0), [inputs(3, confirmed=2)])

    def test_no_input_goes_beyond_the_window_or_its_bytes(self) -> None:
        client = welcomed(settings=ClientSettings(window=2))
        submit(client, 1, 2, 3)
        self.assertEqual(client.flush(0), [inputs(1, 2)])
        client = welcomed(settings=ClientSettings(window_bytes=70))
        submit(client, 1, 2, 3)
        self.assertEqual(client.flush(0), [inputs(1, 2)])
        client.received(receipt(rx.Outcome(1, 10, 0)), 0)
        self.assertEqual(client.flush(0), [inputs(3, confirmed=1)])

    def test_a_frame_has_a_size_and_one_large_input_is_let_through(self) -> None:
        client = welcomed(settings=ClientSettings(frame_bytes=40))
        submit(client, 1, 2)
        self.assertEqual(client.flush(0), [inputs(1), inputs(2)])

    def test_too_many_or_too_large_inputs_are_not_taken(self) -> None:
        client = machine(settings=ClientSettings(backlog=1, input_bytes=4))
        with self.assertRaisesRegex(SubmitError, "5 bytes; 4 at most"):
            client.submit(b"12345")
        submit(client, 1)
        with self.assertRaisesRegex(SubmitError, "too many"):
            client.submit(b"2")

    def test_an_input_without_an_outcome_is_sent_again_after_the_silence(self) -> None:
        client = welcomed()
        submit(client, 1)
        client.flush(0)
        for second in range(1, 6):
            client.ticked(second)
            client.received(envelope(rx.Pong(4096)), second)
        client.ticked(6.0)
        self.assertEqual(client.flush(6.0), [inputs(1)])

    def test_resync_goes_back_once(self) -> None:
        client = welcomed()
        submit(client, 1, 2, 3)
        client.flush(0)
        error = envelope(rx.Error(ErrorCode.RESYNC, "", 2))
        self.assertEqual(client.received(error, 0), [])
        self.assertEqual(client.flush(0), [inputs(2, 3)])
        client.received(error, 0)
        self.assertEqual(client.flush(0), [])

    def test_a_resync_to_what_is_answered_is_dropped(self) -> None:
        client = welcomed()
        submit(client, 1)
        client.flush(0)
        client.received(receipt(rx.Outcome(1, 10, 0)), 0)
        self.assertIsInstance(client.received(envelope(rx.Error(ErrorCode.RESYNC, "", 1)), 0)[0], act.Note)

    def test_a_store_that_expects_an_impossible_number_ends_the_session(self) -> None:
        client = machine()
        submit(client, 1)
        client.ticked(0)
        actions = client.received(welcome(expected=5), 0)
        self.assertEqual([type(action) for action in actions], [act.Connected, act.Unknown, act.Disconnect, act.Refused])
        assert isinstance(actions[-1], act.Refused)
        self.assertEqual(actions[-1].error.code, ErrorCode.SESSION_EXPIRED)
        self.assertFalse(client.is_open)

    def test_another_timeline_makes_everything_unanswered_unknown_and_numbers_go_on(self) -> None:
        client = welcomed()
        submit(client, 1, 2)
        client.flush(0)
        client.settle(9, 0)
        client.disconnected(0)
        client.ticked(0)
        actions = client.received(welcome(timeline=AWAY), 0)
        self.assertEqual(
            [action for action in actions if not isinstance(action, act.Note)],
            [
                act.Connected(9, AWAY),
                act.Unknown(1, TIMELINE_CHANGED),
                act.Unknown(2, TIMELINE_CHANGED),
                act.Unsettled(9, TIMELINE_CHANGED),
            ],
        )
        self.assertEqual(client.submit(b"3"), 3)
        self.assertEqual(client.flush(0), [sent(send([Submission(1, None, b"3")], 0), AWAY)])
        answered = client.received(rx.Envelope(AWAY, rx.Receipts([rx.Outcome(1, 4, 0)], 9)), 0)
        self.assertEqual(answered, [act.Answered(rx.Outcome(3, 4, 0))])

    def test_where_a_journal_goes_on_from_another_one_so_do_the_numbers_of_the_wire(self) -> None:
        client = welcomed()
        submit(client, 1, 2, 3)
        client.flush(0)
        client.received(receipt(rx.Outcome(1, 4, 0), rx.Outcome(2, 5, 0)), 0)
        client.disconnected(0)
        client.ticked(0)
        actions = client.received(welcome(3, timeline=AWAY), 0)
        self.assertEqual(actions[-1], act.Unknown(3, TIMELINE_CHANGED))
        self.assertEqual(client.submit(b"4"), 4)
        self.assertEqual(client.flush(0), [sent(send([Submission(3, None, b"4")], 2), AWAY)])
        answered = client.received(rx.Envelope(AWAY, rx.Receipts([rx.Outcome(3, 6, 0)], 9)), 0)
        self.assertEqual(answered, [act.Answered(rx.Outcome(4, 6, 0))])

    def test_an_outbox_goes_on_with_the_number_that_such_a_journal_expects(self) -> None:
        outbox = ClientOutbox(ME, 7)
        client = machine(outbox)
        client.ticked(0)
        client.received(welcome(), 0)
        submit(client, 1, 2)
        for entry in client.take_entries():
            outbox.add(entry)
        client.saved()
        client.flush(0)
        client.received(receipt(rx.Outcome(1, 4, 0)), 0)
        client.disconnected(0)
        client.ticked(0)
        client.received(welcome(2, timeline=AWAY), 0)
        self.assertEqual(client.submit(b"3"), 3)
        for entry in client.take_entries():
            outbox.add(entry)
        self.assertEqual(([input.sequence for input in outbox.inputs], outbox.openings, outbox.timeline), ([2], 7, AWAY))

    def test_who_was_sent_away_for_a_request_hears_of_its_inputs_before_it_asks_again(self) -> None:
        client = welcomed()
        submit(client, 1)
        client.settle(9, 0)
        client.flush(0)
        client.received(envelope(rx.Error(ErrorCode.RETRY_LATER, "too many requests wait", wait=1.0)), 0)
        client.ticked(1)
        self.assertEqual(client.received(welcome(), 1), [act.Connected(9, HOME)])
        self.assertEqual(client.flush(1), [inputs(1)])
        self.assertEqual(client.ticked(1.9), [])
        self.assertIn(sent(Frame(Kind.SETTLE, 9)), client.ticked(2))

    def test_who_is_sent_away_for_its_inputs_asks_for_the_rest_all_the_same(self) -> None:
        client = welcomed()
        submit(client, 1)
        client.settle(9, 0)
        client.flush(0)
        asked: list[float] = []
        for second in range(0, 12, 2):
            client.received(envelope(rx.Error(ErrorCode.RETRY_LATER, "4 effects are open", wait=1.0)), second)
            client.ticked(second + 1)
            if sent(Frame(Kind.SETTLE, 9)) in client.received(welcome(), second + 1):
                asked.append(second)
            self.assertEqual(client.flush(second + 1), [inputs(1)])
        self.assertEqual(asked, [2, 6, 10])

    def test_what_the_store_says_of_a_turn_that_nobody_waits_for_any_more_is_said_of_no_view(self) -> None:
        client = welcomed()
        client.settle(5, 0)
        client.request_view(0, 0)
        client.forget_settle(5)
        self.assertEqual(client.received(envelope(rx.Waiting(5, "1 effect running")), 1), [])
        self.assertEqual(client.received(envelope(rx.Waiting(9, "off")), 1), [act.IsWaiting(None, "off")])

    def test_a_refusal_makes_what_is_unanswered_unknown(self) -> None:
        client = welcomed()
        submit(client, 1)
        error = rx.Error(ErrorCode.SUPERSEDED, "newer")
        self.assertEqual(client.received(envelope(error), 0), [act.Unknown(1, "newer"), act.Disconnect(), act.Refused(error)])
        with self.assertRaises(SubmitError):
            client.submit(b"2")
        self.assertEqual(client.ticked(99), [])

    def test_close_says_goodbye_and_leaves_the_rest_unknown(self) -> None:
        client = welcomed()
        submit(client, 1)
        self.assertEqual(client.close(), [act.Unknown(1, CLOSED), sent(Frame(Kind.GOODBYE)), act.Stop()])
        self.assertEqual(client.close(), [])

    def test_an_obstacle_is_told_until_the_next_welcome(self) -> None:
        client = welcomed()
        client.received(envelope(rx.Error(ErrorCode.RETRY_LATER, "the disk is full")), 0)
        self.assertEqual(client.obstacle, "the disk is full")
        client.ticked(0)
        client.received(welcome(), 0)
        self.assertIsNone(client.obstacle)

    def test_an_input_that_ends_the_session_waits_for_the_others_and_is_flagged(self) -> None:
        client = welcomed()
        submit(client, 1)
        client.submit(b"2", ends_session=True)
        with self.assertRaises(SubmitError):
            client.submit(b"3")
        self.assertEqual(client.flush(0), [inputs(1)])
        client.received(receipt(rx.Outcome(1, 10, 0)), 0)
        self.assertEqual(client.flush(0), [inputs(2, confirmed=1, ends_session=True)])
        client.disconnected(0)
        self.assertEqual(client.ticked(0)[1], sent(hello(COUNTER, 10, "client", ME, 2, has_ended=True)))

    def test_a_session_goes_on_whose_last_input_was_not_applied(self) -> None:
        client = welcomed()
        client.submit(b"1", ends_session=True)
        client.flush(0)
        client.received(receipt(rx.Outcome(1, 10, 1, b"\xc0")), 0)
        self.assertEqual(client.submit(b"2"), 2)


class RequestTests(unittest.TestCase):
    def test_a_settle_request_is_sent_and_answered(self) -> None:
        client = welcomed()
        self.assertEqual(client.settle(9, 0), [sent(Frame(Kind.SETTLE, 9))])
        self.assertEqual(client.received(envelope(rx.Waiting(9, "a job")), 0), [act.IsWaiting(9, "a job")])
        self.assertEqual(client.received(envelope(rx.Settled(9, ["9/0"])), 0), [act.IsSettled(9, ["9/0"])])
        self.assertEqual(client.received(envelope(rx.Settled(9, [])), 0), [])

    def test_requests_are_asked_again_after_welcome_and_after_the_silence(self) -> None:
        client = machine()
        self.assertEqual(client.settle(9, 0), [])
        client.request_view(0, 0)
        client.ticked(0)
        asked = [sent(Frame(Kind.SETTLE, 9)), sent(Frame(Kind.VIEW_REQUEST, 0, (None,)))]
        self.assertEqual(client.received(welcome(), 0)[1:], asked)
        for second in range(1, 6):
            client.received(envelope(rx.Pong(4096)), second)
            client.ticked(second)
        self.assertEqual([action for action in client.ticked(6.0) if action in asked], asked)

    def test_a_view_older_than_asked_for_is_told_and_still_waited_for(self) -> None:
        client = welcomed()
        client.request_view(9, 0)
        self.assertEqual(client.received(envelope(rx.InstanceView("main", 8, "old")), 0), [act.Viewed(8, "old")])
        self.assertEqual(client.received(envelope(rx.InstanceView("main", 9, "new")), 0), [act.Viewed(9, "new")])
        self.assertEqual(client.received(envelope(rx.InstanceView("main", 10, "more")), 0), [])
        self.assertEqual(client.connection.witness, 10)

    def test_a_view_that_is_there_does_not_wait_for_one_that_is_to_come(self) -> None:
        client = welcomed()
        any_view, later = (sent(Frame(Kind.VIEW_REQUEST, turn, (None,))) for turn in (0, 99))
        self.assertEqual(client.request_view(99, 0), [later])
        self.assertEqual(client.request_view(0, 0), [any_view])
        self.assertEqual(client.received(envelope(rx.InstanceView("main", 9, "now")), 0), [act.Viewed(9, "now"), later])
        self.assertEqual(client.received(envelope(rx.InstanceView("main", 99, "then")), 0), [act.Viewed(99, "then")])

    def test_a_turn_of_another_timeline_means_any_view(self) -> None:
        client = welcomed()
        self.assertEqual(client.request_view(9, 0, AWAY), [sent(Frame(Kind.VIEW_REQUEST, 0, (None,)))])

    def test_why_there_is_no_view_is_told(self) -> None:
        client = welcomed()
        client.request_view(0, 0)
        self.assertEqual(client.received(envelope(rx.Waiting(12, "no views")), 0), [act.IsWaiting(None, "no views")])

    def test_pages_are_asked_for_and_told(self) -> None:
        client = welcomed()
        outputs, views = OutputsAfter(4, 1, HOME), ViewsAfter(4, None)
        self.assertEqual(client.request_page(outputs, 0), [sent(Frame(Kind.OUTPUTS_REQUEST, 0, (None, 4, 1)))])
        self.assertEqual(client.request_page(outputs, 0), [])
        self.assertEqual(client.request_page(views, 0), [sent(Frame(Kind.VIEWS_REQUEST, 4, (None,)))])
        page = rx.OutputPage("main", (4, 1), None, [rx.EmittedOutput(7, 0, b"\x01")])
        self.assertEqual(client.received(envelope(page), 0), [act.Paged(outputs, page)])
        shown = rx.ViewPage("main", 4, False, [(5, "v")])
        self.assertEqual(client.received(envelope(shown), 0), [act.Paged(views, shown)])

    def test_a_place_of_another_timeline_has_no_page(self) -> None:
        client = welcomed()
        request = OutputsAfter(4, 1, AWAY)
        self.assertEqual(client.request_page(request, 0), [act.Pageless(request, TIMELINE_CHANGED)])

    def test_who_asks_says_ping_as_well(self) -> None:
        client = welcomed()
        client.settle(9, 0.9)
        self.assertEqual(client.ticked(1.0), [sent(Frame(Kind.PING, 0))])


class DurableTests(unittest.TestCase):
    def setUp(self) -> None:
        self.box = ClientOutbox(ME)
        self.client = machine(self.box)
        self.client.ticked(0)
        self.client.received(welcome(), 0)

    def save(self) -> list[Any]:
        entries = self.client.take_entries()
        for entry in entries:
            self.box.add(entry)
        self.client.saved()
        return entries

    def test_hello_has_a_number_beyond_all_of_earlier_processes(self) -> None:
        client = machine(ClientOutbox(ME, openings=3))
        self.assertEqual(client.ticked(0)[1], sent(hello(COUNTER, 0, "durable", ME, (3 << 20) + 1), NO_TIMELINE))

    def test_an_input_is_on_disk_before_it_is_sent(self) -> None:
        self.save()
        submit(self.client, 1)
        self.assertEqual(self.client.flush(0), [])
        self.assertEqual(self.save(), [Accepted(Submission(1, None, b"1"))])
        self.assertEqual(self.client.flush(0), [inputs(1)])

    def test_an_outcome_is_confirmed_when_it_was_seen_and_that_is_on_disk(self) -> None:
        submit(self.client, 1, 2)
        self.assertEqual(self.save()[0], WelcomedBy(HOME, 9))
        self.client.flush(0)
        self.client.received(receipt(rx.Outcome(1, 10, 0)), 0)
        self.save()
        self.assertEqual(self.client.ticked(1.0), [sent(Frame(Kind.PING, 0))])
        self.client.seen(1)
        self.assertEqual(self.client.ticked(2.0), [sent(Frame(Kind.PING, 0))])
        self.assertEqual(self.save(), [Seen(1)])
        self.assertEqual(self.client.ticked(3.0), [sent(Frame(Kind.PING, 1))])

    def test_no_more_is_taken_than_an_outbox_keeps_until_outcomes_are_seen(self) -> None:
        self.client = machine(self.box, settings=ClientSettings(kept_bytes=60))
        self.client.ticked(0)
        self.client.received(welcome(), 0)
        submit(self.client, 1)
        self.save()
        self.client.flush(0)
        self.client.received(receipt(rx.Outcome(1, 10, 0)), 0)
        submit(self.client, 2)
        with self.assertRaisesRegex(SubmitError, "not seen"):
            self.client.submit(b"3")
        self.client.seen(1)
        submit(self.client, 3)

    def test_the_next_process_sends_what_is_left_again(self) -> None:
        submit(self.client, 1, 2, 3)
        self.save()
        self.client.flush(0)
        self.client.received(receipt(rx.Outcome(1, 10, 0), rx.Outcome(2, 11, 0)), 0)
        self.client.seen(1)
        self.save()
        heir = machine(self.box.reopened())
        self.assertEqual(heir.unanswered, [2, 3])
        self.assertEqual(heir.ticked(0)[1], sent(hello(COUNTER, 9, "durable", ME, (2 << 20) + 1)))
        heir.received(welcome(expected=4), 0)
        heir.take_entries()
        heir.saved()
        self.assertEqual(heir.flush(0), [inputs(2, 3, confirmed=1)])

    def test_close_keeps_what_is_left_and_says_no_goodbye(self) -> None:
        submit(self.client, 1)
        self.assertEqual(self.client.close(), [act.Unknown(1, KEPT), act.Stop()])

    def test_close_with_nothing_left_says_goodbye(self) -> None:
        self.save()
        self.assertEqual(self.client.close(), [sent(Frame(Kind.GOODBYE)), act.Stop()])

    def test_an_expired_session_leaves_nothing_and_another_refusal_everything_which_is_told(self) -> None:
        submit(self.client, 1)
        self.client.settle(5, 0)
        self.save()
        refusal = rx.Error(ErrorCode.SUPERSEDED, "newer")
        told = [act.Unknown(1, KEPT), act.Unsettled(5, "newer"), act.Disconnect(), act.Refused(refusal)]
        self.assertEqual(self.client.received(envelope(refusal), 0), told)
        self.assertEqual(self.save(), [])
        heir = machine(self.box.reopened())
        heir.ticked(0)
        told = heir.received(rx.Envelope(NO_TIMELINE, rx.Error(ErrorCode.SESSION_EXPIRED, "gone")), 0)
        self.assertEqual(told[0], act.Unknown(1, "gone"))
        self.assertEqual(heir.take_entries(), [Seen(1)])


if __name__ == "__main__":
    unittest.main()
