"""awk: its program, with the variables that the words set written before it.

They stand there only where they keep their value: what may change is left unknown.
"""

import re
from collections.abc import Mapping

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.launcher.form import names
from keisei.rules.shell.launcher.interpreter import interpret
from keisei.rules.shell.launcher.language import LANGUAGES
from keisei.rules.shell.launcher.launch import Hand, Launch, Words
from keisei.rules.shell.launcher.option import Scan

ASSIGNMENT = re.compile(r"((?:[A-Za-z_]\w*::)?[A-Za-z_]\w*)=(.*)", re.ASCII | re.DOTALL)
UNCLEAR = re.compile(rf"(?:[A-Za-z_][\w:]*)?[{UNKNOWN}*?\[]", re.ASCII)
"""A word that may turn out to be an assignment, to a name that nobody knows yet."""
RESETS = re.compile(rf"\b(?:getline|function|func|g?sub|in|ARGV|ARGC|SYMTAB)\b|[@{UNKNOWN}]")
"""A program that may change a variable in another way than with a plain assignment."""
OWN = names("FILENAME FNR NR NF RT RSTART RLENGTH ERRNO")
"""Variables that awk itself changes."""
SPECIAL = re.compile(r'\\[^\n]|[\\"\n]')
ESCAPED = {"\\": "\\\\", '"': '\\"', "\n": "\\n"}


def _awk(words: Words) -> Launch | None:
    language = LANGUAGES["awk"]
    scan = Scan(words, language.spec, language.marks)
    if any(value.startswith(("e", "s", "f", "i", UNKNOWN)) for value in scan.values("wide")):
        return Launch(transparent=False, opaque="awk -W may name a program that is not read")
    launch = interpret(language, words)
    if launch is None or scan.has("codefile") or not (scan.has("assign") or _sets(scan)):
        return launch
    if any(RESETS.search(text) for _, text in launch.code):
        return launch
    lines = _assignments(scan)
    return launch._replace(code=tuple((name, "\n".join((*lines, text))) for name, text in launch.code))


def _sets(scan: Scan) -> bool:
    """Whether an operand sets a variable."""
    return any(ASSIGNMENT.fullmatch(word) for rest in scan.rests() for word in rest)


def _assignments(scan: Scan) -> list[str]:
    """A line of awk for every variable that the words set; none where a word may set one that is not known.

    Operands set variables too, later than `-v`: a variable with two values is left to whoever reads the text.
    """
    first = 0 if scan.has("code") else 1
    operands = [word for rest in scan.rests() for word in rest[first:]]
    words = [*scan.values("assign"), *operands]
    if any(UNCLEAR.match(word) for word in words):
        return []
    pairs = [(match[1], match[2]) for match in map(ASSIGNMENT.fullmatch, words) if match]
    return [f'BEGIN {{ {name} = "{_escaped(value)}" }}' for name, value in pairs if name.rpartition(":")[2] not in OWN]


def _escaped(value: str) -> str:
    """The value between quotes. Its own escapes stay: awk reads them in a value as it does in a string."""
    return SPECIAL.sub(lambda match: ESCAPED.get(match[0], match[0]), value)


HANDS: Mapping[str, Hand] = {
    "awk": _awk,
}
