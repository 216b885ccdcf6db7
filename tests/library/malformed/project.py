"""keisei.toml, with an adapter of every kind."""

# ruff: noqa: E501 - a message stands on one line here, as it is compared

from tests.library.malformed.case import Kind, case

MAIN = "keisei.toml"

KIND = Kind(
    "project",
    MAIN,
    {
        MAIN: """\
[project]
name = "shop"
main = "main"

[commands]
check = "python -m compileall -q src"
test = "python -m pytest -q"

[environment]
setup = "pip install -r requirements.txt"
key = ["requirements.txt"]
keep = [".venv"]

[landing]
auto = false
to = "branch"

[sandbox]
read = ["/opt/toolchain"]

[budget.day]
max-cost-usd = 20.0

[budget.adapters.codex]
max-tokens = 1000000

[approvals]
deadline-h = 8.0
notify = ["console", "team"]

[channels.team]
kind = "webhook"
url-env = "TEAM_URL"
secret-env = "TEAM_SECRET"

[webhooks.forge]
kind = "github"
secret-env = "FORGE_SECRET"
workflow = { template = "goal-loop", instance_key = "/issue/node_id" }

[adapters.claude]
kind = "claude-code"
command = "claude"
timeout_ms = 1800000
sandbox = "workspace-write"
env = { LANG = "C" }
extra_args = ["--verbose", "--debug"]

[adapters.claude.autonomy]
profile = "restricted"

[adapters.codex]
kind = "codex"
command = "codex"
timeout_ms = 1800001
model = "local"

[adapters.codex.provider]
id = "ollama"
base_url = "http://127.0.0.1:11434/v1"

[adapters.hermes]
kind = "hermes-agent"
command = "hermes"
timeout_ms = 1800002

[adapters.ollama]
kind = "ollama-generate"
endpoint = "http://127.0.0.1:11434"
model = "llama3.2"
timeout_ms = 600000

[adapters.script]
kind = "script"
command = "sh"
timeout_ms = 600001

[adapters.script.autonomy]
profile = "runtime-native"
""",
    },
    by="project",
)

CLAUDE = '[adapters.claude]\nkind = "claude-code"\ncommand = "claude"\ntimeout_ms = 1800000\n'
ARGS = '["--verbose", "--debug"]'
OLLAMA = '[adapters.ollama]\nkind = "ollama-generate"\nendpoint = "http://127.0.0.1:11434"\nmodel = "llama3.2"\n'

CASES = [
    case(
        "empty-file",
        "missing-key",
        write={MAIN: "‸"},
        says="missing table `[project]`",
        hint='add `[project]` with `name = "..."`',
    ),
    case(
        "no-project",
        "missing-key",
        ('[project]\nname = "shop"\nmain = "main"\n', "‸"),
        says="missing table `[project]`",
        hint='add `[project]` with `name = "..."`',
    ),
    case("no-name", "missing-key", ('[project]\nname = "shop"\n', "‸[project]\n"), says="missing key `name`"),
    case(
        "project-is-text",
        "wrong-type",
        write={MAIN: 'project = ‸"shop"\n'},
        says="`project` must be an object, not a string",
    ),
    case(
        "name-with-a-slash",
        "wrong-value",
        ('"shop"', '‸"my/shop"'),
        says="`name` must be letters, digits, `_`, `.` and `-`, starting with a letter or digit, not `my/shop`",
    ),
    case(
        "name-climbs-out",
        "wrong-value",
        ('"shop"', '‸".."'),
        says="`name` must be letters, digits, `_`, `.` and `-`, starting with a letter or digit, not `..`",
    ),
    case("name-is-a-number", "wrong-type", ('"shop"', "‸1"), says="`name` must be a string, not an integer"),
    case("branch-empty", "wrong-value", ('main = "main"', 'main = ‸""')),
    case(
        "table-misspelt",
        "unknown-key",
        ("[commands]", "[‸command]"),
        says="unknown key `command`",
        hint="did you mean `commands`?",
    ),
    case(
        "table-in-the-singular",
        "unknown-key",
        ("[adapters.hermes]", "[‸adapter.hermes]"),
        says="unknown key `adapter`",
        hint="did you mean `adapters`?",
    ),
    case(
        "key-misspelt",
        "unknown-key",
        ("auto = false", "‸auto-land = false"),
        says="unknown key `auto-land`",
        hint="did you mean `auto`?",
    ),
    case(
        "key-unlike-any",
        "unknown-key",
        ("auto = false", "‸zzz = false"),
        says="unknown key `zzz`",
        hint="known keys: auto, to, respawn",
    ),
    case(
        "check-is-a-list",
        "wrong-type",
        ('check = "python -m compileall -q src"', 'check = ‸["python"]'),
        says="`check` must be a string, not a list",
    ),
    case(
        "environment-without-setup",
        "missing-key",
        ('[environment]\nsetup = "pip install -r requirements.txt"\n', "‸[environment]\n"),
        says="missing key `setup`",
    ),
    case(
        "environment-key-absolute",
        "wrong-value",
        ('["requirements.txt"]', '[‸"/etc/passwd"]'),
        says="environment.key[0] must be a relative path without `..`, not `/etc/passwd`",
    ),
    case(
        "environment-keeps-the-parent",
        "wrong-value",
        ('[".venv"]', '[‸"../.venv"]'),
        says="environment.keep[0] must be a relative path without `..`, not `../.venv`",
    ),
    case(
        "environment-keep-is-text", "wrong-type", ('[".venv"]', '‸".venv"'), says="`keep` must be a list, not a string"
    ),
    case(
        "landing-is-text",
        "wrong-type",
        ("auto = false", 'auto = ‸"false"'),
        says="`auto` must be true or false, not a string",
    ),
    case(
        "landing-nowhere",
        "wrong-value",
        ('to = "branch"', 'to = ‸"branches"'),
        says="`to` must be one of `branch`, `main`, not `branches`",
        hint="did you mean `branch`?",
    ),
    case(
        "sandbox-is-text",
        "wrong-type",
        ('["/opt/toolchain"]', '‸"/opt/toolchain"'),
        says="`read` must be a list, not a string",
    ),
    case(
        "adapters-are-a-list",
        "wrong-type",
        write={MAIN: '[project]\nname = "shop"\n\n‸[[adapters]]\nkind = "script"\n'},
        says="`adapters` must be an object, not a list",
    ),
    case(
        "adapter-is-text",
        "wrong-type",
        write={MAIN: '[project]\nname = "shop"\n\n[adapters]\nclaude = ‸"claude"\n'},
        says="`claude` must be an object, not a string",
    ),
    case("adapter-without-kind", "missing-key", (CLAUDE, "‸" + CLAUDE.replace('kind = "claude-code"\n', ""))),
    case("adapter-kind-misspelt", "wrong-value", ('kind = "claude-code"', 'kind = ‸"claud-code"')),
    case("adapter-kind-is-a-number", "wrong-value", ('kind = "claude-code"', "kind = ‸1")),
    case(
        "claude-without-command",
        "missing-key",
        (CLAUDE, "‸" + CLAUDE.replace('command = "claude"\n', "")),
        says="missing key `command`",
    ),
    case(
        "claude-without-timeout",
        "missing-key",
        (CLAUDE, "‸" + CLAUDE.replace("timeout_ms = 1800000\n", "")),
        says="missing key `timeout_ms`",
    ),
    case("claude-command-empty", "wrong-value", ('command = "claude"', 'command = ‸""')),
    case(
        "claude-command-is-a-list",
        "wrong-type",
        ('command = "claude"', 'command = ‸["claude"]'),
        says="`command` must be a string, not a list",
    ),
    case(
        "claude-key-misspelt",
        "unknown-key",
        ("extra_args", "‸extra_arg"),
        says="unknown key `extra_arg`",
        hint="did you mean `extra_args`?",
    ),
    case(
        "claude-with-a-provider",
        "unknown-key",
        ("extra_args", '‸provider = { id = "x" }\nextra_args'),
        says="unknown key `provider`",
        hint="known keys: kind, adapter_id, command, working_dir, timeout_ms, env_file, env, extra_args, sandbox, model, autonomy",
    ),
    case(
        "claude-timeout-in-seconds",
        "wrong-value",
        ("timeout_ms = 1800000\n", "timeout_ms = ‸999\n"),
        says="`timeout_ms` must be at least 1000, not `999`",
    ),
    case(
        "claude-timeout-of-months",
        "wrong-value",
        ("timeout_ms = 1800000\n", "timeout_ms = ‸604800001\n"),
        says="`timeout_ms` must be at most 604800000, not `604800001`",
    ),
    case(
        "claude-timeout-is-text",
        "wrong-type",
        ("timeout_ms = 1800000\n", 'timeout_ms = ‸"30m"\n'),
        says="`timeout_ms` must be an integer, not a string",
    ),
    case(
        "claude-sandbox-misspelt",
        "wrong-value",
        ('"workspace-write"', '‸"workspace-writes"'),
        says="`sandbox` must be one of `danger-full-access`, `read-only`, `workspace-write`, not `workspace-writes`",
        hint="did you mean `workspace-write`?",
    ),
    case(
        "claude-variable-with-a-dash",
        "wrong-value",
        ('{ LANG = "C" }', '{ ‸MY-LANG = "C" }'),
        says="the key `MY-LANG` must be the name of an environment variable",
    ),
    case(
        "claude-variable-is-a-number",
        "wrong-type",
        ('{ LANG = "C" }', "{ LANG = ‸1 }"),
        says="`LANG` must be a string, not an integer",
    ),
    case(
        "claude-arguments-are-text",
        "wrong-type",
        (ARGS, '‸"--verbose"'),
        says="`extra_args` must be a list, not a string",
    ),
    case(
        "claude-skips-permissions",
        "bypass-flag",
        (ARGS, '["--verbose", ‸"--dangerously-skip-permissions"]'),
        says="`--dangerously-skip-permissions` gives up a guard and may not stand in extra_args",
        hint='say it openly: `autonomy = { profile = "trusted-vm" }`',
    ),
    case(
        "claude-skips-permissions-with-a-value",
        "bypass-flag",
        (ARGS, '["--verbose", ‸"--dangerously-skip-permissions=true"]'),
        says="`--dangerously-skip-permissions=true` gives up a guard and may not stand in extra_args",
        hint='say it openly: `autonomy = { profile = "trusted-vm" }`',
    ),
    case(
        "claude-bypasses-by-mode",
        "bypass-flag",
        (ARGS, '[‸"--permission-mode=bypassPermissions"]'),
        says="`--permission-mode=bypassPermissions` gives up a guard and may not stand in extra_args",
        hint='say it openly: `autonomy = { profile = "trusted-vm" }`',
    ),
    case(
        "claude-bypasses-by-two-words",
        "bypass-flag",
        (ARGS, '["--permission-mode", ‸"bypassPermissions"]'),
        says="`bypassPermissions` gives up a guard and may not stand in extra_args",
        hint='say it openly: `autonomy = { profile = "trusted-vm" }`',
    ),
    case(
        "claude-bypasses-in-required-args",
        "bypass-flag",
        ('profile = "restricted"', 'profile = "restricted"\nrequired_args = [‸"--dangerously-skip-permissions"]'),
    ),
    case(
        "claude-autonomy-unknown",
        "wrong-value",
        ('profile = "restricted"', 'profile = ‸"trusted"'),
        says="`profile` must be one of `restricted`, `trusted-vm`, not `trusted`",
        hint="did you mean `trusted-vm`?",
    ),
    case(
        "claude-autonomy-is-a-list",
        "wrong-type",
        ('[adapters.claude.autonomy]\nprofile = "restricted"\n', ""),
        ("extra_args", "autonomy = ‸[]\nextra_args"),
        says="`autonomy` must be an object, not a list",
    ),
    case(
        "codex-goes-full-auto",
        "bypass-flag",
        ("timeout_ms = 1800001", 'timeout_ms = 1800001\nextra_args = [‸"--full-auto"]'),
        says="`--full-auto` gives up a guard and may not stand in extra_args",
        hint='say it openly: `autonomy = { profile = "trusted-vm" }`',
    ),
    case(
        "codex-goes-yolo",
        "bypass-flag",
        ("timeout_ms = 1800001", 'timeout_ms = 1800001\nextra_args = [‸"--yolo"]'),
        says="`--yolo` gives up a guard and may not stand in extra_args",
        hint='say it openly: `autonomy = { profile = "trusted-vm" }`',
    ),
    case(
        "codex-provider-without-model",
        "missing-key",
        ('model = "local"\n', ""),
        ("[adapters.codex.provider]", "‸[adapters.codex.provider]"),
        says="a provider with a base_url needs a `model`",
    ),
    case(
        "codex-provider-without-id",
        "missing-key",
        ('[adapters.codex.provider]\nid = "ollama"\n', "‸[adapters.codex.provider]\n"),
        says="missing key `id`",
    ),
    case(
        "codex-provider-key-misspelt",
        "unknown-key",
        ("base_url", "‸baseurl"),
        says="unknown key `baseurl`",
        hint="did you mean `base_url`?",
    ),
    case("codex-provider-of-another-wire", "wrong-value", ('id = "ollama"', 'id = "ollama"\nwire_api = ‸"chat"')),
    case(
        "hermes-without-timeout",
        "missing-key",
        (
            '[adapters.hermes]\nkind = "hermes-agent"\ncommand = "hermes"\ntimeout_ms = 1800002\n',
            '‸[adapters.hermes]\nkind = "hermes-agent"\ncommand = "hermes"\n',
        ),
        says="missing key `timeout_ms`",
    ),
    case(
        "hermes-key-unlike-any",
        "unknown-key",
        ("timeout_ms = 1800002", "timeout_ms = 1800002\n‸zzz = 1"),
        says="unknown key `zzz`",
        hint="known keys: kind, adapter_id, command, working_dir, timeout_ms, env_file, env, extra_args, sandbox, model, autonomy",
    ),
    case(
        "ollama-without-model",
        "missing-key",
        (OLLAMA, "‸" + OLLAMA.replace('model = "llama3.2"\n', "")),
        says="missing key `model`",
    ),
    case(
        "ollama-endpoint-is-a-file",
        "wrong-value",
        ('endpoint = "http://127.0.0.1:11434"', 'endpoint = ‸"file:///etc/passwd"'),
        says="`endpoint` must be an http or https address, not `file:///etc/passwd`",
    ),
    case(
        "ollama-with-a-command",
        "unknown-key",
        ("timeout_ms = 600000", 'timeout_ms = 600000\n‸command = "ollama"'),
        says="unknown key `command`",
        hint="known keys: kind, adapter_id, endpoint, model, timeout_ms",
    ),
    case(
        "script-trusted",
        "wrong-value",
        ('"runtime-native"', '‸"trusted-vm"'),
        says="`profile` must be one of `runtime-native`, not `trusted-vm`",
    ),
    case(
        "script-with-a-model",
        "unknown-key",
        ("timeout_ms = 600001", 'timeout_ms = 600001\n‸model = "x"'),
        says="unknown key `model`",
        hint="known keys: kind, adapter_id, command, working_dir, timeout_ms, env_file, env, extra_args, autonomy",
    ),
    case(
        "adapter-under-another-name",
        "bad-name",
        ("timeout_ms = 600001", 'timeout_ms = 600001\nadapter_id = ‸"shell"'),
        says="adapter_id `shell` stands under the name `script`",
    ),
    case("old-spelling-of-a-wrong-kind", "wrong-value", ('kind = "script"', 'mode = ‸"scripts"')),
    case(
        "old-spelling-of-a-wrong-timeout",
        "wrong-value",
        ("timeout_ms = 600001", "timeoutMs = ‸1"),
        says="`timeout_ms` must be at least 1000, not `1`",
    ),
    case(
        "key-twice",
        "duplicate-key",
        ('command = "hermes"', 'command = "hermes"\n‸command = "hermes2"'),
        says="this key or table is already there",
    ),
    case(
        "table-twice",
        "duplicate-key",
        ("[adapters.hermes]", "‸[adapters.codex]"),
        says="this key or table is already there",
    ),
    case(
        "table-over-a-value",
        "duplicate-key",
        ("[adapters.hermes]", "‸[adapters.codex.command]"),
        says="this key or table is already there",
    ),
    case(
        "budget-of-an-adapter-that-is-not-there",
        "dangling",
        ("[budget.adapters.codex]", "‸[budget.adapters.codez]"),
        says="adapter `codez` does not exist",
        hint="did you mean `codex`?",
    ),
    case(
        "budget-of-an-agent-that-is-not-there",
        "dangling",
        ("[budget.adapters.codex]", "‸[budget.agents.bob]"),
        says="agent `bob` does not exist",
        hint="known: none",
    ),
    case(
        "told-on-a-channel-that-is-not-there",
        "dangling",
        ('notify = ["console", "team"]', 'notify = ["console", ‸"teams"]'),
        says="channel `teams` does not exist",
        hint="did you mean `team`?",
    ),
    case(
        "sensor-of-a-skill-that-is-not-there",
        "dangling",
        ("[budget.day]", "‸[sensors.code-reviews]\n\n[budget.day]"),
        says="skill `code-reviews` does not exist",
        hint="did you mean `code-review`?",
    ),
    case(
        "sensor-of-a-skill-that-has-none",
        "dangling",
        ("[budget.day]", "‸[sensors.code-review]\n\n[budget.day]"),
        says="skill `code-review` has no sensor",
        hint="add `sensor_path` to its skill.toml",
    ),
    case(
        "webhook-of-a-workflow-that-is-not-there",
        "dangling",
        ('template = "goal-loop"', 'template = ‸"goal-lop"'),
        says="workflow `goal-lop` does not exist",
        hint="did you mean `goal-loop`?",
    ),
    case(
        "channel-with-two-addresses",
        "contradiction",
        ("[channels.team]\n", '‸[channels.team]\nurl = "https://127.0.0.1/"\n'),
        says="a webhook has one address",
        hint="say `url`, or `url-env` where it is a secret",
    ),
    case(
        "channel-without-a-secret",
        "missing-key",
        ("[channels.team]\n", "‸[channels.team]\n"),
        ('secret-env = "TEAM_SECRET"\n', ""),
        says="a webhook needs a secret to sign with",
        hint="add `secret-env`, the variable that holds it",
    ),
    case(
        "channel-of-apprise-with-an-address-in-the-file",
        "contradiction",
        ('[channels.team]\nkind = "webhook"', '‸[channels.team]\nkind = "apprise"\nurl = "json://127.0.0.1/"'),
        says="the address of apprise holds secrets, so it stands in a variable",
        hint="say `url-env`, the variable's name",
    ),
    case(
        "channel-of-apprise-with-a-secret",
        "contradiction",
        ('[channels.team]\nkind = "webhook"', '‸[channels.team]\nkind = "apprise"'),
        says="apprise signs nothing, so it has no secret beside its address",
        hint="leave out `secret-env`",
    ),
    case(
        "console-with-a-secret",
        "contradiction",
        ('[channels.team]\nkind = "webhook"', '‸[channels.team]\nkind = "console"'),
        says="a console has neither an address nor a secret",
    ),
    case(
        "budget-below-nothing",
        "wrong-value",
        ("max-cost-usd = 20.0", "max-cost-usd = ‸-1.0"),
        says="`max-cost-usd` must be at least 0, not `-1.0`",
    ),
    case("syntax", "syntax", ('to = "branch"', "to = ‸"), says="invalid value"),
]
