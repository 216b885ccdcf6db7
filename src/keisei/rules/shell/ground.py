"""Ground: what the walk over shell text asks of the world, and what it gathers."""

import posixpath
import re
from typing import Any, NamedTuple, Protocol

from keisei.records.effect import BELOW, UNKNOWN, Command, Effects, Target

Node = dict[str, Any]
SYSTEM = ("/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/local/bin/", "/usr/local/sbin/")
GLOB = re.compile(r"[*?\[]")
"""A character that makes the shell look for files."""
MOST = 2000
"""Effects of one call. More than that is not a call anybody can judge."""


class TooMuch(Exception):
    """The call is larger than what can be read in time; it is refused as a whole."""


class World(Protocol):
    """The questions. Answers may be late or wrong by the time the call runs; the kernel and the verify come after."""

    @property
    def variables(self) -> dict[str, str]:
        """Variables whose value is certain: HOME and the like."""

    def parse(self, text: str) -> Node:
        """The syntax tree of shell text. Raises Unreadable."""

    def content(self, path: str) -> str | None:
        """The text of a file that would be run; None where there is none, or it is no text."""

    def real(self, path: str) -> str | None:
        """Where a path leads, symbolic links followed; None where nothing is there."""

    def is_folder(self, path: str) -> bool:
        """Whether a folder is there."""

    def is_late(self) -> bool:
        """Whether the time for this call is over."""

    def matches(self, pattern: str) -> tuple[str, ...]:
        """Paths that a glob of the shell stands for at this moment."""


class Unreadable(Exception):
    """Shell text that cannot be parsed; the argument says why."""


class Trace(NamedTuple):
    """Where in the call the walk is."""

    via: str = ""
    """What leads here, outermost first."""
    listed: bool = True
    """Whether an allow-list must know what runs here."""
    certain: bool = True
    """False inside files that lie on the disk: what cannot be read there is not held against the call."""
    remote: bool = False
    """Paths here are not this machine's."""
    depth: int = 0
    """How many payloads deep."""

    def inside(self, what: str, *, listed: bool = True, certain: bool = True, remote: bool = False) -> "Trace":
        """One step further in."""
        via = f"{self.via} > {what}" if self.via else what
        return Trace(via, self.listed and listed, self.certain and certain, self.remote or remote, self.depth + 1)


class Gathered:
    """Effects, as they are found; each once."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.commands: dict[Command, None] = {}
        self.writes: dict[Target, None] = {}
        self.deletes: dict[Target, None] = {}
        self.reads: dict[Target, None] = {}
        self.network: dict[str, None] = {}
        self.unresolved: dict[str, None] = {}

    def command(self, argv: tuple[str, ...], trace: Trace, *, listed: bool = True) -> None:
        """One command line."""
        program = argv[0]
        base = program.rsplit("/", 1)[-1]
        rest = argv[1:]
        exact = base if posixpath.dirname(program) + "/" in SYSTEM else program
        self._keep(
            self.commands,
            Command(
                argv=argv,
                text=" ".join((base, *rest)),
                exact=" ".join((exact, *rest)),
                via=trace.via,
                listed=listed and trace.listed,
            ),
        )

    def write(self, target: Target) -> None:
        """One path written."""
        self._keep(self.writes, target)

    def delete(self, target: Target) -> None:
        """One path removed."""
        self._keep(self.deletes, target)

    def read(self, target: Target) -> None:
        """One path read."""
        self._keep(self.reads, target)

    def cannot_tell(self, sentence: str, trace: Trace) -> None:
        """Code that nobody can read beforehand."""
        if trace.certain:
            self.unresolved[sentence] = None

    def _keep(self, where: dict[Any, None], what: object) -> None:
        where[what] = None
        if len(where) > MOST:
            raise TooMuch

    def effects(self) -> Effects:
        """What was found."""
        return Effects(
            commands=tuple(self.commands),
            writes=tuple(self.writes),
            deletes=tuple(self.deletes),
            reads=tuple(self.reads),
            network=tuple(self.network),
            unresolved=tuple(self.unresolved),
        )


def joined(cwd: str, path: str) -> str:
    """A path made absolute and tidied by its text alone; UNKNOWN where it cannot be told."""
    if path.startswith("/"):
        return posixpath.normpath(path)
    if UNKNOWN in cwd or path.startswith(UNKNOWN):
        return UNKNOWN
    return posixpath.normpath(posixpath.join(cwd, path))


def settled(path: str) -> tuple[str, bool]:
    """A path, and whether everything below it is meant."""
    head, below, rest = path.partition(BELOW)
    folder, slash, _ = head.rpartition("/")
    if below and slash and ".." not in rest.split("/") and BELOW not in rest:
        return folder or "/", True
    return path.replace(BELOW, UNKNOWN), False


def shown(text: str, limit: int = 60) -> str:
    """Text as a refusal quotes it: one line, not too long, unknown parts as an ellipsis."""
    line = " ".join(text.replace(UNKNOWN, "…").replace(BELOW, "…").split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
