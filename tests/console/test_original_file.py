"""The original's routes to files: artifacts and snapshots, and every way out of their folders that leads nowhere."""

import json
import os
import socket
from pathlib import Path

import pytest

from keisei.console import original_file, original_snapshot
from tests.console.house import open_house
from tests.console.test_original import refused, told

COUNTED = {"counts": [{"status": "completed", "count": 1}], "lastEvent": None}
SNAPSHOT = {
    "captured_at": "2026-01-01T00:00:00.000Z",
    "runtime_name": "house",
    "status": COUNTED,
    "workflows": [],
    "active_workflows": [],
    "queued_tasks": [{"task_id": "t", "status": "blocked"}],
    "recent_completed": [],
    "artifact_files": [],
}


@pytest.fixture
def house(tmp_path):
    with open_house(tmp_path) as opened:
        yield opened


@pytest.fixture
def root(house):
    found = house.premises.home.artifacts
    (found / "task" / "deep").mkdir(parents=True)
    (found / "task" / "report.md").write_text("# <script>alert(1)</script> \x1b[31m é")
    (found / "task" / "data.bin").write_bytes(b"\xff\x00a")
    return found


@pytest.fixture
def snapshots(root):
    folder = root / "snapshots"
    folder.mkdir()
    later = SNAPSHOT | {
        "captured_at": "2026-01-02T00:00:00.000Z",
        "queued_tasks": [],
        "status": COUNTED | {"counts": [{"status": "completed", "count": 3}]},
        "artifact_files": ["task/report.md"],
    }
    (folder / "2026-01-01-a.json").write_text(json.dumps(SNAPSHOT))
    (folder / "2026-01-02-b.json").write_text(json.dumps(later))
    return folder


def test_a_house_without_artifacts_lists_none(house):
    assert told(house, "/api/artifacts") == {"path": "", "type": "directory", "entries": []}
    assert told(house, "/api/snapshots") == {"snapshots": []}
    assert told(house, "/api/report/latest") == {"report": None}


def test_a_folder_is_listed_folders_first(house, root):
    found = told(house, "/api/artifacts", path="/task/")
    assert (found["path"], found["type"]) == ("task", "directory")
    assert [each["name"] for each in found["entries"]] == ["deep", "data.bin", "report.md"]
    assert all(set(each) == {"name", "path", "type", "size", "updated_at"} for each in found["entries"])
    folder, file = found["entries"][0], found["entries"][2]
    assert (folder["type"], file["type"], file["path"]) == ("directory", "file", "task/report.md")
    assert file["size"] == (root / "task" / "report.md").stat().st_size
    assert file["updated_at"].endswith("Z")
    assert told(house, "/api/artifacts", path="task/report.md") == {"path": "task/report.md", "type": "file"}
    assert [each["path"] for each in told(house, "/api/artifacts")["entries"]] == ["task"]


@pytest.mark.usefixtures("root")
def test_a_file_is_told_inside_json(house):
    found = told(house, "/api/artifact", path="task/report.md")
    assert set(found) == {"path", "size", "updated_at", "content_type", "content"}
    assert found["content"] == "# <script>alert(1)</script> \x1b[31m é"
    assert found["content_type"] == "text/markdown; charset=utf-8"
    assert told(house, "/api/artifact", path="task/data.bin")["content"] == "\ufffd\x00a"
    assert told(house, "/api/artifact", path="task/data.bin")["content_type"] == "text/plain; charset=utf-8"


def test_a_long_file_is_cut_between_letters(house, root, monkeypatch):
    monkeypatch.setattr(original_file, "MOST", 5)
    (root / "long.txt").write_text("abcdéf")
    found = told(house, "/api/artifact", path="long.txt")
    assert (found["content"], found["size"], found["truncated"]) == ("abcd", 7, True)


@pytest.mark.usefixtures("root")
def test_a_full_folder_is_cut(house, monkeypatch):
    monkeypatch.setattr(original_file, "ENTRIES", 2)
    found = told(house, "/api/artifacts", path="task")
    assert len(found["entries"]) == 2
    assert found["truncated"] is True


@pytest.fixture(scope="module")
def trap(tmp_path_factory):
    """A house whose artifact folder is full of ways out."""
    folder = tmp_path_factory.mktemp("trap")
    secret = folder / "elsewhere"
    secret.mkdir()
    (secret / "secret").write_text("secret")
    with open_house(folder) as house, socket.socket(socket.AF_UNIX) as listening:
        root = house.premises.home.artifacts
        (root / "task").mkdir(parents=True)
        (root / "task" / "report.md").write_text("a report")
        (root / "link").symlink_to(secret)
        (root / "out").symlink_to(secret / "secret")
        os.mkfifo(root / "pipe")
        before = Path.cwd()
        os.chdir(root)  # names of sockets are short
        try:
            listening.bind("socket")
        finally:
            os.chdir(before)
        yield house


@pytest.mark.parametrize("route", ["/api/artifact", "/api/artifacts"])
@pytest.mark.parametrize(
    "path",
    [
        "../state.db", "task/../../state.db", "task/..", "..", "/etc/passwd", "nothing", "task/report.md/x", "a\0b",
        "a" * 5000, "a" * 300, "link", "link/secret", "pipe", "socket", "out", "~", "%2e%2e/state.db", "..\\state.db",
    ],
)  # fmt: skip
def test_no_path_leads_out(trap, route, path):
    error = refused(trap.client.get(route, params={"path": path}))
    assert error in ("invalid artifact path", "artifact path not found")


def test_what_is_neither_file_nor_folder_is_not_listed(house, root, tmp_path):
    (root / "link").symlink_to(tmp_path)
    os.mkfifo(root / "pipe")
    (root / os.fsdecode(b"bad\xff")).write_text("x")
    os.utime(root / os.fsdecode(b"bad\xff"), (0, 10**13))
    entries = told(house, "/api/artifacts")["entries"]
    assert [each["name"] for each in entries] == ["task", "bad\ufffd"]


@pytest.mark.usefixtures("root")
def test_a_folder_is_no_file_and_a_path_is_needed(house):
    assert refused(house.client.get("/api/artifact?path=task")) == "artifact path is not a file"
    assert refused(house.client.get("/api/artifact")) == "artifact file path required"
    assert refused(house.client.get("/api/artifact?path=/")) == "artifact file path required"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_closed_file_is_refused(house, root):
    (root / "closed").write_text("x")
    (root / "closed").chmod(0)
    assert "permission denied" in refused(house.client.get("/api/artifact?path=closed"))


def test_snapshots_are_listed_read_and_compared(house, snapshots):
    found = told(house, "/api/snapshots")["snapshots"]
    assert found[0] == {
        "name": "2026-01-02-b.json",
        "path": "snapshots/2026-01-02-b.json",
        "captured_at": "2026-01-02T00:00:00.000Z",
        "runtime_name": "house",
        "queued_tasks": 0,
        "completed_tasks": 3,
    }
    assert [each["queued_tasks"] for each in found] == [0, 1]
    for path in ("snapshots/2026-01-01-a.json", str(snapshots / "2026-01-01-a.json"), "2026-01-01-a.json"):
        assert told(house, "/api/snapshot", path=path) == SNAPSHOT
    report = told(house, "/api/report", before=found[1]["path"], after=found[0]["path"])
    assert report["completed_task_delta"] == {"before": 1, "after": 3, "delta": 2}
    assert report["new_artifacts_created"] == ["task/report.md"]
    assert told(house, "/api/report/latest") == {"report": report}


def test_what_is_no_snapshot_is_left_out_and_refused(house, snapshots, tmp_path, monkeypatch):
    (snapshots / "broken.json").write_text("{")
    (snapshots / "deep.json").write_text("[" * 100_000)
    (snapshots / "other.json").write_text("[]")
    (snapshots / "large.json").write_text(json.dumps(SNAPSHOT | {"x": "y" * 2000}))
    (snapshots / "folder.json").mkdir()
    (tmp_path / "out.json").write_text(json.dumps(SNAPSHOT))
    (snapshots / "link.json").symlink_to(tmp_path / "out.json")
    monkeypatch.setattr(original_snapshot, "LARGEST", 1000)
    assert len(told(house, "/api/snapshots")["snapshots"]) == 2
    assert told(house, "/api/report/latest")["report"] is not None
    for name in ("broken", "deep", "other", "large", "folder", "link", "nothing"):
        refused(house.client.get("/api/snapshot", params={"path": f"snapshots/{name}.json"}))


@pytest.mark.parametrize(
    "path",
    ["../state.db", "snapshots/../../state.db", "/etc/passwd", "snapshots/", "..", "a\0", "task/report.md"],
)
def test_a_snapshot_stands_in_its_folder(trap, path):
    assert refused(trap.client.get("/api/snapshot", params={"path": path})) == "invalid snapshot path"


def test_snapshots_need_their_paths(house):
    assert refused(house.client.get("/api/snapshot")) == "snapshot path required"
    for query in ("", "?before=a.json", "?after=a.json"):
        assert refused(house.client.get(f"/api/report{query}")) == "before and after snapshot paths are required"


def test_a_link_in_the_place_of_the_folder_is_not_followed(house, root, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "a.json").write_text(json.dumps(SNAPSHOT))
    (root / "snapshots").symlink_to(tmp_path / "elsewhere")
    assert told(house, "/api/snapshots") == {"snapshots": []}
    refused(house.client.get("/api/snapshot?path=a.json"))
