"""Upstreams: the server that a harness's model answers from, and what the harness is told in its place. Pure."""

from collections.abc import Mapping
from typing import Literal

from keisei.adapters.port import MODEL_KEY
from keisei.records.adapter import AdapterConfig, ClaudeCodeAdapter, CodexAdapter, HermesAgentAdapter
from keisei.records.error import OperatorError
from keisei.records.relay import Upstream

PROXIES = tuple(
    name for each in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY") for name in (each, each.lower())
)
CLAUDE = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
CLAUDE_ELSEWHERE = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY")
OPENAI = ("OPENAI_API_KEY", "CODEX_API_KEY", "OPENROUTER_API_KEY", MODEL_KEY)
KEYS = (*CLAUDE, *OPENAI, "GEMINI_API_KEY", "GOOGLE_API_KEY", "MISTRAL_API_KEY", "DEEPSEEK_API_KEY", "XAI_API_KEY")
"""Keys of models' servers. One file of variables often serves several adapters; none of its keys goes inside."""
ADDRESSES = ("ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS", "OPENAI_BASE_URL", "OPENAI_API_BASE")
EXPECTED = {"claude-code": "ANTHROPIC_API_KEY", "codex": "OPENAI_API_KEY", "hermes-agent": "OPENROUTER_API_KEY"}
"""The variable that a kind's key is expected in; others are known too."""
OAUTH = {"anthropic-beta": "oauth-2025-04-20"}
"""What Anthropic's server wants beside the token of a subscription; a harness with a plain key does not send it."""


def upstream_of(config: AdapterConfig, env: Mapping[str, str]) -> Upstream | None:
    """The server an adapter's model is asked at, by its table and its variables.

    None where it has no model, or neither a key nor an address of its own is known. Raises OperatorError where the
    variables or the provider send the harness to a place that a relay cannot stand in for.
    """
    if isinstance(config, ClaudeCodeAdapter):
        return _claude(config, env)
    if isinstance(config, CodexAdapter):
        return _codex(config, env)
    if isinstance(config, HermesAgentAdapter):
        return _hermes(env)
    return None


def inside(config: AdapterConfig, address: str, token: str) -> dict[str, str]:
    """The variables a harness gets in place of `Upstream.key_names`: the relay's address, the attempt's token."""
    if isinstance(config, ClaudeCodeAdapter):
        return {"ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": token}
    if isinstance(config, CodexAdapter):
        return {MODEL_KEY: token}
    if isinstance(config, HermesAgentAdapter):
        return {"OPENAI_BASE_URL": f"{address}/v1", "OPENAI_API_KEY": token}
    return {}


def _claude(config: ClaudeCodeAdapter, env: Mapping[str, str]) -> Upstream | None:
    for name in CLAUDE_ELSEWHERE:
        if env.get(name, "") not in {"", "0", "false"}:
            message = (
                f"adapter `{config.adapter_id}`: `{name}` is set, and the model relay speaks to Anthropic's API only"
            )
            raise OperatorError(message, "take it out, and give ANTHROPIC_API_KEY or ANTHROPIC_BASE_URL")
    found = next((name for name in CLAUDE if env.get(name)), None)
    if found is None and not env.get("ANTHROPIC_BASE_URL"):
        return None
    return Upstream(
        url=env.get("ANTHROPIC_BASE_URL") or "https://api.anthropic.com",
        protocol="anthropic",
        auth=_auth(found),
        key=env[found] if found else None,
        key_names=(*KEYS, *CLAUDE_ELSEWHERE, *ADDRESSES, *PROXIES),
        adds=OAUTH if found == "CLAUDE_CODE_OAUTH_TOKEN" else {},
    )


def _auth(found: str | None) -> Literal["x-api-key", "bearer", "none"]:
    if found is None:
        return "none"
    return "x-api-key" if found == "ANTHROPIC_API_KEY" else "bearer"


def _codex(config: CodexAdapter, env: Mapping[str, str]) -> Upstream | None:
    """A provider's own key goes before the one of OpenAI, and never to a place nobody named."""
    provider = config.provider
    own = (f"{provider.id.upper().replace('-', '_')}_API_KEY",) if provider else ()
    url = (provider.base_url if provider else None) or env.get("OPENAI_BASE_URL")
    if provider and url is None and provider.id != "openai":
        message = (
            f"adapter `{config.adapter_id}`: the provider `{provider.id}` has no base_url, so no relay leads to it"
        )
        raise OperatorError(message, "write `base_url` into its provider table")
    key = next((env[name] for name in (*own, "OPENAI_API_KEY", "CODEX_API_KEY") if env.get(name)), None)
    return _openai(url, key, own)


def _hermes(env: Mapping[str, str]) -> Upstream | None:
    if env.get("OPENAI_BASE_URL") or env.get("OPENAI_API_KEY"):
        return _openai(env.get("OPENAI_BASE_URL"), env.get("OPENAI_API_KEY"))
    if env.get("OPENROUTER_API_KEY"):
        return _openai("https://openrouter.ai/api/v1", env["OPENROUTER_API_KEY"])
    return None


def _openai(url: str | None, key: str | None, more: tuple[str, ...] = ()) -> Upstream | None:
    if url is None and key is None:
        return None
    return Upstream(
        url=url or "https://api.openai.com/v1",
        protocol="openai",
        auth="bearer" if key else "none",
        key=key or None,
        key_names=(*KEYS, *more, *ADDRESSES, *PROXIES),
    )
