"""Judging alone: one call here and now, without a service."""

import os
from pathlib import Path

from keisei.gate.judge import Judge
from keisei.records.effect import ToolCall
from keisei.rules.gate import Judgement, one_line
from keisei.rules.policy import Policy
from keisei.settings import Settings
from keisei.wiring import project_layer, seed_root
from keisei.wiring.policy import Setting
from keisei.wiring.script import run_checks, run_gate_script


def judge_here() -> Judge:
    """A judge that runs script gates as processes of this machine."""
    return Judge(run_gate_script)


def setting_of(settings: Settings, worktree: Path | None, main: Path | None, pinned: Path | None = None) -> Setting:
    """Where calls are judged: the worktree that was named, else the project the hook was installed for.

    Never the call's own folder, and the folder of this process only where nothing was pinned: an agent moves both.
    """
    scratch = [str(settings.temporary)] if settings.temporary is not None else []
    place = worktree or settings.worktree_path or pinned or settings.project_dir or repository()
    return Setting(place, main or settings.main_repo, settings.home, scratch)


def rules_home(settings: Settings, task: Path | None, main: Path | None, pinned: Path | None = None) -> Path:
    """Where rules are read from: the project around the task file, else the main checkout, else what was pinned.

    Where we are comes last, and inside an attempt never: that is the agent's own tree.
    """
    beside = task.absolute().parent if task is not None else None
    if beside is not None and (project_layer(beside) is not None or seed_root(beside) is not None):
        return beside
    known = main or settings.main_repo or pinned or settings.project_dir
    if known is not None:
        return known
    return Path.cwd() if settings.attempt_id is None else beside or Path("/")


def repository() -> Path:
    """The nearest folder upward that holds a repository, else the working directory."""
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if os.path.lexists(folder / ".git")), here)


def stand_alone(call: ToolCall, policy: Policy, settings: Settings) -> tuple[bool, str | None, tuple[str, ...]]:
    """A judgement without a service: allowed or not, the reason, and what else to say."""
    if call.event == "PostToolUse":
        told_of = [each for each in run_checks(call, policy) if each.status != "held"]
        bad = next((each for each in told_of if each.severity == "block"), None)
        reason = f"{bad.capability}: {bad.reason}" if bad is not None else None
        return bad is None, reason, tuple(f"{each.capability}: {each.reason}" for each in told_of if each is not bad)
    own_session = os.environ if settings.attempt_id is None else {}
    judgement = judge_here().judge(call, policy, own_session)
    allowed = judgement.decision == "allow"
    return allowed, None if allowed else told(judgement), judgement.warnings


def told(judgement: Judgement) -> str:
    """The line an agent reads: what is refused, why, and what to do instead, in at most 200 characters."""
    reason = judgement.reason or "refused"
    return one_line(f"{reason}. Instead: {judgement.instead}." if judgement.instead else reason)
