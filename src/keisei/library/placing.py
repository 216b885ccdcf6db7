"""Placing: new files of one package, all of them or none, never over an existing one, never through a symlink.

A new package appears by one rename. Files of a package that is there are made aside in a hidden folder and linked into
their places, the last one being what makes the others count. Whoever is killed in between leaves that folder; the next
one to place something takes back what it names.
"""

import errno
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from keisei.library.placement import ASIDE, FOLDER, NewFile, Placement, inner_path, read_below, recover, safe_path
from keisei.records.error import OperatorError, WorldFault

PATIENCE_S: Final = 5.0
_HINT: Final = "check the folder and its free space"


Check = Callable[[Path], None]
"""Looks at the package's new files before they count; what it raises means that nothing is written."""


def place_files(folder: Path, files: Sequence[NewFile], check: Check, beside: Sequence[str] = ()) -> None:
    """Write them all, the last one last. `beside` are files of the package that `check` needs to see.

    Raises OperatorError where something is in the way, WorldFault where it cannot be written, and what `check` raises.
    Then everything is as it was.
    """
    package = folder / _package(files)
    try:
        if os.path.lexists(package):
            _extend(package, files, check, beside)
        else:
            _found(folder, package, files, check)
    except OSError as error:
        if error.errno in (errno.EEXIST, errno.ENOTEMPTY):
            raise taken(error.filename2 or error.filename or package) from error
        reason = (error.strerror or str(error)).lower()
        raise WorldFault(f"cannot write `{package}`: {reason}", _HINT) from error


def _package(files: Sequence[NewFile]) -> str:
    """The one package all of them belong to. Raises OperatorError for a path that leads elsewhere."""
    name = files[0].path.partition("/")[0]
    for each in files:
        try:
            fits = safe_path(each.path).startswith(f"{name}/")
        except ValueError:
            fits = False
        if not fits:
            raise OperatorError(f"`{each.path}` is no path inside package `{name}`", "plan the files again")
    return name


# --- a new package ----------------------------------------------------------------------------------------------------


def _found(folder: Path, package: Path, files: Sequence[NewFile], check: Check) -> None:
    made = _missing(folder)
    if not made and not folder.is_dir():
        raise OperatorError(f"`{folder}` is not a folder", "name a folder of packages")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _aside(folder) as aside:
            _write_all(aside, files)
            check(aside / package.name)
            _rename(aside / package.name, package)
    except BaseException:
        for each in made:
            with suppress(OSError):
                each.rmdir()
        raise


def _rename(made: Path, package: Path) -> None:
    if os.path.lexists(package):  # somebody was quicker; a rename would take the place of an empty folder
        raise taken(package)
    made.rename(package)


def _missing(folder: Path) -> list[Path]:
    """The folder and those above it that are not there, the deepest first."""
    return [each for each in (folder, *folder.parents) if not os.path.lexists(each)]


@contextmanager
def _aside(folder: Path) -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix=ASIDE, dir=folder))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _write_all(aside: Path, files: Sequence[NewFile]) -> None:
    for each in files:
        path = aside / each.path
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
        with path.open("xb") as file:
            file.write(each.content.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())


# --- more files for a package that is there ---------------------------------------------------------------------------


def _extend(package: Path, files: Sequence[NewFile], check: Check, beside: Sequence[str]) -> None:
    with held(package) as root:
        recover(package, root)
        _compare(root, files)
        aside = Path(tempfile.mkdtemp(prefix=ASIDE, dir=package))
        placed = Placement(root, aside, package.name)
        try:
            _write_all(aside, files)
            _copy(package, aside / package.name, beside)
            check(aside / package.name)
            placed.note(files)
            for each in files:
                placed.place(each)
        except BaseException:
            placed.undo()
            raise
        finally:
            shutil.rmtree(aside, ignore_errors=True)


@contextmanager
def held(package: Path) -> Iterator[int]:
    """The package's folder, locked against everybody else who places something there.

    Raises OperatorError for what is no folder, WorldFault where somebody else takes too long.
    """
    try:
        root = os.open(package, FOLDER)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise OperatorError(f"`{package}` is not a folder", "choose another name") from error
        raise
    try:
        _lock(root, package)
        yield root
    finally:
        os.close(root)


def _lock(root: int, package: Path) -> None:
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            fcntl.flock(root, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() > until:
                message = f"somebody else has been writing into `{package}` for {PATIENCE_S:g} seconds"
                raise WorldFault(message, "try again", retryable=True) from error
            time.sleep(0.02)
        else:
            return


def _compare(root: int, files: Sequence[NewFile]) -> None:
    """Nothing stands where a new file goes; what is to be changed is as it was when that was planned."""
    for each in files:
        now = read_below(root, inner_path(each.path))
        if each.was is None and now is not None:
            raise taken(each.path)
        if each.was is not None and now != each.was.encode("utf-8"):
            raise OperatorError(f"`{each.path}` has changed meanwhile", "try again")


def _copy(package: Path, aside: Path, beside: Sequence[str]) -> None:
    for name in beside:
        if not os.path.lexists(aside / name):
            (aside / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(package / name, aside / name, follow_symlinks=False)


def taken(path: object) -> OperatorError:
    """What is told where something is in the way."""
    return OperatorError(f"`{path}` already exists", "choose another name, or remove it first")
