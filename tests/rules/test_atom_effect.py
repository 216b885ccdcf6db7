"""What effects allow: conflicts, retries and the cache, all from the frontmatter."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keisei.records.atom import AtomError, AtomInput, AtomManifest, AtomOutput, SideEffect
from keisei.records.invocation import InvocationError
from keisei.rules import atom_effect as rules

QUICK = settings(max_examples=100, deadline=None, database=None)
KINDS = ("command", "query", "stream", "transform")
OPS = ("read", "write", "network", "subprocess", "other")
EFFECTS = st.builds(SideEffect, op=st.sampled_from(OPS), domain=st.sampled_from(("fs", "db", "net")))


def manifest(kind="command", effects=(), *, idempotent=False, errors=(), keyed=None, name="kei-task::create"):
    return AtomManifest(
        atom=name,
        kind=kind,
        version="1.0.0",
        input=AtomInput(schema="schemas/in.json"),
        output=AtomOutput(schema="schemas/out.json"),
        errors=tuple(AtomError(code=code, http_analog=analog, description="x") for code, analog in errors),
        side_effects=tuple(SideEffect(op=op, domain=domain) for op, domain in effects),
        idempotent=idempotent,
        keyed=keyed,
        stability="stable",
    )


MANIFESTS = st.builds(
    lambda kind, effects, idempotent, keyed: manifest(
        kind, [(effect.op, effect.domain) for effect in effects], idempotent=idempotent, keyed=keyed
    ),
    st.sampled_from(KINDS),
    st.lists(EFFECTS, max_size=4),
    st.booleans(),
    st.sampled_from((None, True, False)),
)


def changes(each, effect):
    """A query and a stream start programs to read."""
    return effect.op not in (("read", "subprocess") if each.kind in {"query", "stream"} else ("read",))


@QUICK
@given(MANIFESTS, MANIFESTS)
def test_conflicts_are_symmetric_and_in_order(one, other):
    domains = rules.conflict(one, other)

    assert domains == rules.conflict(other, one)
    assert list(domains) == sorted(set(domains))


@QUICK
@given(MANIFESTS, MANIFESTS)
def test_atoms_that_only_read_never_conflict_and_a_writer_conflicts_with_its_readers(one, other):
    def touched(each, *, changing):
        return {effect.domain for effect in each.side_effects if not changing or changes(each, effect)}

    domains = set(rules.conflict(one, other))

    if any(effect.op == "other" for each in (one, other) for effect in each.side_effects):
        assert domains == {"other"}
    else:
        shared = touched(one, changing=False) & touched(other, changing=False)
        assert domains == shared & (touched(one, changing=True) | touched(other, changing=True))


def test_an_effect_that_says_nothing_conflicts_with_an_atom_without_effects():
    blind, pure = manifest(effects=[("other", "x")], name="kei-a::run"), manifest("transform")

    assert rules.conflict(blind, pure) == rules.conflict(pure, blind) == ("other",)


@QUICK
@given(MANIFESTS)
def test_what_is_not_idempotent_and_changes_something_is_never_tried_again(each):
    acts = any(changes(each, effect) for effect in each.side_effects)

    if not each.idempotent and (each.kind == "command" or acts):
        assert not rules.may_retry(each)
        assert not rules.is_safe_again(each)
        for kind in ("atom", "io", "timeout", "killed"):
            assert not rules.retries(each, InvocationError(kind=kind, message="x"))
    assert ("never" in rules.may_retry_words(each)) == (not rules.may_retry(each))


@pytest.mark.parametrize("kind", ["query", "stream"])
@pytest.mark.parametrize("effects", [[], [("read", "db")], [("read", "git:{repo}/**"), ("subprocess", "git")]])
def test_a_query_and_a_stream_that_only_read_may_be_done_twice(kind, effects):
    each = manifest(kind, effects)

    assert rules.is_safe_again(each)
    assert rules.may_retry(each)
    assert f"a {kind}" in rules.is_safe_again_words(each)
    assert "changes nothing" in rules.may_retry_words(each)


@pytest.mark.parametrize(
    ("analog", "again"),
    [(400, False), (404, False), (408, True), (409, False), (425, True), (429, True), (499, False), (500, True)],
)
def test_an_error_like_http_4xx_stays_so_except_three(analog, again):
    query = manifest("query", errors=[("Declared", analog), ("Bare", None)])

    assert rules.retries(query, InvocationError(kind="atom", code="Declared", message="x")) is again
    assert rules.may_retry_code(query, "Declared") is again


def test_an_error_without_analog_or_declaration_may_pass():
    query = manifest("query", errors=[("Bare", None)])

    assert rules.retries(query, _atom("Bare"))
    assert rules.retries(query, _atom("Undeclared"))
    assert rules.retries(query, _atom(None))


@pytest.mark.parametrize("kind", ["usage", "schema-in", "schema-out"])
def test_what_comes_out_the_same_is_not_tried_again(kind):
    query = manifest("query")

    assert not rules.retries(query, InvocationError(kind=kind, message="x"))


@pytest.mark.parametrize("kind", ["timeout", "killed", "io"])
def test_what_the_world_did_may_pass(kind):
    error = InvocationError(kind=kind, message="x")

    assert rules.retries(manifest(idempotent=True), error)


def test_being_keyed_does_not_make_an_atom_retryable():
    keyed = manifest(effects=[("write", "db")], keyed=True)

    assert not rules.may_retry(keyed)
    assert "same invocation id" in rules.is_safe_again_words(keyed)


@QUICK
@given(MANIFESTS)
def test_only_pure_transforms_are_cached(each):
    assert rules.may_cache(each) == (each.kind == "transform" and not each.side_effects)
    assert ("not kept" in rules.may_cache_words(each)) == (not rules.may_cache(each))


def _atom(code):
    return InvocationError(kind="atom", code=code, message="x")
