"""`kei-sage` and `keisei sage`: the same answers by both names, any text, one clear error for the rest."""

import json
import os
import threading
import xml.etree.ElementTree as ET

import pytest

from tests.library.primitives import package, write


@pytest.fixture
def sage(shell):
    shell.setenv("KEISEI_HOME", shell.folder / "state")

    def run(*words, command="kei-sage"):
        return shell.run(*words, command=command)

    run.shell = shell
    return run


def data(done):
    assert done.code == 0, done.err
    return json.loads(done.out)


def ids(done):
    return [hit["node"]["id"] for hit in data(done)["hits"]]


def test_both_names_lead_to_the_same_answer(sage):
    one, other = (
        sage("search", "create a task", "--json"),
        sage("sage", "search", "create a task", "--json", command="keisei"),
    )

    assert data(one) == data(other)
    assert ids(one)[0] == "kei-task::create"


def test_words_need_no_quotes_and_nothing_is_an_operator(sage):
    assert ids(sage("search", "task", "create", "--json"))[0] == "kei-task::create"
    assert sage("search", "--json", "--", "--json", "--limit").code == 0
    for text in ("kei-task::create", "c++", "what?", '"', "a AND", "NOT", "-x", "*", "(", "NEAR(a b)", "💥", " "):
        assert sage("search", text, "--json").code == 0, text


def test_a_misspelt_option_is_no_question(sage):
    done = sage("search", "task", "--limt", "5")

    assert (done.code, done.out) == (1, "")
    assert "--limit" in done.err


def test_a_misspelt_word_is_told_and_found(sage):
    done = sage("search", "milestoen")

    assert "kei-milestone" in done.out
    assert "milestoen" in done.err


def test_words_that_nothing_serves_and_an_empty_answer_are_told(sage):
    some, none = sage("search", "qqqqq", "milestone"), sage("search", "qqqqq")

    assert (some.code, none.code) == (0, 0)
    assert "nothing says `qqqqq`" in some.err
    assert "nothing found" not in some.err
    assert "nothing found" in none.err
    assert data(sage("search", "qqqqq", "--json")) == {"hits": [], "repaired": {}, "unknown": ["qqqqq"]}


@pytest.mark.parametrize(
    ("words", "kind", "node"), [(("--kind", "stream"), "stream", "atom"), (("--node", "role"), None, "role")]
)
def test_a_search_may_be_narrowed(sage, words, kind, node):
    hits = data(sage("search", "", *words, "--json"))["hits"]

    assert hits
    assert {(hit["node"]["kind"], hit["node"]["node"]) for hit in hits} == {(kind, node)}


def test_ranks_are_shares_and_stand_in_order(sage):
    rows = data(sage("rank-atoms", "--json"))

    assert [-row["rank"] for row in rows] == sorted(-row["rank"] for row in rows)
    assert sum(row["rank"] for row in rows) == pytest.approx(1)
    assert sage("rank-atoms", "--limit", "3").out.count("\n") == 4


def test_relations_are_told_with_their_way(sage):
    rows = data(sage("related", "kei-task::create", "--depth", "1", "--json"))

    assert "kei-task::add-dependency" in [row["node"]["id"] for row in rows]
    assert all(row["depth"] == 1 and row["by"] for row in rows)
    assert data(
        sage("related", "edit-local", "--edges", "uses", "--direction", "out", "--node", "capability", "--json")
    )
    assert data(sage("related", "kei-fs::read", "--edges", "domain", "--json"))
    assert data(sage("related", "kei-task::create", "--by", "rank", "--edges", "all", "--json"))


@pytest.mark.parametrize("form", ["graphml", "dot", "mermaid", "json", "svg"])
def test_a_graph_goes_to_a_file_as_it_goes_to_the_screen(sage, form):
    out = sage.shell.folder / "a picture"
    screen = sage("graph", "kei-task::create", "--format", form)
    file = sage("graph", "kei-task::create", "--format", form, "--out", str(out))

    assert (screen.code, file.code, file.out) == (0, 0, ""), file.err
    assert out.read_bytes() == screen.raw
    assert "kei-task::create" in screen.out
    if form in ("graphml", "svg"):
        ET.fromstring(screen.raw)  # noqa: S314 - our own text


def test_a_graph_that_is_too_large_says_so(sage):
    done = sage("graph", "kei-task::create", "--depth", "5", "--most", "3", "--json")

    assert len(data(done)["nodes"]) == 3
    assert "--most" in done.err


def test_a_picture_that_cannot_be_written_leaves_nothing(sage):
    done = sage("graph", "kei-task::create", "--out", str(sage.shell.folder / "nowhere/x"))

    assert done.code == 1
    assert "cannot write" in done.err


def test_a_picture_may_go_through_a_pipe(sage):
    pipe = sage.shell.folder / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()

    assert sage("graph", "kei-task::create", "--format", "dot", "--out", str(pipe)).code == 0

    reader.join()
    assert read[0].startswith("digraph")
    assert pipe.is_fifo()


def test_facets_lineage_and_authors(sage):
    write(
        sage.shell.folder / ".keisei/capabilities/policy/calm/capability.toml",
        '[capability]\nname = "policy::calm"\ndescription = "Calm."\n'
        '[lineage]\nparents = ["policy::no-git-ops"]\ncreator = "ann"\n'
        '[taxonomy]\nlayer = "policy"\nmood = ["calm", "kind"]\n',
    )
    write(sage.shell.folder / ".keisei/capabilities/policy/calm/text.md", "Be calm.\n")

    assert "mood" in sage("facet-query").out
    assert [row["id"] for row in data(sage("facet-query", "mood=Calm", "--json"))] == ["policy::calm"]
    assert [row["id"] for row in data(sage("author", "ann", "--json"))] == ["policy::calm"]
    assert {"creator": "ann", "count": 1} in data(sage("author", "--json"))
    family = data(sage("lineage", "policy::no-git-ops", "--json"))
    assert [(row["name"], row["generation"]) for row in family if row["name"] == "policy::calm"] == [
        ("policy::calm", -1)
    ]
    assert "policy::no-git-ops" in sage("lineage", "policy::calm").out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("related", "kei-task::craete"), "kei-task::create"),
        (("graph", "nothing-like-it"), "kei-sage search"),
        (("related", "kei-task::create", "--edges", "relatd"), "related"),
        (("related", "kei-task::create", "--depth", "0"), "--depth"),
        (("search", "x", "--kind", "comand"), "command"),
        (("search", "x", "--root", "nowhere"), "not a folder"),
        (("facet-query", "nonsense"), "FACET=VALUE"),
        (("facet-query", "kingdom=role", "kingdom=capability"), "once"),
        (("graph", "kei-task::create", "--json", "--format", "svg"), "--format"),
        (("facet-query", "no-such=thing"), "no-such"),
        (("author", "nobody at all"), "nobody at all"),
        (("graph",), "ID"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else "",
)
def test_wrong_words_get_one_clear_error(sage, words, told):
    done = sage(*words)

    assert (done.code, done.out) == (1, "")
    assert told in done.err
    assert "Traceback" not in done.err


def test_a_broken_file_is_a_warning_and_the_rest_is_found(sage):
    root = sage.shell.folder / "root"
    package(root, "kei-note", "create", "find")
    (root / "kei-note/atoms/find.md").write_text("---\nbroken")

    done = sage("search", "note", "--root", str(root), "--json")

    assert ids(done) == ["kei-note::create"]
    assert "find.md" in done.err


def test_the_index_says_where_it_is_and_what_it_holds(sage):
    told = data(sage("index", "--json"))

    assert told["nodes"]["atom"] > 60
    assert told["index"] == str(sage.shell.folder / "state/default/graph.db")
    assert told["index"] in sage("index").out


def test_an_index_that_cannot_be_kept_is_told_and_the_answer_is_there(sage):
    (sage.shell.folder / "state/default").mkdir(parents=True)
    (sage.shell.folder / "state/default/graph.db").write_text("somebody's own file")

    done = sage("search", "create a task", "--json")

    assert ids(done)[0] == "kei-task::create"
    assert "graph.db" in done.err
    assert (sage.shell.folder / "state/default/graph.db").read_text() == "somebody's own file"
