"""Transcripts of the real programs, each read as the report beside it."""

import json
import re

import msgspec
import pytest

from keisei.adapters import ADAPTERS, adapter_of
from tests.adapters.record import CASES, GOLDEN, transcript_of

FOLDERS = sorted(path.parent for path in GOLDEN.glob("*/*/report.json"))


def named(folder):
    return folder.relative_to(GOLDEN).as_posix()


@pytest.mark.parametrize("folder", FOLDERS, ids=named)
def test_a_transcript_is_read_as_the_report_beside_it(folder):
    report = adapter_of(folder.parent.name).read(*transcript_of(folder))

    assert json.loads(msgspec.json.encode(report)) == json.loads((folder / "report.json").read_text())


def test_every_case_is_recorded_and_every_recording_is_a_case():
    cases = {f"{kind}/{name}" for kind, each in CASES.items() for name in each}

    assert {named(folder) for folder in FOLDERS} == cases
    assert CASES.keys() == ADAPTERS.keys()


@pytest.mark.parametrize("folder", FOLDERS, ids=named)
def test_nothing_of_a_machine_is_in_a_transcript(folder):
    text = b"\n".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()).decode()

    assert re.findall(r"(?<![\w<])/(?:tmp|root|Users|home/\w+)/[^\s\"]*|127\.0\.0\.1:\d\d+", text) == []


@pytest.mark.parametrize("folder", FOLDERS, ids=named)
def test_only_what_ended_well_is_read_as_a_success(folder):
    ended, files = transcript_of(folder)

    worked = folder.name in {
        *("success", "tool-use", "denied", "blocked", "sub-agent", "structured", "resumed", "no-answer"),
        *("turned-away", "relative", "patch", "script", "object", "prose", "silent"),
    }

    assert (adapter_of(folder.parent.name).read(ended, files).error is None) == worked
