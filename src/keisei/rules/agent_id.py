"""Agent ids: the id of one spawn. It becomes a folder, a branch and a row, so it is checked before anything else."""

import hashlib
import re
from datetime import datetime

from keisei.records.id import SpawnId

LONGEST = 64
DEVICES = frozenset(
    {"CON", "PRN", "AUX", "NUL", *(f"{port}{number}" for port in ("COM", "LPT") for number in range(1, 10))}
)


def fault(agent_id: str) -> str | None:
    """Why an id cannot be used, or None. The checks run in the order and with the words of the originals."""
    if not agent_id:
        return "is empty"
    if len(agent_id.encode("utf-8", "surrogatepass")) > LONGEST:
        return f"is longer than {LONGEST} bytes"
    if not agent_id.isascii():
        return "is not ASCII"
    for bad, name in (("..", "'..'"), ("/", "'/'"), ("\\", "'\\'"), ("\0", "NUL"), (":", "':'")):
        if bad in agent_id:
            return f"contains {name}"
    if any(char.isspace() for char in agent_id):
        return "contains white space"
    if not agent_id[0].isalnum():
        return "must start with a letter or digit"
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", agent_id):
        return "may contain only letters, digits, '_', '.' and '-'"
    if agent_id.split(".", maxsplit=1)[0].upper() in DEVICES:
        return "is a Windows-reserved name"
    return None


def automatic(role: str, unix_ms: int, entropy: int) -> SpawnId:
    """`ag-<role>-<unix-ms hex>-<4 hex>`, cut in the role where it would be too long."""
    suffix = f"-{unix_ms:x}-{entropy & 0xFFFF:04x}"
    return SpawnId(f"ag-{role}"[: LONGEST - len(suffix)] + suffix)


def of_task(task_id: str, created_at: datetime) -> SpawnId:
    """The id of a spawn whose task names none: `ag-task-<unix-ms hex>-<12 hex>`, the same whenever it is asked for."""
    digest = hashlib.sha256(task_id.encode("utf-8", "surrogatepass")).hexdigest()
    return SpawnId(f"ag-task-{max(0, int(created_at.timestamp() * 1000)):x}-{digest[:12]}")
