"""Mermaid: what is drawn is what is defined, and a name is never more than a name."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keisei.rules.mermaid import label, workflow_diagram
from tests.rules.test_workflow import DEFINITIONS, state, workflow

LINES = [
    r"stateDiagram-v2",
    r'    state "(?:[A-Za-z0-9_ .()/-]|#\d+;)+" as s\d+',
    r"    \[\*\] --> s\d+",
    r"    s\d+ --> s\d+: (?:[A-Za-z0-9_ .()/-]|#\d+;)+",
    r"    s\d+ --> \[\*\](?:: (?:[A-Za-z0-9_ .()/-]|#\d+;)+)?",
    r"    classDef current font-weight:bold,stroke-width:3px",
    r"    class s\d+ current",
]
"""Every line there can be."""


def is_strict(text):
    assert text.endswith("\n")
    lines = text.removesuffix("\n").split("\n")
    assert lines[0] == "stateDiagram-v2"
    known = {each.rsplit(" ", 1)[1] for each in lines if " as s" in each}
    for line in lines:
        assert any(re.fullmatch(each, line) for each in LINES), line
    used = {each for line in lines if "-->" in line for each in re.findall(r"\bs\d+\b", line.partition(":")[0])}
    return used <= known


def test_a_workflow_is_drawn_with_where_it_stands():
    definition = workflow(
        state("plan", {"go": "work"}, cap=3), state("work", {"back": "plan", "out": "end"}, done=["done"]), state("end")
    )

    assert workflow_diagram(definition, "work", {"plan": 2, "work": 1}) == (
        "stateDiagram-v2\n"
        '    state "plan (2 of 3)" as s0\n'
        '    state "work (1)" as s1\n'
        '    state "end (0)" as s2\n'
        "    [*] --> s0\n"
        "    s0 --> s1: go\n"
        "    s1 --> s0: back\n"
        "    s1 --> s2: out\n"
        "    s1 --> [*]: done\n"
        "    s2 --> [*]\n"
        "    classDef current font-weight:bold,stroke-width:3px\n"
        "    class s1 current\n"
    )


def test_a_definition_alone_has_no_counts_and_no_mark():
    drawn = workflow_diagram(workflow(state("a", {"go": "b"}, cap=2), state("b")))

    assert '"a" as s0' in drawn
    assert "class" not in drawn


HOSTILE = [
    'x" as s9\n    s9 --> s0: "',
    "a\nclick s0 href javascript:alert(1)",
    "%%{init: {'securityLevel': 'loose'}}%%",
    "<img src=x onerror=alert(1)>",
    "a --> b: c",
    "note right of s0",
    "s0 : text; s1",
    "#quot;#35;",
    "---\ntitle: x\n---",
    "\u2028\u202e\x00\x1b[2J",
    "",
    "   ",
    "x" * 10_000,
    "\ud800",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_stays_a_name(name):
    definition = workflow(state(name, {name: "b"}, done=[name + "!"]), state("b"))

    drawn = workflow_diagram(definition, name, {name: 1})

    assert is_strict(drawn)
    assert len(drawn.splitlines()) == 9
    assert len(drawn) < 3_000


@settings(max_examples=200, deadline=None, database=None)
@given(st.text(max_size=60))
def test_a_label_is_one_word_of_the_diagram_whatever_it_says(text):
    assert re.fullmatch(r"(?:[A-Za-z0-9_ .()/-]|#\d+;)+", label(text))


@settings(max_examples=100, deadline=None, database=None)
@given(DEFINITIONS)
def test_every_definition_is_drawn_in_the_same_few_forms(definition):
    assert is_strict(workflow_diagram(definition, definition.states[-1].state_id, {}))
