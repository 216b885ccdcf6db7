"""SKILL.md, and skill.toml beside it."""

from tests.library.malformed.case import Kind, case

HERE = "skills/code-review"
MAIN = f"{HERE}/SKILL.md"
EXTRA = f"{HERE}/skill.toml"

KIND = Kind(
    "skill",
    MAIN,
    {
        MAIN: """\
---
name: code-review
description: How to review code so that every finding is proved. Use when asked to review.
license: Apache-2.0
compatibility: Needs git.
metadata:
  audience: reviewer
allowed-tools: Read Grep
---

# Code review

Three proved findings beat thirty remarks.
""",
        EXTRA: """\
tags = ["review"]
subagent_path = "AGENT.md"
sensor_path = "sensor.py"
input_schema_id = "agent-runtime/task.spec/v1"

[[cli_commands]]
name = "blame"
command = "git blame"
description = "Who wrote it."
""",
        f"{HERE}/AGENT.md": "Delegate.\n",
        f"{HERE}/sensor.py": "print()\n",
    },
    by="skill",
)

BODY = "\n# Code review\n\nThree proved findings beat thirty remarks.\n"

CASES = [
    case(
        "empty-file",
        "no-frontmatter",
        write={MAIN: "‸"},
        says="does not begin with a line `---`",
        hint="begin the file with `---`, the keys, and `---`",
    ),
    case(
        "no-frontmatter",
        "no-frontmatter",
        write={MAIN: "‸# Code review\n"},
        says="does not begin with a line `---`",
        hint="begin the file with `---`, the keys, and `---`",
    ),
    case(
        "frontmatter-after-a-blank-line",
        "no-frontmatter",
        write={MAIN: "‸\n---\nname: code-review\n---\n"},
        says="does not begin with a line `---`",
        hint="begin the file with `---`, the keys, and `---`",
    ),
    case(
        "frontmatter-not-closed",
        "no-frontmatter",
        ("allowed-tools: Read Grep\n---\n", "allowed-tools: Read Grep\n"),
        ("---\nname", "‸---\nname"),
        says="has no closing line `---`",
        hint="begin the file with `---`, the keys, and `---`",
    ),
    case(
        "frontmatter-closed-by-dots",
        "no-frontmatter",
        ("Read Grep\n---\n", "Read Grep\n...\n"),
        ("---\nname", "‸---\nname"),
        says="has no closing line `---`",
        hint="begin the file with `---`, the keys, and `---`",
    ),
    case(
        "frontmatter-empty",
        "wrong-type",
        write={MAIN: "---\n‸---\n" + BODY},
        says="document must be an object, not null",
    ),
    case(
        "frontmatter-is-a-list",
        "wrong-type",
        write={MAIN: "---\n‸- name\n- description\n---\n" + BODY},
        says="document must be an object, not a list",
    ),
    case(
        "frontmatter-is-text",
        "wrong-type",
        write={MAIN: "---\n‸code-review\n---\n" + BODY},
        says="document must be an object, not a string",
    ),
    case("no-name", "missing-key", ("name: code-review\ndescription", "‸description"), says="missing key `name`"),
    case(
        "no-description",
        "missing-key",
        write={MAIN: "---\n‸name: code-review\n---\n" + BODY},
        says="missing key `description`",
    ),
    case(
        "key-misspelt",
        "unknown-key",
        ("license:", "‸licence:"),
        says="unknown key `licence`",
        hint="did you mean `license`?",
    ),
    case(
        "key-with-underscore",
        "unknown-key",
        ("allowed-tools", "‸allowed_tools"),
        says="unknown key `allowed_tools`",
        hint="did you mean `allowed-tools`?",
    ),
    case(
        "key-unlike-any",
        "unknown-key",
        ("license: Apache-2.0", "‸version: 1"),
        says="unknown key `version`",
        hint="known keys: name, description, license, compatibility, metadata, allowed-tools",
    ),
    case(
        "name-of-another-folder",
        "bad-name",
        ("name: code-review", "name: ‸code-reviews"),
        says="name `code-reviews` differs from the folder `code-review`",
    ),
    case(
        "name-in-capitals",
        "wrong-value",
        ("name: code-review", "name: ‸Code-Review"),
        says="`name` must be lower-case letters and digits in words joined by single dashes, not `Code-Review`",
    ),
    case(
        "name-with-two-dashes",
        "wrong-value",
        ("name: code-review", "name: ‸code--review"),
        says="`name` must be lower-case letters and digits in words joined by single dashes, not `code--review`",
    ),
    case(
        "name-is-a-number",
        "wrong-type",
        ("name: code-review", "name: ‸7"),
        says="`name` must be a string, not an integer",
    ),
    case("name-is-null", "wrong-type", ("name: code-review", "name: ‸~"), says="`name` must be a string, not null"),
    case("name-of-65-letters", "wrong-value", ("name: code-review", f"name: ‸{'c' * 65}")),
    case(
        "description-empty",
        "wrong-value",
        (
            "description: How to review code so that every finding is proved. Use when asked to review.",
            'description: ‸""',
        ),
    ),
    case("description-of-1025-letters", "wrong-value", ("description: How", f"description: ‸{'d' * 1025}How")),
    case(
        "description-with-a-colon",
        "syntax",
        ("description: How", "description: How‸: How"),
        says="mapping values are not allowed in this context",
    ),
    case(
        "metadata-is-a-list",
        "wrong-type",
        ("metadata:\n  audience: reviewer", "metadata: ‸[reviewer]"),
        says="`metadata` must be an object, not a list",
    ),
    case(
        "metadata-holds-a-number",
        "wrong-type",
        ("audience: reviewer", "audience: ‸1"),
        says="`audience` must be a string, not an integer",
    ),
    case(
        "metadata-key-is-a-number",
        "wrong-type",
        ("audience: reviewer", "‸1: reviewer"),
        says="the key `1` must be a string",
    ),
    case("metadata-key-is-true", "wrong-type", ("audience: reviewer", "‸true: reviewer")),
    case(
        "tools-are-a-list",
        "wrong-type",
        ("allowed-tools: Read Grep", "allowed-tools: ‸[Read, Grep]"),
        says="`allowed-tools` must be a string, not a list",
    ),
    case("compatibility-too-long", "wrong-value", ("compatibility: Needs git.", f"compatibility: ‸{'n' * 501}")),
    case(
        "key-twice",
        "duplicate-key",
        ("license: Apache-2.0", "license: Apache-2.0\n‸license: MIT"),
        says="this key is already there",
    ),
    case(
        "key-twice-below",
        "duplicate-key",
        ("  audience: reviewer", "  audience: reviewer\n  ‸audience: author"),
        says="this key is already there",
    ),
    case("merge-key", "unknown-key", ("license: Apache-2.0", "‸<<: {license: MIT}")),
    case("tag-of-our-own", "wrong-type", ("name: code-review", "name: ‸!name code-review")),
    case("alias-of-nothing", "syntax", ("name: code-review", "name: ‸*nothing"), says="unknown anchor"),
    case(
        "tab-as-indent",
        "syntax",
        ("  audience: reviewer", "‸\taudience: reviewer"),
        says="found character that cannot start any token",
    ),
    case("list-not-closed", "syntax", ("license: Apache-2.0", "license: [MIT")),
    case("quote-not-closed", "syntax", ("license: Apache-2.0", 'license: "MIT')),
    case("two-documents", "syntax", ("license: Apache-2.0\n", "license: Apache-2.0\n--- # again\nname: x\n")),
    case("no-instructions", "empty-text", (BODY, "\n \n")),
    case(
        "extra-key-misspelt",
        "unknown-key",
        (EXTRA, "tags =", "‸tag ="),
        says="unknown key `tag`",
        hint="did you mean `tags`?",
    ),
    case(
        "extra-key-with-a-dash",
        "unknown-key",
        (EXTRA, "[[cli_commands]]", "[[‸cli-commands]]"),
        says="unknown key `cli-commands`",
        hint="did you mean `cli_commands`?",
    ),
    case(
        "extra-tags-are-text",
        "wrong-type",
        (EXTRA, '["review"]', '‸"review"'),
        says="`tags` must be a list, not a string",
    ),
    case("extra-syntax", "syntax", (EXTRA, 'tags = ["review"]', "tags = [‸review]"), says="invalid value"),
    case(
        "extra-key-twice",
        "duplicate-key",
        (EXTRA, 'tags = ["review"]', 'tags = ["review"]\n‸tags = []'),
        says="this key or table is already there",
    ),
    case(
        "extra-command-without-name",
        "missing-key",
        (EXTRA, '[[cli_commands]]\nname = "blame"\n', "‸[[cli_commands]]\n"),
        says="missing key `name`",
    ),
    case(
        "extra-command-without-command",
        "missing-key",
        (EXTRA, '[[cli_commands]]\nname = "blame"\ncommand = "git blame"\n', '‸[[cli_commands]]\nname = "blame"\n'),
        says="missing key `command`",
    ),
    case("extra-command-empty", "wrong-value", (EXTRA, '"git blame"', '‸""')),
    case(
        "extra-commands-are-text",
        "wrong-type",
        write={EXTRA: 'cli_commands = ‸"git blame"\n'},
        says="`cli_commands` must be a list, not a string",
    ),
    case("subagent-missing", "missing-file", (EXTRA, '"AGENT.md"', '‸"AGENTS.md"')),
    case("sensor-missing", "missing-file", (EXTRA, '"sensor.py"', '‸"sensors.py"')),
    case(
        "subagent-climbs-out",
        "wrong-value",
        (EXTRA, '"AGENT.md"', '‸"../AGENT.md"'),
        says="`subagent_path` must be a relative path without `..`, not `../AGENT.md`",
    ),
    case(
        "sensor-absolute",
        "wrong-value",
        (EXTRA, '"sensor.py"', '‸"/usr/bin/env"'),
        says="`sensor_path` must be a relative path without `..`, not `/usr/bin/env`",
    ),
    case(
        "both-files-wrong",
        "unknown-key",
        ("license:", "‸licence:"),
        (EXTRA, "tags =", "tag ="),
        also=("unknown-key",),
        says="unknown key `licence`",
        hint="did you mean `license`?",
    ),
    case("subagent-of-300-letters", "missing-file", (EXTRA, '"AGENT.md"', f'"{"a" * 300}"')),
]
