"""Dialects: the originals' spellings, translated at the door. One form is stored; one warning tells of the rest."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct, field

Path = tuple[str | int, ...]
HOLDERS = frozenset((dict, list))


class Translation(Struct):
    """Data in our form, and what was changed on the way."""

    data: Any
    renamed: dict[Path, Path] = field(default_factory=dict)
    """Where a path of the new form stood in the old one."""
    notes: list[str] = field(default_factory=list)
    """What to tell the author; spellings that stay valid leave none."""


def translate(name: str, data: object) -> Translation:
    """Data of that name in the stored form. Never raises: what it does not understand, the schema will refuse."""
    rules = RULES.get(name)
    if rules is None or not isinstance(data, dict):
        return Translation(data)
    translation = Translation(_copied(data))
    for rule in rules:
        rule(translation.data, (), translation)
    return translation


def _copied(value: Any) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, dict):
        return {key: _copied(each) if type(each) in HOLDERS else each for key, each in value.items()}
    if isinstance(value, list):
        return [_copied(each) if type(each) in HOLDERS else each for each in value]
    return value


def _rename(
    table: dict[str, Any], path: Path, names: Mapping[str, str], into: Translation, *, quiet: bool = False
) -> None:
    """Move values to their new keys; where both keys stand, the schema refuses the old one."""
    for old, new in names.items():
        if old in table and new not in table:
            table[new] = table.pop(old)
            into.renamed[(*path, new)] = (*path, old)
            if not quiet:
                into.notes.append(f"`{old}` is now `{new}`")


def _drop(table: dict[str, Any], key: str, why: str, into: Translation) -> None:
    if table.pop(key, None) is not None:
        into.notes.append(f"`{key}` {why}")


def _tables(value: object) -> list[tuple[int, dict[str, Any]]]:
    return (
        [(index, item) for index, item in enumerate(value) if isinstance(item, dict)] if isinstance(value, list) else []
    )


INTENT = {
    "kind": "task_type",
    "requested_profile": "requested_profile_id",
    "requested_adapter": "requested_adapter_id",
    "skills": "skill_ids",
    "skill_refs": "skill_ids",
}


def _intent(table: dict[str, Any], path: Path, into: Translation) -> None:
    if table.get("requested_adapter") == "":  # the original's word for "the profile's"
        del table["requested_adapter"]
    _rename(table, path, INTENT, into)


def _nested_intent(key: str) -> Callable[[dict[str, Any], Path, Translation], None]:
    def rule(table: dict[str, Any], path: Path, into: Translation) -> None:
        if isinstance(table.get(key), dict):
            _intent(table[key], (*path, key), into)

    return rule


ADAPTER = {
    "workingDir": "working_dir",
    "timeoutMs": "timeout_ms",
    "envFile": "env_file",
    "extraArgs": "extra_args",
}
PROVIDER = {
    "providerId": "id",
    "providerName": "name",
    "providerBaseUrl": "base_url",
    "providerWireApi": "wire_api",
    "providerRequiresOpenAIAuth": "requires_openai_auth",
}


def _adapter(table: dict[str, Any], path: Path, into: Translation) -> None:
    _rename(table, path, ADAPTER, into)
    if "mode" in table and "kind" not in table:
        mode = table.pop("mode")
        driven = mode == "agent-cli" and "driver" in table
        table["kind"] = table.pop("driver") if driven else mode
        into.renamed[(*path, "kind")] = (*path, "driver" if driven else "mode")
        into.notes.append("`mode` and `driver` are now `kind`")
    if isinstance(table.get("autonomy"), str):
        table["autonomy"] = {"profile": table["autonomy"]}
        into.renamed[(*path, "autonomy", "profile")] = (*path, "autonomy")
        into.notes.append("`autonomy` is now an object with `profile`")
    if table.get("kind") != "claude-code":
        _drop(table, "settingsFile", "has no effect: only Claude Code reads settings files", into)
    if "settingsFile" in table:
        _settings_file(table, path, into)
    _provider(table, path, into)
    _drop(table, "fallback_adapter", "belongs to the profile now, as `fallback_adapter_ids`", into)
    _drop(table, "retry_hint_service", "has no effect: rate limits are honoured for every adapter", into)


def _settings_file(table: dict[str, Any], path: Path, into: Translation) -> None:
    autonomy = table.setdefault("autonomy", {"profile": "restricted"})
    if isinstance(autonomy, dict) and "required_settings_files" not in autonomy:
        autonomy["required_settings_files"] = [table.pop("settingsFile")]
        into.renamed[(*path, "autonomy", "required_settings_files")] = (*path, "settingsFile")
        into.notes.append("`settingsFile` is now `autonomy.required_settings_files`")


def _provider(table: dict[str, Any], path: Path, into: Translation) -> None:
    if table.get("kind") != "codex":
        for key in PROVIDER:
            _drop(table, key, "has no effect: only Codex is pointed at a provider", into)
    found = [key for key in PROVIDER if key in table]
    if not found or "provider" in table:
        return
    table["provider"] = {PROVIDER[key]: table.pop(key) for key in found}
    into.renamed |= {(*path, "provider", PROVIDER[key]): (*path, key) for key in found}
    into.notes.append("`provider...` keys are now the object `provider`")


PROFILE = {
    "system_prompt_parts": "prompt_parts",
    "skills": "skill_ids",
    "default_adapter": "default_adapter_id",
    "result_schema": "result_policy",
    "integration_policies": "integration_policy",
}


def _profile(table: dict[str, Any], path: Path, into: Translation) -> None:
    _rename(table, path, PROFILE, into)
    context = table.get("context_policy")
    if isinstance(context, dict):
        names = {"include_recent_task_memory": "include_recent_memory"}
        _rename(context, (*path, "context_policy"), names, into)
    result = table.get("result_policy")
    if isinstance(result, dict):
        _drop(result, "primary_output", "has no effect: the task type says what is asked for", into)
    _drop(table, "tool_policy", "has no effect: the role's tool list is what is judged", into)


def _stored_task(table: dict[str, Any], path: Path, into: Translation) -> None:
    """A task row of the original: no model column, and an outcome in its own dialect inside."""
    if isinstance(table.get("outcome"), dict):
        _outcome(table["outcome"], (*path, "outcome"), into)
    if "task_id" in table:
        table.setdefault("requested_model", None)


def _outcome(table: dict[str, Any], path: Path, into: Translation) -> None:
    for key in ("attempt_id", "bundle_id", "bundle_hash"):
        _drop(table, key, "stands in the attempt", into)
    changes = table.get("file_changes")
    if isinstance(changes, list):
        table["file_changes"] = [_changed_file(change, into) for change in changes]
    for index, intent in _tables(table.get("follow_up_tasks")):
        _intent(intent, (*path, "follow_up_tasks", index), into)


CHANGED = re.compile(
    r"^(?:added|changed|created|deleted|modified|removed|updated): +|(?<=\.[a-z])([a-z]*)(?: +\([^()]*\)| +- .*)$"
)
"""A status before a path, and a note behind one that ends like a file's name."""


def _changed_file(change: object, into: Translation) -> object:
    """`created: path`, `path (note)`, `path - summary` and objects all mean a path."""
    found = change.get("path", change.get("file")) if isinstance(change, dict) else change
    if not isinstance(found, str):
        return change
    path = CHANGED.sub(r"\1", found)
    if path != change:
        into.notes.append("`file_changes` entries are paths now")
    return path


def _capability(table: dict[str, Any], path: Path, into: Translation) -> None:
    verify = table.get("verify")
    if isinstance(verify, dict):
        _rename(verify, (*path, "verify"), {"run-mode": "run-from"}, into, quiet=True)
        older = {"main-worktree": "merged", "simulated-merge": "merged", "agent-worktree": "worktree"}
        if isinstance(verify.get("run-from"), str):
            verify["run-from"] = older.get(verify["run-from"], verify["run-from"])
    for part in (table.get("gate"), verify):
        if isinstance(part, dict) and part.get("severity") == "enforce":
            part["severity"] = "block"
        if isinstance(part, dict) and "path" in part and "kind" not in part:
            part["kind"] = "script"
    _lineage(table, path, into)


def _lineage(table: dict[str, Any], path: Path, into: Translation) -> None:
    if isinstance(table.get("lineage"), dict):
        names = {"created-by": "creator", "created-at": "created", "fork-from": "fork_from"}
        _rename(table["lineage"], (*path, "lineage"), names, into, quiet=True)


def _pipe(table: dict[str, Any], path: Path, into: Translation) -> None:
    for index, step in _tables(table.get("steps")):
        _rename(step, (*path, "steps", index), {"id": "capture_as", "depends-on": "needs"}, into)
        _drop(step, "kind", "is read from the atom", into)
        _drop(step, "cache", "follows from the atom's effects", into)
    if isinstance(table.get("pipe"), dict):
        _drop(table["pipe"], "cache", "follows from the atoms' effects", into)


def _atom(table: dict[str, Any], _path: Path, _into: Translation) -> None:
    """The originals write `deprecated: null` for an atom that is not."""
    if "deprecated" in table and table["deprecated"] is None:
        del table["deprecated"]


RULES: dict[str, tuple[Callable[[dict[str, Any], Path, Translation], None], ...]] = {
    "task.intent": (_intent,),
    "task.record": (_intent, _stored_task),
    "schedule.record": (_nested_intent("task"),),
    "sensor.event": (_nested_intent("proposed_task"),),
    "task.outcome": (_outcome,),
    "adapter.config": (_adapter,),
    "agent.profile": (_profile,),
    "atom.manifest": (_atom,),
    "capability.manifest": (_capability,),
    "role.manifest": (_lineage,),
    "pipe.definition": (_pipe,),
}
