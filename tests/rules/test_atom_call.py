"""Which atom a call means, and what it would do."""

import json

import pytest

from keisei.records.effect import UNKNOWN, ToolCall
from keisei.rules.atom_call import SPEC, atom_effects, call_secrets, meant, objection
from keisei.rules.atom_tool import PREFIX, AtomReach

CWD = "/tree"
WRITE = f"{PREFIX}kei-fs__write"
ATOMS = {
    WRITE: AtomReach(writes=("path",), deletes=("path",)),
    f"{PREFIX}kei-fs__remove": AtomReach(writes=("path",), deletes=("path",), write_trees=("path",)),
    f"{PREFIX}kei-fs__read": AtomReach(reads=("path",)),
    f"{PREFIX}kei-http__get": AtomReach(network=("url",)),
    f"{PREFIX}kei-agent__enqueue": AtomReach(agents=True),
    f"{PREFIX}mine__odd": AtomReach(unresolved="`mine::odd` says nothing of what it does"),
    f"{PREFIX}mine__talk": AtomReach(talks=True),
    f"{PREFIX}mine__pinned": AtomReach(spec_sha="now"),
    f"{PREFIX}mine__sign": AtomReach(
        secret=json.dumps(
            {
                "properties": {
                    "key": {"type": "string", "writeOnly": True},
                    "headers": {"type": "object", "additionalProperties": {"writeOnly": True}},
                }
            }
        )
    ),
}


def told(tool, **given):
    return atom_effects(meant(ToolCall(tool=PREFIX + tool, input=given), ATOMS), ATOMS, CWD)


def test_a_call_by_way_of_the_lean_tools_is_the_call_of_its_atom():
    call = ToolCall(tool=f"{PREFIX}atoms_run", input={"atom": "kei-fs::write", "input": {"path": "a"}}, tool_use_id="7")

    found = meant(call, ATOMS)

    assert (found.tool, found.input, found.tool_use_id) == (WRITE, {"path": "a"}, "7")


@pytest.mark.parametrize(
    "given",
    [{}, {"atom": 3}, {"atom": ["kei-fs::write"], "input": {}}, {"atom": "kei-fs::write", "input": "path"}],
    ids=["nothing", "a number", "a list", "an input that is no object"],
)
def test_a_call_that_names_no_atom_is_not_known(given):
    assert told("atoms_run", **given).unknown


def test_a_name_whose_dashes_a_harness_has_folded_is_the_same_tool():
    assert meant(ToolCall(tool=f"{PREFIX}kei_fs__write", input={"path": "a"}), ATOMS).tool == WRITE
    unknown = ToolCall(tool=f"{PREFIX}kei_fs__none", input={})
    assert meant(unknown, ATOMS) is unknown


def test_another_servers_tool_is_left_to_others():
    call = ToolCall(tool="mcp__notes__atoms_run", input={"atom": "kei-fs::write", "input": {}})

    assert meant(call, ATOMS) is call
    assert atom_effects(call, ATOMS, CWD) is None


def test_paths_of_an_atom_are_what_its_fields_hold():
    found = told("kei-fs__write", path="src/a.py", text="rm -rf /")

    assert [(each.path, each.cwd, each.tree) for each in found.writes] == [("src/a.py", CWD, False)]
    assert found.deletes
    assert not found.commands
    assert found.unknown is None


def test_every_path_of_a_list_counts():
    assert [each.path for each in told("kei-fs__write", path=["a", "../b"]).writes] == ["a", "../b"]


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("file:///etc/passwd", ["file:///etc/passwd", "/etc/passwd"]),
        (f"file:{CWD}/src/a", [f"file:{CWD}/src/a", f"{CWD}/src/a"]),
        ("~/a", ["./~/a", "~/a"]),
        ("/proc/1/cwd/src/a", ["/proc/1/cwd/src/a", UNKNOWN]),
    ],
)
def test_every_path_that_a_text_may_stand_for_counts(text, paths):
    found = told("kei-fs__write", path=text)

    assert [each.path for each in found.writes] == paths
    assert [each.path for each in found.deletes] == paths


@pytest.mark.parametrize("given", [{}, {"path": None}, {"path": ""}, {"path": []}], ids=str)
def test_a_change_that_does_not_say_where_is_one_of_the_whole_folder(given):
    assert [each.path for each in told("kei-fs__write", **given).writes] == ["."]
    assert not told("kei-fs__read", **given).reads


def test_a_tree_is_meant_as_a_whole():
    assert all(each.tree for each in told("kei-fs__remove", path="src").deletes)


@pytest.mark.parametrize("value", [{"a": 1}, 7, [1], True], ids=str)
def test_a_path_of_another_shape_is_not_known(value):
    assert "neither text" in told("kei-fs__write", path=value).unknown


def test_reading_the_network_and_agents_are_told():
    assert [each.path for each in told("kei-fs__read", path="a").reads] == ["a"]
    assert told("kei-http__get", url="https://example.org").network == ("https://example.org",)
    assert told("mine__talk").network == ("mine__talk",)
    assert told("kei-http__get").network == ("kei-http__get",)
    assert told("kei-agent__enqueue").agents == ("kei-agent__enqueue",)


@pytest.mark.parametrize("tool", ["mine__odd", "kei-fs__nothing", "anything"])
def test_what_nobody_can_tell_is_not_known(tool):
    assert told(tool).unknown


@pytest.mark.parametrize("tool", ["atoms_search", "atoms_describe", "pipe_plan", "pipe_run"])
def test_tools_that_only_lead_to_atoms_touch_nothing(tool):
    found = told(tool, pipe="path = '/etc/passwd'")

    assert not found.writes
    assert found.unknown is None


@pytest.mark.parametrize(("told_sha", "is_refused"), [({SPEC: "then"}, True), ({SPEC: "now"}, False), ({}, False)])
def test_a_call_by_another_page_than_the_one_that_was_granted_is_refused(told_sha, is_refused):
    """A harness's hook does not know the page: whoever runs the atom does."""
    call = ToolCall(tool=f"{PREFIX}mine__pinned", input={}, told=told_sha)

    found = objection(call, ATOMS)

    assert (found is not None) is is_refused
    assert found is None or "its page has changed since the attempt began" in found.sentence


@pytest.mark.parametrize(
    ("tool", "given", "instead"),
    [
        ("mine__odd", {}, "call another atom"),
        ("mine__none", {}, "call another atom"),
        ("kei-fs__write", {"path": 7}, "give it as text"),
        ("atoms_run", {"atom": 7}, "give `atom` as text and `input` as an object"),
    ],
)
def test_what_to_do_instead_fits_an_atom(tool, given, instead):
    assert objection(meant(ToolCall(tool=PREFIX + tool, input=given), ATOMS), ATOMS).instead == instead


SIGN = {"key": "k-1", "headers": {"cookie": "sid=2"}, "text": "plain"}
STEPS = [{"atom": "kei-fs::read", "input": {"path": "a"}}, {"atom": "mine::sign", "input": SIGN}]


@pytest.mark.parametrize(
    ("tool", "given", "secret"),
    [
        ("mine__sign", SIGN, {"k-1", "sid=2"}),
        ("atoms_run", {"atom": "mine::sign", "input": SIGN}, {"k-1", "sid=2"}),
        ("atoms_run", {"atom": "mine::sign", "input": "{key: k-1}"}, {"{key: k-1}"}),
        ("kei-fs__read", {"path": "a"}, set()),
        ("atoms_search", {"query": "sign"}, set()),
        ("pipe_run", {"pipe": {"steps": STEPS}, "input": {"given": "g"}}, {"k-1", "sid=2", "g"}),
        ("pipe_run", {"pipe": {"steps": STEPS[:1]}, "input": {"given": "g"}}, set()),
        ("pipe_plan", {"pipe": '[[steps]]\natom = "mine::sign"\n[steps.input]\nkey = "k-1"'}, {"k-1"}),
        ("pipe_run", {"pipe": "key = k-1", "input": 3}, {"key = k-1", "3"}),
        ("pipe_run", {"pipe": {"steps": [SIGN]}}, {"k-1", "sid=2"}),
    ],
)
def test_what_an_atom_marks_as_secret_is_known_however_it_is_called(tool, given, secret):
    found = set(call_secrets(ToolCall(tool=PREFIX + tool, input=given), ATOMS))

    assert secret <= found
    assert secret or not found


def test_what_it_does_not_mark_is_not():
    assert set(call_secrets(ToolCall(tool=f"{PREFIX}mine__sign", input=SIGN), ATOMS)) == {"k-1", "sid=2"}
