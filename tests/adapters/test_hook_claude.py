"""Claude Code's hook: what an attempt is started with."""

from keisei.adapters import hook_claude
from keisei.adapters.hook_command import parts_of

HOOK = ["/opt/a b/client", "/run/gate.sock", "token-0123456789", "claude"]


def test_an_attempt_sees_every_tool_call_and_its_result():
    settings = hook_claude.attempt_settings(HOOK)

    assert settings["disableAllHooks"] is False
    assert set(settings["hooks"]) == {"PreToolUse", "PostToolUse"}
    for groups in settings["hooks"].values():
        ((hook,),) = [group["hooks"] for group in groups]
        assert [group["matcher"] for group in groups] == ["*"]
        assert hook["onFailure"] == "block"
        assert hook["timeout"] == 10
        assert list(parts_of(hook["command"]).argv) == HOOK


def test_without_a_shell_the_client_is_started_with_its_words():
    hook = hook_claude.attempt_settings(HOOK, shell=False)["hooks"]["PreToolUse"][0]["hooks"][0]

    assert [hook["command"], *hook["args"]] == HOOK
    assert hook["onFailure"] == "block"


def test_an_attempt_reads_no_settings_but_its_own_and_is_denied_what_nobody_allowed():
    flags = hook_claude.attempt_flags()

    assert flags[flags.index("--setting-sources") + 1] == ""
    assert flags[flags.index("--permission-mode") + 1] == "dontAsk"
    assert "--strict-mcp-config" in flags
