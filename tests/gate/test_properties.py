"""Laws of the judge: nothing crashes it, nothing holds it up, and effects do not hang on how a command is laid out."""

import os
import resource
import shlex
import signal
import time
from functools import cache
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from keisei.gate.machine import Machine
from keisei.gate.shell import Parser
from keisei.records.effect import ToolCall
from keisei.rules import tool as tools
from keisei.rules.effect import effects
from keisei.settings import read_settings
from keisei.wiring import catalog
from keisei.wiring.gate import judge_here
from keisei.wiring.policy import Setting, vector_policy
from tests.gate import jail

HANG_S = 5
"""A judgement takes under a second; a busy machine may take this long, and longer is a hang."""
PATIENT_S = 60
"""For laws about what is read, not about how long it takes."""
MEMORY = 2 << 30
"""Address space of a judgement, the interpreter's own included."""

quick = settings(
    max_examples=40,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def where():
    with jail.place() as made:
        yield made


@cache
def _library():
    return catalog(read_settings({}))


@cache
def _judge():
    return judge_here()


@cache
def _policy(work, home, capability):
    parameters = {"files-whitelist": ["src/**"], "files-denylist": ["**/*.lock", "src/*/x"]}
    return vector_policy(_library(), capability, parameters, Setting(work, None, home))


def judged(where, tool, data, capability="policy::no-git-ops"):
    call = ToolCall(tool=tool, input=data, cwd=str(where.work))
    return _judge().judge(call, _policy(where.work, where.home, capability))


CAPABILITIES = ("policy::no-git-ops", "scope::files-whitelist", "scope::files-denylist")


# --- nothing crashes it ----------------------------------------------------------------------------------------------

shellish = st.lists(
    st.sampled_from(
        [
            *("git", "push", "echo", "cd", "src", ".", "..", "/", "~", "a=1", "$a", "${a}", "${a[@]}", "${!a}", "$@"),
            *("$(", ")", "`", "(", "{", "}", "((", "))", "[[", "]]", "'", '"', "$'", "\\", "\n", ";", "&", "|", "||"),
            *("&&", "<", ">", ">>", "<<EOF", "EOF", "<<<", "<(", ">(", "2>&1", "&>", ">|", "<>", "*", "?", "[a]", "!"),
            *("if", "then", "fi", "for", "in", "do", "done", "while", "case", "esac", ";;", "f()", "function", "time"),
            *("sh", "-c", "bash", "eval", "exec", "env", "-S", "xargs", "find", "-exec", "{}", "+", "\\;", "source"),
            *("src/a.py", "./src", "x.sh", "IFS=x", "PATH=.", "set", "--", "shift", "read", "trap", "python3", "awk"),
            *("{a,b}", "{1..3}", "{", "#", "=", "-", "é", "\t", "ln", "-s", "cp", "rm", "-rf", "tee", "sed", "-i", "0"),
            *("${a#*}", "${a/x/y}", "${a:1}", "${a^^}", "${a:-b}", "$((1+1))", "a[1]=2", "a=(1 2)", "a+=3", "coproc"),
        ]
    ),
    max_size=12,
).flatmap(lambda tokens: st.sampled_from(["", " "]).map(lambda blank: blank.join(tokens)))


@quick
@given(command=st.one_of(shellish, shellish, st.text()))
@example(command="\ud800")
@example(command="\0")
@example(command="a" * 70_000)
@example(command="é" * 40_000)
def test_no_shell_text_crashes_the_judge(where, command):
    for capability in CAPABILITIES:
        assert judged(where, "Bash", {"command": command}, capability).decision in ("allow", "deny")


@pytest.mark.parametrize(
    "command",
    [
        "bash src",
        "./src",
        ". src",
        "source ~",
        "sh < src",
        "python3 src",
        "make -f src",
        "/*/bin/g?t push",
        "PATH=src:$PATH; shop",
        "bash /dev/null",
        "bash /proc/self/mem",
        "cat < /proc/self/maps | sh",
        "bash " + "x" * 5000,
        "cd " + "x/" * 3000 + "; ./y",
        "ln -s a a; bash a",
        "cp x x; ./x",
    ],
)
def test_no_odd_file_crashes_the_judge(where, command):
    for capability in CAPABILITIES:
        assert judged(where, "Bash", {"command": command}, capability).decision in ("allow", "deny")


key = st.one_of(
    st.sampled_from(
        [
            *(
                "command",
                "cmd",
                "file_path",
                "path",
                "notebook_path",
                "edits",
                "input",
                "patch",
                "url",
                "query",
                "args",
            ),
            *(
                "argv",
                "workdir",
                "cwd",
                "directory",
                "script",
                "code",
                "files",
                "chars",
                "subagent_type",
                "paths",
                "to",
            ),
        ]
    ),
    st.text(max_size=6),
)
leaf = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=12),
    st.sampled_from(
        ["git push", "../x", "/etc/passwd", "~", "file:///x", "*** Begin Patch\n*** Add File: x\n+a", "\0", "\ud800"]
    ),
)
json_value = st.recursive(
    leaf, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(key, inner, max_size=4)), max_leaves=12
)
known = sorted({*tools.SHELL, *tools.WRITERS, *tools.PATCHERS, *tools.READERS, *tools.FETCHERS, *tools.AGENTS})
tool = st.one_of(
    st.sampled_from([*known, *sorted(tools.TYPISTS), *sorted(tools.CODERS), *sorted(tools.QUIET)]),
    st.sampled_from(
        ["mcp__fs__write_file", "mcp__fs__move", "mcp__x__run", "mcp__x__delete_it", "mcp__", "mcp__a", ""]
    ),
    st.text(max_size=8),
)


@settings(parent=quick, max_examples=100)
@given(name=tool, data=st.dictionaries(key, json_value, max_size=4))
@example(name="Bash", data={"command": ["git", "push"], "workdir": "\0"})
@example(name="Bash", data={"command": [""]})
@example(name="Write", data={"file_path": "a\0b"})
@example(name="Write", data={"file_path": "\ud800"})
@example(name="Write", data={"file_path": "x" * 70_000})
@example(name="MultiEdit", data={"file_path": "a", "edits": "text"})
@example(name="MultiEdit", data={"file_path": "a", "edits": 5})
@example(name="apply_patch", data={"command": []})
def test_no_input_of_any_tool_crashes_the_judge(where, name, data):
    for capability in CAPABILITIES:
        assert judged(where, name, data, capability).decision in ("allow", "deny")


def test_an_input_nested_without_end_does_not_crash_the_judge(where):
    deep: object = "x"
    for _ in range(500):
        deep = {"path": [deep]}

    assert judged(where, "mcp__fs__write", {"path": deep}).decision == "deny"
    assert judged(where, "Write", {"file_path": deep}).decision == "deny"


@quick
@given(globs=st.lists(st.text(max_size=8), max_size=3), patterns=st.lists(st.text(max_size=8), max_size=3))
def test_no_parameters_crash_the_judge(where, globs, patterns):
    setting = Setting(where.work, None, where.home)
    for capability, parameters in (
        ("scope::files-whitelist", {"files-whitelist": globs}),
        ("scope::files-denylist", {"files-denylist": globs}),
        ("tools::bash-allowlist", {"bash-patterns-allowed": patterns}),
    ):
        try:
            policy = vector_policy(_library(), capability, parameters, setting)
        except Exception as error:  # noqa: BLE001 - an author's mistake may be refused, in words
            assert str(error)  # noqa: PT017
            continue
        call = ToolCall(tool="Bash", input={"command": "echo x > src/a.py; ls"}, cwd=str(where.work))
        assert _judge().judge(call, policy).decision in ("allow", "deny")


# --- nothing holds it up ---------------------------------------------------------------------------------------------


def _quoted(times, command="git push"):
    for _ in range(times):
        command = "sh -c " + shlex.quote(command)
    return command


def _values(count, then):
    return "".join(f"a=v{number};b=w{number}\n" for number in range(count)) + then


HOSTILE = {
    "substitutions": "echo " + "$(" * 200 + "git" + ")" * 200,
    "substitutions-open": "$(" * 5000,
    "substitutions-in-quotes": 'echo "$(echo "' * 60 + "x" + '")"' * 60,
    "subshells": "(" * 1000 + "git" + ")" * 1000,
    "groups": "{ " * 1000 + "git" + "; }" * 1000,
    "quotes": "\"'" * 16_000,
    "backquotes": "`" * 9999,
    "a-long-word": "echo " + "a" * 65_000,
    "a-long-quoted-word": "echo '" + "a" * 65_000 + "'$x",
    "ten-thousand-commands": "ls\n" * 10_000,
    "ten-thousand-on-a-line": ";".join(["ls"] * 10_000),
    "ten-thousand-assignments": "a=1\n" * 10_000,
    "ranges": "echo {1..99999}{1..99999}",
    "choices": "echo " + "{a,b}" * 500,
    "open-braces": "echo " + "{" * 20_000,
    "open-choices": "echo " + "{a," * 10_000,
    "braces-of-nothing": "echo " + "{a" * 10_000 + "}" * 10_000,
    "assignments-in-a-chain": "\n".join(f"v{n}=$v{n - 1}x" for n in range(1, 2500)),
    "assignments-that-double": "\n".join(f"v{n}=$v{n - 1}$v{n - 1}" for n in range(1, 60)) + "\n$v59",
    "doubling-in-place": "a=x\n" + "a=$a$a\n" * 900 + "$a",
    "appending": "a+=x; b+=y; a+=$b; b+=$a\n" * 300,
    "many-values": _values(60, "echo $a$a$a$a$a\n" * 300),
    "many-values-as-commands": _values(60, "$a $b $a $b\n" * 300),
    "functions-that-call-each-other": "f() { f; f; g; }; g() { f; g; g; }; f; g\n" * 300,
    "functions-that-double": "\n".join(f"f{n}() {{ f{n + 1}; f{n + 1}; f{n + 1}; }}" for n in range(12)) + "\nf0",
    "a-fork-bomb": ":(){ :|:& };:",
    "loops-in-loops": "while true; do " * 50 + "ls;" + "done;" * 50,
    "loops-that-walk": "while cd a; do " * 50 + "ls;" + "done;" * 50,
    "loops-that-alternate": "for i in 1 2 3; do for j in $i; do " * 25 + "cd $i;" + "done; done;" * 25,
    "branches-that-walk": "if cd a; then " * 60 + "ls;" + "fi;" * 60,
    "a-long-pipeline": "|".join(["cat"] * 5000),
    "a-deep-pipeline": "|".join(["echo $(ls)"] * 110),
    "shells-in-shells": _quoted(8),
    "a-giant-document": "cat <<EOF\n" + "$x\n" * 15_000 + "EOF",
    "a-giant-program-on-input": "sh <<EOF\n" + "ls\n" * 20_000 + "EOF",
    "substitutions-in-a-document": "cat <<EOF\n" + "$(ls)\n" * 5000 + "EOF",
    "stars": "rm " + "*a" * 20_000,
    "folders-of-stars": "rm " + "*/*/*/*/* " * 200,
    "stars-from-the-root": "rm " + "/*/*/*/* " * 20,
    "stars-as-a-program": "/*/*/*/g?t push",
    "a-path-that-climbs": "echo > " + "../" * 20_000 + "x",
    "a-path-of-dots": "echo > " + "./" * 30_000 + "x",
    "a-deep-path": "echo > " + "a/" * 30_000 + "x",
    "a-path-of-slashes": "echo > " + "/" * 60_000 + "x",
    "many-files": "rm " + " ".join(f"f{n}" for n in range(1900)),
    "many-trees": "rm -rf " + " ".join(f"/usr/share/{n}/.." for n in range(1900)),
    "many-redirections": "ls " + "> f " * 10_000,
    "many-folders": "\n".join(f"cd a{n} || cd b{n}; echo > x" for n in range(1000)),
    "many-cases": "case x in " + "a) ls;; " * 5000 + "esac",
    "evals": "eval " * 5000 + "ls",
    "launchers": "env " * 5000 + "ls",
    "code-that-names-itself": "a='eval $a'; $a; eval $a",
    "a-script-that-runs-itself": "printf '. ./x\\n. ./x\\n. ./x\\n. ./x\\n' > x; . ./x",
    "arithmetic": "echo $((" + "1+" * 10_000 + "1))",
    "arrays": "a=(" + "x " * 20_000 + '); "${a[@]}"',
    "patterns": "a=" + "x" * 4000 + "; echo ${a##*x*x*y} ${a%%*x*x*y} ${a//*x*x*y/z}",
    "targets": "make " + "a " * 20_000,
    "actions": "find . " + "-exec ls {} \\; " * 3000,
    "formats": "printf '" + "%s" * 2000 + "' " + "a " * 5000 + "| sh",
    "formats-that-double": 'a=$(printf \'%s%s\' "$a" "$a");' * 500,
    "words-that-shift": "set -- " + " ".join(f"a{n}" for n in range(3000)) + "; shift; for i; do $i $1 $2 $3; done",
    "search-paths": "PATH=$PATH:/x\n" * 2000,
    "searches": "PATH=/usr/bin:/bin:$PATH\n" * 100 + "ls\n" * 2000,
    "links": "\n".join(f"ln -s a{n} a{n + 1}; echo > a{n + 1}/b" for n in range(900)),
    "separators": "".join(f"IFS={n};" for n in range(60)) + "a=1234567; $a $a $a\n" * 100,
    "scripts": ". ./scripts/lint.sh\n" * 3000,
    "payloads": "\n".join(f"sh -c 'echo $x{n}'" for n in range(1500)),
    "payloads-that-parse-slowly": "\n".join(f"sh -c '{'( ' * 100}{n}'" for n in range(250)),
    "python": 'python3 -c \'a="x"\n' + "a=a+a\n" * 2000 + "'",
    "perl": "perl -e '" + "q(" * 10_000 + "'",
    "node": "node -e '" + "`${" * 8000 + "'",
    "awk": "awk '" + '"a" ' * 10_000 + "'",
}


PATHS = frozenset(
    {
        *("stars", "folders-of-stars", "stars-from-the-root", "a-path-that-climbs", "a-path-of-dots", "a-deep-path"),
        *("a-path-of-slashes", "many-files", "many-trees", "many-redirections", "many-folders", "links", "actions"),
    }
)
"""Families whose weight is in their paths."""


def _within_the_limit(task):
    """How long the task takes in a process of its own; None where it failed, hung or swelled and was ended."""
    child = os.fork()
    if child == 0:
        try:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(HANG_S)
            task()
            os._exit(0)
        finally:
            os._exit(1)
    started = time.monotonic()
    _, status = os.waitpid(child, 0)
    return time.monotonic() - started if status == 0 else None


@pytest.mark.parametrize("family", HOSTILE)
def test_no_shell_text_holds_the_judge_up(where, family):
    capability = "scope::files-whitelist" if family in PATHS else "policy::no-git-ops"
    judged(where, "Bash", {"command": "ls"}, capability)

    assert _within_the_limit(lambda: judged(where, "Bash", {"command": HOSTILE[family]}, capability)) is not None


INPUTS = {
    "mcp-fields": ("mcp__fs__write", {f"path_{n}": f"../{n}/x" for n in range(200)}),
    "mcp-lists": ("mcp__fs__write", {"paths": [f"src/{n}" for n in range(20_000)]}),
    "mcp-commands": ("mcp__x__run", {"command": [f"sh -c 'echo $x{n}'" for n in range(200)]}),
    "mcp-scripts": ("mcp__x__run", {f"s{n}": {"script": f"echo $x{n}"} for n in range(200)}),
    "edits": ("MultiEdit", {"file_path": "a", "edits": [{"file_path": f"src/{n}"} for n in range(20_000)]}),
    "a-patch": ("apply_patch", {"command": "*** Begin Patch\n" + "*** Update File: x\n@@\n-a\n+b\n" * 20_000}),
    "a-long-path": ("Write", {"file_path": "a/" * 500_000}),
    "a-climbing-path": ("Write", {"file_path": "src/" + "../" * 300_000 + "x"}),
    "an-argv": ("shell", {"command": ["env"] * 20_000}),
    "a-text": ("mcp__fs__write", {"path": "src/a", "content": "x" * 3_000_000}),
}


@pytest.mark.parametrize("family", INPUTS)
def test_no_input_of_a_tool_holds_the_judge_up(where, family):
    name, data = INPUTS[family]

    assert _within_the_limit(lambda: judged(where, name, data, "scope::files-whitelist")) is not None


# --- layout and composition ------------------------------------------------------------------------------------------

word = st.sampled_from(
    ["x", "-n", "'a b'", '"c $HOME"', "src/*.py", "{1,2}", "$y", "${z:-w}", "$(pwd)", "~", "a=b", "\\$q", "..", "--o=1"]
)
program = st.sampled_from(
    ["ls", "git", "rm", "touch", "cp a", "env", "nice", "tee", "mkdir -p", "cd", "tool-a", "mv x"]
)
target = st.sampled_from([">", ">>", "<", "2>", "&>", ">|"]).flatmap(
    lambda op: st.sampled_from(["src/o", "/dev/null", "'q r'"]).map(lambda path: [op, path])
)
simple = st.tuples(program, st.lists(word, max_size=3), st.one_of(st.just([]), target)).map(
    lambda parts: [*parts[0].split(" "), *parts[1], *parts[2]]
)
commands = st.lists(st.tuples(simple, st.sampled_from([";", "&&", "||", "|", "&"])), min_size=1, max_size=3).map(
    lambda pairs: [
        token for number, (words, joint) in enumerate(pairs) for token in ([joint] if number else []) + words
    ]
)
gaps = st.lists(st.sampled_from([" ", "  ", "\t", " \\\n", " \\\n\t ", "   "]), min_size=40, max_size=40)


@cache
def _parser():
    return Parser()


def read(command, where):
    """What a command does. With time to spare: on a busy machine a late answer would be compared with one in time."""
    with patch("keisei.gate.shell.TIME_LIMIT_S", PATIENT_S), patch("keisei.gate.path.TIME_LIMIT_S", PATIENT_S):
        machine = Machine(_parser(), str(where.home))
        return effects(ToolCall(tool="Bash", input={"command": command}), machine, str(where.work), {})


@quick
@given(
    tokens=commands, gaps=gaps, after=st.sampled_from(["", " ", "\n", " # c", "\n# git push\n", "\n\n", ";", " # '"])
)
def test_effects_do_not_hang_on_blanks_and_comments(where, tokens, gaps, after):
    plain = " ".join(tokens)
    spaced = gaps[0] + "".join(token + gap for token, gap in zip(tokens, gaps[1:], strict=False)).rstrip(" \t\\\n")

    assert read(spaced + after, where) == read(plain, where)


@quick
@given(tokens=commands, before=st.sampled_from(["# c\n", "\n\n", "  ", "\t", "# it's\n\n  # \"\n", "\\\n"]))
def test_effects_do_not_hang_on_what_stands_before(where, tokens, before):
    assert read(before + " ".join(tokens), where) == read(" ".join(tokens), where)


def lines(found):
    return {command.argv for command in found.commands}


def places(found):
    return {(target.path, target.cwd) for target in (*found.writes, *found.deletes)}


@quick
@given(left=commands, right=commands, joint=st.sampled_from([";", "\n", "&&", "||"]))
def test_two_commands_do_what_each_of_them_does(where, left, right, joint):
    one, two = " ".join(left), " ".join(right)

    both = read(f"{{ {one}\n}} {joint} {{ {two}\n}}", where)

    assert lines(both) >= lines(read(one, where))
    assert places(both) >= places(read(one, where))
    assert lines(both) >= lines(read(two, where))
    if "cd" not in left:  # what comes after `cd` is touched elsewhere
        assert places(both) >= places(read(two, where))


FRAMES = (
    *("( %s\n)", "{ %s\n}", "if true; then %s\nfi", "if %s\nthen :; fi", "x=$(%s\n)", "{ %s\n} | cat", "! { %s\n}"),
    *("time { %s\n}", "while true; do %s\nbreak; done", "for i in 1; do %s\ndone", "case a in a) %s\n;; esac"),
    *("f() { %s\n}; f", "echo `true; %s\n`", "{ %s\n} &", "cat <(%s\n)", "true && { %s\n}", "cat <<E\n$(%s\n)\nE"),
)


@quick
@given(tokens=commands, frame=st.sampled_from(FRAMES))
def test_a_frame_does_what_is_inside(where, tokens, frame):
    inside = " ".join(tokens)
    text = frame % (inside.replace("\\", "\\\\") if "`" in frame else inside)

    found = read(text, where)

    assert lines(found) >= lines(read(inside, where))
    assert places(found) >= places(read(inside, where))


@quick
@given(tokens=commands, shell=st.sampled_from(["sh -c %s", "bash -c %s", "eval %s", "env bash -c %s", "trap %s EXIT"]))
def test_a_shell_does_what_it_is_given(where, tokens, shell):
    inside = " ".join(tokens)

    found = read(shell % shlex.quote(inside), where)

    assert lines(found) >= lines(read(inside, where))
    assert places(found) >= places(read(inside, where))
