"""Dependencies of Go: go.mod, go.work and go.sum compared as data."""

import pytest

from tests.rules.predicate.manifest import judge

BASE = """module example.com/shop

go 1.22

require (
\tgithub.com/a/b v1.0.0
\tgithub.com/c/d v2.0.0+incompatible // indirect
)

replace github.com/a/b => ../b
"""


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(BASE.replace("// indirect", "// a comment"), id="a comment"),
        pytest.param(BASE.replace("\t", "    ").replace("\n\n", "\n// x\n\n"), id="formatting"),
        pytest.param(
            BASE.replace("require (\n\tgithub.com/a/b v1.0.0\n", "require github.com/a/b v1.0.0\nrequire (\n"),
            id="a line",
        ),
        pytest.param(BASE.replace("github.com/a/b v1", '"github.com/a/b" v1'), id="quotes"),
        pytest.param(BASE.replace("require (", "require("), id="no space"),
        pytest.param(BASE + "retract v0.1.0 // broken\n", id="a version of its own taken back"),
        pytest.param(BASE.replace("\n", "\r\n"), id="another end of lines"),
    ],
)
def test_what_is_no_dependency_holds(after):
    reply = judge("go.mod", BASE, after)

    assert (reply.status, reply.told) == ("held", ())


@pytest.mark.parametrize("after", [BASE.replace("1.22", "1.23"), BASE + "toolchain go1.23.1\n", BASE + "godebug a=1\n"])
def test_another_go_is_told(after):
    reply = judge("go.mod", BASE, after)

    assert reply.status == "held"
    assert len(reply.told) == 1


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(BASE + "require evil.com/x v1.0.0\n", id="a requirement"),
        pytest.param(BASE.replace(")\n", "\tevil.com/x v1.0.0\n)\n"), id="in the block"),
        pytest.param(BASE.replace("v1.0.0", "v1.0.1"), id="another version"),
        pytest.param(BASE.replace("\tgithub.com/a/b v1.0.0\n", ""), id="one less"),
        pytest.param(BASE.replace("=> ../b", "=> ../evil"), id="replaced by something else"),
        pytest.param(BASE + "replace github.com/c/d => evil.com/x v1.0.0\n", id="a replacement"),
        pytest.param(BASE + "replace (\n\tgithub.com/c/d v2 => evil.com/x v1\n)\n", id="replacements"),
        pytest.param(BASE + "exclude github.com/c/d v2.0.1\n", id="an exclusion"),
        pytest.param(BASE + "tool evil.com/x/cmd\n", id="a tool"),
        pytest.param(BASE + "use ./evil\n", id="a folder"),
        pytest.param(BASE + "novelty x\n", id="what nobody knows yet"),
        pytest.param(BASE + "require `evil.com/x` v1.0.0\n", id="another quote"),
        pytest.param(BASE.replace("go 1.22", "go 1.22 // x\nrequire evil.com/x v1"), id="after a comment"),
    ],
)
def test_a_dependency_that_is_not_as_it_was_is_violated(after):
    assert judge("go.mod", BASE, after).status == "violated"


SUM = "a.com/b v1.0.0 h1:aa=\na.com/b v1.0.0/go.mod h1:bb=\n"


def test_checksums_stay_as_they_are():
    swapped = "\n".join(reversed(SUM.strip().split("\n")))

    assert judge("go.sum", SUM, swapped + "\n\n").status == "held"
    assert judge("go.sum", SUM, SUM.replace("aa", "cc")).status == "violated"
    assert judge("go.work.sum", SUM, SUM + "e.com/x v1 h1:x=\n").status == "violated"
    assert judge("go.sum", SUM, "").status == "violated"


def test_folders_of_a_workspace_stay_as_they_are():
    work = "go 1.22\n\nuse (\n\t./a\n\t./b\n)\n"

    assert judge("go.work", work, "go 1.22\nuse ./b\nuse ./a\n").status == "held"
    assert judge("go.work", work, work.replace("./b", "../evil")).status == "violated"
