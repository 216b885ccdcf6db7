"""Metering: how many tokens an answer of a model's server cost, read from its bytes as they come. Pure.

Whatever the bytes are, nothing is raised, and memory is bounded. What the server tells counts, the last of it; how much
the model said is counted too, for a stream that is cut or never tells.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal

import msgspec

from keisei.records.relay import Tokens
from keisei.rules.metering_body import Whole, body_of

Form = Literal["messages", "responses", "chat", "ollama"]
"""Anthropic's Messages, OpenAI's Responses, its (Chat) Completions, Ollama's generate, chat and embed."""
MOST = 2**53 - 1
NOTHING = Tokens()
NAME = 200
"""Letters of a model's name."""

_Table = Mapping[str, Any]


class Meter:
    """Reads one answer."""

    def __init__(self, form: Form, content_type: str = "application/json") -> None:
        """For an answer of this form; its content type says whether it is one object, lines, or a stream of events."""
        self.told = NOTHING
        """What the server says of it so far."""
        self.model: str | None = None
        """The model that answers, as the server tells it."""
        self.final = False
        """The output that is told is that of the whole answer, not of its beginning."""
        self._form = form
        self._said = 0
        self._body = body_of(content_type)
        self._seen = 0

    @property
    def said(self) -> int:
        """How much the model wrote, about, in bytes: what an estimate is made of where the server does not tell."""
        return self._said + self._body.unread

    def feed(self, piece: bytes) -> None:
        """Read the next bytes of the body."""
        self._seen += len(piece)
        self._hear(self._body.add(piece))

    def end(self) -> None:
        """There are no more."""
        self._hear(self._body.end())
        if isinstance(self._body, Whole) and self.told.output is None:
            self._said += self._seen - self._body.unread

    def _hear(self, texts: Iterable[bytes]) -> None:
        for text in texts:
            table = _object(text)
            if table is not None:
                told, model, said = _READERS[self._form](table)
                self.told = _newer(self.told, told) if told is not NOTHING else self.told
                self.final = self.final or (told.output is not None and table.get("type") != "message_start")
                self.model = _name(model) or self.model
                self._said += sum(len(each) for each in said if isinstance(each, str))


def _object(text: bytes) -> _Table | None:
    if not text.strip():
        return None
    try:
        value = msgspec.json.decode(text)
    except (ValueError, RecursionError):  # text that is no JSON, or no UTF-8; msgspec's error is a ValueError
        return None
    return value if isinstance(value, dict) else None


_Said = tuple[Tokens, object, Iterable[object]]
"""Tokens, the model, and the texts that the model wrote."""


def _messages(event: _Table) -> _Said:
    whole = _table(event.get("message")) or event
    usage = _table(event.get("usage")) or _table(whole.get("usage"))
    told = (
        NOTHING
        if not usage
        else Tokens(
            input=_count(usage.get("input_tokens")),
            output=_count(usage.get("output_tokens")),
            cache_read=_count(usage.get("cache_read_input_tokens")),
            cache_write=_count(usage.get("cache_creation_input_tokens")),
        )
    )
    delta = _table(event.get("delta"))
    return told, whole.get("model"), [delta.get(key) for key in ("text", "partial_json", "thinking")]


def _responses(event: _Table) -> _Said:
    whole = _table(event.get("response")) or event
    usage = _table(whole.get("usage"))
    told = _with_cache(usage, "input_tokens", "output_tokens", "input_tokens_details")
    return told, whole.get("model"), [event.get("delta")]


def _chat(event: _Table) -> _Said:
    usage = _table(event.get("usage"))
    told = _with_cache(usage, "prompt_tokens", "completion_tokens", "prompt_tokens_details")
    return told, event.get("model"), list(_chat_texts(event))


def _chat_texts(event: _Table) -> Iterator[object]:
    for choice in map(_table, _items(event.get("choices"))):
        delta = _table(choice.get("delta"))
        yield choice.get("text")
        for key in ("content", "reasoning", "reasoning_content"):
            yield delta.get(key)
        for call in map(_table, _items(delta.get("tool_calls"))):
            yield _table(call.get("function")).get("arguments")


def _ollama(event: _Table) -> _Said:
    told = Tokens(input=_count(event.get("prompt_eval_count")), output=_count(event.get("eval_count")))
    message = _table(event.get("message"))
    return told, event.get("model"), [event.get("response"), message.get("content"), message.get("thinking")]


_READERS: Mapping[Form, Callable[[_Table], _Said]] = {
    "messages": _messages,
    "responses": _responses,
    "chat": _chat,
    "ollama": _ollama,
}


def _with_cache(usage: _Table, whole: str, written: str, details: str) -> Tokens:
    """OpenAI's input counts what came from the cache and went into it; ours does not."""
    if not usage:
        return NOTHING
    about = _table(usage.get(details))
    all_input, read, write = (
        _count(each) for each in (usage.get(whole), about.get("cached_tokens"), about.get("cache_write_tokens"))
    )
    fresh = None if all_input is None else max(0, all_input - (read or 0) - (write or 0))
    return Tokens(input=fresh, output=_count(usage.get(written)), cache_read=read, cache_write=write)


def _newer(old: Tokens, new: Tokens) -> Tokens:
    pairs = zip(msgspec.structs.astuple(old), msgspec.structs.astuple(new), strict=True)
    read = [before if after is None else after for before, after in pairs]
    return Tokens(input=read[0], output=read[1], cache_read=read[2], cache_write=read[3])


def _table(value: object) -> _Table:
    return value if isinstance(value, dict) else {}


def _items(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _count(value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST:
        return value
    return None


def _name(value: object) -> str | None:
    return value if isinstance(value, str) and 0 < len(value) <= NAME and value.isprintable() else None
