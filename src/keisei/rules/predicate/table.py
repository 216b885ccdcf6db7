"""Every built-in predicate by the rule that a capability names."""

from collections.abc import Callable, Mapping
from typing import Final

from keisei.records.verification import Difference, Planned, Reply, Said
from keisei.rules.predicate import (
    command,
    deletion,
    dependency,
    length,
    report,
    report_fork,
    report_grade,
    report_ledger,
    report_merge,
    report_verdict,
    repository,
    scope,
    test,
    warning,
)
from keisei.rules.predicate.port import Commands, Contents, Forks

DIFF: Final[Mapping[str, Callable[[Planned, Difference, Contents], Reply]]] = {
    "scope": scope.scope,
    "rules": scope.rules,
    "no-writes": scope.no_writes,
    "git-state": repository.git_state,
    "git-scope": repository.git_scope,
    "deletions": deletion.deletions,
    "dependencies": dependency.dependencies,
    "length": length.length,
}
REPORT: Final[Mapping[str, Callable[[Planned, Said, Difference, Forks], Reply]]] = {
    "fields": report.fields,
    "severity": report_grade.severity,
    "verdict": report_verdict.verdict,
    "merge-result": report_merge.merge_result,
    "fork-audit": report_fork.fork_audit,
    "ledger-row": report_ledger.ledger_row,
}
COMMAND: Final[Mapping[str, Callable[[Planned, Commands], Reply]]] = {
    "command": command.command,
    "check": command.check,
    "test": test.test,
    "warnings": warning.warnings,
}
