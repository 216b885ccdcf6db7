"""Folding: what a command prints, where its words alone decide it."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keisei.records.effect import BELOW, UNKNOWN
from keisei.rules.shell.fold import printed

QUICK = settings(max_examples=60, deadline=None, database=None, derandomize=True)


def bash(argv, cwd="/"):
    """What bash itself prints."""
    done = subprocess.run(["bash", "-c", '"$@"', "_", *argv], cwd=cwd, capture_output=True, check=False)
    return done.stdout.decode("utf-8", "surrogateescape")


@pytest.mark.parametrize(
    "argv",
    [
        ("echo",),
        ("echo", "a", "b"),
        ("echo", "-n", "a"),
        ("echo", "-e", "a\\nb"),
        ("echo", "-ne", "a\\tb"),
        ("echo", "-E", "a\\nb"),
        ("echo", "a\\nb"),
        ("echo", "-x", "a"),
        ("echo", "--", "a"),
        ("echo", "a", "-n"),
        ("echo", "-n", "-e", "\\x41"),
        ("echo", "-nn", "a"),
        ("echo", "-e", "a\\cb"),
        ("echo", "-e", "\\0101"),
        ("echo", "-eE", "a\\nb"),
        ("printf", "a"),
        ("printf", "a\\n"),
        ("printf", "%s", "a"),
        ("printf", "%s\\n", "a", "b"),
        ("printf", "%s-%s\\n", "a", "b", "c"),
        ("printf", "%s %%", "a"),
        ("printf", "%b", "a\\nb"),
        ("printf", "%s"),
        ("printf", "--", "%s", "a"),
        ("printf", "\\x41\\101"),
        ("printf", "%d", "5"),
        ("printf", "%i", "5"),
        ("printf", "%5s|", "a"),
        ("printf", "%-5s|", "a"),
        ("printf", "a", "b"),
        ("pwd",),
        ("basename", "/a/b"),
        ("basename", "/a/b/"),
        ("basename", "/a/b.c", ".c"),
        ("basename", "a"),
        ("dirname", "/a/b"),
        ("dirname", "a"),
        ("dirname", "/a/b/"),
        ("dirname", "/a"),
    ],
    ids=" ".join,
)
def test_what_is_folded_is_what_bash_prints(argv):
    text = printed(argv, "/")

    assert text is not None
    assert text == bash(argv)


@pytest.mark.parametrize(
    "argv",
    [
        ("cat", "x"),
        ("ls",),
        ("git", "log"),
        ("printf", "%x", "10"),
        ("printf", "%q", "a b"),
        ("printf", "%(%Y)T"),
        ("printf", "-v", "x", "a"),
        ("printf", UNKNOWN),
        ("printf",),
        ("date", "-f", "/etc/passwd"),
        ("mktemp", "-p", "docs"),
        ("mktemp", "docs/XXXX"),
        ("basename", UNKNOWN),
        ("which", UNKNOWN),
        ("which", "a", "b"),
        ("find", ".", "-printf", "git"),
        ("find", UNKNOWN),
        ("grep", "x", "y"),
        ("grep", "-l", "x"),
        ("command", "git"),
    ],
    ids=lambda argv: " ".join(argv).replace(UNKNOWN, "<U>"),
)
def test_what_the_world_decides_is_not_folded(argv):
    assert printed(argv, "/") is None


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (("/bin/echo", "a"), "a\n"),
        (("echo", UNKNOWN), f"{UNKNOWN}\n"),
        (("printf", "%s", UNKNOWN), UNKNOWN),
        (("pwd",), "/work\n"),
        (("which", "git"), "/usr/bin/git\n"),
        (("which", "-a", "git"), "/usr/bin/git\n"),
        (("command", "-v", "git"), "/usr/bin/git\n"),
        (("type", "-P", "git"), "/usr/bin/git\n"),
        (("which", "./x"), "./x\n"),
        (("find", "src", "-name", "*.py"), f"src/{BELOW}\n"),
        (("find", "a", "b/"), f"a/{BELOW}\nb/{BELOW}\n"),
        (("grep", "-rl", "x", "src"), f"src/{BELOW}\n"),
        (("rg", "-l", "x", "src"), f"src/{BELOW}\n"),
    ],
)
def test_what_is_known_in_part_is_folded_in_part(argv, text):
    assert printed(argv, "/work") == text


@QUICK
@given(st.lists(st.text(alphabet="ab -n e\\%", max_size=4), max_size=3))
def test_echo_is_folded_as_bash_prints_it(words):
    assert printed(("echo", *words), "/") == bash(("echo", *words))


@QUICK
@given(
    st.text(alphabet="ab%s \\n-", min_size=1, max_size=6), st.lists(st.sampled_from(["x", "y z", "", "-n"]), max_size=3)
)
def test_printf_is_folded_as_bash_prints_it_or_not_at_all(template, words):
    text = printed(("printf", template, *words), "/")

    assert text is None or text == bash(("printf", template, *words))


@settings(max_examples=300, deadline=None, database=None, derandomize=True)
@given(
    st.lists(st.text(max_size=6), min_size=1, max_size=4), st.sampled_from(["echo", "printf", "find", "date", "which"])
)
def test_any_words_get_an_answer(words, program):
    text = printed((program, *words), "/")

    assert text is None or isinstance(text, str)
