"""Interpreters: the program as text, as a file, or from standard input, with its language."""

from keisei.rules.shell.launcher.form import Language
from keisei.rules.shell.launcher.found import Found
from keisei.rules.shell.launcher.launch import Launch, Words
from keisei.rules.shell.launcher.option import Scan
from keisei.rules.shell.launcher.python import read_module
from keisei.rules.shell.launcher.role import read_roles


def interpret(language: Language, words: Words) -> Launch | None:
    """What the interpreter of that language is given to run; None where it runs nothing."""
    scan = Scan(words, language.spec, language.marks)
    if scan.has("stop"):
        return None
    found = Found(transparent=False)
    read_roles(scan, words[0], found)
    texts = scan.values("code")
    for value in (*scan.values("codefile"), *scan.values("load")):
        found.code_file(language.name, value)
    given = bool(texts) or scan.has("codefile")
    texts = [*(f"use {value};" for value in scan.values("use")), *texts]
    if scan.has("module"):
        read_module(scan, found)
    elif scan.has("words"):
        found.argv(scan.tail())
    elif not given and not scan.has("none") and not scan.has("npm"):
        for rest in scan.rests():
            texts += _program(language, scan, rest, found)
    elif language.operand == "second":
        texts += scan.rests()[0][1:]
    if texts:
        found.code.append((language.name, "\n".join(texts)))
    if "-i" in scan.names() and language.name in {"python", "lua"}:
        found.reads_code = language.name
    return found.launch()


def _program(language: Language, scan: Scan, rest: Words, found: Found) -> list[str]:
    """The program that the operands name: text that is returned, or a file, or standard input."""
    if language.operand == "program":
        if not rest:
            return []
        in_place = rest[0] == "" and bool(scan.names() & {"-i", "-I"})
        return list(rest[:2] if in_place else rest[:1])
    if language.operand == "second":
        if len(rest) > 1:
            return list(rest[1:])
        found.reads_code = language.name
    elif language.operand == "none" or not rest or (language.name == "php" and scan.dashed):
        if "silent" not in language.marks:
            found.reads_code = language.name
        if rest and language.name in {"gdb", "lldb"}:
            found.argv(rest[:1])
    else:
        found.code_file(language.name, rest[0])
    return []
