"""Verification: every verify of a role is asked of a candidate, on the tree that would land.

What is asked comes from the policy, never from the worktree. What a predicate cannot find out is an error, and what
could not even be asked, because main and the candidate conflict, is told as skipped.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import tomlkit

from keisei.contracts.check import data_of
from keisei.engine.verify import finding_of
from keisei.records.error import KeiseiError, WorldFault
from keisei.records.finding import FindingRecord
from keisei.records.id import AttemptId
from keisei.records.project import ProjectCommands
from keisei.records.task_spec import SpecVerification, TaskSpec
from keisei.records.verification import (
    CommandRun,
    Difference,
    Outline,
    Planned,
    Reply,
    RunFrom,
    Said,
)
from keisei.records.worktree import RepositoryFacts, Staged, Worktree
from keisei.rules.landing import rejecting
from keisei.rules.policy import Policy
from keisei.rules.predicate.census import TestCensus, census
from keisei.rules.predicate.port import Forks
from keisei.rules.predicate.table import COMMAND, DIFF, REPORT
from keisei.rules.script import verify_meaning
from keisei.wiring.confinement import MB
from keisei.wiring.execute import Hold
from keisei.wiring.proving import Proving, Work, shell
from keisei.wiring.runs import Runs
from keisei.wiring.script import broken, folders_of, verify_argv, verify_env
from keisei.wiring.shop import Shop
from keisei.wiring.store import make_folder
from keisei.wiring.yard import Yard
from keisei.workspace.contents import BlobReader
from keisei.workspace.environment import this_platform
from keisei.workspace.land import commit
from keisei.workspace.lock import KeyLocks
from keisei.workspace.merge import Merged, count_files, merge, tree_of
from keisei.workspace.removal import remove

BUSY_S: Final = 30.0
VERIFY: Final = "verify-"
"""How the folder of a verification begins, beside those of attempts."""
MERGE: Final = "engine::merge"
NEVER: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""The date of commits that are made to be checked out and never land: the same content is the same commit."""
GRAMMAR: Final = ("-I", "-X", "utf8", "-m", "keisei.grammar")
PARSED_S: Final = 120.0
RUNNING: Final = frozenset({"command", "script"})
"""Predicates that run what the candidate holds."""


class Subject(NamedTuple):
    """A candidate, and everything that is judged with it."""

    attempt_id: AttemptId
    staged: Staged
    policy: Policy
    spec: TaskSpec
    said: Said
    forks: Forks
    tampered: tuple[str, ...] = ()
    worktree: Worktree | None = None
    """The agent's own worktree, where it is still there."""


class Verified(NamedTuple):
    """What verification said."""

    findings: list[FindingRecord]
    asked: tuple[tuple[str, RunFrom], ...]
    """Every predicate that must have answered."""
    tip: str
    """Main's commit it was merged with."""
    tree: str | None
    """The merged tree; None where they conflict."""
    conflicts: tuple[str, ...]
    runs: tuple[CommandRun, ...]
    """Commands that were run, with what they said."""


class Stage(NamedTuple):
    """Where verification takes place."""

    shop: Shop
    yard: Yard
    facts: RepositoryFacts
    hold: Hold


def verify_candidate(stage: Stage, subject: Subject) -> Verified:
    """Ask every verify of the subject's policy. Raises KeiseiError where the repository or the machine fails."""
    with proving_folder(stage.shop.home.run, subject.attempt_id) as folder:
        return _Verification(stage, subject, folder).carried()


@contextmanager
def proving_folder(run: Path, name: str) -> Iterator[Path]:
    """A folder for the verification of one attempt, empty, and gone afterwards; whoever was killed there is no matter.

    Whoever verifies the same just now, a runner that lost its lease for example, is waited for. Raises BusyError.
    """
    make_folder(run)
    locks, key = KeyLocks(run.resolve()), f"{VERIFY}{name}"
    folder = run.resolve() / key
    with locks.own(key, BUSY_S):
        remove(folder)
        make_folder(folder)
        try:
            yield folder
        finally:
            remove(folder)
            locks.forget(key)


class _Verification:
    def __init__(self, stage: Stage, subject: Subject, folder: Path) -> None:
        self._stage, self._subject, self._folder = stage, subject, folder
        facts, staged = stage.facts, subject.staged
        self._tip = facts.head
        self._merged = merge(facts.common_dir, folder / "merge.git", facts.head, staged.commit, staged.base)
        self._proving = Proving(
            stage.shop, stage.yard, facts, f"verify-{subject.attempt_id}", folder / "proving", stage.hold
        )
        self._runs: dict[tuple[str, str], CommandRun] = {}
        self._outlines: dict[tuple[str, str], Outline] = {}
        self._against: list[str] = []
        self._difference = Difference(
            candidate=staged.changes,
            merged=self._merged.changes,
            base_files=count_files(facts.common_dir, staged.base),
            tampered=subject.tampered,
        )

    def carried(self) -> Verified:
        subject, merged = self._subject, self._merged
        asked = [(planned, place) for planned in subject.policy.verifies for place in planned.run_from]
        with BlobReader(self._stage.facts.common_dir) as self._blobs:
            findings = [self._finding(MERGE, "merged", partial(merge_reply, merged), "block"), *self._answers(asked)]
        findings += [self._elevated(name) for name in subject.policy.elevated]
        return Verified(
            findings=findings,
            asked=((MERGE, "merged"), *((planned.capability, place) for planned, place in asked)),
            tip=self._tip,
            tree=merged.tree,
            conflicts=merged.conflicts,
            runs=tuple(self._runs.values()),
        )

    def _answers(self, asked: Sequence[tuple[Planned, RunFrom]]) -> list[FindingRecord]:
        """What each predicate says, in the order of the policy; those that run nothing are asked first."""
        found: dict[int, FindingRecord] = {}
        for number, (planned, place) in sorted(enumerate(asked), key=lambda each: each[1][0].kind in RUNNING):
            predicate = partial(self.reply, planned, place)
            found[number] = self._finding(planned.capability, place, predicate, planned.severity)
            if planned.kind not in RUNNING and rejecting([found[number]]):
                self._against.append(planned.capability)
        return [found[number] for number in range(len(asked))]

    # --- findings -----------------------------------------------------------------------------------------------------

    def _finding(self, capability: str, place: RunFrom, predicate: Callable[[], Reply], severity: str) -> FindingRecord:
        shop = self._stage.shop
        began = shop.store.now()
        try:
            reply = predicate()
        except WorldFault as fault:
            if self._stage.hold.switch.pulled.is_set():
                raise
            reply = Reply(status="error", told=(fault.message,))
        except KeiseiError as error:
            reply = Reply(status="error", told=(error.message,))
        found = finding_of(capability, reply, self._subject.attempt_id, shop.new_id(), began, shop.store.now())
        tree = self._merged.tree if place == "merged" else self._subject.staged.tree
        return msgspec.structs.replace(found, severity=reply.severity or severity, run_from=place, tree=tree)

    def _elevated(self, name: str) -> FindingRecord:
        elevation = self._subject.spec.elevate
        why = elevation.reason if elevation is not None else "the task says so"
        reply = Reply(status="not-applicable", told=(f"the task is elevated: {why}",))
        return self._finding(name, "merged", lambda: reply, "block")

    # --- predicates ---------------------------------------------------------------------------------------------------

    def reply(self, planned: Planned, place: RunFrom) -> Reply:
        """What one predicate says."""
        rule = planned.rule or ""
        if planned.kind == "diff" and rule in DIFF:
            return DIFF[rule](planned, self._difference, self)
        if planned.kind == "report" and rule in REPORT:
            return REPORT[rule](planned, self._subject.said, self._difference, self._subject.forks)
        if (why := self._cannot_run(place)) is not None:
            return Reply(status="skipped", told=(why,))
        if planned.kind == "command" and (rule in COMMAND or (not rule and planned.command)):
            return COMMAND[rule or "command"](planned, _Commands(self, planned, place))
        if planned.kind == "script" and planned.script is not None:
            return self._script(planned, place)
        told = (
            f"there is no {planned.kind} predicate `{planned.rule}`; `keisei lint capabilities` tells which there are"
        )
        return Reply(status="error", told=(told,))

    def _cannot_run(self, place: RunFrom) -> str | None:
        """Why nothing is run for this candidate; None where it is.

        An environment of its own is made by running what it holds, with the network. What is rejected gets none.
        """
        if self._merged.tree is None and place == "merged":
            return "main and the candidate conflict: there is no tree to ask"
        if self._against and self._proving.has_own_environment(self._commit_at(place)[0], self._tip):
            return f"not run: it would need an environment of its own, and {self._against[0]} rejects it"
        return None

    @property
    def merged_commit(self) -> str:
        """The merged tree as a commit on the tip, to be checked out."""
        return commit(
            self._stage.facts.common_dir, self._merged.tree or "", self._tip, b"keisei: merged, to be verified\n", NEVER
        )

    def _commit_at(self, place: RunFrom) -> tuple[str, str]:
        staged = self._subject.staged
        return (self.merged_commit, self._merged.tree or "") if place == "merged" else (staged.commit, staged.tree)

    def ran(self, planned: Planned, place: RunFrom, command: str) -> CommandRun:
        """What a command says of the candidate; the same is run once."""
        at, tree = self._commit_at(place)
        known = self._runs.get((tree, command))
        if known is None:
            known = self._proving.run(shell(command, planned.timeout_s), at, tree, self._tip)
            self._runs[tree, command] = known
            self._memory().keep(known, tree, command, *self._about(at))
        return known

    def ran_on_main(self, planned: Planned, command: str) -> CommandRun:
        """What a command says of main."""
        tree = tree_of(self._stage.facts.common_dir, self._tip)
        known = self._runs.get((tree, command))
        if known is None:
            about = (tree, command, *self._about(self._tip))
            known = self._memory().find(*about)
            if known is None:
                known = self._proving.run(shell(command, planned.timeout_s), self._tip, tree, self._tip)
                self._memory().keep(known, *about)
            self._runs[tree, command] = known
        return known

    def _about(self, commit: str) -> tuple[str, ...]:
        """What an answer depends on beside the tree and the command."""
        week = self._stage.shop.store.now().isocalendar()
        machine = f"{this_platform()} {week.year} {week.week}"  # toolchains change, and nobody says so
        return (self._proving.environment(commit, self._tip), self._proving.level, self._proving.network, machine)

    def _memory(self) -> Runs:
        return Runs(self._stage.shop.home.folder / "runs")

    def named(self, kind: str) -> tuple[str, ...]:
        """The commands of a kind."""
        return commands_of(kind, self._subject.spec.verification, self._stage.shop.home.file.commands)

    def census(self) -> TestCensus:
        """The tests in files that the candidate touches."""
        return census(self._difference, self)

    def _script(self, planned: Planned, place: RunFrom) -> Reply:
        """A script under the contract of the originals."""
        at, tree = self._commit_at(place)
        own = self._subject.worktree
        with self._proving.checkout(at, self._tip) as here:
            if own is not None:
                return self._script_in(planned, place, here, own, tree)
            with self._proving.checkout(self._subject.staged.commit, self._tip, "-agent") as agent:
                return self._script_in(planned, place, here, agent, tree)

    def _task_file(self) -> Path:
        """The task as scripts read it."""
        path = self._folder / "task.toml"
        if not path.exists():
            path.write_text(tomlkit.dumps(data_of(self._subject.spec)), encoding="utf-8")
        return path

    def _script_in(self, planned: Planned, place: RunFrom, here: Worktree, agent: Worktree, tree: str) -> Reply:
        script = planned.script or ""
        if (why := broken(script)) is not None:
            return Reply(status="error", told=(why,))
        task = {
            "agent_id": self._subject.spec.task.agent_id or self._subject.attempt_id,
            "task_toml": str(self._task_file()),
            "worktree_path": agent.path,
            "main_repo": here.path,
            "run_mode": place,
        }
        helpers = self._folder / "helpers"
        remove(helpers)
        helpers.mkdir()
        folders = folders_of(planned.capability, planned.lists, helpers)
        reads = (str(Path(script).parent), agent.path, agent.git_dir, folders.helpers, folders.patterns)
        work = Work(
            argv=verify_argv(script),
            command=Path(script).name,
            timeout_s=planned.timeout_s,
            env=verify_env(task, planned, folders),
            reads=(*reads, task["task_toml"]),
            strict=True,
        )
        done = self._proving.run_in(work, here, tree)
        self._runs[tree, f"{planned.capability}\0{place}"] = done  # no command holds a NUL
        if done.changed:
            told = f"it changed the tree that it checks: {', '.join(done.changed)}"
            return Reply(status="error", told=(told,))
        checked = verify_meaning(done.code, done.output.encode(), timed_out=done.timed_out)
        return Reply(status=checked.status, told=tuple(filter(None, (checked.reason, *checked.detail.splitlines()))))

    # --- contents -----------------------------------------------------------------------------------------------------

    def read(self, blob: str, most: int) -> bytes | None:
        """The content of a file."""
        return self._blobs.read(blob, most)

    def is_at_base(self, path: str) -> bool:
        """Whether the base has it."""
        return self._blobs.is_at(self._subject.staged.base, path)

    def outlines(self, files: Sequence[tuple[str, str]]) -> Sequence[Outline]:
        """What parsers see, in a process of their own: what they read is an agent's. Raises WorldFault.

        So many bytes at a time, and no more than so many: one blob can stand under ten thousand names.
        """
        missing = [each for each in dict.fromkeys(files) if each not in self._outlines]
        batch: dict[tuple[str, str], bytes] = {}
        size = altogether = 0
        for each in missing:
            batch[each] = self._blobs.read(each[1], LARGEST_SOURCE) or b""
            size += len(batch[each])
            altogether += len(batch[each])
            if altogether > PARSED:
                raise WorldFault(f"the candidate changes more than {PARSED // MB} MB of files: too much to be parsed")
            if size > PARSED_AT_ONCE:
                self._parse(batch)
                batch, size = {}, 0
        self._parse(batch)
        return [self._outlines[each] for each in files]

    def _parse(self, batch: Mapping[tuple[str, str], bytes]) -> None:
        if batch:
            given = msgspec.json.encode([{"path": path, "data": data} for (path, _), data in batch.items()])
            said = self._proving.child((sys.executable, *GRAMMAR), given, PARSED_S)
            try:
                self._outlines.update(zip(batch, msgspec.json.decode(said, type=list[Outline]), strict=True))
            except ValueError as error:  # what it read is an agent's
                raise WorldFault(f"the parser's answer cannot be read: {error}") from error


LARGEST_SOURCE: Final = 2 * 1024 * 1024 + 1
"""A byte more than a parser takes: what is larger is told as such."""
PARSED_AT_ONCE: Final = 16 * MB
PARSED: Final = 256 * MB
"""Bytes of one candidate that are parsed, before and after."""


class _Commands:
    """Commands of one predicate, asked in one place."""

    def __init__(self, verification: _Verification, planned: Planned, place: RunFrom) -> None:
        self._verification, self._planned, self._place = verification, planned, place

    def named(self, kind: str) -> tuple[str, ...]:
        return self._verification.named(kind)

    def merged(self, command: str) -> CommandRun:
        return self._verification.ran(self._planned, self._place, command)

    def base(self, command: str) -> CommandRun:
        return self._verification.ran_on_main(self._planned, command)

    def census(self) -> TestCensus:
        return self._verification.census()


def merge_reply(merged: Merged) -> Reply:
    """Whether main and the candidate go together."""
    if merged.tree is not None:
        return Reply(status="held")
    first = f"it conflicts with main in {', '.join(merged.conflicts[:5]) or 'a way git does not tell'}"
    return Reply(status="violated", told=(first, *merged.messages))


def commands_of(kind: str, verification: SpecVerification, project: ProjectCommands | None) -> tuple[str, ...]:
    """The commands of a kind: the task's own, else those of its crates, else the project's; or none."""
    own = verification.check if kind == "check" else verification.test
    if own:
        return (own,)
    crates = verification.cargo_check_crates if kind == "check" else verification.cargo_test_crates
    if crates:
        return (" ".join(("cargo", kind, *(f"-p {crate}" for crate in crates))),)
    named = None if project is None else project.check if kind == "check" else project.test
    return (named,) if named else ()
