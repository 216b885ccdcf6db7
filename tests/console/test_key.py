"""Keys: files of this user's alone, whole or not at all, and never somebody else's."""

import subprocess
import sys

import pytest

from keisei.console.key import FILES, Ring, open_keys, rotate
from keisei.records.error import OperatorError


def test_keys_are_made_once_and_are_this_user_s_alone(tmp_path):
    made = open_keys(tmp_path / "a state")
    folder = tmp_path / "a state" / "console"

    assert open_keys(tmp_path / "a state") == made
    assert sorted(each.name for each in folder.iterdir()) == sorted(FILES)
    assert {each.stat().st_mode & 0o777 for each in folder.iterdir()} == {0o600}
    assert folder.stat().st_mode & 0o777 == 0o700
    assert len({made.operator, made.viewer, made.key.decode()}) == 3
    assert made.operator not in repr(made)
    assert made.mark not in made.key.decode()


def test_of_many_who_make_them_at_once_all_have_the_same(tmp_path):
    program = (
        "import sys, pathlib\nfrom keisei.console.key import open_keys\nprint(open_keys(pathlib.Path(sys.argv[1])).key)"
    )
    command = [sys.executable, "-c", program, tmp_path]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]

    assert len({process.communicate()[0] for process in started}) == 1
    assert len(list((tmp_path / "console").iterdir())) == 3


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_leads_elsewhere_is_not_followed(tmp_path, name):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("x" * 43)
    elsewhere.chmod(0o600)
    ring = Ring(tmp_path / "state")
    path = tmp_path / "state" / "console" / name
    path.unlink()
    path.symlink_to(elsewhere)

    assert ring.keys() is None
    with pytest.raises(OperatorError, match="cannot be made"):
        open_keys(tmp_path / "state")
    rotate(tmp_path / "state")  # puts a file in its place
    assert ring.keys() == open_keys(tmp_path / "state")
    assert elsewhere.read_text() == "x" * 43


def test_a_folder_that_leads_elsewhere_is_not_used(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "console").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(OperatorError, match="cannot be used"):
        open_keys(tmp_path)
    with pytest.raises(OperatorError, match="cannot be used"):
        rotate(tmp_path)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_folder_that_is_open_is_closed(tmp_path):
    (tmp_path / "console").mkdir()
    (tmp_path / "console").chmod(0o777)

    open_keys(tmp_path)

    assert (tmp_path / "console").stat().st_mode & 0o777 == 0o700


def test_a_ring_hears_of_every_change(tmp_path):
    ring = Ring(tmp_path)
    before = ring.keys()
    assert before == open_keys(tmp_path)

    rotate(tmp_path)
    after = ring.keys()

    assert after == open_keys(tmp_path)
    assert not {after.operator, after.viewer, after.key} & {before.operator, before.viewer, before.key}
    assert after.mark != before.mark
    path = tmp_path / "console" / "operator-token"
    path.write_text("another-token-of-mine\n")
    assert ring.keys().operator == "another-token-of-mine"
    path.write_text("short")
    assert ring.keys() is None


def test_a_token_that_is_two_lets_nobody_in(tmp_path):
    made, ring = open_keys(tmp_path), Ring(tmp_path)
    (tmp_path / "console" / "viewer-token").write_text(made.operator)

    assert ring.keys() is None
    with pytest.raises(OperatorError, match="the same"):
        open_keys(tmp_path)


def test_new_keys_forget_links_and_sessions_but_nothing_elsewhere(tmp_path):
    open_keys(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "file").write_text("")
    (tmp_path / "console" / "left").mkdir()
    (tmp_path / "console" / "links").symlink_to(tmp_path / "elsewhere")

    rotate(tmp_path)

    assert not (tmp_path / "console" / "left").exists()
    assert (tmp_path / "elsewhere" / "file").exists()
