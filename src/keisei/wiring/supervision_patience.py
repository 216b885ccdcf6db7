"""Patience: what follows when a part has ended by itself. Values in, values out."""

from typing import Final, NamedTuple

MENDABLE: Final = (1, 2, 127)
"""Exit codes that say: yours to fix, refused, a program is missing."""


class Patience(NamedTuple):
    """How long parts are waited for, in seconds."""

    first_s: float = 1.0
    """The wait after the first death; it doubles with each."""
    cap_s: float = 60.0
    """The longest wait; also the one of a part that says why it cannot start, because somebody has to mend that."""
    healthy_s: float = 60.0
    """A part that has lived so long is well: what was before is forgotten."""
    deaths: int = 5
    """So many deaths ..."""
    within_s: float = 60.0
    """... within this time, and a part is left alone."""
    grace_s: float = 10.0
    """How long a part that has nothing to finish may take to stop."""


class Death(NamedTuple):
    """How a part has ended."""

    at: float
    lasted_s: float
    code: int
    """The exit code; a signal as a negative number."""
    words: tuple[str, ...]
    """The last it has said on stderr."""


class Past(NamedTuple):
    """What is remembered of a part's deaths."""

    wait_s: float = 0.0
    """The last wait."""
    deaths: tuple[float, ...] = ()
    """When it has died, the newest last; never more than are counted."""


class Next(NamedTuple):
    """What is to be done about a death."""

    past: Past
    wait_s: float | None
    """When to start it again; None: it is left alone."""
    told: bool = False
    """It has said itself what is to be mended."""


def after(past: Past, death: Death, patience: Patience) -> Next:
    """What follows a death: a wait that grows, none for one that dies again and again."""
    if death.lasted_s >= patience.healthy_s:
        past = Past()
    elif death.code in MENDABLE and any(map(_complains, death.words)):
        return Next(past, patience.cap_s, told=True)
    deaths = (*past.deaths, death.at)[-patience.deaths :]
    wait_s = min(patience.cap_s, past.wait_s * 2 or patience.first_s)
    if len(deaths) == patience.deaths and death.at - deaths[0] <= patience.within_s:
        return Next(Past(wait_s, deaths), None)
    return Next(Past(wait_s, deaths), wait_s)


def _complains(line: str) -> bool:
    """Whether a line is an error as our doors tell it: of an operator, of usage, of a file."""
    return line.lower().startswith("error:") or ": error[" in line


def ending(code: int) -> str:
    """An exit code in words."""
    return f"exit code {code}" if code >= 0 else f"signal {-code}"
