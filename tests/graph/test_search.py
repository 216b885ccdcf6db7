"""Search: what is asked for stands first, a slip is forgiven, and no text breaks it."""

import random
from functools import cache
from pathlib import Path

import pytest

import keisei.kit
from keisei.graph.search import search
from keisei.library.leaf import read_atom_leaf, read_found_leaf
from keisei.library.package import read_package
from keisei.library.shelf import Found
from keisei.rules.query import FOREIGN
from tests.graph.asked import ASKED
from tests.graph.leaf_world import batch, filled, leaf
from tests.kit.desk import ATOMS, PRIMITIVES

KIT = Path(keisei.kit.__file__).parent
FILES = {
    "capability": "capabilities/*/*/capability.toml",
    "role": "roles/*.toml",
    "skill": "skills/*/SKILL.md",
    "workflow": "workflows/*.toml",
    "task-type": "task-types/*.toml",
    "rule": "rules/*.md",
}


@cache
def kit():
    """Everything that ships."""
    leaves = []
    for atom in ATOMS:
        package, _, verb = atom.partition("::")
        leaves.append(read_atom_leaf(read_package(PRIMITIVES / package), verb)[0])
    for node, pattern in FILES.items():
        for path in sorted(KIT.glob(pattern)):
            name = path.parent.name if node in {"capability", "skill"} else path.stem
            name = f"{path.parent.parent.name}::{name}" if node == "capability" else name
            leaves.append(read_found_leaf(node, Found(name, path, "kit"))[0])
    return filled(*leaves)


@cache
def small():
    """A few things of every kind."""
    return filled(
        leaf(
            "kei-fs::read", kind="query", title="Returns the text of a file.", keywords=("file", "cat", "open", "load")
        ),
        leaf("kei-fs::write", kind="command", title="Writes a text to a file.", keywords=("file", "save")),
        leaf(
            "kei-fs::remove", kind="command", title="Removes a file or a folder.", keywords=("delete", "rm", "unlink")
        ),
        leaf(
            "kei-json::diff", kind="transform", title="Tells how two documents differ.", keywords=("compare", "patch")
        ),
        leaf(
            "kei-git-read::log",
            kind="query",
            title="Lists the commits.",
            keywords=("history", "commit"),
            body="A café.",
        ),
        leaf("kei-hash::sum", kind="transform", title="Sums up.", keywords=("sha256", "timezone"), body="By readFile."),
        leaf(
            "kei-db::find",
            kind="query",
            title="Looks it up.",
            body="A configuration in the database. 全文検索 is 便利.",
        ),
        leaf("edit-local", "role", title="Writes code where it may.", body="It saves files."),
        leaf("RULE-0.12", "rule", names=("RULE-0.12", "RULE 0.12"), title="Git belongs to one.", body="No commits."),
    )


def found(text, vault=None, **options):
    return [hit.node.id for hit in search((vault or small()).db, text, **options).hits]


# --- what ships -------------------------------------------------------------------------------------------------------

TOLD = [
    ("tests must pass", "quality::tests-green"),
    ("no compiler warnings", "quality::no-warnings"),
    ("do not upgrade dependencies", "safety::no-dep-bump"),
    ("limit deleting many files", "safety::no-mass-delete"),
    ("protect files from being written", "scope::files-denylist"),
    ("allowed shell commands", "tools::bash-allowlist"),
    ("grade findings by severity", "output::severity-grade"),
    ("role for auditing a fork", "roles/auditor"),
    ("run tests without editing", "roles/explorer"),
    ("plan execute verify loop", "workflows/goal-loop"),
    ("turn a goal into steps", "task-types/goal-plan"),
    ("ledger row for every fork", "rules/RULE-0.12-agent-git-model output::ledger-row-required"),
    ("how to review a diff", "skills/code-review"),
    ("histroy of comits", "kei-git-read::log"),
    ("donwload file", "kei-http::download"),
    ("direcotry listing", "kei-fs::list"),
    ("configuratoin merge", "kei-json::merge"),
    ("makeFolder", "kei-fs::make-folder"),
]
"""What somebody types, and the thing that is meant; several where any of them is right."""


@pytest.mark.parametrize("nodes", [("atom",), ()], ids=["atoms", "everything"])
def test_the_atoms_that_ship_are_found_by_what_people_type(nodes):
    answers = [(query, set(meant.split()), found(query, kit(), nodes=nodes, limit=3)) for query, meant in ASKED]

    assert [(query, best) for query, meant, best in answers if not meant & set(best)] == []
    assert sum(best[0] in meant for _, meant, best in answers) >= len(ASKED) * 4 / 5


def test_everything_else_that_ships_is_found_too():
    answers = [(query, set(meant.split()), found(query, kit(), limit=3)) for query, meant in TOLD]

    assert [(query, best) for query, meant, best in answers if not meant & set(best)] == []


def test_everything_that_ships_is_found_by_its_id_and_by_its_name():
    everything = found("", kit(), limit=1000)

    assert len(everything) > 100
    assert [each for each in everything if found(each, kit(), limit=1) != [each]] == []
    assert (
        found("RULE 0.12", kit(), limit=1) == found("rule 0.12", kit(), limit=1) == ["rules/RULE-0.12-agent-git-model"]
    )
    assert found("edit-local", kit(), limit=1) == ["roles/edit-local"]


# --- words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("read a file", "kei-fs::read"),
        ("delete file", "kei-fs::remove"),
        ("deleting", "kei-fs::remove"),
        ("roles/edit-local", "roles/edit-local"),
        ("KEI-FS::READ", "kei-fs::read"),
        ("hist", "kei-git-read::log"),
        ("his", "kei-git-read::log"),
        ("cafe", "kei-git-read::log"),
        ("CAFÉ", "kei-git-read::log"),
        ("databas", "kei-db::find"),
        ("configurati", "kei-db::find"),
        ("time zone", "kei-hash::sum"),
        ("SHA-256", "kei-hash::sum"),
        ("readFile", "kei-hash::sum"),
        ("全文検索", "kei-db::find"),
        ("検索", "kei-db::find"),
        ("全文検索エンジン", "kei-db::find"),
    ],
)
def test_what_is_asked_for_stands_first(text, first):
    assert found(text)[0] == first


@pytest.mark.parametrize(
    ("typo", "meant"),
    [
        ("hisotry", "history"),
        ("hstory", "history"),
        ("historyy", "history"),
        ("xistory", "history"),
        ("istory", "history"),
        ("documnets", "documents"),
        ("documeent", "documents"),
        ("dcuments", "documents"),
        ("databaes", "database"),
        ("confgiuratoin", "configuration"),
        ("configuratoin", "configuration"),
    ],
)
def test_a_word_that_nobody_wrote_is_repaired_and_told(typo, meant):
    findings = search(small().db, typo)

    assert findings.repaired == {typo: (meant,)}
    assert findings.hits


@pytest.mark.parametrize("text", ["hsotiry", "xyzzy", "lgo", "h", "sha255", "c++"])
def test_short_words_numbers_and_those_that_resemble_nothing_are_not_guessed(text):
    findings = search(small().db, text)

    assert findings.repaired == {}
    assert "kei-git-read::log" not in [hit.node.id for hit in findings.hits]


def test_a_word_that_somebody_wrote_is_not_repaired():
    assert search(small().db, "commits file").repaired == {}


def test_small_words_count_only_where_there_is_no_other():
    vault = filled(leaf("a::turn", keywords=("into",)), leaf("b::x", keywords=("list",)))

    assert found("into the list", vault) == ["b::x"]
    assert found("into", vault) == ["a::turn"]


@pytest.mark.parametrize("text", ["", "   ", "\x00", "\ud800"])
def test_the_empty_text_finds_all_by_id(text):
    assert found(text, limit=4) == ["kei-db::find", "kei-fs::read", "kei-fs::remove", "kei-fs::write"]
    assert found(text, limit=1, nodes=("rule",)) == ["rules/RULE-0.12"]


@pytest.mark.parametrize("text", ["!!! ---", "::", "../", '"', "\U0001f44d"])
def test_a_text_without_a_letter_or_digit_finds_nothing(text):
    assert found(text) == found(text, kit()) == []


@pytest.mark.parametrize(
    ("text", "best", "told"),
    [
        ("readonly", "roles/read-only", {"readonly": ("read-only",)}),
        ("keitask create", "kei-task::create", {"keitask": ("kei-task",)}),
        ("filesystem", "kei-fs::move", {"filesystem": ("file system",)}),
    ],
)
def test_two_words_that_were_typed_together_are_found_where_they_stand_apart(text, best, told):
    findings = search(kit().db, text, limit=3)

    assert best in [hit.node.id for hit in findings.hits]
    assert (findings.repaired, findings.unknown) == (told, ())


def test_two_words_that_nobody_put_together_are_looked_for_one_by_one():
    vault = filled(leaf("a::one", keywords=("parcel",)), leaf("b::two", keywords=("garden",)))
    findings = search(vault.db, "parcelgarden")

    assert [hit.node.id for hit in findings.hits] == ["a::one", "b::two"]
    assert findings.repaired == {"parcelgarden": ("parcel", "garden")}


def test_a_word_of_several_pieces_is_looked_for_by_them_too():
    vault = filled(
        leaf("a::other", body="They read files of others."),
        leaf("b::read", title="Returns the text of a file."),
        leaf("c::none", body="Nothing."),
    )

    assert set(found("readFile", vault)) == {"a::other", "b::read"}
    assert found("readFile", kit())[0] == "kei-fs::read"


@pytest.mark.parametrize("text", ["trim", "table", "color", "slack"])
def test_a_word_is_not_taken_for_one_that_only_shares_a_stem_that_is_like_its_own(text):
    words = ("tried", "tail", "colons", "lacks")
    findings = search(filled(*(leaf(f"a::{word[0]}", body=f"It is {word}.") for word in words)).db, text)

    assert (findings.hits, findings.repaired, findings.unknown) == ((), {}, (text,))


@pytest.mark.parametrize(
    ("typo", "meant"), [("seperator", ("separated",)), ("tsaks", ("task",)), ("eivdence", ("evidence",))]
)
def test_of_words_that_may_be_meant_those_are_taken_that_are_nearest_as_they_are_written(typo, meant):
    vault = filled(leaf("a::b", body="The severity of an evidence, separated."), leaf("c::d", body="A task."))

    assert search(vault.db, typo).repaired == {typo: meant}


def test_words_that_nothing_serves_are_told_in_the_order_of_the_text():
    findings = search(small().db, "zyzzyva commit qqqqq what")

    assert findings.unknown == ("zyzzyva", "qqqqq")
    assert findings.hits[0].node.id == "kei-git-read::log"
    assert search(small().db, "commit").unknown == search(small().db, "").unknown == ()


@pytest.mark.parametrize("text", ["histori", "hsitory", "sha256"])
def test_nothing_is_told_of_words_that_only_hidden_atoms_know(text):
    findings = search(small().db, text, among=["kei-fs::read"])

    assert (findings.hits, findings.repaired, findings.unknown) == ((), {}, (text,))


def test_one_letter_of_a_language_without_spaces_is_a_beginning():
    assert found("全") == found("全 ") == ["kei-db::find"]


# --- order ------------------------------------------------------------------------------------------------------------


def test_a_page_made_for_the_question_stands_before_a_long_text_that_knows_everything():
    everything = "about this and that, and rename, and a branch, and remote, " + "and so many other things " * 400
    vault = filled(
        leaf("a::handbook", title="Everything.", body=everything * 3),
        leaf("z::rename", title="Gives a branch another name.", keywords=("branch", "move")),
        *(leaf(f"m::other-{number}", body="of other things " * 20) for number in range(30)),
    )

    assert found("rename remote branch", vault)[:2] == ["z::rename", "a::handbook"]


def test_who_knows_more_of_the_words_stands_first():
    vault = filled(
        leaf("a::open", keywords=("file",)), leaf("b::x", title="Opens nothing."), leaf("z::open", keywords=("window",))
    )

    assert found("open window", vault)[0] == "z::open"


def test_a_whole_word_stands_before_a_beginning_of_one():
    vault = filled(leaf("a::timetable"), leaf("b::time"))

    assert found("time", vault) == ["b::time", "a::timetable"]


def test_what_is_deprecated_stands_behind_its_like_unless_it_is_called_by_name():
    vault = filled(leaf("a::read", title="Reads.", deprecated="use b::read"), leaf("b::read", title="Reads."))

    assert found("read", vault) == ["b::read", "a::read"]
    assert found("a::read", vault) == ["a::read", "b::read"]


def test_alike_things_stand_in_the_order_of_their_ids_however_they_came():
    leaves = [leaf(f"x::same-{number:03}", title="All the same.") for number in range(120)]
    mixed = random.Random(1).sample(leaves, len(leaves))

    for text in ("same", "all same", ""):
        assert found(text, filled(*leaves)) == found(text, filled(*mixed)) == [each.name for each in leaves[:20]]


@cache
def crowd():
    """Many texts of a few words, some of which are everywhere."""
    chance = random.Random(5)
    words = [f"{first}{vowel}{last}" for first in "bdfgklmnprst" for vowel in "aeiou" for last in ("rk", "lt", "nd")]
    weights = [1 / (place + 1) for place in range(len(words))]

    def said(count):
        return chance.choices(words, weights, k=count)

    return words, filled(
        *(
            leaf(
                f"kei-{chance.choice(words)}-{number}::{said(1)[0]}",
                title=" ".join(said(8)),
                keywords=tuple(said(4)),
                body=" ".join(said(chance.choice((20, 80, 200)))),
            )
            for number in range(600)
        )
    )


def test_neither_the_limit_nor_a_filter_that_excludes_nothing_changes_the_order():
    words, vault = crowd()
    chance = random.Random(6)
    for _ in range(40):
        text = " ".join(chance.choices(words, k=chance.randint(1, 4)))
        most = found(text, vault, limit=600)
        for limit in (1, 5, 20, 200):
            assert found(text, vault, limit=limit) == most[:limit], text
            assert found(text, vault, limit=limit, nodes=("atom", "rule")) == most[:limit], text
        assert len(set(most)) == len(most)


def test_who_is_called_by_the_word_is_not_lost_among_many_that_use_it():
    others = [leaf(f"m::other-{number:03}", body="parcel " * 9 + "and more") for number in range(300)]

    assert found("parcel", filled(leaf("z::parcel", body="of many words " * 99), *others), limit=1) == ["z::parcel"]


def test_a_heading_that_every_page_has_does_not_hide_whom_it_is_about():
    pages = [leaf(f"m::list-{number:02}", title="Lists pages.", body="Related: others.") for number in range(40)]
    vault = filled(leaf("z::related", title="Tells what is tied.", body="A page. Related: others."), *pages)

    assert found("related pages", vault, limit=1) == ["z::related"]


def test_who_is_called_exactly_so_stands_before_who_is_in_other_letters():
    vault = filled(
        *(leaf(name, "rule", names=(name, f"rules/{name}")) for name in ("BETA", "beta", "STRASSE", "straße"))
    )

    assert found("beta", vault)[0] == "rules/beta"
    assert found("BETA", vault)[0] == "rules/BETA"
    assert found("straße", vault, limit=1) == ["rules/straße"]


def test_what_is_gone_is_not_found_and_what_changed_is_found_by_its_new_words():
    vault = filled(leaf("a::one", body="apricot"), leaf("b::two", body="apricot banana"))
    vault.apply(batch(leaf("b::two", body="cherry"), gone=[("atom", "a::one")]))

    assert found("apricot", vault) == found("a::one", vault) == []
    assert search(vault.db, "aprixot").repaired == {}
    assert found("cherry", vault) == found("", vault) == ["b::two"]


def test_an_empty_index_finds_nothing():
    assert found("read", filled()) == found("", filled()) == []


# --- what may be found ------------------------------------------------------------------------------------------------


def test_only_what_is_chosen_is_found():
    assert found("file", kinds=("command",)) == ["kei-fs::write", "kei-fs::remove"]
    assert found("file", nodes=("role",)) == ["roles/edit-local"]
    assert set(found("file", among=["kei-fs::remove"])) == {"kei-fs::remove", "roles/edit-local"}
    assert found("file", nodes=("atom",), among=[]) == []
    assert found("kei-fs::read", nodes=("role", "rule")) == []
    assert found("kei-fs::read", kinds=("\ud800",)) == []


@pytest.mark.parametrize(("limit", "count"), [(0, 0), (-4, 0), (1, 1), (2, 2), (10**30, 4)])
def test_no_more_than_asked_for_come_back(limit, count):
    assert len(found("file", limit=limit)) == count


# --- snippets ---------------------------------------------------------------------------------------------------------


def marked(hit):
    return [hit.snippet[first:last] for first, last in hit.marks]


def test_a_snippet_shows_the_words_in_their_text():
    body = "before " * 100 + "the Apricots\n\n\t of\u2028 a \u202egarden" + " after" * 100
    hit = search(filled(leaf("a::b", title="Fruit.", body=body)).db, "apricot garden").hits[0]

    assert marked(hit) == ["Apricots", "garden"]
    assert "the Apricots of a garden after" in hit.snippet


def test_where_only_name_or_keywords_fit_the_title_is_shown():
    hit = search(filled(leaf("a::b", title="Made of fruit.", keywords=("apricot",), body="Else.")).db, "apricot").hits[
        0
    ]

    assert (hit.snippet, hit.marks) == ("Made of fruit.", ())


def test_a_long_word_is_cut_and_still_marked():
    hit = search(filled(leaf("a::b", body="x" * 500 + " apricot " + "y" * 500)).db, "apricot").hits[0]

    assert len(hit.snippet) == 160
    assert marked(hit) == ["apricot"]


# --- any text ---------------------------------------------------------------------------------------------------------

PIECES = (
    *"abcdehrst", *"0123", *"\"'*^:-+(){}[]%_\\/.,;!?<>|&$#@~` \t\n\r", *"\x00\x01\x02\x03\x1b\x7f\x85\u2028\u202e",
    *"éßıİſﬁ²½Ⅷ", *"日本検索한글हिन", "\u0301", "\ud800", "\udfff", "\U0001f600", "\U0010ffff", "\ufeff", "\u200d",
    "AND", "OR", "NOT", "NEAR(", "name:", "{name body}:", "texts", "rank", "--", "/*", "';DROP TABLE texts;",
    "kei-fs::", "file", "histroy", "comit", "config", "the ", "what ", "readFile", "sha256", "x" * 600,
)  # fmt: skip


def test_any_of_five_thousand_texts_is_answered_within_its_laws():
    chance, db = random.Random(5), small().db
    for number in range(5000):
        text = "".join(chance.choices(PIECES, k=chance.randint(0, 12)))
        hits = search(db, text, limit=3, nodes=chance.choice(((), ("atom", "rule")))).hits
        assert len(hits) <= 3
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        for hit in hits:
            assert len(hit.snippet) <= 160
            assert not FOREIGN.search(hit.snippet)
            assert all(0 <= first < last <= len(hit.snippet) for first, last in hit.marks), (number, text)


@pytest.mark.parametrize("text", ["apricot " * 2_000_000, "x" * 10_000_000, " ".join(f"con{n}" for n in range(99_999))])
def test_a_text_of_many_megabytes_is_a_query_like_others(text):
    assert search(small().db, text).repaired == {}


def test_marks_in_a_hostile_text_stay_within_the_snippet():
    body = "\x03\x03 \x02 apricot \x02\x02 \x03 " * 20
    hit = search(filled(leaf("a::b", body=body)).db, "apricot").hits[0]

    assert not FOREIGN.search(hit.snippet)
    assert all(0 <= first < last <= len(hit.snippet) for first, last in hit.marks)
