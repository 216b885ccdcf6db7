"""Redirections: where a command's input comes from and where its output goes."""

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from keisei.records.effect import UNKNOWN, Target
from keisei.rules.shell.ground import GLOB, Node, Trace, joined, settled
from keisei.rules.shell.state import Input

if TYPE_CHECKING:
    from keisei.rules.shell.walk import Walk

DEVICES: Final = frozenset(
    {"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/stdin", "/dev/zero", "/dev/full"}
)
WRITES: Final = frozenset({">", ">>", ">|", "&>", "&>>", "<>", ">&"})


class Redirector:
    """Follows redirections."""

    def __init__(self, walk: "Walk") -> None:
        """The walk it works for."""
        self._walk = walk

    def redirected(self, nodes: Iterable[Node], trace: Trace) -> tuple[Input | None, tuple[str, ...]]:
        """What a command reads instead of its input, and the files its output goes to."""
        stdin: Input | None = None
        outputs: list[str] = []
        for node in nodes:
            self._walk.nested(node.get("Word") or {}, trace)
            self._walk.nested(node.get("Hdoc") or {}, trace)
            op = node.get("Op", "")
            number = (node.get("N") or {}).get("Value")
            if op in ("<<", "<<-", "<<<"):
                stdin = self.here(node)
            elif op in ("<", "<&"):
                stdin = self._from(node, op, trace) if number in (None, "0") else stdin
            if op in WRITES:
                outputs.extend(self._into(node, op, trace, kept=number in (None, "1") and op != ">>"))
        return stdin, tuple(outputs)

    def here(self, node: Node) -> Input:
        """The text of a here-document or a here-string."""
        if node["Op"] == "<<<":
            texts = [f"{text}\n" for text in self._walk.expander.text(node.get("Word"))]
        elif _is_quoted(node.get("Word") or {}):
            parts = (node.get("Hdoc") or {}).get("Parts") or ()
            texts = ["".join(part.get("Value", UNKNOWN) for part in parts)]
        else:
            texts = self._walk.expander.document(node.get("Hdoc"))
        text = texts[0] if len(texts) == 1 else UNKNOWN
        if node["Op"] == "<<-":
            text = "\n".join(line.lstrip("\t") for line in text.split("\n"))
        return Input(text)

    def _from(self, node: Node, op: str, trace: Trace) -> Input:
        if op == "<&":
            return Input()
        parts = (node.get("Word") or {}).get("Parts") or []
        if len(parts) == 1 and parts[0].get("Type") == "ProcSubst":
            text = self._walk.prints_all(parts[0].get("Stmts") or [])
            return Input(UNKNOWN if text is None else text)
        paths = self._walk.expander.text(node.get("Word"))
        for path in paths:
            self._touch(path, trace, self._walk.found.read)
        absolute = joined(self._walk.state.cwds[0], paths[0])
        return Input(UNKNOWN, absolute if len(paths) == 1 and len(self._walk.state.cwds) == 1 else None)

    def _into(self, node: Node, op: str, trace: Trace, *, kept: bool) -> list[str]:
        outputs: list[str] = []
        if any(part.get("Type") == "ProcSubst" for part in (node.get("Word") or {}).get("Parts") or ()):
            return outputs  # into a command, which is walked by itself
        for path in self._walk.expander.text(node.get("Word")):
            if (op == ">&" and (path.isdigit() or path in ("-", "") or path.rstrip("-").isdigit())) or path in DEVICES:
                continue
            if path.startswith(("/dev/tcp/", "/dev/udp/")):
                self._walk.found.network[path] = None
            elif not re.fullmatch(r"/dev/fd/[012]|/proc/self/fd/[012]", path):
                path = UNKNOWN if re.fullmatch(r"/dev/fd/.*|/proc/[^/]*/fd/.*", path) else path  # noqa: PLW2901
                self._touch(path, trace, self._walk.found.write)
                outputs.extend(joined(cwd, path) for cwd in self._walk.state.cwds)
        if not kept:
            for path in outputs:
                self._walk.state.contents[path] = None
            return []
        return outputs

    def _touch(self, path: str, trace: Trace, keep: Callable[[Target], None]) -> None:
        if not trace.remote:
            own, below = settled(path)
            for cwd in self._walk.state.cwds:
                found = self._walk.world.matches(joined(cwd, own)) if GLOB.search(own) else ()
                for each in (own, *self._walk.state.through(joined(cwd, own)), *found[:64]):
                    keep(Target(path=each, cwd=cwd, how="redirection", tree=below))


def _is_quoted(word: Node) -> bool:
    parts = word.get("Parts") or ()
    return any(part.get("Type") != "Lit" or "\\" in part.get("Value", "") for part in parts)
