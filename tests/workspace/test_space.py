"""Space: what is free where something will be written, and what a folder takes."""

import os

from keisei.workspace.space import free_bytes, size_of


def test_free_space_is_that_of_the_nearest_folder_there_is(tmp_path):
    here = os.statvfs(tmp_path)

    free = free_bytes(tmp_path / "not/made/yet")

    assert free in range(here.f_blocks * here.f_frsize + 1)
    assert free_bytes(tmp_path) is not None


def test_a_file_in_the_way_does_not_hide_the_disk(tmp_path):
    (tmp_path / "file").touch()

    assert free_bytes(tmp_path / "file/below") is not None


def test_a_folder_takes_what_its_files_take_and_names_of_one_file_count_once(tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner/file").write_bytes(b"x" * 1_000_000)
    before = size_of(tmp_path)
    os.link(tmp_path / "inner/file", tmp_path / "again")

    assert 1_000_000 <= before < 1_100_000
    assert size_of(tmp_path) == before


def test_holes_and_what_a_link_leads_to_do_not_count(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/file").write_bytes(b"x" * 1_000_000)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/link").symlink_to(tmp_path / "elsewhere")
    with (tmp_path / "folder/sparse").open("wb") as file:
        file.truncate(1_000_000_000)

    assert size_of(tmp_path / "folder") < 100_000


def test_what_is_not_there_takes_nothing(tmp_path):
    assert size_of(tmp_path / "absent") == 0
