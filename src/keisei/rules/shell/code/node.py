"""JavaScript for node, deno and bun: what it starts and touches."""

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.code.deed import Value
from keisei.rules.shell.code.dialect import Dialect, Token
from keisei.rules.shell.code.language import Language, kinds
from keisei.rules.shell.code.node_file import KINDS, FileNames, borrowed, file_table
from keisei.rules.shell.code.node_value import bind, value
from keisei.rules.shell.code.result import Code, Found
from keisei.rules.shell.code.scan import Scan, closing

_CHILD = frozenset({"child_process", "node:child_process"})
_CHILD_KINDS = kinds(
    {
        "shell only": "exec execSync",
        "program": "spawn spawnSync execFile execFileSync",
        "file node": "fork",
    }
)
_LOADERS = frozenset({"require", "import", "_load", "getBuiltinModule", "createRequire"})
_TABLE = file_table() | kinds(
    {
        "eval": "eval Function runInThisContext runInNewContext runInContext .runInThisContext .runInNewContext "
        ".runInContext globalThis.eval global.eval window.eval .constructor",
        "opaque": "process.binding process.dlopen .dlopen process._linkedBinding",
        "touch w0": "Bun.write Deno.writeTextFile Deno.writeFile Deno.writeTextFileSync Deno.writeFileSync Deno.create",
        "words 0": "Bun.spawn Bun.spawnSync",
        "program": "Deno.Command",
        "shell only": "shelljs.exec shell.exec execa.command execaCommand execaCommandSync",
    }
)


def node(text: str) -> Code:
    """What JavaScript code starts and touches."""
    found = Found()
    Scan(_JS, text, found).run()
    return _moved(found.code()) if "chdir" in text else found.code()


def _moved(code: Code) -> Code:
    """What code does that goes to another folder on its way: where relative paths are then is not known."""
    writes, deletes = (
        tuple(dict.fromkeys(path if path.startswith(("/", "~")) else UNKNOWN for path in paths))
        for paths in (code.writes, code.deletes)
    )
    return code._replace(writes=writes, deletes=deletes)


def _extra(scan: Scan, at: int) -> None:
    token = scan.tokens[at]
    if scan.memory is None:
        scan.memory = FileNames(scan)
    if token.kind == "word" and token.text in _LOADERS:
        _loaded(scan, at)
    elif token.kind == "word" and token.text in {"$", "execa", "execaSync"}:
        _tagged(scan, at)
    elif token.kind == "word" and token.text == "promisify":
        _promisified(scan, at)
    elif token.kind == "word" and token.text == "Worker":
        _worker(scan, at)
    elif token.kind == "word" and token.text in {"values", "entries", "get"}:
        _taken(scan, at)
    elif token.kind == "word" and token.text in KINDS:
        _file(scan, at)
    if token.kind == "word" and _child(scan):
        _started(scan, at)
    elif token.text == "[" and token.kind == "op" and at:
        _indexed(scan, at)


def _file(scan: Scan, at: int) -> None:
    """A function of a module of files that is known by another name."""
    kind, arguments = scan.memory.kind(at), scan.arguments(at)
    if kind and arguments is not None and scan.kind(at) is None:
        scan.act(kind, arguments)
    for doing, given in borrowed(scan, at):
        scan.act(doing, given)


def _taken(scan: Scan, at: int) -> None:
    """`Object.values(fs)[0]('x')`, `Reflect.get(fs, name)('x')`."""
    arguments = scan.arguments(at) if scan.receiver(at) in {"Object", "Reflect"} else None
    if arguments and arguments[0] and scan.memory.holds(at + 1 + len(arguments[0])):
        scan.found.write(UNKNOWN)


def _promisified(scan: Scan, at: int) -> None:
    """`promisify(exec)('x')`."""
    if at + 1 >= len(scan.tokens) or scan.tokens[at + 1].text != "(":
        return
    end = closing(scan.tokens, at + 1)
    arguments = scan.arguments(end) if end < len(scan.tokens) else None
    name = scan.tokens[end - 1].text
    kind = (_CHILD_KINDS.get(name) if _child(scan) else None) or KINDS.get(name) or scan.aliases.get(name)
    if kind and arguments is not None:
        scan.act(kind, arguments)


def _worker(scan: Scan, at: int) -> None:
    """`new Worker(code, {eval: true})`, `new Worker('./file.js')`."""
    arguments = scan.arguments(at)
    if not arguments or not at or scan.tokens[at - 1].text != "new":
        return
    plain = not arguments[1:] or arguments[1][0].text == "{"
    if any(one.text == "eval" for part in arguments[1:] for one in part) or (not plain and scan.memory.evaluates):
        scan.act("eval", arguments[:1])
    else:
        first = arguments[0]
        address = first[3:4] if [one.text for one in first[:3]] == ["new", "URL", "("] else first
        text = scan.fold(address)
        if isinstance(text, str) and text.startswith("data:"):
            scan.found.opaque("It runs code that stands in an address.")
        else:
            scan.act("file node", [address])


def _child(scan: Scan) -> bool:
    """Whether the code loads the module that starts programs; its names are learnt on the way."""
    if "?child" not in scan.constants:
        scan.constants["?child"] = None
        for at, token in enumerate(scan.tokens):
            if token.kind == "str" and _module(scan, at) in _CHILD:
                scan.constants["?child"] = "yes"
                _learn(scan)
                break
    return scan.constants["?child"] == "yes"


def _module(scan: Scan, at: int) -> str:
    """The text that starts at a string, with what is added to it."""
    end = at + 1
    while end + 1 < len(scan.tokens) and scan.tokens[end].text == "+":
        end += 2
    value = scan.fold(scan.tokens[at:end])
    return value if isinstance(value, str) else ""


def _learn(scan: Scan) -> None:
    """Other names of starters: `{execSync: run}`, `execSync as run`, `run = promisify(cp.exec)`."""
    row = scan.tokens
    for at in range(len(row) - 2):
        if row[at].text in _CHILD_KINDS and row[at + 1].text in {":", "as"} and row[at + 2].kind == "word":
            scan.aliases[row[at + 2].text] = _CHILD_KINDS[row[at].text]
        if row[at].kind == "word" and row[at + 1].text == "=":
            end = scan.statement_end(at + 2)
            for place in range(at + 2, end):
                called = place + 1 < len(row) and row[place + 1].text == "("
                if row[place].kind == "word" and row[place].text in _CHILD_KINDS and not called:
                    scan.aliases[row[at].text] = _CHILD_KINDS[row[place].text]


def _started(scan: Scan, at: int) -> None:
    name, owner = scan.tokens[at].text, scan.receiver(at)
    kind = _CHILD_KINDS.get(name)
    if kind is None or (owner and name == "exec" and not _holds_child(scan, at, owner)):
        return
    if at and scan.tokens[at - 1].text in {"function", "new"}:
        return
    arguments = scan.arguments(at)
    if arguments is None:
        return
    _piped(scan, kind, arguments)
    shell = any(one.text == "shell" for part in arguments[1:] for one in part)
    if kind == "program" and shell:
        _program_in_shell(scan, arguments)
    else:
        scan.act(kind, arguments)


def _piped(scan: Scan, kind: str, arguments: list[list[Token]]) -> None:
    """`execSync('sh', {input: 'x'})`: a shell that gets its program from the code."""
    values = [scan.fold(one) for one in arguments[:2]]
    words = values[0].split() if values and isinstance(values[0], str) else []
    if kind == "program" and len(values) > 1 and isinstance(values[1], list) and arguments[1][0].text != "{":
        words = [*words, *values[1]]
    if kind != "file node":
        given = any(one.text == "input" and one.kind == "word" for part in arguments[1:] for one in part)
        scan.found.piped(words, given=given)


def _program_in_shell(scan: Scan, arguments: list[list[Token]]) -> None:
    values = [scan.fold(one) for one in arguments[:2]]
    words = values[1] if len(values) > 1 and isinstance(values[1], list) else []
    scan.found.script(" ".join([values[0] if isinstance(values[0], str) else UNKNOWN, *words]))


def _holds_child(scan: Scan, at: int, owner: str) -> bool:
    """Whether `owner.exec` is the module's function and not that of a pattern."""
    row = scan.tokens
    if owner == "?":
        return row[at - 2].text in {")", "]"}
    if f"?of {owner}" not in scan.constants:
        scan.constants[f"?of {owner}"] = "yes" if _is_child(scan, owner) else None
    return scan.constants[f"?of {owner}"] == "yes"


def _is_child(scan: Scan, owner: str) -> bool:
    row = scan.tokens
    for place in range(len(row) - 2):
        if row[place].text == owner and row[place + 1].text == "=":
            inner = row[place + 2 : scan.statement_end(place + 2)]
            return not any(one.kind == "re" or one.text == "RegExp" for one in inner)
    return not owner.lower().endswith(("re", "rx", "regex", "regexp", "pattern"))


def _indexed(scan: Scan, at: int) -> None:
    """`require('child_process')['exec' + 'Sync']('x')`, `fs['write' + 'FileSync']('x')`."""
    row = scan.tokens
    before = row[at - 1]
    if not (before.text == ")" or before.kind == "word") or (before.spaced and before.text in {"return", "of", "in"}):
        return
    near = range(at, min(len(row), at + 64))
    end = next((place for place in near if row[place].text == "]" and row[place].kind == "op"), None)
    arguments = scan.arguments(end) if end is not None else None
    files = scan.memory.holds(at - 1)
    if end is None or (arguments is None and not files):
        return
    name = scan.fold(row[at + 1 : end])
    if files and _unread(name, called=arguments is not None):
        scan.found.write(UNKNOWN)
    if arguments is None:
        return
    holds = _child(scan) and (before.text == ")" or _holds_child(scan, at + 1, before.text))
    if isinstance(name, str) and UNKNOWN not in name:
        kind = (_CHILD_KINDS.get(name) if _child(scan) else None) or (KINDS.get(name) if files else None)
        kind = kind or _TABLE.get(f".{name}") or _TABLE.get(name)
        if kind:
            scan.act(kind, arguments)
    elif holds or before.text in {"globalThis", "global", "process"}:
        scan.found.opaque("It calls something by a computed name.")


def _unread(name: Value, *, called: bool) -> bool:
    """Whether a function of a module of files may be any, or one that writes and is kept for later."""
    if not isinstance(name, str) or UNKNOWN in name:
        return True
    return name in KINDS and not called


def _loaded(scan: Scan, at: int) -> None:
    """A module by a computed name may be any module; a path with known parts is a file of the project."""
    arguments = scan.arguments(at)
    if not arguments or scan.tokens[at].text == "createRequire":
        return
    value = scan.fold(arguments[0])
    if not isinstance(value, str) or (UNKNOWN in value and "/" not in value and not value.endswith(".json")):
        resolved = any(one.text in {"resolve", "join", "cwd"} for one in arguments[0])
        if not resolved:
            scan.found.opaque("It loads a module whose name is computed.")
    elif value in {"simple-git", "isomorphic-git", "nodegit"}:
        scan.found.argv(("git",))


def _tagged(scan: Scan, at: int) -> None:
    """Of zx and bun: `$`ls``; execa('git', ['push'])."""
    following = scan.tokens[at + 1] if at + 1 < len(scan.tokens) else None
    if following is None:
        return
    if following.kind == "str" and not following.spaced and scan.tokens[at].text == "$":
        scan.found.script(scan.content(following))
    elif scan.tokens[at].text != "$" and following.text == "(":
        scan.act("program", scan.arguments(at) or [])


_JS = Language(
    name="js",
    dialect=Dialect(
        comments=("//",),
        blocks=(("/*", "*/"),),
        plain="",
        rich="\"'",
        tick="template",
        patterns=True,
        word=r"[A-Za-z_$#][\w$]*",
        quoters="js",
    ),
    glue=("+",),
    table=_TABLE,
    besides=_extra,
    prepare=bind,
    value=value,
)
