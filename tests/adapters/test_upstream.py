"""Upstreams: where each harness's model is asked, with which key, and what the harness is told instead."""

import pytest

from keisei.adapters.upstream import PROXIES, inside, upstream_of
from keisei.records.adapter import (
    ClaudeCodeAdapter,
    CodexAdapter,
    HermesAgentAdapter,
    OllamaGenerateAdapter,
    Provider,
    ScriptAdapter,
)
from keisei.records.error import OperatorError

CLAUDE = ClaudeCodeAdapter(adapter_id="a", command="claude", timeout_ms=1000)
CODEX = CodexAdapter(adapter_id="a", command="codex", timeout_ms=1000)
HERMES = HermesAgentAdapter(adapter_id="a", command="hermes", timeout_ms=1000)
SCRIPT = ScriptAdapter(adapter_id="a", command="true", timeout_ms=1000)
OLLAMA = OllamaGenerateAdapter(adapter_id="a", endpoint="http://x", model="m", timeout_ms=1000)


def provided(**provider) -> CodexAdapter:
    return CodexAdapter(adapter_id="a", command="codex", timeout_ms=1000, provider=Provider(**provider))


@pytest.mark.parametrize(
    ("config", "env", "expected"),
    [
        pytest.param(CLAUDE, {"ANTHROPIC_API_KEY": "k"}, ("https://api.anthropic.com", "x-api-key", "k"), id="Claude"),
        pytest.param(
            CLAUDE,
            {"ANTHROPIC_AUTH_TOKEN": "t", "ANTHROPIC_BASE_URL": "https://g/x"},
            ("https://g/x", "bearer", "t"),
            id="a gateway",
        ),
        pytest.param(
            CLAUDE, {"CLAUDE_CODE_OAUTH_TOKEN": "o"}, ("https://api.anthropic.com", "bearer", "o"), id="a subscription"
        ),
        pytest.param(
            CLAUDE,
            {"ANTHROPIC_API_KEY": "k", "CLAUDE_CODE_OAUTH_TOKEN": "o"},
            ("https://api.anthropic.com", "x-api-key", "k"),
            id="a key before a subscription",
        ),
        pytest.param(CLAUDE, {"ANTHROPIC_BASE_URL": "http://l:1"}, ("http://l:1", "none", None), id="no key"),
        pytest.param(CLAUDE, {"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_USE_BEDROCK": "0"}, None, id="nothing for Claude"),
        pytest.param(CODEX, {"OPENAI_API_KEY": "k"}, ("https://api.openai.com/v1", "bearer", "k"), id="Codex"),
        pytest.param(CODEX, {"CODEX_API_KEY": "k"}, ("https://api.openai.com/v1", "bearer", "k"), id="its own name"),
        pytest.param(CODEX, {"OPENAI_BASE_URL": "http://l/v1"}, ("http://l/v1", "none", None), id="a local server"),
        pytest.param(CODEX, {}, None, id="nothing for Codex"),
        pytest.param(
            provided(id="my-own", base_url="https://p/v1"),
            {"MY_OWN_API_KEY": "p", "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://l/v1"},
            ("https://p/v1", "bearer", "p"),
            id="a provider",
        ),
        pytest.param(
            provided(id="openai"), {"OPENAI_API_KEY": "k"}, ("https://api.openai.com/v1", "bearer", "k"), id="OpenAI"
        ),
        pytest.param(
            HERMES,
            {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://l/v1", "OPENROUTER_API_KEY": "r"},
            ("http://l/v1", "bearer", "k"),
            id="Hermes",
        ),
        pytest.param(
            HERMES, {"OPENROUTER_API_KEY": "r"}, ("https://openrouter.ai/api/v1", "bearer", "r"), id="OpenRouter"
        ),
        pytest.param(HERMES, {"ANTHROPIC_API_KEY": "k"}, None, id="nothing for Hermes"),
        pytest.param(SCRIPT, {"OPENAI_API_KEY": "k"}, None, id="a script"),
        pytest.param(OLLAMA, {"OPENAI_API_KEY": "k"}, None, id="Ollama"),
    ],
)
def test_the_server_and_its_key_come_from_the_table_and_the_variables(config, env, expected):
    found = upstream_of(config, env)

    assert (found and (found.url, found.auth, found.key)) == expected
    if found:
        assert set(PROXIES) < set(found.key_names)
        assert {name for name in env if "KEY" in name or "TOKEN" in name or "URL" in name} <= set(found.key_names)
        assert found.protocol == ("anthropic" if config is CLAUDE else "openai")


def test_the_token_of_a_subscription_goes_with_the_header_it_needs():
    assert upstream_of(CLAUDE, {"CLAUDE_CODE_OAUTH_TOKEN": "o"}).adds == {"anthropic-beta": "oauth-2025-04-20"}
    assert upstream_of(CLAUDE, {"ANTHROPIC_API_KEY": "o"}).adds == {}


@pytest.mark.parametrize(
    ("config", "env"),
    [
        pytest.param(CLAUDE, {"CLAUDE_CODE_USE_BEDROCK": "1", "ANTHROPIC_API_KEY": "hush"}, id="another cloud"),
        pytest.param(provided(id="other"), {"OTHER_API_KEY": "hush", "OPENAI_API_KEY": "hush"}, id="no address"),
    ],
)
def test_a_place_that_no_relay_leads_to_is_an_operators_error(config, env):
    with pytest.raises(OperatorError) as raised:
        upstream_of(config, env)
    assert raised.value.hint
    assert "hush" not in str(raised.value)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (CLAUDE, {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9", "ANTHROPIC_API_KEY": "t"}),
        (CODEX, {"KEISEI_MODEL_KEY": "t"}),
        (HERMES, {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_API_KEY": "t"}),
        (SCRIPT, {}),
        (OLLAMA, {}),
    ],
)
def test_a_harness_is_told_the_relay_and_the_token(config, expected):
    assert inside(config, "http://127.0.0.1:9", "t") == expected


def test_no_text_of_an_upstream_holds_its_key_or_address():
    found = upstream_of(CLAUDE, {"ANTHROPIC_API_KEY": "hush", "ANTHROPIC_BASE_URL": "http://hush"})
    assert "hush" not in repr(found) + str(found) + f"{found}"
