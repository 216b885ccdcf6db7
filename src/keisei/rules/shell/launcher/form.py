"""Forms: how a program names what it starts, as data that the tables are written in.

A spec is a list of options: `-abc` three flags, `-ab=` two options with a value, `==` two values, `?` a value only
when it is attached, `#` digits only when attached. After a colon stands what the option means:
stop (nothing is started), dir (it goes there first), sh (the value is shell text), prog (the value is a program),
file (the value is a shell script), code (the value is code), codefile (the value is a file of code),
shell (a shell is started where no program is named), words (what follows is a command line),
text (what follows is shell text), local (folders of this machine are shown to it), entry (comes before the program),
end (no option follows), assign (the value is NAME=VALUE), none (no program is read from standard input).
"""

from collections.abc import Mapping
from typing import NamedTuple


class Form(NamedTuple):
    """How one program names what it starts."""

    spec: str = ""
    """Its options."""
    before: int = 0
    """Operands that come before the program."""
    rest: str = "words"
    """What the other operands are: words, text (joined), each (each one is shell text), shell (its words), none."""
    marks: frozenset[str] = frozenset()
    """visible, remote, assigns, shell, appends, permute, digits, single, lenient, again, dashes."""
    subs: Mapping[str, "Form"] | None = None
    """Where the first operand is a command of its own: what each of them starts."""


class Language(NamedTuple):
    """How one interpreter is given its program."""

    name: str
    """The language, as `code` and `code_files` call it."""
    spec: str = ""
    """Its options."""
    operand: str = "file"
    """What the first operand is: a file, the program, none of it."""
    marks: frozenset[str] = frozenset()
    """As for a form."""


def names(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


def valued(text: str, end: str = "=") -> str:
    """Long options that all take a value."""
    return "".join(f" --{name}{end}" for name in text.split())


def make_form(spec: str = "", marks: str = "", before: int = 0, rest: str = "words") -> Form:
    """A form, its marks as one text."""
    return Form(spec, before, rest, frozenset(marks.split()))


def make_subs(spec: str, marks: str = "visible", **subs: Form) -> Form:
    """A form whose first operand is a command of its own; `exec_env` stands for `exec-env`."""
    named = {name.rstrip("_").replace("_", "-"): form for name, form in subs.items()}
    return Form(spec, marks=frozenset(marks.split()), subs=named)


def make_language(name: str, spec: str = "", operand: str = "file", marks: str = "") -> Language:
    """A language, its marks as one text."""
    return Language(name, spec, operand, frozenset(marks.split()))


RUN = make_form("", "visible")
"""All words are a command line; an allow-list names the launcher too."""
