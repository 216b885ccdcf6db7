"""Plain operands: files that are read, written, made or deleted by their position alone."""

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.target.call import Call
from keisei.rules.shell.target.page import Page, Shape, note
from keisei.rules.shell.target.path import beside, joined
from keisei.rules.shell.target.spot import FILE, FOLDER, TREE, Spot

_MOST_PARENTS = 64


def _files(call: Call, page: Page) -> None:
    """Operands are read or written, as the table says."""
    writes = call.grammar.shape != "read" or (bool(call.grammar.change) and call.any_of(call.grammar.change))
    still = bool(call.grammar.still) and call.any_of(call.grammar.still)
    note(call.files, page, writes=writes and not still, tree=call.tree)


def _none(_call: Call, _page: Page) -> None:
    """Operands are no files."""


def _first(call: Call, page: Page) -> None:
    note(call.files[:1], page, writes=True, tree=call.tree)


def _last(call: Call, page: Page) -> None:
    note(call.files[:-1], page, writes=False)
    note(call.files[-1:], page, writes=True)


def _pair(call: Call, page: Page) -> None:
    note(call.files[:1], page, writes=False)
    note(call.files[1:2], page, writes=True)


def make(call: Call, page: Page) -> None:
    """Operands are folders that are made."""
    for path in call.files:
        page.write(path, FOLDER)


def _delete(call: Call, page: Page) -> None:
    for path in call.files:
        page.delete(path, tree=call.tree)


def _rmdir(call: Call, page: Page) -> None:
    for path in call.files:
        page.delete(path)
        parts = path.rstrip("/").split("/")
        if call.has("p") and len(parts) > _MOST_PARENTS:
            page.delete(parts[0] or "/", tree=True)
        elif call.has("p"):
            for count in range(len(parts) - 1, 0, -1):
                page.delete("/".join(parts[:count]))


def _shred(call: Call, page: Page) -> None:
    note(call.files, page, writes=True)
    if call.has("u", "remove"):
        _delete(call, page)


def _restore(call: Call, page: Page) -> None:
    note(call.files, page, writes=True, tree=call.tree)
    if call.has("restore"):
        page.write_anything()


def _chattr(call: Call, page: Page) -> None:
    note((each for each in call.files if not each.startswith(("+", "="))), page, writes=True, tree=call.tree)


def _mount(call: Call, page: Page) -> None:
    if len(call.operands) > 1:
        page.write(call.operands[-1], TREE)


def _dd(call: Call, page: Page) -> None:
    for word in call.words:
        key, _, value = word.partition("=")
        if key == "of":
            page.write(value)
        elif key == "if":
            page.read(value)


def _editor(call: Call, page: Page) -> None:
    note((each for each in call.files if not each.startswith("+")), page, writes=True)


def _flock(call: Call, page: Page) -> None:
    """The lock is a file; a number is an open one."""
    note((each for each in call.files[:1] if not each.isdigit()), page, writes=True)


def _script(call: Call, page: Page) -> None:
    if call.operands or not call.has("O", "I", "B"):
        page.write(call.operands[0] if call.operands else "typescript")


def _crontab(call: Call, page: Page) -> None:
    note(call.operands[:1], page, writes=False)
    if not call.has("l"):
        page.write("/var/spool/cron/crontabs", TREE)


def _rename(call: Call, page: Page) -> None:
    for path in () if call.has("n") else call.operands if call.has("e") else call.operands[1:]:
        page.delete(path)
        page.write(beside(path, UNKNOWN), Spot("", entry=True))


def _keygen(call: Call, page: Page) -> None:
    path = call.value("f")
    if path and call.has("l", "y", "e", "i", "F", "B", "Y"):
        page.read(path)
    elif path:
        page.write(path)
        page.write(f"{path}.pub")


def _mktemp(call: Call, page: Page) -> None:
    if call.has("u"):
        return
    template = (call.operands[0] if call.operands else "tmp.XXXXXXXXXX") + (call.value("suffix") or "")
    folder = call.value("p") or call.value("tmpdir")
    if folder is None and (call.has("t", "p", "tmpdir") or not call.operands):
        folder = "/tmp"  # noqa: S108 - where mktemp makes it
    page.write(joined(folder or "", template), FOLDER if call.has("d") else FILE)


def _split(call: Call, page: Page) -> None:
    page.read(call.operands[0] if call.operands else None)
    if not call.has("filter"):
        prefix = call.operands[1] if len(call.operands) > 1 else "x"
        page.write(prefix + UNKNOWN + (call.value("additional-suffix") or ""))


def _csplit(call: Call, page: Page) -> None:
    page.read(call.operands[0] if call.operands else None)
    if call.operands:
        page.write((call.value("f") or "xx") + UNKNOWN)


def _script_file(call: Call, page: Page) -> None:
    if not call.has("c", "m", "e", "p", "r", "s"):
        page.read(call.operands[0] if call.operands else None)


SHAPES: dict[str, Shape] = {
    "read": _files,
    "write": _files,
    "none": _none,
    "verb": _none,
    "first": _first,
    "last": _last,
    "pair": _pair,
    "make": make,
    "delete": _delete,
    "rmdir": _rmdir,
    "shred": _shred,
    "restore": _restore,
    "chattr": _chattr,
    "mount": _mount,
    "dd": _dd,
    "editor": _editor,
    "script": _script,
    "flock": _flock,
    "crontab": _crontab,
    "rename": _rename,
    "keygen": _keygen,
    "mktemp": _mktemp,
    "split": _split,
    "csplit": _csplit,
    "script_file": _script_file,
}
"""How plain operands are read, by the name the tables use."""
