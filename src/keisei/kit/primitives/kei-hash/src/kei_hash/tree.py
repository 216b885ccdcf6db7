"""Trees: the digest of a folder is one over its entries, and each of those has a digest of its own.

For every entry, in the order of the bytes of the names, the folder's digest is fed with

    type + " " + name + NUL + digest in hex + LF

The type is `f` for a file, `x` for a file its owner may run, `d` for a folder, `l` for a link, `o` for anything else.
The digest is that of the content, of the folder by this same rule, of the bytes of the link, and of nothing. The
page of kei-hash::tree promises this; it is not changed under this name.
"""

import os
import stat
from collections import Counter
from typing import TYPE_CHECKING, Final

from kei_hash.algorithm import started
from kei_hash.context import Context
from kei_hash.file import digest_file, opened

if TYPE_CHECKING:
    from hashlib import _Hash

FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
DEEPEST: Final = 256
"""Levels of folders, each of which holds a descriptor open."""
MOST: Final = 1_000_000


class Tree:
    """One walk over a tree."""

    def __init__(self, context: Context, algorithm: str, exclude: frozenset[str]) -> None:
        """Nothing is read yet; entries with a name in `exclude` do not count, wherever they stand."""
        self.counts: Counter[str] = Counter()
        self._context, self._algorithm, self._exclude = context, algorithm, exclude

    def folder(self, folder: int, depth: int = 0) -> "_Hash":
        """The digest of an open folder. Raises TooLarge and OSError."""
        if depth > DEEPEST:
            raise self._context.error("TooLarge", f"it is more than {DEEPEST} folders deep")
        digest = started(self._algorithm)
        names = set(os.listdir(folder)) - self._exclude
        for name in sorted(map(os.fsencode, names)):
            letter, own = self._entry(os.fsdecode(name), folder, depth)
            digest.update(b"%b %b\0%b\n" % (letter, name, own.hexdigest().encode()))
        return digest

    def _entry(self, name: str, folder: int, depth: int) -> "tuple[bytes, _Hash]":
        self.counts["entries"] += 1
        if self.counts["entries"] > MOST:
            raise self._context.error("TooLarge", f"it has more than {MOST} entries")
        told = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISREG(told.st_mode):
            own, size = digest_file(name, self._algorithm, dir_fd=folder, follow=False)
            self.counts += Counter(files=1, bytes=size)
            return (b"x" if told.st_mode & stat.S_IXUSR else b"f"), own
        if stat.S_ISDIR(told.st_mode):
            self.counts["folders"] += 1
            with opened(name, FOLDER | os.O_NOFOLLOW, dir_fd=folder) as inner:
                return b"d", self.folder(inner, depth + 1)
        own = started(self._algorithm)
        if not stat.S_ISLNK(told.st_mode):
            self.counts["others"] += 1
            return b"o", own
        self.counts["links"] += 1
        own.update(os.fsencode(os.readlink(name, dir_fd=folder)))
        return b"l", own
