"""Reach: what must be readable so that a program can start, and no more: the system's folders, and a program's own."""

import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path
from shutil import which

from keisei.sandbox.landlock import around

FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/gnu/store")
FILES = (
    *("alternatives", "ca-certificates", "ca-certificates.conf", "fonts", "gai.conf", "group", "host.conf", "hosts"),
    *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "locale.alias", "locale.conf", "locale.gen", "localtime"),
    *("mime.types", "networks", "nsswitch.conf", "os-release", "passwd", "pki/ca-trust", "pki/tls/certs", "protocols"),
    *("resolv.conf", "rpc", "services", "shells", "ssl/cert.pem", "ssl/certs", "ssl/openssl.cnf", "terminfo"),
    *("timezone", *(each.name for each in Path("/etc").glob("java-*"))),
)
"""Of /etc, by name: never all of it, for it holds secrets of the machine."""
SYSTEM = (*FOLDERS, *(f"/etc/{name}" for name in FILES), "/sys/devices/system/cpu")
"""What every program may read, as far as it exists."""

System = list[tuple[str, str]]
"""Pairs of a path and what stands there: a real path, or, relative, where a folder's link leads."""

_LINE = 512
_NODE_MODULES = "node_modules"


def system(kept_out: Iterable[str]) -> System:
    """The system's files, as far as they exist.

    A folder of the system in which one of `kept_out` lies (a checkout in /opt) is given without the part that holds it.
    """
    kept_out = list(kept_out)
    return [pair for path in SYSTEM if os.path.lexists(path) for pair in _pairs(path, kept_out)]


def inside(pairs: System) -> list[str]:
    """The paths at which a tree with mounts of its own finds them."""
    return [path for path, stands in pairs if stands.startswith("/")]


def outside(pairs: System) -> list[str]:
    """Where they are on the machine itself."""
    return [stands for _, stands in pairs if stands.startswith("/")]


def stands_at(real: str, pairs: System) -> Iterator[str]:
    """The other paths at which a tree with mounts of its own finds a file of the system."""
    for path, stands in pairs:
        if path != stands and real.startswith(f"{stands}/"):
            yield path + real.removeprefix(stands)


def _pairs(path: str, kept_out: list[str]) -> Iterator[tuple[str, str]]:
    real = os.path.realpath(path)
    if Path(path).is_symlink() and path in FOLDERS and real.startswith("/usr/"):
        yield path, real.removeprefix("/")
    elif Path(path).is_dir() and any(each.startswith(f"{real}/") for each in kept_out):
        holes = {f"{real}/{Path(each).relative_to(real).parts[0]}" for each in kept_out if each.startswith(f"{real}/")}
        yield from ((path + each.removeprefix(real), each) for each in around(real, holes))
    elif os.path.exists(real):  # noqa: PTH110 - it is text, before and after
        yield path, real


def interpreter() -> tuple[str, str]:
    """The real interpreter this runs under, and the folder it needs to start; never a version manager's stand-in."""
    named = getattr(sys, "_base_executable", None) or sys.executable
    return os.path.realpath(named), os.path.realpath(sys.base_prefix)


def interpreter_reads() -> list[str]:
    """What that interpreter needs to start."""
    executable, prefix = interpreter()
    if prefix == "/usr":
        return []
    if not _is_home(prefix):
        return [prefix]
    return [executable, os.path.realpath(sysconfig.get_path("stdlib")), *_library()]


def _library() -> list[str]:
    """The interpreter's own shared library, where it has one."""
    found = os.path.join(sysconfig.get_config_var("LIBDIR") or "", sysconfig.get_config_var("INSTSONAME") or "")  # noqa: PTH118 - as above
    return [os.path.realpath(found)] if os.path.isfile(found) else []  # noqa: PTH113 - as above


def program_path(argv0: str, path: str) -> str | None:
    """A program, looked up on a PATH where its name has no slash, by a path that leads to it in confinement too.

    No link stands in its folder. The last name is kept, for some programs go by it, unless it is a link in a home,
    which is not given. None where there is no such program.
    """
    found = which(argv0, path=path)
    if found is None:
        return None
    folder, name = os.path.split(os.path.abspath(found))  # noqa: PTH100 - links must stay
    folder = os.path.realpath(folder)
    return os.path.realpath(found) if _is_home(folder) else os.path.join(folder, name)  # noqa: PTH118 - as above


def program_reads(argv0: str, path: str) -> tuple[str, ...]:
    """Folders that must be readable to start a program, looked up on a PATH where its name has no slash.

    A native program: its folder. A script: that, and what its interpreter needs; a Node package up to the outermost
    node_modules; a Python program its virtual environment and the interpreter that was made from. Never a home folder
    nor one above it: there the file alone. What the system has anyhow is left out. Empty where there is no program.
    """
    found = which(argv0, path=path)
    if found is None:
        return ()
    reads = dict.fromkeys(_reads(os.path.abspath(found), path, depth=0))  # noqa: PTH100 - links must stay
    return tuple(each for each in reads if not _is_system(each))


def _reads(found: str, path: str, depth: int) -> Iterator[str]:
    real = os.path.realpath(found)
    if os.path.islink(found):  # noqa: PTH114 - as above
        yield from _ways(found)
    yield from _package(real)
    yield from _environment(found)
    interpreter = _interpreter(real, path)
    if interpreter is not None and depth < 4:  # noqa: PLR2004 - the kernel follows as many
        yield from _reads(interpreter, path, depth + 1)


def _ways(found: str) -> Iterator[str]:
    """The folder of each link on the way to the program: the name it is called by must exist inside."""
    for _ in range(40):
        if not os.path.islink(found):  # noqa: PTH114 - as above
            return
        folder = os.path.realpath(os.path.dirname(found))  # noqa: PTH120 - as above
        if not _is_home(folder):
            yield folder
        found = os.path.join(os.path.dirname(found), os.readlink(found))  # noqa: PTH115, PTH118, PTH120 - as above


def _package(real: str) -> Iterator[str]:
    parts = Path(real).parts
    if _NODE_MODULES in parts:
        yield str(Path(*parts[: parts.index(_NODE_MODULES) + 1]))
        return
    folder = Path(real).parent
    prefix = folder.parent
    if folder.name in ("bin", "sbin") and _is_prefix(prefix):
        yield str(prefix)
    else:
        yield _narrow(str(folder), real)


def _environment(found: str) -> Iterator[str]:
    """The virtual environment a program stands in, and what that was made from."""
    root = Path(os.path.realpath(os.path.dirname(found))).parent  # noqa: PTH120 - as above
    marker = root / "pyvenv.cfg"
    if marker.is_file():
        yield str(root)
        for line in marker.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition("=")
            if name.strip() == "home" and Path(value.strip()).is_dir():
                yield _narrow(os.path.realpath(Path(value.strip()).parent), os.path.realpath(value.strip()))


def _interpreter(real: str, path: str) -> str | None:
    """What a script's first line asks for, through `env` too."""
    try:
        with Path(real).open("rb") as script:
            line = script.readline(_LINE)
    except OSError:
        return None
    words = os.fsdecode(line[2:]).split() if line.startswith(b"#!") else []
    if not words:
        return None
    if Path(words[0]).name == "env":
        words = [each for each in words[1:] if not each.startswith("-") and "=" not in each]
    return which(words[0], path=path) if words else None


def _is_prefix(folder: Path) -> bool:
    """Whether programs are installed below it: it has a lib or share beside its bin, and is nobody's home."""
    return not _is_home(str(folder)) and any((folder / each).is_dir() for each in ("lib", "lib64", "libexec"))


def _narrow(folder: str, file: str) -> str:
    return file if _is_home(folder) else folder


def _is_home(folder: str) -> bool:
    """A home, what lies above one, or a folder of a home that holds other things than programs (.local, .config)."""
    homes = {os.path.realpath(os.path.expanduser("~")), "/root", "/home"}  # noqa: PTH111 - as above
    above = {str(parent) for home in homes for parent in Path(home).parents}
    path = Path(folder)
    return folder in homes | above or str(path.parent) == "/home" or path.name in (".local", ".config", ".cache")


def _is_system(path: str) -> bool:
    return any(path == each or path.startswith(f"{each}/") for each in FOLDERS)
