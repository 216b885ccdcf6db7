"""xargs: the command line it completes, and whether its words come from standard input."""

from collections.abc import Mapping

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.launcher.found import Found
from keisei.rules.shell.launcher.launch import Hand, Launch, Words
from keisei.rules.shell.launcher.option import Scan
from keisei.rules.shell.launcher.role import read_roles

XARGS = (
    "-0oprtx -adEILnPsJRS= -e? -i? -l? --null --arg-file= --delimiter= --eof? --replace? --max-lines? --max-args="
    " --max-procs="
    " --open-tty --interactive --no-run-if-empty --max-chars= --verbose --exit --process-slot-var= --show-limits"
)


def _xargs(words: Words) -> Launch | None:
    """The command line, with the marker of `-I` not known; words of `-a FILE` are not known either."""
    scan = Scan(words, XARGS, frozenset())
    found = Found()
    read_roles(scan, "xargs", found)
    markers = [given.value or "{}" for given in scan.given if given.name in {"-I", "-i", "--replace", "-J"}]
    from_file = bool(scan.names() & {"-a", "--arg-file"})
    for rest in scan.rests():
        line = rest
        for marker in markers[-1:]:
            line = tuple(word.replace(marker, UNKNOWN) for word in line)
        if line:
            found.argv((*line, UNKNOWN) if from_file and not markers else line)
    found.appends_stdin = bool(found.argvs) and not markers and not from_file
    return found.launch()


HANDS: Mapping[str, Hand] = {
    "xargs": _xargs,
}
