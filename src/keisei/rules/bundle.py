"""Compose: fragments, scope and body become the prompt, byte for byte as the originals do it."""

from collections.abc import Iterable, Sequence

from keisei.records.task_spec import SpecVerification, TaskSpec

SEPARATOR = b"\n\n---\n\n"


def compose(fragments: Iterable[bytes], spec: TaskSpec) -> bytes:
    """The prompt: each fragment as it stands on disk, then the scope block unless empty, the body unless blank."""
    parts = list(fragments)
    scope = scope_block(spec)
    if scope:
        parts.append(scope.encode("utf-8"))
    if spec.body.text.strip():
        parts.append(spec.body.text.encode("utf-8"))
    return SEPARATOR.join(parts)


def scope_block(spec: TaskSpec) -> str:
    """What the task's numbers and lists say, in words the agent reads; empty where the task sets none."""
    lines = [
        *_globs("**files-whitelist** (you MAY Edit/Write these):", spec.scope.files_whitelist),
        *_globs("**files-denylist** (you MUST NOT Edit/Write these):", spec.scope.files_denylist),
        *_verification(spec.verification),
        *_fields(spec.output.report_fields_required),
    ]
    return "\n".join(["## Your task's scope (resolved from task.toml)", *lines]) if lines else ""


def _globs(title: str, globs: Sequence[str]) -> list[str]:
    return ["", title, *(f"- `{glob}`" for glob in globs)] if globs else []


def _verification(verification: SpecVerification) -> list[str]:
    """In the originals a blank line comes before the cargo check line and before no other; ours open with one too."""
    lines = []
    if verification.cargo_check_crates or verification.check or verification.test:
        lines.append("")
    if verification.cargo_check_crates:
        lines.append(f"**cargo check MUST pass** for: {_quoted(verification.cargo_check_crates)}")
    if verification.cargo_test_crates:
        lines.append(f"**cargo test MUST pass** for: {_quoted(verification.cargo_test_crates)}")
    if verification.check:
        lines.append(f"**check MUST pass:** `{verification.check}`")
    if verification.test:
        lines.append(f"**test MUST pass:** `{verification.test}`")
    if verification.test_count_min > 0:
        lines.append(f"**minimum test count:** {verification.test_count_min}")
    return lines


def _fields(fields: Sequence[str]) -> list[str]:
    return ["", f"**report MUST include fields:** {_quoted(fields)}"] if fields else []


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
