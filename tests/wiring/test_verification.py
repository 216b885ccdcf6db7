"""Hostile candidates, end to end: none passes that should not, none is told of what is not so, nothing is left."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from keisei.records.confinement import Machine
from keisei.records.project import ProjectVerification
from keisei.sandbox.confine import level_for
from keisei.sandbox.machine import probe
from keisei.wiring import verification
from tests.wiring.ground import CHECK, SCOPE, TEST, Ground, planned

FOUND = probe()
LEVELS = {
    "full": FOUND,
    "landlock": Machine(bwrap=None, landlock=FOUND.landlock, seccomp=FOUND.seccomp),
    "none": Machine(bwrap=None, landlock=0, seccomp=False),
}
FULL = pytest.mark.skipif(level_for(FOUND, "none")[0] != "full", reason="this machine does not confine fully")
NEW = "echo new > src/new.txt"
ENVIRONMENT = '[environment]\nsetup = "mkdir -p .venv && sh hook.sh"\nkey = ["lock"]\nkeep = [".venv"]\n'
HOOKED = {b"lock": "1\n", b"hook.sh": "echo main > .venv/who\n"}
CACHED = '[verification]\ncaches = ["target"]\n'


@pytest.fixture
def ground(tmp_path):
    made = []

    def make(**more):
        made.append(Ground(tmp_path, **more))
        return made[-1]

    yield make
    for each in made:
        each.close()


def told(verified, capability="test::check"):
    """The status and the reason of one finding."""
    (found,) = [each for each in verified.findings if each.capability == capability]
    return found.status, found.reason


def outputs(verified):
    return [each.output for each in verified.runs]


def is_running(word):
    """Whether a process has this word in its command line."""
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if word.encode() in each.read_bytes().split(b"\0"):
                return True
        except OSError:
            continue
    return False


# --- what a check does to the tree ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("check", "status"),
    [
        ("true", "held"),
        ("touch src/old.txt", "held"),
        ("echo x > src/report.local; mkdir build; echo x > build/out", "held"),
        ("echo x > src/old.txt", "error"),
        ("touch -r src/old.txt $TMPDIR/age; echo OLD > src/old.txt; touch -r $TMPDIR/age src/old.txt", "error"),
        ("rm -rf src", "error"),
        ("rm src/old.txt; ln -s new.txt src/old.txt", "error"),
        ("chmod +x src/old.txt", "error"),
    ],
)
def test_a_check_that_changes_what_it_checks_is_an_error(ground, check, status):
    assert told(ground().verify(NEW, CHECK, check=check))[0] == status


def test_a_changed_file_whose_name_is_no_text_can_be_told_and_stored(ground):
    verified = ground(files={b"src/\xff.txt": "a\n"}).verify(
        NEW, CHECK, check="for each in src/*; do echo > $each; done"
    )

    status, reason = told(verified)
    assert status == "error"
    assert r"src/\xff.txt" in reason
    assert rb"\\xff" in msgspec.json.encode(verified.runs)


@FULL
def test_the_next_check_finds_nothing_of_the_last_one(ground):
    made = ground()
    dirt = (
        "mkdir -p deep/er; echo x > deep/er/x.local; ln src/old.txt hard; mkfifo pipe; ln -s / all; chmod 0 src; true"
    )
    made.verify(NEW, CHECK, check=dirt)

    verified = made.verify(f"{NEW}; echo 2 > src/two.txt", CHECK, check="ls -A . src; stat -c %a src; cat src/old.txt")

    assert outputs(verified) == [
        ".:\n.git\n.gitignore\nkeisei.toml\nsrc\n\nsrc:\nnew.txt\nold.txt\ntwo.txt\n755\nold\n"
    ]


# --- what a check can reach -------------------------------------------------------------------------------------------


def test_programs_of_the_candidate_are_not_found_by_a_relative_path(ground, monkeypatch):
    monkeypatch.setenv("PATH", f"bin::.:{os.environ['PATH']}")
    deed = "mkdir bin; printf '#!/bin/sh\\necho mine\\n' > bin/ls; chmod +x bin/ls; cp bin/ls ls"

    (output,) = outputs(ground().verify(deed, CHECK, check="ls"))

    assert "mine" not in output.split("\n")


@FULL
def test_a_check_reads_no_secret_and_reaches_no_network(ground, tmp_path):
    made = ground()
    (tmp_path / "keys.env").write_text("KEY=canary\n")
    made.git("update-ref", "refs/keisei/candidate/other", "HEAD")
    spy = (
        f"cat {made.root}/keisei.toml {tmp_path}/keys.env /proc/1/environ /etc/shadow; ls {made.home.folder}/worktrees;"
        "git for-each-ref; python3 -c \"import socket; socket.create_connection(('127.0.0.1', 1), 1)\"; env"
    )

    (output,) = outputs(made.verify(NEW, CHECK, check=spy))

    assert "canary" not in output
    assert "refs/keisei" not in output
    assert "[project]" not in output
    assert "KEISEI_HOME" not in output


@FULL
def test_git_works_in_the_checkout_and_changes_nothing(ground):
    made = ground()
    before = made.git("for-each-ref")
    check = "git status --porcelain && git ls-files && git log --format=%s && ! git commit --allow-empty -qm x"

    verified = made.verify(NEW, CHECK, check=f"{check} 2>/dev/null")

    assert told(verified)[0] == "held"
    assert outputs(verified)[0].split("\n")[:4] == [".gitignore", "keisei.toml", "src/new.txt", "src/old.txt"]
    assert made.git("for-each-ref", "refs/heads") == before


# --- what a check says ------------------------------------------------------------------------------------------------


def test_a_check_that_prints_no_text_is_told_as_text(ground):
    verified = ground().verify(NEW, CHECK, check=r"printf 'a\000\033[31mred\033[0m\377\n'; test ! -e src/new.txt")

    status, reason = told(verified)
    assert status == "violated"
    assert reason.isprintable()
    assert msgspec.json.encode(verified.runs)


def test_of_an_endless_output_the_beginning_and_the_end_are_kept(ground):
    verified = ground().verify(NEW, CHECK, check="echo first; head -c 30000000 /dev/zero; echo; echo last; exit 3")

    assert told(verified)[0] == "violated"
    assert {each.severity for each in verified.findings} == {"block"}, "a part that is missing proves nothing"
    output = verified.runs[0].output
    assert (output.startswith("first\n"), output.endswith("\nlast\n"), len(output) < 2_000_000) == (True, True, True)


def test_a_check_that_does_not_end_is_an_error_and_leaves_no_process(ground):
    check = "sleep 98741 & setsid sleep 98741 & (setsid sh -c 'sleep 98741 & sleep 98741' &) ; sleep 98741"

    verified = ground().verify(NEW, planned("command", "check", timeout_s=1.0), check=check)

    assert told(verified) == ("error", told(verified)[1])
    assert "did not end in time" in told(verified)[1]
    assert not is_running("98741")


@FULL
def test_what_a_check_leaves_running_ends_with_it(ground):
    verified = ground().verify(NEW, CHECK, check="(setsid sleep 98742 >/dev/null 2>&1 &); kill -9 $PPID; echo done")

    assert told(verified)[0] == "held"
    deadline = time.monotonic() + 5
    while is_running("98742") and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_running("98742")


@pytest.mark.parametrize(
    ("runner", "status"),
    [
        ("..... [100%]\\n5 passed in 0.10s\\n", "held"),
        ("..... [100%]\\n4 passed in 0.10s\\n", "violated"),
        ("..... [100%]\\n5 passed in 0.10s\\n'; exit 1; '", "violated"),
        ("..... [100%]\\n5 passed in 0.10s\\n'; kill -9 $$; '", "violated"),
        ("1 failed, 5 passed in 0.10s\\n", "violated"),
        ("all is well\\n", "violated"),
        ("", "violated"),
    ],
)
def test_tests_are_believed_by_their_exit_and_their_count(ground, runner, status):
    made = ground(files={b"run.sh": "printf '..... [100%%]\\n5 passed in 0.10s\\n'\n"})

    def deed(root):
        (root / "run.sh").write_text(f"printf '{runner.replace('%', '%%')}'\n")
        (root / "src/new.txt").write_text("new\n")

    assert told(made.verify(deed, TEST, test="sh run.sh"), "test::test")[0] == status


# --- what a candidate holds -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "deed",
    [
        "ln -s /etc/passwd src/link",
        "ln -s ../../.. src/link",
        "ln -s ../.git/config src/link",
        "ln -s link src/link",
        "ln -s ../keisei.toml src/link",
        "ln -s two src/one; ln -s ../keisei.toml src/two",
        "echo 'true' > conftest.py",
        "echo '[x]' > .gitmodules",
    ],
)
def test_what_leads_out_of_the_scope_is_violated(ground, deed):
    assert told(ground().verify(deed, SCOPE), "test::scope")[0] == "violated"


def test_names_that_shells_and_terminals_misread_are_only_names(ground):
    deed = "cd src; touch -- -rf 'a b ' \"$(printf 'n\\nl')\" Case case '$(id)' '\\\\'; mkdir -- --; touch -- --/x"

    verified = ground().verify(deed, SCOPE, CHECK, check="test -e 'src/$(id)' && test -e src/-rf")

    assert {each.status for each in verified.findings} == {"held"}


def test_attributes_of_a_candidate_change_no_byte_of_the_checkout(ground):
    def deed(root):
        (root / ".gitattributes").write_text("* text eol=crlf ident filter=lfs export-subst merge=ours\n")
        (root / "src/crlf.txt").write_bytes(b"a\r\nb $Id$\n")

    check = "test \"$(od -An -tx1 src/crlf.txt | tr -d ' ')\" = 610d0a622024496424 -o $(wc -c < src/crlf.txt) = 10"
    assert told(ground().verify(deed, CHECK, check=check))[0] == "held"


@pytest.mark.parametrize("deed", ["true", "rm -rf src .gitignore keisei.toml"])
def test_nothing_and_the_loss_of_everything_are_candidates_too(ground, deed):
    verified = ground().verify(deed, CHECK, check="ls src")

    assert verified.tree is not None
    assert told(verified)[0] == ("held" if deed == "true" else "violated")


def test_one_file_under_many_names_is_parsed_piece_by_piece_up_to_a_limit(ground, monkeypatch):
    monkeypatch.setattr(verification, "PARSED_AT_ONCE", 100)
    length = planned("diff", "length", parameters={"max-file-lines": 50, "max-function-lines": 5})
    long = "def long():\n" + "    1\n" * 6

    def deed(root):
        for number in range(6):
            (root / f"src/{number}.py").write_text(long)

    made = ground()
    assert "src/5.py" in str(made.verify(deed, length).findings)

    monkeypatch.setattr(verification, "PARSED", 150)

    assert told(made.verify(deed, length), "test::length")[0] == "error"


# --- what outlives a verification -------------------------------------------------------------------------------------


def test_an_environment_is_main_s_whatever_a_candidate_does_to_it(ground):
    made = ground(project=ENVIRONMENT, files=HOOKED)
    first = made.verify(
        f"{NEW}; echo 'echo mine > .venv/who' > hook.sh", CHECK, check="cat .venv/who; echo x > .venv/who"
    )
    second = made.verify(f"{NEW}; echo 2 >> src/new.txt", CHECK, check="cat .venv/who")
    own = made.verify("echo 2 > lock; echo 'echo mine > .venv/who' > hook.sh", CHECK, check="cat .venv/who")
    last = made.verify("echo 3 > src/new.txt", CHECK, check="cat .venv/who")

    assert [outputs(each) for each in (first, second, own, last)] == [["main\n"], ["main\n"], ["mine\n"], ["main\n"]]


def test_no_environment_is_made_of_what_is_rejected(ground):
    made = ground(project=ENVIRONMENT, files=HOOKED)

    verified = made.verify("echo 2 > lock; echo 'echo mine > .venv/who' > hook.sh", CHECK, SCOPE, check="true")

    assert [each.capability for each in verified.findings] == ["engine::merge", "test::check", "test::scope"]
    assert told(verified) == ("skipped", "not run: it would need an environment of its own, and test::scope rejects it")
    assert verified.runs == ()


@pytest.mark.parametrize("link", [".venv", "target"])
def test_a_link_in_the_place_of_what_is_kept_is_not_followed(ground, tmp_path, link):
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "mine").write_text("mine\n")
    made = ground(project=ENVIRONMENT + CACHED, files=HOOKED)

    verified = made.verify(f"ln -s '{victim}' {link}", CHECK, check="mkdir -p target; echo x > target/x")

    assert told(verified)[0] == "error"
    assert f"names `{link}`, which the repository does not ignore" in told(verified)[1]
    assert [each.name for each in victim.iterdir()] == ["mine"]


def test_toolchains_that_hold_a_secret_are_given_to_nobody(ground, tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "keys.env").write_text("canary\n")
    adapter = f'[adapters.agent]\nkind = "script"\ncommand = "sh"\nenv_file = "{tools}/keys.env"\n'
    files = {b"lock": "1\n", b"hook.sh": f"cat '{tools}/keys.env' > .venv/spy; true\n"}
    made = ground(project=f'{ENVIRONMENT}[sandbox]\nread = ["{tools}"]\n{adapter}', files=files)

    verified = made.verify("echo 2 > lock", CHECK, check="cat .venv/spy")

    assert told(verified)[0] == "error"
    assert f"`[sandbox] read` names `{tools}`" in told(verified)[1]
    assert verified.runs == ()


def test_a_cache_is_what_main_has_left(ground):
    made = ground(project=CACHED)
    check = "mkdir -p target; cat target/* 2>/dev/null; cat src/* > target/seen"

    first = made.verify("echo bad > src/new.txt", CHECK, check=check)
    second = made.verify("echo other > src/other.txt", CHECK, check=check)

    assert [outputs(each)[0] for each in (first, second)] == ["old\n", "old\n"]


def test_main_is_asked_once_and_anew_where_the_network_is_another(ground):
    made = ground()
    kept = made.home.folder / "runs"

    def asked(name):
        before = len(list(kept.iterdir())) if kept.exists() else 0
        made.verify(f"echo > src/{name}.txt", CHECK, check="echo red; exit 1")
        return len(list(kept.iterdir())) - before

    assert (asked("one"), asked("two")) == (2, 1)
    file = msgspec.structs.replace(made.home.file, verification=ProjectVerification(network="open"))
    made.shop = made.shop._replace(home=made.home._replace(file=file))
    assert asked("three") == 2


def test_candidates_are_verified_at_the_same_time_each_on_its_own(ground):
    made = ground()

    def one(number):
        check = f"sleep 0.3; test -e src/{number}.txt && test $(ls src | wc -l) = 2"
        return told(made.verify(f"echo > src/{number}.txt", CHECK, check=check))

    with ThreadPoolExecutor(4) as threads:
        assert set(threads.map(one, range(4))) == {("held", None)}


# --- machines that confine less ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", ["landlock", "none"])
def test_checks_run_where_less_is_confined_and_their_checkout_is_not_used_again(ground, level):
    made = ground(machine=LEVELS[level])
    if made.yard.level_now("none") != level:
        pytest.skip("this machine has no landlock that will do")
    check = "mkdir build && echo x > build/out && echo x > left.local && test ! -e src/bad.txt"

    good, bad = (made.verify(f"echo > src/{name}.txt", CHECK, check=check) for name in ("good", "bad"))

    assert (told(good)[0], told(bad)[0]) == ("held", "violated")
    assert not [each.name for each in (made.home.folder / "verifying").iterdir() if each.is_dir()]
