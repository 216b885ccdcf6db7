"""A plan in words: every decision about a step, a sentence each."""

from collections.abc import Iterator, Mapping, Sequence

from keisei.records.atom import AtomManifest
from keisei.records.pipe import PipeStep
from keisei.records.pipe_plan import RetryRule
from keisei.rules.atom_effect import EXCLUSIVE, may_cache, may_retry
from keisei.rules.pipe_order import Wait, bits

FEW = 6
"""Names that one sentence lists."""
TRIES, BACKOFF_MS = 2, 200


def names(positions: Sequence[int], count: int, quoted: Sequence[str]) -> str:
    """Some steps by their names in quotes, and how many more there are."""
    told = ", ".join([quoted[position] for position in positions[:FEW]])
    return f"{told} and {count - FEW} more" if count > FEW else told


def beside_words(beside: int, quoted: Sequence[str]) -> str:
    """What may run at the same time; `beside` has a bit for each."""
    count = beside.bit_count()
    return f"may run beside: {names(bits(beside, FEW), count, quoted)}" if count else "runs beside nothing"


def wait_words(wait: Wait, manifests: Mapping[int, AtomManifest], quoted: Sequence[str]) -> str:
    """Why one step waits for another."""
    return f"waits for {quoted[wait.earlier]}, {meeting(wait, manifests)}; the file gives the order"


def meeting(wait: Wait, manifests: Mapping[int, AtomManifest]) -> str:
    """How the effects of two steps meet: `both write kei-task-db`."""
    later, earlier = manifests[wait.later], manifests[wait.earlier]
    if wait.domain == EXCLUSIVE and EXCLUSIVE in {
        effect.op for each in (later, earlier) for effect in each.side_effects
    }:
        who = later if any(effect.op == EXCLUSIVE for effect in later.side_effects) else earlier
        return f"nothing runs beside `{who.atom}`: it declares the effect `other`"
    one, other = _verb(later, wait.domain), _verb(earlier, wait.domain)
    return (
        f"both {one} {wait.domain}"
        if one == other
        else f"one {_third(one)} {wait.domain} and the other {_third(other)} it"
    )


def _verb(manifest: AtomManifest, domain: str) -> str:
    ops = [effect.op for effect in manifest.side_effects if effect.domain == domain and effect.op != "read"]
    return (
        {"write": "write", "network": "send to", "subprocess": "run programs on"}.get(ops[0], "touch")
        if ops
        else "read"
    )


def _third(verb: str) -> str:
    first, _, rest = verb.partition(" ")
    return f"{first}s {rest}".rstrip()


def retry_rule(step: PipeStep, manifest: AtomManifest, *, streamed: bool) -> RetryRule:
    """How often a step is tried again; the table only narrows."""
    if not may_retry(manifest):
        return RetryRule(max=0, backoff_ms=0, why=f"never retried: {manifest.atom} is not idempotent")
    if streamed:
        return RetryRule(max=0, backoff_ms=0, why="never retried: its items are taken as they come")
    asked = step.retry
    most = TRIES if asked is None else asked.max
    why = "it is idempotent" if manifest.idempotent else f"a {manifest.kind} changes nothing"
    only = f", on {', '.join(asked.on)}" if asked is not None and asked.on else ""
    told = f"retried up to {most} times{only}: {why}" if most else "never retried: the step says so"
    return RetryRule(
        max=most,
        backoff_ms=BACKOFF_MS if asked is None else asked.backoff_ms,
        on=() if asked is None else asked.on,
        why=told.replace(" 1 times", " once"),
    )


def cache_words(manifest: AtomManifest) -> str:
    """Whether a result is kept."""
    if may_cache(manifest):
        return "cached: a transform"
    return f"not cached: a {manifest.kind}" + (" with effects" if manifest.kind == "transform" else "")


def member_words(step: PipeStep, manifest: AtomManifest, domains: Sequence[str]) -> Iterator[str]:
    """How the members of a fan-out run."""
    if step.for_each is None:
        return
    if domains:
        told = " and ".join(f"{_verb(manifest, domain)} {domain}" for domain in domains)
        why = "nothing runs beside them" if tuple(domains) == (EXCLUSIVE,) else f"they {told}"
        yield f"members run one after another: {why}"
    else:
        yield "members run side by side"
