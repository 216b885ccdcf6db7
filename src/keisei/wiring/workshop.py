"""The workshop: one attempt's bundle, launch, evidence and judgement, done by the rooms."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from keisei.adapters import adapter_of
from keisei.adapters.port import PROMPT, Adapter, Order
from keisei.engine.approval import answers_of
from keisei.engine.attempt import Judged, Prepared, Ran
from keisei.engine.budget import allowance, policy_of
from keisei.engine.bundle import Compiled, compile_bundle
from keisei.engine.gather import BundleOrder
from keisei.engine.workflow import state_of
from keisei.records.adapter import AdapterConfig
from keisei.records.attempt import TaskAttempt
from keisei.records.error import OperatorError
from keisei.records.id import BundleId
from keisei.records.launch import Launch
from keisei.records.move import Claimed
from keisei.records.profile import SubagentProfile
from keisei.records.task_type import TaskTypeSpec
from keisei.rules.evidence import Keys, keys_of
from keisei.rules.section import Earlier, Files
from keisei.wiring.choose import Choice, choose, kind_of
from keisei.wiring.environment import Surroundings, surroundings
from keisei.wiring.execute import Executed, Ground, execute
from keisei.wiring.judgement import judged
from keisei.wiring.leavings import invocation, left_behind, without_secrets
from keisei.wiring.registry import CatalogRegistry
from keisei.wiring.salvage import clear, mark_of
from keisei.wiring.shop import BEFORE, Before, Result, Shop
from keisei.wiring.store import make_folder
from keisei.wiring.switch import Switch
from keisei.workspace.file import look_at
from keisei.workspace.repository import base_of
from keisei.workspace.snapshot import take

LARGEST_VALUE: Final = 96 * 1024
"""Bytes of a payload that still travels as a variable; a larger one is a file only."""
HISTORY: Final = 1000
MEMORY: Final = 5


class Ready(NamedTuple):
    """What a prepared attempt is run with."""

    config: AdapterConfig
    adapter: Adapter
    compiled: Compiled
    around: Surroundings
    cwd: Path
    model: str | None


class AttemptWorkshop:
    """The world of one attempt."""

    def __init__(self, shop: Shop, switch: Switch, left_s: Callable[[], float]) -> None:
        """`left_s` says how long a tree may live if no lease is renewed any more."""
        self._shop, self._switch, self._left_s = shop, switch, left_s
        self._ready: Ready | None = None

    # --- prepare ------------------------------------------------------------------------------------------------------

    def prepare(self, claimed: Claimed) -> Prepared:
        """Choose the adapter, compile the bundle, make the folders, store what the attempt may see."""
        task, registry = claimed.task, self._shop.registry()
        spec, profile = registry.task_type(task.task_type), registry.profile(task.requested_profile_id)
        choice = self._chosen(claimed, profile, registry)
        folder = self._folders(claimed)
        around = surroundings(choice.config, self._own(claimed, folder), self._shop.home.root)
        compiled = compile_bundle(registry.material, self._order(claimed, choice, spec, profile, around))
        cwd = self._cwd(choice.config, folder)
        self._ready = Ready(
            choice.config, adapter_of(kind_of(choice.config)), compiled, around, cwd, compiled.record.model
        )
        keys = self._keys(claimed)
        self._keep(keys.task, msgspec.json.format(msgspec.json.encode(task)))
        self._keep(keys.bundle, compiled.document)
        self._keep(keys.prompt, compiled.prompt)
        (folder / PROMPT).write_bytes(compiled.prompt)
        proofs = {path: look_at(path).entry for path in self._shop.proofs(task)}
        there = {path: entry for path, entry in proofs.items() if entry is not None}
        before = Before(artifacts=take(self._artifacts(claimed)), workspace=take(cwd), cwd=str(cwd), proofs=there)
        self._keep(keys.of(BEFORE), msgspec.json.encode(before))
        attempt = replace(
            claimed.attempt,
            adapter_id=choice.config.adapter_id,
            adapter_kind=kind_of(choice.config),
            model=compiled.record.model,
            bundle_id=compiled.record.bundle_id,
            prompt_path=keys.prompt,
        )
        return Prepared(attempt=attempt, bundle=compiled.record, events=choice.events)

    def _chosen(self, claimed: Claimed, profile: SubagentProfile, registry: CatalogRegistry) -> Choice:
        store = self._shop.store
        return choose(claimed, profile, registry, store.breakers(), self._shop.probe, store.now())

    def _order(
        self,
        claimed: Claimed,
        choice: Choice,
        spec: TaskTypeSpec,
        profile: SubagentProfile,
        around: Surroundings,
    ) -> BundleOrder:
        task, store = claimed.task, self._shop.store
        remembers = profile.context_policy.include_recent_memory
        return BundleOrder(
            bundle_id=BundleId(self._shop.new_id()),
            attempt_id=claimed.attempt.attempt_id,
            now=store.now(),
            task=task,
            task_type=spec,
            profile=profile,
            adapter=choice.config,
            keys=self._keys(claimed),
            files=Files(
                artifact_folder=str(self._artifacts(claimed)),
                payload_file=str(self._run_folder(claimed) / "payload.json"),
            ),
            runtime_policy=self._shop.runner.policy,
            state=state_of(store, task),
            memory=tuple(store.memory(task.agent, profile.profile_id, MEMORY)) if remembers else (),
            earlier=self._earlier(claimed),
            answers=answers_of(store, task.task_id),
            budget=allowance(store, task, policy_of(self._shop.home.file.budget)),
            workspace=base_of(self._cwd(choice.config, self._run_folder(claimed))),
            secret_names=around.secret_names,
        )

    def _earlier(self, claimed: Claimed) -> tuple[Earlier, ...]:
        store = self._shop.store
        return tuple(
            Earlier(attempt=each, findings=tuple(store.findings(each.attempt_id)))
            for each in store.attempts(claimed.task.task_id, HISTORY)
            if each.ended_at is not None
        )

    def _folders(self, claimed: Claimed) -> Path:
        folder = self._run_folder(claimed)
        for each in (folder, folder / "home", folder / "tmp", folder / "work", self._artifacts(claimed)):
            make_folder(each)
        (folder / "payload.json").write_bytes(msgspec.json.encode(claimed.task.payload))
        return folder

    def _run_folder(self, claimed: Claimed) -> Path:
        return self._shop.home.run / claimed.attempt.attempt_id

    def _artifacts(self, claimed: Claimed) -> Path:
        return self._shop.artifact_folder(claimed.task)

    def _cwd(self, config: AdapterConfig, folder: Path) -> Path:
        """The adapter's folder, else the project's root, else the attempt's own."""
        root = self._shop.home.root
        named = getattr(config, "working_dir", None)
        base = root or folder / "work"
        cwd = base / Path(named).expanduser() if named else base
        if not cwd.is_dir():
            raise OperatorError(f"the working_dir `{cwd}` of adapter `{config.adapter_id}` is not a folder")
        return cwd.resolve()

    def _own(self, claimed: Claimed, folder: Path) -> dict[str, str]:
        """What the runtime tells an attempt. A payload that is too large for a variable is a file only."""
        payload = folder / "payload.json"
        own = {
            "HOME": str(folder / "home"),
            "TMPDIR": str(folder / "tmp"),
            "KEISEI_ATTEMPT_ID": claimed.attempt.attempt_id,
            "AGENT_RUNTIME_NAME": self._shop.name,
            "AGENT_RUNTIME_TASK_ID": claimed.task.task_id,
            "AGENT_RUNTIME_ATTEMPT_ID": claimed.attempt.attempt_id,
            "AGENT_RUNTIME_ARTIFACT_DIR": str(self._artifacts(claimed)),
            "AGENT_RUNTIME_STATE_DIR": str(self._shop.state or folder),
            "AGENT_RUNTIME_TASK_PAYLOAD_FILE": str(payload),
        }
        raw = payload.read_bytes()
        return own if len(raw) > LARGEST_VALUE else {**own, "AGENT_RUNTIME_TASK_PAYLOAD_JSON": raw.decode("utf-8")}

    # --- run ----------------------------------------------------------------------------------------------------------

    def run(self, claimed: Claimed, prepared: Prepared) -> Ran:
        """Run the harness; everything it leaves is stored before this returns."""
        ready = self._ready
        if ready is None:
            raise OperatorError(f"attempt {prepared.attempt.attempt_id} was not prepared here")
        folder = self._run_folder(claimed)
        order = Order(
            config=ready.config,
            model=ready.model,
            prompt=ready.compiled.prompt,
            cwd=str(ready.cwd),
            env=ready.around.env,
            args=_arguments(claimed.task.payload),
            run_folder=str(folder),
            settings_files=ready.compiled.settings_files,
        )
        what = ready.adapter.plan(order)
        if isinstance(what, Launch):
            what = replace(what, silence_s=self._shop.runner.silence_s)
        self._keep(self._keys(claimed).invocation, invocation(what, ready.around))
        executed = execute(what, self._ground(claimed, folder, ready))
        if executed.ended.lease_lost:
            return Ran(attempt=claimed.attempt, interrupted=True)
        if executed.ended.canceled:
            return Ran(attempt=self._with_streams(claimed), interrupted=True)
        return self._returned(claimed, ready, executed)

    def _with_streams(self, claimed: Claimed) -> TaskAttempt:
        """The attempt with what it printed, stored: whoever ended it wants to know how far it came."""
        keys, folder = self._keys(claimed), self._run_folder(claimed)
        for key, name in ((keys.stdout, "stdout.log"), (keys.stderr, "stderr.log")):
            self._shop.evidence.put_file(key, folder / name)
        return replace(claimed.attempt, stdout_path=keys.stdout, stderr_path=keys.stderr)

    def _ground(self, claimed: Claimed, folder: Path, ready: Ready) -> Ground:
        return Ground(
            folder=folder,
            output_cap=self._shop.runner.output_cap,
            secrets=ready.around.secrets,
            switch=self._switch,
            left_s=self._left_s,
            mark=mark_of(claimed.attempt),
        )

    def _returned(self, claimed: Claimed, ready: Ready, executed: Executed) -> Ran:
        folder = self._run_folder(claimed)
        report = ready.adapter.read(executed.ended, left_behind(folder, ready.adapter.leaves))
        report = without_secrets(report, ready.around.secrets)
        ended = replace(executed.ended, stdout=b"", stderr=b"")
        result = Result(ended=ended, report=report, kept=executed.kept)
        keys, claimed = self._keys(claimed), replace(claimed, attempt=self._with_streams(claimed))
        self._keep(keys.last_message, _utf8(report.text or ""))
        self._keep(keys.result, msgspec.json.format(msgspec.json.encode(result)))
        attempt = replace(
            claimed.attempt,
            last_message_path=keys.last_message,
            result_path=keys.result,
            model=report.model or claimed.attempt.model,
            usage=report.usage,
            session_ref=report.session_ref,
            exit_signal=executed.ended.signal or None,
            isolation=(f"tree:{executed.ended.level}",),
        )
        return Ran(attempt=attempt)

    # --- judge --------------------------------------------------------------------------------------------------------

    def judge(self, claimed: Claimed) -> Judged:
        """Decode what the harness left and verify it, from evidence alone."""
        return judged(self._shop, claimed)

    # --- clear --------------------------------------------------------------------------------------------------------

    def clear(self, claimed: Claimed) -> None:
        """Remove the attempt's run folder."""
        clear(self._shop, claimed)

    def _keys(self, claimed: Claimed) -> Keys:
        return keys_of(claimed.attempt.attempt_id, claimed.attempt.started_at)

    def _keep(self, key: str, data: bytes) -> None:
        self._shop.evidence.put(key, data)


def _arguments(payload: Mapping[str, Any]) -> tuple[str, ...]:
    """The arguments a payload gives to a script; what is no text is left out, as in the original."""
    args = payload.get("args")
    return tuple(each for each in args if isinstance(each, str)) if isinstance(args, list) else ()


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "replace")
