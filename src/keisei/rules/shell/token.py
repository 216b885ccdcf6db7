"""The strict tokenizer: plain command lines to the same syntax tree a full parser gives, in microseconds.

It knows words of harmless characters, plain quotes, `&& || ; |` and a few redirections. Everything else (keywords,
assignments, expansions, globs, comments, newlines) it leaves to the full grammar. Falls closed: unsure means None.
"""

import re
from typing import Any, Final

Node = dict[str, Any]

TOKEN: Final = re.compile(
    r"""[ \t]*(?:
      (?P<redirect>(?P<fd>[12])?(?P<op>>>|>|<)(?P<dup>&[12](?=[ \t;|&]|$))?[ \t]*(?P<to>(?(dup)|[A-Za-z0-9_./:@%+,-]+)))
    | (?P<and>&&) | (?P<or>\|\|) | (?P<pipe>\|(?!&)) | (?P<semi>;(?![;&]))
    | (?P<word>(?:[A-Za-z0-9_./:@%+,=-]|'[^'\n\0]*'|"[^"$`\\!\n\0]*")+)
    )""",
    re.VERBOSE,
)
PART: Final = re.compile(r"""(?P<lit>[^'"]+)|'(?P<single>[^']*)'|"(?P<double>[^"]*)\"""")
ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
DIGITS: Final = re.compile(r"[0-9]+$")
KEYWORDS: Final = frozenset(
    {
        *("if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "select", "in"),
        *("function", "time", "coproc", "declare", "export", "local", "readonly", "typeset", "nameref", "let"),
    }
)
LONGEST: Final = 8192


def plain(text: str) -> Node | None:
    """The syntax tree of a plain command line, or None where the full grammar must be asked."""
    if len(text) > LONGEST or "\0" in text:
        return None
    reader = _Reader(text.strip(" \t\n"))
    return reader.file()


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.kind: str | None = None
        self.match: re.Match[str] | None = None

    def file(self) -> Node | None:
        statements: list[Node] = []
        self._step()
        while self.kind is not None:
            statement = self._list()
            if statement is None:
                return None
            statements.append(statement)
            if self.kind == "semi":
                self._step()
            elif self.kind is not None:
                return None
        return {"Type": "File", "Stmts": statements} if statements and self.at == len(self.text) else None

    def _step(self) -> None:
        """The next token; kind None at the end of the text, and where nothing fits."""
        match = TOKEN.match(self.text, self.at) if self.at < len(self.text) else None
        self.match = match
        self.kind = None
        if match is None:
            return
        self.kind = match.lastgroup if match.lastgroup != "to" else "redirect"
        if match["redirect"]:
            self.kind = "redirect"
        self.at = match.end()
        after = self.text[self.at : self.at + 1]
        if self.kind in ("word", "redirect") and after and after not in " \t;|&<>":
            self.kind, self.at = None, -1  # something the tokenizer does not know touches the word
        elif self.kind in ("word", "redirect") and after in ("<", ">") and self._is_number():
            self.kind, self.at = None, -1  # a descriptor's number, perhaps

    def _is_number(self) -> bool:
        return self.match is not None and DIGITS.search(self.match[0]) is not None

    def _list(self) -> Node | None:
        left = self._pipeline()
        while left is not None and self.kind in ("and", "or"):
            op = "&&" if self.kind == "and" else "||"
            self._step()
            right = self._pipeline()
            left = None if right is None else {"Cmd": {"Type": "BinaryCmd", "Op": op, "X": left, "Y": right}}
        return left

    def _pipeline(self) -> Node | None:
        left = self._simple()
        while left is not None and self.kind == "pipe":
            self._step()
            right = self._simple()
            left = None if right is None else {"Cmd": {"Type": "BinaryCmd", "Op": "|", "X": left, "Y": right}}
        return left

    def _simple(self) -> Node | None:
        words: list[Node] = []
        redirects: list[Node] = []
        while self.match is not None and self.kind in ("word", "redirect"):
            if self.kind == "redirect":
                redirects.append(_redirect(self.match))
            else:
                raw = self.match["word"]
                if not words and (raw in KEYWORDS or ASSIGNMENT.match(raw)):
                    return None
                words.append(_word(raw))
            self._step()
        if not words or self.at < 0:
            return None
        statement: Node = {"Cmd": {"Type": "CallExpr", "Args": words}}
        if redirects:
            statement["Redirs"] = redirects
        return statement


def _word(raw: str) -> Node:
    if "'" not in raw and '"' not in raw:
        return {"Parts": [{"Type": "Lit", "Value": raw}]}
    parts: list[Node] = []
    for match in PART.finditer(raw):
        if match["lit"] is not None:
            parts.append({"Type": "Lit", "Value": match["lit"]})
        elif match["single"] is not None:
            parts.append({"Type": "SglQuoted", **({"Value": match["single"]} if match["single"] else {})})
        else:
            inner = [{"Type": "Lit", "Value": match["double"]}] if match["double"] else []
            parts.append({"Type": "DblQuoted", **({"Parts": inner} if inner else {})})
    return {"Parts": parts}


def _redirect(match: re.Match[str]) -> Node:
    node: Node = {"Op": match["op"] + ("&" if match["dup"] else "")}
    if match["fd"]:
        node["N"] = {"Value": match["fd"]}
    target = match["dup"][1:] if match["dup"] else match["to"]
    node["Word"] = {"Parts": [{"Type": "Lit", "Value": target}]}
    return node
