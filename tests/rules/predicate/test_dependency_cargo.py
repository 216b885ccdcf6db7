"""Dependencies of Cargo: manifests and lock files compared as data."""

import pytest

from tests.rules.predicate.manifest import judge

BASE = """
[package]
name = "shop"
version = "0.1.0"

[dependencies]
serde = { version = "1", features = ["derive"] }
log = "0.4"
own = { path = "../own" }

[dev-dependencies]
trybuild = "1"
"""


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(BASE.replace("0.1.0", "0.2.0"), id="its own version"),
        pytest.param(BASE.replace("\n\n", "\n# a comment\n\n\n"), id="comments and lines"),
        pytest.param(BASE.replace('log = "0.4"', 'log = { version = "0.4" }'), id="the same as a table"),
        pytest.param(
            BASE.replace('serde = { version = "1", features = ["derive"] }\n', "").replace(
                "[dev-", '[dependencies.serde]\nfeatures = ["derive"]\nversion = "1"\n\n[dev-'
            ),
            id="the same in a table form",
        ),
        pytest.param(BASE.replace("[dependencies]\n", "[dependencies]\n\n").replace("=", " =  "), id="spaces"),
        pytest.param(BASE.replace('log = "0.4"\n', "").replace("serde =", 'log = "0.4"\nserde ='), id="order"),
        pytest.param(BASE + '[lints.rust]\nunsafe_code = "forbid"\n[profile.release]\nlto = true\n', id="settings"),
        pytest.param(BASE + '[package.metadata.docs]\ndependencies = "x"\n[[bin]]\nname = "b"\n', id="metadata"),
        pytest.param(
            BASE.replace("version = ", 'description = "d"\nedition = "2021"\nversion = ', 1), id="description"
        ),
        pytest.param(BASE + "[target.'cfg(unix)'.dependencies]\n[patch.crates-io]\n", id="empty tables"),
        pytest.param("\ufeff" + BASE.replace("\n", "\r\n"), id="another end of lines"),
    ],
)
def test_what_is_no_dependency_holds(after):
    assert judge("Cargo.toml", BASE, after).status == "held"


@pytest.mark.parametrize(
    ("after", "place"),
    [
        pytest.param(BASE.replace("[dev", 'evil = "1"\n[dev'), "dependencies.evil", id="a line"),
        pytest.param(BASE + '[dependencies.evil]\nversion = "1"\n', "dependencies.evil", id="a table form"),
        pytest.param('dependencies.evil = "1"\n', "dependencies.evil", id="dotted"),
        pytest.param(
            'dependencies = { evil = "1" }\n' + BASE.split("[dependencies]", maxsplit=1)[0], "evil", id="inline"
        ),
        pytest.param('["dependencies"]\n"ev\\u0069l" = "1"\n', "dependencies.evil", id="quoted and escaped"),
        pytest.param(BASE + '[build-dependencies]\nevil = "1"\n', "build-dependencies.evil", id="build"),
        pytest.param(BASE + 'evil = "1"\n', "dev-dependencies.evil", id="dev"),
        pytest.param(BASE + '[dev_dependencies]\nevil = "1"\n', "dev_dependencies.evil", id="the old name"),
        pytest.param(BASE + "[target.'cfg(unix)'.dependencies]\nevil = \"1\"\n", "cfg(unix)", id="a target"),
        pytest.param(
            BASE + '[target.x.build-dependencies.evil]\ngit = "g"\n', "target.x.build-", id="a target's build"
        ),
        pytest.param(BASE + '[workspace.dependencies]\nevil = "1"\n', "workspace.dependencies.evil", id="workspace"),
        pytest.param(BASE + '[patch.crates-io]\nserde = { git = "g" }\n', "patch.crates-io.serde", id="patch"),
        pytest.param(BASE + '[patch."https://x/y".serde]\npath = "p"\n', "patch.", id="patch of a source"),
        pytest.param(BASE + '[replace]\n"serde:1.0.0" = { git = "g" }\n', "replace.", id="replace"),
        pytest.param(BASE.replace('"0.4"', '{ version = "0.4", package = "evil" }'), "log", id="renamed"),
        pytest.param(BASE.replace("../own", "../evil"), "dependencies.own", id="another path"),
        pytest.param(BASE.replace('log = "0.4"', 'log = { path = "../evil" }'), "dependencies.log", id="a path now"),
        pytest.param(BASE.replace('"0.4"', '{ version = "0.4", registry = "r" }'), "log", id="another registry"),
        pytest.param(BASE.replace('["derive"]', '["derive", "rc"]'), "serde", id="a feature more"),
        pytest.param(BASE.replace('"0.4"', '{ version = "0.4", default-features = false }'), "log", id="defaults off"),
        pytest.param(BASE.replace('"0.4"', '{ version = "0.4", optional = true }'), "log", id="optional"),
        pytest.param(BASE.replace('"0.4"', "{ workspace = true }"), "log", id="the workspace's"),
        pytest.param(BASE.replace('"0.4"', '"0.5"'), "log", id="another version"),
        pytest.param(BASE.replace('log = "0.4"\n', ""), "log", id="one less"),
        pytest.param("dependencies = 3\n", "dependencies", id="no table"),
    ],
)
def test_a_dependency_that_is_not_as_it_was_is_violated(after, place):
    reply = judge("Cargo.toml", BASE, after)

    assert reply.status == "violated"
    assert any(place in told for told in reply.told)


def test_what_else_a_build_depends_on_is_told():
    reply = judge("Cargo.toml", BASE, BASE.replace("[dep", 'build = "b.rs"\n[dep') + '[features]\nx = ["dep:log"]\n')

    assert reply.status == "held"
    assert [place for place in ("features.x", "package.build") if place in " ".join(reply.told)] == [
        "features.x",
        "package.build",
    ]


LOCK = """
version = 3

[[package]]
name = "shop"
version = "0.1.0"
dependencies = [
 "log",
]

[[package]]
name = "log"
version = "0.4.1"
source = "registry+https://example.org/index"
checksum = "aa"
dependencies = ["cfg-if"]
"""
OWN = '\n[[package]]\nname = "part"\nversion = "0.1.0"\n'


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(LOCK.replace('"0.1.0"', '"0.2.0"'), id="its own version"),
        pytest.param("# made by a tool\n" + LOCK.replace('[\n "log",\n]', '["log"]'), id="formatting"),
        pytest.param(LOCK + OWN, id="a package of its own that needs nothing"),
        pytest.param(LOCK.replace("version = 3", "version = 4"), id="another form of lock file"),
    ],
)
def test_a_lock_file_that_locks_the_same_holds(after):
    assert judge("Cargo.lock", LOCK, after).status == "held"


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(LOCK.replace('"aa"', '"bb"'), id="another checksum"),
        pytest.param(LOCK.replace('checksum = "aa"\n', ""), id="no checksum"),
        pytest.param(LOCK.replace("example.org", "example.com"), id="another source"),
        pytest.param(LOCK.replace('source = "registry+https://example.org/index"\n', ""), id="no source"),
        pytest.param(LOCK.replace("0.4.1", "0.4.2"), id="another version"),
        pytest.param(LOCK.replace('"cfg-if"', '"evil"'), id="another need"),
        pytest.param(LOCK.replace(' "log",\n', ' "log",\n "evil",\n'), id="a need of its own"),
        pytest.param(LOCK + OWN + 'dependencies = ["log"]\n', id="a package of its own that needs something"),
        pytest.param(LOCK + OWN + 'source = "git+https://x"\n', id="another package"),
        pytest.param(LOCK + '[[patch.unused]]\nname = "x"\nversion = "1"\n', id="a patch"),
        pytest.param(LOCK + '[metadata]\n"checksum x 1 (r)" = "aa"\n', id="old checksums"),
        pytest.param("", id="empty"),
    ],
)
def test_a_lock_file_that_locks_something_else_is_violated(after):
    assert judge("Cargo.lock", LOCK, after).status == "violated"
