"""profiles/*.toml."""

# ruff: noqa: E501 - a message stands on one line here, as it is compared

from tests.library.malformed.case import Kind, case, kit

MAIN = "profiles/critic.toml"
PROJECT = "keisei.toml"

KIND = Kind(
    "profile",
    MAIN,
    {
        MAIN: kit(MAIN),
        PROJECT: """\
[project]
name = "shop"

[adapters.second]
kind = "claude-code"
command = "claude"
timeout_ms = 60000
""",
    },
    by="profile",
)

CONTEXT = "[context_policy]\nmax_prompt_chars = 200000\n"
RESULT = "[result_policy]\nallow_follow_up_tasks = false\n"
SMALL = """\
profile_id = "critic"
style = "claude-like"
role = "read-only"
default_adapter_id = "claude-code"
prompt_parts = []
skill_ids = []

[context_policy]
max_prompt_chars = 200000
include_recent_memory = false

[result_policy]
allow_follow_up_tasks = false
allow_external_messages = false
"""

CASES = [
    case(
        "no-id",
        "missing-key",
        write={MAIN: "‸" + SMALL.replace('profile_id = "critic"\n', "")},
        says="missing key `profile_id`",
    ),
    case(
        "no-style",
        "missing-key",
        write={MAIN: "‸" + SMALL.replace('style = "claude-like"\n', "")},
        says="missing key `style`",
    ),
    case(
        "no-role",
        "missing-key",
        write={MAIN: "‸" + SMALL.replace('role = "read-only"\n', "")},
        says="missing key `role`",
    ),
    case(
        "no-adapter",
        "missing-key",
        write={MAIN: "‸" + SMALL.replace('default_adapter_id = "claude-code"\n', "")},
        says="missing key `default_adapter_id`",
    ),
    case(
        "no-prompt",
        "missing-key",
        write={MAIN: "‸" + SMALL.replace("prompt_parts = []\n", "")},
        says="missing key `prompt_parts`",
    ),
    case(
        "no-skills",
        "missing-key",
        write={MAIN: "‸" + SMALL.replace("skill_ids = []\n", "")},
        says="missing key `skill_ids`",
    ),
    case("no-prompt-length", "missing-key", (CONTEXT, "‸[context_policy]\n"), says="missing key `max_prompt_chars`"),
    case(
        "no-follow-up-rule", "missing-key", (RESULT, "‸[result_policy]\n"), says="missing key `allow_follow_up_tasks`"
    ),
    case("empty-file", "missing-key", write={MAIN: ""}),
    case(
        "key-misspelt",
        "unknown-key",
        ("fallback_adapter_ids", "‸fallback_adapters_ids"),
        says="unknown key `fallback_adapters_ids`",
        hint="did you mean `fallback_adapter_ids`?",
    ),
    case(
        "key-with-a-dash",
        "unknown-key",
        ("default_adapter_id", "‸default-adapter-id"),
        also=("missing-key",),
        says="unknown key `default-adapter-id`",
        hint="did you mean `default_adapter_id`?",
    ),
    case(
        "key-unlike-any",
        "unknown-key",
        ("skill_ids", "‸zzz = 1\nskill_ids"),
        says="unknown key `zzz`",
        hint="known keys: profile_id, style, role, default_adapter_id, default_model, fallback_adapter_ids, prompt_parts, skill_ids, context_policy, result_policy, integration_policy",
    ),
    case(
        "context-key-misspelt",
        "unknown-key",
        ("include_recent_memory", "‸include_recent_memories"),
        also=("missing-key",),
        says="unknown key `include_recent_memories`",
        hint="did you mean `include_recent_memory`?",
    ),
    case(
        "table-misspelt",
        "unknown-key",
        ("[result_policy]", "[‸results_policy]"),
        also=("missing-key",),
        says="unknown key `results_policy`",
        hint="did you mean `result_policy`?",
    ),
    case(
        "id-of-another-file",
        "bad-name",
        ('"critic"', '‸"critique"'),
        says="profile_id `critique` differs from the file `critic.toml`",
    ),
    case(
        "id-with-a-slash",
        "wrong-value",
        ('"critic"', '‸"a/critic"'),
        says="`profile_id` must be letters, digits, `_`, `.` and `-`, starting with a letter or digit, not `a/critic`",
    ),
    case("id-is-empty", "wrong-value", ('"critic"', '‸""')),
    case("id-of-65-letters", "wrong-value", ('"critic"', f'‸"{"c" * 65}"')),
    case("id-is-a-number", "wrong-type", ('"critic"', "‸1"), says="`profile_id` must be a string, not an integer"),
    case(
        "style-misspelt",
        "wrong-value",
        ('"claude-like"', '‸"claud-like"'),
        says="`style` must be one of `claude-like`, `codex-like`, `hermes-like`, not `claud-like`",
        hint="did you mean `claude-like`?",
    ),
    case(
        "style-unknown",
        "wrong-value",
        ('"claude-like"', '‸"zzz"'),
        says="`style` must be one of `claude-like`, `codex-like`, `hermes-like`, not `zzz`",
    ),
    case(
        "style-of-another-harness",
        "style-mismatch",
        ('"claude-like"', '‸"codex-like"'),
        says="style `codex-like` does not fit adapter `claude-code`, whose harness is claude-code",
        hint="write `claude-like`",
    ),
    case(
        "role-leads-nowhere",
        "dangling",
        ('role = "read-only"', 'role = ‸"read-onlyy"'),
        says="role `read-onlyy` does not exist",
        hint="did you mean `read-only`?",
    ),
    case(
        "role-is-a-table",
        "wrong-type",
        ('role = "read-only"', 'role = ‸{ name = "read-only" }'),
        says="`role` must be a string, not an object",
    ),
    case(
        "role-holds-git",
        "not-spawnable",
        ('role = "read-only"', 'role = ‸"git-ops"'),
        says="role `git-ops` cannot be spawned; by RULE 0.13 the orchestrator holds git",
        hint="use `edit-local`",
    ),
    case("role-climbs-out", "dangling", ('role = "read-only"', 'role = ‸"../profiles/critic"')),
    case(
        "adapter-leads-nowhere",
        "dangling",
        ('default_adapter_id = "claude-code"', 'default_adapter_id = ‸"claude-cod"'),
        says="adapter `claude-cod` does not exist",
        hint="did you mean `claude-code`?",
    ),
    case(
        "adapter-leads-nowhere-near",
        "dangling",
        ('default_adapter_id = "claude-code"', 'default_adapter_id = ‸"zzz"'),
        says="adapter `zzz` does not exist",
        hint="known adapters: claude-code, codex, hermes-agent, ollama, script, second",
    ),
    case(
        "adapter-is-a-list",
        "wrong-type",
        ('default_adapter_id = "claude-code"', "default_adapter_id = ‸[]"),
        says="`default_adapter_id` must be a string, not a list",
    ),
    case(
        "fallback-leads-nowhere",
        "dangling",
        ("fallback_adapter_ids = []", 'fallback_adapter_ids = ["second", ‸"third"]'),
        says="adapter `third` does not exist",
        hint="known adapters: claude-code, codex, hermes-agent, ollama, script, second",
    ),
    case(
        "fallback-of-another-style",
        "style-mismatch",
        ("fallback_adapter_ids = []", 'fallback_adapter_ids = [‸"codex"]'),
    ),
    case(
        "fallbacks-are-text",
        "wrong-type",
        ("fallback_adapter_ids = []", 'fallback_adapter_ids = ‸"second"'),
        says="`fallback_adapter_ids` must be a list, not a string",
    ),
    case(
        "prompt-is-text",
        "wrong-type",
        write={MAIN: SMALL.replace("prompt_parts = []", 'prompt_parts = ‸"Look."')},
        says="`prompt_parts` must be a list, not a string",
    ),
    case(
        "prompt-holds-a-table",
        "wrong-type",
        write={MAIN: SMALL.replace("prompt_parts = []", 'prompt_parts = ["a", ‸{ file = "x" }]')},
        says="prompt_parts[1] must be a string, not an object",
    ),
    case(
        "skill-leads-nowhere",
        "dangling",
        ('"code-review"', '‸"code-reviews"'),
        says="skill `code-reviews` does not exist",
        hint="did you mean `code-review`?",
    ),
    case("skill-climbs-out", "dangling", ('"code-review"', '‸"../code-review"')),
    case(
        "skill-is-a-number", "wrong-type", ('"code-review"', "‸1"), says="skill_ids[0] must be a string, not an integer"
    ),
    case(
        "prompt-too-short",
        "wrong-value",
        ("max_prompt_chars = 200000", "max_prompt_chars = ‸999"),
        says="`max_prompt_chars` must be at least 1000, not `999`",
    ),
    case(
        "prompt-too-long",
        "wrong-value",
        ("max_prompt_chars = 200000", "max_prompt_chars = ‸10_000_001"),
        says="`max_prompt_chars` must be at most 10000000, not `10000001`",
    ),
    case(
        "prompt-length-is-text",
        "wrong-type",
        ("max_prompt_chars = 200000", 'max_prompt_chars = ‸"200k"'),
        says="`max_prompt_chars` must be an integer, not a string",
    ),
    case(
        "memory-is-text",
        "wrong-type",
        ("include_recent_memory = false", 'include_recent_memory = ‸"no"'),
        says="`include_recent_memory` must be true or false, not a string",
    ),
    case(
        "messages-are-a-number",
        "wrong-type",
        ("allow_external_messages = false", "allow_external_messages = ‸0"),
        says="`allow_external_messages` must be true or false, not an integer",
    ),
    case(
        "channel-neither-allowed-nor-not",
        "wrong-value",
        (
            "allow_external_messages = false",
            'allow_external_messages = false\n\n[integration_policy]\nslack = ‸"maybe"',
        ),
        says="policy of channel `slack` must be `allow` or `none`, not `maybe`",
    ),
    case(
        "channel-is-a-switch",
        "wrong-type",
        ("allow_external_messages = false", "allow_external_messages = false\n\n[integration_policy]\nslack = ‸true"),
        says="`slack` must be a string, not true or false",
    ),
    case(
        "key-twice",
        "duplicate-key",
        ('style = "claude-like"', 'style = "claude-like"\n‸style = "codex-like"'),
        says="this key or table is already there",
    ),
    case(
        "old-key-and-new-key",
        "unknown-key",
        ("skill_ids", "‸skills = []\nskill_ids"),
        says="unknown key `skills`",
        hint="did you mean `skill_ids`?",
    ),
    case(
        "true-in-capitals",
        "syntax",
        ("allow_external_messages = false", "allow_external_messages = ‸False"),
        says="invalid value",
        hint="write `false`",
    ),
    case(
        "text-not-closed", "syntax", ('style = "claude-like"', 'style = "claude-like‸'), says="illegal character '\\n'"
    ),
    case(
        "keisei-toml-does-not-load",
        "dangling",
        ('role = "read-only"', 'role = ‸"nobody"'),
        (PROJECT, "timeout_ms", "timeout"),
        says="role `nobody` does not exist",
    ),
]
