"""SQLite: the database, and the files that its commands and statements name."""

import re

from keisei.rules.shell.target.call import Call
from keisei.rules.shell.target.page import Page, Shape, note

_DOT_WRITES = re.compile(r"\s*\.(?:output|once|open|backup|save|log|trace|clone)\b(.*)", re.DOTALL)

_SQL_WRITES = re.compile(r"\b(?:attach(?:\s+database)?|vacuum[^;']{0,200}?into)\s+'([^']*)'", re.IGNORECASE)


def _sqlite(call: Call, page: Page) -> None:
    for path in call.operands[:1]:
        name = path.removeprefix("file:").partition("?")[0] if path.startswith("file:") else path
        if name != ":memory:":
            note([name], page, writes=not call.has("readonly"))
    for text in (*call.operands[1:], *call.values("cmd")):
        dot = _DOT_WRITES.match(text)
        for path in dot[1].split() if dot else _SQL_WRITES.findall(text):
            if path != "stdout" and not path.startswith("-"):
                page.write(path.strip("'\""))


SHAPES: dict[str, Shape] = {
    "sqlite": _sqlite,
}
"""How the shell of SQLite reads operands, by the name the tables use."""
