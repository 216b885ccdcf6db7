"""Everything the OpenAPI document allows, and much that it does not, asked of the real application behind its guard."""

import os

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis import checks

from keisei.console.address import address
from keisei.console.guard import Guard, GuardConfig, Limits
from keisei.console.key import open_keys
from keisei.console.openapi import document
from keisei.records.answer import ApprovalQuery
from keisei.records.move import LandingQuery, TaskQuery
from keisei.testing.plenty import fill
from tests.console.house import open_house


def refused(context, response, case):
    """What does not fit the document is refused; too large a body is, before anybody reads what is wrong with it."""
    return None if response.status_code == 413 else checks.negative_data_rejection(context, response, case)


CHECKED = (
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    refused,
)
HERE = address()
STREAMS = ("/api/v1/stream", "/api/v1/attempts/{attempt_id}/stream")
"""What never ends is looked at in test_live.py."""
DRAFTS = [f"/api/v1/forge/{verb}" for verb in ("look", "try", "write")]
"""A draft nests without end, and takes long to make up."""
whole = schemathesis.openapi.from_dict(document()).exclude(path=list(STREAMS))
schema, drafts = whole.exclude(path=DRAFTS), whole.include(path=DRAFTS)


def often(times):
    """How often each operation is asked; a soak asks more."""
    return settings(
        max_examples=times * 10 if os.environ.get("KEISEI_SOAK") else times,
        database=None,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """How the application is asked, and ids that it knows."""
    folder = tmp_path_factory.mktemp("openapi")
    state = folder / "state" / "house"
    state.mkdir(parents=True, mode=0o700)
    fill(state / "state.db", tasks=60, events=200)
    with open_house(folder) as house:
        config = GuardConfig(
            home_folder=state, address=HERE, account="tester", limits=Limits(per_s=1e9, burst=10**9), broken=_broken
        )
        known = {
            "task_id": [each.task_id for each in house.store.tasks(TaskQuery(limit=20))],
            "attempt_id": [each.attempt_id for each in house.store.attempts(None, 20)],
            "landing_id": [each.landing_id for each in house.store.landings(LandingQuery(limit=20))],
            "approval_id": [each.approval_id for each in house.store.approvals(ApprovalQuery(limit=20))],
            "seq": ["1", "2"],
        }
        headers = {"Authorization": f"Bearer {open_keys(state).operator}"}
        yield {"app": Guard(house.app, config), "base_url": HERE.origin, "headers": headers}, known


def _broken(error):
    raise AssertionError(error) from error


@schema.parametrize()
@often(4)
def test_nothing_that_is_asked_breaks_it(case, asked):
    way, known = asked
    case.call_and_validate(checks=list(CHECKED), **way)
    found = {name: known[name] for name in case.path_parameters if known.get(name)}
    if found:
        case.path_parameters = {**case.path_parameters, **{name: values[0] for name, values in found.items()}}
        case.call_and_validate(checks=list(CHECKED[:-1]), **way)


@drafts.parametrize()
@often(2)
def test_no_draft_breaks_it(case, asked):
    case.call_and_validate(checks=list(CHECKED), **asked[0])
