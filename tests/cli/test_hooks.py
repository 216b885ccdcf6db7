"""`keisei hooks`: what people and programs see."""

import json
import os
import subprocess

import pytest

from keisei.adapters.hook_command import parts_of
from keisei.hooks import status as status_module
from tests.cli.shell import BIN


@pytest.fixture
def desk(shell, monkeypatch, tmp_path):
    """A shell in a project, with no harness of the developer's in sight."""
    for name in ("CODEX_HOME", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_SIMPLE", "KEI_CAPABILITY_NAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(status_module, "MANAGED", tmp_path / "managed-settings.json")
    shell.cd(shell.folder_of("it's a project/.git").parent)
    return shell


def commands(settings):
    return {hook["command"] for groups in settings["hooks"].values() for group in groups for hook in group["hooks"]}


def test_install_status_and_uninstall_say_what_they_did(desk):
    assert desk.run("hooks", "install", "claude").out == "installed in .claude/settings.json\n"
    assert desk.run("hooks", "install", "claude").out == "already installed in .claude/settings.json\n"
    done = desk.run("hooks", "status", "claude", "--project")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[1].split() == ["claude", "project", "installed", ".claude/settings.json"]
    assert desk.run("hooks", "uninstall", "claude").out == "uninstalled from .claude/settings.json\n"
    assert desk.run("hooks", "uninstall", "claude").out == "not installed in .claude/settings.json\n"


@pytest.mark.parametrize(("harness", "name"), [("claude", ".claude/settings.json"), ("codex", ".codex/hooks.json")])
def test_the_users_settings_are_in_the_home(desk, harness, name):
    desk.run("hooks", "install", harness, "--user")

    assert (desk.home / name).is_file()
    assert desk.run("hooks", "status", harness).code == 0
    desk.run("hooks", "uninstall", harness, "--user")
    assert list(desk.home.iterdir()) == []


@pytest.mark.parametrize("harness", ["claude", "codex"])
def test_print_emits_the_settings_and_writes_nothing(desk, harness):
    done = desk.run("hooks", "install", harness, "--print")

    settings = json.loads(done.out)
    (command,) = commands(settings)
    parts = parts_of(command)
    assert parts.argv == (str(BIN / "kei-capability"), "check", "--in", str(desk.folder / "it's a project"))
    assert parts.only_with == "KEI_CAPABILITY_NAME"
    assert [set(settings), set(settings["hooks"])] == [{"hooks"}, {"PreToolUse", "PostToolUse"}]
    assert [path.name for path in desk.folder.glob("it's a project/*")] == [".git"]
    assert list(desk.home.iterdir()) == []


def test_what_is_printed_is_what_is_installed(desk):
    desk.run("hooks", "install", "claude")

    installed = json.loads((desk.folder / "it's a project/.claude/settings.json").read_text(encoding="utf-8"))
    assert json.loads(desk.run("hooks", "install", "claude", "--print").out) == installed


@pytest.mark.parametrize("harness", ["claude", "codex"])
def test_a_task_is_named_by_its_full_path_and_judged_by_the_whole_role(desk, harness):
    task = desk.folder / "it's a project" / "my $task.toml"
    task.write_text("", encoding="utf-8")

    (command,) = commands(json.loads(desk.run("hooks", "install", harness, "--task", "my $task.toml", "--print").out))

    parts = parts_of(command)
    judges = (str(BIN / "keisei"), "gate", "check", "--task", str(task), "--harness", harness)
    assert parts.argv == (*judges, "--worktree", str(task.parent))
    assert parts.only_with is None


@pytest.mark.parametrize("named", [True, False], ids=["capability", "task"])
def test_an_agent_that_goes_elsewhere_takes_neither_the_worktree_nor_the_rules_with_it(desk, named):
    project = desk.folder / "it's a project"
    (project / "task.toml").write_text('[task]\nrole = "edit-local"\n[scope]\nfiles-whitelist = ["src/**"]\n')
    roles, rules = project / "src/.keisei/roles", project / "src/.keisei/capabilities/policy/no-git-ops"
    for folder in (roles, rules, project / "src/.git"):
        folder.mkdir(parents=True)
    (roles / "edit-local.toml").write_text('[role]\nname = "edit-local"\n[tools]\nallowed = ["Bash"]\n')
    (rules / "capability.toml").write_text('[capability]\nname = "policy::no-git-ops"\n')
    (rules / "text.md").write_text("You may do as you like.")
    asked = () if named else ("--task", "task.toml")
    (command,) = commands(json.loads(desk.run("hooks", "install", "claude", *asked, "--print").out))
    call = {"tool_name": "Bash", "tool_input": {"command": "git push"}, "cwd": str(project / "src")}
    env = os.environ | {"KEI_CAPABILITY_NAME": "policy::no-git-ops"}

    done = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=project / "src",
        input=json.dumps(call).encode(),
        capture_output=True,
        env=env,
        check=False,
    )

    assert done.returncode == 2
    assert b"policy::no-git-ops: `git push` is refused" in done.stderr


def test_the_hook_passes_through_where_no_capability_is_named(desk):
    (command,) = commands(json.loads(desk.run("hooks", "install", "claude", "--print").out))

    done = subprocess.run(["/bin/sh", "-c", command], input=b"{}", capture_output=True, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_the_hook_refuses_where_the_capability_cannot_be_checked(desk):
    (command,) = commands(json.loads(desk.run("hooks", "install", "claude", "--print").out))
    env = os.environ | {"KEI_CAPABILITY_NAME": "policy::there-is-no-such-thing"}

    done = subprocess.run(["/bin/sh", "-c", command], input=b"{}", capture_output=True, env=env, check=False)

    assert done.returncode == 2
    assert done.stderr != b""


def test_a_task_that_is_not_there_is_told(desk):
    done = desk.run("hooks", "install", "claude", "--task", "gone.toml")

    assert done.code == 1
    assert "there is no task file `gone.toml`" in done.err


def test_nothing_installed_is_not_a_success(desk):
    done = desk.run("hooks", "status")

    assert done.code == 2
    assert [line.split()[2] for line in done.out.splitlines()[1:]] == ["absent"] * 4


def test_hooks_that_are_switched_off_are_told_with_what_to_do(desk):
    settings = desk.folder_of("it's a project/.claude") / "settings.json"
    settings.write_text('{"disableAllHooks": true}', encoding="utf-8")

    installed = desk.run("hooks", "install", "claude")
    status = desk.run("hooks", "status", "claude")

    assert (installed.code, status.code) == (0, 2)
    for done in (installed, status):
        assert "warning: claude project: .claude/settings.json sets disableAllHooks" in done.err
        assert "  hint: remove it, or set it to false" in done.err


def test_status_as_json_has_every_place_and_every_reason(desk):
    desk.run("hooks", "install", "codex")

    done = desk.run("hooks", "status", "--json")

    told = json.loads(done.out)
    assert [(each["harness"], each["scope"], each["state"]) for each in told] == [
        ("claude", "project", "absent"),
        ("claude", "user", "absent"),
        ("codex", "project", "off"),
        ("codex", "user", "absent"),
    ]
    assert set(told[2]) == {"harness", "scope", "path", "state", "command", "reasons"}
    assert [set(reason) for reason in told[2]["reasons"]] == [{"state", "text", "hint"}]
    assert (done.code, done.err) == (2, "")


def test_settings_that_are_not_json_are_one_clear_error(desk):
    settings = desk.folder_of("it's a project/.claude") / "settings.json"
    settings.write_text("{\n  // mine\n}", encoding="utf-8")

    done = desk.run("hooks", "install", "claude")

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(".claude/settings.json:2:3: error[syntax]: ")
    assert settings.read_text(encoding="utf-8") == "{\n  // mine\n}"


@pytest.mark.parametrize("words", [["install"], ["install", "vim"], ["uninstall"], ["status", "vim"], ["nope"]])
def test_a_usage_mistake_is_one(desk, words):
    assert desk.run("hooks", *words).code == 1


def test_a_disk_that_is_full_changes_nothing(desk):
    settings = desk.folder_of("it's a project/.claude") / "settings.json"
    settings.write_text("{}", encoding="utf-8")
    limited = ["/bin/sh", "-c", 'ulimit -f 0; exec "$0" hooks install claude', BIN / "keisei"]

    done = subprocess.run(limited, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert done.stderr.startswith("error: cannot write .claude/settings.json.keisei-backup: file too large")
    assert [path.name for path in settings.parent.iterdir()] == ["settings.json"]
    assert settings.read_text(encoding="utf-8") == "{}"


def test_a_working_directory_that_is_gone_is_told(desk):
    gone = desk.folder_of("gone")
    desk.cd(gone)
    gone.rmdir()

    done = desk.run("hooks", "status")

    assert done.code == 1
    assert "the working directory does not exist any more" in done.err
