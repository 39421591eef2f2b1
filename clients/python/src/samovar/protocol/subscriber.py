"""What a subscriber shows of one instance: always the newest view it has.

The idea: views are whole and the newest wins, so a lost one needs no repair unless none follows it. The tick of each second tells
which view is the newest; only a subscriber that is behind it for a while asks, through the front socket.

|  | subscribing | live | lost |
|---|---|---|---|
| ticked | 3 s: reconnect | 3 s: stale, reconnect; subscribing | at `until`: reconnect |
| VIEW by the SUB socket | live; shown if newer | shown if newer | – |
| VIEW by the SUB socket, of another timeline than what is shown | live; shown, whatever its turn | shown, whatever its turn | – |
| TICK | live; asks if behind | asks if behind | – |
| GOODBYE | lost | stale, lost | – |
| answered (from the front) | shown if newer | same timeline: shown if newer | shown if newer |
| disconnected | lost | stale, lost | – |

It begins as one that was lost, and asks at once. Behind is: nothing is shown, another timeline than that of the view shown, or a
newer view than it for more than 200 ms. It asks at most once a second.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from .actions import Note, Reconnect, RequestView, Show, Stale, SubscriberAction
from .connection import Backoff, timeline_changed
from .frame import MAIN, NO_TIMELINE
from .received import Envelope, Goodbye, InstanceView, Tick


@dataclass(frozen=True, slots=True)
class SubscriberSettings:
    """In seconds."""

    #: Silence of the SUB socket after which another is opened; ticks come every second.
    silence: float = 3.0
    #: How long the transport may take before that.
    handshake: float = 0.0
    #: How long a published view may take to arrive before it is asked for.
    patience: float = 0.2
    #: The least time between two requests.
    between: float = 1.0
    first_pause: float = 0.02
    longest_pause: float = 3.0


STANDARD = SubscriberSettings()
#: It is there only while the store has welcomed its client, so there is no other place to try.
KEYED = SubscriberSettings(handshake=20.0)


@dataclass(frozen=True, slots=True)
class _Subscribing:
    since: float


@dataclass(frozen=True, slots=True)
class _Live:
    heard: float


@dataclass(frozen=True, slots=True)
class _Lost:
    until: float


@dataclass(frozen=True, slots=True)
class _Missing:
    """A view that the store has published and that is not here; in another timeline than this one it never comes."""

    turn: int
    timeline: bytes
    due: float


class SubscriberMachine:
    """The views of one instance; see the table above."""

    def __init__(self, random: random.Random, instance: str = MAIN, settings: SubscriberSettings = STANDARD) -> None:
        self._instance = instance
        self._settings = settings
        self._random = random
        self._backoff = Backoff(settings.first_pause, settings.longest_pause)
        self._state: _Subscribing | _Live | _Lost = _Lost(float("-inf"))
        #: Turn and timeline of the view that is shown.
        self._shown: tuple[int, bytes] | None = None
        #: The timeline of the newest frame from the SUB socket.
        self._timeline = NO_TIMELINE
        self._missing: _Missing | None = _Missing(0, NO_TIMELINE, float("-inf"))
        self._next_request = float("-inf")

    @property
    def deadline(self) -> float:
        """When `ticked` is to be called at the latest."""
        match self._state:
            case _Subscribing(since):
                own = since + self._settings.handshake + self._settings.silence
            case _Live(heard):
                own = heard + self._settings.silence
            case _Lost(until):
                own = until
        return own if self._missing is None else min(own, max(self._missing.due, self._next_request))

    def ticked(self, now: float) -> list[SubscriberAction]:
        """Time has passed."""
        actions: list[SubscriberAction] = []
        silence = self._settings.silence
        match self._state:
            case _Subscribing(since) if now >= since + self._settings.handshake + silence:
                self._subscribe(now, actions)
            case _Live(heard) if now >= heard + silence:
                actions += [Stale(), Note(f"no tick for {silence:g} s")]
                self._subscribe(now, actions)
            case _Lost(until) if now >= until:
                self._subscribe(now, actions)
        missing = self._missing
        if missing is not None and now >= missing.due and now >= self._next_request:
            self._next_request = now + self._settings.between
            actions.append(RequestView(missing.turn, missing.timeline))
        return actions

    def received(self, envelope: Envelope, now: float) -> list[SubscriberAction]:
        """A frame came through the SUB socket."""
        actions: list[SubscriberAction] = []
        if isinstance(self._state, _Lost):
            return actions
        match envelope.content:
            case InstanceView(self._instance, turn, value):
                self._hear(envelope.timeline, now)
                self._show(turn, value, envelope.timeline, actions)
            case Tick(self._instance, _, view, _):
                self._hear(envelope.timeline, now)
                self._compare(view, now)
            case Goodbye():
                self._lose("the store closes", now, actions)
            case other:
                actions.append(Note(f"dropped a {type(other).__name__}, which is not for subscribers of {self._instance}"))
        return actions

    def answered(self, turn: int, value: Any, timeline: bytes) -> list[SubscriberAction]:
        """A view came through the front socket."""
        actions: list[SubscriberAction] = []
        # The front socket may belong to a store that is no more; a live SUB socket has just spoken.
        if not isinstance(self._state, _Live) or timeline == self._timeline:
            self._show(turn, value, timeline, actions)
        return actions

    def disconnected(self, now: float, reason: str = "the connection broke") -> list[SubscriberAction]:
        """The transport knows that the SUB socket's connection is gone. Without this event, silence tells."""
        actions: list[SubscriberAction] = []
        self._lose(reason, now, actions)
        return actions

    def _subscribe(self, now: float, actions: list[SubscriberAction]) -> None:
        self._state = _Subscribing(now)
        actions.append(Reconnect())

    def _hear(self, timeline: bytes, now: float) -> None:
        self._timeline = timeline
        self._state = _Live(now)
        self._backoff.reset()

    def _show(self, turn: int, value: Any, timeline: bytes, actions: list[SubscriberAction]) -> None:
        if self._shown is not None:
            shown, where = self._shown
            if where == timeline and shown >= turn:
                return
            if where != timeline:
                actions.append(Note(timeline_changed(timeline, where)))
        self._shown = (turn, timeline)
        missing = self._missing
        if missing is not None and (turn >= missing.turn or timeline != missing.timeline):
            self._missing = None
        actions.append(Show(turn, value, timeline))

    def _compare(self, view: int, now: float) -> None:
        """Compares the newest view of the store with the one that is shown."""
        due = None if self._missing is None else self._missing.due
        if self._shown is None or self._shown[1] != self._timeline:
            self._missing = _Missing(view, self._timeline, now if due is None else min(now, due))
        elif view > self._shown[0]:
            self._missing = _Missing(view, self._timeline, now + self._settings.patience if due is None else due)
        else:
            self._missing = None

    def _lose(self, reason: str, now: float, actions: list[SubscriberAction]) -> None:
        if isinstance(self._state, _Lost):
            return
        if isinstance(self._state, _Live):
            actions += [Stale(), Note(f"lost the views: {reason}")]
        elif self._settings.handshake:
            self._backoff.rise(now - self._state.since)
        self._state = _Lost(now + self._backoff.next(self._random))
