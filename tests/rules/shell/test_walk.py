"""The walk: folders, functions, input, files the call writes and runs, links, search paths, redirections."""

import posixpath
from functools import cache

import pytest

from keisei.gate.machine import Machine
from keisei.gate.shell import Parser
from keisei.records.effect import UNKNOWN
from keisei.rules.effect import shell_effects
from keisei.rules.shell.ground import TooMuch, Trace
from keisei.rules.shell.walk import Walk


@cache
def parser():
    return Parser()


@pytest.fixture
def tree(tmp_path):
    for folder in ("home", "work/src/shop", "work/docs"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "work" / "run.sh").write_text("#!/bin/sh\ngit on-disk\n")
    (tmp_path / "work" / "py").write_text("#!/usr/bin/env python3\nimport os\nos.system('git from-python')\n")
    (tmp_path / "work" / "link").symlink_to("/usr/bin/git")
    return tmp_path


def read(text, tree):
    work = str(tree / "work")
    walk = Walk(Machine(parser(), str(tree / "home")), work)
    walk.shell(text.replace("{home}", str(tree / "home")), Trace())
    return walk.found.effects()


def told(targets, tree):
    """Paths relative to the worktree, as the text would reach them; `?` where one is unknown."""
    root = str(tree / "work")
    found = set()
    for target in targets:
        if UNKNOWN in target.path or UNKNOWN in target.cwd:
            found.add("?")
        else:
            path = target.path if target.path.startswith("/") else f"{target.cwd}/{target.path}"
            found.add(path.removeprefix(f"{root}/"))
    return found


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("echo > n", {"n"}),
        ("cd src; echo > n", {"src/n"}),
        ("cd src && echo > n", {"src/n"}),
        ("cd src/shop; cd ..; echo > n", {"src/n"}),
        ("cd src; cd -; echo > n", {"n"}),
        ("(cd src); echo > n", {"n"}),
        ("(cd src; echo > n)", {"src/n"}),
        ("{ cd src; }; echo > n", {"src/n"}),
        ("cd src | true; echo > n", {"n"}),
        ("cd src & echo > n", {"n"}),
        ("x=$(cd src; echo > n); echo > m", {"src/n", "m"}),
        ("bash -c 'cd src'; echo > n", {"n"}),
        ("f() { cd src; }; f; echo > n", {"src/n"}),
        ("f() ( cd src ); f; echo > n", {"n"}),
        ("f() { echo > n; }; cd src; f", {"src/n"}),
        ("cd nope; echo > n", {"n", "nope/n"}),
        ("cd nope && echo > n", {"nope/n"}),
        ("cd nope || cd src; echo > n", {"nope/n", "src/n", "nope/src/n", "n"}),
        ("if x; then cd src; fi; echo > n", {"n", "src/n"}),
        ("while x; do cd src; done; echo > n", {"n", "src/n"}),
        ("mkdir new; cd new; echo > n", {"new", "new/n"}),
        ("mkdir -p new/a && cd new/a && echo > ../n", {"new/a", "new/a/../n"}),
        ("env -C src touch n", {"src/n"}),
        ("pushd src; echo > n", {"src/n"}),
        ("cd $nowhere; echo > n", {"?", "n"}),
        ("popd; echo > n", {"?", "n"}),
        ("CDPATH=src; cd shop; echo > n", {"?", "n"}),
        ("eval 'cd src'; echo > n", {"src/n"}),
        ("echo cd src > docs/e; . docs/e; echo > n", {"docs/e", "src/n"}),
        ("source /dev/stdin <<< 'cd src'; echo > n", {"src/n"}),
        ("d=src; cd $d; echo > n", {"src/n"}),
        ("cd s*; echo > n", {"src/n"}),
    ],
)
def test_folders_are_followed(text, wanted, tree):
    found = told(read(text, tree).writes, tree)

    assert wanted <= found
    assert found - wanted <= {"?", "src/src/n"}, "too much is told"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        *(
            (f"echo x {op} n", {"n"})
            for op in (">", ">>", ">|", "&>", "&>>", "1>", "2>", "2>>", "5>", "<>", "1<>", ">&")
        ),
        ("> n", {"n"}),
        (">n echo x", {"n"}),
        ("echo x > a 2> b", {"a", "b"}),
        ("{ echo x; } > n", {"n"}),
        ("(echo x) > n", {"n"}),
        ("for i in a; do echo; done > n", {"n"}),
        ("while x; do echo; done > n", {"n"}),
        ("if x; then echo; fi > n", {"n"}),
        ("case a in a) ;; esac > n", {"n"}),
        ("[[ a ]] > n", {"n"}),
        ("((1)) > n", {"n"}),
        ("f() { :; } > n; f", {"n"}),
        ("exec 5> n", {"n"}),
        ("exec {fd}> n", {"n"}),
        ("coproc { :; } > n", {"n"}),
        ("time ls > n", {"n"}),
        ("! ls > n", {"n"}),
        ("ls > >(cat > n)", {"n"}),
        ('ls > "$nope"', {"?"}),
        ("x=n; ls > $x", {"n"}),
        ("for x in a b; do ls > $x; done", {"a", "b"}),
        ("ls > {home}/n", None),
    ],
)
def test_every_form_of_redirection_is_a_write(text, wanted, tree):
    found = told(read(text, tree).writes, tree)

    assert found == (wanted or {str(tree / "home" / "n")})


@pytest.mark.parametrize(
    "text",
    [
        *(
            "ls 2>&1",
            "ls >&2",
            "ls > /dev/null",
            "ls 2> /dev/null",
            "ls &> /dev/null",
            "ls > /dev/stderr",
            "ls 3>&1 1>&2",
        ),
        *("ls >&-", "ls 2>&-", "cat < README.md", "cat <<< x", "cat << E\n> n\nE", "ls > /dev/tty", "ls 2>&1 >&2-"),
        *(
            "echo '> n'",
            'echo "> n"',
            "echo \\> n",
            "echo x # > n",
            "[[ a > b ]]",
            "((a > b))",
            "let 'a>b'",
            "[ a \\> b ]",
        ),
    ],
)
def test_what_goes_to_no_file_is_no_write(text, tree):
    assert told(read(text, tree).writes, tree) == set()


GIT = (
    # functions
    "f() { git x; }; f",
    'f() { "$@"; }; f git x',
    'f() { shift; "$@"; }; f a git x',
    'f() { "${@:2}"; }; f a git x',
    "f() { g; }; g() { git x; }; f",
    "f() { $1 x; }; f git",
    "function f { git x; }; f",
    "f() { unset -f f; git x; }; f",
    "eval 'f() { git x; }'; f",
    # standard input
    "echo git x | sh",
    "sh <<< 'git x'",
    "sh <<E\ngit x\nE",
    "cat <<'E' | sh\ngit x\nE",
    "{ echo git x; } | sh",
    "(echo git x) | (sh)",
    "echo git x | { sh; }",
    "printf 'git %s' x | bash -s",
    "exec <<< 'git x'; sh",
    "echo x | xargs git",
    "sh -c 'sh' <<< 'git x'",
    "f() { sh; }; f <<< 'git x'",
    # files this call writes
    "echo git x > e; sh e",
    "cat > e <<'E'\ngit x\nE\nbash e",
    "cat > e <<'E'\ngit x\nE\n. ./e",
    "echo git x > e; sh < e",
    "echo git x > e; cp e f; sh f",
    "echo git x > e; mv e f; ./f",
    "echo git x > e; ln -s e f; sh f",
    "tee e <<< 'git x'; sh e",
    "echo git x | tee e; sh e",
    "printf '#!/bin/sh\\ngit x\\n' > e; chmod +x e; ./e",
    "printf '#!/usr/bin/git x\\n' > e; chmod +x e; ./e",
    "printf '#!/usr/bin/env git\\n' > e; chmod +x e; ./e",
    "cd src; echo git x > e; cd ..; sh src/e",
    "(cd src; echo git x > e); sh src/e",
    "echo 'import os; os.system(\"git x\")' > e.py; python3 e.py",
    # links and copies of programs
    "ln -s /usr/bin/git e; ./e x",
    "cp /usr/bin/git e; ./e x",
    "cp $(which git) e; ./e x",
    "./link x",
    # the search path
    "PATH=.:$PATH; link x",
    "PATH=$PWD:$PATH link x",
    "echo git x > ls; chmod +x ls; PATH=.:$PATH; ls",
    "mkdir bin; ln -s /usr/bin/git bin/ls; PATH=bin:$PATH; ls x",
    "export PATH=$PWD; run.sh",
    # startup files
    "echo git x > ~/.bashrc; bash -i",
    "echo git x > ~/.profile; bash -l -c :",
    "echo git x > e; BASH_ENV=e bash -c :",
    "echo git x > e; bash --rcfile e -i",
    "echo git x > e; ENV=./e sh -i",
    # files on the disk
    "./run.sh",
    "sh run.sh",
    ". ./run.sh",
    "cd src; ../run.sh",
    "bash < run.sh",
    "cat run.sh | sh",
    "./py",
    # substitutions everywhere
    "echo $(git x)",
    "echo `git x`",
    'echo "$(git x)"',
    "a=$(git x)",
    "a=(1 $(git x))",
    "a[$(git x)]=1",
    "echo ${a:-$(git x)}",
    "echo ${a/$(git x)/}",
    "echo ${a:$(git x)}",
    "echo $(( $(git x) ))",
    "(( $(git x) ))",
    "[[ $(git x) ]]",
    "cat <(git x)",
    "ls > >(git x)",
    "ls > $(git x)",
    "cat <<< $(git x)",
    "cat <<E\n$(git x)\nE",
    "case $(git x) in a) ;; esac",
    "case a in $(git x)) ;; esac",
    "for i in $(git x); do :; done",
    "for ((i=$(git x);;)); do :; done",
    "declare a=$(git x)",
    "x='a[$(git x)]'; : $((x))",
    "x='a[$(git x)]'; for ((x;0;)); do :; done",
    "x='a[$(git x)]'; declare \"$x=1\"",
    "echo \"${a:-'$(git x)'}\"",
    "time -p -- git x",
    "$(echo -e '\\0147it') x",
    "$(echo -e 'git\\cX') x",
    "printf '%b' '\\0147it x' | sh",
    "a=(sh); a+=(-c 'git x'); \"${a[@]}\"",
    "bash -c '\"${@:2}\"' _ a git x",
    "echo git x > e; find . -name e -exec sh {} \\;",
    "env BASH_FUNC_e%%='() { git x; }' bash -c e",
    "declare -i z; x='a[$(git x)]'; z=x",
    "declare 'a[$(git x)]=1'",
    "declare -n r='a[$(git x)]'; echo $r",
    'awk \'BEGIN{print "git x" | "sh"}\'',
    "mkdir e; echo 'import os; os.system(\"git x\")' > e/__main__.py; python3 e",
    "BASH_ALIASES[g]=git; shopt -s expand_aliases; eval 'g x'",
)


@pytest.mark.parametrize("text", GIT)
def test_a_program_that_would_run_is_named_or_told_unreadable(text, tree):
    found = read(text, tree)

    assert found.unresolved or any(
        command.argv[0].rsplit("/", 1)[-1] == "git" for command in found.commands if command.argv
    )


@pytest.mark.parametrize(
    "text",
    [
        "cat <<'E'\ngit x\n$(git y)\nE",
        "cat > e <<'E'\ngit x\nE",
        "echo 'git x'",
        "echo '$(git x)'",
        "echo git x | cat",
        "x='git y'; echo \"$x\"",
        "f() { echo git; }; f",
        "ls # git x",
        "grep git README.md",
        "[[ git == g* ]]",
        "case git in git) ;; esac",
        "for i in git; do echo $i; done",
        "command -v git",
        "printf '%s\\n' git",
        "a=(git x); echo ${a[@]}",
        "cat <<< 'git x'",
        "echo git x > notes.txt; cat notes.txt",
        "find . -name git",
        "cd src; ls",
    ],
)
def test_what_is_only_text_is_not_run(text, tree):
    found = read(text, tree)

    assert not found.unresolved
    assert not any(command.argv[0].rsplit("/", 1)[-1] == "git" for command in found.commands)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("ln -s ../docs src/l; echo > src/l/n", "docs/n"),
        ("ln -s ../docs/n src/l; echo > src/l", "docs/n"),
        ("cd src; ln -s ../docs l; touch l/n", "docs/n"),
        ("ln -s docs l; cp README.md l/", "docs"),
        ("ln docs/a.md src/l; echo > src/l", "docs/a.md"),
        ("ln -s docs l; ln -s l m; echo > m/n", "docs/n"),
    ],
)
def test_a_link_made_by_the_call_is_followed(text, wanted, tree):

    found = {posixpath.normpath(path) for path in told(read(text, tree).writes, tree)}

    assert wanted in found


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('a=(touch); a+=(n); "${a[@]}"', "n"),
        ('a[0]=touch; a[1]=n; "${a[@]}"', "n"),
        ('a=(); a+=(touch -- n); "${a[@]}"', "n"),
        ('echo x > "$(dirname src/shop/)/n"', "src/n"),
        ("echo x > $(basename a/n)", "n"),
        ("touch {a,b}/n", "a/n"),
        ("HISTFILE=n; history -w", "n"),
        ("cd src; builtin cd ..; touch n", "n"),
        ("cd src; command cd ..; touch n", "n"),
        ("history -w n", "n"),
        ("TMPDIR=docs mktemp", "docs"),
    ],
)
def test_a_write_that_takes_several_steps_is_told_or_unknown(text, wanted, tree):
    found = read(text, tree)
    paths = told(found.writes, tree)

    assert wanted in paths or "?" in paths or found.unresolved, paths


def test_what_nests_without_end_is_refused_as_a_whole(tree):
    with pytest.raises(TooMuch):
        shell_effects("if a; then " * 130 + "ls;" + "fi;" * 130, Machine(parser(), str(tree)), str(tree))
