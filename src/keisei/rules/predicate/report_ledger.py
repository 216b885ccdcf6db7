"""Ledger row: the ledger holds the spawn's row, and the report brings the sentence for it."""

import re
from collections.abc import Iterator
from typing import Final

from keisei.records.verification import Difference, Planned, Reply, Said
from keisei.rules.predicate.port import Forks
from keisei.rules.predicate.report import reply, unreported
from keisei.rules.report import is_nothing, spoken

FIELD: Final = "ledger-row"
LONGEST: Final = 200
"""Characters of the sentence."""
SECOND: Final = re.compile(r"(\S*)[.!?][\"')\]]? +[A-Z]")
"""The end of a sentence with another one behind it."""
SHORTENED: Final = frozenset({"e.g", "i.e", "vs", "cf", "etc", "approx", "no", "nr", "incl", "resp", "dr", "mr", "ms"})
"""Words that end with a full stop and no sentence."""


def ledger_row(_planned: Planned, said: Said, _difference: Difference, forks: Forks) -> Reply:
    """`ledger-row` is one plain sentence of at most 200 characters. A missing row is the runtime's fault: an error."""
    report = spoken(said)
    if report is None:
        return unreported()
    fault = report.fault(FIELD)
    faults = [fault] if fault is not None else list(_faults(report.value(FIELD) or ""))
    if not faults and not forks.has_row():
        return Reply(status="error", told=("the ledger holds no row of this spawn",))
    return reply(faults)


def _faults(sentence: str) -> Iterator[str]:
    if is_nothing(sentence) or " " not in sentence:
        yield f"{FIELD} is no sentence"
    if not sentence.isprintable():
        yield f"{FIELD} holds characters that cannot be printed"
    if len(sentence) > LONGEST:
        yield f"{FIELD} has {len(sentence)} characters, {LONGEST} are allowed"
    elif any(found[1].lower().lstrip("(") not in SHORTENED for found in SECOND.finditer(sentence)):
        yield f"{FIELD} is more than one sentence"
