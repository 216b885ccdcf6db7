"""DNA: the originals' line, with hashes computed here by hand."""

import hashlib
import re

import pytest

from keisei.records.task_spec import SpecBody, SpecScope, SpecTask, TaskSpec
from keisei.rules.dna import CODES, dna

FORM = re.compile(r"[a-z0-9-]+::[A-Z?-]+::[0-9A-F]{8}::[0-9A-F]{8}-[0-9a-f]{8}")
EDIT_LOCAL = (
    "policy::no-git-ops",
    "scope::files-whitelist",
    "scope::files-denylist",
    "quality::constructor-pattern",
    "quality::check-green",
    "quality::tests-green",
    "safety::no-dep-bump",
    "output::report-format",
)


def spec(whitelist=(), denylist=(), body=""):
    return TaskSpec(
        task=SpecTask(role="edit-local"),
        scope=SpecScope(files_whitelist=tuple(whitelist), files_denylist=tuple(denylist)),
        body=SpecBody(text=body),
    )


def sha8(text):
    return hashlib.sha256(text.encode()).hexdigest()[:8].upper()


def test_a_spawn_of_edit_local_has_the_originals_dna():
    task = spec(["_primitives/_rust/kei-prune/**"], ["_primitives/_rust/Cargo.toml"], "Retire what nobody uses.\n")

    line = dna("edit-local", EDIT_LOCAL, task, 0xE9BF468D)

    # 5435F821 stands in the originals' own index for exactly this scope.
    body = sha8("Retire what nobody uses.\n")
    assert line == f"edit-local::NG-FW-FD-CP-CG-TG-ND-RF::5435F821::{body}-e9bf468d"
    assert FORM.fullmatch(line)


def test_globs_are_sorted_and_joined_by_commas_before_they_are_hashed():
    line = dna("r", EDIT_LOCAL, spec(["b", "a", "B"], ["z", "y"]), 0)

    assert line.split("::")[2] == sha8("wl=B,a,b\ndl=y,z")


def test_the_order_of_globs_leaves_no_trace_and_the_side_they_stand_on_does():
    one = dna("r", EDIT_LOCAL, spec(["a", "b"]), 0)

    assert dna("r", EDIT_LOCAL, spec(["b", "a"]), 0) == one
    assert dna("r", EDIT_LOCAL, spec([], ["a", "b"]), 0) != one


def test_an_empty_scope_and_an_empty_body_are_hashed_too():
    line = dna("r", EDIT_LOCAL, spec(), 0)

    assert line == f"r::NG-FW-FD-CP-CG-TG-ND-RF::{sha8('wl=' + chr(10) + 'dl=')}::{sha8('')}-00000000"


def test_the_body_is_hashed_as_it_is_written():
    hashes = {dna("r", EDIT_LOCAL, spec(body=body), 0).split("::")[3] for body in ("a", "a\n", " a", "a\r\n", "é")}

    assert hashes == {f"{sha8(body)}-00000000" for body in ("a", "a\n", " a", "a\r\n", "é")}


@pytest.mark.parametrize(("nonce", "text"), [(0, "00000000"), (0xABC, "00000abc"), (0x1_2345_6789, "23456789")])
def test_a_nonce_is_eight_lower_case_digits(nonce, text):
    assert dna("r", EDIT_LOCAL, spec(), nonce).endswith(f"-{text}")


def test_the_codes_are_those_of_the_originals():
    assert {code: [name for name in CODES if CODES[name] == code] for code in dict.fromkeys(CODES.values())} == {
        "NG": ["policy::no-git-ops"],
        "FW": ["scope::files-whitelist"],
        "FD": ["scope::files-denylist"],
        "CP": ["quality::constructor-pattern"],
        "CG": ["quality::check-green", "quality::cargo-check-green"],
        "TG": ["quality::tests-green"],
        "ND": ["safety::no-dep-bump"],
        "RF": ["output::report-format"],
        "SG": ["output::severity-grade"],
        "DT": ["tools::deny-tools"],
        "BA": ["tools::bash-allowlist"],
    }


def test_a_capability_without_a_code_is_two_question_marks():
    line = dna("auditor", ["scope::read-only", "output::verdict", "output::severity-grade"], spec(), 1)

    assert line.split("::")[1] == "??-??-SG"
    assert FORM.fullmatch(line)
