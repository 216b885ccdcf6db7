"""Transcripts: what a harness prints as JSON lines, as people read it. An agent has a hand in every byte."""

import json
import re
from collections.abc import Iterator
from typing import Final, Literal

from msgspec import Struct

from keisei.adapters.transcript import items, json_object, table, text
from keisei.console.templating import lines, plain
from keisei.records.form import JsonObject

LONGEST: Final = 4000
"""Characters of one entry that are shown; the file has all of it."""
RAW: Final = 400
"""Characters of a line that nobody understands."""
BRIEF: Final = 300
"""Characters that say what a call is about."""
TELLING: Final = ("command", "file_path", "notebook_path", "path", "pattern", "url", "query", "prompt", "description")
"""Fields of a call's input that say what it is about, the best first."""
Kind = Literal["text", "thought", "tool", "result", "fault", "note", "end", "raw"]
BLANKS: Final = re.compile(r"\s+")


class Said(Struct, frozen=True, kw_only=True):
    """One entry."""

    kind: Kind
    """What it is: words of the agent, its thoughts, a call, what came of a call, something that failed, the harness's
    own note, the end, or a line that nobody understands."""
    title: str
    """The tool's name, or what the note is about; empty for words."""
    text: str
    """What is said, with control characters shown."""


def said(data: bytes) -> tuple[Said, ...]:
    """The lines of a harness's output, one entry for everything in them that people want to see. Never raises."""
    found: list[Said] = []
    for line in data.split(b"\n"):
        if line.strip():
            found.extend(_line(line))
    return tuple(found)


def about(given: object) -> str:
    """What a call is about, in one line: the field that says most, or all of its input."""
    told = table(given)
    best = next((told[name] for name in TELLING if isinstance(told.get(name), str)), None)
    words = best if best is not None else json.dumps(told, ensure_ascii=False) if told else ""
    return _cut(plain(BLANKS.sub(" ", words[: 4 * BRIEF]).strip()), BRIEF)


def _line(line: bytes) -> Iterator[Said]:
    bare = line.strip()
    told = json_object(bare) if bare[:1] == b"{" and bare[-1:] == b"}" else None
    if told is None:
        yield Said(kind="raw", title="", text=_cut(plain(line[: 4 * RAW].decode("utf-8", "replace").strip()), RAW))
        return
    kind = told.get("type")
    yield from _codex(told) if isinstance(kind, str) and "." in kind else _claude(told)


def _claude(told: JsonObject) -> Iterator[Said]:
    """Claude's lines. An error can be anybody's."""
    kind = told.get("type")
    match kind:
        case "assistant" | "user":
            yield from _message(told, "text" if kind == "assistant" else "note")
        case "system" if told.get("subtype") == "init":
            yield _entry("note", "session", f"began with {text(told.get('model')) or 'an unknown model'}")
        case "result":
            is_error = told.get("is_error") is not False
            yield _entry("fault" if is_error else "end", "failed" if is_error else "done", told.get("result"))
        case "rate_limit_event":
            yield _entry("note", "rate limit", json.dumps(table(told.get("rate_limit_info")), ensure_ascii=False))
        case "error":
            yield _entry("fault", "error", told.get("message"))
        case _:
            title = " ".join(filter(None, (text(kind), text(told.get("subtype")))))
            yield _entry("note", title or "a line", "")


def _codex(told: JsonObject) -> Iterator[Said]:
    """Codex's events, whose names have a point."""
    item = table(told.get("item"))
    match told.get("type"):
        case "item.started" if item.get("type") == "command_execution":
            yield Said(kind="tool", title="command", text=about({"command": item.get("command")}))
        case "item.completed":
            yield from _item(item)
        case "turn.completed":
            yield _entry("end", "turn done", json.dumps(table(told.get("usage")), ensure_ascii=False))
        case "turn.failed":
            yield _entry("fault", "turn failed", table(told.get("error")).get("message"))
        case _:
            pass


def _message(told: JsonObject, words: Literal["text", "note"]) -> Iterator[Said]:
    """Claude's messages, a block each."""
    content = table(told.get("message")).get("content")
    if isinstance(content, str):
        yield _entry(words, "", content)
    for block in map(table, items(content)):
        kind = str(block.get("type"))
        if kind == "text":
            yield _entry(words, "", block.get("text"))
        elif kind == "thinking":
            yield _entry("thought", "thinks", block.get("thinking"))
        elif kind.endswith("tool_use"):
            yield Said(kind="tool", title=_title(block.get("name")), text=about(block.get("input")))
        elif kind.endswith("tool_result"):
            yield _entry(
                "fault" if block.get("is_error") is True else "result", "result", _content(block.get("content"))
            )


def _content(content: object) -> str:
    """What a tool has answered."""
    if isinstance(content, str):
        return content
    return "\n".join(text(block.get("text")) or f"({block.get('type')})" for block in map(table, items(content)))


def _item(item: JsonObject) -> Iterator[Said]:
    """Codex's items."""
    match item.get("type"):
        case "agent_message":
            yield _entry("text", "", item.get("text"))
        case "reasoning":
            yield _entry("thought", "thinks", item.get("text"))
        case "command_execution":
            code = item.get("exit_code")
            came: Kind = "result" if code == 0 else "fault"
            yield _entry(came, f"exit {code}" if isinstance(code, int) else "result", item.get("aggregated_output"))
        case "file_change":
            changed = [f"{each.get('kind')} {each.get('path')}" for each in map(table, items(item.get("changes")))]
            yield _entry("tool", "file change", "\n".join(changed))
        case "mcp_tool_call":
            yield Said(
                kind="tool", title=_title(f"{item.get('server')} {item.get('tool')}"), text=about(item.get("arguments"))
            )
        case "error":
            yield _entry("fault", "error", item.get("message"))
        case kind:
            yield _entry("note", _title(kind), about(item))


def _title(name: object) -> str:
    return _cut(plain(text(name) or "?"), 80)


def _entry(kind: Kind, title: str, words: object) -> Said:
    told = text(words) or ""
    return Said(kind=kind, title=_cut(plain(title), 80), text=_cut(lines(told[: LONGEST + 1]), LONGEST))


def _cut(words: str, most: int) -> str:
    return words if len(words) <= most else f"{words[: most - 1]}…"
