"""Status: installed is not the same as effective."""

import json

import pytest

from keisei.adapters.hook_command import shell_form
from keisei.hooks import status as status_module


@pytest.fixture(autouse=True)
def no_managed_settings(monkeypatch, tmp_path):
    monkeypatch.setattr(status_module, "MANAGED", tmp_path / "managed-settings.json")


def trust_project(desk):
    config = desk.home / ".codex" / "config.toml"
    text = config.read_text(encoding="utf-8") if config.exists() else ""
    desk.write(config, text + f'\n[projects."{desk.project}"]\ntrust_level = "trusted"\n')


def texts(status):
    return " | ".join(reason.text for reason in status.reasons)


def test_nothing_installed_is_absent(desk, where):
    assert desk.status(*where).state == "absent"
    assert desk.status(*where).reasons == ()


def test_what_is_installed_is_effective(desk, where):
    trust_project(desk)
    desk.install(*where)

    status = desk.status(*where)

    assert (status.state, status.reasons, status.command) == ("installed", (), desk.command)


def test_a_program_that_is_gone_is_stale(desk, where):
    trust_project(desk)
    desk.install(*where)
    desk.program.unlink()

    status = desk.status(*where)

    assert status.state == "stale"
    assert f"the program {desk.program} is missing" in texts(status)


def test_another_keisei_is_stale(desk):
    desk.install(command=shell_form(["/bin/sh"]))

    assert desk.status().state == "stale"
    assert "which is not this keisei" in texts(desk.status())


def test_a_task_file_that_is_gone_is_stale(desk):
    desk.install(command=shell_form([str(desk.program), "--task", "/gone.toml"]))

    assert "the task file /gone.toml is missing" in texts(desk.status())


@pytest.mark.parametrize(
    "change",
    [
        lambda hooks: hooks.pop("PreToolUse"),
        lambda hooks: hooks.pop("PostToolUse"),
        lambda hooks: hooks["PreToolUse"][0].update(matcher="Bash"),
        lambda hooks: hooks["PreToolUse"][0]["hooks"][0].update(timeout=1),
        lambda hooks: hooks["PreToolUse"][0]["hooks"][0].update({"async": True}),
        lambda hooks: hooks["PreToolUse"][0]["hooks"][0].update(command="true # keisei-hook"),
    ],
    ids=["no pre", "no post", "narrow", "timeout", "async", "command"],
)
def test_a_changed_hook_is_stale_and_install_mends_it(desk, change):
    desk.install()
    path = desk.place().path
    data = json.loads(path.read_text(encoding="utf-8"))
    change(data["hooks"])
    path.write_text(json.dumps(data), encoding="utf-8")

    assert desk.status().state == "stale"
    assert desk.install()
    assert desk.status().state == "installed"


@pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
@pytest.mark.parametrize(
    ("more", "words"),
    [({"disableAllHooks": True}, "disableAllHooks"), ({"env": {"CLAUDE_CODE_SIMPLE": "1"}}, "CLAUDE_CODE_SIMPLE")],
)
def test_a_switch_in_any_settings_of_claude_is_found(desk, name, more, words):
    desk.install("claude", "user")
    desk.install()
    path = desk.project / ".claude" / name
    data = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    desk.write(path, json.dumps(data | more))

    for scope in ("project", "user"):
        status = desk.status("claude", scope)
        assert status.state == "off"
        assert words in texts(status)
        assert name in texts(status)


def test_the_higher_settings_decide_whether_hooks_are_off(desk):
    desk.install()
    desk.write(desk.home / ".claude" / "settings.json", '{"disableAllHooks": true}')
    assert desk.status().state == "off"

    desk.write(desk.project / ".claude" / "settings.local.json", '{"disableAllHooks": false}')
    assert desk.status().state == "installed"


def test_managed_settings_count(desk):
    desk.install()
    desk.write(status_module.MANAGED, '{"allowManagedHooksOnly": true}')

    assert "only managed hooks" in texts(desk.status())


def test_the_variable_in_this_shell_is_told(desk):
    desk.install()
    desk.environment = {"CLAUDE_CODE_SIMPLE": "1"}

    assert desk.status().state == "off"


def test_a_field_that_makes_claude_ignore_the_file_is_told(desk):
    desk.install()
    path = desk.place().path
    data = json.loads(path.read_text(encoding="utf-8"))
    desk.write(path, json.dumps(data | {"permissions": {"allow": "x"}}))

    assert desk.status().state == "off"
    assert "`permissions.allow` is not a list" in texts(desk.status())


@pytest.mark.parametrize("text", ["nope", "[]", "\ufeff{}"])
def test_a_file_that_cannot_be_read_is_broken(desk, where, text):
    desk.write(desk.place(*where).path, text)

    status = desk.status(*where)

    assert status.state == "broken"
    assert status.reasons


def test_every_reason_says_what_to_do(desk):
    desk.install("codex")
    desk.program.unlink()

    assert all(reason.hint for reason in desk.status("codex").reasons)
    assert len(desk.status("codex").reasons) == 2


@pytest.mark.parametrize("name", ["hooks", "codex_hooks"])
def test_a_feature_that_is_switched_off_is_found(desk, name):
    desk.write(desk.home / ".codex" / "config.toml", f"[features]\n{name} = false\n")
    desk.install("codex", "user")

    assert desk.status("codex", "user").state == "off"
    assert f"`{name} = false`" in texts(desk.status("codex", "user"))


def test_a_repository_that_switches_hooks_off_is_found(desk):
    trust_project(desk)
    desk.install("codex")
    desk.write(desk.project / ".codex" / "config.toml", "[features]\nhooks = false\n")

    assert desk.status("codex").state == "off"


def test_a_project_that_codex_does_not_trust_is_told(desk):
    desk.install("codex")

    assert desk.status("codex").state == "off"
    assert "does not trust the project" in texts(desk.status("codex"))


def test_a_worktree_is_trusted_with_its_repository(desk):
    trust_project(desk)
    worktree = desk.folder / "worktree"
    desk.write(worktree / ".git", f"gitdir: {desk.project}/.git/worktrees/w\n")
    desk.cwd = worktree
    desk.install("codex")

    assert desk.status("codex").state == "installed"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("trusted_hash", "enabled = false\ntrusted_hash", "switches"),
        ("sha256:", "sha256:0", "does not trust"),
        ("[hooks.state", "[other.state", "does not trust"),
    ],
)
def test_a_hook_that_codex_skips_is_told(desk, old, new, words):
    desk.install("codex", "user")
    config = desk.home / ".codex" / "config.toml"
    config.write_text(config.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")

    assert desk.status("codex", "user").state == "off"
    assert words in texts(desk.status("codex", "user"))


def test_a_key_for_which_codex_drops_the_file_is_told(desk):
    desk.install("codex", "user")
    path = desk.place("codex", "user").path
    data = json.loads(path.read_text(encoding="utf-8"))
    desk.write(path, json.dumps({"$schema": "x"} | data))

    assert desk.status("codex", "user").state == "off"
    assert "`$schema` is not known" in texts(desk.status("codex", "user"))


def test_a_configuration_that_is_not_toml_is_broken(desk):
    desk.install("codex", "user")
    desk.write(desk.home / ".codex" / "config.toml", "= nope")

    assert desk.status("codex", "user").state == "broken"
