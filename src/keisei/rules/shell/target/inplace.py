"""Editing in place: files rewritten where they stand, and the copies that are kept of them."""

import re
from collections.abc import Iterable

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.target.call import Call
from keisei.rules.shell.target.page import Page, Shape, note
from keisei.rules.shell.target.path import base, beside, joined

_YQ_VERBS = (("e",), ("eval",), ("ea",), ("eval-all",))

_AWK_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:::\w+)?=")

_AWK_SUFFIX = re.compile(r"(?:INPLACE_SUFFIX|inplace::suffix)=(.*)", re.DOTALL)


def in_place(paths: Iterable[str], suffix: str | None, page: Page) -> None:
    """Files rewritten where they stand, and the copies kept of them: `.bak`, `old_*`, `backup/*`."""
    for path in paths:
        page.write(path)
        if suffix:
            name = suffix.replace("*", base(path)) if "*" in suffix else base(path) + suffix
            page.write(name if "/" in name else beside(path, name))


def _script_in_place(call: Call, page: Page) -> None:
    """Perl and ruby: the first operand is the program, unless -e gives it."""
    files = call.operands if call.has("e", "E") else call.operands[1:]
    if files is not call.operands:
        page.read(call.operands[0] if call.operands else None)
    if call.program == "ruby":
        page.folder = joined(page.folder, call.value("C") or call.value("X") or "")
    if call.has("i"):
        in_place(files, call.value("i"), page)
    else:
        note(files, page, writes=False)


def _awk(call: Call, page: Page) -> None:
    operands = call.operands if call.has("f", "e", "E") else call.operands[1:]
    files = [each for each in operands if not _AWK_ASSIGNMENT.match(each)]
    if any("inplace" in each for each in (*call.values("i"), *call.values("f"))):
        suffixes = [match[1] for match in map(_AWK_SUFFIX.fullmatch, (*call.values("v"), *operands)) if match]
        in_place(files, suffixes[-1] if suffixes else None, page)
    else:
        note(files, page, writes=False)
    for option, default in (("o", "awkprof.out"), ("p", "awkprof.out"), ("d", "awkvars.out")):
        if call.has(option) and call.value(option) is None:
            page.write(default)


def _patch(call: Call, page: Page) -> None:
    folder = call.value("d") or ""
    page.folder = joined(page.folder, folder) if folder else page.folder
    page.read(call.value("i"))
    note(call.operands[1:2], page, writes=False)
    if call.has("dry-run", "C"):
        return
    goal = call.value("o") or (call.operands[0] if call.operands else None)
    page.write(call.value("r"))
    if goal is None:
        page.write(UNKNOWN)
    else:
        page.write(goal)


def _yq(call: Call, page: Page) -> None:
    operands = call.operands[1:] if call.operands[:1] in _YQ_VERBS else call.operands
    files = operands[1:] if len(operands) > 1 and not call.has("from-file") else operands
    note(files, page, writes=call.has("i"))
    if call.has("s") and call.value("s"):
        page.write_anything()


def _dos2unix(call: Call, page: Page) -> None:
    pairs = call.has("n")
    for number, path in enumerate(call.operands):
        writes = not call.has("O", "i") and (not pairs or number % 2 == 1)
        note([path], page, writes=writes)


def _rustfmt(call: Call, page: Page) -> None:
    note(call.operands, page, writes=not call.has("check") and (call.value("emit") or "files") == "files")


def _terraform_fmt(call: Call, page: Page) -> None:
    note(call.files, page, writes=not call.has("check") and call.value("write") != "false", tree=True)


SHAPES: dict[str, Shape] = {
    "script_in_place": _script_in_place,
    "awk": _awk,
    "patch": _patch,
    "yq": _yq,
    "dos2unix": _dos2unix,
    "rustfmt": _rustfmt,
    "terraform_fmt": _terraform_fmt,
}
"""How editors without a screen read operands, by the name the tables use."""
