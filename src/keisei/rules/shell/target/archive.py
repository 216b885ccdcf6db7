"""Archives: what is packed, and the folders that are filled when one is unpacked."""

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.target.call import Call
from keisei.rules.shell.target.page import Page, Shape, note
from keisei.rules.shell.target.path import base, is_remote, joined, told
from keisei.rules.shell.target.spot import TREE

_TAR_CHANGES = ("c", "r", "u", "A", "delete")


def _tar(call: Call, page: Page) -> None:
    archives = [each for each in call.values("f") if each != "-"]
    remote = [] if call.has("force-local") else [each for each in archives if is_remote(each)]
    page.network += remote
    for path in archives:
        if path not in remote:
            note([path], page, writes=call.has(*_TAR_CHANGES))
    if call.has("x"):
        _tar_out(call, page)
    elif call.has(*_TAR_CHANGES):
        _tar_in(call, page)
    elif call.loose and not call.has("t", "d", "test-label"):
        page.write_anything()


def _tar_out(call: Call, page: Page) -> None:
    if call.has("O", "to-command"):
        return
    folder, used = "", False
    for name, value in call.items:
        if name in ("C", "dir") and value:
            folder, used = told(joined(folder, value)), True
            page.write(folder, TREE)
    if not used:
        page.write(".", TREE)
    for value in call.values("one-top-level"):
        page.write(joined(folder, value), TREE)
    if call.has("P"):
        page.write_anything()


def _tar_in(call: Call, page: Page) -> None:
    folder = ""
    for name, value in call.items:
        if name == "C" and value:
            folder = told(joined(folder, value))
        elif name in ("", "add-file") and value:
            page.read(joined(folder, value), tree=True)
            if call.has("remove-files"):
                page.delete(joined(folder, value), tree=True)


def _unzip(call: Call, page: Page) -> None:
    note(call.operands[:1], page, writes=False)
    if call.operands and not call.has("p", "l", "t", "v", "z", "Z", "c"):
        page.write(call.value("d") or ".", TREE)
        if call.has(":"):
            page.write_anything()


def _zip(call: Call, page: Page) -> None:
    archive = call.operands[0] if call.operands else "-"
    if call.has("sf"):
        return
    if call.has("O"):
        page.read(archive)
    else:
        page.write(archive)
        if "." not in base(archive) and archive != "-":
            page.write(f"{archive}.zip")
    for path in call.operands[1:] if not call.has("d") else ():
        page.read(path, tree=call.has("r"))
        if call.has("m"):
            page.delete(path, tree=call.has("r"))


def _seven(call: Call, page: Page) -> None:
    verb, archive, paths = call.operands[:1], call.operands[1:2], call.operands[2:]
    if verb in (("x",), ("e",)):
        note(archive, page, writes=False)
        if not call.has("so", "o"):
            page.write(".", TREE)
    elif verb in (("a",), ("u",), ("d",), ("rn",)):
        for path in archive:
            page.write(path)
            page.write(path if "." in base(path) else f"{path}.7z")
        for path in paths if call.has("sdel") else ():
            page.delete(path, tree=True)


def _unrar(call: Call, page: Page) -> None:
    if call.operands[:1] in (("x",), ("e",)):
        note(call.operands[1:2], page, writes=False)
        folders = [each for each in call.operands[2:] if each.endswith("/") or UNKNOWN in each]
        for folder in folders or ["."]:
            page.write(folder, TREE)


def _cpio(call: Call, page: Page) -> None:
    archive = call.value("F") or call.value("O")
    if call.has("p"):
        note([joined(call.value("D") or "", each) for each in call.operands[-1:]], page, writes=True, tree=True)
    elif call.has("o"):
        note([archive] if archive else [], page, writes=True)
    elif call.has("i"):
        note([archive] if archive else [], page, writes=False)
        if not call.has("t", "to-stdout"):
            page.write(call.value("D") or ".", TREE)
            if not call.has("no-absolute-filenames"):
                page.write_anything()


def _ar(call: Call, page: Page) -> None:
    keys = next((each for each in call.words if not each.startswith("--")), "").lstrip("-")
    operands = [each for each in call.words if not each.startswith("-")][0 if f"-{keys}" in call.words else 1 :]
    skipped = len(set(keys) & set("abi")) + ("N" in keys)
    archive = operands[min(skipped, 1) : 1 + min(skipped, 1)] if skipped else operands[:1]
    if "x" in keys:
        note(archive, page, writes=False)
        if not call.has("output"):
            page.write(".", TREE)
    else:
        note(archive, page, writes=bool(set(keys) & set("rqdms")))


SHAPES: dict[str, Shape] = {
    "tar": _tar,
    "unzip": _unzip,
    "zip": _zip,
    "seven": _seven,
    "unrar": _unrar,
    "cpio": _cpio,
    "ar": _ar,
}
"""How archivers read operands, by the name the tables use."""
