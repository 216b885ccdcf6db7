"""Commands: what one simple command touches by its own grammar."""

from keisei.rules.shell.target.call import Call
from keisei.rules.shell.target.option import options_of
from keisei.rules.shell.target.page import Page
from keisei.rules.shell.target.program import called, known_as
from keisei.rules.shell.target.shape import EXACT, SHAPES, WRITERS
from keisei.rules.shell.target.spot import FILE, TREE, Touch
from keisei.rules.shell.target.table.verb import VERBS_THAT_REACH_OUT


def touched(words: tuple[str, ...]) -> Touch:
    """What the command touches. `words[0]` is the bare name of the program; folders of `-C` are already in the paths.

    Never raises. A program nobody wrote down touches nothing by its grammar.
    """
    if not words or words[1:] in (("--help",), ("--version",)):
        return Touch()
    program, grammar = known_as(words[0])
    call, folder, verb = called(program, grammar, words[1:])
    page = Page(folder)
    if call is not None:
        _read_options(call, page)
        before = len(page.writes)
        SHAPES[call.grammar.shape](call, page)
        if call.loose and (
            call.grammar.shape in WRITERS or (len(page.writes) > before and call.grammar.shape not in EXACT)
        ):
            page.write_anything()
    _reach_out(program, verb, page)
    return page.touch()


def _read_options(call: Call, page: Page) -> None:
    known = {
        option.name: option.role for each in options_of(call.grammar.options) for option in each.values() if option.role
    }
    for name, value in call.items:
        role = known.get(name)
        if role == "r":
            page.read(value)
        elif role == "n" and value is not None:
            page.network.append(value)
        elif role is not None:
            page.write(value, TREE if role == "W" else FILE)
    if call.has("work-tree") and call.program.startswith("git "):
        page.write(call.value("work-tree"), TREE)


def _reach_out(program: str, verb: str, page: Page) -> None:
    if verb and verb in VERBS_THAT_REACH_OUT.get(program, "").split():
        page.network.append(f"{program} {verb}")
