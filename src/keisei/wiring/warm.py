"""Warming: every type that attempts read is made ready before their threads begin.

msgspec learns a type when it is first asked for it, and two threads that ask for the same one at once crash the whole
interpreter. What it has learnt it keeps, and any number of threads may use that.
"""

import msgspec

from keisei.contracts.registry import NAMES, record_type
from keisei.records.decision import GateDecision
from keisei.records.report import AgentReport
from keisei.wiring.returned import Returned
from keisei.wiring.shop import Before, Result


def warm() -> None:
    """Have every type learnt, in this thread. Saying it twice costs little."""
    for each in (*map(record_type, NAMES), AgentReport, Result, Before, Returned, GateDecision):
        msgspec.json.Decoder(each)
