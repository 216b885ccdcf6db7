"""Policies from the library: the kit, a project's files and a task, compiled together."""

import re

import pytest

from keisei.gate.judge import Judge
from keisei.records.effect import ToolCall
from keisei.records.error import AuthorError, KeiseiError, OperatorError
from keisei.rules.policy import policy_digest
from keisei.settings import read_settings
from keisei.wiring import catalog
from keisei.wiring.policy import Setting, capabilities_policy, task_policy, vector_policy

TASK = """
[task]
role = "{role}"
{more}
[scope]
files-whitelist = ["src/**"]
{tables}
[body]
text = "Do it."
"""
ROLE = """
[role]
name = "worker"
description = "Works."
[capabilities]
required = [{required}]
[tools]
allowed = ["Read", "Write", "Edit", "Bash", "mcp__fs__put"]
bash-patterns-allowed = ['^ls( |$)']
"""
HEAD = """
[capability]
name = "policy::{name}"
category = "policy"
version = "1.0"
description = "A rule."
rationale = "Because."
[text]
path = "text.md"
"""


class Project:
    """A project on the disk, with a library that reads it."""

    def __init__(self, folder):
        self.folder = folder
        self.write("keisei.toml", '[project]\nname = "shop"\n')
        self.write("src/a", "a")
        self.role("worker", "policy::no-git-ops", "scope::files-whitelist")

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def role(self, name, *required):
        names = ", ".join(f'"{each}"' for each in required)
        self.write(f".keisei/roles/{name}.toml", ROLE.replace("worker", name).format(required=names))

    def capability(self, name, text):
        self.write(f".keisei/capabilities/policy/{name}/capability.toml", HEAD.format(name=name) + text)
        self.write(f".keisei/capabilities/policy/{name}/text.md", "Do not.\n")

    def task(self, role="worker", more="", tables=""):
        return self.write("task.toml", TASK.format(role=role, more=more, tables=tables))

    @property
    def library(self):
        return catalog(read_settings({}), start=self.folder)

    @property
    def setting(self):
        return Setting(self.folder, None, None)

    def policy(self, *words, **more):
        return task_policy(self.library, self.task(*words, **more), self.setting)[0]


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path.resolve() / "shop")


def rule(policy, name):
    return next(each for each in policy.rules if each.capability == name)


def decision(policy, command):
    def no_script(*_):
        raise AssertionError

    return Judge(no_script).judge(ToolCall(tool="Bash", input={"command": command}), policy).decision


# --- the whole --------------------------------------------------------------------------------------------------------


def test_a_role_of_the_project_is_compiled_with_the_kits_capabilities(project):
    policy = project.policy()

    assert [each.capability for each in policy.rules] == [
        "role::tools",
        "role::bash",
        "policy::no-git-ops",
        "scope::files-whitelist",
    ]
    assert policy.role == "worker"
    assert policy.worktree == str(project.folder)
    assert policy.task_path == str(project.folder / "task.toml")


@pytest.mark.parametrize("role", ["edit-local", "edit-shared", "explorer", "read-only", "auditor", "merger"])
def test_every_role_of_the_kit_compiles(project, role):
    policy = project.policy(role)

    assert [each.capability for each in policy.rules[:2]] == ["role::tools", "role::bash"]


def test_a_capability_of_the_project_wins_over_the_kits(project):
    project.write(
        ".keisei/capabilities/policy/no-git-ops/capability.toml",
        HEAD.format(name="no-git-ops") + "[restricts]\ntool-patterns = ['^mine$']\n[gate]\nkind = \"pattern\"\n",
    )
    project.write(".keisei/capabilities/policy/no-git-ops/text.md", "Do not.\n")

    assert rule(project.policy(), "policy::no-git-ops").patterns[0].items == ("^mine$",)


def test_the_same_files_give_the_same_digest_and_another_task_another(project):
    first = policy_digest(project.policy())

    assert policy_digest(project.policy()) == first
    assert policy_digest(project.policy(tables='files-denylist = ["src/x"]')) != first


def test_an_old_name_in_a_role_is_the_current_capability(project):
    project.role("worker", "tools::cargo-only-bash")

    assert project.policy().rules[2].capability == "tools::bash-allowlist"


def test_an_elevated_capability_is_dropped_and_recorded(project):
    project.role("worker", "policy::no-git-ops", "safety::no-dep-bump")

    policy = project.policy(tables='[elevate]\ncapabilities = ["safety::no-dep-bump"]\nreason = "a release"')

    assert [each.capability for each in policy.rules] == ["role::tools", "role::bash", "policy::no-git-ops"]
    assert policy.elevated == ("safety::no-dep-bump",)


@pytest.mark.parametrize("name", ["policy::no-git-ops", "scope::files-whitelist", "role::bash", "role::tools"])
def test_what_holds_for_every_task_cannot_be_elevated(project, name):
    with pytest.raises(KeiseiError):
        project.policy(tables=f'[elevate]\ncapabilities = ["{name}"]\nreason = "a release"')


def test_parameters_of_the_task_reach_a_capability_of_the_project(project):
    project.capability(
        "mine",
        "[parameterized]\naccepts = ['limit', 'names']\n[parameterized.defaults]\nlimit = 3\nnames = ['x']\n"
        "[gate]\nkind = 'pattern'\nmode = 'allow-only'\npatterns-from = 'names'\n",
    )
    project.role("worker", "policy::mine")

    assert rule(project.policy(), "policy::mine").parameters == {"limit": 3, "names": ["x"]}
    changed = project.policy(tables='[parameters."policy::mine"]\nnames = ["y"]')
    assert rule(changed, "policy::mine").parameters == {"limit": 3, "names": ["y"]}
    assert rule(changed, "policy::mine").patterns[0].items == ("y",)


# --- what is wrong ----------------------------------------------------------------------------------------------------


def test_a_role_that_names_a_capability_nobody_has_is_an_error(project):
    project.role("worker", "policy::gone")

    with pytest.raises(KeiseiError, match="policy::gone"):
        project.policy()


def test_a_parameter_that_is_not_accepted_is_an_error(project):
    with pytest.raises(AuthorError, match="nonsense"):
        project.policy(tables='[parameters."policy::no-git-ops"]\nnonsense = 1')


def test_a_script_gate_without_its_script_is_an_error(project):
    project.capability("mine", "[gate]\nkind = 'script'\npath = 'gate.sh'\n")
    project.role("worker", "policy::mine")

    with pytest.raises(AuthorError, match=r"gate\.sh"):
        project.policy()


def test_a_single_capability_without_its_script_is_an_error_too(project):
    """SPEC 4.1: found without an artefact it declares is a hard error; judged alone nothing else would notice."""
    project.capability("mine", "[gate]\nkind = 'script'\npath = 'gate.sh'\non-error = 'allow'\n")

    with pytest.raises(KeiseiError, match=r"gate\.sh"):
        capabilities_policy(project.library, ["policy::mine"], None, project.setting)


@pytest.mark.parametrize("name", ["policy::gone", "", "no-category", "policy::no-git-op"])
def test_a_single_capability_nobody_has_is_an_error(project, name):
    with pytest.raises(OperatorError):
        capabilities_policy(project.library, [name], None, project.setting)


def test_a_worktree_that_is_no_folder_is_an_error(project):
    with pytest.raises(OperatorError, match="is not a folder"):
        Setting(project.folder / "none", None, None)
    with pytest.raises(OperatorError, match="main checkout"):
        Setting(project.folder, project.folder / "keisei.toml", None)


def test_a_worktree_is_known_by_where_it_really_is(project):
    link = project.folder.parent / "link"
    link.symlink_to(project.folder)

    assert Setting(link, link, None).worktree == Setting(link, link, None).main == str(project.folder)


def test_a_compiled_gate_of_the_originals_is_the_kits(project):
    project.write(
        ".keisei/capabilities/policy/no-git-ops/capability.toml",
        HEAD.format(name="no-git-ops") + '[gate]\nrust-module = "no_git_ops"\n',
    )
    project.write(".keisei/capabilities/policy/no-git-ops/text.md", "Do not.\n")

    policy = project.policy()

    assert decision(policy, "git push") == "deny"
    assert rule(policy, "policy::no-git-ops").patterns != ()


def test_a_compiled_gate_that_the_kit_does_not_know_is_an_error_of_the_author(project):
    project.capability("mine", '[gate]\nrust-module = "mine"\n')
    project.role("worker", "policy::mine")

    with pytest.raises(AuthorError):
        project.policy()


def test_a_compiled_gate_that_the_kit_does_not_know_is_an_error_alone_too(project):
    project.capability("mine", '[gate]\nrust-module = "mine"\n')

    with pytest.raises(KeiseiError):
        capabilities_policy(project.library, ["policy::mine"], None, project.setting)


# --- commands of checks -----------------------------------------------------------------------------------------------


def test_the_checks_of_a_task_may_be_run_exactly_and_nothing_more(project):
    policy = project.policy(tables='[verification]\ncheck = "make lint"\ntest = "pytest -q tests"')

    assert decision(policy, "make lint") == "allow"
    assert decision(policy, "pytest -q tests") == "allow"
    for other in ("make", "make lint deploy", "pytest -q", "pytest -q tests -p evil", "xmake lint", "make lintx"):
        assert decision(policy, other) == "deny", other


def test_special_letters_of_a_check_mean_themselves(project):
    policy = project.policy(tables="[verification]\ncheck = 'grep -c a.c src/a'")

    assert decision(policy, "grep -c a.c src/a") == "allow"
    assert decision(policy, "grep -c abc src/a") == "deny"


def test_a_newline_does_not_end_a_check_that_is_allowed(project):
    policy = project.policy(tables="[verification]\ncheck = 'make lint'")

    for pattern in rule(policy, "role::bash").patterns[0].items:
        assert not re.search(pattern, "make lint\nevil")
    assert decision(policy, "make 'lint\n'") == "deny"


def test_every_command_of_a_check_that_is_a_list_may_be_run(project):
    policy = project.policy(tables="[verification]\ncheck = 'make lint && make types'")

    assert decision(policy, "make lint && make types") == "allow"
    assert decision(policy, "make types") == "allow"
    assert decision(policy, "make") == "deny"


def test_crates_of_a_task_may_be_checked_and_tested(project):
    policy = project.policy(tables='[verification]\ncargo-check-crates = ["a"]\ncargo-test-crates = ["b"]')

    assert decision(policy, "cargo check -p a") == "allow"
    assert decision(policy, "cargo test -p b") == "allow"
    assert decision(policy, "cargo test -p a") == "deny"
    assert decision(policy, "cargo publish") == "deny"


def test_the_commands_of_the_project_may_be_run_exactly(project):
    project.write("keisei.toml", '[project]\nname = "shop"\n[commands]\ncheck = "make lint"\ntest = "make test"\n')

    policy = project.policy()

    assert decision(policy, "make lint; make test") == "allow"
    assert decision(policy, "make") == "deny"
    assert decision(policy, "make test deploy") == "deny"


def test_the_commands_of_a_skill_may_be_run_exactly(project):
    project.write(".keisei/skills/ship/SKILL.md", "---\nname: ship\ndescription: Ships.\n---\n\nShip it.\n")
    project.write(".keisei/skills/ship/skill.toml", '[[cli_commands]]\nname = "ship"\ncommand = "shipit --dry-run"\n')
    project.write(
        ".keisei/profiles/shipper.toml",
        """
profile_id = "shipper"
style = "claude-like"
role = "worker"
default_adapter_id = "claude-code"
skill_ids = ["ship"]
prompt_parts = []
[context_policy]
max_prompt_chars = 20000
include_recent_memory = false
[result_policy]
allow_follow_up_tasks = false
allow_external_messages = false
""",
    )

    policy = project.policy(more='profile = "shipper"')

    assert decision(policy, "shipit --dry-run") == "allow"
    assert decision(policy, "shipit") == "deny"
    assert decision(policy, "shipit --dry-run --force") == "deny"
    assert decision(project.policy(), "shipit --dry-run") == "deny"


def test_a_check_that_runs_git_does_not_overrule_a_rule_against_git(project):
    assert decision(project.policy(tables="[verification]\ncheck = 'git diff --check'"), "git diff --check") == "deny"


def test_a_check_that_cannot_be_read_allows_nothing(project):
    policy = project.policy(tables="[verification]\ncheck = 'for x in'")

    assert rule(policy, "role::bash").patterns[0].items == ("^ls( |$)",)


# --- keisei.toml ------------------------------------------------------------------------------------------------------


def test_declared_fields_of_tools_reach_the_policy(project):
    project.write(
        "keisei.toml",
        '[project]\nname = "shop"\n[gate.tools."mcp__fs__put"]\nwrites = ["onto"]\nreads = ["path"]\n',
    )

    policy = project.policy()
    judge = Judge(lambda *_: None)

    def put(**given):
        return judge.judge(ToolCall(tool="mcp__fs__put", input=given), policy).decision

    assert policy.tools["mcp__fs__put"].writes == ("onto",)
    assert put(onto="src/x", path="docs/y") == "allow"
    assert put(onto="docs/x") == "deny"


def test_policy_is_never_read_from_the_worktree(project, tmp_path):
    """The agent writes there: a keisei.toml, a role or a capability of its own changes nothing."""
    other = Project(tmp_path / "worktree")
    other.write("keisei.toml", '[project]\nname = "evil"\n[commands]\ncheck = "git push"\n')
    other.write(".keisei/capabilities/policy/no-git-ops/capability.toml", "rubbish")

    policy = task_policy(project.library, project.task(), Setting(other.folder, None, None))[0]

    assert policy.worktree == str(other.folder.resolve())
    assert decision(policy, "git push") == "deny"


# --- single capabilities ----------------------------------------------------------------------------------------------


def test_single_capabilities_take_the_tasks_parameters(project):
    policy = capabilities_policy(project.library, ["scope::files-whitelist"], project.task(), project.setting)

    assert [each.capability for each in policy.rules] == ["scope::files-whitelist"]
    assert policy.rules[0].globs[0].items == ("src/**",)


def test_single_capabilities_without_a_task_take_their_defaults(project):
    policy = capabilities_policy(
        project.library, ["tools::cargo-only-bash", "policy::no-git-ops"], None, project.setting
    )

    assert [each.capability for each in policy.rules] == ["tools::bash-allowlist", "policy::no-git-ops"]
    assert decision(policy, "cargo check") == "allow"
    assert decision(policy, "rm -rf /") == "deny"


def test_a_vector_brings_its_own_parameters(project):
    policy = vector_policy(project.library, "scope::files-whitelist", {"files-whitelist": ["docs/**"]}, project.setting)

    assert policy.rules[0].globs[0].items == ("docs/**",)


def test_a_role_with_the_allow_list_and_no_patterns_of_its_own_has_those_of_the_capability(project):
    """SPEC 5: `tools::bash-allowlist` takes its patterns from the role, and its own TOML is the default."""
    project.write(
        ".keisei/roles/worker.toml",
        '[role]\nname = "worker"\n[capabilities]\nrequired = ["tools::bash-allowlist"]\n[tools]\nallowed = ["Bash"]\n',
    )

    assert decision(project.policy(), "cargo check") == "allow"
    assert decision(project.policy(), "make deploy") == "deny"
