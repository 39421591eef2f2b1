"""Frames as they are received, each kind as a type of its own.

Everything is checked: a frame that is not exactly what its kind has is `Malformed`, and its receiver drops it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from ..errors import ErrorCode
from ..packing import Unreadable, unpack_sequence
from .frame import HEADER, MAGIC, MAIN, VERSION, Claim, Kind, Lease, Proof, Schema
from .text import bounded


class Malformed(ValueError):
    """A message that is no frame for a peer."""


@dataclass(frozen=True, slots=True)
class Welcome:
    schema: Schema
    expected: int
    credit: int
    head: int
    silence: float
    #: The number of the store's start, greater than those before it in its timeline; 0 from a store that does not say.
    start: int = 0


@dataclass(frozen=True, slots=True)
class Error:
    code: ErrorCode
    text: str
    expected: int = 0
    wait: float = 0.0


@dataclass(frozen=True, slots=True)
class Ping:
    number: int


@dataclass(frozen=True, slots=True)
class Pong:
    number: int


@dataclass(frozen=True, slots=True)
class Goodbye:
    pass


@dataclass(frozen=True, slots=True)
class Drain:
    pass


class Outcome(NamedTuple):
    """What became of an input: 0 applied, 1 refused with MessagePack, 2 rejected with a text."""

    sequence: int
    turn: int
    verdict: int
    detail: bytes | str | None = None


@dataclass(frozen=True, slots=True)
class Receipts:
    outcomes: list[Outcome]
    credit: int


@dataclass(frozen=True, slots=True)
class Settled:
    turn: int
    dead: list[str]


@dataclass(frozen=True, slots=True)
class Waiting:
    turn: int
    reason: str


@dataclass(frozen=True, slots=True)
class InstanceView:
    instance: str
    turn: int
    value: Any


@dataclass(frozen=True, slots=True)
class Tick:
    instance: str
    head: int
    view: int
    idle: bool


class EmittedOutput(NamedTuple):
    turn: int
    ordinal: int
    bytes: bytes


@dataclass(frozen=True, slots=True)
class OutputPage:
    """Outputs after a place; those up to `lost` are not kept any more."""

    instance: str
    after: tuple[int, int]
    lost: tuple[int, int] | None
    outputs: list[EmittedOutput]


@dataclass(frozen=True, slots=True)
class ViewPage:
    """The views of the turns after one; some between are not kept if `is_missing_some`."""

    instance: str
    after: int
    is_missing_some: bool
    views: list[tuple[int, Any]]


@dataclass(frozen=True, slots=True)
class StreamPlace:
    """How far earlier attempts of an effect came: the number of the newest message, and the newest checkpoint."""

    index: int
    checkpoint: bytes | None = None


@dataclass(frozen=True, slots=True)
class Task:
    claim: Claim
    attempt: int
    instance: str
    queue: str
    timeout: float | None
    resume: StreamPlace | None
    payload: bytes = field(repr=False)

    @property
    def lease(self) -> Lease:
        return self.claim.lease


@dataclass(frozen=True, slots=True)
class Tasks:
    tasks: list[Task]
    number: int


@dataclass(frozen=True, slots=True)
class Acknowledge:
    leases: list[Lease]


@dataclass(frozen=True, slots=True)
class Cancel:
    leases: list[Lease]
    #: Counts the CANCELs with jobs since HELLO; 0 is from a store that does not.
    number: int


@dataclass(frozen=True, slots=True)
class Mark:
    """Streamed messages of a job up to a number are on disk, or not wanted any more."""

    lease: Lease
    index: int


@dataclass(frozen=True, slots=True)
class Streamed:
    marks: list[Mark]


@dataclass(frozen=True, slots=True)
class Reply:
    id: int
    refusal: str | None
    value: Any


Content: TypeAlias = (
    Welcome
    | Error
    | Ping
    | Pong
    | Goodbye
    | Drain
    | Receipts
    | Settled
    | Waiting
    | InstanceView
    | Tick
    | OutputPage
    | ViewPage
    | Tasks
    | Acknowledge
    | Cancel
    | Streamed
    | Reply
)


@dataclass(frozen=True, slots=True)
class Envelope:
    """A frame of the store, with its timeline, and a proof if one came with it."""

    timeline: bytes
    content: Content
    proof: Proof | None = None


def parse(parts: Sequence[bytes]) -> Envelope:
    """The frame of a message. Raises `Malformed`."""
    if not 1 <= len(parts) <= 2 or len(parts[0]) != HEADER.size:
        raise Malformed("no header, or more than a body behind it")
    magic, version, kind, _, timeline, number = HEADER.unpack(parts[0])
    if magic != MAGIC or version != VERSION or kind not in _READERS:
        raise Malformed("another protocol, another version, or a kind that is not for peers")
    count, read = _READERS[kind]
    try:
        values, rest = unpack_sequence(parts[1] if len(parts) > 1 else b"", count, optional=int(kind in _PROVEN))
    except Unreadable as error:
        raise Malformed(str(error)) from None
    return Envelope(timeline, read(number, *values), _proof(rest[0]) if rest else None)


# Values, each of the type that it must have. `bool` is an `int` in Python, and is none here.


def integer(value: Any) -> int:
    if type(value) is int and -(1 << 63) <= value < 1 << 63:
        return value
    raise Malformed("no integer")


def unsigned(value: Any) -> int:
    if type(value) is int and 0 <= value < 1 << 64:
        return value
    raise Malformed("no unsigned integer")


def text(value: Any) -> str:
    if type(value) is str:
        return value
    raise Malformed("no text")


def binary(value: Any) -> bytes:
    if type(value) is bytes:
        return value
    raise Malformed("no binary")


def boolean(value: Any) -> bool:
    if type(value) is bool:
        return value
    raise Malformed("no boolean")


def array(value: Any, size: int | None = None) -> list[Any]:
    if type(value) is list and (size is None or len(value) == size):
        return value
    raise Malformed("no array, or one of another size")


def seconds(value: Any) -> float:
    return integer(value) / 1000


def instance(value: Any) -> str:
    return MAIN if value is None else text(value)


def lease(value: Any) -> Lease:
    start, counter = array(value, 2)
    return integer(start), integer(counter)


def _pair(value: Any) -> tuple[int, int]:
    turn, ordinal = array(value, 2)
    return integer(turn), integer(ordinal)


def _proof(value: Any) -> Proof:
    turn, code = array(value, 2)
    return Proof(integer(turn), unsigned(code))


def _outcome(value: Any) -> Outcome:
    sequence, turn, verdict, detail = array(value, 4)
    match integer(verdict):
        case 0:
            if detail is not None:
                raise Malformed("an applied input with a reason")
        case 1:
            binary(detail)
        case 2:
            detail = bounded(text(detail))
        case _:
            raise Malformed("an unknown verdict")
    return Outcome(integer(sequence), integer(turn), verdict, detail)


def _output(value: Any) -> EmittedOutput:
    turn, ordinal, output = array(value, 3)
    return EmittedOutput(integer(turn), integer(ordinal), binary(output))


def _turn_view(value: Any) -> tuple[int, Any]:
    turn, view = array(value, 2)
    return integer(turn), view


def _place(value: Any) -> StreamPlace | None:
    if value is None:
        return None
    index, checkpoint = array(value, 2)
    return StreamPlace(integer(index), None if checkpoint is None else binary(checkpoint))


def _task(value: Any) -> Task:
    turn, ordinal, leased, token, attempt, where, queue, timeout, resume, payload = array(value, 10)
    return Task(
        Claim(integer(turn), integer(ordinal), lease(leased), unsigned(token)),
        integer(attempt),
        instance(where),
        text(queue),
        None if timeout is None else seconds(timeout),
        _place(resume),
        binary(payload),
    )


def _mark(value: Any) -> Mark:
    leased, index = array(value, 2)
    return Mark(lease(leased), integer(index))


def _welcome(start: int, value: Any) -> Welcome:
    name, version, expected, credit, head, silence = array(value, 6)
    schema = Schema(text(name), integer(version))
    return Welcome(schema, integer(expected), integer(credit), integer(head), seconds(silence), start)


def _error(_: int, value: Any) -> Error:
    code, why, expected, wait = array(value, 4)
    if integer(code) not in set(ErrorCode):
        raise Malformed(f"an unknown error code {code}")
    return Error(ErrorCode(code), bounded(text(why)), integer(expected), seconds(wait))


def _outputs(_: int, where: Any, turn: Any, ordinal: Any, lost: Any, outputs: Any) -> OutputPage:
    after = (integer(turn), integer(ordinal))
    return OutputPage(instance(where), after, None if lost is None else _pair(lost), [_output(o) for o in array(outputs)])


def _views(turn: int, where: Any, is_missing_some: Any, views: Any) -> ViewPage:
    return ViewPage(instance(where), turn, boolean(is_missing_some), [_turn_view(v) for v in array(views)])


def _reply(_: int, value: Any) -> Reply:
    id, refusal, answer = array(value, 3)
    return Reply(integer(id), None if refusal is None else text(refusal), answer)


#: Kinds that may have a proof behind their values.
_PROVEN = {Kind.WELCOME, Kind.RECEIPT, Kind.ACKNOWLEDGE, Kind.PONG}

#: Of each kind that a peer is sent: how many values its body has, and what they are, after the number of the header.
_READERS: dict[int, tuple[int, Callable[..., Content]]] = {
    Kind.WELCOME: (1, _welcome),
    Kind.ERROR: (1, _error),
    Kind.PING: (0, Ping),
    Kind.PONG: (0, Pong),
    Kind.GOODBYE: (0, lambda _: Goodbye()),
    Kind.DRAIN: (0, lambda _: Drain()),
    Kind.RECEIPT: (1, lambda credit, outcomes: Receipts([_outcome(one) for one in array(outcomes)], credit)),
    Kind.SETTLED: (1, lambda turn, dead: Settled(turn, [text(one) for one in array(dead)])),
    Kind.WAITING: (1, lambda turn, reason: Waiting(turn, text(reason))),
    Kind.VIEW: (2, lambda turn, where, value: InstanceView(instance(where), turn, value)),
    Kind.TICK: (3, lambda head, where, view, idle: Tick(instance(where), head, integer(view), boolean(idle))),
    Kind.OUTPUTS: (5, _outputs),
    Kind.VIEWS: (3, _views),
    Kind.TASK: (1, lambda number, tasks: Tasks([_task(task) for task in array(tasks)], number)),
    Kind.ACKNOWLEDGE: (1, lambda _, leases: Acknowledge([lease(one) for one in array(leases)])),
    Kind.CANCEL: (1, lambda number, leases: Cancel([lease(one) for one in array(leases)], number)),
    Kind.STREAMED: (1, lambda _, marks: Streamed([_mark(mark) for mark in array(marks)])),
    Kind.REPLY: (1, _reply),
}
