"""Too often and too many: who tries and tries, orders without end, or opens streams without end."""

import asyncio
import threading
from contextlib import ExitStack

import msgspec
import pytest

from keisei.console.guard import Guard
from keisei.console.guard_closing import Closing
from keisei.console.guard_rate import Buckets, Streams, neighbourhood
from keisei.console.guard_refusal import Attempt, refusal_entry
from keisei.console.key import open_keys, rotate
from keisei.console.session import leave
from keisei.wiring.refusal import MOST
from tests.console.fortress import Fortress, open_fortress


@pytest.fixture
def fortress(tmp_path):
    with open_fortress(tmp_path, streams=20, streams_each=8, burst=5, failures=3) as made:
        yield made


def test_ten_thousand_wrong_tokens_open_nothing_and_fill_nothing(tmp_path):
    fortress = Fortress(tmp_path)
    fortress.line.close()
    fortress.is_frozen = True

    async def ask(number):
        sent = []

        async def send(message):
            sent.append(message)

        headers = [(b"host", f"127.0.0.1:{fortress.port}".encode()), (b"authorization", b"Bearer wrong%d" % number)]
        scope = {
            "type": "http",
            "method": "GET",
            "path": "/tasks",
            "headers": headers,
            "client": (f"10.0.{number % 7}.1", 1),
        }
        await fortress.guard(scope, None, send)
        return sent[0]["status"], dict(sent[0]["headers"]).get(b"retry-after")

    async def main():
        told = [await ask(number) for number in range(10_000)]
        await asyncio.gather(*fortress.guard._telling)
        return told

    told = asyncio.run(main())

    assert fortress.reached == []
    assert {each for each, _ in told} == {401, 429}
    assert sum(status == 401 for status, _ in told) == 7 * fortress.config.limits.failures
    assert told[-1] == (429, b"2")
    assert len(fortress.guard._failures) == 7
    assert len(fortress.attempts) == MOST
    assert "wrong1" not in repr(fortress.attempts)


def test_who_is_known_is_not_held_up_by_whoever_guesses(fortress):
    fortress.is_frozen = True
    for _ in range(10):
        last = fortress.ask("GET", "/tasks", {"Authorization": "Bearer wrong"})

    assert last.status == 429
    assert fortress.ask("GET", "/tasks", fortress.bearer()).status == 200
    assert fortress.ask("GET", "/tasks").status == 401  # nothing was said: nothing was tried


@pytest.mark.parametrize("way", ["link", "csrf", "cookie"])
def test_every_kind_of_guessing_is_slowed_down(fortress, way):
    fortress.is_frozen = True

    def guess():
        if way == "link":
            return fortress.follow("guess")
        wrong = {"X_CSRF_Token": "x"} if way == "csrf" else {"Cookie": f"{fortress.cookie}=x"}
        return fortress.ask("POST", "/tasks", fortress.browser(**wrong), b"{}")

    told = [guess() for _ in range(5)]

    assert [each.status for each in told[3:]] == [429, 429]
    assert all(each.status in (401, 403, 410) for each in told[:3])
    assert told[-1].headers["retry-after"] == "2"
    assert fortress.reached == []
    assert {each.what for each in fortress.settled()} == {way}


def test_orders_come_no_faster_than_they_may(fortress):
    fortress.is_frozen = True
    headers = fortress.browser()

    told = [fortress.ask("POST", "/tasks", headers, b"{}").status for _ in range(7)]
    other = fortress.ask("POST", "/tasks", fortress.browser(), b"{}").status
    hooks = [fortress.ask("POST", "/hooks/x", {}, b"{}").status for _ in range(6)]
    fortress.moment += 0.125
    after = [fortress.ask("POST", "/tasks", headers, b"{}").status for _ in range(3)]

    assert told == [200] * 5 + [429] * 2
    assert (other, hooks, after) == (200, [200] * 5 + [429], [200] * 2 + [429])
    assert len(fortress.reached) == 5 + 1 + 5 + 2
    assert fortress.ask("GET", "/tasks", headers).status == 200


def test_buckets_remember_no_more_than_they_may():
    now = [0.0]
    buckets = Buckets(1.0, 2, lambda: now[0], most=100)

    for number in range(1000):
        assert buckets.spend(str(number)) == 0
    assert len(buckets) == 100
    assert [buckets.spend("999"), buckets.spend("999")] == [0, 1]
    now[0] = -50.0  # a clock that goes back gives nothing
    assert buckets.spend("999") == 1


def test_streams_are_counted_down_again():
    streams = Streams(3, 2)

    assert [streams.enter("a") is None for _ in range(3)] == [True, True, False]
    assert [streams.enter(key) is None for key in "bc"] == [True, False]
    for key in "aab":
        streams.leave(key)
    assert len(streams) == 0
    assert not streams._each


@pytest.mark.parametrize(
    ("host", "told"),
    [
        ("10.1.2.3", "10.1.2.3"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:9::1", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("?", "?"),
        ("x" * 500, "x" * 64),
    ],
)
def test_a_house_is_one_neighbourhood(host, told):
    assert neighbourhood(host) == told


# --- streams


def opened(fortress, stack, headers):
    """A stream whose first words have come, or the answer in its place."""
    line = stack.enter_context(fortress.connect())
    told = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    line.sendall(f"GET /api/v1/stream HTTP/1.1\r\nHost: 127.0.0.1:{fortress.port}\r\n{told}\r\n".encode())
    data = b""
    while b"hello" not in data and b" 429 " not in data:
        data += line.recv(65_536)
    return line, int(data.split(b" ")[1])


def test_three_hundred_streams_are_bounded_by_session_and_in_all(fortress):
    with ExitStack() as stack:
        browsers = [fortress.browser(X_CSRF_Token=None) for _ in range(3)]
        told = [[opened(fortress, stack, headers)[1] for _ in range(100)] for headers in browsers]

        assert [each.count(200) for each in told] == [8, 8, 4]
        assert [each.count(429) for each in told] == [92, 92, 96]
        assert fortress.ask("GET", "/tasks", fortress.bearer()).status == 200  # everything else goes on
    while len(fortress.guard._streams):
        assert fortress.ask("GET", "/healthz").status == 200
    assert fortress.guard._streams._each == {}


@pytest.mark.parametrize("way", ["rotate", "leave", "expire", "close"])
def test_a_stream_ends_with_whoever_listens(fortress, way):
    headers = fortress.browser()
    with ExitStack() as stack:
        line, _ = opened(fortress, stack, headers)

        if way == "rotate":
            rotate(fortress.home)
        elif way == "leave":
            session = headers["Cookie"].split(".")[2]
            leave(fortress.home / "console", session, fortress.now)
        elif way == "expire":
            fortress.now += 13 * 3600
        else:
            fortress.closing.begin()

        data = b""
        while piece := line.recv(65_536):
            data += piece
            if data.endswith(b"0\r\n\r\n"):
                break
        assert data.endswith(b"0\r\n\r\n")  # ended, not torn


def test_new_keys_end_every_session_token_and_link(fortress):
    headers, key, token = fortress.browser(), fortress.link(), fortress.bearer()
    assert fortress.ask("GET", "/tasks", headers).status == 200
    fortress.reached.clear()

    rotate(fortress.home)

    assert fortress.ask("POST", "/tasks", headers, b"{}").status == 401
    assert fortress.ask("GET", "/tasks", token).status == 401
    assert fortress.follow(key).status == 410
    assert fortress.reached == []
    fortress.keys = open_keys(fortress.home)
    assert fortress.ask("GET", "/tasks", fortress.bearer()).status == 200
    assert fortress.follow(fortress.link()).status == 200


@pytest.mark.parametrize("harm", ["remove", "empty", "open"])
def test_without_keys_nobody_comes_in(fortress, harm):
    path = fortress.home / "console" / "key"
    if harm == "remove":
        path.unlink()
    elif harm == "empty":
        path.write_text("")
    else:
        path.chmod(0o644)

    assert fortress.ask("GET", "/tasks", fortress.bearer()).status == 401
    assert fortress.ask("GET", "/tasks", fortress.browser()).status == 401
    assert fortress.ask("GET", "/healthz").status == 200
    assert [each[1] for each in fortress.reached] == ["/healthz"]
    if harm == "remove":
        fortress.link()  # makes what is missing, for the console that runs
        assert fortress.ask("GET", "/tasks", fortress.bearer()).status == 200


def test_what_is_written_down_tells_no_secret(fortress):
    fortress.ask("GET", "/tasks/hunter2?key=hunter2", {"Authorization": "Bearer hunter2"})
    fortress.follow("hunter2")
    fortress.ask("GET", "/api/x", fortress.bearer(), host="hunter2.example")

    rows = [refusal_entry(each) for each in fortress.settled()]
    assert [(row.kind, row.subject, row.body["place"]) for row in rows] == [
        ("console_refused", "token", "a page"),
        ("console_refused", "link", "/enter"),
        ("console_refused", "host", "/api"),
    ]
    assert "hunter2" not in repr(rows)


def test_a_method_that_is_a_terminal_s_command_is_kept_as_text():
    attempt = Attempt(what="host", reason="r", method="\x1b[2J", place="/api", address="\x1b", counted=3)

    body = refusal_entry(attempt).body

    assert (body["method"], body["address"], body["only_counted_before"]) == ("\\x1b[2J", "\\x1b", 3)


def test_a_ledger_that_is_away_holds_nobody_up(tmp_path):
    with open_fortress(tmp_path) as fortress:
        called = threading.Event()

        def refused(_attempt):
            called.set()
            message = "away"
            raise OSError(message)

        fortress.guard._config = msgspec.structs.replace(fortress.config, refused=refused)
        assert fortress.ask("GET", "/tasks", {"Authorization": "Bearer x"}).status == 401
        assert called.wait(20)
        assert fortress.ask("GET", "/tasks", fortress.bearer()).status == 200


def test_closing_may_begin_before_anybody_waits_and_after_all_is_over():
    closing = Closing()
    closing.begin()
    asyncio.run(asyncio.wait_for(closing.wait(), 20))
    closing.begin()

    assert closing.has_begun


def test_a_guard_passes_nothing_but_requests(fortress):
    sent = []

    async def send(message):
        sent.append(message)

    asyncio.run(Guard(None, fortress.config)({"type": "websocket"}, None, send))

    assert sent == [{"type": "websocket.close", "code": 1008}]
