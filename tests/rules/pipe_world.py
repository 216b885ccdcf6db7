"""A small world of atoms for tests of pipes: no files, only what a plan asks of an atom."""

from hashlib import sha256
from pathlib import Path

from keisei.library.document import Document
from keisei.library.load import load
from keisei.library.pipe import complaining
from keisei.library.source import Source
from keisei.records.atom import AtomError, AtomInput, AtomManifest, AtomOutput, PackageFile, SideEffect
from keisei.records.atom_spec import AtomPackage, AtomSpec
from keisei.records.error import AuthorError, MissingAtom
from keisei.rules.pipe_plan import plan

WRITES = ("write:kei-task-db",)


def obj(required=(), /, *, closed=True, **properties):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {**schema, "additionalProperties": False} if closed else schema


def spec(atom, *, kind="transform", takes=None, gives=None, effects=(), idempotent=False, errors=(), **more):
    manifest = AtomManifest(
        atom=atom,
        kind=kind,
        version="1.0.0",
        input=AtomInput(schema="schemas/i.json"),
        output=AtomOutput(schema="schemas/o.json"),
        errors=tuple(AtomError(code=code, http_analog=analog, description="-") for code, analog in errors),
        side_effects=tuple(SideEffect(op=each.split(":")[0], domain=each.split(":")[1]) for each in effects),
        idempotent=idempotent,
        stability="stable",
        **more,
    )
    package = AtomPackage(
        name=atom.split("::")[0],
        version="1.0.0",
        folder="/p",
        atoms="/p/atoms",
        metadata=PackageFile(backend="memory"),
        language="python",
        import_root="/p",
        import_name=None,
    )
    return AtomSpec(
        manifest=manifest,
        summary="-",
        page="/p/atoms/x.md",
        package=package,
        input_schema={} if takes is None else takes,
        output_schema={} if gives is None else gives,
        spec_sha=sha256(repr((manifest, takes, gives)).encode()).hexdigest(),
        function="/p/atoms/x.py",
    )


TITLE = {"type": "string", "minLength": 1, "maxLength": 200}
ID = {"type": "integer", "minimum": 1}
WORLD = {
    each.id: each
    for each in (
        spec(
            "kei-task::create",
            kind="command",
            effects=WRITES,
            takes=obj(("title",), title=TITLE, priority={"enum": ["low", "medium", "high"]}, milestone_id=ID),
            gives=obj(("id", "created_at"), id=ID, created_at={"type": "string"}, note={"type": "string"}),
            errors=(("DuplicateTitle", 409), ("Busy", 503)),
        ),
        spec(
            "kei-task::add-dependency",
            kind="command",
            effects=WRITES,
            takes=obj(("parent", "child"), parent=ID, child=ID),
            gives=obj(("ok",), ok={"type": "boolean"}),
        ),
        spec(
            "kei-task::remove-dependency",
            kind="command",
            effects=WRITES,
            idempotent=True,
            takes=obj(("parent", "child"), parent=ID, child=ID),
            gives=obj(("ok",), ok={"type": "boolean"}),
        ),
        spec(
            "kei-task::search",
            kind="query",
            effects=("read:kei-task-db",),
            takes=obj(("query",), query=TITLE, limit={"type": "integer"}),
            gives=obj(("hits",), hits={"type": "array", "items": obj(("id", "title"), id=ID, title=TITLE)}),
            errors=(("InvalidQuery", 400), ("Busy", 503)),
        ),
        spec(
            "kei-text::upper",
            takes=obj(("text",), text={"type": "string"}),
            gives=obj(("text",), text={"type": "string"}),
        ),
        spec("kei-any::any"),
        spec("kei-log::tail", kind="stream", effects=("read:fs",), takes=obj(()), gives=obj(("line",), line=TITLE)),
        spec("kei-log::write", kind="command", effects=("write:fs",), takes={}, gives=obj(())),
        spec("kei-sys::boot", kind="command", effects=("other:machine",), takes={}, gives=obj(())),
    )
}


def find(atom_id, world=WORLD):
    if atom_id not in world:
        raise MissingAtom(f"there is no atom `{atom_id}`", "`keisei atom list` shows what there is")
    return world[atom_id]


def loaded(text, form="toml"):
    document = Document(Source(Path("dag.toml"), "dag.toml", text.encode(), text), form)
    return load(document, "pipe.definition")


def planned(text, world=WORLD):
    found = loaded(text)
    return plan(found.record, complaining(found.document), lambda atom_id: find(atom_id, world), name="dag")


def refused(text, world=WORLD):
    """What is told of a bad pipe: `line:column code message` and the hints."""
    try:
        planned(text, world)
    except AuthorError as error:
        return [f"{each.line}:{each.column} {each.code} {each.message} | {each.hint}" for each in error.problems]
    return []


def doubts(text, world=WORLD):
    """What is not proved, among the words of the steps."""
    words = [each for made in planned(text, world).steps for each in made.words]
    return [each for each in words if each.endswith("checked at run time")]


def warned(text, world=WORLD, *, without=("file-order",)):
    return [f"{each.code} {each.message}" for each in planned(text, world).warnings if each.code not in without]
