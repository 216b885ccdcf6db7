"""Conversation: what a model is told in a request, read alike from every protocol that `wire` writes."""

from collections.abc import Mapping, Sequence
from typing import Any

Body = Mapping[str, Any]


def user_texts(body: Body) -> list[str]:
    """Everything said to the model in the user's name, tool results left out."""
    if isinstance(body.get("prompt"), str):
        return [body["prompt"]]
    if isinstance(body.get("input"), str):
        return [body["input"]]
    spoken = [item for item in _conversation(body) if item.get("role") == "user"]
    return [text for item in spoken for text in _texts(item.get("content"))]


def tool_results(body: Body) -> list[str]:
    """The text of every tool result the model is told, in order."""
    found: list[str] = []
    for item in _conversation(body):
        if item.get("role") == "tool":
            found.append("\n".join(_texts(item.get("content"))))
        elif str(item.get("type")).endswith("_call_output"):
            found.append("\n".join(_texts(item.get("output"))))
        elif isinstance(item.get("content"), list):
            blocks = [block for block in item["content"] if isinstance(block, Mapping)]
            found += ["\n".join(_texts(block.get("content"))) for block in blocks if block.get("type") == "tool_result"]
    return found


def tool_names(body: Body) -> list[str]:
    """The tools on offer, `namespace.name` for those inside a namespace."""
    more = [item for item in _conversation(body) if item.get("type") == "additional_tools"]
    return [name for offer in (body, *more) for tool in offer.get("tools") or () for name in _names(tool)]


def _names(tool: Body, prefix: str = "") -> list[str]:
    if tool.get("type") == "namespace":
        return [name for inner in tool.get("tools") or () for name in _names(inner, f"{tool.get('name')}.")]
    function = tool.get("function")
    described = function if isinstance(function, Mapping) else tool
    return [prefix + str(described.get("name") or tool.get("type"))]


def _conversation(body: Body) -> list[Body]:
    items = body.get("messages") or body.get("input") or ()
    return [item for item in items if isinstance(item, Mapping)]


def _texts(content: object) -> list[str]:
    if isinstance(content, str):
        return [content]
    if not isinstance(content, Sequence):
        return []
    return [block["text"] for block in content if isinstance(block, Mapping) and isinstance(block.get("text"), str)]
