"""Scope: which paths of a candidate may be there, and where its links may lead."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keisei.records.error import WorldFault
from keisei.records.verification import Difference, Planned
from keisei.records.worktree import Change
from keisei.rules.predicate.scope import no_writes, rules, scope

QUICK = settings(max_examples=150, deadline=None, database=None)
PROTECTED = (".keisei/**", "keisei.toml", "**/AGENTS.md", "**/CLAUDE.md", "rules/**", ".claude/**")


class Fake:
    """Contents by the name of their object."""

    def __init__(self, blobs=None, base=()):
        self.blobs = blobs or {}
        self.base = frozenset(base)

    def read(self, blob, most):
        data = self.blobs.get(blob)
        return None if data is None or len(data) > most else data

    def outlines(self, files):
        raise NotImplementedError

    def is_at_base(self, path):
        return path in self.base


def change(path, status="modified", mode="100644", old_mode=None, blob="new"):
    old_mode = old_mode or ("000000" if status == "added" else "100644")
    return Change(path=path, status=status, mode=mode, old_mode=old_mode, blob=blob, old_blob="old")


def planned(**parameters):
    return Planned(
        capability="scope::x",
        kind="diff",
        rule="scope",
        parameters={key.replace("_", "-"): value for key, value in parameters.items()},
    )


def both(*changes):
    return Difference(candidate=changes, merged=changes)


def linked(target, path="src/x", base=()):
    return both(change(path, "added", "120000", blob="target")), Fake({"target": target}, base)


@pytest.mark.parametrize("status", ["added", "modified", "deleted"])
def test_what_the_whitelist_covers_holds(status):
    reply = scope(planned(files_whitelist=["src/**", "tests/test_*.py"]), both(change("src/a/b.py", status)), Fake())

    assert (reply.status, reply.told) == ("held", ())


@pytest.mark.parametrize("status", ["added", "modified", "deleted", "type-changed"])
def test_what_the_whitelist_does_not_cover_is_named(status):
    difference = both(change("src/a.py"), change("docs/a.md", status))

    reply = scope(planned(files_whitelist=["src/**"]), difference, Fake())

    assert reply.status == "violated"
    assert reply.told == ("`docs/a.md` is outside files-whitelist",)


@pytest.mark.parametrize("where", ["candidate", "merged"])
def test_the_candidate_and_what_would_land_are_both_judged(where):
    lists = {"candidate": (change("src/a.py"),), "merged": (change("src/a.py"),)} | {where: (change("docs/a.md"),)}

    reply = scope(planned(files_whitelist=["src/**"]), Difference(**lists), Fake())

    assert reply.status == "violated"


def test_an_empty_whitelist_allows_nothing_and_an_empty_denylist_forbids_nothing():
    difference = both(change("src/a.py"))

    assert scope(planned(files_whitelist=[]), difference, Fake()).status == "violated"
    assert scope(planned(files_denylist=[]), difference, Fake()).status == "held"
    assert scope(planned(files_whitelist=[]), both(), Fake()).status == "held"


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("docs/a.md", id="plain"),
        pytest.param("DOCS/a.md", id="another case"),
        pytest.param("docs/gro\u0308ße.md", id="another form"),
        pytest.param("docs", id="the folder itself"),
    ],
)
def test_the_denylist_wins_whatever_the_case(path):
    reply = scope(planned(files_whitelist=["**"], files_denylist=["docs/**"]), both(change(path, "added")), Fake())

    assert reply.status == "violated"
    assert "on files-denylist: `docs/**`" in reply.told[0]


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        pytest.param({}, "neither files-whitelist nor files-denylist", id="no list"),
        pytest.param({"files_whitelist": "src/**"}, "is no list of globs", id="a text"),
        pytest.param({"files_denylist": [1]}, "is no list of globs", id="a number"),
        pytest.param({"files_denylist": None}, "is no list of globs", id="nothing"),
        pytest.param({"files_denylist": ["src\\a"]}, "contains a backslash", id="a glob that covers nothing"),
        pytest.param({"files_denylist": ["../x"]}, "climbs out", id="a glob that climbs"),
    ],
)
def test_lists_that_cannot_be_judged_by_are_an_error(parameters, said):
    reply = scope(planned(**parameters), both(change("src/a.py")), Fake())

    assert reply.status == "error"
    assert said in reply.told[0]


@pytest.mark.parametrize(
    "path",
    [
        ".git/config",
        ".GIT/hooks/pre-commit",
        "src/.Git",
        "git~1/config",
        "GIT~1",
        ".git /x",
        ".git./x",
        ".git::$INDEX_ALLOCATION/x",
        ".g\u200cit/config",
        "a\\\\.git\\\\config",
    ],
)
def test_what_is_git_on_some_file_system_is_never_in_scope(path):
    reply = scope(planned(files_whitelist=["**"]), both(change(path, "added")), Fake())

    assert reply.status == "violated"
    assert "repository's own folder" in reply.told[0]


@pytest.mark.parametrize("path", [".gitignore", ".github/workflows/ci.yml", "src/git.py", "digit~1", "git~10"])
def test_names_that_only_look_like_git_hold(path):
    assert scope(planned(files_whitelist=["**"]), both(change(path, "added")), Fake()).status == "held"


@pytest.mark.parametrize("status", ["added", "modified", "type-changed"])
def test_a_submodule_is_refused(status):
    reply = scope(planned(files_whitelist=["**"]), both(change("lib", status, "160000")), Fake())

    assert reply.status == "violated"
    assert "submodule" in reply.told[0]


def test_a_submodule_that_goes_is_a_path_like_any_other():
    gone = change("lib", "deleted", "000000", "160000")

    assert scope(planned(files_whitelist=["lib"]), both(gone), Fake()).status == "held"


@pytest.mark.parametrize(
    ("target", "said"),
    [
        pytest.param(b"/etc/passwd", "absolute", id="absolute"),
        pytest.param(b"C:\\x", "absolute", id="absolute elsewhere"),
        pytest.param(b"\\\\host\\share", "absolute", id="a share"),
        pytest.param(b"../../x", "out of the repository", id="out"),
        pytest.param(b"a/../../../x", "out of the repository", id="out after in"),
        pytest.param(b"..\\..\\x", "out of the repository", id="out by backslashes"),
        pytest.param(b"../docs/a.md", "outside files-whitelist", id="outside the list"),
        pytest.param(b"../docs", "outside files-whitelist", id="a folder outside"),
        pytest.param(b"..", "outside files-whitelist", id="the root"),
        pytest.param(b"../.git/config", "repository's own", id="git"),
        pytest.param(b"../.GIT", "repository's own", id="git in another case"),
        pytest.param(b"../.git/../src/a", "repository's own", id="through git"),
        pytest.param(b"", "cannot be read", id="empty"),
        pytest.param(b"a\0b", "cannot be read", id="NUL"),
        pytest.param(b"a" * 5000, "cannot be read", id="too long"),
        pytest.param(b"x", "out of the repository", id="to itself"),
    ],
)
def test_a_link_is_judged_by_where_it_leads(target, said):
    reply = scope(planned(files_whitelist=["src/**"]), *linked(target))

    assert reply.status == "violated"
    assert said in reply.told[0]


@pytest.mark.parametrize("target", [b"a.py", b"./a.py", b"lib/../a.py", b"../src/a.py", b".", b"g\xff.py", b"a//b"])
def test_a_link_that_stays_inside_holds(target):
    assert scope(planned(files_whitelist=["src/**"]), *linked(target)).status == "held"


def test_a_link_is_followed_through_other_links_of_the_candidate():
    one = change("src/deep/one", "added", "120000", blob="one")
    two = change("src/two", "added", "120000", blob="two")
    contents = Fake({"one": b"../..", "two": b"deep/one/docs"})

    reply = scope(planned(files_whitelist=["src/**"]), both(one, two), contents)

    assert any("`src/two`" in told and "outside" in told for told in reply.told)


@pytest.mark.parametrize(
    ("target", "status"),
    [
        pytest.param(b"../docs/a.md", "violated", id="to a protected file"),
        pytest.param(b"../DOCS", "violated", id="to the folder in another case"),
        pytest.param(b"..", "violated", id="to a folder that holds it"),
        pytest.param(b"../src/a.py", "held", id="elsewhere"),
    ],
)
def test_a_link_to_what_is_denied_is_a_second_name_for_it(target, status):
    assert scope(planned(files_denylist=["docs/**"]), *linked(target)).status == status


def test_a_changed_and_a_type_changed_link_are_judged_too():
    for status, old in (("modified", "120000"), ("type-changed", "100644")):
        link = change("src/x", status, "120000", old, blob="t")

        assert scope(planned(files_whitelist=["src/**"]), both(link), Fake({"t": b"/etc"})).status == "violated"


def test_new_executables_are_told():
    difference = both(change("src/a.sh", "added", "100755"), change("src/b.sh", "modified", "100755", "100755"))

    reply = scope(planned(files_whitelist=["src/**"]), difference, Fake())

    assert (reply.status, reply.told) == ("held", ("`src/a.sh` is executable now",))


@pytest.mark.parametrize(
    ("paths", "base"),
    [
        pytest.param(["src/a.py", "src/A.py"], (), id="two new ones"),
        pytest.param(["src/ä.py", "src/a\u0308.py"], (), id="two forms"),
        pytest.param(["src/a/x", "src/A/y"], (), id="two folders"),
        pytest.param(["src/README.MD"], ("src/README.md",), id="one of the base"),
        pytest.param(["SRC/x"], ("src",), id="a folder of the base"),
    ],
)
def test_names_that_are_one_elsewhere_are_told(paths, base):
    reply = scope(planned(files_denylist=[]), both(*(change(path, "added") for path in paths)), Fake(base=base))

    assert reply.status == "held"
    assert any("are one name" in told for told in reply.told)


def test_a_rename_that_changes_only_the_case_is_no_collision():
    difference = both(change("a.MD", "deleted", "000000"), change("a.md", "added"))

    assert scope(planned(files_denylist=[]), difference, Fake(base=("a.MD",))).told == ()


def test_a_world_that_does_not_answer_is_an_error():
    class Broken(Fake):
        def read(self, *_):
            raise WorldFault("git is gone")

    reply = scope(planned(files_whitelist=["**"]), both(change("x", "added", "120000")), Broken())

    assert (reply.status, reply.told) == ("error", ("git is gone",))


def the_rules(difference, paths=PROTECTED, contents=None):
    return rules(Planned(capability="r", kind="diff", lists={"paths": paths}), difference, contents or Fake())


@pytest.mark.parametrize(
    "path", ["CLAUDE.md", "sub/agents.md", ".keisei/roles/x.toml", ".keisei", "KEISEI.toml", "rules/a.md", ".claude"]
)
def test_rules_stay_as_they_are(path):
    reply = the_rules(both(change(path)))

    assert reply.status == "violated"
    assert "what agents must not change" in reply.told[0]


def test_a_link_to_rules_is_refused_and_other_files_hold():
    difference, contents = linked(b"../rules")

    assert the_rules(difference, contents=contents).status == "violated"
    assert the_rules(both(change("src/rules.py"), change("docs/CLAUDE.md.txt"))).status == "held"


def test_rules_without_paths_are_an_error():
    assert the_rules(both(change("a")), paths=()).status == "error"


@pytest.mark.parametrize("where", ["candidate", "merged"])
def test_any_change_at_all_is_a_write(where):
    difference = Difference(**({"candidate": ()} | {where: (change("a", "added"),)}))

    reply = no_writes(planned(), difference, Fake())

    assert (reply.status, reply.told) == ("violated", ("`a` was added, and nothing may be",))


def test_no_change_is_no_write():
    assert no_writes(planned(), both(), Fake()).status == "held"


@QUICK
@given(
    st.lists(
        st.builds(
            change,
            st.text(min_size=1, max_size=12),
            st.sampled_from(["added", "modified", "deleted", "type-changed"]),
            st.sampled_from(["100644", "100755", "120000", "160000", "000000"]),
        ),
        max_size=4,
    ),
    st.one_of(st.none(), st.binary(max_size=30)),
)
def test_every_difference_gets_one_reply(changes, target):
    contents = Fake({"new": target} if target is not None else {})

    for parameters in ({"files_whitelist": ["src/**"]}, {"files_denylist": ["docs/**"]}):
        assert scope(planned(**parameters), both(*changes), contents).status in ("held", "violated")
    assert the_rules(both(*changes), contents=contents).status in ("held", "violated")


@QUICK
@given(st.lists(st.sampled_from(["a", "b", "..", ".", "", "src"]), max_size=8), st.integers(1, 4))
def test_no_link_out_of_the_repository_is_held(parts, depth):
    path = "/".join(["src"] * depth + ["x"])
    reply = scope(planned(files_whitelist=["**"]), *linked("/".join(["s", *parts]).encode(), path))

    height, out = depth, False
    for part in ["s", *parts]:
        height += -1 if part == ".." else part not in (".", "")
        out = out or height < 0
    assert (reply.status == "violated") is out
