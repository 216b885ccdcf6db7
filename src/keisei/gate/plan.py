"""Plans: which policy a token stands for. The runner writes them, the service reads them, and a changed one refuses."""

import json
import os
import re
import secrets
import stat
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import msgspec

from keisei.contracts.hook import read_json
from keisei.records.error import WorldFault
from keisei.rules.canonical import digest

TOKEN = re.compile(r"[A-Za-z0-9_-]{16,64}", re.ASCII)
LARGEST = 4 * 1024 * 1024
CACHED = 64
"""Plans kept ready; an older one is read again."""
REMEMBERED = 16_384
"""Tokens whose digests are remembered, so that a plan cannot become another one while it is away."""

Prepare = Callable[[dict[str, Any]], Any]
"""Makes of a policy's JSON whatever the judge wants to have ready. Raising refuses every call under that plan."""


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A policy of its own for one sub-agent, as it stands in a plan's file."""

    policy: dict[str, Any]
    digest: str


class PlanFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A plan as it stands in its file."""

    policy: dict[str, Any]
    digest: str
    log: str
    explicit: bool = False
    attempt_id: str | None = None
    agents: dict[str, Part] = {}


class Plan(NamedTuple):
    """A policy ready to judge by."""

    policy: dict[str, Any]
    """As JSON."""
    compiled: Any
    """What `prepare` made of it."""
    digest: str
    """sha256 of its canonical JSON."""
    log: Path
    """The gate.jsonl of the attempt."""
    explicit: bool
    """Whether an allowance is said aloud: inside an attempt of the runtime."""
    attempt_id: str | None
    """The attempt; None in a user's own session."""
    agents: dict[str, "Plan"]
    """Sub-agents with a policy of their own, by id or by kind."""

    def of(self, agent_id: str | None, agent_type: str | None) -> "Plan":
        """The plan of a sub-agent: by its id, else by its kind, else this one."""
        for name in (agent_id, agent_type):
            if name is not None and name in self.agents:
                return self.agents[name]
        return self


Signature = tuple[int, ...]


class Plans:
    """The plans of a folder. Falls closed: what is missing, unsafe, corrupt or changed raises WorldFault."""

    def __init__(self, folder: Path, prepare: Prepare, cached: int = CACHED) -> None:
        """Name the folder; each plan is read when its token is first seen, and looked at with each call."""
        self.folder = folder
        self._prepare = prepare
        self._cached = cached
        self._lock = Lock()
        self._ready: OrderedDict[str, tuple[Signature, Plan]] = OrderedDict()
        self._seen: OrderedDict[str, Plan] = OrderedDict()

    def get(self, token: str) -> Plan:
        """The plan of a token. Raises WorldFault with one sentence."""
        if not TOKEN.fullmatch(token):
            raise WorldFault("the token is malformed")
        signature = self._signature(token)
        with self._lock:
            ready = self._ready.get(token)
            if ready is None or ready[0] != signature:
                ready = self._load(token)
                self._ready[token] = ready
            self._ready.move_to_end(token)
            while len(self._ready) > self._cached:
                self._ready.popitem(last=False)
        return ready[1]

    def last(self, token: str) -> Plan | None:
        """The plan as it last was whole, without its policy: where to write down that it no longer is.

        None where its file is gone: the attempt has ended, and so has its log.
        """
        with self._lock:
            seen = self._seen.get(token)
        return seen if seen is not None and os.path.lexists(self._path(token)) else None

    def gone(self) -> list[Plan]:
        """Let go of plans whose file is gone, and return them."""
        with self._lock:
            tokens = [token for token in self._ready if not os.path.lexists(self._path(token))]
            return [self._ready.pop(token)[1] for token in tokens]

    def _path(self, token: str) -> str:
        return f"{self.folder}/{token}.json"

    def _signature(self, token: str) -> Signature:
        try:
            return _signature(os.lstat(self._path(token)))
        except OSError as error:
            known = "it is not known, or its attempt has ended"
            gone = known if self.folder.is_dir() else "the folder of plans is gone"
            raise WorldFault(f"there is no plan for this token: {gone}") from error

    def _load(self, token: str) -> tuple[Signature, Plan]:
        signature, raw = _read(Path(self._path(token)))
        try:
            file = msgspec.convert(read_json(raw), PlanFile)
        except (ValueError, msgspec.ValidationError) as error:
            raise WorldFault(f"the plan is corrupt: {error}") from error
        plan = self._plan(file)
        seen = self._seen.get(token)
        if seen is not None and not _continues(seen, plan):
            raise WorldFault("the plan was changed since it was first read")
        self._seen[token] = _bare(plan)
        self._seen.move_to_end(token)
        while len(self._seen) > REMEMBERED:
            self._seen.popitem(last=False)
        return signature, plan

    def _plan(self, file: PlanFile) -> Plan:
        if not file.log.startswith("/") or "\0" in file.log:
            raise WorldFault("the plan is corrupt: its log is not an absolute path")
        if file.attempt_id == "":
            raise WorldFault("the plan is corrupt: its attempt_id is empty")
        parts = {name: self._compiled(part.policy, part.digest, file) for name, part in file.agents.items()}
        return self._compiled(file.policy, file.digest, file)._replace(agents=parts)

    def _compiled(self, policy: dict[str, Any], told: str, file: PlanFile) -> Plan:
        try:
            found = digest(policy)
        except ValueError as error:
            raise WorldFault(f"the plan is corrupt: {error}") from error
        if found != told:
            raise WorldFault("the plan was changed: its policy does not have its digest")
        try:
            compiled = self._prepare(policy)
        except Exception as error:
            raise WorldFault(f"the plan's policy cannot be used: {error}") from error
        return Plan(policy, compiled, found, Path(file.log), file.explicit, file.attempt_id, {})


def new_token() -> str:
    """A token nobody can guess."""
    return secrets.token_urlsafe(24)


def write_plan(folder: Path, token: str, plan: PlanFile) -> Path:
    """Write a plan so that a reader sees all of it or nothing; the folder is made 0700. Raises WorldFault."""
    if not TOKEN.fullmatch(token):
        raise WorldFault("the token is malformed")
    path, draft = folder / f"{token}.json", folder / f".{token}.{secrets.token_hex(4)}"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(draft, flags, 0o600), "wb") as file:  # noqa: PTH123 - a descriptor
            file.write(json.dumps(msgspec.to_builtins(plan)).encode())
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise WorldFault(f"the plan cannot be written: {error}") from error
    return path


def _continues(seen: Plan, plan: Plan) -> bool:
    """Whether a plan is the one that was seen, with sub-agents added at most."""
    same = (seen.digest, seen.log, seen.explicit, seen.attempt_id) == (
        plan.digest,
        plan.log,
        plan.explicit,
        plan.attempt_id,
    )
    kept = (name in plan.agents and each.digest == plan.agents[name].digest for name, each in seen.agents.items())
    return same and all(kept)


def _bare(plan: Plan) -> Plan:
    """What is remembered of a plan: everything but the policies, which may be large."""
    agents = {name: each._replace(policy={}, compiled=None) for name, each in plan.agents.items()}
    return plan._replace(policy={}, compiled=None, agents=agents)


def _read(path: Path) -> tuple[Signature, bytes]:
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:  # noqa: PTH123
            status = os.fstat(file.fileno())
            _safe(status, "the plan")
            _safe(path.parent.stat(), "the folder of plans")
            if not stat.S_ISREG(status.st_mode):
                raise WorldFault("the plan is not a file")
            raw = file.read(LARGEST + 1)
    except OSError as error:
        raise WorldFault(f"the plan cannot be read: {error.strerror}") from error
    if len(raw) > LARGEST:
        raise WorldFault("the plan is too large")
    return _signature(status), raw


def _safe(status: os.stat_result, name: str) -> None:
    """Refuse what others could have written."""
    if status.st_uid not in (0, os.geteuid()) or status.st_mode & 0o022:
        raise WorldFault(f"{name} can be written by others")


def _signature(status: os.stat_result) -> Signature:
    return (
        status.st_dev,
        status.st_ino,
        status.st_mode,
        status.st_uid,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )
