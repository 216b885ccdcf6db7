"""Where consoles are, as long as they are there."""

import os

from keisei.console.key import FOLDER
from keisei.console.origin import LEFT_S, ORIGINS, known_origin, told_origin


def test_nobody_is_known_where_nobody_is(tmp_path):
    assert known_origin(tmp_path) is None


def test_the_newest_console_is_told_and_the_older_one_when_it_has_gone(tmp_path):
    with told_origin(tmp_path, "http://127.0.0.1:1"):
        with told_origin(tmp_path, "http://127.0.0.1:2"):
            assert known_origin(tmp_path) == "http://127.0.0.1:2"
        assert known_origin(tmp_path) == "http://127.0.0.1:1"
    assert known_origin(tmp_path) is None


def test_a_console_that_was_killed_is_not_there_and_its_file_goes(tmp_path):
    left = tmp_path / FOLDER / ORIGINS
    left.mkdir(parents=True, mode=0o700)
    (left / "1-dead").write_text('{"origin": "http://127.0.0.1:1"}')
    assert known_origin(tmp_path) is None
    os.utime(left / "1-dead", (0, 0))
    assert LEFT_S > 0
    with told_origin(tmp_path, "http://127.0.0.1:2"):
        assert not (left / "1-dead").exists()


def test_a_link_or_a_pipe_in_its_place_is_nothing(tmp_path):
    left = tmp_path / FOLDER / ORIGINS
    left.mkdir(parents=True, mode=0o700)
    os.mkfifo(left / "pipe")
    (left / "link").symlink_to("/etc/passwd")
    assert known_origin(tmp_path) is None
