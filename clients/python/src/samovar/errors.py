"""What can go wrong, as types. Each text is a sentence for a person, without payloads and without keys."""

from __future__ import annotations

from enum import IntEnum

from .places import OutputPlace


class SamovarError(Exception):
    """The base of all errors of this package."""


class EndpointError(SamovarError):
    """A text that is no endpoint, or a place that is not trusted."""


class KeyFileError(SamovarError):
    """A key file that is missing, not protected, or not well formed."""


class OutboxError(SamovarError):
    """An outbox that cannot be used."""


class ErrorCode(IntEnum):
    """The codes of ERROR: docs/protocol.md, section 4."""

    SCHEMA = 1
    MISUSE = 2
    UNKNOWN_PEER = 3
    SESSION_EXPIRED = 4
    RETRY_LATER = 5
    RESYNC = 6
    SUPERSEDED = 7
    FORBIDDEN = 8
    KEY_REFUSED = 9


class PeerRefused(SamovarError):
    """The store will not have this peer, for good: to come back would change nothing."""

    def __init__(self, code: ErrorCode, text: str) -> None:
        super().__init__(f"the store refuses: {text} ({code.name.lower()})")
        self.code = code
        self.text = text


class ClientClosed(SamovarError):
    """The client has ended, or was not entered yet."""


class Unsettled(SamovarError):
    """Nobody can tell any more whether the effects of a turn have ended."""


class OutputGap(SamovarError):
    """Outputs between two places cannot be had; another `outputs(after=error.next)` goes on behind them."""

    def __init__(self, text: str, next: OutputPlace) -> None:
        super().__init__(text)
        self.next = next


class ViewGap(SamovarError):
    """Views between those that were read and those that come are not kept; another `views` begins with the current one."""


class StreamError(SamovarError):
    """A message that was not streamed: it is too large, or its handler has returned."""


class NoStore(SamovarError):
    """No store has answered an operator's request in time; and why, if more is known."""


class RequestRefused(SamovarError):
    """The store will not do what an operator asks, and says why."""


class Permanent(Exception):
    """Raised by a handler: another attempt would fail alike, so there is none."""


class Unhandled(Permanent):
    """Raised by a handler for an effect that it does not know. There is no other attempt."""
