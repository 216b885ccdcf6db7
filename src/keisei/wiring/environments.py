"""The project's environment: built once for each key on the base, and given to worktrees as a copy."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from keisei.records.confinement import Confinement, Limits
from keisei.records.error import OperatorError, WorldFault
from keisei.records.launch import Launch
from keisei.records.project import ProjectEnvironment
from keisei.records.worktree import RepositoryFacts, Worktree
from keisei.sandbox.confine import confine
from keisei.wiring.confinement import MB, hidden, toolchains
from keisei.wiring.execute import Hold, run_held
from keisei.wiring.shop import Shop
from keisei.wiring.store import make_folder
from keisei.wiring.surroundings import passed_on
from keisei.wiring.yard import Yard
from keisei.workspace.checkout import check_out
from keisei.workspace.environment import this_platform
from keisei.workspace.git import Private, asked, shared
from keisei.workspace.removal import remove

SETUP_S: Final = 1800.0
LAST_WORDS: Final = 2000


def environment_key(shop: Shop, yard: Yard, facts: RepositoryFacts, commit: str, scope: str = "") -> str | None:
    """What the environment of a commit is called; None where the project has none. A scope makes it nobody else's."""
    setting = shop.home.file.environment
    if setting is None:
        return None
    return yard.environments.key(lambda path: _file_at(facts, commit, path), setting, this_platform(), scope)


def equip(  # noqa: PLR0913, PLR0917 - where, for whom, held by what
    shop: Shop, yard: Yard, facts: RepositoryFacts, worktree: Worktree, scratch: Path, hold: Hold, scope: str = ""
) -> str | None:
    """Give the worktree what `[environment]` asks for; the environment's key, None where nothing is asked for.

    A set-up has its home in `scratch`, which is gone afterwards. Whatever else it did to the worktree is undone, so
    that the attempt that waited for it begins like every other. Raises OperatorError where it fails, with its last
    words, and WorldFault, which may pass, where somebody killed it.
    """
    setting, key = shop.home.file.environment, environment_key(shop, yard, facts, worktree.base, scope)
    if setting is None or key is None:
        return None
    check_ignored(worktree, setting.keep, "[environment] keep")
    found, tree = yard.environments.find(key), Path(worktree.path)
    if found is None:
        found = yard.environments.build(key, tree, setting.keep, lambda: _set_up(yard, setting, tree, scratch, hold))
        check_out(Private(Path(f"{tree}.git"), worktree.path, worktree.common_dir, worktree.base))
    yard.environments.give(found, tree)
    return key


def check_ignored(worktree: Worktree, paths: Iterable[str], named: str) -> None:
    """Raise OperatorError for a kept path that the repository does not ignore: it would count as somebody's work."""
    surroundings = {"GIT_DIR": worktree.git_dir, "GIT_WORK_TREE": worktree.path}
    for path in paths:
        as_folder = f"{path.rstrip('/')}/"  # it is not there yet, and `/path/` in a .gitignore is about folders only
        if asked(("check-ignore", "-q", "--no-index", "--", as_folder), surroundings, worktree.path).code != 0:
            message = f"`{named}` names `{path}`, which the repository does not ignore"
            raise OperatorError(message, f"commit a .gitignore with a line `/{path}`")


def _file_at(facts: RepositoryFacts, base: str, path: str) -> bytes | None:
    """A file as the base has it; None where it has none."""
    try:
        return shared(facts.common_dir, "cat-file", "blob", f"{base}:{path}")
    except WorldFault:
        return None


def _set_up(yard: Yard, setting: ProjectEnvironment, tree: Path, scratch: Path, hold: Hold) -> None:
    """Run the set-up, with network and a home of its own, able to write nothing but the worktree and that home."""
    home, temporary = scratch / "home", scratch / "tmp"
    for each in (scratch, home, temporary):
        make_folder(each)
    env = passed_on() | {"HOME": str(home), "TMPDIR": str(temporary)}
    launch = Launch(argv=("/bin/sh", "-c", setting.setup), cwd=str(tree), env=env, timeout_s=SETUP_S)
    private, memory = yard.private(), yard.sandbox.memory_mb
    bounds = Confinement(
        write=(str(tree), str(scratch.resolve())),
        protect=(f"{tree}/.git",),
        read=tuple(toolchains(yard.sandbox, yard.private())),
        out=tuple(dict.fromkeys(os.path.realpath(each) for each in private)),
        hide=hidden(private, None),
        network="open",
        limits=Limits(processes=yard.sandbox.processes, memory_bytes=None if memory is None else memory * MB),
    )
    confined = confine(launch, bounds, yard.machine, "none")
    try:
        done = run_held(confined.launch, hold)
    finally:
        confined.close()
        remove(scratch)
    if done.code is None and not done.timed_out:
        raise WorldFault(f"the set-up of the environment `{setting.setup}` was killed", retryable=True)
    if done.code != 0 or done.timed_out:
        said = (done.stderr or done.stdout).decode("utf-8", "replace").strip()[-LAST_WORDS:]
        how = "ran out of time" if done.timed_out else f"ended with exit {done.code}"
        last = said.splitlines()[-1] if said else "it said nothing"
        raise OperatorError(f"the set-up of the environment `{setting.setup}` {how}: {last}")
