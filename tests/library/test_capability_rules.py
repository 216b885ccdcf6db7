"""The predicates that lint knows are the predicates that there are."""

from keisei.library.capability import RULES
from keisei.rules.predicate.table import COMMAND, DIFF, REPORT


def test_lint_knows_every_predicate_and_no_other():
    assert set(RULES["diff"]) == set(DIFF)
    assert set(RULES["report"]) == set(REPORT)
    assert set(RULES["command"]) == set(COMMAND) - {"command"}
