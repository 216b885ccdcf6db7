"""New atoms: a request becomes files, lint-green and test-green, written all or not at all.

One engine for the command line, a web page and an atom: `plan_atom` decides and `write_atom` writes.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from keisei.library.atom import check_atom
from keisei.library.atom_request import AtomRequest, Home, NewLanguage, effects_of, home_of
from keisei.library.atom_rust import extended, module_of
from keisei.library.atom_spec import read_atom
from keisei.library.document import parse
from keisei.library.inference import checked_example, inferred, value_fault
from keisei.library.json_schema import canonical_text
from keisei.library.line_end import whole_lines
from keisei.library.package import TABLES, read_package
from keisei.library.package_place import is_real_folder
from keisei.library.placement import NewFile
from keisei.library.placing import Check, place_files
from keisei.library.source import read_source
from keisei.library.template import (
    JSON_WORDS,
    PYTHON_WORDS,
    docstring,
    filled,
    one_line,
    quoted,
    raw_rust,
    template,
    written,
)
from keisei.records.atom import AtomError, SideEffect
from keisei.records.error import AuthorError, OperatorError

Place = Callable[[Path, Sequence[NewFile], Check, Sequence[str]], None]
LONGEST_TEXT: Final = 500
TEXT: Final = {"text": "hello world"}
DEFAULTS: Final[dict[str, tuple[dict[str, Any], dict[str, Any]]]] = {
    "text": (TEXT, {"text": "hello world", "words": 2}),
    "words": (TEXT, {"word": "hello"}),
    "keep": (TEXT, {"id": 1, "text": "hello world"}),
    "find": (TEXT, {"notes": [{"id": 1, "text": "hello world"}]}),
}
"""What goes in and comes out of each body that a template has."""
PROMISES: Final = {
    "text": "The text with one space between words, and how many words it has.",
    "words": "The words of the text, one at a time.",
    "keep": "Keep the text; the number it is kept under.",
    "find": "The notes that hold the text.",
    "example": "The example of the output schema, until you write what it really does.",
    "items": "The example of the output schema as its only item, until you write what it really does.",
}


def plan_atom(request: AtomRequest) -> list[NewFile]:
    """The files of the new atom, the page last. Nothing is written.

    Raises OperatorError for a request that cannot be, AuthorError where the package's own files are broken.
    """
    home = home_of(request)
    body = _body(request, home)
    given, gives = _sides(request, body)
    effects = effects_of(request, home)
    values = _values(request, home, body, (given, gives), effects)
    files = _package_files(home, values, request.folder) if home.is_new else []
    files += _code_files(request, home, values)
    schemas = f"{home.atoms}/schemas/{home.verb}"
    files += [
        (f"{schemas}-input.json", canonical_text(given.schema), None),
        (f"{schemas}-output.json", canonical_text(gives.schema), None),
        (f"{home.atoms}/{home.verb}.md", _page(request, values), None),
    ]
    return [NewFile(path=f"{home.name}/{path}", content=content, was=was) for path, content, was in files]


def write_atom(request: AtomRequest, files: Sequence[NewFile] | None = None, place: Place = place_files) -> list[Path]:
    """Write what was planned (by default: plan it now), all or nothing. Returns the files, the page last.

    `place` does it, for who keeps a record of it.
    Raises OperatorError where something is in the way or lint would not be green, WorldFault where it cannot be
    written; then nothing has changed.
    """
    planned = list(files) if files is not None else plan_atom(request)
    package = request.folder / planned[0].path.partition("/")[0]
    beside = [name for name in TABLES if (package / name).is_file()] if is_real_folder(str(package)) else []
    page = planned[-1].path.partition("/")[2]
    place(request.folder, planned, lambda staged: _check(staged, page), beside)
    return [request.folder / each.path for each in planned]


def _check(staged: Path, page: str) -> None:
    """Lint of the new page. Raises OperatorError: what would be complained of was asked for."""
    try:
        atom = read_atom(staged / page, read_package(staged))
        found = check_atom(atom, frozenset({atom.manifest.atom}), ())
        problems = [each for each in found if each.severity == "error"]
    except AuthorError as error:
        problems = list(error.problems)
    if problems:
        told = "; ".join(dict.fromkeys(each.message for each in problems))
        hint = next((each.hint for each in problems if each.hint), "ask for something else; --dry-run shows the files")
        raise OperatorError(f"lint would not be green: {told}", hint)


class _Side(NamedTuple):
    """What goes in, or comes out."""

    schema: dict[str, Any]
    example: Any
    """The first example of the schema; None where it has none, which lint tells."""


def _sides(request: AtomRequest, body: str) -> tuple[_Side, _Side]:
    usual_input, usual_output = DEFAULTS.get(body, DEFAULTS["text"])
    gives = {"ok": True} if body in ("example", "items") else usual_output
    return (
        _side(request.input_schema, request.input_example, usual_input, f"{request.atom} input"),
        _side(request.output_schema, request.output_example, gives, f"{request.atom} output"),
    )


def _side(schema: dict[str, Any] | None, example: object, usual: dict[str, Any], title: str) -> _Side:
    """A schema that is given, else one that is inferred. Raises OperatorError for what cannot be written down."""
    what = title.rpartition(" ")[2]
    if schema is None:
        own = checked_example(usual if example is None else example, f"{what} example")
        return _Side(inferred(own, title, closed=what == "input"), own)
    if fault := value_fault(schema):
        raise OperatorError(f"the {what} schema cannot be used: {fault}", "give a simpler schema")
    examples = schema.get("examples")
    return _Side(schema, examples[0] if isinstance(examples, list) and examples else None)


def _page(request: AtomRequest, values: dict[str, Any]) -> str:
    """The page; below its frontmatter what somebody wrote, where somebody did."""
    text = filled(template("atom/page.md"), values)
    if request.body is None:
        return text
    return text.partition("\n---\n")[0] + "\n---\n" + whole_lines(request.body)


def _body(request: AtomRequest, home: Home) -> str:
    """Which body the function has: a real one where nobody says what goes in and out, else the example."""
    is_stream = request.kind == "stream"
    said = (request.input_example, request.output_example, request.input_schema, request.output_schema)
    if any(each is not None for each in said):
        return "items" if is_stream else "example"
    if is_stream:
        return "words"
    if home.is_new and home.backend == "sqlite" and home.language == "python":
        return {"command": "keep", "query": "find"}.get(request.kind, "text")
    return "text"


Planned = list[tuple[str, str, str | None]]
"""Path, content, and what stands there until now."""


def _values(
    request: AtomRequest,
    home: Home,
    body: str,
    sides: tuple[_Side, _Side],
    effects: tuple[SideEffect, ...],
) -> dict[str, Any]:
    """What the templates ask for."""
    given, gives = sides[0].example, sides[1].example
    is_stream, is_constant = request.kind == "stream", body in ("example", "items")
    description = one_line(request.description)[:LONGEST_TEXT] or PROMISES[body]
    errors = tuple(replace(each, description=one_line(each.description)) for each in request.errors)
    _check_codes(errors)
    return {
        "atom": request.atom,
        "package": home.name,
        "verb": home.verb,
        "kind": request.kind,
        "version": home.version,
        "description": description,
        "backend": home.backend,
        "required": written(_required(sides[0].schema)),
        "input_example": written(given),
        "output_example": written(gives),
        "input_block": written(given, JSON_WORDS, 2),
        "output_block": written(gives, JSON_WORDS, 2),
        "gives": "items like" if is_stream else "an output like",
        "errors": _listed(errors),
        "effects": _listed(effects),
        "idempotent": written(_idempotent(request, effects)),
        "timeout_ms": request.timeout_ms,
        "stability": request.stability,
        "keywords": written(list(request.keywords)),
        "keyed": "keyed: true" if body == "keep" and request.code is None else "",
        "promise": PROMISES[body],
        "constant": _constant(home.language, {} if gives is None else gives) if is_constant else "",
        "imports": _imports(is_stream=is_stream, is_constant=is_constant),
        "test_imports": "import itertools" if is_stream else "",
        "returns": "Iterator[dict[str, Any]]" if is_stream else "dict[str, Any]",
        "raises": _raises(home.language, errors),
        "argument": "_input" if is_constant else "input",
        "outputs": "list(itertools.islice(run()(example, context), 100))" if is_stream else "[run()(example, context)]",
        "atoms_folder": home.atoms,
        "migrations": home.migrations,
        "function": f"{home.verb.replace('-', '_')}.py",
        "body": template(f"atom-{home.language}/body-{body}").rstrip("\n"),
        "database": _database(home),
        "workspace": "" if home.language == "python" or _is_in_workspace(request.folder) else "\n[workspace]",
    }


def _required(schema: dict[str, Any]) -> list[str]:
    required = schema.get("required")
    return [each for each in required if isinstance(each, str)] if isinstance(required, list) else []


def _idempotent(request: AtomRequest, effects: tuple[SideEffect, ...]) -> bool:
    return all(each.op == "read" for each in effects) if request.idempotent is None else request.idempotent


def _check_codes(errors: tuple[AtomError, ...]) -> None:
    codes = [each.code for each in errors]
    if twice := next((code for code in codes if codes.count(code) > 1), None):
        raise OperatorError(f"the error `{twice}` is given twice", "give each code once")


def _listed(records: Sequence[Struct]) -> str:
    """Records as a YAML list below a key, or an empty one on its line."""
    shown = [{key: value for key, value in msgspec.to_builtins(each).items() if value is not None} for each in records]
    return "".join(f"\n  - {written(each)}" for each in shown) or " []"


def _constant(language: NewLanguage, gives: dict[str, Any]) -> str:
    if language == "rust":
        return f"\n/// What it answers until you write it.\nconst EXAMPLE: &str = {raw_rust(written(gives))};"
    return f"\nEXAMPLE: dict[str, Any] = {written(gives, PYTHON_WORDS, 4)}"


def _imports(*, is_stream: bool, is_constant: bool) -> str:
    lines = ["import copy"] if is_constant else []
    return "\n".join([*lines, "from collections.abc import Iterator"] if is_stream else lines)


def _raises(language: NewLanguage, errors: tuple[AtomError, ...]) -> str:
    if language == "rust":
        return "\n".join(f"/// Fails with `{each.code}`: {each.description}" for each in errors)
    told = docstring("\n".join(f"    {each.code}: {each.description}" for each in errors))
    return f"\n    Codes to raise with:\n{told}" if errors else ""


def _database(home: Home) -> str:
    if home.backend != "sqlite":
        return ""
    variable = f"{home.name.replace('-', '_').upper()}_DB"
    lines = [f"db_env = {quoted(variable)}", f"db_default = {quoted(f'{home.name}/{home.name}.db')}"]
    return "\n".join([*lines, f"migrations_dir = {quoted(home.migrations)}", "schema_version = 1"])


def _is_in_workspace(folder: Path) -> bool:
    """Whether packages of that folder belong to a workspace of cargo, which then lists its members."""
    try:
        return isinstance(parse(read_source(folder / "Cargo.toml")).data.get("workspace"), dict)
    except AuthorError:
        return False


def _package_files(home: Home, values: dict[str, Any], folder: Path) -> Planned:
    metadata = "pyproject.toml" if home.language == "python" else "Cargo.toml"
    files: Planned = [(metadata, filled(template(f"atom-{home.language}/{metadata}"), values), None)]
    if home.backend == "sqlite":
        files.append((f"{home.migrations}/0001_notes.sql", template("atom-python/0001_notes.sql"), None))
    if home.language == "rust":
        files.append(("src/main.rs", filled(template("atom-rust/main.rs"), values), None))
        if not _is_in_workspace(folder):
            files.append((".gitignore", template("atom-rust/gitignore"), None))
    return files


def _code_files(request: AtomRequest, home: Home, values: dict[str, Any]) -> Planned:
    snake = home.verb.replace("-", "_")
    own = None if request.code is None else whole_lines(request.code)
    if home.language == "python":
        test = f"tests/test_{home.name.replace('-', '_')}_{snake}.py"
        return [
            (f"{home.atoms}/{snake}.py", own or filled(template("atom-python/verb.py"), values), None),
            (test, filled(template("atom-python/test_verb.py"), values), None),
        ]
    was = None if home.is_new else _dispatcher(request.folder / home.name)
    return [
        (f"src/atoms/{module_of(home.verb)}.rs", own or filled(template("atom-rust/verb.rs"), values), None),
        (f"tests/{snake}_smoke.rs", filled(template("atom-rust/smoke.rs"), values), None),
        ("src/atoms/mod.rs", extended(was if was is not None else template("atom-rust/mod.rs"), home.verb), was),
    ]


def _dispatcher(package: Path) -> str:
    """`src/atoms/mod.rs` as it is; empty where it is not there."""
    path = package / "src" / "atoms" / "mod.rs"
    if path.is_symlink():
        raise OperatorError(f"`{path}` is a symlink", "make it a file of its own")
    return read_source(path).text if path.is_file() else ""
