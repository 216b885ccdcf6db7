"""The walk over a syntax tree: every command that can be reached, in the folder and with the input it would have.

Nothing that holds commands is skipped: a kind of node this module does not know is told as unreadable.
"""

from collections.abc import Iterable
from contextlib import nullcontext
from itertools import chain, product
from typing import Any, Final

from keisei.records.effect import BELOW, UNKNOWN
from keisei.rules.shell import fold
from keisei.rules.shell.assign import Assigner, names_in
from keisei.rules.shell.atom import MOST, Fields
from keisei.rules.shell.compound import VISITS
from keisei.rules.shell.ground import Gathered, Node, TooMuch, Trace, Unreadable, World, joined, shown
from keisei.rules.shell.redirect import WRITES, Redirector
from keisei.rules.shell.run import Runner
from keisei.rules.shell.state import Input, State
from keisei.rules.shell.token import plain
from keisei.rules.shell.word import Expander

DEEPEST: Final = 12
STEPS: Final = 12_000
PAYLOADS: Final = 200


class Walk:
    """One call's walk. `found` gathers the effects."""

    def __init__(self, world: World, cwd: str) -> None:
        """A fresh shell in a folder."""
        self.world = world
        self.state = State(world, cwd)
        self.found = Gathered()
        self.expander = Expander(self.state.variables, self._printed)
        self.runner = Runner(self)
        self.assigner = Assigner(self)
        self.redirector = Redirector(self)
        self._steps = 0
        self.calling: list[str] = []
        self._nesting = 0
        self.looping = 0
        self.integers = False
        """Whether some variable is declared to hold a number, so that assignments to it are evaluated."""
        self.again = False
        self.rehearsing = False
        self._payloads = 0
        self.called: set[str] = set()

    def shell(self, text: str, trace: Trace) -> None:
        """Walk shell text that a tool hands to a shell. Raises Unreadable, TooMuch."""
        tree = plain(text)
        if tree is None:
            tree = self.world.parse(text)
            self._rehearse(tree, trace)
        self.statements(tree.get("Stmts") or (), trace)

    def payload(self, text: str, trace: Trace, arguments: Fields = (), *, here: bool = False) -> None:
        """Walk shell text that a command hands to a shell; `here` is this very shell. What cannot be read is told."""
        if trace.depth > DEEPEST:
            self.found.cannot_tell("commands are nested too deeply to be read", trace)
            return
        self._payloads += 1
        if self._payloads > PAYLOADS or self.world.is_late():
            raise TooMuch
        text = text.replace(BELOW, UNKNOWN)
        if UNKNOWN in text:
            self.found.cannot_tell(f"`{shown(text)}` is code with parts that only the run knows", trace)
            text = text.replace(UNKNOWN, "$KEISEI_UNKNOWN")
        try:
            tree = plain(text) or self.world.parse(text)
        except Unreadable as error:
            self.found.cannot_tell(f"`{shown(text)}` cannot be parsed: {error}", trace)
            return
        foreign, self.state.variables.foreign_arguments = self.state.variables.foreign_arguments, True
        if arguments:
            self.state.variables.call(arguments)
        with nullcontext() if here else self.state.apart():
            self._rehearse(tree, trace)
            self.statements(tree.get("Stmts") or (), trace)
        self.state.variables.foreign_arguments = foreign

    def _rehearse(self, tree: Node, trace: Trace) -> None:
        """Walk once without keeping effects, so that functions and variables set later are known."""
        if self.rehearsing:
            return
        self.rehearsing = True
        kept, self.found = self.found, Gathered()
        contents, copies = dict(self.state.contents), dict(self.state.copies)
        with self.state.apart():
            self.statements(tree.get("Stmts") or (), trace)
        self.found, self.rehearsing = kept, False
        self.state.contents, self.state.copies = contents, copies

    def step(self) -> None:
        """Count the work. Raises TooMuch where it does not end in time."""
        self._steps += 1
        if self._steps > STEPS or (self._steps % 32 == 0 and self.world.is_late()):
            raise TooMuch

    def statements(self, nodes: Iterable[Node], trace: Trace) -> None:
        """A list, one after the other."""
        for node in nodes:
            self.statement(node, trace)
            self.state.settle()

    def statement(self, node: Node, trace: Trace) -> None:
        """One statement with its redirections."""
        self.step()
        self._nesting += 1
        if self._nesting > 120:  # noqa: PLR2004 - deeper than any person writes, shallower than the interpreter's stack
            raise TooMuch
        stdin, outputs = self.redirector.redirected(node.get("Redirs") or (), trace)
        command = node.get("Cmd")
        if stdin is not None and command is not None and _is_exec(command):
            self.state.stdin = stdin
        if command is not None:
            with self.state.fed(stdin if stdin is not None else self.state.stdin):
                if node.get("Background") or node.get("Coprocess"):
                    with self.state.apart():
                        self._command(command, trace, outputs)
                else:
                    self._command(command, trace, outputs)
        self._nesting -= 1

    def _command(self, node: Node, trace: Trace, outputs: tuple[str, ...]) -> None:
        kind = node.get("Type")
        if kind == "CallExpr":
            self._call(node, trace, outputs)
            return
        visit = VISITS.get(kind or "")
        for path in outputs:
            self.state.contents[path] = None
        if visit is None:
            self.found.cannot_tell(f"shell syntax `{kind}` is not read", trace)
            return
        visit(self, node, trace)

    # --- simple commands ---------------------------------------------------------------------------------------------

    def _call(self, node: Node, trace: Trace, outputs: tuple[str, ...]) -> None:
        words = node.get("Args") or ()
        for assignment in node.get("Assigns") or ():
            self.assigner.assign(assignment, trace)
        for word in words:
            self.nested(word, trace)
        argvs = self.argvs(words) if words else []
        for argv in argvs:
            if argv:
                self.runner.run(argv, trace)
        self._written(argvs, outputs)

    def _written(self, argvs: list[Fields], outputs: tuple[str, ...]) -> None:
        """Remember what the files written by a redirection hold."""
        if outputs:
            text = self._output(argvs[0]) if len(argvs) == 1 and argvs[0] else None
            for path in outputs:
                self.state.contents[path] = None if text is None or UNKNOWN in text else text

    def _output(self, argv: Fields) -> str | None:
        if argv[0] in ("cat", "tee") and self.state.stdin is not None and all(word == "-" for word in argv[1:]):
            return self.state.stdin.text
        return fold.printed(argv, self.state.cwds[0])

    def argvs(self, words: Iterable[Node]) -> list[Fields]:
        """Every command line a row of words can become. Too many: arguments that vary become unknown."""
        choices = [self.expander.fields(word) for word in words]
        size = 1
        for number, each in enumerate(choices):
            size *= len(each)
            if size > MOST and number:
                choices[1:] = [each[:1] if len(each) == 1 else [(UNKNOWN,)] for each in choices[1:]]
                break
        return list(dict.fromkeys(tuple(chain.from_iterable(rows)) for rows in product(*choices)))

    def invoke(self, name: str, arguments: Fields, trace: Trace) -> None:
        """Call a function of the text: its bodies, here and now."""
        self.state.variables.call(arguments)
        self.called.add(name)
        if name in self.calling or len(self.calling) > DEEPEST:
            return
        self.calling.append(name)
        for body in self.state.functions[name]:
            self.statement(body, trace.inside(f"{name}()"))
        self.calling.pop()

    # --- words -------------------------------------------------------------------------------------------------------

    def nested(self, node: Any, trace: Trace) -> None:  # noqa: ANN401 - any part of the tree
        """Every substitution inside a word or an expression."""
        if isinstance(node, list):
            for each in node:
                self.nested(each, trace)
        elif isinstance(node, dict):
            self._nested(node, trace)

    def _nested(self, node: Node, trace: Trace) -> None:
        kind = node.get("Type")
        if kind in ("Lit", "SglQuoted"):
            return
        if kind in ("CmdSubst", "ProcSubst"):
            self._substitution(node, trace)
            return
        if kind == "ArithmExp" or any(node.get(key) for key in ("Index", "Slice", "Excl")):
            self.evaluated(node, trace)
        if kind == "ExtGlob":
            self.prompted((node.get("Pattern") or {}).get("Value", ""), trace.inside("a pattern"))
        expansion = node.get("Exp")
        for part in ((expansion or {}).get("Word") or {}).get("Parts") or ():
            if part.get("Type") == "SglQuoted":  # inside double quotes these quotes quote nothing
                self.prompted(part.get("Value", ""), trace)
        if (
            kind == "ParamExp"
            and expansion
            and expansion.get("Op") == "@"
            and "P" in self.expander.text(expansion.get("Word"))
        ):
            self.found.cannot_tell("a variable is expanded as a prompt, which runs what it holds", trace)
        for key, value in node.items():
            if key not in ("Pos", "End") and isinstance(value, dict | list):
                self.nested(value, trace)

    def _substitution(self, node: Node, trace: Trace) -> None:
        inward = trace.inside("$(...)" if node["Type"] == "CmdSubst" else "<(...)")
        with self.state.apart():
            if node.get("Op") == ">(":
                self.state.stdin = Input()
            self.statements(node.get("Stmts") or (), inward)

    def evaluated(self, node: Node, trace: Trace) -> None:
        """Arithmetic evaluates what variables hold, and an index inside that may hold a substitution."""
        for name in names_in(node):
            for value in (name, *self.state.variables.values.get(name, ())):
                self.prompted(value, trace.inside("arithmetic"))

    def prompted(self, text: str, trace: Trace) -> None:
        """Text whose substitutions are run although it is not code: prompts, arithmetic, patterns."""
        if "$(" in text or "`" in text:
            self.payload(f': "{text}"', trace)

    def set_variable(self, name: str, value: str, trace: Trace) -> None:
        """A variable that a command sets for others."""
        self.assigner.set_variable(name, value, trace)

    # --- redirections and output -------------------------------------------------------------------------------------

    def input_text(self) -> str | None:
        """The text on standard input; None where only the run will tell. Without input: nothing."""
        stdin = self.state.stdin
        if stdin is None:
            return ""
        if stdin.path is not None:
            return self.state.text_of(stdin.path)[0]
        return None if UNKNOWN in stdin.text else stdin.text

    def prints(self, statement: Node) -> str | None:
        """What a statement prints, where that can be told."""
        command = statement.get("Cmd") or {}
        if any(redirect.get("Op") in WRITES for redirect in statement.get("Redirs") or ()):
            return None
        if command.get("Type") == "CallExpr" and command.get("Args"):
            argvs = self.argvs(command["Args"])
            if len(argvs) != 1 or not argvs[0] or argvs[0][0] in self.state.functions:
                return None
            documents = [each for each in statement.get("Redirs") or () if each.get("Op") in ("<<", "<<-", "<<<")]
            if documents:
                with self.state.fed(self.redirector.here(documents[-1])):
                    return self._output(argvs[0])
            return self._output(argvs[0])
        if command.get("Type") in ("Block", "Subshell"):
            return self.prints_all(command.get("Stmts") or [])
        return self._prints_joined(command) if command.get("Type") == "BinaryCmd" else None

    def prints_all(self, statements: list[Node]) -> str | None:
        """What statements print one after the other, where that can be told."""
        texts = [self.prints(each) for each in statements]
        return None if None in texts else "".join(text or "" for text in texts)

    def _prints_joined(self, command: Node) -> str | None:
        """What a pipeline prints, or a list, where that can be told."""
        left, right = command.get("X") or {}, command.get("Y") or {}
        words = (right.get("Cmd") or {}).get("Args") or []
        argvs = self.argvs(words) if words else []
        argv = argvs[0] if len(argvs) == 1 else ()
        if command.get("Op") == "|" and argv:
            return fold.filtered(argv, self.prints(left))
        if command.get("Op") == "&&" and argv == ("pwd",):
            before = self.argvs((left.get("Cmd") or {}).get("Args") or [])
            if len(before) == 1 and before[0][:1] == ("cd",) and len(before[0]) == 2:  # noqa: PLR2004 - `cd folder`
                return f"{joined(self.state.cwds[0], before[0][1])}\n"
        return None

    def _printed(self, node: Node) -> list[str]:
        """What a command substitution can become."""
        statements: list[Node] = node.get("Stmts") or []
        command = (statements[0].get("Cmd") or {}) if len(statements) == 1 else {}
        if command.get("Type") == "BinaryCmd" and command.get("Op") == "||":
            found = [self.prints(command.get(side) or {}) for side in ("X", "Y")]
        else:
            found = [self.prints(statements[0]) if len(statements) == 1 else None]
        return [UNKNOWN if text is None else text.rstrip("\n") for text in found]


def _is_exec(command: Node) -> bool:
    """`exec` with nothing to run: its redirections stay."""
    words: list[Node] = command.get("Args") or []
    parts: list[Node] = (words[0].get("Parts") or []) if len(words) == 1 else []
    return len(parts) == 1 and parts[0].get("Value") == "exec"
