"""What an atom's declared effects allow: beside what it may run, whether it is tried again, whether a result is kept.

All of it follows from the frontmatter alone. Where kind and effects contradict each other the cautious reading holds.
A `*_words` gives the reason in one sentence, where people are told.
"""

from keisei.records.atom import AtomManifest, SideEffect
from keisei.records.invocation import InvocationError

EXCLUSIVE = "other"
"""The effect that says nothing of itself, so that nothing may run beside it."""
OURS = frozenset({"usage", "schema-in", "schema-out", "refused"})
"""Kinds of errors that the next try would meet again."""
READERS = frozenset({"query", "stream"})
"""Kinds that may be done twice where every effect reads."""
READING = frozenset({"read", "subprocess"})
"""What these kinds may do and still only read: they start a program to read, as git is."""
WAITS = frozenset({408, 425, 429})
"""The 4xx that ask for another try: timeout, too early, too many."""


def conflict(one: AtomManifest, other: AtomManifest) -> tuple[str, ...]:
    """The domains they share so that they must not overlap, sorted; empty: each may run beside the other.

    `("other",)` where one of them has an effect that says nothing of itself. Symmetric; an atom may conflict with
    itself.
    """
    if _is_exclusive(one) or _is_exclusive(other):
        return (EXCLUSIVE,)
    first, second = _domains(one), _domains(other)
    return tuple(sorted(domain for domain in first.keys() & second.keys() if first[domain] or second[domain]))


def domain_root(effect: SideEffect) -> str:
    """What two effects must share to meet: the domain up to its first colon. `fs:{path}` is a part of `fs`.

    Which part is known only when the call is made, so two parts of one domain count as the same.
    """
    return effect.domain.partition(":")[0]


def reads(manifest: AtomManifest, effect: SideEffect) -> bool:
    """Whether this effect of it changes nothing. A program that a query or a stream starts is started to read."""
    return effect.op == "read" or (manifest.kind in READERS and effect.op in READING)


def only_reads(manifest: AtomManifest) -> bool:
    """Whether it changes nothing, as declared: a query, stream or transform whose effects do not contradict that."""
    if manifest.kind == "transform":
        return not manifest.side_effects
    return manifest.kind in READERS and all(reads(manifest, effect) for effect in manifest.side_effects)


def is_safe_again(manifest: AtomManifest) -> bool:
    """Whether doing it twice is doing it once: it says so, or it is a query or a stream that only reads, or pure.

    Being `keyed` is not enough: that holds under one invocation id only.
    """
    return manifest.idempotent or only_reads(manifest)


def is_safe_again_words(manifest: AtomManifest) -> str:
    """Why doing it twice is doing it once, or why not."""
    if manifest.idempotent:
        return f"`{manifest.atom}` may be done twice: it is idempotent"
    if only_reads(manifest):
        return f"`{manifest.atom}` may be done twice: a {_reader(manifest)} changes nothing"
    if manifest.keyed:
        return f"`{manifest.atom}` may be done twice only under the same invocation id: it is keyed, and not idempotent"
    return f"`{manifest.atom}` must not be done twice: it is a {manifest.kind} that is not idempotent"


def may_retry(manifest: AtomManifest) -> bool:
    """Whether it may be tried again by itself after a failure; which failures, `retries` says."""
    return is_safe_again(manifest)


def may_retry_words(manifest: AtomManifest) -> str:
    """Why it is tried again by itself, or why never."""
    if manifest.idempotent:
        return f"`{manifest.atom}` is tried again by itself: it is idempotent"
    if only_reads(manifest):
        return f"`{manifest.atom}` is tried again by itself: a {_reader(manifest)} changes nothing"
    return f"`{manifest.atom}` is never tried again by itself: it is a {manifest.kind} that is not idempotent"


def retries(manifest: AtomManifest, error: InvocationError) -> bool:
    """Whether this failure is worth another try. Cancellation and a missing program show only in the exit code.

    An atom error whose code has no HTTP analog, or is not declared, counts as one that may pass.
    """
    return may_retry(manifest) and error.kind not in OURS and not _is_final(manifest, error)


def may_retry_code(manifest: AtomManifest, code: str) -> bool:
    """Whether a failure with this code of its own is ever tried again by itself."""
    return retries(manifest, InvocationError(kind="atom", code=code, message=code))


def may_cache(manifest: AtomManifest) -> bool:
    """Whether a validated result may be kept and served again: only of a transform, and only of a pure one."""
    return manifest.kind == "transform" and not manifest.side_effects


def may_cache_words(manifest: AtomManifest) -> str:
    """Why its results are kept, or why not."""
    if may_cache(manifest):
        return f"results of `{manifest.atom}` are kept: it is a pure transform"
    if manifest.kind == "transform":
        return f"results of `{manifest.atom}` are not kept: it declares effects, so it is not pure"
    return f"results of `{manifest.atom}` are not kept: a {manifest.kind} is not a transform"


def _is_exclusive(manifest: AtomManifest) -> bool:
    return any(effect.op == EXCLUSIVE for effect in manifest.side_effects)


def _domains(manifest: AtomManifest) -> dict[str, bool]:
    """Every domain, and whether anything but reading is done to it."""
    found: dict[str, bool] = {}
    for effect in manifest.side_effects:
        root = domain_root(effect)
        found[root] = found.get(root, False) or not reads(manifest, effect)
    return found


def _reader(manifest: AtomManifest) -> str:
    """What it is called where it changes nothing: of a stream only its effects say so."""
    return f"{manifest.kind} that only reads" if manifest.kind == "stream" else manifest.kind


def _analogs(manifest: AtomManifest, error: InvocationError) -> set[int]:
    """What the page compares this error with; several where a code is declared twice."""
    if error.kind != "atom" or error.code is None:
        return set()
    return {each.http_analog for each in manifest.errors if each.code == error.code and each.http_analog is not None}


def _is_final(manifest: AtomManifest, error: InvocationError) -> bool:
    return any(400 <= analog < 500 and analog not in WAITS for analog in _analogs(manifest, error))  # noqa: PLR2004
