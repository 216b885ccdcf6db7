"""The door: coming in by a link, and leaving."""

import re
from typing import Final, NamedTuple
from urllib.parse import parse_qs

from keisei.console.guard_config import GuardConfig
from keisei.console.guard_head import Head
from keisei.console.guard_refusal import LINK, Answer, Refusal, page
from keisei.console.guard_who import Doorkeeper
from keisei.console.link import redeem
from keisei.console.session import leave, new_session, set_cookie, signed
from keisei.console.visitor import Visitor

ON: Final = '<meta http-equiv="refresh" content="0; url={}">'
"""A redirect would lose the cookie where the link stands on another site: to the browser that site would still ask."""
QUIET: Final = {"referrer-policy": "no-referrer"}
PLACE: Final = re.compile(r"/[a-z-]{0,32}")
"""Where a link may lead: a page of ours by its plain name, and never another site."""


class Entry(NamedTuple):
    """What a link says."""

    key: str
    place: str


def check_enter(head: Head) -> Entry:
    """What a link says. Raises Refusal where nobody follows one: who only looks at a link should not use it up."""
    if head.method != "GET":
        raise Refusal(405, "a link is followed by GET", headers={"allow": "GET"})
    ahead = [value for name, value in head.headers if name in (b"sec-purpose", b"purpose", b"x-moz")]
    if any(b"prefetch" in value.lower() for value in ahead):
        raise Refusal(503, "a link is not followed ahead of time")
    if head.one(b"sec-fetch-dest") not in (None, b"document"):
        raise Refusal(403, "a link is followed by a person", what="origin")
    try:
        said = parse_qs(head.query.decode("ascii"), max_num_fields=8)
    except ValueError:
        said = {}
    keys, places = said.get("key", []), said.get("to", ["/"])
    is_ours = len(places) == 1 and PLACE.fullmatch(places[0]) is not None
    return Entry(keys[0] if len(keys) == 1 else "", places[0] if is_ours else "/")


def enter(config: GuardConfig, keeper: Doorkeeper, told: Entry) -> Answer:
    """Let somebody in, once. Raises Refusal for a link that is over. Does file work: call it in a thread."""
    keys, now = keeper.ring.keys(), config.now()
    role = redeem(keeper.ring.folder, keys, told.key, now=now) if keys is not None else None
    if keys is None or role is None:
        raise Refusal(410, "this link was used before, or is over", hint=LINK, what="link", headers=QUIET)
    text = signed(new_session(role, now), keys.key)
    headers = {**QUIET, "set-cookie": set_cookie(keeper.cookie, text, is_tls=config.address.is_tls)}
    return page(200, "Welcome", f"You are in as {role}.", headers=headers, more=ON.format(told.place))


def go(config: GuardConfig, keeper: Doorkeeper, visitor: Visitor) -> Answer:
    """End a session. Raises Refusal without one, OperatorError, WorldFault. Does file work as above."""
    if visitor.session is None:
        raise Refusal(403, "a token has no session that could end", hint="`keisei console rotate` ends tokens")
    leave(keeper.ring.folder, visitor.session, config.now())
    headers = {"set-cookie": set_cookie(keeper.cookie, "", is_tls=config.address.is_tls, seconds=0)}
    return page(200, "You have left", "The session is over.", hint=LINK, headers=headers)
