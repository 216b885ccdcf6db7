"""What really happens in a jail must be among what the effects said beforehand. Programs are grown from a grammar."""

import os
import posixpath
import shlex
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keisei.gate.machine import Machine
from keisei.gate.shell import Parser
from keisei.records.effect import UNKNOWN, Effects, ToolCall
from keisei.rules.effect import effects
from tests.gate import jail

TOOLS = ("tool-a", "tool-b", "tool-c", "tool-d", "tool-e", "tool-f")
EXAMPLES = 80
UNREAD = 0.35
"""How many of the programs may be answered with `cannot be told`: an answer that is always safe and never useful."""


@cache
def _parser() -> Parser:
    return Parser()


def _machine(where: jail.Place) -> Machine:
    return Machine(_parser(), str(where.home))


def effects_of(command: str, where: jail.Place) -> Effects:
    """The product's reading of a shell call; the one place that knows where it lives."""
    call = ToolCall(tool="Bash", input={"command": command}, cwd=str(where.work))
    return effects(call, _machine(where), str(where.work), {})


# Words: one program, many spellings.
plain = st.sampled_from(TOOLS)
argument = st.sampled_from(["x", "'a b'", '"$HOME"', "src/*.py", "{1,2}", "\\$y", "~", "''", "--opt=1", "#z", "a#b"])


def spelled(name: str) -> st.SearchStrategy[str]:
    """The name as the shell could read it from other text."""
    half = len(name) // 2
    return st.sampled_from(
        [
            name,
            f"'{name}'",
            f'"{name}"',
            f"{name[:half]}''{name[half:]}",
            f"\\{name}",
            f"$'\\x{ord(name[0]):02x}{name[1:]}'",
            f"{name[:half]}\\\n{name[half:]}",
            f"${{nothing:-{name}}}",
            f"{name[:half]}$nothing{name[half:]}",
            f"{name[:half]}{{{name[half:]},}}",
        ]
    )


@st.composite
def simple(draw: st.DrawFn) -> str:
    """One simple command, perhaps with assignments and redirections around it."""
    name = draw(plain.flatmap(spelled))
    words = draw(st.lists(argument, max_size=2))
    before = draw(st.sampled_from(["", "A=1 ", ">/dev/null ", "A=1 B=$(true) ", "<<<x "]))
    after = draw(st.sampled_from(["", " >/dev/null", " 2>&1", " </dev/null"]))
    return before + " ".join([name, *words]) + after


@st.composite
def launched(draw: st.DrawFn) -> str:
    """One simple command started by another program."""
    name = draw(plain)
    return draw(
        st.sampled_from(
            [
                f"env A=1 {name} x",
                f"env -u A -- {name}",
                f"env -S '{name} x'",
                f'env -i PATH="$PATH" {name}',
                f"env -C src {name}",
                f"timeout -k 1 3 {name}",
                f"timeout --signal=KILL 3 {name} -k",
                f"timeout --foreground -s INT 3 env {name}",
                f"nice {name}",
                f"nice -n 1 {name}",
                f"nice -5 {name} -n",
                f"nohup {name}",
                f"nohup -- {name}",
                f"stdbuf -oL {name}",
                f"stdbuf --output=0 -e L {name}",
                f"setsid -w {name}",
                f"setsid --fork --wait {name} -c",
                f"command {name}",
                f"command -p -- {name} x || command {name}",
                f"(exec {name})",
                f"(exec -a other {name})",
                f"(exec -cl {name}) || {name}",
                f"echo x | xargs {name}",
                f"echo x | xargs -n 1 {name}",
                f"echo x | xargs -n1 -P 2 -r {name} -n",
                f"echo x | xargs -I@ {name} @",
                f"echo x | xargs -I {{}} sh -c '{name} {{}}'",
                f"printf 'x\\0' | xargs -0 --max-args=1 {name}",
                f"echo {name} x | xargs env",
                f"find README.md -exec {name} {{}} \\;",
                f"find README.md -exec {name} {{}} +",
                f"find . -maxdepth 1 -name 'READ*' -execdir {name} {{}} ';'",
                f"find README.md -type f -exec sh -c '{name} \"$1\"' _ {{}} \\; -print",
                f"nohup nice -n 1 env A=1 timeout 3 {name}",
                f"flock src/a.py {name}",
                f"flock -n src/a.py -c '{name} x'",
                f"builtin command {name}",
                f"p={name}; $p x",
                f'a=({name} x); "${{a[@]}}"',
                f'set -- {name} x; "$@"',
                f'run() {{ "$@"; }}; run {name}',
                f"printf -v p %s {name}; $p",
                f"read -r p <<< {name}; $p",
                f"x=xx{name}; ${{x#xx}}",
                f"for p in {name}; do $p; done",
                f"$(echo {name}) x",
                f"echo {name} | sh",
                f"sh <<< {name}",
                f"printf '#!/bin/sh\\n{name}\\n' > made.sh; sh made.sh",
                f"printf '#!/bin/sh\\n{name}\\n' > made.sh; chmod +x made.sh; ./made.sh",
                f"cat > made.sh <<'MADE'\n{name}\nMADE\n. ./made.sh",
                f"sh <<RUN\n{name} $HOME\nRUN",
                f"cat <<'RUN' | sh -s x\n{name} $1\nRUN",
                f"bash -s x <<< '{name}'",
                f"bash <(echo {name})",
                f'f() {{ "$1" "$2"; }}; f {name} x',
                f'f() {{ shift; "$@"; }}; f x {name}',
                f'f() {{ local c=$1; shift; $c "$@"; }}; f {name} x',
                f'f() {{ g "$@"; }}; g() {{ "$@"; }}; f {name} x',
                f'f() {{ "${{@:2}}"; }}; f x {name}',
                f"a=(x {name}); ${{a[1]}}",
                f"a=(x {name} y); ${{a[@]:1:1}}",
                f'a=(); a+=({name}); a+=(x); "${{a[@]}}"',
                f'declare -A m=([k]={name}); "${{m[k]}}"',
                f"a[3]={name}; ${{a[@]}}",
                f"x={name}; y=x; ${{!y}}",
                f"x={name}xx; ${{x%xx}}",
                f"x={name.upper()}; ${{x,,}}",
                f"x={name.replace('-', '_')}; ${{x/_/-}}",
                f"x=x{name}; ${{x:1}}",
                f"IFS=,; x={name},x; $x",
                f"x='{name} x'; $x",
                f"x='{name} x'; eval \"$x\"",
                f"{{{name},x}}",
                f"case {name} in tool-*) {name};; *) : ;; esac",
                f"case x in y) : ;; x) {name} ;& z) : ;; esac",
                f"if false; then :; elif true; then {name}; fi",
                f"i=0; while [ $i -lt 1 ]; do {name}; i=$((i+1)); done",
                f"while read -r l; do {name}; done <<< x",
                f"until {name}; do break; done",
                f"select p in x; do {name}; break; done <<< 1",
                f"trap {name} EXIT",
                f"env -S \"bash -c '{name} x'\"",
            ]
        )
    )


def _compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    one = inner
    two = st.tuples(inner, inner)
    return st.one_of(
        two.map(lambda p: f"{p[0]}\n{p[1]}"),
        two.map(lambda p: f"{{ {p[0]}\n}} && {{ {p[1]}\n}}"),
        two.map(lambda p: f"{{ {p[0]}\n}} || {{ {p[1]}\n}}"),
        two.map(lambda p: f"{{ {p[0]}\n}} | {{ cat >/dev/null; {p[1]}\n}}"),
        one.map(lambda c: f"( {c}\n)"),
        one.map(lambda c: f"! {{ {c}\n}}"),
        one.map(lambda c: f"{{ {c}\n}} &\nwait"),
        two.map(lambda p: f"if {p[0]}\nthen {p[1]}\nelse :; fi"),
        two.map(lambda p: f"while {p[0]}\ndo {p[1]}\nbreak; done"),
        two.map(lambda p: f"until ! {{ {p[0]}\n}}; do {p[1]}\nbreak; done"),
        one.map(lambda c: f"for i in 1; do {c}\ndone"),
        one.map(lambda c: f"for ((i=0; i<1; i++)); do {c}\ndone"),
        one.map(lambda c: f"case a in (a) {c}\n;; esac"),
        one.map(lambda c: f"f() {{ {c}\n}}; f"),
        one.map(lambda c: f"function g {{ {c}\n}}\ng"),
        one.map(lambda c: f"h() ( {c}\n); h"),
        one.map(lambda c: f'echo "$({c}\n)"'),
        one.map(lambda c: f"x=$({c}\n)"),
        one.map(lambda c: f"a=(1 $({c}\n))"),
        one.map(lambda c: f"echo ${{unset_name:-$({c}\n)}}"),
        one.map(lambda c: f"cat <({c}\n) >/dev/null; sleep 0.05"),
        one.map(lambda c: f"[[ -n $({c}\n) ]]"),
        one.map(lambda c: f"bash -c {shlex.quote(c)}"),
        one.map(lambda c: f"sh -c {shlex.quote('bash -ec ' + shlex.quote(c))}"),
        one.map(lambda c: f"eval {shlex.quote(c)}"),
        one.map(lambda c: f"(trap {shlex.quote(c)} EXIT)"),
        one.map(lambda c: f"cat <<END_{len(c)}\n$({c}\n)\nEND_{len(c)}"),
        one.map(lambda c: f"bash <<'STOP_{len(c)}'\n{c}\nSTOP_{len(c)}"),
        one.map(lambda c: f"coproc {{ {c}\n}}\nwait"),
        one.map(lambda c: f":; time {{ {c}\n}}"),
        one.map(lambda c: f"env bash -c {shlex.quote(c)}"),
    )


programs = st.recursive(st.one_of(simple(), launched()), _compound, max_leaves=5)

mentions = st.one_of(
    plain.map(lambda n: f"echo {n} x"),
    plain.map(lambda n: f"echo '$({n})'"),
    plain.map(lambda n: f'echo "; {n} &"'),
    plain.map(lambda n: f"echo x # {n}"),
    plain.map(lambda n: f"cat <<'EOF'\n$({n})\nEOF"),
    plain.map(lambda n: f"grep -c {n} README.md"),
    plain.map(lambda n: f'x={n}; echo "$x"'),
    plain.map(lambda n: f"for i in {n}; do echo $i; done"),
    plain.map(lambda n: f"[[ {n} == tool* ]]"),
    plain.map(lambda n: f"command -v {n}"),
    plain.map(lambda n: f"bash -c 'echo \"$1\"' _ {n}"),
    plain.map(lambda n: f"printf '%s' {n} | wc -c"),
    plain.map(lambda n: f"case {n} in {n}) echo y;; esac"),
    plain.map(lambda n: f"awk 'BEGIN {{ print \"{n}\" }}'"),
    plain.map(lambda n: f"sed -n '/{n}/p' README.md"),
)


# Files: many programs that write, and many spellings of where.
FOLDERS = ("src", "docs", "new", ".", "../outside", "src/../docs")
NAMES = ("n1", "a.py", "a.md", "o.txt", "n 2", "sub/n3")
inside = st.tuples(st.sampled_from(FOLDERS), st.sampled_from(NAMES)).map(lambda pair: f"{pair[0]}/{pair[1]}")


def spelled_path(path: str) -> st.SearchStrategy[str]:
    """A path as one word of shell text, with what has to stand before it."""
    folder, _, name = path.rpartition("/")
    return st.sampled_from(
        [
            shlex.quote(path),
            f'"{path}"',
            path.replace(" ", "\\ "),
            f"{shlex.quote(folder)}/{shlex.quote(name)}",
            f"$'{path}'",
            f'"$PWD/{path}"',
            f'"${{nothing:-{path}}}"',
            f"{shlex.quote(folder)}/./{shlex.quote(name)}",
            f'"$(echo "{path}")"',
        ]
    )


@st.composite
def written(draw: st.DrawFn) -> str:
    """One command that writes, moves or deletes."""
    path = draw(inside)
    word, other = draw(spelled_path(path)), draw(inside.flatmap(spelled_path))
    folder, name = shlex.quote(posixpath.dirname(path)), shlex.quote(posixpath.basename(path))
    return draw(
        st.sampled_from(
            [
                f"echo x > {word}",
                f"echo x >> {word}",
                f": >| {word}",
                f"> {word}",
                f"ls nope 2> {word}",
                f"ls nope &> {word}",
                f"ls nope &>> {word}",
                f"echo x >& {word}",
                f"cat <> {word}",
                f"{{ echo x; echo y; }} > {word}",
                f"(echo x) > {word} 2>&1",
                f"cat > {word} <<'TEXT'\n$(rm -rf src)\nTEXT",
                f"exec 5> {word}; echo x >&5; exec 5>&-",
                f"while read -r l; do echo $l; done < README.md > {word}",
                f"echo x | tee {word}",
                f"tee -a {word} {other} <<< x",
                f"cp README.md {word}",
                f"cp README.md src/b.py {word}",
                f"cp -r docs {word}",
                f"cp -t {folder} README.md src/b.py",
                f"mv src/b.py {word}",
                f"mv -f {word} {other}",
                f"mv docs {word}",
                f"rm {word}",
                f"rm -f {word} {other}",
                f"rm -rf {folder}/guide docs/guide",
                f"rmdir {folder} || rm -r -- {folder}/shop",
                f"touch {word}",
                f"touch -- {word} {other}",
                f"mkdir -p {word}",
                f"mkdir {folder} && touch {word}",
                f"ln -s ../README.md {word}",
                f"ln -sf a.py {word} && echo x > {word}",
                f"ln README.md {word}",
                f"sed -i s/a/b/ {word}",
                f"sed -i.bak -e s/a/b/ {word}",
                f"sed -n 's/#/x/w {path}' README.md",
                f"install -m 644 README.md {word}",
                f"install -D README.md {word}",
                f"dd if=README.md of={word}",
                f"truncate -s 0 {word}",
                f"chmod 600 {word}",
                f"sort -o {word} README.md",
                f"(cd {folder} && echo x > {name})",
                f"(cd {folder}; echo x > {name})",
                f"(mkdir -p {folder}; cd {folder} && touch {name})",
                f"pushd {folder} && touch {name}; popd",
                f"cd {folder} && touch {name} && cd ..",
                f"cd {folder} 2>/dev/null || cd docs; touch {name}; cd -",
                f"env -C {folder} touch {name}",
                f"find {folder} -maxdepth 1 -name {name} -delete",
                f"find {folder} -maxdepth 1 -name '*.md' -exec rm {{}} +",
                f"printf '%s\\0' {word} | xargs -0 rm -f",
                f"echo README.md | xargs -I@ cp @ {word}",
                f'for f in {word} {other}; do echo x > "$f"; done',
                f'for f in docs/*.md; do cp "$f" {folder}; done',
                f"rm {folder}/*.md",
                f'w() {{ echo x > "$1"; }}; w {word}',
                f'w() {{ cp "$1" "$2"; }}; w README.md {word}',
                f'f={word}; echo x > "$f"',
                f'f=({word} {other}); touch "${{f[@]}}"',
                f"touch {folder}/{{k1,k2}}",
                "cp README.md{,.bak}",
                f"bash -c {shlex.quote(f'echo x > {word}')}",
                f"bash -c 'echo x > \"$1\"' _ {word}",
                f"sh <<< {shlex.quote(f'touch {word}')}",
                f"(trap {shlex.quote(f'echo x > {word}')} EXIT)",
                f"x=$(echo x > {word})",
                "ln -s ../outside made; echo x > made/n1",
                "ln -s $PWD/docs made; rm made/*",
            ]
        )
    )


def _framed(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    two = st.tuples(inner, inner)
    return st.one_of(
        two.map("\n".join),
        two.map(lambda pair: f"{{ {pair[0]}\n}} && {{ {pair[1]}\n}}"),
        two.map(lambda pair: f"{{ {pair[0]}\n}} || {{ {pair[1]}\n}}"),
        two.map(lambda pair: f"if {pair[0]}\nthen {pair[1]}\nfi"),
        inner.map(lambda text: f"( {text}\n)"),
        inner.map(lambda text: f"for i in 1 2; do {text}\ndone"),
        inner.map(lambda text: f"f() {{ {text}\n}}; f"),
        inner.map(lambda text: f"cd src\n{text}"),
        inner.map(lambda text: f"cd src && {{ {text}\n}}"),
        inner.map(lambda text: f"(cd docs; true); {text}"),
        inner.map(lambda text: f"bash -c {shlex.quote(text)}"),
    )


files = st.recursive(written(), _framed, max_leaves=3)


@pytest.fixture(scope="module")
def where():
    if not jail.available():
        pytest.fail(jail.MISSING)
    with jail.place() as made:
        yield made


def fresh(where: jail.Place) -> None:
    (where.root / "record").write_bytes(b"")
    (where.work / "made.sh").unlink(missing_ok=True)


def named(said: Effects) -> set[str]:
    """The programs the effects speak of, without their folders."""
    return {command.argv[0].rpartition("/")[2] for command in said.commands if command.argv}


def gave_up(said: Effects) -> bool:
    """Whether the effects say that something cannot be read; a restrictive gate then refuses."""
    return (
        said.unknown is not None
        or bool(said.unresolved)
        or any(command.argv and UNKNOWN in command.argv[0] for command in said.commands)
    )


class Said:
    """The places the effects speak of, looked up before anything happens."""

    def __init__(self, said: Effects, where: jail.Place) -> None:
        machine = _machine(where)
        self.exact: set[str] = set()
        self.trees: set[str] = set()
        self.anywhere = gave_up(said)
        for target in (*said.writes, *said.deletes):
            for place in machine.places(target):
                paths = {os.path.normpath(place.lexical), place.real, place.entry or place.real, *place.below}
                self.anywhere = self.anywhere or any(UNKNOWN in path for path in paths)
                self.exact |= paths
                if target.tree or target in said.deletes:
                    self.trees |= paths
                if target.folder:
                    self.exact |= {parent for path in paths for parent in _parents(path)}

    def covers(self, path: str) -> bool:
        """Whether a path that was touched was spoken of."""
        return self.anywhere or path in self.exact or any(parent in self.trees for parent in _parents(path))


def _parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:size]) for size in range(2, len(parts))]


careful = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@careful
@given(command=programs)
def test_every_program_that_really_ran_was_named_beforehand(where, command):
    fresh(where)
    said = effects_of(command, where)

    happened = jail.run(where, command)

    ran = {line[0] for line in happened.commands if line[0] in TOOLS}
    assert "syntax error" not in happened.output, happened.output
    assert gave_up(said) or ran <= named(said), f"{command!r} ran {ran - named(said)} unannounced"


@settings(parent=careful, max_examples=100)
@given(command=launched())
def test_every_program_that_another_one_started_was_named_beforehand(where, command):
    fresh(where)
    said = effects_of(command, where)

    ran = {line[0] for line in jail.run(where, command).commands if line[0] in TOOLS}

    assert gave_up(said) or ran <= named(said), f"{command!r} ran {ran - named(said)} unannounced"


@settings(parent=careful, max_examples=120)
@given(command=files)
def test_every_file_that_was_really_touched_was_named_beforehand(command):
    with jail.place() as where:
        said = Said(effects_of(command, where), where)

        happened = jail.run(where, command)

        touched = {os.path.normpath(where.path(name)) for name in happened.changed | happened.deleted}
        unnamed = sorted(path for path in touched if not said.covers(path))
        assert "syntax error" not in happened.output, happened.output
        assert not unnamed, f"{command!r} touched {unnamed} unannounced"


@settings(parent=careful, max_examples=60)
@given(command=st.lists(mentions, min_size=1, max_size=3).map("\n".join))
def test_a_program_that_is_only_mentioned_is_not_taken_for_one_that_runs(where, command):
    fresh(where)
    said = effects_of(command, where)

    ran = {line[0] for line in jail.run(where, command).commands if line[0] in TOOLS}

    assert ran == set()
    assert not gave_up(said), f"{command!r}: {said.unknown} {said.unresolved}"
    assert named(said).isdisjoint(TOOLS)


@pytest.mark.parametrize("grown", [programs, files], ids=["programs", "files"])
def test_most_programs_can_be_read(where, grown):
    answers: dict[str, bool] = {}

    @settings(parent=careful, max_examples=150)
    @given(command=grown)
    def ask(command):
        answers[command] = gave_up(effects_of(command, where))

    ask()

    unread = [command for command, gave in answers.items() if gave]
    assert len(unread) <= UNREAD * len(answers), f"{len(unread)} of {len(answers)} cannot be read: {unread[:5]}"
