"""An attempt at the ledger: which agent it is, how much it may write by hand, and the few agents it may know of.

What is read here grows with what happened since the attempt began, and not with the ledger.
"""

from contextlib import suppress
from functools import partial
from typing import Final

from keisei.engine.ports import Store
from keisei.records.error import KeiseiError
from keisei.records.id import AttemptId
from keisei.records.ledger import LedgerEntry
from keisei.records.move import EntryQuery
from keisei.rules.ledger_agent import FORKED, LedgerAgent
from keisei.wiring.agency import Agency
from keisei.wiring.ledger_agents import BY_HAND, PAGE, Speaker, every_agent, may_tell, one_agent
from keisei.wiring.surroundings import surroundings
from keisei.wiring.verb_error import VerbError

MOST: Final = 200
"""Rows that one attempt may write by hand: they stay for ever, and nothing is known to need more."""


def speaker_of(agency: Agency, call: str | None = None) -> Speaker:
    """Who asks. Raises VerbError for an attempt that is over."""
    agency.own_task()
    if agency.caller is None:
        return Speaker(agency.actor, None, call)
    row = own_row(agency.store, agency.caller)
    own, after = (None, 0) if row is None else (row.subject, row.seq)
    room = partial(_check_room, agency.store, agency.actor, after)
    return Speaker(agency.actor, agency.caller, call, _secrets(agency) if call is not None else (), own, room)


def known_agents(agency: Agency) -> dict[str, LedgerAgent]:
    """Agents that whoever asks may know of, by id: inside an attempt its own, and those it forked."""
    speaker = speaker_of(agency)
    if speaker.caller is None:
        return every_agent(agency.store)
    row = own_row(agency.store, speaker.caller)
    if row is None:
        return {}
    found = every_agent(agency.store, row.seq - 1)
    whole = one_agent(agency.store, row.subject)  # with what was recorded in tries before
    found |= {} if whole is None else {row.subject: whole[0]}
    return {name: agent for name, agent in found.items() if may_tell(agent, speaker)}


def own_row(store: Store, caller: AttemptId) -> LedgerEntry | None:
    """The row of the fork that runs as this attempt. It was written after the attempt was claimed."""
    attempt, before = store.attempt(caller), None
    while attempt is not None:
        page = store.find_entries(EntryQuery(kind=FORKED, source="engine", before=before, limit=PAGE))
        for row in page:
            if row.body.get("attempt_id") == caller:
                return row
        if len(page) < PAGE or page[-1].recorded_at < attempt.started_at:
            return None
        before = page[-1].seq
    return None


def _check_room(store: Store, actor: str, after: int) -> None:
    """Raise VerbError where the attempt has written as many rows behind a place as it may."""
    total = 0
    for kind in BY_HAND:
        place = after
        while page := store.entries(place, PAGE, kind):
            total += sum(row.actor == actor for row in page)
            place = page[-1].seq
    if total >= MOST:
        why = f"this attempt has written {total} rows by hand, and no attempt writes more"
        raise VerbError("NotAllowed", why, "record costs together, not one by one")


def _secrets(agency: Agency) -> tuple[str, ...]:
    """What the attempt was given in confidence, as far as it can be read here."""
    attempt = None if agency.caller is None else agency.store.attempt(agency.caller)
    with suppress(KeiseiError):
        if attempt is not None:
            config = agency.office.registry().adapter(attempt.adapter_id)
            return surroundings(config, {}, agency.home.root).secrets
    return ()
