"""Options: what the text of a grammar lists, by name. The same text is read once."""

import re
from functools import lru_cache
from typing import NamedTuple


class Option(NamedTuple):
    """One option a grammar lists."""

    name: str
    """Its first name, by which shapes ask for it."""
    kind: str
    """Empty for a flag, `1` for a value, else the sign after `=` as `grammar` says."""
    role: str
    """What the value is: `w`, `W`, `r`, `n`, or empty where it is no path and no address."""


class Options(NamedTuple):
    """The options a grammar lists, by name."""

    short: dict[str, Option]
    """Those of one letter."""
    long: dict[str, Option]
    """All others."""


_ITEM = re.compile(r"([^=]+)(?:=([?#=]?)([wWrn]?))?")


@lru_cache(maxsize=512)
def options_of(text: str) -> Options:
    """The options of a grammar's text."""
    short: dict[str, Option] = {}
    long: dict[str, Option] = {}
    for item in text.split():
        match = _ITEM.fullmatch(item)
        names = match[1].split(",") if match else []
        for name in names:
            kind = "" if match is None or "=" not in item else match[2] or "1"
            (short if len(name) == 1 else long)[name] = Option(names[0], kind, (match and match[3]) or "")
    return Options(short, long)


@lru_cache(maxsize=4096)
def shortened(options: str, name: str) -> Option | None:
    """The long option the name is the beginning of; one that writes where several are."""
    fitting = [option for long, option in options_of(options).long.items() if name and long.startswith(name)]
    return next((each for each in fitting if each.role in ("w", "W")), fitting[0] if fitting else None)
