"""Workers, clients and operators of Samovar stores, for asyncio. See README.md, and docs/protocol.md for what goes over the
wire.
"""

from .client import Client
from .endpoints import Endpoint
from .errors import (
    ClientClosed,
    EndpointError,
    ErrorCode,
    KeyFileError,
    NoStore,
    OutboxError,
    OutputGap,
    PeerRefused,
    Permanent,
    RequestRefused,
    SamovarError,
    StreamError,
    Unhandled,
    Unsettled,
    ViewGap,
)
from .job import Job, Resume
from .operator import Operator
from .places import OutputPlace
from .receipts import Applied, Output, Receipt, Refused, Rejected, Unknown, View
from .worker import Worker

__all__ = [
    "Applied",
    "Client",
    "ClientClosed",
    "Endpoint",
    "EndpointError",
    "ErrorCode",
    "Job",
    "KeyFileError",
    "NoStore",
    "Operator",
    "OutboxError",
    "Output",
    "OutputGap",
    "OutputPlace",
    "PeerRefused",
    "Permanent",
    "Receipt",
    "Refused",
    "Rejected",
    "RequestRefused",
    "Resume",
    "SamovarError",
    "StreamError",
    "Unhandled",
    "Unknown",
    "Unsettled",
    "View",
    "ViewGap",
    "Worker",
]
