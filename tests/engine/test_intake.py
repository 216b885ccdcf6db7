"""Intake: names that only the runtime gives are not taken from outside."""

import pytest

from keisei.engine.intake import RESERVED_KEYS, RESERVED_SOURCES, read_intent
from keisei.records.error import Refused

INTENT = {"task_type": "note", "source": "test", "payload": {}}


@pytest.mark.parametrize("prefix", RESERVED_KEYS)
def test_a_key_of_the_runtime_is_refused(prefix):
    with pytest.raises(Refused, match=f"idempotency_key `{prefix}x` begins with `{prefix}`"):
        read_intent(INTENT | {"idempotency_key": f"{prefix}x"})


@pytest.mark.parametrize("prefix", RESERVED_SOURCES)
def test_a_source_of_the_runtime_is_refused(prefix):
    with pytest.raises(Refused, match=f"source `{prefix}x` begins with `{prefix}`"):
        read_intent(INTENT | {"source": f"{prefix}x"})


def test_other_names_are_taken():
    assert read_intent(INTENT | {"idempotency_key": "my-workflow:1"}).idempotency_key == "my-workflow:1"
    assert read_intent(INTENT | {"source": "schedule:mine"}).source == "schedule:mine"
