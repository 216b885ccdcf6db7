"""Which atoms a role's agents are offered."""

import json

import pytest

from keisei.records.error import OperatorError
from keisei.records.role import RoleAtoms
from keisei.rules.atom_tool import PREFIX
from keisei.settings import read_settings
from keisei.wiring.atom_grant import granted
from keisei.wiring.atoms import open_shelf


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    return open_shelf(read_settings({"HOME": str(home)}), start=home)


def names(found):
    return {each.atom for each in found.values()}


def test_a_table_that_names_nothing_offers_nothing(shelf):
    assert granted("r", RoleAtoms(), shelf) == {}


def test_a_package_is_offered_without_what_changes_something(shelf):
    found = granted("r", RoleAtoms(allowed=("kei-task::*",)), shelf)

    assert names(found) == {"kei-task::chain", "kei-task::get", "kei-task::list", "kei-task::search"}
    assert set(found) == {PREFIX + each.replace("::", "__") for each in names(found)}


def test_what_changes_something_is_offered_where_the_role_says_so(shelf):
    found = granted("r", RoleAtoms(allowed=("kei-task::create", "kei-task::get"), write=True), shelf)

    assert names(found) == {"kei-task::create", "kei-task::get"}


def test_all_are_offered_by_a_star(shelf):
    found = granted("r", RoleAtoms(allowed=("*",), write=True), shelf)

    assert names(found) == {row.atom for row in shelf.rows()[0]}


@pytest.mark.parametrize("pattern", ["kei-nothing::*", "kei-task::nothing"])
def test_what_no_package_has_is_an_error_that_names_it(shelf, pattern):
    with pytest.raises(OperatorError, match=pattern.replace("*", r"\*")):
        granted("reader", RoleAtoms(allowed=(pattern,)), shelf)


def test_an_atom_is_offered_by_its_page_as_it_is_now_and_with_what_it_marks_as_secret(shelf):
    found = granted("r", RoleAtoms(allowed=("kei-hash::hmac", "kei-hash::digest")), shelf)

    reach = {each.atom: each.reach for each in found.values()}
    assert {atom: each.spec_sha for atom, each in reach.items()} == {atom: shelf.atom(atom).spec_sha for atom in reach}
    assert reach["kei-hash::digest"].secret is None
    assert json.loads(reach["kei-hash::hmac"].secret) == shelf.atom("kei-hash::hmac").input_schema
