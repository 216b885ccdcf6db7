"""Whether attestations hold: each statement is said again from rows and files, and compared claim by claim. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from keisei.rules.attestation import PROVENANCE, SVR, TEST_RESULT, Json, statements
from keisei.rules.attestation_fact import Facts, Source
from keisei.rules.bundle_hash import bundle_hash
from keisei.rules.canonical import canonical
from keisei.rules.dsse import IN_TOTO, parse_envelope, signers_of
from keisei.rules.note import VerifierKey

SHORT: Final = {SVR: "verification", TEST_RESULT: "test result", PROVENANCE: "provenance"}
"""What the statements are called where one does not hold."""
MOST: Final = 100
"""Claims that are told; whoever changes more has changed everything."""
LONGEST: Final = 120
NOTHING: Final = object()
"""What stands where a claim is missing; a null is a claim."""


class Opened(NamedTuple):
    """What a file of envelopes says, whoever has signed it."""

    statements: list[Json]
    """Those that can be read, in order."""
    faults: list[str]
    """What does not hold of the envelopes themselves."""


def opened(lines: Iterable[bytes], keys: Sequence[VerifierKey]) -> Opened:
    """The statements in signed envelopes, one a line. A statement that none of the keys has signed is a fault."""
    found, faults = [], []
    for number, line in enumerate(lines, start=1):
        try:
            envelope = parse_envelope(line)
            told = _statement(envelope.payload) if envelope.payload_type == IN_TOTO else None
        except ValueError as error:
            faults.append(f"line {number}: {error}")
            continue
        if told is None:
            faults.append(f"line {number}: it is no in-toto statement")
            continue
        if not signers_of(envelope, keys):
            faults.append(
                f"{name_of(told)}: it is not signed by {' or '.join(each.name for each in keys) or 'anybody'}"
            )
        found.append(told)
    return Opened(found, faults)


def _statement(payload: bytes) -> Json | None:
    try:
        told = msgspec.json.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError("the payload is no JSON") from error
    if canonical(told) != payload:
        raise ValueError("the payload is not canonical JSON: it could be read in two ways")
    return told if isinstance(told, dict) else None


def name_of(told: Json) -> str:
    """What a statement is called."""
    kind = told.get("predicateType")
    return SHORT.get(kind, "a statement of an unknown kind") if isinstance(kind, str) else "a statement of no kind"


def unheld(told: Sequence[Json], source: Source) -> list[str]:
    """Every claim that rows and files do not bear out; empty where all hold. Raises ValueError as `statements`."""
    given = statements(source)
    faults = list(contradictions(Facts(source)))
    kinds = [each.get("predicateType") for each in told]
    for rebuilt in given:
        kind = rebuilt["predicateType"]
        mine = [each for each in told if each.get("predicateType") == kind]
        if not mine:
            faults.append(f"{SHORT[kind]}: the statement is missing")
        for each in mine:
            faults += [f"{SHORT[kind]}: {line}" for line in differences(each, rebuilt)]
    known = [each["predicateType"] for each in given]
    for each in told:
        if each.get("predicateType") not in known:
            faults.append(f"{name_of(each)}: nothing bears this statement out")
    faults += [f"{SHORT[each]}: it is said {kinds.count(each)} times" for each in known if kinds.count(each) > 1]
    return faults[:MOST]


def contradictions(facts: Facts) -> Iterator[str]:
    """Where rows and files say different things."""
    bundle, forked = facts.bundle, facts.forked
    told = facts.settled.body.get("findings")
    known = told if isinstance(told, list) else []
    listed = [(each.get("capability"), each.get("status")) for each in known if isinstance(each, dict)]
    heard = [(each.capability, each.status) for each in facts.first]
    if facts.findings_name in facts.evidence and listed != heard:
        yield f"row {facts.settled.seq} has other findings than `{facts.findings_name}`"
    if bundle.get("attempt_id") != facts.attempt_id:
        yield "`bundle.json` is that of another attempt"
    prompt = facts.evidence.get("prompt.md")
    if prompt is not None and prompt != bundle["prompt"]["sha256"]:
        yield "`prompt.md` is not the prompt that the bundle names"
    if forked is not None:
        if forked.body.get("bundle_hash", found := bundle_hash(bundle)) != found:
            yield f"row {forked.seq} has another bundle_hash than `bundle.json`"
        base = bundle["workspace"]["commit"] if bundle["workspace"] else None
        if forked.body.get("base", base) != base:
            yield f"row {forked.seq} has another base than `bundle.json`"
        spec = facts.evidence.get("task.json")
        if forked.body.get("spec_sha256", spec) != spec:
            yield f"row {forked.seq} has another spec_sha256 than `task.json`"


def differences(told: Any, given: Any, path: str = "") -> Iterator[str]:  # noqa: ANN401 - JSON beside JSON
    """Where two values differ, each as a path with what is said and what rows and files give."""
    if isinstance(told, dict) and isinstance(given, dict):
        for key in dict.fromkeys((*given, *told)):
            here = f"{path}.{key}" if path else str(key)
            yield from differences(told.get(key, NOTHING), given.get(key, NOTHING), here)
    elif isinstance(told, list) and isinstance(given, list):
        for index in range(max(len(told), len(given))):
            one = told[index] if index < len(told) else NOTHING
            other = given[index] if index < len(given) else NOTHING
            yield from differences(one, other, f"{path}[{index}]")
    elif told != given or type(told) is not type(given):
        yield f"{_shown(path)}: it says {_value(told)}, the ledger and the evidence give {_value(given)}"


def _value(value: Any) -> str:  # noqa: ANN401 - as above
    if value is NOTHING:
        return "nothing"
    return _shown(value if isinstance(value, str) else msgspec.json.encode(value).decode("utf-8", "replace"))


def _shown(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
