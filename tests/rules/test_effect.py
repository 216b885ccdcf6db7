"""Effects: tool calls of any harness, normalised. Shell text here is plain; the grammar has tests of its own."""

import pytest

from keisei.records.effect import ToolCall
from keisei.records.project import ToolFields
from keisei.rules.effect import LONGEST, effects
from keisei.rules.shell.ground import Unreadable

CWD = "/w/sub"


class Still:
    """A world in which nothing lies on the disk and no grammar is at hand: plain commands only."""

    def __init__(self):
        self.variables = {"HOME": "/home/me", "IFS": " \t\n"}

    def parse(self, _text):
        message = "no grammar here"
        raise Unreadable(message)

    def content(self, _path):
        return None

    def real(self, _path):
        return None

    def is_folder(self, _path):
        return False

    def matches(self, _pattern):
        return ()


def of(tool, declared=None, /, **given):
    return effects(ToolCall(tool=tool, input=given), Still(), CWD, declared or {})


def paths(targets):
    return [each.path for each in targets]


def lines(found):
    return [each.text for each in found.commands]


# --- shells -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Bash", {"command": "git push"}),
        ("exec_command", {"cmd": "git push"}),
        ("shell", {"command": ["git", "push"]}),
        ("local_shell", {"command": ["git", "push"]}),
        ("shell_command", {"command": "git push"}),
        ("container.exec", {"cmd": ["git", "push"]}),
        ("terminal", {"command": "git push"}),
    ],
)
def test_the_shell_of_every_harness_runs_commands(tool, given):
    found = of(tool, **given)

    assert lines(found) == ["git push"]
    assert found.unknown is None


def test_a_program_is_known_without_its_folder():
    assert [(each.text, each.exact) for each in of("Bash", command="/usr/bin/git push").commands] == [
        ("git push", "git push")
    ]
    assert [(each.text, each.exact) for each in of("Bash", command="/opt/git push").commands] == [
        ("git push", "/opt/git push")
    ]


@pytest.mark.parametrize(
    ("given", "cwd"),
    [({}, CWD), ({"workdir": "/else"}, "/else"), ({"workdir": "deep"}, f"{CWD}/deep"), ({"cwd": "/else"}, "/else")],
)
def test_a_shell_starts_in_the_folder_the_call_names(given, cwd):
    found = of("exec_command", cmd="touch a", **given)

    assert [(each.path, each.cwd) for each in found.writes] == [("a", cwd)]


@pytest.mark.parametrize(
    "given",
    [{}, {"command": None}, {"command": 7}, {"command": []}, {"command": ["a", 1]}, {"command": {"a": "b"}}],
)
def test_a_shell_without_a_command_that_can_be_read_is_unknown(given):
    assert of("Bash", **given).unknown


def test_text_that_is_too_long_is_unknown():
    found = of("Bash", command="echo " + "x" * LONGEST)

    assert "too large" in found.unknown


@pytest.mark.parametrize("text", ["a\0b", "for x in"])
def test_text_that_cannot_be_parsed_is_unknown(text):
    assert "cannot be analysed" in of("Bash", command=text).unknown


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Write", {"file_path": "/w/a", "content": "x"}),
        ("Edit", {"file_path": "/w/a", "old_string": "x", "new_string": "y"}),
        ("MultiEdit", {"file_path": "/w/a", "edits": [{"old_string": "x", "new_string": "y"}]}),
        ("NotebookEdit", {"notebook_path": "/w/a"}),
        ("write_file", {"path": "/w/a"}),
        ("create_file", {"path": "file:///w/a"}),
        ("patch", {"path": "/w/a"}),
    ],
)
def test_every_field_that_carries_the_path_of_an_editor_counts(tool, given):
    found = of(tool, **given)

    assert [(each.path, each.cwd, each.how) for each in found.writes] == [("/w/a", CWD, tool)]
    assert not found.commands


def test_every_path_of_an_editor_counts():
    found = of("MultiEdit", file_path="a", path="b", edits=[{"file_path": "c"}, "x"])

    assert sorted(paths(found.writes)) == ["a", "b", "c"]


@pytest.mark.parametrize("given", [{}, {"file_path": ""}, {"file_path": 3}, {"file_path": ["/etc/passwd"]}])
def test_an_editor_without_a_path_that_can_be_read_is_unknown(given):
    assert of("Write", **given).unknown


@pytest.mark.parametrize("tool", ["Read", "Grep", "Glob", "LS", "read_file", "NotebookRead"])
def test_a_reader_only_reads(tool):
    found = of(tool, path="/etc/hosts", pattern="x")

    assert paths(found.reads) == ["/etc/hosts"]
    assert (found.writes, found.deletes, found.commands, found.unknown) == ((), (), (), None)


PATCH = "*** Begin Patch\n*** Add File: a\n+x\n*** Delete File: b\n*** End Patch"


@pytest.mark.parametrize(
    "given",
    [{"command": PATCH}, {"input": PATCH}, {"patch": PATCH}, {"command": ["apply_patch", PATCH]}],
    ids=["command", "input", "patch", "argv"],
)
def test_a_patch_writes_and_deletes_what_it_names(given):
    found = of("apply_patch", **given)

    assert (paths(found.writes), paths(found.deletes)) == (["a"], ["b"])


@pytest.mark.parametrize("given", [{}, {"command": 1}, {"command": [1]}])
def test_a_patch_that_cannot_be_read_is_unknown(given):
    assert of("apply_patch", **given).unknown


# --- everything else --------------------------------------------------------------------------------------------------


def test_fetching_reaches_out():
    found = of("WebFetch", url="https://example.org/a", prompt="what")

    assert found.network == ("https://example.org/a",)
    assert (found.writes, found.commands, found.unknown) == ((), (), None)


def test_searching_the_web_reaches_out():
    assert of("WebSearch", query="news").network == ("news",)


@pytest.mark.parametrize(
    ("tool", "given", "agents"),
    [
        ("Task", {"subagent_type": "critic", "prompt": "git push"}, ("critic",)),
        ("Agent", {"prompt": "x"}, ("Agent",)),
        ("spawn_agent", {"agent_type": "worker"}, ("worker",)),
    ],
)
def test_starting_an_agent_is_an_effect_and_its_prompt_is_text(tool, given, agents):
    found = of(tool, **given)

    assert found.agents == agents
    assert (found.commands, found.unresolved, found.unknown) == ((), (), None)


def test_typing_into_a_running_program_is_code_nobody_can_read():
    assert "`write_stdin`" in of("write_stdin", session_id=1, chars="git push\n").unresolved[0]


def test_looking_at_a_running_program_types_nothing():
    assert of("write_stdin", session_id=1, chars="").unresolved == ()


@pytest.mark.parametrize("tool", ["TodoWrite", "update_plan", "ExitPlanMode", "BashOutput"])
def test_quiet_tools_do_nothing(tool):
    found = of(tool, path="/etc/passwd", command="git push")

    assert (found.writes, found.commands, found.unknown) == ((), (), None)


@pytest.mark.parametrize("tool", ["Frobnicate", "", "bash", "mcp_", "write", "Bash\n"])
def test_a_tool_nobody_knows_is_unknown(tool):
    assert "is not known" in of(tool, command="ls").unknown


# --- tools of servers -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "field",
    [
        *("path", "file", "file_path", "filePath", "filename", "target_file", "destination", "dest", "output"),
        *("directory", "outputPath", "targetFile", "newFilePath"),
    ],
)
def test_a_field_of_a_server_that_can_carry_a_path_counts_as_written(field):
    assert paths(of("mcp__fs__save", **{field: "a/b"}).writes) == ["a/b"]


@pytest.mark.parametrize("text", ["/etc/passwd", "./a", "../a", "~/a", "file:///etc/passwd"])
def test_text_that_looks_like_a_path_counts_under_any_name(text):
    assert paths(of("mcp__fs__save", thing=text).writes) == [text.removeprefix("file://")]


def test_paths_are_found_however_deep_they_lie():
    found = of("mcp__fs__save", edits=[{"where": {"path": "a"}}, {"files": ["b", "c"]}])

    assert paths(found.writes) == ["a", "b", "c"]


def test_text_of_a_server_is_text():
    found = of("mcp__notes__append", text="git push /etc/passwd", title="/a title", body="~/x")

    assert (found.writes, found.unresolved, found.unknown) == ((), (), None)


@pytest.mark.parametrize("verb", ["read_file", "get_file_info", "list_directory", "search_files", "stat"])
def test_a_server_whose_verb_only_looks_only_reads(verb):
    found = of(f"mcp__fs__{verb}", path="/etc/hosts")

    assert (paths(found.reads), found.writes) == (["/etc/hosts"], ())


@pytest.mark.parametrize(
    "verb",
    [
        "search_and_replace",
        "find_and_replace",
        "get_or_create_file",
        "read_write_file",
        "fetch_and_save",
        "load_to_file",
    ],
)
def test_a_server_whose_verb_looks_and_writes_writes(verb):
    assert paths(of(f"mcp__fs__{verb}", path="/etc/hosts").writes) == ["/etc/hosts"]


@pytest.mark.parametrize("verb", ["delete_file", "remove", "file_delete", "trash_item"])
def test_a_server_whose_verb_removes_deletes(verb):
    assert paths(of(f"mcp__fs__{verb}", path="a").deletes) == ["a"]


def test_a_server_that_moves_both_writes_and_deletes():
    found = of("mcp__fs__move_file", source="a", destination="b")

    assert paths(found.writes) == ["a", "b"]
    assert paths(found.deletes) == ["a", "b"]


def test_a_server_that_is_handed_a_command_runs_it():
    found = of("mcp__box__exec", command="git push")

    assert "git push" in lines(found)


def test_a_server_that_is_handed_words_runs_them():
    assert "git push" in lines(of("mcp__box__exec", program="git", args=["push"]))
    assert "git push" in lines(of("mcp__box__exec", argv=["git", "push"]))


def test_a_server_that_is_handed_code_runs_what_nobody_can_read():
    assert "runs code" in of("mcp__box__go", code="import os").unresolved[0]


def test_an_address_is_reached_and_not_written():
    found = of("mcp__web__open_page", url="https://example.org")

    assert (found.network, found.writes) == (("https://example.org",), ())


def test_a_server_and_its_verb_are_a_command_no_list_need_know():
    assert [(each.text, each.listed) for each in of("mcp__github__create_issue", title="x").commands] == [
        ("github create_issue", False)
    ]


def test_what_is_nested_too_deeply_is_unknown():
    deep = "a"
    for _ in range(50):
        deep = [deep]

    assert "too large" in of("mcp__fs__save", path=deep).unknown


@pytest.mark.parametrize(
    "text",
    ["file:///w/src/%2e%2e/secret", "file://localhost/w/secret", "FILE:///w/secret"],
    ids=["encoded", "host", "capitals"],
)
def test_an_address_of_a_file_is_the_file(text):
    found = of("mcp__fs__save", uri=text)

    assert [each.replace("/src/..", "") for each in paths(found.writes)] == ["/w/secret"]


def test_a_path_that_is_spelled_like_an_address_is_still_a_path():
    assert paths(of("mcp__fs__save", file_path="a://../../etc/passwd").writes) == ["a://../../etc/passwd"]


# --- declared tools ---------------------------------------------------------------------------------------------------

FIELDS = {
    "mcp__fs__sync": ToolFields(
        writes=("to", "also"), deletes=("gone",), reads=("from",), commands=("hook",), network=("peer",)
    )
}


def test_declared_fields_mean_what_they_are_declared_to_mean():
    found = of(
        "mcp__fs__sync", FIELDS, to="a", also=["b", "c"], gone="d", **{"from": "e"}, hook="git status", peer="host:1"
    )

    assert (paths(found.writes), paths(found.deletes), paths(found.reads)) == (["a", "b", "c"], ["d"], ["e"])
    assert lines(found) == ["git status"]
    assert found.network == ("host:1",)


def test_fields_that_are_not_declared_mean_nothing():
    assert of("mcp__fs__sync", FIELDS, note="/etc/passwd").writes == ()


def test_a_tool_nobody_knows_is_known_once_it_is_declared():
    found = of("Frobnicate", {"Frobnicate": ToolFields(writes=("to",))}, to="a")

    assert (paths(found.writes), found.unknown) == (["a"], None)


@pytest.mark.parametrize("value", [{"path": "/etc/passwd"}, [["/etc/passwd"]], 7], ids=["object", "nested", "number"])
def test_a_declared_field_that_holds_what_nobody_can_read_is_unknown(value):
    assert of("mcp__fs__sync", FIELDS, to=value).unknown


def test_a_declared_command_that_cannot_be_read_is_unknown():
    assert "cannot be analysed" in of("mcp__fs__sync", FIELDS, hook="for x in").unknown


def test_a_call_is_never_too_strange_to_be_answered():
    strange = {"": None, "path": {"": [None, True, 1.5, {"path": []}]}, "command": {"x": "y"}, "\0": "\0"}

    for tool in ("Bash", "Write", "apply_patch", "Task", "WebFetch", "mcp__a__b", "mcp__", "x"):
        assert effects(ToolCall(tool=tool, input=strange), Still(), CWD, {}) is not None
