"""What reports must say: fields, files, grades, verdicts, merges, audits, ledger rows; compared with what is real."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keisei.records.verification import Difference, Fork, Planned, Said
from keisei.records.worktree import Change
from keisei.rules.predicate.report import fields
from keisei.rules.predicate.report_fork import fork_audit
from keisei.rules.predicate.report_grade import severity
from keisei.rules.predicate.report_ledger import ledger_row
from keisei.rules.predicate.report_merge import merge_result
from keisei.rules.predicate.report_verdict import verdict

COMMIT = "9f2c1e7ab34d5068c1f7e2d90b6a4835ce71f0d2"
OTHER = "0" * 40
AGENT = "ag-edit-local-19a7c3f2b10-4f2a"


class World:
    def __init__(self, fork=None, conflicts=None, *, row=True):
        self._fork, self._conflicts, self._row = fork, conflicts or {}, row

    def find(self, target):
        return self._fork if target == AGENT else None

    def has_commit(self, commit):
        return commit in self._conflicts

    def conflicts(self, commit):
        return self._conflicts.get(commit)

    def has_row(self):
        return self._row


def change(path, status="modified"):
    return Change(path=path, status=status, mode="100644", old_mode="100644")


def asked(predicate, lines, *, paths=(), forks=None, **parameters):
    planned = Planned(
        capability="x::y",
        kind="report",
        parameters={name.replace("_", "-"): value for name, value in parameters.items()},
    )
    said = Said(text=None if lines is None else f"Done.\n\n```report\n{lines}\n```\n")
    return predicate(planned, said, Difference(candidate=tuple(map(change, paths))), forks or World())


PREDICATES = {
    fields: {},
    severity: {"grades": ["HIGH", "LOW", "NONE"]},
    verdict: {"values": ["approve", "reject"]},
    merge_result: {},
    fork_audit: {"fork_audit_target": AGENT},
    ledger_row: {},
}


@pytest.mark.parametrize("predicate", PREDICATES, ids=lambda each: each.__name__)
@pytest.mark.parametrize(
    "text", [None, "", "severity: HIGH\nfindings: 1", "```report\na: never closed", "```\na: unmarked\n```"]
)
def test_without_a_block_nothing_holds(predicate, text):
    parameters = {name.replace("_", "-"): value for name, value in PREDICATES[predicate].items()}
    planned = Planned(capability="x::y", kind="report", parameters=parameters)

    reply = predicate(planned, Said(text=text), Difference(candidate=()), World())

    assert reply.status == "violated"
    assert "info string `report`" in reply.told[0]


@pytest.mark.parametrize("predicate", PREDICATES, ids=lambda each: each.__name__)
@given(st.text(), st.lists(st.text(min_size=1), max_size=3))
@settings(max_examples=60, deadline=None, database=None)
def test_any_report_gets_a_reply(predicate, text, paths):
    names = ("files-touched", "severity", "verdict", "merged", "conflicts", "commit", "fork", "files-reviewed")
    forks = World(Fork(commit=COMMIT, files=tuple(paths)), {COMMIT: tuple(paths)})
    for lines in (text, "\n".join(f"{name}: {text}" for name in names), f"commit: {COMMIT}\nconflicts: {text}"):
        reply = asked(predicate, lines, paths=paths, forks=forks, **PREDICATES[predicate])
        assert reply.status in {"held", "violated"}
        assert all(len(each) <= 200 and each.isprintable() for each in reply.told)


@pytest.mark.parametrize(
    ("lines", "paths", "said"),
    [
        ("summary: x\nquestions: none", (), ()),
        ("summary: x", (), ("the report has no field `questions`",)),
        ("summary: x\nquestions:", (), ("the field `questions` of the report is empty",)),
        ("Summary: x\nquestions: none", (), ("the report has no field `summary`, only `Summary`",)),
        ("summary: x\nquestions: a?\nquestions: b?", (), ("the report says `questions` twice, and differently",)),
        ("the summary: x\nquestions: none", (), ("the report has no field `summary`",)),
        ("summary: x\nquestions: none\nfiles-touched: none", (), ()),
        ("summary: x\nquestions: none\nfiles-touched: a.py, b c.py", ("b c.py", "a.py"), ()),
        (
            "summary: x\nquestions: none\nfiles-touched: none",
            ("a.py",),
            ("files-touched leaves out a.py, which is changed",),
        ),
        (
            "summary: x\nquestions: none\nfiles-touched: a.py, c.py",
            ("a.py", "b.py"),
            ("files-touched leaves out b.py, which is changed", "files-touched names c.py, which is not changed"),
        ),
    ],
    ids=["all", "missing", "empty", "case", "twice", "prose", "none", "right", "left out", "both ways"],
)
def test_required_fields_and_real_files(lines, paths, said):
    reply = asked(fields, lines, paths=paths, report_fields_required=["summary", "questions"])

    assert reply.told == said
    assert reply.status == ("violated" if said else "held")


def test_a_block_is_needed_even_where_no_field_is():
    assert asked(fields, "", report_fields_required=[]).status == "held"
    assert asked(fields, "a: b", report_fields_required="a").status == "error"
    assert asked(fields, "a: b", report_fields_required=[1]).status == "error"


@pytest.mark.parametrize(
    ("grade", "number", "said"),
    [
        ("HIGH", "3", None),
        ("LOW", "1", None),
        ("NONE", "0", None),
        ("NONE", "00", None),
        ("NONE", "1", "severity NONE does not go with 1 findings: NONE goes with 0, only with 0"),
        ("HIGH", "0", "severity HIGH does not go with 0 findings: NONE goes with 0, only with 0"),
        ("ALLOWED", "1", "severity is `ALLOWED`, which is none of HIGH, LOW, NONE"),
        ("HIGHLY", "1", "severity is `HIGHLY`, which is none of HIGH, LOW, NONE"),
        ("high", "1", "severity is `high`, which is none of HIGH, LOW, NONE"),
        ("HIGH, I think", "1", "severity is `HIGH, I think`, which is none of HIGH, LOW, NONE"),
        ("HIGH", "three", "findings is `three`, which is no number"),
        ("HIGH", "-1", "findings is `-1`, which is no number"),
        ("HIGH", "1.5", "findings is `1.5`, which is no number"),
        ("HIGH", "٣", "findings is `٣`, which is no number"),
        ("HIGH", "9" * 5000, "findings is `" + "9" * 59 + "…`, which is no number"),
        ("HIGH", "", "the field `findings` of the report is empty"),
        ("", "1", "the field `severity` of the report is empty"),
    ],
)
def test_grades(grade, number, said):
    reply = asked(severity, f"severity: {grade}\nfindings: {number}", grades=["HIGH", "LOW", "NONE"])

    assert reply.told == (() if said is None else (said,))
    assert reply.status == ("held" if said is None else "violated")


@pytest.mark.parametrize("grades", [None, [], ["NONE"], "HIGH", [1, 2], ["", "NONE"]])
def test_a_scale_that_is_none_is_an_error(grades):
    assert asked(severity, "severity: NONE\nfindings: 0", grades=grades).status == "error"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("verdict: approve\nverdict-reason: It does what was asked.", None),
        ("verdict: approved\nverdict-reason: x", "verdict is `approved`, which is none of approve, reject"),
        ("verdict: approve.\nverdict-reason: x", "verdict is `approve.`, which is none of approve, reject"),
        ("verdict: not approve\nverdict-reason: x", "verdict is `not approve`, which is none of approve, reject"),
        (
            "verdict: approve or reject\nverdict-reason: x",
            "verdict is `approve or reject`, which is none of approve, reject",
        ),
        ("verdict: approve\nverdict: reject\nverdict-reason: x", "the report says `verdict` twice, and differently"),
        ("verdict: approve", "the report has no field `verdict-reason`"),
        ("verdict: approve\nverdict-reason: none", "verdict-reason is `none`, which is no reason"),
        ("verdict-reason: x", "the report has no field `verdict`"),
    ],
)
def test_verdicts(lines, said):
    reply = asked(verdict, lines, values=["approve", "reject"])

    assert reply.told == (() if said is None else (said,))
    assert reply.status == ("held" if said is None else "violated")


def test_a_list_of_verdicts_that_is_none_is_an_error():
    assert asked(verdict, "verdict: approve\nverdict-reason: x", values=[]).status == "error"


@pytest.mark.parametrize(
    ("merged", "conflicts", "commit", "real", "said"),
    [
        ("yes", "none", COMMIT, (), ()),
        ("no", "a.py, b, c.py", COMMIT, ("b, c.py", "a.py"), ()),
        ("no", "none", "none", None, ()),
        ("yes", "none", COMMIT, ("a.py",), (f"merged is yes, but {COMMIT[:12]} conflicts with main in 1 files",)),
        ("no", "none", COMMIT, (), (f"merged is no, but {COMMIT[:12]} merges with main as it is",)),
        ("no", "a.py", COMMIT, ("a.py", "b.py"), ("conflicts leaves out b.py, which conflicts with main",)),
        ("no", "a.py, b.py", COMMIT, ("a.py",), ("conflicts names b.py, which does not conflict",)),
        ("yes", "a.py", COMMIT, ("a.py",), ("merged: yes goes only with conflicts: none, not with a.py",)),
        ("yes", "none", OTHER, (), (f"the repository has no commit {OTHER}",)),
        ("yes", "none", COMMIT[:7], (), (f"commit is `{COMMIT[:7]}`, which is no full commit id",)),
        ("yes", "none", "HEAD", (), ("commit is `HEAD`, which is no full commit id",)),
        ("yes", "none", "none", (), ("without a commit nothing merges and nothing conflicts",)),
        ("no", "a.py", "none", (), ("without a commit nothing merges and nothing conflicts",)),
        ("Yes", "none", COMMIT, (), ("merged is `Yes`, which is neither yes nor no",)),
        ("yes", "", COMMIT, (), ("the field `conflicts` of the report is empty",)),
    ],
)
def test_merges(merged, conflicts, commit, real, said):
    lines = f"merged: {merged}\nconflicts: {conflicts}\ncommit: {commit}"
    forks = World(conflicts={} if real is None else {COMMIT: real})

    reply = asked(merge_result, lines, forks=forks, fields=["merged", "conflicts", "commit"])

    assert reply.told[: len(said)] == said
    assert reply.status == ("violated" if said else "held")


def test_a_merge_may_need_more_fields():
    lines = f"merged: yes\nconflicts: none\ncommit: {COMMIT}"
    forks = World(conflicts={COMMIT: ()})

    assert asked(merge_result, lines, forks=forks, fields=["risk"]).told == ("the report has no field `risk`",)
    assert asked(merge_result, lines, forks=forks, fields="risk").status == "error"


@pytest.mark.parametrize(
    ("fork", "commit", "files", "said"),
    [
        (AGENT, COMMIT, "a.py, b.py", ()),
        (AGENT, COMMIT, "a.py, b.py, README.md", ()),
        (AGENT, COMMIT, "a.py", ("files-reviewed leaves out b.py, which the fork changes",)),
        (AGENT, OTHER, "a.py, b.py", (f"fork-commit is `{OTHER}`, the fork's candidate is {COMMIT}",)),
        (AGENT, COMMIT[:7], "a.py, b.py", (f"fork-commit is `{COMMIT[:7]}`, the fork's candidate is {COMMIT}",)),
        ("another", COMMIT, "a.py, b.py", (f"fork is `another`, the task names `{AGENT}`",)),
        (AGENT, COMMIT, "", ("the field `files-reviewed` of the report is empty",)),
    ],
)
def test_audits(fork, commit, files, said):
    lines = f"fork: {fork}\nfork-commit: {commit}\nfiles-reviewed: {files}"
    forks = World(Fork(commit=COMMIT, files=("a.py", "b.py")))

    reply = asked(fork_audit, lines, forks=forks, fork_audit_target=AGENT)

    assert reply.told == said
    assert reply.status == ("violated" if said else "held")


def test_a_fork_that_is_not_there_leaves_the_audit_unknown():
    lines = f"fork: {AGENT}\nfork-commit: none\nfiles-reviewed: none"

    assert asked(fork_audit, lines, forks=World(), fork_audit_target=AGENT).status == "unknown"
    assert asked(fork_audit, lines, forks=World(), fork_audit_target="another").status == "violated"


@pytest.mark.parametrize("target", [None, "", " ", 3])
def test_an_audit_of_nothing_is_an_error(target):
    assert asked(fork_audit, "fork: x", fork_audit_target=target).status == "error"


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("Compared candidate 9f2c1e7 with main; merges cleanly, no overlap with open work.", None),
        ("Looked at e.g. README.md and found nothing", None),
        ("Compared v1.2 with i.e. Main, no conflict.", None),
        ("x " * 100, None),
        ("y" + " x" * 100, "ledger-row has 201 characters, 200 are allowed"),
        ("Did this. Did that.", "ledger-row is more than one sentence"),
        ("Done! Really.", "ledger-row is more than one sentence"),
        ("Done", "ledger-row is no sentence"),
        ("none", "ledger-row is no sentence"),
        ("", "the field `ledger-row` of the report is empty"),
        ("Did \x1b[31m this", "ledger-row holds characters that cannot be printed"),
        ("Did \u202e this", "ledger-row holds characters that cannot be printed"),
        ("a" * 300_000 + " b", "ledger-row has 300002 characters, 200 are allowed"),
    ],
)
def test_ledger_rows(sentence, said):
    reply = asked(ledger_row, f"ledger-row: {sentence}")

    assert reply.told == (() if said is None else (said,))
    assert reply.status == ("held" if said is None else "violated")


def test_a_row_that_the_runtime_did_not_write_is_an_error():
    assert asked(ledger_row, "ledger-row: Did this and that.", forks=World(row=False)).status == "error"
    assert asked(ledger_row, "summary: x", forks=World(row=False)).status == "violated"
