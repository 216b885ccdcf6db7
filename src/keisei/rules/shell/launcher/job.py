"""Jobs that run later or in a row: told where the words name them, said to be hidden where they do not."""

from collections.abc import Mapping

from keisei.rules.shell.launcher.form import Form, names
from keisei.rules.shell.launcher.launch import Hand, Launch, Words
from keisei.rules.shell.launcher.option import Scan
from keisei.rules.shell.launcher.reading import start

SPOOLER = Form("-nfmdvBEClpstkrwuUKioTS -gbDLONGa=", marks=names("visible"))
RUN_PARTS = (
    "-vd -au= --test:stop --list:stop --report --reverse --exit-on-error --stdin --lsbsysinit --new-session --regex="
    " --umask= --arg= --verbose --debug"
)


def _ts(words: Words) -> Launch | None:
    """A task spooler; moreutils has a program of that name that only stamps lines."""
    if len(words) > 1 and any("%" in word for word in words[1:]):
        return None
    return start(SPOOLER, words)


def _run_parts(words: Words) -> Launch | None:
    scan = Scan(words, RUN_PARTS, frozenset({"permute"}))
    if scan.has("stop") or not scan.rests()[0]:
        return None
    return Launch(transparent=False, opaque="run-parts runs every program in a folder")


def _crontab(words: Words) -> Launch | None:
    scan = Scan(words, "-u= -c= -x= -l:stop -r:stop -e:stop -i -s -T:stop -V:stop -n", frozenset({"permute"}))
    if scan.has("stop"):
        return None
    return Launch(transparent=False, opaque="crontab keeps commands that run later")


HANDS: Mapping[str, Hand] = {
    "ts": _ts,
    "run-parts": _run_parts,
    "crontab": _crontab,
}
