"""Dependencies: which files are compared at all, and what becomes of those that cannot be."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keisei.records.error import WorldFault
from keisei.records.verification import Difference, Planned
from keisei.records.worktree import Change
from keisei.rules.predicate import dependency
from keisei.rules.predicate.dependency import dependencies

QUICK = settings(max_examples=60, deadline=None, database=None)
PATHS = (
    "**/Cargo.{toml,lock}",
    "**/pyproject.toml",
    "**/setup.{py,cfg}",
    "**/{requirements,constraints}*.{txt,in}",
    "**/requirements/**/*.{txt,in}",
    "**/Pipfile",
    "**/Pipfile.lock",
    "**/{pdm,poetry,uv}.lock",
    "**/pylock.toml",
    "**/pylock.*.toml",
    "**/{environment,conda-lock}.{yml,yaml}",
    "**/package.json",
    "**/package-lock.json",
    "**/npm-shrinkwrap.json",
    "**/pnpm-{lock,workspace}.yaml",
    "**/yarn.lock",
    "**/bun.{lock,lockb}",
    "**/go.{mod,sum,work}",
    "**/go.work.sum",
)
PLANNED = Planned(capability="safety::no-dep-bump", kind="diff", lists={"paths": PATHS})
NAMES = [*dependency.FORMS, "requirements.txt", "requirements/dev.in", "constraints-3.txt", "pylock.dev.toml"]
CARGO = b'[package]\nname = "a"\n[dependencies]\nserde = "1"\n'
BARE = b'[package]\nname = "a"\n'
ZEROS = "0" * 40


class Fake:
    """Contents by the name of their object."""

    def __init__(self, blobs):
        self.blobs = blobs

    def read(self, blob, most):
        data = self.blobs.get(blob)
        return None if data is None or len(data) > most else data


def one(path="Cargo.toml", status="modified", mode="100644", old_mode="100644"):
    return Change(path=path, status=status, mode=mode, old_mode=old_mode, blob="after", old_blob="before")


def judge(change, before=None, after=None, where="both"):
    lists = {"both": ("candidate", "merged"), "candidate": ("candidate",), "merged": ("merged",)}[where]
    difference = Difference(**({"candidate": ()} | dict.fromkeys(lists, (change,))))
    blobs = {name: data for name, data in (("before", before), ("after", after)) if data is not None}
    return dependencies(PLANNED, difference, Fake(blobs))


@pytest.mark.parametrize("where", ["both", "candidate", "merged"])
def test_the_candidate_and_what_would_land_are_both_compared(where):
    reply = judge(one(), BARE, CARGO, where)

    assert reply.status == "violated"
    assert reply.told == ('`Cargo.toml` newly declares `dependencies.serde`: `{"version": "1"}`',)


def test_a_removed_and_a_changed_dependency_are_told_as_such():
    assert judge(one(), CARGO, BARE).told == ("`Cargo.toml` no longer declares `dependencies.serde`",)
    assert judge(one(), CARGO, CARGO.replace(b'"1"', b'"2"')).told == (
        '`Cargo.toml` declares `dependencies.serde` as `{"version": "2"}`, before `{"version": "1"}`',
    )


def test_other_files_are_not_compared():
    for path in ("src/a.py", "docs/Cargo.toml.md", "src/requirements.py", "Cargo.toml/x"):
        assert judge(one(path), b"a", b"b").status == "held"


@pytest.mark.parametrize("path", ["CARGO.TOML", "sub/cargo.Toml", "Package.json", "PipFile", "GO.MOD"])
def test_a_manifest_in_another_case_is_one(path):
    assert judge(one(path), b"", b"[dependencies]\nevil = 1\n").status == "violated"
    assert judge(one("cargo.TOML", "added", old_mode="000000"), after=CARGO).status == "violated"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        pytest.param(one(status="deleted", mode="000000"), "was deleted", id="deleted"),
        pytest.param(one(status="type-changed", mode="120000"), "no file any more", id="a link now"),
        pytest.param(one(status="added", mode="120000", old_mode="000000"), "no file any more", id="a new link"),
        pytest.param(one(status="added", mode="160000", old_mode="000000"), "no file any more", id="a submodule"),
        pytest.param(one(status="type-changed", old_mode="120000"), "no file before", id="a link before"),
        pytest.param(one("Cargo.lock", "added", old_mode="000000"), "a new lock file", id="a new lock file"),
        pytest.param(one("bun.lockb"), "cannot be read", id="a binary lock file"),
    ],
)
def test_a_manifest_that_is_not_there_as_a_file_is_violated(change, said):
    reply = judge(change, BARE, BARE + b"\n")

    assert reply.status == "violated"
    assert said in reply.told[0]


def test_a_moved_manifest_is_violated():
    gone = Change(path="a/Cargo.toml", status="deleted", mode="000000", old_mode="100644", blob=ZEROS, old_blob="x")
    new = Change(path="b/Cargo.toml", status="added", mode="100644", old_mode="000000", blob="x", old_blob=ZEROS)

    reply = dependencies(PLANNED, Difference(candidate=(gone, new)), Fake({"x": CARGO}))

    assert reply.status == "violated"
    assert len(reply.told) == 2


def test_a_new_manifest_holds_only_without_dependencies():
    new = one("crates/x/Cargo.toml", "added", old_mode="000000")

    assert judge(new, after=BARE).status == "held"
    assert judge(new, after=CARGO).status == "violated"


def test_a_changed_mode_is_no_changed_dependency():
    same = Change(path="setup.py", status="modified", mode="100755", old_mode="100644", blob="x", old_blob="x")

    assert dependencies(PLANNED, Difference(candidate=(same,)), Fake({})).status == "held"


@pytest.mark.parametrize(
    ("path", "size"), [("Cargo.toml", 2_000_001), ("requirements.txt", 2_000_001), ("go.sum", 64_000_001)]
)
def test_what_is_too_large_is_not_compared(path, size):
    reply = judge(one(path), b"", b"\n" * size)

    assert reply.status == "violated"
    assert "too large to compare" in reply.told[0]


def test_all_files_together_have_a_limit_too(monkeypatch):
    monkeypatch.setattr(dependency, "ALTOGETHER", len(BARE) * 3)
    changes = tuple(one(f"{name}/Cargo.toml") for name in "ab")

    reply = dependencies(PLANNED, Difference(candidate=changes), Fake({"before": BARE, "after": BARE + b""}))

    assert reply.status == "violated"
    assert reply.told[0].startswith("`b/Cargo.toml` cannot be compared")


def test_a_missing_content_is_violated():
    assert judge(one()).status == "violated"
    assert judge(one(), BARE).status == "violated"


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("go.")])
@pytest.mark.parametrize("data", [b"\0", b"\xff\xfe[\0", b"a\x80"], ids=["NUL", "UTF-16", "no UTF-8"])
def test_what_is_no_text_is_violated(name, data):
    reply = judge(one(name), b"", data)

    assert reply.status == "violated"
    assert "cannot be compared" in reply.told[0]


def test_what_could_not_be_read_before_cannot_be_compared():
    reply = judge(one(), b"= broken", BARE)

    assert reply.status == "violated"
    assert "before, it is no TOML" in reply.told[0]


def test_a_mark_at_the_beginning_is_not_part_of_the_text():
    assert judge(one(), CARGO, b"\xef\xbb\xbf" + CARGO).status == "held"
    assert judge(one("package.json"), b"{}", b"\xef\xbb\xbf{}").status == "held"


DEEP = 100_000
BOMB = b"a: &a [x,x]\n" + b"".join(b"%c: &%c [*%c,*%c]\n" % (n + 1, n + 1, n, n) for n in range(97, 121))


@pytest.mark.parametrize(
    ("path", "data"),
    [
        pytest.param("package.json", b'{"dependencies": ' + b'{"a":' * DEEP, id="deep JSON"),
        pytest.param("package.json", b'{"overrides": ' + b'{"a":' * 900 + b"1" + b"}" * 901, id="rather deep JSON"),
        pytest.param("package.json", b'{"dependencies": {"a": ' + b"9" * 5000 + b"}}", id="a long number"),
        pytest.param("package.json", b"[1]", id="a list"),
        pytest.param("package.json", b"", id="nothing"),
        pytest.param("package.json", b'{"dependencies": {}, "dependencies": {}}', id="a key twice"),
        pytest.param("package.json", b'{"scripts": {"a": "1", "a": "2"}}', id="an inner key twice"),
        pytest.param("package.json", b'{"a": 1,}', id="a comma too many"),
        pytest.param("bun.lock", b'{"packages": "' + b'\\"' * DEEP, id="text that does not end"),
        pytest.param("Cargo.toml", b"a = " + b"[" * DEEP, id="deep TOML"),
        pytest.param("Cargo.toml", b"a." * DEEP + b"b = 1", id="a long key"),
        pytest.param("Cargo.toml", b"[dependencies]\na = 0x" + b"f" * 9000, id="a long number in TOML"),
        pytest.param("Cargo.toml", b"[dependencies]\na = 1\na = 2", id="a TOML key twice"),
        pytest.param("Cargo.toml", b"[dependencies]\na = 1\n[dependencies]\nb = 1", id="a table twice"),
        pytest.param("Cargo.toml", b" " * DEEP + b"x", id="spaces"),
        pytest.param("environment.yml", BOMB, id="aliases"),
        pytest.param("environment.yml", b"a: " + b"{a: " * DEEP, id="deep YAML"),
        pytest.param("environment.yml", b"a: " + b"[it's, '],', " * DEEP, id="deep YAML in disguise"),
        pytest.param("environment.yml", b"a: 1\na: 2\n", id="a YAML key twice"),
        pytest.param("environment.yml", b"--- {}\n--- {}\n", id="two documents"),
        pytest.param("environment.yml", b"- a\n", id="a YAML list"),
        pytest.param("setup.py", b"x = " + b"(" * DEEP, id="deep Python"),
        pytest.param("setup.py", b"x = " + b"-" * DEEP + b"1", id="deep Python without brackets"),
        pytest.param("setup.py", b"def (", id="no Python"),
        pytest.param("setup.cfg", b"[a]\nb = 1\nb = 2\n", id="an option twice"),
        pytest.param("setup.cfg", b"nothing", id="no section"),
        pytest.param("go.mod", b"require (\na v1\n", id="a block that does not end"),
        pytest.param("go.mod", b'require "a v1\n', id="a quote that does not end"),
        pytest.param("requirements.txt", b"a # b \\\nevil\n", id="a comment that goes on"),
        pytest.param("requirements.txt", b"a \\\n# b\nevil\n", id="a comment inside"),
        pytest.param("requirements.txt", "# a\u2028evil\n".encode(), id="a line that ends for some"),
        pytest.param("requirements.txt", b"# -*- coding: utf-7 -*-\n", id="another coding"),
        pytest.param("setup.py", b"# coding: latin-1\n", id="another coding of Python"),
        pytest.param("yarn.lock", b"  version 1\n", id="a body without a header"),
        pytest.param("Cargo.lock", b"package = 3\n", id="packages that are none"),
    ],
)
def test_what_cannot_be_read_gets_one_clear_reply(path, data):
    reply = judge(one(path), b"{}" if "json" in path or path == "bun.lock" else b"", data)

    assert reply.status == "violated"
    assert len(reply.told) == 1
    assert "cannot be compared: it " in reply.told[0]


@pytest.mark.parametrize(
    ("path", "data"),
    [
        pytest.param("setup.cfg", b"[a]\nb" + b" " * 1_500_000 + b"c\n", id="spaces in an option"),
        pytest.param("requirements.txt", b" " * 1_500_000 + b"x\n", id="spaces in a requirement"),
        pytest.param("Cargo.toml", b"a = [1," + b" " * 1_500_000 + b"]\n", id="spaces in TOML"),
        pytest.param("go.mod", b"module" + b" " * 1_500_000 + b"a\n", id="spaces in go.mod"),
        pytest.param("pyproject.toml", b"a = '" + b"," * 1_500_000 + b"'\n", id="commas"),
    ],
)
def test_no_text_keeps_the_comparison_busy(path, data):
    assert judge(one(path), b"", data).status in ("held", "violated")


def test_many_changes_of_one_file_and_of_many_files_are_counted():
    many = b"[dependencies]\n" + b"".join(b'd%d = "1"\n' % number for number in range(500))
    changes = tuple(one(f"{number}/Cargo.toml") for number in range(30))

    reply = dependencies(PLANNED, Difference(candidate=changes), Fake({"before": b"", "after": many}))

    assert "`0/Cargo.toml` has 480 more changes" in reply.told
    assert reply.told[-1].endswith("more manifests and lock files are not looked at")
    assert len(reply.told) < 100


def test_every_sentence_is_short_and_harmless():
    data = b'[dependencies]\n"\\u001b[31m%s" = "%s"\n' % (b"x" * 5000, b"y" * 5000)

    reply = judge(one("a" * 4000 + "/Cargo.toml"), b"", data)

    assert all(len(told) < 200 and told.isprintable() for told in reply.told)


def test_a_file_that_a_project_lists_and_nobody_can_read_may_not_change():
    planned = Planned(capability="x", kind="diff", lists={"paths": ("**/Gemfile",)})

    reply = dependencies(planned, Difference(candidate=(one("Gemfile"),)), Fake({}))

    assert (reply.status, reply.told) == ("violated", ("`Gemfile` was modified, and what it declares cannot be read",))


def test_without_a_list_nothing_can_be_said():
    planned = Planned(capability="x", kind="diff")

    assert dependencies(planned, Difference(candidate=(one(),)), Fake({})).status == "error"


def test_a_world_that_does_not_answer_is_an_error():
    class Broken:
        def read(self, *_):
            raise WorldFault("git is gone")

    reply = dependencies(PLANNED, Difference(candidate=(one(),)), Broken())

    assert (reply.status, reply.told) == ("error", ("git is gone",))


WORDS = b"[ ] { } \" ' = : , - # \\ ( ) => 1 a *a &a dependencies package @workspace: setup( install_requires= require"
PIECES = st.sampled_from([*WORDS.split(b" "), b"\n", b"  "])
TEXTS = st.one_of(st.binary(max_size=60), st.lists(PIECES, max_size=25).map(b"".join))


@pytest.mark.parametrize("name", NAMES)
@QUICK
@given(TEXTS, TEXTS)
def test_no_text_raises(name, before, after):
    assert judge(one(name), before, after).status in ("held", "violated")
    assert judge(one(name), before, before).status in ("held", "violated")


PARTS = (
    "packages/dependencies/importers/workspaces/_meta/sources/channels/a/package/metadata/overrides/scripts/"
    "postinstall/link/resolved/version/default/pnpm/"
)
KEYS = st.sampled_from([*PARTS.split("/"), "node_modules/a"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
SHAPED = ["package.json", "package-lock.json", "bun.lock", "Pipfile.lock", "environment.yml", "conda-lock.yml"]


@pytest.mark.parametrize("name", [*SHAPED, "pnpm-lock.yaml", "pnpm-workspace.yaml"])
@QUICK
@given(st.dictionaries(KEYS, VALUES, max_size=5))
def test_no_shape_of_data_raises(name, data):
    text = json.dumps(data).encode()

    assert judge(one(name), b"{}", text).status in ("held", "violated")
    assert judge(one(name), text, text + b"\n").status in ("held", "violated")
