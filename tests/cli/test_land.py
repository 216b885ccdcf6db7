"""`keisei land`: verified candidates are listed and shown with what was said of them, and land, or not, as you say."""

import json
import sys

import pytest

from keisei.records.error import WorldFault
from tests.cli.foreground import Held
from tests.cli.landing import AFTER, BACK, PATCH, Hands, Harbour, finding
from tests.cli.shop import bare
from tests.cli.test_startup import imported


@pytest.fixture
def harbour(shell):
    made = Harbour(shell)
    yield made
    made.close()


@pytest.fixture
def hands(monkeypatch):
    return Hands(monkeypatch)


# --- looking ----------------------------------------------------------------------------------------------------------


def test_a_new_project_says_where_landings_come_from(harbour):
    assert harbour.out("land", "list").startswith("no landing yet: a task that completes with changes leaves one")
    assert harbour.json("land", "list") == []


def test_landings_are_listed_newest_first(harbour):
    first, second = harbour.offer(), harbour.offer(status="queued", reason=None)

    assert bare(harbour.out("land", "list")) == [
        "landing status branch commits updated task reason",
        "<1> queued main - <time> <2> -",
        "<3> held main - <time> <4> a person decides",
    ]
    assert [each["landing_id"] for each in harbour.json("land", "list")] == [second, first]
    assert [each["landing_id"] for each in harbour.json("land", "list", "--limit", 1)] == [second]


def test_the_list_can_be_of_some_statuses(harbour):
    first = harbour.offer()
    harbour.offer(status="queued", reason=None)

    assert [each["landing_id"] for each in harbour.json("land", "list", "--status", "held")] == [first]
    assert len(harbour.json("land", "list", "--status", "held", "--status", "queued")) == 2
    assert harbour.out("land", "list", "--status", "landed", "--status", "rejected") == (
        "no landing is landed or rejected; `keisei land list` shows all\n"
    )


def test_a_status_that_there_is_not_is_a_mistake(harbour):
    assert harbour.run("land", "list", "--status", "merged").code == 1


def test_a_landing_is_shown_with_what_was_said_of_it_and_what_it_changes(harbour):
    landing = harbour.offer(
        findings=[
            finding(),
            finding("quality::check-green", "violated", severity="warn", reason="red before \x1b and not worse"),
            finding("safety::no-dep-bump", "not-applicable"),
        ],
    )

    lines = harbour.out("land", "show", landing).splitlines()

    assert f"landing_id: {landing}" in lines
    assert "status: held" in lines
    assert f"candidate_commit: {'c' * 40}" in lines
    assert "subject: Mend it." in lines
    verdict = lines.index("verdict: 1 of 2 held")
    assert lines[verdict + 1] == "  quality::check-green: violated, red before \\x1b and not worse (a warning)"
    changed = lines.index("changed: 2 files, +3 -1")
    assert lines[changed + 1 : changed + 3] == ["  src/new.txt +2 -0", "  src/old.txt +1 -1"]
    assert any(line.startswith(f"keisei land approve {landing}: ") for line in lines)
    assert any(line.startswith(f"keisei land reject {landing}: ") for line in lines)


def test_a_landing_is_shown_as_data(harbour):
    landing = harbour.offer(findings=[finding(), finding("scope::files-whitelist", "error")])

    told = harbour.json("land", "show", landing)

    assert set(told) == {"landing", "subject", "verdict", "findings", "changes", "ref", "effects"}
    assert told["landing"] == harbour.json("land", "list")[0]
    assert (told["verdict"]["held"], told["verdict"]["asked"]) == (1, 2)
    assert [each["capability"] for each in told["verdict"]["failed"]] == ["scope::files-whitelist"]
    assert [each["path"] for each in told["changes"]] == ["src/new.txt", "src/old.txt"]
    assert sorted(told["effects"]) == ["approve", "reject"]


def test_what_has_landed_shows_its_commits_and_how_to_take_it_back(harbour, hands):
    landing = harbour.offer()
    harbour.out("land", "approve", landing)

    lines = harbour.out("land", "show", landing).splitlines()

    assert hands.asked == [("land", landing)]
    assert "commits: 3f2a91c -> 8be07d4" in lines
    assert f"after_commit: {AFTER}" in lines
    assert any(line.startswith(f"keisei land revert {landing}: ") for line in lines)
    assert "3f2a91c -> 8be07d4" in harbour.out("land", "list")


def test_the_patch_is_printed_byte_for_byte(harbour):
    assert harbour.run("land", "show", harbour.offer(), "--diff").raw == PATCH


def test_the_patch_commands_no_terminal(harbour, monkeypatch):
    landing = harbour.offer()
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)

    done = harbour.run("land", "show", landing, "--diff")

    assert b"\x1b" not in done.raw
    assert b"+two \\x1b[31m\n" in done.raw


def test_a_patch_that_is_elsewhere_is_named(harbour):
    landing = harbour.offer(patch=b"")

    done = harbour.run("land", "show", landing, "--diff")

    assert (done.code, done.out) == (1, "")
    assert f"git show {'c' * 40}" in done.err
    assert harbour.json("land", "show", landing)["changes"] == []


def test_a_patch_is_no_json(harbour):
    assert harbour.run("land", "show", harbour.offer(), "--diff", "--json").code == 1


# --- ids --------------------------------------------------------------------------------------------------------------


def test_an_id_may_be_shortened_as_long_as_it_means_one(harbour):
    first, second = harbour.offer(), harbour.offer()
    same = next(place for place in range(len(first)) if first[place] != second[place])

    assert harbour.json("land", "show", first[: same + 1])["landing"]["landing_id"] == first
    done = harbour.run("land", "show", first[:same])
    assert (done.code, "2 landings have an id that begins with" in done.err) == (1, True)


@pytest.mark.parametrize("given", ["nobody", "", "\x1b[31m", "%", "_" * 36, "x" * 5000])
@pytest.mark.parametrize("verb", ["show", "approve", "reject", "revert"])
def test_an_id_that_nobody_has_is_a_mistake_and_changes_nothing(harbour, hands, verb, given):
    landing = harbour.offer()

    done = harbour.run("land", verb, given)

    assert done.code == 1
    assert done.err.startswith("error: no landing has the id")
    assert "\x1b" not in done.err
    assert (harbour.landing(landing).status, hands.asked) == ("held", [])


def test_the_id_of_a_task_is_answered_with_its_landing(harbour):
    landing = harbour.offer()

    done = harbour.run("land", "show", harbour.landing(landing).task_id)

    assert f"that is a task: its landing is {landing}" in done.err


# --- approving --------------------------------------------------------------------------------------------------------


def test_an_approved_candidate_lands_in_this_terminal(harbour, hands):
    landing = harbour.offer()

    done = harbour.run("land", "approve", landing, "--reason", "looks good")

    assert (done.code, done.err) == (0, "")
    assert done.out == f"{landing} landed 3f2a91c -> 8be07d4 on main\n"
    stored = harbour.landing(landing)
    assert (stored.status, stored.approved) == ("landed", True)
    assert stored.decided_by.startswith("operator:")
    assert hands.asked == [("land", landing)]


def test_with_no_wait_it_only_waits_for_its_turn(harbour, hands):
    landing = harbour.offer()

    (told,) = harbour.json("land", "approve", landing, "--no-wait")

    assert (told["landing_id"], told["status"]) == (landing, "queued")
    assert (harbour.landing(landing).status, hands.asked) == ("queued", [])


@pytest.mark.parametrize(("fate", "code"), [("landed", 0), ("rejected", 2), ("held", 3)])
def test_the_exit_code_says_what_became_of_it(harbour, hands, fate, code):
    landing = harbour.offer()
    hands.then[landing] = fate

    done = harbour.run("land", "approve", landing, "--json")

    assert done.code == code
    assert [each["status"] for each in json.loads(done.out)] == [fate]


def test_what_is_held_again_says_why_and_what_to_do(harbour, hands):
    landing = harbour.offer()
    hands.then[landing] = "held"

    done = harbour.run("land", "approve", landing)

    why = "src/cart.txt has changes that nobody has committed"
    assert done.out == f"{landing} held: {why}; keisei land approve {landing}\n"


def test_several_land_in_the_order_they_were_named_and_the_worst_end_counts(harbour, hands):
    first, second, third = harbour.offer(), harbour.offer(), harbour.offer()
    hands.then[second] = "rejected"

    done = harbour.run("land", "approve", third, second, first, third)

    assert done.code == 2
    assert [each[1] for each in hands.asked] == [third, second, first]
    assert [line.split()[:2] for line in done.out.splitlines()] == [
        [third, "landed"],
        [second, "rejected:"],
        [first, "landed"],
    ]


def test_an_id_that_nobody_has_keeps_all_of_them_back(harbour, hands):
    landing = harbour.offer()

    assert harbour.run("land", "approve", landing, "nobody").code == 1
    assert (harbour.landing(landing).status, hands.asked) == ("held", [])


def test_one_that_is_over_is_told_and_holds_up_no_other(harbour, hands):
    over, landing = harbour.offer(), harbour.offer()
    harbour.out("land", "reject", over)

    done = harbour.run("land", "approve", over, landing)

    assert done.code == 2
    assert f"landing {over} is rejected" in done.err
    assert (harbour.landing(landing).status, harbour.landing(over).status) == ("landed", "rejected")
    assert hands.asked == [("land", landing)]


def test_what_waits_for_its_turn_already_lands_now(harbour, hands):
    landing = harbour.offer(status="queued", reason=None)

    assert harbour.run("land", "approve", landing).code == 0
    assert hands.asked == [("land", landing)]


def test_a_fault_on_the_way_is_told_and_leaves_it_in_the_queue(harbour, hands):
    first, second = harbour.offer(), harbour.offer()
    hands.then[first] = WorldFault("the repository is away")

    done = harbour.run("land", "approve", first, second)

    assert (done.code, done.err) == (3, "error: the repository is away\n")
    assert (harbour.landing(first).status, harbour.landing(second).status) == ("queued", "landed")


# --- rejecting and reverting ------------------------------------------------------------------------------------------


def test_a_rejected_candidate_stays_off_main(harbour, hands):
    landing = harbour.offer()

    done = harbour.run("land", "reject", landing, "--reason", "the wrong discount")

    assert (done.code, done.out) == (0, f"{landing} rejected: the wrong discount\n")
    assert (harbour.landing(landing).status, hands.asked) == ("rejected", [])
    again = harbour.run("land", "reject", landing)
    assert (again.code, f"landing {landing} is rejected" in again.err) == (2, True)


def test_with_respawn_a_new_task_takes_over(harbour, hands):
    landing = harbour.offer()

    told = harbour.json("land", "reject", landing, "--respawn", "--reason", "once more")

    assert (told["status"], told["respawned_as"]) == ("rejected", "task-2")
    assert hands.asked == [("respawn", landing)]


def test_what_was_rejected_before_can_be_taken_over_too(harbour, hands):
    landing = harbour.offer()
    harbour.out("land", "reject", landing, "--reason", "no")

    done = harbour.out("land", "reject", landing, "--respawn")

    assert done.splitlines() == [
        f"{landing} rejected: no",
        "task task-2 takes over: `keisei task watch task-2` follows it",
    ]
    assert hands.asked == [("respawn", landing)]


def test_what_has_landed_is_not_rejected(harbour, hands):
    landing = harbour.offer()
    harbour.out("land", "approve", landing)

    done = harbour.run("land", "reject", landing, "--respawn")

    assert (done.code, done.out) == (2, "")
    assert hands.asked == [("land", landing)]


def test_what_has_landed_can_be_taken_back(harbour, hands):
    landing = harbour.offer()
    harbour.out("land", "approve", landing)

    assert harbour.out("land", "revert", landing, "--reason", "it broke") == (
        f"{landing} reverted by {BACK[:7]} on main\n"
    )
    assert hands.asked[-1] == ("revert", landing, "it broke", "operator")
    assert harbour.landing(landing).status == "reverted"


def test_what_has_not_landed_cannot_be_taken_back(harbour, hands):
    landing = harbour.offer()

    done = harbour.run("land", "revert", landing, "--json")

    assert (done.code, done.out) == (2, "")
    assert "there is nothing to take back" in done.err
    assert hands.asked


def test_a_reason_that_is_no_text_is_a_mistake(harbour, hands):
    landing = harbour.offer()

    assert harbour.run("land", "reject", landing, "--reason", "\udcff").code == 1
    assert (harbour.landing(landing).status, hands.asked) == ("held", [])


def test_deciding_answers_whoever_was_asked(harbour, hands):
    landing = harbour.offer(status="queued", reason=None)
    hands.then[landing] = "held"
    assert harbour.run("land", "approve", landing).code == 3
    (asked,) = harbour.json("approval", "list")
    assert (asked["kind"], asked["key"]) == ("landing", f"landing:{landing}")

    harbour.out("land", "reject", landing)

    assert harbour.json("approval", "list") == []


# --- a real repository ------------------------------------------------------------------------------------------------


@pytest.fixture
def candidate(shell):
    """A repository whose agent has left a verified candidate."""
    made = Held(shell)
    made.agent("echo new > src/new.txt", file_changes=["src/new.txt"])
    assert made.run(*made.words()).code == 0
    (landing,) = made.json("land", "list")
    yield made, landing["landing_id"]
    made.close()


def test_a_candidate_lands_and_is_taken_back(candidate):
    place, landing = candidate
    before = place.git("rev-parse", "main").strip()

    approved = place.run("land", "approve", landing)

    after = place.git("rev-parse", "main").strip()
    assert (approved.code, approved.out) == (0, f"{landing} landed {before[:7]} -> {after[:7]} on main\n")
    assert (place.folder / "src/new.txt").read_text() == "new\n"
    assert "on main" in approved.err
    assert place.json("approval", "list") == []
    reverted = place.run("land", "revert", landing, "--reason", "not yet")
    assert reverted.code == 0
    assert reverted.out == f"{landing} reverted by {place.git('rev-parse', 'main')[:7]} on main\n"
    assert not (place.folder / "src/new.txt").exists()
    assert place.git("status", "--porcelain") == ""


def test_the_shown_patch_is_what_lands(candidate):
    place, landing = candidate
    (place.shell.folder / "patch").write_bytes(place.run("land", "show", landing, "--diff").raw)

    place.git("apply", "--index", str(place.shell.folder / "patch"))

    assert place.git("diff", "--cached", "--name-only") == "src/new.txt\n"
    assert place.git("write-tree").strip() == place.json("land", "show", landing)["landing"]["tree"]


def test_files_in_the_way_hold_it_and_are_named(candidate):
    place, landing = candidate
    (place.folder / "src/new.txt").write_text("mine\n")

    done = place.run("land", "approve", landing)

    assert done.code == 3
    assert "src/new.txt" in done.out
    assert (place.folder / "src/new.txt").read_text() == "mine\n"
    (place.folder / "src/new.txt").unlink()
    assert place.run("land", "approve", landing).code == 0


def test_a_rejected_candidate_is_tried_again_by_a_new_task(candidate):
    place, landing = candidate

    told = place.json("land", "reject", landing, "--respawn", "--reason", "name it newer.txt")

    assert place.task(told["respawned_as"])["parent_task_id"] == told["task_id"]
    again = place.json("land", "reject", landing, "--respawn")
    assert again["respawned_as"] == told["respawned_as"]


def test_help_needs_no_store():
    assert "keisei.store" not in imported("land", "--help")
