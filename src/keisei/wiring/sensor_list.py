"""Every sensor of a project: those that skills bring, webhooks, and whoever has observed something."""

import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from keisei.engine.ports import Store
from keisei.library.catalog import Catalog
from keisei.records.error import AuthorError, OperatorError
from keisei.records.observation import SeenQuery, SensorState
from keisei.records.project import ProjectWebhook
from keisei.rules.webhook import secret_key
from keisei.wiring.store import Home

WEBHOOK: Final = "webhook:"
"""How the name of a webhook's sensor begins."""
MISSING: Final = "no skill of this name brings a sensor"


class SensorLine(Struct, frozen=True, kw_only=True):
    """What is known of a sensor."""

    sensor_id: str
    """Its name: that of its skill, `webhook:<name>`, or what somebody calls itself who hands events over."""
    kind: Literal["skill", "webhook", "other"]
    """Who observes."""
    state: Literal["on", "paused", "not run", "missing"]
    """Whether it is run or listened to; a skill's sensor is run where keisei.toml has a table for it."""
    every_s: float | None = None
    """Seconds between two runs."""
    last_run_at: datetime | None = None
    """When it last ran."""
    next_run_at: datetime | None = None
    """When it is run again."""
    failures: int = 0
    """How often it failed in a row."""
    note: str | None = None
    """What went wrong last, or why it is paused."""


def sensors(home: Home, store: Store, catalog: Catalog) -> list[SensorLine]:
    """Every sensor, by name."""
    states = {each.sensor_id: each for each in store.sensors()}
    skills = _skills(catalog)
    found = {name: _of_skill(home, name, states.get(name), skills) for name in {*skills, *home.file.sensors}}
    for name in (f"{WEBHOOK}{each}" for each in home.file.webhooks):
        found[name] = _line(name, "webhook", states.get(name))
    for name in states.keys() - found.keys():
        found[name] = _line(name, "other", states[name])
    return [found[name] for name in sorted(found)]


def known_sensor(home: Home, store: Store, catalog: Catalog, name: str) -> SensorLine:
    """One of them, or whoever has observed something under this name. Raises OperatorError."""
    found = next((each for each in sensors(home, store, catalog) if each.sensor_id == name), None)
    if found is not None:
        return found
    if store.seen(SeenQuery(sensor_id=name, limit=1)):
        return _line(name, "other", None)
    raise OperatorError(f"no sensor is called `{name}`", "`keisei sensor list` shows all")


def secret_fault(table: ProjectWebhook, environment: Mapping[str, str] | None = None) -> str | None:
    """Why a webhook cannot be listened to with the secret that this process has; None where it can."""
    secret = (os.environ if environment is None else environment).get(table.secret_env)
    if not secret:
        return f"the variable {table.secret_env} is not set"
    try:
        secret_key(table.kind, secret)
    except OperatorError as error:
        return f"{table.secret_env}: {error.message}"
    return None


def _of_skill(home: Home, name: str, state: SensorState | None, skills: set[str]) -> SensorLine:
    table = home.file.sensors.get(name)
    every_s = None if table is None else table.every_s
    line = _line(name, "skill", state, on=table is not None and table.enabled, every_s=every_s)
    return line if name in skills else replace(line, state="missing", next_run_at=None, note=MISSING)


def _line(
    name: str,
    kind: Literal["skill", "webhook", "other"],
    state: SensorState | None,
    *,
    on: bool = True,
    every_s: float | None = None,
) -> SensorLine:
    if state is None:
        return SensorLine(sensor_id=name, kind=kind, state="on" if on else "not run", every_s=every_s)
    return SensorLine(
        sensor_id=name,
        kind=kind,
        state="paused" if state.paused else "on" if on else "not run",
        every_s=every_s,
        last_run_at=state.last_run_at,
        next_run_at=state.next_run_at if on and not state.paused and every_s is not None else None,
        failures=state.failures,
        note=state.reason,
    )


def _skills(catalog: Catalog) -> set[str]:
    """Skills that bring a sensor; one that cannot be read is lint's matter."""
    found = set()
    for name in catalog.names("skill"):
        with suppress(AuthorError):
            if catalog.loaded("skill", name).record.sensor_path is not None:
                found.add(name)
    return found
