"""`keisei compat bridge-github`, `bridge-discord`: events of other houses become tasks, each once."""

from pathlib import Path
from typing import Any

import click

from keisei.cli.compat.opened import config_option, given, opened_runtime
from keisei.cli.output import emit_json


@click.command("bridge-github")
@config_option
@click.option("--file", required=True, help="The event, as a JSON file; `-` is standard input.")
def bridge_github(config: Path, file: str) -> int:
    """Queue a story of a GitHub event. The same event again is the same task."""
    from keisei.wiring.bridge import github_intent

    return _bridged(config, "github", github_intent(given(None, file, "event")))


@click.command("bridge-discord")
@config_option
@click.option("--file", required=True, help="The event, as a JSON file; `-` is standard input.")
def bridge_discord(config: Path, file: str) -> int:
    """Queue a reply to a Discord event. The same event again is the same task."""
    from keisei.wiring.bridge import discord_intent

    return _bridged(config, "discord", discord_intent(given(None, file, "event")))


def _bridged(config: Path, bridge: str, intent: dict[str, Any]) -> int:
    from keisei.wiring.compat_registry import queue_intent

    with opened_runtime(config) as opened:
        queued = queue_intent(opened.store, opened.registry(), opened.defaults(), intent)
    task = queued.task
    told = {"queued": queued.created, "bridge": bridge, "task_id": task.task_id, "profile": task.requested_profile_id}
    emit_json(told)
    return 0
