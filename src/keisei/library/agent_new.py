"""New agents: agent.toml, SOUL.md and PURPOSE.md, all three or none, never over a file that is there."""

import re
from datetime import datetime
from pathlib import Path
from typing import Final

from keisei.library.document import parse
from keisei.library.load import load
from keisei.library.placement import NewFile
from keisei.library.placing import place_files
from keisei.library.source import read_source
from keisei.records.error import OperatorError

NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
FILES: Final = ("SOUL.md", "PURPOSE.md", "agent.toml")
"""The last one is what makes the others count."""
SOUL: Final = """# Who {name} is

Values, and the way of speaking. Write it with the agent: it is part of every prompt of its tasks.

- Say what was seen, and what was not.
"""
PURPOSE: Final = """# What {name} is for

Goals, and what it judges itself by.

- Leave every check green.
"""


def checked_name(name: str) -> str:
    """The same name. Raises OperatorError for one that cannot be an agent's."""
    if not NAME.fullmatch(name):
        hint = "use lower-case letters, digits, `_` and `-`, at most 64, beginning with a letter or digit"
        raise OperatorError(f"`{name}` is not a name for an agent", hint)
    return name


def new_agent(folder: Path, name: str, display_name: str, now: datetime) -> tuple[Path, ...]:
    """Write a new agent into a folder of agents; returns its files. Raises OperatorError, WorldFault, AuthorError."""
    texts = agent_texts(checked_name(name), display_name, now)
    files = [NewFile(path=f"{name}/{file}", content=texts[file]) for file in FILES]
    place_files(folder, files, _check)
    return tuple(folder / name / file for file in FILES)


def agent_texts(name: str, display_name: str, now: datetime) -> dict[str, str]:
    """What the three files say at first."""
    import tomlkit  # noqa: PLC0415 - only writers need it

    shown = tomlkit.item(display_name).as_string()
    identity = f'[identity]\nagent_id = "{name}"\ninternal_name = "{name}"\ndisplay_name = {shown}\n'
    mark = f'[constitution]\nversion = "0.1.0"\nrevised_at = {now:%Y-%m-%dT%H:%M:%SZ}\n'
    heading = " ".join(display_name.split())
    return {
        "agent.toml": f"{identity}\n{mark}",
        "SOUL.md": SOUL.format(name=heading),
        "PURPOSE.md": PURPOSE.format(name=heading),
    }


def _check(made: Path) -> None:
    """Raises AuthorError where the new file would not be read, for example for an empty display name."""
    load(parse(read_source(made / "agent.toml")), "agent.file")
