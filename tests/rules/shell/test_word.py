"""Words: what each expansion of bash makes of them. A word that is known comes out exactly; else it says so."""

from functools import cache

import pytest

from keisei.gate.machine import Machine
from keisei.gate.shell import Parser
from keisei.records.effect import UNKNOWN
from keisei.rules.shell.escape import unescaped
from keisei.rules.shell.ground import Trace
from keisei.rules.shell.walk import Walk

HOME = "/home/someone"
CWD = "/work"


@cache
def parser():
    return Parser()


def rows(text, program="show"):
    """Every row of arguments that a program of the text can get, the unknown written as `<U>`."""
    walk = Walk(Machine(parser(), HOME), CWD)
    walk.shell(text, Trace())
    found = [command.argv[1:] for command in walk.found.effects().commands if command.argv[0] == program]
    return [tuple(word.replace(UNKNOWN, "<U>") for word in row) for row in found]


CONSTANT = {
    # quoting
    "show a 'b c' \"d e\"": ("a", "b c", "d e"),
    "show a\\ b \\$x \\\\ \\'": ("a b", "$x", "\\", "'"),
    "show a''b \"\" '' ": ("ab", "", ""),
    'show "a\\$b\\"c\\\\d\\e"': ('a$b"c\\d\\e',),
    "show 'a\\b' '$x' '`y`'": ("a\\b", "$x", "`y`"),
    "show a\\\nb": ("ab",),
    'show "a\\\nb"': ("ab",),
    "show $'a\\nb\\t\\x41\\101\\u00e9\\''": ("a\nb\tAA\u00e9'",),
    "show $'a'\"b\"'c'd": ("abcd",),
    # braces
    "show {a,b}": ("a", "b"),
    "show x{a,b}y{1,2}": ("xay1", "xay2", "xby1", "xby2"),
    "show {a,{b,c}}": ("a", "b", "c"),
    "show {1..4}": ("1", "2", "3", "4"),
    "show {4..1}": ("4", "3", "2", "1"),
    "show {1..9..4}": ("1", "5", "9"),
    "show {01..03}": ("01", "02", "03"),
    "show {a..c}": ("a", "b", "c"),
    "show {-1..1}": ("-1", "0", "1"),
    "show {a} {} {a,b": ("{a}", "{}", "{a,b"),
    "show '{a,b}' \\{a,b} \"{a,b}\"": ("{a,b}", "{a,b}", "{a,b}"),
    "show {,a}x": ("x", "ax"),
    "show a{b,}": ("ab", "a"),
    "x=1; show {$x,2}": ("1", "2"),
    "show ${nope-{a,b}}": None,
    # tilde
    "show ~ ~/x": (HOME, f"{HOME}/x"),
    "show '~' a~ \\~/x \"~\"": ("~", "a~", "~/x", "~"),
    "show ~+/x": (f"{CWD}/x",),
    "x=~/y; show $x": (f"{HOME}/y",),
    # variables
    "x=a; show $x ${x} \"$x\" '$x'": ("a", "a", "a", "$x"),
    "x='a b'; show $x": ("a", "b"),
    "x='a b'; show \"$x\"": ("a b",),
    "x=' a '; show $x.": ("a", "."),
    "x=; show $x": (),
    'x=; show "$x"': ("",),
    "x=a; show $x$x": ("aa",),
    "x=a y=b; show $x$y": ("ab",),
    "show $HOME $PWD": (HOME, CWD),
    # operators
    "x=abcabc; show ${x#a} ${x#*b} ${x##*b}": ("bcabc", "cabc", "c"),
    "x=abcabc; show ${x%c} ${x%b*} ${x%%b*}": ("abcab", "abca", "a"),
    "x=a.b.c; show ${x/./-} ${x//./-} ${x//.}": ("a-b.c", "a-b-c", "abc"),
    "x=abc; show ${x/#a/z} ${x/%c/z}": ("zbc", "abz"),
    "x=abc; show ${x:1} ${x:1:1} ${x: -1} ${x:0:-1} ${x:(-2)}": ("bc", "b", "c", "ab", "bc"),
    "x=aB; show ${x^^} ${x,,} ${x^} ${x,}": ("AB", "ab", "AB", "aB"),
    "x=y; y=z; show ${!x}": ("z",),
    # arrays
    'a=(x "y z"); show "${a[@]}"': ("x", "y z"),
    "a=(x 'y z'); show ${a[@]}": ("x", "y", "z"),
    'a=(x y); show "${a[*]}"': ("x y",),
    'a=(x y); show "p${a[@]}s"': ("px", "ys"),
    'a=(w x y z); show "${a[@]:1:2}"': ("x", "y"),
    'a=(w x y z); show "${a[@]:2}"': ("y", "z"),
    'a=(w x y z); show "${a[@]: -1}"': ("z",),
    'a=(); show "${a[@]}"': (),
    "a=({1..3}); show ${a[@]}": ("1", "2", "3"),
    # positional parameters
    'set -- a "b c"; show "$@"': ("a", "b c"),
    'set -- a b; show $1 $2 "$*"': ("a", "b", "a b"),
    'set -- a b c; show "${@:2}"': ("b", "c"),
    'set -- a b c; show "${@:1:2}"': ("a", "b"),
    "set -- a; show ${1#a}x": ("x",),
    # substitutions whose output is plain
    "show $(echo a b)": ("a", "b"),
    'show "$(echo a b)"': ("a b",),
    "show `echo a`": ("a",),
    "show $(printf '%s-%s' a b)": ("a-b",),
    "show $(pwd)": (CWD,),
    "show $(basename /a/b.c .c) $(dirname /a/b.c)": ("b", "/a"),
    'show "$(echo a; )"': ("a",),
    # what is no expansion
    "show a=b --x=~ \\#c": ("a=b", "--x=~", "#c"),
    "show a#b": ("a#b",),
}


@pytest.mark.parametrize("text", [text for text, row in CONSTANT.items() if row is not None])
def test_a_constant_word_is_expanded_as_bash_does(text):
    assert rows(text) == [CONSTANT[text]]


SEVERAL = {
    "x=a; x=b; show $x": {("a",), ("b",)},
    "if y; then x=a; else x=b; fi; show $x": {("a",), ("b",)},
    "show ${x:-a}": {("a",)},
    "x=b; show ${x:-a}": {("b",)},
    "x=b; show ${x:+a}": {("a",)},
    "show ${x:=a}": {("a",)},
    "x=b; show ${x:?gone}": {("b",)},
    "for x in a 'b c'; do show \"$x\"; done": {("a",), ("b c",)},
    "for x in {1..3}; do show $x; done": {("1",), ("2",), ("3",)},
    "set -- a b; for x; do show $x; done": {("a",), ("b",)},
    "set -- a b; shift; show $1": {("b",)},
    "a=(x y); show ${a[1]}": {("y",)},
    "a=(x y); show ${a[-1]}": {("y",)},
    "declare -A m=([k]=v); show ${m[k]}": {("v",)},
    'a=(x); a+=(y); show "${a[@]}"': {("x", "y")},
    "x=a; x+=b; show $x": {("ab",)},
    "IFS=,; x=a,b; show $x": {("a", "b")},
    'IFS=:; a=(x y); show "${a[*]}"': {("x:y",)},
    "f() { show $1; }; f a; f b": {("a",), ("b",)},
    "x=a; f() { show $x; }; x=b; f": {("b",)},
    "export x=a; show $x": {("a",)},
    "readonly x=a; show $x": {("a",)},
    "f() { local x=a; show $x; }; f": {("a",)},
    "read x <<< a; show $x": {("a",)},
    "printf -v x %s a; show $x": {("a",)},
    "x=gat; y=${x/a/i}; show $y": {("git",)},
}


@pytest.mark.parametrize("text", SEVERAL)
def test_every_value_a_word_can_have_is_among_its_rows_unless_it_is_told_unknown(text):
    found = rows(text)

    assert found
    assert SEVERAL[text] <= set(found) or any("<U>" in word for row in found for word in row), found


@pytest.mark.parametrize(
    "text",
    [
        *(
            "show $nope",
            'show "$nope"',
            "show $(date -u; ls)",
            "show `ls`",
            "show $RANDOM",
            "show $$",
            "show $?",
            "show $!",
        ),
        *("show ${#x}", "show <(ls)", "show ~other", "read x; show $x", "show ${!a*}", "show $-"),
        *("show $(cat README.md)", "x=$(ls); show $x", "mapfile -t x; show ${x[0]}", 'show "$(ls)"', "show $_"),
        *("x=$nope; show ${x#a}", "show {1..99999}", "x=a; show ${x@Q}", "show ${x[$y]}", "declare -n r=x; show $r"),
    ],
)
def test_what_only_the_run_knows_is_told_as_unknown(text):
    found = rows(text)

    assert found
    assert any("<U>" in word for row in found for word in row), found


def test_a_variable_of_many_values_is_unknown():
    text = "".join(f"x={number};" for number in range(100)) + "show $x"

    assert ("<U>",) in rows(text)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("sh <<E\nshow $HOME\nE", (HOME,)),
        ("sh <<'E'\nx=1; show $x\nE", ("1",)),
        ("sh <<E\nshow \\$HOME\nE", (HOME,)),
        ('sh <<E\nshow "a"\nE', ("a",)),
        ("sh <<-E\n\tshow a\n\tE", ("a",)),
        ("x=a; sh <<E\nshow $x\nE", ("a",)),
        ("sh <<< 'show a b'", ("a", "b")),
        ("x='show a'; sh <<< $x", ("a",)),
        ("sh <<E\nshow $(echo a)\nE", ("a",)),
        ("sh <<\\E\nshow '`'\nE", ("`",)),
        ("sh <<E\nsh\\\now a\nE", ("a",)),
    ],
)
def test_a_document_is_expanded_as_bash_does(text, wanted):
    assert wanted in rows(text)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", ""),
        ("plain", "plain"),
        (r"a\nb", "a\nb"),
        (r"\a\b\e\E\f\r\t\v", "\a\b\x1b\x1b\f\r\t\v"),
        (r"\\ \' \" \?", "\\ ' \" ?"),
        (r"\101\x41\u0041\U00000041", "AAAA"),
        (r"\0101"[:4], "\x08"),
        (r"\x4g", "\x04g"),
        (r"\cA", "\x01"),
        (r"\q", r"\q"),
        (r"a\0b", "a"),
        (r"a\x00b", "a"),
        ("a\\", "a\\"),
    ],
)
def test_escapes_are_read_as_bash_reads_them(text, wanted):
    assert unescaped(text) == wanted
