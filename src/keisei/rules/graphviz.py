"""Graphviz: text in quotes, which says nothing but itself."""

LONGEST = 80
"""Characters of a name that are drawn."""


def quoted(text: str) -> str:
    """A label in quotes, on one line; what cannot be seen is a question mark."""
    shown = " ".join(text[:LONGEST].split()) or "-"
    return label("".join(each if each.isprintable() else "?" for each in shown))


def label(text: str) -> str:
    """A label in quotes, that is drawn as it is: Graphviz would read entities of HTML in it."""
    return name(text.replace("&", "&amp;"))


def name(text: str) -> str:
    """The name of a node in quotes. Graphviz keeps the two backslashes that stand for one."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
