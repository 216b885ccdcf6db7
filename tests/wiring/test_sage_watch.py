"""Following changes, also where the system watches nothing. The real watcher is tried in tests/system/test_sage.py."""

import threading

import pytest
import watchfiles

from keisei.settings import read_settings
from keisei.wiring import sage_watch
from keisei.wiring.sage import open_sage
from tests.library.primitives import package, write


@pytest.mark.parametrize(
    "refusal",
    [RuntimeError("too many open files"), OSError(28, "No space left"), UnicodeEncodeError("utf-8", "x", 0, 1, "x")],
)
def test_where_nothing_can_be_watched_it_is_looked_every_so_often(tmp_path, monkeypatch, refusal):
    def refusing(*_folders, **_options):
        raise refusal

    monkeypatch.setattr(watchfiles, "watch", refusing)
    monkeypatch.setattr(sage_watch, "SLOW_S", 0.01)
    package(tmp_path / "root", "kei-note", "create")
    settings = read_settings({"HOME": str(tmp_path), "KEISEI_HOME": str(tmp_path / "state")})
    with open_sage(settings, roots=(tmp_path / "root",), start=tmp_path) as sage:
        changes = sage_watch.followed(sage, threading.Event())
        assert next(changes).changed == (("atom", "kei-note::create"),)
        write(tmp_path / "root/rules/zebra.md", "# Zebra\n")
        assert ("rule", "zebra") in next(changes).changed


def test_it_ends_when_it_is_told_to(tmp_path):
    stop = threading.Event()
    settings = read_settings({"HOME": str(tmp_path), "KEISEI_HOME": str(tmp_path / "state")})
    (tmp_path / "root").mkdir()
    with open_sage(settings, roots=(tmp_path / "root",), start=tmp_path) as sage:
        changes = sage_watch.followed(sage, stop)
        next(changes)
        threading.Timer(0.2, stop.set).start()
        assert list(changes) == []
