"""What a client has asked for and was not told yet.

Asking twice does no harm, so all of it is asked again after a new WELCOME, and after the silence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from .frame import Frame, Kind, instance_value
from .received import OutputPage, ViewPage

#: In place of a turn: from the current view on.
NOW = -1


@dataclass(frozen=True, slots=True)
class OutputsAfter:
    """The outputs after a place of a timeline; without one, in whichever there is."""

    turn: int
    ordinal: int
    timeline: bytes | None
    waits: bool = True


@dataclass(frozen=True, slots=True)
class ViewsAfter:
    """The views of the turns after one; `NOW` for the current view."""

    turn: int
    timeline: bytes | None


PageRequest: TypeAlias = OutputsAfter | ViewsAfter
Page: TypeAlias = OutputPage | ViewPage


class ClientRequests:
    """The requests of one client for one instance."""

    def __init__(self, instance: str) -> None:
        self._instance = instance_value(instance)
        self._turns: set[int] = set()
        #: Turns of which the store tells on this connection although nobody waits for them any more.
        self._given_up: set[int] = set()
        #: The turns that the asked views must have at least. For a store, the newest request for a view stands for those before
        #: it; so only the least of these is asked for, and the next one when that is answered.
        self._views: set[int] = set()
        # In the order in which they were asked.
        self._pages: dict[PageRequest, None] = {}
        self._due: float | None = None

    def __len__(self) -> int:
        return len(self._turns) + len(self._views) + len(self._pages)

    @property
    def repeat_at(self) -> float | None:
        """When all of it is asked again; None for never."""
        return self._due if len(self) else None

    @property
    def frames(self) -> list[Frame]:
        """All requests, in a fixed order."""
        frames = [Frame(Kind.SETTLE, turn) for turn in sorted(self._turns)]
        if self._views:
            frames.append(self.view_frame())
        return frames + [self.page_frame(page) for page in self._pages]

    def view_frame(self) -> Frame:
        return Frame(Kind.VIEW_REQUEST, min(self._views), (self._instance,))

    def page_frame(self, page: PageRequest) -> Frame:
        match page:
            case OutputsAfter(turn, ordinal, _, waits):
                return Frame(Kind.OUTPUTS_REQUEST, 0 if waits else 1, (self._instance, turn, ordinal))
            case ViewsAfter(turn):
                return Frame(Kind.VIEWS_REQUEST, turn, (self._instance,))

    def add_settle(self, turn: int) -> None:
        self._begin()
        self._turns.add(turn)
        self._given_up.discard(turn)

    def add_view(self, at_least: int) -> None:
        self._begin()
        self._views.add(at_least)

    def add_page(self, page: PageRequest) -> bool:
        """False if the same page is asked for already."""
        if page in self._pages:
            return False
        self._begin()
        self._pages[page] = None
        return True

    def forget(self, page: PageRequest) -> None:
        self._pages.pop(page, None)

    def asked(self, now: float, again: float) -> None:
        """Something was asked. Others that wait since before are not put off by it."""
        self._due = now + again if self.repeat_at is None else self._due

    def pause(self) -> None:
        self._due = None

    def _begin(self) -> None:
        if not len(self):
            self._due = None

    @property
    def is_waiting_for_view(self) -> bool:
        return bool(self._views)

    @property
    def is_waiting_for_views(self) -> bool:
        """Of one view, or of every one."""
        return self.is_waiting_for_view or any(isinstance(page, ViewsAfter) for page in self._pages)

    def is_waiting_for(self, turn: int) -> bool:
        return turn in self._turns

    def settled(self, turn: int) -> bool:
        """False if nobody asked."""
        self._given_up.discard(turn)
        if turn not in self._turns:
            return False
        self._turns.remove(turn)
        return True

    def give_up(self, turn: int) -> None:
        """Nobody waits for this turn to settle any more."""
        if turn in self._turns:
            self._turns.remove(turn)
            self._given_up.add(turn)

    def has_given_up(self, turn: int) -> bool:
        return turn in self._given_up

    def forget_given_up(self) -> None:
        """On another connection, the store knows nothing of them."""
        self._given_up.clear()

    def viewed(self, turn: int) -> bool:
        """False if nobody asked. An older view than asked for is shown, and still waited for."""
        if not self._views:
            return False
        self._views = {wanted for wanted in self._views if wanted > turn}
        return True

    def answered_by(self, page: Page) -> list[PageRequest]:
        """The requests that this page answers."""
        answered = [request for request in self._pages if _is_answer(page, request)]
        for request in answered:
            del self._pages[request]
        return answered

    def drop_pages(self, other_than: bytes | None) -> list[PageRequest]:
        """Pages whose place is of another timeline than this one; all of them if there is none."""
        dropped = [p for p in self._pages if other_than is None or p.timeline not in (None, other_than)]
        for page in dropped:
            del self._pages[page]
        return dropped

    def drop_turns(self) -> list[int]:
        """The turns of one timeline mean nothing in another: no settle request stays, and any view will do."""
        dropped = sorted(self._turns)
        self._turns.clear()
        self._views = {0} if self._views else set()
        return dropped


def _is_answer(page: Page, request: PageRequest) -> bool:
    match request, page:
        case OutputsAfter(turn, ordinal, _, waits), OutputPage(_, after, lost, outputs):
            return after == (turn, ordinal) and not (waits and not outputs and lost is None)
        case ViewsAfter(turn), ViewPage(_, after):
            return after == turn
    return False
