"""Compose and prepare at the door: exact bytes, a safe file beside the task, and refusals that say why."""

import hashlib
import json
import re
import stat
import tomllib

import pytest

from tests.library.seed_kit import write_kit
from tests.prepared import KEYS

TASK = """\
[task]
role = "edit-local"
agent-id = "cart-discounts"

[scope]
files-whitelist = ["src/**"]

[body]
text = "Do it, all of it: 形成.\\r\\n"
"""
BOTH = pytest.mark.parametrize("door", ["keisei", "kei-agent-runtime"])


@pytest.fixture
def task(shell):
    path = shell.folder_of("work") / "task.toml"
    path.write_text(TASK, encoding="utf-8")
    return path


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def words_of(door, verb):
    return [verb] if door == "kei-agent-runtime" else ["agent", verb]


@BOTH
def test_compose_prints_exactly_what_it_writes(shell, task, door):
    done = shell.spawn(*words_of(door, "compose"), task, command=door)

    assert (done.code, done.err) == (0, "")
    assert done.raw == (task.parent / "prompt.md").read_bytes()
    assert done.raw.endswith("Do it, all of it: 形成.\r\n".encode())


def test_compose_keeps_every_byte_of_a_kit_root(shell):
    root = write_kit(shell.folder / "kit")
    task = root / "tasks/forge-templating/task.toml"

    done = shell.spawn("compose", task, "--kit-root", root, command="kei-agent-runtime")

    assert b"no function over 30.\r\n\n\n---\n\n" in done.raw
    assert done.raw == (task.parent / "prompt.md").read_bytes()


def test_compose_replaces_an_older_prompt_and_leaves_nothing_else(shell, task):
    (task.parent / "prompt.md").write_text("old")

    done = shell.run("agent", "compose", task)

    assert (task.parent / "prompt.md").read_bytes() == done.raw
    assert names_in(task.parent) == ["prompt.md", "task.toml"]
    assert stat.S_IMODE((task.parent / "prompt.md").stat().st_mode) == 0o644


def test_a_symlink_in_the_prompts_place_is_replaced_and_its_target_left_alone(shell, task):
    target = shell.folder / "precious"
    target.write_text("precious")
    (task.parent / "prompt.md").symlink_to(target)

    done = shell.run("agent", "compose", task)

    assert target.read_text() == "precious"
    assert not (task.parent / "prompt.md").is_symlink()
    assert (task.parent / "prompt.md").read_bytes() == done.raw


def test_a_hard_link_in_the_prompts_place_is_replaced_and_its_other_name_left_alone(shell, task):
    target = shell.folder / "precious"
    target.write_text("precious")
    (task.parent / "prompt.md").hardlink_to(target)

    shell.run("agent", "compose", task)

    assert target.read_text() == "precious"


def test_a_folder_in_the_prompts_place_is_one_clear_error(shell, task):
    (task.parent / "prompt.md").mkdir()

    done = shell.run("agent", "compose", task)

    assert done.code == 1
    assert done.raw == b""
    assert done.err == (
        f"error: cannot write {task.parent}/prompt.md: is a directory\n  hint: check the folder and its free space\n"
    )
    assert names_in(task.parent) == ["prompt.md", "task.toml"]


def test_a_folder_that_cannot_be_written_is_one_clear_error(shell, task, monkeypatch):
    def refuse(*_args, **_options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.mkstemp", refuse)

    done = shell.run("agent", "compose", task)

    assert done.code == 1
    assert done.err.startswith(f"error: cannot write {task.parent}/prompt.md: permission denied\n")


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("nowhere/task.toml", "cannot be read: no such file or directory"),
        ("task.toml/task.toml", "cannot be read: not a directory"),
        (".", "cannot be read: it is not a regular file"),
    ],
    ids=["a-missing-folder", "a-file-in-its-place", "a-folder"],
)
@pytest.mark.parametrize("verb", ["compose", "prepare"])
def test_a_task_that_cannot_be_read_is_one_clear_error(shell, task, path, reason, verb):
    shell.cd(task.parent)

    done = shell.run("agent", verb, path)

    assert done.code == 1
    assert done.err == f"{path}: error[unreadable]: {reason}\n"


def test_a_task_is_composed_by_a_relative_path_and_from_anywhere(shell, task):
    shell.cd(task.parent)
    here = shell.run("agent", "compose", "task.toml").raw
    (task.parent / "prompt.md").unlink()
    shell.cd(shell.home)

    there = shell.run("agent", "compose", "../work/task.toml").raw

    assert here == there == (task.parent / "prompt.md").read_bytes()


# The role that nobody may have.


@BOTH
@pytest.mark.parametrize("verb", ["compose", "prepare"])
def test_git_ops_is_refused_naming_the_rule(shell, task, door, verb):
    task.write_text('[task]\nrole = "git-ops"\n')

    done = shell.spawn(*words_of(door, verb), task.name, command=door, cwd=task.parent)

    assert done.code == 1
    assert done.raw == b""
    assert done.err == (
        "task.toml:2:8: error[not-spawnable]: "
        "role `git-ops` cannot be spawned; by RULE 0.13 the orchestrator holds git\n"
        "  hint: use `edit-local`\n"
    )
    assert not (task.parent / "prompt.md").exists()


def test_a_role_that_extends_a_role_nobody_may_have_can_be_spawned_only_by_its_own_word(shell, task):
    roles = shell.folder_of("work/.keisei/roles")
    (roles / "sneaky.toml").write_text(
        '[role]\nname = "sneaky"\nspawnable = false\n[capabilities]\nextends = "read-only"\n'
    )
    task.write_text('[task]\nrole = "sneaky"\n')
    shell.cd(task.parent)

    done = shell.run("agent", "compose", "task.toml")

    assert done.code == 1
    assert "RULE 0.13" in done.err


# Prepare.


@BOTH
def test_prepare_has_the_originals_keys_in_every_machine_format(shell, task, door):
    as_json = json.loads(shell.spawn(*words_of(door, "prepare"), task, "--format", "json", command=door).raw)
    as_toml = tomllib.loads(shell.spawn(*words_of(door, "prepare"), task, "--format", "toml", command=door).out)

    assert list(as_json) == list(as_toml) == KEYS
    assert as_json | {"dna": ""} == as_toml | {"dna": ""}
    assert re.fullmatch(r"edit-local::NG-FW-FD-CP-CG-TG-ND-RF::[0-9A-F]{8}::[0-9A-F]{8}-[0-9a-f]{8}", as_json["dna"])


def test_prepare_is_for_people_unless_told(shell, task):
    assert shell.run("agent", "prepare", task).out.startswith("=== AGENT SUBSTRATE v1 — PREPARED SPAWN ===\nagent-id: ")


def test_prepare_writes_nothing(shell, task):
    shell.run("agent", "prepare", task)

    assert names_in(task.parent) == ["task.toml"]


def test_prepare_says_the_prompt_that_compose_writes(shell, task):
    prompt = shell.run("agent", "compose", task).raw

    prepared = json.loads(shell.run("agent", "prepare", task, "--format", "json").out)

    assert prepared["prompt"].encode() == prompt


def test_a_path_with_a_space_is_quoted_in_the_verify_command(shell, task):
    odd = shell.folder_of("odd work") / "task.toml"
    odd.write_text(TASK, encoding="utf-8")
    shell.cd(odd.parent.parent)

    prepared = json.loads(shell.run("agent", "prepare", "odd work/task.toml", "--format", "json").out)

    assert prepared["verify_command"] == "kei-agent-runtime verify 'odd work/task.toml' <worktree-path>"
    assert task.is_file()


# Everything that is wrong, at once.


def test_every_mistake_of_a_task_is_told_at_once(shell, task):
    task.write_text(
        '[task]\nrole = "edit-local"\nagent-id = "a/b"\nadapter = "codx"\n[scope]\nfiles-denylist = ["/etc/**"]\n'
        '[elevate]\ncapabilities = ["safety::no-dep-bmp"]\nreason = "x"\n'
    )
    shell.cd(task.parent)

    done = shell.run("agent", "compose", "task.toml")

    assert [line.split("]")[0] for line in done.err.splitlines() if "error[" in line] == [
        "task.toml:3:12: error[bad-agent-id",
        "task.toml:6:19: error[bad-glob",
        "task.toml:5:1: error[empty-whitelist",
        "task.toml:8:17: error[dangling",
        "task.toml:4:11: error[dangling",
    ]
    assert done.code == 1
    assert not (task.parent / "prompt.md").exists()


def test_show_as_json_tells_the_constitution_and_the_wallets(shell):
    folder = shell.folder_of(".keisei/agents/arc")
    (folder / "SOUL.md").write_text("I am arc.\n")
    (folder / "PURPOSE.md").write_text("To help.\n")
    (folder / "agent.toml").write_text(
        '[identity]\nagent_id = "arc"\ninternal_name = "arc"\ndisplay_name = "Arc"\n'
        '[constitution]\nversion = "1"\nrevised_at = 2026-01-02T03:04:05Z\n'
        '[[wallets]]\nchain = "bitcoin"\naddress = "bc1q"\n'
    )

    told = json.loads(shell.run("agent", "show", "arc", "--json").out)

    assert told["constitution"]["soul_hash"] == hashlib.sha256(b"I am arc.\n").hexdigest()
    assert told["wallets"] == [{"chain": "bitcoin", "address": "bc1q", "agent_id": "arc"}]
