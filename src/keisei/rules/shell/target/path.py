"""Paths as text: joined, named and told apart from streams and other machines, without asking the file system."""

from keisei.records.effect import UNKNOWN

_NO_FILES = frozenset(
    ("-", "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty", "/dev/zero", "/dev/full")
)
"""Streams, not files."""

_LONGEST_PATH = 8192


def literal(path: str) -> str:
    """The path where `-` is a file of that name."""
    return "./-" if path == "-" else path


def joined(folder: str, path: str) -> str:
    """The path as seen from where the folder is; one that may be absolute stays as it is."""
    return path if not folder or path.startswith(("/", "~", UNKNOWN)) else slashed(folder, path)


def told(path: str) -> str:
    """The path, or anything where it is longer than a path can be: no command makes many long ones of a few words."""
    return path if len(path) <= _LONGEST_PATH else UNKNOWN


def slashed(folder: str, path: str) -> str:
    """The path below the folder."""
    return f"{folder}{path}" if folder.endswith("/") else f"{folder}/{path}"


def base(path: str) -> str:
    """The last name of a path; empty where it has none of its own (`a/..`, `/`)."""
    name = path.rstrip("/").rpartition("/")[2]
    return "" if name in (".", "..") else name


def beside(path: str, name: str) -> str:
    """The name in the folder the path stands in."""
    folder, slash, _ = path.rpartition("/")
    return f"{folder}{slash}{name}"


def is_stream(path: str) -> bool:
    """Whether the path is a stream, not a file."""
    return path in _NO_FILES or path.startswith("/dev/fd/")


def is_remote(path: str) -> bool:
    """Whether it names another machine: `host:path`, `rsync://host/path`. A colon after a slash is a file's."""
    head, colon, _ = path.partition(":")
    return bool(colon) and bool(head) and "/" not in head


def local(path: str) -> str:
    """The path on the machine it names, or the path itself."""
    return path.partition(":")[2] if is_remote(path) else path
