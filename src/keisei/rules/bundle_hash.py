"""Bundle hashes: what is put into a bundle's document so that its hash tells any two bundles apart, and no secret."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any

from msgspec.structs import replace

from keisei.contracts.check import data_of
from keisei.records.adapter import AdapterConfig
from keisei.records.material import FileHash
from keisei.rules.canonical import digest
from keisei.rules.policy import Policy, policy_digest
from keisei.rules.redact import SENSITIVE, Redactor
from keisei.rules.role import ResolvedRole


def bundle_hash(document: Mapping[str, Any]) -> str:
    """sha256 of the canonical JSON of a bundle's document, its own id left out. Raises ValueError where it has none."""
    return digest({key: value for key, value in document.items() if key != "bundle_id"})


def text_hash(text: str) -> str:
    """sha256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def files_hash(files: Iterable[FileHash]) -> str:
    """sha256 over the canonical list of a folder's files: another name, another content or another file changes it."""
    return digest([[each.path, each.sha256] for each in files])


def role_digest(role: ResolvedRole, capabilities: Mapping[str, str]) -> str:
    """What stands for a policy where none was compiled: the role's lists, and each capability by the hash of its files.

    A capability's folder holds its manifest, its text and its scripts, so a change to any of them changes the digest.
    """
    return digest(role_data(role) | {"capabilities": [[name, found] for name, found in capabilities.items()]})


def role_data(role: ResolvedRole) -> dict[str, Any]:
    """What a role says beside its capabilities."""
    return {
        "name": role.name,
        "tools": data_of(role.tools),
        "escalation": data_of(role.escalation),
        "isolation": data_of(role.isolation),
    }


def portable_digest(policy: Policy) -> str:
    """The digest of a policy without the places of this attempt, so that two tasks under equal rules have equal ones.

    Scripts count by name only: their content is in the hashes of their capabilities.
    """
    told = {key: value for key, value in policy.task.items() if key not in ("worktree_path", "agent_id")}
    rules = (replace(each, script=_name(each.script) if each.script else None) for each in policy.rules)
    checks = (replace(each, run=_name(each.run)) if each.kind == "script" else each for each in policy.checks)
    placeless = replace(
        policy,
        rules=tuple(rules),
        checks=tuple(checks),
        task=told,
        worktree="",
        main=None,
        home="",
        scratch=(),
        task_path="",
    )
    return policy_digest(placeless)


def _name(path: str) -> str:
    return PurePosixPath(path).name


def adapter_data(adapter: AdapterConfig) -> dict[str, Any]:
    """The adapter's table, whole. A value that is a secret by its name or its looks is only there by hash."""
    data: dict[str, Any] = _without_secrets(data_of(adapter), "", Redactor())
    return data


def _without_secrets(value: Any, key: str, redactor: Redactor) -> Any:  # noqa: ANN401 - JSON in, JSON out
    if isinstance(value, dict):
        return {name: _without_secrets(item, name, redactor) for name, item in value.items()}
    if isinstance(value, list):
        return [_without_secrets(item, key, redactor) for item in value]
    secret = isinstance(value, str) and value and (SENSITIVE.search(key) or redactor.text(value) != value)
    return {"secret_sha256": text_hash(value)} if secret else value
