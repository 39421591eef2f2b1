"""Whether one user alone, and root, determines what is found at the path of a folder of sockets.

Every folder from the root down must belong to the user or to root, and be writable by nobody else, unless it is sticky as
`/tmp` is: there, others cannot touch what is ours. A symbolic link is followed if it lies where only the two can make one. Once
such a path is trusted it stays so, since nobody else can change what was looked at. A name that is missing is another matter,
because anybody may make it next.
"""

from __future__ import annotations

import os
import stat

from .errors import EndpointError

_LINKS = 40


def is_trusted(folder: str) -> bool:
    try:
        return check(folder)
    except EndpointError:
        return False


def check(folder: str) -> bool:
    """False if the folder is missing. Raises `EndpointError` if another user could listen there."""
    user = os.geteuid()
    trail: list[tuple[str, os.stat_result]] = []
    rest = folder.split("/")[::-1]
    path, links = "/", 0
    while True:
        try:
            facts = os.lstat(path)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise EndpointError(f"{path} cannot be looked at: {error.strerror}") from None
        if facts.st_uid not in (user, 0):
            raise EndpointError(f"{path} belongs to another user ({facts.st_uid}), who could answer in the place of a store")
        if stat.S_ISLNK(facts.st_mode):
            links += 1
            if links > _LINKS or _others_write(trail[-1][1]):
                raise EndpointError(f"{path} is a symbolic link in a folder where others can write, or one of too many")
            target = os.readlink(path)
            rest += target.split("/")[::-1]
            if target.startswith("/"):
                del trail[1:]
        elif stat.S_ISDIR(facts.st_mode):
            is_ours = facts.st_uid == user and not rest
            if _others_write(facts) and not facts.st_mode & stat.S_ISVTX and not is_ours:
                raise EndpointError(f"{path} can be changed by others (mode {stat.S_IMODE(facts.st_mode):o})")
            trail.append((path, facts))
        else:
            raise EndpointError(f"{path} is no folder")
        following = _next(rest, trail)
        if following is None:
            break
        path = following
    path, facts = trail[-1]
    if facts.st_uid != user or _others_write(facts):
        raise EndpointError(f"{path} is not this user's alone: protect it with chmod 700, or name another endpoint")
    return True


def _others_write(facts: os.stat_result) -> bool:
    return bool(facts.st_mode & 0o022)


def _next(rest: list[str], trail: list[tuple[str, os.stat_result]]) -> str | None:
    """The next path to look at; `rest` has the names that are left, the first one last."""
    while rest:
        match rest.pop():
            case "" | ".":
                pass
            case "..":
                del trail[max(1, len(trail) - 1) :]
            case name:
                return os.path.join(trail[-1][0], name)
    return None
