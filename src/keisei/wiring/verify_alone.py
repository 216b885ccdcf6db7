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
from keisei.wiring import project_layer
from keisei.wiring.alone import rules_home
from keisei.wiring.execute import Hold
from keisei.wiring.forks import RepositoryForks
from keisei.wiring.hall import project_shop
from keisei.wiring.policy import Setting, capabilities_policy, spec_policy
from keisei.wiring.shop import Shop
from keisei.wiring.store import Home, open_home_store, project_home
from keisei.wiring.switch import Switch
from keisei.wiring.verification import MERGE, Stage, Subject, verify_candidate
from keisei.wiring.yard import Yard
from keisei.workspace.git import asked
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
    """Where the work is: a worktree of the repository."""
    main_repo: Path | None = None
    """The main checkout; by default the one the worktree belongs to."""
    mode: RunFrom = "merged"
    """Judge what would be on main, or the work as it is."""
    report: Path | None = None
    """A file with what the agent said at its end."""
    names: tuple[str, ...] | None = None
    """Only these capabilities, whatever the role says."""


class Rules(NamedTuple):
    """Whose rules judge."""

    home: Path
    """Where they are read from."""
    main_repo: Path | None
    """The main checkout they belong to; None where only the worktree can tell."""


def rules_of(settings: Settings, task: Path | None, worktree: Path, main_repo: Path | None) -> Rules:
    """The rules of the project around the task file, and its repository: never what the worktree says of itself.

    Raises OperatorError where the rules would be the worktree's and it is in no repository.
    """
    # `work/../task.toml` stands beside `work`, and the folders above its name are not those above it
    named = Path(os.path.realpath(task.parent), task.name) if task is not None else None
    home = rules_home(settings, named, main_repo)
    if main_repo is not None:
        return Rules(home, main_repo)
    if is_inside(home, worktree):
        main = _main_checkout(worktree)
        return Rules(main, main)
    project = project_layer(home)
    own = project.folder.parent if project is not None else None
    return Rules(home, own if own is not None and asked(("rev-parse", "HEAD"), {}, str(own)).code == 0 else None)


def is_inside(path: Path, folder: Path) -> bool:
    """Whether it is the folder, or below it, links walked."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def verify_task(settings: Settings, catalog: Catalog, alone: Alone) -> list[FindingRecord]:
    """What every predicate says of the work. Raises KeiseiError where it cannot be asked at all.

    The work as it is need not go together with main: that is asked only of what would be on main.

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
        raise OperatorError(message, "name one that `git worktree list` shows there, or its own --main-repo")
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
            findings = verify_candidate(Stage(shop, yard, found, hold), subject).findings
            return [each for each in findings if alone.mode == "merged" or each.capability != MERGE]
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
    done = asked(("merge-base", head, found.head), {"GIT_DIR": found.common_dir}, found.common_dir)
    base = done.out.decode("ascii", "replace").strip()
    if done.code != 0 or not base:
        message = f"`{path}` has no commit in common with {found.branch}"
        raise OperatorError(message, "work that is verified begins with a commit of it")
    moved = () if is_ancestor(found.common_dir, head, found.head) else (f"its HEAD {head[:12]} is not on main",)
    worktree = Worktree(slot="alone", path=top, git_dir=git_dir, common_dir=found.common_dir, base=base)
    return worktree, moved


def _asked(path: Path) -> tuple[str, str, str]:
    words = ("rev-parse", "--path-format=absolute", "--show-toplevel", "--absolute-git-dir", "HEAD")
    done = asked(words, {}, str(path))
    told = os.fsdecode(done.out).split("\n")
    if done.code != 0 or len(told) != len(words) - 1:
        raise OperatorError(f"`{path}` is no checkout of a commit", "name a worktree with a commit and a plain path")
    return os.path.realpath(told[0]), os.path.realpath(told[1]), told[2]


def _said(report: Path | None) -> Said:
    if report is None:
        return Said(text=None)
    try:
        return Said(text=None, file=report.read_bytes()[:LARGEST].decode("utf-8", "replace"))
    except OSError as error:
        message = f"the report `{report}` cannot be read: {(error.strerror or str(error)).lower()}"
        raise OperatorError(message, "name the file with what the agent said at its end") from error
