"""The relay between a harness and a server that mean no good: one clear error, in the protocol's form, and no harm."""

import json
import socket
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keisei.sandbox.relay_cord import Waits
from keisei.sandbox.relay_request import LARGEST, failure
from tests.sandbox import relaying
from tests.sandbox.relaying import (
    JSON,
    KEY,
    OK,
    TOKEN,
    asked,
    chunked,
    dialled,
    message,
    plain,
    relayed,
    request,
    rest,
    saying,
    told,
)

SHORT = Waits(idle=0.2, head=0.2, body=0.2, connect=0.2, answer=0.2, linger=0.05)


# Harnesses


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        pytest.param(request(token=""), 401, id="no token"),
        pytest.param(request(token="x" + TOKEN), 401, id="another token"),
        pytest.param(request(token=TOKEN[:-1]), 401, id="a part of the token"),
        pytest.param(
            request(token="", headers=b"Authorization: Basic %s\r\n" % TOKEN.encode()), 401, id="not a bearer"
        ),
        pytest.param(request(token="", headers=b"X-Api-Key: \xff\xfe\r\n"), 401, id="a token of odd bytes"),
        pytest.param(request(path="/v1/files"), 403, id="another path"),
        pytest.param(request(path="/"), 403, id="the root"),
        pytest.param(request(path="/v1/messages/../files"), 403, id="up"),
        pytest.param(request(path="/v1/messages/%2e%2e/files"), 403, id="up, encoded"),
        pytest.param(request(path="//v1/messages"), 403, id="two slashes"),
        pytest.param(request(path="/v1/messages/"), 403, id="a slash more"),
        pytest.param(request(path="/V1/messages"), 403, id="another case"),
        pytest.param(request(path="/v1/messages;x"), 403, id="parameters"),
        pytest.param(request(b"", path="/v1/messages", method="GET"), 403, id="another method"),
        pytest.param(request(b"", path="/v1/models/..", method="GET"), 403, id="up from a model"),
        pytest.param(request(b"", path="/v1/models/a/../../files", method="GET"), 403, id="further up"),
        pytest.param(request(b"", path="/v1/models/%2e%2e", method="GET"), 403, id="an encoded model"),
        pytest.param(request(b"", method="DELETE", path="/v1/models/x"), 403, id="delete"),
        pytest.param(request(path="http://evil.example/v1/messages"), 400, id="another host"),
        pytest.param(request(path="/v1/messages#x"), 400, id="a fragment"),
        pytest.param(request(path="*", method="OPTIONS"), 400, id="star"),
        pytest.param(request(b"", method="CONNECT", path="evil.example:443"), 400, id="connect"),
        pytest.param(request(headers=b"Connection: upgrade\r\nUpgrade: websocket\r\n"), 400, id="upgrade"),
        pytest.param(request(headers=b"Transfer-Encoding: chunked\r\n"), 400, id="two lengths"),
        pytest.param(request(headers=b"Content-Length: 99\r\n"), 400, id="lengths that differ"),
        pytest.param(request(b"", headers=b"Content-Length: -1\r\n"), 400, id="less than nothing"),
        pytest.param(request(b"", headers=b"Content-Length: 1_0\r\n"), 400, id="a length for Python"),
        pytest.param(request(b"", headers=b"Transfer-Encoding: gzip\r\n"), 501, id="another encoding"),
        pytest.param(request(headers=b"Host: second\r\n"), 400, id="two hosts"),
        pytest.param(request().replace(b"Host: relay\r\n", b""), 400, id="no host"),
        pytest.param(request(headers=b"Bad Name: x\r\n"), 400, id="a blank in a name"),
        pytest.param(request(headers=b"X: a\x00b\r\n"), 400, id="a zero"),
        pytest.param(
            request(b"", headers=b"Content-Length: %d\r\n" % (LARGEST + 1)), 413, id="a body that is too long"
        ),
        pytest.param(request(b"", headers=b"Content-Length: " + b"9" * 19 + b"\r\n"), 413, id="a length beyond all"),
        pytest.param(request(headers=b"X: %s\r\n" % (b"x" * 70_000)), 431, id="a head that is too long"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\n" * 9, 400, id="TLS"),
        pytest.param(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, id="HTTP/2"),
        pytest.param(b"\x00\r\n\r\n", 400, id="bytes"),
    ],
)
@pytest.mark.parametrize("protocol", ["anthropic"])
def test_what_may_not_pass_is_told_why_and_the_server_hears_nothing(sent, status, protocol):
    with relayed(saying(plain(b"{}")), given={"protocol": protocol}) as (relay, server):
        found, head, body = asked(relay, sent)
        assert (found, server.connections) == (status, 0)
        assert relay.calls[0].status == status
        assert relay.calls[0].fault
        assert relay.charged().tokens == 0
    assert b"connection: close" in head.lower()
    assert json.loads(body)["type"] == "error"
    assert message(body).startswith("keisei: ")
    assert KEY.encode() not in head + body


@pytest.mark.parametrize(
    ("protocol", "method", "path"),
    [
        ("anthropic", "POST", "/v1/messages"),
        ("anthropic", "POST", "/v1/messages/count_tokens"),
        ("anthropic", "GET", "/v1/models"),
        ("anthropic", "GET", "/v1/models/claude-opus-4.1"),
        ("openai", "POST", "/v1/responses"),
        ("openai", "POST", "/v1/responses/compact"),
        ("openai", "POST", "/v1/chat/completions"),
        ("openai", "POST", "/v1/completions"),
        ("openai", "GET", "/v1/models/vendor/model:free"),
        ("ollama", "POST", "/api/generate"),
        ("ollama", "POST", "/api/chat"),
        ("ollama", "GET", "/api/tags"),
        ("ollama", "POST", "/api/show"),
        ("ollama", "GET", "/api/version"),
    ],
)
def test_every_open_path_leads_on(protocol, method, path):
    with relayed(saying(plain(b"{}")), given={"protocol": protocol}) as (relay, server):
        assert asked(relay, request(b"" if method == "GET" else b"{}", method=method, path=path))[0] == 200
    onward = path.removeprefix("/v1") if protocol == "openai" else path
    assert server.heads[0].startswith(f"{method} {onward} HTTP/1.1\r\n".encode())


def test_without_a_network_the_server_is_asked_for_an_answer_and_nothing_else():
    search = json.dumps({"model": "m", "tools": [{"type": "web_search_20250305", "name": "web_search"}]}).encode()
    with relayed(saying(plain(b"{}")), given={"protocol": "anthropic"}, closed=True) as (relay, server):
        status, _, body = asked(relay, request(search))
        assert (status, server.connections) == (400, 0)
    assert "may not ask for the tool" in message(body)
    with relayed(saying(plain(b"{}")), given={"protocol": "anthropic"}) as (relay, _):
        assert asked(relay, request(search))[0] == 200


def test_a_plain_request_passes_unchanged_where_it_is_looked_at():
    odd = b'{ "model":"m",\n "messages" : [ ] }  '
    seen = []

    def answer(line, head):
        seen.append(relaying.exactly(line, relaying.length(head)))
        line.sendall(plain(b"{}"))

    with relayed(answer, given={"protocol": "anthropic"}, closed=True) as (relay, _):
        assert asked(relay, request(odd))[0] == 200
    assert seen == [odd]


def test_on_whose_account_it_goes_is_not_the_agents_choice():
    data = request(b"{}").replace(b"\r\n", b"\r\nOpenAI-Organization: other\r\nopenai-project: other\r\n", 1)
    with relayed(saying(plain(b"{}"))) as (relay, server):
        assert asked(relay, data)[0] == 200
    assert b"other" not in server.heads[0]


def test_a_body_that_is_compressed_is_refused():
    data = request(b"{}").replace(b"\r\n", b"\r\nContent-Encoding: gzip\r\n", 1)
    with relayed(saying(plain(b"{}"))) as (relay, server):
        assert (asked(relay, data)[0], server.connections) == (400, 0)


def test_an_error_has_the_form_of_its_protocol():
    assert json.loads(failure("anthropic", 403, "m")) == {
        "type": "error",
        "error": {"type": "permission_error", "message": "m"},
    }
    openai = {"message": "m", "type": "api_error", "param": None, "code": None}
    assert json.loads(failure("openai", 502, "m")) == {"error": openai}
    assert json.loads(failure("ollama", 400, "m")) == {"error": "m"}


def test_a_body_in_chunks_that_never_ends_is_cut_off():
    piece = b"10000\r\n" + b"x" * 65_536 + b"\r\n"

    def answer(line, _):
        while line.recv(1 << 20):
            continue

    with relayed(answer) as (relay, _), dialled(relay) as line:
        line.sendall(request(b"", headers=b"Transfer-Encoding: chunked\r\n"))

        def send():
            try:
                for _ in range(LARGEST // 65_536 + 2):
                    line.sendall(piece)
            except OSError:
                return

        sender = threading.Thread(target=send)
        sender.start()
        assert told(line)[0] == 413
        sender.join()


@pytest.mark.parametrize("bad", [b"zz\r\n", b"-1\r\n", b"5\r\nab", b"ffffffffffffffffffffff\r\n"])
def test_a_body_that_is_none_is_refused_and_never_completed_for_the_server(bad):
    whole = []

    def answer(line, _):
        while data := line.recv(65_536):
            whole.append(data)

    with relayed(answer) as (relay, _), dialled(relay) as line:
        line.sendall(request(b"", headers=b"Transfer-Encoding: chunked\r\n") + b"2\r\nhi\r\n" + bad)
        line.shutdown(socket.SHUT_WR)
        assert told(line)[0] == 400
        rest(line)
    assert not b"".join(whole).endswith(b"0\r\n\r\n")


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        pytest.param(b"P", 408, id="head"),
        pytest.param(request(b"xx")[:-1], 408, id="body"),
        pytest.param(b"", None, id="nothing at all"),
    ],
)
def test_a_harness_that_never_goes_on_is_not_waited_for(sent, status):
    with relayed(lambda line, _: line.recv(1), waits=SHORT) as (relay, _), dialled(relay) as line:
        line.sendall(sent)
        if status:
            assert told(line)[0] == status
        assert rest(line) == b""


def test_a_drop_at_a_time_does_not_hold_a_head_open():
    over = threading.Event()
    with relayed(saying(plain(b"{}")), waits=SHORT) as (relay, _), dialled(relay) as line:

        def drip():
            while not over.wait(0.02):
                try:
                    line.sendall(b"x")
                except OSError:
                    return

        line.sendall(b"POST /v1/messages HTTP/1.1\r\nX: ")
        dripper = threading.Thread(target=drip)
        dripper.start()
        try:
            assert told(line)[0] == 408
        finally:
            over.set()
            dripper.join()


def test_a_refusal_is_read_although_the_body_is_still_coming():
    with relayed(saying(plain(b"{}"))) as (relay, _), dialled(relay) as line:
        sender = threading.Thread(target=lambda: line.sendall(request(b"x" * 8_000_000, path="/v1/files")))
        sender.start()
        status, _, body = told(line)
        sender.join()
    assert (status, "not open" in message(body)) == (403, True)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200), st.integers(0, 120))
def test_whatever_is_sent_the_relay_lives_on(lasting, junk, at):
    relay, _ = lasting
    sent = request()
    with dialled(relay) as line:
        line.sendall(sent[:at] + junk + sent[at:])
        line.shutdown(socket.SHUT_WR)
        rest(line)
    assert asked(relay, request())[0] == 200


@pytest.fixture(scope="module")
def lasting():
    with relayed(saying(plain(b"{}"))) as pair:
        yield pair


# Servers


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\x00\xff\r\n\r\n", id="bytes"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Le", id="half a head"),
        pytest.param(b"HTTP/2 200\r\n\r\n", id="HTTP/2"),
        pytest.param(OK + b"Content-Length: x\r\n\r\n", id="no length"),
        pytest.param(OK + b"X: " + b"x" * 100_000 + b"\r\n\r\n", id="a head that is too long"),
        pytest.param(b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", id="another protocol"),
    ],
)
def test_a_server_that_gives_no_answer_is_told_as_502(said):
    def answer(line, head):
        saying(said)(line, head)
        line.shutdown(socket.SHUT_RDWR)

    with relayed(answer) as (relay, _):
        status, _, body = asked(relay, request())
        assert (status, json.loads(body)["error"]["type"]) == (502, "api_error")
        assert relay.calls[0].fault
        assert relay.charged().tokens == 0


@pytest.mark.parametrize(
    "said",
    [
        pytest.param([OK + JSON + b"Content-Length: 9\r\n\r\nhello"], id="length"),
        pytest.param([*chunked(b"hello")[:-1]], id="chunks"),
        pytest.param([*chunked(b"hello")[:-1], b"zz\r\n"], id="no chunk"),
    ],
)
def test_an_answer_that_is_cut_is_cut_for_the_harness_too(said):
    def answer(line, head):
        saying(*said)(line, head)
        line.shutdown(socket.SHUT_RDWR)

    with relayed(answer) as (relay, _), dialled(relay) as line:
        line.sendall(request())
        data = rest(line)
        assert b"hello" in data
        assert not data.endswith(b"0\r\n\r\n")
        while not relay.calls:
            continue
        assert relay.calls[0].fault


def test_a_server_that_is_not_there_is_told_as_502():
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    with relayed(saying(b""), given={"url": f"http://127.0.0.1:{port}"}) as (relay, _):
        status, _, body = asked(relay, request())
    assert (status, message(body)) == (502, f"keisei: `127.0.0.1:{port}` cannot be reached: Connection refused")


def test_a_name_that_nobody_knows_is_told_as_502():
    with relayed(saying(b""), given={"url": "http://nobody.invalid"}, waits=Waits(connect=2)) as (relay, _):
        assert asked(relay, request())[0] == 502


def test_a_server_that_is_silent_is_told_as_504():
    over = threading.Event()
    with relayed(lambda *_: over.wait(relaying.NEVER_S), waits=SHORT) as (relay, _):
        status, _, body = asked(relay, request())
        over.set()
    assert (status, "did not answer in time" in message(body)) == (504, True)


def test_an_answer_before_the_body_is_read_is_passed_on():
    def answer(line, _):
        line.sendall(b"HTTP/1.1 401 No\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")
        line.shutdown(socket.SHUT_WR)
        while line.recv(65_536):
            continue

    with relayed(answer) as (relay, _):
        body = json.dumps({"messages": "x" * 1_000_000}).encode()
        assert asked(relay, request(body))[::2] == (401, b"no")


def test_what_follows_an_answer_is_not_taken_for_the_next():
    poisoned = plain(b"one") + plain(b"evil")
    with relayed(saying(poisoned)) as (relay, server), dialled(relay) as line:
        for _ in range(3):
            line.sendall(request())
            assert told(line)[2] == b"one"
        assert server.connections == 3


def test_descriptors_that_run_out_are_survived():
    """A harness opens and drops connections by the hundred; nothing of them stays."""
    with relayed(saying(plain(b"{}"))) as (relay, _):
        asked(relay, request())
        before = relaying.descriptors()
        for _ in range(300):
            dialled(relay).close()
        assert asked(relay, request())[0] == 200
        relay.close()
        assert relaying.descriptors() <= before
