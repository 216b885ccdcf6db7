"""Metering: the tokens of an answer are read from its bytes, however they are cut and whatever they are."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keisei.records.relay import Allowance, Charge, Price, Tokens
from keisei.rules import metering_body
from keisei.rules.metering import Meter
from keisei.rules.metering_charge import charged, cost, filled, price_of, spent
from keisei.testing import wire

JSON, SSE, NDJSON = "application/json", "text/event-stream; charset=utf-8", "application/x-ndjson"

MESSAGES = (
    b'event: message_start\ndata: {"type":"message_start","message":{"id":"m","model":"claude-opus-4-1-20250805",'
    b'"usage":{"input_tokens":25,"cache_creation_input_tokens":7,"cache_read_input_tokens":11,"output_tokens":1}}}\n\n'
    b'event: ping\ndata: {"type":"ping"}\n\n'
    b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,'
    b'"delta":{"type":"text_delta","text":"Hello there."}}\n\n'
    b'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},'
    b'"usage":{"output_tokens":15}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n'
)
RESPONSES = (
    b'event: response.created\ndata: {"type":"response.created","response":{"model":"gpt-5","usage":null}}\n\n'
    b'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"Hello there."}\n\n'
    b'event: response.completed\ndata: {"type":"response.completed","response":{"model":"gpt-5","usage":{'
    b'"input_tokens":36,"input_tokens_details":{"cached_tokens":11},"output_tokens":15,'
    b'"output_tokens_details":{"reasoning_tokens":9},"total_tokens":51}}}\n\n'
)
CHAT = (
    b'data: {"model":"gpt-5","choices":[{"delta":{"role":"assistant","content":"Hello there."}}],"usage":null}\n\n'
    b'data: {"model":"gpt-5","choices":[],"usage":{"prompt_tokens":36,"completion_tokens":15,'
    b'"prompt_tokens_details":{"cached_tokens":11}}}\n\ndata: [DONE]\n\n'
)
OLLAMA = (
    b'{"model":"llama3","response":"Hello ","done":false}\n{"model":"llama3","response":"there.","done":false}\n'
    b'{"model":"llama3","response":"","done":true,"prompt_eval_count":25,"eval_count":15}\n'
)
GOLDEN = [
    pytest.param("messages", SSE, MESSAGES, (25, 15, 11, 7), "claude-opus-4-1-20250805", id="Messages"),
    pytest.param("responses", SSE, RESPONSES, (25, 15, 11, None), "gpt-5", id="Responses"),
    pytest.param("chat", SSE, CHAT, (25, 15, 11, None), "gpt-5", id="Chat"),
    pytest.param("ollama", NDJSON, OLLAMA, (25, 15, None, None), "llama3", id="Ollama"),
    pytest.param(
        "messages", SSE, MESSAGES.replace(b"\n", b"\r\n"), (25, 15, 11, 7), "claude-opus-4-1-20250805", id="CRLF"
    ),
    pytest.param("messages", SSE, MESSAGES.replace(b"\n", b"\r"), (25, 15, 11, 7), "claude-opus-4-1-20250805", id="CR"),
    pytest.param("chat", SSE, b"\xef\xbb\xbf" + CHAT, (25, 15, 11, None), "gpt-5", id="byte order mark"),
    pytest.param(
        "chat", SSE, CHAT.replace(b'"choices":[],', b'\ndata: "choices":[],'), (25, 15, 11, None), "gpt-5", id="rows"
    ),
    pytest.param("chat", SSE, CHAT.rpartition(b"\n\ndata: [")[0], (25, 15, 11, None), "gpt-5", id="no last line end"),
]


def fed(form, kind, data: bytes, cuts=()) -> Meter:
    meter = Meter(form, kind)
    places = sorted({0, *(cut % (len(data) + 1) for cut in cuts), len(data)})
    for begin, end in pairwise(places):
        meter.feed(data[begin:end])
    meter.end()
    return meter


def counts(told: Tokens) -> tuple[int | None, ...]:
    return told.input, told.output, told.cache_read, told.cache_write


@pytest.mark.parametrize(("form", "kind", "data", "expected", "model"), GOLDEN)
def test_a_stream_tells_its_tokens(form, kind, data, expected, model):
    meter = fed(form, kind, data)

    assert (counts(meter.told), meter.model, meter.final, meter.said) == (expected, model, True, 12)


@pytest.mark.parametrize(("form", "kind", "data", "expected", "model"), GOLDEN)
@given(cuts=st.lists(st.integers(0, 2000), max_size=40))
def test_a_stream_tells_the_same_however_it_is_cut(form, kind, data, expected, model, cuts):  # noqa: PLR0917 - a row
    meter = fed(form, kind, data, cuts)

    assert (counts(meter.told), meter.model, meter.said) == (expected, model, 12)


@pytest.mark.parametrize(
    ("form", "value", "expected"),
    [
        ("messages", {"model": "m", "usage": {"input_tokens": 3, "output_tokens": 4}}, (3, 4, None, None)),
        ("messages", {"usage": {"cache_read_input_tokens": 3}}, (None, None, 3, None)),
        (
            "responses",
            {"usage": {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 10}}},
            (0, None, 10, None),
        ),
        (
            "responses",
            {"usage": {"input_tokens": 9, "input_tokens_details": {"cache_write_tokens": 2}}},
            (7, None, None, 2),
        ),
        ("chat", {"usage": {"prompt_tokens": 3, "completion_tokens": 4}}, (3, 4, None, None)),
        ("ollama", {"prompt_eval_count": 3, "eval_count": 4}, (3, 4, None, None)),
        ("messages", {"usage": {"input_tokens": True, "output_tokens": "4"}}, (None, None, None, None)),
        ("messages", {"usage": {"input_tokens": -1, "output_tokens": 2**60}}, (None, None, None, None)),
        ("messages", {"usage": {"input_tokens": 1.5, "output_tokens": None}}, (None, None, None, None)),
        ("messages", {"usage": [1], "message": 7, "delta": "x"}, (None, None, None, None)),
        ("chat", {"usage": 7, "choices": [None, {"delta": {"tool_calls": [3]}}]}, (None, None, None, None)),
    ],
)
def test_one_object_tells_its_tokens_where_they_are_numbers(form, value, expected):
    assert counts(fed(form, JSON, json.dumps(value).encode()).told) == expected


@pytest.mark.parametrize("path", wire.WRITE)
@pytest.mark.parametrize("stream", [False, True])
def test_every_answer_of_the_scripted_model_is_read(path, stream):
    forms = {"/v1/messages": "messages", "/v1/responses": "responses", "/v1/chat/completions": "chat"}
    reply = wire.Reply("id", "Hello", (wire.Call("c", "Bash", {"command": "true"}),))
    answer = wire.WRITE[path](reply, {"model": "m", "stream": stream})

    meter = fed(forms.get(path, "ollama"), answer.content_type, answer.body)

    assert counts(meter.told)[:2] == (10, 5)
    assert (meter.model, meter.final) == ("m", True)


@given(
    st.sampled_from(["messages", "responses", "chat", "ollama"]),
    st.sampled_from([JSON, SSE, NDJSON, "", "text/event-stream;;;"]),
    st.lists(st.binary(max_size=60) | st.sampled_from([b"data: ", b"\n\n", b"\r", b"[" * 3000, b"{", b'"', b"1e999"])),
)
def test_whatever_the_bytes_are_nothing_is_raised(form, kind, pieces):
    meter = Meter(form, kind)
    for piece in pieces:
        meter.feed(piece)
    meter.end()

    assert meter.said >= 0


@given(
    st.sampled_from(["messages", "responses", "chat", "ollama"]),
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["usage", "message", "response", "choices", "delta", "model", "input_tokens", "tool_calls"]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    ),
)
def test_whatever_the_json_is_nothing_is_raised(form, value):
    fed(form, JSON, json.dumps(value).encode())


@pytest.mark.parametrize("kind", [JSON, SSE, NDJSON])
def test_no_more_than_a_bound_is_held_and_what_is_passed_over_is_counted(monkeypatch, kind):
    monkeypatch.setattr(metering_body, "LONGEST", 1000)
    meter = Meter("chat", kind)
    for _ in range(500):
        meter.feed(b"data: " + b"x" * 94)
    held = meter._body
    assert all(len(each) <= 1000 for each in vars(held).values() if isinstance(each, bytearray))
    meter.feed(b"\n\n" + (CHAT if kind == SSE else b""))
    meter.end()

    assert meter.said >= 50_000
    assert (meter.told.output == 15) == (kind == SSE)


def test_data_on_many_rows_is_bounded_too(monkeypatch):
    monkeypatch.setattr(metering_body, "LONGEST", 1000)
    meter = Meter("chat", SSE)
    for _ in range(500):
        meter.feed(b"data: xxxxxxxxx\n")
    assert len(meter._body._data) <= 1000
    meter.feed(b"\n" + CHAT)

    assert meter.told.output == 15
    assert meter.said >= 3000


def test_before_its_end_a_stream_is_estimated_from_what_was_said():
    meter = Meter("messages", SSE)
    meter.feed(MESSAGES.partition(b"event: message_delta")[0])

    assert (meter.told.output, meter.final, meter.said) == (1, False, 12)
    assert filled(meter.told, asked=0, said=400, final=meter.final).output == 100
    assert filled(meter.told, asked=0, said=0, final=meter.final).output == 1
    assert filled(Tokens(input=5, output=7), asked=99, said=400, final=True) == Tokens(input=5, output=7)
    assert filled(Tokens(), asked=9, said=9, final=False) == Tokens(input=3, output=3)


# Charges


PRICES = {"m": Price(input=1.0, output=2.0), "n": Price(input=0.5, output=4.0, cache_read=0.1, cache_write=3.0)}
MILLION = Tokens(input=10**6, output=10**6, cache_read=10**6, cache_write=10**6)


def test_money_goes_by_kind_and_what_has_no_price_of_its_own_by_the_input():
    assert cost(MILLION, "m", PRICES) == pytest.approx(1 + 2 + 1 + 1)
    assert cost(MILLION, "n", PRICES) == pytest.approx(0.5 + 4 + 0.1 + 3)
    assert cost(MILLION, "x", PRICES) is None
    assert cost(Tokens(input=1), "m", PRICES) is None
    assert cost(MILLION, None, PRICES) is None


def test_what_has_no_price_is_charged_with_the_dearest():
    assert charged(MILLION, "x", Allowance(prices=PRICES)) == Charge(tokens=4 * 10**6, cost_usd=1 + 4 + 1 + 3)
    assert charged(MILLION, "x", Allowance()) == Charge(tokens=4 * 10**6, cost_usd=0.0)
    assert charged(Tokens(), None, Allowance(prices=PRICES)) == Charge()


@pytest.mark.parametrize("name", ["m", "m-20250929", "m-2025-09-29", "m-latest", "m:free", "m@2025"])
def test_a_model_is_known_by_its_name_and_with_a_date_behind_it(name):
    assert price_of(name, PRICES) is PRICES["m"]


@pytest.mark.parametrize("name", ["", "mm", "m-mini", "m-2", "x-m", None])
def test_another_model_is_another_model(name):
    assert price_of(name, PRICES) is None


@pytest.mark.parametrize(
    ("allowance", "expected"),
    [
        (Allowance(), None),
        (Allowance(max_tokens=101), None),
        (Allowance(max_tokens=100), "the budget of 100 tokens is used up"),
        (Allowance(max_cost_usd=0.5), None),
        (Allowance(max_cost_usd=0.5, prices=PRICES), "the budget of 0.5 USD is used up"),
        (Allowance(max_cost_usd=0.51, prices=PRICES), None),
    ],
)
def test_an_allowance_is_used_up_when_it_is_reached(allowance, expected):
    assert spent(Charge(tokens=100, cost_usd=0.5), allowance) == expected
