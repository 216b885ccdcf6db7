"""make, just and cmake: the files they read, the goals, and the commands in their words."""

from collections.abc import Mapping
from itertools import pairwise

from keisei.rules.shell.launcher.form import Form
from keisei.rules.shell.launcher.found import Found
from keisei.rules.shell.launcher.launch import Hand, Launch, Words
from keisei.rules.shell.launcher.option import Scan
from keisei.rules.shell.launcher.reading import is_assignment, read_operands
from keisei.rules.shell.launcher.role import read_roles

MAKE = (
    "-bBdeikmnpqrRsStvwL -C=:dir -f=:makefile -IoW= -E=:code -j# -l# -O? --directory=:dir --file=:makefile"
    " --makefile=:makefile --eval=:code"
    " --include-dir= --old-file= --assume-old= --new-file= --assume-new= --what-if= --jobs# --load-average# --max-load#"
    " --debug? --output-sync? --shuffle? --jobserver-auth= --jobserver-fds= --jobserver-style= --always-make"
    " --environment-overrides --ignore-errors --keep-going --no-keep-going --stop --touch --trace --just-print"
    " --dry-run"
    " --recon --print-data-base --question --no-builtin-rules --no-builtin-variables --silent --quiet --no-silent"
    " --print-directory --no-print-directory --warn-undefined-variables --check-symlink-times --version:stop"
    " --help:stop"
    " -h:stop --sync-output="
)
JUST = (
    "-nqvuy -d=:dir -f=:justfile --working-directory=:dir --justfile=:justfile --set==  --dotenv-path= -E="
    " --dotenv-filename= --color="
    " --shell=:prog --shell-arg= --chooser=:sh --list-heading= --list-prefix= --dry-run --quiet --verbose --unstable"
    " --yes"
    " -c:words --command:words -l:stop --list:stop -s=:stop --show=:stop --summary:stop --evaluate -e:stop --edit:stop"
    " --dump:stop --fmt:stop --init:stop --choose --variables:stop --groups:stop --completions=:stop -V:stop -h:stop"
)


def _make(words: Words) -> Launch | None:
    scan = Scan(words, MAKE, frozenset({"permute"}))
    if scan.has("stop"):
        return None
    found = Found(transparent=False)
    read_roles(scan, "make", found)
    for path in scan.values("makefile") or ["Makefile"]:
        found.code_file("make", path)
    found.code = [("make", text) for text in scan.values("code")]
    targets: list[str] = []
    for word in scan.rests()[0]:
        if "=" in word:
            _make_variable(word, found)
        elif not word.isdigit():
            targets.append(word)
    found.targets = tuple(targets)
    return found.launch()


def _make_variable(word: str, found: Found) -> None:
    name, _, value = word.partition("=")
    if name.endswith("!"):
        found.script(value)
    elif "$(" in value or "${" in value:
        found.code.append(("make", word))
    found.assigns.append((name.rstrip(":+?! "), value))


def _just(words: Words) -> Launch | None:
    scan = Scan(words, JUST, frozenset({"permute"}))
    if scan.has("stop"):
        return None
    found = Found(transparent=False)
    read_roles(scan, "just", found)
    if scan.has("words"):
        found.argv(scan.tail())
        return found.launch()
    for path in scan.values("justfile") or ["justfile"]:
        found.code_file("just", path)
    rest = scan.rests()[0]
    found.assigns = [(word.partition("=")[0], word.partition("=")[2]) for word in rest if is_assignment(word)]
    found.targets = tuple(word for word in rest if not is_assignment(word))
    return found.launch()


def _cmake(words: Words) -> Launch | None:
    found = Found(transparent=False)
    for option, value in pairwise(words[1:]):
        if option == "-P":
            found.code_file("cmake", value)
            return found.launch()
    if words[1:2] != ("-E",) or len(words) < 3:  # noqa: PLR2004 - cmake -E COMMAND
        return None
    rest = words[3:]
    if words[2] == "env":
        scan = Scan(words[2:], "--unset= --modify=", frozenset())
        read_operands(Form(marks=frozenset({"assigns"})), scan, ("env", *scan.tail()), found, [])
    elif words[2] == "time":
        found.argv(rest)
    elif words[2] == "chdir" and rest:
        found.go(rest[0])
        found.argv(rest[1:])
    return found.launch()


HANDS: Mapping[str, Hand] = {
    "make": _make,
    "just": _just,
    "cmake": _cmake,
}
