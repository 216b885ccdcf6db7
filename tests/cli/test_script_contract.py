"""The verify.sh of the originals, end to end: what it finds around it, and what its end means."""

import json

import pytest

from tests.cli.foreground import Held

MANIFEST = """\
[capability]
name = "quality::own"
category = "quality"
version = "1.0"
description = "A script's."
rationale = "It is asked."

[text]
path = "text.md"

[verify]
path = "verify.sh"
run-from = "main-worktree"
when = "on-return"
timeout-s = 20
"""
ROLE = """\
[role]
name = "own"
description = "One capability."
[capabilities]
required = ["quality::own"]
[tools]
allowed = ["Read"]
"""
ORIGINAL = """\
#!/usr/bin/env bash
set -eu
cd "$MAIN_REPO/src"
if ! grep -q new new.txt >/tmp/agent-$AGENT_ID-check.log 2>&1; then
  echo "it is not there" >&2
  tail -5 /tmp/agent-$AGENT_ID-check.log >&2
  exit 1
fi
exit 0
"""


@pytest.fixture
def ask(shell):
    """What a script says of work that adds `src/new.txt`."""
    made = Held(shell)
    own = made.folder / ".keisei/capabilities/quality/own"
    own.mkdir(parents=True)
    (own / "capability.toml").write_text(MANIFEST)
    (own / "text.md").write_text("You MUST be asked.\n")
    (made.folder / ".keisei/roles/own.toml").write_text(ROLE)
    task = made.folder / "task.toml"
    task.write_text('[task]\nrole = "own"\nagent-id = "ag-1"\n[scope]\nfiles-whitelist = ["src/**"]\n')
    (own / "verify.sh").write_text(ORIGINAL)
    made.agent()
    work = shell.folder / "work tree"
    made.git("worktree", "add", "-q", "--detach", str(work))
    (work / "src/new.txt").write_text("new")

    def asked(text):
        (own / "verify.sh").write_bytes(text.encode())
        (own / "verify.sh").chmod(0o755)
        done = shell.run("agent", "verify", task, work, "--json")
        found = {each["capability"]: each for each in json.loads(done.out)["findings"]}
        return done.code, found["quality::own"]

    yield asked
    made.close()


def test_the_originals_example_holds_and_says_why_where_it_does_not(ask):
    assert ask(ORIGINAL)[0] == 0

    code, found = ask(ORIGINAL.replace("-q new", "-q other"))

    assert (code, found["status"], found["reason"]) == (2, "violated", "it is not there")


def test_the_reason_is_the_line_on_standard_error(ask):
    code, found = ask("#!/bin/sh\necho checking\necho it is red >&2\nexit 1\n")

    assert (code, found["status"], found["detail"]) == (2, "violated", "it is red\nchecking")


def test_it_has_a_home_and_both_trees_are_repositories(ask):
    looks = 'git -C "$MAIN_REPO" status && git -C "$WORKTREE_PATH" status'

    assert ask(f'#!/bin/sh\ntouch "$HOME/x" && {looks}\n')[1]["status"] == "held"


@pytest.mark.parametrize("text", ["", "#!/bin/sh\r\nexit 0\r\n", "#!/no/such/shell\nexit 0\n"])
def test_one_that_cannot_run_has_not_been_asked(ask, text):
    code, found = ask(text)

    assert (code, found["status"]) == (3, "error")


@pytest.mark.parametrize("deed", ["echo x >> src/old.txt", 'echo x > "$MAIN_REPO/log.txt"'])
def test_one_that_changes_what_it_checks_is_an_error(ask, deed):
    code, found = ask(f"#!/bin/sh\n{deed}\nexit 0\n")

    assert (code, found["status"]) == (3, "error")
