"""DNA: one line that says what kind of spawn it was: role, rules, scope, body, and a nonce of its own."""

import hashlib
from collections.abc import Iterable

from keisei.records.task_spec import TaskSpec

CODES = {
    "policy::no-git-ops": "NG",
    "scope::files-whitelist": "FW",
    "scope::files-denylist": "FD",
    "quality::constructor-pattern": "CP",
    "quality::check-green": "CG",
    "quality::cargo-check-green": "CG",
    "quality::tests-green": "TG",
    "safety::no-dep-bump": "ND",
    "output::report-format": "RF",
    "output::severity-grade": "SG",
    "tools::deny-tools": "DT",
    "tools::bash-allowlist": "BA",
}


def dna(role: str, capabilities: Iterable[str], spec: TaskSpec, nonce: int) -> str:
    """`<role>::<caps>::<scope>::<body>-<nonce>`, as the originals write and index it."""
    caps = "-".join(CODES.get(name, "??") for name in capabilities)
    scope = f"wl={_joined(spec.scope.files_whitelist)}\ndl={_joined(spec.scope.files_denylist)}"
    return f"{role}::{caps}::{_short(scope)}::{_short(spec.body.text)}-{nonce & 0xFFFFFFFF:08x}"


def _joined(globs: Iterable[str]) -> str:
    return ",".join(sorted(globs))


def _short(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:8].upper()
