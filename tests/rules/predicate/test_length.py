"""Length: what is counted, against what, and what is said of it."""

import pytest

from keisei.grammar.outline import outline
from keisei.records.verification import Difference, Planned
from keisei.records.worktree import Change
from keisei.rules.predicate.length import length
from keisei.rules.predicate.length_kind import is_source, uncounted

ZEROS = "0" * 40
LIMITS = {"max-file-lines": 20, "max-function-lines": 5}


class Blobs:
    """Contents that are their own names, read by the real parser."""

    def read(self, blob, most):
        return blob.encode() if len(blob) <= most else None

    def outlines(self, files):
        return [outline(path, blob.encode("utf-8", "surrogateescape")) for path, blob in files]

    def is_at_base(self, path):
        raise AssertionError(path)


def change(path, before, after, mode="100644"):
    status = "added" if before is None else "deleted" if after is None else "modified"
    return Change(
        path=path,
        status=status,
        mode=mode if after is not None else "000000",
        old_mode=mode if before is not None else "000000",
        blob=after if after is not None else ZEROS,
        old_blob=before if before is not None else ZEROS,
    )


def judged(*changes, parameters=LIMITS, run_from=("merged",)):
    planned = Planned(
        capability="quality::constructor-pattern",
        kind="diff",
        rule="length",
        parameters=parameters,
        run_from=run_from,
    )
    where = {"merged": changes} if "merged" in run_from else {}
    return length(planned, Difference(candidate=changes, **where), Blobs())


def function(name, lines, indent=""):
    return f"{indent}def {name}():\n" + f"{indent}    x = 1\n" * (lines - 1)


def test_what_is_at_the_limit_is_held():
    reply = judged(change("a.py", None, function("f", 5) + "y = 1\n" * 15))

    assert (reply.status, reply.told) == ("held", ())


def test_a_new_file_over_the_limit_is_told_with_its_numbers():
    reply = judged(change("src/a.py", None, "x = 1\n" * 21))

    assert (reply.status, reply.told) == ("violated", ("src/a.py has 21 lines; 20 are allowed",))


def test_a_last_line_without_an_end_counts():
    assert judged(change("a.py", None, "x = 1\n" * 20 + "y = 2")).status == "violated"


def test_lines_that_end_in_carriage_returns_count():
    reply = judged(change("a.py", None, function("f", 9).replace("\n", "\r")))

    assert reply.told == ("`f` in a.py has 9 lines; 5 are allowed",)


def test_a_new_function_over_the_limit_is_told():
    reply = judged(change("a.py", "x = 1\n", "class A:\n" + function("f", 6, "    ")))

    assert (reply.status, reply.told) == ("violated", ("`A.f` in a.py has 6 lines; 5 are allowed",))


def test_decorators_are_not_counted():
    text = "@cache\n@other(\n    1,\n)\n" + function("f", 5)

    assert judged(change("a.py", None, text)).status == "held"


@pytest.mark.parametrize(
    ("was", "now", "status"), [(9, 9, "held"), (9, 8, "held"), (9, 10, "violated"), (5, 6, "violated")]
)
def test_a_function_is_measured_against_what_it_was(was, now, status):
    assert judged(change("a.py", function("f", was), function("f", now))).status == status


@pytest.mark.parametrize(("was", "now", "status"), [(25, 25, "held"), (30, 22, "held"), (25, 26, "violated")])
def test_a_file_is_measured_against_what_it_was(was, now, status):
    assert judged(change("a.py", "x = 1\n" * was, "x = 2\n" * now)).status == status


def test_what_grew_is_told_with_what_it_was():
    reply = judged(change("a.py", function("f", 8), function("f", 9)))

    assert reply.told == ("`f` in a.py has 9 lines, had 8; 5 are allowed",)


def test_an_old_long_function_does_not_excuse_a_new_one():
    reply = judged(change("a.py", function("f", 9), function("f", 9) + function("g", 8)))

    assert reply.told == ("`g` in a.py has 8 lines; 5 are allowed",)


def test_two_functions_of_one_name_are_compared_in_order_of_length():
    before = function("f", 9) + function("f", 2)

    assert judged(change("a.py", before, function("f", 2) + function("f", 9))).status == "held"
    assert judged(change("a.py", before, function("f", 6) + function("f", 9))).status == "violated"


def test_functions_without_a_name_are_counted():
    before = "run(() => {\n" + "  a();\n" * 7 + "});\n"
    after = before + "run(() => {\n" + "  b();\n" * 6 + "});\n"

    assert judged(change("a.js", before, before.replace("a()", "c()"))).status == "held"
    assert judged(change("a.js", before, after)).told == ("`<function>` in a.js has 8 lines; 5 are allowed",)


def test_a_file_that_only_moved_is_held():
    text = function("f", 30)

    assert judged(change("old/a.py", text, None), change("new/b.py", None, text)).status == "held"


def test_a_copy_of_a_file_that_moved_is_not_excused():
    text = "x = 1\n" * 30

    reply = judged(change("a.py", text, None), change("b.py", None, text), change("c.py", None, text))

    assert reply.told == ("c.py has 30 lines; 20 are allowed",)


def test_a_file_that_moved_and_changed_is_measured_against_what_it_was():
    before = function("f", 30)

    held = judged(change("old/a.py", before, None), change("new/a.py", None, before.replace("x = 1", "x = 2")))
    longer = judged(change("old/a.py", before, None), change("new/a.py", None, function("f", 31)))

    assert held.status == "held"
    assert longer.told[0] == "new/a.py has 31 lines, had 30; 20 are allowed, and 1 more"


def test_a_long_function_that_moved_is_no_new_one_and_its_copy_is():
    moved = change("a.py", function("f", 9), "import b\n")

    assert judged(moved, change("b.py", None, function("f", 9))).status == "held"
    assert judged(moved, change("b.py", None, function("f", 10))).status == "violated"
    assert (
        judged(moved, change("b.py", None, function("f", 9)), change("c.py", None, function("f", 9))).status
        == "violated"
    )


def test_methods_of_a_renamed_class_are_no_new_ones():
    before = "class Cart:\n" + function("total", 9, "    ")

    assert judged(change("a.py", before, before.replace("Cart", "Basket"))).status == "held"


def test_a_language_without_a_parser_is_counted_by_lines_and_the_reply_says_so():
    short = judged(change("a.kt", None, "fun f() {\n" + "  g()\n" * 10 + "}\n"))
    long = judged(change("a.kt", None, "g()\n" * 21))

    assert short.status == "held"
    assert short.told == ("a.kt: functions of this language are not understood; only lines are counted",)
    assert long.told[0] == "a.kt has 21 lines; 20 are allowed"


@pytest.mark.parametrize("path", ["README.md", "data.json", "notes.txt", "a.toml", "x.svg", "LICENSE"])
def test_what_is_no_source_has_any_length(path):
    assert judged(change(path, None, "x\n" * 500)).told == ()


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("Cargo.lock", "a lock file"),
        ("web/package-lock.json", "a lock file"),
        ("go.sum", "a lock file"),
        ("static/app.min.js", "minified"),
        ("api/cart_pb2.py", "generated"),
        ("api/cart.pb.go", "generated"),
        ("vendor/x/y.go", "vendored"),
        ("web/node_modules/x/y.js", "vendored"),
    ],
)
def test_what_nobody_reads_is_told_and_not_counted(path, why):
    reply = judged(change(path, None, "x\n" * 500))

    assert (reply.status, reply.told) == ("held", (f"{path} is {why}; its lines are not counted",))
    assert uncounted(path) == why


def test_binary_content_behind_a_name_of_source_is_told():
    reply = judged(change("a.py", None, "\0" + "x\n" * 500))

    assert (reply.status, reply.told) == ("held", ("a.py is no text; its lines are not counted",))


def test_a_syntax_error_rejects_where_the_base_had_none():
    reply = judged(change("a.py", function("f", 2), "def f(:\n"))

    assert reply.status == "violated"
    assert reply.told == ("the functions of a.py cannot be counted: a syntax error at line 1; those of the base can",)


def test_a_new_file_with_a_syntax_error_is_unknown_and_rejects():
    reply = judged(change("a.py", None, "def f(:\n"))

    assert (reply.status, reply.severity) == ("unknown", None)


def test_a_syntax_error_that_was_there_before_only_warns():
    reply = judged(change("a.py", "def f(:\n", "def g(:\n"))

    assert (reply.status, reply.severity) == ("unknown", "warn")


def test_macros_that_no_parser_understands_only_warn():
    reply = judged(
        change("a.c", "int f(void) { return 1; }\n", "FOREACH(x, list) int BEGIN f( void )) { return 1; }\n")
    )

    assert (reply.status, reply.severity) == ("unknown", "warn")


def test_what_is_too_long_is_told_before_what_cannot_be_read():
    reply = judged(change("a.py", None, "def f(:\n"), change("b.py", None, "x = 1\n" * 21))

    assert reply.status == "violated"
    assert reply.told[0] == "b.py has 21 lines; 20 are allowed"
    assert reply.told[1].startswith("the functions of a.py cannot be counted")


def test_the_first_sentence_says_how_many_there_are_and_stays_short():
    path = "d/" * 300 + "a.py"

    reply = judged(*(change(f"{path}{n}.py", None, "x = 1\n" * 21) for n in range(60)))

    assert reply.told[0].endswith(", and 59 more")
    assert len(reply.told[0]) < 200
    assert len(reply.told) == 40


def test_a_name_cannot_command_a_terminal():
    reply = judged(change("\x1b[2Ja\n.py", None, "x = 1\n" * 21))

    assert reply.told[0].isprintable()


def test_links_deletions_and_submodules_have_no_lines():
    gone = change("a.py", "x = 1\n" * 100, None)
    link = change("b.py", None, "x = 1\n" * 100, mode="120000")

    assert judged(gone, link, change("sub", None, ZEROS, mode="160000")).status == "held"


def test_in_a_worktree_the_candidate_is_counted():
    assert judged(change("a.py", None, "x = 1\n" * 21), run_from=("worktree",)).status == "violated"


def test_nothing_that_lands_is_nothing_too_long():
    planned = Planned(capability="q", kind="diff", rule="length", parameters=LIMITS)

    reply = length(planned, Difference(candidate=(change("a.py", None, "x = 1\n" * 21),)), Blobs())

    assert reply.status == "held"


@pytest.mark.parametrize("limit", [None, 0, -1, "200", True, 2.5])
@pytest.mark.parametrize("name", list(LIMITS))
def test_a_limit_that_is_no_number_is_an_error(name, limit):
    reply = judged(change("a.py", None, "x = 1\n"), parameters={**LIMITS, name: limit})

    assert reply.status == "error"
    assert name in reply.told[0]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", "async def f():\n" + "    await g()\n" * 6),
        ("a.rs", "impl A {\n    pub fn f() {\n" + "        g();\n" * 5 + "    }\n}\n"),
        ("a.go", "package a\nfunc (a *A) F() {\n" + "\tg()\n" * 5 + "}\n"),
        ("a.js", "const f = () => {\n" + "  g();\n" * 5 + "};\n"),
        ("a.ts", "class A { f(): void {\n" + "  g();\n" * 5 + "} }\n"),
        ("a.tsx", "const F = () => {\n" + "  g();\n" * 4 + "  return <p/>;\n};\n"),
        ("A.java", "class A { void f() {\n" + "  g();\n" * 5 + "} }\n"),
        ("a.c", "int f(void)\n{\n" + "  g();\n" * 4 + "}\n"),
        ("a.cpp", "int A::f() {\n" + "  g();\n" * 5 + "}\n"),
        ("a.rb", "def f\n" + "  g\n" * 5 + "end\n"),
        ("bin/run", "#!/usr/bin/env python3\ndef f():\n" + "    g()\n" * 6),
    ],
)
def test_a_long_function_is_found_in_every_language(path, text):
    reply = judged(change(path, None, text))

    assert reply.status == "violated"
    assert " has 7 lines; 5 are allowed" in reply.told[0]


def test_names_of_source_are_told_from_others():
    assert is_source("a/b.SWIFT", None)
    assert not is_source("swift", None)
    assert is_source("anything", "python")
