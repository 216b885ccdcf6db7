"""The workshop: one attempt's bundle, launch, evidence and judgement, done by the rooms."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from keisei.adapters import adapter_of
from keisei.adapters.port import PROMPT, Adapter, Order
from keisei.engine.attempt import Judged, Prepared, Ran
from keisei.engine.budget import allowance, policy_of, remaining
from keisei.engine.bundle import Compiled, compile_bundle
from keisei.engine.workflow import state_of
from keisei.records.adapter import AdapterConfig
from keisei.records.attempt import TaskAttempt
from keisei.records.budget import Amount
from keisei.records.confinement import Level
from keisei.records.error import KeiseiError, OperatorError, WorldFault
from keisei.records.id import BundleId
from keisei.records.launch import Exit, Launch
from keisei.records.move import Claimed, LandingQuery
from keisei.records.profile import SubagentProfile
from keisei.records.report import AgentReport
from keisei.records.task_spec import SpecTask, TaskSpec
from keisei.rules.evidence import Keys, keys_of
from keisei.rules.policy import Policy
from keisei.rules.redact import Redactor
from keisei.rules.refusal import Refusals
from keisei.rules.role import ResolvedRole
from keisei.rules.section import Files
from keisei.wiring.briefing import HISTORY, Given, Place, brief_of, bundle_order, offered, policy_at
from keisei.wiring.choose import Choice, choose, kind_of
from keisei.wiring.execute import Cell, Executed, Ground, Hold, execute
from keisei.wiring.judgement import judged
from keisei.wiring.leavings import invocation, left_behind, without_secrets
from keisei.wiring.order import REPORT, arguments, variables
from keisei.wiring.pinning import check_accepted
from keisei.wiring.registry import CatalogRegistry
from keisei.wiring.returned import RETURNED, leavings_of, returned_of, usage_of
from keisei.wiring.salvage import clear, has_candidate, mark_of, refused_in
from keisei.wiring.shop import BEFORE, GROWING, Before, Result, Shop
from keisei.wiring.site import Site, Wish, give_back, make_site, remove_folder, write_task
from keisei.wiring.spawn import bypass_of, spawn_of
from keisei.wiring.surroundings import Surroundings, surroundings
from keisei.wiring.switch import Switch
from keisei.workspace.file import look_at
from keisei.workspace.snapshot import take

if TYPE_CHECKING:
    from keisei.wiring.atom_grant import Granted

LARGEST_REPORT: Final = 1_048_576


class Ready(NamedTuple):
    """What a prepared attempt is run with."""

    config: AdapterConfig
    adapter: Adapter
    compiled: Compiled
    around: Surroundings
    site: Site
    policy: Policy | None
    level: Level
    order: Order
    atoms: "Granted"
    """Those the agent is offered, by the names of their tools."""


class AttemptWorkshop:
    """The world of one attempt."""

    def __init__(self, shop: Shop, switch: Switch, left_s: Callable[[], float]) -> None:
        """`left_s` says how long a tree may live if no lease is renewed any more."""
        self._shop, self._switch, self._left_s = shop, switch, left_s
        self._ready: Ready | None = None
        self._site: Site | None = None
        self._clean = False
        """The kernel kept the worktree's metadata safe, so the worktree may be used again."""
        self._cleared = False
        self._refused: Refusals | None = None
        """What the gate has refused, once the harness is gone."""
        self._secrets: tuple[str, ...] = ()
        """What must not be written down, once everything around the harness stands."""

    # --- prepare ------------------------------------------------------------------------------------------------------

    def prepare(self, claimed: Claimed) -> Prepared:
        """Choose the adapter, take a site, compile the bundle, store what the attempt may see.

        Where that raises, the site is given back already: see `judge`.
        """
        try:
            return self._prepared(claimed)
        except KeiseiError:
            self.clear(claimed)
            raise

    def _prepared(self, claimed: Claimed) -> Prepared:
        task, registry = claimed.task, self._shop.registry()
        brief = brief_of(registry, task)
        role, told = brief.role, brief.told
        choice = self._chosen(claimed, brief.profile, registry)
        adapter = adapter_of(kind_of(choice.config))
        confined = self._shop.yard is not None and is_confined(adapter, role)
        atoms = offered(self._shop, role, adapter)
        level = self._shop.yard.level(role.isolation) if confined and self._shop.yard is not None else "none"
        site = self._site = make_site(self._shop, Wish(claimed, choice.config, told, confined, self._hold(claimed)))
        write_task(site, brief.file, msgspec.json.encode(task.payload), task.payload)
        around = surroundings(choice.config, variables(self._shop, claimed, site), self._shop.home.root)
        tree = site.cwd if site.leased is None else Path(site.leased.worktree.path)
        policy = policy_at(self._shop, registry, told, Place(tree, site.room), atoms) if confined else None
        given = self._given(claimed, choice.config, around, policy)
        compiled = compile_bundle(registry.material, bundle_order(self._shop, brief, claimed, given))
        check_accepted(self._shop.store, compiled.record)
        order = self._adapter_order(claimed, choice.config, compiled, around)
        self._ready = Ready(choice.config, adapter, compiled, around, site, policy, level, order, atoms)
        stored = self._store(claimed, compiled)
        attempt = replace(
            claimed.attempt,
            adapter_id=choice.config.adapter_id,
            adapter_kind=kind_of(choice.config),
            model=compiled.record.model,
            bundle_id=compiled.record.bundle_id,
            prompt_path=self._keys(claimed).prompt,
        )
        return Prepared(
            attempt=attempt,
            bundle=compiled.record,
            spawn=spawn_of(self._shop, registry, claimed, told, stored),
            bypass=bypass_of(told, role, choice.config, level if confined else None, Redactor(around.secrets)),
            events=choice.events,
        )

    def _chosen(self, claimed: Claimed, profile: SubagentProfile, registry: CatalogRegistry) -> Choice:
        store = self._shop.store
        confines = self._shop.yard is not None
        return choose(claimed, profile, registry, store.breakers(), self._shop.probe, store.now(), confines=confines)

    def _given(self, claimed: Claimed, config: AdapterConfig, around: Surroundings, policy: Policy | None) -> Given:
        """What this attempt alone is given."""
        task, store, site = claimed.task, self._shop.store, self._here()
        artifacts, payload = self._shop.artifact_folder(task), site.room / "payload.json"
        return Given(
            bundle_id=BundleId(self._shop.new_id()),
            now=store.now(),
            adapter=config,
            files=Files(artifact_folder=str(artifacts), payload_file=str(payload)),
            policy=policy,
            state=state_of(store, task),
            budget=allowance(store, task, policy_of(self._shop.home.file.budget)),
            workspace=site.workspace,
            secret_names=around.secret_names,
        )

    def _adapter_order(
        self, claimed: Claimed, config: AdapterConfig, compiled: Compiled, around: Surroundings
    ) -> Order:
        site = self._here()
        return Order(
            config=config,
            model=compiled.record.model,
            prompt=compiled.prompt,
            cwd=str(site.cwd),
            env=around.env,
            args=arguments(claimed.task.payload),
            run_folder=str(site.room.resolve()),
            settings_files=compiled.settings_files,
            accept_weaker=self._shop.yard is not None and self._shop.yard.accept_weaker,
        )

    def _store(self, claimed: Claimed, compiled: Compiled) -> bytes:
        """Evidence of what the attempt may see, and of how everything was before it began. The task, as it has it."""
        task, keys, site = claimed.task, self._keys(claimed), self._here()
        told = msgspec.json.format(msgspec.json.encode(task))
        self._keep(keys.task, told)
        self._keep(keys.bundle, compiled.document)
        self._keep(keys.prompt, compiled.prompt)
        (site.room / PROMPT).write_bytes(compiled.prompt)
        proofs = {path: look_at(path).entry for path in self._shop.proofs(task)}
        there = {path: entry for path, entry in proofs.items() if entry is not None}
        artifacts = take(self._shop.artifact_folder(task))
        workspace = None if site.leased is not None else take(site.cwd)
        before = Before(artifacts=artifacts, workspace=workspace, cwd=str(site.cwd), proofs=there)
        self._keep(keys.of(BEFORE), msgspec.json.encode(before))
        return told

    def _here(self) -> Site:
        if self._site is None:
            raise OperatorError("the attempt was not prepared here")
        return self._site

    # --- run ----------------------------------------------------------------------------------------------------------

    def run(self, claimed: Claimed, prepared: Prepared) -> Ran:
        """Run the harness; everything it leaves is stored before this returns.

        Raises WorldFault, which may pass, where the gate died meanwhile or the disk became full. Where it raises or was
        interrupted, the site is given back already: see `judge`.
        """
        try:
            ran = self._ran(claimed, prepared)
        except KeiseiError:
            with suppress(KeiseiError):
                self._with_streams(claimed)
            self._look_back()
            self.clear(claimed)
            raise
        if ran.interrupted:
            self._look_back()
            self.clear(claimed)
        return ran

    def _ran(self, claimed: Claimed, prepared: Prepared) -> Ran:
        ready = self._ready
        if ready is None:
            raise OperatorError(f"attempt {prepared.attempt.attempt_id} was not prepared here")
        with self._opened(claimed, ready) as cell:
            around = ready.around._replace(secrets=(*ready.around.secrets, *cell.secrets))
            self._secrets = around.secrets
            self._keep(self._keys(claimed).invocation, invocation(cell.told, around))
            executed = execute(cell.launch, self._ground(claimed, ready, cell))
        ended = cell.watch.ended if cell.watch is not None else None
        if ended is not None and ended.error is None:
            raise WorldFault(ended.reason, retryable=True)
        if executed.ended.lease_lost:
            return Ran(attempt=claimed.attempt, interrupted=True)
        if executed.ended.canceled and ended is None:
            isolation = (f"tree:{executed.ended.level}", *cell.layers)
            return Ran(attempt=replace(self._with_streams(claimed), isolation=isolation), interrupted=True)
        return self._returned(claimed, ready, executed, cell)

    @contextmanager
    def _opened(self, claimed: Claimed, ready: Ready) -> Iterator[Cell]:
        """What is around the harness: the sandbox with everything in it, or nothing."""
        silence_s = self._shop.runner.silence_s
        yard = self._shop.yard
        if yard is None or ready.policy is None:
            what = ready.adapter.plan(ready.order)
            what = replace(what, silence_s=silence_s) if isinstance(what, Launch) else what
            yield Cell(launch=what, told=what)
            return
        from keisei.wiring.cell import Plan, open_cell  # noqa: PLC0415 - a runner of scripts needs no gate
        from keisei.wiring.rehearsal import rehearse  # noqa: PLC0415 - as above

        plan = Plan(
            attempt_id=claimed.attempt.attempt_id,
            adapter=ready.adapter,
            order=ready.order,
            site=ready.site,
            spec=ready.compiled.spec or TaskSpec(task=SpecTask(role=ready.compiled.role.name)),
            policy=ready.policy,
            level=ready.level,
            network=ready.compiled.role.isolation.network,
            artifacts=self._shop.artifact_folder(claimed.task),
            budget=allowance(self._shop.store, claimed.task, policy_of(self._shop.home.file.budget)),
            silence_s=silence_s,
            secrets=ready.around.secrets,
            hold=self._hold(claimed),
            atoms=ready.atoms,
            tools=ready.compiled.role.atoms,
        )
        rehearse(yard, plan)
        with open_cell(yard, plan) as cell:
            if cell.relay is not None and any(each.reach.agents for each in ready.atoms.values()):
                cell.relay.hold_to(lambda: self._left(claimed))
            yield cell

    def _left(self, claimed: Claimed) -> Amount | None:
        """What the attempt may spend in all, by what it has handed on; None while the store is away."""
        try:
            return remaining(self._shop.store, claimed.task, policy_of(self._shop.home.file.budget))
        except WorldFault:
            return None

    def _hold(self, claimed: Claimed) -> Hold:
        """By what everything of this attempt is held."""
        return Hold(self._switch, self._left_s, mark_of(claimed.attempt))

    def _with_streams(self, claimed: Claimed) -> TaskAttempt:
        """The attempt with what it printed, stored: whoever ended it wants to know how far it came."""
        keys, folder = self._keys(claimed), self._here().folder
        for name in GROWING:
            if (folder / name).is_file():
                self._shop.evidence.put_file(keys.of(name), folder / name)
        return replace(claimed.attempt, stdout_path=keys.stdout, stderr_path=keys.stderr)

    def _ground(self, claimed: Claimed, ready: Ready, cell: Cell) -> Ground:
        return Ground(
            folder=ready.site.folder,
            output_cap=self._shop.runner.output_cap,
            secrets=(*ready.around.secrets, *cell.secrets),
            switch=self._switch,
            left_s=self._left_s,
            mark=mark_of(claimed.attempt),
            watch=cell.watch,
        )

    def _returned(self, claimed: Claimed, ready: Ready, executed: Executed, cell: Cell) -> Ran:
        site, keys = ready.site, self._keys(claimed)
        ended, report = self._report(ready, executed, cell)
        result = Result(ended=replace(ended, stdout=b"", stderr=b""), report=report, kept=executed.kept)
        attempt = self._with_streams(claimed)
        self._keep(keys.last_message, (report.text or "").encode("utf-8", "replace"))
        self._keep_report(claimed, ready, cell)
        self._keep(keys.result, msgspec.json.format(msgspec.json.encode(result)))
        isolation = (f"tree:{ended.level}", *cell.layers)
        summary = None
        if site.confined:
            landed = self._landed() if cell.level == "none" else ()
            returned, diff, summary = leavings_of(site, claimed, report, cell, ready.around.secrets, landed)
            self._clean = cell.level == "full" and not returned.tampered
            self._refused = returned.refused
            self._keep(keys.diff, diff)
            self._keep(keys.of(RETURNED), msgspec.json.format(msgspec.json.encode(returned)))
        return Ran(
            attempt=replace(
                attempt,
                last_message_path=keys.last_message,
                result_path=keys.result,
                model=report.model or claimed.attempt.model,
                usage=report.usage,
                session_ref=report.session_ref,
                exit_signal=ended.signal or None,
                isolation=isolation,
                gate_summary=summary,
                diagnostics={"workspace": list(site.facts.notes())} if site.facts and site.facts.notes() else None,
            )
        )

    def _landed(self) -> frozenset[str]:
        """Commits to which keisei itself moves branches."""
        query = LandingQuery(statuses=("landing", "landed", "reverted"), limit=HISTORY)
        found = self._shop.store.landings(query)
        return frozenset(filter(None, (name for each in found for name in (each.after_commit, each.revert_commit))))

    def _keep_report(self, claimed: Claimed, ready: Ready, cell: Cell) -> None:
        """The report that the attempt has left as a file, without secrets; nothing where it left none."""
        left = left_behind(ready.site.room, (REPORT,)).get(REPORT)
        if left is not None:
            told = AgentReport(text=left[:LARGEST_REPORT].decode("utf-8", "replace"))
            clean = without_secrets(told, (*ready.around.secrets, *cell.secrets)).text or ""
            self._keep(self._keys(claimed).of(REPORT), clean.encode("utf-8", "replace"))

    def _report(self, ready: Ready, executed: Executed, cell: Cell) -> tuple[Exit, AgentReport]:
        """What the harness says, without secrets; what it has used as its model's server tells it."""
        ended = executed.ended
        spent = cell.watch.ended if cell.watch is not None else None
        ended = replace(ended, canceled=False) if spent is not None else ended
        report = ready.adapter.read(ended, left_behind(ready.site.room, ready.adapter.leaves))
        report = without_secrets(report, (*ready.around.secrets, *cell.secrets))
        if spent is not None and (spent.kind == "budget" or report.error is not None):
            report = replace(report, error=spent.error)
        counted = cell.relay.usage() if cell.relay is not None else None
        return ended, replace(report, usage=usage_of(report.usage, counted))

    # --- judge --------------------------------------------------------------------------------------------------------

    def judge(self, claimed: Claimed) -> Judged:
        """Decode what the harness left and verify it, from evidence alone.

        The worktree goes back before the attempt is settled: nobody looks after one that is settled any more, and a
        runner may be killed right then.
        """
        own = self._site.leased.worktree if self._site is not None and self._site.leased is not None else None
        found = judged(self._shop, claimed, self._hold(claimed), own, self._known(claimed))
        self.clear(claimed)
        return found

    def _known(self, claimed: Claimed) -> tuple[str, ...]:
        """The secrets of the attempt; of one that another process has run, as far as they can still be read."""
        if self._site is not None:
            return self._secrets
        with suppress(KeiseiError):
            config = self._shop.registry().adapter(claimed.attempt.adapter_id)
            return surroundings(config, {}, self._shop.home.root).secrets
        return ()

    # --- refused ------------------------------------------------------------------------------------------------------

    def refused(self, claimed: Claimed) -> Refusals | None:
        """What the gate has refused the attempt: here, or in the runner to which its harness returned. Never raises."""
        if self._site is not None:
            return self._refused
        with suppress(KeiseiError, OSError):
            returned = returned_of(self._shop, self._keys(claimed))
            return None if returned is None else returned.refused
        return None

    def _look_back(self) -> None:
        """Count what was refused in an attempt that brought nothing, while its folder is there."""
        if self._site is not None and self._site.confined:
            self._refused = refused_in(self._site.folder, self._secrets)

    # --- clear --------------------------------------------------------------------------------------------------------

    def clear(self, claimed: Claimed) -> None:
        """Give back the worktree, whatever no candidate holds kept, and remove the attempt's run folder. Once."""
        if self._cleared:
            return
        self._cleared = True
        site = self._site
        if site is None or site.leased is None:
            clear(self._shop, claimed)
            return
        give_back(site.leased, claimed, kept=has_candidate(self._shop, claimed), reusable=self._clean)
        remove_folder(site.folder)

    def _keys(self, claimed: Claimed) -> Keys:
        return keys_of(claimed.attempt.attempt_id, claimed.attempt.started_at)

    def _keep(self, key: str, data: bytes) -> None:
        self._shop.evidence.put(key, data)


def is_confined(adapter: Adapter, role: ResolvedRole) -> bool:
    """Whether the sandbox stands around an attempt: every harness with tools; a program whose role asks for it."""
    return adapter.gate == "native" or (adapter.kind == "script" and role.isolation.require != "none")
