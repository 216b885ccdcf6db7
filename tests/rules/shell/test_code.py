"""Code of other languages: what it starts is told, what it only mentions is not."""

import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keisei.records.effect import BELOW, UNKNOWN
from keisei.rules.shell.code import Code, npm_script, recipes, started

QUICK = settings(max_examples=40, deadline=None, database=None)
LANGUAGES = [
    "python",
    "perl",
    "ruby",
    "php",
    "lua",
    "r",
    "javascript",
    "awk",
    "sed",
    "vim",
    "ed",
    "sqlite",
    "psql",
    "mysql",
    "gdb",
    "dc",
    "applescript",
    "elisp",
    "tcl",
    "make",
]
PUSH = {"scripts": ("git push",)}
PUSH_WORDS = {"argvs": (("git", "push"),)}


def cases(table):
    """One parameter set a row, its id counted within its language."""
    counts = Counter()
    rows = []
    for language, text, *rest in table:
        counts[language] += 1
        rows.append(pytest.param(language, text, *rest, id=f"{language}-{counts[language]}"))
    return rows


def told(code):
    return {name: value for name, value in code._asdict().items() if value}


HARMLESS = [
    ("python", "print('git push')"),
    ("python", "import json,sys; print(json.load(sys.stdin)['name'])"),
    ("python", "import json\nd = json.load(open('a.json'))\nprint(len(d), sorted(d)[:5])"),
    ("python", "import sys; print(sys.version)"),
    ("python", "import re; print(re.findall(r'\\bgit\\s+push\\b', open('x').read()))"),
    ("python", "import re\np = re.compile('git (push|pull)')\nprint(p.search('x'))"),
    ("python", "from pathlib import Path\nfor p in Path('.').glob('**/*.py'):\n    print(p, p.stat().st_size)"),
    ("python", "import os\nfor r, d, f in os.walk('.'):\n    print(os.path.join(r, f[0]))"),
    ("python", "import os; print(os.environ.get('PATH'), os.getcwd(), os.listdir('.'))"),
    ("python", "import math; print(math.sqrt(2) * 3 ** 20)"),
    ("python", "from collections import Counter\nprint(Counter(open('log').read().split()).most_common(5))"),
    (
        "python",
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('x')\na = p.parse_args(['1'])\nprint(a.x)",
    ),
    ("python", "import csv\nwith open('a.csv') as f:\n    print(sum(1 for _ in csv.reader(f)))"),
    ("python", "import yaml; print(yaml.safe_load(open('x.yml')))"),
    ("python", "import ast; print(ast.literal_eval('[1]'), ast.dump(ast.parse(open('a.py').read()))[:80])"),
    ("python", "import inspect, subprocess; print(inspect.signature(subprocess.run), subprocess.run.__doc__)"),
    ("python", "import os; print([n for n in dir(os) if callable(getattr(os, n))])"),
    ("python", "import pandas as pd\ndf = pd.read_csv('a.csv')\nprint(df.query('a > 1').eval('a + b'))"),
    ("python", "import torch\nmodel.eval()\nprint(model.run(x))"),
    ("python", "runner.run('git push'); session.exec('x'); conn.execute('select 1')"),
    ("python", "import urllib.request as u; print(u.urlopen('http://localhost').status)"),
    ("python", "import tomllib; print(tomllib.load(open('pyproject.toml', 'rb'))['project'])"),
    ("python", "import importlib\nfor m in ['numpy', 'torch']:\n    print(importlib.import_module(m).__version__)"),
    ("python", "import importlib, sys\nm = importlib.import_module(sys.argv[1])\nprint(m.__file__)"),
    ("python", "import antigravity"),
    ("python", "s = 'os.system(\"git push\")'\nprint(s.replace('push', 'pull'))"),
    ("python", "def f(cmd):\n    '''Run git push.'''\n    return cmd.split()\nprint(f('git push'))"),
    ("python", "class A:\n    def run(self, c):\n        return c\nprint(A().run('git push'))"),
    ("python", "import hashlib; print(hashlib.sha256(open('x', 'rb').read()).hexdigest())"),
    ("python", "import datetime; print(f'{datetime.datetime.now():%Y-%m-%d}')"),
    ("python", "import shutil; print(shutil.which('git'), shutil.disk_usage('/').free)"),
    ("python", "from mypackage import thing\nprint(thing.compile('x'), thing.system('y'))"),
    ("python", "while True:\n    line = input()\n    if not line: break\n    print(line.upper())"),
    ("python", "try:\n    import numpy\nexcept ImportError as e:\n    print('missing', e)"),
    ("python", "for i in range(10**6):\n    for j in range(10**6):\n        x = i * j"),
    ("python", "import pickle; print(pickle.load(open('m.pkl', 'rb')).keys())"),
    ("python", "class B: pass\nclass C(B): pass\nprint([c.__name__ for c in B.__subclasses__()])"),
    ("python", "import ctypes; print(ctypes.sizeof(ctypes.c_int))"),
    ("python", "import base64; print(base64.b64decode('Z2l0IHB1c2g='))"),
    ("python", "match x:\n    case {'a': b}:\n        print(b)\n    case _:\n        pass"),
    ("python", f"import json; print(json.load(open('{UNKNOWN}'))['x'])"),
    ("python", f"print(round({UNKNOWN} / {UNKNOWN}, 2))"),
    ("python", "  print('indented')"),
    ("perl", "print if /git/"),
    ("perl", 'print "git push\\n"'),
    ("perl", "s/foo/bar/g; print"),
    ("perl", "s{a/b}{c}g"),
    ("perl", 'print $1 if /system\\("(.*)"\\)/'),
    ("perl", 'my %h; $h{$_}++ for split; END { print "$_ $h{$_}\\n" for sort keys %h }'),
    ("perl", "s/(\\d+)/$1+1/e; print"),
    ("perl", "eval { die 'x' }; print $@ if $@"),
    ("perl", "print -s $ARGV[0]; my %o = (system => 1, exec => 2); print $o{system}"),
    ("perl", "# system('git push')\nprint 1"),
    ("perl", "open(my $f, '<', 'x'); while (<$f>) { print }"),
    ("perl", "use JSON::PP; print decode_json(join '', <STDIN>)->{name}"),
    ("perl", "print q{system('git push')}, qq{exec}, join(',', qw(a system b))"),
    ("perl", "$obj->system('git push')"),
    ("ruby", "puts 'git push'"),
    ("ruby", "require 'json'; puts JSON.parse(STDIN.read)['a']"),
    ("ruby", "puts File.read('x').scan(/system\\(.*\\)/).size"),
    ("ruby", "conn.exec('SELECT 1'); x = 10 / 2 / 1; puts x"),
    ("ruby", "puts Dir['**/*.rb'].map { |f| File.size(f) }.sum"),
    ("ruby", "# `git push`\nputs %q(system 'x')"),
    ("ruby", "File.open('x') { |f| puts f.gets }"),
    ("php", "echo 'git push';"),
    ("php", "echo json_encode(['system' => 1]);"),
    ("php", "$db->exec('DELETE FROM t'); echo strlen(\"exec('x')\");"),
    ("php", "// system('git push')\necho phpversion();"),
    ("lua", "print('os.execute(\"git push\")')"),
    ("lua", "-- os.execute('git push')\nprint(#arg, 'a'..'b')"),
    ("lua", "for l in io.lines('x') do print(l) end"),
    ("r", "cat(mean(c(1, 2, 3)), \"system('x')\\n\")"),
    ("r", "x <- read.csv('a.csv'); summary(x)"),
    ("javascript", "console.log('git push')"),
    ("javascript", "console.log(require('./package.json').version)"),
    ("javascript", "const m = /git push/.exec(s); console.log(m && m[1])"),
    ("javascript", "const re = new RegExp('x', 'g'); let m; while ((m = re.exec(t))) console.log(m.index)"),
    ("javascript", "let d=''; process.stdin.on('data', c => d += c).on('end', () => console.log(JSON.parse(d).a))"),
    ("javascript", "console.log(JSON.parse(require('fs').readFileSync(0, 'utf8')).length / 2)"),
    ("javascript", "// require('child_process').execSync('git push')\nconsole.log(process.version)"),
    ("javascript", "console.log(`${[1, 2].map(x => x * 2).join('/')} execSync('x')`)"),
    ("javascript", "console.log(require(process.cwd() + '/package.json').name)"),
    ("javascript", "const path = require('path'); console.log(path.resolve('.'), os.platform())"),
    ("javascript", "fetch('http://localhost').then(r => r.json()).then(d => console.log(d))"),
    ("javascript", "const o = {exec: 1, spawn: 2}; console.log(o.exec, Object.keys(o))"),
    ("awk", "/git push/{print $1}"),
    ("awk", "{print $1}"),
    ("awk", "NR > 5 && $2 >= 3 { s += $3 / 2 } END { print s, s / NR }"),
    ("awk", 'BEGIN { FS = ":" } { print $1 " | sort > x" }'),
    ("awk", '{ print ($1 > 3 ? "a" : "b") }'),
    ("awk", "!seen[$0]++"),
    ("awk", '{ print > "/dev/stderr" }'),
    ("awk", '# system("git push")\n{ n = split($0, a, /,/); printf "%d %s\\n", n, a[1] }'),
    ("awk", f'$1 == "{UNKNOWN}" {{ print $2 }}'),
    ("sed", "s/git push/git pull/g"),
    ("sed", "1,10p;$!d;/e/d;y/abc/xyz/"),
    ("sed", "s/[/]e/x/;s|a|e|;/[/e]/p"),
    ("sed", "/start/,/end/{s/a/e/g;p}"),
    ("sed", "a\\\ne git push\\\nw file"),
    ("sed", "i exec git push"),
    ("sed", "$!N;s/\\n/ /;P;D"),
    ("sed", f"s/{UNKNOWN}/{UNKNOWN}/g"),
    ("sed", f"{UNKNOWN}p"),
    ("vim", "%s/a/b/g | q!"),
    ("vim", "wq"),
    ("vim", "set nocompatible | syntax on"),
    ("vim", "w! | wqa!"),
    ("ed", "1p\nq\n"),
    ("ed", "a\n!git push\nw out\n.\nw\nq\n"),
    ("ed", ",s/w x/!ls/g\ng/re/p\n/foo/,$d\nr other\nwq\n"),
    ("ed", f"{UNKNOWN}d\nw\nq"),
    ("sqlite", "SELECT * FROM t WHERE a = '.shell git push';"),
    ("sqlite", ".tables\n.schema t\n.mode csv\n.headers on"),
    ("sqlite", UNKNOWN),
    ("psql", "select count(*) from t where a = '\\! x'"),
    ("psql", "\\dt\n\\d+ t"),
    ("mysql", "show tables; select 'system x'"),
    ("gdb", "bt full\ninfo registers\nprint shell"),
    ("dc", "2 3 + p"),
    ("applescript", 'display dialog "do shell script"'),
    ("elisp", '(message "(shell-command \\"git push\\")")'),
    ("tcl", 'puts "exec git push"; set x [expr 1 + 2]'),
]


@pytest.mark.parametrize(("language", "text"), cases(HARMLESS))
def test_code_that_starts_nothing_gives_nothing(language, text):
    assert started(language, text) == Code()


PYTHON = [
    ("import os; os.system('git push')", PUSH),
    ("import os; os.popen('git push').read()", PUSH),
    ("import subprocess; subprocess.run(['git', 'push'])", PUSH_WORDS),
    ("import subprocess; subprocess.run('git push', shell=True)", PUSH),
    ("import subprocess; subprocess.run(args=['git', 'push'])", PUSH_WORDS),
    ("import subprocess; subprocess.Popen(['x', 'push'], executable='git')", PUSH_WORDS),
    ("import subprocess; subprocess.check_output('git push')", PUSH_WORDS),
    ("import subprocess; subprocess.check_call(('git', 'push'))", PUSH_WORDS),
    ("import subprocess; subprocess.call('git push'.split())", PUSH_WORDS),
    ("import subprocess, shlex; subprocess.run(shlex.split('git push'))", PUSH_WORDS),
    ("import subprocess; print(subprocess.getoutput('git push'))", PUSH),
    ("import subprocess as s; s.run(['git', 'push'])", PUSH_WORDS),
    ("from subprocess import *\nrun(['git', 'push'])", PUSH_WORDS),
    ("from subprocess import run as r\nr(['git', 'push'])", PUSH_WORDS),
    ("from os import system as f\nf('git push')", PUSH),
    ("import os\nf = os.system\nf('git push')", PUSH),
    ("import os\ngetattr(os, 'sys' + 'tem')('git push')", PUSH),
    ("__import__('os').system('git push')", PUSH),
    ("__import__('o' + 's').system('git push')", PUSH),
    ("import importlib; importlib.import_module('os').system('git push')", PUSH),
    ("import os; os.__dict__['system']('git push')", PUSH),
    ("import os; vars(os)['system']('git push')", PUSH),
    ("globals()['__builtins__'].__import__('os').system('git push')", PUSH),
    ("__builtins__.__dict__['__import__']('os').system('git push')", PUSH),
    ("import sys; sys.modules['os'].system('git push')", PUSH),
    ("import shutil; shutil.os.system('git push')", PUSH),
    ("import posix; posix.system('git push')", PUSH),
    ("import os; os.execvp('git', ['git', 'push'])", PUSH_WORDS),
    ("import os; os.execlp('git', 'git', 'push')", PUSH_WORDS),
    ("import os; os.spawnlp(os.P_WAIT, 'git', 'git', 'push')", PUSH_WORDS),
    ("import os; os.posix_spawnp('git', ['git', 'push'], os.environ)", PUSH_WORDS),
    ("import pty; pty.spawn(['git', 'push'])", PUSH_WORDS),
    (
        "import asyncio\nasync def m():\n    await asyncio.create_subprocess_exec('git', 'push')\nasyncio.run(m())",
        PUSH_WORDS,
    ),
    ("import asyncio\nasyncio.run(asyncio.create_subprocess_shell('git push'))", PUSH),
    ("import runpy; runpy.run_module('pip')", {"argvs": (("python3", "-m", "pip"),)}),
    ("exec(open('f.py').read())", {"argvs": (("python3", "f.py"),)}),
    (
        "import subprocess, sys; subprocess.run([sys.executable, '-m', 'pytest'])",
        {"argvs": (("python3", "-m", "pytest"),)},
    ),
    ("import os; os.system('hsup tig'[::-1])", PUSH),
    ("import os; os.system(''.join(map(chr, [103, 105, 116, 32, 112, 117, 115, 104])))", PUSH),
    ("import os; os.system(''.join(chr(c) for c in b'git push'))", PUSH),
    ("import os; os.system('%s %s' % ('git', 'push'))", PUSH),
    ("import os; os.system('{} {}'.format('git', 'push'))", PUSH),
    ("import os\na = 'push'\nos.system(f'git {a}')", PUSH),
    ("import os; os.system(' '.join(['git', 'push']))", PUSH),
    ("import os; os.system('giX push'.replace('X', 't'))", PUSH),
    ("import os, base64; os.system(base64.b64decode('Z2l0IHB1c2g=').decode())", PUSH),
    ("import os, codecs; os.system(codecs.decode('tvg chfu', 'rot13'))", PUSH),
    ("import os; os.system(bytes.fromhex('6769742070757368').decode())", PUSH),
    ("exec(\"import os\\nos.system('git push')\")", PUSH),
    ("eval(\"__import__('os').system('git push')\")", PUSH),
    ("exec(compile(\"import os; os.system('git push')\", 'x', 'exec'))", PUSH),
    (
        """import zlib, base64 as b
exec(zlib.decompress(b.b64decode('eJzLzC3ILypRyC+2BmK94sriktRcDfX0zBKFgtLiDHVNAMSZC3E=')))""",
        PUSH,
    ),
    ("import os\nfor c in ['git push']:\n    os.system(c)", PUSH),
    ("import os\n[os.system(c) for c in ('git push',)]", PUSH),
    ("import os\ndef run(c):\n    os.system(c)\nrun('git push')", PUSH),
    ("import os\n(lambda c: os.system(c))('git push')", PUSH),
    ("import os\nlist(map(os.system, ['git push']))", PUSH),
    ("import os, threading\nthreading.Thread(target=os.system, args=('git push',)).start()", PUSH),
    ("import os, multiprocessing\nmultiprocessing.Pool().map(os.system, ['git push'])", PUSH),
    ("import os, functools\nfunctools.partial(os.system, 'git push')()", PUSH),
    ("import os, operator\noperator.methodcaller('system', 'git push')(os)", PUSH),
    ("import os\nclass A: pass\na = A()\na.go = os.system\na.go('git push')", PUSH),
    ("import os, builtins\nbuiltins.print = os.system\nprint('git push')", PUSH),
    ("import os\nd = {'a': os.system}\nd['a']('git push')", PUSH),
    ("import subprocess\nc = ['git']\nc.append('push')\nsubprocess.run(c)", PUSH_WORDS),
    ("import subprocess\nc = ['git']\nc += ['push']\nsubprocess.run(c)", PUSH_WORDS),
    ("import subprocess\nsubprocess.run(['git', *['push']])", PUSH_WORDS),
    ("import os\nif x:\n    c = 'git push'\nelse:\n    c = 'ls'\nos.system(c)", {"scripts": ("git push", "ls")}),
    ("import subprocess, sys\nsubprocess.run(['git', sys.argv[1]])", {"argvs": (("git", UNKNOWN),)}),
    ("import os, shlex, sys\nos.system('ls ' + shlex.quote(sys.argv[1]))", {"scripts": (f"ls {UNKNOWN}",)}),
    ("import subprocess; subprocess.run(['ls'], cwd='/x')", {"argvs": (("env", "-C", "/x", "ls"),)}),
    ("import subprocess; subprocess.run('ls', shell=True, cwd='/x')", {"scripts": ("cd /x\nls",)}),
    (
        "import subprocess; subprocess.run(['sh'], input='git push', text=True)",
        {"scripts": ("sh <<'KEISEI_INPUT'\ngit push\nKEISEI_INPUT\n",)},
    ),
    ("import git\ngit.Repo('.').remotes.origin.push()", {"argvs": (("git",),)}),
    ("from dulwich import porcelain", {"argvs": (("git",),)}),
    ("import pygit2", {"argvs": (("git",),)}),
    ("import sh; sh.git('push')", PUSH_WORDS),
    ("from sh import git\ngit('push')", PUSH_WORDS),
    (
        "import unittest\nimport os\nclass T(unittest.TestCase):\n    def test(self):\n        os.system('git push')",
        PUSH,
    ),
    ("open('a', 'w').write('x')", {"writes": ("a",)}),
    ("with open('a', mode='a') as f:\n    f.write('x')", {"writes": ("a",)}),
    ("from pathlib import Path; Path('a').write_text('x')", {"writes": ("a",)}),
    (
        "from pathlib import Path\np = Path('src') / 'a.py'\np.write_text(p.read_text().replace('x', 'y'))",
        {"writes": ("src/a.py",)},
    ),
    ("from pathlib import Path; Path('a').rename('b')", {"writes": ("b",), "deletes": ("a",)}),
    ("from pathlib import Path; (Path.home() / '.x').unlink()", {"deletes": ("~/.x",)}),
    ("import os; open(os.path.expanduser('~/.x'), 'w')", {"writes": ("~/.x",)}),
    ("open('~/.x', 'w')", {"writes": ("./~/.x",)}),
    ("import os; os.remove('a'); os.rename('b', 'c')", {"writes": ("c",), "deletes": ("a", "b")}),
    ("import shutil; shutil.rmtree('a'); shutil.copy('b', 'c')", {"writes": ("c",), "deletes": ("a",)}),
    ("import os; os.open('a', os.O_WRONLY | os.O_CREAT)", {"writes": ("a",)}),
    ("import os; os.open('a', os.O_RDONLY)", {}),
    ("import os; os.chdir('/x'); open('a', 'w')", {"writes": ("/x/a",)}),
    ("import json; json.dump({}, open('a.json', 'w'))", {"writes": ("a.json",)}),
    ("import sys; open(sys.argv[1], 'w')", {"writes": (UNKNOWN,)}),
    (f"open('out/{UNKNOWN}.txt', 'w')", {"writes": (f"out/{UNKNOWN}.txt",)}),
]


@pytest.mark.parametrize(("text", "expected"), [pytest.param(*row, id=f"python-{n}") for n, row in enumerate(PYTHON)])
def test_python_that_can_be_followed_is_told_exactly(text, expected):
    assert told(started("python", text)) == expected


OTHERS = [
    ("perl", "system('git push')", PUSH),
    ("perl", "system 'git', 'push';", PUSH_WORDS),
    ("perl", "exec qw(git push)", PUSH_WORDS),
    ("perl", "print `git push`", PUSH),
    ("perl", "print qx{git push}", PUSH),
    ("perl", "my $c = 'git ' . 'push'; system($c)", PUSH),
    ("perl", "my $g = 'git'; system(\"$g push\")", PUSH),
    ("perl", "s/x/system('git push')/e", PUSH),
    ("perl", "print \"@{[system('git push')]}\"", PUSH),
    ("perl", "eval \"system('git push')\"", PUSH),
    ("perl", "CORE::system('git push')", PUSH),
    ("perl", "open(F, 'git push|')", PUSH),
    ("perl", "open(F, '|git push')", PUSH),
    ("perl", "open(my $f, '-|', 'git', 'push')", PUSH_WORDS),
    ("perl", "use IPC::Open3; open3($i, $o, $e, 'git', 'push')", PUSH_WORDS),
    ("perl", "do './x.pl'", {"argvs": (("perl", "./x.pl"),)}),
    ("perl", "open(my $f, '>', 'out'); unlink 'a', 'b'", {"writes": ("out",), "deletes": ("a", "b")}),
    ("perl", "rename 'c', 'd'", {"writes": ("d",), "deletes": ("c",)}),
    ("ruby", "system('git push')", PUSH),
    ("ruby", "system 'git', 'push'", PUSH_WORDS),
    ("ruby", "puts `git push`", PUSH),
    ("ruby", "puts %x(git push)", PUSH),
    ("ruby", 'puts "#{`git push`}"', PUSH),
    ("ruby", "IO.popen(['git', 'push'])", PUSH_WORDS),
    ("ruby", "require 'open3'; Open3.capture3('git', 'push')", PUSH_WORDS),
    ("ruby", "open('|git push')", PUSH),
    ("ruby", "send(:system, 'git push')", PUSH),
    ("ruby", "Kernel.send('sys' + 'tem', 'git push')", PUSH),
    ("ruby", "eval \"system('git push')\"", PUSH),
    ("ruby", "Kernel.exec('git' + ' push')", PUSH),
    ("ruby", "File.write('a', 'x'); FileUtils.rm_rf('c')", {"writes": ("a",), "deletes": ("c",)}),
    ("ruby", "File.open('b', 'w') { |f| f << 1 }", {"writes": ("b",)}),
    ("php", "system('git push');", PUSH),
    ("php", "echo shell_exec('git' . ' push');", PUSH),
    ("php", "echo `git push`;", PUSH),
    ("php", "$f = 'exec'; $f('git push');", PUSH),
    ("php", "('sys' . 'tem')('git push');", PUSH),
    ("php", "call_user_func('system', 'git push');", PUSH),
    ("php", "<h1>system('x')</h1><?php passthru('git push'); ?>", PUSH),
    ("php", "file_put_contents('a', 'x'); unlink('b');", {"writes": ("a",), "deletes": ("b",)}),
    ("lua", "os.execute('git push')", PUSH),
    ("lua", "os.execute[[git push]]", PUSH),
    ("lua", "io.popen('g' .. 'it push'):read('*a')", PUSH),
    ("lua", "local f = os.execute; f('git push')", PUSH),
    ("lua", "os['exe' .. 'cute']('git push')", PUSH),
    ("lua", "load(\"os.execute('git push')\")()", PUSH),
    ("lua", "io.open('a', 'w'); os.remove('b')", {"writes": ("a",), "deletes": ("b",)}),
    ("r", "system('git push')", PUSH),
    ("r", "system2('git', c('push'))", PUSH_WORDS),
    ("r", "system2('git', 'push')", PUSH_WORDS),
    ("r", "eval(parse(text=\"system('git push')\"))", PUSH),
    ("r", "write.csv(x, 'a.csv')", {"writes": ("a.csv",)}),
    ("javascript", "require('child_process').execSync('git push')", PUSH),
    ("javascript", "require('node:child_process').exec('git push', (e, o) => console.log(o))", PUSH),
    ("javascript", "const cp = require('child_process'); cp.spawnSync('git', ['push'])", PUSH_WORDS),
    ("javascript", "const { execSync: e } = require('child_process'); e('git push')", PUSH),
    ("javascript", "import { execFileSync as e } from 'child_process'; e('git', ['push'])", PUSH_WORDS),
    ("javascript", "import('child_process').then(c => c.exec('git push'))", PUSH),
    ("javascript", "const r = require('util').promisify(require('child_process').exec); r('git push')", PUSH),
    ("javascript", "require('child_' + 'process')['exec' + 'Sync']('git push')", PUSH),
    ("javascript", "process.mainModule.require('child_process').execSync(`git push`)", PUSH),
    ("javascript", "console.log(`${require('child_process').execSync('git push')}`)", PUSH),
    ("javascript", "eval(\"require('child_process').execSync('git push')\")", PUSH),
    ("javascript", "new Function(\"require('child_process').execSync('git push')\")()", PUSH),
    ("javascript", "require('child_process').execSync('\\x67it push')", PUSH),
    ("javascript", "require('child_process').spawn('git', ['push'], {shell: true})", PUSH),
    ("javascript", "const {execSync} = require('child_process'); const c = 'git push'; execSync(c)", PUSH),
    ("javascript", "require('fs').writeFileSync('a', 'x'); fs.unlinkSync('b')", {"writes": ("a",), "deletes": ("b",)}),
    ("javascript", "fs.renameSync('c', 'd')", {"writes": ("d",), "deletes": ("c",)}),
    ("javascript", "fs.promises.appendFile('a', 'x')", {"writes": ("a",)}),
    ("awk", 'BEGIN { system("git push") }', PUSH),
    ("awk", 'BEGIN { system("git" " push") }', PUSH),
    ("awk", 'BEGIN { "git push" | getline x }', PUSH),
    ("awk", '{ print $1 | "git push" }', PUSH),
    ("awk", 'BEGIN { c = "git push"; while ((c | getline l) > 0) print l }', PUSH),
    ("awk", '{ print $1 > "out" } END { printf "x" >> "log" }', {"writes": ("out", "log")}),
    ("sed", "1e git push", PUSH),
    ("sed", "/x/{e git push\n}", PUSH),
    ("sed", "s/a/b/w out", {"writes": ("out",)}),
    ("sed", "/x/w out", {"writes": ("out",)}),
    ("vim", "!git push", PUSH),
    ("vim", ":silent !git push", PUSH),
    ("vim", "r !git push", PUSH),
    ("vim", "call system('git push')", PUSH),
    ("vim", "exe '!git ' . 'push'", PUSH),
    ("vim", "py3 import os; os.system('git push')", PUSH),
    ("vim", "%s/a/b/g | w out.txt | q", {"writes": ("out.txt",)}),
    ("vim", "w! docs/z.md", {"writes": ("docs/z.md",)}),
    ("vim", "w docs/z.md", {"writes": ("docs/z.md",)}),
    ("vim", "w >> docs/z.md", {"writes": ("docs/z.md",)}),
    ("vim", "sav docs/z.md", {"writes": ("docs/z.md",)}),
    ("vim", "wq! docs/z.md", {"writes": ("docs/z.md",)}),
    ("vim", "1,3w! a | g/x/w >> b", {"writes": ("a", "b")}),
    ("vim", "w !git push", PUSH),
    ("vim", "w %.bak", {"writes": (UNKNOWN,)}),
    ("ed", "!git push", PUSH),
    ("ed", "1,$w !git push", PUSH),
    ("ed", "r !git push", PUSH),
    ("ed", "e !git push", PUSH),
    ("ed", "g/x/!git push", PUSH),
    ("ed", "a\ntext\n.\n!git push\n", PUSH),
    ("ed", "w docs/z.md\nW log\n", {"writes": ("docs/z.md", "log")}),
    ("ed", "f a\nw\nE b\nwq", {"writes": ("a", "b")}),
    ("ed", "s/a/b\\\n!ls/\n.,/x y/w out", {"writes": ("out",)}),
    ("sqlite", ".shell git push", PUSH),
    ("sqlite", "select 1;\n.system git push", PUSH),
    ("sqlite", ".once |git push", PUSH),
    ("sqlite", ".output a.csv\nselect writefile('b', x);", {"writes": ("a.csv", "b")}),
    ("psql", "\\! git push", PUSH),
    ("psql", "copy t to program 'git push'", PUSH),
    ("psql", "\\o out.txt", {"writes": ("out.txt",)}),
    ("mysql", "system git push", PUSH),
    ("gdb", "shell git push", PUSH),
    ("gdb", "!git push", PUSH),
    ("gdb", "pipe bt | git push", {"scripts": (" git push",)}),
    ("gdb", "python\nimport os\nos.system('git push')\nend", PUSH),
    ("dc", "1 p\n!git push", PUSH),
    ("applescript", 'do shell script "git " & "push"', PUSH),
    ("elisp", '(shell-command "git push")', PUSH),
    ("elisp", '(call-process "git" nil nil nil "push")', PUSH_WORDS),
    ("elisp", '(shell-command (concat "git " "push"))', PUSH),
    ("tcl", "puts [exec git push]", PUSH_WORDS),
    ("tcl", 'open "|git push"', PUSH),
    ("tcl", "spawn git push\nexpect eof", PUSH_WORDS),
    ("tcl", "file delete a; set f [open b w]", {"writes": ("b",), "deletes": ("a",)}),
    ("make", "all:\n\t@git push", PUSH),
    ("python3.11", "import os; os.system('git push')", PUSH),
    ("node", "require('child_process').execSync('git push')", PUSH),
    ("gawk", 'BEGIN { system("git push") }', PUSH),
]  # fmt: skip


BELOW_DOCS = f"docs/{BELOW}"
SCRATCH = "/tmp/tmp.keisei"  # noqa: S108 - told, not used
# ruff: noqa: E501 - one snippet a row
COMPUTED = [
    ("python", "def f(p):\n    p.write_text('x')\nf(g())", {"writes": (UNKNOWN,)}),
    ("python", "from pathlib import Path\nPath(x).write_text('y'); Path(z).unlink()", {"writes": (UNKNOWN,), "deletes": (UNKNOWN,)}),
    ("python", "import os, shutil\nshutil.copy('a', x); os.rename(y, 'b')", {"writes": (UNKNOWN, "b"), "deletes": (UNKNOWN,)}),
    ("python", "from pathlib import Path\nfor p in Path('docs').glob('*.md'):\n    p.write_text(p.read_text())", {"writes": (BELOW_DOCS,)}),
    ("python", "from pathlib import Path\nfor n, p in enumerate(sorted(Path('docs').rglob('*'))):\n    open(p, 'a')", {"writes": (BELOW_DOCS,)}),
    ("python", "from pathlib import Path\nfor p in [q for q in Path('docs').iterdir() if q.is_file()]:\n    p.unlink()", {"deletes": (BELOW_DOCS,)}),
    ("python", "from pathlib import Path\nfor p in Path('src').iterdir():\n    Path(f'docs/{p.stem}.html').write_text('')", {"writes": (BELOW_DOCS,)}),
    ("python", "import glob\nfor f in glob.glob('docs/**/*.md', recursive=True):\n    open(f, 'w')", {"writes": (BELOW_DOCS,)}),
    ("python", "import os\nfor r, d, n in os.walk('docs'):\n    for f in n:\n        os.remove(os.path.join(r, f))", {"deletes": (BELOW_DOCS,)}),
    ("python", "import os\nfor f in os.listdir('docs'):\n    open('docs/' + f, 'w')", {"writes": (BELOW_DOCS,)}),
    ("python", "from pathlib import Path\nfor p in Path('docs').glob('*'):\n    (p / '..' / '..' / 'x').touch()", {"writes": (UNKNOWN,)}),
    ("python", "import subprocess\nfrom pathlib import Path\nfor p in Path('docs').glob('*'):\n    subprocess.run(['rm', str(p)])", {"argvs": (("rm", BELOW_DOCS),)}),
    ("python", "import zipfile\nzipfile.ZipFile('a.zip').extractall('docs')", {"writes": (BELOW_DOCS,)}),
    ("python", "import tempfile, os\nwith tempfile.TemporaryDirectory() as d:\n    open(os.path.join(d, 'x'), 'w')", {"writes": (f"{SCRATCH}/x",)}),
    ("python", "import tempfile\nf, p = tempfile.mkstemp()\nopen(p, 'w')", {"writes": (SCRATCH,)}),
    ("python", "import tempfile, os\nf = tempfile.NamedTemporaryFile(delete=False)\nos.unlink(f.name)", {"deletes": (SCRATCH,)}),
    ("python", "import tempfile\nopen(tempfile.gettempdir() + '/x', 'w')", {"writes": (f"{SCRATCH}/x",)}),
    ("python", "import tempfile\nopen(tempfile.mktemp(dir='docs'), 'w')", {"writes": (BELOW_DOCS,)}),
    ("python", "import sys, io, json\njson.dump({}, sys.stdout)\nio.StringIO().write('x')\nopen(1, 'w')\nopen(sys.stdout.fileno(), 'w')", {}),
    ("python", "import sys\nfor f in sys.argv[1:]:\n    print(open(f).read())", {}),
    ("awk", "{ print > $1 }", {"writes": (UNKNOWN,)}),
    ("awk", '{ print >> ("out/" $1) }', {"writes": (f"out/{UNKNOWN}",)}),
    ("awk", "{ while ((getline l < f) > 0) n++ }", {}),
    ("javascript", "fs.writeFileSync(x, 'y'); fs.unlinkSync(z)", {"writes": (UNKNOWN,), "deletes": (UNKNOWN,)}),
    ("javascript", "fs.writeFileSync(1, 'y'); fs.readFileSync(x); fs.openSync(x, 'r'); fs.open(x, (e, d) => 1)", {}),
    ("ruby", "File.write(x, 'y'); File.open(z, 'w') { }", {"writes": (UNKNOWN,)}),
    ("ruby", "File.read(x); File.open(x, encoding: 'utf-8'); File.open(x, 'r')", {}),
    ("perl", "open(F, '>', $x); open(G, \">$y\"); unlink for glob('*')", {"writes": (UNKNOWN,), "deletes": (UNKNOWN,)}),
    ("perl", "open(F, '<', $x); open(G, $y)", {}),
    ("php", "file_put_contents($x, 'y'); fopen('php://stdout', 'w'); fopen($x, 'r');", {"writes": (UNKNOWN,)}),
    ("lua", "io.open(arg[1], 'w'); io.open(arg[2]); io.output(io.stdout)", {"writes": (UNKNOWN,)}),
]  # fmt: skip


LINK = {"writes": ("src/pp", "src/../docs")}
HARD_LINK = {"writes": ("src/pp", "README.md")}
WRITES_A = {"writes": ("a",)}
DELETES_DOCS = {"deletes": ("docs",)}
BELOW_SRC = f"src/{BELOW}"
FILES = [
    ("javascript", "const {appendFileSync:a}=require('fs');a('README.md','x')", {"writes": ("README.md",)}),
    ("javascript", "const {writeFileSync}=require('fs');writeFileSync('a','x')", WRITES_A),
    ("javascript", "import {writeFileSync} from 'fs';writeFileSync('a','x')", WRITES_A),
    ("javascript", "import {writeFile as w} from 'node:fs/promises';await w('a','x')", WRITES_A),
    ("javascript", "const {rm}=require('fs/promises');rm('docs')", DELETES_DOCS),
    ("javascript", "import('fs/promises').then(({rm}) => rm('docs'))", DELETES_DOCS),
    ("javascript", "import('fs/promises').then(f => f.rm('docs'))", DELETES_DOCS),
    ("javascript", "const {promises:p}=require('fs');p.rm('docs')", DELETES_DOCS),
    ("javascript", "import * as f from 'fs'; const g = f.promises; g.rm('docs')", DELETES_DOCS),
    ("javascript", "require('fs').rmSync('docs',{recursive:true})", DELETES_DOCS),
    ("javascript", "require('f'+'s').rm('docs', () => 1)", DELETES_DOCS),
    ("javascript", "const m='fs'; const f=require(m); f.rm('docs', () => 1)", DELETES_DOCS),
    ("javascript", "require('node:fs/promises').rm('docs')", DELETES_DOCS),
    ("javascript", "require('fs').promises.rm('docs')", DELETES_DOCS),
    ("javascript", "require('fs').rmSync.call(null,'docs')", DELETES_DOCS),
    ("javascript", "const r=util.promisify(fs.rm); r('docs'); promisify(fs.unlink)('b')", {"deletes": ("docs", "b")}),
    ("javascript", "require('fs').cpSync('src','docs')", {"writes": ("docs",)}),
    ("javascript", "require('fs').symlinkSync('../docs','src/pp')", LINK),
    ("javascript", "const f=require('fs'); f.link('README.md','src/pp',()=>1)", HARD_LINK),
    ("javascript", "const f=require('fs');f['write'+'FileSync']('a','x')", WRITES_A),
    ("javascript", "const f=require('fs');f[m]('a','x')", {"writes": (UNKNOWN,)}),
    ("javascript", "require('fs')[m]('a','x')", {"writes": (UNKNOWN,)}),
    ("javascript", "const f=require('fs'),w=f['writeFileSync'];w('a')", {"writes": (UNKNOWN,)}),
    ("javascript", "const {[m]:w}=require('fs');w('a')", {"writes": (UNKNOWN,)}),
    ("javascript", "const f={...require('fs')}; f.rm('docs')", DELETES_DOCS),
    ("javascript", "const f=Object.assign({},fs); f.rm('docs')", DELETES_DOCS),
    ("javascript", "const {readFile, ...r}=require('fs'); r.rm('docs')", DELETES_DOCS),
    ("javascript", "const f=(await import('fs')).default; f.rm('docs')", DELETES_DOCS),
    ("javascript", "(0,require('fs').rmSync)('docs')", DELETES_DOCS),
    ("javascript", "const w=(0,fs.writeFileSync); w('a')", WRITES_A),
    ("javascript", "Object.values(require('fs'))[3]('a')", {"writes": (UNKNOWN,)}),
    ("javascript", "Reflect.get(fs,m)('a')", {"writes": (UNKNOWN,)}),
    ("javascript", "process.chdir('docs'); fs.writeFileSync('a','x'); fs.writeFileSync('/b','x')", {"writes": (UNKNOWN, "/b")}),
    ("javascript", "for (let i=0;i<3;i++) fs.writeFileSync(`out/${i}.txt`,'x')", {"writes": (f"out/{UNKNOWN}.txt",)}),
    ("javascript", "let p='a'; p ||= q; fs.writeFileSync(p,'x')", {"writes": (UNKNOWN,)}),
    ("javascript", "const fs=require('fs'); const s=fs.readFileSync('b','utf8'); fs.writeFileSync('a', s); s.link('x','y')", WRITES_A),
    ("javascript", "const rows=[];rows[m]('a'); rows.link('a','b'); $('x').remove('y')", {}),
    ("javascript", "promisify(require('child_process').exec)('git push')", PUSH),
    ("javascript", "const {exec}=require('child_process');const run=promisify(exec); run('git push')", PUSH),
    ("javascript", "new Worker(\"require('child_process').execSync('git push')\",{eval:true})", PUSH),
    ("javascript", "new Worker('./w.js'); new Worker(new URL('./v.js', import.meta.url))", {"argvs": (("node", "./w.js"), ("node", "./v.js"))}),
    ("javascript", "fs.writeFileSync(path.join('src','..','a'),'x')", WRITES_A),
    ("javascript", "const p=require('path').resolve('src','/a');fs.writeFileSync(p,'x')", {"writes": ("/a",)}),
    ("javascript", "fs.writeFileSync(['a','b'].join('/'),'x')", {"writes": (UNKNOWN,)}),
    ("javascript", "fs.writeFileSync(os.tmpdir()+'/a','x')", {"writes": (f"{SCRATCH}/a",)}),
    ("javascript", "fs.writeFileSync(path.join(os.tmpdir(),'../a'),'x')", {"writes": (UNKNOWN,)}),
    ("javascript", "const d=fs.mkdtempSync(path.join(os.tmpdir(),'x-'));fs.writeFileSync(path.join(d,'a'),'x')", {"writes": (f"{SCRATCH}/x-", f"{SCRATCH}/a")}),
    ("javascript", "for (const f of fs.readdirSync('src')) fs.writeFileSync(path.join('src',f),'x')", {"writes": (BELOW_SRC,)}),
    ("javascript", "const all=fs.readdirSync('src').filter(f => f.endsWith('.js'));for (const f of all) fs.writeFileSync(`src/${f}`,'x')", {"writes": (BELOW_SRC,)}),
    ("javascript", "const all=fs.readdirSync('src');for (const f of all) { const p = path.join('src', f); fs.writeFileSync(p,'x') }", {"writes": (BELOW_SRC,)}),
    ("javascript", "fs.readdirSync('src').forEach(f => fs.unlinkSync('src/'+f))", {"deletes": (BELOW_SRC,)}),
    ("javascript", "for (const e of fs.readdirSync('src',{withFileTypes:true})) fs.rmSync(path.join('src',e.name))", {"deletes": (BELOW_SRC,)}),
    ("javascript", "for (const f of fs.readdirSync('src').map(g)) fs.writeFileSync('src/'+f,'x')", {"writes": (f"src/{UNKNOWN}",)}),
    ("javascript", "['src/x.js','src/y.js'].forEach(f => fs.writeFileSync(f,'x'))", {"writes": ("src/x.js", "src/y.js")}),
    ("javascript", "for (const f of ['x','y']) fs.writeFileSync(path.join('src',f),'x')", {"writes": ("src/x", "src/y")}),
    ("javascript", "const l=['x'];l.push(z);for (const f of l) fs.writeFileSync(f,'x')", {"writes": (UNKNOWN,)}),
    ("javascript", "const f='a'; for (const f of g) fs.writeFileSync(f,'x')", {"writes": (UNKNOWN,)}),
    ("javascript", "const p='a'; function w(p) { fs.writeFileSync(p,'x') } w('b')", {"writes": (UNKNOWN,)}),
    ("javascript", "const {execSync}=require('child_process');for (const c of ['git push','ls']) execSync(c)", {"scripts": ("git push", "ls")}),
    ("javascript", "const a=['log'];a.push(x);require('child_process').spawnSync('git',a)", {"argvs": (("git", UNKNOWN),)}),
    ("javascript", "require('child_process').execSync('sh x.sh'); require('child_process').spawn('node',['x.js'])", {"scripts": ("sh x.sh",), "argvs": (("node", "x.js"),)}),
    ("python", "import os; os.symlink('../docs','src/pp')", LINK),
    ("python", "import os; os.symlink(src='../docs',dst='src/pp')", LINK),
    ("python", "import os; os.symlink('/etc/x','src/pp')", {"writes": ("src/pp", "/etc/x")}),
    ("python", "import os; os.symlink(x,'src/pp'); os.symlink('y',z)", {"writes": ("src/pp", UNKNOWN)}),
    ("python", "import os; os.link('README.md','src/pp')", HARD_LINK),
    ("python", "import os; os.chdir('/r'); os.link('a','b'); os.symlink('../c','d/e')", {"writes": ("/r/b", "/r/a", "/r/d/e", "/r/d/../c")}),
    ("python", "from pathlib import Path; Path('src/pp').symlink_to('../docs')", LINK),
    ("python", "from pathlib import Path; Path('src/pp').hardlink_to('README.md')", HARD_LINK),
    ("python", "import sqlite3; sqlite3.connect('x.db')", {"writes": ("x.db",)}),
    ("python", "import sqlite3; sqlite3.connect('file:x.db',uri=True)", {"writes": ("x.db",)}),
    ("python", "import sqlite3; sqlite3.connect(':memory:'); sqlite3.connect('file:x.db?mode=ro',uri=True)", {}),
    ("python", "import logging; logging.basicConfig(filename='a')", WRITES_A),
    ("python", "import logging; logging.basicConfig(level=10); logging.getLogger('a').info('b')", {}),
    ("python", "import logging; logging.getLogger().addHandler(logging.FileHandler('a'))", WRITES_A),
    ("python", "from logging.handlers import RotatingFileHandler as R; R(filename='a')", WRITES_A),
    ("python", "import tempfile; tempfile.mkstemp(dir='docs')", {"writes": (BELOW_DOCS,)}),
    ("python", "import tempfile; tempfile.mkdtemp('', 'a', 'docs')", {"writes": (BELOW_DOCS,)}),
    ("python", "import tempfile; tempfile.NamedTemporaryFile(dir='docs')", {"writes": (BELOW_DOCS,)}),
    ("python", "import tempfile; tempfile.TemporaryFile(); tempfile.mkstemp(); tempfile.mktemp(dir='docs')", {}),
    ("python", "import shelve; shelve.open('a')", WRITES_A),
    ("python", "import shelve, dbm; shelve.open('a','r'); dbm.open('a')", {}),
    ("python", "import dbm.dumb; dbm.dumb.open('a','n')", WRITES_A),
    ("python", "import dbm; dbm.open('a','c'); dbm.gnu.open('b','w')", {"writes": ("a", "b")}),
    ("python", "import zipfile, tarfile; zipfile.ZipFile('a','w'); tarfile.open('b','w:gz')", {"writes": ("a", "b")}),
    ("python", "import gzip, bz2, lzma; gzip.open('a','w'); bz2.open('b','w'); lzma.LZMAFile('c','w'); bz2.BZ2File('d','x')", {"writes": ("a", "b", "c", "d")}),
    ("python", "import gzip, io; gzip.GzipFile(fileobj=io.BytesIO(), mode='wb')", {}),
    ("python", "import runpy; runpy.run_path('a.py')", {"argvs": (("python3", "a.py"),)}),
    ("python", "import code; code.InteractiveConsole().push(\"import os; os.system('git push')\")", PUSH),
    ("python", "import code; c=code.InteractiveInterpreter(); c.runsource(\"import os; os.system('git push')\")", PUSH),
    ("sqlite", ".import '|git push' t", PUSH),
    ("sqlite", '.import --csv "|git push" t', PUSH),
    ("sqlite", ".import a.csv t", {}),
    ("sqlite", ".read '|git push'", PUSH),
    ("sqlite", "select edit('x','git push')", PUSH),
    ("sqlite", "update t set a = edit(lower(a), 'git push');", PUSH),
    ("sqlite", "select 'edit(x)', credit(x) from t", {}),
    ("vim", 'call system("gi"."t push")', PUSH),
    ("vim", "let x = system('gi' .. \"t push\")", PUSH),
    ("ruby", "IO.popen('git push', 'r+')", PUSH),
    ("ruby", "IO.popen('sh x.sh')", {"scripts": ("sh x.sh",)}),
    ("ruby", "File.symlink('../docs', 'src/pp')", LINK),
    ("perl", 'symlink "../docs","src/pp"', LINK),
    ("perl", 'link "README.md","src/pp"', HARD_LINK),
    ("php", "symlink('../docs', 'src/pp');", LINK),
    ("elisp", '(make-symbolic-link "../docs" "src/pp")', LINK),
    ("tcl", "file link -symbolic src/pp ../docs", LINK),
    ("tcl", "if {$x eq 1} { puts $x }; while { $i < 3 } { incr i }; foreach a $b { puts [lindex $a 0] }", {}),
]  # fmt: skip


@pytest.mark.parametrize(("language", "text", "expected"), cases(FILES))
def test_files_and_links_are_told_whatever_name_their_function_has(language, text, expected):
    assert told(started(language, text)) == expected


@pytest.mark.parametrize(("language", "text", "expected"), cases(COMPUTED))
def test_a_path_that_is_computed_is_told_as_far_as_it_is_known(language, text, expected):
    assert told(started(language, text)) == expected


@pytest.mark.parametrize(("language", "text", "expected"), cases(OTHERS))
def test_code_of_other_languages_is_told_exactly(language, text, expected):
    assert told(started(language, text)) == expected


OPAQUE = [
    ("python", "import subprocess, sys; subprocess.run(sys.argv[1:])"),
    ("python", "import os; os.system(input())"),
    ("python", "import os; os.system('ls ' + input())"),
    ("python", "exec(input())"),
    ("python", "import sys; exec(sys.stdin.read())"),
    ("python", "import urllib.request as u; exec(u.urlopen('http://x').read())"),
    ("python", "import os; getattr(os, input())('git push')"),
    ("python", "__import__(input()).system('git push')"),
    ("python", "globals()[input()]('git push')"),
    ("python", "().__class__.__base__.__subclasses__()[137](['git', 'push'])"),
    ("python", "import ctypes; ctypes.CDLL(None).system(b'git push')"),
    ("python", "import cffi"),
    ("python", "import pickle; pickle.loads(b\"cos\\nsystem\\n(S'git push'\\ntR.\")"),
    ("python", "import os\ns = ''\nwhile len(s) < 8:\n    s += 'git push'[len(s)]\nos.system(s)"),
    ("python", "import os\ndef f(c):\n    os.system(c)\nregister(f)"),
    ("python", "import os\nclass A:\n    __class_getitem__ = os.system\nA['git push']"),
    ("python", "import subprocess\np = subprocess.Popen(['sh'], stdin=subprocess.PIPE)\np.communicate(b'git push')"),
    ("python", "print 'python two'"),
    ("python", "import os; os.system(("),
    ("python", UNKNOWN),
    ("python", f"import os\n{UNKNOWN}\nprint(1)"),
    ("python", "(" * 300 + ")" * 300),
    ("python", "#" * 70_000),
    ("perl", "system($ARGV[0])"),
    ("perl", 'system("ls $ENV{X}")'),
    ("perl", "eval $x"),
    ("perl", "eval <STDIN>"),
    ("perl", "s/x/$y/ee"),
    ("perl", UNKNOWN),
    ("ruby", "system(ARGV[0])"),
    ("ruby", "eval(STDIN.read)"),
    ("ruby", "`#{x}`"),
    ("php", "system($argv[1]);"),
    ("php", "eval(base64_decode('x'));"),
    ("lua", "os.execute(arg[1])"),
    ("lua", "load(io.read('*a'))()"),
    ("r", "system(commandArgs()[1])"),
    ("javascript", "require('child_process').execSync(process.argv[1])"),
    ("javascript", "require(process.argv[1]).execSync('git push')"),
    ("javascript", "eval(process.argv[1])"),
    ("javascript", "process.binding('spawn_sync').spawn({})"),
    ("javascript", "require('child_process')[x]('git push')"),
    ("javascript", "[].constructor.constructor(x)()"),
    ("javascript", UNKNOWN),
    ("awk", "{ system($0) }"),
    ("awk", "{ $1 | getline x }"),
    ("awk", 'BEGIN { c = "ls" } { sub(/ls/, "git push", c); system(c) }'),
    ("awk", 'BEGIN { c = "ls" } { getline c; system(c) }'),
    ("awk", "{ print | cmd }"),
    ("awk", 'BEGIN { print "git push" | "sh" }'),
    ("perl", "open(F, '|/bin/sh'); print F 'git push'"),
    ("perl", "open(F, '|-', 'bash'); print F 'git push'"),
    ("sed", "e"),
    ("sed", "s/.*/git push/e"),
    ("vim", "exe g:x"),
    ("sqlite", "select load_extension('x')"),
    ("tcl", "exec $x"),
    ("elisp", "(shell-command x)"),
    ("applescript", "do shell script x"),
    ("ed", UNKNOWN),
    ("ed", f"1p\n{UNKNOWN}\nq"),
    ("dc", "[!git push]x"),
    ("python", "from pathlib import Path\nfor p in Path('.').glob('*.py'):\n    exec(p.read_text())"),
    ("javascript", "x = 1;" * 8_000),
    ("javascript", "new Worker(code,{eval:true})"),
    ("javascript", "const o={eval:true}; new Worker(code,o)"),
    ("javascript", "new Worker(new URL('data:text/javascript,x'))"),
    ("javascript", "require('child_process').execSync('sh',{input:'git push'})"),
    ("javascript", "const s=require('child_process').spawn('bash');s.stdin.write('git push')"),
    ("javascript", "require('child_process').spawnSync('sh',['-s'],{input:x})"),
    ("ruby", "IO.popen('sh','w') { |f| f.puts 'git push' }"),
    ("ruby", "IO.popen(['sh'], 'r+')"),
    ("ruby", "require 'open3'; Open3.capture2('sh', stdin_data: 'git push')"),
    ("python", "import runpy; runpy.run_path(x)"),
    ("python", "import code; code.InteractiveConsole().push(x)"),
    ("python", "import code; code.interact()"),
    ("sqlite", "select edit(a)"),
    ("sqlite", "select edit(a, b) from t"),
    ("tcl", "exec [join {git push}]"),
    ("tcl", "exec {*}$x"),
    ("tcl", "set c exec; $c git push"),
    ("tcl", "if 1 { $c git push }"),
    ("tcl", "[string cat ex ec] git push"),
    ("vim", 'call system("gi".x)'),
    ("klingon", "x"),
]


@pytest.mark.parametrize(("language", "text"), cases(OPAQUE))
def test_code_that_starts_what_cannot_be_told_is_opaque(language, text):
    opaque = started(language, text).opaque

    assert opaque
    assert opaque.endswith(".")


MAKE = [
    ("all: b\n\techo a\nb:\n\tgit push", (), ("echo a", "git push")),
    ("a:\n\techo a\nb:\n\tgit push", (), ("echo a",)),
    ("a:\n\techo a\nb:\n\tgit push", ("b",), ("git push",)),
    (".PHONY: a\na:\n\t@-git push", (), ("git push",)),
    ("a: ; git push", (), ("git push",)),
    ("G := git\nC = $(G) push\na:\n\t${C} -f", (), ("git push -f",)),
    ("G = ls\na:\n\t$(G)", ("G=git push",), ("git push",)),
    ("override G = git push\nG = ls\na:\n\t$(G)", (), ("git push",)),
    ("G ?= git\nG += push\na:\n\t$(G)", (), ("git push",)),
    ("a:\n\t$(UNSET) x $$HOME", (), (f"{UNKNOWN} x $HOME",)),
    ("X := $(shell git push)\na:\n\techo $(X)", (), ("git push", f"echo {UNKNOWN}")),
    ("X != git push\na:\n\techo", (), ("git push", "echo")),
    ("$(shell git push)\n", (), ("git push",)),
    ("a.o: a.c\n\tcc -c $< -o $@", (), ("cc -c a.c -o a.o",)),
    ("%.o: %.c\n\tcc $<", ("x.o",), ("cc x.c",)),
    ("a:\n\techo a && \\\n\t  git push", (), ("echo a && \\\n  git push",)),
    (".RECIPEPREFIX = >\na:\n>git push", (), ("git push",)),
    ("include x.mk\nifeq ($(A),1)\nendif\na:\n\tgit push", (), ("git push",)),
    (".DEFAULT_GOAL := b\na:\n\techo a\nb:\n\tgit push", (), ("git push",)),
    ("define C\ngit push\nendef\na:\n\t$(C)", (), ("git push",)),
    ("# git push\na: # note\n\techo # git push", (), ("echo # git push",)),
    ("X = $(X)$(Y)\nY = $(X)\na:\n\t$(X)", (), ()),
    ("a: b\nb: a\n\techo", (), ("echo",)),
    ("", (), ()),
]


@pytest.mark.parametrize(
    ("makefile", "targets", "scripts"), [pytest.param(*row, id=f"make-{n}") for n, row in enumerate(MAKE)]
)
def test_a_makefile_gives_the_recipes_its_goals_reach(makefile, targets, scripts):
    code = recipes(makefile, targets)

    assert code == Code(scripts=scripts)


def test_a_script_of_a_package_comes_with_its_hooks():
    package = '{"scripts": {"prebuild": "echo pre", "build": "git push", "postbuild": "echo post", "test": "x"}}'

    assert npm_script(package, "build") == Code(scripts=("echo pre", "git push", "echo post"))


@pytest.mark.parametrize("package", ["{}", "[]", '{"scripts": []}', '{"scripts": {"a": 1}}'])
def test_a_package_without_the_script_gives_nothing(package):
    assert npm_script(package, "a") == Code()


def test_a_package_that_cannot_be_read_is_opaque():
    assert npm_script("{", "a").opaque


FRAGMENTS = st.lists(
    st.sampled_from(
        [
            "system",
            "exec",
            "eval",
            "(",
            ")",
            "[",
            "]",
            "{",
            "}",
            "'",
            '"',
            "`",
            "/",
            "\\",
            "$x",
            "=",
            ".",
            ",",
            ";",
            "\n",
            "#",
            "|",
            ">",
            "import",
            "os",
            "for",
            "in",
            "def",
            "class",
            "lambda",
            "require",
            "git\\",
            "push",
            "os.",
            "$(",
            "#{",
            "${",
            "%x(",
            "q(",
            "s/",
            "<<A",
            "e",
            "w",
            "!",
            ":",
            "\t",
            "print",
            "getline",
            "'",
            "\x00",
        ]
    ),
    max_size=40,
).map(" ".join)


@pytest.mark.parametrize("language", LANGUAGES)
@QUICK
@given(text=st.one_of(st.text(max_size=200), FRAGMENTS))
def test_no_text_breaks_the_reading(language, text):
    code = started(language, text)

    assert all(argv and all(isinstance(word, str) for word in argv) for argv in code.argvs)
    assert code == started(language, text)


@QUICK
@given(text=st.one_of(st.text(max_size=200), FRAGMENTS), target=st.text(max_size=8))
def test_no_makefile_and_no_package_breaks_the_reading(text, target):
    assert recipes(text, (target,)).opaque is None
    assert isinstance(npm_script(text, target), Code)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("piece", ["(", "[x ", "{x ", "x=", "system ", "exec(x,", "<<A\n", "$(x", "s/a", '"#{'])
def test_long_repetitive_text_is_read_to_its_end(language, piece):
    assert isinstance(started(language, piece * (8_000 // len(piece))), Code)


def test_code_is_read_in_many_threads_at_once():
    text = "import os; os.system('git push'); '\\d'"
    filters = list(warnings.filters)
    with ThreadPoolExecutor(8) as pool:
        codes = list(pool.map(lambda _: started("python", text), range(200)))

    assert {code.scripts for code in codes} == {("git push",)}
    assert warnings.filters == filters
