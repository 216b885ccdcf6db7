"""Verdict: a review ends in one word of a list, and the reason for it."""

from keisei.records.verification import Difference, Planned, Reply, Said
from keisei.rules.output import short
from keisei.rules.predicate.port import Forks
from keisei.rules.predicate.report import reply, unreported, words
from keisei.rules.report import is_nothing, spoken


def verdict(planned: Planned, said: Said, _difference: Difference, _forks: Forks) -> Reply:
    """`verdict` is one of the values, as a whole word, and `verdict-reason` gives a reason."""
    values = words(planned, "values")
    if not values:
        return Reply(status="error", told=("values is no list of verdicts",))
    report = spoken(said)
    if report is None:
        return unreported()
    faults = [fault for name in ("verdict", "verdict-reason") if (fault := report.fault(name)) is not None]
    word, reason = report.value("verdict"), report.value("verdict-reason")
    if word is not None and word not in values:
        faults.append(f"verdict is `{short(word, 60)}`, which is none of {', '.join(values)}")
    if reason is not None and is_nothing(reason):
        faults.append(f"verdict-reason is `{short(reason, 60)}`, which is no reason")
    return reply(faults)
