"""The judge: one call against one policy, with real paths and the real grammar."""
# ruff: noqa: S108 - paths that are judged, and never opened

import os
import threading

import pytest

from keisei.gate.judge import Judge
from keisei.records.effect import ToolCall
from keisei.records.project import ToolFields
from keisei.rules.gate import Verdict
from keisei.rules.policy import Globs, Patterns, Policy, Rule

BASH = Rule(
    capability="role::bash",
    patterns=(Patterns(mode="allow-only", items=("^(ls|echo|cat|touch|mkdir|cp|mv|ln|rm|tee|true|git)( |$)",)),),
    instead="run one of the commands the role allows",
)
NO_GIT = Rule(capability="policy::no-git-ops", patterns=(Patterns(mode="deny", items=("^git( |$)",)),))
SRC = Rule(capability="scope::files-whitelist", globs=(Globs(mode="allow-only", items=("src/**",)),))
SECRET = Rule(capability="scope::files-denylist", globs=(Globs(mode="deny", items=("src/secret/**",)),))
TOOLS = Rule(
    capability="role::tools",
    tools_allowed=("Read", "Write", "Edit", "Bash", "WebFetch", "mcp__fs__save", "mcp__fs__put"),
)
ROLE = (TOOLS, BASH, NO_GIT, SRC, SECRET)


def no_script(_rule, _call, _policy):
    message = "no script is here to be run"
    raise AssertionError(message)


@pytest.fixture(scope="module")
def judge():
    return Judge(no_script)


@pytest.fixture
def work(tmp_path):
    folder = tmp_path.resolve() / "home" / "work"
    for name in ("src/secret", "docs"):
        (folder / name).mkdir(parents=True)
    (folder / "src" / "a").write_text("a")
    (folder / "docs" / "b").write_text("b")
    return folder


@pytest.fixture
def ask(judge, work):
    """Judges a call in the worktree, by the whole role where no rules are named."""

    def asked(tool, *rules, **given):
        cwd = given.pop("_cwd", None)
        policy = Policy(role="r", rules=rules or ROLE, worktree=str(work), scratch=("/tmp",), home=str(work.parent))
        return judge.judge(ToolCall(tool=tool, input=given, cwd=cwd), policy)

    return asked


def bash(ask, command, *rules, **more):
    return ask("Bash", *rules, command=command, **more).decision


# --- commands ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        "ls -l",
        "ls && cat src/a | tee src/new",
        "echo 'git push'",
        "cat <<E\ngit push\nE",
        "echo $(ls) > src/new",
        "true # git push",
        "ls $UNSET",
        "timeout 5 ls",
    ],
)
def test_harmless_commands_are_allowed(ask, command):
    assert bash(ask, command) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "git push",
        "ls; git push",
        "echo $(git push)",
        "env git push",
        "sh -c 'git push'",
        "bash <<< 'git push'",
        "g''it push",
        "X=git; $X push",
        "/usr/bin/git push",
        "xargs git < src/a",
        "f() { git push; }; f",
    ],
)
def test_git_is_refused_however_it_is_reached(ask, command):
    found = ask("Bash", command=command)

    assert (found.decision, found.capability, found.rule) == ("deny", "policy::no-git-ops", "^git( |$)")


@pytest.mark.parametrize("rules", [(BASH,), (NO_GIT,)], ids=["allow reading", "deny reading"])
@pytest.mark.parametrize("command", ["$X push", "$(cat src/a) push", '"$X"', "eval $X", 'sh -c "$X"'])
def test_a_command_word_nobody_knows_is_refused_by_both_readings(ask, rules, command):
    assert bash(ask, command, *rules) == "deny"


@pytest.mark.parametrize("command", ["ls $X", "echo $(cat src/a)", "ls ${X:-src}", "echo $1 $*"])
def test_an_argument_nobody_knows_is_refused_by_neither(ask, command):
    assert bash(ask, command, BASH, NO_GIT) == "allow"


@pytest.mark.parametrize("command", ["true || git push", "false && git push", "if false; then git push; fi"])
def test_a_command_that_may_never_run_counts_for_the_reading_that_forbids(ask, command):
    assert bash(ask, command, NO_GIT) == "deny"


@pytest.mark.parametrize(
    "command",
    ["git push; (", "git push\n(", "git push; : " + "x" * 70_000, "for x in", "ls 'x"],
    ids=["broken", "broken later", "large", "half", "open"],
)
def test_what_cannot_be_analysed_is_refused_though_the_role_lists_the_shell(ask, command):
    found = ask("Bash", command=command)

    assert found.decision == "deny"
    assert found.instead == "split the command or use the Write tool"


@pytest.mark.parametrize(
    ("tool", "given"),
    [("Write", {}), ("Edit", {"file_path": ["/etc/passwd"]}), ("Bash", {}), ("Bash", {"command": 7})],
    ids=["no path", "a list", "no command", "a number"],
)
def test_a_listed_tool_without_what_it_needs_is_refused(ask, tool, given):
    assert ask(tool, **given).decision == "deny"


# --- tools ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "given", "decision"),
    [
        ("Read", {"file_path": "/etc/hosts"}, "allow"),
        ("read_file", {"path": "/etc/hosts"}, "allow"),
        ("WebFetch", {"url": "https://example.org"}, "allow"),
        ("WebSearch", {"query": "x"}, "deny"),
        ("Task", {"prompt": "x"}, "deny"),
        ("Agent", {"prompt": "x"}, "deny"),
        ("spawn_agent", {"message": "x"}, "deny"),
        ("write_stdin", {"session_id": 1, "chars": "git push\n"}, "deny"),
        ("Frobnicate", {}, "deny"),
        ("mcp__fs__other", {}, "deny"),
        ("mcp__fs__save", {"path": "src/x"}, "allow"),
        ("mcp__fs__save", {"path": "docs/x"}, "deny"),
        ("mcp__fs__save", {"path": "src/../docs/x"}, "deny"),
        ("mcp__fs__save", {"command": "git push"}, "deny"),
        ("exec_command", {"cmd": "git push"}, "deny"),
        ("exec_command", {"cmd": "ls"}, "allow"),
        ("apply_patch", {"command": "*** Begin Patch\n*** Add File: src/x\n+x\n*** End Patch"}, "allow"),
        ("apply_patch", {"command": "*** Begin Patch\n*** Add File: docs/x\n+x\n*** End Patch"}, "deny"),
        ("apply_patch", {"command": "*** Begin Patch\n*** Delete File: docs/b\n*** End Patch"}, "deny"),
        ("apply_patch", {"command": "rubbish"}, "deny"),
    ],
)
def test_every_tool_is_judged_by_what_it_does(ask, tool, given, decision):
    assert ask(tool, **given).decision == decision


def test_typing_into_a_program_is_refused_also_where_the_tool_is_listed(ask):
    listed = Rule(capability="role::tools", tools_allowed=("write_stdin",))

    assert ask("write_stdin", listed, BASH, session_id=1, chars="rm -rf /\n").decision == "deny"
    assert ask("write_stdin", listed, BASH, session_id=1, chars="").decision == "allow"


def test_an_agent_may_be_started_where_it_is_granted(ask):
    listed = Rule(capability="role::tools", tools_allowed=("Task",))

    assert ask("Agent", listed, BASH, SRC, prompt="x", subagent_type="critic").decision == "allow"


def test_declared_fields_are_judged_as_declared(judge, work):
    fields = {"mcp__fs__put": ToolFields(writes=("onto",), reads=("path",))}
    policy = Policy(role="r", rules=ROLE, worktree=str(work), tools=fields, scratch=())

    def put(**given):
        return judge.judge(ToolCall(tool="mcp__fs__put", input=given), policy).decision

    assert put(onto="src/x", path="/etc/hosts") == "allow"
    assert put(onto="docs/x") == "deny"


# --- paths ------------------------------------------------------------------------------------------------------------


def write(ask, path, *rules, **more):
    return ask("Write", *rules, file_path=str(path), content="x", **more).decision


@pytest.mark.parametrize(
    ("path", "decision"),
    [
        ("src/a", "allow"),
        ("src/new/deep", "allow"),
        ("{work}/src/x", "allow"),
        ("src/../docs/b", "deny"),
        ("docs/../src/a", "allow"),
        ("src/../../x", "deny"),
        ("/etc/passwd", "deny"),
        ("~/x", "deny"),
        ("~/{name}/src/x", "allow"),
        ("src/secret/x", "deny"),
        ("src/Secret/x", "deny"),
        ("SRC/x", "deny"),
        ("src", "allow"),
        ("", "deny"),
    ],
)
def test_paths_are_judged_by_where_they_lead(ask, work, path, decision):
    assert write(ask, path.format(work=work, name=work.name)) == decision


@pytest.mark.parametrize(
    ("path", "decision"),
    [
        ("src/a\0", "deny"),
        ("src/a\0/../../../etc/passwd", "deny"),
        ("\0", "deny"),
        ("src/a\nb", "allow"),
        ("src/\n../../x", "allow"),
        ("src/x\n/../../docs/b", "deny"),
    ],
)
def test_strange_characters_carry_nothing_out(ask, path, decision):
    assert ask("Write", file_path=path).decision == decision


@pytest.mark.parametrize("form", ["caf\u00e9", "cafe\u0301"])
def test_a_protected_name_is_protected_in_every_form(ask, form):
    for other in ("caf\u00e9", "cafe\u0301", "CAF\u00c9"):
        rule = Rule(capability="scope::files-denylist", globs=(Globs(mode="deny", items=(f"{form}/**",)),))
        assert write(ask, f"{other}/x", rule) == "deny"


def test_a_link_out_of_the_list_is_refused(ask, work):
    (work / "src" / "link").symlink_to(work / "docs")
    (work / "src" / "file").symlink_to("../docs/b")
    (work / "src" / "later").symlink_to("/etc/not-yet")

    assert write(ask, "src/link/new") == "deny"
    assert write(ask, "src/file") == "deny"
    assert write(ask, "src/later") == "deny"
    assert bash(ask, "echo x > src/file") == "deny"


def test_a_link_into_the_list_is_refused_where_it_lies_outside(ask, work):
    """A program that writes by renaming replaces the link in docs."""
    (work / "docs" / "link").symlink_to(work / "src" / "a")

    assert write(ask, "docs/link") == "deny"


def test_a_link_that_goes_round_is_refused(ask, work):
    (work / "src" / "round").symlink_to("round")

    assert write(ask, "src/round") == "deny"


def test_a_file_with_a_second_name_is_refused(ask, work):
    os.link(work / "docs" / "b", work / "src" / "same")

    found = ask("Write", file_path="src/same", content="x")

    assert found.decision == "deny"
    assert "hard link" in found.reason


def test_a_link_made_in_the_same_call_is_followed(ask):
    assert bash(ask, "ln -s ../docs src/link && echo x > src/link/new") == "deny"


def test_the_folder_of_the_call_counts(ask, work):
    assert write(ask, "x", _cwd=str(work / "src")) == "allow"
    assert write(ask, "x", _cwd=str(work / "docs")) == "deny"
    assert write(ask, "../docs/x", _cwd=str(work / "src")) == "deny"


def test_a_folder_of_the_call_that_is_not_absolute_is_the_worktree(ask):
    assert write(ask, "src/x", _cwd="docs") == "allow"


def test_a_target_that_is_a_folder_means_what_lands_inside(ask, work):
    (work / "src" / "b").symlink_to(work / "docs" / "b")

    assert bash(ask, "cp /etc/hosts src") == "allow"
    assert bash(ask, "cp docs/b src") == "deny"


def test_a_redirection_is_a_write(ask):
    assert bash(ask, "ls > src/out 2>&1") == "allow"
    assert bash(ask, "ls > docs/out") == "deny"
    assert bash(ask, "ls > /dev/null") == "allow"


def test_the_deny_list_wins_in_the_shell_too(ask):
    assert bash(ask, "touch src/x") == "allow"
    assert bash(ask, "touch src/secret/x") == "deny"
    assert bash(ask, "rm -rf src") == "deny"


def test_temporary_files_may_be_written(ask):
    assert write(ask, "/tmp/keisei-judge-test/x") == "allow"
    assert bash(ask, "ls > /tmp/keisei-judge-test.txt") == "allow"
    assert write(ask, "/tmp/../etc/x") == "deny"


def test_a_worktree_inside_tmp_is_not_a_temporary_folder(judge, tmp_path):
    folder = tmp_path / "w"
    (folder / "src").mkdir(parents=True)
    scratch = tmp_path.parent
    policy = Policy(role="r", rules=ROLE, worktree=str(folder.resolve()), scratch=(str(scratch.resolve()),))

    def wrote(path):
        return judge.judge(ToolCall(tool="Write", input={"file_path": str(path)}), policy).decision

    assert wrote(folder / "docs" / "x") == "deny"
    assert wrote(folder.parent / "beside") == "deny"
    assert wrote("../../other/x") == "deny"
    assert wrote(scratch / "other" / "x") == "allow"
    assert wrote(folder / "src" / "x") == "allow"


# --- the reason -------------------------------------------------------------------------------------------------------


def test_a_reason_names_the_effect_the_rule_and_what_to_do_instead(ask):
    found = ask("Bash", command="make deploy")

    assert found.capability == "role::bash"
    assert found.reason.startswith("role::bash: `make deploy`")
    assert found.instead == "run one of the commands the role allows"


@pytest.mark.parametrize("command", ["make " + "x" * 3000, "sh -c '" + "make a\n" * 300 + "'", "make 'a\nb\rc\u2028d'"])
def test_a_reason_is_one_short_line(ask, command):
    found = ask("Bash", command=command)

    assert found.decision == "deny"
    assert len(found.reason) <= 200
    assert len(found.reason.splitlines()) == 1


def test_the_refusal_by_name_is_told_before_the_list_that_does_not_know(ask):
    rules = (Rule(capability="role::bash", patterns=(Patterns(mode="allow-only", items=("^ls$",)),)), NO_GIT)

    assert ask("Bash", *rules, command="git push").capability == "policy::no-git-ops"


# --- scripts and switches ---------------------------------------------------------------------------------------------


def scripts(*names):
    return tuple(Rule(capability=f"policy::{name}", script=f"/{name}/gate.sh") for name in names)


def test_scripts_run_side_by_side(work):
    """Each waits for the others: one after the other would never end."""
    together = threading.Barrier(3, timeout=10)

    def wait(rule, _call, _policy):
        together.wait()
        return Verdict(rule, "allow", "rule", rule.script, "")

    policy = Policy(role="r", rules=scripts("a", "b", "c"), worktree=str(work))

    assert Judge(wait).judge(ToolCall(tool="Bash", input={"command": "ls"}), policy).decision == "allow"


def test_each_script_answers_for_itself(work):
    def answer(rule, _call, _policy):
        refused = rule.capability == "policy::b"
        return Verdict(rule, "deny" if refused else "allow", "rule", rule.script, "policy::b: no" if refused else "")

    policy = Policy(role="r", rules=scripts("a", "b", "c"), worktree=str(work))

    found = Judge(answer).judge(ToolCall(tool="Read", input={}), policy)

    assert (found.decision, found.capability, found.reason) == ("deny", "policy::b", "policy::b: no")


SWITCH = Rule(capability="policy::no-git-ops", bypass_env="META", patterns=NO_GIT.patterns)


@pytest.mark.parametrize(
    ("environment", "decision"),
    [({"META": "1"}, "allow"), ({"META": "0"}, "deny"), ({"META": ""}, "deny"), ({}, "deny"), (None, "deny")],
)
def test_a_variable_switches_a_rule_off_only_where_it_is_handed_in_and_one(judge, work, environment, decision):
    policy = Policy(role="r", rules=(SWITCH,), worktree=str(work))

    assert judge.judge(ToolCall(tool="Bash", input={"command": "git push"}), policy, environment).decision == decision


def test_a_switch_of_one_rule_is_no_switch_of_another(judge, work):
    policy = Policy(role="r", rules=(SWITCH, Rule(capability="x::y", patterns=NO_GIT.patterns)), worktree=str(work))

    found = judge.judge(ToolCall(tool="Bash", input={"command": "git push"}), policy, {"META": "1"})

    assert (found.decision, found.capability) == ("deny", "x::y")


def test_a_script_that_is_switched_off_is_not_run(judge, work):
    rule = Rule(capability="policy::mine", script="/x", bypass_env="META")
    policy = Policy(role="r", rules=(rule,), worktree=str(work))

    assert judge.judge(ToolCall(tool="Read", input={}), policy, {"META": "1"}).decision == "allow"


def test_a_folder_that_is_run_as_a_script_is_judged(ask):
    assert bash(ask, "bash src") in ("allow", "deny")


def test_many_threads_may_judge_at_once(judge, work):
    policy = Policy(role="r", rules=ROLE, worktree=str(work))
    found = {}

    def one(number):
        command = f"echo $({number}) && git push" if number % 2 else f"echo $(ls {number})"
        found[number] = judge.judge(ToolCall(tool="Bash", input={"command": command}), policy).decision

    threads = [threading.Thread(target=one, args=(number,)) for number in range(16)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    assert found == {number: "deny" if number % 2 else "allow" for number in range(16)}
