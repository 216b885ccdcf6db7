"""Makefiles: the shell text that making a target runs."""

import re
from collections.abc import Iterable

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.code.expansion import LARGE, Variables
from keisei.rules.shell.code.result import Code, Found

_ASSIGN = re.compile(
    r"\s*(?:override\s+|export\s+|private\s+|unexport\s+)*"
    r"([^\s:#=+?!$]+|\$[({][^)}]*[)}])\s*(:::=|::=|:=|\?=|\+=|!=|=)\s?(.*)",
    re.DOTALL,
)
_RULE = re.compile(r"([^\s:#=][^:#=]*?)\s*(&?::?)(?!=)(.*)", re.DOTALL)
_DIRECTIVES = (
    "include",
    "-include",
    "sinclude",
    "ifeq",
    "ifneq",
    "ifdef",
    "ifndef",
    "else",
    "endif",
    "vpath",
    "load",
    "export",
    "unexport",
    "undefine",
)
_MANY_RULES = 4000


class _Rule:
    def __init__(self, targets: list[str], needs: list[str]) -> None:
        self.targets = targets
        self.needs = needs
        self.lines: list[str] = []


def recipes(makefile: str, targets: tuple[str, ...]) -> Code:
    """The shell text that making these targets runs, the first goal where none is named. `A=b` in targets overrides.

    What cannot be expanded is UNKNOWN inside the text and is no reason to call it opaque.
    """
    found = Found()
    overrides = dict(one.split("=", 1) for one in targets if re.match(r"\w+:?=", one))
    reader = _Makefile(found, {name.rstrip(":"): value for name, value in overrides.items()})
    reader.read(makefile)
    reader.make([one for one in targets if "=" not in one])
    return found.code()


class _Makefile:
    def __init__(self, found: Found, overrides: dict[str, str]) -> None:
        self._found = found
        self._overrides = overrides
        self._variables = Variables(found, overrides)
        self._rules: list[_Rule] = []
        self._by_name: dict[str, list[_Rule]] = {}
        self._patterns: list[_Rule] = []
        self._prefix = "\t"

    def read(self, text: str) -> None:
        """Take in variables and rules; run what is run while a makefile is read."""
        rule: _Rule | None = None
        define: tuple[str, list[str]] | None = None
        for line in _joined(text):
            if define is not None:
                define = self._defined(define, line)
            elif line.startswith(self._prefix) and rule is not None:
                rule.lines.append(line[len(self._prefix) :])
            elif line.lstrip().startswith("define "):
                define = (re.sub(r"[:?+]?=$", "", line.split(None, 1)[1].strip()).strip(), [])
            elif line.strip() and not line.lstrip().startswith("#"):
                rule = self._statement(line.strip(" \r"), rule)

    def _defined(self, define: tuple[str, list[str]], line: str) -> tuple[str, list[str]] | None:
        if line.strip() == "endef":
            self._variables.names.setdefault(define[0], "\n".join(define[1]))
            return None
        define[1].append(line)
        return define

    def _statement(self, line: str, rule: _Rule | None) -> _Rule | None:
        assign = _ASSIGN.fullmatch(line)
        words = line.split()
        if assign and not words[0].startswith(("ifeq", "ifneq")):
            wins = words[0] == "override"
            if wins:
                self._overrides.pop(assign[1], None)
            self._assign(assign[1], assign[2], _uncommented(assign[3]))
            if wins:
                self._overrides[assign[1]] = assign[3]
            return rule
        if words[0].split("(")[0] in _DIRECTIVES:
            self._variables.expand(line)
            return rule
        match = _RULE.fullmatch(line)
        if not match:
            self._variables.expand(line)
            return rule
        return self._rule(match)

    def _assign(self, name: str, sign: str, value: str) -> None:
        if name in self._overrides:
            return
        if sign == "!=":
            self._found.recipe(self._variables.expand(value))
            self._variables.names[name] = UNKNOWN
        elif sign == "+=":
            self._variables.names[name] = f"{self._variables.names.get(name, '')} {value}".strip()[:LARGE]
        elif sign == "?=":
            self._variables.names.setdefault(name, value)
        else:
            self._variables.names[name] = (
                self._variables.expand(value) if ":" in sign else value.replace(f"$({name})", UNKNOWN)
            )
        if name == ".RECIPEPREFIX":
            self._prefix = value[:1] or "\t"

    def _rule(self, match: re.Match[str]) -> _Rule | None:
        rest, semicolon, command = match[3].partition(";")
        if _ASSIGN.fullmatch(rest) and "=" in rest:
            assign = _ASSIGN.fullmatch(rest)
            if assign:
                self._assign(assign[1], assign[2], assign[3])
            return None
        pieces = _uncommented(rest).split(":")
        needs = self._variables.expand(pieces[-1].replace("|", " ")).split()
        rule = _Rule(self._variables.expand(match[1]).split(), needs)
        if semicolon:
            rule.lines.append(command.strip())
        if len(self._rules) < _MANY_RULES:
            self._rules.append(rule)
            for name in rule.targets:
                self._by_name.setdefault(name, []).append(rule)
            if any("%" in name for name in rule.targets):
                self._patterns.append(rule)
        return rule

    def make(self, goals: list[str]) -> None:
        """Give the recipes of the goals and of all they need."""
        waiting = goals or self._default()
        seen: set[str] = set()
        while waiting:
            goal = waiting.pop()
            if goal in seen or len(seen) > _MANY_RULES:
                continue
            seen.add(goal)
            for rule, stem in self._matching(goal):
                needs = [need.replace("%", stem) for need in rule.needs]
                waiting.extend(needs)
                self._recipe(rule, goal, needs, stem)

    def _default(self) -> list[str]:
        chosen = self._variables.expand(self._variables.names.get(".DEFAULT_GOAL", "")).split()
        named = (name for rule in self._rules for name in rule.targets if not _special(name))
        first = next(iter(named), None)
        return chosen or ([first] if first else [])

    def _matching(self, goal: str) -> Iterable[tuple[_Rule, str]]:
        exact = [(rule, "") for rule in self._by_name.get(goal, ())]
        if any(rule.lines for rule, _ in exact):
            return exact
        for rule in self._patterns:
            for pattern in rule.targets:
                head, _, tail = pattern.partition("%")
                if (
                    len(goal) > len(head) + len(tail)
                    and goal.startswith(head)
                    and goal.endswith(tail)
                    and "%" in pattern
                ):
                    return [*exact, (rule, goal[len(head) : len(goal) - len(tail)])]
        return exact

    def _recipe(self, rule: _Rule, goal: str, needs: list[str], stem: str) -> None:
        local = {
            "@": goal,
            "<": needs[0] if needs else "",
            "^": " ".join(needs),
            "+": " ".join(needs),
            "*": stem,
            "?": " ".join(needs),
            "@D": ".",
            "@F": goal.rsplit("/", 1)[-1],
        }
        for line in rule.lines:
            text = self._variables.expand(line, local).lstrip(" \t@+-")
            for piece in text.split("\n") if "\n" in text and "\\\n" not in text else [text]:
                self._found.recipe(piece.lstrip(" \t@+-"))


def _special(name: str) -> bool:
    return (name.startswith(".") and "/" not in name) or "%" in name


def _uncommented(text: str) -> str:
    return re.sub(r"(^|\s)#.*", "", text, flags=re.DOTALL).rstrip()


def _joined(text: str) -> list[str]:
    """Lines, those that end with a backslash joined with the next: in recipes the backslash stays for the shell."""
    made: list[str] = []
    open_line = False
    for line in text.split("\n"):
        if open_line:
            recipe = made[-1].startswith("\t")
            made[-1] = (
                f"{made[-1]}\n{line.removeprefix(chr(9))}" if recipe else f"{made[-1][:-1].rstrip()} {line.lstrip()}"
            )
        else:
            made.append(line)
        open_line = made[-1].endswith("\\") and not made[-1].endswith("\\\\")
    return made
