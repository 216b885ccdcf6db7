"""Folding: what a command prints, where its words alone decide that. None where the world would have to be asked."""

import posixpath
import re
from typing import Final

from keisei.records.effect import BELOW, UNKNOWN
from keisei.rules.shell.escape import spelled, unescaped

FORMAT: Final = re.compile(r"%(?:[dib%]|(-?)([0-9]{0,3})s)")
MADE: Final = "/tmp/tmp.keisei"  # noqa: S108 - a stand-in for the name mktemp will choose
SAFE_DATE: Final = re.compile(r"[A-Za-z0-9%:_. +=-]*$")
LONGEST: Final = 65536


def printed(argv: tuple[str, ...], cwd: str) -> str | None:
    """What the command writes to its standard output, or None. Words in it may hold UNKNOWN."""
    program, rest = argv[0].rsplit("/", 1)[-1], argv[1:]
    if program == "echo":
        return _echo(rest)
    if program == "printf":
        return _printf(rest)
    if program == "pwd":
        return f"{cwd}\n"
    if program == "date" and all(SAFE_DATE.match(word) for word in rest):
        return "0\n"
    if program == "mktemp":
        return _made(rest)
    if program in ("basename", "dirname") and rest and UNKNOWN not in rest[0]:
        path = rest[0].rstrip("/") or "/"
        name = posixpath.basename(path) if program == "basename" else posixpath.dirname(path) or "."
        return f"{name.removesuffix(rest[1]) if program == 'basename' and len(rest) > 1 else name}\n"
    if program == "realpath" and len(rest) == 1 and UNKNOWN not in rest[0]:
        return f"{posixpath.normpath(posixpath.join(cwd, rest[0]))}\n"
    if program == "seq" and rest and all(re.fullmatch(r"-?[0-9]+", word) for word in rest):
        return "0\n"
    if program in ("find", "grep", "egrep", "fgrep", "rg", "ls"):
        return _listed(program, rest)
    return _found(program, rest)


def _made(rest: tuple[str, ...]) -> str | None:
    """The name `mktemp` will choose, as far as it matters: its template, or somewhere among temporary files."""
    if rest and rest[-1].startswith("/") and UNKNOWN not in rest[-1]:
        return f"{rest[-1]}\n" if all(word in ("-d", "-q") for word in rest[:-1]) else None
    return f"{MADE}\n" if all(word in ("-d", "-q", "-t", "--directory", "--quiet") for word in rest) else None


def _listed(program: str, rest: tuple[str, ...]) -> str | None:
    """Programs that name files below the folders they are given: those folders, with something below each."""
    words = [word for word in rest if not word.startswith("-")]
    options = "".join(word for word in rest if re.fullmatch(r"-[a-zA-Z]+", word))
    if program == "find":
        words = []
        for word in rest:
            if word.startswith(("-", "(", "!")):
                break
            words.append(word)
        wanted = not any(word.startswith("-printf") for word in rest)
    elif program == "ls":
        wanted = not options and all("/" in word and any(char in word for char in "*?[") for word in words)
        words = [posixpath.dirname(word) for word in words]
    else:
        wanted = "l" in options and (program == "rg" or "r" in options or "R" in options)
        words = words[1:]  # the first is the pattern
    if not wanted or not words or any(UNKNOWN in word or word.startswith(("..", "/..")) for word in words):
        return None
    return "".join(f"{word.rstrip('/')}/{BELOW}\n" for word in words)


def _found(program: str, rest: tuple[str, ...]) -> str | None:
    """`which git` and its relatives: the program itself, wherever it stands."""
    if (program == "command" and rest[:1] == ("-v",)) or (program == "type" and rest[:1] in (("-p",), ("-P",))):
        names = rest[1:]
    elif program == "which":
        names = tuple(word for word in rest if not word.startswith("-"))
    else:
        return None
    if len(names) == 1 and UNKNOWN not in names[0]:
        return f"{names[0] if '/' in names[0] else f'/usr/bin/{names[0]}'}\n"
    return None


def _echo(rest: tuple[str, ...]) -> str:
    words, newline, escapes = list(rest), "\n", False
    while words and re.fullmatch(r"-[neE]+", words[0]):
        option = words.pop(0)
        newline = "" if "n" in option else newline
        last = max(option.rfind("e"), option.rfind("E"))
        escapes = option[last] == "e" if last > 0 else escapes
    text = " ".join(words)
    if not escapes:
        return text + newline
    spoken, ended = spelled(text)
    return spoken if ended else spoken + newline


def _printf(rest: tuple[str, ...]) -> str | None:
    words = list(rest)
    plain = words[:1] == ["--"]
    if plain:
        words = words[1:]
    if not words or (words[0].startswith("-") and not plain) or UNKNOWN in words[0] or "\\c" in words[0]:
        return None
    template, arguments = unescaped(words[0]), words[1:]
    pieces = [match[0] for match in FORMAT.finditer(template)]
    if "%" in FORMAT.sub("", template):
        return None
    takes = sum(piece != "%%" for piece in pieces)
    out = ""
    while True:
        taken, arguments = arguments[:takes], arguments[takes:]
        out += _filled(template, taken)
        if not arguments or not takes or len(out) > LONGEST:
            return out


def _filled(template: str, arguments: list[str]) -> str:
    values = iter(arguments)

    def one(match: re.Match[str]) -> str:
        if match[0] == "%%":
            return "%"
        value = next(values, "")
        if match[0] == "%b":
            return spelled(value)[0]
        width = int(match[2] or 0)
        return value.ljust(width) if match[1] else value.rjust(width)

    return FORMAT.sub(one, template)


def filtered(argv: tuple[str, ...], text: str | None) -> str | None:
    """What a filter makes of its input: a count is some number, and names of files stay names of files."""
    program, rest = argv[0].rsplit("/", 1)[-1], argv[1:]
    if program == "wc" and all(word.startswith("-") for word in rest):
        return "0\n"
    if text is None or not all(word.startswith("-") or word.isdigit() for word in rest):
        return None
    listing = all(line.endswith(BELOW) for line in text.splitlines())
    return text if listing and program in ("sort", "uniq", "head", "tail", "cat", "tac", "shuf") else None
