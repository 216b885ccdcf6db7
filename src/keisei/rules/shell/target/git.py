"""Git: what its verbs write and delete in a working tree."""

import re
from collections.abc import Iterable

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.target.call import Call
from keisei.rules.shell.target.page import Page, Shape, note
from keisei.rules.shell.target.path import base, joined
from keisei.rules.shell.target.spot import TREE, Spot

_SUFFIXED = re.compile(r"\.[A-Za-z]\w*$")


def _paths(call: Call, page: Page, paths: Iterable[str]) -> None:
    """Pathspecs written in the working tree; magic ones, and lists in a file, are anywhere."""
    for path in paths:
        page.write(UNKNOWN if path.startswith(":") else path, TREE)
    if call.has("pathspec-from-file"):
        page.write_anything()


def _git_clone(call: Call, page: Page) -> None:
    url = call.operands[0] if call.operands else ""
    if not url:
        return
    if url.startswith(("/", ".", "~", "file://")):
        page.read(url.removeprefix("file://"), tree=True)
    else:
        page.network.append(url)
    name = base(url.rstrip("/").removesuffix("/.git")).rpartition(":")[2].removesuffix(".git") or UNKNOWN
    bare = ".git" if call.has("bare", "mirror") else ""
    page.write(call.operands[1] if len(call.operands) > 1 else name + bare, TREE)


def _git_apply(call: Call, page: Page) -> None:
    note(call.operands, page, writes=False)
    looking = call.has("check", "stat", "numstat", "summary", "cached")
    if not looking or call.has("apply"):
        page.write(UNKNOWN)


def _git_checkout(call: Call, page: Page) -> None:
    dashes = call.words.index("--") if "--" in call.words else -1
    if dashes >= 0:
        return _paths(call, page, call.words[dashes + 1 :])
    if call.has("b", "B", "orphan"):
        return None
    operands = call.operands
    single = operands[:1] if len(operands) == 1 and _looks_like_a_path(operands[0]) else ()
    return _paths(call, page, operands[1:] or single)


def _looks_like_a_path(word: str) -> bool:
    """Whether a word is rather a path than a branch: `.`, `src/`, `*.c`, `a.py`."""
    return (
        word.startswith((".", ":"))
        or word.endswith("/")
        or any(c in word for c in "*?[")
        or bool(_SUFFIXED.search(word))
    )


def _git_restore(call: Call, page: Page) -> None:
    if call.has("W") or not call.has("S"):
        _paths(call, page, call.operands)


def _git_rm(call: Call, page: Page) -> None:
    if not call.any_of(call.grammar.still):
        for path in call.operands:
            page.delete(UNKNOWN if path.startswith(":") else path, tree=call.tree)
        if call.has("pathspec-from-file"):
            page.delete(UNKNOWN)


def _git_clean(call: Call, page: Page) -> None:
    if call.has("f", "i") and not call.any_of(call.grammar.still):
        for path in call.operands or (".",):
            page.deletes.append(Spot(joined(page.folder, path), tree=True))


def _git_format_patch(call: Call, page: Page) -> None:
    if not call.has("o", "stdout", "output"):
        page.write(f"{UNKNOWN}.patch")


def _git_config(call: Call, page: Page) -> None:
    looks = call.has("get", "get-all", "get-regexp", "get-urlmatch", "l") or call.operands[:1] in (("get",), ("list",))
    changes = call.has("add", "unset", "unset-all", "replace-all", "rename-section", "remove-section", "e")
    if call.value("f"):
        note([call.value("f") or ""], page, writes=not looks and (changes or len(call.operands) > 1))


SHAPES: dict[str, Shape] = {
    "git_clone": _git_clone,
    "git_apply": _git_apply,
    "git_checkout": _git_checkout,
    "git_restore": _git_restore,
    "git_rm": _git_rm,
    "git_clean": _git_clean,
    "git_format_patch": _git_format_patch,
    "git_config": _git_config,
}
"""How the verbs of git read operands, by the name the tables use."""
