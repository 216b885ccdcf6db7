"""Installing and uninstalling: what was there stays there, to the byte."""

import json
import os
import stat
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from keisei.adapters.hook_codex import trust
from keisei.adapters.hook_command import is_ours, shell_form
from keisei.hooks import edit
from keisei.hooks.trust import state_of
from keisei.records.error import AuthorError, OperatorError, WorldFault
from tests.hooks.conftest import Desk
from tests.hooks.test_merge import settings_texts

NEAT = '{\n    "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "echo"}]}]}\n}\n'


def ours(path):
    """The events of a file that have a hook of ours, and how many."""
    hooks = json.loads(path.read_text(encoding="utf-8")).get("hooks", {})
    found = [event for event, groups in hooks.items() for group in groups for hook in group["hooks"]]
    flags = [is_ours(hook["command"]) for groups in hooks.values() for group in groups for hook in group["hooks"]]
    return [event for event, flag in zip(found, flags, strict=True) if flag]


def test_nothing_is_left_of_an_install_into_nothing(desk, where):
    before = desk.tree()

    assert desk.install(*where)
    assert ours(desk.place(*where).path) == ["PreToolUse", "PostToolUse"]
    assert desk.uninstall(*where)

    assert desk.tree() == before


@pytest.mark.parametrize("text", [NEAT, "{}", "", "\n", '{"hooks":{}}', '{"hooks": {"PreToolUse": []}}\r\n'])
def test_a_file_is_what_it_was_after_uninstall(desk, where, text):
    path = desk.write(desk.place(*where).path, text)
    path.chmod(0o640)
    before = desk.tree()

    desk.install(*where)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    desk.uninstall(*where)

    assert desk.tree() == before


@given(text=settings_texts())
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_any_settings_are_what_they_were_byte_for_byte(text):
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(Path(folder))
        desk.write(desk.place().path, text)
        before = desk.tree()
        try:
            desk.install()
        except AuthorError:  # generated settings may be such as Claude ignores
            assert desk.tree() == before
            return

        desk.uninstall()

        assert desk.tree() == before


def test_the_second_install_changes_nothing(desk, where):
    desk.write(desk.place(*where).path, NEAT)
    desk.install(*where)
    before = desk.tree()

    assert not desk.install(*where)

    assert desk.tree() == before


def test_the_second_uninstall_changes_nothing(desk, where):
    desk.write(desk.place(*where).path, NEAT)
    before = desk.tree()

    assert not desk.uninstall(*where)

    assert desk.tree() == before


def test_an_older_entry_is_updated_and_the_original_is_still_known(desk, where):
    path = desk.write(desk.place(*where).path, NEAT)
    before = desk.tree()
    desk.install(*where, command=shell_form(["/old/keisei"]))

    assert desk.install(*where)
    assert "/old/keisei" not in path.read_text(encoding="utf-8")
    assert ours(path) == ["PreToolUse", "PostToolUse"]
    desk.uninstall(*where)

    assert desk.tree() == before


def test_what_somebody_changed_since_stays(desk, where):
    path = desk.write(desk.place(*where).path, NEAT)
    desk.install(*where)
    edited = path.read_text(encoding="utf-8").replace('"echo"', '"echo edited"')
    path.write_text(edited, encoding="utf-8")

    desk.uninstall(*where)

    assert path.read_text(encoding="utf-8") == NEAT.replace('"echo"', '"echo edited"')
    assert not edit.backup_path(path).exists()


def test_what_somebody_changed_between_two_installs_stays(desk, where):
    path = desk.write(desk.place(*where).path, NEAT)
    desk.install(*where, command=shell_form(["/old/keisei"]))
    path.write_text(path.read_text(encoding="utf-8").replace('"echo"', '"echo edited"'), encoding="utf-8")

    desk.install(*where)
    desk.uninstall(*where)

    assert path.read_text(encoding="utf-8") == NEAT.replace('"echo"', '"echo edited"')


def test_a_file_we_made_stays_if_somebody_uses_it(desk):
    path = desk.place().path
    desk.install()
    data = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({"model": "x"} | data), encoding="utf-8")

    desk.uninstall()

    assert json.loads(path.read_text(encoding="utf-8")) == {"model": "x"}


def test_a_file_we_made_and_somebody_only_reformatted_goes(desk):
    before = desk.tree()
    desk.install()
    path = desk.place().path
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8"))), encoding="utf-8")

    desk.uninstall()

    assert desk.tree() == before


def test_tables_that_were_empty_before_us_stay(desk):
    path = desk.write(desk.place().path, '{"hooks": {"PreToolUse": []}, "a": 1}')
    desk.install()
    path.write_text(path.read_text(encoding="utf-8").replace('"a": 1', '"a": 2'), encoding="utf-8")

    desk.uninstall()

    assert json.loads(path.read_text(encoding="utf-8")) == {"hooks": {"PreToolUse": []}, "a": 2}


@pytest.mark.parametrize("damage", ["", "[]", '{"original": 3}', "\0"])
def test_a_lost_backup_costs_only_the_white_space(desk, damage):
    path = desk.write(desk.place().path, NEAT)
    desk.install()
    edit.backup_path(path).write_text(damage, encoding="utf-8")

    desk.uninstall()

    assert path.read_text(encoding="utf-8") == NEAT
    assert not edit.backup_path(path).exists()


def test_a_backup_is_for_its_owners_eyes(desk, where):
    path = desk.write(desk.place(*where).path, NEAT)

    desk.install(*where)

    assert stat.S_IMODE(edit.backup_path(path).stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "text", ["nope", "{,}", '{"hooks": []}', "[]", '{"a": 1} // x', "\ufeff{}", "{}\0", '{"a":' * 99]
)
def test_a_file_that_is_not_settings_is_told_and_left_alone(desk, where, text):
    desk.write(desk.place(*where).path, text)
    before = desk.tree()

    with pytest.raises(AuthorError):
        desk.install(*where)

    assert desk.tree() == before


def test_a_file_that_claude_would_ignore_must_be_mended_first(desk):
    desk.write(desk.place().path, '{"permissions": {"allow": "x"}}')

    with pytest.raises(AuthorError, match=r"permissions\.allow"):
        desk.install()


def test_a_key_for_which_codex_drops_the_file_must_go_first(desk):
    desk.write(desk.place("codex").path, '{"$schema": "x"}')

    with pytest.raises(AuthorError, match="schema"):
        desk.install("codex")


def test_a_huge_file_is_not_read_and_one_that_would_become_huge_is_not_written(desk):
    for size in (2_000_000, 1024 * 1024 - 20):
        desk.write(desk.place().path, json.dumps({"a": "x" * size})[: size + 9])
        before = desk.tree()

        with pytest.raises(AuthorError) as caught:
            desk.install()

        assert [problem.code for problem in caught.value.problems] == ["too-large"]
        assert desk.tree() == before


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["folder", "pipe"])
def test_what_is_no_file_is_told(desk, make):
    path = desk.place().path
    path.parent.mkdir()
    make(path)

    with pytest.raises(AuthorError, match="cannot be read"):
        desk.install()


def test_a_file_where_the_folder_should_be_is_told(desk):
    desk.write(desk.project / ".claude", "x")

    with pytest.raises(WorldFault, match="cannot write"):
        desk.install()

    assert (desk.project / ".claude").read_text(encoding="utf-8") == "x"


def test_a_symlink_inside_the_home_is_followed_and_stays_a_symlink(desk):
    real = desk.write(desk.home / "dotfiles" / "claude.json", NEAT)
    link = desk.place("claude", "user").path
    link.parent.mkdir()
    link.symlink_to(real)
    before = desk.tree()

    desk.install("claude", "user")
    assert link.is_symlink()
    assert ours(real) == ["PreToolUse", "PostToolUse"]
    desk.uninstall("claude", "user")

    assert desk.tree() == before


@pytest.mark.parametrize("folder", [False, True], ids=["file", "folder"])
def test_a_symlink_that_leads_out_is_refused(desk, where, folder):
    outside = desk.write(desk.folder / "elsewhere" / desk.place(*where).path.name, NEAT)
    path = desk.place(*where).path
    if folder:
        path.parent.symlink_to(outside.parent)
    else:
        path.parent.mkdir()
        path.symlink_to(outside)

    with pytest.raises(OperatorError, match="leads out"):
        desk.install(*where)
    with pytest.raises(OperatorError, match="leads out"):
        desk.uninstall(*where)

    assert outside.read_text(encoding="utf-8") == NEAT


@pytest.mark.parametrize("target", ["gone.json", "settings.json"], ids=["nowhere", "to itself"])
def test_a_symlink_that_leads_nowhere_is_refused(desk, target):
    path = desk.place().path
    path.parent.mkdir()
    path.symlink_to(target)

    with pytest.raises(OperatorError, match="symlink"):
        desk.install()


@pytest.mark.parametrize(
    ("module", "name"), [(os, "fsync"), (os, "fchmod"), (tempfile, "mkstemp")], ids=["full disk", "mode", "read-only"]
)
@pytest.mark.parametrize("nth", [1, 2, 3, 4])
def test_a_disk_that_fails_changes_no_file(desk, monkeypatch, module, name, nth):
    desk.write(desk.place("codex").path, NEAT)
    before = desk.tree()
    real, calls = getattr(module, name), []

    def failing(*args, **options):
        calls.append(args)
        if len(calls) == nth:
            raise OSError(28, "No space left on device")
        return real(*args, **options)

    monkeypatch.setattr(module, name, failing)
    with pytest.raises(WorldFault, match=r"cannot write .*no space left on device"):
        desk.install("codex")

    monkeypatch.undo()
    assert desk.tree() == before


def test_a_file_of_somebody_else_keeps_its_owner(desk):
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    path = desk.write(desk.place().path, NEAT)
    os.chown(path, 4321, 4322)

    desk.install()

    assert (path.stat().st_uid, path.stat().st_gid) == (4321, 4322)


def test_installs_at_the_same_time_do_not_lose_each_other(desk):
    desk.write(desk.home / ".codex" / "config.toml", 'model = "x"\n')
    before = desk.tree()
    projects = []
    for number in range(6):
        project = desk.folder / f"project {number}"
        (project / ".git").mkdir(parents=True)
        projects.append(project)
    program = (
        "import sys; from pathlib import Path; from keisei.hooks.install import install, uninstall\n"
        "from keisei.hooks.place import Around, place_of\n"
        "place = place_of('codex', 'project', Around(Path(sys.argv[1]), Path(sys.argv[2]), {}))\n"
        "install(place, 'x # keisei-hook') if sys.argv[3] == 'in' else uninstall(place)\n"
    )

    for verb in ("in", "out"):
        running = [subprocess.Popen([sys.executable, "-c", program, project, desk.home, verb]) for project in projects]
        assert [each.wait(60) for each in running] == [0] * len(projects)
        if verb == "in":
            config = tomllib.loads((desk.home / ".codex" / "config.toml").read_text(encoding="utf-8"))
            assert len(state_of(config)) == 2 * len(projects)

    for project in projects:
        (project / ".git").rmdir()
        project.rmdir()
    assert desk.tree() == before


def test_somebody_who_never_lets_go_is_told_of(desk, monkeypatch):
    monkeypatch.setattr(edit, "_PATIENCE_S", 0)

    with edit.locked(desk.project), pytest.raises(WorldFault, match="another keisei"):
        desk.install()


def test_codex_trusts_exactly_what_was_written(desk):
    config = desk.write(desk.home / ".codex" / "config.toml", '# mine\nmodel = "x"\n')
    for scope in ("project", "user"):
        desk.install("codex", scope)

    wanted = {}
    for scope in ("project", "user"):
        path = desk.place("codex", scope).path
        wanted |= trust(json.loads(path.read_text(encoding="utf-8")), str(path))
    state = state_of(tomllib.loads(config.read_text(encoding="utf-8")))
    assert {key: each["trusted_hash"] for key, each in state.items()} == wanted
    assert len(wanted) == 4


@pytest.mark.parametrize("order", [("project", "user"), ("user", "project")])
@pytest.mark.parametrize("text", [None, '# mine\nmodel = "x"'], ids=["no config", "config"])
def test_two_installs_share_the_trust_file_and_leave_it_as_it_was(desk, order, text):
    if text is not None:
        desk.write(desk.home / ".codex" / "config.toml", text)
    before = desk.tree()
    desk.install("codex", "project")
    desk.install("codex", "user")

    desk.uninstall("codex", order[0])
    assert desk.status("codex", order[1]).command is not None
    assert not [reason for reason in desk.status("codex", order[1]).reasons if "does not trust /" in reason.text]
    desk.uninstall("codex", order[1])

    assert desk.tree() == before


def test_what_codex_wrote_into_its_configuration_since_stays(desk):
    config = desk.home / ".codex" / "config.toml"
    desk.install("codex")
    with config.open("a", encoding="utf-8") as file:
        file.write(f'\n[projects."{desk.project}"]\ntrust_level = "trusted"\n')

    desk.uninstall("codex")

    assert tomllib.loads(config.read_text(encoding="utf-8")) == {
        "projects": {str(desk.project): {"trust_level": "trusted"}}
    }


def test_a_hook_behind_ours_keeps_its_trust_when_ours_goes(desk):
    place = desk.place("codex")
    desk.install("codex")
    data = json.loads(place.path.read_text(encoding="utf-8"))
    data["hooks"]["PreToolUse"].append({"hooks": [{"type": "command", "command": "theirs"}]})
    place.path.write_text(json.dumps(data), encoding="utf-8")
    with place.config.open("a", encoding="utf-8") as file:
        file.write(f'\n[hooks.state."{place.path}:pre_tool_use:1:0"]\ntrusted_hash = "theirs"\n')

    desk.uninstall("codex")

    state = state_of(tomllib.loads(place.config.read_text(encoding="utf-8")))
    assert state == {f"{place.path}:pre_tool_use:0:0": {"trusted_hash": "theirs"}}


def test_a_configuration_that_is_not_toml_leaves_hooks_json_alone(desk):
    desk.write(desk.home / ".codex" / "config.toml", "= nope")
    before = desk.tree()

    with pytest.raises(AuthorError):
        desk.install("codex")

    assert desk.tree() == before


def test_codex_home_is_where_the_variable_says_with_symlinks_followed(desk):
    (desk.folder / "real").mkdir()
    (desk.folder / "link").symlink_to("real")
    desk.environment = {"CODEX_HOME": str(desk.folder / "link")}

    assert desk.place("codex", "user").path == desk.folder / "real" / "hooks.json"
    assert desk.place("codex").config == desk.folder / "real" / "config.toml"


def test_claudes_folder_is_where_the_variable_says(desk):
    desk.environment = {"CLAUDE_CONFIG_DIR": str(desk.folder / "cc")}

    desk.install("claude", "user")

    assert ours(desk.folder / "cc" / "settings.json") == ["PreToolUse", "PostToolUse"]
    desk.uninstall("claude", "user")
    assert not (desk.folder / "cc").exists()


def test_the_project_is_the_git_root_also_of_a_worktree_else_the_folder(desk):
    inner = desk.project / "src" / "deep"
    inner.mkdir(parents=True)
    worktree = desk.folder / "worktree"
    desk.write(worktree / ".git", "gitdir: /x/.git/worktrees/w\n")
    (worktree / "sub").mkdir()
    found = []
    for cwd in (inner, worktree / "sub", desk.home):
        desk.cwd = cwd
        found.append(desk.place().root)

    assert found == [desk.project, worktree, desk.home]


def test_without_a_home_there_are_no_user_settings(desk):
    desk.home = None

    with pytest.raises(OperatorError, match="home"):
        desk.place("claude", "user")
