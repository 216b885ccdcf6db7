"""`keisei agent verify` and `kei-capability verify`: predicates asked of a worktree, and what is said of it."""

import json
import sys
from types import ModuleType

import pytest

from keisei.records.error import OperatorError, Refused
from keisei.wiring import verify_alone
from tests.cli.foreground import Held
from tests.cli.landing import TREE, finding

BOTH = pytest.mark.parametrize("door", ["keisei", "kei-agent-runtime"])
TASK = '[task]\nrole = "edit-local"\n[scope]\nfiles-whitelist = ["src/**"]\n'


class Eyes(ModuleType):
    """Stand in for verification: says what a test tells it to, and remembers what it was asked."""

    def __init__(self, monkeypatch):
        super().__init__("keisei.wiring.verify_alone")
        self.says = [finding()]
        self.asked = []
        self.Alone = dict
        self.rules_of, self.is_inside = verify_alone.rules_of, verify_alone.is_inside
        monkeypatch.setitem(sys.modules, self.__name__, self)

    def verify_task(self, _settings, catalog, alone):
        self.asked.append(alone)
        assert catalog.resolved_role("edit-local")
        if isinstance(self.says, Exception):
            raise self.says
        return list(self.says)


@pytest.fixture
def eyes(monkeypatch):
    return Eyes(monkeypatch)


@pytest.fixture
def task(shell):
    for name in ("TASK_TOML", "WORKTREE_PATH", "MAIN_REPO", "RUN_MODE", "AGENT_REPORT_PATH", "KEISEI_ATTEMPT_ID"):
        shell._monkeypatch.delenv(name, raising=False)
    path = shell.folder / "task.toml"
    path.write_text(TASK)
    return path


def verify(shell, door, *words):
    return shell.run(*(["agent", "verify"] if door == "keisei" else ["verify"]), *words, command=door)


# --- agent verify -----------------------------------------------------------------------------------------------------


@BOTH
def test_every_finding_is_a_line_and_the_verdict_the_last(shell, eyes, task, door):
    eyes.says = [
        finding(),
        finding("quality::tests-green", "violated", reason="2 tests \x1b fewer"),
        finding("quality::check-green", "violated", severity="warn", reason="red before and not worse"),
        finding("safety::no-dep-bump", "not-applicable"),
    ]

    done = verify(shell, door, task, "tree")

    assert (done.code, done.err) == (2, "")
    assert done.out.splitlines() == [
        "held            policy::no-git-ops",
        "violated        quality::tests-green: 2 tests \\x1b fewer",
        "violated        quality::check-green, only a warning: red before and not worse",
        "not-applicable  safety::no-dep-bump: it is not-applicable",
        "1 of 3 held",
    ]


@BOTH
def test_both_forms_ask_the_same(shell, eyes, task, door):
    main = shell.folder / "main"

    ours = verify(shell, door, task, "tree", "--report", "said.md")
    theirs = verify(shell, door, task, "--worktree", "tree", "--main-repo", main, "--mode", "worktree")

    assert (ours.code, theirs.code) == (0, 0)
    first, second = ({name: value and str(value) for name, value in each.items()} for each in eyes.asked)
    assert first == {
        "task": str(task),
        "worktree": "tree",
        "main_repo": None,
        "mode": "merged",
        "report": "said.md",
        "names": None,
    }
    assert second == first | {"main_repo": str(main), "mode": "worktree", "report": None}


@pytest.mark.parametrize(
    ("mode", "asked"),
    [("merged", ["merged"]), ("simulated-merge", ["merged"]), ("both", ["merged", "worktree"])],
)
def test_the_originals_modes_are_known(shell, eyes, task, mode, asked):
    assert verify(shell, "kei-agent-runtime", task, "--worktree", "tree", "--mode", mode).code == 0
    assert [each["mode"] for each in eyes.asked] == asked


@pytest.mark.parametrize("words", [[], ["a", "--worktree", "b"], ["a", "--mode", "sideways"]], ids=range(3))
def test_what_names_no_worktree_or_two_is_a_mistake(shell, eyes, task, words):
    done = verify(shell, "keisei", task, *words)

    assert (done.code, done.out, eyes.asked) == (1, "", [])


def test_the_report_is_the_originals_with_what_they_left_out(shell, eyes, task):
    eyes.says = [
        finding(),
        finding("quality::tests-green", "violated", reason="2 fewer", detail="a\nb"),
        finding("quality::check-green", "held"),
        finding("quality::check-green", "violated", severity="warn", run_from="worktree"),
        finding("safety::no-dep-bump", "not-applicable"),
    ]

    done = verify(shell, "keisei", task, "tree", "--json")

    told = json.loads(done.out)
    assert done.code == 2
    assert told["passed"] == ["policy::no-git-ops"]
    (failed,) = told["failed"]
    assert (failed["capability"], failed["reason"], failed["detail"]) == ("quality::tests-green", "2 fewer", "a\nb")
    assert [each["capability"] for each in told["warned"]] == ["quality::check-green"]
    assert (len(told["findings"]), told["tree"]) == (5, TREE)


@pytest.mark.parametrize(
    ("said", "code"),
    [
        pytest.param([], 0, id="nothing asked"),
        pytest.param([("held", "block", None)], 0, id="held"),
        pytest.param([("violated", "warn", "x")], 0, id="only warns"),
        pytest.param([("not-applicable", "block", "x")], 0, id="not applicable"),
        pytest.param([("error", "block", "x"), ("violated", "block", "y")], 2, id="violated"),
        pytest.param([("error", "block", "its script did not answer in time"), ("violated", "block", "y")], 2, id="2"),
        pytest.param([("error", "block", "x"), ("held", "block", None)], 3, id="an error"),
        pytest.param([("unknown", "block", "x")], 3, id="unknown"),
        pytest.param([("skipped", "block", "x")], 3, id="skipped"),
        pytest.param([("error", "block", "its script did not answer in time")], 5, id="late"),
        pytest.param([("error", "block", "`make test` took longer than 600 s")], 5, id="too long"),
        pytest.param([("violated", "block", "a file is longer than 200 lines")], 2, id="long, not late"),
    ],
)
def test_the_exit_code_is_the_verdict(shell, eyes, task, said, code):
    eyes.says = [
        finding(f"quality::p{number}", status, severity=severity, reason=reason)
        for number, (status, severity, reason) in enumerate(said)
    ]

    assert verify(shell, "keisei", task, "tree").code == code
    assert verify(shell, "keisei", task, "tree", "--json").code == code


@pytest.mark.parametrize(
    ("fault", "code"),
    [(OperatorError("`tree` is no worktree", "name one"), 1), (Refused("role `git-ops` cannot be spawned"), 2)],
    ids=["a mistake", "refused"],
)
def test_what_cannot_be_verified_is_one_clear_error(shell, eyes, task, fault, code):
    eyes.says = fault

    done = verify(shell, "keisei", task, "tree")

    assert (done.code, done.out) == (code, "")
    assert done.err.startswith(f"error: {fault.message}\n")


def test_the_rules_are_never_read_from_the_worktree(shell, eyes, task):
    agents = shell.folder_of("project/.keisei/roles")
    (shell.folder / "project/keisei.toml").write_text('[project]\nname = "evil"\n')
    (agents / "edit-local.toml").write_text("this is no TOML [")
    main = shell.folder_of("main")
    (main / "keisei.toml").write_text('[project]\nname = "shop"\n')
    shell.cd(shell.folder / "project")

    assert verify(shell, "keisei", task, ".", "--main-repo", main).code == 0
    assert len(eyes.asked) == 1


def test_what_prepare_says_on_return_is_a_command_that_works(shell, eyes, task):
    prepared = json.loads(shell.run("agent", "prepare", task, "--format", "json").out)

    door, verb, *rest = prepared["verify_command"].replace("<worktree-path>", "tree").split()

    assert shell.run(verb, *rest, command=door).code == 0
    assert str(eyes.asked[0]["worktree"]) == "tree"


# --- kei-capability verify --------------------------------------------------------------------------------------------


@pytest.fixture
def surrounded(shell, eyes, task):
    """The environment of the originals."""
    for name, value in {
        "AGENT_ID": "ag-1",
        "TASK_TOML": task,
        "WORKTREE_PATH": "/tree",
        "MAIN_REPO": shell.folder,
        "RUN_MODE": "worktree",
    }.items():
        shell.setenv(name, value)
    return eyes


def asked(shell, *words):
    return shell.run("verify", *words, command="kei-capability")


def test_one_that_holds_is_silent(shell, surrounded, task):
    done = asked(shell, "policy::no-git-ops")

    assert (done.code, done.out, done.err) == (0, "", "")
    (alone,) = surrounded.asked
    assert (alone["task"], str(alone["worktree"]), alone["main_repo"]) == (task, "/tree", shell.folder)
    assert (alone["mode"], alone["names"]) == ("worktree", ("policy::no-git-ops",))


@pytest.mark.parametrize("status", ["violated", "error", "unknown", "skipped"])
def test_one_that_does_not_says_so_as_the_originals_do(shell, surrounded, status):
    surrounded.says = [finding(status=status, reason="it \x1b moved HEAD")]

    done = asked(shell, "policy::no-git-ops")

    assert (done.code, done.out, done.err) == (2, "", "FAIL policy::no-git-ops: it \\x1b moved HEAD\n")


@pytest.mark.parametrize(
    ("said", "err"),
    [
        pytest.param({"status": "not-applicable"}, "", id="no object"),
        pytest.param(
            {"status": "violated", "severity": "warn", "reason": "red before"},
            "WARN policy::no-git-ops: red before\n",
            id="only a warning",
        ),
    ],
)
def test_what_does_not_reject_passes(shell, surrounded, said, err):
    surrounded.says = [finding(**said)]

    done = asked(shell, "policy::no-git-ops")

    assert (done.code, done.err) == (0, err)


@pytest.mark.parametrize("name", ["TASK_TOML", "WORKTREE_PATH"])
def test_a_variable_that_is_missing_is_named(shell, surrounded, name):
    shell.setenv(name, "")

    done = asked(shell, "policy::no-git-ops")

    assert (done.code, done.err) == (2, f"FAIL policy::no-git-ops: the variable {name} is not set\n")
    assert surrounded.asked == []


def test_a_mode_that_nobody_knows_is_named(shell, surrounded):
    shell.setenv("RUN_MODE", "sideways")

    done = asked(shell, "policy::no-git-ops")

    assert done.code == 2
    assert done.err.startswith("FAIL policy::no-git-ops: RUN_MODE is `sideways`")
    assert surrounded.asked == []


@pytest.mark.parametrize(
    "fault",
    [OperatorError("capability `a::b` does not exist\nat all"), OSError(13, "no"), ValueError("x\ny")],
    ids=["ours", "the system's", "a bug"],
)
def test_every_failure_is_one_line_and_exit_2(shell, surrounded, fault):
    surrounded.says = fault

    done = asked(shell, "a::b")

    assert done.code == 2
    assert done.err.startswith("FAIL a::b: ")
    assert done.err.count("\n") == 1
    assert "Traceback" not in done.err


@pytest.mark.parametrize("said", [[], [finding("engine::merge")]], ids=["nothing", "that it merges"])
def test_one_that_has_no_predicate_has_not_held(shell, surrounded, said):
    surrounded.says = said

    assert asked(shell, "tools::deny-tools").code == 2


def test_without_a_name_it_is_a_mistake(shell, surrounded):
    assert asked(shell).code == 2
    assert surrounded.asked == []


# --- a real worktree --------------------------------------------------------------------------------------------------


@pytest.fixture
def place(shell):
    """A repository, a worktree of it, and a task whose scope is `src`."""
    made = Held(shell)
    made.agent()
    made.git("worktree", "add", "-q", "--detach", str(shell.folder / "work tree"))
    (shell.folder / "task.toml").write_text('[task]\nrole = "confined"\n[scope]\nfiles-whitelist = ["src/**"]\n')
    yield made
    made.close()


@BOTH
def test_work_inside_its_scope_holds_and_work_outside_does_not(place, door):
    folder = place.shell.folder
    words = (folder / "task.toml", "--worktree", folder / "work tree", "--main-repo", place.folder)
    (folder / "work tree/src/new.txt").write_text("new")

    inside = verify(place.shell, door, *words)
    (folder / "work tree/README").write_text("outside")
    outside = verify(place.shell, door, *words, "--json")

    assert inside.code == 0, inside
    assert "held            scope::files-whitelist" in inside.out.splitlines()
    assert outside.code == 2
    told = json.loads(outside.out)
    assert [each["capability"] for each in told["failed"]] == ["scope::files-whitelist"]
    assert "README" in told["failed"][0]["reason"]


def test_one_capability_is_asked_of_a_real_worktree(place):
    folder = place.shell.folder
    for name, value in {"TASK_TOML": "task.toml", "WORKTREE_PATH": "work tree"}.items():
        place.shell.setenv(name, folder / value)
    place.shell.setenv("MAIN_REPO", place.folder)

    assert asked(place.shell, "scope::files-whitelist").code == 0
    (folder / "work tree/README").write_text("outside")
    done = asked(place.shell, "scope::files-whitelist")
    unknown = asked(place.shell, "scope::nothing")

    assert (done.code, done.err.startswith("FAIL scope::files-whitelist: "), done.err.count("\n")) == (2, True, 1)
    assert (unknown.code, unknown.err.startswith("FAIL scope::nothing: "), unknown.err.count("\n")) == (2, True, 1)


def test_one_that_has_no_predicate_is_told_so_of_a_real_worktree(place):
    folder = place.shell.folder
    for name, value in {"TASK_TOML": folder / "task.toml", "WORKTREE_PATH": folder / "work tree"}.items():
        place.shell.setenv(name, value)
    place.shell.setenv("MAIN_REPO", place.folder)

    done = asked(place.shell, "tools::deny-tools")

    assert (done.code, done.err) == (2, "FAIL tools::deny-tools: it has no predicate that is asked on return\n")


def test_the_work_as_it_is_need_not_go_together_with_main(place):
    folder = place.shell.folder
    words = (folder / "task.toml", folder / "work tree", "--main-repo", place.folder)
    (folder / "work tree/src/both.txt").write_text("theirs")
    (place.folder / "src/both.txt").write_text("ours")
    place.git("add", "-A")
    place.git("commit", "-q", "-m", "ours")

    merged = verify(place.shell, "keisei", *words)
    alone = verify(place.shell, "keisei", *words, "--mode", "worktree")

    assert (merged.code, "violated        engine::merge" in merged.out) == (2, True)
    assert (alone.code, "engine::merge" in alone.out) == (0, False)


LAX = '[role]\nname = "confined"\ndescription = "Everything."\n[capabilities]\nrequired = []\n[tools]\nallowed = []\n'


@pytest.fixture
def lax(place):
    """The worktree of an agent that has written rules of its own, and works outside its scope."""
    work = place.shell.folder / "work tree"
    (work / ".keisei/roles").mkdir(parents=True, exist_ok=True)
    (work / ".keisei/roles/confined.toml").write_text(LAX)
    (work / "README").write_text("outside")
    place.shell.cd(work)
    return work


@pytest.mark.parametrize("inside", [False, True], ids=["beside it", "in it"])
def test_the_rules_are_never_those_of_the_worktree_where_we_are(place, lax, inside):
    task = place.shell.folder / "task.toml"
    if inside:
        (lax / "task.toml").write_text(task.read_text())

    done = verify(place.shell, "keisei", "task.toml" if inside else "../task.toml", ".")

    assert (done.code, "violated        scope::files-whitelist" in done.out) == (2, True), done
    assert ("in the worktree that it judges" in done.err) is inside


def test_a_worktree_that_says_it_is_another_repository_is_not_believed(place, lax):
    task = place.folder / "task.toml"
    task.write_text((place.shell.folder / "task.toml").read_text())
    (lax / ".git").unlink()
    place.git("init", "-q", "-b", "main", str(lax))
    place.git("-C", str(lax), "add", "-A")
    place.git("-C", str(lax), "commit", "-q", "-m", "all of it was here before")

    done = verify(place.shell, "keisei", task, lax)

    assert (done.code, done.out) == (1, "")
    assert "is no worktree of the repository in" in done.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("checkout", "-q", "--orphan", "new"), "is no checkout of a commit"),
        (("checkout", "-q", "--orphan", "new", "commit"), "has no commit in common with main"),
    ],
    ids=["no commit", "a history of its own"],
)
def test_work_that_did_not_begin_on_main_is_one_clear_error(place, words, told):
    work = place.shell.folder / "work tree"
    place.git("-C", str(work), *words[:4])
    if "commit" in words:
        place.git("-C", str(work), "commit", "-q", "-m", "new")

    done = verify(place.shell, "keisei", place.shell.folder / "task.toml", work, "--main-repo", place.folder)

    assert (done.code, done.out) == (1, "")
    assert told in done.err
