"""Answers: how a call that went wrong is told, in one place and in one tone."""

import signal
from typing import Final

from keisei.records.atom_spec import AtomSpec
from keisei.records.error import KeiseiError
from keisei.records.invocation import Answer, InvocationError
from keisei.records.launch import Exit
from keisei.rules.invocation import CANCELED, EXIT, Kind

LONGEST: Final = 32_768
"""Characters of a message: more than will be kept of it once the secrets in it are taken out."""


def failure(
    kind: Kind, message: str, said: str = "", *, code: str | None = None, exit_code: int | None = None
) -> Answer:
    """An answer that says why nothing came out."""
    text = cut(message).encode("utf-8", "replace").decode("utf-8")  # a path may hold what is no text
    error = InvocationError(kind=kind, code=code, message=text)
    return Answer(error=error, exit_code=EXIT[kind] if exit_code is None else exit_code, said=said)


def cut(text: str, longest: int = LONGEST) -> str:
    """A text of some length; where something is left out, that is marked, so that no half of a secret is missed."""
    return text if len(text) <= longest else f"{text[:longest]}…"


def usage(message: str) -> Answer:
    """It was called in a way it cannot be called."""
    return failure("usage", message)


def unfit(spec: AtomSpec, message: str, said: str) -> Answer:
    """What it wrote is no answer."""
    return failure("schema-out", f"{spec.id}: {message}", said)


def own_error(code: str | None, message: str, said: str) -> Answer:
    """It failed in its own words."""
    return failure("atom", message or code or "it failed and did not say why", said, code=code)


def unloaded(spec: AtomSpec, message: str, said: str) -> Answer:
    """Its function cannot be called at all."""
    return failure("io", f"the function of {spec.id} cannot be loaded: {message}", said)


def of_loading(spec: AtomSpec, told: Answer | None, load_s: float) -> Answer | None:
    """What ended a worker before its function was loaded: the time it takes is another one then."""
    if told is None or not is_late(told):
        return told
    return failure("timeout", f"the function of {spec.id} was not loaded within {load_s:g} s", told.said)


def unstarted(spec: AtomSpec, error: KeiseiError) -> Answer:
    """No process could be started for it."""
    return failure("io", f"{spec.id} cannot be started: {error.message}")


def late(spec: AtomSpec, timeout_s: float, said: str) -> Answer:
    """It did not finish in time, and was ended."""
    return failure("timeout", f"{spec.id} did not finish within {timeout_s:g} s and was ended", said)


def is_late(told: Answer | None) -> bool:
    """Whether its time was up."""
    return told is not None and told.error is not None and told.error.kind == "timeout"


def flooded(spec: AtomSpec, cap: int, said: str) -> Answer:
    """It wrote too much, and was ended."""
    return failure("killed", f"{spec.id} wrote more than {cap} bytes and was ended", said)


def canceled(spec: AtomSpec, said: str = "") -> Answer:
    """Somebody asked for its end."""
    return failure("killed", f"{spec.id} was canceled", said, exit_code=CANCELED)


def is_canceled(told: Answer | None) -> bool:
    """Whether somebody asked for its end."""
    return told is not None and told.exit_code == CANCELED


def gone(spec: AtomSpec, end: Exit, said: str) -> Answer:
    """Its process ended before it answered."""
    if end.signal is not None:
        return failure("killed", f"{spec.id} was ended by {signal_name(end.signal)} before it answered", said)
    code = "an unknown exit code" if end.code is None else f"exit code {end.code}"
    return failure("killed", f"the process of {spec.id} ended with {code} before it answered", said)


def unbegun(spec: AtomSpec) -> Answer:
    """One worker after the other ended before it began."""
    return failure("killed", f"the workers of {spec.id} end before they begin with a call")


def lied(spec: AtomSpec, said: str) -> Answer:
    """Something came from its worker that no worker says."""
    return failure("killed", f"{spec.id} wrote into the talk with its worker and was ended", said)


def signal_name(number: int) -> str:
    """`SIGSEGV`, or the number where it has no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
