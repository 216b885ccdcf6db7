"""PHP code: what it starts and touches."""

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.code.dialect import Dialect, Token
from keisei.rules.shell.code.language import Language, kinds
from keisei.rules.shell.code.result import Code
from keisei.rules.shell.code.scan import Scan, scanned


def _php_extra(scan: Scan, at: int) -> None:
    """`$f('x')` with a constant name, `('sys'.'tem')('x')`, `call_user_func('system', 'x')`."""
    token = scan.tokens[at]
    following = scan.tokens[at + 1] if at + 1 < len(scan.tokens) else None
    if token.kind == "word" and token.text.startswith("call_user_func") and not scan.receiver(at):
        arguments = scan.arguments(at) or []
        _php_named(scan, scan.fold(arguments[0]) if arguments else None, arguments[1:])
    elif token.kind == "word" and token.text in {"array_map", "array_walk", "array_filter", "usort"}:
        _php_mapped(scan, at)
    elif following is not None and following.text == "(" and token.text[:1] == "$":
        _php_named(scan, scan.constants.get(token.text), scan.arguments(at) or [])
    elif following is not None and following.text == "(" and token.text == ")" and token.kind == "op":
        _php_named(scan, scan.fold(_group_before(scan, at)), scan.arguments(at) or [])
    elif following is not None and following.text == "(" and token.kind == "str":
        _php_named(scan, scan.content(token), scan.arguments(at) or [])


def _php_mapped(scan: Scan, at: int) -> None:
    arguments = scan.arguments(at) or []
    for one in arguments:
        name = scan.fold(one)
        if isinstance(name, str) and name in scan.language.table:
            others = [other for other in arguments if other is not one]
            for other in others:
                values = scan.fold(other)
                for value in values if isinstance(values, list) else [UNKNOWN]:
                    scan.found.script(value)


def _php_named(scan: Scan, name: object, arguments: list[list[Token]]) -> None:
    kind = scan.language.table.get(name) if isinstance(name, str) else None
    if kind:
        scan.act(kind, arguments)


def _group_before(scan: Scan, at: int) -> list[Token]:
    depth, start = 0, at
    while start >= max(0, at - 64):
        token = scan.tokens[start]
        if token.kind == "op":
            depth += (token.text == ")") - (token.text == "(")
        if depth == 0:
            break
        start -= 1
    return list(scan.tokens[start + 1 : at])


_PHP = Language(
    name="php",
    dialect=Dialect(
        comments=("#", "//"), blocks=(("/*", "*/"),), holes="$", tick="cmd", word=r"\$*[A-Za-z_]\w*", quoters="php"
    ),
    glue=(".",),
    table=kinds(
        {
            "shell only": "exec shell_exec system passthru popen proc_open",
            "program": "pcntl_exec",
            "eval": "eval assert create_function",
            "opaque": "dl",
            "file php": "",
            "open": "fopen",
            "touch w0": "file_put_contents mkdir touch chmod chown ftruncate",
            "link symbolic": "symlink",
            "link": "link",
            "touch w1": "copy move_uploaded_file",
            "touch d0": "unlink rmdir",
            "touch d0 w1": "rename",
        }
    ),
    dots=("->", "::"),
    besides=_php_extra,
)


def php(text: str) -> Code:
    """What PHP code starts and touches; of a page only what stands between its tags."""
    if "<?" in text:
        pieces = text.split("<?")[1:]
        text = ";\n".join(piece.partition("?>")[0].removeprefix("php").removeprefix("=") for piece in pieces)
    return scanned(_PHP, text)
