"""Verifying alone: the work in a worktree is judged here and now, without a queue and without landing anything."""

import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from msgspec.structs import replace

from keisei.library.catalog import Catalog
from keisei.library.spawn import ready_task
from keisei.records.error import KeiseiError, OperatorError
from keisei.records.finding import FindingRecord
from keisei.records.id import AttemptId
from keisei.records.task_spec import SpecTask, TaskSpec
from keisei.records.verification import RunFrom, Said
from keisei.records.worktree import RepositoryFacts, Worktree
from keisei.rules.policy import Policy
from keisei.settings import Settings
from keisei.wiring.execute import Hold
from keisei.wiring.forks import RepositoryForks
from keisei.wiring.hall import project_shop
from keisei.wiring.policy import Setting, capabilities_policy, spec_policy
from keisei.wiring.shop import Shop
from keisei.wiring.store import Home, open_home_store, project_home
from keisei.wiring.switch import Switch
from keisei.wiring.verification import Stage, Subject, verify_candidate
from keisei.wiring.yard import Yard
from keisei.workspace.git import asked, checked
from keisei.workspace.merge import is_ancestor
from keisei.workspace.ref import drop_ref, find_ref
from keisei.workspace.repository import facts
from keisei.workspace.stage import stage

FOREVER_S: Final = 86_400.0
LARGEST: Final = 1_048_576


class Alone(NamedTuple):
    """What is to be verified."""

    task: Path | None
    """The task file; None where only the capabilities that are named count."""
    worktree: Path
    """Where the work is: a worktree of the repository, or a clone's checkout of it."""
    main_repo: Path | None = None
    """The main checkout; by default the one the worktree belongs to."""
    mode: RunFrom = "merged"
    """Judge what would be on main, or the work as it is."""
    report: Path | None = None
    """A file with what the agent said at its end."""
    names: tuple[str, ...] | None = None
    """Only these capabilities, whatever the role says."""


def verify_task(settings: Settings, catalog: Catalog, alone: Alone) -> list[FindingRecord]:
    """What every predicate says of the work. Raises KeiseiError where it cannot be asked at all.

    The rules come from the catalog, never from the worktree. Nothing of the worktree is written; what is staged to be
    looked at is dropped again.
    """
    found = _facts(settings, alone)
    with _shop(settings, Path(found.root)) as shop:
        yard = shop.yard
        if yard is None:  # pragma: no cover - a project's shop has one
            raise OperatorError("there is nothing to verify with")
        return _verified(shop, yard, found, catalog, alone)


def _facts(settings: Settings, alone: Alone) -> RepositoryFacts:
    if not alone.worktree.is_dir():
        raise OperatorError(f"the worktree `{alone.worktree}` is not a folder", "name the folder the agent worked in")
    root = alone.main_repo or _main_checkout(alone.worktree)
    project = project_home(settings, root).file.project
    found = facts(root, project.main if project is not None else "main")
    if _common_dir(alone.worktree) != found.common_dir:
        message = f"`{alone.worktree}` is no worktree of the repository in `{found.root}`"
        raise OperatorError(message, "name a worktree that `git worktree list` shows there")
    return found


def _main_checkout(worktree: Path) -> Path:
    common = Path(_common_dir(worktree))
    return common.parent if common.name == ".git" else worktree


def _common_dir(worktree: Path) -> str:
    """The git folder that all worktrees of a repository share, real."""
    done = asked(("rev-parse", "--path-format=absolute", "--git-common-dir"), {}, str(worktree))
    if done.code != 0:
        raise OperatorError(f"`{worktree}` is not in a git repository", "name a worktree of the repository")
    return os.path.realpath(os.fsdecode(done.out.removesuffix(b"\n")))


@contextmanager
def _shop(settings: Settings, root: Path) -> Iterator[Shop]:
    """The project's own rooms; outside of every project, rooms of the moment."""
    with tempfile.TemporaryDirectory(prefix="keisei-verify-", ignore_cleanup_errors=True) as folder:
        home = project_home(settings, root)
        if home.root is None:
            home = Home("verify", root, home.file, Path(folder).resolve() / "state")
            settings = settings._replace(database_url="")
        store = open_home_store(settings, home)
        try:
            yield project_shop(settings, home, store, accept_weaker=True)
        finally:
            store.close()


def _verified(shop: Shop, yard: Yard, found: RepositoryFacts, catalog: Catalog, alone: Alone) -> list[FindingRecord]:
    spec, policy = _policy(catalog, alone, Path(found.root))
    name = AttemptId(f"alone-{secrets.token_hex(6)}")
    here, moved = _worktree(found, alone.worktree)
    with tempfile.TemporaryDirectory(prefix="keisei-stage-", ignore_cleanup_errors=True) as folder:
        staged = stage(here, name, "candidate", private=Path(folder).resolve() / "git")
        try:
            subject = Subject(
                attempt_id=name,
                staged=staged,
                policy=policy,
                spec=spec,
                said=_said(alone.report),
                forks=RepositoryForks(shop, found, Path(folder) / "forks"),
                tampered=moved,
            )
            hold = Hold(Switch(), lambda: FOREVER_S, secrets.token_hex(16))
            return verify_candidate(Stage(shop, yard, found, hold), subject).findings
        finally:
            with suppress(KeiseiError):
                kept = find_ref(found.common_dir, "candidate", name)
                if kept is not None:
                    drop_ref(found.common_dir, kept)


def _policy(catalog: Catalog, alone: Alone, root: Path) -> tuple[TaskSpec, Policy]:
    """The task and what is asked of it, each in the one place that was asked for."""
    setting = Setting(root, root, None)
    spec = TaskSpec(task=SpecTask(role="none"))
    if alone.task is not None:
        spec, _ = ready_task(catalog, alone.task)
    if alone.names is not None:
        policy = capabilities_policy(catalog, alone.names, alone.task, setting)
    else:
        policy = spec_policy(catalog, spec, setting, alone.task)
    if alone.mode == "merged":
        return spec, policy
    verifies = tuple(replace(each, run_from=("worktree",)) for each in policy.verifies)
    return spec, replace(policy, verifies=verifies)


def _worktree(found: RepositoryFacts, path: Path) -> tuple[Worktree, tuple[str, ...]]:
    """The worktree against the commit it began with, and whether somebody has committed there since."""
    top, git_dir, head = _asked(path)
    words = ("merge-base", head, found.head)
    base = checked(words, asked(words, {"GIT_DIR": found.common_dir}, found.common_dir)).decode("ascii").strip()
    moved = () if is_ancestor(found.common_dir, head, found.head) else (f"its HEAD {head[:12]} is not on main",)
    worktree = Worktree(slot="alone", path=top, git_dir=git_dir, common_dir=found.common_dir, base=base)
    return worktree, moved


def _asked(path: Path) -> tuple[str, str, str]:
    words = ("rev-parse", "--path-format=absolute", "--show-toplevel", "--absolute-git-dir", "HEAD")
    told = os.fsdecode(checked(words, asked(words, {}, str(path)))).split("\n")
    return os.path.realpath(told[0]), os.path.realpath(told[1]), told[2]


def _said(report: Path | None) -> Said:
    if report is None:
        return Said(text=None)
    try:
        return Said(text=None, file=report.read_bytes()[:LARGEST].decode("utf-8", "replace"))
    except OSError as error:
        message = f"the report `{report}` cannot be read: {(error.strerror or str(error)).lower()}"
        raise OperatorError(message, "name the file with what the agent said at its end") from error
