"""node and deno: the program as text or file, or the task that hides it."""

from collections.abc import Mapping

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.launcher.found import Found
from keisei.rules.shell.launcher.interpreter import interpret
from keisei.rules.shell.launcher.language import LANGUAGES
from keisei.rules.shell.launcher.launch import Hand, Launch, Words
from keisei.rules.shell.launcher.option import Scan

DENO_RUN = "-c= --config= --import-map= --lock= --cert= --ext= --reload? -r? --location= --seed= --env-file?"


def _node(words: Words) -> Launch | None:
    words = tuple("-e" if word == "-pe" else word for word in words)
    if words[1:2] == ("inspect",):
        words = ("node", *words[2:])
    return interpret(LANGUAGES["node"], words)


def _deno(words: Words) -> Launch | None:
    scan = Scan(words, "-L= --log-level= -q --quiet", frozenset({"lenient"}))
    rest = scan.rests()[0]
    found = Found(transparent=False)
    if not rest or rest[0] in {"repl", "-"}:
        found.reads_code = "javascript" if words[1:] == rest else None
        return found.launch()
    inner = Scan(rest, DENO_RUN, frozenset({"lenient"}))
    operands = inner.rests()[0]
    if rest[0] == "eval":
        found.code = [("javascript", text) for text in operands[:1]]
    elif rest[0] in {"run", "serve", "watch"}:
        found.code_file("javascript", "".join(operands[:1]))
    elif rest[0] == "task":
        found.hide("deno task runs a task of deno.json" if operands else None)
    elif "." in rest[0] or "/" in rest[0] or UNKNOWN in rest[0]:
        found.code_file("javascript", rest[0])
    return found.launch()


HANDS: Mapping[str, Hand] = {
    "node": _node,
    "deno": _deno,
}
