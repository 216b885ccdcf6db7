"""Lua code: what it starts and touches."""

from keisei.rules.shell.code.dialect import Dialect
from keisei.rules.shell.code.language import Language, kinds
from keisei.rules.shell.code.result import Code
from keisei.rules.shell.code.scan import Scan, scanned


def _lua_extra(scan: Scan, at: int) -> None:
    """`os["execute"]("x")`."""
    row = scan.tokens
    if row[at].text not in {"os", "io", "_G"} or at + 2 >= len(row) or row[at + 1].text != "[":
        return
    near = range(at, min(len(row), at + 64))
    end = next((place for place in near if row[place].text == "]" and row[place].kind == "op"), None)
    if end is None:
        return
    name = scan.fold(row[at + 2 : end])
    kind = scan.language.table.get(f"{row[at].text}.{name}") if isinstance(name, str) else "opaque"
    arguments = scan.arguments(end)
    if kind and arguments is not None:
        scan.act(kind, arguments)


_LUA = Language(
    name="lua",
    dialect=Dialect(comments=("--",), blocks=(("--[[", "]]"),), long=True),
    glue=("..",),
    table=kinds(
        {
            "shell only": "os.execute io.popen",
            "eval": "load loadstring",
            "file lua": "dofile loadfile",
            "open": "io.open",
            "touch k0": "io.output",
            "touch d0": "os.remove",
            "touch d0 w1": "os.rename",
            "opaque": "package.loadlib",
        }
    ),
    dots=(".", ":"),
    besides=_lua_extra,
)


def lua(text: str) -> Code:
    """What Lua code starts and touches."""
    return scanned(_LUA, text)
