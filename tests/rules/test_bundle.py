"""Compose: the prompt byte for byte as SPEC 15 says, against a second writing of it here."""

from itertools import product

import pytest

from keisei.records.task_spec import SpecBody, SpecOutput, SpecScope, SpecTask, SpecVerification, TaskSpec
from keisei.rules.bundle import SEPARATOR, compose, scope_block


def spec(**parts):
    return TaskSpec(
        task=SpecTask(role="edit-local"),
        scope=SpecScope(
            files_whitelist=parts.get("whitelist", ()),
            files_denylist=parts.get("denylist", ()),
        ),
        verification=SpecVerification(
            cargo_check_crates=parts.get("cargo_check", ()),
            cargo_test_crates=parts.get("cargo_test", ()),
            check=parts.get("check"),
            test=parts.get("test"),
            test_count_min=parts.get("minimum", 0),
        ),
        output=SpecOutput(report_fields_required=parts.get("fields", ())),
        body=SpecBody(text=parts.get("body", "")),
    )


PARTS = {
    "whitelist": ("src/**", "tests/test_a.py"),
    "denylist": ("src/secret/**",),
    "cargo_check": ("kei-forge", "kei-task"),
    "cargo_test": ("kei-forge",),
    "minimum": 44,
    "fields": ("files-touched", "cargo-check"),
}
LINES = {
    "whitelist": ["", "**files-whitelist** (you MAY Edit/Write these):", "- `src/**`", "- `tests/test_a.py`"],
    "denylist": ["", "**files-denylist** (you MUST NOT Edit/Write these):", "- `src/secret/**`"],
    "cargo_check": ["", "**cargo check MUST pass** for: `kei-forge`, `kei-task`"],
    "cargo_test": ["**cargo test MUST pass** for: `kei-forge`"],
    "minimum": ["**minimum test count:** 44"],
    "fields": ["", "**report MUST include fields:** `files-touched`, `cargo-check`"],
}
"""What each setting adds in the originals; only four of them begin with a blank line."""


def written(names):
    """The scope block of these settings, put together from the table above."""
    if not names:
        return ""
    return "\n".join(
        ["## Your task's scope (resolved from task.toml)", *(line for name in names for line in LINES[name])]
    )


def subsets(names):
    for chosen in product((False, True), repeat=len(names)):
        yield [name for name, is_set in zip(names, chosen, strict=True) if is_set]


@pytest.mark.parametrize(
    "verification", list(subsets(["cargo_check", "cargo_test", "minimum"])), ids=lambda names: "+".join(names) or "none"
)
def test_the_scope_block_is_the_originals_in_every_combination(verification):
    for others in subsets(["whitelist", "denylist", "fields"]):
        names = [name for name in PARTS if name in verification or name in others]

        block = scope_block(spec(**{name: PARTS[name] for name in names}))

        assert block == written(names), names


def test_a_whole_scope_block_reads_like_this():
    block = scope_block(spec(**PARTS))

    assert (
        block
        == """\
## Your task's scope (resolved from task.toml)

**files-whitelist** (you MAY Edit/Write these):
- `src/**`
- `tests/test_a.py`

**files-denylist** (you MUST NOT Edit/Write these):
- `src/secret/**`

**cargo check MUST pass** for: `kei-forge`, `kei-task`
**cargo test MUST pass** for: `kei-forge`
**minimum test count:** 44

**report MUST include fields:** `files-touched`, `cargo-check`"""
    )


def test_our_own_commands_stand_among_the_checks():
    block = scope_block(
        spec(whitelist=("src/**",), check="make check", test="make test", minimum=3, fields=("summary",))
    )

    assert (
        block
        == """\
## Your task's scope (resolved from task.toml)

**files-whitelist** (you MAY Edit/Write these):
- `src/**`

**check MUST pass:** `make check`
**test MUST pass:** `make test`
**minimum test count:** 3

**report MUST include fields:** `summary`"""
    )


@pytest.mark.parametrize("ours", list(subsets(["check", "test"])), ids=lambda names: "+".join(names) or "none")
def test_our_own_commands_add_their_line_and_change_no_other(ours):
    for names in subsets(list(PARTS)):
        settings = {name: PARTS[name] for name in names} | {name: f"run {name}" for name in ours}

        lines = scope_block(spec(**settings)).split("\n")

        added = [f"**{name} MUST pass:** `run {name}`" for name in ours]
        assert [line for line in lines if line in added] == added
        rest = [line for line in lines if line and line not in added]
        assert rest == [line for line in written(names).split("\n") if line] or (not names and len(rest) == bool(ours))


def test_a_minimum_of_zero_and_an_empty_command_say_nothing():
    assert scope_block(spec(minimum=0, check="", test="")) == ""


def test_globs_are_quoted_as_they_are_written_and_keep_their_order():
    block = scope_block(spec(whitelist=("z", "a b", "{x,y}/**", "é")))

    assert block.split("\n")[3:] == ["- `z`", "- `a b`", "- `{x,y}/**`", "- `é`"]


def test_parts_are_joined_by_a_rule_between_blank_lines():
    prompt = compose([b"one", b"two"], spec(whitelist=("src/**",), body="Do it."))

    assert SEPARATOR == b"\n\n---\n\n"
    assert prompt == (
        b"one\n\n---\n\ntwo\n\n---\n\n"
        b"## Your task's scope (resolved from task.toml)\n\n"
        b"**files-whitelist** (you MAY Edit/Write these):\n- `src/**`"
        b"\n\n---\n\nDo it."
    )


@pytest.mark.parametrize(
    "fragment",
    [
        pytest.param(b"no newline", id="no-newline"),
        pytest.param(b"one newline\n", id="one-newline"),
        pytest.param(b"three newlines\n\n\n", id="three-newlines"),
        pytest.param(b"\n\n leading", id="leading"),
        pytest.param(b"dos\r\nlines\r\n", id="crlf"),
        pytest.param(b"tab\t and trailing space ", id="white-space"),
        pytest.param("naïve, 形成\n".encode(), id="utf-8"),
        pytest.param(b"\n\n---\n\n", id="a-separator-of-its-own"),
        pytest.param(b"", id="empty"),
    ],
)
def test_a_fragment_is_kept_byte_for_byte(fragment):
    assert compose([fragment, fragment], spec()) == fragment + b"\n\n---\n\n" + fragment


@pytest.mark.parametrize(
    "body", ["", " ", "\n\n", "\t\r\n", "\u00a0\u2003"], ids=["empty", "space", "lines", "tabs", "unicode"]
)
def test_a_blank_body_is_left_out(body):
    assert compose([b"rule\n"], spec(body=body)) == b"rule\n"


def test_a_body_is_kept_as_it_is_written():
    assert compose([b"rule"], spec(body="\n  indented\r\n\n")) == b"rule\n\n---\n\n\n  indented\r\n\n"


def test_a_role_without_fragments_is_only_scope_and_body():
    assert compose([], spec(fields=("summary",), body="Do it.")) == (
        b"## Your task's scope (resolved from task.toml)\n\n**report MUST include fields:** `summary`\n\n---\n\nDo it."
    )


def test_nothing_at_all_is_an_empty_prompt():
    assert compose([], spec()) == b""
