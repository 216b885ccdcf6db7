"""Reads a command line by its form: options first, then operands and assignments, then what is started."""

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.launcher.form import Form, names
from keisei.rules.shell.launcher.found import Found
from keisei.rules.shell.launcher.launch import Launch, Words
from keisei.rules.shell.launcher.option import Scan
from keisei.rules.shell.launcher.role import read_roles

KEYS = names("Enter C-m C-j KPEnter Space Tab Escape C-c C-d C-l C-u BSpace Up Down")
"""Names of keys that are not text."""


def start(form: Form, words: Words) -> Launch | None:
    """What a line of that form starts; None where that is nothing."""
    found = Found(transparent="visible" not in form.marks, remote="remote" in form.marks)
    follow(form, words, found)
    return found.launch()


def follow(form: Form, words: Words, found: Found) -> None:
    """Reads a form, and the forms of its commands, as deep as the table goes."""
    while True:
        scan = Scan(words, form.spec, form.marks)
        if scan.has("stop"):
            return
        found.remote = found.remote or "remote" in form.marks
        read_roles(scan, words[0], found)
        if form.subs is None:
            break
        rest = next((rest for rest in scan.rests() if rest and rest[0] in form.subs), scan.rests()[0])
        if not rest or rest[0] not in form.subs:
            if rest and UNKNOWN in rest[0]:
                found.hide(f"which command of {words[0]} runs is not known before it runs")
            return
        form, words = form.subs[rest[0]], (words[0], *rest[1:])
    if "stdin" in form.marks and not found.files:
        found.reads_script = True
    entry = [*scan.values("entry")][-1:]
    for rest in scan.rests():
        read_operands(form, scan, (words[0], *rest), found, entry)


def read_operands(form: Form, scan: Scan, words: Words, found: Found, entry: list[str]) -> None:
    """What follows the options: operands, assignments, and then what is started."""
    kind = next((role for role in ("words", "text", "keys") if scan.has(role)), form.rest)
    before = 0 if kind == "words" and form.rest == "shell" else form.before
    rest = words[1:]
    if "dashes" in form.marks:
        rest = _after_dashes(scan, rest, before)
        before = min(before, len(rest)) if not scan.dashed else 0
    elif kind == "shell" and rest[:1] == ("-",):
        rest = rest[1:]
    if any(word.startswith(UNKNOWN) for word in rest[:before]) and not (scan.dashed and not scan.permute):
        found.hide(f"{words[0]} has an operand that is not known before it runs")
    enough = len(rest) >= before
    rest = rest[before:]
    if rest[:1] == ("--",):
        rest = rest[1:]
    if "assigns" in form.marks:
        rest = _assigned(rest, found)
    line = (*entry, *rest)
    if line:
        tell(kind, line, found)
    elif (scan.has("shell") or (enough and "shell" in form.marks)) and not found.scripts:
        found.argv(("sh",))
    if kind == "shell" and not line and not found.scripts:
        found.argv(("sh",))


def _after_dashes(scan: Scan, rest: Words, before: int) -> Words:
    """The words after `--`; where there is none and operands are expected, all of them."""
    if scan.dashed:
        return scan.tail()
    return rest if before else ()


def _assigned(rest: Words, found: Found) -> Words:
    at = 0
    while at < len(rest) and is_assignment(rest[at]):
        name, _, value = rest[at].partition("=")
        found.assigns.append((name, value))
        at += 1
    return rest[at:]


def is_assignment(word: str) -> bool:
    """Whether the word is NAME=VALUE with a name that is known."""
    name, sign, _ = word.partition("=")
    return bool(sign and name) and UNKNOWN not in name


def tell(kind: str, line: Words, found: Found) -> None:
    """Adds what the words after the options start, by their kind."""
    if kind == "words":
        found.argv(line)
    elif kind == "text":
        found.script(" ".join(line[1:] if line[0] == "-c" else line))
    elif kind == "each":
        for text in line:
            found.script(text)
    elif kind == "keys":
        _keys(line, found)
    elif kind == "python":
        found.argv(("python", *line))
    elif kind == "shell" and not found.scripts:
        found.argv(("sh", *line))


def _keys(line: Words, found: Found) -> None:
    """Keys typed into a terminal: told as one word and as many."""
    text = [" " if word == "Space" else word for word in line if word not in KEYS or word == "Space"]
    for glue in ("", " "):
        found.script(glue.join(text).replace("\\n", "\n").replace("^M", "\n").replace("\\015", "\n").strip())
