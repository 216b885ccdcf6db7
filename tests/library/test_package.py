"""Packages of atoms: four layouts, every layer, and what is not entered."""

import os
import sys
from pathlib import Path

import pytest

from keisei.library.package import atom_files, packages_of, read_package, read_place
from keisei.library.package_installed import Installed, entry_points
from keisei.library.package_place import ground_of, ground_of_root
from keisei.library.shelf import Layer, packages
from keisei.records.error import AuthorError
from tests.library.primitives import CARGO, PYPROJECT, atom, package, write


@pytest.mark.parametrize(
    ("layout", "root", "name"),
    [("flat", "", None), ("src", "src", "kei_note"), ("plain", "", "kei_note")],
)
def test_a_python_package_is_found_in_each_layout(tmp_path, layout, root, name):
    folder = package(tmp_path, "kei-note", "add", layout=layout)

    found = read_place(ground_of_root(str(tmp_path)).find("kei-note")).found()

    assert (found.name, found.version, found.language) == ("kei-note", "1.2.0", "python")
    assert found.folder == str(folder)
    assert found.import_root == str(folder / root).rstrip("/")
    assert found.import_name == name
    assert (Path(found.atoms) / "add.md").is_file()


def test_a_flat_package_with_sources_imports_from_there(tmp_path):
    folder = package(tmp_path, "kei-note", "add")
    (folder / "src").mkdir()

    assert read_package(folder).found().import_root == str(folder / "src")


def test_a_crate_is_answered_by_its_program(tmp_path):
    folder = package(tmp_path, "kei-crate", "find", layout="crate")

    found = read_package(folder).found()

    assert (found.language, found.import_root, found.import_name) == ("program", None, None)


def test_the_file_with_our_table_counts_where_both_are_there(tmp_path):
    folder = package(tmp_path, "kei-crate", "find", layout="crate")
    write(folder / "pyproject.toml", "[build-system]\nrequires = []\n")

    assert read_package(folder).found().language == "program"


def test_a_version_of_the_workspace_is_the_workspaces(tmp_path):
    text = CARGO.format("kei-crate").replace('version = "1.2.0"', "version.workspace = true")
    folder = package(tmp_path / "crates", "kei-crate", "find", layout="crate", metadata=text)
    write(tmp_path / "Cargo.toml", '[workspace.package]\nversion = "7.0.0"\n')

    assert read_package(folder).version == "7.0.0"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("[tool.keisei\n", "syntax"),
        ('[project]\nname = "x"\n', "missing-key"),
        ('[tool.keisei]\nbackend = "tape"\n', "wrong-value"),
        ('[tool.keisei]\nbackend = "memory"\nmigrations_dir = "out"\n', "outside"),
    ],
    ids=["syntax", "no-table", "bad-value", "migrations-outside"],
)
def test_broken_metadata_are_told_and_the_package_is_not_used(tmp_path, text, code):
    folder = package(tmp_path, "kei-note", "add", metadata=text)
    (folder / "out").symlink_to("/tmp")  # noqa: S108 - a folder that is there

    found = read_package(folder)

    assert [problem.code for problem in found.problems] == [code]
    with pytest.raises(AuthorError):
        found.found()


def test_migrations_that_are_not_there_yet_are_told_and_the_package_is_used(tmp_path):
    text = PYPROJECT.format("kei-note") + 'migrations_dir = "migrations"\n'

    found = read_package(package(tmp_path, "kei-note", "add", metadata=text))

    assert [problem.code for problem in found.problems] == ["missing-file"]
    assert found.found().metadata.migrations_dir == "migrations"


def test_metadata_that_lead_out_of_the_package_are_refused(tmp_path):
    folder = package(tmp_path, "kei-note", "add")
    (folder / "pyproject.toml").unlink()
    (folder / "pyproject.toml").symlink_to(write(tmp_path / "elsewhere.toml", PYPROJECT.format("kei-note")))

    assert [problem.code for problem in read_package(folder).problems] == ["outside"]


@pytest.mark.parametrize("name", ["Kei-Note", "kei_note", "-kei", "kéi", "k" * 129])
def test_a_folder_whose_name_is_no_package_is_told(tmp_path, name):
    folder = package(tmp_path, name, "add")

    assert [problem.code for problem in read_package(folder).problems] == ["bad-name"]
    assert ground_of_root(str(tmp_path)).find(name) is None


def test_folders_that_are_symlinks_are_not_entered(tmp_path):
    outside, root = tmp_path / "outside", tmp_path / "root"
    package(outside, "kei-note", "add")
    root.mkdir()
    (root / "kei-note").symlink_to(outside / "kei-note")
    write(root / "kei-two" / "pyproject.toml", PYPROJECT.format("kei-two"))
    (root / "kei-two" / "atoms").symlink_to(outside / "kei-note" / "atoms")
    (root / "_primitives").symlink_to(outside)
    ground = ground_of_root(str(root))

    assert list(ground.places()) == []
    assert ground.find("kei-note") is None
    assert ground.find("kei-two") is None


def test_a_root_is_a_folder_of_packages_a_kit_root_or_one_package(tmp_path):
    package(tmp_path, "kei-here", "add")
    package(tmp_path / "_primitives", "kei-seed", "add", layout="src")
    crate = package(tmp_path / "_primitives" / "_rust", "kei-crate", "find", layout="crate")

    assert [place.name for place in ground_of_root(str(tmp_path)).places()] == ["kei-here", "kei-seed", "kei-crate"]
    (crate / "src" / "atoms").mkdir(parents=True)  # its code, as in the originals: no package of the name `src`
    assert [place.name for place in ground_of_root(str(crate)).places()] == ["kei-crate"]
    assert ground_of_root(str(crate)).find("src") is None
    assert ground_of_root(str(crate)).find("kei-crate").layer == "root"


def test_a_root_that_is_named_through_a_symlink_is_entered(tmp_path):
    folder = package(tmp_path / "real", "kei-note", "add")
    (tmp_path / "link").symlink_to(tmp_path / "real")

    assert ground_of_root(str(tmp_path / "link")).find("kei-note").folder == str(folder)


def test_a_layer_keeps_packages_in_primitives_or_in_itself(tmp_path):
    package(tmp_path / "kit" / "primitives", "kei-note", "add", layout="src")
    package(tmp_path / "kit" / "primitives" / "_rust", "kei-crate", "find", layout="crate")
    package(tmp_path / "plain", "kei-plain", "add")
    kit, plain = Layer("kit", tmp_path / "kit"), Layer("root", tmp_path / "plain")

    assert [folder.name for folder in packages(kit)] == ["kei-note", "kei-crate"]
    assert [each.name for each in packages_of(plain)] == ["kei-plain"]
    assert ground_of(kit).find("kei-crate").layer == "kit"


def test_pages_come_in_order_and_hidden_ones_not_at_all(tmp_path):
    folder = package(tmp_path, "kei-note", "find", "add")
    write(folder / "atoms" / ".swap.md", "")

    assert [path.name for path in atom_files(read_package(folder))] == ["add.md", "find.md"]


def distribution(site, name, text):
    return write(site / f"{name}-1.2.0.dist-info" / "entry_points.txt", text)


def installed(site, name="kei-note", *, metadata=PYPROJECT):
    """A package as a wheel installs it."""
    snake = name.replace("-", "_")
    atom(site / snake / "atoms", name, "add")
    write(site / snake / "__init__.py", "raise RuntimeError('imported')\n")
    if metadata:
        write(site / snake / "pyproject.toml", metadata.format(name))
    distribution(site, snake, f"[console_scripts]\nx = y:z\n\n[keisei.atoms]\n{name} = {snake}\n")


def test_an_installed_package_is_found_by_its_entry_point_and_nothing_is_imported(tmp_path):
    installed(tmp_path)

    place = Installed([str(tmp_path)]).find("kei-note")

    assert read_place(place).found().folder == str(tmp_path / "kei_note")
    assert (place.layer, place.import_root, place.import_name) == ("installed", str(tmp_path), "kei_note")
    assert place.version == "1.2.0"
    assert "kei_note" not in sys.modules


def test_a_package_that_is_worked_on_in_place_is_found_through_its_pth_file(tmp_path):
    site, work = tmp_path / "site", tmp_path / "work"
    folder = package(work, "kei-note", "add", layout="src")
    distribution(site, "kei_note", "[keisei.atoms]\nkei-note = kei_note\n")
    write(site / "_kei_note.pth", f"import sys\nrelative\n{folder / 'src'}\n")

    place = Installed([str(site)]).find("kei-note")

    assert (place.folder, place.import_root) == (str(folder), str(folder / "src"))


def test_a_package_that_only_the_import_system_knows_is_asked_for_there(tmp_path, monkeypatch):
    site, work = tmp_path / "site", tmp_path / "work"
    folder = package(work, "kei-hooked", "add", layout="plain")
    write(folder / "kei_hooked" / "__init__.py", "raise RuntimeError('imported')\n")
    distribution(site, "kei_hooked", "[keisei.atoms]\nkei-hooked = kei_hooked\n")
    monkeypatch.syspath_prepend(str(folder))

    place = Installed([str(site)]).find("kei-hooked")

    assert (place.folder, place.import_root) == (str(folder), str(folder))
    assert "kei_hooked" not in sys.modules


def test_a_package_inside_another_is_imported_by_its_whole_name(tmp_path):
    atom(tmp_path / "acme" / "notes" / "atoms", "kei-note", "add")
    write(tmp_path / "acme" / "notes" / "pyproject.toml", PYPROJECT.format("kei-note"))
    distribution(tmp_path, "acme", "[keisei.atoms]\nkei-note = acme.notes\n")

    place = Installed([str(tmp_path)]).find("kei-note")

    assert (place.import_root, place.import_name) == (str(tmp_path), "acme.notes")


def test_the_first_on_the_path_wins(tmp_path):
    for name in ("one", "two"):
        installed(tmp_path / name)

    found = Installed([str(tmp_path / "two"), str(tmp_path / "one")])

    assert [place.folder for place in found.places()] == [str(tmp_path / "two" / "kei_note")]


def test_what_is_installed_or_removed_meanwhile_is_seen(tmp_path):
    found = Installed([str(tmp_path)])
    assert list(found.places()) == []

    installed(tmp_path)
    os.utime(tmp_path, ns=(1, 1))
    seen = found.find("kei-note")
    (tmp_path / "kei_note-1.2.0.dist-info" / "entry_points.txt").unlink()
    os.utime(tmp_path, ns=(2, 2))

    assert seen is not None
    assert found.find("kei-note") is None


@pytest.mark.parametrize(
    "text",
    [
        "[keisei.atoms]\nkei-note = ../../etc\n",
        "[keisei.atoms]\nkei-note = /etc\n",
        "[keisei.atoms]\nKei_Note = kei_note\n",
        "[keisei.atoms]\nkei-note\n",
        "[keisei.atoms]\n= kei_note\n",
        "[other]\nkei-note = kei_note\n# keisei.atoms\n",
        "[keisei.atoms]\nkei-note = nowhere_at_all\n",
        "\xff" * 100 + "keisei.atoms",
    ],
    ids=["climbs", "absolute", "name", "no-value", "no-name", "other-group", "not-there", "bytes"],
)
def test_an_entry_point_that_makes_no_sense_is_none(tmp_path, text):
    installed(tmp_path)
    distribution(tmp_path, "kei_note", text)

    assert list(Installed([str(tmp_path)]).places()) == []


def test_an_entry_points_file_that_is_a_pipe_is_not_waited_for(tmp_path):
    folder = tmp_path / "x-1.dist-info"
    folder.mkdir()
    os.mkfifo(folder / "entry_points.txt")

    assert list(Installed([str(tmp_path), str(tmp_path / "missing")]).places()) == []


def test_entry_points_are_read_as_installers_write_them():
    text = "[keisei.atoms]\n# a note\nkei-a = a\n kei-b=b.c:d [x]\n\n[gui_scripts]\nkei-c = c\n"

    assert list(entry_points(text)) == [("kei-a", "a"), ("kei-b", "b.c:d [x]")]
