"""What an agent without network may ask of its model's server: an answer, and nothing that happens elsewhere."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keisei.rules.hosted import hosted

FUNCTION = {"type": "function", "name": "exec", "parameters": {"type": "object", "properties": {"image_url": {}}}}
SAID = [{"role": "user", "content": [{"type": "text", "text": "see https://example.org"}]}]
PLAIN = {
    "anthropic": [
        {"model": "m", "messages": SAID},
        {"messages": SAID, "tools": [{"name": "Bash", "input_schema": {"type": "object"}}]},
        {"messages": SAID, "tools": [{"type": "custom", "name": "x"}, {"type": "bash_20250124", "name": "bash"}]},
        {
            "messages": [
                {
                    "role": "assistant",
                    "content": [{"type": "tool_use", "id": "1", "name": "x", "input": {"image_url": "http://a"}}],
                },
                {"role": "user", "content": [{"type": "image", "source": {"type": "base64", "data": "aGk="}}]},
            ]
        },
    ],
    "openai": [
        {"input": "hello"},
        {"input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "x"}]}]},
        {"input": [], "tools": [FUNCTION, {"type": "namespace", "name": "mcp", "tools": [FUNCTION]}]},
        {"messages": SAID, "tools": [{"type": "function", "function": {"name": "x", "parameters": {}}}]},
        {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64,aGk="}]}]},
        {"input": [], "background": False, "tools": [{"type": "local_shell"}]},
    ],
    "ollama": [{"model": "m", "prompt": "hello", "stream": True}, {"messages": SAID, "tools": [FUNCTION]}],
}
ELSEWHERE = {
    "anthropic": [
        {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
        {"tools": [{"type": "web_fetch_20250910", "name": "web_fetch"}]},
        {"tools": [{"type": "code_execution_20250825", "name": "code"}]},
        {"tools": [{"type": "bash_anywhere", "name": "bash"}]},
        {"mcp_servers": [{"url": "https://example.org"}]},
        {"container": {"skills": []}, "tools": [], "messages": []} | {"container": {"id": "x"}},
        {"messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "http://a"}}]}]},
        {
            "messages": [
                {"role": "user", "content": [{"type": "tool_result", "content": [{"type": "url", "url": "x"}]}]}
            ]
        },
    ],
    "openai": [
        {"tools": [{"type": "web_search"}]},
        {"tools": [{"type": "web_search_preview"}]},
        {"tools": [{"type": "mcp", "server_url": "https://example.org"}]},
        {"tools": [{"type": "code_interpreter"}]},
        {"tools": [{"type": "namespace", "tools": [{"type": "image_generation"}]}]},
        {"input": [{"type": "additional", "content": []}], "additional_tools": [{"type": "file_search"}]},
        {"tools": [{"type": ["function"]}]},
        {"tools": ["web_search"]},
        {"input": [{"type": "additional_tools", "tools": [{"type": "web_search"}]}]},
        {"background": True},
        {"model": "vendor/model:online"},
        {"models": ["a", "b:online"]},
        {"plugins": [{"id": "web"}]},
        {"prompt": {"id": "pmpt_1"}},
        {"web_search_options": {"search_context_size": "low"}},
        {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "https://example.org/?q=1"}]}]},
        {"input": [{"role": "user", "content": [{"type": "input_file", "file_url": "https://example.org/?q=1"}]}]},
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://a.example"}}]}]},
    ],
}


@pytest.mark.parametrize(("protocol", "body"), [(name, each) for name, bodies in PLAIN.items() for each in bodies])
def test_an_answer_of_the_model_is_asked_for(protocol, body):
    assert hosted(json.dumps(body).encode(), protocol, closed=True) is None


@pytest.mark.parametrize(("protocol", "body"), [(name, each) for name, bodies in ELSEWHERE.items() for each in bodies])
def test_what_happens_elsewhere_is_told(protocol, body):
    data = json.dumps(body).encode()

    assert hosted(data, protocol, closed=True)
    assert (hosted(data, protocol, closed=False) is None) == ("background" not in body)


def test_a_key_that_is_spelt_in_numbers_is_read_all_the_same():
    data = b'{"input": [{"role": "user", "content": [{"\\u0069mage_\\u0075rl": "https://example.org"}]}]}'

    assert hosted(data, "openai", closed=True)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{",
        b"\xff",
        b'{"tools": [{"type": "function", "type": "mcp"}]}',
        b'{"tools": [], "tools": [{"type": "mcp"}]}',
        b'{"tools": {"type": "mcp"}}',
        b'{"a":' * 5000,
        b"[" * 100_000,
    ],
)
def test_a_body_that_two_readers_could_read_in_two_ways_is_told(data):
    assert hosted(data, "openai", closed=True)


@given(
    st.recursive(
        st.none() | st.booleans() | st.text() | st.integers(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_body_gets_an_answer(value):
    assert isinstance(hosted(json.dumps({"tools": value, "input": value}).encode(), "openai", closed=True), str | None)
