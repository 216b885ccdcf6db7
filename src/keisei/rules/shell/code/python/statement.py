"""Statements of Python code, done in their order, both branches where there are two."""

import ast
from collections.abc import Callable, Sequence

from keisei.rules.shell.code.python import fold
from keisei.rules.shell.code.python.expression import Expressions
from keisei.rules.shell.code.python.module import Func, canonical, is_module_of_git
from keisei.rules.shell.code.python.scope import Names, Scope
from keisei.rules.shell.code.python.source import HOLE
from keisei.rules.shell.code.python.state import State
from keisei.rules.shell.code.python.value import Blank, Ref, Scratch, join, spread
from keisei.rules.shell.code.result import Found, names

_STARS = {
    "os": "system popen execv execve execvp execvpe execl execle execlp spawnl spawnv spawnlp spawnvp posix_spawn "
    "remove unlink rename replace rmdir removedirs mkdir makedirs symlink link truncate chmod chdir path "
    "environ open sep",
    "subprocess": "run call check_call check_output Popen getoutput getstatusoutput PIPE STDOUT DEVNULL",
    "shutil": "copy copy2 copyfile copytree move rmtree which",
    "pathlib": "Path PurePath PosixPath",
    "pty": "spawn",
    "base64": "b64decode b32decode b16decode b85decode a85decode urlsafe_b64decode decodebytes",
    "ctypes": "CDLL cdll PyDLL pythonapi",
    "importlib": "import_module reload",
}


class Statements:
    """Does what statements do to names, and notes what else they do."""

    def __init__(self, found: Found, names: Names, state: State, expressions: Expressions) -> None:
        self._found = found
        self._names = names
        self._state = state
        self._calls = expressions.calls
        self._store = expressions.store
        self._loops = expressions.loops
        self._value = expressions.value
        self._function = expressions.function
        self._doings: dict[type[ast.AST], Callable[..., None]] = {
            ast.Expr: self._expression,
            ast.Assign: self._assign,
            ast.AnnAssign: self._annotated,
            ast.AugAssign: self._augmented,
            ast.Import: self._import,
            ast.ImportFrom: self._import_from,
            ast.If: self._if,
            ast.For: self._for,
            ast.AsyncFor: self._for,
            ast.While: self._while,
            ast.With: self._with,
            ast.AsyncWith: self._with,
            ast.Try: self._try,
            ast.TryStar: self._try,
            ast.FunctionDef: self._define,
            ast.AsyncFunctionDef: self._define,
            ast.ClassDef: self._class,
            ast.Return: self._return,
            ast.Global: lambda node: names.scope.outer.update(node.names),
            ast.Nonlocal: lambda node: names.scope.outer.update(node.names),
        }

    def run(self, body: Sequence[ast.stmt]) -> None:
        """Do all of a body."""
        for statement in body:
            self.do(statement)

    def do(self, statement: ast.AST) -> None:
        """Do one statement."""
        doing = self._doings.get(type(statement))
        if doing is not None:
            doing(statement)
            return
        for child in ast.iter_child_nodes(statement):
            if isinstance(child, ast.expr):
                self._value(child)
            elif isinstance(child, ast.pattern):
                self._unbind(child)
            else:
                self.do(child)

    def _unbind(self, pattern: ast.AST) -> None:
        for node in ast.walk(pattern):
            if isinstance(node, ast.MatchAs | ast.MatchStar) and node.name:
                self._store.set(node.name, Blank.ANY)

    def _expression(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Name) and node.value.id == HOLE:
            self._found.opaque("Part of it is code that only the shell knows.")
        self._value(node.value)

    def _assign(self, node: ast.Assign) -> None:
        value = self._value(node.value)
        for target in node.targets:
            self._store.store(target, value)

    def _annotated(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._store.store(node.target, self._value(node.value))

    def _augmented(self, node: ast.AugAssign) -> None:
        old = self._value(node.target)
        value = self._value(node.value)
        new = spread(lambda left, right: fold.binary(node.op, left, right), old, value)
        self._store.store(node.target, Blank.ANY if self._state.loose else new)

    def _import(self, node: ast.Import) -> None:
        for one in node.names:
            self._imported(one.name)
            whole = one.name if one.asname else one.name.partition(".")[0]
            self._store.set(one.asname or whole, Ref(canonical(whole)))

    def _import_from(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        self._imported(module)
        for one in node.names:
            if one.name == "*":
                for name in names(_STARS.get(canonical(module), "")):
                    self._store.set(name, Ref(f"{canonical(module)}.{name}"))
            elif node.level:
                self._store.set(one.asname or one.name, Blank.ANY)
            else:
                self._store.set(one.asname or one.name, self._names.settled(Ref(canonical(f"{module}.{one.name}"))))

    def _imported(self, module: str) -> None:
        if is_module_of_git(module):
            self._found.argv(("git",))
        if module.split(".", 1)[0] in {"cffi", "_ctypes"}:
            self._found.opaque("It calls native code that cannot be read.")

    def _if(self, node: ast.If) -> None:
        self._value(node.test)
        self._branch([node.body, node.orelse])

    def _branch(self, bodies: Sequence[Sequence[ast.stmt]]) -> None:
        outer = self._names.scope.journal
        ends: list[dict[str, object]] = []
        old: dict[str, object] = {}
        for body in bodies:
            changed: dict[str, object] = {}
            self._names.scope.journal = changed
            self.run(body)
            ends.append({name: self._names.scope.names[name] for name in changed})
            self._names.scope.revert(changed)
            old |= changed
        self._names.scope.journal = outer
        for name in old:
            fallback = self._names.before(name, old[name])
            self._store.set(name, join([end.get(name, fallback) for end in ends]))

    def _for(self, node: ast.For | ast.AsyncFor) -> None:
        self._loops.each(node.target, self._value(node.iter), lambda: self.run(node.body))
        self.run(node.orelse)

    def _while(self, node: ast.While) -> None:
        self._state.loose += 1
        for name in _assigned(node):
            self._store.set(name, join([self._names.lookup(name), Blank.ANY]))
        self._value(node.test)
        self._branch([node.body, []])
        for name in _assigned(node):
            self._store.set(name, join([self._names.lookup(name), Blank.ANY]))
        self._state.loose -= 1
        self.run(node.orelse)

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            value = self._value(item.context_expr)
            if item.optional_vars is not None:
                self._store.store(item.optional_vars, value.path if isinstance(value, Scratch) else value)
        self.run(node.body)

    def _try(self, node: ast.Try) -> None:
        self._branch([node.body, []])
        for handler in node.handlers:
            if handler.name:
                self._store.set(handler.name, Blank.ANY)
        self._branch([*(handler.body for handler in node.handlers), node.orelse, []])
        self.run(node.finalbody)

    def _define(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for default in [*node.args.defaults, *(one for one in node.args.kw_defaults if one)]:
            self._value(default)
        value: object = self._function(node)
        for decorator in reversed(node.decorator_list):
            made = self._calls.call(self._value(decorator), [value], {})
            value = made if isinstance(made, Func | Ref) else value
        self._store.set(node.name, value)

    def _class(self, node: ast.ClassDef) -> None:
        bases = [self._value(base) for base in [*node.bases, *(one.value for one in node.keywords)]]
        for decorator in node.decorator_list:
            self._calls.call(self._value(decorator), [Blank.ANY], {})
        outer = self._names.scope
        self._names.scope = Scope(outer, is_class=True)
        self.run(node.body)
        self._names.scope = outer
        starters = [base for base in bases if self._calls.starts(base)]
        self._store.set(node.name, starters[0] if starters else Blank.ANY)

    def _return(self, node: ast.Return) -> None:
        self._names.scope.returns.append(self._value(node.value) if node.value else None)


def _assigned(node: ast.AST) -> list[str]:
    """Names a loop changes."""
    return [inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)]
