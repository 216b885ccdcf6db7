"""Compilers: sources that are read, and the outputs that are named after them."""

import re

from keisei.rules.shell.target.call import Call
from keisei.rules.shell.target.page import Page, Shape, note
from keisei.rules.shell.target.path import base
from keisei.rules.shell.target.spot import TREE

_NO_OUTPUT = ("E", "M", "MM", "fsyntax-only", "version", "dumpversion", "dumpmachine", "###", "v", "help")

_PROTOC_OUT = re.compile(r"--\w+_out(?:=(.*))?", re.DOTALL)


def _cc(call: Call, page: Page) -> None:
    note(call.operands, page, writes=False)
    if call.has("o", *_NO_OUTPUT) or not call.operands:
        return
    if call.has("c", "S"):
        for path in call.operands:
            page.write(f"{base(path).rpartition('.')[0] or base(path)}{'.o' if call.has('c') else '.s'}")
    else:
        page.write("a.out")


def _objcopy(call: Call, page: Page) -> None:
    note(call.operands[:1], page, writes=len(call.operands) == 1)
    note(call.operands[1:2], page, writes=True)
    for section in call.values("dump-section"):
        page.write(section.partition("=")[2])


def _protoc(call: Call, page: Page) -> None:
    for word, following in zip(call.words, (*call.words, "")[1:], strict=True):
        match = _PROTOC_OUT.fullmatch(word)
        if match and not word.startswith("--descriptor_set_out"):
            page.write((following if match[1] is None else match[1]).rpartition(":")[2], TREE)


SHAPES: dict[str, Shape] = {
    "cc": _cc,
    "ld": _cc,
    "as": _cc,
    "objcopy": _objcopy,
    "protoc": _protoc,
}
"""How compilers read operands, by the name the tables use."""
