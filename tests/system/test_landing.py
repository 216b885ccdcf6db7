"""Real agents, verified and landed: what is good lands, what is not is rejected by the layer that is named.

Claude Code and Codex as they are, with a model that plays a script. Main is what the operator left, or that and one
commit; a rejected candidate is kept.
"""

import pytest

from keisei.records.move import LandingQuery
from keisei.testing.model import ScriptedModel
from tests.system.agency import Agency, answer, git

TOOLS = {
    "claude-code": lambda command: {"tool": "Bash", "input": {"command": command}},
    "codex": lambda command: {"tool": "exec_command", "input": {"cmd": command}},
}
AGENTS = pytest.mark.parametrize("kind", TOOLS)
EITHER = pytest.mark.parametrize("kind", ["claude-code", pytest.param("codex", marks=pytest.mark.soak)])
"""What is asked of the candidate, whoever made it."""
ROLE = """
[role]
name = "lander"
description = "Edits src and runs programs; its work is verified and lands."
[capabilities]
required = [
  "policy::no-git-ops", "scope::files-whitelist", "scope::files-denylist", "quality::check-green",
  "quality::tests-green", "safety::no-dep-bump",
]
[tools]
allowed = ["Read", "Write", "Edit", "Bash"]
bash-patterns-allowed = ['^(touch|ls|echo|cat|printf|sh|python3|sleep|cp|rm|mkdir)( |$)']
[isolation]
require = "full"
network = "none"
"""
TESTS = """
import unittest
from pathlib import Path

class Sums(unittest.TestCase):
    def test_one(self):
        self.assertEqual(Path("src/one.txt").read_text(), "1\\n")

    def test_two(self):
        self.assertEqual(Path("src/two.txt").read_text(), "2\\n")
"""
WRITER = """
import unittest

class Deed(unittest.TestCase):
    def test_deed(self):
        for path, text in {deeds!r}.items():
            with open(path, "w") as file:
                file.write(text)
"""
"""A program of the repository that writes: the gate does not read what tests do."""
CARGO = '[package]\nname = "a"\nversion = "1.0.0"\n\n[dependencies]\nserde = "1"\n'
FILES = {
    ".keisei/roles/lander.toml": ROLE,
    ".gitignore": "__pycache__/\n*.local\n",
    "src/one.txt": "1\n",
    "src/two.txt": "2\n",
    "src/Cargo.toml": CARGO,
    "src/test_sums.py": TESTS,
}
PROJECT = '[landing]\nauto = true\nrespawn = 0\n\n[commands]\ntest = "python3 -m unittest src.test_sums"\n'


@pytest.fixture
def hire(tmp_path):
    """A project whose verified work lands by itself."""
    hired = []

    def make(kind, model, *, project=PROJECT, **files):
        told = {path.replace("__", "/"): text for path, text in files.items()}
        hired.append(Agency(tmp_path, model, kind, project=project, files={**FILES, **told}))
        return hired[-1]

    yield make
    for each in hired:
        each.close()


def edited(*paths, **more):
    """An answer that claims to have changed files that were there."""
    return answer(file_changes=[{"path": path, "action": "modified"} for path in paths], **more)


def work(agency, *, write=("src/**",), check="test -s src/one.txt", **verification):
    """One task, carried to its end; its attempt."""
    payload = {
        "task": {"role": "lander"},
        "scope": {"files-whitelist": list(write)},
        "verification": {"check": check, **verification},
        "body": {"text": "Work."},
    }
    task_id = agency.add(payload=payload, subject="Work on it")
    agency.run()
    return task_id


def findings(agency, task_id):
    """What did not hold, by capability."""
    found = agency.store.findings(agency.attempt(task_id).attempt_id)
    return {each.capability: each.reason for each in found if each.status not in ("held", "not-applicable")}


def landings(agency):
    return agency.store.landings(LandingQuery())


def rejected_by(agency, task_id, capability, before, base=None):
    """Everything that holds of a candidate that one predicate turns down."""
    attempt = agency.attempt(task_id)
    assert agency.task(task_id).status != "completed"
    assert list(findings(agency, task_id)) == [capability], findings(agency, task_id)
    assert git(agency.root, "rev-parse", "main") == before
    assert git(agency.root, "status", "--porcelain") == ""
    assert landings(agency) == []
    kept = f"refs/keisei/salvage/{attempt.attempt_id}"
    assert kept in agency.refs()
    assert git(agency.root, "rev-parse", f"{kept}~1") == (base or before)
    return True


@AGENTS
def test_what_is_in_scope_and_green_lands(kind, hire):
    script = [TOOLS[kind]("echo 3 > src/three.txt"), answer("src/three.txt")]
    with ScriptedModel(script) as model:
        agency = hire(kind, model)
        before = git(agency.root, "rev-parse", "main")
        task_id = work(agency)

    assert agency.task(task_id).status == "completed", agency.task(task_id).last_error
    (landing,) = landings(agency)
    assert (landing.status, landing.before_commit) == ("landed", before), landing.reason
    assert git(agency.root, "rev-parse", "main") == landing.after_commit
    assert git(agency.root, "rev-parse", "main~1") == before
    assert git(agency.root, "rev-parse", "main^{tree}") == landing.tree
    assert (agency.root / "src/three.txt").read_text() == "3\n"
    assert git(agency.root, "status", "--porcelain") == ""
    message = git(agency.root, "log", "-1", "--format=%B", "main")
    assert message.startswith("Work on it\n")
    assert f"Keisei-Landing: {landing.landing_id}" in message
    asked = {each.capability: each for each in agency.store.findings(landing.attempt_id)}
    assert asked["quality::tests-green"].tree == landing.tree
    assert {each.status for each in asked.values()} == {"held"}


@EITHER
@pytest.mark.parametrize(
    ("deeds", "why"),
    [({"src/old.txt": "older\n"}, "modified"), ({"src/new.md": "x"}, "added")],
    ids=["a file that was there", "a new file"],
)
def test_what_a_program_writes_outside_the_scope_is_rejected_by_verification(kind, deeds, why, hire):
    claim = answer if why == "added" else edited
    script = [TOOLS[kind]("python3 -m unittest src.deed"), claim(*deeds)]
    with ScriptedModel(script) as model:
        agency = hire(kind, model, **{"src__deed.py": WRITER.format(deeds=deeds)})
        before = git(agency.root, "rev-parse", "main")
        task_id = work(agency, write=("src/two.txt", "src/four.txt"))

    assert rejected_by(agency, task_id, "scope::files-whitelist", before)
    assert next(iter(deeds)) in findings(agency, task_id)["scope::files-whitelist"]


@EITHER
def test_a_lie_about_tests_is_rejected_by_the_tests(kind, hire):
    script = [TOOLS[kind]("echo 4 > src/two.txt"), edited("src/two.txt", operator_summary="All 2 tests pass.")]
    with ScriptedModel(script) as model:
        agency = hire(kind, model)
        before = git(agency.root, "rev-parse", "main")
        task_id = work(agency)

    assert rejected_by(agency, task_id, "quality::tests-green", before)
    assert "test_two" in str(agency.store.findings(agency.attempt(task_id).attempt_id))


@EITHER
def test_what_is_green_alone_and_red_with_main_is_rejected_on_the_merged_tree(kind, hire):
    agency = None

    def script(request):
        if request.results:
            return answer("src/three.txt")
        (agency.root / "src/strict.txt").write_text("strict\n")
        git(agency.root, "add", "-A")
        git(agency.root, "commit", "-q", "-m", "main moves on")
        return TOOLS[kind]("echo 3 > src/three.txt")

    with ScriptedModel(script) as model:
        agency = hire(kind, model)
        begun = git(agency.root, "rev-parse", "main")
        task_id = work(agency, check="test ! -e src/strict.txt || test ! -e src/three.txt")

    assert rejected_by(agency, task_id, "quality::check-green", git(agency.root, "rev-parse", "main"), begun)


COMMITTER = """
import subprocess
import unittest

class Deed(unittest.TestCase):
    def test_deed(self):
        done = subprocess.run(["git", "commit", "--allow-empty", "-m", "x"], capture_output=True, text=True)
        print(done.returncode, done.stderr)
"""


@AGENTS
def test_a_commit_through_a_script_is_refused_by_the_gate_and_what_it_cannot_see_by_the_kernel(kind, hire):
    call = TOOLS[kind]
    script = [call("sh src/save.sh"), call("python3 -m unittest src.deed"), answer()]
    with ScriptedModel(script) as model:
        agency = hire(kind, model, **{"src__save.sh": "git commit --allow-empty -m x\n", "src__deed.py": COMMITTER})
        before = git(agency.root, "rev-parse", "main")
        task_id = work(agency)
        told = "\n".join(model.results)

    attempt = agency.attempt(task_id)
    decided = [(each["decision"], each.get("capability")) for each in agency.decisions(attempt)]
    assert decided == [("deny", "policy::no-git-ops"), ("allow", None)]
    assert "Read-only file system" in told
    assert git(agency.root, "rev-parse", "main") == before
    assert git(agency.root, "for-each-ref", "--format=%(refname)", "refs/heads") == "refs/heads/main"
    assert "x" not in git(agency.root, "log", "--all", "--format=%s").splitlines()
    assert landings(agency) == []


@EITHER
def test_a_dependency_in_a_table_of_its_own_is_rejected(kind, hire):
    deeds = {"src/Cargo.toml": CARGO.replace("1.0.0", "1.0.1") + '\n[dependencies.evil]\nversion = "1"\n'}
    script = [TOOLS[kind]("python3 -m unittest src.deed"), edited(*deeds)]
    with ScriptedModel(script) as model:
        agency = hire(kind, model, **{"src__deed.py": WRITER.format(deeds=deeds)})
        before = git(agency.root, "rev-parse", "main")
        task_id = work(agency)

    assert rejected_by(agency, task_id, "safety::no-dep-bump", before)
    assert "evil" in findings(agency, task_id)["safety::no-dep-bump"]


@EITHER
def test_a_test_file_that_was_emptied_is_rejected_by_the_tests(kind, hire):
    less = TESTS.replace('self.assertEqual(Path("src/two.txt").read_text(), "2\\n")', "pass")
    deeds = {"src/test_sums.py": less, "src/two.txt": "4\n"}
    script = [TOOLS[kind]("python3 -m unittest src.deed"), edited(*deeds)]
    with ScriptedModel(script) as model:
        agency = hire(kind, model, **{"src__deed.py": WRITER.format(deeds=deeds)})
        before = git(agency.root, "rev-parse", "main")
        task_id = work(agency)

    assert rejected_by(agency, task_id, "quality::tests-green", before)
    assert "test_two" in str(agency.store.findings(agency.attempt(task_id).attempt_id))


@EITHER
def test_a_check_that_passes_only_in_the_worktree_is_rejected(kind, hire):
    script = [
        TOOLS[kind]("echo x > src/helper.local"),
        TOOLS[kind]("echo 3 > src/three.txt"),
        TOOLS[kind]("cat src/helper.local"),
        answer("src/three.txt"),
    ]
    with ScriptedModel(script) as model:
        agency = hire(kind, model)
        before = git(agency.root, "rev-parse", "main")
        task_id = work(agency, check="test ! -e src/three.txt || test -e src/helper.local")

    assert rejected_by(agency, task_id, "quality::check-green", before)
