"""What code is said to start is what it starts: snippets are run with stand-ins for programs, and both are compared."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from keisei.rules.shell.code import recipes, started

STAND_IN = '#!/bin/sh\nline=$(printf "%s\\037" "${0##*/}" "$@")\nprintf "%s\\n" "$line" >> "$KEISEI_LOG"\n'
INTERPRETERS = {
    "python": [sys.executable, "-c"],
    "perl": ["perl", "-e"],
    "node": ["node", "-e"],
    "awk": ["awk"],
    "mawk": ["mawk"],
    "sed": ["sed", "-n"],
}
SNIPPETS = [
    ("python", "import os; os.system('git push origin')"),
    ("python", "import os; os.system('git add . && git commit -m \"a b\"')"),
    ("python", "import subprocess; subprocess.run(['git', 'push', 'a b'])"),
    ("python", "import subprocess; subprocess.run('git $((1+1)) | npm x', shell=True)"),
    ("python", "import subprocess as s\nfor w in ('a', 'b'):\n    s.check_call(['npm', 'run', w])"),
    ("python", "import os\ndef go(c, *r):\n    os.system(' '.join([c, *r]))\ngo('git', 'push', '-f')"),
    ("python", "import os\ngetattr(os, 'sys' + 'tem')('git push')"),
    ("python", "__import__('subprocess').getoutput('npm ci')"),
    ("python", "import base64, os; os.system(base64.b64decode('Z2l0IHB1c2g=').decode())"),
    ("python", "exec(\"import os\\nos.system('git push')\")"),
    ("python", "import os; os.execvp('git', ['git', 'push'])"),
    ("python", "import os; os.spawnlp(os.P_WAIT, 'git', 'git', 'push')"),
    ("python", "import subprocess; subprocess.run(['sh'], input='git push', text=True)"),
    ("python", "import os\nprint('npm x')\nx = \"os.system('npm y')\"\n# os.system('npm z')\nos.system('git a')"),
    ("python", "import os\nc = {'a': 'git push', 'b': 'npm x'}\nfor k in sorted(c):\n    os.system(c[k])"),
    ("python", "import subprocess, shlex\nsubprocess.run(shlex.split('git \"a b\" c'))"),
    ("python", "import os\nf'{os.system(\"git push\")}'"),
    ("python", "import os, functools\nfunctools.partial(os.system, 'git push')()"),
    ("python", "import os\nlist(map(os.system, ['git a', 'git b']))"),
    ("python", "import threading, os\nt = threading.Thread(target=os.system, args=('git a',))\nt.start(); t.join()"),
    ("perl", "system('git push origin')"),
    ("perl", "system 'git', 'push', 'a b';"),
    ("perl", "my @c = ('git', 'push'); print `npm run x`;"),
    ("perl", "exec qw(git push -f)"),
    ("perl", "my $g = 'git'; system(\"$g push\"); print 'npm x';"),
    ("perl", "open(my $f, '-|', 'git', 'log'); close $f"),
    ("perl", "open(F, 'git log|'); close F"),
    ("perl", "$_ = 'x'; s/x/system('git push')/e; print qq{npm};"),
    ("perl", "eval \"system('git push')\"; # system('npm')"),
    ("perl", "print q{system('npm x')}; print \"@{[system('git push')]}\""),
    ("perl", "if ('system(npm)' =~ /npm/) { system('git a') }"),
    ("perl", "system(<<A);\ngit push\nA\nprint 1"),
    ("node", "require('child_process').execSync('git push origin')"),
    ("node", "const { execSync: e } = require('child_process'); e('git push'); console.log(`npm ${1 + 1}`)"),
    ("node", "const cp = require('child_process'); cp.spawnSync('git', ['push', 'a b'])"),
    ("node", "require('child_' + 'process')['exec' + 'Sync']('git push')"),
    ("node", "console.log(`${require('child_process').execSync('git push')}`)"),
    ("node", "const m = /npm x/.exec('npm x'); require('node:child_process').execFileSync('git', ['a' + 1])"),
    ("node", "eval(\"require('child_process').execSync('git push')\") // execSync('npm')"),
    ("node", "require('child_process').spawnSync('git push | npm x', {shell: true})"),
    ("node", "const c = 'git ' + 'push'; require('child_process').execSync(c)"),
    ("awk", 'BEGIN { system("git push") }'),
    ("awk", 'BEGIN { system("git" " push"); print "npm x" }'),
    ("awk", 'BEGIN { "git log" | getline x }'),
    ("awk", 'BEGIN { print "a" | "git push"; close("git push") }'),
    ("awk", 'BEGIN { c = "git push"; while ((c | getline l) > 0) print l }'),
    ("awk", 'BEGIN { if ("npm" ~ /n[/]*pm/) system("git a") } # system("npm")'),
    ("mawk", 'BEGIN { printf "%s", "x" | "git -c a"; }'),
    ("sed", "1e git push"),
    ("sed", "s/e npm/x/;/[/z]/d;$e git a b"),
    ("sed", "1{e git push\n}\n$!d"),
]
MAKEFILES = [
    ("all: b\n\tgit a\nb:\n\t@npm run x\n", ()),
    ("a:\n\tgit a\nb:\n\tnpm b\n", ("b",)),
    ("G := git\nC = $(G) push\na:\n\t${C} -f\n", ()),
    ("X := $(shell git log)\na:\n\tnpm '$$HOME' $(X)\n", ()),
    ("%.o: %.c\n\tgit $< $@\nx.c:\n\tnpm $@\n", ("x.o",)),
    ("a:\n\tgit a && \\\n\t  npm b\n", ()),
    ("define C\ngit a\nnpm b\nendef\na:\n\t$(C)\n", ()),
    (".RECIPEPREFIX = >\na:\n>git push\n", ()),
    ("G ?= git\nG += push\n.PHONY: a\na: ; $(G)\n", ()),
    ("N = x.c y.c\na:\n\tgit $(N:.c=.o) $(addprefix p/,$(N))\n", ()),
]


@pytest.fixture
def stage(tmp_path):
    """A folder to run in, with stand-ins that log how they are called."""
    programs, room, log = tmp_path / "bin", tmp_path / "room", tmp_path / "log"
    programs.mkdir()
    room.mkdir()
    for name in ("git", "npm"):
        (programs / name).write_text(STAND_IN)
        (programs / name).chmod(0o755)
    environment = {"PATH": f"{programs}:/usr/bin:/bin", "KEISEI_LOG": str(log), "HOME": str(room)}

    def run(*commands):
        log.unlink(missing_ok=True)
        for words in commands:
            subprocess.run(
                words,
                cwd=room,
                env=environment,
                input="text\n",
                text=True,
                capture_output=True,
                timeout=60,
                check=False,
            )
        return sorted(log.read_text().splitlines()) if log.exists() else []

    run.room = room
    return run


def told(code):
    """The command lines that carry out what code is said to start."""
    return [*(list(argv) for argv in code.argvs), *(["sh", "-c", text] for text in code.scripts)]


@pytest.mark.parametrize(("language", "text"), SNIPPETS, ids=[f"{name}-{n}" for n, (name, _) in enumerate(SNIPPETS)])
def test_code_starts_what_it_is_said_to_start(stage, language, text):
    words = INTERPRETERS[language]
    if not shutil.which(words[0]):
        pytest.skip(f"{words[0]} is not here")

    code = started(language, text)

    assert code.opaque is None
    assert stage(*told(code)) == stage([*words, text]) != []


@pytest.mark.parametrize(("makefile", "targets"), MAKEFILES, ids=range(len(MAKEFILES)))
def test_make_starts_what_a_makefile_is_said_to_start(stage, makefile, targets):
    if not shutil.which("make"):
        pytest.skip("make is not here")
    Path(stage.room, "Makefile").write_text(makefile)

    code = recipes(makefile, targets)

    assert [line.replace("\0", "") for line in stage(*told(_filled(code)))] == stage(["make", *targets]) != []


def _filled(code):
    """Unknown text is empty here: the stand-ins print nothing."""
    return code._replace(scripts=tuple(text.replace("\0", "") for text in code.scripts))
