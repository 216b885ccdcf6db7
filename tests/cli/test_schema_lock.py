"""Locks: a schema that was promised until a day does not break before it, unless somebody says why."""

import json
import re
import subprocess
from datetime import date

import pytest

from keisei.cli import schema_lock_order
from keisei.library.schema_addition import without_additions
from keisei.library.schema_lock import marker_bytes, new_lock, read_lock, revoked_lock
from keisei.records.error import WorldFault
from keisei.workspace.lock import KeyLocks
from tests.library.note_package import PAGE, input_schema, output_schema, write_note

LATER, EVEN_LATER = "2126-01-31", "2126-12-31"
SHORTER = input_schema(properties={"text": {"type": "string", "maxLength": 80}})
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}


@pytest.fixture
def project(shell):
    (shell.folder / "keisei.toml").write_text('[project]\nname = "shop"\n')
    shell.packages = shell.folder_of(".keisei/primitives")
    write_note(shell.packages)
    return shell


def rows(shell, kind):
    return json.loads(shell.run("ledger", "list", "--kind", kind, "--json").out)


def errors(done):
    return [line for line in done.out.splitlines() if "error[" in line]


def test_a_breaking_change_fails_lint_until_the_lock_is_revoked_with_a_reason(project):
    done = project.run("schema", "lock", "kei-note::add", "--until", LATER)
    assert (done.code, done.out) == (0, f"locked kei-note::add until {LATER}: .keisei/locks/kei-note--add.toml\n")
    assert project.run("lint").code == 0

    write_note(project.packages, given=SHORTER)
    for words in (("lint",), ("lint", "atoms")):
        done = project.run(*words)
        assert done.code == 1
        assert "add-input.json:7:20: error[breaking-input]" in done.out
        assert f"(since `the lock until {LATER}`)" in done.out
        assert "`keisei schema revoke kei-note::add --reason ...` ends the lock" in done.out

    done = project.run("schema", "revoke", "kei-note::add", "--reason", "texts are\nshort now \u00e9")
    assert (done.code, done.err) == (0, "")
    assert project.run("lint").code == 0
    (row,) = rows(project, "schema_revoked")
    assert (row["subject"], row["source"], row["body"]["reason"]) == (
        "kei-note::add",
        "engine",
        "texts are\nshort now \u00e9",
    )
    assert [each["body"]["until"] for each in rows(project, "schema_locked")] == [LATER]
    (listed,) = json.loads(project.run("schema", "locks", "--json").out)
    assert listed["state"] == "revoked: texts are\nshort now \u00e9"


@pytest.mark.parametrize(
    "change",
    [
        {"given": input_schema(properties={"text": {"type": "string"}, "more": {"type": "string"}})},
        {"gives": output_schema(properties={"id": {"type": "integer"}, "at": {"type": "string"}})},
        {"given": input_schema(title="Said otherwise")},
    ],
    ids=["input", "output", "words"],
)
def test_additions_stay_allowed(project, change):
    project.run("schema", "lock", "kei-note", "--until", LATER)
    write_note(project.packages, **change)
    assert project.run("lint").code == 0


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"gives": output_schema(properties={"id": {"type": "string"}})}, "breaking-output"),
        ({"page": PAGE.replace("kind: command", "kind: query")}, "changed-kind"),
        ({"page": PAGE.replace("  - {code: StoreFull, description: There is no room.}\n", "")}, "removed-error"),
    ],
)
def test_every_promise_of_a_page_is_kept_under_a_lock(project, change, code):
    project.run("schema", "lock", "kei-note", "--until", LATER)
    write_note(project.packages, **change)
    assert any(f"error[{code}]" in line for line in errors(project.run("lint", "atoms")))


def test_an_atom_under_a_lock_cannot_go(project):
    project.run("schema", "lock", "kei-note", "--until", LATER)
    (project.packages / "kei-note" / "atoms" / "add.md").unlink()
    assert any("error[removed-atom]" in line for line in errors(project.run("lint", "atoms")))


def test_another_atom_may_change_as_it_likes(project):
    write_note(project.packages, name="kei-other")
    project.run("schema", "lock", "kei-note", "--until", LATER)
    write_note(project.packages, name="kei-other", given=SHORTER)
    assert project.run("lint").code == 0


def test_a_schema_file_is_locked_by_its_path(project):
    path = project.folder_of("schemas") / "order.json"
    path.write_text(json.dumps(SCHEMA))
    assert project.run("schema", "lock", "schemas/order.json", "--until", LATER).code == 0
    assert project.run("lint").code == 0
    path.write_text(json.dumps({**SCHEMA, "required": ["n"]}, indent=1))
    done = project.run("lint")
    assert done.code == 1
    assert "schemas/order.json" in done.out
    assert "error[locked-schema]" in done.out
    path.unlink()
    assert "is locked, and is gone" in project.run("lint").out


def test_a_lock_ends_with_its_day(project):
    project.run("schema", "lock", "kei-note", "--until", LATER)
    marker = project.folder / ".keisei" / "locks" / "kei-note.toml"
    was = read_lock(marker).record
    marker.write_bytes(marker_bytes(marker, new_lock(was.name, date(2020, 1, 31), was.actor, was.locked_at, was.files)))
    write_note(project.packages, given=SHORTER)
    assert project.run("lint").code == 0
    assert "has ended" in project.run("schema", "locks").out
    assert project.run("schema", "lock", "kei-note", "--until", EVEN_LATER).code == 0
    assert "holds" in project.run("schema", "locks").out


def wide(**more):
    return {"type": "object", "properties": {f"p{index}": {"type": "string"} for index in range(300)} | more}


def with_line(*more, **properties):
    line = {"type": "object", "properties": {"n": {"type": "integer"}} | properties}
    return {
        "properties": {"id": {"type": "string"}, "lines": {"items": {"$ref": "#/definitions/line"}}},
        "definitions": {"line": line} | dict(more),
    }


SISTERS = [{"properties": {"n": {"type": "integer"}}}, {"properties": {"at": {"type": "string"}}}]


@pytest.mark.parametrize(
    ("was", "now", "holds"),
    [
        (SCHEMA, SCHEMA | {"additionalProperties": False}, False),
        (
            SCHEMA,
            {"type": "object", "properties": {"n": {"type": "integer"}, "at": {}}, "additionalProperties": False},
            False,
        ),
        (SCHEMA | {"additionalProperties": False}, SCHEMA, True),
        (wide(), wide(at={"type": "string"}), True),
        (wide(), wide(at={"type": "string"}, p7={"type": ["string", "null"]}), True),
        (wide(), wide(at={"type": "string"}) | {"required": ["at"]}, False),
        (wide(), wide(p7={"type": "integer"}), False),
        (wide(), wide() | {"additionalProperties": False}, False),
        (with_line(), with_line(id={"type": "integer"}), True),
        (with_line(), with_line(("new", {"type": "string"}), at={"$ref": "#/definitions/new"}), True),
        (with_line(), with_line(n={"type": "string"}), False),
        ({"anyOf": [SCHEMA, {"type": "null"}]}, {"anyOf": [wide(n={"type": "integer"}), {"type": "null"}]}, True),
        ({"allOf": SISTERS}, {"allOf": [{"properties": {"n": {"type": "integer"}, "new": {}}}, SISTERS[1]]}, True),
        (
            {"allOf": SISTERS},
            {"allOf": [{"properties": {"n": {"type": "integer"}, "at": {"type": "integer"}}}, SISTERS[1]]},
            False,
        ),
        (
            {"additionalProperties": {"type": "string"}},
            {"additionalProperties": {"type": "string"}, "properties": {"at": {"type": "integer"}}},
            False,
        ),
    ],
)
def test_closing_fails_and_a_further_property_does_not_whatever_the_size(project, was, now, holds):
    path = project.folder_of("schemas") / "order.json"
    path.write_text(json.dumps(was))
    assert project.run("schema", "lock", "schemas/order.json", "--until", LATER).code == 0
    path.write_text(json.dumps(now))
    done = project.run("lint")
    assert (done.code == 0) is holds, done.out
    assert ("error[locked-schema]" in done.out) is not holds


def test_nothing_is_left_of_an_addition_that_brings_its_own_definition():
    assert without_additions(with_line(), with_line(("new", {}), at={"$ref": "#/definitions/new"})) == with_line()


@pytest.mark.parametrize(
    ("was", "now", "holds"),
    [
        (input_schema(additionalProperties=True), input_schema(), False),
        (wide(text={"type": "string"}), wide(text={"type": "string"}, at={"type": "string"}), True),
        (wide(text={"type": "string"}), wide(text={"type": "string"}, p7={"type": ["string", "null"]}), True),
        (wide(text={"type": "string"}), wide(text={"type": "string", "maxLength": 3}), False),
    ],
)
def test_the_same_holds_for_what_goes_into_an_atom(project, was, now, holds):
    given = input_schema()
    write_note(project.packages, given=given | {"additionalProperties": True} | was)
    project.run("schema", "lock", "kei-note", "--until", LATER)
    write_note(project.packages, given=given | {"additionalProperties": True} | now)
    assert (project.run("lint", "atoms").code == 0) is holds


def test_a_wide_output_may_say_more(project):
    write_note(project.packages, gives=output_schema(**wide(id={"type": "integer"}), additionalProperties=False))
    project.run("schema", "lock", "kei-note", "--until", LATER)
    more = wide(id={"type": "integer"}, at={"type": "string"}) | {
        "required": ["id", "at"],
        "examples": [{"id": 7, "at": "x"}],
    }
    write_note(project.packages, gives=output_schema(**more, additionalProperties=False))
    assert errors(project.run("lint", "atoms")) == []


REVOKED_BY_HAND = """
[revoked]
reason = "x"
actor = "operator:root"
revoked_at = 2026-11-16T00:00:00Z
sha256 = "{0}"
"""


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: text.replace("maxLength", "minLength"),
        lambda text: text.replace(f"until = {LATER}", "until = 2020-01-31"),
        lambda text: re.sub(r'actor = ".*"', 'actor = "nobody"', text),
        lambda text: re.sub(r"locked_at = \S+", "locked_at = 2020-01-01T00:00:00Z", text),
        lambda text: text.replace('name = "kei-note"', 'name = "kei-other"'),
        lambda text: text.replace("add-output.json", "add-else.json", 1),
        lambda text: text + REVOKED_BY_HAND.format("0" * 64),
        lambda _: "name = 1\nwhat = 2\n",
    ],
    ids=["text", "until", "actor", "day", "name", "path", "revoked", "broken"],
)
def test_a_lock_that_was_edited_is_told_and_ends_nothing(project, edit):
    project.run("schema", "lock", "kei-note", "--until", LATER)
    marker = project.folder / ".keisei" / "locks" / "kei-note.toml"
    marker.write_text(edit(marker.read_text()))
    done = project.run("lint")
    assert done.code == 1
    assert "locks/kei-note.toml:" in done.out
    assert ("error[edited-lock]" in done.out) is ("what = 2" not in marker.read_text())
    done = project.run("schema", "locks")
    assert (done.code, "cannot be read" in done.out) == (0, True)
    done = project.run("schema", "revoke", "kei-other", "--reason", "x")
    assert (done.code, "cannot be read: `kei-note.toml`" in done.err) == (1, True)


def test_what_the_ledger_does_not_know_is_told_and_completed_by_the_same_order(project):
    project.run("schema", "lock", "kei-note", "--until", LATER)
    marker = project.folder / ".keisei" / "locks" / "kei-note.toml"
    was = read_lock(marker).record
    other = new_lock(was.name, was.until, "operator:else", was.locked_at, was.files)
    marker.write_bytes(marker_bytes(marker, other))
    assert "holds (the ledger here has no row of this lock)" in project.run("schema", "locks").out
    assert project.run("schema", "lock", "kei-note", "--until", EVEN_LATER).code == 1
    assert "has its row now: row 2" in project.run("schema", "lock", "kei-note", "--until", LATER).out
    assert project.run("schema", "lock", "kei-note", "--until", LATER).code == 1

    marker.write_bytes(marker_bytes(marker, revoked_lock(other, "done", "operator:else", was.locked_at)))
    assert "revoked: done (the ledger here has no row of this revocation)" in project.run("schema", "locks").out
    assert project.run("schema", "revoke", "kei-note", "--reason", "other").code == 1
    assert project.run("schema", "revoke", "kei-note", "--reason", "done").code == 0
    assert "no row" not in project.run("schema", "locks").out
    assert [len(rows(project, kind)) for kind in ("schema_locked", "schema_revoked")] == [2, 1]


def test_an_order_that_was_stopped_before_the_marker_can_be_given_again(project, monkeypatch):
    def stopped(path, _raw):
        raise WorldFault(f"cannot write {path}", "try again")

    with monkeypatch.context() as patch:
        patch.setattr(schema_lock_order, "write_whole", stopped)
        assert project.run("schema", "lock", "kei-note", "--until", LATER).code == 1
    assert json.loads(project.run("schema", "locks", "--json").out) == []
    assert project.run("schema", "lock", "kei-note", "--until", LATER).code == 0
    with monkeypatch.context() as patch:
        patch.setattr(schema_lock_order, "write_whole", stopped)
        assert project.run("schema", "revoke", "kei-note", "--reason", "x").code == 1
    (listed,) = json.loads(project.run("schema", "locks", "--json").out)
    assert listed["state"] == "holds"
    assert project.run("schema", "revoke", "kei-note", "--reason", "x").code == 0
    assert len(rows(project, "schema_revoked")) == 1
    (listed,) = json.loads(project.run("schema", "locks", "--json").out)
    assert listed["state"] == "revoked: x"


def test_nobody_else_gives_orders_about_locks_meanwhile(project, monkeypatch):
    held = []

    def watched(path, raw):
        (file,) = project.home.rglob("schema-locks.lock")
        held.append(KeyLocks(file.parent).is_held("schema-locks"))
        path.write_bytes(raw)

    monkeypatch.setattr(schema_lock_order, "write_whole", watched)
    project.run("schema", "lock", "kei-note", "--until", LATER)
    project.run("schema", "revoke", "kei-note", "--reason", "x")
    (project.folder_of("docs") / "AGENT-SCHEMA-LOCKED.md").write_text("# Locked\n")
    project.run("schema", "revoke", "AGENT-SCHEMA-LOCKED.md", "--reason", "x")
    assert held == [True, True, True]
    assert list(project.home.rglob("schema-locks.lock")) == []


def test_a_schema_has_one_lock_however_it_is_named_and_wherever_its_marker_stands(project):
    (project.folder_of("schemas") / "order.json").write_text(json.dumps(SCHEMA))
    names = ["./schemas/order.json", str(project.folder / "schemas" / "order.json"), "schemas//../schemas/order.json"]
    assert project.run("schema", "lock", names[0], "--until", LATER).out.startswith("locked schemas/order.json until")
    for name in names:
        assert "`schemas/order.json` is locked" in project.run("schema", "lock", name, "--until", EVEN_LATER).err
    (marker,) = (project.folder / ".keisei" / "locks").iterdir()
    marker.rename(marker.with_name("other.toml"))
    assert "is locked until" in project.run("schema", "lock", names[0], "--until", EVEN_LATER).err
    assert project.run("schema", "revoke", names[1], "--reason", "x").code == 0
    assert "schema lock schemas/order.json --until" in project.run("schema", "revoke", names[2], "--reason", "y").err
    assert project.run("schema", "lock", names[2], "--until", EVEN_LATER).code == 0
    assert project.run("schema", "revoke", names[2], "--reason", "z").code == 0


@pytest.mark.parametrize("link", [".keisei/locks", ".keisei"])
def test_nothing_is_written_through_a_link_that_leads_out(project, link, tmp_path_factory):
    out = tmp_path_factory.mktemp("out")
    (project.folder_of("schemas") / "order.json").write_text(json.dumps(SCHEMA))
    if link == ".keisei":
        (project.folder / ".keisei").rename(project.folder / "aside")
    (project.folder / link).symlink_to(out)
    done = project.run("schema", "lock", "schemas/order.json", "--until", LATER)
    assert (done.code, "leads out of the project" in done.err) == (1, True)
    assert list(out.iterdir()) == []
    assert json.loads(project.run("ledger", "list", "--json").out) == []


@pytest.mark.parametrize("what", ["name", "reason"])
def test_what_is_no_text_is_refused_before_anything_is_written(project, what):
    project.run("schema", "lock", "kei-note", "--until", LATER)
    name, reason = ("kei-note\udcff", "x") if what == "name" else ("kei-note", "bad\udcff")
    done = project.run("schema", "revoke", name, "--reason", reason)
    assert (done.code != 0, "not text" in done.err) == (True, True)
    assert rows(project, "schema_revoked") == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("lock", "kei-nothing", "--until", LATER),
            "no atom, package or schema of this project is called `kei-nothing`",
        ),
        (("lock", "kei-not", "--until", LATER), "kei-note"),
        (("lock", "../out.json", "--until", LATER), "leads out of the project"),
        (("lock", "gone.json", "--until", LATER), "does not exist"),
        (("lock", "kei-note", "--until", "2020-01-01"), "2020-01-01 has passed"),
        (("lock", "kei-note", "--until", "soon"), "`soon` is not a day"),
        (("lock", "kei-note"), "--until"),
        (("revoke", "kei-note", "--reason", "x"), "`kei-note` is not locked"),
        (("revoke", "kei-note", "--reason", " "), "a reason has 1 to 2000 characters"),
        (("revoke", "kei-note"), "--reason"),
    ],
)
def test_what_cannot_be_locked_or_revoked_is_told_and_leaves_nothing(project, words, told):
    done = project.run("schema", *words)
    assert done.code != 0
    assert told in done.err
    assert "Traceback" not in done.err
    assert not (project.folder / ".keisei" / "locks").exists()
    assert json.loads(project.run("ledger", "list", "--json").out) == []


def test_a_lock_in_force_is_not_replaced_and_a_revoked_one_is_not_revoked_again(project):
    project.run("schema", "lock", "kei-note", "--until", LATER)
    assert f"is locked until {LATER} already" in project.run("schema", "lock", "kei-note", "--until", EVEN_LATER).err
    project.run("schema", "revoke", "kei-note", "--reason", "one")
    assert "was revoked already: one" in project.run("schema", "revoke", "kei-note", "--reason", "two").err
    assert len(rows(project, "schema_revoked")) == 1


def git(folder, *words):
    own = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", *own, *words], cwd=folder, check=True, capture_output=True)


def commit(project, text=None):
    if text is not None:
        (project.folder_of("docs") / "AGENT-SCHEMA-LOCKED.md").write_text(text)
    git(project.folder, "init", "-q", "-b", "main")
    git(project.folder, "add", "-A", "-f", ".keisei", "docs", "keisei.toml")
    git(project.folder, "commit", "-qm", "one")


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("# Locked\n", True),
        (f"LOCKED until {LATER}\n", True),
        ("LOCKED until 2020-01-01\n", False),
        ("LOCKED until 2020-13-45\n", True),
        ("# Locked\n\n**REVOKED** 2026-04-24: nobody kept to it\n", False),
        ("# Locked\n> Revoked: 2026-04-24\r\n", False),
        ("# Locked\nBreaking changes need a revocation.\n", True),
        ("# Locked\n- Revoked? no, not revoked yet\n", True),
        ("# Locked\nRevoked 2026-04-24? No.\n", True),
        ("# Locked\nRevoked 2026-04-24: this is not revoked\n", True),
        ("# Locked\nRevoked 2026-13-45: never\n", True),
        ("# Locked\nIt was revoked 2026-04-24: no\n", True),
    ],
)
def test_markers_of_the_original_are_recognised(project, text, holds):
    commit(project, text)
    write_note(project.packages, given=SHORTER)
    done = project.run("lint", "atoms")
    assert (done.code == 1) is holds
    assert ("AGENT-SCHEMA-LOCKED.md`)" in done.out) is holds
    assert ("names no day" in done.out) is ("until 2020-13" in text)
    (listed,) = json.loads(project.run("schema", "locks", "--json").out)
    assert listed["state"].startswith("holds") is holds


def test_a_marker_of_the_original_counts_from_the_commit_that_added_it(project):
    (project.folder_of("docs") / "AGENT-SCHEMA-LOCKED.md").write_text("# Locked\n")
    done = project.run("lint", "atoms")
    assert done.code == 1
    assert "cannot be compared: " in done.out
    git(project.folder, "init", "-q", "-b", "main")
    done = project.run("lint", "atoms")
    assert (done.code, "in no commit yet" in done.out) == (0, True)
    commit(project)
    assert project.run("lint", "atoms").code == 0
    write_note(project.packages, given=SHORTER)
    commit(project, "# Locked\n\n")
    assert "error[breaking-input]" in project.run("lint", "atoms").out


def test_a_shallow_clone_cannot_hold_a_marker_of_the_original_and_says_so(project, tmp_path_factory, monkeypatch):
    commit(project, "# Locked\n")
    write_note(project.packages, given=SHORTER)
    commit(project)
    clone = tmp_path_factory.mktemp("a clone")
    git(clone, "clone", "-q", "--depth", "1", f"file://{project.folder}", ".")
    monkeypatch.chdir(clone)
    done = project.run("lint", "atoms")
    assert (done.code, len(errors(done))) == (1, 1)
    assert "cannot be compared: this clone is shallow" in done.out
    assert "`git fetch --unshallow`" in done.out
    git(clone, "fetch", "-q", "--unshallow")
    assert "error[breaking-input]" in project.run("lint", "atoms").out


@pytest.mark.parametrize("name", ["AGENT-SCHEMA-LOCKED.md", "./docs/AGENT-SCHEMA-LOCKED.md"])
def test_a_marker_of_the_original_is_revoked_with_a_line_and_a_row(project, name):
    commit(project, "# Locked")
    write_note(project.packages, given=SHORTER)
    assert project.run("schema", "revoke", name, "--reason", "it is not revoked").code == 1
    done = project.run("schema", "revoke", name, "--reason", "two\nlines")
    assert (done.code, done.out) == (0, "revoked the lock of docs/AGENT-SCHEMA-LOCKED.md: row 1\n")
    text = (project.folder / "docs" / "AGENT-SCHEMA-LOCKED.md").read_text()
    assert re.fullmatch(r"# Locked\n\nREVOKED \d{4}-\d\d-\d\d: two lines\n", text)
    assert project.run("lint", "atoms").code == 0
    (row,) = rows(project, "schema_revoked")
    assert (row["subject"], row["body"]["reason"]) == ("docs/AGENT-SCHEMA-LOCKED.md", "two\nlines")
    assert "was revoked already" in project.run("schema", "revoke", name, "--reason", "x").err
