"""Wire: how a model's reply looks in each protocol the harnesses speak. Values in, bytes out."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

JSON = "application/json"
SSE = "text/event-stream"
NDJSON = "application/x-ndjson"
BEGINNING = "2020-01-01T00:00:00Z"
"""When everything happens that a protocol wants a time for."""

Body = Mapping[str, Any]


class Call(NamedTuple):
    """One tool call of a reply."""

    id: str
    """Unique in one server's life; the harness names it again in its hook input and with the result."""
    tool: str
    input: Mapping[str, Any] | str
    """Arguments by name, or the free text of a tool that takes no JSON (Responses only)."""
    namespace: str | None = None
    """The group a tool is offered in (Responses only), as Codex does with MCP servers and its own sub-agents."""


class Reply(NamedTuple):
    """What the model says in one turn: first the text, then the calls."""

    id: str
    text: str
    calls: tuple[Call, ...] = ()


class Answer(NamedTuple):
    """An HTTP answer's type and body."""

    content_type: str
    body: bytes


def messages(reply: Reply, body: Body) -> Answer:
    """The reply as Anthropic's Messages says it."""
    blocks = _message_blocks(reply)
    stop = {"stop_reason": "tool_use" if reply.calls else "end_turn", "stop_sequence": None}
    head = {"id": reply.id, "type": "message", "role": "assistant", "model": body.get("model", "scripted")}
    usage = {"input_tokens": 10, "output_tokens": 5}
    if not body.get("stream"):
        return _json({**head, **stop, "content": blocks, "usage": usage})
    opening = {**head, "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": opening}]
    for index, block in enumerate(blocks):
        events += _message_block_events(index, block)
    events.append({"type": "message_delta", "delta": stop, "usage": {"output_tokens": 5}})
    events.append({"type": "message_stop"})
    return _sse(events)


def _message_blocks(reply: Reply) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": reply.text}] if reply.text or not reply.calls else []
    return blocks + [
        {"type": "tool_use", "id": call.id, "name": call.tool, "input": call.input} for call in reply.calls
    ]


def _message_block_events(index: int, block: dict[str, Any]) -> list[dict[str, Any]]:
    if block["type"] == "text":
        empty = {**block, "text": ""}
        delta = {"type": "text_delta", "text": block["text"]}
    else:
        empty = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    return [
        {"type": "content_block_start", "index": index, "content_block": empty},
        {"type": "content_block_delta", "index": index, "delta": delta},
        {"type": "content_block_stop", "index": index},
    ]


def responses(reply: Reply, body: Body) -> Answer:
    """The reply as OpenAI's Responses says it."""
    items = _response_items(reply)
    usage = {
        "input_tokens": 10,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 15,
    }
    head = {"id": reply.id, "object": "response", "created_at": 0, "model": body.get("model", "scripted")}
    whole = {**head, "status": "completed", "output": items, "usage": usage}
    if not body.get("stream"):
        return _json(whole)
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**head, "status": "in_progress", "output": []}}
    ]
    for index, item in enumerate(items):
        events.append({"type": "response.output_item.added", "output_index": index, "item": item})
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    events.append({"type": "response.completed", "response": whole})
    return _sse([{**event, "sequence_number": number} for number, event in enumerate(events)])


def _response_items(reply: Reply) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if reply.text or not reply.calls:
        content = [{"type": "output_text", "text": reply.text, "annotations": []}]
        items.append(
            {"type": "message", "id": f"msg_{reply.id}", "status": "completed", "role": "assistant", "content": content}
        )
    return items + [_response_call(call) for call in reply.calls]


def _response_call(call: Call) -> dict[str, Any]:
    item = {"id": f"item_{call.id}", "status": "completed", "call_id": call.id, "name": call.tool}
    if call.namespace:
        item["namespace"] = call.namespace
    if isinstance(call.input, str):
        return {"type": "custom_tool_call", **item, "input": call.input}
    return {"type": "function_call", **item, "arguments": json.dumps(call.input)}


def chat(reply: Reply, body: Body) -> Answer:
    """The reply as OpenAI's Chat Completions says it."""
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.tool, "arguments": json.dumps(call.input)}}
        for call in reply.calls
    ]
    finish = "tool_calls" if calls else "stop"
    head = {"id": reply.id, "created": 0, "model": body.get("model", "scripted")}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if not body.get("stream"):
        told = {**message, "tool_calls": calls} if calls else message
        choice = {"index": 0, "message": told, "finish_reason": finish}
        return _json({**head, "object": "chat.completion", "choices": [choice], "usage": usage})
    if calls:
        message["tool_calls"] = [{"index": index, **call} for index, call in enumerate(calls)]
    chunk = {**head, "object": "chat.completion.chunk"}
    said = {"index": 0, "delta": message, "finish_reason": None}
    ended = {"index": 0, "delta": {}, "finish_reason": finish}
    answer = _sse([{**chunk, "choices": [said]}, {**chunk, "choices": [ended], "usage": usage}])
    return answer._replace(body=answer.body + b"data: [DONE]\n\n")


def ollama_generate(reply: Reply, body: Body) -> Answer:
    """The reply as Ollama's `/api/generate` says it; a model asked this way has no tools."""
    return _ollama(body, {"response": reply.text}, {"response": ""})


def ollama_chat(reply: Reply, body: Body) -> Answer:
    """The reply as Ollama's `/api/chat` says it."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.calls:
        message["tool_calls"] = [{"function": {"name": call.tool, "arguments": call.input}} for call in reply.calls]
    return _ollama(body, {"message": message}, {"message": {"role": "assistant", "content": ""}})


def _ollama(body: Body, said: dict[str, Any], silence: dict[str, Any]) -> Answer:
    head = {"model": body.get("model", "scripted"), "created_at": BEGINNING}
    end = {
        "done": True,
        "done_reason": "stop",
        "total_duration": 3,
        "load_duration": 1,
        "prompt_eval_count": 10,
        "prompt_eval_duration": 1,
        "eval_count": 5,
        "eval_duration": 1,
    }
    if body.get("stream", True):
        lines = [{**head, **said, "done": False}, {**head, **silence, **end}]
        return Answer(NDJSON, b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    return _json({**head, **said, **end})


Write = Callable[[Reply, Body], Answer]

WRITE: Mapping[str, Write] = {
    "/v1/messages": messages,
    "/v1/responses": responses,
    "/v1/chat/completions": chat,
    "/api/generate": ollama_generate,
    "/api/chat": ollama_chat,
}
"""Every path that a turn of the script answers."""


def listing(path: str, model: str) -> Answer | None:
    """The models on offer, as `/v1/models` (of both vendors) or `/api/tags` lists them; None for another path."""
    if path == "/v1/models":
        entry = {"id": model, "object": "model", "type": "model", "display_name": model, "owned_by": "keisei"}
        data = [{**entry, "created": 0, "created_at": BEGINNING}]
        return _json({"object": "list", "data": data, "has_more": False, "first_id": model, "last_id": model})
    if path == "/api/tags":
        details = {"family": "scripted", "parameter_size": "0B", "quantization_level": "none"}
        return _json({"models": [{"name": model, "model": model, "size": 0, "digest": "0" * 64, "details": details}]})
    return None


def description(model: str) -> Answer:
    """What Ollama's `/api/show` tells of a model: harnesses look for its context and for tools."""
    details = {"family": "scripted", "parameter_size": "0B", "quantization_level": "none"}
    info = {"general.architecture": "scripted", "general.basename": model, "scripted.context_length": 131_072}
    return _json({"details": details, "model_info": info, "capabilities": ["completion", "tools"], "template": ""})


def token_count(body: Body) -> Answer:
    """A count for `/v1/messages/count_tokens`: four letters a token."""
    return _json({"input_tokens": len(json.dumps(body)) // 4 + 1})


def failure(path: str, status: int, message: str) -> Answer:
    """An error in the form of the protocol that was asked."""
    if path.startswith("/api/"):
        return _json({"error": message})
    kinds = {400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}
    kind = kinds.get(status, "overloaded_error" if status == 529 else "api_error")  # noqa: PLR2004
    return _json({"type": "error", "error": {"type": kind, "message": message, "code": None}})


def _json(value: Body) -> Answer:
    return Answer(JSON, json.dumps(value).encode())


def _sse(events: Iterable[Body]) -> Answer:
    return Answer(SSE, b"".join(_sse_event(event) for event in events))


def _sse_event(event: Body) -> bytes:
    name = f"event: {event['type']}\n" if "type" in event else ""
    return f"{name}data: {json.dumps(event)}\n\n".encode()
