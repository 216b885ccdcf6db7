"""The strict tokenizer: what it reads, it reads as the full grammar does; everything else it leaves alone."""

from functools import cache

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from keisei.gate.shell import Parser
from keisei.rules.shell.ground import Unreadable
from keisei.rules.shell.token import KEYWORDS, LONGEST, plain

POSITIONS = frozenset({"Pos", "End", "ValuePos", "ValueEnd", "OpPos", "Left", "Right", "Position", "Semicolon"})
CHECKED = settings(
    max_examples=120,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],  # most of what is grown is not plain
)


@cache
def parser():
    return Parser()


def stripped(node):
    """A tree without positions and without what is empty."""
    if isinstance(node, list):
        return [stripped(each) for each in node]
    if isinstance(node, dict):
        kept = {key: stripped(value) for key, value in node.items() if key not in POSITIONS}
        return {key: value for key, value in kept.items() if value not in ([], {}, None, False, "")}
    return node


def full(text):
    """The full grammar's tree; None where it refuses the text."""
    try:
        tree = stripped(parser().parse(text))
    except Unreadable:
        return None
    return {key: value for key, value in tree.items() if key != "Name"}  # the file's name, which is the parser's


name = st.sampled_from(
    ["ls", "git", "./x.sh", "/usr/bin/env", "a-b", "echo", "[", "test", "A", "1", "0x", "-", "@", "%"]
)
odd_word = st.sampled_from(
    [
        *sorted(KEYWORDS),
        *("A=1", "A+=1", "a[1]=2", "1=2", "=x", "A=", "--opt=x", "a=b=c", "'A'=1", "A'='1", '"A=1"', "_=1", "-A=1"),
        *("''", '""', "'a b'", '"a b"', "a'b'c\"d\"", "'\"'", '"\'"', "'#'", "a#b", "#c", "~", "~/x", "!", "!x", "a!"),
        *("2", "1x", "x1", "12", "'1'", "%1", "{", "}", "{a,b}", "{}", "*", "?", "[a]", "$x", "\\x", "`x`", "(", ")"),
        *("@(x)", "+(x)", "x@(y)", "é", "\u00a0", "\t", "\u2028", ",", ":", "..", "%s", "a,b", "time", "-p", "'if'"),
        *(
            "''if",
            'i"f"',
            "if''",
            "''A=1",
            "declare",
            "export",
            "'let'",
            "let",
            "nameref",
            "local",
            "a=(1)",
            "function",
        ),
    ]
)
operator = st.sampled_from(["&&", "||", "|", ";", "|&", "&", ";;", "\n", "\\\n", ";&", " ; ", "|||", "&&&", "| |"])
redirect = st.sampled_from(
    [
        *(">x", "> x", ">>x", ">> x", "<x", "2>x", "1>x", "2>&1", "1>&2", ">&2", "<&1", "<&2", "0<x", "3>x", "&>x"),
        *("2>&1x", "2>&12", ">&1", ">&x", "<>x", ">|x", "<<x", "<<<x", "2>2", ">1", ">12", "x>y", "1>y", "a1>y"),
        *(
            ">'x'",
            ">$x",
            ">\\x",
            ">",
            "2>",
            "2>>x",
            "12>x",
            "'2'>x",
            "2 >x",
            "<x>y",
            ">x<y",
            ">x>y",
            ">1>y",
            "<-",
            ">&-",
        ),
        *("{fd}>x", ">(x)", "<(x)", ">=x", ">x=y", "> @x", ">x@(y)"),
    ]
)
blank = st.sampled_from(["", " ", "  ", "\t"])
line = st.lists(st.tuples(st.one_of(name, name, odd_word, operator, redirect), blank), min_size=1, max_size=7).map(
    lambda pairs: "".join(token + space for token, space in pairs)
)


@CHECKED
@example("ls>1>y")
@example("ls 2>&1|cat")
@example("''A=1 x")
@example("ls >&2>x")
@example("a;")
@example("ls | time x")
@example("ls && ! x")
@given(line)
def test_whatever_it_reads_the_full_grammar_reads_the_same(text):
    tree = plain(text)
    assume(tree is not None)

    assert stripped(tree) == full(text)


@CHECKED
@given(st.text(alphabet="ab12=;|&<>'\" \t-#@", max_size=12))
def test_no_mix_of_characters_is_read_differently(text):
    tree = plain(text)
    assume(tree is not None)

    assert stripped(tree) == full(text)


@settings(max_examples=300, deadline=None, database=None, derandomize=True)
@given(st.text())
def test_any_text_gets_an_answer(text):
    tree = plain(text)

    assert tree is None or tree["Stmts"]


@pytest.mark.parametrize(
    "text",
    [
        "ls",
        "git push origin main",
        "ls -la src/a.py",
        "cd src && ls",
        "a || b && c",
        "a | b | c",
        "a; b; c;",
        "a ; b",
        "echo 'a b' \"c d\"",
        "echo a'b'\"c\"",
        "echo '' \"\"",
        "ls > out.txt",
        "ls >> out.txt 2>&1",
        "ls 2>/dev/null",
        "ls >&2",
        "sort < in.txt > out.txt",
        "> x ls",
        "echo a=b --opt=1",
        "  ls  ",
        "\nls\n",
        "test -f x",
    ],
)
def test_a_plain_line_is_read_at_once_and_as_the_full_grammar_reads_it(text):
    tree = plain(text)

    assert tree is not None
    assert stripped(tree) == full(text)


@pytest.mark.parametrize(
    "text",
    [
        *("A=1 ls", "A=1", "A+=1", "if true", "for i in a", "time ls", "! ls", "function f", "coproc ls", "let x=1"),
        *("declare x", "export A=1", "local x", "readonly x", "case a in", "select x", "while ls", "until ls"),
        *("echo $x", 'echo "$x"', "echo `x`", 'echo "`x`"', "echo \\x", 'echo "a\\b"', "echo *", "echo a?", "echo [a]"),
        *("echo {a,b}", "echo ~", "ls # x", "ls &", "ls & ls", "(ls)", "{ ls; }", "f() { ls; }", "ls |& cat", "a\nb"),
        *("cat << x", "cat <<< x", "ls 3> x", "ls 12> x", "ls &> x", "ls <> x", "ls >| x", "ls > $x", "ls > 'x'"),
        *("cat <(ls)", "a ;; b", "a && ", "&& a", "| a", "a |", "; a", "", "   ", "> x", "'a", '"a', "a\0b", "x$'a'"),
        *('echo "a!b"', "echo é", "echo $'x'", 'echo $"x"', "A[1]=2 ls", "a=(1)", "((1))", "[[ a ]]"),
    ],
)
def test_what_is_not_plain_is_left_to_the_full_grammar(text):
    assert plain(text) is None


def test_a_line_that_is_too_long_is_left_to_the_full_grammar():
    assert plain("a" * LONGEST) is not None
    assert plain("a" * (LONGEST + 1)) is None
