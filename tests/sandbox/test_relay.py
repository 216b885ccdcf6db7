"""The relay: bytes pass untouched both ways, the key is seen by the server alone, and nothing is left of it."""

import json
import socket
import stat
import threading
import time

import pytest

from keisei.records.error import OperatorError, WorldFault
from keisei.records.relay import Upstream
from keisei.sandbox.relay import CONNECTIONS, Relay
from keisei.sandbox.relay_cord import Waits
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
    received,
    relayed,
    request,
    rest,
    saying,
    told,
    upstream,
)

ODD = bytes(range(256)) * 3 + b"\r\n\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n"


# What passes


def test_the_server_is_asked_with_its_own_name_and_key_and_nothing_that_ends_at_a_neighbour():
    with relayed(saying(plain(b"{}"))) as (relay, server):
        headers = (
            b"Authorization: Bearer stolen\r\nCookie: a=b\r\nX-Hop: 1\r\nConnection: keep-alive, x-hop\r\n"
            b"X-Forwarded-For: 1.2.3.4\r\nX-HTTP-Method-Override: DELETE\r\nAccept-Encoding: gzip\r\nTE: trailers\r\n"
            b"anthropic-Version: 2023-06-01\r\nX-Obs: caf\xe9\r\n"
        )
        asked(relay, request(b'{"a": 1}', path="/v1/messages?beta=true", headers=headers))

    assert server.heads == [
        b"POST /v1/messages?beta=true HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nanthropic-Version: 2023-06-01\r\n" % server.port
        + b"X-Obs: caf\xe9\r\nAccept-Encoding: identity\r\nX-Api-Key: %s\r\nContent-Length: 8\r\n\r\n" % KEY.encode()
    ]


@pytest.mark.parametrize(
    ("given", "path", "expected"),
    [
        pytest.param({"auth": "bearer"}, "/v1/messages", b"Authorization: Bearer " + KEY.encode(), id="bearer"),
        pytest.param({"auth": "none", "key": None}, "/v1/messages", b"POST /v1/messages HTTP/1.1", id="no key"),
        pytest.param({"adds": {"A-B": "x"}}, "/v1/messages", b"a-b: x", id="added"),
        pytest.param(
            {"adds": {"anthropic-beta": "x"}}, "/v1/messages", b"Anthropic-Beta: mine,x", id="added to the harness's"
        ),
    ],
)
def test_the_key_stands_where_the_server_wants_it(given, path, expected):
    with relayed(saying(plain(b"{}")), given=given) as (relay, server):
        asked(relay, request(path=path, headers=b"Anthropic-Beta: mine\r\n"))

    rows = server.heads[0].split(b"\r\n")
    assert expected in rows
    assert (KEY.encode() in server.heads[0]) == (given.get("key", KEY) is not None)
    assert TOKEN.encode() not in server.heads[0]


@pytest.mark.parametrize("prefix", ["/v1", "/api/v1/"])
def test_an_address_with_a_path_stands_before_what_is_asked(prefix):
    with relaying.Server(saying(plain(b"{}"))) as server:
        place = upstream(server.port, url=f"http://127.0.0.1:{server.port}{prefix}", protocol="openai")
        with Relay(place, TOKEN) as relay:
            asked(relay, request(path="/v1/chat/completions"))

    assert server.heads[0].startswith(b"POST %s/chat/completions HTTP/1.1\r\n" % prefix.rstrip("/").encode())


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        pytest.param([plain(ODD)], ODD, id="length"),
        pytest.param(chunked(ODD[:5], ODD[5:6], ODD[6:]), ODD, id="chunks"),
        pytest.param([b"".join(chunked(*[bytes([each]) for each in ODD]))], ODD, id="chunks of one byte, at once"),
        pytest.param([bytes([each]) for each in b"".join(chunked(ODD[:9], ODD[9:20]))], ODD[:20], id="byte by byte"),
        pytest.param(
            [OK + JSON + b"Transfer-Encoding: chunked\r\n\r\n2;a=b\r\nhi\r\n0\r\nT: 1\r\n\r\n"], b"hi", id="trailers"
        ),
        pytest.param([b"HTTP/1.1 100 Continue\r\n\r\n", plain(b"x")], b"x", id="continue first"),
        pytest.param([b"HTTP/1.1 429 Slow\r\nRetry-After: 7\r\nContent-Length: 2\r\n\r\nno"], b"no", id="refused"),
        pytest.param([b"HTTP/1.1 302 There\r\nLocation: http://x/\r\nContent-Length: 0\r\n\r\n"], b"", id="redirect"),
        pytest.param([b"HTTP/1.1 204 Nothing\r\n\r\n"], b"", id="nothing"),
    ],
)
def test_an_answer_passes_as_it_is(tmp_path, answer, body):
    with relayed(saying(*answer), tmp_path) as (relay, server):
        status, head, data = asked(relay, request())

    assert (status, data) == (int(b"".join(answer).rpartition(b"HTTP/1.1 ")[2][:3]) if body != ODD else 200, body)
    assert (b"Retry-After: 7" in head) == (status == 429)
    assert (b"Location: http://x/" in head) == (status == 302)
    assert server.connections == 1


def test_an_answer_that_ends_with_its_connection_passes_and_set_cookie_does_not():
    def answer(line, _):
        line.sendall(OK + b"Set-Cookie: a=b\r\nKeep-Alive: 5\r\nX-Id: 1\r\n\r\nhello")
        line.shutdown(socket.SHUT_RDWR)

    with relayed(answer) as (relay, _):
        _, head, body = asked(relay, request(b""))

    assert body == b"hello"
    assert head == OK + b"X-Id: 1\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("size", [0, 1, 3_000_000])
@pytest.mark.parametrize("in_chunks", [False, True])
def test_a_request_passes_as_it_is(size, in_chunks):
    body = (ODD * (size // len(ODD) + 1))[:size]

    def answer(line, head):
        got = relaying.chunks(line) if b"chunked" in head else relaying.exactly(line, relaying.length(head))
        line.sendall(plain(b"%d" % (got == body)))

    sent = request(body)
    if in_chunks:
        rows = b"".join(b"%x\r\n%s\r\n" % (len(each), each) for each in (body[:1], body[1:]) if each)
        sent = request(b"", headers=b"Transfer-Encoding: chunked\r\n") + rows + b"0\r\n\r\n"
    with relayed(answer) as (relay, _):
        assert asked(relay, sent)[2] == b"1"


def test_pieces_pass_as_they_come():
    """The second piece is said only when the first has arrived, so a relay that gathers would hang."""
    heard = threading.Semaphore(0)

    def answer(line, head):
        relaying.exactly(line, relaying.length(head))
        for piece in chunked(b"one", b"two", b"three"):
            line.sendall(piece)
            if piece[:1] in b"35" and piece[1:2] == b"\r":
                heard.acquire(timeout=relaying.NEVER_S)

    with relayed(answer) as (relay, _), dialled(relay) as line:
        line.sendall(request())
        received(line)
        for expected in (b"3\r\none\r\n", b"3\r\ntwo\r\n", b"5\r\nthree\r\n"):
            assert relaying.exactly(line, len(expected)) == expected
            heard.release()
        assert relaying.exactly(line, 5) == b"0\r\n\r\n"


def test_connections_are_kept_on_both_sides_and_requests_may_be_in_a_row():
    with relayed(saying(plain(b"{}"))) as (relay, server), dialled(relay) as line:
        line.sendall(request(b"1") + request(b"2") + request(b"3"))
        assert [told(line)[0] for _ in range(3)] == [200] * 3
        line.sendall(request())
        assert told(line)[0] == 200
        assert server.connections == 1


def test_a_kept_connection_that_the_server_has_ended_is_not_used_again():
    over = threading.Event()

    def answer(line, head):
        saying(plain(b"{}"))(line, head)
        line.shutdown(socket.SHUT_RDWR)
        line.close()
        over.set()

    with relayed(answer) as (relay, server), dialled(relay) as line:
        for _ in range(3):
            over.clear()
            line.sendall(request())
            assert told(line)[0] == 200
            assert over.wait(relaying.NEVER_S)
        assert server.connections == 3


def test_a_harness_that_ends_its_half_still_reads_its_answer():
    with relayed(saying(*chunked(b"a", b"b"))) as (relay, _), dialled(relay) as line:
        line.sendall(request())
        line.shutdown(socket.SHUT_WR)
        assert told(line)[2] == b"ab"


def test_a_harness_of_the_first_http_gets_its_answer_until_the_end_of_the_connection():
    with relayed(saying(*chunked(b"a", b"b"))) as (relay, server), dialled(relay) as line:
        line.sendall(request().replace(b"HTTP/1.1", b"HTTP/1.0").replace(b"Host: relay\r\n", b""))
        head, _, body = rest(line).partition(b"\r\n\r\n")
        assert (head[:12], body) == (b"HTTP/1.1 200", b"ab")
        assert b"transfer-encoding" not in head.lower()
        assert server.heads[0].startswith(b"POST /v1/messages HTTP/1.1\r\n")


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no IPv6")
@pytest.mark.parametrize("name", ["[::1]", "localhost"])
def test_a_server_may_have_another_kind_of_address_or_a_name(name):
    try:
        listener = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("this machine's loopback has no IPv6")
    listener.close()
    with relaying.Server(saying(plain(b"{}")), host="::1" if name == "[::1]" else "127.0.0.1") as server:
        place = upstream(server.port, url=f"http://{name}:{server.port}")
        with Relay(place, TOKEN) as relay:
            assert asked(relay, request())[0] == 200
    assert b"Host: %s:%d\r\n" % (name.encode(), server.port) in server.heads[0]


def test_expect_is_answered_here():
    with relayed(saying(plain(b"{}"))) as (relay, server), dialled(relay) as line:
        head, _, body = request(b'{"a":1}', headers=b"Expect: 100-continue\r\n").rpartition(b"\r\n\r\n")
        line.sendall(head + b"\r\n\r\n")
        assert received(line).startswith(b"HTTP/1.1 100 ")
        line.sendall(body)
        assert told(line)[0] == 200
        assert b"expect" not in server.heads[0].lower()


def test_who_only_knocks_is_answered_here_without_a_token():
    with relayed(saying(plain(b"{}"))) as (relay, server), dialled(relay) as line:
        line.sendall(b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert told(line)[:2] == (200, b"HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n")
        assert server.connections == 0


# What it leaves


def test_a_line_a_call_without_bodies_and_keys(tmp_path):
    said = b'{"model":"claude-x","usage":{"input_tokens":10,"output_tokens":5,"cache_read_input_tokens":2}}'
    log = tmp_path / "relay.jsonl"
    with relayed(saying(plain(said)), tmp_path, log=log) as (relay, _):
        asked(relay, request(b'{"prompt":"hush"}', path="/v1/messages?key=hush"))
        asked(relay, request(path="/v1/files"))
        usage = relay.usage()
        calls = relay.calls

    lines = [json.loads(each) for each in log.read_text().splitlines()]
    assert [(each["method"], each["path"], each["status"], each["model"]) for each in lines] == [
        ("POST", "/v1/messages", 200, "claude-x"),
        ("POST", "/v1/files", 403, None),
    ]
    assert lines[0]["input_tokens"] == 10
    assert lines[0]["fault"] is None
    assert "not open" in lines[1]["fault"]
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens) == (
        10,
        5,
        2,
        None,
    )
    for text in (log.read_text(), repr(calls), repr(upstream(1)), str(upstream(1))):
        assert KEY not in text
        assert TOKEN not in text
        assert "hush" not in text


def test_a_socket_is_its_owners_alone_and_goes_with_the_relay(tmp_path):
    with relayed(saying(plain(b"{}")), tmp_path) as (relay, _):
        assert stat.S_IMODE(relay.socket.stat().st_mode) == 0o600
        assert relay.port is None
    assert not relay.socket.exists()


def test_twenty_relays_at_once_leave_no_thread_and_no_descriptor():
    asked_for = 5
    with relaying.Server(saying(*chunked(b"data: {}\n\n"))) as server:
        threads, descriptors = threading.active_count(), relaying.descriptors()
        relays = [Relay(upstream(server.port), f"token-{each}").start() for each in range(20)]
        wrong: list[object] = []

        def ask(relay, token):
            with dialled(relay) as line:
                for _ in range(asked_for):
                    line.sendall(request(token=token))
                    if told(line)[2] != b"data: {}\n\n":
                        wrong.append(token)

        asking = [
            threading.Thread(target=ask, args=(relay, f"token-{each}"))
            for each, relay in enumerate(relays)
            for _ in "ab"
        ]
        for each in asking:
            each.start()
        for each in asking:
            each.join()
        left_open = [dialled(relay) for relay in relays]
        counts = [len(relay.calls) for relay in relays]
        for relay in relays:
            relay.close()
        for line in left_open:
            line.close()
        assert wrong == []
        assert counts == [2 * asked_for] * 20
        server_side = [each for each in threading.enumerate() if each.name.startswith("relay")]
        assert server_side == []
    assert threading.active_count() <= threads
    assert relaying.descriptors() <= descriptors


@pytest.mark.parametrize("stage", ["idle", "head", "body", "server silent", "stream", "harness not reading"])
def test_closing_ends_every_wait(stage):
    silent = threading.Event()

    def answer(line, _):
        if stage == "stream":
            line.sendall(chunked(b"x")[0] + b"1\r\nx\r\n")
        if stage == "harness not reading":
            line.sendall(OK + b"Content-Length: 999999999\r\n\r\n")
            while True:
                line.sendall(b"x" * 65_536)
        silent.wait(relaying.NEVER_S)

    sent = {"idle": b"", "head": b"POST /v1/mess", "body": request(b"x" * 9)[:-3]}.get(stage, request())
    began = threading.active_count()
    with relayed(answer) as (relay, server):
        with dialled(relay) as line:
            line.sendall(sent)
            if stage == "stream":
                received(line)
            while stage not in {"idle", "head"} and not server.heads:
                time.sleep(0.001)
            relay.close()
            rest(line)
        relay.close()
        silent.set()
        assert not [each for each in threading.enumerate() if each.name.startswith("relay")]
    assert threading.active_count() <= began


def test_a_harness_that_hangs_up_ends_the_request_to_the_server(tmp_path):
    ended = threading.Event()

    def answer(line, head):
        relaying.exactly(line, relaying.length(head))
        assert line.recv(1) == b""
        ended.set()

    with relayed(answer, tmp_path) as (relay, server):
        with dialled(relay) as line:
            line.sendall(request())
            while not server.heads:
                time.sleep(0.001)
        assert ended.wait(relaying.NEVER_S)
        while not relay.calls:
            time.sleep(0.001)
        assert "hung up" in relay.calls[0].fault
        assert relay.calls[0].estimated


def test_more_connections_than_a_harness_needs_are_told_to_come_back():
    with relayed(saying(plain(b"{}"))) as (relay, _):
        lines = [dialled(relay) for _ in range(CONNECTIONS)]
        for line in lines:
            line.sendall(request())
            assert told(line)[0] == 200
        with dialled(relay) as one_more:
            status, _, body = told(one_more)
            assert (status, message(body)) == (503, "keisei: too many connections at once")
        for line in lines:
            line.close()


# What cannot be made


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ftp://x",
        "http://",
        "http://user:hush@x",
        "http://x/?hush",
        "http://x/#hush",
        "http://x/a b",
        "http://x:99999",
        "http://x/../hush",
        "http://[::1",
    ],
)
def test_an_address_that_is_none_is_told_without_being_repeated(url):
    with pytest.raises(OperatorError) as raised:
        Relay(Upstream(url=url, protocol="openai"), TOKEN)
    assert "hush" not in str(raised.value)


@pytest.mark.parametrize("key", ["hush\n", "hush\r\nX: y", " hush", "hüsh", ""])
def test_a_key_that_cannot_stand_in_a_header_is_told_without_being_repeated(key):
    with pytest.raises(OperatorError) as raised:
        Relay(upstream(1, key=key or "hush\0"), TOKEN)
    assert "hush" not in str(raised.value)


def test_a_socket_that_cannot_be_made_is_a_fault_of_the_world(tmp_path):
    with pytest.raises(WorldFault):
        Relay(upstream(1), TOKEN, socket=tmp_path / "nowhere" / "relay.sock").start()
    with pytest.raises(WorldFault):
        Relay(upstream(1), TOKEN, socket=tmp_path / ("x" * 200)).start()
    with pytest.raises(WorldFault):
        Relay(upstream(1), TOKEN, log=tmp_path / "nowhere" / "relay.jsonl").start()


def test_a_relay_that_was_never_started_can_be_closed():
    Relay(upstream(1), TOKEN, waits=Waits()).close()
