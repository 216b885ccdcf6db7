import pytest

from keisei.rules.adapter import bypasses, objections, switched_off

GIVING_UP = [
    "--dangerously-skip-permissions",
    "--dangerously-skip-permissions=true",
    "--allow-dangerously-skip-permissions",
    "--dangerously-bypass-approvals-and-sandbox",
    "--dangerously-bypass-hook-trust",
    "--dangerously-do-something-new",
    "--permission-mode=bypassPermissions",
    "bypassPermissions",
    "--full-auto",
    "--approve-for-me",
    "--sandbox=danger-full-access",
    "-sdanger-full-access",
    'sandbox_mode="danger-full-access"',
    "approval_policy=never",
    'approval_policy = "never"',
    "--yolo",
    "--bare",
    "--safe-mode",
]
HARMLESS = [
    "--verbose",
    "--max-turns",
    "50",
    "--json",
    "--color",
    "never",
    "",
    "yolo",
    "safe",
    "--barely",
    "dangerously",
]


@pytest.mark.parametrize("argument", GIVING_UP)
@pytest.mark.parametrize("kind", ["claude-code", "codex", "hermes-agent", "script"])
def test_an_argument_that_gives_up_a_guard_is_found(kind, argument):
    assert bypasses(argument)
    assert [(each.place, each.reason) for each in objections(kind, ["x", argument])] == [(1, "gives up a guard")]


@pytest.mark.parametrize("argument", HARMLESS)
def test_a_harmless_argument_is_let_through(argument):
    assert not bypasses(argument)


OWN = {
    "claude-code": [
        *("--settings", "--settings={}", "--sett", "--setting-sources", "--permission-mode", "--allowedTools"),
        *(
            "--allowed-tools=Bash",
            "--permission-prompt-tool",
            "--output-format",
            "--input-format",
            "--model",
            "--resume",
        ),
        *("-c", "-r", "-p", "--continue", "--bg", "--worktree", "--"),
    ],
    "codex": [
        *("-s", "-sread-only", "--sandbox", "--cd", "-C/", "--add-dir", "--ignore-user-config", "--ephemeral", "-o"),
        *("--profile", "-m", "features.hooks=false", "-cfeatures.hooks=false", "--config=features.hooks=false"),
        *('"features".hooks = false', "hooks={}", "projects={}", "model_provider=x", "sandbox_mode=read-only"),
        *("hooks", "codex_hooks", "unified_exec_tty", "--disable=hooks", "--enable=unified_exec", "--"),
    ],
    "hermes-agent": ["-z", "--oneshot", "--usage-file", "--usage", "--ignore-user-config", "-r", "--tui", "-w", "--"],
}


@pytest.mark.parametrize(("kind", "argument"), [(kind, each) for kind, arguments in OWN.items() for each in arguments])
def test_an_argument_that_the_runtime_sets_is_found(kind, argument):
    assert [each.reason for each in objections(kind, [argument])] == ["is the runtime's to set"]


ALLOWED = {
    "claude-code": [
        "--max-turns",
        "200",
        "--verbose",
        "--append-system-prompt",
        "be brief",
        "--disallowedTools",
        "WebFetch",
    ],
    "codex": ["-c", "model_verbosity=low", "--disable", "multi_agent", "--output-schema", "schema.json", "--json"],
    "hermes-agent": ["-t", "terminal", "--skills", "plan"],
    "script": ["--settings", "-c", "--", "hooks"],
}


@pytest.mark.parametrize("kind", ALLOWED)
def test_other_arguments_are_let_through(kind):
    assert objections(kind, ALLOWED[kind]) == []


def test_a_variable_that_switches_hooks_off_is_found_unless_it_is_empty():
    env = {"CLAUDE_CODE_SIMPLE": "1", "CLAUDE_CODE_SAFE_MODE": "", "HERMES_SAFE_MODE": "1"}

    assert list(switched_off("claude-code", env)) == ["CLAUDE_CODE_SIMPLE"]
    assert list(switched_off("hermes-agent", env)) == ["HERMES_SAFE_MODE"]
    assert list(switched_off("script", env)) == []
