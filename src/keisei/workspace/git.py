"""Git, run so that nothing a repository or an agent says can start a program or change what is read and written.

There are two ways to ask. `Private` is a git folder of our own beside a worktree: it borrows the objects of the
repository and nothing else, so no configuration, hook, attribute or reference of it is seen at all. `shared` asks the
repository itself for what only it knows (references, configuration), with everything that could run switched off.

Line endings, keywords, encodings and filters: none, in neither direction. A worktree holds the bytes of the base's
blobs and a candidate holds the bytes of the worktree, whatever `core.autocrlf`, `.gitattributes` or a filter driver
say. What an agent wrote is what is judged and what lands; an attribute that the agent wrote cannot hide a difference;
Git LFS files are pointers, and encrypted ones stay encrypted.
"""

import os
import shutil
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from keisei.records.error import OperatorError, WorldFault
from keisei.workspace.pump import Pumped, pumped
from keisei.workspace.removal import remove

PATIENCE_S: Final = 300.0
"""How long one command may take: a first checkout of a large repository on a slow disk does."""
MOST: Final = 536_870_912
"""Bytes of output that are taken; a command that says more has failed."""
SHA1_LENGTH: Final = 40
PLAIN_MODES: Final = 0o022
"""Files of a worktree are 0644 or 0755 whoever runs this, so that a mode that differs was changed."""
ROOT_MODE: Final = 0o755
LONGEST_LINE: Final = 300
LARGEST_EXCLUDE: Final = 1_048_576

QUIET: Final = {
    "HOME": "/nonexistent",
    "XDG_CONFIG_HOME": "/nonexistent",
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": "/nonexistent",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ASKPASS": "false",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "false",
}
"""Nobody's configuration, no question to a person, no network, and objects as they are."""

SWITCHED_OFF: Final = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.untrackedCache": "false",
    "core.attributesFile": "/dev/null",
    "core.logAllRefUpdates": "false",
    "core.alternateRefsCommand": "true",
    "core.commitGraph": "false",
    "core.quotePath": "false",
    "core.fsync": "committed,reference",
    "core.fsyncMethod": "batch",
    "commit.gpgSign": "false",
    "diff.ignoreSubmodules": "all",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "protocol.allow": "never",
    "safe.directory": "*",  # what the owner check guards against is switched off here, whoever the owner is
    "submodule.recurse": "false",
}
FILTER_KEYS: Final = ("clean", "smudge", "process", "required")

CONFIG: Final = """\
[core]
\trepositoryFormatVersion = 1
\tbare = false
\tfileMode = true
\tsymlinks = true
\tignoreCase = false
\tprecomposeUnicode = false
\tautocrlf = false
\teol = lf
\tsafecrlf = false
\ttrustctime = true
\tcheckStat = default
\tsplitIndex = false
\tpreloadIndex = true
\tcompression = 1
[index]
\tsparse = false
[fastimport]
\tunpackLimit = 100
[extensions]
\tobjectFormat = {format}
"""
ATTRIBUTES: Final = "* -text -ident -filter !eol !working-tree-encoding !diff !merge !export-subst\n"
"""`info/attributes` outranks every `.gitattributes`; git does not let `working-tree-encoding` be denied, only unset."""


def program() -> tuple[str, str]:
    """Where git is, and the PATH it runs with. Raises OperatorError where there is none.

    Parts of the PATH that are relative are left out: they would lead into the worktree.
    """
    parts = os.environ.get("PATH", os.defpath).split(os.pathsep)
    path = os.pathsep.join(part for part in parts if Path(part).is_absolute())
    found = shutil.which("git", path=path)
    if found is None:
        raise OperatorError("git is not installed, or not on the PATH", "install git 2.38 or newer")
    return found, path


def asked(  # noqa: PLR0913 - each is one thing about a command
    words: Iterable[str],
    surroundings: Mapping[str, str],
    cwd: str,
    *,
    given: Iterable[bytes] = (),
    config: Mapping[str, str] = SWITCHED_OFF,
    patience_s: float = PATIENCE_S,
    most: int = MOST,
    umask: int = -1,
) -> Pumped:
    """One git command, run to its end whatever its exit status is. OperatorError: no git. WorldFault: too late."""
    git, path = program()
    env = {"PATH": path, **QUIET, **surroundings, **_settings(config)}
    return pumped([git, *words], env, cwd, given=given, patience_s=patience_s, most=most, umask=umask)


def shared(common_dir: str, *words: str, given: Iterable[bytes] = (), most: int = MOST) -> bytes:
    """What a repository itself says. For references and objects: there is no worktree. Raises WorldFault."""
    return checked(words, asked(words, {"GIT_DIR": common_dir}, common_dir, given=given, most=most))


def checked(words: Iterable[str], done: Pumped) -> bytes:
    """The output of a command that did well. Raises WorldFault with git's first line otherwise."""
    if done.code == 0 and not done.cut:
        return done.out
    verb = next(iter(words))
    raise WorldFault(f"git {verb} failed: {complaint(done)}", "look at the repository with `git fsck`", retryable=True)


def complaint(done: Pumped) -> str:
    """The first line of what git complained, or how it ended."""
    if done.cut:
        return "it said too much"
    lines = done.complaints.decode("utf-8", "backslashreplace").splitlines()
    told = next((line for line in lines if line.startswith(("fatal:", "error:"))), next(iter(lines), ""))
    return told[:LONGEST_LINE] or f"exit status {done.code}"


def _settings(config: Mapping[str, str]) -> dict[str, str]:
    """Settings by the environment: no word of them is in a command line, and they outrank every file."""
    named = {"GIT_CONFIG_COUNT": str(len(config))}
    for number, (key, value) in enumerate(config.items()):
        named[f"GIT_CONFIG_KEY_{number}"] = key
        named[f"GIT_CONFIG_VALUE_{number}"] = value
    return named


class Private:
    """A git folder of ours beside a worktree. Whoever uses it holds the lease of that worktree."""

    def __init__(self, folder: Path, worktree: str, common_dir: str, head: str, *, ours: bool = True) -> None:
        """Write it anew, whatever stood there; only its index is kept. Raises WorldFault.

        The mode of the worktree's folder is mended where it is one of ours.
        """
        self.folder = folder
        self.worktree = worktree
        self.common_dir = common_dir
        self.head = head
        self.index = folder / "index"
        try:
            if ours:
                self._open_up()
            self._write()
        except OSError as error:
            raise WorldFault(f"`{folder}` cannot be written: {error.strerror or error}", retryable=True) from error

    def git(self, *words: str, index: Path | None = None, given: Iterable[bytes] = (), most: int = MOST) -> bytes:
        """What git says of the worktree. Raises WorldFault with git's first line."""
        return checked(words, self.ask(*words, index=index, given=given, most=most))

    def ask(self, *words: str, index: Path | None = None, given: Iterable[bytes] = (), most: int = MOST) -> Pumped:
        """The same, whatever the exit status is."""
        surroundings = {
            "GIT_DIR": str(self.folder),
            "GIT_WORK_TREE": self.worktree,
            "GIT_INDEX_FILE": str(index or self.index),
            "GIT_OBJECT_DIRECTORY": str(Path(self.common_dir, "objects")),
            "GIT_AUTHOR_NAME": "keisei",
            "GIT_AUTHOR_EMAIL": "keisei@localhost",
            "GIT_COMMITTER_NAME": "keisei",
            "GIT_COMMITTER_EMAIL": "keisei@localhost",
        }
        return asked(words, surroundings, self.worktree, given=given, most=most, umask=PLAIN_MODES)

    def _open_up(self) -> None:
        root = Path(self.worktree)
        if root.is_dir() and not root.is_symlink() and stat.S_IMODE(root.lstat().st_mode) != ROOT_MODE:
            root.chmod(ROOT_MODE)  # its owner may have closed it; it stands in a folder where nobody swaps it

    def _write(self) -> None:
        self.folder.mkdir(mode=0o700, exist_ok=True)
        for each in self.folder.iterdir():
            if each.name != "index" or each.is_symlink() or not each.is_file():
                remove(each)
        for name in ("info", "objects", "refs"):
            (self.folder / name).mkdir()
        form = "sha1" if len(self.head) == SHA1_LENGTH else "sha256"
        (self.folder / "config").write_text(CONFIG.format(format=form), "utf-8")
        (self.folder / "HEAD").write_text(f"{self.head}\n", "utf-8")
        (self.folder / "info" / "attributes").write_text(ATTRIBUTES, "utf-8")
        (self.folder / "info" / "exclude").write_bytes(_excludes(self.common_dir))


def _excludes(common_dir: str) -> bytes:
    """What the repository's owner ignores without a word in a commit; nothing where that cannot be read."""
    with suppress(OSError):
        descriptor = os.open(Path(common_dir, "info", "exclude"), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            return file.read(LARGEST_EXCLUDE)
    return b""
