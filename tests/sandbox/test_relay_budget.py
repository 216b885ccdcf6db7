"""What a relay counts, and what happens when the allowance is used up."""

import json
import threading

import pytest

from keisei.records.budget import Amount
from keisei.records.relay import Allowance, Charge, Price
from keisei.sandbox import relay_tally, relay_till
from keisei.sandbox.relay_request import SPENT
from keisei.sandbox.relay_till import TILL, Till, read_till
from tests.sandbox import relaying
from tests.sandbox.relaying import (
    asked,
    chunked,
    dialled,
    message,
    plain,
    received,
    relayed,
    request,
    rest,
    saying,
    told,
)

PRICES = {"big": Price(input=1.0, output=10.0), "small": Price(input=0.1, output=1.0, cache_read=0.01)}


def whole(model: str = "big", **usage: int) -> bytes:
    return plain(json.dumps({"model": model, "usage": usage}).encode())


def event(kind: str, **more) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode()


START = event("message_start", message={"model": "big", "usage": {"input_tokens": 100, "output_tokens": 1}})
DELTA = event("content_block_delta", delta={"type": "text_delta", "text": "x" * 400})
END = event("message_delta", usage={"output_tokens": 40})


def test_tokens_of_all_kinds_count_and_the_next_request_is_refused_for_good():
    reasons = []
    said = whole(input_tokens=30, output_tokens=20, cache_read_input_tokens=40, cache_creation_input_tokens=10)
    with relayed(saying(said), allowance=Allowance(max_tokens=200), on_spent=reasons.append) as (relay, server):
        assert asked(relay, request())[0] == 200
        assert (relay.charged().tokens, relay.spent_out) == (100, None)
        assert asked(relay, request())[0] == 200
        assert relay.spent_out == "the budget of 200 tokens is used up"
        for _ in range(3):
            status, _, body = asked(relay, request())
            assert (status, message(body)) == (400, SPENT)
        assert len(server.heads) == 2
        assert relay.calls[-1].fault == SPENT.removeprefix("keisei: ")
    assert reasons == ["the budget of 200 tokens is used up"]


def test_an_allowance_of_nothing_lets_nothing_through():
    reasons = []
    with relayed(saying(whole()), allowance=Allowance(max_tokens=0), on_spent=reasons.append) as (relay, server):
        assert asked(relay, request())[0] == 400
        assert server.heads == []
    assert len(reasons) == 1


@pytest.mark.parametrize(
    ("model", "usd", "known"),
    [
        pytest.param("big", 0.0012, 0.0012, id="priced"),
        pytest.param("big-20250929", 0.0012, 0.0012, id="priced, with its date"),
        pytest.param("small", 0.00012, 0.00012, id="another"),
        pytest.param("unheard-of", 0.0012, None, id="the dearest where there is no price"),
    ],
)
def test_money_is_counted_by_the_model_that_answered(model, usd, known):
    said = whole(model, input_tokens=200, output_tokens=100)
    allowance = Allowance(max_cost_usd=usd, prices=PRICES)
    with relayed(saying(said), allowance=allowance) as (relay, _):
        asked(relay, request())
        assert relay.charged().cost_usd == pytest.approx(usd)
        assert relay.usage().cost_usd == (None if known is None else pytest.approx(known))
        assert relay.spent_out == f"the budget of {usd:.10g} USD is used up"


def test_without_prices_money_is_unknown_and_limits_nothing():
    said = whole(input_tokens=200, output_tokens=100)
    with relayed(saying(said), allowance=Allowance(max_cost_usd=0.000001)) as (relay, _):
        assert [asked(relay, request())[0] for _ in range(2)] == [200, 200]
        assert relay.usage().cost_usd is None
        assert relay.spent_out is None


def test_a_stream_is_cut_after_the_piece_that_used_the_allowance_up():
    heard = threading.Event()

    def answer(line, head):
        relaying.exactly(line, relaying.length(head))
        first, *more = chunked(START, DELTA, DELTA, DELTA)
        line.sendall(first + more[0] + more[1])
        heard.wait(relaying.NEVER_S)
        line.sendall(more[2])
        assert line.recv(1) == b""

    with relayed(answer, allowance=Allowance(max_tokens=250)) as (relay, _), dialled(relay) as line:
        line.sendall(request())
        received(line)
        data = b""
        while DELTA not in data:
            data += line.recv(65_536)
        assert relay.spent_out is None
        heard.set()
        data += rest(line)
        assert data.count(DELTA) == 2
        assert not data.endswith(b"0\r\n\r\n")
        assert relay.spent_out
        assert asked(relay, request())[0] == 400
        assert relay.calls[0].estimated
        assert relay.calls[0].charged_tokens == 300
        assert relay.usage().input_tokens == 100


def test_a_stream_that_tells_its_end_counts_what_it_tells():
    with relayed(saying(*chunked(START, DELTA, END))) as (relay, _):
        asked(relay, request())
        assert relay.charged().tokens == 140
        assert not relay.calls[0].estimated


def test_a_stream_that_never_tells_is_estimated_and_its_usage_stays_unknown():
    chunk = b'data: {"model":"m","choices":[{"delta":{"content":"%s"}}]}\n\n' % (b"x" * 40)
    said = chunked(chunk, b"data: [DONE]\n\n")
    with relayed(saying(*said), given={"protocol": "openai"}) as (relay, _):
        asked(relay, request(b"y" * 80, path="/v1/chat/completions"))
        assert relay.usage() is None
        assert relay.charged().tokens == 20 + 10
        assert relay.calls[0].estimated


def test_an_answer_that_cannot_be_read_is_estimated_from_its_size():
    said = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 40\r\n\r\n" + b"\x1f" * 40
    with relayed(saying(said)) as (relay, _):
        asked(relay, request(b"y" * 80))
        assert (relay.usage(), relay.charged().tokens) == (None, 30)


@pytest.mark.parametrize("status", [400, 429, 500, 529])
def test_what_the_server_refuses_costs_nothing(status):
    said = plain(b'{"usage":{"input_tokens":5,"output_tokens":5}}').replace(b"200 OK", b"%d No" % status)
    with relayed(saying(said)) as (relay, _):
        assert asked(relay, request())[0] == status
        assert (relay.usage(), relay.charged().tokens) == (None, 0)


def test_counting_tokens_costs_nothing():
    with relayed(saying(plain(b'{"input_tokens":5}'))) as (relay, _):
        asked(relay, request(path="/v1/messages/count_tokens"))
        assert relay.charged().tokens == 0


def test_streams_side_by_side_share_one_allowance():
    """Neither of them alone would use it up; each is cut with the piece that comes after."""
    go = threading.Barrier(3, timeout=relaying.NEVER_S)

    def answer(line, head):
        relaying.exactly(line, relaying.length(head))
        first, start, ping, _ = chunked(START, b": ping\n\n")
        line.sendall(first + start)
        go.wait()
        while True:
            line.sendall(ping)

    with relayed(answer, allowance=Allowance(max_tokens=202)) as (relay, _):
        lines = [dialled(relay) for _ in range(2)]
        for line in lines:
            line.sendall(request())
            assert b"200" in received(line)
        go.wait()
        ends = [rest(line) for line in lines]
        assert relay.spent_out
        assert not any(each.endswith(b"0\r\n\r\n") for each in ends)
        for line in lines:
            line.close()


def test_who_hears_that_it_is_spent_may_close_the_relay():
    done = threading.Event()
    box: list = []

    def close(_reason: str) -> None:
        box[0].close()
        done.set()

    with relayed(saying(whole(input_tokens=9, output_tokens=9)), allowance=Allowance(max_tokens=1), on_spent=close) as (
        relay,
        _,
    ):
        box.append(relay)
        with dialled(relay) as line:
            line.sendall(request())
            rest(line)
        assert done.wait(relaying.NEVER_S)
        assert relay.spent_out


def test_a_refusal_before_the_server_is_asked_costs_nothing():
    with relayed(saying(whole(input_tokens=9, output_tokens=9)), allowance=Allowance(max_tokens=10)) as (relay, _):
        with dialled(relay) as line:
            line.sendall(request(path="/v1/files"))
            assert told(line)[0] == 403
        assert relay.charged().tokens == 0


def test_what_was_handed_on_meanwhile_is_not_spent_again(tmp_path):
    left, reasons = [None], []
    said = whole(input_tokens=60, output_tokens=40)
    settings = {"allowance": Allowance(max_tokens=1000), "on_spent": reasons.append, "log": tmp_path / "relay.jsonl"}
    with relayed(saying(said), **settings) as (relay, server):
        relay.hold_to(lambda: left[0])
        assert read_till(tmp_path / TILL) == Amount(tokens=0)
        for told in (None, Amount(tokens=250), Amount(tokens=10**6, usd=0.0)):  # unknown, handed on, given back
            left[0] = told
            assert asked(relay, request())[0] == 200
        assert read_till(tmp_path / TILL) == Amount(tokens=300)
        left[0] = Amount(tokens=300)
        assert asked(relay, request())[0] == 400
        left[0] = None
        assert asked(relay, request())[0] == 400
        assert len(server.heads) == 3
    assert reasons == ["the budget of 300 tokens is used up: the rest was handed to tasks that it asked for"]


def test_an_answer_is_cut_once_what_is_left_was_handed_on(monkeypatch):
    monkeypatch.setattr(relay_tally, "FRESH_S", 0.0)
    left = [Amount(tokens=1000)]

    def answer(line, _):
        head, start, delta, _ = chunked(START, DELTA)
        line.sendall(head + start)
        left[0] = Amount(tokens=150)
        line.sendall(delta)
        line.recv(1)  # until it is cut

    with relayed(answer, allowance=Allowance(max_tokens=1000)) as (relay, _):
        relay.hold_to(lambda: left[0])
        with dialled(relay) as line:
            line.sendall(request())
            assert DELTA in rest(line)
        assert relay.charged().tokens == 200
        assert "150 tokens" in relay.spent_out


def test_a_till_that_cannot_be_written_says_nothing(tmp_path, monkeypatch):
    till = Till(tmp_path / TILL)
    till.show(Charge(tokens=5, cost_usd=0.25), priced=True)
    assert read_till(tmp_path / TILL) == Amount(tokens=5, usd=0.25)

    monkeypatch.setattr(relay_till.os, "pwrite", lambda *_: 3)
    till.show(Charge(tokens=6, cost_usd=0.5), priced=True)

    assert read_till(tmp_path / TILL) == Amount()
    till.close()
