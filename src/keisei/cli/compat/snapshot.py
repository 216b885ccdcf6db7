"""`keisei compat snapshot`, `report`: how things stand, and what happened between two such moments."""

from pathlib import Path

import click

from keisei.cli.compat.opened import config_option, given, opened_runtime, read_config
from keisei.cli.desk import WORDS
from keisei.cli.output import emit_json


@click.command("snapshot")
@config_option
@click.option("--label", type=WORDS, default="runtime", help="A word for the file's name.")
def snapshot(config: Path, label: str) -> int:
    """Write down how things stand, in `snapshots/` of the artifact folder."""
    import json

    from keisei.cli.output import write_whole
    from keisei.wiring.compat_snapshot import snapshot_file, taken
    from keisei.wiring.store import make_folder

    with opened_runtime(config) as opened:
        told, now = taken(opened.store, opened.runtime), opened.store.now()
    path = snapshot_file(opened.runtime, label, now)
    make_folder(path.parent)
    write_whole(path, json.dumps(told, indent=2, ensure_ascii=False).encode("utf-8"))
    emit_json({"snapshotPath": str(path), "snapshot": told})
    return 0


@click.command("report")
@config_option
@click.option("--before", required=True, help="The earlier snapshot.")
@click.option("--after", required=True, help="The later snapshot.")
def report(config: Path, before: str, after: str) -> int:
    """What happened between two snapshots."""
    from keisei.wiring.compat_snapshot import compared, read_snapshot

    read_config(config)
    first, second = (read_snapshot(given(None, file, "snapshot"), file) for file in (before, after))
    emit_json(compared(first, second))
    return 0
