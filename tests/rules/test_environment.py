"""Environments: which paths may be one, and which tree needs which."""

import pytest

from keisei.records.error import OperatorError
from keisei.records.project import ProjectEnvironment
from keisei.rules.environment import environment_key, kept_paths

SETTING = ProjectEnvironment(setup="make deps", key=("lock", "other.lock"), keep=("deps",))
FILES = {"lock": b"one"}


@pytest.mark.parametrize(
    ("files", "setting", "platform", "scope"),
    [
        pytest.param({"lock": b"two"}, SETTING, "linux", "", id="content"),
        pytest.param({"lock": b"one", "other.lock": b""}, SETTING, "linux", "", id="an empty file that was missing"),
        pytest.param({}, SETTING, "linux", "", id="a missing file"),
        pytest.param({"other.lock": b"one"}, SETTING, "linux", "", id="the same content in another file"),
        pytest.param(FILES, SETTING, "other", "", id="platform"),
        pytest.param(FILES, SETTING, "linux", "tree", id="scope"),
        pytest.param(
            FILES,
            ProjectEnvironment(setup="make other", key=SETTING.key, keep=SETTING.keep),
            "linux",
            "",
            id="setup",
        ),
        pytest.param(
            FILES, ProjectEnvironment(setup="make deps", key=SETTING.key, keep=("x",)), "linux", "", id="keep"
        ),
    ],
)
def test_another_setup_lock_file_or_machine_is_another_environment(files, setting, platform, scope):
    same = environment_key(FILES.get, SETTING, "linux")

    assert environment_key(FILES.get, SETTING, "linux") == same
    assert environment_key(files.get, setting, platform, scope) != same


def test_the_order_of_the_lists_does_not_matter():
    first = ProjectEnvironment(setup="s", key=("a", "b"), keep=("x", "y"))
    second = ProjectEnvironment(setup="s", key=("b", "a", "b"), keep=("./y", "x", "x/z"))

    assert environment_key(FILES.get, first, "p") == environment_key(FILES.get, second, "p")


@pytest.mark.parametrize("path", [".", "", "./", "/etc", "../other", "a/../../b", ".git", "sub/.GIT/hooks", ".git ."])
def test_paths_that_are_not_inside_are_not_kept(path):
    with pytest.raises(OperatorError, match="cannot be kept"):
        kept_paths([path])
