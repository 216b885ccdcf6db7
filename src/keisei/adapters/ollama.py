"""Ollama's generate. Success is status 200 and one whole answer that is done. It has no tools, so nothing to gate."""

import json
from collections.abc import Mapping, Sequence
from typing import Literal

from keisei.adapters import fault, transcript
from keisei.adapters.hint import hint_of_header
from keisei.adapters.launch import anew, config_of, model_of
from keisei.adapters.port import Order, Place, Probe
from keisei.records.adapter import AdapterConfig, OllamaGenerateAdapter
from keisei.records.attempt import Usage
from keisei.records.error import Refused
from keisei.records.form import JsonObject
from keisei.records.launch import Call, Exit
from keisei.records.report import AgentReport, HarnessError

kind = "ollama-generate"
home: str | None = None
gate: Literal["native", "none"] = "none"
leaves: tuple[str, ...] = ()

ANSWER = 16 * 1024 * 1024
"""Bytes of one answer."""
OK = 200


def guard(hook: Sequence[str], place: Place) -> None:
    """Nothing: it has no tools."""


def plan(order: Order) -> Call:
    """One request. Raises Refused for a prompt that is not UTF-8."""
    config = config_of(order, OllamaGenerateAdapter)
    anew(order)
    try:
        prompt = order.prompt.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused(f"adapter `{config.adapter_id}`: the prompt is not UTF-8", "compose it again") from error
    asked = {"model": model_of(order) or config.model, "prompt": prompt, "stream": False, "format": "json"}
    return Call(
        method="POST",
        url=f"{config.endpoint.rstrip('/')}/api/generate",
        headers={"content-type": "application/json"},
        body=json.dumps(asked, ensure_ascii=False).encode("utf-8"),
        timeout_s=config.timeout_ms / 1000,
        output_cap=ANSWER,
    )


def probe(config: AdapterConfig) -> Probe:
    """The server has to list its models."""
    endpoint = getattr(config, "endpoint", "")
    return Probe(url=f"{endpoint.rstrip('/')}/api/tags")


def read(ended: Exit, files: Mapping[str, bytes]) -> AgentReport:  # noqa: ARG001 - it leaves no files
    """What the answer says. Never raises."""
    answer = transcript.json_object(ended.stdout)
    error = fault.interruption(ended) or _error(ended, answer)
    answer = answer or {}
    said = transcript.text(answer.get("response")) or transcript.text(answer.get("thinking"))
    return AgentReport(
        text=said, error=error, usage=_usage(answer), model=transcript.name(answer.get("model")), turns=None
    )


def _error(ended: Exit, answer: JsonObject | None) -> HarnessError | None:
    if ended.http_status is None or ended.fault is not None:
        return fault.fault("network", ended.fault or "there was no answer", ended)
    said = transcript.text((answer or {}).get("error"))
    if ended.http_status != OK:
        message = f"status {ended.http_status}: {said or fault.last_words(ended.stdout) or 'no reason given'}"
        hint = hint_of_header(ended.http_headers.get("retry-after", ""), fault.end_of(ended))
        return fault.fault(fault.kind_of_status(ended.http_status), message, ended, hint)
    if ended.stdout_truncated:
        return fault.cut(ended)
    if answer is None:
        return HarnessError(kind="invalid", message="the answer is not a JSON object")
    if said is not None:
        return fault.fault(fault.kind_of_words(said) or "invalid", said, ended)
    return _unfinished(answer)


def _unfinished(answer: JsonObject) -> HarnessError | None:
    if answer.get("done") is not True:
        return HarnessError(kind="invalid", message="the answer is not whole: it does not say `done`")
    if answer.get("done_reason") == "length":
        return HarnessError(kind="limit", message="the model stopped at its limit of tokens")
    if not isinstance(answer.get("response"), str):
        return HarnessError(kind="invalid", message="the answer has no `response`")
    return None


def _usage(answer: JsonObject) -> Usage | None:
    read_, wrote = transcript.count(answer.get("prompt_eval_count")), transcript.count(answer.get("eval_count"))
    return transcript.told(
        Usage(input_tokens=read_, output_tokens=wrote, cache_read_tokens=None, cache_write_tokens=None, cost_usd=None)
    )
