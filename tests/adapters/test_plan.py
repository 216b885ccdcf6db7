"""What each harness is told, word for word, and what no harness is told."""

import json

import pytest
from msgspec import structs

from keisei.adapters import ADAPTERS, adapter_of, hermes, hook_claude, hook_codex
from keisei.adapters.launch import LONGEST
from keisei.adapters.port import Guard, Place, Probe
from keisei.records.adapter import ClaudeAutonomy, HarnessAutonomy, Provider
from keisei.records.error import OperatorError, Refused
from keisei.records.launch import Call, Launch
from tests.adapters.making import GUARDS, SETTINGS, STATE, an_order

HARNESSES = ("claude-code", "codex", "hermes-agent")
AUTONOMY = {"claude-code": ClaudeAutonomy, "codex": HarnessAutonomy, "hermes-agent": HarnessAutonomy}


def planned(kind, config=None, **changes):
    return adapter_of(kind).plan(an_order(kind, config, **changes))


def refused(kind, config=None, **changes):
    with pytest.raises(Refused) as caught:
        planned(kind, config, **changes)
    assert caught.value.hint or "needs" in caught.value.message
    return caught.value.message


def trusted(kind, **more):
    return {"autonomy": AUTONOMY[kind](profile="trusted-vm", **more)}


def has(argv, *words):
    """Whether the words stand in argv, one after the other."""
    return any(argv[place : place + len(words)] == words for place in range(len(argv)))


# --- the launch, word for word ----------------------------------------------------------------------------------------


def test_claude_is_closed_by_construction():
    launch = planned("claude-code")

    assert launch.argv == (
        *("claude", "-p", "--permission-mode", "dontAsk", "--setting-sources", "", "--strict-mcp-config"),
        *("--settings", json.dumps(SETTINGS), "--output-format", "stream-json", "--verbose"),
    )
    assert (launch.stdin, launch.cwd, launch.timeout_s) == (b"Do it.", "/srv/tree", 60.0)


def test_claude_goes_on_with_a_session_and_takes_a_model_and_more_arguments():
    launch = planned("claude-code", {"extra_args": ("--max-turns", "9")}, model="claude-x[1m]", resume="0b09-3df5")

    assert launch.argv[-6:] == ("--model", "claude-x[1m]", "--resume", "0b09-3df5", "--max-turns", "9")


def test_trusted_claude_asks_nobody_and_keeps_the_gate():
    launch = planned("claude-code", trusted("claude-code", required_args=("--dangerously-skip-permissions",)))

    assert launch.argv == (
        *("claude", "-p", "--permission-mode", "bypassPermissions", "--dangerously-skip-permissions"),
        *("--setting-sources", "", "--strict-mcp-config"),
        *("--settings", json.dumps(SETTINGS), "--output-format", "stream-json", "--verbose"),
    )


def test_codex_is_closed_by_construction():
    launch = planned("codex")

    assert launch.argv == (
        *("codex", "exec", "--json", "--skip-git-repo-check", "-o", "/run/attempt/last-message.txt"),
        *("--enable", "hooks", "--disable", "unified_exec_tty", "--disable", "unbounded_connection_retries"),
        *("--disable", "image_generation", "--disable", "apps", "--disable", "plugins"),
        *("--disable", "skill_mcp_dependency_install", "-c", 'web_search="disabled"'),
        *("-c", 'shell_environment_policy.inherit="core"', "-c", "analytics.enabled=false"),
        *("-c", 'otel.metrics_exporter="none"', "-c", "sandbox_workspace_write.exclude_slash_tmp=true"),
        *("-s", "workspace-write", "-"),
    )
    assert (launch.stdin, launch.env["CODEX_HOME"]) == (b"Do it.", "/run/attempt/codex")


def test_codex_goes_on_with_a_session_at_a_provider():
    provider = Provider(id="local-1", base_url="http://127.0.0.1:9/v1")
    config = {"provider": provider, "sandbox": "read-only", "extra_args": ("--json", "--color", "never")}

    launch = planned("codex", config, model='a"b', resume="01a1")

    table = 'name="local-1",base_url="http://127.0.0.1:9/v1",wire_api="responses",requires_openai_auth=false'

    assert launch.argv[launch.argv.index("-s") :] == (
        *("-s", "read-only", "-c", 'model="a\\"b"', "-c", 'model_provider="local-1"', "-c"),
        f"model_providers.local-1={{{table}}}",
        *("--color", "never", "resume", "01a1", "-"),
    )


@pytest.mark.parametrize(
    ("sandbox", "words"),
    [
        (None, ("--dangerously-bypass-approvals-and-sandbox",)),
        ("danger-full-access", ("--dangerously-bypass-approvals-and-sandbox",)),
        ("workspace-write", ("-s", "workspace-write")),
        ("read-only", ("-s", "read-only")),
    ],
)
def test_trusted_codex_gives_up_its_sandbox_unless_the_table_narrows_it(sandbox, words):
    argv = planned("codex", trusted("codex") | {"sandbox": sandbox}, accept_weaker=True).argv

    assert has(argv, *words)
    assert ("--dangerously-bypass-approvals-and-sandbox" in argv) == (len(words) == 1)


@pytest.mark.parametrize("sandbox", [None, "read-only", "workspace-write"])
@pytest.mark.parametrize("autonomy", [{}, trusted("codex")], ids=["restricted", "trusted"])
def test_codex_leaves_its_sandbox_off_inside_ours(sandbox, autonomy):
    argv = planned("codex", autonomy | {"sandbox": sandbox}, confined=True).argv

    assert has(argv, "-s", "danger-full-access")
    assert "--dangerously-bypass-approvals-and-sandbox" not in argv


def test_codex_asks_the_relay_whatever_its_provider_is():
    provider = Provider(id="local", base_url="http://10.0.0.1/v1")

    argv = planned("codex", {"provider": provider}, model="m", model_address="http://127.0.0.1:5").argv

    table = 'name="keisei",base_url="http://127.0.0.1:5/v1",wire_api="responses",env_key="KEISEI_MODEL_KEY"'
    assert has(argv, "-c", 'model_provider="keisei"', "-c", f"model_providers.keisei={{{table}}}")
    assert not [word for word in argv if "10.0.0.1" in word]


def test_claude_may_give_up_its_prompts_as_root_only_inside_our_sandbox():
    assert planned("claude-code", trusted("claude-code"), confined=True).env["IS_SANDBOX"] == "1"
    assert "IS_SANDBOX" not in planned("claude-code", trusted("claude-code")).env
    assert "IS_SANDBOX" not in planned("claude-code", confined=True).env


def test_claude_is_told_what_it_may_spend():
    assert has(planned("claude-code", max_cost_usd=1.5).argv, "--max-budget-usd", "1.500000")
    assert "buys nothing" in refused("claude-code", max_cost_usd=0.0)
    assert "buys nothing" in refused("claude-code", max_cost_usd=float("nan"))


@pytest.mark.parametrize("kind", HARNESSES)
def test_giving_up_the_sandbox_is_accepted_for_the_run_too(kind):
    config = trusted(kind) | {"sandbox": "danger-full-access"}

    assert "gives up confinement" in refused(kind, config)
    assert isinstance(planned(kind, config, accept_weaker=True), Launch)
    assert "needs `autonomy.profile" in refused(kind, {"sandbox": "danger-full-access"}, accept_weaker=True)


def test_hermes_is_told_where_its_prompt_is():
    launch = planned("hermes-agent", model="org/model")

    assert launch.argv == (
        *("hermes", "-z"),
        hermes.ASK.format(path="/run/attempt/prompt.md"),
        *("--usage-file", "/run/attempt/usage.json", "-m", "org/model"),
    )
    assert (launch.stdin, launch.env["HERMES_HOME"]) == (None, "/run/attempt/hermes")
    assert "--yolo" in planned("hermes-agent", trusted("hermes-agent")).argv


def test_ollama_is_one_request():
    made = planned("ollama-generate", {"endpoint": "http://127.0.0.1:1/"}, prompt="Grüße".encode())

    assert isinstance(made, Call)
    assert (made.method, made.url, made.timeout_s) == ("POST", "http://127.0.0.1:1/api/generate", 60.0)
    assert json.loads(made.body) == {"model": "llama", "prompt": "Grüße", "stream": False, "format": "json"}
    assert json.loads(planned("ollama-generate", model="other").body)["model"] == "other"


def test_a_script_is_its_command_with_its_arguments_and_those_of_the_payload():
    launch = planned("script", {"command": "run.sh", "extra_args": ("--csv",)}, args=("one", "--two"))

    assert launch.argv == ("run.sh", "--csv", "one", "--two")
    assert launch.stdin is None
    assert launch.env == an_order("script").env


# --- what holds for every kind ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", HARNESSES)
def test_the_prompt_is_never_on_the_command_line(kind):
    launch = planned(kind, prompt=b"SECRET-PLAN")

    assert isinstance(launch, Launch)
    assert not [word for word in (*launch.argv, *launch.env.values()) if "SECRET-PLAN" in word]


@pytest.mark.parametrize("kind", HARNESSES)
def test_the_environment_is_the_orders_with_what_the_gate_needs(kind):
    guard = GUARDS[kind].__class__(settings=GUARDS[kind].settings, files=GUARDS[kind].files, env={"GATE": "socket"})

    env = planned(kind, guard=guard, env={"PATH": "/bin", "TZ": "Europe/Berlin"}).env

    assert (env["PATH"], env["GATE"], env["TZ"]) == ("/bin", "socket", "Europe/Berlin")
    assert planned(kind).env["TZ"] == "UTC"


def test_the_flags_that_hooks_ask_for_are_there():
    assert has(planned("claude-code").argv, *hook_claude.attempt_flags())
    assert has(planned("codex").argv, *hook_codex.attempt_flags())


def test_every_kind_has_one_adapter_and_no_other_has_any():
    assert list(ADAPTERS) == ["claude-code", "codex", "hermes-agent", "ollama-generate", "script"]
    assert all(adapter.kind == kind for kind, adapter in ADAPTERS.items())
    with pytest.raises(OperatorError, match="no adapter of kind `telepathy`"):
        adapter_of("telepathy")


@pytest.mark.parametrize("kind", ADAPTERS)
def test_an_adapter_refuses_the_table_of_another(kind):
    other = "script" if kind != "script" else "codex"

    with pytest.raises(Refused, match="is of another kind"):
        adapter_of(kind).plan(an_order(other))


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", HARNESSES)
def test_a_harness_without_a_gate_is_refused(kind):
    assert "has tools and no gate" in refused(kind, guard=None)
    assert "no" in refused(kind, guard=Guard())


@pytest.mark.parametrize(
    "settings",
    [
        "{}",
        "not json",
        "[]",
        json.dumps(SETTINGS | {"disableAllHooks": True}),
        json.dumps({"hooks": SETTINGS["hooks"]}),
        json.dumps({"disableAllHooks": False, "hooks": {"PreToolUse": []}}),
        json.dumps({"disableAllHooks": False, "hooks": {"PostToolUse": SETTINGS["hooks"]["PreToolUse"]}}),
    ],
)
def test_claude_is_refused_settings_without_the_hook(settings):
    assert refused("claude-code", guard=Guard(settings=settings)) == "the settings have no hook before tool calls"


@pytest.mark.parametrize(
    "files",
    [
        {"hooks.json": '{"hooks": {}}', "config.toml": STATE},
        {"hooks.json": GUARDS["codex"].files["hooks.json"]},
        {"hooks.json": GUARDS["codex"].files["hooks.json"], "config.toml": "not [ toml"},
        {"config.toml": STATE},
    ],
)
def test_codex_is_refused_a_home_without_a_trusted_hook(files):
    assert refused("codex", guard=Guard(files=files)) == "the harness's home has no trusted hook before tool calls"


@pytest.mark.parametrize(
    "change",
    [
        {"config.yaml": "{}"},
        {"config.yaml": "not json"},
        {"config.yaml": '{"plugins": {"enabled": "keisei-gate"}}'},
        {"config.yaml": "[" * 100_000},
        {"plugins/keisei-gate/__init__.py": ""},
    ],
)
def test_hermes_is_refused_a_home_without_the_plugin(change):
    files = {**GUARDS["hermes-agent"].files, **change}

    assert refused("hermes-agent", guard=Guard(files=files)) == "the harness's home has no hook before tool calls"


PLACE = Place(room="/run/attempt", worktree="/srv/tree", model="m", model_address="http://127.0.0.1:5")
CLIENT = ("/opt/the client", "/run/gate.sock", "token", "harness")


@pytest.mark.parametrize("kind", HARNESSES)
def test_the_guard_of_a_harness_is_one_that_it_takes(kind):
    adapter = adapter_of(kind)

    guard = adapter.guard(CLIENT, PLACE)

    assert adapter.gate == "native"
    assert isinstance(planned(kind, guard=guard), Launch)
    text = "".join((guard.settings or "", *guard.files.values()))
    assert "/opt/the client" in text


@pytest.mark.parametrize("kind", ["claude-code", "codex"])
def test_the_server_of_atoms_gets_its_token_and_no_command_line_holds_it(kind):
    place = structs.replace(PLACE, server=("/python", "shim.py", "/run/a.sock"), server_env={"ATOMS_TOKEN": "t0ken"})

    guard = adapter_of(kind).guard(CLIENT, place)
    launch = planned(kind, guard=guard)

    assert "t0ken" in str((guard.env, guard.files))
    assert "ATOMS_TOKEN" in str((launch.argv, guard.files))
    assert "/run/a.sock" in str((launch.argv, guard.files))
    assert not any("t0ken" in each for each in launch.argv)


@pytest.mark.parametrize("kind", ["script", "ollama-generate"])
def test_what_has_no_tools_has_no_guard(kind):
    assert (adapter_of(kind).gate, adapter_of(kind).guard(CLIENT, PLACE)) == ("none", None)


@pytest.mark.parametrize("kind", HARNESSES)
def test_a_guard_of_words_that_no_program_takes_is_refused(kind):
    with pytest.raises(OperatorError, match="NUL"):
        adapter_of(kind).guard(["/opt/cli\0ent"], PLACE)


@pytest.mark.parametrize("kind", HARNESSES)
@pytest.mark.parametrize("argument", ["--dangerously-skip-permissions", "--yolo", "--sandbox=danger-full-access"])
def test_a_bypass_is_refused_in_extra_args_even_on_a_trusted_machine(kind, argument):
    assert f"`{argument}` gives up a guard" in refused(kind, {"extra_args": (argument,)})
    assert f"`{argument}` gives up a guard" in refused(kind, {"extra_args": (argument,)} | trusted(kind))


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        ("claude-code", ("--settings", "{}")),
        ("claude-code", ("--permission-mode", "acceptEdits")),
        ("claude-code", ("--allowedTools", "Bash")),
        ("codex", ("-c", "features.hooks=false")),
        ("codex", ("--disable", "hooks")),
        ("codex", ("--enable", "unified_exec_tty")),
        ("codex", ("--ephemeral",)),
        ("hermes-agent", ("--ignore-user-config",)),
        ("hermes-agent", ("--usage-file", "x")),
    ],
)
def test_an_argument_that_would_take_the_gate_back_is_refused(kind, arguments):
    assert "is the runtime's to set" in refused(kind, {"extra_args": arguments})


@pytest.mark.parametrize("kind", HARNESSES)
def test_a_required_argument_that_the_launch_lacks_is_refused(kind):
    autonomy = AUTONOMY[kind](profile="restricted", required_args=("--max-turns",))

    assert "lacks the required argument `--max-turns`" in refused(kind, {"autonomy": autonomy})
    assert planned(kind, {"autonomy": autonomy, "extra_args": ("--max-turns", "3")}).argv.count("--max-turns") == 1


@pytest.mark.parametrize("kind", HARNESSES)
def test_autonomy_is_said_openly(kind):
    asking = AUTONOMY[kind](profile="restricted", required_args=("--yolo",))

    assert "`--yolo` gives up a guard" in refused(kind, {"autonomy": asking})
    assert "needs `autonomy.profile = trusted-vm`" in refused(kind, {"sandbox": "danger-full-access"})


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("claude-code", "CLAUDE_CODE_SIMPLE"),
        ("claude-code", "CLAUDE_CODE_SAFE_MODE"),
        ("hermes-agent", "HERMES_SAFE_MODE"),
        ("hermes-agent", "HERMES_IGNORE_USER_CONFIG"),
    ],
)
def test_a_variable_that_switches_the_hook_off_is_refused(kind, name):
    assert f"the variable `{name}` switches the gate's hook off" in refused(kind, env={name: "1"})


@pytest.mark.parametrize("model", ["--yolo", "-x", "", "a b", "a\nb", "a\0b", "x" * 300])
@pytest.mark.parametrize("kind", [*HARNESSES, "ollama-generate"])
def test_a_model_is_one_plain_word(kind, model):
    assert "is not a plain name" in refused(kind, model=model)


@pytest.mark.parametrize("session", ["--last", "-", "", "a b", "../x", "x" * 200])
@pytest.mark.parametrize("kind", ["claude-code", "codex"])
def test_a_session_is_an_id(kind, session):
    assert "is not an id" in refused(kind, resume=session)


@pytest.mark.parametrize("kind", ["hermes-agent", "ollama-generate", "script"])
def test_a_harness_without_sessions_cannot_go_on_with_one(kind):
    assert "cannot go on with a session" in refused(kind, resume="1")


@pytest.mark.parametrize("kind", [*HARNESSES, "script"])
def test_a_value_that_no_program_can_be_given_is_refused(kind):
    assert f"`LONG` has {LONGEST + 1} bytes" in refused(kind, env={"LONG": "x" * (LONGEST + 1)})
    assert "arguments and variables have" in refused(kind, env={f"V{n}": "x" * LONGEST for n in range(12)})
    assert "holds a character that no program can be given" in refused(kind, env={"NUL": "a\0b"})
    assert planned(kind, env={"LONG": "x" * LONGEST})


def test_a_long_argument_of_a_payload_is_refused():
    assert "`argument 1` has" in refused("script", args=("ü" * LONGEST,))


def test_a_prompt_that_is_not_text_is_refused():
    assert "the prompt is not UTF-8" in refused("ollama-generate", prompt=b"\xff")


def test_a_provider_is_named_by_a_plain_word():
    provider = Provider(id='x"={}', base_url="http://127.0.0.1:9/v1")

    assert "is not a plain word" in refused("codex", {"provider": provider})


# --- settings files of the operator -----------------------------------------------------------------------------------


def with_file(text, profile="restricted"):
    autonomy = ClaudeAutonomy(profile=profile, required_settings_files=("guard.json",))
    files = {} if text is None else {"guard.json": text if isinstance(text, str) else json.dumps(text)}
    return {"config": {"autonomy": autonomy}, "settings_files": files}


def test_a_required_settings_file_is_added_to_the_gates_settings():
    more = {"matcher": "Bash", "hooks": [{"type": "command", "command": "no-rm"}]}
    file = {"permissions": {"deny": ["WebFetch"]}, "env": {"A": "b"}, "hooks": {"PreToolUse": [more], "Stop": [more]}}

    argv = planned("claude-code", **with_file(file)).argv

    assert json.loads(argv[argv.index("--settings") + 1]) == {
        "disableAllHooks": False,
        "hooks": {"PreToolUse": [*SETTINGS["hooks"]["PreToolUse"], more], "Stop": [more]},
        "env": {"A": "b"},
        "permissions": {"allow": [], "ask": [], "deny": ["WebFetch"]},
    }


@pytest.mark.parametrize(
    ("file", "says"),
    [
        (None, "the required settings file `guard.json` is missing"),
        ("{", "says what is not known here"),
        ({"disableAllHooks": True}, "says what is not known here"),
        ({"permissions": {"allow": "x"}}, "says what is not known here"),
        ({"permissions": {"defaultMode": "bypassPermissions"}}, "says what is not known here"),
        ({"hooks": {"PreToolUse": [{"hooks": [{"type": "http", "url": "x"}]}]}}, "says what is not known here"),
        ({"permissions": {"allow": ["Bash"]}}, "allows calls by itself"),
        ({"env": {"CLAUDE_CODE_SIMPLE": "1"}}, "switches the gate's hook off with `CLAUDE_CODE_SIMPLE`"),
        ("[" * 100_000, "says what is not known here"),
    ],
)
def test_a_settings_file_that_could_lose_the_gate_is_refused(file, says):
    assert says in refused("claude-code", **with_file(file))


def test_a_trusted_machine_may_allow_calls_by_itself():
    argv = planned("claude-code", **with_file({"permissions": {"allow": ["Bash"]}}, "trusted-vm")).argv

    assert json.loads(argv[argv.index("--settings") + 1])["permissions"]["allow"] == ["Bash"]


# --- probes -----------------------------------------------------------------------------------------------------------


def test_a_probe_names_what_has_to_be_there():
    config = {kind: an_order(kind).config for kind in ADAPTERS}
    provider = an_order("codex", {"provider": Provider(id="x", base_url="http://127.0.0.1:9/v1/")}).config

    assert adapter_of("claude-code").probe(config["claude-code"]) == Probe(program="claude")
    assert adapter_of("hermes-agent").probe(config["hermes-agent"]) == Probe(program="hermes")
    assert adapter_of("script").probe(config["script"]) == Probe(program="true")
    assert adapter_of("codex").probe(config["codex"]) == Probe(program="codex", statuses=(100, 499))
    assert adapter_of("codex").probe(provider).url == "http://127.0.0.1:9/v1/models"
    assert adapter_of("ollama-generate").probe(config["ollama-generate"]) == Probe(
        url="http://127.0.0.1:11434/api/tags"
    )
