"""capability.toml with its text, its gate and its verify."""

# ruff: noqa: E501 - a message stands on one line here, as it is compared

from tests.library.malformed.case import Kind, case

HERE = "capabilities/policy/no-force"
MAIN = f"{HERE}/capability.toml"
TEXT = f"{HERE}/text.md"
OLD = "capabilities/policy/old-force/capability.toml"
OLDER = "capabilities/policy/older-force/capability.toml"

KIND = Kind(
    "capability",
    MAIN,
    {
        MAIN: """\
[capability]
name = "policy::no-force"
category = "policy"
version = "1.0"
description = "Nothing is forced."
rationale = "Force hides mistakes."

[restricts]
tool-patterns = ['^git push .*--force( |$)', '^rm -rf ']
tools-denied = ["WebFetch"]
paths = ["secrets/**", "deploy/*.toml"]

[parameterized]
accepts = ["branches", "limit"]

[parameterized.defaults]
branches = ["main"]
limit = 3

[text]
path = "text.md"

[gate]
kind = "script"
path = "gate.sh"
event = "PreToolUse:Bash"
severity = "block"
bypass-env = "NO_FORCE_OFF"
on-error = "deny"

[verify]
kind = "script"
path = "verify.sh"
run-from = "merged"
when = "on-return"
timeout-s = 60
severity = "warn"

[taxonomy]
kingdom = "capability"
stage = ["pre-call", "on-return"]

[lineage]
parents = []
creator = "keisei"
created = "2026-11-15"

[[test]]
name = "a forced push"
tool = "Bash"
input = { command = "git push --force" }
expect = "deny"
""",
        TEXT: "## No force\n\nYou MUST NOT force anything.\n",
        f"{HERE}/gate.sh": "#!/bin/sh\nexit 0\n",
        f"{HERE}/verify.sh": "#!/bin/sh\nexit 0\n",
        OLD: '[capability]\nname = "policy::old-force"\nalias = "policy::no-force"\n',
    },
    by="capability",
)

GATE = '[gate]\nkind = "script"\npath = "gate.sh"\n'
VERIFY = '[verify]\nkind = "script"\npath = "verify.sh"\n'
PATTERNS = """tool-patterns = ['^git push .*--force( |$)', '^rm -rf ']"""
PATHS = 'paths = ["secrets/**", "deploy/*.toml"]'

CASES = [
    case("empty-file", "missing-key", write={MAIN: "‸"}, says="missing key `capability`"),
    case(
        "no-head",
        "missing-key",
        write={MAIN: '‸[gate]\nkind = "pattern"\n\n[restricts]\ntool-patterns = ["x"]\n'},
        says="missing key `capability`",
    ),
    case(
        "no-name",
        "missing-key",
        ('[capability]\nname = "policy::no-force"\n', "‸[capability]\n"),
        says="missing key `name`",
    ),
    case(
        "head-is-text",
        "wrong-type",
        write={MAIN: 'capability = ‸"policy::no-force"\n'},
        says="`capability` must be an object, not a string",
    ),
    case(
        "head-is-a-list",
        "wrong-type",
        write={MAIN: '‸[[capability]]\nname = "policy::no-force"\n'},
        says="`capability` must be an object, not a list",
    ),
    case(
        "head-key-misspelt",
        "unknown-key",
        ('description = "N', '‸descripton = "N'),
        says="unknown key `descripton`",
        hint="did you mean `description`?",
    ),
    case(
        "table-misspelt", "unknown-key", ("[gate]", "[‸gates]"), says="unknown key `gates`", hint="did you mean `gate`?"
    ),
    case(
        "gate-key-misspelt",
        "unknown-key",
        ("on-error =", "‸onerror ="),
        says="unknown key `onerror`",
        hint="did you mean `on-error`?",
    ),
    case(
        "key-with-underscore",
        "unknown-key",
        ("tools-denied", "‸tools_denied"),
        says="unknown key `tools_denied`",
        hint="did you mean `tools-denied`?",
    ),
    case(
        "lineage-key-unknown",
        "unknown-key",
        ("parents = []", "‸grandparents = []"),
        says="unknown key `grandparents`",
        hint="did you mean `parents`?",
    ),
    case(
        "key-unlike-any",
        "unknown-key",
        ('version = "1.0"', "‸zzz = 1"),
        says="unknown key `zzz`",
        hint="known keys: name, category, version, description, rationale, alias, deprecated",
    ),
    case(
        "name-is-a-number",
        "wrong-type",
        ('name = "policy::no-force"', "name = ‸7"),
        says="`name` must be a string, not an integer",
    ),
    case(
        "name-without-category",
        "wrong-value",
        ('"policy::no-force"', '‸"no-force"'),
        says="`name` must be `category::slug` in lower-case letters, digits and dashes, not `no-force`",
    ),
    case(
        "name-in-capitals",
        "wrong-value",
        ('"policy::no-force"', '‸"Policy::No-Force"'),
        says="`name` must be `category::slug` in lower-case letters, digits and dashes, not `Policy::No-Force`",
    ),
    case(
        "name-with-a-newline",
        "wrong-value",
        ('"policy::no-force"', '‸"policy::no-force\\n"'),
        says="`name` must be `category::slug` in lower-case letters, digits and dashes, not `policy::no-force`",
    ),
    case(
        "name-of-another-folder",
        "bad-name",
        ('"policy::no-force"', '‸"policy::no-farce"'),
        says="name `policy::no-farce` differs from its folder, which says `policy::no-force`",
    ),
    case(
        "category-of-another-folder",
        "bad-name",
        ('category = "policy"', 'category = ‸"safety"'),
        says="category `safety` differs from the name `policy::no-force`",
    ),
    case(
        "category-misspelt",
        "wrong-value",
        ('category = "policy"', 'category = ‸"polisy"'),
        says="`category` must be one of `output`, `policy`, `quality`, `safety`, `scope`, `tools`, `verify`, not `polisy`",
        hint="did you mean `policy`?",
    ),
    case(
        "version-is-a-number",
        "wrong-type",
        ('version = "1.0"', "version = ‸1.0"),
        says="`version` must be a string, not a number",
    ),
    case(
        "patterns-are-text",
        "wrong-type",
        (PATTERNS, "tool-patterns = ‸'^rm'"),
        says="`tool-patterns` must be a list, not a string",
    ),
    case(
        "a-pattern-is-a-number",
        "wrong-type",
        (PATTERNS, "tool-patterns = ['^rm', ‸5]"),
        says="restricts.tool-patterns[1] must be a string, not an integer",
    ),
    case(
        "pattern-with-an-open-group",
        "bad-pattern",
        ("'^rm -rf '", "‸'^rm (-rf '"),
        says="`^rm (-rf ` is not a regular expression: missing ), unterminated subpattern at position 4",
    ),
    case(
        "pattern-repeats-nothing",
        "bad-pattern",
        ("'^rm -rf '", "‸'*rm'"),
        says="`*rm` is not a regular expression: nothing to repeat at position 0",
    ),
    case(
        "pattern-with-an-unknown-escape",
        "bad-pattern",
        ("'^rm -rf '", "‸'\\p{L}'"),
        says="`\\p{L}` is not a regular expression: bad escape \\p at position 0",
    ),
    case(
        "pattern-of-variable-look-behind",
        "bad-pattern",
        ("'^rm -rf '", "‸'(?<=a+)b'"),
        says="`(?<=a+)b` is not a regular expression: look-behind requires fixed-width pattern",
    ),
    case(
        "glob-is-absolute",
        "bad-glob",
        ('"deploy/*.toml"', '‸"/etc/*.toml"'),
        says="`/etc/*.toml` is absolute; globs are relative to the repository",
    ),
    case("glob-climbs-out", "bad-glob", ('"deploy/*.toml"', '‸"../*.toml"'), says="`../*.toml` climbs out with `..`"),
    case(
        "glob-at-home",
        "bad-glob",
        ('"deploy/*.toml"', '‸"~/x"'),
        says="`~/x` is absolute; globs are relative to the repository",
    ),
    case("glob-is-empty", "bad-glob", ('"deploy/*.toml"', '‸""'), says="`` is empty"),
    case(
        "glob-with-an-open-bracket",
        "bad-glob",
        ('"deploy/*.toml"', '‸"deploy/[a-z.toml"'),
        says="`deploy/[a-z.toml` opens a `[` that is never closed",
    ),
    case(
        "glob-with-an-open-brace",
        "bad-glob",
        ('"deploy/*.toml"', '‸"deploy/{a,b"'),
        says="`deploy/{a,b` opens a `{` that is never closed",
    ),
    case(
        "glob-with-a-closing-brace",
        "bad-glob",
        ('"deploy/*.toml"', '‸"deploy/a}"'),
        says="`deploy/a}` closes a `}` that was never opened",
    ),
    case(
        "glob-with-stars-inside",
        "bad-glob",
        ('"deploy/*.toml"', '‸"deploy/a**b"'),
        says="`deploy/a**b` has `**` inside a component; `**` stands alone between slashes",
    ),
    case(
        "glob-with-a-backslash",
        "bad-glob",
        ('"deploy/*.toml"', "‸'deploy\\x'"),
        says="`deploy\\x` contains a backslash; separators are `/`",
    ),
    case(
        "glob-with-two-slashes",
        "bad-glob",
        ('"deploy/*.toml"', '‸"deploy//x"'),
        says="`deploy//x` contains an empty component",
    ),
    case("glob-with-a-newline", "bad-glob", ('"deploy/*.toml"', '‸"deploy/x\\ny"')),
    case(
        "parameter-in-capitals",
        "wrong-value",
        ('"branches", "limit"]', '"branches", ‸"Limit"]'),
        says="parameterized.accepts[1] must be lower-case letters, digits and dashes, starting with a letter, not `Limit`",
    ),
    case(
        "default-of-no-parameter",
        "unknown-parameter",
        ("limit = 3", "‸limits = 3"),
        says="`limits` has a default and is not in `accepts`",
        hint="did you mean `limit`?",
    ),
    case(
        "defaults-are-a-list",
        "wrong-type",
        ("[parameterized.defaults]\n", ""),
        ('branches = ["main"]\nlimit = 3\n', "defaults = ‸[3]\n"),
        says="`defaults` must be an object, not a list",
    ),
    case(
        "text-missing",
        "missing-file",
        ('path = "text.md"', 'path = ‸"text.md"'),
        write={TEXT: None},
        says="`text.md` is missing",
    ),
    case(
        "text-missing-and-not-declared",
        "missing-file",
        ('[text]\npath = "text.md"\n\n', ""),
        ('name = "policy::no-force"', 'name = ‸"policy::no-force"'),
        write={TEXT: None},
        says="`text.md` is missing",
    ),
    case(
        "text-of-201-words",
        "text-too-long",
        write={TEXT: "‸" + "word " * 201},
        says="the fragment has 201 words; the limit is 200",
    ),
    case("text-empty", "empty-text", write={TEXT: "‸"}, says="the fragment is empty"),
    case("text-blank", "empty-text", write={TEXT: "‸ \n\n\t\n"}, says="the fragment is empty"),
    case(
        "text-outside",
        "wrong-value",
        ('"text.md"', '‸"../text.md"'),
        says="`path` must be a relative path without `..`, not `../text.md`",
    ),
    case(
        "text-absolute",
        "wrong-value",
        ('"text.md"', '‸"/etc/hostname"'),
        says="`path` must be a relative path without `..`, not `/etc/hostname`",
    ),
    case("text-is-a-folder", "missing-file", ('"text.md"', '‸"."')),
    case(
        "text-is-a-number",
        "wrong-type",
        ('path = "text.md"', "path = ‸1"),
        says="`path` must be a string, not an integer",
    ),
    case(
        "gate-missing",
        "missing-file",
        ('path = "gate.sh"', 'path = ‸"gate.sh"'),
        write={f"{HERE}/gate.sh": None},
        says="`gate.sh` is missing",
    ),
    case(
        "gate-outside",
        "wrong-value",
        ('"gate.sh"', '‸"x/../../gate.sh"'),
        says="`path` must be a relative path without `..`, not `x/../../gate.sh`",
    ),
    case("gate-path-empty", "wrong-value", ('"gate.sh"', '‸""')),
    case(
        "gate-script-without-path",
        "missing-key",
        (GATE, '‸[gate]\nkind = "script"\n'),
        says="missing key `path`, because `kind` is `script`",
    ),
    case("gate-without-kind", "no-gate-kind", (GATE, "‸[gate]\n"), says="[gate] declares neither `kind` nor `path`"),
    case(
        "gate-kind-misspelt",
        "wrong-value",
        (GATE, '[gate]\nkind = ‸"patterns"\n'),
        says="`kind` must be one of `paths`, `pattern`, `script`, `tools`, not `patterns`",
        hint="did you mean `pattern`?",
    ),
    case("gate-kind-is-a-list", "wrong-value", (GATE, '[gate]\nkind = ‸["pattern"]\n')),
    case(
        "gate-of-patterns-without-any",
        "no-gate-kind",
        (PATTERNS, ""),
        (GATE, '[gate]\nkind = ‸"pattern"\n'),
        says="a gate of kind `pattern` needs [restricts] tool-patterns, or patterns-from",
    ),
    case(
        "gate-of-paths-without-any",
        "no-gate-kind",
        (PATHS, "paths = []"),
        (GATE, '[gate]\nkind = ‸"paths"\n'),
        says="a gate of kind `paths` needs [restricts] paths, or patterns-from",
    ),
    case(
        "gate-of-tools-without-any",
        "no-gate-kind",
        ('tools-denied = ["WebFetch"]\n', ""),
        (GATE, '[gate]\nkind = ‸"tools"\n'),
        says="a gate of kind `tools` needs [restricts] tools-denied, or patterns-from",
    ),
    case(
        "gate-mode-unknown",
        "wrong-value",
        (GATE, '[gate]\nkind = "paths"\nmode = ‸"allow"\n'),
        says="`mode` must be one of `allow-only`, `deny`, not `allow`",
        hint="did you mean `allow-only`?",
    ),
    case(
        "gate-patterns-from-nowhere",
        "unknown-parameter",
        (GATE, '[gate]\nkind = "paths"\npatterns-from = ‸"file-whitelist"\n'),
        says="patterns-from `file-whitelist` is neither a list of the task or role nor in `accepts`",
        hint="did you mean `files-whitelist`?",
    ),
    case(
        "gate-of-a-compiled-module",
        "no-gate-kind",
        (GATE, '[gate]\nrust-module = ‸"no_force"\n'),
        says="`no_force` is a compiled module, and no built-in capability is called `policy::no-force`",
        hint="declare `kind`, with what that kind needs",
    ),
    case(
        "gate-severity-unknown",
        "wrong-value",
        ('severity = "block"', 'severity = ‸"deny"'),
        says="`severity` must be one of `advisory`, `block`, `warn`, not `deny`",
    ),
    case(
        "gate-falls-nowhere",
        "wrong-value",
        ('on-error = "deny"', 'on-error = ‸"ask"'),
        says="`on-error` must be one of `allow`, `deny`, not `ask`",
    ),
    case(
        "gate-bypass-is-no-variable",
        "wrong-value",
        ('"NO_FORCE_OFF"', '‸"NO FORCE"'),
        says="`bypass-env` must be the name of an environment variable, not `NO FORCE`",
    ),
    case(
        "verify-missing",
        "missing-file",
        ('path = "verify.sh"', 'path = ‸"verify.sh"'),
        write={f"{HERE}/verify.sh": None},
        says="`verify.sh` is missing",
    ),
    case(
        "verify-script-without-path",
        "missing-key",
        (VERIFY, '‸[verify]\nkind = "script"\n'),
        says="missing key `path`, because `kind` is `script`",
    ),
    case(
        "verify-without-kind",
        "no-gate-kind",
        (VERIFY, "‸[verify]\n"),
        says="[verify] declares neither `kind` nor `path`",
    ),
    case(
        "verify-command-without-one",
        "no-gate-kind",
        (VERIFY, '[verify]\nkind = ‸"command"\n'),
        says="a verify of kind `command` needs `command` or `rule`",
    ),
    case(
        "verify-diff-without-rule",
        "no-gate-kind",
        (VERIFY, '[verify]\nkind = ‸"diff"\n'),
        says="a verify of kind `diff` needs `rule`",
    ),
    case(
        "verify-report-without-rule",
        "no-gate-kind",
        (VERIFY, '[verify]\nkind = ‸"report"\n'),
        says="a verify of kind `report` needs `rule`",
    ),
    case(
        "verify-rule-in-capitals",
        "wrong-value",
        (VERIFY, '[verify]\nkind = "diff"\nrule = ‸"Scope"\n'),
        says="`rule` must be lower-case letters, digits and dashes, starting with a letter, not `Scope`",
    ),
    case(
        "verify-from-nowhere",
        "wrong-value",
        ('run-from = "merged"', 'run-from = ‸"main"'),
        says="`run-from` must be one of `both`, `merged`, `worktree`, not `main`",
    ),
    case(
        "verify-from-misspelt-in-the-old-key",
        "wrong-value",
        ('run-from = "merged"', 'run-mode = ‸"merge"'),
        says="`run-from` must be one of `both`, `merged`, `worktree`, not `merge`",
        hint="did you mean `merged`?",
    ),
    case("verify-from-both-keys", "unknown-key", ('run-from = "merged"', 'run-from = "merged"\n‸run-mode = "merged"')),
    case(
        "verify-when-misspelt",
        "wrong-value",
        ('when = "on-return"', 'when = ‸"on-retrun"'),
        says="`when` must be one of `on-return`, `per-tool-call`, not `on-retrun`",
        hint="did you mean `on-return`?",
    ),
    case(
        "verify-timeout-zero",
        "wrong-value",
        ("timeout-s = 60", "timeout-s = ‸0"),
        says="`timeout-s` must be above 0, not `0`",
    ),
    case(
        "verify-timeout-of-years",
        "wrong-value",
        ("timeout-s = 60", "timeout-s = ‸100_000_000"),
        says="`timeout-s` must be at most 86400, not `100000000`",
    ),
    case(
        "verify-timeout-is-text",
        "wrong-type",
        ("timeout-s = 60", 'timeout-s = ‸"60"'),
        says="`timeout-s` must be a number, not a string",
    ),
    case(
        "verify-timeout-infinite", "wrong-value", ("timeout-s = 60", "timeout-s = ‸inf"), says="must be a finite number"
    ),
    case(
        "facet-is-a-number",
        "wrong-type",
        ('kingdom = "capability"', "kingdom = ‸1"),
        says="`kingdom` must be a string or a list, not an integer",
    ),
    case(
        "vector-expects-nothing-known",
        "wrong-value",
        ('expect = "deny"', 'expect = ‸"refuse"'),
        says="`expect` must be one of `allow`, `deny`, not `refuse`",
    ),
    case(
        "vector-without-tool",
        "missing-key",
        ('[[test]]\nname = "a forced push"\ntool = "Bash"\n', '‸[[test]]\nname = "a forced push"\n'),
        says="missing key `tool`",
    ),
    case("vector-with-an-empty-tool", "wrong-value", ('tool = "Bash"', 'tool = ‸""')),
    case(
        "vector-with-text-as-input",
        "wrong-type",
        ('input = { command = "git push --force" }', 'input = ‸"git push"'),
        says="`input` must be an object, not a string",
    ),
    case("vectors-in-one-table", "wrong-type", ("[[test]]", "‸[test]"), says="`test` must be a list, not an object"),
    case(
        "key-twice",
        "duplicate-key",
        ('version = "1.0"', 'version = "1.0"\n‸version = "1.1"'),
        says="this key or table is already there",
    ),
    case("table-twice", "duplicate-key", ("[taxonomy]", "‸[gate]"), says="this key or table is already there"),
    case("text-not-closed", "syntax", ('version = "1.0"', 'version = "1.0‸'), says="illegal character '\\n'"),
    case(
        "header-not-closed",
        "syntax",
        ("[restricts]", "[restricts‸"),
        says="expected ']' at the end of a table declaration",
    ),
    case(
        "text-without-quotes",
        "syntax",
        ('version = "1.0"', "version = ‸draft"),
        says="invalid value",
        hint='put text in quotes: `version = "draft"`',
    ),
    case(
        "null",
        "syntax",
        ('version = "1.0"', "version = ‸null"),
        says="invalid value",
        hint='TOML has no null; leave the line out, or write `version = ""`',
    ),
    case("not-toml-at-all", "syntax", write={MAIN: '‸{"capability": {}}\n'}, says="invalid statement"),
    case(
        "alias-of-nothing",
        "dangling",
        (OLD, '"policy::no-force"', '‸"policy::no-farce"'),
        says="capability `policy::no-farce` does not exist",
        hint="did you mean `policy::no-force`?",
    ),
    case(
        "alias-of-itself",
        "cycle",
        (OLD, '"policy::no-force"', '‸"policy::old-force"'),
        says="alias `policy::old-force` goes round in a circle: policy::old-force -> policy::old-force",
    ),
    case(
        "alias-in-a-circle",
        "cycle",
        (OLD, '"policy::no-force"', '"policy::older-force"'),
        write={OLDER: '[capability]\nname = "policy::older-force"\nalias = "policy::old-force"\n'},
    ),
    case(
        "alias-without-category",
        "wrong-value",
        (OLD, '"policy::no-force"', '‸"no-force"'),
        says="`alias` must be `category::slug` in lower-case letters, digits and dashes, not `no-force`",
    ),
    case(
        "alias-with-a-gate",
        "contradiction",
        write={
            OLD: '[capability]\nname = "policy::old-force"\nalias = "policy::no-force"\n\n‸[gate]\nkind = "pattern"\n'
        },
        says="an alias stub has nothing but its head; [gate] contradicts it",
    ),
    case(
        "alias-that-leads-on-to-nothing",
        "dangling",
        (OLD, '"policy::no-force"', '"policy::older-force"'),
        write={OLDER: '[capability]\nname = "policy::older-force"\nalias = ‸"policy::gone"\n'},
    ),
    case("text-of-300-letters", "missing-file", ('"text.md"', f'‸"{"t" * 300}"')),
    case("gate-of-300-letters", "missing-file", ('"gate.sh"', f'‸"{"g" * 300}"')),
]
