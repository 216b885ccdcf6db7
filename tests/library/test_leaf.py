"""Leaves: every kind of authored file is read as what it is, bounded, and never through something broken beside it."""

import json
import os
from pathlib import Path

import pytest

import keisei.kit
from keisei.library.atom_spec import read_row
from keisei.library.leaf import read_atom_leaf, read_found_leaf
from keisei.library.leaf_kind import READERS
from keisei.library.leaf_schema import read_side
from keisei.library.package import read_package
from keisei.library.schema_bundle import bundled
from keisei.library.shelf import Found, Layer, listed
from keisei.records.error import AuthorError
from keisei.records.sage import Link
from tests.library.primitives import DRAFT, OBJECT, package, write

KIT = Layer("kit", Path(keisei.kit.__file__).parent)
PAGE = """\
---
atom: kei-note::add
kind: command
version: 1.2.0
input: {schema: schemas/add-input.json}
output: {schema: schemas/add-output.json}
errors:
  - {code: NotFound, description: nobody wrote it}
side_effects:
  - {op: write, domain: "fs:{path}"}
  - {op: read, domain: kei-note-db}
  - {op: other, domain: elsewhere}
idempotent: true
stability: deprecated
deprecated: use kei-note::add-line instead of kei-note::add
keywords: [note, note, " jot "]
related: ["[[kei-note::list]]", "[[rules/RULE 0.13|the rule]]"]
taxonomy: {kingdom: writing, order: [lines, texts]}
lineage: {parents: [kei-note::old], creator: Ada, created: 2026-01-02, fork_from: kei-text::add}
---
# add

Adds a line,
and says so.

See [[kei-note::show]], [the list](list.md) and `[[not::this]]`.
"""
TAKES = {"type": "object", "properties": {"parentId": {"type": "string", "description": "where it belongs"}}}


def found(path, name=None):
    return Found(name or path.stem, path, Layer("project", path.parent.parent))


def noted(tmp_path, page=PAGE, **schemas):
    """A package with one atom, and where its pages stand."""
    folder = package(tmp_path, "kei-note", "add", **schemas)
    write(folder / "atoms" / "add.md", page)
    return read_package(folder), (folder / "atoms").resolve()


def told(call, *arguments):
    with pytest.raises(AuthorError) as caught:
        call(*arguments)
    return [problem.code for problem in caught.value.problems]


def test_an_atom_is_read_with_everything_it_can_be_found_by(tmp_path):
    notes, atoms = noted(tmp_path, input={"$schema": DRAFT, **TAKES})

    leaf, files = read_atom_leaf(notes, "add")

    assert (leaf.node, leaf.name, leaf.kind) == ("atom", "kei-note::add", "command")
    assert leaf.names == ("kei-note::add", "atoms/kei-note::add", "atom/kei-note::add")
    assert (leaf.title, leaf.keywords) == ("Adds a line, and says so.", ("note", "jot"))
    assert leaf.body.startswith("# add\n")
    assert leaf.fields.split("\n") == [
        "parentId parent Id",
        "where it belongs",
        "NotFound Not Found nobody wrote it",
        *("fs:{path}", "kei-note-db", "elsewhere"),
    ]
    assert (leaf.stability, leaf.deprecated) == ("deprecated", "use kei-note::add-line instead of kei-note::add")
    assert leaf.facets == {"kingdom": ("writing",), "order": ("lines", "texts")}
    assert (leaf.creator, leaf.created, leaf.domains) == ("Ada", "2026-01-02", ("fs", "kei-note-db"))
    assert leaf.links == (
        *(Link("related", each) for each in ("kei-note::list", "rules/RULE 0.13", "kei-note::add-line")),
        *(Link("body", each) for each in ("kei-note::show", "kei-note::list")),
        *(Link("lineage", each) for each in ("kei-note::old", "kei-text::add")),
    )
    assert (leaf.takes, leaf.gives) == ({"$schema": DRAFT, **TAKES}, OBJECT)
    assert files == tuple(str(atoms / each) for each in ("add.md", "schemas/add-input.json", "schemas/add-output.json"))


def _elsewhere(atoms):
    page = atoms / "add.md"
    outside = page.rename(atoms.parent.parent / "outside.md")
    page.symlink_to(outside)


@pytest.mark.parametrize(
    "harm",
    [
        pytest.param(lambda atoms: write(atoms / "add.md", PAGE.replace("::add\n", "::other\n", 1)), id="other-name"),
        pytest.param(lambda atoms: write(atoms / "add.md", PAGE.replace("kind:", "sort:")), id="broken"),
        pytest.param(lambda atoms: write(atoms / "add.md", "no page"), id="no-frontmatter"),
        pytest.param(lambda atoms: (atoms / "add.md").unlink(), id="missing"),
        pytest.param(_elsewhere, id="outside"),
        pytest.param(lambda atoms: write(atoms.parent / "pyproject.toml", "[project]"), id="broken-package"),
    ],
)
def test_an_atom_has_a_leaf_where_a_list_has_a_row(tmp_path, harm):
    notes, atoms = noted(tmp_path)
    harm(atoms)
    notes = read_package(notes.folder)

    assert told(read_atom_leaf, notes, "add") == told(read_row, notes, "add", "project") != []


@pytest.mark.parametrize(
    "text",
    [
        *("{", "[]", "true", "\ufeff{}", '{"$schema": "http://other/schema#"}', '{"$ref": "http://host/x.json"}'),
        *('{"\\u0024ref": "/etc/x.json"}', '{"not": {"$schema": "http://a/"}, "$id": 5, "$schema": "http://b/"}'),
        *('{"$ref": "../../../outside.json"}', "{" * 100_000, '{"not":' * 80 + "{}" + "}" * 80, '{"maximum": 1e999}'),
    ],
)
def test_a_schema_that_cannot_be_used_leaves_an_atom_that_can_be_found(tmp_path, text):
    notes, atoms = noted(tmp_path)
    write(atoms / "schemas" / "add-input.json", text)

    leaf, files = read_atom_leaf(notes, "add")

    assert (leaf.takes, leaf.gives) == (None, OBJECT)
    assert str(atoms / "schemas" / "add-input.json") in files


def test_a_schema_that_is_missing_or_elsewhere_is_looked_for_again(tmp_path):
    notes, atoms = noted(tmp_path)
    first, second = (atoms / "schemas" / f"add-{side}.json" for side in ("input", "output"))
    first.unlink()
    second.unlink()
    second.symlink_to(write(tmp_path / "outside.json", json.dumps(OBJECT)))

    leaf, files = read_atom_leaf(notes, "add")

    assert (leaf.takes, leaf.gives) == (None, None)
    assert files[1:] == (str(first), str(second))


def _linked_folder(schemas, to):
    schemas.rename(to)
    schemas.symlink_to(to)


@pytest.mark.parametrize(
    ("harm", "is_read"),
    [
        pytest.param(lambda file: file.symlink_to(write(file.parent / "other.json", "{}")), True, id="symlink"),
        pytest.param(os.mkfifo, False, id="pipe"),
        pytest.param(Path.mkdir, False, id="folder"),
        pytest.param(lambda file: file.symlink_to("/dev/zero"), False, id="device"),
        pytest.param(lambda file: write(file, f'{{"title": "{"x" * 1024**2}"}}'), False, id="large"),
    ],
)
def test_a_schema_is_a_file_of_its_folder_and_nothing_else(tmp_path, harm, is_read):
    notes, atoms = noted(tmp_path)
    file = atoms / "schemas" / "add-input.json"
    file.unlink()
    harm(file)

    leaf, files = read_atom_leaf(notes, "add")

    assert (leaf.takes, leaf.gives) == ({} if is_read else None, OBJECT)
    assert str(file) in files


def test_a_folder_of_schemas_may_be_linked_inside_a_package_and_not_out_of_it(tmp_path):
    notes, atoms = noted(tmp_path)

    _linked_folder(atoms / "schemas", atoms / "others")
    inside = read_atom_leaf(notes, "add")[0].gives
    _linked_folder(atoms / "others", tmp_path / "outside")

    assert (inside, read_atom_leaf(notes, "add")[0].gives) == (OBJECT, None)


def test_files_a_schema_refers_to_are_told_the_missing_ones_too(tmp_path):
    refers = {"$schema": DRAFT, "properties": {"a": {"$ref": "part.json"}, "b": {"$ref": "#/properties/a"}}}
    notes, atoms = noted(tmp_path, input=refers)

    without, files = read_atom_leaf(notes, "add")
    write(atoms / "schemas" / "part.json", '{"description": "a shared part"}')
    leaf, same = read_atom_leaf(notes, "add")

    assert without.takes is None
    assert files == same
    assert str(atoms / "schemas" / "part.json") in files
    assert leaf.takes["definitions"] == {"part": {"description": "a shared part"}}
    assert "a shared part" in leaf.fields


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"pattern": "^a$"}}},
        {"$schema": DRAFT, "$id": "http://host/a.json", "definitions": {"$schema": {}}},
        {"properties": {"a": {"$id": "#a"}, "b": {"$ref": "#a"}}},
        {"definitions": {"a": {"$schema": DRAFT, "type": "string"}}},
        {"properties": {str(number): {"enum": [[number]]} for number in range(100)}},
        {"description": "ä😀"},
        {},
    ],
)
def test_a_schema_is_what_a_caller_of_the_atom_gets(tmp_path, schema):
    path = write(tmp_path.resolve() / "a.json", json.dumps(schema))

    assert read_side(path.parent, "a.json").schema == bundled(path)


def test_everything_that_ships_has_a_leaf():
    leaves = {(kind, each.name): read_found_leaf(kind, each)[0] for kind in READERS for each in listed(kind, KIT)}

    alias = leaves["capability", "quality::cargo-check-green"]
    assert {kind for kind, _ in leaves} == set(READERS)
    assert (alias.deprecated, alias.links) == (
        "use quality::check-green",
        (Link("uses", "capabilities/quality::check-green"),),
    )
    rule = leaves["rule", "RULE-0.13-orchestrator-branch-first"]
    assert {"RULE 0.13", "rules/RULE 0.13", "rules/rule 0.13", f"rules/{rule.name}.md", rule.name} <= set(rule.names)
    assert rule.title.startswith("RULE 0.13")
    assert all(leaf.title for leaf in leaves.values() if leaf.deprecated is None)


def test_a_role_leads_to_what_it_names(tmp_path):
    text = """
[role]
name = "scribe"
display-name = "The scribe"
description = "Writes notes."
[capabilities]
extends = "edit-local"
required = ["policy::no-git-ops"]
relaxes = ["scope::files-whitelist"]
[pipeline]
handoff = ["merger"]
[atoms]
allowed = ["kei-note::add", "kei-task::*"]
[docs]
use-cases = ["when [[kei-note::list]] is long"]
notes = "Nothing else."
[lineage]
creator = "Ada"
"""
    path = write(tmp_path / "roles" / "scribe.toml", text)

    leaf, files = read_found_leaf("role", found(path))

    assert (leaf.title, leaf.creator, files) == ("Writes notes.", "Ada", (str(path),))
    assert leaf.body == "when [[kei-note::list]] is long\n\nNothing else."
    assert leaf.links == (
        *(Link("uses", f"roles/{each}") for each in ("edit-local", "merger")),
        Link("uses", "capabilities/policy::no-git-ops"),
        Link("uses", "atoms/kei-note::add"),
        Link("body", "kei-note::list"),
    )


def test_workflows_and_task_types_lead_to_what_they_use(tmp_path):
    work = """
workflow_type = "notes"
description = "Notes, tidied."
initial_state = "tidy"
[[states]]
state_id = "tidy"
task_type = "tidy-up"
default_skill_ids = ["sum-up"]
"""
    kind = 'task_type = "tidy-up"\npayload_schema_id = "a.json"\nallowed_skill_ids = ["sum-up"]\n'
    workflow = found(write(tmp_path / "workflows" / "notes.toml", work))
    task_type = found(write(tmp_path / "task-types" / "tidy-up.toml", kind))

    leaf = read_found_leaf("workflow", workflow)[0]

    assert (leaf.title, leaf.links) == (
        "Notes, tidied.",
        (Link("uses", "task-types/tidy-up"), Link("uses", "skills/sum-up")),
    )
    assert read_found_leaf("task-type", task_type)[0].links == (Link("uses", "skills/sum-up"),)


def test_a_skill_and_a_capability_are_found_although_what_stands_beside_them_is_broken(tmp_path):
    skill = found(
        write(tmp_path / "sum-up" / "SKILL.md", "---\nname: sum-up\ndescription: Sums up.\n---\nDo."), "sum-up"
    )
    rule = write(
        tmp_path / "policy" / "a" / "capability.toml", '[capability]\nname = "policy::a"\ndescription = "Be."\n'
    )
    capability = found(rule, "policy::a")
    beside = write(tmp_path / "sum-up" / "skill.toml", 'tags = ["short"]\n')
    text = write(rule.parent / "text.md", "Be kind, see [[policy::b]].")

    whole = (read_found_leaf("skill", skill), read_found_leaf("capability", capability))
    beside.write_text("tags = 5")
    text.unlink()
    rest = (read_found_leaf("skill", skill), read_found_leaf("capability", capability))

    assert [leaf.keywords or leaf.body for leaf, _ in whole] == [("short",), "Be kind, see [[policy::b]]."]
    assert whole[1][0].links == (Link("body", "policy::b"),)
    assert [(leaf.title, leaf.keywords, leaf.links) for leaf, _ in rest] == [("Sums up.", (), ()), ("Be.", (), ())]
    assert [files for _, files in rest] == [files for _, files in whole]
    assert [files[1] for _, files in whole] == [str(beside), str(text)]


@pytest.mark.parametrize(
    ("kind", "name", "text"),
    [
        ("role", "a.toml", "[role]\nnames = 5"),
        ("skill", "SKILL.md", "---\nname: a\ndescription: b\n---\n\n"),
        ("workflow", "a.toml", "="),
        ("task-type", "a.json", "[]"),
        ("rule", "a.md", "\0"),
        ("rule", "a\x1b[2J.md", "# a"),
        ("rule", os.fsdecode(b"a\xff.md"), "# a"),
        ("role", f"{'a' * 240}.toml", '[role]\nname = "a"'),
    ],
)
def test_a_broken_file_is_told_and_so_is_a_name_that_cannot_be_shown(tmp_path, kind, name, text):
    path = tmp_path / name
    path.write_text(text)

    assert told(read_found_leaf, kind, found(path)) != []


def test_whatever_is_written_a_leaf_stays_small_and_plain(tmp_path):
    many = ", ".join(f'"w{number}"' for number in range(3000))
    links = ", ".join(f'"[[a::b{number}]]"' for number in range(3000))
    page = (
        PAGE.replace('[note, note, " jot "]', f'["a\\x02b\\x1b\\u2029", {many}]')
        .replace('["[[kei-note::list]]", ', f"[{links}, ")
        .replace("nobody wrote it", "x\U0001f600" * 20_000)
        .replace("instead", "\\\\x03 " + "a" * 50_000)
        .replace("order: [lines", f"order: [{many}, lines")
    )
    body = "T\x02\x03\x85\r\nitle " * 200 + "\n\n" + "".join(f"[[{number}\x07]] \U0001f600" for number in range(20_000))
    notes, _ = noted(tmp_path, page + body)

    leaf, _ = read_atom_leaf(notes, "add")

    texts = [leaf.title, leaf.body, leaf.fields, leaf.deprecated or "", *leaf.keywords, *leaf.facets["order"]]
    texts += [link.target for link in leaf.links]
    assert [
        text for text in texts if any((char < " " and char not in "\n\t") or "\x7f" <= char < "\xa0" for char in text)
    ] == []
    assert (len(leaf.title) <= 300, len(leaf.keywords), len(leaf.facets["order"])) == (True, 100, 100)
    assert len(leaf.body.encode()) <= 256 * 1024
    assert len(leaf.fields.encode()) <= 64 * 1024
    assert [sum(link.kind == kind for link in leaf.links) for kind in ("related", "body")] == [1000, 1000]
    assert leaf.keywords[0] == "ab"


def test_a_name_that_turns_the_direction_is_refused_and_a_title_is_without(tmp_path):
    write(tmp_path / "rules/\u202eevil.md", "# Evil\n")
    write(tmp_path / "rules/plain.md", "# RULE 0.7 Title \u202eof evil\n")
    evil, plain = sorted(listed("rule", Layer("root", tmp_path)), key=lambda each: each.name, reverse=True)

    with pytest.raises(AuthorError, match="nobody sees"):
        read_found_leaf("rule", evil)
    leaf, _ = read_found_leaf("rule", plain)
    assert leaf.title == "RULE 0.7 Title of evil"
    assert {"RULE-0.7", "RULE 0.7", "rules/RULE-0.7"} <= {*leaf.names}
