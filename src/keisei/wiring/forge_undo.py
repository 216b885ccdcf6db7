"""Taking back: every file as it was before, or nothing at all where somebody else changed one of them meanwhile.

Each step may be done twice: whoever comes after one that was killed goes on where it stood. A package that was made
goes away by one rename.
"""

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from keisei.library.placement import ASIDE, FOLDER, inner_path, read_below, recover, safe_path
from keisei.library.placing import held
from keisei.records.error import OperatorError, WorldFault
from keisei.wiring.forge_receipt import Slip, WrittenFile
from keisei.wiring.forge_result import Undone

LEAVINGS: Final = frozenset(
    ("__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", "target", "Cargo.lock")
)
"""What tools make of the files in a package; it goes with them."""
HINT: Final = "put it back as it was written, or change the files by hand"


def check_back(slip: Slip) -> None:
    """Raises OperatorError that names the file where it cannot be taken back; nothing is changed by that."""
    package = Path(slip.folder, slip.package)
    if slip.is_new_package and not os.path.lexists(package):
        raise OperatorError(f"`{package}` is gone", "there is nothing to take back")
    with _opened(package) as root:
        _check(root, slip)
    if slip.is_new_package:
        _check_strangers(package, slip)


def take_back(slip: Slip) -> Undone:
    """Put everything back. Raises OperatorError that names the file, with nothing changed; WorldFault where it cannot.

    The second call of one that was killed goes on.
    """
    try:
        gone = _whole(slip) if slip.is_new_package else _single(slip)
        removed = [each for each in slip.folders if not slip.is_new_package or not _is_in(slip, each)]
        gone += [_shown(slip, each) for each in removed if _rmdir(Path(each))]
    except OSError as error:
        message = f"`{slip.atom}` cannot be taken back: {(error.strerror or str(error)).lower()}"
        raise WorldFault(message, "check the folder and its permissions, and try again") from error
    restored = tuple(each.path for each in slip.files if each.was is not None)
    return Undone(atom=slip.atom, removed=tuple(gone), restored=restored)


def is_placed(slip: Slip) -> bool:
    """Whether it was written: the last file, which makes the others count, is in its place. Never raises."""
    try:
        with _opened(Path(slip.folder, slip.package)) as root:
            return _state(root, slip.files[-1]) == "now"
    except (OSError, OperatorError):
        return False


def is_gone(slip: Slip) -> bool:
    """Whether somebody removed all of it by hand, in a folder of packages that is there: nothing is to be put back."""
    files = [Path(slip.folder, each.path) for each in slip.files]
    is_new = all(each.was is None for each in slip.files)
    return is_new and Path(slip.folder).is_dir() and not any(map(os.path.lexists, files))


def heal(slip: Slip) -> None:
    """Clear away what a write that was killed has left. Nobody else writes by the forge meanwhile."""
    folder, package = Path(slip.folder), Path(slip.folder, slip.package)
    if slip.is_new_package:
        for each in folder.glob(f"{ASIDE}*"):
            if not each.is_symlink() and os.path.lexists(each / slip.package):
                shutil.rmtree(each, ignore_errors=True)
            else:
                _rmdir(each)  # who was killed before anything was in it
        if not os.path.lexists(package):
            for made in slip.folders:
                _rmdir(Path(made))
        return
    with suppress(OSError, OperatorError), held(package) as root:
        recover(package, root)


# --- a package that was made ------------------------------------------------------------------------------------------


def _whole(slip: Slip) -> list[str]:
    package = Path(slip.folder, slip.package)
    aside = package.parent / f"{ASIDE}undo-{slip.receipt_id}"
    is_gone = slip.state == "undoing" and not os.path.lexists(package)  # somebody was killed after that
    if not is_gone:
        check_back(slip)
        with held(package):
            package.rename(aside)
        _or_back(lambda: _check_aside(aside, slip), aside, package)
    if os.path.lexists(aside):
        shutil.rmtree(aside)
    return [each.path for each in slip.files] + [slip.package]


def _check_aside(aside: Path, slip: Slip) -> None:
    """Once more, where nobody writes any longer."""
    with _opened(aside) as root:
        _check(root, slip)
    _check_strangers(aside, slip)


def _or_back(check: Callable[[], None], aside: Path, package: Path) -> None:
    try:
        check()
    except BaseException:
        aside.rename(package)
        raise


def _check_strangers(package: Path, slip: Slip) -> None:
    """Raises OperatorError for a file that somebody else put there: it would be lost."""
    own = {inner_path(each.path) for each in slip.files}
    for folder, folders, names in os.walk(package):
        folders[:] = [each for each in folders if each not in LEAVINGS and not Path(folder, each).is_symlink()]
        links = [each for each in os.listdir(folder) if Path(folder, each).is_symlink()]  # noqa: PTH208 - names
        for name in sorted({*names, *links} - LEAVINGS):
            inner = os.path.relpath(Path(folder, name), package)
            if inner not in own:
                message = f"`{slip.package}/{inner}` was put there since by somebody else"
                raise OperatorError(message, "move it away, or keep the package")


# --- files in a package that was there --------------------------------------------------------------------------------


def _single(slip: Slip) -> list[str]:
    package = Path(slip.folder, slip.package)
    spare = f"{ASIDE}undo-{slip.receipt_id}"
    with held(package) as root:
        recover(package, root)
        with suppress(FileNotFoundError):
            os.unlink(spare, dir_fd=root)
        _check(root, slip)
        for each in reversed(slip.files):  # the page was last, and goes first
            if _state(root, each) == "now":
                _put_back(root, each, spare)
    return [each.path for each in slip.files if each.was is None]


def _put_back(root: int, file: WrittenFile, spare: str) -> None:
    with _parent(root, inner_path(file.path)) as (folder, name):
        if file.was is None:
            os.unlink(name, dir_fd=folder)
            return
        handle = os.open(spare, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=root)
        with os.fdopen(handle, "wb") as made:
            made.write(file.was.encode())
            made.flush()
            os.fchmod(made.fileno(), 0o644 if file.mode is None else file.mode)
            os.fsync(made.fileno())
        os.replace(spare, name, src_dir_fd=root, dst_dir_fd=folder)


def _check(root: int, slip: Slip) -> None:
    """Raises OperatorError for a file that is neither as it was written nor as it was before."""
    begun = slip.state == "undoing"
    for each in slip.files:
        state = _state(root, each)
        if state == "other" or (state == "was" and not begun):
            what = "is gone" if each.was is None and state == "was" else "was changed since by somebody else"
            raise OperatorError(f"`{each.path}` {what}", HINT)


def _state(root: int, file: WrittenFile) -> str:
    try:
        found = read_below(root, inner_path(safe_path(file.path)))
    except (OperatorError, ValueError):  # a symlink on the way, or a folder that is none
        return "other"
    if found is not None and hashlib.sha256(found).hexdigest() == file.sha:
        return "now"
    before = None if file.was is None else file.was.encode()
    return "was" if found == before else "other"


# --- folders ----------------------------------------------------------------------------------------------------------


@contextmanager
def _opened(package: Path) -> Iterator[int]:
    """Raises OperatorError for what is no folder any more."""
    try:
        root = os.open(package, FOLDER)
    except OSError as error:
        raise OperatorError(f"`{package}` is gone, or no folder any more", HINT) from error
    try:
        yield root
    finally:
        os.close(root)


@contextmanager
def _parent(root: int, path: str) -> Iterator[tuple[int, str]]:
    """The folder of a path as a descriptor, no symlink followed on the way, and the name there. Raises OSError."""
    *parts, name = path.split("/")
    here = os.dup(root)
    try:
        for part in parts:
            inner = os.open(part, FOLDER, dir_fd=here)
            os.close(here)
            here = inner
        yield here, name
    finally:
        os.close(here)


def _is_in(slip: Slip, folder: str) -> bool:
    return f"{folder}/".startswith(f"{slip.folder}/{slip.package}/")


def _shown(slip: Slip, folder: str) -> str:
    return folder.removeprefix(f"{slip.folder}/")


def _rmdir(folder: Path) -> bool:
    """Remove a folder that was made, unless somebody else uses it."""
    cached = folder / "__pycache__"
    if cached.is_dir() and not cached.is_symlink() and len(os.listdir(folder)) == 1:  # noqa: PTH208 - names
        shutil.rmtree(cached, ignore_errors=True)
    try:
        folder.rmdir()
    except OSError:
        return False
    return True
