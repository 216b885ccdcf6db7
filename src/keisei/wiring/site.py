"""The site of an attempt: its folders, and the worktree it has for itself."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import tomlkit
from msgspec import Struct

from keisei.records.adapter import AdapterConfig
from keisei.records.bundle import BundleWorkspace
from keisei.records.error import KeiseiError, OperatorError
from keisei.records.move import Claimed
from keisei.records.task_spec import SpecScope, TaskSpec
from keisei.records.worktree import Fingerprint, RepositoryFacts, Worktree
from keisei.rules.reach import ALWAYS, reach
from keisei.rules.scope import glob_fault
from keisei.wiring.environments import equip
from keisei.wiring.execute import Hold
from keisei.wiring.shop import Shop
from keisei.wiring.store import make_folder
from keisei.wiring.yard import Yard
from keisei.workspace.fingerprint import fingerprint
from keisei.workspace.pool import Leased
from keisei.workspace.ref import drop_ref, find_ref
from keisei.workspace.removal import remove
from keisei.workspace.repository import base_of
from keisei.workspace.stage import stage

ROOM: Final = "room"
"""The part of an attempt's folder that it sees itself."""


class Site(Struct, frozen=True, kw_only=True):
    """Where one attempt works."""

    folder: Path
    """The attempt's folder; it does not see it."""
    room: Path
    """Its own part of it: home, temporary files, prompt, what it leaves."""
    cwd: Path
    """Where the harness starts."""
    workspace: BundleWorkspace | None
    """The repository as it begins with it."""
    confined: bool = False
    """The sandbox stands around it."""
    facts: RepositoryFacts | None = None
    """The repository, where it works on one."""
    leased: Leased | None = None
    """Its worktree."""
    before: Fingerprint | None = None
    """The repository's metadata before it began."""
    protect: tuple[str, ...] = ()
    """Paths of the worktree that the task may not change, nor anything below them."""


class Wish(NamedTuple):
    """What a site is made for."""

    claimed: Claimed
    config: AdapterConfig
    spec: TaskSpec
    confined: bool
    hold: Hold
    """By what a set-up is held that has to be run first."""


def run_folder(shop: Shop, claimed: Claimed) -> Path:
    """The attempt's folder."""
    return shop.home.run / claimed.attempt.attempt_id


def make_site(shop: Shop, wish: Wish) -> Site:
    """Make the folders and take a worktree where the attempt is confined. Raises KeiseiError; nothing is taken then."""
    folder = run_folder(shop, wish.claimed)
    room = folder / ROOM
    artifacts = shop.artifact_folder(wish.claimed.task)
    for each in (folder, room, room / "home", room / "tmp", artifacts):
        make_folder(each)
    if not wish.confined or shop.yard is None:
        cwd = _own_folder(shop, wish.config, room)
        return Site(folder=folder, room=room, cwd=cwd, workspace=base_of(cwd))
    return _confined(shop, shop.yard, wish, folder, room)


def _own_folder(shop: Shop, config: AdapterConfig, room: Path) -> Path:
    """The adapter's folder, else the project's root, else the attempt's own."""
    named = getattr(config, "working_dir", None)
    base = shop.home.root or room / "work"
    if shop.home.root is None:
        make_folder(base)
    cwd = base / Path(named).expanduser() if named else base
    if not cwd.is_dir():
        raise OperatorError(f"the working_dir `{cwd}` of adapter `{config.adapter_id}` is not a folder")
    return cwd.resolve()


def _check_scope(scope: SpecScope) -> None:
    """Raise OperatorError for a glob that cannot be judged: whoever wrote it may have had more in mind than it says."""
    for glob in (*scope.files_whitelist, *scope.files_denylist):
        fault = glob_fault(glob)
        if fault is not None:
            raise OperatorError(
                f"the task's scope names `{glob[:80]}`, which {fault}", "mend it and queue the task again"
            )


def _confined(shop: Shop, yard: Yard, wish: Wish, folder: Path, room: Path) -> Site:
    _check_scope(wish.spec.scope)
    try:
        facts = yard.facts()
    except OperatorError:
        if wish.spec.scope.files_whitelist or shop.home.root is None:
            raise
        cwd = shop.home.root.resolve()  # nothing is written, so a folder without a repository will do
        return Site(folder=folder, room=room, cwd=cwd, workspace=None, confined=True)
    leased = yard.pool(facts).take(wish.claimed.attempt.attempt_id, facts.head)
    try:
        equip(shop, yard, facts, leased.worktree, folder / "setup", wish.hold)
        cwd = _inside(wish.config, facts, Path(leased.worktree.path))
        before = fingerprint(leased.worktree)
    except BaseException:
        leased.release(reusable=False)
        raise
    return Site(
        folder=folder,
        room=room,
        cwd=cwd,
        workspace=BundleWorkspace(commit=facts.head, dirty=False),
        confined=True,
        facts=facts,
        leased=leased,
        before=before,
        protect=_protected(wish.spec.scope),
    )


def _protected(scope: SpecScope) -> tuple[str, ...]:
    """What the task may not change; it may change what it names itself."""
    found = reach(scope.files_whitelist, scope.files_denylist).protect
    return tuple(each for each in found if each in ALWAYS or each not in scope.files_whitelist)


def _inside(config: AdapterConfig, facts: RepositoryFacts, tree: Path) -> Path:
    """The folder of the worktree that the adapter's `working_dir` means. Raises OperatorError for one outside of it."""
    named = getattr(config, "working_dir", None)
    if not named:
        return tree
    wanted = os.path.normpath(Path(facts.root) / Path(named).expanduser())
    relative = os.path.relpath(wanted, facts.root)
    cwd = tree / relative
    if relative.split("/")[0] == ".." or not cwd.is_dir() or not cwd.resolve().is_relative_to(tree):
        message = f"the working_dir `{named}` of adapter `{config.adapter_id}` is not a folder of the repository"
        raise OperatorError(message, "an agent works in its worktree: name a folder that the last commit has")
    return cwd.resolve()


def write_task(site: Site, spec: TaskSpec | None, payload: bytes, told: dict[str, object]) -> None:
    """What the attempt is asked, as files: the payload for it, the task file for gates that are scripts."""
    (site.room / "payload.json").write_bytes(payload)
    if spec is not None:
        (site.folder / "task.toml").write_text(tomlkit.dumps(told))


def find_leased(shop: Shop, claimed: Claimed) -> Leased | None:
    """The worktree an attempt has left behind; None where it has none. Never raises."""
    if shop.yard is None or not shop.yard.worktrees.is_dir():
        return None
    try:
        return shop.yard.pool(shop.yard.facts()).find(claimed.attempt.attempt_id)
    except KeiseiError:
        return None


def give_back(leased: Leased, claimed: Claimed, *, kept: bool, reusable: bool) -> None:
    """Keep what is in a worktree unless a candidate holds it already, then give it back. Never raises.

    A worktree whose content cannot be kept stays as it is, under the attempt's name.
    """
    try:
        if not kept:
            keep_work(leased.worktree, claimed.attempt.attempt_id)
    except (KeiseiError, OSError):
        leased.leave()
        return
    with suppress(KeiseiError, OSError):
        leased.release(reusable=reusable)


def keep_work(worktree: Worktree, attempt_id: str) -> None:
    """Keep the work in a worktree under a salvage reference; where there is none, no reference. Raises KeiseiError."""
    if not stage(worktree, attempt_id, "salvage").changes:
        empty = find_ref(worktree.common_dir, "salvage", attempt_id)
        if empty is not None:
            drop_ref(worktree.common_dir, empty)


def remove_folder(folder: Path) -> None:
    """Remove an attempt's folder, whatever the attempt has made of it. Never raises; gc finds what is left."""
    with suppress(OSError, KeiseiError):
        remove(folder)
