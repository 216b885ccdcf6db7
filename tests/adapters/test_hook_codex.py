"""Codex's hook: the digest of trust, and the files of an attempt."""

import tomllib
from pathlib import Path

import pytest

from keisei.adapters import hook_codex
from keisei.adapters.hook_command import shell_form

OURS = {"type": "command", "command": shell_form(["/k"]), "timeout": 10}
OTHER = {"type": "command", "command": "echo"}


@pytest.mark.parametrize(
    ("event", "group", "digest"),
    [
        (
            "PreToolUse",
            {"matcher": "*", "hooks": [{"type": "command", "command": "echo ü '/' < > & hi", "timeout": 10}]},
            "57dec4ef7e4d3fb832fab3d9714c93a430aafb64676ef239aefedfb414d8e9b5",
        ),
        (
            "PostToolUse",
            {"hooks": [{"type": "command", "command": "echo"}]},
            "fb9414ce729899dd27ca4270242b7a1ac6af2ed29e3479182716988d30c756d7",
        ),
    ],
    ids=["matcher and timeout", "neither"],
)
def test_the_digest_is_the_one_codex_0_166_tells_in_hooks_list(event, group, digest):
    assert hook_codex.trusted_hash(event, group, 0) == f"sha256:{digest}"


def test_events_are_named_as_config_toml_names_them():
    names = ["PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop"]

    assert [hook_codex.snake(name) for name in names] == ["pre_tool_use", "post_tool_use", "user_prompt_submit", "stop"]


def test_trust_is_asked_for_ours_alone_and_by_its_place():
    file = {"hooks": {"PreToolUse": [{"hooks": [OTHER]}, {"matcher": "*", "hooks": [OTHER, OURS]}], "Stop": []}}

    assert list(hook_codex.trust(file, "/h/hooks.json")) == ["/h/hooks.json:pre_tool_use:1:1"]


def test_an_attempt_trusts_its_hooks_and_not_its_project(tmp_path):
    home = tmp_path / 'a "home" \\ ü'
    root = tmp_path / "repo 'x'"

    file, text = hook_codex.attempt_config(["/opt/client", "/s", "t", "codex"], home, root)

    config = tomllib.loads(text)
    assert config["projects"] == {str(root): {"trust_level": "untrusted"}}
    assert config["features"] == {"hooks": True}
    assert config["hooks"]["state"] == {
        f"{home}/hooks.json:{hook_codex.snake(event)}:0:0": {
            "trusted_hash": hook_codex.trusted_hash(event, groups[0], 0)
        }
        for event, groups in file["hooks"].items()
    }
    assert set(file) == {"hooks"}


def test_codex_follows_symlinks_to_its_home_and_so_does_the_trust(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")

    _, text = hook_codex.attempt_config(["/c"], tmp_path / "link", tmp_path)

    keys = tomllib.loads(text)["hooks"]["state"]
    assert {str(Path(key.partition(":")[0]).parent) for key in keys} == {str(tmp_path / "real")}


def test_an_attempt_waits_for_the_server_of_its_atoms(tmp_path):
    _, bare = hook_codex.attempt_config(["/c"], tmp_path, tmp_path)
    _, text = hook_codex.attempt_config(
        ["/c"], tmp_path, tmp_path, hook_codex.Server(["/python", "shim.py"], {"T": "t"})
    )

    server = tomllib.loads(text)["mcp_servers"]["keisei"]
    assert (server["command"], server["args"], server["required"]) == ("/python", ["shim.py"], True)
    assert server["env"] == {"T": "t"}
    assert "mcp_servers" not in tomllib.loads(bare)


def test_an_attempt_has_hooks_on_and_no_terminal_to_type_into():
    assert hook_codex.attempt_flags() == ("--enable", "hooks", "--disable", "unified_exec_tty")
