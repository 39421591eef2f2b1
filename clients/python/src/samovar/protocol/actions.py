"""What the machines ask of their hosts, which carry it out in order."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, TypeAlias

from .frame import Frame, Lease
from .received import Error, Mark, Outcome, Task
from .requests import Page, PageRequest

# Client and worker


@dataclass(frozen=True, slots=True)
class Connect:
    """Open a new socket; frames follow, which are kept in order until it can take them, or until the next `Disconnect`.

    `place` counts attempts that came to nothing: the socket is for that one of all places, in turn.
    """

    place: int = 0


@dataclass(frozen=True, slots=True)
class Disconnect:
    """Close the socket at once; what it has not sent is dropped."""


@dataclass(frozen=True, slots=True)
class CheckKey:
    """The store does not take this peer's key: read it again, and say by `key_found` which one it is now."""


@dataclass(frozen=True, slots=True)
class Send:
    frame: Frame
    timeline: bytes


@dataclass(frozen=True, slots=True)
class Refused:
    """The store will not have this peer, for good."""

    error: Error


@dataclass(frozen=True, slots=True)
class Stop:
    """Give the socket a moment to send what it has, and close it."""


@dataclass(frozen=True, slots=True)
class Note:
    """For the log; a warning is about what a person can mend."""

    text: str
    is_warning: bool = False

    @property
    def level(self) -> int:
        return logging.WARNING if self.is_warning else logging.INFO


@dataclass(frozen=True, slots=True)
class Connected:
    """The store knows this peer: its newest turn on disk, and the timeline it lives in."""

    head: int
    timeline: bytes


Action: TypeAlias = Connect | Disconnect | CheckKey | Send | Refused | Stop | Note | Connected


# Client


@dataclass(frozen=True, slots=True)
class Answered:
    """What became of an input. Each has exactly one `Answered` or `Unknown`."""

    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nobody can tell any more whether this input was applied."""

    sequence: int
    reason: str


@dataclass(frozen=True, slots=True)
class IsSettled:
    """No effect whose root is this turn is open; the dead ones are listed."""

    turn: int
    dead: list[str]


@dataclass(frozen=True, slots=True)
class IsWaiting:
    """What a settle request waits for; without a turn, why a view that was asked for cannot be made."""

    turn: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Unsettled:
    """Nobody can tell any more whether the effects of this turn are closed."""

    turn: int
    reason: str


@dataclass(frozen=True, slots=True)
class Viewed:
    """A view that was asked for; its timeline is the machine's."""

    turn: int
    value: Any


@dataclass(frozen=True, slots=True)
class Paged:
    """A page that was asked for; its timeline is the machine's."""

    request: PageRequest
    page: Page


@dataclass(frozen=True, slots=True)
class Pageless:
    """There will be no such page: the place is of another timeline, or the client has ended."""

    request: PageRequest
    reason: str


ClientAction: TypeAlias = Action | Answered | Unknown | IsSettled | IsWaiting | Unsettled | Viewed | Paged | Pageless


# Worker


@dataclass(frozen=True, slots=True)
class Start:
    """Run the handler in a slot of its own, and say `finished` when it has really ended. The timeline is that of the task."""

    task: Task
    timeline: bytes


@dataclass(frozen=True, slots=True)
class Stopping:
    """Tell the handler to stop. It keeps its slot until it is `finished`."""

    lease: Lease


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """What the handler of this job has streamed is on disk up to a number: there is room for more."""

    mark: Mark


WorkerAction: TypeAlias = Action | Start | Stopping | Acknowledged


# Subscriber


@dataclass(frozen=True, slots=True)
class Reconnect:
    """Close the SUB socket if there is one, open another, and subscribe to the topic of the instance."""


@dataclass(frozen=True, slots=True)
class Show:
    """This is the view now; none older follows, unless the timeline changed."""

    turn: int
    value: Any
    timeline: bytes


@dataclass(frozen=True, slots=True)
class RequestView:
    """Ask through the front socket for a view of at least this turn of this timeline."""

    at_least: int
    timeline: bytes


@dataclass(frozen=True, slots=True)
class Stale:
    """Nothing comes through the SUB socket any more: close it."""


SubscriberAction: TypeAlias = Reconnect | Show | RequestView | Stale | Note
