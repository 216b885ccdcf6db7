"""Dialects: each old spelling becomes the new one, once, and never where both are written."""

import copy

import pytest
from hypothesis import given, settings

from keisei.contracts.check import build, data_of, violations
from keisei.contracts.dialect import ADAPTER, INTENT, PROFILE, PROVIDER, RULES, translate
from keisei.contracts.registry import NAMES
from keisei.testing.strategies import json_values, record

QUICK = settings(max_examples=25, deadline=None, database=None)

INTENT_DATA = {"task_type": "t", "source": "who:what", "payload": {}}
VALUES = {
    "kind": "t",
    "requested_profile": "p",
    "requested_adapter": "a",
    "skills": ["s"],
    "skill_refs": ["s"],
}


def origin(translation, path):
    """Where a path of the new form stood in the old one: the nearest renamed ancestor says so."""
    for length in range(len(path), 0, -1):
        if path[:length] in translation.renamed:
            return translation.renamed[path[:length]] + path[length:]
    return path


def unknown_keys(name, data):
    return [each.path for each in violations(name, translate(name, data).data) if each.code == "unknown-key"]


# Intents.


@pytest.mark.parametrize("old", INTENT)
def test_each_old_key_of_an_intent_is_renamed_with_a_note(old):
    new = INTENT[old]
    data = {key: value for key, value in INTENT_DATA.items() if key != new} | {old: VALUES[old]}

    translation = translate("task.intent", data)

    assert translation.data[new] == VALUES[old]
    assert old not in translation.data
    assert translation.notes == [f"`{old}` is now `{new}`"]
    assert violations("task.intent", translation.data) == []


@pytest.mark.parametrize("old", INTENT)
def test_an_intent_with_both_spellings_is_refused(old):
    data = INTENT_DATA | {INTENT[old]: VALUES[old], old: VALUES[old]}

    assert unknown_keys("task.intent", data) == [(old,)]


def test_two_old_spellings_of_one_key_are_refused():
    assert unknown_keys("task.intent", INTENT_DATA | {"skills": ["a"], "skill_refs": ["b"]}) == [("skill_refs",)]


NESTED = {
    "schedule.record": ("task",),
    "sensor.event": ("proposed_task",),
    "task.outcome": ("follow_up_tasks", 0),
}


def nest(path, value):
    for step in reversed(path):
        value = [value] if step == 0 else {step: value}
    return value


def unnest(path, value):
    for step in path:
        value = value[step]
    return value


@pytest.mark.parametrize("name", NESTED)
def test_an_intent_inside_another_record_is_translated_too(name):
    path = NESTED[name]
    data = nest(path, {"kind": "t", "source": "s", "payload": {}, "requested_profile": "p"})

    translation = translate(name, data)

    assert unnest(path, translation.data) == {
        "task_type": "t",
        "source": "s",
        "payload": {},
        "requested_profile_id": "p",
    }
    assert origin(translation, (*path, "task_type")) == (*path, "kind")
    assert translation.notes == ["`kind` is now `task_type`", "`requested_profile` is now `requested_profile_id`"]


@pytest.mark.parametrize("name", NESTED)
def test_an_intent_inside_with_both_spellings_is_refused(name):
    path = NESTED[name]

    assert (*path, "kind") in unknown_keys(name, nest(path, INTENT_DATA | {"kind": "t"}))


def test_every_intent_of_a_list_is_translated():
    data = {"follow_up_tasks": [{"kind": "a"}, "not an intent", {"kind": "b"}]}

    assert translate("task.outcome", data).data["follow_up_tasks"] == [
        {"task_type": "a"},
        "not an intent",
        {"task_type": "b"},
    ]


# Adapters.

SCRIPT = {"kind": "script", "adapter_id": "a", "command": "sh", "timeout_ms": 1000}
ADAPTER_VALUES = {"workingDir": "w", "timeoutMs": 5000, "envFile": "e", "extraArgs": ["x"]}


@pytest.mark.parametrize("old", ADAPTER)
def test_each_old_key_of_an_adapter_is_renamed_with_a_note(old):
    new = ADAPTER[old]
    data = {key: value for key, value in SCRIPT.items() if key != new} | {old: ADAPTER_VALUES[old]}

    translation = translate("adapter.config", data)

    assert translation.data[new] == ADAPTER_VALUES[old]
    assert translation.notes == [f"`{old}` is now `{new}`"]
    assert violations("adapter.config", translation.data) == []


@pytest.mark.parametrize("old", ADAPTER)
def test_an_adapter_with_both_spellings_is_refused(old):
    data = SCRIPT | {ADAPTER[old]: ADAPTER_VALUES[old], old: ADAPTER_VALUES[old]}

    assert unknown_keys("adapter.config", data) == [(old,)]


@pytest.mark.parametrize(
    ("old", "kind"),
    [
        ({"mode": "agent-cli", "driver": "codex"}, "codex"),
        ({"mode": "agent-cli", "driver": "claude-code"}, "claude-code"),
        ({"mode": "agent-cli", "driver": "hermes-agent"}, "hermes-agent"),
        ({"mode": "script"}, "script"),
        ({"mode": "ollama-generate"}, "ollama-generate"),
    ],
    ids=["codex", "claude-code", "hermes-agent", "script", "ollama-generate"],
)
def test_mode_and_driver_become_the_kind(old, kind):
    translation = translate("adapter.config", old)

    assert translation.data == {"kind": kind}
    assert translation.notes == ["`mode` and `driver` are now `kind`"]
    assert origin(translation, ("kind",)) == ("driver" if "driver" in old else "mode",)


@pytest.mark.parametrize("old", ["mode", "driver"])
def test_a_kind_beside_mode_or_driver_is_refused(old):
    assert unknown_keys("adapter.config", SCRIPT | {old: "script"}) == [(old,)]


def test_an_agent_cli_without_a_driver_is_refused_by_its_kind():
    (violation,) = violations("adapter.config", translate("adapter.config", {"mode": "agent-cli"}).data)

    assert violation.message.startswith("`kind` must be one of `claude-code`")


CODEX = {"kind": "codex", "adapter_id": "a", "command": "codex", "timeout_ms": 1000, "model": "m"}
PROVIDER_VALUES = {
    "providerId": "relay",
    "providerName": "Relay",
    "providerBaseUrl": "http://x",
    "providerWireApi": "responses",
    "providerRequiresOpenAIAuth": False,
}


def test_the_provider_keys_become_one_object_with_one_note():
    translation = translate("adapter.config", CODEX | PROVIDER_VALUES)

    assert translation.data == CODEX | {"provider": {PROVIDER[key]: value for key, value in PROVIDER_VALUES.items()}}
    assert translation.notes == ["`provider...` keys are now the object `provider`"]
    assert origin(translation, ("provider", "base_url")) == ("providerBaseUrl",)
    assert violations("adapter.config", translation.data) == []


@pytest.mark.parametrize("kind", ["claude-code", "hermes-agent"])
def test_a_provider_of_another_harness_is_dropped_with_a_note(kind):
    data = CODEX | {"kind": kind}
    translation = translate("adapter.config", data | PROVIDER_VALUES)

    assert translation.data == data
    assert translation.notes == [f"`{key}` has no effect: only Codex is pointed at a provider" for key in PROVIDER]
    assert violations("adapter.config", translation.data) == []


@pytest.mark.parametrize("old", PROVIDER)
def test_a_provider_in_both_spellings_is_refused(old):
    data = CODEX | {"provider": {"id": "relay"}, old: PROVIDER_VALUES[old]}

    assert unknown_keys("adapter.config", data) == [(old,)]


CLAUDE = {"kind": "claude-code", "adapter_id": "a", "command": "claude", "timeout_ms": 1000}


@pytest.mark.parametrize(
    ("old", "autonomy"),
    [
        pytest.param({"autonomy": "trusted-vm"}, {"profile": "trusted-vm"}, id="a-word"),
        pytest.param(
            {"settingsFile": "s.json"},
            {"profile": "restricted", "required_settings_files": ["s.json"]},
            id="a-settings-file",
        ),
        pytest.param(
            {"autonomy": "trusted-vm", "settingsFile": "s.json"},
            {"profile": "trusted-vm", "required_settings_files": ["s.json"]},
            id="both",
        ),
        pytest.param(
            {"autonomy": {"profile": "trusted-vm"}, "settingsFile": "s.json"},
            {"profile": "trusted-vm", "required_settings_files": ["s.json"]},
            id="an-object-and-a-settings-file",
        ),
    ],
)
def test_autonomy_becomes_an_object(old, autonomy):
    translation = translate("adapter.config", CLAUDE | old)

    assert translation.data == CLAUDE | {"autonomy": autonomy}
    assert violations("adapter.config", translation.data) == []
    assert len(translation.notes) == len([key for key in old if not isinstance(old[key], dict)])


def test_two_lists_of_settings_files_are_refused():
    data = CLAUDE | {
        "autonomy": {"profile": "trusted-vm", "required_settings_files": ["a"]},
        "settingsFile": "b",
    }

    assert unknown_keys("adapter.config", data) == [("settingsFile",)]


@pytest.mark.parametrize(
    ("key", "note"),
    [
        ("fallback_adapter", "`fallback_adapter` belongs to the profile now, as `fallback_adapter_ids`"),
        ("retry_hint_service", "`retry_hint_service` has no effect: rate limits are honoured for every adapter"),
    ],
)
def test_what_has_moved_away_is_dropped_with_a_note(key, note):
    translation = translate("adapter.config", SCRIPT | {key: "x"})

    assert translation.data == SCRIPT
    assert translation.notes == [note]


# Profiles.

PROFILE_DATA = {
    "profile_id": "p",
    "style": "claude-like",
    "role": "edit-local",
    "default_adapter_id": "a",
    "prompt_parts": ["x"],
    "skill_ids": ["s"],
    "context_policy": {"max_prompt_chars": 9000, "include_recent_memory": True},
    "result_policy": {"allow_follow_up_tasks": True, "allow_external_messages": False},
    "integration_policy": {"aibtc": "none"},
}


@pytest.mark.parametrize("old", PROFILE)
def test_each_old_key_of_a_profile_is_renamed_with_a_note(old):
    new = PROFILE[old]
    data = {key: value for key, value in PROFILE_DATA.items() if key != new} | {old: PROFILE_DATA[new]}

    translation = translate("agent.profile", data)

    assert translation.data == PROFILE_DATA
    assert translation.notes == [f"`{old}` is now `{new}`"]
    assert violations("agent.profile", translation.data) == []


@pytest.mark.parametrize("old", PROFILE)
def test_a_profile_with_both_spellings_is_refused(old):
    assert unknown_keys("agent.profile", PROFILE_DATA | {old: PROFILE_DATA[PROFILE[old]]}) == [(old,)]


def test_the_inner_keys_of_a_profile_are_translated_too():
    data = PROFILE_DATA | {
        "context_policy": {"max_prompt_chars": 9000, "include_recent_task_memory": True},
        "result_policy": PROFILE_DATA["result_policy"] | {"primary_output": "report"},
        "tool_policy": {"allow": []},
    }

    translation = translate("agent.profile", data)

    assert translation.data == PROFILE_DATA
    assert translation.notes == [
        "`include_recent_task_memory` is now `include_recent_memory`",
        "`primary_output` has no effect: the task type says what is asked for",
        "`tool_policy` has no effect: the role's tool list is what is judged",
    ]
    assert origin(translation, ("context_policy", "include_recent_memory")) == (
        "context_policy",
        "include_recent_task_memory",
    )


def test_a_profile_with_both_spellings_of_an_inner_key_is_refused():
    both = {"max_prompt_chars": 9000, "include_recent_memory": True, "include_recent_task_memory": True}

    assert unknown_keys("agent.profile", PROFILE_DATA | {"context_policy": both}) == [
        ("context_policy", "include_recent_task_memory")
    ]


# Outcomes.


@pytest.mark.parametrize(
    ("change", "path"),
    [
        pytest.param("src/a.py", "src/a.py", id="a-path"),
        pytest.param({"path": "src/a.py"}, "src/a.py", id="an-object-with-path"),
        pytest.param({"file": "src/a.py", "summary": "x"}, "src/a.py", id="an-object-with-file"),
        pytest.param("created: src/a.py", "src/a.py", id="created"),
        pytest.param("src/a.py - rounds once", "src/a.py", id="a-summary"),
        pytest.param("src/a.py (new)", "src/a.py", id="a-note"),
    ],
)
def test_every_form_of_a_file_change_is_its_path(change, path):
    assert translate("task.outcome", {"file_changes": [change]}).data["file_changes"] == [path]


def test_a_file_change_that_names_no_path_is_left_for_the_schema_to_refuse():
    assert translate("task.outcome", {"file_changes": [{"name": "x"}, 5]}).data["file_changes"] == [{"name": "x"}, 5]


# Capabilities: spellings that stay valid are read without a note.

HEAD = {"name": "policy::x"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param({"run-mode": "both"}, {"run-from": "both"}, id="run-mode"),
        pytest.param({"run-mode": "worktree"}, {"run-from": "worktree"}, id="run-mode-worktree"),
        pytest.param({"run-mode": "simulated-merge"}, {"run-from": "merged"}, id="simulated-merge"),
        pytest.param({"run-from": "main-worktree"}, {"run-from": "merged"}, id="main-worktree"),
        pytest.param({"run-from": "agent-worktree"}, {"run-from": "worktree"}, id="agent-worktree"),
        pytest.param({"path": "v.sh"}, {"path": "v.sh", "kind": "script"}, id="a-path-is-a-script"),
        pytest.param({"severity": "enforce"}, {"severity": "block"}, id="enforce"),
    ],
)
def test_the_originals_words_of_a_verify_are_understood_without_a_note(old, new):
    translation = translate("capability.manifest", {"capability": HEAD, "verify": old})

    assert translation.data["verify"] == new
    assert translation.notes == []
    assert violations("capability.manifest", translation.data) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param({"path": "g.sh"}, {"path": "g.sh", "kind": "script"}, id="a-path-is-a-script"),
        pytest.param(
            {"rust-module": "m", "severity": "enforce"}, {"rust-module": "m", "severity": "block"}, id="enforce"
        ),
        pytest.param({"kind": "pattern", "path": "g.sh"}, {"kind": "pattern", "path": "g.sh"}, id="a-kind-is-kept"),
    ],
)
def test_the_originals_words_of_a_gate_are_understood_without_a_note(old, new):
    translation = translate("capability.manifest", {"capability": HEAD, "gate": old})

    assert translation.data["gate"] == new
    assert translation.notes == []


def test_a_verify_with_both_spellings_is_refused():
    data = {"capability": HEAD, "verify": {"run-mode": "both", "run-from": "both", "path": "v.sh"}}

    assert unknown_keys("capability.manifest", data) == [("verify", "run-mode")]


@pytest.mark.parametrize("name", ["capability.manifest", "role.manifest"])
def test_both_spellings_of_a_lineage_are_read(name):
    data = {"lineage": {"created-by": "me", "created-at": "2026-04-23", "fork-from": "policy::x", "parents": []}}

    translation = translate(name, data)

    assert translation.data["lineage"] == {
        "creator": "me",
        "created": "2026-04-23",
        "fork_from": "policy::x",
        "parents": [],
    }
    assert translation.notes == []


# Pipes.


def test_a_pipe_of_the_original_is_read():
    data = {
        "pipe": {"cache": {"enabled": True}, "name": "p"},
        "steps": [
            {"id": "made", "atom": "kei-task::create", "kind": "command", "input": {}, "cache": {"enabled": False}},
            {"id": "found", "atom": "kei-task::search", "depends-on": ["made"]},
        ],
    }

    translation = translate("pipe.definition", data)

    assert translation.data == {
        "pipe": {"name": "p"},
        "steps": [
            {"capture_as": "made", "atom": "kei-task::create", "input": {}},
            {"capture_as": "found", "atom": "kei-task::search", "needs": ["made"]},
        ],
    }
    assert violations("pipe.definition", translation.data) == []
    assert origin(translation, ("steps", 1, "needs", 0)) == ("steps", 1, "depends-on", 0)


@pytest.mark.parametrize(("old", "new", "value"), [("id", "capture_as", "x"), ("depends-on", "needs", [])])
def test_a_step_with_both_spellings_is_refused(old, new, value):
    data = {"steps": [{"atom": "kei-task::create", old: value, new: value}]}

    assert unknown_keys("pipe.definition", data) == [("steps", 0, old)]


# The laws of all of them.


@pytest.mark.parametrize("name", RULES)
def test_a_dialect_belongs_to_a_published_name(name):
    assert name in NAMES


@pytest.mark.parametrize("name", RULES)
def test_our_own_form_is_left_as_it_is_and_without_a_note(name):
    @QUICK
    @given(record(name))
    def check(drawn):
        data = data_of(drawn)
        data.pop("file_changes", None)  # a claim in the agent's own words, in whatever form
        for part in (data.get("gate"), data.get("verify")):
            if isinstance(part, dict) and "path" in part:
                part.setdefault("kind", "script")  # a path without a kind is seed 000's form

        translation = translate(name, data)

        assert translation.data == data
        assert translation.notes == []

    check()


@pytest.mark.parametrize("name", RULES)
def test_translating_never_raises_and_never_touches_what_it_was_given(name):
    @QUICK
    @given(json_values())
    def check(value):
        keys = [*INTENT, *ADAPTER, *PROVIDER, *PROFILE, "mode", "driver", "settingsFile", "autonomy", "verify", "gate"]
        keys += ["lineage", "steps", "pipe", "task", "proposed_task", "follow_up_tasks", "file_changes"]
        data = dict.fromkeys(keys, value)
        before = copy.deepcopy(data)

        translate(name, data)
        translate(name, value)

        assert data == before

    check()


def test_a_translated_intent_builds_its_record():
    data = {"kind": "t", "source": "s", "payload": {}, "skills": ["a"], "requested_adapter": "x"}

    built = build("task.intent", translate("task.intent", data).data)

    assert (built.task_type, built.skill_ids, built.requested_adapter_id) == ("t", ("a",), "x")
