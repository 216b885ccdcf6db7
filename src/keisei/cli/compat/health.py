"""`keisei compat healthcheck`, `adapters`: whether a configuration can work, in the original's words."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from keisei.cli.compat.opened import config_option, read_config
from keisei.cli.output import emit_json
from keisei.records.error import AuthorError, KeiseiError

if TYPE_CHECKING:
    from keisei.library.runtime import RuntimeConfig
    from keisei.wiring.compat import Runtime
    from keisei.wiring.health import Health

PROGRAMS = ("claude-code", "codex", "hermes-agent")
MOST_FALLBACKS = 3


@click.command("healthcheck")
@config_option
def healthcheck(config: Path) -> int:
    """Whether the configuration, its profiles and its adapters are in order. Exit 1 where they are not."""
    told: dict[str, Any] = {"ok": False, "configIssues": [], "profileChecks": [], "adapterChecks": []}
    try:
        runtime = read_config(config)
    except AuthorError as error:
        told["configIssues"] = [problem.render() for problem in error.problems]
    except KeiseiError as error:
        told["configIssues"] = [error.message]
    else:
        told |= _checked(runtime)
    emit_json(told)
    return 0 if told["ok"] else 1


def _checked(runtime: "Runtime") -> dict[str, Any]:
    from keisei.wiring.health import adapter_health, config_issues, profile_issues

    config = runtime.config
    issues = config_issues(config.file)
    profiles = [{"profileId": name, "issues": profile_issues(name, config)} for name in config.profiles]
    healths = [adapter_health(each) for each in config.adapters.values()]
    return {
        "ok": not issues and not any(each["issues"] for each in profiles) and all(each.ok for each in healths),
        "configIssues": issues,
        "profileChecks": profiles,
        "adapterChecks": [{"adapterId": each.adapter_id, "ok": each.ok, "detail": each.detail} for each in healths],
    }


@click.command("adapters")
@config_option
@click.option("--probe", is_flag=True, help="Say which adapter a task would get, fallbacks followed.")
def adapters(config: Path, probe: bool) -> int:
    """Whether each adapter is in order. Exit 1 where the default one is not."""
    from keisei.wiring.health import adapter_health

    found = read_config(config).config
    healths = {name: adapter_health(each) for name, each in found.adapters.items()}
    default = found.file.default_adapter
    told: dict[str, Any] = {
        "defaultAdapter": default,
        "defaultOk": default in healths and healths[default].ok,
        "adapters": [_adapter(found, each) for each in healths.values()],
    }
    if probe:
        told["probe"] = _probe(found)
    emit_json(told)
    return 0 if told["defaultOk"] else 1


def _adapter(config: "RuntimeConfig", health: "Health") -> dict[str, Any]:
    table = config.file.adapters[health.adapter_id]
    kind = table.get("mode", table.get("kind"))
    told: dict[str, Any] = {
        "id": health.adapter_id,
        "mode": "agent-cli" if kind in PROGRAMS else kind,
        "isDefault": health.adapter_id == config.file.default_adapter,
        "ok": health.ok,
    }
    if table.get("fallback_adapter"):
        told["fallback_adapter"] = table["fallback_adapter"]
    if not health.ok:
        models = health.detail.get("available_models")
        missing = f"the model is not among {models}" if models is not None else "healthcheck failed"
        told["broken_reason"] = health.detail.get("error", missing)
    return told | {"detail": health.detail}


def _probe(config: "RuntimeConfig") -> dict[str, Any]:
    """The way from the default adapter through its fallbacks to the first that can be reached, else the last."""
    from keisei.wiring.probe import probed

    asked = config.file.default_adapter
    chain: list[dict[str, Any]] = []
    name = asked
    while (
        name in config.adapters and len(chain) <= MOST_FALLBACKS and name not in [each["adapterId"] for each in chain]
    ):
        found = probed(config.adapters[name])
        chain.append({"adapterId": name, "ok": found.ok} | ({} if found.ok else {"reason": found.reason}))
        if found.ok:
            break
        following = config.file.adapters[name].get("fallback_adapter")
        name = following if isinstance(following, str) else None
    selected = chain[-1]["adapterId"] if chain else None
    return {"requested_adapter": asked, "selected_adapter": selected, "chain": chain}
