"""Sense: one run of a skill's sensor, in a process of its own that is ended with everything it started.

A script is run as a program: one JSON object on standard input, events on standard output. A `.py` file that is not
executable is a function, `sense(cursor, now)`: it is run by the same Python, isolated, and never imported here.
"""

import json
import os
import sys
import tempfile
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

from keisei.library.catalog import Catalog
from keisei.library.source import inside, is_file
from keisei.records.error import OperatorError, WorldFault
from keisei.records.form import JsonObject
from keisei.records.launch import Exit, Launch
from keisei.records.project import ProjectSensor
from keisei.records.skill import SkillManifest
from keisei.rules.redact import Redactor
from keisei.rules.sensor import OutputFault, Said, said, tail
from keisei.sandbox.process import open_process
from keisei.wiring.program import program_of
from keisei.wiring.switch import Switch

OUTPUT_CAP: Final = 1_048_576
"""Bytes of each stream; a sensor that says more has failed."""
PASSED_ON: Final = ("PATH", "LANG", "LC_ALL", "LC_CTYPE")
GRACE_S: Final = 1.0
LEASE_MARGIN_S: Final = 5.0
"""The keeper ends the tree so long after its deadline, whatever has become of us."""
FUNCTION: Final = """
import datetime, inspect, json, os, runpy, sys
given = json.load(sys.stdin)
out = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)  # what it prints is no event

def plain(value):
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is no JSON")

def tell(value):
    out.write(json.dumps(value, default=plain, allow_nan=False) + "\\n")

sense = runpy.run_path(sys.argv[1]).get("sense")
if not callable(sense):
    sys.exit("it has no function `sense(cursor, now)`")
found = sense(given["cursor"], datetime.datetime.fromisoformat(given["now"].replace("Z", "+00:00")))
if isinstance(found, dict):
    tell(found)
elif inspect.isgenerator(found):
    def told():
        last = yield from found
        if last is not None:
            yield last
    for each in told():
        tell(each)
else:
    for each in found or ():
        tell(each)
out.flush()
"""


class Sensor(NamedTuple):
    """A sensor that a skill brings."""

    name: str
    path: Path
    folder: Path
    """Where it works: the project's root, else its skill's folder."""
    table: ProjectSensor


class SenseFault(Exception):
    """A run that failed; the text says why, without secrets."""


def find_sensor(catalog: Catalog, name: str, table: ProjectSensor, root: Path | None) -> Sensor:
    """The sensor of a skill. Raises AuthorError, OperatorError where there is none."""
    loaded = catalog.loaded("skill", name)
    skill: SkillManifest = loaded.record
    if skill.sensor_path is None:
        hint = "name its program in skill.toml, as `sensor_path`"
        raise OperatorError(f"skill `{name}` brings no sensor", hint)
    folder = loaded.document.source.path.parent
    path = inside(folder, skill.sensor_path)
    if path is None or not is_file(path):
        where = "outside the skill" if path is None else "missing"
        raise OperatorError(f"the sensor of skill `{name}`, `{skill.sensor_path}`, is {where}", "`keisei lint skills`")
    return Sensor(name, path.absolute(), (root or folder).absolute(), table)


def sense(sensor: Sensor, cursor: JsonObject | None, now: datetime, switch: Switch) -> Said:
    """Run it once. Raises SenseFault for everything that can go wrong; nothing of its tree runs on."""
    try:
        given = _given(sensor.table.env)
    except OperatorError as error:
        raise SenseFault(error.message) from error
    redactor = Redactor(given.values())
    try:
        with tempfile.TemporaryDirectory(prefix="keisei-sensor-") as home:
            ended = _run(_launch(sensor, cursor, now, given, home), switch)
        return _read(ended, sensor.table)
    except OutputFault as fault:
        raise SenseFault(redactor.text(f"{fault}{_stderr(ended)}")) from fault
    except WorldFault as fault:
        raise SenseFault(redactor.text(fault.message)) from fault
    except OSError as error:
        raise SenseFault(redactor.text(f"it could not be started: {error.strerror or error}")) from error


def _given(names: Iterable[str]) -> dict[str, str]:
    """The variables of its table. Raises OperatorError for one that nobody has set."""
    missing = [name for name in names if name not in os.environ]
    if missing:
        raise OperatorError(f"the variable {missing[0]}, which its table names, is not set", f"export {missing[0]}=...")
    return {name: os.environ[name] for name in names}


def _launch(sensor: Sensor, cursor: JsonObject | None, now: datetime, given: Mapping[str, str], home: str) -> Launch:
    passed = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    said_to = {"sensor_id": sensor.name, "cursor": cursor, "now": now.isoformat().replace("+00:00", "Z")}
    return Launch(
        argv=_program(sensor.path),
        cwd=str(sensor.folder),
        env={**passed, **given, "HOME": home, "TMPDIR": home},
        stdin=json.dumps(said_to).encode(),
        timeout_s=sensor.table.deadline_s,
        output_cap=OUTPUT_CAP,
        grace_s=GRACE_S,
    )


def _program(path: Path) -> tuple[str, ...]:
    if path.suffix == ".py" and not os.access(path, os.X_OK):
        return (sys.executable, "-I", "-c", FUNCTION, str(path))
    return program_of(str(path))


def _run(launch: Launch, switch: Switch) -> Exit:
    """With a keeper: the tree ends with this process too, and by the keeper's own clock in any case."""
    with open_process(launch, lease_s=launch.timeout_s + launch.grace_s + LEASE_MARGIN_S) as process:
        switch.attach(process)
        try:
            return process.wait()
        finally:
            switch.attach(None)


def _read(ended: Exit, table: ProjectSensor) -> Said:
    """What it said, where it ended as it should. Raises OutputFault."""
    if ended.canceled:
        raise OutputFault("it was ended because its runner stops")
    if ended.timed_out or ended.lease_lost:
        raise OutputFault(f"it took longer than {table.deadline_s:g} s and was ended")
    if ended.code is None and ended.signal is None:
        raise OutputFault("its keeper was killed, so that nobody knows how it ended")
    if ended.code != 0:
        how = f"signal {ended.signal}" if ended.signal is not None else f"exit {ended.code}"
        raise OutputFault(f"it ended with {how}")
    if ended.stdout_truncated:
        raise OutputFault(f"it said more than {OUTPUT_CAP} bytes")
    return said(ended.stdout)


def _stderr(ended: Exit) -> str:
    words = tail(ended.stderr.decode("utf-8", "replace"))
    return f": {words}" if words else ""
