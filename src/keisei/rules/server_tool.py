"""Tools of MCP servers: what their fields mean, declared by the project or inferred from their names. Falls closed."""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from keisei.records.effect import UNKNOWN, Command, Effects, Target
from keisei.records.project import ToolFields
from keisei.rules.shell.ground import TooMuch

PATHS: Final = frozenset({"path", "paths", "file", "files", "filepath", "filename", "filenames", "notebook"})
"""Words that name a path, whatever the value looks like."""
PLACES: Final = frozenset(
    {
        *(
            "dest",
            "destination",
            "dst",
            "src",
            "source",
            "target",
            "dir",
            "directory",
            "folder",
            "root",
            "output",
            "from",
        ),
        *("to", "location", "cwd", "workdir", "uri", "url", "link", "archive", "image", "out"),
    }
)
"""Words that name a path, unless the value is a web address."""
COMMANDS: Final = frozenset({"cmd", "command", "commands", "script", "shell", "bash", "argv", "exec"})
CODES: Final = frozenset({"code", "python", "javascript", "expression", "eval"})
PROGRAMS: Final = ("command", "cmd", "program", "executable", "binary")
TEXTS: Final = frozenset(
    {"content", "contents", "text", "body", "message", "query", "pattern", "title", "description", "prompt", "regex"}
    | {"sql", "data", "name", "label", "value"}
)
"""Words of fields that hold text, not paths, whatever the text looks like."""
READS: Final = frozenset(
    {
        *("read", "get", "list", "search", "find", "grep", "stat", "info", "tree", "view", "show", "describe", "query"),
        *(
            "head",
            "tail",
            "cat",
            "exists",
            "diff",
            "fetch",
            "check",
            "count",
            "inspect",
            "lookup",
            "glob",
            "open",
            "load",
        ),
    }
)
WRITES: Final = frozenset(
    {
        *("write", "create", "save", "replace", "update", "set", "put", "edit", "modify", "append", "insert", "delete"),
        *(
            "remove",
            "move",
            "rename",
            "copy",
            "upload",
            "download",
            "export",
            "import",
            "apply",
            "patch",
            "store",
            "make",
        ),
        *("to", "into", "sync", "touch", "mkdir", "rm", "unlink", "purge", "clean", "add", "commit", "push"),
    }
)
DELETES: Final = frozenset({"delete", "remove", "unlink", "rm", "trash", "purge", "drop", "clean"})
MOVES: Final = frozenset({"move", "rename", "mv"})
TYPING: Final = frozenset({"interact", "stdin", "process", "terminal", "type", "keys", "send"})
TYPED: Final = frozenset({"input", "keys", "chars", "stdin", "keystrokes"})
WEB: Final = re.compile(r"(?:https?|wss?)://", re.IGNORECASE)
SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
LOOKS: Final = re.compile(r"(?:/|\./|\.\./|~/|file:)[^\n\r]*", re.IGNORECASE)
FILE: Final = re.compile(r"file:(?://([^/]*))?(/.*)", re.IGNORECASE | re.DOTALL)
DEEPEST: Final = 8
MOST: Final = 1000
"""Texts in one input. More are no call anybody can judge."""

Shell = Callable[[str], Effects]
"""The effects of shell text."""


def declared_effects(name: str, data: dict[str, Any], fields: ToolFields, cwd: str, shell: Shell) -> Effects:
    """The effects of a tool whose fields the project declares. A field of another shape makes the call unknown."""
    keys = (*fields.writes, *fields.deletes, *fields.reads, *fields.commands, *fields.network)
    odd = next((key for key in keys if not is_text(data.get(key))), None)
    if odd is not None:
        return Effects(unknown=f"`{name}` holds something in `{odd}` that is neither text nor a list of texts")

    def paths(names: tuple[str, ...]) -> tuple[Target, ...]:
        return tuple(Target(path=local(text), cwd=cwd, how=name) for key in names for text in texts(data.get(key)))

    own = Effects(
        writes=paths(fields.writes),
        deletes=paths(fields.deletes),
        reads=paths(fields.reads),
        network=tuple(text for key in fields.network for text in texts(data.get(key))),
    )
    scripts = [text for key in fields.commands for text in texts(data.get(key))]
    return merged([own, *map(shell, scripts)])


def is_text(value: object) -> bool:
    """Whether it is a text, a list of texts, or nothing."""
    return (
        value is None or isinstance(value, str) or (isinstance(value, list) and all(isinstance(x, str) for x in value))
    )


def texts(value: object) -> Iterator[str]:
    """The texts in it."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        yield from (each for each in value if isinstance(each, str))


def inferred_effects(name: str, data: dict[str, Any], cwd: str, shell: Shell) -> Effects:
    """The effects of a tool nobody declared: fields that carry paths count as written, unless it only reads."""
    server, _, verb = name.removeprefix("mcp__").rpartition("__")
    verbs = set(_words(verb))
    found: dict[str, list[Target]] = {"writes": [], "deletes": [], "reads": []}
    network: list[str] = []
    unresolved: dict[str, None] = {}
    scripts: list[str] = []
    kind = "reads" if verbs & READS and not verbs & WRITES else "deletes" if verbs & DELETES else "writes"
    for number, (key, text) in enumerate(_fields(data)):
        if number > MOST:
            raise TooMuch
        words = set(_words(key))
        if SCHEME.match(text) and not text.lower().startswith("file:"):
            network.append(text)
        if words & COMMANDS:
            scripts.append(text)
        elif verbs & TYPING and words & TYPED:
            unresolved[f"`{name}` types into a program that is already running"] = None
        elif words & CODES:
            unresolved[f"`{name}` runs code"] = None
        elif _is_path(words, text):
            target = Target(path=local(text), cwd=cwd, how=name)
            found[kind].append(target)
            if verbs & MOVES:
                found["deletes"].append(target)
    said = f"{server or name} {verb}"
    own = Effects(
        commands=(Command(argv=(server or name, verb), text=said, exact=said, listed=False),),
        writes=tuple(found["writes"]),
        deletes=tuple(found["deletes"]),
        reads=tuple(found["reads"]),
        network=tuple(network),
        unresolved=tuple(unresolved),
    )
    return merged([own, *map(shell, scripts)])


def _is_path(words: set[str], text: str) -> bool:
    if words & PATHS:
        return words != {"name", "path"}  # a symbol's name, as language servers write it
    if words & TEXTS:
        return False
    if words & PLACES:
        return not WEB.match(text)
    return LOOKS.fullmatch(text) is not None


def _words(name: str) -> list[str]:
    """The words of a name: `newFilePath`, `new_file_path` and `new-file-path` have the same."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return [word for word in re.split(r"[^A-Za-z0-9]+", spaced.lower()) if word]


def local(text: str) -> str:
    """A path, also where it is written as a file address; one of another machine is not known."""
    match = FILE.fullmatch(text)
    if match is None:
        return text
    if (match[1] or "localhost").lower() != "localhost":
        return UNKNOWN
    return re.sub("%([0-9A-Fa-f]{2})", lambda code: chr(int(code[1], 16)), match[2])


def _fields(data: object, key: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Every text in an input with the key it stands under. Raises TooMuch where it is nested too deeply."""
    if depth > DEEPEST:
        raise TooMuch
    if isinstance(data, str):
        if data:
            yield key, data
    elif isinstance(data, dict):
        yield from _command_line(data)
        for name, value in data.items():
            yield from _fields(value, str(name), depth + 1)
    elif isinstance(data, list):
        if set(_words(key)) & COMMANDS and data and all(isinstance(each, str) for each in data):
            yield key, " ".join(map(_quoted, data))
            return
        for value in data:
            yield from _fields(value, key, depth + 1)


def _command_line(data: dict[Any, Any]) -> Iterator[tuple[str, str]]:
    """A program in one field and its words in another."""
    program = next((data[name] for name in PROGRAMS if isinstance(data.get(name), str)), None)
    words = next((data[name] for name in ("args", "arguments", "argv") if isinstance(data.get(name), list)), None)
    if program is not None and words:
        yield "command", " ".join([program, *(_quoted(str(word)) for word in words)])
    elif program is not None and not isinstance(data.get("command", data.get("cmd")), str):
        yield "command", program


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"


def merged(parts: list[Effects]) -> Effects:
    """The effects of several things a call does."""
    data: dict[str, Any] = {
        name: tuple(dict.fromkeys(each for part in parts for each in getattr(part, name)))
        for name in ("commands", "writes", "deletes", "reads", "network", "agents", "unresolved")
    }
    unknown = next((part.unknown for part in parts if part.unknown), None)
    return Effects(**data, unknown=unknown)
