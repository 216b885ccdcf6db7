"""Policies: a role, a task and its capabilities compiled to data that everybody reads."""

import json

import msgspec
import pytest

from keisei.records.capability import (
    CapabilityHead,
    CapabilityManifest,
    GatePart,
    Parameterized,
    Restricts,
    VerifyPart,
)
from keisei.records.error import OperatorError
from keisei.records.form import Lineage
from keisei.records.project import ToolFields
from keisei.records.role import RoleCapabilities, RoleHead, RoleIsolation, RoleManifest, RoleTools
from keisei.records.task_spec import Elevation, SpecOutput, SpecScope, SpecTask, SpecVerification, TaskSpec
from keisei.records.verification import Planned
from keisei.rules.atom_tool import LEAN, PREFIX, AtomReach
from keisei.rules.policy import (
    Check,
    Globs,
    Ground,
    Patterns,
    Policy,
    Rule,
    Sources,
    as_data,
    capability_policy,
    from_data,
    policy_digest,
    role_policy,
)
from keisei.rules.role import resolve_role

GROUND = Ground(worktree="/w")


def capability(name, **parts):
    return CapabilityManifest(capability=CapabilityHead(name=name), **parts)


def pattern_gate(name, *patterns, **gate):
    return capability(name, restricts=Restricts(tool_patterns=patterns), gate=GatePart(kind="pattern", **gate))


NO_GIT = pattern_gate("policy::no-git", "^git( |$)")
NO_NPM = pattern_gate("policy::no-npm", "^npm( |$)")
TEXT_ONLY = capability("output::report")
WHITELIST = capability(
    "scope::files-whitelist",
    parameterized=Parameterized(accepts=("files-whitelist",), defaults={"files-whitelist": ["from-defaults/**"]}),
    gate=GatePart(kind="paths", mode="allow-only", patterns_from="files-whitelist"),
)
ALLOWLIST = capability(
    "tools::bash-allowlist",
    parameterized=Parameterized(
        accepts=("bash-patterns-allowed",), defaults={"bash-patterns-allowed": ["^from-defaults$"]}
    ),
    gate=GatePart(kind="pattern", mode="allow-only", patterns_from="bash-patterns-allowed"),
)
DENY_TOOLS = capability(
    "tools::deny-tools",
    restricts=Restricts(tools_denied=("Edit",)),
    parameterized=Parameterized(accepts=("tools-allowed",)),
    gate=GatePart(kind="tools"),
)


def sources(*manifests, shipped=(), aliases=None, **more):
    by_name = {each.capability.name: each for each in manifests}
    kit = {each.capability.name: each for each in shipped}
    old = aliases or {}

    def manifest(name):
        if name not in by_name:
            raise LookupError(name)
        return by_name[name]

    return Sources(
        manifest=manifest,
        shipped=kit.get,
        canonical=lambda name: old.get(name, name),
        folder=lambda name: f"/kit/{name.replace('::', '/')}",
        **more,
    )


def role(*required, tools=("Read", "Bash"), patterns=("^ls( |$)",), canonical=lambda name: name):
    manifest = RoleManifest(
        role=RoleHead(name="worker"),
        capabilities=RoleCapabilities(required=required),
        tools=RoleTools(allowed=tools, bash_patterns_allowed=patterns),
    )
    return resolve_role("worker", lambda _name: manifest, canonical)


def task(**parts):
    return TaskSpec(task=SpecTask(role="worker", agent_id="ag-1"), **parts)


def compiled(*manifests, spec=None, named=None, **more):
    names = [each.capability.name for each in manifests] if named is None else named
    return role_policy(role(*names), spec or task(), sources(*manifests, **more), GROUND)


def rule(policy, name):
    return next(each for each in policy.rules if each.capability == name)


def names(policy):
    return [each.capability for each in policy.rules]


# --- what stands in it, and in which order ----------------------------------------------------------------------------


def test_the_roles_own_two_rules_come_first_and_the_rest_in_the_order_of_the_role():
    policy = compiled(NO_NPM, WHITELIST, NO_GIT)

    assert names(policy) == ["role::tools", "role::bash", "policy::no-npm", "scope::files-whitelist", "policy::no-git"]


def test_a_capability_without_a_gate_brings_no_rule():
    assert names(compiled(TEXT_ONLY)) == ["role::tools", "role::bash"]


def test_tools_and_commands_are_judged_though_the_role_lists_no_capability_for_them():
    policy = role_policy(role(), task(), sources(), GROUND)

    assert rule(policy, "role::tools").tools_allowed == ("Read", "Bash")
    assert rule(policy, "role::bash").patterns == (Patterns(mode="allow-only", items=("^ls( |$)",)),)
    assert [each.severity for each in policy.rules] == ["block", "block"]


def test_a_role_that_says_nothing_of_tools_allows_none():
    manifest = RoleManifest(role=RoleHead(name="worker"))

    policy = role_policy(resolve_role("worker", lambda _name: manifest, str), task(), sources(), GROUND)

    assert rule(policy, "role::tools").tools_allowed == ()
    assert rule(policy, "role::bash").patterns == (Patterns(mode="allow-only", items=()),)


def test_the_tools_of_a_roles_atoms_are_among_its_tools_and_are_not_told_one_by_one():
    ground = msgspec.structs.replace(GROUND, atoms={f"{PREFIX}kei-fs__read": AtomReach(reads=("path",))})

    policy = role_policy(role(DENY_TOOLS.capability.name), task(), sources(DENY_TOOLS), ground)

    more = (*(PREFIX + each for each in LEAN), f"{PREFIX}kei-fs__read")
    for name in ("role::tools", "tools::deny-tools"):
        assert rule(policy, name).tools_allowed == ("Read", "Bash", *more)
    assert rule(policy, "role::tools").instead == "use Read, Bash, the atoms of this role"
    assert policy.atoms == ground.atoms


@pytest.mark.parametrize("network", ["none", "open"])
def test_an_atom_that_needs_the_network_is_known_to_have_none_where_the_role_has_none(network):
    reach = AtomReach(network=("url",)), AtomReach(talks=True), AtomReach(reads=("path",))
    atoms = dict(zip((f"{PREFIX}kei-http__get", f"{PREFIX}mine__talk", f"{PREFIX}kei-fs__read"), reach, strict=True))
    ground = msgspec.structs.replace(GROUND, atoms=atoms)
    own = role()._replace(isolation=RoleIsolation(network=network))

    found = role_policy(own, task(), sources(), ground).atoms

    said = [each.unresolved for each in found.values()]
    none = [f"`{name}` uses the network, and this role has none" for name in ("kei-http__get", "mine__talk")]
    assert said == ([None] * 3 if network == "open" else [*none, None])


def test_a_role_without_atoms_has_none_of_their_tools():
    assert not any(each.startswith(PREFIX) for each in rule(compiled(), "role::tools").tools_allowed)


def test_a_capability_that_nobody_knows_is_no_policy():
    with pytest.raises(LookupError, match="policy::gone"):
        compiled(NO_GIT, named=["policy::no-git", "policy::gone"])


def test_severity_error_and_bypass_are_read_from_the_file():
    strange = pattern_gate("policy::no-git", "x", severity="warn", on_error="allow", bypass_env="META")

    found = rule(compiled(strange), "policy::no-git")

    assert (found.severity, found.on_error, found.bypass_env) == ("warn", "allow", "META")


# --- elevation and old names ------------------------------------------------------------------------------------------


def elevated(*which):
    return task(elevate=Elevation(capabilities=which, reason="this once"))


def test_an_elevated_capability_does_not_hold_and_that_is_recorded():
    policy = compiled(NO_GIT, NO_NPM, spec=elevated("policy::no-npm"))

    assert names(policy) == ["role::tools", "role::bash", "policy::no-git"]
    assert policy.elevated == ("policy::no-npm",)


def test_a_task_that_elevates_nothing_records_nothing():
    assert compiled(NO_GIT).elevated == ()


def test_elevation_by_an_old_name_drops_the_current_one():
    policy = compiled(NO_GIT, spec=elevated("policy::old-git"), aliases={"policy::old-git": "policy::no-git"})

    assert names(policy) == ["role::tools", "role::bash"]
    assert policy.elevated == ("policy::no-git",)


def test_an_elevated_capability_is_not_checked_after_calls_either():
    checked = capability("quality::quick", verify=VerifyPart(kind="command", command="true", when="per-tool-call"))

    assert compiled(checked).checks != ()
    assert compiled(checked, spec=elevated("quality::quick")).checks == ()


def test_a_capability_asked_for_by_its_old_name_is_the_current_one():
    policy = capability_policy(
        ["policy::old-git"], None, task(), sources(NO_GIT, aliases={"policy::old-git": "policy::no-git"}), GROUND
    )

    assert names(policy) == ["policy::no-git"]
    assert policy.role == "policy::no-git"


def test_capabilities_judged_alone_bring_no_rules_of_a_role():
    policy = capability_policy(["policy::no-npm", "policy::no-git"], role(), task(), sources(NO_GIT, NO_NPM), GROUND)

    assert names(policy) == ["policy::no-npm", "policy::no-git"]


# --- parameters -------------------------------------------------------------------------------------------------------


def globs(policy):
    return rule(policy, "scope::files-whitelist").globs[0].items


def test_parameters_come_from_the_defaults_where_nobody_says_more():
    bare = capability_policy(["tools::bash-allowlist"], None, task(), sources(ALLOWLIST), GROUND)

    assert bare.rules[0].patterns == (Patterns(mode="allow-only", items=("^from-defaults$",)),)


def test_what_the_task_says_wins_over_the_defaults():
    policy = compiled(WHITELIST, spec=task(scope=SpecScope(files_whitelist=("src/**",))))

    assert globs(policy) == ("src/**",)


def test_an_empty_list_of_the_task_is_an_empty_list_and_not_the_default():
    assert globs(compiled(WHITELIST, spec=task(scope=SpecScope()))) == ()


def test_what_the_task_sets_for_the_capability_wins_over_everything():
    spec = task(
        scope=SpecScope(files_whitelist=("src/**",)),
        parameters={"scope::files-whitelist": {"files-whitelist": ["docs/**"]}},
    )

    assert globs(compiled(WHITELIST, spec=spec)) == ("docs/**",)


def test_parameters_under_an_old_name_reach_the_current_capability():
    spec = task(parameters={"scope::old": {"files-whitelist": ["docs/**"]}})

    policy = compiled(WHITELIST, spec=spec, aliases={"scope::old": "scope::files-whitelist"})

    assert globs(policy) == ("docs/**",)


def test_parameters_of_another_capability_do_not_leak():
    spec = task(parameters={"policy::no-git": {"files-whitelist": ["**"]}})

    assert globs(compiled(WHITELIST, NO_GIT, spec=spec)) == ()


def test_a_capability_gets_only_what_it_accepts():
    spec = task(scope=SpecScope(files_whitelist=("src/**",)), output=SpecOutput(report_fields_required=("summary",)))

    assert rule(compiled(NO_GIT, spec=spec), "policy::no-git").parameters == {}


def test_the_roles_patterns_win_over_those_of_the_allow_list():
    assert rule(compiled(ALLOWLIST), "tools::bash-allowlist").patterns[0].items == ("^ls( |$)",)


def test_the_deny_list_of_tools_also_refuses_what_the_role_does_not_list():
    found = rule(compiled(DENY_TOOLS), "tools::deny-tools")

    assert found.tools_denied == ("Edit",)
    assert found.tools_allowed == ("Read", "Bash")


def test_judged_alone_the_deny_list_of_tools_knows_no_role_and_refuses_by_name_only():
    policy = capability_policy(["tools::deny-tools"], None, task(), sources(DENY_TOOLS), GROUND)

    assert policy.rules[0].tools_denied == ("Edit",)
    assert policy.rules[0].tools_allowed is None


def test_commands_of_checks_join_the_roles_patterns_in_both_rules():
    policy = compiled(ALLOWLIST, allowed_commands=("^pytest -q$",))

    assert rule(policy, "role::bash").patterns[0].items == ("^ls( |$)", "^pytest -q$")
    assert rule(policy, "tools::bash-allowlist").patterns[0].items == ("^ls( |$)", "^pytest -q$")


def test_what_a_capability_restricts_is_refused_beside_the_list_it_is_given():
    """A gate that reads its list from a parameter keeps its own restrictions too."""
    both = msgspec.structs.replace(WHITELIST, restricts=Restricts(paths=("secret/**",), tool_patterns=("^dd ",)))

    found = rule(compiled(both), "scope::files-whitelist")

    assert [(each.mode, each.items) for each in found.globs] == [("allow-only", ()), ("deny", ("secret/**",))]
    assert [(each.mode, each.items) for each in found.patterns] == [("deny", ("^dd ",))]


# --- gates of the originals -------------------------------------------------------------------------------------------

RUST = capability("policy::no-git", gate=GatePart(rust_module="no_git"))


def test_a_compiled_gate_of_the_originals_is_the_kits_of_that_name():
    found = rule(compiled(RUST, shipped=[NO_GIT]), "policy::no-git")

    assert found.patterns == (Patterns(mode="deny", items=("^git( |$)",)),)


def test_a_fork_of_a_compiled_gate_is_the_kits_it_was_forked_from():
    fork = capability("policy::mine", gate=GatePart(rust_module="x"), lineage=Lineage(fork_from="policy::no-git"))

    assert rule(compiled(fork, shipped=[NO_GIT]), "policy::mine").patterns[0].items == ("^git( |$)",)


def test_a_compiled_gate_that_nobody_ships_is_no_policy():
    with pytest.raises(OperatorError, match="policy::no-git"):
        compiled(RUST)


# --- scripts and checks -----------------------------------------------------------------------------------------------


def test_a_script_gate_is_named_by_its_absolute_path_and_gets_its_lists():
    scripted = capability(
        "policy::mine",
        restricts=Restricts(tool_patterns=("^a", "^b")),
        parameterized=Parameterized(accepts=("limit", "names"), defaults={"limit": 3, "names": ["x"]}),
        gate=GatePart(kind="script", path="gate.sh"),
    )

    found = rule(compiled(scripted), "policy::mine")

    assert found.script == "/kit/policy/mine/gate.sh"
    assert found.parameters == {"limit": 3, "names": ["x"]}
    assert found.lists == {"tool-patterns": ("^a", "^b"), "tools-denied": (), "paths": (), "names": ("x",)}


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"kind": "command", "command": "make quick"}, [("command", "make quick")]),
        ({"kind": "script", "path": "verify.sh"}, [("script", "/kit/quality/quick/verify.sh")]),
    ],
    ids=["command", "script"],
)
def test_a_verify_after_each_call_becomes_a_check(part, expected):
    quick = capability("quality::quick", verify=VerifyPart(when="per-tool-call", timeout_s=1, severity="warn", **part))

    policy = compiled(quick)

    assert [(each.kind, each.run) for each in policy.checks] == expected
    assert [(each.timeout_s, each.severity) for each in policy.checks] == [(1.0, "warn")]


def test_a_verify_on_return_is_no_check():
    assert compiled(capability("quality::slow", verify=VerifyPart(kind="command", command="make"))).checks == ()


def test_a_script_is_told_of_the_task():
    spec = task(
        scope=SpecScope(files_whitelist=("src/**",)),
        verification=SpecVerification(test="make test"),
        parameters={"policy::no-git": {"x": 1}},
    )

    told = compiled(NO_GIT, spec=spec).task

    assert sorted(told) == ["agent_id", "parameters", "role", "scope", "verification", "worktree_path"]
    assert (told["agent_id"], told["role"], told["worktree_path"]) == ("ag-1", "worker", "/w")
    assert tuple(told["scope"]["files-whitelist"]) == ("src/**",)
    assert told["verification"]["test"] == "make test"
    assert told["parameters"] == {"policy::no-git": {"x": 1}}


# --- the digest -------------------------------------------------------------------------------------------------------

RULE = Rule(capability="a::b", patterns=(Patterns(mode="deny", items=("x",)),), globs=(Globs(mode="deny", items=()),))
CHECK = Check(capability="a::b", kind="command", run="true", timeout_s=1.0)
WHOLE = Policy(role="worker", rules=(RULE,), worktree="/w", checks=(CHECK,))

OTHER_RULES = {
    "capability": "a::c",
    "severity": "warn",
    "on_error": "allow",
    "instead": "do",
    "patterns": (),
    "globs": (),
    "tools_denied": ("Bash",),
    "tools_allowed": (),
    "script": "/x",
    "bypass_env": "X",
    "parameters": {"a": 1},
    "lists": {"a": ("b",)},
}
OTHER_CHECKS = {
    "capability": "a::c",
    "kind": "script",
    "run": "false",
    "timeout_s": 2.0,
    "severity": "warn",
    "parameters": {"a": 1},
    "lists": {"a": ("b",)},
}
OTHER_POLICIES = {
    "role": "other",
    "rules": (),
    "worktree": "/x",
    "main": "/m",
    "scratch": (),
    "home": "/h",
    "tools": {"mcp__a__b": ToolFields(writes=("to",))},
    "atoms": {"mcp__keisei__a__b": AtomReach(writes=("to",))},
    "checks": (),
    "verifies": (Planned(capability="a::b", kind="diff", rule="scope"),),
    "task": {"a": 1},
    "task_path": "/t",
    "elevated": ("a::b",),
}


def replaced(whole, **fields):
    return msgspec.structs.replace(whole, **fields)


def test_the_digest_is_the_same_for_the_same_policy():
    assert policy_digest(WHOLE) == policy_digest(from_data(json.loads(json.dumps(as_data(WHOLE)))))
    assert policy_digest(compiled(NO_GIT, WHITELIST)) == policy_digest(compiled(NO_GIT, WHITELIST))
    assert len(policy_digest(WHOLE)) == 64


@pytest.mark.parametrize("field", Policy.__struct_fields__)
def test_another_value_of_any_field_is_another_digest(field):
    assert policy_digest(replaced(WHOLE, **{field: OTHER_POLICIES[field]})) != policy_digest(WHOLE)


@pytest.mark.parametrize("field", Rule.__struct_fields__)
def test_another_value_of_any_field_of_a_rule_is_another_digest(field):
    changed = replaced(RULE, **{field: OTHER_RULES[field]})

    assert policy_digest(replaced(WHOLE, rules=(changed,))) != policy_digest(WHOLE)


@pytest.mark.parametrize("field", Check.__struct_fields__)
def test_another_value_of_any_field_of_a_check_is_another_digest(field):
    changed = replaced(CHECK, **{field: OTHER_CHECKS[field]})

    assert policy_digest(replaced(WHOLE, checks=(changed,))) != policy_digest(WHOLE)


@pytest.mark.parametrize("part", [{"mode": "allow-only"}, {"items": ("a",)}, {"strict": False}])
def test_another_value_inside_a_list_of_globs_is_another_digest(part):
    changed = replaced(RULE, globs=(replaced(RULE.globs[0], **part),))

    assert policy_digest(replaced(WHOLE, rules=(changed,))) != policy_digest(WHOLE)


def test_rules_in_another_order_are_another_policy():
    assert policy_digest(compiled(NO_GIT, NO_NPM)) != policy_digest(compiled(NO_NPM, NO_GIT))


# --- there and back ---------------------------------------------------------------------------------------------------


def test_a_policy_comes_back_whole_from_its_json():
    whole = replaced(
        WHOLE,
        rules=tuple(replaced(RULE, **{field: value}) for field, value in OTHER_RULES.items()),
        checks=tuple(replaced(CHECK, **{field: value}) for field, value in OTHER_CHECKS.items()),
        **{field: value for field, value in OTHER_POLICIES.items() if field not in ("rules", "checks")},
    )

    assert from_data(json.loads(json.dumps(as_data(whole)))) == whole


@pytest.mark.parametrize(
    "data",
    [{}, {"role": "x"}, {**as_data(WHOLE), "rules": "none"}, {**as_data(WHOLE), "rules": [{"capability": 1}]}],
    ids=["nothing", "half", "no rules", "a rule of another shape"],
)
def test_data_of_another_shape_is_no_policy(data):
    with pytest.raises(ValueError, match=r"Object|Expected"):
        from_data(data)
