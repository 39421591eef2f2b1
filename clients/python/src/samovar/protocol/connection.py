"""One peer's connection to the store, as the machines of client and worker share it.

A connection is one socket and one HELLO. Whatever goes wrong, the answer is the same: throw the socket away, wait a little, open
a new one and say HELLO, which tells the store all it must know.

|  | greeting | welcomed | lost | closed |
|---|---|---|---|---|
| ticked | at `until`: lost | silent: lost; each second: ping | at `until`: open, greeting | – |
| disconnected | lost | lost | – | – |
| disconnected, the key is refused | lost; after the last place for the longest pause, and check the key | the same | – | – |
| WELCOME | welcomed | note | – | – |
| WELCOME of an earlier start than is known | lost | note | – | – |
| ERROR schema, misuse, superseded, sessionExpired, forbidden | refused, closed | refused, closed | – | – |
| ERROR retryLater | lost; after the last place for its wait | lost for its wait | – | – |
| ERROR keyRefused | lost; after the last place for the longest pause, and check the key | the same | – | – |
| another key was found | – | – | lost, but for no pause: once | – |
| ERROR unknownPeer | – | greet, greeting | – | – |
| ERROR resync | – | deliver | – | – |
| GOODBYE | lost | lost | – | – |
| PING | – | answer PONG | – | – |
| another frame | – | deliver | – | – |

It begins as one that was lost. A frame of another timeline than WELCOME's, ERROR apart, is noted and dropped, and is no sign of
life.

A store may be reached at several places (an endpoint, and one of the keys that it may have): each is tried once before there is a
pause.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from typing import TypeAlias

from ..errors import ErrorCode
from ..places import name_of
from .actions import Note, Refused
from .frame import NO_TIMELINE, Frame, Kind, Proof, Schema, hello
from .received import Content, Envelope, Error, Goodbye, Ping, Welcome

#: The longest wait that a store may ask for.
LONGEST_WAIT = 60.0
#: How many reasons are told before it is left at these.
_REASONS = 32


class Particular(str):
    """Why a connection is over, if somebody has to mend that."""


class KeyRefused(str):
    """Why a connection is over, if it is because the store does not take the key."""


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """The times by which a peer decides that it is connected, that it is not, and when to try again; in seconds."""

    longest_pause: float
    first_pause: float = 0.02
    #: How long the first HELLO waits for WELCOME. Each further round waits twice as long, up to `silence`.
    greeting: float = 1.0
    #: How long the transport may take before that, where there is no other place to try.
    handshake: float = 0.0
    #: A PING follows WELCOME, or another, after so long.
    ping_after: float = 1.0
    #: Silence after which the store is taken for dead, until WELCOME names another.
    silence: float = 6.0


WORKER = ConnectionSettings(longest_pause=1.0)
CLIENT = ConnectionSettings(longest_pause=10.0)
#: With keys, a handshake costs a store half a millisecond of a processor: seconds, if a crowd comes back. Who goes away meanwhile
#: has kept it busy for nothing, and begins again behind all others; and who has failed after seconds was one of too many, so that the
#: pause may be as long as the shortest attempt before it took: where one place refuses at once, another that says nothing is away.
KEYED_CLIENT = ConnectionSettings(longest_pause=10.0, handshake=20.0)


# What the connection asks of its owner, beside `Note` and `Refused`.


@dataclass(frozen=True, slots=True)
class Open:
    """Open a new socket and say HELLO."""


@dataclass(frozen=True, slots=True)
class Greet:
    """Say HELLO on the same socket."""


@dataclass(frozen=True, slots=True)
class SayPing:
    """Say that we are alive."""


@dataclass(frozen=True, slots=True)
class Welcomed:
    """The store knows us; `left` is the timeline that is no more, if there was one."""

    welcome: Welcome
    left: bytes | None


@dataclass(frozen=True, slots=True)
class Answer:
    frame: Frame


@dataclass(frozen=True, slots=True)
class Deliver:
    content: Content


@dataclass(frozen=True, slots=True)
class Lost:
    """Close the socket; a reason is told once, and not for every attempt."""

    reason: str | None


@dataclass(frozen=True, slots=True)
class CheckKey:
    """Close the socket: the store does not take our key. Which one is there by now? `key_found` wants to know."""


Event: TypeAlias = None | Open | Greet | SayPing | Note | Welcomed | Answer | Deliver | Lost | CheckKey | Refused


@dataclass(slots=True)
class _Greeting:
    until: float


@dataclass(slots=True)
class _Welcomed:
    heard: float
    #: When the last PING was due, or WELCOME came.
    pinged: float


@dataclass(slots=True)
class _Lost:
    until: float


@dataclass(slots=True)
class _Closed:
    pass


@dataclass
class Connection:
    """The state of one connection; each event returns what is to be done, or None.

    `timeline`, `epoch`, `witness`, `proof` and `start` may be those of an earlier process with the same identity; the epoch is a number
    beyond all that it may have used.
    """

    settings: ConnectionSettings
    random: random.Random
    timeline: bytes = NO_TIMELINE
    epoch: int = 0
    witness: int = 0
    proof: Proof | None = None
    #: The greatest start number that a store of the timeline has welcomed the peer with.
    start: int = 0
    #: How many places there are to try; the host says so with each attempt.
    places: int = 1
    #: The place of this attempt, or of the next.
    place: int = 0
    silence: float = field(init=False)

    def __post_init__(self) -> None:
        self.silence = self.settings.silence
        self._patience = self.settings.greeting
        self._backoff = Backoff(self.settings.first_pause, self.settings.longest_pause)
        self._state: _Greeting | _Welcomed | _Lost | _Closed = _Lost(float("-inf"))
        self._tried = 0
        #: When the attempt that goes on has begun; None after WELCOME.
        self._began: float | None = None
        #: How long the shortest attempt took since the last pause or WELCOME.
        self._shortest = math.inf
        self._shown: bytes | None = None
        #: The key that the store has not taken, and its word for why, as long as it is not known whether there is another one.
        self._refused: tuple[bytes | None, KeyRefused] | None = None
        self._has_hurried = False
        #: The reasons that were told since the last WELCOME.
        self._told: set[str] = set()
        #: The longest that a place has asked for since the last pause or WELCOME.
        self._asked = 0.0

    @property
    def is_welcomed(self) -> bool:
        return isinstance(self._state, _Welcomed)

    @property
    def deadline(self) -> float | None:
        """When `ticked` has something to do; None for never."""
        match self._state:
            case _Greeting(until) | _Lost(until):
                return until
            case _Welcomed(heard, pinged):
                return min(heard + self.silence, pinged + self.settings.ping_after)
        return None

    def ticked(self, now: float) -> Event:
        match self._state:
            case _Greeting(until) if now >= until:
                waited = self._wait
                if self._tried >= self.places:
                    self._patience = min(self._patience * 2, self.silence)
                return self._lose(f"no WELCOME within {waited:g} s", now)
            case _Welcomed(heard) if now >= heard + self.silence:
                return self._lose(f"silent for {self.silence:g} s", now)
            case _Welcomed() as state if now >= state.pinged + self.settings.ping_after:
                state.pinged = now
                return SayPing()
            case _Lost(until) if now >= until:
                self._tried += 1
                self._began = now
                self._greet(now)
                return Open()
        return None

    def disconnected(self, now: float, reason: str = "the connection broke") -> Event:
        """The transport knows that the connection is gone, and perhaps a `Particular` reason, or `KeyRefused`."""
        return self.start_over(reason, now)

    def start_over(self, reason: str, now: float) -> Event:
        """The store broke a rule that only a new HELLO can mend."""
        return self._lose(reason, now) if isinstance(self._state, _Greeting | _Welcomed) else None

    def key_shown(self, key: bytes | None) -> None:
        """The host has read the key for the attempt that has begun; None if it has none."""
        self._shown = key

    def key_found(self, key: bytes | None, now: float) -> Note | None:
        """After `CheckKey`, the host has read the key again.

        With another one than was refused the next attempt is made at once: once, so that two files that take turns do not make a
        peer hammer.
        """
        if self._refused is None or not isinstance(self._state, _Lost):
            return None
        (refused, reason), self._refused = self._refused, None
        self._has_hurried = not self._has_hurried and None not in (key, refused) and key != refused
        if self._has_hurried:
            self._state = _Lost(until=now)
            return None
        # Once until WELCOME: it is tried again for ever.
        return Note(f"the store refuses the key: {reason}", is_warning=True) if self._tell(reason) else None

    def has_told(self, turn: int) -> None:
        """The store has told of a turn, in its timeline."""
        self.witness = max(self.witness, turn)

    def hello(self, role: str, who: bytes | list[object], schema: Schema | None, has_ended: bool = False) -> Frame:
        """The HELLO of the owner."""
        witness = self.witness if self.proof is None else self.proof
        return hello(schema, witness, role, who, self.epoch, has_ended, self.start)

    def close(self) -> None:
        """The owner needs this connection no more."""
        self._state = _Closed()

    def received(self, envelope: Envelope, now: float) -> Event:
        match self._state:
            case _Greeting():
                return self._received_greeting(envelope, now)
            case _Welcomed():
                return self._received_welcomed(self._state, envelope, now)
        return None  # It came through a socket that is closed by now.

    def _received_greeting(self, envelope: Envelope, now: float) -> Event:
        match envelope.content:
            case Welcome() as welcome:
                return self._accept(welcome, envelope, now)
            case Error() as error:
                return self._failed(error, now)
            case Goodbye():
                return self._lose("the store closes", now)
        return None  # It answers what was said before this HELLO.

    def _received_welcomed(self, state: _Welcomed, envelope: Envelope, now: float) -> Event:
        if isinstance(envelope.content, Error):
            state.heard = now
            return self._failed(envelope.content, now)
        if envelope.timeline != self.timeline:
            return Note(f"dropped a {type(envelope.content).__name__} of another timeline")
        state.heard = now
        match envelope.content:
            case Ping(number):
                return Answer(Frame(Kind.PONG, number))
            case Goodbye():
                return self._lose("the store closes", now)
            case Welcome():
                return Note("dropped a WELCOME that was not asked for")
        self._keep(envelope.proof)
        return Deliver(envelope.content)

    def _accept(self, welcome: Welcome, envelope: Envelope, now: float) -> Event:
        # Another store has taken over from this one, which may not know it yet: nothing that it says counts.
        if envelope.timeline == self.timeline and welcome.start < self.start:
            reason = f"a store of an earlier start ({welcome.start}) answers; start {self.start} is known"
            return self._lose(Particular(reason), now)
        left = None if self.timeline in (NO_TIMELINE, envelope.timeline) else self.timeline
        self.timeline = envelope.timeline
        if left is not None:
            self.witness, self.proof = 0, None
        self.start = welcome.start
        self.witness = max(self.witness, welcome.head)
        self._keep(envelope.proof)
        # A silence shorter than two PINGs would take a living store for dead.
        self.silence = max(welcome.silence, self.settings.ping_after * 2)
        self._patience = self.settings.greeting
        self._backoff.reset()
        self._tried = 0
        self._began = None
        self._shortest = math.inf
        self._has_hurried = False
        self._told.clear()
        self._asked, self._refused = 0.0, None
        self._state = _Welcomed(heard=now, pinged=now)
        return Welcomed(welcome, left)

    def _failed(self, error: Error, now: float) -> Event:
        match error.code:
            case ErrorCode.RETRY_LATER:
                return self._lose(error.text, now, wait=min(max(error.wait, 0.0), LONGEST_WAIT))
            case ErrorCode.KEY_REFUSED:
                return self._lose(KeyRefused(error.text), now)
            case ErrorCode.UNKNOWN_PEER:
                if not self.is_welcomed:
                    return None
                self._greet(now)
                return Greet()
            case ErrorCode.RESYNC:
                return Deliver(error) if self.is_welcomed else None
        self.close()
        return Refused(error)

    def _greet(self, now: float) -> None:
        self.epoch += 1
        self._state = _Greeting(until=now + self._wait)

    @property
    def _wait(self) -> float:
        """For WELCOME, the connection included. Where there is another place to try, nothing is waited for that may never come."""
        return self._patience + (self.settings.handshake if self.places == 1 else 0.0)

    def _keep(self, proof: Proof | None) -> None:
        if proof is not None and (self.proof is None or proof.turn >= self.proof.turn):
            self.proof = proof

    def _lose(self, reason: str, now: float, wait: float = 0.0) -> Lost | CheckKey:
        """Tells a reason that is particular, and of the others the first since the last WELCOME, if no place is left to try.

        What a place says of when to come again, or of the key, holds for the pause, and the others are tried before.
        """
        was_greeting = isinstance(self._state, _Greeting)
        if was_greeting:
            self.place += 1
        if self._began is not None:
            self._shortest = min(self._shortest, now - self._began)
            self._began = None
        self._asked = max(self._asked, wait)
        if isinstance(reason, KeyRefused):
            self._refused = (self._shown, reason)
        is_particular = isinstance(reason, Particular)
        if was_greeting and 0 < self._tried < self.places:
            self._state = _Lost(until=now)
            return Lost(reason if is_particular and self._tell(reason) else None)
        if self._shortest < math.inf and self.settings.handshake:
            self._backoff.rise(self._shortest)
        self._shortest = math.inf
        self._tried = 0
        pause = self._asked + self._backoff.next(self.random)
        self._asked = 0.0
        if self._refused is None:
            self._state = _Lost(until=now + pause)
            return Lost(reason if (is_particular or not self._told) and self._tell(reason) else None)
        # A key is not good again within a moment, and many may have lost theirs together.
        longest = self.settings.longest_pause
        self._state = _Lost(until=now + max(pause, self.random.uniform(longest / 2, longest)))
        return CheckKey()

    def _tell(self, reason: str) -> bool:
        """False for what was told before."""
        if reason in self._told or len(self._told) >= _REASONS:
            return False
        self._told.add(reason)
        return True


class Backoff:
    """The pauses between attempts: each is drawn from zero up to a ceiling (“full jitter”), so that a thousand peers that lost
    the store together do not come back together.

    The ceiling rises by half of the first one at a time, up to ten of the first, and doubles beyond.
    """

    GENTLE_RISE = 10

    def __init__(self, first: float, longest: float) -> None:
        self._first = min(first, longest)
        self._longest = longest
        self.reset()

    def reset(self) -> None:
        self._ceiling = self._first

    def rise(self, height: float) -> None:
        """The ceiling is at least this high."""
        self._ceiling = min(max(self._ceiling, height), self._longest)

    def next(self, random: random.Random) -> float:
        pause = random.uniform(0, self._ceiling)
        is_gentle = self._ceiling < self._first * self.GENTLE_RISE
        self._ceiling = min(self._ceiling + self._first / 2 if is_gentle else self._ceiling * 2, self._longest)
        return pause


def timeline_changed(timeline: bytes, left: bytes) -> str:
    """What is noted when the store has another journal."""
    return f"the timeline is {name_of(timeline)} and no more {name_of(left)}"
