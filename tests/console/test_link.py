"""One-time links: once, whoever makes them and however many follow them at once."""

import subprocess
import sys
import threading

import pytest

from keisei.console import link as links
from keisei.console.key import open_keys, rotate
from keisei.console.link import make_link, redeem, sweep
from keisei.records.error import OperatorError

NOW = 1_800_000_000.0


def redeemed(home, told, now=NOW):
    return redeem(home / "console", open_keys(home), told, now=now)


@pytest.mark.parametrize("role", ["operator", "viewer"])
def test_a_link_works_once(tmp_path, role):
    told = make_link(tmp_path, role, now=NOW)
    folder = tmp_path / "console" / "links"
    [path] = folder.iterdir()
    assert told not in path.name + path.read_text()
    assert (path.stat().st_mode & 0o777, folder.stat().st_mode & 0o777) == (0o600, 0o700)

    assert [redeemed(tmp_path, told) for _ in range(3)] == [role, None, None]
    assert list(folder.iterdir()) == []


def test_a_link_is_over_after_its_minutes(tmp_path):
    told = [make_link(tmp_path, "operator", 5, now=NOW) for _ in range(2)]

    assert redeemed(tmp_path, told[0], NOW + 299) == "operator"
    assert redeemed(tmp_path, told[1], NOW + 300) is None
    assert redeemed(tmp_path, told[1], NOW) is None  # tried too late, it is gone


def test_of_many_who_follow_it_at_once_one_comes_in(tmp_path, monkeypatch):
    told, keys = make_link(tmp_path, "operator", now=NOW), open_keys(tmp_path)
    start, found, read = threading.Barrier(16), [], links._read

    def read_by_all(path):
        link = read(path)
        start.wait()  # until everybody has seen that it is good
        return link

    monkeypatch.setattr(links, "_read", read_by_all)

    def follow():
        found.append(redeem(tmp_path / "console", keys, told, now=NOW))

    threads = [threading.Thread(target=follow) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(found, key=str) == [None] * 15 + ["operator"]


def test_another_process_makes_a_link_for_a_console_that_runs(tmp_path):
    keys = open_keys(tmp_path)
    program = "import sys, pathlib\nfrom keisei.console.link import make_link\n"
    command = [sys.executable, "-c", f"{program}print(make_link(pathlib.Path(sys.argv[1]), 'viewer'))", tmp_path]

    told = subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()

    assert redeem(tmp_path / "console", keys, told) == "viewer"


@pytest.mark.parametrize("told", ["", "x", "../key", "/etc/passwd", "a" * 5000, "ü", "\0", "*"])
def test_what_is_no_link_lets_nobody_in(tmp_path, told):
    good = make_link(tmp_path, "operator", now=NOW)

    assert redeemed(tmp_path, told) is None
    assert redeemed(tmp_path, good) == "operator"


def test_a_link_ends_with_the_key_it_was_made_under(tmp_path):
    told = make_link(tmp_path, "operator", now=NOW)
    path = next((tmp_path / "console" / "links").iterdir())
    data = path.read_bytes()

    rotate(tmp_path)
    assert not path.exists()
    path.parent.mkdir()
    path.write_bytes(data)  # somebody had kept it

    assert redeemed(tmp_path, told) is None


@pytest.mark.parametrize("data", [b"", b"{", b'{"role":"root","expires_at":9e9,"mark":""}', b"\xff", b"[]" * 5000])
def test_a_file_that_is_no_link_is_none(tmp_path, data):
    told = make_link(tmp_path, "operator", now=NOW)
    path = next((tmp_path / "console" / "links").iterdir())
    path.write_bytes(data)

    assert redeemed(tmp_path, told) is None


def test_a_link_to_another_file_is_not_followed(tmp_path):
    told = make_link(tmp_path, "operator", now=NOW)
    path = next((tmp_path / "console" / "links").iterdir())
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")

    assert redeemed(tmp_path, told) is None
    assert (tmp_path / "elsewhere").exists()


def test_what_is_over_is_swept(tmp_path):
    make_link(tmp_path, "operator", 1, now=NOW)
    kept = make_link(tmp_path, "viewer", 60, now=NOW)
    folder = tmp_path / "console" / "links"
    torn = folder / "torn.part"
    torn.write_text("")

    assert sweep(folder, NOW - 10**9) == 3
    assert sweep(folder, torn.stat().st_mtime + 10**9) == 0
    assert list(folder.iterdir()) == []
    assert redeemed(tmp_path, kept) is None
    assert sweep(folder / "none", NOW) == 0


def test_links_do_not_pile_up(tmp_path, monkeypatch):
    monkeypatch.setattr(links, "MOST", 3)
    for _ in range(3):
        make_link(tmp_path, "viewer", now=NOW)

    with pytest.raises(OperatorError, match="3 links wait") as told:
        make_link(tmp_path, "viewer", now=NOW)
    assert "rotate" in told.value.hint
    assert make_link(tmp_path, "viewer", now=NOW + 601)


@pytest.mark.parametrize(("role", "minutes"), [("root", 10), ("operator", 0), ("operator", -1), ("viewer", 2000)])
def test_a_link_that_makes_no_sense_is_told(tmp_path, role, minutes):
    with pytest.raises(OperatorError, match=r"no role|minutes"):
        make_link(tmp_path, role, minutes)


def test_a_folder_that_leads_elsewhere_is_not_used(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    open_keys(tmp_path)
    (tmp_path / "console" / "links").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(OperatorError, match="cannot be used"):
        make_link(tmp_path, "operator")
    assert list((tmp_path / "elsewhere").iterdir()) == []
