"""Roles resolved: parent first, then own, then what is relaxed is dropped; what is absent is inherited."""

import pytest

from keisei.records.role import Escalation, RoleCapabilities, RoleHead, RoleIsolation, RoleManifest, RoleTools
from keisei.rules.role import DEEPEST, Tangled, resolve_role

A, B, C, D, OLD = "policy::a", "scope::b", "quality::c", "output::d", "tools::old"


def role(name, extends=None, required=(), relaxes=(), **tables):
    capabilities = RoleCapabilities(extends=extends, required=tuple(required), relaxes=tuple(relaxes))
    return RoleManifest(role=RoleHead(name=name), capabilities=capabilities, **tables)


def resolved(name, *roles, aliases=None):
    known = {each.role.name: each for each in roles}
    return resolve_role(name, known.__getitem__, lambda capability: (aliases or {}).get(capability, capability))


def test_a_role_without_a_parent_has_its_own_capabilities_in_their_order():
    found = resolved("r", role("r", required=[C, A, B]))

    assert found.capabilities == (C, A, B)
    assert found.chain == ("r",)


def test_the_parents_capabilities_come_first():
    found = resolved("child", role("parent", required=[B, A]), role("child", extends="parent", required=[D, C]))

    assert found.capabilities == (B, A, D, C)
    assert found.chain == ("child", "parent")


def test_a_capability_required_twice_keeps_its_first_place():
    found = resolved("child", role("parent", required=[A, B]), role("child", extends="parent", required=[C, B, A, C]))

    assert found.capabilities == (A, B, C)


def test_what_is_relaxed_is_dropped():
    found = resolved(
        "child", role("parent", required=[A, B]), role("child", extends="parent", required=[C], relaxes=[A])
    )

    assert found.capabilities == (B, C)
    assert found.relaxed_in_vain == ()


def test_relaxing_comes_last_so_it_drops_what_the_role_requires_itself():
    found = resolved("r", role("r", required=[A, B], relaxes=[A]))

    assert found.capabilities == (B,)


def test_a_grandchild_can_require_again_what_its_parent_relaxed():
    roles = (
        role("top", required=[A, B]),
        role("middle", extends="top", relaxes=[A]),
        role("low", extends="middle", required=[A]),
    )

    assert resolved("middle", *roles).capabilities == (B,)
    assert resolved("low", *roles).capabilities == (B, A)


def test_relaxing_in_vain_is_told_and_changes_nothing():
    found = resolved("child", role("parent", required=[A]), role("child", extends="parent", relaxes=[B, C]))

    assert found.capabilities == (A,)
    assert found.relaxed_in_vain == (B, C)


def test_a_parents_vain_relaxing_is_told_with_the_parent_only():
    parent, child = role("parent", required=[A], relaxes=[B]), role("child", extends="parent")

    assert resolved("parent", parent, child).relaxed_in_vain == (B,)
    assert resolved("child", parent, child).relaxed_in_vain == ()


def test_an_old_name_stands_for_the_new_one_everywhere():
    parent = role("parent", required=[OLD, B])
    child = role("child", extends="parent", required=[A], relaxes=[OLD])
    aliases = {OLD: A}

    assert resolved("parent", parent, aliases=aliases).capabilities == (A, B)
    assert resolved("child", parent, child, aliases=aliases).capabilities == (B,)


def test_relaxing_by_the_new_name_drops_what_was_required_by_the_old_one():
    parent, child = role("parent", required=[OLD]), role("child", extends="parent", relaxes=[A])

    found = resolved("child", parent, child, aliases={OLD: A})

    assert found.capabilities == ()
    assert found.relaxed_in_vain == ()


TABLES = {
    "tools": RoleTools(allowed=("Read",), bash_patterns_allowed=("^ls$",)),
    "escalation": Escalation(policy="fail-fast"),
    "isolation": RoleIsolation(require="full", network="open"),
}


@pytest.mark.parametrize("table", TABLES)
def test_an_absent_table_is_the_nearest_parents(table):
    roles = (role("top", **TABLES), role("middle", extends="top"), role("low", extends="middle"))

    assert getattr(resolved("low", *roles), table) == TABLES[table]


@pytest.mark.parametrize(
    ("table", "own"),
    [("tools", RoleTools()), ("escalation", Escalation()), ("isolation", RoleIsolation())],
    ids=["tools", "escalation", "isolation"],
)
def test_a_table_that_is_there_hides_the_parents_even_when_it_is_empty(table, own):
    roles = (role("top", **TABLES), role("low", extends="top", **{table: own}))

    assert getattr(resolved("low", *roles), table) == own


def test_without_any_table_a_role_gets_the_strictest_defaults():
    found = resolved("r", role("r"))

    assert found.tools == RoleTools(allowed=(), bash_patterns_allowed=())
    assert found.escalation.policy == "ask-via-return"
    assert found.isolation == RoleIsolation(require="none", network="none")


def test_spawnable_is_never_inherited():
    parent = RoleManifest(role=RoleHead(name="git-ops", spawnable=False))
    child = role("child", extends="git-ops")

    assert resolved("child", parent, child).manifest.role.spawnable is True
    assert resolved("git-ops", parent).manifest.role.spawnable is False


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        pytest.param([role("a", extends="a")], "role `a` extends itself: a -> a", id="itself"),
        pytest.param(
            [role("a", extends="b"), role("b", extends="a")], "role `a` extends itself: a -> b -> a", id="two"
        ),
        pytest.param(
            [role("a", extends="b"), role("b", extends="c"), role("c", extends="b")],
            "role `a` extends itself: b -> c -> b",
            id="a-circle-among-the-parents",
        ),
    ],
)
def test_a_circle_of_parents_is_refused_and_drawn(roles, message):
    with pytest.raises(Tangled) as caught:
        resolved("a", *roles)

    assert caught.value.code == "cycle"
    assert caught.value.message == message


def chain(parents):
    """`r0` with so many parents above it."""
    return [role(f"r{number}", extends=f"r{number + 1}", required=[A]) for number in range(parents)] + [
        role(f"r{parents}", required=[B])
    ]


def test_sixteen_parents_are_allowed():
    found = resolved("r0", *chain(DEEPEST))

    assert DEEPEST == 16
    assert len(found.chain) == 17
    assert found.capabilities == (B, A)


def test_seventeen_parents_are_refused():
    with pytest.raises(Tangled) as caught:
        resolved("r0", *chain(DEEPEST + 1))

    assert caught.value.code == "too-long-chain"
    assert caught.value.message == "role `r0` has more than 16 parents"


def test_what_cannot_be_looked_up_is_told_by_whoever_was_asked():
    with pytest.raises(KeyError, match="nobody"):
        resolved("r", role("r", extends="nobody"))
