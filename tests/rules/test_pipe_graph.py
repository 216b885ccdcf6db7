"""Pipes drawn: every step and every line of it, and names that say nothing but themselves."""

import json

from keisei.rules.pipe_graph import graph
from tests.rules.pipe_world import planned

TEXT = """
[pipe]
name = 'a "pipe" \\ ] %% é \u202e'
[[steps]]
capture_as = "task"
atom = "kei-task::create"
input = { title = "X" }
[[steps]]
capture_as = "found"
atom = "kei-task::search"
input = { query = "x" }
[[steps]]
atom = "kei-text::upper"
for_each = "$found.hits"
input = { text = "$item.title" }
[[steps]]
capture_as = "tail"
atom = "kei-log::tail"
[[steps]]
atom = "kei-text::upper"
for_each = "$tail"
input = { text = "$item.line" }
"""


def test_mermaid_draws_needs_order_and_streams_apart():
    lines = graph(planned(TEXT), "mermaid").splitlines()

    assert lines[0] == "flowchart TD"
    assert lines[1] == '    s0["task (kei-task#58;#58;create)"]'
    assert lines[3] == '    s2["step-3 (kei-text#58;#58;upper for each)"]'
    assert lines[6:] == ["    s0 -.-> s1", "    s1 --> s2", "    s3 ==> s4"]


def test_dot_quotes_whatever_a_name_holds():
    lines = graph(planned(TEXT), "dot").splitlines()

    assert lines[0] == 'digraph "a \\"pipe\\" \\\\ ] %% é ?" {'
    assert lines[6:] == ["  s0 -> s1 [style=dashed];", "  s1 -> s2;", "  s3 -> s4 [style=bold];", "}"]


def test_json_names_steps_and_edges():
    made = json.loads(graph(planned(TEXT), "json"))

    assert made["steps"][2] == {
        "name": "step-3",
        "atom": "kei-text::upper",
        "kind": "transform",
        "for_each": "$found.hits",
    }
    assert made["edges"] == [
        {"from": "task", "to": "found", "kind": "after"},
        {"from": "found", "to": "step-3", "kind": "needs"},
        {"from": "tail", "to": "step-5", "kind": "stream"},
    ]
