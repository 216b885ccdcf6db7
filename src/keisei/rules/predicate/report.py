"""Report fields: every field the task asks for is there and says something, and the files are the real ones."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from keisei.records.verification import Difference, Planned, Reply, Said
from keisei.rules.output import short
from keisei.rules.predicate.port import Forks
from keisei.rules.report import Listed, Report, listed, spoken

TOUCHED: Final = "files-touched"


def fields(planned: Planned, said: Said, difference: Difference, _forks: Forks) -> Reply:
    """Every required field is there, once or twice the same, and not empty; `files-touched` is the candidate's diff."""
    required = words(planned, "report-fields-required")
    if required is None:
        return Reply(status="error", told=("report-fields-required is no list of field names",))
    report = spoken(said)
    if report is None:
        return unreported()
    faults = [fault for name in required if (fault := report.fault(name)) is not None]
    return reply([*faults, *_touched(report, difference)])


def _touched(report: Report, difference: Difference) -> Iterator[str]:
    """What `files-touched` says wrongly, wherever it is there: nobody has to ask for it to have it compared."""
    value = report.value(TOUCHED)
    if value is not None:
        real = [change.path for change in difference.candidate]
        yield from differing(listed(value, real), TOUCHED, "is changed", "is not changed")


def differing(compared: Listed, field: str, real: str, unreal: str) -> Iterator[str]:
    """One sentence for every path that a list leaves out or makes up."""
    yield from (f"{field} leaves out {short(path, 120)}, which {real}" for path in compared.missing)
    yield from (f"{field} names {short(path, 120)}, which {unreal}" for path in compared.invented)


def unreported() -> Reply:
    """There is no report at all."""
    return Reply(status="violated", told=("the last message has no closed fenced block with the info string `report`",))


def reply(faults: Sequence[str]) -> Reply:
    """Violated by any fault; held without one."""
    return Reply(status="violated" if faults else "held", told=tuple(short(fault) for fault in faults))


def words(planned: Planned, name: str) -> tuple[str, ...] | None:
    """A parameter that is a list of words; None where it is anything else."""
    value: Any = planned.parameters.get(name, [])
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) and each for each in value):
        return None
    return tuple(value)
