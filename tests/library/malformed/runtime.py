"""runtime.json of the original, with what it extends and the profiles it names."""

# ruff: noqa: E501 - a message stands on one line here, as it is compared

from tests.library.malformed.case import Kind, case

MAIN = "config/runtime.json"
BASE = "base.json"
PROFILE = "config/worker.json"

KIND = Kind(
    "runtime",
    MAIN,
    {
        MAIN: """\
{
  "extends": "../base.json",
  "runtimeName": "indra",
  "stateDir": "state",
  "defaultProfile": "worker",
  "defaultAdapter": "local",
  "maxAttempts": 3,
  "profiles": {"worker": "worker.json"},
  "adapters": {
    "local": {
      "kind": "script",
      "command": "sh",
      "timeout_ms": 60000
    }
  }
}
""",
        BASE: """\
{
  "logDir": "logs",
  "retryBackoffSeconds": 30,
  "adapters": {
    "coder": {
      "kind": "codex",
      "command": "codex",
      "timeout_ms": 1800000,
      "extra_args": ["--json"]
    }
  }
}
""",
        PROFILE: """\
{
  "profile_id": "worker",
  "style": "codex-like",
  "role": "edit-local",
  "default_adapter_id": "coder",
  "prompt_parts": [],
  "skill_ids": [],
  "context_policy": {"max_prompt_chars": 200000, "include_recent_memory": false},
  "result_policy": {"allow_follow_up_tasks": false, "allow_external_messages": false}
}
""",
    },
    by="runtime",
)

LOCAL = '{\n      "kind": "script",\n      "command": "sh",\n      "timeout_ms": 60000\n    }'

CASES = [
    case("empty-file", "syntax", write={MAIN: "‸"}, says="expecting value"),
    case("only-blanks", "syntax", write={MAIN: "\n\n  "}),
    case("is-a-list", "wrong-type", write={MAIN: "‸[]"}, says="document must be an object, not a list"),
    case("is-text", "wrong-type", write={MAIN: '‸"runtime"'}, says="document must be an object, not a string"),
    case("is-null", "wrong-type", write={MAIN: "‸null"}, says="document must be an object, not null"),
    case("is-a-number", "wrong-type", write={MAIN: "‸1"}, says="document must be an object, not an integer"),
    case("not-there", "unreadable", write={MAIN: None}, placed=False),
    case(
        "comma-too-many",
        "syntax",
        (
            '"maxAttempts": 3,\n  "profiles": {"worker": "worker.json"},',
            '"maxAttempts": 3,\n  "profiles": {"worker": "worker.json"‸,},',
        ),
        says="a comma before the end",
        hint="remove the comma",
    ),
    case("comma-missing", "syntax", ('"runtimeName": "indra",', '"runtimeName": "indra"')),
    case(
        "comment",
        "syntax",
        ('"runtimeName"', '‸// who\n  "runtimeName"'),
        says="expecting property name enclosed in double quotes",
    ),
    case("single-quotes", "syntax", ('"indra"', "‸'indra'"), says="expecting value"),
    case("not-closed", "syntax", write={MAIN: '{"runtimeName": "indra"‸'}, says="expecting ',' delimiter"),
    case("something-behind", "syntax", write={MAIN: '{"runtimeName": "indra"} ‸x'}, says="extra data"),
    case("text-with-a-newline", "syntax", ('"indra"', '"in‸\ndra"')),
    case("unknown-escape", "syntax", ('"indra"', '"in‸\\dra"'), says="invalid \\escape"),
    case(
        "number-with-a-leading-zero",
        "syntax",
        ('"maxAttempts": 3', '"maxAttempts": 0‸3'),
        says="expecting ',' delimiter",
    ),
    case("not-a-number", "wrong-value", ('"maxAttempts": 3', '"maxAttempts": ‸NaN'), says="must be a finite number"),
    case("infinite", "wrong-value", ('"maxAttempts": 3', '"maxAttempts": ‸-Infinity'), says="must be a finite number"),
    case(
        "too-large-for-a-number",
        "wrong-value",
        ('"maxAttempts": 3', '"maxAttempts": ‸1e999'),
        says="must be a finite number",
    ),
    case(
        "integer-beyond-all",
        "wrong-value",
        ('"maxAttempts": 3', '"maxAttempts": ‸9007199254740992'),
        says="must be an integer between -(2^53-1) and 2^53-1",
    ),
    case("half-a-surrogate-pair", "not-text", ('"indra"', '‸"\\ud83d"'), says="contains half a surrogate pair"),
    case(
        "key-twice",
        "duplicate-key",
        ('"maxAttempts": 3', '"maxAttempts": 3,\n  ‸"stateDir": "x"'),
        says="the key `stateDir` is written twice",
    ),
    case(
        "key-twice-below",
        "duplicate-key",
        ('"command": "sh",', '"command": "sh",\n      ‸"kind": "script",'),
        says="the key `kind` is written twice",
    ),
    case(
        "adapter-twice",
        "duplicate-key",
        (LOCAL, LOCAL + ',\n    ‸"local": {}'),
        says="the key `local` is written twice",
    ),
    case(
        "key-misspelt",
        "unknown-key",
        ('"runtimeName"', '‸"runtimName"'),
        says="unknown key `runtimName`",
        hint="did you mean `runtimeName`?",
    ),
    case(
        "key-in-snake-case",
        "unknown-key",
        ('"stateDir"', '‸"state_dir"'),
        says="unknown key `state_dir`",
        hint="did you mean `stateDir`?",
    ),
    case(
        "key-unlike-any",
        "unknown-key",
        ('"stateDir"', '‸"zzz"'),
        says="unknown key `zzz`",
        hint="known keys: extends, runtimeName, runtimePolicy, stateDir, logDir, artifactDir, dbPath, lockPath, defaultProfile, defaultAdapter, maxAttempts, retryBackoffSeconds, profiles, adapters, substrate",
    ),
    case("name-is-a-number", "wrong-type", ('"indra"', "‸7"), says="`runtimeName` must be a string, not an integer"),
    case("name-empty", "wrong-value", ('"indra"', '‸""')),
    case(
        "attempts-zero",
        "wrong-value",
        ('"maxAttempts": 3', '"maxAttempts": ‸0'),
        says="`maxAttempts` must be at least 1, not `0`",
    ),
    case(
        "attempts-too-many",
        "wrong-value",
        ('"maxAttempts": 3', '"maxAttempts": ‸1001'),
        says="`maxAttempts` must be at most 1000, not `1001`",
    ),
    case(
        "attempts-are-text",
        "wrong-type",
        ('"maxAttempts": 3', '"maxAttempts": ‸"3"'),
        says="`maxAttempts` must be an integer, not a string",
    ),
    case(
        "attempts-are-true",
        "wrong-type",
        ('"maxAttempts": 3', '"maxAttempts": ‸true'),
        says="`maxAttempts` must be an integer, not true or false",
    ),
    case(
        "extends-itself",
        "cycle",
        ('"../base.json"', '‸"runtime.json"'),
        says="`extends` goes round in a circle: config/runtime.json -> config/runtime.json",
    ),
    case(
        "extends-in-a-circle",
        "cycle",
        (BASE, '"logDir": "logs"', '"extends": ‸"config/runtime.json",\n  "logDir": "logs"'),
    ),
    case(
        "extends-20-deep",
        "too-long-chain",
        ('"../base.json"', '"c0.json"'),
        write={f"config/c{n}.json": f'{{"extends": "c{n + 1}.json"}}\n' for n in range(20)} | {"config/c20.json": "{}"},
    ),
    case(
        "extends-what-is-not-there",
        "missing-file",
        ('"../base.json"', '‸"../bases.json"'),
        says="`extends` names `../bases.json`, which cannot be read",
    ),
    case(
        "extends-a-folder",
        "missing-file",
        ('"../base.json"', '‸"../config"'),
        says="`extends` names `../config`, which cannot be read",
    ),
    case(
        "extends-a-list",
        "wrong-type",
        ('"../base.json"', '‸["../base.json"]'),
        says="`extends` must be a string, not a list",
    ),
    case(
        "extends-what-does-not-parse", "syntax", (BASE, '"logDir": "logs",', '"logDir": ‸logs,'), says="expecting value"
    ),
    case(
        "extends-what-is-wrong",
        "unknown-key",
        (BASE, '"logDir"', '‸"logdir"'),
        says="unknown key `logdir`",
        hint="did you mean `logDir`?",
    ),
    case(
        "extends-another-format", "syntax", ('"../base.json"', '"../base.txt"'), write={"base.txt": "{}"}, placed=False
    ),
    case("profile-missing", "missing-file", ('{"worker": "worker.json"}', '{"worker": ‸"workers.json"}')),
    case(
        "profile-under-another-name",
        "bad-name",
        (PROFILE, '"profile_id": "worker"', '"profile_id": ‸"walker"'),
        says="profile_id `walker` stands under the name `worker`",
    ),
    case(
        "profile-is-a-number",
        "wrong-type",
        ('{"worker": "worker.json"}', '{"worker": ‸1}'),
        says="`worker` must be a string, not an integer",
    ),
    case(
        "profiles-are-a-list",
        "wrong-type",
        ('{"worker": "worker.json"}', '‸["worker.json"]'),
        says="`profiles` must be an object, not a list",
    ),
    case("profile-is-wrong", "wrong-value", (PROFILE, '"codex-like"', '‸"codexlike"')),
    case("profile-does-not-parse", "syntax", (PROFILE, '"skill_ids": []', '"skill_ids": [')),
    case(
        "default-profile-leads-nowhere",
        "dangling",
        ('"defaultProfile": "worker"', '"defaultProfile": ‸"walker"'),
        says="defaultProfile `walker` is not in `profiles`",
    ),
    case(
        "default-adapter-leads-nowhere",
        "dangling",
        ('"defaultAdapter": "local"', '"defaultAdapter": ‸"locals"'),
        says="defaultAdapter `locals` is not in `adapters`",
    ),
    case(
        "adapters-are-a-list",
        "wrong-type",
        (
            BASE,
            '"adapters": {\n    "coder": {\n      "kind": "codex",\n      "command": "codex",\n      "timeout_ms": 1800000,\n      "extra_args": ["--json"]\n    }\n  }',
            '"adapters": ‸[]',
        ),
        says="`adapters` must be an object, not a list",
    ),
    case("adapter-is-text", "wrong-type", (LOCAL, '‸"sh"'), says="`local` must be an object, not a string"),
    case("adapter-is-null", "wrong-type", (LOCAL, "‸null"), says="`local` must be an object, not null"),
    case("adapter-without-kind", "missing-key", (LOCAL, '‸{"command": "sh", "timeout_ms": 60000}')),
    case(
        "adapter-without-command",
        "missing-key",
        (LOCAL, '‸{"kind": "script", "timeout_ms": 60000}'),
        says="missing key `command`",
    ),
    case("adapter-kind-unknown", "wrong-value", ('"kind": "script"', '"kind": ‸"shell"')),
    case("adapter-key-misspelt", "unknown-key", ('"command": "sh",', '"command": "sh",\n      ‸"commands": "sh",')),
    case(
        "adapter-under-another-name",
        "bad-name",
        ('"command": "sh",', '"command": "sh",\n      "adapter_id": ‸"shell",'),
        says="adapter_id `shell` stands under the name `local`",
    ),
    case(
        "adapter-bypasses",
        "bypass-flag",
        (BASE, '"--json"', '‸"--dangerously-bypass-approvals-and-sandbox"'),
        says="`--dangerously-bypass-approvals-and-sandbox` gives up a guard and may not stand in extra_args",
        hint='say it openly: `autonomy = { profile = "trusted-vm" }`',
    ),
    case(
        "adapter-below-is-wrong",
        "wrong-value",
        (BASE, "1800000", "‸1"),
        says="`timeout_ms` must be at least 1000, not `1`",
    ),
    case("old-driver-unknown", "wrong-value", ('"kind": "script"', '"mode": "agent-cli",\n      "driver": ‸"gemini"')),
    case("extends-with-a-nul", "missing-file", ('"../base.json"', '‸"base\\u0000.json"')),
    case("extends-of-300-letters", "missing-file", ('"../base.json"', f'‸"{"b" * 300}.json"')),
    case("profile-of-300-letters", "missing-file", ('{"worker": "worker.json"}', f'{{"worker": ‸"{"w" * 300}.json"}}')),
    case("profile-with-a-nul", "missing-file", ('{"worker": "worker.json"}', '{"worker": ‸"w\\u0000.json"}')),
]
