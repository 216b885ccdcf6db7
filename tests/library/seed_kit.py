"""A kit root in the originals' layout, as an author would have it: small, whole and without a mistake.

`write_kit(folder)` writes it; `write_kit(folder, {path: text})` writes it with some files changed, added, or (None)
left out. Everything here is our own text in their form: compiled gates, `run-mode`, severity `enforce`, alias stubs,
`[taxonomy]` and `[lineage]`, schemas whose `$id` is not where they stand.
"""

import json
from pathlib import Path
from textwrap import dedent


def capability(name: str, *tables: str, description: str = "One rule.", accepts: str = "[]") -> str:
    """A capability.toml of the originals; tables are added before taxonomy and lineage."""
    category, _, slug = name.partition("::")
    head = f"""\
[capability]
name = "{name}"                # <category>::<slug>
category = "{category}"
version = "1.0"
description = "{description}"
rationale = "See rules/orchestrator-branch-first.md"

[parameterized]
accepts = {accepts}

[text]
path = "text.md"
"""
    tail = f"""\
[taxonomy]
kingdom = "capability"
mechanism = "{slug}"
domain = "agent"
layer = "agent-substrate"
stage = "runtime"
stability = "stable"
language = "any"

[lineage]
parents = []
creator = "ag-orchestrator-human"
created = "2026-04-23"
"""
    return "\n".join([head, *(dedent(table).strip("\n") + "\n" for table in tables), tail])


def alias(name: str, target: str) -> str:
    """An alias stub: a head and nothing else, and no text beside it."""
    return f"""\
[capability]
name = "{name}"
alias = "{target}"
deprecated = "v0.17: use {target}; alias retained through v2"
"""


def gate(module: str, event: str, severity: str = "block", bypass: str = "") -> str:
    """A compiled gate."""
    lines = f'[gate]\nrust-module = "gates::{module}"\nevent = "{event}"\nseverity = "{severity}"'
    return f'{lines}\nbypass-env = "{bypass}"' if bypass else lines


def verify(module: str, run_mode: str = "worktree") -> str:
    """A compiled verify."""
    return f'[verify]\nrust-module = "verifies::{module}"\nrun-mode = "{run_mode}"\nwhen = "on-return"'


BASH, EDIT = "PreToolUse:Bash", "PreToolUse:Edit|Write"
DENIED = """
[restricts]
tool-patterns = []
tools-denied = ["Edit", "Write", "MultiEdit", "NotebookEdit"]
"""
GIT = """
[restricts]
tool-patterns = [
  '^git( |$)',
  '^gh (repo|api /repos)',
]
tools-denied = []
"""
GIT_WRITES = """
[restricts]
tool-patterns = ['^git (push|commit|merge|rebase|reset|tag)( |$)']
"""
CAPABILITIES: dict[str, tuple[str, str]] = {
    "policy::no-git-ops": (
        capability("policy::no-git-ops", GIT, gate("policy_no_git_ops", BASH, bypass="ORCHESTRATOR_META")),
        "## No git operations\n\nYou MUST NOT run `git`; the orchestrator commits on your behalf.\n",
    ),
    "policy::git-ops-scope": (
        capability("policy::git-ops-scope", GIT_WRITES, gate("policy_git_ops_scope", BASH, severity="enforce")),
        "## Look, and change nothing\n\nYou MAY look at history. You MUST NOT move a ref.\n",
    ),
    "scope::files-whitelist": (
        capability(
            "scope::files-whitelist",
            gate("scope_files_whitelist", EDIT),
            verify("scope_files_whitelist"),
            accepts='["files-whitelist"]',
        ),
        "## Files you may write\n\nYou MUST write only what your task's scope lists.\n",
    ),
    "scope::files-denylist": (
        capability(
            "scope::files-denylist",
            gate("scope_files_denylist", "PreToolUse:Edit|Write|NotebookEdit"),
            verify("scope_files_denylist"),
            accepts='["files-denylist"]',
        ),
        "## Files you must leave alone\n\nThe denylist wins over the whitelist.",
    ),
    "quality::constructor-pattern": (
        capability("quality::constructor-pattern", verify("quality_constructor_pattern")),
        "## Small parts\r\n\r\nNo file over 200 lines, no function over 30.\r\n",
    ),
    "quality::cargo-check-green": (
        capability(
            "quality::cargo-check-green", verify("quality_cargo_check_green", "both"), accepts='["cargo-check-crates"]'
        ),
        "## cargo check is green\n\nFrom the main workspace, not from your worktree.\n\n",
    ),
    "quality::tests-green": (
        capability(
            "quality::tests-green",
            verify("quality_tests_green", "both"),
            accepts='["cargo-test-crates", "test-count-min"]',
        ),
        "## Tests are green\n\nNo fewer of them than the task asks for.\n",
    ),
    "safety::no-dep-bump": (
        capability("safety::no-dep-bump", gate("safety_no_dep_bump", EDIT), verify("safety_no_dep_bump", "both")),
        "## Dependencies stay\n\nYou MUST NOT touch `Cargo.toml` or `Cargo.lock`.\n",
    ),
    "output::report-format": (
        capability("output::report-format", verify("output_report_format"), accepts='["report-fields-required"]'),
        "## Report\n\nEnd with one line per required field: `field: value`.\n",
    ),
    "output::severity-grade": (
        capability("output::severity-grade", verify("output_severity_grade")),
        "## Grades\n\nEach finding is HIGH, MEDIUM or LOW.\n",
    ),
    "tools::deny-tools": (
        capability("tools::deny-tools", DENIED, gate("tools_deny_tools", EDIT)),
        "## No edits\n\nYou MUST NOT edit files.\n",
    ),
    "tools::bash-allowlist": (
        capability("tools::bash-allowlist", gate("tools_bash_allowlist", BASH)),
        "## A short list of commands\n\nAnything else is refused.\n",
    ),
}
ALIASES = {"tools::read-only": "tools::deny-tools", "tools::cargo-only-bash": "tools::bash-allowlist"}

ROLES = {
    "read-only": """
        [role]
        name = "read-only"
        display-name = "explorer (read-only analyst)"
        description = "Reads, and reports with grades."
        spawnable = true

        [capabilities]
        required = ["tools::deny-tools", "output::report-format", "output::severity-grade"]

        [tools]
        allowed = ["Read", "Glob", "Grep", "WebFetch"]

        [escalation]
        policy = "ask-via-return"
        """,
    "explorer": """
        [role]
        name = "explorer"
        description = "Reads, and may build."
        claude-subagent-type = "Explore"

        [capabilities]
        extends = "read-only"
        required = ["tools::bash-allowlist"]

        [tools]
        allowed = ["Read", "Glob", "Grep", "WebFetch", "Bash"]
        bash-patterns-allowed = ['^cargo( |$)']
        """,
    "edit-local": """
        [role]
        name = "edit-local"
        display-name = "code-implementer (local edit scope)"
        description = "Writes code, runs cargo, reports. No git."

        [capabilities]
        # Ordered: text.md fragments are joined in this order.
        required = [
          "policy::no-git-ops",
          "scope::files-whitelist",
          "scope::files-denylist",
          "quality::constructor-pattern",
          "quality::cargo-check-green",
          "quality::tests-green",
          "safety::no-dep-bump",
          "output::report-format",
        ]

        [tools]
        allowed = ["Read", "Write", "Edit", "Glob", "Grep", "Bash"]
        bash-patterns-allowed = ['^cargo( |$)', '^mkdir( |$)', '^rm -rf /tmp/']

        [escalation]
        policy = "ask-via-return"

        [taxonomy]
        kingdom = "role"
        mechanism = "edit"

        [lineage]
        parents = []
        creator = "ag-orchestrator-human"
        created = "2026-04-23"
        """,
    "edit-shared": """
        [role]
        name = "edit-shared"
        description = "As edit-local, for one shared file; dependencies may change."

        [capabilities]
        extends = "edit-local"
        required = ["output::severity-grade"]
        relaxes = ["safety::no-dep-bump"]

        [escalation]
        policy = "orchestrator-notify"
        """,
    "auditor": """
        [role]
        name = "auditor"
        description = "Reads another agent's work and its history."

        [capabilities]
        extends = "read-only"
        required = ["policy::git-ops-scope"]

        [tools]
        allowed = ["Read", "Glob", "Grep", "Bash"]
        bash-patterns-allowed = ['^git (diff|log|show)( |$)']

        [pipeline]
        handoff = ["merger"]
        """,
    "merger": """
        [role]
        name = "merger"
        description = "Says whether it merges."

        [capabilities]
        required = ["policy::git-ops-scope", "output::report-format"]

        [tools]
        allowed = ["Read", "Bash"]
        bash-patterns-allowed = ['^git merge-tree( |$)']

        [pipeline]
        handoff = []
        """,
    "git-ops": """
        [role]
        name = "git-ops"
        description = "Documented only: the orchestrator holds git."
        spawnable = false

        [escalation]
        policy = "fail-fast"
        """,
}

TASKS = {
    "forge-templating": """
        [task]
        role = "edit-local"
        agent-id = "forge-templating-w14"

        [scope]
        files-whitelist = ["_primitives/_rust/kei-forge/**"]
        files-denylist = ["_primitives/_rust/Cargo.toml", "_primitives/_rust/Cargo.lock", "scripts/**"]

        [verification]
        cargo-check-crates = ["kei-forge"]
        cargo-test-crates = ["kei-forge"]
        test-count-min = 44

        [output]
        report-fields-required = ["files-touched", "cargo-check", "cargo-test", "loc-delta"]

        [body]
        text = \"\"\"
        Replace the shell-out with templating of our own.

        1. Keep `kei-forge new`'s output: "same bytes", c:\\\\temp and all.
        2. Report what you found; забытое тоже.
        \"\"\"
        """,
    "audit-deps": """
        [task]
        role = "explorer"
        parent-agent = ""

        [output]
        report-fields-required = ["summary"]

        [body]
        text = "Which dependencies does nobody use?"
        """,
    "shared-registry": """
        [task]
        role = "edit-shared"
        agent-id = ""
        parent-agent = "forge-templating-w14"

        [scope]
        files-whitelist = ["src/registry.rs", "src/kei_b/**"]
        """,
}

DRAFT = "http://json-schema.org/draft-07/schema#"
FRAGMENTS = "../../../../../_schemas/fragments"


def _json(value: object) -> str:
    return json.dumps(value, indent=2) + "\n"


def _schema(schema_id: str, **rest: object) -> str:
    return _json({"$schema": DRAFT, "$id": schema_id, "type": "object", **rest})


def _page(verb: str, kind: str, required: str, effects: str, body: str, *, idempotent: str = "false") -> str:
    return f"""\
---
atom: kei-task::{verb}
kind: {kind}
version: "0.3.1"
input:
  schema: schemas/{verb}-input.json
  required: {required}
output:
  schema: schemas/{verb}-output.json
errors:
  - code: InvalidInput
    http_analog: 400
    description: The input does not fit the schema.
side_effects: {effects}
idempotent: {idempotent}
timeout_ms: 5000
stability: beta
keywords: [task, {verb}]
related:
  - "[[kei-task::create]]"
  - "[[rules/RULE 0.13]]"
---

# kei-task::{verb}

{body}
"""


CARGO_WORKSPACE = """\
[workspace]
members = ["kei-task"]
resolver = "2"

[workspace.package]
version = "0.3.1"
edition = "2021"
"""
CARGO_PACKAGE = """\
[package]
name = "kei-task"
version.workspace = true
edition.workspace = true

[package.metadata.keisei]
backend = "sqlite"
db_env = "KEI_TASK_DB"
db_default = "~/.claude/task/task.sqlite"
migrations_dir = "migrations/"
schema_version = 1

[dependencies]
serde = "1"
"""
WRITES, READS = "[{op: write, domain: kei-task-db}]", "[{op: read, domain: kei-task-db}]"
TITLED = {"type": "string", "minLength": 1}

PACKAGE = {
    "Cargo.toml": CARGO_WORKSPACE,
    "kei-task/Cargo.toml": CARGO_PACKAGE,
    "kei-task/migrations/0001_tasks.sql": "CREATE TABLE tasks (id INTEGER PRIMARY KEY, title TEXT NOT NULL);\n",
    "kei-task/src/main.rs": "fn main() {}\n",
    "kei-task/atoms/create.md": _page(
        "create", "command", "[title]", WRITES, "Makes a to-do. See [[kei-task::search]] and [[some note]]."
    ),
    "kei-task/atoms/search.md": _page("search", "query", "[query]", READS, "Finds to-dos by words.", idempotent="true"),
    "kei-task/atoms/schemas/create-input.json": _schema(
        "kei-task/create-input.json",  # not where the file stands
        allOf=[{"$ref": f"{FRAGMENTS}/titled-content.json"}],
        properties={"priority": {"enum": ["critical", "high", "medium", "low"]}},
        required=["title"],
        examples=[{"title": "Write the page", "priority": "high"}],
    ),
    "kei-task/atoms/schemas/create-output.json": _schema(
        "create-output", properties={"id": {"type": "integer"}}, required=["id"], examples=[{"id": 7}]
    ),
    "kei-task/atoms/schemas/search-input.json": _schema(
        "schemas/kei-task/search-input",
        properties={"query": {"type": "string"}, "title": {"$ref": f"{FRAGMENTS}/titled.json#/properties/title"}},
        required=["query"],
        examples=[{"query": "page"}],
    ),
    "kei-task/atoms/schemas/search-output.json": _schema(
        "search-output", properties={"hits": {"type": "array"}}, examples=[{"hits": []}]
    ),
}

FILES: dict[str, str] = {
    **{
        f"_capabilities/{name.replace('::', '/')}/{file}": text
        for name, parts in CAPABILITIES.items()
        for file, text in zip(("capability.toml", "text.md"), parts, strict=True)
    },
    **{f"_capabilities/{name.replace('::', '/')}/capability.toml": alias(name, to) for name, to in ALIASES.items()},
    **{f"_roles/{name}.toml": dedent(text).lstrip("\n") for name, text in ROLES.items()},
    **{f"tasks/{name}/task.toml": dedent(text).lstrip("\n") for name, text in TASKS.items()},
    **{f"_primitives/_rust/{path}": text for path, text in PACKAGE.items()},
    "_schemas/fragments/titled.json": _schema("fragments/titled", properties={"title": TITLED}, required=["title"]),
    "_schemas/fragments/titled-content.json": _schema(
        "fragments/titled-content",
        allOf=[{"$ref": "titled.json"}],
        properties={"content": {"type": "string"}},
    ),
    "rules/orchestrator-branch-first.md": "# RULE 0.13: orchestrator branch first\n\nOnly it holds git.\n",
}
"""Every file of the root, by its path."""


def write_kit(folder: Path, changes: dict[str, str | None] | None = None) -> Path:
    """Write the root and return its folder. Texts are written as bytes, so that CRLF stays CRLF."""
    for path, text in (FILES | (changes or {})).items():
        if text is not None:
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text.encode("utf-8"))
    return folder
