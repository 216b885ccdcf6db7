"""Wrappers whose words no form describes: what they wrap is told, or nothing is."""

from collections.abc import Mapping

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.launcher.form import Form, names
from keisei.rules.shell.launcher.found import Found
from keisei.rules.shell.launcher.launch import Hand, Launch, Words
from keisei.rules.shell.launcher.option import Scan
from keisei.rules.shell.launcher.reading import start
from keisei.rules.shell.launcher.role import read_roles
from keisei.rules.shell.launcher.table import LAUNCHERS

ARCHITECTURES = names(
    "linux32 linux64 i386 i486 i586 i686 x86_64 amd64 athlon aarch64 arm armv7l armv8l armh arm64"
    " ppc ppc32 ppc64 ppc64le"
    " powerpc s390 s390x sparc sparc32 sparc64 mips mips32 mips64 ia64 uname26 riscv32 riscv64 loongarch64 parisc"
    " alpha"
)
FLOCK = (
    "-sxeunoF -wE= --shared --exclusive --unlock --nonblock --nb --timeout= --wait= --conflict-exit-code= --close"
    " --no-fork"
    " --verbose --fcntl"
)
LOADER = Form(
    "--library-path= --inhibit-rpath= --audit= --preload= --argv0= --glibc-hwcaps-prepend= --glibc-hwcaps-mask="
    " --inhibit-cache --list:stop --verify:stop --list-tunables:stop --list-diagnostics:stop",
    marks=names("visible"),
)


def _command(words: Words) -> Launch | None:
    """`command -v` and `-V` only tell where a program is."""
    if Scan(words, LAUNCHERS["command"].spec, frozenset()).has("quiet"):
        return Launch()
    return start(LAUNCHERS["command"], words)


def _setarch(words: Words) -> Launch | None:
    form = LAUNCHERS["setarch"]
    if len(words) > 1 and words[1] in ARCHITECTURES:
        words = ("setarch", *words[2:])
    return start(form, words)


def _flock(words: Words) -> Launch | None:
    scan = Scan(words, FLOCK, frozenset())
    found = Found()
    read_roles(scan, "flock", found)
    for rest in scan.rests():
        if len(rest) < 2:  # noqa: PLR2004 - a file, and what runs
            continue
        if rest[0].startswith(UNKNOWN) and not scan.dashed:
            found.hide("flock has an operand that is not known before it runs")
        if rest[1] in {"-c", "--command"}:
            found.script(" ".join(rest[2:3]))
        else:
            found.argv(rest[2:] if rest[1] == "--" else rest[1:])
    return found.launch()


def _dotenv(words: Words) -> Launch | None:
    launch = start(LAUNCHERS["dotenv"], words)
    if launch is None or not launch.argvs:
        return launch
    first = launch.argvs[0]
    if first[0] == "run":
        return launch._replace(argvs=(first[2:] if first[1:2] == ("--",) else first[1:],)) if len(first) > 1 else None
    return None if first[0] in {"list", "get", "set", "unset"} else launch


def _loader(words: Words) -> Launch | None:
    return start(LOADER, words)


HANDS: Mapping[str, Hand] = {
    "command": _command,
    "setarch": _setarch,
    "flock": _flock,
    "dotenv": _dotenv,
    "ld.so": _loader,
}
