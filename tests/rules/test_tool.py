"""Tools: which of them are the same thing, and what a list of names lets through."""

import pytest

from keisei.rules import tool as tools
from keisei.rules.tool import is_allowed, names_of


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Bash", "exec_command"),
        ("Bash", "shell"),
        ("Bash", "terminal"),
        ("Task", "Agent"),
        ("Task", "spawn_agent"),
        ("Read", "read_file"),
        ("Write", "write_file"),
        ("Edit", "edit_file"),
        ("TodoWrite", "update_plan"),
    ],
)
def test_a_tool_is_the_same_under_the_name_another_harness_gives_it(one, other):
    assert names_of(one) == names_of(other) >= {one, other}
    assert is_allowed(other, [one])
    assert is_allowed(one, [other])


@pytest.mark.parametrize("tool", ["bash", "BASH", "Bash ", "Bas", "Bashh", "mcp__x__Bash", ""])
def test_names_are_compared_exactly(tool):
    assert not is_allowed(tool, ["Bash", "Read"])
    assert names_of(tool) == {tool}


def test_nothing_is_on_an_empty_list():
    assert not is_allowed("Read", [])


@pytest.mark.parametrize("tool", ["apply_patch", "applypatch"])
@pytest.mark.parametrize(
    ("allowed", "answer"),
    [(["Edit"], False), (["Write"], False), (["Edit", "Write"], True), ([], False), (["Bash", "Read"], False)],
)
def test_a_tool_that_edits_and_writes_needs_both(tool, allowed, answer):
    assert is_allowed(tool, allowed) is answer


def test_a_tool_that_edits_and_writes_may_be_listed_by_its_own_name():
    assert is_allowed("apply_patch", ["apply_patch"])


@pytest.mark.parametrize("denied", ["Edit", "Write", "apply_patch"])
def test_a_tool_that_edits_and_writes_is_refused_by_either_name(denied):
    assert denied in names_of("apply_patch")


def test_listing_the_patcher_grants_neither_edit_nor_write():
    assert not is_allowed("Edit", ["apply_patch"])
    assert not is_allowed("Write", ["apply_patch"])


@pytest.mark.parametrize("tool", sorted(tools.SHELL))
def test_every_tool_that_runs_a_shell_is_the_shell_of_a_role(tool):
    """A role that refuses Bash refuses the shell of every harness, and a role that grants it grants them all."""
    assert "Bash" in names_of(tool)


@pytest.mark.parametrize("tool", sorted(tools.AGENTS - {"TeamCreate", "SendMessage", "send_input"}))
def test_every_tool_that_starts_an_agent_is_the_task_tool(tool):
    assert {"Task", "Agent"} <= names_of(tool)


def test_no_tool_is_of_two_kinds():
    kinds = [set(tools.SHELL), tools.WRITERS, tools.PATCHERS, tools.READERS, tools.FETCHERS, tools.AGENTS]
    kinds += [tools.TYPISTS, set(tools.CODERS), tools.QUIET]

    together = [name for kind in kinds for name in kind]

    assert len(together) == len(set(together))
