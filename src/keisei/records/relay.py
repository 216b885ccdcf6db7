"""Relays: the server a harness's model answers from, what may be spent there, what was asked. Internal: no schema."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

Protocol = Literal["anthropic", "openai", "ollama"]
"""Whose interface the server speaks; it decides which paths are open and what an error looks like."""
Auth = Literal["x-api-key", "bearer", "none"]
"""Where the key stands in a request."""


class Upstream(Struct, frozen=True, kw_only=True):
    """The one server that a relay talks to. Its key shows in no text that is made of it."""

    url: str
    """Its address as harnesses have it: without `/v1` for Anthropic and Ollama, with it for OpenAI."""
    protocol: Protocol
    """What it speaks."""
    auth: Auth = "none"
    """How it wants its key."""
    key: str | None = None
    """The key; None where it wants none. It never enters a sandbox."""
    key_names: tuple[str, ...] = ()
    """Variables that must not reach the harness: keys, addresses and proxies."""
    adds: Mapping[str, str] = {}
    """Headers that every request gets; a value the harness sends under the same name stays, with a comma between."""

    def __repr__(self) -> str:
        """Everything but the key and the address, which may hold one."""
        return f"Upstream(protocol={self.protocol!r}, auth={self.auth!r})"


class Price(Struct, frozen=True, kw_only=True):
    """What a model costs, in US dollars for a million tokens."""

    input: float
    """Fresh input."""
    output: float
    """What the model writes."""
    cache_read: float | None = None
    """Input read from the provider's cache; None where it costs what fresh input does."""
    cache_write: float | None = None
    """Input written to the provider's cache; None where it costs what fresh input does."""


class Allowance(Struct, frozen=True, kw_only=True):
    """What an attempt may still spend. None limits nothing."""

    max_tokens: int | None = None
    """Tokens of all four kinds together."""
    max_cost_usd: float | None = None
    """Money. It binds as far as there are prices."""
    prices: Mapping[str, Price] = {}
    """Prices by model."""


class Tokens(Struct, frozen=True, kw_only=True):
    """Token counts of the four kinds, none of which counts what another does. Unknown is None and never 0."""

    input: int | None = None
    """Fresh input."""
    output: int | None = None
    """What the model wrote."""
    cache_read: int | None = None
    """Input read from the provider's cache."""
    cache_write: int | None = None
    """Input written to the provider's cache."""


class Charge(Struct, frozen=True, kw_only=True):
    """What counts against an allowance: what the server told, and an estimate where it did not."""

    tokens: int = 0
    """Of all four kinds."""
    cost_usd: float = 0.0
    """Money; a model without a price is charged with the dearest there is. 0 where there are no prices."""


class RelayCall(Struct, frozen=True, kw_only=True):
    """One request that came to a relay, and what became of it: one line of relay.jsonl. No bodies, no keys."""

    at: str
    """When it came, UTC."""
    method: str
    """GET, POST, ..."""
    path: str
    """What was asked for, without the query, cut to a readable length."""
    status: int | None
    """The status the harness was given; None where it got none."""
    model: str | None = None
    """The model that answered, as the server tells it."""
    input_tokens: int | None = None
    """Fresh input."""
    output_tokens: int | None = None
    """What the model wrote."""
    cache_read_tokens: int | None = None
    """Input read from the provider's cache."""
    cache_write_tokens: int | None = None
    """Input written to the provider's cache."""
    cost_usd: float | None = None
    """Money; None where the model has no price, or tokens are not known."""
    charged_tokens: int = 0
    """What counts against the allowance: the sum of the told tokens, or an estimate."""
    charged_usd: float = 0.0
    """As above, in money."""
    estimated: bool = False
    """The server did not tell all tokens: the stream was cut, or it never tells them."""
    first_ms: float | None = None
    """From the whole head of the request to the head of the answer."""
    ms: float
    """From the whole head of the request to the end."""
    fault: str | None = None
    """What went wrong, in one sentence; None where nothing did."""
