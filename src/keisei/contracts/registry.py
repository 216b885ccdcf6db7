"""Names: every published record and every authored form, and where its type stands."""

from importlib import import_module
from typing import Any

from keisei.records.error import OperatorError

RECORDS = {
    "agent.identity": "agent:AgentIdentity",
    "agent.constitution": "agent:AgentConstitution",
    "agent.profile": "profile:SubagentProfile",
    "wallet.identity": "wallet:WalletIdentity",
    "adapter.config": "adapter:AdapterConfig",
    "skill.manifest": "skill:SkillManifest",
    "sensor.event": "sensor:SensorEvent",
    "task.intent": "intent:TaskIntent",
    "task.record": "task:TaskRecord",
    "task.attempt": "attempt:TaskAttempt",
    "task.outcome": "outcome:TaskOutcome",
    "workflow.definition": "workflow:WorkflowDefinition",
    "workflow.record": "workflow:WorkflowRecord",
    "schedule.record": "schedule:RecurringScheduleRecord",
    "artifact.record": "artifact:ArtifactRecord",
    "task.type": "task_type:TaskTypeSpec",
    "runtime.event": "event:RuntimeEvent",
    "atom.manifest": "atom:AtomManifest",
    "capability.manifest": "capability:CapabilityManifest",
    "role.manifest": "role:RoleManifest",
    "task.spec": "task_spec:TaskSpec",
    "bundle.record": "bundle:BundleRecord",
    "gate.decision": "decision:GateDecision",
    "finding.record": "finding:FindingRecord",
    "landing.record": "landing:LandingRecord",
    "ledger.entry": "ledger:LedgerEntry",
    "pipe.definition": "pipe:PipeDefinition",
    "invocation.record": "invocation:InvocationRecord",
    "approval.record": "approval:ApprovalRecord",
}
"""The published records."""

FORMS = {
    "agent.file": "agent:AgentFile",
    "package.file": "atom:PackageFile",
    "project.file": "project:ProjectFile",
    "runtime.file": "runtime:RuntimeFile",
    "schema.lock": "schema_lock:SchemaLock",
    "skill.file": "skill:SkillFile",
    "skill.frontmatter": "skill:SkillFrontmatter",
}
"""Authored files that are not records themselves: they are read into records."""

NAMES = RECORDS | FORMS


def known(name: str) -> str:
    """The name itself, or `agent-runtime/<name>/v1` reduced to it. Raises OperatorError with the nearest name."""
    short = name.removeprefix("agent-runtime/").removesuffix("/v1")
    if short in NAMES:
        return short
    from difflib import get_close_matches  # noqa: PLC0415 - error path only

    near = get_close_matches(short, NAMES, n=1)
    message = f"no schema is called `{name}`"
    raise OperatorError(message, f"did you mean `{near[0]}`?" if near else "`keisei schema list` shows all names")


def record_type(name: str) -> Any:  # noqa: ANN401 - a class, or the union of classes of adapter.config
    """The type behind a name."""
    module, attribute = NAMES[known(name)].split(":")
    return getattr(import_module(f"keisei.records.{module}"), attribute)


def schema_id(name: str) -> str:
    """The versioned id."""
    return f"agent-runtime/{name}/v1"
