"""perl: its program, and the operands that it opens as commands while it loops over its input."""

from collections.abc import Mapping

from keisei.rules.shell.launcher.interpreter import interpret
from keisei.rules.shell.launcher.language import LANGUAGES
from keisei.rules.shell.launcher.launch import Hand, Launch, Words
from keisei.rules.shell.launcher.option import Scan

LOOPS = frozenset({"-n", "-p", "-a", "-F"})
"""Options that make perl open its operands one after another; the last two mean `-n` as well."""


def _perl(words: Words) -> Launch | None:
    language = LANGUAGES["perl"]
    launch = interpret(language, words)
    scan = Scan(words, language.spec, language.marks)
    if launch is None or not (scan.names() & LOOPS or any("<>" in text or "<<>>" in text for _, text in launch.code)):
        return launch
    first = 0 if scan.has("code") else 1
    texts = (_piped(word) for rest in scan.rests() for word in rest[first:])
    return launch._replace(scripts=tuple(dict.fromkeys((*launch.scripts, *(text for text in texts if text)))))


def _piped(operand: str) -> str:
    """What happens where perl opens this operand: `command |` and `| command` run, `>file` is emptied."""
    text = operand.strip()
    if text.startswith(">"):
        return f": {text}"
    if text.endswith("|"):
        return text[:-1].strip()
    return text[1:].strip() if text.startswith("|") else ""


HANDS: Mapping[str, Hand] = {
    "perl": _perl,
}
