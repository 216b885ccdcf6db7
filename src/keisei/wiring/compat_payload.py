"""Payloads of the original's tasks: which files they ask for, which they read, and whose they are."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from keisei.records.error import Refused
from keisei.records.intent import EvidenceRequirements, TaskIntent
from keisei.rules.artifact import artifact_path
from keisei.wiring.compat_goal import PHASES

DECLARED: Final = ("output_path", "checklist_path")
"""Payload keys by which the original declares an artifact."""
SUBSTRATE: Final = "substrate:"
"""How the original marks tasks that it took from its shared job queue."""


def declared(intent: TaskIntent) -> TaskIntent:
    """The intent with the artifacts that the original declares in the payload."""
    needs = intent.evidence_requirements or EvidenceRequirements()
    artifacts = tuple(dict.fromkeys((*needs.required_artifacts, *declared_artifacts(intent.payload))))
    return replace(intent, evidence_requirements=replace(needs, required_artifacts=artifacts)) if artifacts else intent


def declared_artifacts(payload: Mapping[str, Any]) -> Iterator[str]:
    """Files the payload asks for; a payload without a phase may ask for the artifact of any."""
    phase = payload.get("phase")
    own = [PHASES[phase]] if isinstance(phase, str) and phase in PHASES else PHASES.values()
    listed = payload.get("required_artifacts")
    named = (*(payload.get(key) for key in (*DECLARED, *own)), *(listed if isinstance(listed, list) else ()))
    return (each for each in named if isinstance(each, str) and each.strip())


def proofs(payload: Mapping[str, Any]) -> dict[str, str | None]:
    """The file that an adapter proof asks for by its absolute path, and the text it must hold, if any."""
    path, text = payload.get("proof_path"), payload.get("proof_contents")
    if not isinstance(path, str) or not Path(path).is_absolute():
        return {}
    return {os.path.normpath(path): text if isinstance(text, str) else None}


def missing_inputs(artifacts: Path, payload: Mapping[str, Any]) -> list[str]:
    """What a phase is to read and does not find, in the original's words."""
    phases, phase = list(PHASES), payload.get("phase")
    earlier = phases[: phases.index(phase)] if isinstance(phase, str) and phase in PHASES else []
    named = [(PHASES[each], payload.get(PHASES[each])) for each in earlier]
    folders = (artifacts / "workflows" / str(payload.get("workflow_id", "")).replace("/", "_"), artifacts)
    return [
        f"{key.replace('_', ' ')} missing from disk: {path}"
        for key, path in named
        if isinstance(path, str) and path.strip() and not any(_is_there(each, path) for each in folders)
    ]


def _is_there(folder: Path, named: str) -> bool:
    try:
        return (folder / artifact_path(named, (str(folder), str(folder.resolve())))).is_file()
    except (Refused, OSError):
        return False


def substrate_fault(source: str, payload: Mapping[str, Any]) -> str | None:
    """Why a task of the original's shared job queue is not taken; None for any other task."""
    if not source.startswith(SUBSTRATE) and "_substrate_job_id" not in payload:
        return None
    return (
        "it belongs to the original's shared job queue (substrate), which is not written to: the job would stay claimed"
        " there for ever; and its priority 1 would come last here, where higher is first"
    )
