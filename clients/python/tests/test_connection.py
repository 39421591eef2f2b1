"""One test per row of the table of `Connection`, and of what several places mean."""

from __future__ import annotations

import math
import random
import unittest

from samovar import ErrorCode
from samovar.protocol import connection as conn
from samovar.protocol import received as rx
from samovar.protocol.actions import Note, Refused
from samovar.protocol.frame import NO_TIMELINE, Frame, Kind, Proof, Schema

HOME, AWAY = b"h" * 16, b"a" * 16
STILL = conn.ConnectionSettings(first_pause=0, longest_pause=0)


def welcome(
    head: int = 9, timeline: bytes = HOME, proof: Proof | None = None, silence: float = 6.0, start: int = 0
) -> rx.Envelope:
    return rx.Envelope(timeline, rx.Welcome(Schema("Counter"), 1, 4096, head, silence, start), proof)


def error(code: ErrorCode, wait: float = 0.0, expected: int = 0) -> rx.Envelope:
    return rx.Envelope(HOME, rx.Error(code, "no", expected, wait))


def greeting(places: int = 1) -> conn.Connection:
    connection = conn.Connection(STILL, random.Random(1))
    assert connection.ticked(0) == conn.Open()
    connection.places = places
    return connection


def welcomed() -> conn.Connection:
    connection = greeting()
    assert isinstance(connection.received(welcome(), 0), conn.Welcomed)
    return connection


class ConnectionTests(unittest.TestCase):
    def test_it_begins_as_one_that_was_lost(self) -> None:
        connection = conn.Connection(STILL, random.Random(1))
        self.assertEqual(connection.ticked(0), conn.Open())
        self.assertEqual(connection.epoch, 1)
        self.assertEqual(connection.deadline, 1.0)

    def test_without_welcome_it_is_lost_and_waits_twice_as_long_the_next_time(self) -> None:
        connection = greeting()
        self.assertIsNone(connection.ticked(0.9))
        self.assertEqual(connection.ticked(1.0), conn.Lost("no WELCOME within 1 s"))
        self.assertEqual(connection.ticked(1.0), conn.Open())
        self.assertEqual(connection.deadline, 3.0)
        self.assertEqual(connection.ticked(3.0), conn.Lost(None))
        for waited in (4.0, 6.0, 6.0):
            now = connection.deadline or 0
            self.assertEqual(connection.ticked(now), conn.Open())
            self.assertEqual(connection.deadline, now + waited)
            self.assertEqual(connection.ticked(now + waited), conn.Lost(None))

    def test_with_a_key_the_handshake_has_its_time_unless_there_is_another_place_to_try(self) -> None:
        for places, waited in ((1, 21.0), (2, 1.0)):
            connection = conn.Connection(conn.KEYED_CLIENT, random.Random(1))
            connection.places = places
            self.assertEqual(connection.ticked(0), conn.Open())
            self.assertEqual(connection.deadline, waited)
            self.assertIsNone(connection.ticked(waited - 0.1))
            self.assertIsInstance(connection.ticked(waited), conn.Lost)

    def test_with_a_key_the_pause_after_an_attempt_in_vain_may_be_as_long_as_it_took(self) -> None:
        for settings, seconds, ceiling in ((conn.KEYED_CLIENT, 5.0, 5.0), (conn.KEYED_CLIENT, 0.001, 0.02), (conn.CLIENT, 0.9, 0.02)):
            pauses = []
            for seed in range(500):
                connection = conn.Connection(settings, random.Random(seed))
                connection.ticked(0)
                connection.disconnected(seconds)
                pauses.append((connection.deadline or 0) - seconds)
            self.assertTrue(ceiling * 0.9 < max(pauses) <= ceiling, (settings, seconds, max(pauses)))

    def test_where_one_of_two_places_refuses_at_once_nobody_waits_for_the_other_one(self) -> None:
        for first, second in ((5.0, 5.001), (0.001, 5.001)):
            pauses = []
            for seed in range(500):
                connection = conn.Connection(conn.KEYED_CLIENT, random.Random(seed))
                connection.places = 2
                connection.ticked(0)
                connection.disconnected(first)
                connection.ticked(first)
                connection.disconnected(second)
                pauses.append((connection.deadline or 0) - second)
            self.assertTrue(0 < max(pauses) <= 0.02, (first, max(pauses)))

    def test_how_long_a_connection_has_held_says_nothing_of_the_pause_after_it(self) -> None:
        connection = conn.Connection(conn.KEYED_CLIENT, random.Random(1))
        connection.ticked(0)
        connection.received(welcome(), 0)
        self.assertIsInstance(connection.received(rx.Envelope(HOME, rx.Error(ErrorCode.UNKNOWN_PEER, "who")), 3600), conn.Greet)
        connection.received(rx.Envelope(HOME, rx.Error(ErrorCode.RETRY_LATER, "later", wait=1.0)), 3600)
        self.assertLessEqual(connection.deadline or 0, 3601.02)

    def test_silence_ends_a_connection_and_ping_keeps_it(self) -> None:
        connection = welcomed()
        self.assertEqual(connection.ticked(1.0), conn.SayPing())
        self.assertIsNone(connection.ticked(1.9))
        self.assertIsInstance(connection.received(rx.Envelope(HOME, rx.Pong(0)), 2.0), conn.Deliver)
        self.assertEqual(connection.ticked(8.0), conn.Lost("silent for 6 s"))

    def test_ping_is_said_each_second_whatever_is_heard(self) -> None:
        for is_answered in (True, False):
            connection = welcomed()
            pings = []
            for quarter in range(1, 13):
                now = quarter / 4
                self.assertEqual(connection.deadline, math.ceil(now))
                if connection.ticked(now) == conn.SayPing():
                    pings.append(now)
                if is_answered:
                    connection.received(rx.Envelope(HOME, rx.Pong(0)), now)
            self.assertEqual(pings, [1.0, 2.0, 3.0])

    def test_silence_is_what_welcome_says_and_no_less_than_two_pings(self) -> None:
        connection = greeting()
        connection.received(welcome(silence=0.5), 0)
        self.assertEqual(connection.silence, 2.0)

    def test_disconnected_is_lost(self) -> None:
        self.assertEqual(greeting().disconnected(0), conn.Lost("the connection broke"))
        self.assertEqual(welcomed().disconnected(0, "it is gone"), conn.Lost("it is gone"))
        lost = welcomed()
        lost.disconnected(0)
        self.assertIsNone(lost.disconnected(0))

    def test_a_reason_is_told_once_until_the_next_welcome(self) -> None:
        connection = welcomed()
        for reason in ("the connection broke", None, None):
            self.assertEqual(connection.disconnected(0), conn.Lost(reason))
            connection.ticked(0)
        connection.received(welcome(), 0)
        self.assertEqual(connection.disconnected(0), conn.Lost("the connection broke"))

    def test_what_somebody_has_to_mend_is_told_in_any_case_each_reason_once_until_the_next_welcome(self) -> None:
        connection = greeting(places=2)
        key, name = conn.Particular("the key file cannot be opened"), conn.Particular("the name has no address")
        told: list[str | None] = []
        for reason in (key, "the connection broke", name, "nobody listens there", key, name):
            lost = connection.disconnected(0, reason)
            assert isinstance(lost, conn.Lost)
            told.append(lost.reason)
            connection.ticked(0)
        self.assertEqual(told, [key, None, name, None, None, None])
        connection.received(welcome(), 0)
        self.assertEqual(connection.disconnected(0, name), conn.Lost(name))

    def test_no_more_than_32_reasons_are_told(self) -> None:
        connection = greeting()
        told = []
        for number in range(40):
            told.append(connection.disconnected(0, conn.Particular(f"reason {number}")) != conn.Lost(None))
            connection.ticked(0)
        self.assertEqual(told, [True] * 32 + [False] * 8)

    def test_why_a_key_is_refused_is_told_after_another_reason(self) -> None:
        connection = welcomed()
        self.assertEqual(connection.disconnected(0), conn.Lost("the connection broke"))
        for told in (True, False):
            connection.ticked(99)
            connection.received(error(ErrorCode.KEY_REFUSED), 99)
            self.assertEqual(connection.key_found(None, 99) is not None, told)

    def test_welcome_of_another_timeline_forgets_witness_and_proof(self) -> None:
        connection = greeting()
        connection.received(welcome(42, proof=Proof(42, 7)), 0)
        connection.disconnected(0)
        connection.ticked(0)
        self.assertEqual(connection.hello("client", b"", None).values[0][1], Proof(42, 7))
        self.assertEqual(
            connection.received(welcome(3, AWAY), 0), conn.Welcomed(rx.Welcome(Schema("Counter"), 1, 4096, 3, 6.0), HOME)
        )
        self.assertEqual((connection.witness, connection.proof), (3, None))

    def test_a_store_of_an_earlier_start_is_not_believed_and_the_next_place_is_tried(self) -> None:
        connection = greeting(2)
        connection.received(welcome(42, proof=Proof(42, 7), start=4), 0)
        connection.disconnected(0)
        connection.ticked(0)
        self.assertEqual(connection.hello("client", b"", None).values[0][4:], [4])
        here = connection.place
        lost = connection.received(welcome(50, proof=Proof(50, 8), silence=20, start=3), 0)
        self.assertIsInstance(lost, conn.Lost)
        self.assertEqual((connection.witness, connection.proof, connection.start), (42, Proof(42, 7), 4))
        self.assertEqual((connection.silence, connection.place), (6.0, here + 1))
        self.assertEqual(connection.ticked(0), conn.Open())
        self.assertIsInstance(connection.received(welcome(51, start=5), 0), conn.Welcomed)
        self.assertEqual(connection.start, 5)

    def test_why_an_earlier_store_is_not_believed_is_told(self) -> None:
        connection = conn.Connection(STILL, random.Random(1), timeline=HOME, start=1)
        connection.ticked(0)
        text = "a store of an earlier start (0) answers; start 1 is known"
        self.assertEqual(connection.received(welcome(), 0), conn.Lost(text))

    def test_another_timeline_counts_its_own_starts(self) -> None:
        connection = conn.Connection(STILL, random.Random(1), timeline=HOME, start=4)
        connection.ticked(0)
        self.assertIsInstance(connection.received(welcome(3, AWAY, start=2), 0), conn.Welcomed)
        self.assertEqual(connection.start, 2)

    def test_the_newest_proof_is_kept(self) -> None:
        connection = welcomed()
        for turn in (5, 9, 7):
            connection.received(rx.Envelope(HOME, rx.Pong(0), Proof(turn, turn)), 0)
        self.assertEqual(connection.proof, Proof(9, 9))

    def test_a_final_error_is_told_and_closes(self) -> None:
        for code in (
            ErrorCode.SCHEMA,
            ErrorCode.MISUSE,
            ErrorCode.SUPERSEDED,
            ErrorCode.SESSION_EXPIRED,
            ErrorCode.FORBIDDEN,
        ):
            for connection in (greeting(), welcomed()):
                self.assertEqual(connection.received(error(code), 0), Refused(rx.Error(code, "no")))
                self.assertIsNone(connection.deadline)
                self.assertIsNone(connection.ticked(99))

    def test_retry_later_waits_as_long_as_the_store_asks_and_a_minute_at_most(self) -> None:
        for wait, until in ((1.5, 1.5), (999.0, 60.0), (-1.0, 0.0)):
            connection = welcomed()
            self.assertEqual(connection.received(error(ErrorCode.RETRY_LATER, wait), 0), conn.Lost("no"))
            self.assertEqual(connection.deadline, until)

    def test_a_key_that_is_refused_comes_again_after_the_longest_pause(self) -> None:
        connection = conn.Connection(conn.WORKER, random.Random(1))
        connection.ticked(0)
        self.assertEqual(connection.received(error(ErrorCode.KEY_REFUSED), 0), conn.CheckKey())
        self.assertEqual(connection.key_found(None, 0), Note("the store refuses the key: no", is_warning=True))
        self.assertGreaterEqual(connection.deadline or 0, 0.5)

    def test_with_another_key_than_was_refused_it_comes_again_at_once_but_once(self) -> None:
        connection = conn.Connection(conn.WORKER, random.Random(1))
        connection.ticked(0)
        connection.key_shown(b"old")
        connection.received(error(ErrorCode.KEY_REFUSED), 0)
        self.assertIsNone(connection.key_found(b"new", 0))
        self.assertEqual(connection.deadline, 0)
        self.assertEqual(connection.ticked(0), conn.Open())
        connection.key_shown(b"new")
        connection.received(error(ErrorCode.KEY_REFUSED), 0)
        self.assertIsNotNone(connection.key_found(b"old", 0))
        self.assertGreaterEqual(connection.deadline or 0, 0.5)

    def test_that_a_key_is_refused_is_told_once(self) -> None:
        connection = conn.Connection(conn.WORKER, random.Random(1))
        connection.ticked(0)
        notes = []
        for now in (0.0, 60.0):
            connection.ticked(now)
            connection.received(error(ErrorCode.KEY_REFUSED), now)
            notes.append(connection.key_found(b"old", now))
        self.assertEqual([note is not None for note in notes], [True, False])

    def test_without_another_key_it_waits(self) -> None:
        for shown, found in ((None, None), (None, b"new"), (b"old", None), (b"old", b"old")):
            connection = conn.Connection(conn.WORKER, random.Random(1))
            connection.ticked(0)
            connection.key_shown(shown)
            connection.received(error(ErrorCode.KEY_REFUSED), 0)
            self.assertIsNotNone(connection.key_found(found, 0))
            self.assertGreaterEqual(connection.deadline or 0, 0.5)

    def test_unknown_peer_is_greeted_on_the_same_socket(self) -> None:
        connection = welcomed()
        self.assertEqual(connection.received(error(ErrorCode.UNKNOWN_PEER), 0), conn.Greet())
        self.assertEqual(connection.epoch, 2)
        self.assertIsNone(connection.received(error(ErrorCode.UNKNOWN_PEER), 0))

    def test_goodbye_is_lost(self) -> None:
        for connection in (greeting(), welcomed()):
            self.assertEqual(connection.received(rx.Envelope(HOME, rx.Goodbye()), 0), conn.Lost("the store closes"))

    def test_ping_is_answered(self) -> None:
        self.assertEqual(welcomed().received(rx.Envelope(HOME, rx.Ping(7)), 0), conn.Answer(Frame(Kind.PONG, 7)))

    def test_a_frame_of_another_timeline_is_dropped_and_no_sign_of_life(self) -> None:
        connection = welcomed()
        self.assertEqual(connection.received(rx.Envelope(AWAY, rx.Pong(0)), 5.0), Note("dropped a Pong of another timeline"))
        self.assertEqual(connection.ticked(6.0), conn.Lost("silent for 6 s"))

    def test_a_welcome_that_was_not_asked_for_is_dropped(self) -> None:
        self.assertIsInstance(welcomed().received(welcome(), 0), Note)

    def test_what_comes_before_welcome_or_through_a_closed_socket_is_nothing(self) -> None:
        self.assertIsNone(greeting().received(rx.Envelope(NO_TIMELINE, rx.Pong(0)), 0))
        lost = welcomed()
        lost.disconnected(0)
        self.assertIsNone(lost.received(welcome(), 0))


class PlaceTests(unittest.TestCase):
    def test_each_place_is_tried_once_before_there_is_a_pause(self) -> None:
        connection = conn.Connection(conn.ConnectionSettings(first_pause=8, longest_pause=8), random.Random(1))
        connection.ticked(0)
        connection.places = 3
        for place in (1, 2):
            self.assertEqual(connection.disconnected(0), conn.Lost(None))
            self.assertEqual(connection.ticked(0), conn.Open())
            self.assertEqual(connection.place, place)
        self.assertEqual(connection.disconnected(0), conn.Lost("the connection broke"))
        self.assertGreater(connection.deadline or 0, 0)

    def test_patience_grows_with_rounds_and_not_with_places(self) -> None:
        connection = greeting(places=2)
        connection.ticked(1.0)
        connection.ticked(1.0)
        self.assertEqual(connection.deadline, 2.0)
        connection.ticked(2.0)
        connection.ticked(2.0)
        self.assertEqual(connection.deadline, 4.0)

    def test_a_place_that_was_good_is_the_first_of_the_next_round(self) -> None:
        connection = greeting(places=3)
        connection.disconnected(0)
        connection.ticked(0)
        connection.received(welcome(), 0)
        connection.disconnected(0)
        connection.ticked(0)
        self.assertEqual(connection.place, 1)

    def test_a_wait_that_a_place_asks_for_comes_when_the_others_were_tried(self) -> None:
        connection = greeting(places=3)
        for wait in (5.0, 1.0):
            self.assertEqual(connection.received(error(ErrorCode.RETRY_LATER, wait), 0), conn.Lost(None))
            self.assertEqual(connection.ticked(0), conn.Open())
        connection.disconnected(0)
        self.assertEqual(connection.deadline, 5.0)

    def test_a_key_that_one_place_does_not_take_is_shown_to_the_others_before_the_pause(self) -> None:
        def refused(connection: conn.Connection) -> conn.Event:
            return connection.received(error(ErrorCode.KEY_REFUSED), 0)

        def turned_away(connection: conn.Connection) -> conn.Event:
            return connection.disconnected(0, conn.KeyRefused("the store does not take this key"))

        for lose in (refused, turned_away):
            pauses = []
            for seed in range(500):
                connection = conn.Connection(conn.CLIENT, random.Random(seed), places=2)
                connection.ticked(0)
                self.assertEqual(lose(connection), conn.Lost(None))
                self.assertEqual(connection.ticked(0), conn.Open())
                self.assertEqual(lose(connection), conn.CheckKey())
                pauses.append(connection.deadline or 0)
            self.assertTrue(5 <= min(pauses) < 5.5 and 9.5 < max(pauses) <= 10.0, (min(pauses), max(pauses)))


class BackoffTests(unittest.TestCase):
    def test_pauses_are_drawn_from_zero_to_a_ceiling_that_rises_gently_and_then_doubles(self) -> None:
        class Highest(random.Random):
            def uniform(self, a: float, b: float) -> float:
                return b

        backoff = conn.Backoff(0.02, 1.0)
        pauses = [round(backoff.next(Highest()), 3) for _ in range(23)]
        self.assertEqual(pauses[:3] + pauses[18:], [0.02, 0.03, 0.04, 0.2, 0.4, 0.8, 1.0, 1.0])
        backoff.reset()
        self.assertEqual(backoff.next(Highest()), 0.02)


if __name__ == "__main__":
    unittest.main()
