"""The judge against the corpus: every core evasion is refused, no harmless call is."""

import atexit
from contextlib import ExitStack, nullcontext
from functools import cache

import pytest

from keisei.records.effect import ToolCall
from keisei.records.task_spec import SpecScope, SpecTask, TaskSpec
from keisei.settings import read_settings
from keisei.wiring import catalog
from keisei.wiring.alone import judge_here
from keisei.wiring.policy import Setting, spec_policy, vector_policy
from tests.gate.corpus import cases
from tests.gate.jail import place

LISTS = ("files-whitelist", "files-denylist")


@cache
def _library():
    return catalog(read_settings({}))


@cache
def _judge():
    return judge_here()


@cache
def _shared():
    """One place for every case that prepares nothing: a judgement only looks."""
    return _KEPT.enter_context(place({}))


_KEPT = ExitStack()
atexit.register(_KEPT.close)


def _judgement(case):
    with place(case.setup) if case.setup else nullcontext(_shared()) as where:
        setting = Setting(where.work, None, where.home)
        parameters = dict(case.parameters)
        if case.capability == "role":
            scope = SpecScope(**{key.replace("-", "_"): tuple(parameters.get(key, ())) for key in LISTS})
            spec = TaskSpec(task=SpecTask(role=case.role or "edit-local"), scope=scope)
            policy = spec_policy(_library(), spec, setting)
        else:
            policy = vector_policy(_library(), case.capability, parameters, setting)
        call = ToolCall(
            tool=case.tool, input=case.filled(where), cwd=str((where.work / case.cwd).resolve()), harness=case.harness
        )
        return _judge().judge(call, policy)


@pytest.mark.parametrize("case", [each for each in cases("evasion") if each.core], ids=lambda case: case.id)
def test_every_core_evasion_is_refused(case):
    judgement = _judgement(case)

    assert judgement.decision == "deny"
    assert judgement.cause == "rule"
    assert judgement.reason


@pytest.mark.parametrize("case", [each for each in cases("harmless") if each.core], ids=lambda case: case.id)
def test_no_harmless_call_is_refused(case):
    judgement = _judgement(case)

    assert judgement.decision == "allow", judgement.reason
