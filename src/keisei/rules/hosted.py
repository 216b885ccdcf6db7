"""Hosted work: what a request asks the model's server itself to do or to fetch, elsewhere in the network. Pure.

An agent without network has its model, and a model's server can search, fetch pages, run code and talk to other servers
for whoever asks: that would be a network. It can also go on in the background, where nobody counts what it costs.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from keisei.records.relay import Protocol

LOCAL: Final[Mapping[Protocol, frozenset[str]]] = {
    "anthropic": frozenset({"custom"}),
    "openai": frozenset({"function", "custom", "local_shell", "apply_patch", "namespace"}),
    "ollama": frozenset({"function", "custom"}),
}
"""Kinds of tools that the harness carries out itself."""
DATED: Final = ("bash_", "text_editor_", "computer_", "memory_")
"""Anthropic's own tools that the harness carries out, by how their kinds begin; the rest is a date."""
NESTED: Final = ("tools", "additional_tools")
TALK: Final = ("messages", "input")
"""The conversation; all of it is sent again with every turn, so it is looked through only where that can matter."""
ELSEWHERE: Final = ("mcp_servers", "container", "web_search_options", "plugins")
"""What names other servers, or work of this one beside its answer."""
ONLINE: Final = ":online"
"""How a model's name ends that searches before it answers (OpenRouter)."""
OPAQUE: Final = ("input", "arguments", "input_schema", "parameters", "schema", "metadata")
"""Values that belong to a tool, whatever they look like."""
ADDRESSES: Final = ("image_url", "file_url")
TELLING: Final = (b'url"', b'tools"')
"""How a key ends in a conversation that names an address or tools."""
SPELT: Final = re.compile(rb"\\u00[4-7]")
"""A letter that is spelt as a number, of which such a key could be made."""
DEEPEST: Final = 60


def hosted(data: bytes, protocol: Protocol, *, closed: bool) -> str | None:
    """What a request asks for that is not allowed, in a few words; None where there is nothing.

    Work in the background is not, because nobody could count it; without a network (`closed`), nothing is that happens
    elsewhere, and a body that cannot be read is none either. Never raises.
    """
    try:
        parts = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
        body = {name: _value(bytes(part)) for name, part in parts.items() if name not in TALK}
    except (ValueError, RecursionError) as error:
        return f"a body that is no plain JSON object ({error})" if closed else None
    if body.get("background"):
        return "work in the background, which nobody could count"
    if not closed:
        return None
    try:
        said = {name: bytes(parts[name]) for name in TALK if name in parts}
        talk = {str(name): _value(each) for name, each in said.items() if _is_telling(each)}
    except (ValueError, RecursionError) as error:
        return f"a conversation that is no plain JSON ({error})"
    return _settings(body) or _tooled([body, *_items(talk)], protocol) or _addresses([body, *talk.values()], 0)


def _is_telling(data: bytes) -> bool:
    return any(each in data for each in TELLING) or (b"\\u00" in data and SPELT.search(data) is not None)


def _value(data: bytes) -> Any:  # noqa: ANN401 - JSON
    return json.loads(data, object_pairs_hook=_once)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands there twice")
    return found


def _items(talk: Mapping[str, Any]) -> list[Any]:
    return [each for value in talk.values() if isinstance(value, list) for each in value]


def _settings(body: Mapping[str, Any]) -> str | None:
    if isinstance(body.get("prompt"), dict):
        return "a prompt that is stored there, and says what nobody sees here"
    models = [body.get("model"), *(body["models"] if isinstance(body.get("models"), list) else ())]
    if any(isinstance(each, str) and each.endswith(ONLINE) for each in models):
        return "a model that searches the network"
    return next((f"`{name}`" for name in ELSEWHERE if body.get(name)), None)


def _tooled(tables: Iterable[Any], protocol: Protocol) -> str | None:
    found = (_tools(each, protocol, 0) for each in tables if isinstance(each, dict))
    return next(filter(None, found), None)


def _tools(table: Mapping[str, Any], protocol: Protocol, depth: int) -> str | None:
    if depth > DEEPEST:
        return "tools inside tools without an end"
    for name in NESTED:
        tools = table.get(name)
        if tools is not None and not isinstance(tools, list):
            return "tools that are no list"
        for tool in tools or ():
            found = _tool(tool, protocol, depth)
            if found is not None:
                return found
    return None


def _tool(tool: object, protocol: Protocol, depth: int) -> str | None:
    if not isinstance(tool, dict):
        return "a tool that is no object"
    kind = tool.get("type") or "custom"
    if not isinstance(kind, str) or not (kind in LOCAL[protocol] or _is_dated(kind, protocol)):
        return f"the tool `{str(kind)[:60]}`, which the server carries out itself"
    return _tools(tool, protocol, depth + 1)


def _is_dated(kind: str, protocol: Protocol) -> bool:
    return protocol == "anthropic" and kind.startswith(DATED) and kind.rpartition("_")[2].isdecimal()


def _addresses(value: object, depth: int) -> str | None:
    """An address that the server would fetch, wherever in the conversation it stands."""
    if depth > DEEPEST:
        return "values inside values without an end"
    if isinstance(value, list):
        return next((found for each in value if (found := _addresses(each, depth + 1))), None)
    if not isinstance(value, dict):
        return None
    named = [value.get(name) for name in ADDRESSES]
    named += [value.get("url")] if value.get("type") == "url" else []
    for each in named:
        address = each.get("url") if isinstance(each, dict) else each
        if isinstance(address, str) and not address.startswith("data:"):
            return "a file that the server would fetch from an address"
    inner = (each for name, each in value.items() if name not in OPAQUE)
    return next((found for each in inner if (found := _addresses(each, depth + 1))), None)
