"""A repository, asked in two ways.

`shared` asks the repository itself, for what only it knows: references and where its objects are. Everything else is
asked of a git folder of our own in a temporary place (`git`): it borrows the objects and nothing more, so that no
configuration, hook, attribute file, filter or remote of the repository is seen at all, and nothing of it is written.
"""

import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kei_git_read.context import Context, Data
from kei_git_read.program import Late, Missing, Ran, run_git

LISTING = 16_777_216
"""Bytes of output that are taken where nothing else is said."""
LARGEST_INDEX = 268_435_456
LARGEST_SIDE_FILE = 16_777_216
SHORT = 65_536

CONFIG = """\
[core]
\trepositoryFormatVersion = 1
\tbare = false
{core}[extensions]
\tobjectFormat = {format}
"""
KEPT = {
    "core.autocrlf": ("true", "false", "input"),
    "core.eol": ("lf", "crlf", "native"),
    "core.filemode": ("true", "false"),
    "core.ignorecase": ("true", "false"),
    "core.symlinks": ("true", "false"),
}
"""What a repository may say of its own worktree: without it every file of some repositories looks changed."""


class Repository:
    """One repository, for the time of one call."""

    def __init__(self, context: Context, folder: str, private: Path) -> None:
        """Find it. Raises NotARepository, GitMissing, GitFailed."""
        self.context, self.folder, self._private = context, folder, private
        self.has_worktree = False
        inner = os.path.join(folder, ".git")  # noqa: PTH118 - text, and never resolved
        self._git_dir = inner if os.path.lexists(inner) else folder
        words = ("--absolute-git-dir", "--git-common-dir", "--show-object-format", "--is-bare-repository")
        found = self._run(("rev-parse", *words), {"GIT_DIR": self._git_dir}, most=SHORT)
        told = os.fsdecode(found.out).rstrip("\n").split("\n")
        if found.code or len(told) != len(words):
            reason = found.complaint if found.code else "its path has a line end"
            raise self.fail("NotARepository", f"`{folder}` is not the top folder of a git repository: {reason}")
        self._own, common, self.format, bare = told
        self._common = os.path.join(folder, common)  # noqa: PTH118 - an absolute one stays as it is
        self.has_worktree = self._git_dir == inner and bare == "false"
        self._prepare()

    def fail(self, code: str, message: str) -> Exception:
        """A declared error, to be raised."""
        return self.context.error(code, message)

    def shared(self, *words: str, most: int = SHORT) -> Ran:
        """What the repository itself says. Only for commands that start nothing, whatever it is configured to."""
        return self._run(words, {"GIT_DIR": self._git_dir}, most=most)

    def git(self, *words: str | bytes, lines: Iterable[str] | None = None, most: int = LISTING) -> Ran:
        """What git says of its objects and its worktree, whatever the exit status is. `lines` are what it reads."""
        worktree = self.folder if self.has_worktree else str(self._private / "empty")
        surroundings = {
            "GIT_DIR": str(self._private),
            "GIT_WORK_TREE": worktree,
            "GIT_OBJECT_DIRECTORY": os.path.join(self._common, "objects"),  # noqa: PTH118 - text
        }
        given = None
        if lines is not None:
            given = self._private / "given"
            given.write_text("".join(f"{line}\n" for line in lines), "ascii")
        return self._run(words, surroundings, most=most, given=given, cwd=worktree)

    def said(self, *words: str | bytes, lines: Iterable[str] | None = None, most: int = LISTING) -> Ran:
        """The same of a command that did well. Raises GitFailed otherwise."""
        ran = self.git(*words, lines=lines, most=most)
        if ran.code:
            raise self.fail("GitFailed", f"git {words[0]!s}: {ran.complaint}")
        return ran

    def _run(
        self,
        words: Iterable[str | bytes],
        surroundings: dict[str, str],
        *,
        most: int,
        given: Path | None = None,
        cwd: str | None = None,
    ) -> Ran:
        try:
            return run_git(tuple(words), surroundings, cwd or self.folder, most=most, given=given)
        except Missing:
            raise self.fail("GitMissing", "git is not installed, or not on the PATH") from None
        except Late:
            raise self.fail("GitFailed", "git did not end in time; ask for less") from None
        except (OSError, ValueError) as error:
            raise self.fail("GitFailed", f"git cannot be run: {error}") from None

    def _prepare(self) -> None:
        for name in ("refs", "empty", "info"):
            (self._private / name).mkdir()
        (self._private / "config").write_text(CONFIG.format(format=self.format, core=self._kept()), "ascii")
        self.point("")
        for name in ("shallow", "info/exclude"):
            self._copied(os.path.join(self._common, name), name, LARGEST_SIDE_FILE)  # noqa: PTH118 - text

    def _kept(self) -> str:
        pattern = f"^({'|'.join(KEPT)})$".replace(".", "[.]")
        lines = self.shared("config", "--null", "--get-regexp", pattern).out.decode("utf-8", "replace").split("\0")
        found = (line.partition("\n")[::2] for line in lines)
        return "".join(f"\t{key[5:]} = {value}\n" for key, value in found if value in KEPT.get(key, ()))

    def point(self, commit: str) -> None:
        """Say which commit the worktree stands on; none for a branch without commits."""
        (self._private / "HEAD").write_text(f"{commit or 'ref: refs/heads/none'}\n", "ascii")

    def take_index(self) -> None:
        """Bring what is staged. Raises TooLarge. It is copied: git writes into the one it uses."""
        if not self._copied(os.path.join(self._own, "index"), "index", LARGEST_INDEX):  # noqa: PTH118 - text
            raise self.fail("TooLarge", "the index of the repository is too large to be read")
        with suppress(OSError):
            for name in os.listdir(self._own):  # noqa: PTH208 - text
                if name.startswith("sharedindex."):
                    (self._private / name).symlink_to(os.path.join(self._own, name))  # noqa: PTH118 - text

    def _copied(self, source: str, name: str, most: int) -> bool:
        """Copy a plain file where there is one; whether it was small enough. Its time tells git what is fresh."""
        target = self._private / name
        try:
            with os.fdopen(os.open(source, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
                found = os.fstat(file.fileno())
                if not stat.S_ISREG(found.st_mode):
                    return True
                content = file.read(most + 1)
        except OSError:
            return True
        if len(content) > most:
            return False
        target.write_bytes(content)
        os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns))
        return True


@contextmanager
def opened(given: Data, context: Context) -> Iterator[Repository]:
    """The repository that was asked for. Raises NotARepository, GitMissing, GitFailed."""
    try:
        folder = os.path.abspath(given["repo"])  # noqa: PTH100 - symlinks stay, and so does what follows `..`
        if not os.path.isdir(folder):  # noqa: PTH112 - it never raises
            raise context.error("NotARepository", f"there is no folder `{given['repo']}`")
    except ValueError:
        raise context.error("NotARepository", "such a path cannot be") from None
    try:
        private = tempfile.TemporaryDirectory(prefix="kei-git-", ignore_cleanup_errors=True)
    except OSError as error:
        raise context.error("GitFailed", f"no temporary folder can be made: {error.strerror or error}") from None
    with private as place:
        yield Repository(context, folder, Path(place))
