"""Paths: where a target leads on a real file system, links and all."""

import os
import unicodedata

import pytest

from keisei.gate.path import DEEPEST, LARGEST, MOST, Paths
from keisei.records.effect import UNKNOWN, Target


@pytest.fixture
def root(tmp_path):
    """A folder whose own path holds no link."""
    folder = tmp_path.resolve() / "w"
    for name in ("src/deep", "docs", "else"):
        (folder / name).mkdir(parents=True)
    (folder / "src" / "a").write_text("a")
    (folder / "docs" / "b").write_text("b")
    return folder


@pytest.fixture
def paths(root):
    return Paths(str(root / "home"))


def places(paths, root, path, **more):
    cwd = more.pop("cwd", str(root))
    return paths.places(Target(path=str(path), cwd=cwd, how="x", **more))


def place(paths, root, path, **more):
    (found,) = places(paths, root, path, **more)
    return found


# --- text -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "leads"),
    [
        ("src/a", "src/a"),
        ("./src/./a", "src/a"),
        ("src//a", "src/a"),
        ("src/../docs/b", "docs/b"),
        ("new", "new"),
        ("src/new/deeper", "src/new/deeper"),
        ("src/deep/", "src/deep"),
        ("src/new/", "src/new"),
        (".", "."),
        ("", "."),
    ],
)
def test_a_path_is_made_absolute_and_tidied(paths, root, path, leads):
    assert place(paths, root, path).real == os.path.normpath(root / leads)
    assert place(paths, root, root / path if path else root).real == os.path.normpath(root / leads)


def test_a_path_climbs_out_by_its_dots(paths, root):
    found = place(paths, root, "../../x")

    assert found.real == found.lexical == str(root.parent.parent / "x")


def test_dots_beyond_the_root_stay_at_the_root(paths, root):
    assert place(paths, root, "/../../../etc/x").real == "/etc/x"


def test_a_path_is_relative_to_the_folder_the_call_stands_in(paths, root):
    assert place(paths, root, "a", cwd=str(root / "src")).real == str(root / "src" / "a")
    assert place(paths, root, "../docs/b", cwd=str(root / "src")).real == str(root / "docs" / "b")


def test_a_folder_nobody_knows_makes_a_relative_path_unknown(paths, root):
    assert UNKNOWN in place(paths, root, "a", cwd=UNKNOWN).real
    assert place(paths, root, "/etc/x", cwd=UNKNOWN).real == "/etc/x"


@pytest.mark.parametrize("path", [f"src/{UNKNOWN}", UNKNOWN, f"/etc/{UNKNOWN}/x"])
def test_a_path_with_an_unknown_part_stays_unknown(paths, root, path):
    found = place(paths, root, path)

    assert UNKNOWN in found.lexical
    assert UNKNOWN in found.real


@pytest.mark.parametrize(("path", "leads"), [("~", ""), ("~/x", "/x"), ("~/../x", "/../x")])
def test_a_tilde_is_the_home_folder(paths, root, path, leads):
    assert place(paths, root, path).real == os.path.normpath(f"{root}/home{leads}")


def test_a_tilde_inside_a_path_is_a_letter(paths, root):
    assert place(paths, root, "src/~/x").real == str(root / "src" / "~" / "x")
    assert place(paths, root, "~x").real == str(root / "~x")


def test_a_newline_is_a_letter_of_a_name(paths, root):
    assert place(paths, root, "src/a\nb").real == f"{root}/src/a\nb"


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_forms_of_unicode_stay_as_they_are(paths, root, form):
    name = unicodedata.normalize(form, "caf\u00e9")

    assert place(paths, root, f"src/{name}").real == f"{root}/src/{name}"


def test_a_name_that_is_too_long_for_the_disk_is_answered(paths, root):
    found = place(paths, root, f"src/{'x' * 300}")

    assert found.lexical == f"{root}/src/{'x' * 300}"
    assert found.real in (found.lexical, UNKNOWN)


@pytest.mark.parametrize("path", ["x/" * 3000 + "y", "x" * 100_000], ids=["deep", "huge"])
def test_a_path_that_no_system_takes_is_not_known(paths, root, path):
    assert place(paths, root, f"src/{path}").lexical == UNKNOWN


def test_a_surrogate_in_a_name_is_answered(paths, root):
    assert place(paths, root, "src/\ud800").real in (f"{root}/src/\ud800", UNKNOWN)


# --- links ------------------------------------------------------------------------------------------------------------


def test_a_link_to_a_file_leads_to_the_file(paths, root):
    (root / "src" / "link").symlink_to(root / "docs" / "b")

    found = place(paths, root, "src/link")

    assert found.lexical == found.entry == str(root / "src" / "link")
    assert found.real == str(root / "docs" / "b")


def test_a_link_to_a_folder_carries_what_is_below_it(paths, root):
    (root / "src" / "link").symlink_to(root / "docs")

    found = place(paths, root, "src/link/new")

    assert found.real == found.entry == str(root / "docs" / "new")


def test_a_link_to_nothing_leads_to_what_would_be_made(paths, root):
    (root / "src" / "link").symlink_to(root / "docs" / "not-yet")

    assert place(paths, root, "src/link").real == str(root / "docs" / "not-yet")


def test_a_relative_link_is_relative_to_its_own_folder(paths, root):
    (root / "src" / "link").symlink_to("../docs/b")

    assert place(paths, root, "src/link").real == str(root / "docs" / "b")


def test_a_chain_of_links_is_followed_to_its_end(paths, root):
    (root / "src" / "one").symlink_to("two")
    (root / "src" / "two").symlink_to(root / "else" / "three")
    (root / "else" / "three").symlink_to("../docs")

    assert place(paths, root, "src/one/x").real == str(root / "docs" / "x")


def test_dots_after_a_link_climb_from_where_it_leads(paths, root):
    """The kernel follows the link first: `src/link/..` is the folder above its target."""
    (root / "docs" / "deeper").mkdir()
    (root / "src" / "link").symlink_to(root / "docs" / "deeper")

    assert place(paths, root, "src/link/../x").real == str(root / "docs" / "x")
    assert place(paths, root, "src/link/../x").entry == str(root / "docs" / "x")


def test_a_worktree_reached_by_a_link_leads_to_the_worktree(paths, root):
    (root.parent / "short").symlink_to(root)

    assert place(paths, root, root.parent / "short" / "src" / "a").real == str(root / "src" / "a")
    assert place(paths, root, "src/a", cwd=str(root.parent / "short")).real == str(root / "src" / "a")


@pytest.mark.parametrize("path", ["src/round", "src/round/x", "src/one"])
def test_links_that_go_round_lead_nowhere_anybody_knows(paths, root, path):
    (root / "src" / "round").symlink_to("round")
    (root / "src" / "one").symlink_to("two")
    (root / "src" / "two").symlink_to("one")

    assert UNKNOWN in place(paths, root, path).real


@pytest.mark.parametrize("path", ["src/link", "src/link/"])
def test_of_an_entry_that_is_removed_only_the_folders_links_are_followed(paths, root, path):
    (root / "src" / "link").symlink_to(root / "docs")
    (root / "way").symlink_to("src")

    assert place(paths, root, path, entry=True).real == str(root / "src" / "link")
    assert place(paths, root, "way/link", entry=True).real == str(root / "src" / "link")


@pytest.mark.parametrize("path", ["src/deep/..", "src/deep/.", "src/deep/../"])
def test_an_entry_that_ends_in_dots_is_the_folder_it_leads_to(paths, root, path):
    wanted = root / "src" / "deep" if path.endswith("/.") else root / "src"

    assert place(paths, root, path, entry=True).real == str(wanted)


def test_a_device_of_a_process_is_no_way_round(paths, root):
    """/proc/self/cwd is the folder of the one who asks: the call's, and not the judge's own."""
    found = place(paths, root, "/proc/self/cwd/x")

    assert found.real == str(root / "x")


# --- hard links -------------------------------------------------------------------------------------------------------


def test_the_names_of_a_file_are_counted(paths, root):
    os.link(root / "docs" / "b", root / "src" / "same")

    assert place(paths, root, "src/same").names == 2
    assert place(paths, root, "src/a").names == 1
    assert place(paths, root, "src/new").names == 1


def test_the_names_are_counted_where_a_link_leads(paths, root):
    os.link(root / "docs" / "b", root / "docs" / "same")
    (root / "src" / "link").symlink_to(root / "docs" / "b")

    assert place(paths, root, "src/link").names == 2


def test_a_folder_has_one_name_however_many_are_inside(paths, root):
    assert place(paths, root, "src").names == 1


# --- folders as targets -----------------------------------------------------------------------------------------------


def test_names_go_into_a_target_that_is_a_folder(paths, root):
    assert [each.real for each in places(paths, root, "docs", names=("x", "y"))] == [
        str(root / "docs" / "x"),
        str(root / "docs" / "y"),
    ]


def test_names_go_through_a_link_that_is_in_the_way(paths, root):
    (root / "docs" / "x").symlink_to(root / "src" / "a")

    (found,) = places(paths, root, "docs", names=("x",))

    assert (found.entry, found.real) == (str(root / "docs" / "x"), str(root / "src" / "a"))


def test_a_target_that_is_no_folder_is_the_file_itself(paths, root):
    assert [each.real for each in places(paths, root, "docs/new", names=("x",))] == [str(root / "docs" / "new")]


def test_a_slash_at_the_end_says_that_a_folder_is_meant(paths, root):
    assert [each.real for each in places(paths, root, "docs/new/", names=("x",))] == [str(root / "docs" / "new" / "x")]


def test_an_unknown_name_in_a_folder_stays_unknown(paths, root):
    (found,) = places(paths, root, "docs", names=(UNKNOWN,))

    assert found.lexical.startswith(str(root / "docs"))
    assert UNKNOWN in found.real


def test_a_name_that_climbs_leaves_the_folder(paths, root):
    assert [each.real for each in places(paths, root, "docs", names=("../src/a",))] == [str(root / "src" / "a")]


# --- trees ------------------------------------------------------------------------------------------------------------


def below(paths, root, path):
    return {os.path.relpath(each, root) for each in place(paths, root, path, tree=True).below}


def test_what_is_in_a_tree_is_listed(paths, root):
    assert below(paths, root, "src") == {"src/a", "src/deep"}


def test_a_tree_is_listed_only_where_it_is_meant(paths, root):
    assert place(paths, root, "src").below == ()


def test_a_file_is_no_tree(paths, root):
    assert place(paths, root, "src/a", tree=True).below == ()


def test_links_inside_a_tree_are_named_and_not_followed(paths, root):
    (root / "src" / "link").symlink_to(root / "docs")

    assert "src/link" in below(paths, root, "src")
    assert "src/link/b" not in below(paths, root, "src")


def test_a_link_to_a_folder_that_goes_round_ends(paths, root):
    (root / "src" / "up").symlink_to("..")

    assert below(paths, root, "src") == {"src/a", "src/deep", "src/up"}


def test_what_tools_fill_is_not_listed(paths, root):
    (root / "src" / "node_modules" / "x").mkdir(parents=True)

    assert below(paths, root, "src") == {"src/a", "src/deep", "src/node_modules"}
    assert below(paths, root, "src/node_modules") == set()


def test_a_tree_that_is_too_large_to_look_through_says_so(root, monkeypatch):
    monkeypatch.setattr("keisei.gate.path.MANY", 20)
    for number in range(30):
        (root / "else" / f"{number}").touch()

    assert place(Paths("/home/u"), root, "else", tree=True).below[-1] == UNKNOWN


def test_a_tree_that_is_too_deep_to_look_through_says_so(paths, root):
    (root / "else" / "/".join("x" * (DEEPEST + 3))).mkdir(parents=True)

    assert place(paths, root, "else", tree=True).below[-1] == UNKNOWN


@pytest.fixture
def closed(root):
    """A folder that nobody but root may look into."""
    folder = root / "closed"
    (folder / "inside").mkdir(parents=True)
    folder.chmod(0)
    yield folder
    folder.chmod(0o700)


def test_a_folder_nobody_may_read_is_answered(paths, root, closed):
    assert place(paths, root, closed / "inside" / "x").real == str(closed / "inside" / "x")
    assert place(paths, root, closed, tree=True).real == str(closed)


# --- what the walk over shell text asks -------------------------------------------------------------------------------


def test_the_text_of_a_file_is_read(paths, root):
    assert paths.content(str(root / "src" / "a")) == "a"


@pytest.mark.parametrize("path", ["src/none", "src", "src/a\0b", "x" * 5000])
def test_what_is_no_file_has_no_text(paths, root, path):
    assert paths.content(f"{root}/{path}") is None


@pytest.mark.parametrize("data", [b"\xff\xfe", b"a\0b", b"x" * (LARGEST + 1)], ids=["no utf-8", "nul", "large"])
def test_what_is_no_text_is_not_read(paths, root, data):
    (root / "src" / "binary").write_bytes(data)

    assert paths.content(str(root / "src" / "binary")) is None


def test_a_pipe_is_not_waited_for(paths, root):
    os.mkfifo(root / "src" / "pipe")

    assert paths.content(str(root / "src" / "pipe")) is None


def test_where_a_path_leads_is_known_only_where_something_is(paths, root):
    (root / "src" / "link").symlink_to("a")

    assert paths.real(str(root / "src" / "link")) == str(root / "src" / "a")
    assert paths.real(str(root / "src" / "none")) is None
    assert paths.real("/a\0b") is None


def test_a_folder_is_a_folder_also_through_a_link(paths, root):
    (root / "link").symlink_to("src")

    assert [paths.is_folder(f"{root}/{name}") for name in ("src", "link", "src/a", "none", "\0")] == [
        True,
        True,
        False,
        False,
        False,
    ]


def test_a_glob_is_what_the_shell_would_find(paths, root):
    (root / "src" / ".hidden").touch()

    assert sorted(paths.matches(f"{root}/src/*")) == [str(root / "src" / "a"), str(root / "src" / "deep")]
    assert paths.matches(f"{root}/none/*") == ()
    assert paths.matches(f"{root}/{UNKNOWN}*") == ()


def test_a_glob_finds_no_more_than_can_be_judged(paths, root):
    for number in range(MOST):
        (root / "else" / f"{number}").touch()

    assert 0 < len(paths.matches(f"{root}/else/*")) <= MOST
