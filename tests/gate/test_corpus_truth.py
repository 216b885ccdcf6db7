"""The corpus tells the truth: in a jail every evasion really does what is forbidden, and no harmless call does."""

import re
from collections import Counter

import pytest

from tests.gate import jail
from tests.gate.corpus import Case, cases

FORBIDDEN_RUNS = {
    "policy::no-git-ops": r"^(git|gh|hub|jj|glab|tig|tea|gitui|gix|lazygit)( |-|$)|^(curl|wget) .*api\.github\.com",
    "policy::git-ops-scope": r"^git (?:--no-pager )?(push|commit|add|checkout|reset|merge(?!-)|rebase|fetch|clean|"
    r"update-ref|apply|am|rm|mv|restore|switch|gc|init|clone|submodule|notes)\b|^git-|"
    r"^(gh|hub|jj|glab|tig|tea|gitui|gix|lazygit)( |$)",
    "tools::bash-allowlist": r"^(git|evil|curl|wget|npm|pip|python3?)( |$)",
    "safety::no-dep-bump": r"^(cargo|pip[0-9.]*|python[0-9.]*|uvx?|poetry|pdm|rye|pipenv|pipx|conda|mamba|npm|pnpm|"
    r"yarn|bun|npx|go|pip-compile)( |$)",
    "role": r"^(git|gh|hub|jj|evil|pip|npm)( |$)",
}
LOOKS_ONLY = re.compile(r"^gh (issue|label|pr|release|run|workflow) (checks|diff|list|status|view)( |$)|^gh --version$")
GIT_PATHS = re.compile(r"(^|/)\.git(/|$)")
RULES = re.compile(
    r"^\.keisei/|^keisei\.toml$|(^|/)(AGENTS|CLAUDE)\.md$|^rules/|^\.claude/|^\.codex/|^_capabilities/|^_roles/"
)
MANIFESTS = re.compile(
    r"(^|/)(Cargo\.(toml|lock)|pyproject\.toml|setup\.(py|cfg)|(requirements|constraints)[^/]*\.(txt|in)|Pipfile(\.lock)?|"
    r"(pdm|poetry|uv)\.lock|package(-lock)?\.json|pnpm-lock\.yaml|yarn\.lock|go\.(mod|sum|work))$|"
    r"(^|/)requirements/.*\.(txt|in)$"
)
MANY = 3
"""So many files gone at once are a mass deletion in this small world."""


def runnable(kind):
    """The cases of a kind that the jail can prove on this machine."""
    return [pytest.param(case, id=case.id) for case in cases(kind) if case.command is not None and case.executes]


def proved(case: Case) -> jail.Ran:
    if not jail.available():
        pytest.fail(jail.MISSING)
    absent = [program for program in case.needs if not jail.has(program)]
    if absent:
        pytest.skip(f"not on this machine: {', '.join(absent)}")
    with jail.place(case.setup) as where:
        return jail.run(where, case.command or "", cwd=case.cwd)


def crossed(case: Case, ran: jail.Ran) -> list[str]:
    """What of that the capability forbids, in words."""
    pattern = case.runs or FORBIDDEN_RUNS.get(case.capability)
    found = [
        f"ran {line}" for line in ran.lines if pattern and re.search(pattern, line) and not LOOKS_ONLY.search(line)
    ]
    found += [f"touched {path}" for path in ran.changed | ran.deleted if forbidden_path(case, path)]
    if case.capability == "safety::no-mass-delete" and len(leaves(ran.deleted)) >= MANY:
        found.append(f"deleted {sorted(ran.deleted)}")
    return found


def leaves(paths: frozenset[str]) -> list[str]:
    """The paths that are no folder of another one: files, and folders that were empty."""
    folders = {path.rpartition("/")[0] for path in paths}
    return [path for path in paths if path not in folders]


def forbidden_path(case: Case, path: str) -> bool:
    listed = case.parameters.get("files-whitelist", []), case.parameters.get("files-denylist", [])
    allowed, denied = (any(glob(each).match(path) for each in globs) for globs in listed)
    elsewhere = path.startswith("{")
    # A folder that holds something allowed may be made on the way to it.
    leads_in = any(each.startswith(path + "/") for each in listed[0])
    return {
        "policy::no-git-ops": bool(GIT_PATHS.search(path)),
        "policy::git-ops-scope": bool(GIT_PATHS.search(path)),
        "scope::files-whitelist": not (allowed or leads_in),
        "scope::files-denylist": denied,
        "scope::read-only": not elsewhere,
        "scope::no-rule-edits": bool(RULES.search(path)),
        "safety::no-dep-bump": bool(MANIFESTS.search(path)),
        "tools::bash-allowlist": True,
        "role": denied or not (allowed or leads_in) or bool(MANIFESTS.search(path) or GIT_PATHS.search(path)),
    }.get(case.capability, False)


def glob(pattern: str) -> re.Pattern[str]:
    """A glob of the scope as a regular expression, written apart from the product's own."""
    out, rest = "", pattern
    while rest:
        for token, meaning in (
            ("**/", "(?:[^/]+/)*"),
            ("/**", "(?:/.*)?"),
            ("**", ".*"),
            ("*", "[^/]*"),
            ("?", "[^/]"),
        ):
            if rest.startswith(token):
                out, rest = out + meaning, rest[len(token) :]
                break
        else:
            out, rest = _literal(out, rest)
    return re.compile(f"(?:{out})\\Z", re.DOTALL)


def _literal(out: str, rest: str) -> tuple[str, str]:
    for opening, closing in (("{", "}"), ("[", "]")):
        if rest.startswith(opening) and closing in rest:
            inside, rest = rest[1:].split(closing, 1)
            alternatives = "|".join(re.escape(each) for each in inside.split(","))
            return out + (f"(?:{alternatives})" if opening == "{" else f"[{inside}]"), rest
    return out + re.escape(rest[0]), rest[1:]


def some(cases):
    """Every second one with every run, all of them in a soak: each starts a shell in a jail."""
    return [
        case if number % 2 else pytest.param(*case.values, id=case.id, marks=pytest.mark.soak)
        for number, case in enumerate(cases)
    ]


@pytest.mark.parametrize("case", some(runnable("evasion")))
def test_an_evasion_really_does_what_is_forbidden(case):
    ran = proved(case)

    assert crossed(case, ran), f"nothing forbidden happened: {ran}"


@pytest.mark.parametrize("case", some(runnable("harmless")))
def test_a_harmless_call_really_does_nothing_forbidden(case):
    ran = proved(case)

    assert not crossed(case, ran), f"{ran}"
    assert ran.code != -9, "it did not end in time"
    assert "syntax error" not in ran.output, "a harmless call is valid bash"


def test_no_id_is_used_twice():
    counted = Counter(case.id for case in cases())

    assert [name for name, count in counted.items() if count > 1] == []


def test_no_call_stands_both_among_the_evasions_and_among_the_harmless():
    def key(case):
        return (
            case.capability,
            case.role,
            case.tool,
            repr(case.input),
            repr(case.parameters),
            repr(case.setup),
            case.cwd,
        )

    both = {key(case) for case in cases("evasion")} & {key(case) for case in cases("harmless")}

    assert both == set()


def test_a_case_the_jail_cannot_prove_says_why():
    silent = [case.id for case in cases() if not case.executes and not case.why]

    assert silent == []


@pytest.mark.parametrize(("kind", "least"), [("evasion", 450), ("harmless", 220)])
def test_the_corpus_is_large(kind, least):
    assert len(cases(kind)) >= least
