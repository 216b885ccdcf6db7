"""Who: the visitor that a request's token or cookie stands for."""

import hmac
from typing import Final

from keisei.console.guard_config import GuardConfig
from keisei.console.guard_head import Head
from keisei.console.guard_refusal import unknown
from keisei.console.key import Keys, Ring
from keisei.console.session import cookie_name, cookies_of, csrf_of, forged, has_left, opened
from keisei.console.visitor import Role, Visitor

LONGEST: Final = 4096
"""Bytes of a token or of all cookies that are looked at."""


class Doorkeeper:
    """Knows visitors."""

    def __init__(self, config: GuardConfig) -> None:
        """Raises OperatorError where the keys can neither be read nor made."""
        self._config = config
        self.ring = Ring(config.home_folder)
        self.cookie = cookie_name(config.home_folder, is_tls=config.address.is_tls)

    def visitor(self, head: Head) -> Visitor:
        """Whoever asks. Raises Refusal for nobody we know: a wrong token is not made good by a cookie."""
        keys = self.ring.keys()
        if keys is None:
            raise unknown("the console's tokens cannot be read")
        told = head.one(b"authorization")
        return self._by_token(told, keys) if told is not None else self._by_cookie(head, keys)

    def _by_token(self, told: bytes, keys: Keys) -> Visitor:
        scheme, _, said = told[:LONGEST].partition(b" ")
        # both are compared, so that the time tells nothing of which it was
        is_operator = hmac.compare_digest(said.strip(), keys.operator.encode())
        is_viewer = hmac.compare_digest(said.strip(), keys.viewer.encode())
        if scheme.lower() != b"bearer" or not (is_operator or is_viewer):
            raise unknown("the token is wrong", "token")
        return self._made("operator" if is_operator else "viewer", "", None)

    def _by_cookie(self, head: Head, keys: Keys) -> Visitor:
        header = b"; ".join(value for name, value in head.headers if name == b"cookie")
        found = cookies_of(header.decode("latin-1"), self.cookie) if len(header) <= LONGEST * 4 else []
        if not found:
            raise unknown("a token or a session is needed here")
        ours = [text for text in found if not forged(text, keys.key)]  # a neighbour on this machine may add its own
        if len(ours) != 1:
            raise unknown("the session is not one of this console", "cookie")
        session = opened(ours[0], keys.key, self._config.now())
        if session is None or has_left(self.ring.folder, session.id):
            raise unknown("the session is over")
        return self._made(session.role, csrf_of(session, keys.key), session.id)

    def _made(self, role: Role, csrf: str, session: str | None) -> Visitor:
        name = self._config.account if role == "operator" else f"viewer of {self._config.account}"
        return Visitor(role=role, actor=f"{name} via console", csrf=csrf, session=session)
