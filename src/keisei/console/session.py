"""Sessions: a signed cookie that says who somebody is, and the token that their forms carry.

A cookie holds everything, so sessions outlive the console; only those ended before their time are remembered, in files.
"""

import hashlib
import hmac
import os
import re
import secrets
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from keisei.console.key import LEFT, own_folder
from keisei.console.visitor import Role, Visitor
from keisei.records.error import WorldFault

LENGTH_S: Final = 12 * 3600
COOKIE: Final = re.compile(r"1\.(operator|viewer)\.([A-Za-z0-9_-]{22})\.([0-9]{1,12})\.([0-9a-f]{64})")


class Session(Struct, frozen=True, kw_only=True):
    """Somebody who came by a link."""

    role: Role
    """As what."""
    id: str
    """Its own; no secret, for nobody can sign it."""
    expires_at: int
    """Seconds since 1970."""


def new_session(role: Role, now: float) -> Session:
    """A session that begins."""
    return Session(role=role, id=secrets.token_urlsafe(16), expires_at=int(now) + LENGTH_S)


def signed(session: Session, key: bytes) -> str:
    """The session as a cookie says it."""
    told = f"1.{session.role}.{session.id}.{session.expires_at}"
    return f"{told}.{_mac(key, 'session', told)}"


def forged(text: str, key: bytes) -> bool:
    """Whether a cookie was never signed here. Takes as long for a near miss as for any other."""
    found = COOKIE.fullmatch(text)
    told, _, mac = text.rpartition(".")
    right = _mac(key, "session", told if found else "")
    return not hmac.compare_digest(right, mac if found else "0" * 64)


def opened(text: str, key: bytes, now: float) -> Session | None:
    """The session that a cookie says; None for one that was not signed here, or is over. Falls closed."""
    found = COOKIE.fullmatch(text)
    if found is None or forged(text, key):
        return None
    role: Role = "operator" if found[1] == "operator" else "viewer"
    session = Session(role=role, id=found[2], expires_at=int(found[3]))
    return session if now < session.expires_at else None


def csrf_of(session: Session, key: bytes) -> str:
    """What the forms of a session carry."""
    return _mac(key, "csrf", f"{session.id}.{session.expires_at}")


def right_csrf(visitor: Visitor, text: str) -> bool:
    """Whether a form is one of this visitor's. Takes as long for a near miss as for any other.

    Whoever says a token needs none: no browser says one by itself.
    """
    if visitor.session is None:
        return True
    return bool(visitor.csrf) and hmac.compare_digest(visitor.csrf.encode(), text.encode("utf-8", "backslashreplace"))


def _mac(key: bytes, purpose: str, told: str) -> str:
    return hmac.new(key, f"{purpose}:{told}".encode(), hashlib.sha256).hexdigest()


# --- the cookie -------------------------------------------------------------------------------------------------------


def cookie_name(folder: Path, *, is_tls: bool) -> str:
    """A name of this project's own: cookies know no ports, and consoles of several projects share a machine.

    With TLS the prefix has the browser refuse it from anybody but this very host.
    """
    mark = hashlib.sha256(os.fsencode(os.path.realpath(folder))).hexdigest()[:12]
    return f"{'__Host-' if is_tls else ''}keisei-{mark}"


def set_cookie(name: str, text: str, *, is_tls: bool, seconds: int = LENGTH_S) -> str:
    """The header that gives a cookie; without text and seconds, the one that takes it away."""
    return f"{name}={text}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{'; Secure' if is_tls else ''}"


def cookies_of(header: str, name: str) -> list[str]:
    """Every value that a request has for a cookie. A neighbour on this machine may have added one."""
    pairs = (part.strip().partition("=") for part in header.split(";"))
    return [value for key, _, value in pairs if key == name]


# --- sessions that were ended -----------------------------------------------------------------------------------------


def leave(folder: Path, session_id: str, now: float | None = None) -> None:
    """End a session for good. `folder` is the console's. Raises OperatorError, WorldFault: it goes on then."""
    place = own_folder(folder / LEFT)
    moment = time.time() if now is None else now
    try:
        with suppress(FileExistsError):
            os.close(os.open(place / session_id, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            os.utime(place / session_id, (moment, moment))  # swept by the clock that sessions end by
        for each in os.scandir(place):
            if each.stat(follow_symlinks=False).st_mtime < moment - 2 * LENGTH_S:
                Path(each.path).unlink(missing_ok=True)
    except FileNotFoundError:  # somebody else swept, or made all keys anew: then it is over too
        return
    except OSError as error:
        raise WorldFault(f"the session cannot be ended: {(error.strerror or '').lower()}", retryable=True) from error


def has_left(folder: Path, session_id: str) -> bool:
    """Whether a session was ended."""
    return os.path.lexists(folder / LEFT / session_id)
