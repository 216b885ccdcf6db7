"""Capability new and fork: never over anything, all or nothing, and what comes out is right."""

import json
import stat
import subprocess
import tomllib

import pytest

from keisei.library import scaffold
from keisei.wiring import KIT
from tests.cli.shell import BIN

NAMES = sorted(
    f"{path.parent.parent.name}::{path.parent.name}"
    for path in (KIT / "capabilities").glob("*/*/capability.toml")
    if "\nalias = " not in path.read_text(encoding="utf-8")
)


@pytest.fixture
def place(shell):
    """The capabilities folder of a project."""
    (shell.folder_of("project") / "keisei.toml").write_text('[project]\nname = "shop"\n')
    shell.cd(shell.folder / "project")
    return shell.folder / "project/.keisei/capabilities"


def manifest(folder):
    return tomllib.loads((folder / "capability.toml").read_bytes().decode())


def problems(shell):
    return json.loads(shell.run("lint", "capabilities", "--json").out)["problems"]


def everything(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


# New.


def test_a_new_capability_is_clean_from_the_first_minute(shell, place):
    shell.setenv("KEI_CREATOR_ID", "ag-me")

    done = shell.run("capability", "new", "policy::no-shouting", "--description", 'Nobody "shouts" \\ here')

    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "made .keisei/capabilities/policy/no-shouting: edit capability.toml and text.md, "
        "then run `keisei lint capabilities`\n"
    )
    assert problems(shell) == []
    made = manifest(place / "policy/no-shouting")
    assert made["capability"]["name"] == "policy::no-shouting"
    assert made["capability"]["description"] == 'Nobody "shouts" \\ here'
    assert made["lineage"]["creator"] == "ag-me"
    assert made["lineage"]["created"].endswith("Z")
    assert sorted(each["expect"] for each in made["test"]) == ["allow", "deny"]


@pytest.mark.parametrize(
    "description", ["a\nb", "tab\there", "\u2028", "\x7f", "'''", '"""', "é形\U0001f600", "\\u0041"]
)
def test_any_description_gives_a_file_that_parses(shell, place, description):
    assert shell.run("capability", "new", "policy::odd", "--description", description).code == 0
    assert problems(shell) == []
    assert manifest(place / "policy/odd")["capability"]["description"]


@pytest.mark.parametrize(
    "name",
    ["no-category", "policy::", "::x", "policy::Upper", "policy::a/b", "policy::..", "nonsense::x", "policy::a::b", ""],
)
def test_a_name_that_cannot_be_a_capabilitys_is_refused(shell, place, name):
    done = shell.run("capability", "new", name)

    assert done.code == 1
    assert done.err == (
        f"error: `{name}` is not a capability name\n  hint: write `<category>::<slug>` with a category of "
        "policy, scope, quality, safety, output, tools, verify\n"
    )
    assert not place.exists()


def test_without_a_project_there_is_nowhere_to_put_it(shell):
    done = shell.run("capability", "new", "policy::x")

    assert done.code == 1
    assert done.err == (
        "error: there is no project here to put a capability into\n"
        "  hint: run it where keisei.toml stands, or name a folder with --into\n"
    )


def test_a_folder_can_be_named(shell):
    done = shell.run("capability", "new", "policy::x", "--into", shell.folder / "elsewhere")

    assert done.code == 0
    assert everything(shell.folder / "elsewhere") == [
        "policy",
        "policy/x",
        "policy/x/capability.toml",
        "policy/x/text.md",
    ]


# Fork.


def test_every_shipped_capability_can_be_forked_and_the_forks_are_clean(shell, place):
    for name in NAMES:
        category, _, slug = name.partition("::")
        assert shell.run("capability", "fork", name, "--as", f"{category}::my-{slug}").code == 0

    assert len(NAMES) == 20
    assert problems(shell) == []
    assert len(everything(place)) > 40


def test_a_fork_tells_where_it_comes_from(shell, place):
    shell.setenv("KEI_CREATOR_ID", "ag-me")

    done = shell.run("capability", "fork", "policy::no-git-ops", "--as", "safety::my-git")

    assert (done.code, done.err) == (0, "")
    assert done.out == "forked policy::no-git-ops as safety::my-git: .keisei/capabilities/safety/my-git\n"
    made = manifest(place / "safety/my-git")
    assert (made["capability"]["name"], made["capability"]["category"]) == ("safety::my-git", "safety")
    lineage = made["lineage"]
    assert lineage == {
        "fork_from": "policy::no-git-ops",
        "parents": ["policy::no-git-ops"],
        "creator": "ag-me",
        "created": lineage["created"],
    }
    assert len(lineage["created"]) == len("2026-04-22T15:30:00Z")


@pytest.mark.parametrize("name", NAMES)
def test_a_fork_changes_name_category_and_lineage_and_nothing_else(shell, place, name):
    source = KIT / "capabilities" / name.replace("::", "/")

    shell.run("capability", "fork", name, "--as", "verify::mine")

    copy = place / "verify/mine"
    assert (copy / "text.md").read_bytes() == (source / "text.md").read_bytes()
    before, after = manifest(source), manifest(copy)
    before["capability"] |= {"name": "verify::mine", "category": "verify"}
    assert {key: value for key, value in after.items() if key != "lineage"} == {
        key: value for key, value in before.items() if key != "lineage"
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_fork_keeps_every_comment(shell, place, name):
    source = (KIT / "capabilities" / name.replace("::", "/") / "capability.toml").read_text(encoding="utf-8")

    shell.run("capability", "fork", name, "--as", "verify::mine")

    kept = (place / "verify/mine/capability.toml").read_text(encoding="utf-8").splitlines()
    comments = [line for line in source.splitlines() if line.lstrip().startswith("#")]
    assert [line for line in comments if line not in kept] == []


HEAD = '[capability]\nname = "policy::src"\ncategory = "policy"\nversion = "1"\ndescription = "d"\n'
ODD = {
    "crlf": HEAD.replace("\n", "\r\n"),
    "a-line-separator-in-a-text": HEAD.replace('"d"', '"a\u2028b"'),
    "a-form-feed-in-a-comment": HEAD + "# a\tb\u0085c\n",
    "a-text-that-looks-like-a-table": HEAD + 'rationale = """\n[lineage]\nit looks like one\n"""\n',
    "a-text-that-looks-like-a-name": HEAD + 'rationale = """\nname = "other"\n"""\n',
    "an-inline-table": 'capability = { name = "policy::src", category = "policy", version = "1", description = "d" }\n',
    "dotted-keys": (
        'capability.name = "policy::src"\ncapability.category = "policy"\n'
        'capability.version = "1"\ncapability.description = "d"\n'
    ),
    "quoted-keys": HEAD.replace("name =", '"name" =').replace("[capability]", "['capability']"),
    "an-inline-lineage": "lineage = { parents = [] }\n" + HEAD,
    "a-lineage-in-the-middle": HEAD + '[lineage]\nparents = [\n  "a",\n]\n[restricts]\npaths = ["x"]\n',
    "no-newline-at-the-end": HEAD.rstrip("\n"),
}


@pytest.mark.parametrize("case", ODD)
def test_a_fork_of_any_valid_manifest_is_valid(shell, place, case):
    source = place / "policy/src"
    source.mkdir(parents=True)
    (source / "capability.toml").write_bytes(ODD[case].encode())
    (source / "text.md").write_text("## Source\n\nYou MUST NOT.\n")

    done = shell.run("capability", "fork", "policy::src", "--as", "scope::dst")

    before = manifest(source)
    before["capability"] |= {"name": "scope::dst", "category": "scope"}
    assert done.code == 0
    assert problems(shell) == []
    assert manifest(place / "scope/dst") | {"lineage": 0} == before | {"lineage": 0}


def test_a_fork_keeps_scripts_and_their_modes(shell, place):
    source = place / "policy/src"
    (source / "lib").mkdir(parents=True)
    (source / "capability.toml").write_text(HEAD + '[gate]\npath = "gate.sh"\n')
    (source / "text.md").write_text("## Source\r\n\r\nYou MUST NOT.", newline="")
    (source / "gate.sh").write_text("#!/bin/sh\nexit 0\n")
    (source / "gate.sh").chmod(0o755)
    (source / "lib/data.bin").write_bytes(bytes(range(256)))

    shell.run("capability", "fork", "policy::src", "--as", "policy::dst")

    copy = place / "policy/dst"
    assert everything(copy) == ["capability.toml", "gate.sh", "lib", "lib/data.bin", "text.md"]
    assert stat.S_IMODE((copy / "gate.sh").stat().st_mode) == 0o755
    assert stat.S_IMODE((copy / "text.md").stat().st_mode) == stat.S_IMODE((source / "text.md").stat().st_mode)
    assert (copy / "text.md").read_bytes() == b"## Source\r\n\r\nYou MUST NOT."
    assert (copy / "lib/data.bin").read_bytes() == bytes(range(256))
    assert problems(shell) == []


def test_a_fork_keeps_an_artefact_that_is_a_link_inside_the_folder(shell, place):
    source = place / "policy/src"
    source.mkdir(parents=True)
    (source / "capability.toml").write_text(HEAD)
    (source / "rule.md").write_text("## Source\n")
    (source / "text.md").symlink_to("rule.md")

    shell.run("capability", "fork", "policy::src", "--as", "policy::dst")

    assert (place / "policy/dst/text.md").read_text() == "## Source\n"
    assert problems(shell) == []


@pytest.mark.parametrize("command", ["keisei", "kei-capability"])
def test_an_old_name_is_not_forked_but_pointed_from(shell, place, command):
    words = ["fork", "tools::read-only", "--as", "tools::mine"]

    done = shell.run(*(words if command == "kei-capability" else ["capability", *words]), command=command)

    assert done.code == (2 if command == "kei-capability" else 1)
    assert (
        done.err
        == "error: `tools::read-only` is only an old name of `tools::deny-tools`\n  hint: fork `tools::deny-tools`\n"
    )
    assert not place.exists()


def test_the_originals_command_forks_into_a_kit_root(shell):
    root = shell.folder_of("kit/_capabilities").parent

    done = shell.run("fork", "policy::no-git-ops", "--as", "policy::mine", "--kit-root", root, command="kei-capability")

    assert done.code == 0
    assert everything(root / "_capabilities") == [
        "policy",
        "policy/mine",
        "policy/mine/capability.toml",
        "policy/mine/text.md",
    ]


# Never over anything.

VERBS = {
    "new": ["capability", "new", "policy::taken"],
    "fork": ["capability", "fork", "policy::no-git-ops", "--as", "policy::taken"],
}


def make_folder(path):
    path.mkdir(parents=True)
    (path / "mine").write_text("mine")


def make_empty_folder(path):
    path.mkdir(parents=True)


def make_file(path):
    path.parent.mkdir(parents=True)
    path.write_text("mine")


def make_dead_link(path):
    path.parent.mkdir(parents=True)
    path.symlink_to("nowhere")


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    "make",
    [make_folder, make_empty_folder, make_file, make_dead_link],
    ids=["folder", "empty-folder", "file", "dead-link"],
)
def test_what_is_there_is_never_overwritten(shell, place, verb, make):
    make(place / "policy/taken")
    before = everything(place)

    done = shell.run(*VERBS[verb])

    assert done.code == 1
    assert done.raw == b""
    assert "`policy::taken` already exists at " in done.err
    assert everything(place) == before


def failing_after(count):
    """A write that works so many times, and then finds the disk full."""
    real, left = scaffold.Path.write_bytes, [count]

    def write_bytes(path, content):
        if left[0] == 0:
            raise OSError(28, "No space left on device")
        left[0] -= 1
        return real(path, content)

    return write_bytes


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("count", [0, 1])
def test_a_write_that_fails_leaves_nothing_behind(shell, place, monkeypatch, verb, count):
    monkeypatch.setattr(scaffold.Path, "write_bytes", failing_after(count))

    done = shell.run(*VERBS[verb])

    assert done.code == 1
    assert done.err.startswith(f"error: cannot write {place}/policy/taken: no space left on device\n")
    assert [path for path in everything(place) if path != "policy"] == []


def test_an_interrupt_leaves_nothing_behind(shell, place, monkeypatch):
    def interrupted(_path, _content):
        raise KeyboardInterrupt

    monkeypatch.setattr(scaffold.Path, "write_bytes", interrupted)

    done = shell.run(*VERBS["fork"])

    assert done.code == 130
    assert [path for path in everything(place) if path != "policy"] == []


@pytest.mark.parametrize("verb", VERBS)
def test_of_two_at_once_one_wins_and_one_is_told_so(shell, place, monkeypatch, verb):
    real = scaffold.tempfile.mkdtemp

    def while_another_finishes(**options):
        made = real(**options)
        make_folder(place / "policy/taken")  # the other one was quicker
        return made

    monkeypatch.setattr(scaffold.tempfile, "mkdtemp", while_another_finishes)

    done = shell.run(*VERBS[verb])

    assert done.code == 1
    assert "`policy::taken` already exists" in done.err
    assert everything(place) == ["policy", "policy/taken", "policy/taken/mine"]


def test_of_two_real_programs_exactly_one_wins(shell, place):
    programs = [
        subprocess.Popen(
            [BIN / "keisei", "capability", "new", "policy::taken"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for _ in range(2)
    ]

    said = [program.communicate(timeout=20)[1].decode() for program in programs]

    assert sorted(program.returncode for program in programs) == [0, 1]
    assert sorted("`policy::taken` already exists" in err for err in said) == [False, True]
    assert everything(place) == ["policy", "policy/taken", "policy/taken/capability.toml", "policy/taken/text.md"]
    assert problems(shell) == []
