"""Names of files: as text, and whether git takes them."""

import re
from typing import Final

REFUSED: Final = re.compile(
    rb"(?:\.git|git~1)[ .]*(?::.*)?",  # NTFS drops spaces and dots at the end, and reads a stream after a colon
    re.IGNORECASE | re.DOTALL,
)
IGNORED_BY_HFS: Final = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
LINKED: Final = re.compile(
    rb"(?:\.git(?:modules|attributes|ignore|mailmap)|gitmod~[1-4]|gi?7?e?b?a?~[1-9][0-9]*)[ .]*(?::.*)?",
    re.IGNORECASE | re.DOTALL,
)


def spelled(path: bytes) -> str:
    """A path as text that JSON takes, different for different paths."""
    return path.replace(b"\\", rb"\\").decode("utf-8", "backslashreplace")


def is_refused(path: bytes) -> bool:
    """Git takes no such path, or it would be `.git` on another machine's file system. Falls closed."""
    if path.isascii() and b"git" not in path.lower():  # nearly every name there is
        return False
    return any(REFUSED.fullmatch(part) for whole in {path, _plain(path)} for part in re.split(rb"[/\\]", whole))


def is_refused_link(path: bytes) -> bool:
    """Git refuses a link under this name: it would be read through. Falls closed."""
    name = path.rsplit(b"/", 1)[-1]
    return any(LINKED.fullmatch(each) for each in (name, _plain(name)))


def _plain(name: bytes) -> bytes:
    """A name as a Macintosh sees it."""
    return IGNORED_BY_HFS.sub("", name.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
