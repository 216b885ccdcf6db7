"""kei-migrate: what its pages promise."""

import pytest

from tests.kit.desk import Declared
from tests.kit.project import Project


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def refused(project, verb, attempt=None, /, **given):
    with pytest.raises(Declared) as error:
        project.call(f"kei-migrate::{verb}", attempt, **given)
    return error.value.code


def row(project, verb, **given):
    return project.call(f"kei-migrate::{verb}", packages=["kei-task"], **given)["databases"][0]


def test_a_database_is_absent_then_made_then_current(project):
    before = project.call("kei-migrate::status", packages=["kei-task"])
    made = row(project, "up")
    again = row(project, "up")

    assert (before["databases"][0]["status"], before["is_current"]) == ("absent", False)
    assert (made["status"], made["ran"]) == ("current", ["0001_initial"])
    assert again == {name: value for name, value in made.items() if name != "ran"}
    assert project.call("kei-migrate::status", packages=["kei-task"])["is_current"]
    assert made["database"].startswith(str(project.state))


def test_every_package_with_a_database_is_looked_at_unless_some_are_named(project):
    found = project.call("kei-migrate::status")["databases"]

    assert [each["package"] for each in found] == ["kei-milestone", "kei-task"]
    assert project.call("kei-migrate::status", packages=["kei-agent"])["databases"] == [
        {"package": "kei-agent", "status": "none", "database": None}
    ]
    assert refused(project, "status", packages=["kei-tusk"]) == "UnknownPackage"


def test_a_database_that_cannot_be_used_is_a_row(project):
    project.env["KEI_TASK_DB"] = str(project.root / "keisei.toml")

    found = project.call("kei-migrate::up", packages=["kei-task"])

    assert (found["databases"][0]["status"], found["is_current"]) == ("error", False)
    assert found["databases"][0]["error"]


@pytest.mark.parametrize("verb", ["status", "up"])
def test_inside_an_attempt_nothing_is_told_of_databases(project, verb):
    _, attempt = project.running()

    with pytest.raises(Declared) as error:
        project.call(f"kei-migrate::{verb}", attempt, packages=["kei-task"])
    assert error.value.code == "NotAllowed"
    assert str(project.state) not in str(error.value)
