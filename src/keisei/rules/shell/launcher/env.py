"""`env`: the program behind its options and assignments, however often `-S` is nested."""

from collections.abc import Mapping

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.launcher.found import Found
from keisei.rules.shell.launcher.launch import Hand, Launch, Words
from keisei.rules.shell.launcher.option import Given, Scan, parsed
from keisei.rules.shell.launcher.reading import read_operands
from keisei.rules.shell.launcher.role import read_roles
from keisei.rules.shell.launcher.splitter import split_words
from keisei.rules.shell.launcher.table import LAUNCHERS

NESTED = 16
"""How often `env -S` may hold another `env -S`."""


def _env(words: Words) -> Launch | None:
    """`env`, with `-S` taken apart as often as it is nested."""
    form = LAUNCHERS["env"]
    found = Found()
    for _ in range(NESTED):
        scan = Scan(words, form.spec, form.marks)
        split = next((index for index, given in enumerate(scan.given) if "split" in given.roles), None)
        if split is None:
            break
        value = scan.given[split].value
        if UNKNOWN in value:
            found.hide("env -S has text that is not known before it runs")
        kept = [word for given in scan.given[:split] for word in _spelled(given)]
        words = ("env", *kept, *split_words(value), *scan.tail())
    else:
        found.hide("env -S is nested too deeply to be read")
    scan = Scan(words, form.spec, form.marks)
    read_roles(scan, "env", found)
    for rest in scan.rests():
        read_operands(form, scan, ("env", *(rest[1:] if rest[:1] == ("-",) else rest)), found, [])
    return found.launch()


def _spelled(given: Given) -> Words:
    """An option as words again."""
    if given.name.startswith("--"):
        return (f"{given.name}={given.value}",) if given.value else (given.name,)
    return (given.name, given.value) if parsed(LAUNCHERS["env"].spec).arity[given.name] > 0 else (given.name,)


HANDS: Mapping[str, Hand] = {
    "env": _env,
}
