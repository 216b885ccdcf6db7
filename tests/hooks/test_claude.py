"""Claude Code: what an attempt is started with, and what makes Claude ignore its settings."""

import json

import pytest

from keisei.hooks import claude
from keisei.hooks.command import parts_of

HOOK = ["/opt/a b/client", "/run/gate.sock", "token-0123456789", "claude"]


def test_an_attempt_sees_every_tool_call_and_its_result():
    settings = claude.attempt_settings(HOOK)

    assert settings["disableAllHooks"] is False
    assert set(settings["hooks"]) == {"PreToolUse", "PostToolUse"}
    for groups in settings["hooks"].values():
        ((hook,),) = [group["hooks"] for group in groups]
        assert [group["matcher"] for group in groups] == ["*"]
        assert hook["onFailure"] == "block"
        assert hook["timeout"] == 10
        assert list(parts_of(hook["command"]).argv) == HOOK


def test_without_a_shell_the_client_is_started_with_its_words():
    hook = claude.attempt_settings(HOOK, shell=False)["hooks"]["PreToolUse"][0]["hooks"][0]

    assert [hook["command"], *hook["args"]] == HOOK
    assert hook["onFailure"] == "block"


def test_an_attempt_reads_no_settings_but_its_own_and_is_denied_what_nobody_allowed():
    flags = claude.attempt_flags()

    assert flags[flags.index("--setting-sources") + 1] == ""
    assert flags[flags.index("--permission-mode") + 1] == "dontAsk"
    assert "--strict-mcp-config" in flags


@pytest.mark.parametrize("settings", [claude.attempt_settings(HOOK), claude.attempt_settings(HOOK, shell=False), {}])
def test_what_we_write_has_no_defects_and_is_json(settings):
    assert claude.defects(json.loads(json.dumps(settings))) == []


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"permissions": {"allow": "x"}}, "`permissions.allow` is not a list"),
        ({"permissions": []}, "`permissions` is not a table"),
        ({"disableAllHooks": "no"}, "`disableAllHooks` is not true or false"),
        ({"hooks": []}, "`hooks` is not a table"),
        ({"hooks": None}, "`hooks` is not a table"),
        ({"hooks": {"Stop": {}}}, "`hooks.Stop`: is not a list"),
        ({"hooks": {"Stop": [3]}}, "`hooks.Stop`: a group has no list `hooks`"),
        ({"hooks": {"Stop": [{"hooks": ["x"]}]}}, "`hooks.Stop`: a hook is not a table"),
        ({"hooks": {"Stop": [{"hooks": [{"type": "x"}]}]}}, "`hooks.Stop`: the hook type `x` is not known"),
        ({"hooks": {"Stop": [{"hooks": [{"type": []}]}]}}, "`hooks.Stop`: the hook type `[]` is not known"),
        ({"hooks": {"Stop": [{"hooks": [{"type": "http"}]}]}}, "`hooks.Stop`: a hook of type `http` has no `url`"),
        ({"hooks": {"Stop": [{"hooks": [], "matcher": 3}]}}, "`hooks.Stop`: a matcher is not a string"),
    ],
)
def test_a_field_for_which_claude_ignores_the_file_is_named(settings, words):
    assert claude.defects(settings) == [words]


def test_a_key_and_an_event_that_nobody_knows_do_no_harm():
    assert claude.defects({"zzz": 1, "hooks": {"Zzz": []}, "env": {"A": "b"}}) == []
