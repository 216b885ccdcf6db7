"""ssh and socat: the text for the shell at the other end, and the commands that run at this one."""

from collections.abc import Mapping

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.launcher.found import Found
from keisei.rules.shell.launcher.launch import Hand, Launch, Words
from keisei.rules.shell.launcher.option import Scan
from keisei.rules.shell.launcher.role import read_roles

SSH = "-46AaCfGgKkMNnqsTtVvXxYy -BbcDEeFIiJLlmPpRSWw= -o=:ssh -O=:stop -Q=:stop"


def _ssh(words: Words) -> Launch | None:
    """Options, host, options again, then text for the shell over there."""
    found = Found(transparent=False, remote=True)
    scan = Scan(words, SSH, frozenset())
    if scan.has("stop") or scan.names() & {"-V", "-G"}:
        return None
    read_roles(scan, "ssh", found)
    rest = scan.rests()[0]
    if not rest:
        return found.launch()
    if rest[0].startswith(UNKNOWN):
        found.hide("ssh has an operand that is not known before it runs")
    again = Scan(rest, SSH, frozenset())
    read_roles(again, "ssh", found)
    line = again.rests()[0]
    if line:
        found.script(" ".join(line))
    elif not (scan.names() | again.names()) & {"-N", "-f", "-W"}:
        found.reads_script = True
    return found.launch()


def _socat(words: Words) -> Launch | None:
    found = Found(transparent=False)
    for word in words[1:]:
        for address in word.split("!!"):
            kind, sign, text = address.partition(":")
            if sign and kind.strip('"').lower() in {"exec", "system", "shell"}:
                found.script(_to_comma(text))
            elif UNKNOWN in kind:
                found.hide("socat has an address that is not known before it runs")
    return found.launch()


def _to_comma(text: str) -> str:
    """The text before the first comma that is not escaped."""
    cut = text.replace("\\,", UNKNOWN * 2).partition(",")[0]
    return cut.replace(UNKNOWN * 2, ",").strip('"').replace('\\"', '"')


HANDS: Mapping[str, Hand] = {
    "ssh": _ssh,
    "socat": _socat,
}
