"""Bombs: texts that are small and take a parser long. Found before the parser is asked; every look is linear."""

import re

import yaml

NAME = r"(?:[A-Za-z0-9_-]+|\"[^\"\n]*\"|'[^'\n]*')"
LONG_KEY = re.compile(rf"(?:^|[{{,])[ \t]*\[{{0,2}}[ \t]*((?:{NAME}[ \t]*\.[ \t]*){{65}})", re.MULTILINE)
"""A dotted TOML key of more parts than anybody nests."""
LONG_NUMBER = re.compile(r"[0-9_]{4300,}")
BRACKETS = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'|#[^\n]*|[\[\]{}]", re.DOTALL)
ALIAS = re.compile(r"(?:^|[\s\[{,:-])\*[^\s,\[\]{}]", re.MULTILINE)
DEEPEST = 128
MOST_ALIASES = 100


def yaml_too_deep(text: str) -> bool:
    """Whether brackets nest deeper than ryaml reads; its scanner takes quadratic time to find that out."""
    if text.count("[") + text.count("{") <= DEEPEST:
        return False
    depth = 0
    for found in BRACKETS.finditer(text):
        token = found[0]
        depth += (token in ("[", "{")) - (token in ("]", "}"))
        if depth > DEEPEST:
            return True
    return False


def yaml_bomb(text: str) -> bool:
    """Whether aliases repeat more than a person writes. ryaml counts repeated nodes, not how long their texts are."""
    if ALIAS.search(text) is None:
        return False
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    aliases = 0
    try:
        for event in yaml.parse(text, loader):
            aliases += isinstance(event, yaml.AliasEvent)
            if aliases > MOST_ALIASES:
                return True
    except (yaml.YAMLError, UnicodeError):
        return False  # ryaml will say what is wrong
    return False
