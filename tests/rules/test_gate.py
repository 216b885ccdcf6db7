"""The judgement: effects against a policy, without a file system and without a shell."""
# ruff: noqa: S108 - paths that are judged, and never opened

import msgspec
import pytest

from keisei.records.effect import UNKNOWN, Command, Effects, Target, ToolCall
from keisei.rules.atom_tool import PREFIX, AtomReach
from keisei.rules.gate import Place, Verdict, judge, one_line
from keisei.rules.policy import Globs, Patterns, Policy, Rule

WORK = "/home/me/work"
BASH = ToolCall(tool="Bash", input={})
WRITE = ToolCall(tool="Write", input={})


def policy(*rules, **more):
    return Policy(role="worker", rules=rules, worktree=more.pop("worktree", WORK), home="/home/me", **more)


def run(text, via="", *, listed=True):
    return Command(argv=tuple(text.split()), text=text, exact=text, via=via, listed=listed)


def commands(*texts):
    return Effects(commands=tuple(map(run, texts)))


def target(path, how="Write", **more):
    return Target(path=path, cwd=WORK, how=how, **more)


def plain(where):
    """A file system without links: a path is where it says."""
    path = where.path if where.path.startswith("/") else f"{where.cwd}/{where.path}"
    return [Place(path, path, path)]


def writes(*paths):
    return Effects(writes=tuple(map(target, paths)))


def judged(rules, effects, call=BASH, resolve=plain, scripts=None, **more):
    return judge(policy(*rules, **more), call, effects, resolve, scripts or {})


def deny(*items, name="policy::deny", **more):
    return Rule(capability=name, patterns=(Patterns(mode="deny", items=items),), **more)


def only(*items, name="role::bash", **more):
    return Rule(capability=name, patterns=(Patterns(mode="allow-only", items=items),), **more)


def write_only(*items, name="scope::files-whitelist", **more):
    return Rule(capability=name, globs=(Globs(mode="allow-only", items=items),), **more)


def protect(*items, name="scope::files-denylist", strict=True, **more):
    return Rule(capability=name, globs=(Globs(mode="deny", items=items, strict=strict),), **more)


def decisions(rules, *cases, **more):
    return [judged(rules, each, **more).decision for each in cases]


# --- lists that forbid and lists that allow ---------------------------------------------------------------------------


def test_nothing_is_against_a_call_that_no_rule_speaks_of():
    found = judged([deny("^git( |$)")], commands("ls -l"))

    assert (found.decision, found.cause, found.reason, found.notes) == ("allow", "rule", None, ())


def test_every_command_is_tried_on_a_list_that_forbids():
    found = judged([deny("^npm ", "^git( |$)")], commands("ls", "git push"))

    assert (found.decision, found.cause) == ("deny", "rule")
    assert (found.capability, found.rule) == ("policy::deny", "^git( |$)")


def test_every_command_must_be_on_a_list_that_allows():
    assert decisions([only("^ls( |$)")], commands("ls"), commands("ls", "cat x")) == ["allow", "deny"]


def test_a_launcher_that_is_looked_through_need_not_be_listed():
    effects = Effects(commands=(run("env ls", listed=False), run("ls", via="env")))

    assert judged([only("^ls( |$)")], effects).decision == "allow"


def test_a_launcher_that_is_looked_through_is_still_forbidden_by_name():
    effects = Effects(commands=(run("env ls", listed=False), run("ls", via="env")))

    assert judged([deny("^env( |$)")], effects).decision == "deny"


def test_a_list_that_allows_reads_the_program_as_it_was_called():
    """`/tmp/ls` is not `ls`: what forbids looks at the name, what allows at the path."""
    fake = Command(argv=("/tmp/ls",), text="ls", exact="/tmp/ls")

    assert judged([only("^ls( |$)")], Effects(commands=(fake,))).decision == "deny"
    assert judged([deny("^ls( |$)")], Effects(commands=(fake,))).decision == "deny"


def test_a_line_break_hides_nothing_from_a_list_that_forbids():
    assert judged([deny("^curl .*github")], commands("curl -d 'a\nb' github")).decision == "deny"


def test_a_line_break_carries_nothing_past_a_list_that_allows():
    assert judged([only("^echo .*$")], commands("echo a")).decision == "allow"
    assert judged([only(r"^echo [a-z]+\Z")], commands("echo a\nrm -rf /")).decision == "deny"


def test_doubled_blanks_hide_nothing():
    assert judged([deny("^git push")], commands("git   push")).decision == "deny"


def test_the_home_folder_and_the_worktree_are_read_as_people_write_them():
    assert judged([deny("^rm .*~/")], commands("rm -rf /home/me/x")).decision == "deny"
    assert judged([deny(r"^rm -rf \./src$")], commands(f"rm -rf {WORK}/src")).decision == "deny"


# --- what cannot be read ----------------------------------------------------------------------------------------------

UNREADABLE = Effects(unresolved=("the program in `$X push` is not known beforehand",))


@pytest.mark.parametrize("rule", [deny("^git"), only("^ls"), write_only("src/**")], ids=["deny", "only", "paths"])
def test_a_command_word_nobody_knows_is_refused_by_rules_that_restrict(rule):
    found = judged([rule], UNREADABLE)

    assert found.decision == "deny"
    assert "`$X push`" in found.reason
    assert "write it out" in found.instead


def test_a_command_word_nobody_knows_is_no_business_of_a_rule_about_tools():
    assert judged([Rule(capability="role::tools", tools_allowed=("Bash",))], UNREADABLE).decision == "allow"


def test_an_argument_nobody_knows_is_not_refused():
    effects = commands(f"ls {UNKNOWN}")

    assert decisions([deny("^git"), only("^ls( |$)")], effects) == ["allow"]


UNKNOWN_CALL = Effects(unknown="the tool `Frobnicate` is not known")


@pytest.mark.parametrize("rule", [deny("^git"), only("^ls"), write_only("src/**"), protect("x")])
def test_a_call_nobody_can_read_is_refused_by_rules_that_restrict(rule):
    found = judged([rule], UNKNOWN_CALL, ToolCall(tool="Frobnicate", input={}))

    assert found.decision == "deny"
    assert "`Frobnicate` is not known" in found.reason


def test_a_tool_that_the_role_lists_by_name_is_vouched_for():
    rules = [Rule(capability="role::tools", tools_allowed=("Frobnicate",)), only("^ls"), write_only("src/**")]

    assert judged(rules, UNKNOWN_CALL, ToolCall(tool="Frobnicate", input={})).decision == "allow"


def test_listing_a_shell_does_not_vouch_for_a_command_nobody_can_read():
    """The role lists Bash; a command that cannot be analysed is refused nevertheless."""
    rules = [Rule(capability="role::tools", tools_allowed=("Bash",)), only("^ls( |$)")]

    assert judged(rules, Effects(unknown="this cannot be analysed (its syntax is wrong)"), BASH).decision == "deny"


# --- tools ------------------------------------------------------------------------------------------------------------


def tools(*allowed, denied=()):
    return Rule(capability="role::tools", tools_allowed=allowed, tools_denied=denied, instead="use Read")


@pytest.mark.parametrize(
    ("tool", "decision"),
    [
        ("Read", "allow"),
        ("read", "deny"),
        ("Reader", "deny"),
        ("Write", "deny"),
        ("mcp__a__b", "deny"),
        ("Task", "deny"),
    ],
)
def test_a_tool_outside_the_list_is_refused_and_names_are_exact(tool, decision):
    assert judged([tools("Read")], Effects(), ToolCall(tool=tool, input={})).decision == decision


def test_an_empty_list_of_tools_refuses_every_tool():
    assert judged([tools()], Effects(), BASH).decision == "deny"


@pytest.mark.parametrize("tool", ["Task", "Agent", "spawn_agent"])
def test_starting_agents_is_refused_unless_it_is_granted(tool):
    call = ToolCall(tool=tool, input={})

    assert judged([tools("Read", "Bash")], Effects(agents=("x",)), call).decision == "deny"
    assert judged([tools("Read", tool)], Effects(agents=("x",)), call).decision == "allow"


def test_a_denied_tool_is_refused_though_it_is_allowed_too():
    found = judged([tools("Edit", denied=("Edit",))], Effects(), ToolCall(tool="Edit", input={}))

    assert (found.decision, found.rule) == ("deny", "Edit")


def test_a_refusal_of_a_tool_names_the_tool_the_rule_and_what_to_do():
    found = judged([tools("Read")], Effects(), ToolCall(tool="Write", input={}))

    assert (found.capability, found.instead) == ("role::tools", "use Read")
    assert "role::tools" in found.reason
    assert "`Write`" in found.reason


# --- severities and broken gates --------------------------------------------------------------------------------------


def test_block_refuses():
    assert judged([deny("^git", severity="block")], commands("git")).decision == "deny"


def test_warn_lets_through_and_tells_the_agent():
    found = judged([deny("^git", severity="warn")], commands("git"))

    assert (found.decision, found.cause, found.reason) == ("allow", "rule", None)
    assert len(found.notes) == len(found.warnings) == 1
    assert "policy::deny" in found.warnings[0]


def test_advisory_lets_through_and_only_records():
    found = judged([deny("^git", severity="advisory")], commands("git"))

    assert (found.decision, found.warnings) == ("allow", ())
    assert found.notes[0].startswith("advisory: policy::deny: ")


def test_a_warning_beside_a_refusal_is_kept():
    found = judged([deny("^git", severity="warn"), deny("push$", name="policy::other")], commands("git push"))

    assert (found.decision, found.capability) == ("deny", "policy::other")
    assert len(found.notes) == 1


SCRIPT = Rule(capability="policy::mine", script="/x/gate.sh")


def scripted(decision, cause, rule=SCRIPT, reason="policy::mine: said so"):
    return {rule.capability: Verdict(rule, decision, cause, rule.script, reason)}


def test_the_answer_of_a_script_is_the_rules_answer():
    found = judged([SCRIPT], commands("ls"), scripts=scripted("deny", "rule"))

    assert (found.decision, found.cause, found.capability) == ("deny", "rule", "policy::mine")
    assert found.reason == "policy::mine: said so"


def test_a_script_that_broke_refuses_and_that_is_no_violation():
    found = judged([SCRIPT], commands("ls"), scripts=scripted("deny", "error"))

    assert (found.decision, found.cause) == ("deny", "error")


def test_a_script_that_broke_and_lets_through_leaves_its_mark():
    found = judged([SCRIPT], commands("ls"), scripts=scripted("allow", "error", reason="policy::mine: broke"))

    assert (found.decision, found.cause) == ("allow", "error")
    assert found.notes == ("policy::mine: broke",)


def test_a_broken_script_that_only_warns_does_not_refuse():
    loose = msgspec.structs.replace(SCRIPT, severity="warn")

    found = judged([loose], commands("ls"), scripts=scripted("deny", "error", loose))

    assert found.decision == "allow"


def test_a_rule_that_allowed_because_it_broke_does_not_overrule_a_refusal():
    found = judged([SCRIPT, deny("^git")], commands("git"), scripts=scripted("allow", "error"))

    assert (found.decision, found.cause, found.capability) == ("deny", "rule", "policy::deny")


def test_a_script_that_plainly_allows_says_nothing():
    found = judged([SCRIPT], commands("ls"), scripts=scripted("allow", "rule", reason=""))

    assert (found.decision, found.cause, found.notes) == ("allow", "rule", ())


def test_of_several_refusals_the_one_that_is_forbidden_by_name_is_told():
    rules = [only("^ls( |$)", name="role::bash"), write_only(), deny("^git( |$)", name="policy::no-git-ops")]

    found = judged(rules, commands("git push"))

    assert (found.capability, found.rule) == ("policy::no-git-ops", "^git( |$)")


def test_of_several_refusals_without_a_name_the_first_is_told():
    found = judged([only("^ls"), only("^cat", name="tools::bash-allowlist")], commands("git push"))

    assert found.capability == "role::bash"


# --- the reason -------------------------------------------------------------------------------------------------------

LONG = "x" * 5000


@pytest.mark.parametrize(
    ("rules", "effects"),
    [
        ([deny("^git")], commands(f"git {LONG}")),
        ([only("^ls")], commands(f"git\n{LONG}\ny")),
        ([write_only("src/**")], writes(f"/etc/{LONG}")),
        ([protect("**")], writes(f"a\nb/{LONG}")),
        ([tools("Read")], Effects()),
        ([only("^ls")], Effects(unresolved=(LONG,))),
        ([only("^ls")], Effects(unknown=LONG)),
        ([SCRIPT], Effects()),
    ],
    ids=["deny", "only", "paths", "protected", "tool", "unresolved", "unknown", "script"],
)
def test_a_reason_is_one_line_of_at_most_two_hundred_characters(rules, effects):
    call = ToolCall(tool=LONG if rules[0].tools_allowed else "Bash", input={})

    found = judged(rules, effects, call, scripts=scripted("deny", "rule", reason=f"policy::mine: {LONG}\n{LONG}"))

    assert found.decision == "deny"
    assert 0 < len(found.reason) <= 200
    assert len(found.reason.splitlines()) == 1
    assert found.reason.startswith(f"{rules[0].capability}: ")


def test_a_reason_names_the_command_and_where_it_was_found():
    found = judged([deny("^git( |$)")], Effects(commands=(run("git push", via="sh -c"),)))

    assert found.reason == "policy::deny: `git push` (inside sh -c) is refused"


def test_a_reason_names_the_path_and_what_writes_it():
    found = judged([write_only("src/**")], Effects(writes=(target("docs/a.md", how="tee"),)))

    assert found.reason.startswith("scope::files-whitelist: tee writes `docs/a.md`")


def test_a_reason_says_where_a_link_leads():
    found = judged(
        [write_only("src/**")],
        writes("src/a"),
        resolve=lambda _: [Place(f"{WORK}/src/a", "/etc/passwd", "/etc/passwd")],
    )

    assert "which leads to `/etc/passwd`" in found.reason


def test_text_without_words_is_still_a_reason():
    assert one_line(" \n\t") == "refused"


# --- paths ------------------------------------------------------------------------------------------------------------


def test_every_path_written_must_be_on_the_list():
    rules = [write_only("src/**")]

    assert decisions(rules, writes("src/a"), writes("src/a", "docs/b"), writes("/etc/passwd")) == [
        "allow",
        "deny",
        "deny",
    ]


def test_a_path_deleted_must_be_on_the_list_too():
    assert judged([write_only("src/**")], Effects(deletes=(target("docs/a", how="rm"),))).decision == "deny"


def test_a_path_read_need_not_be_on_the_list():
    assert judged([write_only("src/**")], Effects(reads=(target("docs/a"),))).decision == "allow"


def test_an_empty_list_of_paths_refuses_every_write():
    assert decisions([write_only()], writes("a"), Effects()) == ["deny", "allow"]


def test_the_deny_list_wins_over_the_allow_list():
    rules = [write_only("src/**"), protect("src/secret/**")]

    assert decisions(rules, writes("src/a"), writes("src/secret/b")) == ["allow", "deny"]
    assert judged(rules, writes("src/secret/b")).rule == "src/secret/**"


def test_an_empty_deny_list_forbids_nothing():
    assert judged([protect()], writes("a", "/etc/x")).decision == "allow"


@pytest.mark.parametrize("path", ["SRC/Secret/a", "src/SECRET/a", "src/secret/A"], ids=["folder", "upper", "file"])
def test_a_deny_list_ignores_case(path):
    assert judged([protect("src/secret/**")], writes(path)).decision == "deny"


def test_a_deny_list_ignores_forms_of_unicode():
    composed, taken_apart = "caf\u00e9", "cafe\u0301"

    assert judged([protect(f"{composed}/**")], writes(f"{taken_apart}/a")).decision == "deny"
    assert judged([protect(f"{taken_apart}/**")], writes(f"{composed}/a")).decision == "deny"


def test_an_allow_list_takes_letters_as_they_are():
    assert decisions([write_only("src/**")], writes("SRC/a"), writes("src/A")) == ["deny", "allow"]


def test_a_protected_path_in_the_main_checkout_is_protected_too():
    assert judged([protect("keisei.toml")], writes("/main/keisei.toml"), main="/main").decision == "deny"


def test_a_path_of_the_main_checkout_is_not_the_worktrees():
    assert judged([write_only("src/**")], writes("/main/src/a"), main="/main").decision == "deny"


def test_a_folder_whose_name_begins_like_the_worktrees_is_another_one():
    assert judged([write_only("**")], writes(f"{WORK}-other/a")).decision == "deny"


@pytest.mark.parametrize("mode", ["real", "entry"])
def test_both_the_link_and_where_it_leads_must_be_on_the_list(mode):
    """A program that writes by renaming replaces the link; one that opens it writes where it leads."""
    inside, outside = f"{WORK}/src/a", f"{WORK}/docs/a"
    place = Place(inside, outside if mode == "real" else inside, outside if mode == "entry" else inside)

    assert judged([write_only("src/**")], writes("src/a"), resolve=lambda _: [place]).decision == "deny"


@pytest.mark.parametrize("mode", ["lexical", "real", "entry"])
def test_a_protected_path_is_protected_by_whatever_name_it_is_reached(mode):
    place = Place(**{"lexical": f"{WORK}/a", "real": f"{WORK}/a", "entry": f"{WORK}/a", mode: f"{WORK}/secret"})

    assert judged([protect("secret")], writes("a"), resolve=lambda _: [place]).decision == "deny"


def test_a_file_with_several_names_is_not_written():
    def linked(_):
        return [Place(f"{WORK}/src/a", f"{WORK}/src/a", f"{WORK}/src/a", 2)]

    found = judged([write_only("src/**")], writes("src/a"), resolve=linked)

    assert found.decision == "deny"
    assert "2 names" in found.reason
    assert "copy" in found.instead
    assert judged([protect("secret")], writes("src/a"), resolve=linked).decision == "deny"


def test_one_name_of_several_may_be_removed():
    def linked(_):
        return [Place(f"{WORK}/src/a", f"{WORK}/src/a", f"{WORK}/src/a", 2)]

    effects = Effects(deletes=(target("src/a", how="rm", entry=True),))

    assert judged([write_only("src/**")], effects, resolve=linked).decision == "allow"


def test_every_place_a_target_leads_to_is_judged():
    def two(_):
        return [Place(path, path, path) for path in (f"{WORK}/src/a", f"{WORK}/docs/a")]

    assert judged([write_only("src/**")], writes("x"), resolve=two).decision == "deny"


def test_removing_a_tree_that_holds_a_protected_file_is_refused():
    def tree(_):
        return [Place(f"{WORK}/src", f"{WORK}/src", f"{WORK}/src", 1, (f"{WORK}/src/a", f"{WORK}/src/keep/b"))]

    effects = Effects(deletes=(target("src", how="rm", tree=True),))

    assert judged([protect("src/keep/**")], effects, resolve=tree).decision == "deny"
    assert judged([protect("**/b")], effects, resolve=tree).decision == "deny"
    assert judged([protect("docs/**")], effects, resolve=tree).decision == "allow"


@pytest.mark.parametrize(
    ("globs", "decision"),
    [
        (("src", "src/a"), "deny"),
        (("src", "src/*"), "deny"),
        (("src", "src/a", "src/keep", "src/keep/*"), "allow"),
        (("src/**",), "allow"),
        (("{src,docs}/**",), "allow"),
        (("s*", "s*/**/*"), "allow"),
        (("**/*.py", "src"), "deny"),
    ],
)
def test_a_tree_is_removed_where_everything_below_may_be(globs, decision):
    below = (f"{WORK}/src/a", f"{WORK}/src/keep", f"{WORK}/src/keep/b")
    effects = Effects(deletes=(target("src", how="rm", tree=True),))

    def tree(_, more=()):
        return [Place(f"{WORK}/src", f"{WORK}/src", f"{WORK}/src", 1, (*below, *more))]

    assert judged([write_only(*globs)], effects, resolve=tree).decision == decision
    endless = judged([write_only(*globs)], effects, resolve=lambda where: tree(where, (UNKNOWN,)))
    assert endless.decision == ("allow" if globs[-1].endswith("/**") else "deny")


def test_a_folder_is_copied_only_to_where_everything_below_may_be_written():
    def places(where):
        path = f"{WORK}/{where.path}"
        return [Place(path, path, path, 1, (f"{path}/b",) if where.path == "lib" else ())]

    def copied(path):
        return Effects(reads=(target(path, tree=True),), writes=(target("src/a", tree=True),))

    assert judged([write_only("src/*")], copied("lib"), resolve=places).decision == "deny"
    assert judged([write_only("src/**")], copied("lib"), resolve=places).decision == "allow"
    assert judged([write_only("src/*")], copied("a.txt"), resolve=places).decision == "allow"


def test_removing_the_worktree_itself_is_refused_where_anything_is_protected():
    effects = Effects(deletes=(target(".", how="rm", tree=True),))

    assert judged([protect("a/b")], effects, resolve=lambda _: [Place(WORK, WORK, WORK)]).decision == "deny"


def test_a_folder_on_the_way_to_an_allowed_path_may_be_made():
    made = Effects(writes=(target("src", how="mkdir", folder=True),))
    elsewhere = Effects(writes=(target("docs", how="mkdir", folder=True),))

    assert decisions([write_only("src/deep/**")], made, elsewhere) == ["allow", "deny"]


def unknown_path(path):
    return lambda _: [Place(path, path)]


def test_a_path_nobody_knows_is_refused_by_a_list_that_allows():
    found = judged([write_only("**")], writes(UNKNOWN), resolve=unknown_path(f"{WORK}/{UNKNOWN}"))

    assert found.decision == "deny"
    assert "not known beforehand" in found.reason


@pytest.mark.parametrize(
    ("path", "decision"),
    [
        (f"{WORK}/{UNKNOWN}", "deny"),
        (UNKNOWN, "deny"),
        (f"{WORK}/secret/{UNKNOWN}", "deny"),
        (f"{WORK}/other/{UNKNOWN}", "allow"),
        (f"/tmp/{UNKNOWN}", "allow"),
    ],
)
def test_a_path_nobody_knows_is_refused_by_a_strict_deny_list_where_it_could_lead_there(path, decision):
    assert judged([protect("secret/**")], writes("x"), resolve=unknown_path(path)).decision == decision


def test_a_loose_deny_list_refuses_an_unknown_path_only_where_what_is_known_leads_there():
    loose = [protect("secret/**", "**/.git/**", strict=False)]

    assert judged(loose, writes("x"), resolve=unknown_path(f"{WORK}/{UNKNOWN}")).decision == "allow"
    assert judged(loose, writes("x"), resolve=unknown_path(f"{WORK}/secret/{UNKNOWN}")).decision == "deny"
    assert judged(loose, writes("x"), resolve=unknown_path(f"{UNKNOWN}/.git/config")).decision == "deny"


# --- scratch folders --------------------------------------------------------------------------------------------------


def test_temporary_files_may_be_written_whatever_the_list_says():
    assert decisions([write_only("src/**")], writes("/tmp/a"), writes("/var/tmp/a"), writes("/tmpfoo/a")) == [
        "allow",
        "allow",
        "deny",
    ]


def test_a_link_out_of_a_scratch_folder_is_no_temporary_file():
    def out(_):
        return [Place("/tmp/a", "/etc/passwd", "/tmp/a")]

    assert judged([write_only("src/**")], writes("/tmp/a"), resolve=out).decision == "deny"


def test_a_link_into_a_scratch_folder_is_no_temporary_file_either():
    def into(_):
        return [Place(f"{WORK}/docs/a", "/tmp/a", f"{WORK}/docs/a")]

    assert judged([write_only("src/**")], writes("docs/a"), resolve=into).decision == "deny"


@pytest.mark.parametrize(
    ("path", "decision"),
    [
        ("/tmp/x/work/docs/a", "deny"),
        ("/tmp/x/a", "deny"),
        ("/tmp/y/a", "allow"),
        ("/tmp/a", "allow"),
        ("/tmp/x/work/src/a", "allow"),
        ("/tmp/xx/a", "allow"),
    ],
)
def test_a_worktree_inside_a_scratch_folder_is_not_scratch(path, decision):
    rules = [write_only("src/**")]

    assert judged(rules, writes(path), worktree="/tmp/x/work").decision == decision


ATOM = ToolCall(tool=f"{PREFIX}kei-fs__write", input={"path": "a"})
ATOMS = {ATOM.tool: AtomReach(writes=("path",)), f"{PREFIX}mine__odd": AtomReach(unresolved="`mine::odd` says nothing")}


def test_what_everybody_has_for_temporary_files_is_an_atoms_own_and_so_is_no_scratch():
    rules, more = [write_only("src/**")], {"atoms": ATOMS, "scratch": ("/room/tmp", "/tmp", "/var/tmp")}

    for path in ("/tmp/a", "/var/tmp/b/c"):
        found = judged(rules, writes(path), ATOM, **more)
        assert found.decision == "deny"
        assert found.reason.endswith(
            "outside the allowed paths: an atom has such a folder for itself alone, and it vanishes"
        )
        assert judged(rules, writes(path), WRITE, **more).decision == "allow"
    assert judged(rules, writes("/room/tmp/a"), ATOM, **more).decision == "allow"
    assert "vanishes" not in judged(rules, writes("/tmp/w/a"), ATOM, **more, worktree="/tmp/w").reason
    assert judged(rules, writes("/tmp/w/src/a"), ATOM, **more, worktree="/tmp/w").decision == "allow"


def test_an_atom_of_which_nobody_can_tell_what_it_does_is_refused_as_an_atom():
    rules = [only("^ls"), write_only("src/**")]

    found = judged(rules, Effects(unknown="x"), ToolCall(tool=f"{PREFIX}mine__odd", input={}), atoms=ATOMS)

    assert (found.decision, found.cause, found.capability) == ("deny", "rule", "role::tools")
    assert (found.reason, found.instead) == ("role::tools: `mine::odd` says nothing", "call another atom")


def test_a_path_beside_such_a_worktree_must_be_written_out():
    """`../../y` from a worktree in /tmp is a climb, not a temporary file."""

    def beside(_):
        return [Place("/tmp/y/a", "/tmp/y/a", "/tmp/y/a")]

    found = judged([write_only("src/**")], writes("../../y/a"), resolve=beside, worktree="/tmp/x/work")

    assert found.decision == "deny"


def test_a_redirection_is_no_allowed_command_where_no_rule_lists_paths():
    def redirected(path):
        return Effects(commands=(run("ls"),), writes=(target(path, how="redirection"),))

    rules = [only("^ls( |$)")]

    assert decisions(rules, redirected("a"), redirected("/tmp/a")) == ["deny", "allow"]
    assert decisions([*rules, write_only("src/**")], redirected("src/a"), redirected("a")) == ["allow", "deny"]
