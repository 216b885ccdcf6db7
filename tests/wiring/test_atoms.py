"""Atoms by id: which layer wins, what a change does, and what a list leaves out."""

import os
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as how
from hypothesis import strategies as st

from keisei.graph.index import Index
from keisei.library.package_installed import Installed
from keisei.library.package_place import ground_of, ground_of_root
from keisei.library.shelf import Layer
from keisei.records.atom_spec import AtomRow
from keisei.records.error import AuthorError, MissingAtom, OperatorError
from keisei.settings import read_settings
from keisei.wiring import atom_code, atom_walk, atoms, file_stamp
from keisei.wiring.atoms import Shelf, open_shelf
from tests.library.primitives import OBJECT, atom, package, write


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    """Files that were written a moment ago count as settled; the test of that rule says so itself."""
    monkeypatch.setattr(file_stamp, "HOT_NS", 0)


def shelf_of(*roots, index=None):
    return Shelf([ground_of_root(str(root)) for root in roots], index)


def ids(shelf, **options):
    return [row.atom for row in shelf.rows(**options)[0]]


def skipped(shelf):
    return [(problem.code, problem.severity, Path(problem.path).name) for problem in shelf.rows()[1]]


@pytest.fixture
def barred(monkeypatch):
    """Folders one may not enter, also for root."""
    closed = []
    access, lstat, scandir = os.access, os.lstat, os.scandir

    def is_closed(path):
        return any(str(path).startswith(f"{each}/") for each in closed)

    def refusing(real):
        def call(path, *words, **more):
            if is_closed(path):
                raise PermissionError(13, "Permission denied")
            return real(path, *words, **more)

        return call

    monkeypatch.setattr(os, "lstat", refusing(lstat))
    monkeypatch.setattr(os, "scandir", refusing(scandir))
    monkeypatch.setattr(os, "access", lambda path, mode: not is_closed(f"{path}/") and access(path, mode))
    return closed


@pytest.fixture
def reads(monkeypatch):
    """Every page that is read for a list or a call."""
    seen = []

    def spied(name, module):
        real = getattr(module, name)

        def spy(package, verb, *rest):
            seen.append(verb)
            return real(package, verb, *rest)

        monkeypatch.setattr(module, name, spy)

    spied("read_spec", atoms)
    spied("read_row", sys.modules["keisei.library.atom_spec"])
    return seen


# One atom


def test_an_atom_is_found_without_looking_at_the_others(tmp_path, monkeypatch):
    package(tmp_path, "kei-note", "add")
    shelf = shelf_of(tmp_path)
    monkeypatch.setattr(os, "scandir", lambda *_: pytest.fail("a scan"))

    assert shelf.atom("kei-note::add").id == "kei-note::add"


def test_an_atom_is_kept_while_nothing_changes(tmp_path, reads):
    package(tmp_path, "kei-note", "add")
    shelf = shelf_of(tmp_path)

    assert shelf.atom("kei-note::add") is shelf.atom("kei-note::add")
    assert reads == ["add"]


def test_a_file_that_changed_a_moment_ago_is_read_again(tmp_path, monkeypatch, reads):
    monkeypatch.setattr(file_stamp, "HOT_NS", 10**18)
    package(tmp_path, "kei-note", "add")
    shelf = shelf_of(tmp_path)

    shelf.atom("kei-note::add")
    shelf.atom("kei-note::add")

    assert reads == ["add", "add"]


CHANGES = {
    "page": lambda folder: atom(folder / "atoms", "kei-note", "add", summary="Another"),
    "schema": lambda folder: write(folder / "atoms/schemas/part.json", '{"type": "number"}'),
    "metadata": lambda folder: write(
        folder / "pyproject.toml", '[project]\nversion = "2.0.0"\n[tool.keisei]\nbackend = "remote"\n'
    ),
    "sources": lambda folder: (folder / "src").mkdir(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_seen_at_once(tmp_path, change):
    folder = package(tmp_path, "kei-note", "add", input={**OBJECT, "properties": {"x": {"$ref": "part.json"}}})
    write(folder / "atoms/schemas/part.json", '{"type": "string"}')
    shelf = shelf_of(tmp_path)
    before = shelf.atom("kei-note::add")

    CHANGES[change](folder)

    assert shelf.atom("kei-note::add") != before


@pytest.mark.parametrize("file", ["add.md", "add.py", "schemas/add-input.json"])
def test_a_file_that_was_removed_is_missed_at_once(tmp_path, file):
    folder = package(tmp_path, "kei-note", "add")
    shelf = shelf_of(tmp_path)
    shelf.atom("kei-note::add")

    (folder / "atoms" / file).unlink()

    with pytest.raises(MissingAtom if file == "add.md" else AuthorError):
        shelf.atom("kei-note::add")


def test_a_page_that_becomes_a_symlink_out_of_the_package_is_refused_at_once(tmp_path):
    folder = package(tmp_path / "root", "kei-note", "add")
    shelf = shelf_of(tmp_path / "root")
    shelf.atom("kei-note::add")
    page = folder / "atoms" / "add.md"
    page.rename(tmp_path / "elsewhere.md")
    page.symlink_to(tmp_path / "elsewhere.md")

    with pytest.raises(AuthorError):
        shelf.atom("kei-note::add")


def test_a_package_of_a_higher_layer_hides_the_lower_one_whole_and_at_once(tmp_path):
    package(tmp_path / "low", "kei-note", "add", "find")
    (tmp_path / "high").mkdir()
    shelf = shelf_of(tmp_path / "high", tmp_path / "low")
    assert ids(shelf) == ["kei-note::add", "kei-note::find"]

    package(tmp_path / "high", "kei-note", "add")

    assert shelf.atom("kei-note::add").page.startswith(str(tmp_path / "high"))
    assert ids(shelf) == ["kei-note::add"]
    with pytest.raises(MissingAtom):
        shelf.atom("kei-note::find")
    shutil.rmtree(tmp_path / "high" / "kei-note")
    assert shelf.atom("kei-note::find").page.startswith(str(tmp_path / "low"))


def test_the_first_package_of_a_layer_is_seen_at_once(tmp_path):
    package(tmp_path / "kit" / "primitives", "kei-note", "add")
    project = Layer("project", tmp_path / "project" / ".keisei")
    shelf = Shelf([ground_of(project), ground_of(Layer("kit", tmp_path / "kit"))])
    before = shelf.atom("kei-note::add")

    package(project.folder / "primitives", "kei-note", "add")

    assert before.page.startswith(str(tmp_path / "kit"))
    assert shelf.atom("kei-note::add").page.startswith(str(project.folder))
    assert [row.layer for row in shelf.rows()[0]] == ["project"]


def test_a_broken_package_still_hides_the_lower_one(tmp_path):
    package(tmp_path / "low", "kei-note", "add")
    package(tmp_path / "high", "kei-note", "add", metadata="[")
    shelf = shelf_of(tmp_path / "high", tmp_path / "low")

    assert ids(shelf) == []
    with pytest.raises(AuthorError):
        shelf.atom("kei-note::add")


@pytest.mark.parametrize(
    ("wanted", "hint"),
    [
        ("kei-note::ad", "`kei-note::add`"),
        ("kei-note::add\0", "`kei-note::add`"),
        ("kei-not::add", "`kei-note`"),
        ("zzz::add", "list-atoms`"),
        ("kei-note::zzzzzzzzzzzz", "--crate kei-note`"),
        ("kei-note", "`kei-note::add`"),
        ("kei-note::", "`kei-note::add`"),
        ("kei-note::../add", "kei-note"),
        ("kei-note::schemas/add", "kei-note"),
        ("::add", "an id is"),
        ("", "an id is"),
        ("../kei-note::add", "an id is"),
        ("x" * 100_000 + "::y", "an id is"),
    ],
    ids=lambda text: text[:24].replace("\0", "NUL"),
)
def test_an_unknown_atom_is_told_with_what_there_is(tmp_path, wanted, hint):
    package(tmp_path, "kei-note", "add")

    with pytest.raises(MissingAtom) as caught:
        shelf_of(tmp_path).atom(wanted)

    assert hint in caught.value.hint
    assert len(caught.value.message) < 400


def test_a_package_is_found_by_name(tmp_path):
    package(tmp_path, "kei-note", "add")
    shelf = shelf_of(tmp_path)

    assert shelf.package("kei-note").version == "1.2.0"
    with pytest.raises(MissingAtom):
        shelf.package("kei-nothing")


@pytest.mark.parametrize("field", ["st_mtime_ns", "st_ctime_ns", "st_size", "st_ino"])
def test_a_stamp_tells_every_kind_of_change(field):
    before = SimpleNamespace(st_mtime_ns=1, st_ctime_ns=2, st_size=3, st_ino=4)

    assert file_stamp.stamp_of(SimpleNamespace(**(vars(before) | {field: 9}))) != file_stamp.stamp_of(before)


# The list


def test_a_list_comes_by_id_and_can_be_narrowed(tmp_path):
    package(tmp_path, "kei-b", "z", "a")
    package(tmp_path, "kei-a", "find", layout="crate", kind="transform", stability="stable")
    shelf = shelf_of(tmp_path)

    assert ids(shelf) == ["kei-a::find", "kei-b::a", "kei-b::z"]
    assert ids(shelf, kind="transform") == ids(shelf, stability="stable") == ids(shelf, package="kei-a")
    assert ids(shelf, package="kei-a") == ["kei-a::find"]
    assert ids(shelf, package="../kei-a") == []


def test_a_row_tells_what_the_page_says(tmp_path):
    folder = package(tmp_path, "kei-note", "add")

    [row] = shelf_of(tmp_path).rows()[0]

    assert row == AtomRow(
        atom="kei-note::add",
        kind="query",
        version="1.2.0",
        stability="beta",
        summary="Does it over two lines.",
        path=str(folder / "atoms" / "add.md"),
        layer="root",
        keywords=("note", "add"),
    )


def test_what_cannot_be_used_is_skipped_with_a_warning(tmp_path):
    folder = package(tmp_path, "kei-note", "good", "broken", "stranger")
    pages = folder / "atoms"
    write(pages / "broken.md", "---\nkind: [\n---\n")
    write(pages / "stranger.md", (pages / "good.md").read_text())
    write(pages / "Ünicode.md", "")
    write(pages / "huge.md", "x" * 2_000_000)
    os.mkfifo(pages / "pipe.md")
    (pages / "folder.md").mkdir()
    (pages / "out.md").symlink_to(write(tmp_path / "out.md", ""))
    (pages / "dangling.md").symlink_to(tmp_path / "none")
    package(tmp_path, "kei-broken", "add", metadata="[")
    package(tmp_path, "Kei_Name", "add")
    shelf = shelf_of(tmp_path)

    assert ids(shelf) == ["kei-note::good"]
    assert skipped(shelf) == [
        ("bad-name", "warning", "Kei_Name"),
        ("syntax", "warning", "pyproject.toml"),
        ("syntax", "warning", "broken.md"),
        ("unreadable", "warning", "dangling.md"),
        ("unreadable", "warning", "folder.md"),
        ("too-large", "warning", "huge.md"),
        ("outside", "warning", "out.md"),
        ("unreadable", "warning", "pipe.md"),
        ("bad-name", "warning", "stranger.md"),
        ("bad-name", "warning", "Ünicode.md"),
    ]


def test_a_package_one_may_not_enter_is_told_and_hides_the_lower_one(tmp_path, barred):
    for root in ("high", "low"):
        package(tmp_path / root, "kei-note", "add")
    package(tmp_path / "low", "kei-other", "add")
    barred.append(tmp_path / "high" / "kei-note")
    shelf = shelf_of(tmp_path / "high", tmp_path / "low")

    assert ids(shelf) == ["kei-other::add"]
    assert skipped(shelf) == [("unreadable", "warning", "atoms")]
    with pytest.raises(AuthorError, match="cannot be read"):
        shelf.atom("kei-note::add")


def test_a_folder_of_pages_that_cannot_be_listed_is_skipped_with_a_warning(tmp_path, monkeypatch):
    folder = package(tmp_path, "kei-note", "add")
    package(tmp_path, "kei-other", "add")
    real = os.scandir

    def scandir(path):
        if str(path) == str(folder / "atoms"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)

    assert ids(shelf_of(tmp_path)) == ["kei-other::add"]
    assert skipped(shelf_of(tmp_path)) == [("unreadable", "warning", "atoms")]
    with pytest.raises(AuthorError, match="cannot be read"):
        shelf_of(tmp_path).atom("kei-note::nobody-knows")


def test_a_known_page_is_not_read_again(tmp_path, reads):
    package(tmp_path / "root", "kei-note", "add", "find")
    index = tmp_path / "atoms.db"
    first = shelf_of(tmp_path / "root", index=index)
    rows = first.rows()

    assert first.rows() == shelf_of(tmp_path / "root", index=index).rows() == rows
    assert sorted(reads) == ["add", "find"]
    assert ids(shelf_of(tmp_path / "root", index=index), package="kei-note") == ["kei-note::add", "kei-note::find"]
    assert sorted(reads) == ["add", "find"]


def test_a_changed_new_or_removed_page_is_seen_in_the_next_list(tmp_path, reads):
    folder = package(tmp_path / "root", "kei-note", "add", "find", "gone")
    index = tmp_path / "atoms.db"
    shelf = shelf_of(tmp_path / "root", index=index)
    shelf.rows()
    reads.clear()
    atom(folder / "atoms", "kei-note", "add", summary="Another")
    atom(folder / "atoms", "kei-note", "new")
    (folder / "atoms" / "gone.md").unlink()

    for each in (shelf, shelf_of(tmp_path / "root", index=index)):
        assert ids(each) == ["kei-note::add", "kei-note::find", "kei-note::new"]
        assert each.rows()[0][0].summary == "Another over two lines."
    assert sorted(reads) == ["add", "new"]
    assert not any("gone" in path for path in Index(index).kept([""]))


def test_metadata_that_break_take_their_atoms_out_of_the_list(tmp_path):
    folder = package(tmp_path / "root", "kei-note", "add")
    index = tmp_path / "atoms.db"
    assert ids(shelf_of(tmp_path / "root", index=index)) == ["kei-note::add"]

    write(folder / "pyproject.toml", "[")

    assert ids(shelf_of(tmp_path / "root", index=index)) == []


@pytest.mark.parametrize("body", ["{", "[]", '{"atom": "kei-note::add"}', '{}, {"a": 1}', "null"])
def test_an_index_with_other_content_is_not_believed(tmp_path, body):
    package(tmp_path / "root", "kei-note", "add")
    index = tmp_path / "atoms.db"
    shelf_of(tmp_path / "root", index=index).rows()
    kept = Index(index).kept([""])
    Index(index).keep({path: (stamp, body) for path, (stamp, _) in kept.items()})

    assert ids(shelf_of(tmp_path / "root", index=index)) == ["kei-note::add"]


def test_the_index_keeps_what_a_row_has():
    fields = {field.name for field in msgspec.structs.fields(AtomRow)}

    assert fields - {"path", "layer"} == atom_walk.FIELDS


LAYERS, NAMES, VERBS = ("high", "low"), ("kei-a", "kei-b"), ("x", "y")
EDITS = st.lists(
    st.tuples(
        st.sampled_from(LAYERS),
        st.sampled_from(NAMES),
        st.sampled_from(VERBS),
        st.sampled_from(["write", "remove", "break page", "break package", "remove package", "list"]),
    ),
    max_size=12,
)


def edit(root, number, change):
    """One change; texts have different lengths, so that no two files of a place have one stamp."""
    layer, name, verb, action = change
    folder = root / layer / name
    if action == "write":
        if not folder.exists():
            package(root / layer, name)
        write(folder / "pyproject.toml", f'[tool.keisei]\nbackend = "memory"\n#{"#" * number}\n')
        atom(folder / "atoms", name, verb, summary="s" * (number + 1))
    elif action == "remove package":
        shutil.rmtree(folder, ignore_errors=True)
    elif action == "remove":
        (folder / "atoms" / f"{verb}.md").unlink(missing_ok=True)
    elif action != "list" and folder.exists():
        file = folder / "pyproject.toml" if action == "break package" else folder / "atoms" / f"{verb}.md"
        write(file, "[" + " " * number)


@how(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits=EDITS)
def test_after_any_changes_everybody_sees_what_is_there(edits, tmp_path_factory):
    root = tmp_path_factory.mktemp("layers")
    for layer in LAYERS:
        (root / layer).mkdir()
    lasting = shelf_of(root / "high", root / "low", index=root / "atoms.db")
    for number, change in enumerate(edits):
        edit(root, number, change)
        if change[-1] == "list":
            [lasting.atom(row.atom) for row in lasting.rows()[0]]

    fresh = shelf_of(root / "high", root / "low")

    assert lasting.rows() == shelf_of(root / "high", root / "low", index=root / "atoms.db").rows() == fresh.rows()
    assert [lasting.atom(each) for each in ids(fresh)] == [fresh.atom(each) for each in ids(fresh)]
    for missing in {f"{name}::{verb}" for name in NAMES for verb in VERBS} - set(ids(fresh)):
        with pytest.raises((MissingAtom, AuthorError)):
            lasting.atom(missing)


# Layers


def test_the_layers_stand_over_each_other(tmp_path, monkeypatch):
    home, site, root, project = (tmp_path / name for name in ("home", "site", "root", "project"))
    package(home / ".config" / "keisei" / "primitives", "kei-user", "add")
    package(root / "_primitives" / "_rust", "kei-root", "add", layout="crate")
    package(project / ".keisei" / "primitives", "kei-project", "add")
    write(project / "keisei.toml", "")
    for name in ("kei-user", "kei-installed"):
        snake = name.replace("-", "_")
        atom(site / snake / "atoms", name, "add")
        write(site / snake / "pyproject.toml", '[tool.keisei]\nbackend = "memory"\n')
        write(site / f"{snake}-1.dist-info" / "entry_points.txt", f"[keisei.atoms]\n{name} = {snake}\n")
    package(root / "_primitives", "kei-installed", "add")
    monkeypatch.setattr(sys, "path", [str(project), str(site)])
    settings = read_settings({"XDG_CONFIG_HOME": str(home / ".config")})

    shelf = open_shelf(settings, kit_root=root, start=project)

    layers = {row.atom: row.layer for row in shelf.rows()[0] if row.layer != "kit"}
    expected = {"kei-installed": "installed", "kei-project": "project", "kei-root": "root", "kei-user": "user"}
    assert layers == {f"{name}::add": layer for name, layer in expected.items()}
    assert all(shelf.atom(each) for each in layers)


def test_a_project_one_stands_in_is_no_installation(tmp_path, monkeypatch):
    atom(tmp_path / "kei_evil" / "atoms", "kei-evil", "add")
    write(tmp_path / "kei_evil" / "pyproject.toml", '[tool.keisei]\nbackend = "memory"\n')
    write(tmp_path / "evil.dist-info" / "entry_points.txt", "[keisei.atoms]\nkei-evil = kei_evil\n")
    assert Installed([str(tmp_path)]).find("kei-evil")
    monkeypatch.setattr(sys, "path", [str(tmp_path), ""])
    monkeypatch.chdir(tmp_path)

    assert "kei-evil::add" not in ids(open_shelf(read_settings({"XDG_CONFIG_HOME": str(tmp_path)}), start=tmp_path))


def test_roots_that_are_named_are_all_there_is(tmp_path):
    package(tmp_path / "one", "kei-one", "add")
    package(tmp_path / "two", "kei-two", "add")
    package(tmp_path / "kit" / "_primitives", "kei-kit", "add")

    shelf = open_shelf(read_settings({}), roots=[tmp_path / "one", tmp_path / "two"], kit_root=tmp_path / "kit")

    assert ids(shelf) == ["kei-one::add", "kei-two::add"]


def test_a_root_that_is_no_folder_is_told(tmp_path):
    with pytest.raises(OperatorError, match="is not a folder"):
        open_shelf(read_settings({}), roots=[tmp_path / "none"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, "default"),
        ("", "default"),
        ('[project]\nname = "mine"\n', "mine"),
        ('[project]\nname = "../x"\n', None),
        ("[", None),
        ("project = 5\n", None),
    ],
)
def test_the_index_stands_in_the_projects_state_folder(tmp_path, text, expected):
    (tmp_path / ".keisei").mkdir()
    if text is not None:
        write(tmp_path / "keisei.toml", text)
    settings = read_settings({"KEISEI_HOME": "/state"})

    found = atom_walk.find_index(settings, tmp_path)

    assert found == (Path("/state") / expected / "atoms.db" if expected else None)


# Code


def test_the_digest_of_code_follows_every_source_and_nothing_else(tmp_path):
    folder = package(tmp_path, "kei-note", "add", layout="src")
    code = folder / "src" / "kei_note"
    shelf = shelf_of(tmp_path)

    def digest():
        return shelf.code_sha(shelf.atom("kei-note::add"))

    first = digest()
    write(code / "__pycache__" / "x.pyc", "")
    write(folder / "README.md", "")
    assert digest() == first
    write(code / "helper.py", "x = 1\n")
    second = digest()
    write(code / "helper.py", "x = 2\n")
    assert len({first, second, digest()}) == 3
    write(code / "helper.py", "x = 1\n")
    assert digest() == second


def test_the_digest_of_a_flat_package_passes_over_what_is_no_source_and_reads_so_much(tmp_path, monkeypatch):
    folder = package(tmp_path, "kei-note", "add")
    shelf = shelf_of(tmp_path)

    def digest():
        return shelf.code_sha(shelf.atom("kei-note::add"))

    first = digest()
    write(folder / "node_modules" / "x.js", "")
    assert digest() == first
    with (folder / "large.bin").open("wb") as file:
        file.truncate(atom_code.LARGEST)
    monkeypatch.setattr(atom_code, "_content", lambda path: pytest.fail(f"{path} is read"))
    second = digest()
    write(folder / "atoms" / "add.py", "x = 2\n")
    assert len({first, second, digest()}) == 3


def test_the_digest_of_a_flat_package_with_sources_follows_both_folders(tmp_path):
    folder = package(tmp_path, "kei-note", "add")
    write(folder / "src" / "helper.py", "")
    shelf = shelf_of(tmp_path)
    seen = {shelf.code_sha(shelf.atom("kei-note::add"))}
    for path in ("src/helper.py", "atoms/add.py"):
        write(folder / path, "x = 1\n")
        seen.add(shelf.code_sha(shelf.atom("kei-note::add")))
    write(folder / "notes.txt", "")

    assert len(seen) == 3
    assert shelf.code_sha(shelf.atom("kei-note::add")) in seen


def test_the_digest_of_a_program_is_its_bytes(tmp_path):
    package(tmp_path, "kei-crate", "find", layout="crate")
    shelf = shelf_of(tmp_path)
    program = write(tmp_path / "bin" / "kei-crate", "one")
    spec = shelf.atom("kei-crate::find")

    first = shelf.code_sha(spec, str(program))
    write(program, "two")

    assert shelf.code_sha(spec, str(program)) != first
    assert shelf.code_sha(spec, str(tmp_path / "none"))
