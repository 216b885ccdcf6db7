"""The helper `capability_patterns`: what capability.toml lists is printed to a script, one value per line."""

from pathlib import Path

import pytest

import keisei.sandbox
from keisei.records.launch import Launch
from keisei.rules.script import Folders, environment, pattern_files
from keisei.sandbox.process import run

HELPERS = Path(keisei.sandbox.__file__).with_name("helper")
PATTERNS = ("^git( |$)", r"a\b\\n%s$HOME*", " two  blanks ", "-n", "ä")


@pytest.fixture
def ask(tmp_path):
    lists = {"policy::no-git-ops": {"tool-patterns": PATTERNS, "tools-denied": (), "paths": ()}}
    folder = tmp_path / "patterns"
    for name, content in pattern_files(lists).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    folders = Folders(helpers=str(HELPERS), patterns=str(folder), home=str(tmp_path))

    def asked(*argv: str, **changes: str):
        env = {**environment({}, {}, "/usr/bin:/bin", folders), **changes}
        return run(Launch(argv=argv, cwd=str(tmp_path), env=env, timeout_s=60))

    return asked


def test_a_list_is_printed_one_value_per_line_and_unchanged(ask):
    ended = ask("capability_patterns", "policy::no-git-ops", "tool-patterns")

    assert (ended.code, ended.stderr) == (0, b"")
    assert ended.stdout.decode() == "".join(f"{pattern}\n" for pattern in PATTERNS)


def test_an_empty_list_prints_nothing(ask):
    ended = ask("capability_patterns", "policy::no-git-ops", "tools-denied")

    assert (ended.code, ended.stdout, ended.stderr) == (0, b"", b"")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        pytest.param([], "usage: capability_patterns NAME KEY", id="none"),
        pytest.param(["policy::no-git-ops"], "usage: capability_patterns NAME KEY", id="one"),
        pytest.param(["a::b", "c", "d"], "usage: capability_patterns NAME KEY", id="three"),
        pytest.param(["no-git-ops", "paths"], "category::slug, not 'no-git-ops'", id="no category"),
        pytest.param(["a::b::c", "paths"], "category::slug, not 'a::b::c'", id="two separators"),
        pytest.param(["::b", "paths"], "category::slug, not '::b'", id="empty category"),
        pytest.param(["..::..", "paths"], "category::slug, not '..::..'", id="climbing name"),
        pytest.param(["a/b::c", "paths"], "category::slug, not 'a/b::c'", id="slash"),
        pytest.param(["Policy::x", "paths"], "category::slug, not 'Policy::x'", id="upper case"),
        pytest.param(["a::b\nc", "paths"], "category::slug, not 'a::b\nc'", id="newline"),
        pytest.param(["policy::other", "paths"], "'policy::other' are not at hand", id="unknown capability"),
        pytest.param(["policy::no-git-ops", "nope"], "has no list 'nope'", id="unknown list"),
        pytest.param(["policy::no-git-ops", "../x"], "'../x' is not the name of a list", id="climbing key"),
        pytest.param(["policy::no-git-ops", ""], "'' is not the name of a list", id="empty key"),
    ],
)
def test_what_is_not_a_list_is_refused_with_exit_1(arguments, sentence, ask):
    ended = ask("capability_patterns", *arguments)

    assert (ended.code, ended.stdout) == (1, b"")
    assert sentence in ended.stderr.decode()


def test_outside_a_script_of_a_capability_it_says_what_is_missing(ask):
    ended = ask("capability_patterns", "policy::no-git-ops", "paths", KEISEI_PATTERNS_DIR="")

    assert ended.code == 1
    assert b"KEISEI_PATTERNS_DIR is not set" in ended.stderr


def test_a_gate_of_seed_000_reads_its_patterns_and_refuses(ask, tmp_path):
    gate = tmp_path / "gate.sh"
    gate.write_text(
        "#!/bin/sh\nset -eu\n"
        "capability_patterns policy::no-git-ops tool-patterns >list\n"
        'if grep -qEf list; then echo "a command of git" >&2; exit 2; fi\n'
    )
    gate.chmod(0o755)

    assert ask(str(gate)).code == 0
    refused = ask("sh", "-c", f"echo 'git push' | {gate}")
    assert (refused.code, refused.stderr) == (2, b"a command of git\n")
