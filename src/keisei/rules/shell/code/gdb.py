"""Commands of gdb: what they start, and the Python code among them."""

import re

from keisei.rules.shell.code.result import Code, Found

_GDB = re.compile(
    r"\s*(!|\||(?:shell|make|pipe|source|python-interactive|python|py|pi|eval|guile|gu)(?=\W|$))\s*(.*)", re.DOTALL
)


def gdb(text: str) -> tuple[Code, str]:
    """What gdb commands start, and the Python code among them."""
    found = Found()
    code: list[str] = []
    lines = text.splitlines() or [""]
    inside = False
    for line in lines:
        match = _GDB.match(line)
        if inside:
            inside = line.strip() != "end"
            code.extend([line] if inside else [])
        elif match and match[1] in {"python", "py", "pi", "python-interactive"}:
            inside = not match[2]
            code.extend([match[2]] if match[2] else [])
        elif match:
            _gdb_command(found, match[1], match[2])
    return found.code(), "\n".join(code)


def _gdb_command(found: Found, name: str, rest: str) -> None:
    if name in {"shell", "!"}:
        found.script(rest)
    elif name in {"pipe", "|"}:
        found.script(rest.partition("|")[2])
    elif name == "make":
        found.script(f"make {rest}".strip())
    elif name in {"eval", "guile", "gu"}:
        found.opaque("It evaluates code that cannot be read.")
