"""Sage over real files: what is read, what is read again, and what is gone from every answer."""

import json
import os
import shutil
import sys
import threading
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from keisei.graph import vault as vaults
from keisei.records.error import KeiseiError, OperatorError, WorldFault
from keisei.records.pipe_run import PipeRun
from keisei.settings import read_settings
from keisei.wiring import sage as sages
from keisei.wiring import sage_scan
from keisei.wiring.fresh import new_id
from keisei.wiring.sage import open_sage
from keisei.wiring.store import open_project_store
from tests.library.primitives import OBJECT, atom, package, write

PAGE = """\
---
atom: {atom}
kind: query
version: 1.2.0
input:
  schema: schemas/{verb}-input.json
output:
  schema: schemas/{verb}-output.json
side_effects: []
idempotent: true
stability: beta
keywords: [{keywords}]
related: {related}
---
# {atom}

{text}
"""


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    """Files that were written a moment ago count as settled; the test of that rule says so itself."""
    monkeypatch.setattr(sage_scan, "HOT_NS", -1_000_000_000)


@pytest.fixture
def place(tmp_path):
    """A root with a package, and a state folder."""
    root = tmp_path / "a root"
    package(root / "primitives", "kei-note", "create", "find")
    env = {"HOME": str(tmp_path), "KEISEI_HOME": str(tmp_path / "state")}
    return SimpleNamespace(root=root, atoms=root / "primitives/kei-note/atoms", env=env, start=tmp_path)


def opened(place, *roots, **more):
    return open_sage(read_settings(place.env), roots=roots or (place.root,), start=place.start, **more)


def page(place, verb, text="Does it.", related=(), keywords="note"):
    atom(place.atoms, "kei-note", verb)
    links = json.dumps([f"[[{each}]]" for each in related])
    told = PAGE.format(atom=f"kei-note::{verb}", verb=verb, text=text, related=links, keywords=keywords)
    return write(place.atoms / f"{verb}.md", told)


def ids(sage, text="", **question):
    return [hit.node.id for hit in sage.search(text, **question).hits]


def kin(sage, name, **question):
    return [each.node.id for each in sage.related(name, **question)]


def reads(monkeypatch):
    """Which things are read from now on."""
    seen = []
    entry = sage_scan.Spot.entry
    monkeypatch.setattr(sage_scan.Spot, "entry", lambda spot: (seen.append(spot.key[1]), entry(spot))[1])
    return seen


# --- what there is ----------------------------------------------------------------------------------------------------


def test_everything_that_ships_is_found_by_its_own_name(place):
    with open_sage(read_settings(place.env), start=place.start) as sage:
        for name, folder in (
            ("kei-task::create", ""),
            ("policy::no-git-ops", ""),
            ("edit-local", "roles/"),
            ("code-review", "skills/"),
            ("goal-loop", "workflows/"),
            ("goal-plan", "task-types/"),
            ("RULE-0.12-agent-git-model", "rules/"),
        ):
            assert sage.search(name).hits[0].node.id == f"{folder}{name}"
        assert set(sage.tally()[0]) == {"atom", "capability", "role", "skill", "workflow", "task-type", "rule"}
        assert sage.refresh().problems == ()


def test_a_root_is_all_there_is(place):
    with opened(place) as sage:
        assert ids(sage) == ["kei-note::create", "kei-note::find"]


def test_the_first_root_wins_and_a_rule_links_to_an_atom_of_another(place, tmp_path):
    other = tmp_path / "other"
    package(other / "primitives", "kei-note", "elsewhere")
    package(other / "primitives", "kei-more", "here")
    write(other / "rules/house.md", "# House rules\n\nCall [[kei-note::create]], never [[kei-note::elsewhere]].\n")

    with opened(place, place.root, other) as sage:
        assert ids(sage) == ["kei-more::here", "kei-note::create", "kei-note::find", "rules/house"]
        assert kin(sage, "house") == ["kei-note::create"]


def test_a_project_hides_what_ships_until_it_is_gone(place, tmp_path):
    write(tmp_path / "shop/keisei.toml", '[project]\nname = "shop"\n')
    own = write(tmp_path / "shop/.keisei/rules/RULE-0.12-agent-git-model.md", "# RULE 0.12 Ours alone: zebras\n")
    with open_sage(read_settings(place.env), start=tmp_path / "shop") as sage:
        (hit,) = sage.search("zebras").hits
        assert (hit.node.layer, hit.node.path) == ("project", str(own))

        own.unlink()

        assert ids(sage, "zebras") == []
        assert sage.search("RULE 0.12").hits[0].node.layer == "kit"


def test_a_root_that_is_no_folder_is_named(place):
    with pytest.raises(OperatorError, match="is not a folder"):
        opened(place, place.root / "nowhere")


# --- what changes -----------------------------------------------------------------------------------------------------


def test_what_is_gone_renamed_or_changed_is_so_in_every_answer(place):
    page(place, "create", "Makes a zebra.", related=["kei-note::find"])
    with opened(place) as sage:
        assert ids(sage, "zebra") == ["kei-note::create"]
        assert kin(sage, "kei-note::find") == ["kei-note::create"]

        (place.atoms / "create.md").unlink()

        assert ids(sage, "zebra") == []
        assert kin(sage, "kei-note::find") == []
        assert [each.node.id for each in sage.ranked()] == ["kei-note::find"]
        with pytest.raises(OperatorError, match="there is no"):
            sage.picture("kei-note::create")

        shutil.move(place.root / "primitives/kei-note", place.root / "primitives/kei-memo")
        page(SimpleNamespace(atoms=place.root / "primitives/kei-memo/atoms"), "find")
        write(
            place.root / "primitives/kei-memo/atoms/find.md",
            (place.root / "primitives/kei-memo/atoms/find.md").read_text().replace("kei-note::", "kei-memo::"),
        )
        assert ids(sage) == ["kei-memo::find"]


def test_only_what_changed_is_read_again(place, monkeypatch):
    with opened(place) as sage:
        sage.refresh()
        seen = reads(monkeypatch)

        assert sage.refresh().changed == ()
        assert seen == []

        page(place, "find", "Finds a zebra.")
        assert sage.refresh().changed == (("atom", "kei-note::find"),)
        write(place.atoms / "schemas/create-input.json", json.dumps({**OBJECT, "title": "x"}))
        assert sage.refresh().changed == (("atom", "kei-note::create"),)
        write(place.root / "primitives/kei-note/pyproject.toml", "[project]\n")
        assert {problem.code for problem in sage.refresh().problems} != set()
        assert seen == ["kei-note::find", "kei-note::create", "kei-note::create", "kei-note::find"]
        assert ids(sage) == []


def test_a_second_process_reads_nothing_again(place, monkeypatch):
    with opened(place) as first:
        first.refresh()
    with opened(place) as second:
        seen = reads(monkeypatch)
        assert ids(second) == ["kei-note::create", "kei-note::find"]
        assert seen == []


def test_a_file_that_is_young_is_read_again_because_it_may_change_unnoticed(place, monkeypatch):
    monkeypatch.setattr(sage_scan, "HOT_NS", 60_000_000_000)
    with opened(place) as sage:
        sage.refresh()
        seen = reads(monkeypatch)
        sage.refresh()

    assert sorted(seen) == ["kei-note::create", "kei-note::find"]


def test_metadata_that_change_while_a_package_is_read_are_read_again(place):
    def spots():
        (unit,) = [each for each in corpus.units() if each.key == ("atom", "kei-note")]
        return unit.spots()

    corpus = sage_scan.Corpus(read_settings(place.env), roots=(place.root,), start=place.start)
    first, second = spots()
    first.entry()
    write(place.atoms.parent / "pyproject.toml", "[project]")
    late = second.entry()

    assert late.leaf is not None
    assert not spots()[1].is_as(late.known)


@pytest.mark.parametrize(
    "around", ["the page", "its schema", "its package", "a new package", "a rule", "nothing known"]
)
def test_what_is_told_of_a_path_is_what_a_whole_look_finds(place, around):
    with opened(place) as sage:
        sage.refresh()
        path = {
            "the page": lambda: page(place, "create", "A zebra."),
            "its schema": lambda: write(place.atoms / "schemas/find-input.json", json.dumps({**OBJECT, "title": "z"})),
            "its package": lambda: write(place.root / "primitives/kei-note/pyproject.toml", "broken"),
            "a new package": lambda: package(place.root / "primitives", "kei-new", "zebra"),
            "a rule": lambda: write(place.root / "rules/zebra.md", "# Zebra\n"),
            "nothing known": lambda: write(place.root / "primitives/kei-note/README", "zebra"),
        }[around]()

        partly = sage.refresh([str(path)])
        wholly = sage.refresh()

    assert (wholly.changed, wholly.gone) == ((), ())
    assert bool(partly.changed) == (around != "nothing known")


def test_where_the_index_was_begun_again_a_path_is_not_enough(place):
    write(place.root / "rules/zebra.md", "# Zebra\n")
    with opened(place, fresh=False) as sage:
        sage.refresh()
        for each in sage.file.parent.glob("graph*"):
            each.unlink()
        sage.refresh([str(place.atoms / "create.md")])

        assert ids(sage) == ["kei-note::create", "kei-note::find", "rules/zebra"]


def test_a_path_outside_of_everything_means_a_whole_look(place, tmp_path):
    with opened(place) as sage:
        sage.refresh()
        (place.atoms / "find.md").unlink()

        assert sage.refresh([str(tmp_path / "elsewhere")]).gone == (("atom", "kei-note::find"),)


def test_a_broken_page_is_told_once_for_each_look_and_the_rest_is_there(place):
    write(place.atoms / "find.md", "---\nnonsense: [\n---\n")
    with opened(place) as sage:
        (problem,) = sage.refresh().problems
        assert sage.refresh().problems == (problem,)
        assert problem.severity == "warning"
        assert ids(sage) == ["kei-note::create"]

        page(place, "find")

        assert sage.refresh().problems == ()
        assert ids(sage) == ["kei-note::create", "kei-note::find"]


def test_hostile_files_are_warnings(place):
    os.mkfifo(place.atoms / "pipe.md")
    (place.atoms / "loop.md").symlink_to("loop.md")
    (place.atoms / "out.md").symlink_to("/etc/passwd")
    (place.atoms / "Bad Name.md").write_text("x")
    (place.atoms / "folder.md").mkdir()
    os.close(os.open(os.fsencode(place.atoms) + b"/\xff\xfe.md", os.O_CREAT | os.O_WRONLY))
    write(place.root / "rules/huge.md", "x" * (2 << 20))

    with opened(place) as sage:
        problems = sage.refresh().problems
        assert ids(sage) == ["kei-note::create", "kei-note::find"]
        again = sage.refresh()

    assert len(problems) == 7
    assert again == ((), (), problems)


def test_a_clock_that_was_set_back_makes_nothing_young_for_ever(place, monkeypatch):
    monkeypatch.setattr(sage_scan, "HOT_NS", 50_000_000)
    os.utime(place.atoms / "find.md", ns=(2**61, 2**61))
    with opened(place) as sage:
        monkeypatch.setattr(sage_scan.time, "time_ns", lambda: 10**18)
        sage.refresh()
        assert sage.refresh() == ((), (), ())


def test_a_folder_that_cannot_be_listed_is_a_warning(place, monkeypatch):
    scandir = os.scandir

    def refusing(path):
        if str(path) == str(place.atoms):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    with opened(place) as sage:
        (problem,) = sage.refresh().problems

    assert "permission denied" in problem.message


def test_a_warning_names_its_file_from_where_one_stands(place, monkeypatch):
    broken = write(place.root / "rules/broken.md", "x" * (2 << 20))
    monkeypatch.chdir(place.root)
    with opened(place) as sage:
        assert [each.path for each in sage.refresh().problems] == ["rules/broken.md"]
        monkeypatch.chdir("/")
        assert [each.path for each in sage.refresh().problems] == [str(broken)[1:]]


def test_one_root_by_two_spellings_is_read_once(place, monkeypatch):
    (place.start / "link").symlink_to(place.root)
    with opened(place) as sage:
        sage.refresh()
    seen = reads(monkeypatch)
    for spelling in (place.start / "link", place.root / ".." / place.root.name):
        with opened(place, spelling) as sage:
            assert ids(sage) == ["kei-note::create", "kei-note::find"]

    assert seen == []


def test_the_root_of_a_project_has_its_atoms_too(place, tmp_path):
    package(tmp_path / "shop/.keisei/primitives", "kei-shop", "sell")
    write(tmp_path / "shop/.keisei/rules/calm.md", "# Calm\n")
    with opened(place, tmp_path / "shop") as sage:
        assert ids(sage) == ["kei-shop::sell", "rules/calm"]


def test_a_package_that_moves_within_its_folder_is_found_there(place):
    with opened(place) as sage:
        sage.refresh()
        folder = place.root / "primitives/kei-note"
        (folder / "src/kei_note").mkdir(parents=True)
        shutil.move(folder / "atoms", folder / "src/kei_note/atoms")

        assert {name for _, name in sage.refresh([str(folder / "src")]).changed} == {
            "kei-note::create",
            "kei-note::find",
        }


def test_a_folder_that_is_switched_while_it_is_read_is_read_again(place, monkeypatch):
    for name, text in (("one", "old"), ("two", "new")):
        write(place.start / name / "zebra.md", f"# Zebra\n\n{text}word\n")
    rules = place.root / "rules"
    rules.symlink_to(place.start / "one")
    read = sage_scan.read_found_leaf

    def switching(kind, found):
        told = read(kind, found)
        rules.unlink()
        rules.symlink_to(place.start / "two")
        monkeypatch.setattr(sage_scan, "read_found_leaf", read)
        return told

    monkeypatch.setattr(sage_scan, "read_found_leaf", switching)
    with opened(place) as sage:
        sage.refresh()
        assert ids(sage, "newword") == ["rules/zebra"]
        assert ids(sage, "oldword") == []


def test_what_another_process_keeps_late_is_looked_at_again(place):
    rule = write(place.root / "rules/zebra.md", "# Zebra\n")
    with opened(place) as late, opened(place) as early:
        early.refresh()
        rule.unlink()
        early.refresh()
        look = early.refresh

        def refresh():
            done = look()
            write(rule, "# Zebra\n")
            late.refresh()
            rule.unlink()
            early.refresh = look
            return done

        early.refresh = refresh

        assert ids(early, "zebra") == []


# --- the index --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("harm", ["deleted", "nonsense", "a database of somebody else", "a folder"])
def test_whatever_happens_to_the_index_the_answer_is_the_same(place, harm):
    with opened(place) as sage:
        before = ids(sage)
        file = sage.file
    if harm == "nonsense":
        whole = file.read_bytes()
        file.write_bytes(whole[:200] + b"\xff" * (len(whole) - 200))
    else:
        for each in file.parent.glob("graph*"):
            each.unlink()
    if harm == "a database of somebody else":
        file.write_bytes(b"my own notes")
    elif harm == "a folder":
        file.mkdir()

    with opened(place) as sage:
        assert ids(sage) == before
        assert (sage.file is None) == (harm in ("a database of somebody else", "a folder"))
        assert bool(sage.vault.why) == (sage.file is None)


def test_an_index_that_is_deleted_between_two_questions_is_made_again(place):
    with opened(place) as sage:
        assert ids(sage) == ["kei-note::create", "kei-note::find"]
        for each in sage.file.parent.glob("graph*"):
            each.unlink()

        assert ids(sage) == ["kei-note::create", "kei-note::find"]
        assert sage.file.exists()


def test_two_sets_of_folders_never_share_an_index(place, tmp_path):
    other = tmp_path / "other"
    package(other, "kei-other", "thing")
    with opened(place) as here, opened(place, other) as there:
        assert here.file != there.file
        assert ids(here) == ["kei-note::create", "kei-note::find"]
        assert ids(there) == ["kei-other::thing"]
        assert ids(here) == ["kei-note::create", "kei-note::find"]


def test_two_clones_of_one_project_never_mix_whatever_is_deleted(place, tmp_path):
    clones = [tmp_path / "one", tmp_path / "other"]
    for clone in clones:
        write(clone / "keisei.toml", '[project]\nname = "shop"\n')
    opened_ = [open_sage(read_settings(place.env), start=clone) for clone in clones]
    with opened_[0] as one, opened_[1] as other:
        for sage in (one, other):
            sage.refresh()
        for sage, clone in zip((one, other), clones, strict=True):
            write(clone / f".keisei/rules/{clone.name}.md", f"# Zebra of {clone.name}\n")
            assert ids(sage, "zebra") == [f"rules/{clone.name}"]
        for each in one.file.parent.glob("graph*"):
            each.unlink()

        for sage in (other, one, other):
            assert ids(sage, "zebra") == ["rules/one" if sage is one else "rules/other"]
    files = []
    for clone in clones:
        with open_sage(read_settings(place.env), start=clone) as sage:
            assert ids(sage, "zebra") == [f"rules/{clone.name}"]
            files.append(sage.file)
    assert files[0] != files[1]


def test_what_is_installed_belongs_to_a_corpus(place, tmp_path, monkeypatch):
    start = tmp_path / "nowhere"
    start.mkdir()
    with open_sage(read_settings(place.env), start=start) as without:
        without.refresh()
        monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "some-packages")])
        with open_sage(read_settings(place.env), start=start) as beside:
            beside.refresh()
            assert beside.file != without.file


@pytest.mark.parametrize("fresh", [True, False])
def test_an_index_that_is_deleted_right_before_the_question_is_made_again(place, fresh):
    with opened(place, fresh=fresh) as sage:
        sage.refresh()
        look = sage.refresh

        def refresh():
            done = look()
            remove.pop()() if remove else None
            return done

        def unlink():
            for each in sage.file.parent.glob("graph*"):
                each.unlink()

        remove = [unlink] if fresh else []
        sage.refresh = refresh
        if not fresh:
            unlink()

        assert ids(sage) == ["kei-note::create", "kei-note::find"]


def test_threads_may_ask_and_files_may_change_meanwhile(place):
    problems = []
    with opened(place) as sage:

        def ask():
            try:
                for _ in range(15):
                    assert ids(sage, "note")[:1] == ["kei-note::create"]
            except BaseException as error:  # noqa: BLE001 - told by the test
                problems.append(error)

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        for number in range(15):
            page(place, "find", f"Zebra {number}.", keywords="other")
        for thread in threads:
            thread.join()

    assert problems == []


def test_without_a_home_everything_is_in_memory(place):
    with open_sage(read_settings(place.env)._replace(state_home=None), roots=(place.root,), start=place.start) as sage:
        assert ids(sage) == ["kei-note::create", "kei-note::find"]
        assert sage.file is None


def test_who_holds_the_index_for_too_long_is_told_of(place, monkeypatch):
    monkeypatch.setattr(vaults, "PATIENCE_S", 0.1)
    with opened(place) as one, opened(place) as other, one.vault.lock(), pytest.raises(WorldFault, match="index"):
        other.refresh()


# --- pipe runs --------------------------------------------------------------------------------------------------------


def run_of(*atoms, **more):
    steps = [{"atom": each, "capture_as": f"s{index}"} for index, each in enumerate(atoms)]
    moment = datetime.now(UTC)
    return PipeRun(
        run_id=new_id(), name="x", source="/x", definition={"steps": steps}, definition_sha="0" * 64, input=None,
        input_kept=True, status="running", fence=1, actor="operator:x", created_at=moment, updated_at=moment, **more,
    )  # fmt: skip


def test_what_was_used_in_one_pipe_belongs_together(place):
    page(place, "other")
    with opened(place) as sage:
        assert kin(sage, "kei-note::create", edges=("together",)) == []

        store = open_project_store(read_settings(place.env), place.start)
        store.begin_run(run_of("kei-note::create", "kei-note::find", "kei-note::nobody"))
        store.close()

        assert kin(sage, "kei-note::create", edges=("together",)) == ["kei-note::find"]
        assert kin(sage, "kei-note::find", edges=("together",)) == ["kei-note::create"]
        assert kin(sage, "kei-note::create") == []


def test_a_store_that_is_away_is_told_and_nothing_is_forgotten(place):
    away = {**place.env, "KEISEI_DATABASE_URL": "postgresql://127.0.0.1:1/x"}
    with (
        open_sage(read_settings(away), roots=(place.root,), start=place.start) as sage,
        pytest.raises(KeiseiError, match=r"PostgreSQL|database"),
    ):
        sage.related("kei-note::create", edges=("together",))


def test_a_pipe_of_everything_relates_nobody():
    assert sages._pairs([run_of(*(f"kei-x::a{number}" for number in range(65)))]) == {}
    assert sages._pairs([run_of("a::b", "a::c"), run_of("a::c", "a::b", "a::b")]) == {("a::b", "a::c"): 2}
