"""Health: whether a runtime.json, its profiles and its adapters are in order, in the original's words."""

import json
import shutil
from pathlib import Path
from typing import Any, Final, NamedTuple

from keisei.library.runtime import RuntimeConfig
from keisei.records.adapter import AdapterConfig, ClaudeCodeAdapter, Harness, OllamaGenerateAdapter, Program
from keisei.records.launch import Call
from keisei.records.runtime import RuntimeFile
from keisei.sandbox.http import call
from keisei.wiring.choose import PLAIN, kind_of
from keisei.wiring.probe import PATIENCE_S, probed

LATEST: Final = ":latest"
"""What Ollama calls a model whose name says no more."""


class Health(NamedTuple):
    """One adapter."""

    adapter_id: str
    ok: bool
    detail: dict[str, Any]


def config_issues(file: RuntimeFile) -> list[str]:
    """What the original insists on beside the schema."""
    needed = {"runtimeName": file.runtime_name, "runtimePolicy": file.runtime_policy}
    return [f"{name} is required" for name, value in needed.items() if not (value or "").strip()]


def profile_issues(name: str, config: RuntimeConfig) -> list[str]:
    """What keeps a profile from being used."""
    profile = config.profiles[name]
    issues = [] if profile.prompt_parts else [f"profile {name} has no system_prompt_parts"]
    if profile.default_adapter_id not in config.adapters and config.file.default_adapter is None:
        issues.append(f"profile {name} names the adapter {profile.default_adapter_id}, which is not configured")
    return issues


def adapter_health(config: AdapterConfig) -> Health:
    """Whether an adapter can be reached, with what was found. Never raises."""
    if isinstance(config, OllamaGenerateAdapter):
        return _model(config)
    found = probed(config)
    detail = _program(config)
    if not found.ok:
        detail["error"] = found.reason
    elif kind_of(config) not in PLAIN:
        detail["note"] = "found; a harness with tools is run in a project with a keisei.toml, not from here"
    return Health(config.adapter_id, found.ok, detail)


def _model(config: OllamaGenerateAdapter) -> Health:
    """The address answers, and the model is there."""
    detail: dict[str, Any] = {"endpoint": config.endpoint, "model": config.model}
    found = probed(config)
    if not found.ok:
        return Health(config.adapter_id, found.ok, detail | {"error": found.reason})
    models = _models(config)
    there = config.model in models or f"{config.model}{LATEST}" in models
    return Health(config.adapter_id, there, detail | {"available_models": models})


def _models(config: OllamaGenerateAdapter) -> list[str]:
    answer = call(Call(method="GET", url=f"{config.endpoint.rstrip('/')}/api/tags", timeout_s=PATIENCE_S))
    try:
        told = json.loads(answer.stdout)["models"]
        return [each["name"] for each in told if isinstance(each["name"], str)]
    except (ValueError, LookupError, TypeError, RecursionError):
        return []


def _program(config: Program) -> dict[str, Any]:
    file = config.env_file
    detail: dict[str, Any] = {
        "command": config.command,
        "command_path": shutil.which(config.command),
        "env_file": file,
        "env_file_exists": None if file is None else Path(file).exists(),
        "working_dir": config.working_dir,
        "extra_args": list(config.extra_args),
    }
    return (
        {"driver": str(config.__struct_config__.tag), **detail, **_harness(config)}
        if isinstance(config, Harness)
        else detail
    )


def _harness(config: Harness) -> dict[str, Any]:
    autonomy = getattr(config, "autonomy", None)
    provider = getattr(config, "provider", None)
    detail: dict[str, Any] = {
        "model": config.model,
        "provider_base_url": provider.base_url if provider is not None else None,
        "autonomy": autonomy.profile if autonomy is not None else "restricted",
        "required_args": list(autonomy.required_args) if autonomy is not None else [],
    }
    if isinstance(config, ClaudeCodeAdapter):
        files = config.autonomy.required_settings_files if config.autonomy is not None else ()
        detail["settings_file"] = files[0] if files else None
        detail["settings_file_exists"] = Path(files[0]).exists() if files else None
    return detail
