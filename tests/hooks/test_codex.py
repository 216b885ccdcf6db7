"""Codex: what makes it drop its hooks, and where those of others go."""

import pytest

from keisei.adapters.hook_codex import Spot, attempt_config
from keisei.adapters.hook_command import shell_form
from keisei.hooks import codex

OURS = {"type": "command", "command": shell_form(["/k"]), "timeout": 10}
OTHER = {"type": "command", "command": "echo"}


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


def test_what_an_attempt_is_given_has_no_defects(tmp_path):
    file, _ = attempt_config(["/opt/client", "/s", "t", "codex"], tmp_path / "home", tmp_path)

    assert codex.defects(file) == []
