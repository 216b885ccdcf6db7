"""The original's runtime.json, read: its names and its folders, and the store beside its own."""

import json
from pathlib import Path
from typing import Final, NamedTuple

from keisei.engine.ports import Store
from keisei.library.runtime import RuntimeConfig, load_runtime
from keisei.records.project import ProjectFile, ProjectRunner
from keisei.settings import Settings
from keisei.wiring.store import Home, open_home_store

FILES: Final = "keisei"
"""The folder for our files inside the original's state folder."""
PAUSE: Final = "dispatch.paused.json"
"""The file in the original's state folder by which its operators pause it."""


class Runtime(NamedTuple):
    """A runtime.json, read."""

    config: RuntimeConfig
    home: Home
    state: Path
    """The original's state folder; ours is inside it."""
    artifacts: Path


class Paused(NamedTuple):
    """Why nothing is run."""

    reason: str | None


def read_runtime(path: Path) -> Runtime:
    """The configuration and its folders. Raises AuthorError with every problem of every file it reads."""
    config = load_runtime(path)
    file, folder = config.file, path.absolute().parent
    state = Path(file.state_dir) if file.state_dir else folder / "state"
    runner = ProjectRunner(
        max_attempts=file.max_attempts or ProjectRunner().max_attempts,
        retry_first_s=float(file.retry_backoff_seconds or ProjectRunner().retry_first_s),
        policy=file.runtime_policy,
    )
    home = Home(file.runtime_name or "runtime", folder, ProjectFile(runner=runner), state / FILES)
    return Runtime(config, home, state, Path(file.artifact_dir) if file.artifact_dir else state / "artifacts")


def open_runtime_store(settings: Settings, runtime: Runtime) -> Store:
    """The store of this configuration: a database of its own, beside the original's."""
    return open_home_store(settings, runtime.home)


def paused(runtime: Runtime) -> Paused | None:
    """Whether the original's operators have paused it. Falls closed: a file that cannot be read pauses too."""
    try:
        found = json.loads((runtime.state / PAUSE).read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError):
        return Paused("pause file unreadable")
    if not isinstance(found, dict) or found.get("paused") is not True:
        return None
    reason = found.get("reason")
    return Paused(reason if isinstance(reason, str) and reason.strip() else None)
