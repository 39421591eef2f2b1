"""What a client does with its inputs: numbers them, sends what the credit allows, sends again what a lost connection may have
lost, and tells each outcome exactly once.

The idea: go-back-N. The numbers of a session have no holes, so the store needs one number to know what it has, and the client one
to know what is answered. After every WELCOME the client sends again from the oldest input without an outcome.

|  | open | closed |
|---|---|---|
| submit | numbered and kept; backlog full, or after an input that ends the session: raises | raises |
| settle, request_view, request (page) | kept; sent if welcomed | raises |
| flush | SEND within credit and window; blocked by credit: PING confirms | – |
| WELCOME | welcomed; goes back to the oldest unanswered, requests again | – |
| WELCOME, another timeline | everything unanswered is unknown; numbers start again on the wire | – |
| WELCOME that expects an impossible number | as ERROR sessionExpired | – |
| PONG | credit | – |
| RECEIPT | each new outcome is answered, a known one ignored; credit | – |
| ERROR resync | goes back to its number; a note if that is answered | – |
| SETTLED, WAITING, VIEW, OUTPUTS, VIEWS | told if it was asked for | – |
| ticked | 6 s without an outcome or an answer: goes back, asks again | – |
| close | unanswered is unknown, goodbye, stop, closed; a durable one keeps what it has and says no goodbye | – |
| refused | unanswered is unknown, closed; a durable one keeps what it has, unless its session is over | – |

A host calls, in each round of its loop: `received` for every frame, `submit` for every new input, `ticked`, then it saves what
`take_entries` gives and says `saved`, and last `flush`; it carries the actions out in order.
"""

from __future__ import annotations

import random
import sys

from ..errors import ErrorCode
from . import actions as act
from . import connection as conn
from . import received as rx
from .actions import ClientAction
from .backlog import STANDARD, Backlog, ClientSettings
from .frame import MAIN, Frame, Kind, Schema, Submission, instance_value, send
from .outbox import Accepted, ClientOutbox, Entry, Opened, Seen, WelcomedBy
from .requests import ClientRequests, Page, PageRequest


class SubmitError(Exception):
    """Something was not taken. It can never have been applied."""


TIMELINE_CHANGED = "the store has another journal now"
CLOSED = "the client left before the answer came"
KEPT = "it is kept in the outbox, and sent again when that is opened next"


class ClientMachine:
    """A session with the store; see the table above."""

    def __init__(
        self,
        session: bytes | ClientOutbox,
        schema: Schema | None,
        random: random.Random,
        instance: str = MAIN,
        settings: ClientSettings = STANDARD,
        times: conn.ConnectionSettings = conn.CLIENT,
    ) -> None:
        """A session that was never used by another, or the outbox of a durable client, as this process has opened it."""
        self._schema = schema
        self._instance = instance
        self._settings = settings
        self._is_open = True
        self._outbox = session if isinstance(session, ClientOutbox) else None
        if self._outbox is not None:
            box = self._outbox
            self._session = box.session
            self._backlog = Backlog(box.inputs, box.next)
            # No process connects a million times; so the store knows the newer process by its greater number.
            self.connection = conn.Connection(times, random, box.timeline, box.openings << 20, box.witness, box.proof, box.start)
        else:
            assert isinstance(session, bytes)
            self._session = session
            self._backlog = Backlog()
            self.connection = conn.Connection(times, random)
        #: The caller's number of an input is its number on the wire plus this.
        self._base = 0
        self._credit = 0
        self._told_confirmed = 0
        self._repeat_at: float | None = None
        self._requests = ClientRequests(instance)
        #: Where the last ERROR resync led: each frame that was under way then gives another, which says nothing new.
        self._resynced: int | None = None
        #: With this input the session ends, if it is applied. A number of the wire.
        self._ending: int | None = None
        self._ending_is_sent = False
        #: Why the store takes nothing from us at present, in its words.
        self.obstacle: str | None = None
        #: The store did not welcome us, and said when to come again: until it does, we keep no other connection either.
        self.is_sent_away = False
        # A store that had welcomed us sent us away since the last WELCOME: perhaps for a request.
        self._is_turned_away = False
        # Requests were put off by the last WELCOME, and not asked since.
        self._has_put_off = False
        # Of a durable client: steps that are not on disk yet, what is on disk, and inputs that are answered and not seen,
        # with their bytes.
        self._unsaved: list[Entry] = []
        self._saved_inputs = self._backlog.next - 1 if self._is_durable else sys.maxsize
        self._saved_confirmed = self._backlog.confirmed
        self._unseen: dict[int, int] = {}
        self._unseen_bytes = 0

    @property
    def _is_durable(self) -> bool:
        return self._outbox is not None

    @property
    def is_open(self) -> bool:
        return self._is_open

    @property
    def timeline(self) -> bytes:
        return self.connection.timeline

    @property
    def unanswered(self) -> list[int]:
        """The numbers of the inputs without an outcome, in order."""
        return [self._base + number for number in self._backlog.unanswered]

    @property
    def deadline(self) -> float | None:
        """When `ticked` is to be called at the latest; None for never."""
        if not self._is_open:
            return None
        times = [self.connection.deadline]
        if self.connection.is_welcomed:
            times += [self._repeat_at, self._requests.repeat_at]
        return min((time for time in times if time is not None), default=None)

    # Events of the host

    def submit(self, input: bytes, ends_session: bool = False) -> int:
        """Takes an input and gives its number. Raises `SubmitError`."""
        if not self._is_open or self._ending is not None:
            raise SubmitError("this client is closed, or its session ends with an input before")
        if len(input) > self._settings.input_bytes:
            raise SubmitError(f"an input of {len(input)} bytes; {self._settings.input_bytes} at most")
        size = self._backlog.bytes + len(input)
        is_full = size > self._settings.backlog_bytes or self._unseen_bytes + size > self._settings.kept_bytes
        if is_full or len(self._backlog) >= self._settings.backlog:
            raise SubmitError("too many inputs are unanswered, or have an outcome that was not seen")
        number = self._backlog.append(input, self._instance)
        if self._is_durable:
            self._note(Accepted(Submission(number, instance_value(self._instance), input)))
        elif ends_session:
            self._ending, self._ending_is_sent = number, False
        return self._base + number

    def seen(self, sequence: int) -> None:
        """Whoever sent this input has seen its outcome; a durable client need not be told it again."""
        number = sequence - self._base
        if number in self._unseen:
            self._unseen_bytes -= self._unseen.pop(number)
            self._note(Seen(number))

    @property
    def held_up_by(self) -> int | None:
        """The input whose outcome has to be seen before the store takes another one; None if there is no such input."""
        is_held = self._backlog.has_unsent and not self._backlog.has_in_flight and self._backlog.cursor > self._credit
        oldest = min(self._unseen, default=sys.maxsize)
        return self._base + oldest if is_held and oldest <= self._backlog.confirmed else None

    def take_entries(self) -> list[Entry]:
        """What is to be added to the outbox now; `saved` follows when it is on disk, and nothing else between the two."""
        entries, self._unsaved = self._unsaved, []
        return entries

    def saved(self) -> None:
        if self._is_durable:
            self._saved_inputs = self._backlog.next - 1
            self._saved_confirmed = min(self._backlog.confirmed, min(self._unseen, default=sys.maxsize) - 1)

    @property
    def has_room_for_request(self) -> bool:
        """Whether another request would be taken; else it would after the answer to one that is open."""
        return self._is_open and len(self._requests) < self._settings.requests

    def settle(self, turn: int, now: float) -> list[ClientAction]:
        """Asks to be told when no effect whose root is `turn` is open. Raises `SubmitError`."""
        self._require_room_for_request()
        self._requests.add_settle(turn)
        return self._ask(Frame(Kind.SETTLE, turn), now)

    def request_view(self, at_least: int, now: float, timeline: bytes | None = None) -> list[ClientAction]:
        """Asks for a view of at least this turn; 0 for the current one. A turn of another timeline than this client's would never
        come, and so means any view. Raises `SubmitError`.
        """
        self._require_room_for_request()
        self._requests.add_view(at_least if timeline in (None, self.timeline) else 0)
        return self._ask(self._requests.view_frame(), now)

    def request_page(self, page: PageRequest, now: float) -> list[ClientAction]:
        """Asks for a page, which comes when there is something in it. Raises `SubmitError`."""
        self._require_room_for_request()
        if self.connection.is_welcomed and page.timeline not in (None, self.timeline):
            return [act.Pageless(page, TIMELINE_CHANGED)]
        return self._ask(self._requests.page_frame(page), now) if self._requests.add_page(page) else []

    def forget_page(self, page: PageRequest) -> None:
        """Nobody waits for this page any more."""
        self._requests.forget(page)

    def forget_settle(self, turn: int) -> None:
        """Nobody waits any more for this turn to settle."""
        self._requests.give_up(turn)

    def ticked(self, now: float) -> list[ClientAction]:
        """Time has passed."""
        actions: list[ClientAction] = []
        self._perform(self.connection.ticked(now), now, actions)
        if self._repeat_at is not None and now >= self._repeat_at:
            self._go_back_to_oldest()
            self._repeat_at = None
        due = self._requests.repeat_at
        if due is not None and now >= due:
            self._ask_again(now, actions)
        return actions

    def flush(self, now: float) -> list[ClientAction]:
        """Sends what credit and window allow."""
        if not self.connection.is_welcomed:
            return []
        actions: list[ClientAction] = []
        limit = min(self._credit, self._saved_inputs, self._last_to_send)
        while frame := self._backlog.take_frame(limit, self._settings):
            ends_session = frame[-1].sequence == self._ending
            self._ending_is_sent = self._ending_is_sent or ends_session
            self._send(send(frame, self._confirmed, ends_session), actions)
        # The store's credit follows our confirmations, which otherwise travel with inputs.
        is_blocked = self._backlog.has_unsent and self._backlog.cursor > self._credit
        if is_blocked and self._confirmed > self._told_confirmed:
            self._send(Frame(Kind.PING, self._confirmed), actions)
        if self._backlog.has_in_flight and self._repeat_at is None:
            self._repeat_at = now + self.connection.silence
        return actions

    def disconnected(self, now: float, reason: str = "the connection broke") -> list[ClientAction]:
        """The transport knows that the connection is gone. Without this event, silence tells."""
        actions: list[ClientAction] = []
        self._perform(self.connection.disconnected(now, reason), now, actions)
        return actions

    def received(self, envelope: rx.Envelope, now: float) -> list[ClientAction]:
        """A frame came from the store."""
        actions: list[ClientAction] = []
        if isinstance(envelope.content, rx.Error) and envelope.content.code == ErrorCode.RETRY_LATER:
            self.obstacle = envelope.content.text
            if self.connection.is_welcomed:
                self._is_turned_away = True
            else:
                self.is_sent_away = True
        self._perform(self.connection.received(envelope, now), now, actions)
        return actions

    def close(self) -> list[ClientAction]:
        """Ends the session. What is not answered yet stays unknown. A durable client with something left only goes away."""
        if not self._is_open:
            return []
        actions: list[ClientAction] = []
        is_done = not self._is_durable or not (self._backlog or self._unseen or self._unsaved)
        self._forget_unanswered(CLOSED, self._is_durable, actions)
        if self.connection.is_welcomed and is_done:
            self._send(Frame(Kind.GOODBYE), actions)
        self.connection.close()
        self._end()
        return [*actions, act.Stop()]

    # Frames of the store

    def _welcomed(self, welcome: rx.Welcome, left: bytes | None, now: float, actions: list[ClientAction]) -> None:
        self.obstacle = None
        self.is_sent_away = False
        actions.append(act.Connected(welcome.head, self.timeline))
        if left is not None:
            actions.append(act.Note(conn.timeline_changed(self.timeline, left)))
            self._change_timeline(welcome.expected, actions)
        self._note(WelcomedBy(self.timeline, welcome.head, self.connection.proof, self.connection.start))
        for request in self._requests.drop_pages(other_than=self.timeline):
            actions.append(act.Pageless(request, TIMELINE_CHANGED))
        if self._is_possible(welcome.expected, actions):
            self._credit = welcome.credit
            self._go_back_to_oldest()
            # Sent away again at once for a request, we would never hear what became of inputs, for outcomes wait for the disk; and
            # sent away for inputs, never of a request.
            if self._is_turned_away and self._backlog and not self._has_put_off:
                self._has_put_off = True
                self._requests.asked(now, 1.0)
            else:
                self._ask_again(now, actions)
            self._is_turned_away = False

    def _change_timeline(self, expected: int, actions: list[ClientAction]) -> None:
        """Of this session, a new journal expects input 1, and one that goes on from another the next one of there."""
        first = max(1, min(expected, self._backlog.next))
        self._tell_unknown(TIMELINE_CHANGED, TIMELINE_CHANGED, actions)
        self._base += self._backlog.next - first
        self._backlog = Backlog((), first)
        if self._outbox is not None and first > 1:
            self._note(Opened(self._session, self._outbox.openings, first))
        self._told_confirmed = 0
        self._ending = None
        self._unseen.clear()
        self._unseen_bytes = 0
        self._saved_confirmed = 0
        if self._is_durable:
            self._saved_inputs = 0

    def _resync(self, expected: int, actions: list[ClientAction]) -> None:
        # The store has taken that number since, or there were no answer: the network was slow.
        if 1 <= expected < self._backlog.oldest:
            actions.append(act.Note(f"dropped a RESYNC to input {expected}, which is answered"))
        elif self._is_possible(expected, actions) and self._resynced != expected:
            self._resynced = expected
            self._backlog.go_back(expected)

    def _is_possible(self, expected: int, actions: list[ClientAction]) -> bool:
        """A store that expects a number that was answered has forgotten the session; one that expects a number that was never
        used has met another client with its identity. Neither can be mended.
        """
        if self._backlog.oldest <= expected <= self._backlog.next:
            return True
        text = f"the store expects input {expected} of this session, which is at {self._backlog.oldest}"
        self.connection.close()
        self._refused(rx.Error(ErrorCode.SESSION_EXPIRED, text), actions)
        return False

    def _take(self, content: rx.Content, now: float, actions: list[ClientAction]) -> None:
        match content:
            case rx.Pong(credit):
                self._credit = max(self._credit, credit)
            case rx.Receipts(outcomes, credit):
                self._credit = max(self._credit, credit)
                self._take_outcomes(outcomes, now, actions)
            case rx.Settled(turn, dead):
                if self._requests.settled(turn):
                    actions.append(act.IsSettled(turn, dead))
            case rx.Waiting(turn, reason):
                if self._requests.is_waiting_for(turn):
                    actions.append(act.IsWaiting(turn, reason))
                elif self._requests.is_waiting_for_views and not self._requests.has_given_up(turn):
                    actions.append(act.IsWaiting(None, reason))
            case rx.InstanceView(instance, turn, value):
                self.connection.has_told(turn)
                count = len(self._requests)
                if instance == self._instance and self._requests.viewed(turn):
                    actions.append(act.Viewed(turn, value))
                    if self._requests.is_waiting_for_view and len(self._requests) < count:
                        actions += self._ask(self._requests.view_frame(), now)
            case rx.OutputPage(_, _, _, outputs) as page:
                self._take_page(page, outputs[-1].turn if outputs else 0, actions)
            case rx.ViewPage(_, _, _, views) as page:
                self._take_page(page, views[-1][0] if views else 0, actions)
            case rx.Error(_, _, expected):
                self._resync(expected, actions)
            case rx.Drain():
                actions.append(act.Note("the store is about to stop"))
            case _:
                actions.append(act.Note(f"dropped a {type(content).__name__}, which is not for clients"))

    def _take_outcomes(self, outcomes: list[rx.Outcome], now: float, actions: list[ClientAction]) -> None:
        oldest = self._backlog.oldest
        is_new = False
        for outcome in outcomes:
            unanswered = self._backlog.bytes
            if self._backlog.answer(outcome.sequence):
                is_new = True
                self._answered(outcome, unanswered - self._backlog.bytes, actions)
        if is_new:
            self._resynced = None
        # Later outcomes say nothing of one that was lost.
        if self._backlog.oldest > oldest:
            self._repeat_at = now + self.connection.silence if self._backlog.has_in_flight else None

    def _answered(self, outcome: rx.Outcome, size: int, actions: list[ClientAction]) -> None:
        self.connection.has_told(outcome.turn)
        if self._is_durable:
            self._unseen[outcome.sequence] = size
            self._unseen_bytes += size
        if outcome.sequence == self._ending and outcome.verdict != 0:
            self._ending = None
        actions.append(act.Answered(outcome._replace(sequence=self._base + outcome.sequence)))

    def _take_page(self, page: Page, newest: int, actions: list[ClientAction]) -> None:
        self.connection.has_told(newest)
        actions += [act.Paged(request, page) for request in self._requests.answered_by(page)]

    def _refused(self, error: rx.Error, actions: list[ClientAction]) -> None:
        # Of an expired session nobody will ever know more. Anything else may be mended, and a durable client keeps its inputs.
        is_over = error.code == ErrorCode.SESSION_EXPIRED
        if is_over:
            for number in self._backlog.unanswered:
                self._note(Seen(number))
        self._forget_unanswered(error.text, self._is_durable and not is_over, actions)
        self._end()
        actions += [act.Disconnect(), act.Refused(error)]

    # Decisions

    def _perform(self, event: conn.Event, now: float, actions: list[ClientAction]) -> None:
        match event:
            case conn.Open():
                actions.append(act.Connect(self.connection.place))
                self._greet(actions)
            case conn.Greet():
                self._greet(actions)
            case conn.SayPing():
                self._send(Frame(Kind.PING, self._confirmed), actions)
            case act.Note():
                actions.append(event)
            case conn.Welcomed(welcome, left):
                self._welcomed(welcome, left, now, actions)
            case conn.Answer(frame):
                self._send(frame, actions)
            case conn.Deliver(content):
                self._take(content, now, actions)
            case conn.Lost(reason):
                self._repeat_at = None
                self._requests.pause()
                actions.append(act.Disconnect())
                if reason is not None:
                    actions.append(act.Note(f"lost the store: {reason}", is_warning=True))
            case conn.CheckKey():
                self._repeat_at = None
                self._requests.pause()
                actions += (act.Disconnect(), act.CheckKey())
            case act.Refused(error):
                self._refused(error, actions)

    def _greet(self, actions: list[ClientAction]) -> None:
        self._repeat_at = None
        self._requests.pause()
        self._requests.forget_given_up()
        self._told_confirmed = 0
        role = "durable" if self._is_durable else "client"
        has_ended = self._ending is not None and self._ending_is_sent
        self._send(self.connection.hello(role, self._session, self._schema, has_ended), actions)

    def _send(self, frame: Frame, actions: list[ClientAction]) -> None:
        if frame.kind in (Kind.SEND, Kind.PING):
            self._told_confirmed = frame.number
        actions.append(act.Send(frame, self.timeline))

    def _require_room_for_request(self) -> None:
        if not self._is_open:
            raise SubmitError("this client is closed")
        if not self.has_room_for_request:
            raise SubmitError("too many requests are unanswered")

    def _ask(self, frame: Frame, now: float) -> list[ClientAction]:
        if not self.connection.is_welcomed:
            return []
        self._requests.asked(now, again=self.connection.silence)
        actions: list[ClientAction] = []
        self._send(frame, actions)
        return actions

    def _ask_again(self, now: float, actions: list[ClientAction]) -> None:
        self._has_put_off = False
        for frame in self._requests.frames:
            self._send(frame, actions)
        self._requests.pause()
        self._requests.asked(now, again=self.connection.silence)

    def _go_back_to_oldest(self) -> None:
        self._resynced = None
        self._backlog.go_back(self._backlog.oldest)

    @property
    def _confirmed(self) -> int:
        """All outcomes up to this number may be forgotten by the store."""
        return self._saved_confirmed if self._is_durable else self._backlog.confirmed

    @property
    def _last_to_send(self) -> int:
        """An input that ends the session waits for the outcomes of those before it."""
        is_held = self._ending is not None and self._backlog.oldest < self._ending
        return self._ending - 1 if is_held and self._ending is not None else sys.maxsize

    def _note(self, entry: Entry) -> None:
        if self._is_durable:
            self._unsaved.append(entry)

    def _tell_unknown(self, of_inputs: str, of_turns: str, actions: list[ClientAction]) -> None:
        actions += [act.Unknown(number, of_inputs) for number in self.unanswered]
        actions += [act.Unsettled(turn, of_turns) for turn in self._requests.drop_turns()]

    def _forget_unanswered(self, reason: str, is_kept: bool, actions: list[ClientAction]) -> None:
        """If they are kept, the inputs are in the outbox; of what was asked for, nothing is."""
        self._tell_unknown(KEPT if is_kept else reason, reason, actions)
        actions += [act.Pageless(request, reason) for request in self._requests.drop_pages(other_than=None)]

    def _end(self) -> None:
        self._base += self._backlog.next - 1
        self._backlog = Backlog()
        self._requests = ClientRequests(self._instance)
        self._repeat_at = None
        self._is_open = False
