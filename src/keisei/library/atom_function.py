"""An atom's Python function, looked at and never imported: `run(input, context)` beside the page."""

import ast
import warnings
from collections.abc import Iterator

from keisei.library.atom_spec import Atom, missing_function
from keisei.library.source import Source, inside, is_file, read_source
from keisei.records.error import AuthorError
from keisei.records.problem import Problem

PARAMETERS = 2
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def check_function(atom: Atom) -> Iterator[Problem]:
    """Whether the function is there and can be called. Nothing of it is run; a program is asked when it is called."""
    if atom.package.language != "python" or atom.package.metadata is None:
        return
    document = atom.loaded.document
    name = f"{document.source.path.stem.replace('-', '_')}.py"
    path = inside(atom.package.folder, str(document.source.path.parent / name))
    if path is None:
        yield document.problem("outside", ("atom",), f"`{name}` leads out of the package")
    elif not is_file(path):
        yield missing_function(document, name)
    else:
        try:
            yield from _file(read_source(path), streams=atom.manifest.kind == "stream")
        except AuthorError as error:
            yield from error.problems


def _file(source: Source, *, streams: bool) -> Iterator[Problem]:
    tree = _parsed(source)
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    run = next((node for node in reversed(found) if node.name == "run"), None)
    if run is not None:
        yield from (_told(source, run, message) for message in _complaints(run, streams=streams))
    elif not _is_bound(tree):
        message = "the module defines no `run`"
        hint = "write `def run(input, context)`"
        yield Problem(code="missing-function", path=source.shown, line=1, column=1, message=message, hint=hint)


def _parsed(source: Source) -> ast.Module:
    """The module's syntax. Raises AuthorError; a warning the compiler has is its author's, not ours."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source.text)
    except SyntaxError as error:
        line, column = error.lineno or 1, error.offset or 1
        message = f"is not Python: {error.msg}"
        problem = Problem(code="syntax", path=source.shown, line=line, column=column, message=message)
        raise AuthorError([problem]) from error
    except (RecursionError, MemoryError, ValueError) as error:
        message = "is nested too deeply for Python to read"
        raise AuthorError([Problem(code="too-deep", path=source.shown, message=message)]) from error


def _is_bound(tree: ast.Module) -> bool:
    """Whether `run` is there by import or assignment, whose shape only running it would tell."""
    for node in tree.body:
        if isinstance(node, ast.ImportFrom | ast.Import) and any((n.asname or n.name) == "run" for n in node.names):
            return True
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == "run" for target in targets):
            return True
    return False


def _complaints(run: ast.FunctionDef | ast.AsyncFunctionDef, *, streams: bool) -> Iterator[str]:
    if isinstance(run, ast.AsyncFunctionDef):
        yield "`run` is a coroutine; atoms are plain functions"
        return
    taken, given = run.args, len(run.args.posonlyargs) + len(run.args.args)
    fewest = given - len(taken.defaults)
    if fewest > PARAMETERS or (given < PARAMETERS and taken.vararg is None):
        yield f"`run` takes two parameters, `input` and `context`; this one takes {given}"
    if any(default is None for default in taken.kw_defaults):
        yield "`run` has a parameter that must be named, and is called with two values"
    if run.decorator_list:
        return  # what a decorator makes of it only running it would tell
    if streams and not _yields(run):
        yield "a stream's `run` is a generator; this one never yields"
    if not streams and _yields(run):
        yield "`run` is a generator, and only a stream's is"


def _yields(run: ast.FunctionDef) -> bool:
    """Whether the function itself yields, and not one that stands in it."""
    waiting: list[ast.AST] = list(run.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(node, FUNCTIONS):
            waiting.extend(ast.iter_child_nodes(node))
    return False


def _told(source: Source, run: ast.AST, message: str) -> Problem:
    line, column = getattr(run, "lineno", 1), getattr(run, "col_offset", 0) + 1
    return Problem(code="bad-function", path=source.shown, line=line, column=column, message=message)
