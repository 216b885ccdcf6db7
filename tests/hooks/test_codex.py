"""Codex: the digest of trust, the places it hangs on, and the files of an attempt."""

import tomllib
from pathlib import Path

import pytest

from keisei.hooks import codex
from keisei.hooks.codex import Spot
from keisei.hooks.command import shell_form

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
    assert codex.trusted_hash(event, group, 0) == f"sha256:{digest}"


def test_events_are_named_as_config_toml_names_them():
    names = ["PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop"]

    assert [codex.snake(name) for name in names] == ["pre_tool_use", "post_tool_use", "user_prompt_submit", "stop"]


def test_trust_is_asked_for_ours_alone_and_by_its_place():
    file = {"hooks": {"PreToolUse": [{"hooks": [OTHER]}, {"matcher": "*", "hooks": [OTHER, OURS]}], "Stop": []}}

    assert list(codex.trust(file, "/h/hooks.json")) == ["/h/hooks.json:pre_tool_use:1:1"]


def test_hooks_behind_ours_move_up_when_ours_goes():
    old = {"hooks": {"PreToolUse": [{"hooks": [OURS]}, {"hooks": [OURS, OTHER]}, {"hooks": [OTHER]}]}}
    new = {"hooks": {"PreToolUse": [{"hooks": [OTHER]}, {"hooks": [OTHER]}]}}

    assert codex.moves(old, new) == {
        Spot("PreToolUse", 1, 1): Spot("PreToolUse", 0, 0),
        Spot("PreToolUse", 2, 0): Spot("PreToolUse", 1, 0),
    }


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ({"$schema": "x"}, "the key `$schema` is not known"),
        ({"description": 3}, "`description` is not a string"),
        ({"hooks": []}, "`hooks` is not a table"),
        ({"hooks": {"Stop": None}}, "`hooks.Stop`: is not a list"),
        ({"hooks": {"Stop": [{"hooks": [{"type": "http"}]}]}}, "`hooks.Stop`: the hook type `http` is not known"),
        (
            {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x", "timeout": "3"}]}]}},
            "`hooks.Stop`: a `timeout` is not a number",
        ),
    ],
)
def test_what_makes_codex_drop_the_file_is_named(file, words):
    assert codex.defects(file) == [words]


def test_what_codex_0_166_takes_has_no_defects():
    group = {"hooks": [{"type": "command", "command": "x", "onFailure": "block"}], "zzz": 1}

    assert codex.defects({"description": "x", "hooks": {"Zzz": [], "Stop": [group, {"matcher": "x"}]}}) == []


def test_an_attempt_trusts_its_hooks_and_not_its_project(tmp_path):
    home = tmp_path / 'a "home" \\ ü'
    root = tmp_path / "repo 'x'"

    file, text = codex.attempt_config(["/opt/client", "/s", "t", "codex"], home, root)

    config = tomllib.loads(text)
    assert config["projects"] == {str(root): {"trust_level": "untrusted"}}
    assert config["features"] == {"hooks": True}
    assert config["hooks"]["state"] == {
        f"{home}/hooks.json:{codex.snake(event)}:0:0": {"trusted_hash": codex.trusted_hash(event, groups[0], 0)}
        for event, groups in file["hooks"].items()
    }
    assert set(file) == {"hooks"}
    assert codex.defects(file) == []


def test_codex_follows_symlinks_to_its_home_and_so_does_the_trust(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")

    _, text = codex.attempt_config(["/c"], tmp_path / "link", tmp_path)

    keys = tomllib.loads(text)["hooks"]["state"]
    assert {str(Path(key.partition(":")[0]).parent) for key in keys} == {str(tmp_path / "real")}


def test_an_attempt_has_hooks_on_and_no_terminal_to_type_into():
    assert codex.attempt_flags() == ("--enable", "hooks", "--disable", "unified_exec_tty")
