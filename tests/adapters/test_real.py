"""The whole way with the real programs: an order, a launch that runs, a report. The model is on loopback."""

import pytest

from keisei.adapters import adapter_of
from keisei.records.report import ToolUse
from keisei.testing.model import Fault
from tests.adapters.record import Case, bash, execute, lay_out, order_of, programs, record

CALLS = {"claude-code": (bash("touch made"), "Bash"), "codex": (execute("touch made"), "exec_command")}


@pytest.mark.parametrize("kind", CALLS)
def test_a_real_harness_does_its_work_and_tells_of_it(kind, tmp_path):
    call, tool = CALLS[kind]

    recorded = record(kind, Case([call, "finished"]), programs()[kind], tmp_path)
    report = adapter_of(kind).read(*recorded)

    assert (report.error, report.text) == (None, "finished")
    assert report.tool_calls == (ToolUse(id="call_1", tool=tool),)
    assert (report.usage.input_tokens, report.usage.output_tokens, report.turns) == (20, 10, 2)
    assert report.session_ref
    assert report.model
    assert (tmp_path / "work" / "made").exists()


@pytest.mark.parametrize("kind", CALLS)
def test_a_real_harness_whose_server_refuses_says_so(kind, tmp_path):
    recorded = record(kind, Case([Fault(400, "no such thing")] * 9), programs()[kind], tmp_path)
    report = adapter_of(kind).read(*recorded)

    assert report.error.kind == "refused"
    assert "no such thing" in report.error.message


def test_a_real_request_is_answered_and_told(tmp_path):
    recorded = record("ollama-generate", Case(["hello"]), "", tmp_path)
    report = adapter_of("ollama-generate").read(*recorded)

    assert (report.error, report.text, report.model, report.usage.output_tokens) == (None, "hello", "llama", 5)


def test_what_is_laid_out_is_what_the_harness_finds(tmp_path):
    for name in ("run", "work"):
        (tmp_path / name).mkdir()
    order = order_of("codex", Case(), "codex", tmp_path, "http://127.0.0.1:1")

    lay_out(order, adapter_of("codex").home)

    assert (tmp_path / "run" / "prompt.md").read_bytes() == b"go"
    assert {path.name for path in (tmp_path / "run" / "codex").iterdir()} == {"hooks.json", "config.toml"}
