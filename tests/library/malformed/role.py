"""roles/*.toml."""

# ruff: noqa: E501 - a message stands on one line here, as it is compared

from tests.library.malformed.case import Kind, case, kit

MAIN = "roles/edit-local.toml"
CHILD = "roles/child.toml"

KIND = Kind(
    "role",
    MAIN,
    {
        MAIN: kit(MAIN),
        CHILD: """\
[role]
name = "child"
description = "Edits, and hands over."

[capabilities]
extends = "edit-local"
required = ["output::severity-grade"]
relaxes = ["quality::tests-green"]

[pipeline]
handoff = ["auditor", "merger"]
""",
    },
    by="role",
)

HEAD = '[role]\nname = "edit-local"\n'
TOOLS = '[tools]\nallowed = ["Read", "Write", "Edit", "Glob", "Grep", "Bash"]\n'
NETWORK = '[isolation]\nrequire = "full"\nnetwork = "none"\n'
EXTENDS = '[role]\nname = "{0}"\ndescription = "One of a chain."\n\n[capabilities]\nextends = "{1}"\n'
DENIES = """\
[role]
name = "child"
description = "Reads, and has a pen."

[capabilities]
required = ["tools::deny-tools"]

[tools]
allowed = ["Read", "Write"]
"""

CASES = [
    case("empty-file", "missing-key", write={MAIN: "‸"}, says="missing key `role`"),
    case("only-a-comment", "missing-key", write={CHILD: "‸# nothing yet\n"}, says="missing key `role`"),
    case("no-name", "missing-key", (HEAD, "‸[role]\n"), says="missing key `name`"),
    case(
        "no-head", "missing-key", write={CHILD: '‸[capabilities]\nextends = "edit-local"\n'}, says="missing key `role`"
    ),
    case(
        "head-is-text", "wrong-type", write={CHILD: 'role = ‸"child"\n'}, says="`role` must be an object, not a string"
    ),
    case("head-is-a-list", "wrong-type", ("[role]", "‸[[role]]"), says="`role` must be an object, not a list"),
    case(
        "head-key-with-underscore",
        "unknown-key",
        ("display-name", "‸display_name"),
        says="unknown key `display_name`",
        hint="did you mean `display-name`?",
    ),
    case(
        "head-key-misspelt",
        "unknown-key",
        ("spawnable = true", "‸spawnabel = true"),
        says="unknown key `spawnabel`",
        hint="did you mean `spawnable`?",
    ),
    case(
        "table-misspelt",
        "unknown-key",
        ("[escalation]", "[‸escalations]"),
        says="unknown key `escalations`",
        hint="did you mean `escalation`?",
    ),
    case(
        "table-unlike-any",
        "unknown-key",
        ("[taxonomy]", "[‸xyz]"),
        says="unknown key `xyz`",
        hint="known keys: role, capabilities, tools, escalation, pipeline, isolation, atoms, docs, taxonomy, lineage",
    ),
    case(
        "required-misspelt",
        "unknown-key",
        ("required = [\n", "‸requires = [\n"),
        says="unknown key `requires`",
        hint="did you mean `required`?",
    ),
    case(
        "patterns-misspelt",
        "unknown-key",
        ("bash-patterns-allowed = [", "‸bash-patterns = ["),
        says="unknown key `bash-patterns`",
        hint="did you mean `bash-patterns-allowed`?",
    ),
    case(
        "name-is-a-number",
        "wrong-type",
        ('name = "edit-local"', "name = ‸1"),
        says="`name` must be a string, not an integer",
    ),
    case(
        "name-with-a-space",
        "wrong-value",
        ('name = "edit-local"', 'name = ‸"edit local"'),
        says="`name` must be lower-case letters, digits and dashes, starting with a letter, at most 64, not `edit local`",
    ),
    case("name-is-empty", "wrong-value", ('name = "edit-local"', 'name = ‸""')),
    case("name-of-65-letters", "wrong-value", (CHILD, 'name = "child"', f'name = ‸"{"c" * 65}"')),
    case("name-in-cyrillic", "wrong-value", ('name = "edit-local"', 'name = ‸"\u0435dit-local"')),
    case(
        "name-of-another-file",
        "bad-name",
        (CHILD, 'name = "child"', 'name = ‸"chill"'),
        says="name `chill` differs from the file `child.toml`",
    ),
    case(
        "spawnable-is-text",
        "wrong-type",
        ("spawnable = true", 'spawnable = ‸"yes"'),
        says="`spawnable` must be true or false, not a string",
    ),
    case(
        "spawnable-is-a-number",
        "wrong-type",
        ("spawnable = true", "spawnable = ‸1"),
        says="`spawnable` must be true or false, not an integer",
    ),
    case(
        "description-is-a-list",
        "wrong-type",
        (CHILD, 'description = "Edits, and hands over."', 'description = ‸["a"]'),
        says="`description` must be a string, not a list",
    ),
    case(
        "capabilities-are-a-list",
        "wrong-type",
        write={CHILD: 'capabilities = ‸[]\n\n[role]\nname = "child"\ndescription = "x"\n'},
        says="`capabilities` must be an object, not a list",
    ),
    case(
        "required-is-text",
        "wrong-type",
        (CHILD, '["output::severity-grade"]', '‸"output::severity-grade"'),
        says="`required` must be a list, not a string",
    ),
    case(
        "required-without-category",
        "wrong-value",
        (CHILD, '"output::severity-grade"', '‸"severity-grade"'),
        says="capabilities.required[0] must be `category::slug` in lower-case letters, digits and dashes, not `severity-grade`",
    ),
    case(
        "required-holds-a-list",
        "wrong-type",
        (CHILD, '"output::severity-grade"', '‸["output::severity-grade"]'),
        says="capabilities.required[0] must be a string, not a list",
    ),
    case(
        "required-leads-nowhere",
        "dangling",
        ('"quality::tests-green"', '‸"quality::tests-gren"'),
        says="capability `quality::tests-gren` does not exist",
        hint="did you mean `quality::tests-green`?",
    ),
    case(
        "required-leads-nowhere-near",
        "dangling",
        (CHILD, '"output::severity-grade"', '‸"zzz::yyy"'),
        says="capability `zzz::yyy` does not exist",
    ),
    case(
        "relaxes-leads-nowhere",
        "dangling",
        (CHILD, '"quality::tests-green"', '‸"quality::test-green"'),
        says="capability `quality::test-green` does not exist",
        hint="did you mean `quality::tests-green`?",
    ),
    case(
        "extends-leads-nowhere",
        "dangling",
        (CHILD, '"edit-local"', '‸"edit-locl"'),
        says="role `edit-locl` does not exist",
        hint="did you mean `edit-local`?",
    ),
    case(
        "extends-a-list",
        "wrong-type",
        (CHILD, '"edit-local"', '‸["edit-local"]'),
        says="`extends` must be a string, not a list",
    ),
    case(
        "extends-a-path",
        "wrong-value",
        (CHILD, '"edit-local"', '‸"../edit-local"'),
        says="`extends` must be lower-case letters, digits and dashes, starting with a letter, at most 64, not `../edit-local`",
    ),
    case(
        "extends-itself",
        "cycle",
        (CHILD, '"edit-local"', '‸"child"'),
        says="role `child` extends itself: child -> child",
        hint="break the circle by removing one `extends`",
    ),
    case(
        "extends-in-a-circle",
        "cycle",
        write={CHILD: EXTENDS.format("child", "other"), "roles/other.toml": EXTENDS.format("other", "child")},
    ),
    case(
        "extends-into-a-circle",
        "cycle",
        write={CHILD: EXTENDS.format("child", "other"), "roles/other.toml": EXTENDS.format("other", "other")},
    ),
    case(
        "extends-17-deep",
        "too-long-chain",
        write={f"roles/r{n}.toml": EXTENDS.format(f"r{n}", f"r{n + 1}" if n < 17 else "edit-local") for n in range(18)},
    ),
    case(
        "hands-over-to-nobody",
        "dangling",
        (CHILD, '"merger"', '‸"mergerer"'),
        says="role `mergerer` does not exist",
        hint="did you mean `merger`?",
    ),
    case(
        "hands-over-to-text",
        "wrong-type",
        (CHILD, '["auditor", "merger"]', '‸"auditor"'),
        says="`handoff` must be a list, not a string",
    ),
    case(
        "hands-over-to-no-name",
        "wrong-value",
        (CHILD, '"merger"', '‸"Merger!"'),
        says="pipeline.handoff[1] must be lower-case letters, digits and dashes, starting with a letter, at most 64, not `Merger!`",
    ),
    case("tool-without-name", "wrong-value", ('"Glob", "Grep", "Bash"]', '"Glob", "Grep", "Bash", ‸""]')),
    case(
        "tool-is-a-number",
        "wrong-type",
        ('"Glob", "Grep", "Bash"]', '"Glob", "Grep", ‸7, "Bash"]'),
        says="tools.allowed[5] must be a string, not an integer",
    ),
    case(
        "tools-are-text",
        "wrong-type",
        (TOOLS, '[tools]\nallowed = ‸"Bash"\n'),
        says="`allowed` must be a list, not a string",
    ),
    case(
        "bash-pattern-with-an-open-group",
        "bad-pattern",
        ("'^mkdir( |$)'", "‸'^mkdir( |$'"),
        says="`^mkdir( |$` is not a regular expression: missing ), unterminated subpattern at position 6",
    ),
    case(
        "bash-pattern-with-a-bad-range",
        "bad-pattern",
        ("'^mkdir( |$)'", "‸'[z-a]'"),
        says="`[z-a]` is not a regular expression: bad character range z-a at position 1",
    ),
    case(
        "bash-pattern-is-true",
        "wrong-type",
        ("'^mkdir( |$)'", "‸true"),
        says="tools.bash-patterns-allowed[4] must be a string, not true or false",
    ),
    case(
        "allows-what-a-capability-denies",
        "contradiction",
        write={CHILD: DENIES.replace('"Write"', '‸"Write"')},
        says="allows the tool `Write`, which its capability `tools::deny-tools` refuses",
    ),
    case("allows-git-and-forbids-it", "contradiction", ("'^mkdir( |$)'", "‸'^git push( |$)'")),
    case(
        "bash-patterns-without-bash",
        "contradiction",
        ('"Glob", "Grep", "Bash"]', '"Glob", "Grep"]'),
        ("bash-patterns-allowed = [", "bash-patterns-allowed = ‸["),
        says="has bash-patterns-allowed, but the tool `Bash` is not in `allowed`",
    ),
    case(
        "policy-misspelt",
        "wrong-value",
        ('"ask-via-return"', '‸"ask-on-return"'),
        says="`policy` must be one of `ask-via-return`, `fail-fast`, `orchestrator-notify`, not `ask-on-return`",
        hint="did you mean `ask-via-return`?",
    ),
    case("policy-is-a-number", "wrong-value", ('"ask-via-return"', "‸3")),
    case(
        "isolation-unknown",
        "wrong-value",
        ('require = "full"', 'require = ‸"docker"'),
        says="`require` must be one of `full`, `landlock`, `none`, not `docker`",
    ),
    case(
        "isolation-misspelt",
        "wrong-value",
        ('require = "full"', 'require = ‸"landlok"'),
        says="`require` must be one of `full`, `landlock`, `none`, not `landlok`",
        hint="did you mean `landlock`?",
    ),
    case("network-is-a-switch", "wrong-value", ('network = "none"', "network = ‸false")),
    case(
        "network-unknown",
        "wrong-value",
        (NETWORK, '[isolation]\nrequire = "full"\nnetwork = ‸"lan"\n'),
        says="`network` must be one of `none`, `open`, not `lan`",
    ),
    case(
        "use-cases-are-text",
        "wrong-type",
        ("use-cases = [\n", 'use-cases = ‸"A feature"\nx = [\n'),
        also=("unknown-key",),
        says="`use-cases` must be a list, not a string",
    ),
    case(
        "facet-is-a-table",
        "wrong-type",
        ('domain = "agent"', "domain = ‸{ a = 1 }"),
        says="`domain` must be a string or a list, not an object",
    ),
    case(
        "parents-hold-a-number",
        "wrong-type",
        ("parents = []", "parents = [‸1]"),
        says="lineage.parents[0] must be a string, not an integer",
    ),
    case(
        "key-twice",
        "duplicate-key",
        ("spawnable = true", "spawnable = true\n‸spawnable = false"),
        says="this key or table is already there",
    ),
    case("table-twice", "duplicate-key", ("[isolation]", "‸[tools]"), says="this key or table is already there"),
    case(
        "table-over-a-value",
        "duplicate-key",
        ("[escalation]", "‸[tools.allowed]"),
        says="this key or table is already there",
    ),
    case("list-not-closed", "syntax", (CHILD, '["output::severity-grade"]', '["output::severity-grade"')),
    case("comma-missing", "syntax", (CHILD, '"auditor", "merger"', '"auditor" ‸"merger"'), says="unclosed array"),
    case(
        "equals-missing",
        "syntax",
        (CHILD, 'extends = "edit-local"', 'extends ‸"edit-local"'),
        says="expected '=' after a key in a key/value pair",
    ),
    case("value-missing", "syntax", (CHILD, 'extends = "edit-local"', "extends = ‸"), says="invalid value"),
    case(
        "value-without-quotes",
        "syntax",
        (CHILD, 'extends = "edit-local"', "extends = ‸edit-local"),
        says="invalid value",
        hint='put text in quotes: `extends = "edit-local"`',
    ),
    case(
        "yaml-instead",
        "syntax",
        write={CHILD: "role‸:\n  name: child\n"},
        says="expected '=' after a key in a key/value pair",
    ),
]
