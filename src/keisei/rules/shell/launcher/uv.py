"""uv: the command line of `uv run` and `uv tool run`."""

from collections.abc import Mapping

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.launcher.found import Found
from keisei.rules.shell.launcher.launch import Hand, Launch, Words
from keisei.rules.shell.launcher.option import Scan
from keisei.rules.shell.launcher.reading import follow
from keisei.rules.shell.launcher.role import read_roles
from keisei.rules.shell.launcher.table import LAUNCHERS


def _uv(words: Words) -> Launch | None:
    spec = LAUNCHERS["uvx"].spec
    found = Found(transparent=False)
    scan = Scan(words, spec, frozenset())
    read_roles(scan, "uv", found)
    for rest in scan.rests():
        if rest[:1] == ("run",):
            _uv_run(Scan(rest, spec, frozenset()), found)
        elif rest[:2] == ("tool", "run"):
            follow(LAUNCHERS["uvx"], rest[1:], found)
        elif rest and UNKNOWN in rest[0]:
            found.hide("which command of uv runs is not known before it runs")
    return found.launch()


def _uv_run(scan: Scan, found: Found) -> None:
    read_roles(scan, "uv", found)
    if scan.has("module"):
        found.argv(("python", "-m", scan.values("module")[0], *scan.tail()))
        return
    for rest in scan.rests():
        if rest and (scan.has("script") or rest[0] == "-" or rest[0].endswith((".py", ".pyw"))):
            found.argv(("python", *rest))
        else:
            found.argv(rest)


HANDS: Mapping[str, Hand] = {
    "uv": _uv,
}
