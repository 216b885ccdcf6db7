"""A kit root in the originals' layout is read as it is: linted, composed, prepared, and told exactly what is wrong."""

import json
import re
import tomllib

import pytest

from keisei.rules.dna import CODES
from tests.cli.shell import Shell
from tests.library.seed_kit import FILES, alias, capability, gate, write_kit
from tests.prepared import KEYS

DNA = re.compile(r"^[a-z0-9-]+::[A-Z?-]+::[0-9A-F]{8}::[0-9A-F]{8}-[0-9a-f]{8}$")


@pytest.fixture
def shell(tmp_path, monkeypatch, capsysbinary):
    return Shell(tmp_path, monkeypatch, capsysbinary)


@pytest.fixture
def kit(tmp_path):
    return write_kit(tmp_path / "kit")


def problems(shell, root):
    """What lint says of a root: (code, path in the root, line, message, severity) each."""
    report = json.loads(shell.run("lint", "--kit-root", root, "--json").out)
    return [
        (
            each["code"],
            str((shell.folder / each["path"]).relative_to(root)),
            each.get("line"),
            each["message"],
            each.get("severity", "error"),
        )
        for each in report["problems"]
    ]


# A second reading of the originals' files, by the bare parser and the rules of SPEC 15.


def toml(path):
    return tomllib.loads(path.read_bytes().decode("utf-8"))


def folder_of(root, name):
    return root / "_capabilities" / name.replace("::", "/")


def current(root, name):
    alias_of = toml(folder_of(root, name) / "capability.toml")["capability"].get("alias")
    return current(root, alias_of) if alias_of else name


def required(root, role):
    tables = toml(root / "_roles" / f"{role}.toml").get("capabilities", {})
    names = required(root, tables["extends"]) if "extends" in tables else []
    for name in (current(root, each) for each in tables.get("required", [])):
        if name not in names:
            names.append(name)
    relaxed = [current(root, each) for each in tables.get("relaxes", [])]
    return [name for name in names if name not in relaxed]


def expected_prompt(root, task):
    spec = toml(task)
    parts = [(folder_of(root, name) / "text.md").read_bytes() for name in required(root, spec["task"]["role"])]
    lines = []
    for key, title in (
        ("files-whitelist", "**files-whitelist** (you MAY Edit/Write these):"),
        ("files-denylist", "**files-denylist** (you MUST NOT Edit/Write these):"),
    ):
        globs = spec.get("scope", {}).get(key, [])
        lines += ["", title, *(f"- `{glob}`" for glob in globs)] if globs else []
    checks = spec.get("verification", {})
    if checks.get("cargo-check-crates"):
        lines += ["", "**cargo check MUST pass** for: " + quoted(checks["cargo-check-crates"])]
    if checks.get("cargo-test-crates"):
        lines += ["**cargo test MUST pass** for: " + quoted(checks["cargo-test-crates"])]
    if checks.get("test-count-min", 0) > 0:
        lines += [f"**minimum test count:** {checks['test-count-min']}"]
    if fields := spec.get("output", {}).get("report-fields-required"):
        lines += ["", "**report MUST include fields:** " + quoted(fields)]
    if lines:
        parts.append("\n".join(["## Your task's scope (resolved from task.toml)", *lines]).encode())
    if spec.get("body", {}).get("text", "").strip():
        parts.append(spec["body"]["text"].encode())
    return b"\n\n---\n\n".join(parts)


def quoted(names):
    return ", ".join(f"`{name}`" for name in names)


def test_the_root_has_nothing_wrong_with_it(shell, kit):
    done = shell.run("lint", "--kit-root", kit, "--strict", "--json")

    report = json.loads(done.out)
    assert report["problems"] == []
    assert report["files"] == {"atom": 1, "capability": 14, "role": 7, "task": 3}
    assert (done.code, report["ok"]) == (0, True)


def test_seed_003_writes_deprecated_null_and_that_is_no_mistake(shell, tmp_path):
    page = "_primitives/_rust/kei-task/atoms/create.md"
    root = write_kit(tmp_path / "kit", {page: FILES[page].replace("stability:", "deprecated: null\nstability:")})

    assert problems(shell, root) == []


def test_a_compiled_allowlist_may_list_what_it_allows(shell, tmp_path):
    listing = "[restricts]\ntool-patterns = ['^cargo( |$)', '^ls( |$)']"
    manifest = capability("tools::bash-allowlist", listing, gate("tools_bash_allowlist", "PreToolUse:Bash"))
    root = write_kit(tmp_path / "kit", {"_capabilities/tools/bash-allowlist/capability.toml": manifest})

    assert problems(shell, root) == []


def test_a_root_whose_path_has_a_space_and_an_accent_is_read_like_any_other(shell, tmp_path):
    root = write_kit(tmp_path / "my kit é#1")

    assert problems(shell, root) == []


@pytest.mark.parametrize("task", ["forge-templating", "audit-deps", "shared-registry"])
def test_compose_gives_the_bytes_the_files_say(shell, kit, task):
    path = kit / "tasks" / task / "task.toml"

    done = shell.run("compose", path, "--kit-root", kit, command="kei-agent-runtime")

    assert done.raw == expected_prompt(kit, path)
    assert (path.parent / "prompt.md").read_bytes() == done.raw
    assert done.code == 0


def test_fragments_keep_their_line_ends_and_their_missing_ones(shell, kit):
    done = shell.run("agent", "compose", kit / "tasks/forge-templating/task.toml", "--kit-root", kit)

    assert b"no function over 30.\r\n\n\n---\n\n" in done.raw
    assert b"wins over the whitelist.\n\n---\n\n" in done.raw
    assert b"not from your worktree.\n\n\n\n---\n\n" in done.raw


def test_a_role_that_lists_an_old_name_composes_and_is_warned_once(shell, tmp_path):
    role = FILES["_roles/read-only.toml"].replace("tools::deny-tools", "tools::read-only")
    root = write_kit(tmp_path / "kit", {"_roles/read-only.toml": role})

    done = shell.run("agent", "compose", root / "tasks/audit-deps/task.toml", "--kit-root", root)

    assert done.raw == expected_prompt(root, root / "tasks/audit-deps/task.toml")
    assert done.err.count("warning") == 1
    assert "`tools::read-only` is an old name" in done.err
    assert "write `tools::deny-tools`" in done.err
    assert problems(shell, root) == [
        (
            "deprecated",
            "_roles/read-only.toml",
            8,
            "`tools::read-only` is an old name of `tools::deny-tools`",
            "warning",
        )
    ]


def prepared(shell, kit, task, form, command="kei-agent-runtime"):
    words = ["prepare"] if command == "kei-agent-runtime" else ["agent", "prepare"]
    done = shell.run(*words, kit / "tasks" / task / "task.toml", "--kit-root", kit, "--format", form, command=command)
    assert (done.code, done.err) == (0, "")
    return done.out


@pytest.mark.parametrize("task", ["forge-templating", "audit-deps", "shared-registry"])
def test_prepare_says_the_same_in_all_three_formats(shell, kit, monkeypatch, task):
    monkeypatch.setattr("secrets.randbits", lambda _bits: 0x89AB_CDEF_BEEF)
    monkeypatch.setattr("time.time_ns", lambda: 1_776_950_000_123_456_789)

    data = json.loads(prepared(shell, kit, task, "json"))
    human = prepared(shell, kit, task, "human", command="keisei")

    assert tomllib.loads(prepared(shell, kit, task, "toml")) == data
    assert list(data) == list(tomllib.loads(prepared(shell, kit, task, "toml"))) == KEYS
    assert human == (
        "=== AGENT SUBSTRATE v1 — PREPARED SPAWN ===\n"
        f"agent-id: {data['agent_id']}\n"
        f"dna: {data['dna']}\n"
        f"subagent_type: {data['subagent_type']}\n"
        f"isolation: {data['isolation']}\n"
        f"description: {data['description']}\n"
        "\n"
        "--- PROMPT (copy into Agent tool `prompt` param) ---\n"
        f"{data['prompt']}\n"
        "--- END PROMPT ---\n"
        "\n"
        f"on return: {data['verify_command']}\n"
        f"ledger: {data['ledger_row']}\n"
    )


def test_prepare_tells_of_one_spawn_everything_but_chance(shell, kit):
    data = json.loads(prepared(shell, kit, "forge-templating", "json"))

    task = kit / "tasks/forge-templating/task.toml"
    assert data | {"dna": ""} == {
        "agent_id": "forge-templating-w14",
        "role": "edit-local",
        "prompt": expected_prompt(kit, task).decode(),
        "subagent_type": "code-implementer",
        "isolation": "worktree",
        "description": "edit-local agent forge-templating",
        "verify_command": f"kei-agent-runtime verify {task} <worktree-path>",
        "ledger_row": "running agent-id=forge-templating-w14 role=edit-local parent=none",
        "dna": "",
    }


@pytest.mark.parametrize(
    ("task", "isolation", "subagent"),
    [
        ("forge-templating", "worktree", "code-implementer"),
        ("audit-deps", "none", "Explore"),
        ("shared-registry", "worktree", "code-implementer"),
    ],
)
def test_a_prepared_spawn_has_an_id_an_isolation_and_a_dna_of_the_originals_form(shell, kit, task, isolation, subagent):
    data = json.loads(prepared(shell, kit, task, "json"))

    assert DNA.match(data["dna"])
    caps = [CODES.get(name, "??") for name in required(kit, data["role"])]
    assert data["dna"].split("::")[:2] == [data["role"], "-".join(caps)]
    assert (data["isolation"], data["subagent_type"]) == (isolation, subagent)
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", data["agent_id"])


def test_two_spawns_of_one_task_differ_in_nonce_only_where_the_id_is_given(shell, kit):
    one = json.loads(prepared(shell, kit, "forge-templating", "json"))
    two = json.loads(prepared(shell, kit, "forge-templating", "json"))

    assert one["dna"][:-8] == two["dna"][:-8]
    assert one["dna"] != two["dna"]
    assert one | {"dna": ""} == two | {"dna": ""}


def test_every_character_survives_the_toml_format(shell, tmp_path):
    task = FILES["tasks/audit-deps/task.toml"].replace(
        '"Which dependencies does nobody use?"', r'"\u0000 \u0001 \b \u007f \u001b[31m \\ \" é \U0001F600 \u2028 end"'
    )
    root = write_kit(tmp_path / "kit", {"tasks/audit-deps/task.toml": task})

    data = json.loads(prepared(shell, root, "audit-deps", "json"))

    written = tomllib.loads(prepared(shell, root, "audit-deps", "toml"))
    assert written["prompt"] == data["prompt"]
    assert data["prompt"].endswith('\0 \x01 \b \x7f \x1b[31m \\ " é \U0001f600 \u2028 end')


# One thing wrong, and exactly that is told.

SCOUT = """\
[role]
name = "scout"
description = "A role of our own."

[capabilities]
required = [{required}]

[tools]
allowed = [{allowed}]
bash-patterns-allowed = [{patterns}]
"""


def scout(required, allowed='"Read"', patterns=""):
    return {"_roles/scout.toml": SCOUT.format(required=required, allowed=allowed, patterns=patterns)}


MODULE = "`gates::policy_own_rule`"
OWN = "_capabilities/policy/own-rule"
OWN_TEXT = {f"{OWN}/text.md": "## Own rule\n\nYou MUST NOT.\n"}
PATTERN = """
[restricts]
tool-patterns = ['^frobnicate( |$)']

[gate]
kind = "pattern"
"""
SCRIPT = """
[gate]
path = "gate.sh"
event = "PreToolUse:Bash"
severity = "block"
"""

WRONG = {
    "dangling-capability": (
        scout('"policy::no-git-opps"'),
        [("dangling", "_roles/scout.toml", 6, "capability `policy::no-git-opps` does not exist", "error")],
    ),
    "text-over-200-words": (
        {"_capabilities/output/severity-grade/text.md": "word " * 201},
        [
            (
                "text-too-long",
                "_capabilities/output/severity-grade/text.md",
                1,
                "the fragment has 201 words; the limit is 200",
                "error",
            )
        ],
    ),
    "a-tool-its-own-capability-refuses": (
        scout('"tools::deny-tools"', '"Read", "Edit"'),
        [
            (
                "contradiction",
                "_roles/scout.toml",
                9,
                "allows the tool `Edit`, which its capability `tools::deny-tools` refuses",
                "error",
            )
        ],
    ),
    "git-diff-beside-no-git-ops": (
        scout('"policy::no-git-ops"', '"Read", "Bash"', "'^git diff', '^cargo( |$)'"),
        [
            (
                "contradiction",
                "_roles/scout.toml",
                10,
                "allows the command `^git diff`, which its capability `policy::no-git-ops` refuses by `^git( |$)`",
                "error",
            )
        ],
    ),
    "unknown-compiled-module": (
        {f"{OWN}/capability.toml": capability("policy::own-rule", gate("policy_own_rule", "PreToolUse:Bash"))}
        | OWN_TEXT,
        [
            (
                "no-gate-kind",
                f"{OWN}/capability.toml",
                15,
                f"{MODULE} is a compiled module, and no built-in capability is called `policy::own-rule`",
                "error",
            )
        ],
    ),
    "missing-text": (
        {f"{OWN}/capability.toml": capability("policy::own-rule", PATTERN)},
        [("missing-file", f"{OWN}/capability.toml", 12, "`text.md` is missing", "error")],
    ),
    "missing-gate-script": (
        {f"{OWN}/capability.toml": capability("policy::own-rule", SCRIPT)} | OWN_TEXT,
        [("missing-file", f"{OWN}/capability.toml", 15, "`gate.sh` is missing", "error")],
    ),
    "alias-loop": (
        {
            "_capabilities/tools/one/capability.toml": alias("tools::one", "tools::two"),
            "_capabilities/tools/two/capability.toml": alias("tools::two", "tools::one"),
        },
        [
            (
                "cycle",
                "_capabilities/tools/one/capability.toml",
                3,
                "alias `tools::two` goes round in a circle: tools::two -> tools::one -> tools::two",
                "error",
            ),
            (
                "cycle",
                "_capabilities/tools/two/capability.toml",
                3,
                "alias `tools::one` goes round in a circle: tools::one -> tools::two -> tools::one",
                "error",
            ),
        ],
    ),
    "alias-to-nowhere": (
        {"_capabilities/tools/one/capability.toml": alias("tools::one", "tools::deny-tool")},
        [
            (
                "dangling",
                "_capabilities/tools/one/capability.toml",
                3,
                "capability `tools::deny-tool` does not exist",
                "error",
            )
        ],
    ),
    "version-behind-the-workspace": (
        {
            "_primitives/_rust/Cargo.toml": FILES["_primitives/_rust/Cargo.toml"].replace("0.3.1", "0.3.2"),
            "_primitives/_rust/kei-task/atoms/search.md": None,
        }
        | {
            "_primitives/_rust/kei-task/atoms/create.md": FILES["_primitives/_rust/kei-task/atoms/create.md"].replace(
                "See [[kei-task::search]] and ", ""
            )
        },
        [
            (
                "version-mismatch",
                "_primitives/_rust/kei-task/atoms/create.md",
                4,
                "version `0.3.1` differs from the package's `0.3.2`",
                "error",
            )
        ],
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_one_mistake_is_told_as_one_and_at_its_place(shell, tmp_path, name):
    changes, expected = WRONG[name]
    root = write_kit(tmp_path / "kit", changes)

    assert problems(shell, root) == expected
    assert shell.run("lint", "--kit-root", root).code == 1


@pytest.mark.parametrize(
    "name", ["dangling-capability", "unknown-compiled-module", "missing-text", "missing-gate-script"]
)
def test_a_rule_without_its_artefact_stops_compose_and_prepare(shell, tmp_path, name):
    changes, expected = WRONG[name]
    role = {} if "_roles/scout.toml" in changes else scout('"policy::own-rule"')
    task = {"tasks/scouting/task.toml": '[task]\nrole = "scout"\n'}
    root = write_kit(tmp_path / "kit", changes | role | task)

    composed = shell.run("agent", "compose", root / "tasks/scouting/task.toml", "--kit-root", root)
    made = shell.run("agent", "prepare", root / "tasks/scouting/task.toml", "--kit-root", root)

    assert (composed.code, made.code) == (1, 1)
    assert expected[0][3] in composed.err or "no capability is called `policy::no-git-opps`" in composed.err
    assert composed.err == made.err
    assert composed.raw == made.raw == b""
    assert not (root / "tasks/scouting/prompt.md").exists()


# Where roots are found.


def origin(shell, *words):
    done = shell.run("capability", "show", "output::severity-grade", "--origin", *words)
    return [line.partition(":")[0] for line in done.out.splitlines()]


def test_without_a_root_there_is_only_the_kit(shell):
    assert origin(shell) == ["kit"]


@pytest.mark.parametrize("inside", ["", "_roles", "_primitives/_rust/kei-task/atoms", "tasks/audit-deps"])
def test_a_root_is_found_upward_from_the_working_directory(shell, kit, inside):
    shell.cd(kit / inside)

    assert origin(shell) == ["root", "kit"]


def test_a_root_is_named_by_the_environment(shell, kit):
    shell.setenv("KEI_KIT_ROOT", kit)

    assert origin(shell) == ["root", "kit"]


def test_the_option_wins_over_the_environment_and_both_over_what_is_found_upward(shell, tmp_path):
    roots = {name: write_kit(tmp_path / name) for name in ("named", "environment", "upward")}
    shell.cd(roots["upward"] / "tasks")
    shell.setenv("KEI_KIT_ROOT", roots["environment"])

    by_option = shell.run("role", "show", "edit-local", "--origin", "--kit-root", roots["named"]).out
    by_environment = shell.run("role", "show", "edit-local", "--origin").out

    assert by_option.splitlines()[0] == f"root: {roots['named']}/_roles/edit-local.toml"
    assert by_environment.splitlines()[0] == f"root: {roots['environment']}/_roles/edit-local.toml"
    assert len(by_option.splitlines()) == len(by_environment.splitlines()) == 2


@pytest.mark.parametrize("way", ["option", "environment"])
def test_a_root_that_is_not_a_folder_is_an_error_and_never_passed_over(shell, tmp_path, way):
    if way == "environment":
        shell.setenv("KEI_KIT_ROOT", tmp_path / "nowhere")

    done = shell.run("role", "list", *(["--kit-root", tmp_path / "nowhere"] if way == "option" else []))

    assert done.code == 1
    assert done.raw == b""
    assert done.err == (
        f"error: kit root `{tmp_path}/nowhere` is not a folder\n"
        "  hint: name the folder that holds `_capabilities/` and `_roles/`, or `capabilities/`\n"
    )


def test_an_empty_variable_is_not_a_root(shell):
    shell.setenv("KEI_KIT_ROOT", "")

    assert origin(shell) == ["kit"]


def test_packages_of_the_home_folder_are_read_where_there_is_no_root(shell):
    others = [path for path in FILES if not path.startswith(("_primitives/", "_schemas/"))]
    write_kit(shell.home / ".claude/agents", dict.fromkeys(others))

    report = json.loads(shell.run("lint", "atoms", "--json").out)

    assert report == {"ok": True, "files": {"atom": 1}, "problems": []}


# Seed 000's scripts.

SEED_000 = """\
[capability]
name = "policy::no-frobnication"      # <category>::<slug> namespace
category = "policy"
version = "1.0"
description = "Nothing is frobnicated"
rationale = "See rules/orchestrator-branch-first.md"

[restricts]
tool-patterns = [                     # matched against tool_input.command
  '^frobnicate( |$)',
]
tools-denied = []

[parameterized]
accepts = []

[text]
path = "text.md"

[gate]
path = "gate.sh"
event = "PreToolUse:Bash"
severity = "block"
bypass-env = "ORCHESTRATOR_META"

[verify]
path = "verify.sh"
run-from = "main-worktree"
when = "on-return"
"""


def test_seed_000s_scripts_are_read_as_scripts(shell, tmp_path):
    folder = "_capabilities/policy/no-frobnication"
    files = {
        f"{folder}/capability.toml": SEED_000,
        f"{folder}/text.md": "## No frobnication\n\nYou MUST NOT.\n",
        f"{folder}/gate.sh": "#!/usr/bin/env bash\nset -eu\nexit 0\n",
        f"{folder}/verify.sh": "#!/usr/bin/env bash\nset -eu\nexit 0\n",
    }
    root = write_kit(tmp_path / "kit", files)

    shown = shell.run("capability", "show", "policy::no-frobnication", "--kit-root", root, "--json")

    record = json.loads(shown.out)["record"]
    assert problems(shell, root) == []
    assert shown.err == ""
    assert {key: record["gate"][key] for key in ("kind", "path", "on-error", "severity")} == {
        "kind": "script",
        "path": "gate.sh",
        "on-error": "deny",
        "severity": "block",
    }
    assert {key: record["verify"][key] for key in ("kind", "path", "run-from", "when")} == {
        "kind": "script",
        "path": "verify.sh",
        "run-from": "merged",
        "when": "on-return",
    }


def test_run_mode_and_enforce_are_read_without_a_word(shell, kit):
    shown = shell.run("capability", "show", "quality::tests-green", "--kit-root", kit, "--json")
    strict = shell.run("capability", "show", "policy::git-ops-scope", "--kit-root", kit, "--json")

    assert json.loads(shown.out)["record"]["verify"]["run-from"] == "both"
    assert json.loads(strict.out)["record"]["gate"]["severity"] == "block"
    assert shown.err == strict.err == ""
