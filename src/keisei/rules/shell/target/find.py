"""Find: the trees it walks, the lists it writes, and what `-delete` removes."""

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.target.call import Call
from keisei.rules.shell.target.page import Page, Shape, note

_FIND_WRITES = ("-fprint", "-fprint0", "-fprintf", "-fls")


def _find(call: Call, page: Page) -> None:
    roots = _find_roots(call.words) or (".",)
    note(roots, page, writes=False, tree=True)
    for word, following in zip(call.words, call.words[1:], strict=False):
        if word in _FIND_WRITES:
            page.write(following)
    if "-delete" in call.words:
        for root in (*roots, *((UNKNOWN,) if "-files0-from" in call.words else ())):
            page.delete(root, tree=True)


def _find_roots(words: tuple[str, ...]) -> tuple[str, ...]:
    roots: list[str] = []
    after_debug = False
    for word in words:
        if after_debug or word in ("-H", "-L", "-P", "--") or word.startswith("-O"):
            after_debug = False
        elif word == "-D":
            after_debug = True
        elif word.startswith("-") or word in ("(", ")", "!", ","):
            break
        else:
            roots.append(word)
    return tuple(roots)


SHAPES: dict[str, Shape] = {
    "find": _find,
}
"""How find reads operands, by the name the tables use."""
