"""Transcripts of a subscriber: one test per row of the table of `SubscriberMachine`."""

from __future__ import annotations

import random
import unittest
from typing import Any

from samovar.protocol import received as rx
from samovar.protocol.actions import Note, Reconnect, RequestView, Show, Stale
from samovar.protocol.frame import NO_TIMELINE
from samovar.protocol.subscriber import KEYED, SubscriberMachine, SubscriberSettings

HOME, AWAY = b"h" * 16, b"a" * 16


def view(turn: int, timeline: bytes = HOME) -> rx.Envelope:
    return rx.Envelope(timeline, rx.InstanceView("main", turn, f"view {turn}"))


def tick(turn: int, timeline: bytes = HOME) -> rx.Envelope:
    return rx.Envelope(timeline, rx.Tick("main", turn, turn, False))


def show(turn: int, timeline: bytes = HOME) -> Show:
    return Show(turn, f"view {turn}", timeline)


def subscribing() -> SubscriberMachine:
    machine = SubscriberMachine(random.Random(1), settings=SubscriberSettings(first_pause=0, longest_pause=0))
    machine.ticked(0)
    return machine


def live(turn: int = 5) -> SubscriberMachine:
    machine = subscribing()
    machine.received(view(turn), 0)
    return machine


class SubscriberTests(unittest.TestCase):
    def test_it_subscribes_and_asks_at_once(self) -> None:
        machine = SubscriberMachine(random.Random(1))
        self.assertEqual(machine.ticked(0), [Reconnect(), RequestView(0, NO_TIMELINE)])

    def test_with_a_key_the_handshake_has_its_time_before_silence_counts(self) -> None:
        machine = SubscriberMachine(random.Random(1), settings=KEYED)
        machine.ticked(0)
        machine.answered(5, "view 5", HOME)
        self.assertEqual(machine.deadline, 23.0)
        self.assertEqual(machine.ticked(22.9), [])
        self.assertEqual(machine.ticked(23.0), [Reconnect()])
        machine.received(tick(5), 30)
        self.assertEqual(machine.ticked(33), [Stale(), Note("no tick for 3 s"), Reconnect()])

    def test_views_are_shown_if_they_are_newer(self) -> None:
        machine = subscribing()
        self.assertEqual(machine.received(view(5), 0), [show(5)])
        self.assertEqual(machine.received(view(4), 0), [])
        self.assertEqual(machine.received(view(6), 0), [show(6)])
        self.assertEqual(machine.answered(6, "view 6", HOME), [])
        self.assertEqual(machine.answered(7, "view 7", HOME), [show(7)])

    def test_a_view_that_does_not_come_for_200_ms_is_asked_for_and_once_a_second_at_most(self) -> None:
        machine = live()
        self.assertEqual(machine.received(tick(6), 2.0), [])
        self.assertEqual(machine.deadline, 2.2)
        self.assertEqual(machine.ticked(2.2), [RequestView(6, HOME)])
        self.assertEqual(machine.ticked(2.3), [])
        self.assertEqual(machine.ticked(3.2), [RequestView(6, HOME)])
        machine.received(view(6), 3.2)
        self.assertEqual(machine.ticked(4.3), [])

    def test_a_view_of_another_timeline_is_shown_whatever_its_turn(self) -> None:
        note, shown = live().received(view(2, AWAY), 0)
        self.assertIsInstance(note, Note)
        self.assertEqual(shown, show(2, AWAY))

    def test_a_tick_of_another_timeline_asks_at_once(self) -> None:
        machine = live()
        machine.received(tick(2, AWAY), 2.0)
        self.assertEqual(machine.ticked(2.0), [RequestView(2, AWAY)])
        self.assertEqual(machine.answered(9, "old", HOME), [])
        note, shown = machine.answered(2, "view 2", AWAY)
        self.assertIsInstance(note, Note)
        self.assertEqual(shown, show(2, AWAY))

    def test_silence_opens_another_socket(self) -> None:
        machine = live()
        actions = machine.ticked(3.0)
        self.assertEqual([action for action in actions if not isinstance(action, Note)], [Stale(), Reconnect()])
        self.assertEqual(machine.ticked(5.9), [])
        self.assertEqual(machine.ticked(6.0), [Reconnect()])

    def test_goodbye_and_a_break_lose_the_socket(self) -> None:
        machine = live()
        self.assertEqual(machine.received(rx.Envelope(HOME, rx.Goodbye()), 0)[0], Stale())
        self.assertEqual(machine.received(view(9), 0), [])
        self.assertEqual(machine.answered(9, "view 9", HOME), [show(9)])
        self.assertEqual(machine.ticked(0), [Reconnect()])
        self.assertEqual(live().disconnected(0)[0], Stale())
        self.assertEqual(subscribing().disconnected(0), [])

    def test_what_is_not_for_it_is_dropped(self) -> None:
        other: Any = rx.InstanceView("left", 9, None)
        self.assertIsInstance(live().received(rx.Envelope(HOME, other), 0)[0], Note)


if __name__ == "__main__":
    unittest.main()
