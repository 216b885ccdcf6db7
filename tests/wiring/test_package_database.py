"""Databases of packages: which file, whose migrations, and what is told where that cannot be."""

import os
from contextlib import closing

import apsw
import pytest

from keisei.records.atom import PackageFile
from keisei.records.atom_spec import AtomPackage
from keisei.records.error import MissingAtom, OperatorError
from keisei.settings import read_settings
from keisei.wiring import package_database
from keisei.wiring.package_database import PackageDatabases

FIRST = "CREATE TABLE tasks (id INTEGER PRIMARY KEY);"


class House:
    """Some packages, and a home."""

    def __init__(self, folder):
        self.folder, self.packages = folder, {}
        self.home = folder / "home"
        self.env = {"HOME": str(self.home), "XDG_STATE_HOME": str(folder / "state")}

    def package(self, name, *, steps=(FIRST,), language="python", nested=False, **told):
        folder = self.folder / name
        data = {"backend": "sqlite", "db_env": "KEI_TASK_DB", "db_default": "kei-task/task.sqlite"} | told
        where = folder / "src" / name.replace("-", "_") if nested else folder
        if steps is not None:
            data.setdefault("migrations_dir", "migrations")
            (where / "migrations").mkdir(parents=True)
            for number, text in enumerate(steps, start=1):
                (where / "migrations" / f"{number:04}_step.sql").write_text(text)
        folder.mkdir(exist_ok=True)
        self.packages[name] = AtomPackage(
            name=name,
            version="1",
            folder=str(folder),
            atoms=str(where / "atoms"),
            metadata=PackageFile(**data),
            language=language,
            import_root=str(folder / "src") if nested else str(folder),
            import_name=name.replace("-", "_") if nested else None,
        )
        return self.packages[name]

    def found(self, name):
        if name not in self.packages:
            raise MissingAtom(f"no package `{name}`")
        return self.packages[name]

    def databases(self, **env):
        return PackageDatabases(read_settings(self.env), self.found, {**self.env, **env})


@pytest.fixture
def house(tmp_path):
    return House(tmp_path.resolve())


def names(path):
    with closing(apsw.Connection(str(path))) as connection:
        return {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}


def test_a_relative_default_stands_in_the_state_folder(house):
    found = house.databases().database(house.package("kei-task"))

    assert found == str(house.folder / "state/keisei/packages/kei-task/task.sqlite")
    assert names(found) == {"tasks", "keisei_migrations", "keisei_calls"}


def test_a_default_at_home_stands_there(house):
    package = house.package("kei-task", db_default="~/.claude/task/task.sqlite")

    assert house.databases().database(package) == str(house.home / ".claude/task/task.sqlite")


def test_the_variable_wins(house, monkeypatch):
    (house.folder / "here").mkdir()
    monkeypatch.chdir(house.folder / "here")
    package = house.package("kei-task")

    assert house.databases(KEI_TASK_DB=str(house.folder / "x.db")).database(package) == str(house.folder / "x.db")
    assert house.databases(KEI_TASK_DB="y.db").database(package) == str(house.folder / "here/y.db")
    assert house.databases(KEI_TASK_DB="").path(package).is_relative_to(house.folder / "state")


@pytest.mark.parametrize("backend", ["filesystem", "memory", "remote"])
def test_a_package_without_database_has_none(house, backend):
    package = house.package("kei-fs", backend=backend, db_env=None, db_default=None, steps=None)

    assert house.databases().database(package) is None
    assert house.databases().state(package) is None
    assert house.databases().bring_up(package) == ()


@pytest.mark.parametrize("default", ["../out.db", "a/../../out.db", "\0.db"])
def test_a_default_that_leads_out_is_refused(house, default):
    with pytest.raises(OperatorError):
        house.databases().database(house.package("kei-task", db_default=default))


def test_a_name_that_is_no_text_is_refused(house):
    with pytest.raises(OperatorError, match="not plain text"):
        house.databases(KEI_TASK_DB="/data/\udcff.db").database(house.package("kei-task"))


def test_migrations_may_stand_inside_the_import_package(house):
    assert "tasks" in names(house.databases().database(house.package("kei-task", nested=True)))


def test_another_package_works_on_the_same_tables(house):
    house.package("kei-task")
    second = house.package("kei-milestone", steps=None, tables_of="kei-task")
    found = house.databases().database(second)

    assert "tasks" in names(found)
    with closing(apsw.Connection(found)) as connection:
        assert connection.execute("SELECT package FROM keisei_migrations").fetchall() == [("kei-task",)]


@pytest.mark.parametrize("case", ["missing", "elsewhere", "chain"])
def test_tables_of_somebody_else_need_that_package_and_one_database(house, case):
    if case != "missing":
        chain = {"tables_of": "kei-third"} if case == "chain" else {}
        house.package("kei-task", **({"db_default": "other.sqlite"} if case == "elsewhere" else chain))
    second = house.package("kei-milestone", steps=None, tables_of="kei-task")

    with pytest.raises(OperatorError, match="works on the tables of `kei-task`"):
        house.databases().database(second)


@pytest.mark.parametrize("more", [{"steps": None}, {"schema_version": 3}], ids=["none", "others"])
def test_a_program_without_migrations_or_with_others_makes_its_own_tables(house, more):
    package = house.package("kei-task", language="program", migrations_dir="migrations", **more)
    databases = house.databases()
    found = databases.database(package)

    assert not (house.folder / "state/keisei/packages/kei-task/task.sqlite").exists()
    assert (house.folder / "state/keisei/packages/kei-task").is_dir()
    assert found.endswith("task.sqlite")
    assert databases.state(package) is None


def test_python_without_the_folder_it_names_is_told(house):
    with pytest.raises(OperatorError, match="has no folder `migrations`"):
        house.databases().database(house.package("kei-task", steps=None, migrations_dir="migrations"))


def test_a_folder_that_leads_out_of_the_package_is_refused(house):
    package = house.package("kei-task", steps=None, migrations_dir="migrations")
    (house.folder / "elsewhere").mkdir()
    (house.folder / "kei-task" / "migrations").symlink_to(house.folder / "elsewhere")

    with pytest.raises(OperatorError, match="lead out of the package"):
        house.databases().database(package)


def test_a_version_that_is_not_the_newest_migration_is_told(house):
    with pytest.raises(OperatorError, match="schema_version of `kei-task` is 3, but its newest migration is 1"):
        house.databases().database(house.package("kei-task", schema_version=3))


def test_a_database_is_looked_at_once_until_something_changes(house, monkeypatch):
    looked = []
    real = package_database.bring_up
    monkeypatch.setattr(package_database, "bring_up", lambda *given: looked.append(given[0]) or real(*given))
    package, databases = house.package("kei-task"), house.databases()
    folder = house.folder / "kei-task/migrations"
    found = [databases.database(package) for _ in range(2)]
    assert len(looked) == 2, "a folder that changed just now is not trusted"

    os.utime(folder, (1_000_000, 1_000_000))
    found += [databases.database(package) for _ in range(3)]
    assert len(looked) == 3

    (folder / "0002_more.sql").write_text("CREATE TABLE more (a);")
    os.utime(folder, (2_000_000, 2_000_000))
    found += [databases.database(package) for _ in range(3)]
    assert len(looked) == 4
    assert "more" in names(found[0])

    (house.folder / "state/keisei/packages/kei-task/task.sqlite").rename(house.folder / "away.sqlite")
    found += [databases.database(package) for _ in range(3)]
    assert len(looked) == 5
    assert set(found) == {found[0]}


@pytest.mark.parametrize("default", ["~/deep/x.db", "/deep/x.db", "kei-other/x.db", "x.db"])
def test_a_database_that_is_not_the_packages_own_is_not_made_inside_an_attempt(house, default):
    home = house.folder / "home"
    package = house.package("kei-task", db_default=default.replace("/deep", f"{house.folder}/deep", default[0] == "/"))
    held = PackageDatabases(read_settings(house.env), house.found, house.env, is_held=True)
    before = sorted(house.folder.rglob("*"))

    with pytest.raises(OperatorError, match="is not opened inside an attempt"):
        held.database(package)

    assert sorted(house.folder.rglob("*")) == before
    assert not (home / "deep").exists()


def test_the_packages_own_database_is_made_inside_an_attempt(house):
    held = PackageDatabases(read_settings(house.env), house.found, house.env, is_held=True)

    assert held.database(house.package("kei-task")) == house.databases().database(house.found("kei-task"))
