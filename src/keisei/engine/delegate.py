"""Delegate: what one task may ask for. Follow-ups, and what an attempt queues while it runs, are held to the same.

Nothing of who asks is read from what is asked: the parent comes from its row, or from the attempt that calls.
"""

from datetime import datetime, timedelta
from typing import Final, NamedTuple

from msgspec.structs import replace

from keisei.engine.budget import remaining
from keisei.engine.gather import task_file
from keisei.engine.intake import PRIORITY, Origin, Registry, accept
from keisei.engine.office import Office
from keisei.engine.ports import Store
from keisei.records.adapter import ScriptAdapter
from keisei.records.budget import Amount, BudgetPolicy
from keisei.records.error import Refused
from keisei.records.id import TaskId
from keisei.records.intent import Budget, TaskIntent
from keisei.records.move import NewTask
from keisei.records.profile import SubagentProfile
from keisei.records.task import TaskRecord
from keisei.records.task_spec import SpecScope
from keisei.rules.budget import share, untold
from keisei.rules.follow_up import DEEPEST, curbed
from keisei.rules.scope import is_within

HOUR: Final = timedelta(hours=1)
SAID: Final = {"usd": "money", "tokens": "tokens"}
MOST: Final = 1000
"""Tasks that one task asks for; what they may spend is added up with each new one."""


class OutOfRole(Refused):
    """The parent's role does not hand over to that role."""


class TooDeep(Refused):
    """Too many tasks stand above it."""


class TooMany(Refused):
    """It has asked for too many, or tasks of its type have within an hour."""


class OverBudget(Refused):
    """It asks for more than its parent has left."""


class Means(NamedTuple):
    """What bounds the tasks that an attempt asks for."""

    rate: int
    """How many those of one type may ask for within an hour."""
    policy: BudgetPolicy | None
    """The limits of the project."""
    spent: Amount
    """What the attempt has spent so far; None where that is not known."""


def delegated(wish: TaskIntent, parent: TaskRecord, office: Office, *, key: str, means: Means) -> NewTask:
    """The task that a running attempt of `parent` asks for. Raises Refused, OperatorError, AuthorError, WorldFault.

    Unlike a follow-up's, its budget is never lowered in silence: it must fit into what the parent has left, and is half
    of that where none is asked for.
    """
    now = office.store.now()
    depth = office.store.depth(parent.task_id) + 1
    if depth > DEEPEST:
        raise TooDeep(f"a task {depth} tasks deep is not queued; {DEEPEST} is the deepest")
    if len(office.store.children(parent.task_id, MOST)) >= MOST:
        raise TooMany(f"task {parent.task_id} has asked for {MOST} tasks, and asks for no more")
    if (why := rate_used_up(parent, office.store, means.rate, now)) is not None:
        raise TooMany(why)
    intent = curbed(wish, parent, key=key, priority=PRIORITY, max_attempts=office.defaults.max_attempts)
    budget = _given(wish, parent, office.store, means)
    registry = office.registry()
    origin = Origin(parent_task_id=parent.task_id, depth=depth)
    asked = replace(intent, budget=budget)
    task = accept(asked, registry, office.defaults, origin=origin, task_id=TaskId(office.new_id()), now=now)
    check_authority(task.task, parent, registry)
    check_file(task.task, parent, registry)
    return task


def _given(wish: TaskIntent, parent: TaskRecord, store: Store, means: Means) -> Budget | None:
    """What of its parent's budget it is given. Raises OverBudget."""
    left = remaining(store, parent, means.policy, means.spent)
    if (unit := untold(left, means.spent)) is not None:
        raise OverBudget(
            f"what task {parent.task_id} has spent so far is not known in {SAID[unit]}, so nothing is handed on of it",
            'add `[prices."<model>"]` to keisei.toml, or limit tokens' if unit == "usd" else None,
        )
    budget, short = share(wish.budget, left)
    if short is not None:
        raise OverBudget(f"task {parent.task_id} {short}", "ask for less, or have its budget raised")
    return budget


def check_authority(task: TaskRecord, parent: TaskRecord, registry: Registry) -> None:
    """An agent hands work to its own role, or to those its role hands over to, on the adapters they have.

    Plain programs are under no gate: only an agent that is one itself may ask for one, or whose role hands over to it.
    """
    profile, own = registry.profile(task.requested_profile_id), registry.profile(parent.requested_profile_id)
    if profile.role != own.role and profile.role not in registry.handoff(own.role):
        raise OutOfRole(
            f"a task of role `{own.role}` cannot ask for profile `{profile.profile_id}` of role `{profile.role}`",
            f"name it in `[pipeline] handoff` of the role `{own.role}`",
        )
    usual = (parent.requested_adapter_id, profile.default_adapter_id, *profile.fallback_adapter_ids)
    if task.requested_adapter_id is not None and task.requested_adapter_id not in usual:
        raise Refused(f"a follow-up does not choose the adapter `{task.requested_adapter_id}`", "its profile does")
    if task.requested_model not in (None, parent.requested_model, own.default_model, profile.default_model):
        raise Refused(f"a follow-up does not choose the model `{task.requested_model}`", "its profile does")
    if profile.role == own.role and _is_program(task, profile, registry) and not _is_program(parent, own, registry):
        raise Refused(
            f"a task that is no program cannot ask for one, and profile `{profile.profile_id}` runs programs",
            f"give it a role of its own, and name that in `[pipeline] handoff` of the role `{own.role}`",
        )
    if strange := set(task.skill_ids) - {*parent.skill_ids, *own.skill_ids, *profile.skill_ids}:
        raise Refused(f"a follow-up does not choose the skill `{min(strange)}`", "its profile does")


def check_file(task: TaskRecord, parent: TaskRecord, registry: Registry) -> None:
    """A task file that an agent wrote names no other role, profile or rules than its parent may hand on.

    The file's role is the one an agent runs under, whatever its profile's is; that holds for the parent as well.
    """
    file = task_file(registry.task_type(task.task_type), task)
    role, own = _role(task, registry), _role(parent, registry)
    if role != own and role not in registry.handoff(own):
        raise OutOfRole(
            f"a task of role `{own}` cannot ask for role `{role}`",
            f"name it in `[pipeline] handoff` of the role `{own}`",
        )
    if file is not None and file.task.profile not in (None, task.requested_profile_id):
        raise Refused(f"the task file names profile `{file.task.profile}`, and the task runs under another", "name one")
    if file is not None and file.elevate is not None:
        raise Refused("a task file that an agent wrote elevates nothing", "leave `elevate` out")
    above = task_file(registry.task_type(parent.task_type), parent)
    if file is not None and above is not None and role == own:
        _check_scope(file.scope, above.scope)


def _check_scope(scope: SpecScope, above: SpecScope) -> None:
    """Under the same role a task writes no more than its parent may. Another role's scope its author has decided on."""
    for glob in scope.files_whitelist:
        if not any(is_within(glob, each) for each in above.files_whitelist):
            allowed = ", ".join(above.files_whitelist) or "nothing"
            raise Refused(f"the task would write `{glob}`, and its parent may write {allowed}", "ask for less")
    for glob in above.files_denylist:
        if glob not in scope.files_denylist:
            raise Refused(f"its parent must not write `{glob}`, and the task could", "put it into files-denylist")


def _role(task: TaskRecord, registry: Registry) -> str:
    """The role an agent runs under."""
    file = task_file(registry.task_type(task.task_type), task)
    return registry.profile(task.requested_profile_id).role if file is None else file.task.role


def rate_used_up(parent: TaskRecord, store: Store, rate: int, now: datetime) -> str | None:
    """Why tasks of the parent's type ask for nothing more within this hour; None where they may."""
    if store.followed_since(parent.task_type, now - HOUR) < rate:
        return None
    return (
        f"tasks of type `{parent.task_type}` have asked for {rate} follow-ups within an hour, the most that "
        "`[runner] follow-ups-per-hour` allows"
    )


def _is_program(task: TaskRecord, profile: SubagentProfile, registry: Registry) -> bool:
    """Whether a task may be run by a plain program."""
    usual = (profile.default_adapter_id, *profile.fallback_adapter_ids)
    names = usual if task.requested_adapter_id is None else (task.requested_adapter_id,)
    return any(isinstance(registry.adapter(name), ScriptAdapter) for name in names)
