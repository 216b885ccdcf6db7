"""A hostile browser, and worse, at the console's door. Whatever is refused never reaches the application."""

import socket

import pytest

from keisei.console.guard_header import CSP
from keisei.console.session import set_cookie
from tests.console.fortress import open_fortress, parsed, read


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    with open_fortress(tmp_path_factory.mktemp("a fortress"), hook=4096, body=1024) as made:
        yield made


@pytest.fixture
def fortress(opened):
    opened.settled().clear()
    opened.reached.clear()
    return opened


def held(fortress, reply, status):
    """Refused, with everything an answer has, and nobody came through."""
    assert reply is not None
    assert reply.status == status, reply
    assert reply.headers["content-security-policy"] == CSP
    assert reply.headers["cache-control"] == "no-store"
    assert fortress.reached == []


# --- the name that was called


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "127.0.0.1:{port}.evil.example",
        "127.0.0.1.:{port}",
        "localhost.:{port}",
        "LOCALHOST:{port}",
        "user@127.0.0.1:{port}",
        "127.0.0.1:{port}@evil.example",
        "127.0.0.1:0{port}",
        "127.1:{port}",
        "2130706433:{port}",
        "0.0.0.0:{port}",
        "[::]:{port}",
        "[::ffff:127.0.0.1]:{port}",
        "[::1%25lo]:{port}",
        "::1:{port}",
        "127.0.0.1:{port}, evil.example",
        "127.0.0.1:{port}/",
        "http://127.0.0.1:{port}",
    ],
)
@pytest.mark.parametrize("path", ["/", "/healthz", "/static/app.css"])
def test_another_name_is_not_served(fortress, host, path):
    reply = fortress.ask("GET", path, fortress.bearer(), host=host.format(port=fortress.port))

    assert reply.status in (400, 421)
    held(fortress, reply, reply.status)


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "[::1]:{port}"])
def test_our_own_names_are_served(fortress, host):
    assert fortress.ask("GET", "/", fortress.bearer(), host=host.format(port=fortress.port)).status == 200


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET / HTTP/1.0\r\n\r\n", 421),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: %b\r\nHost: evil.example\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: evil.example\r\nHost: %b\r\n\r\n", 400),
        (b"GET http://evil.example/ HTTP/1.1\r\nHost: %b\r\nConnection: close\r\n\r\n", 400),
        (b"GET http://%b/ HTTP/1.1\r\nHost: %b\r\nConnection: close\r\n\r\n", 400),
        (b"OPTIONS * HTTP/1.1\r\nHost: %b\r\nConnection: close\r\n\r\n", 400),
        (b"CONNECT evil.example:443 HTTP/1.1\r\nHost: %b\r\nConnection: close\r\n\r\n", 400),
        (b"TRACE / HTTP/1.1\r\nHost: %b\r\nConnection: close\r\n\r\n", 405),
        (b"GET / HTTP/1.1\r\nHost: %b\r\nX: a\x00b\r\n\r\n", 400),
        (b"GET / HTTP/1.1\nHost: evil.example\n\n\n", 421),
        (b"GET / HTTP/1.1\r\nHost: %b\r\nHost : evil.example\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: %b\r\n\r\n", 400),
    ],
)
def test_a_head_that_can_be_read_in_two_ways_is_refused(fortress, data, status):
    own = f"127.0.0.1:{fortress.port}".encode()
    with fortress.connect() as line:
        line.sendall(data.replace(b"%b", own))
        line.shutdown(socket.SHUT_WR)
        held(fortress, read(line), status)


def test_no_body_is_read_for_another_name(fortress):
    head = {"Content-Length": "999", "Expect": "100-continue"}

    reply = fortress.ask("POST", "/api/v1/tasks", head, host="evil.example")

    held(fortress, reply, 421)  # and not 100


# --- the site it comes from

FOREIGN = [
    "https://evil.example",
    "null",
    "http://127.0.0.1:1",
    "https://127.0.0.1:{port}",
    "http://localhost:{port}",
    "",
]


@pytest.mark.parametrize("origin", [*FOREIGN, "http://127.0.0.1:{port}/", "HTTP://127.0.0.1:{port}"])
@pytest.mark.parametrize("who", ["browser", "bearer"])
def test_another_site_cannot_order(fortress, origin, who):
    headers = fortress.browser() if who == "browser" else fortress.bearer()
    headers["Origin"] = origin.format(port=fortress.port)

    held(fortress, fortress.ask("POST", "/api/v1/tasks", headers, b"{}"), 403)
    assert [each.what for each in fortress.settled()] == ["origin"]


@pytest.mark.parametrize("site", ["cross-site", "same-site", "", "Same-Origin", "same-origin, cross-site"])
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_what_the_browser_says_of_the_site_counts(fortress, site, method):
    headers = fortress.browser(Origin=None, Sec_Fetch_Site=site)

    held(fortress, fortress.ask(method, "/api/v1/tasks", headers, b"{}"), 403)


def test_a_browser_that_says_neither_orders_nothing(fortress):
    held(fortress, fortress.ask("POST", "/tasks", fortress.browser(Origin=None, Sec_Fetch_Site=None), b"{}"), 403)


@pytest.mark.parametrize("path", ["/api/v1/tasks", "/api/v1/stream", "/metrics"])
@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize("mode", ["no-cors", "navigate", None])
def test_another_site_reads_no_api(fortress, path, site, mode):
    headers = fortress.browser(
        Origin=None, Sec_Fetch_Site=site, Sec_Fetch_Mode=mode, Sec_Fetch_Dest=mode and "document"
    )

    held(fortress, fortress.ask("GET", path, headers), 403)


def test_another_site_embeds_no_page_but_may_link_to_one(fortress):
    embedded = fortress.browser(
        Origin=None, Sec_Fetch_Site="same-site", Sec_Fetch_Mode="no-cors", Sec_Fetch_Dest="image"
    )
    framed = {**embedded, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}
    linked = {**embedded, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}

    held(fortress, fortress.ask("GET", "/tasks", embedded), 403)
    held(fortress, fortress.ask("GET", "/tasks", framed), 403)
    assert fortress.ask("GET", "/tasks", linked).status == 200


def test_nobody_is_told_that_another_site_may_ask(fortress):
    headers = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}

    reply = fortress.ask("OPTIONS", "/api/v1/tasks", headers)

    held(fortress, reply, 403)
    assert not [name for name in reply.headers if name.startswith("access-control")]


@pytest.mark.parametrize("name", ["Origin", "Sec-Fetch-Site", "X-CSRF-Token", "Authorization", "Content-Type"])
def test_what_is_said_twice_is_refused(fortress, name):
    headers = {**fortress.browser(), **(fortress.bearer() if name == "Authorization" else {})}

    held(fortress, fortress.ask("POST", "/tasks", [*headers.items(), (name, headers[name])], b"{}"), 400)


# --- who asks


def test_nobody_is_shown_how_to_come_in(fortress):
    page, api = fortress.ask("GET", "/tasks"), fortress.ask("GET", "/api/v1/tasks")

    for reply in (page, api):
        held(fortress, reply, 401)
        assert b"keisei console link" in reply.body
        assert reply.headers["www-authenticate"].startswith("Bearer")
    assert page.headers["content-type"].startswith("text/html")
    assert api.headers["content-type"] == "application/problem+json"
    held(fortress, fortress.ask("GET", "/metrics"), 401)


@pytest.mark.parametrize("path", ["/healthz", "/static/app.css", "/hooks/x"])
def test_some_places_are_open(fortress, path):
    assert fortress.ask("GET", path).status == 200


@pytest.mark.parametrize(
    "path", ["/healthz/", "/healthzz", "/static", "/Static/app.css", "/enter/x", "/hooks", "/x/static/"]
)
def test_what_only_looks_like_them_is_not(fortress, path):
    held(fortress, fortress.ask("GET", path), 401)


@pytest.mark.parametrize(
    "told", ["Bearer {token}x", "Bearer", "Bearer ", "Basic {token}", "{token}", "Bearer {key}", "Bearer  ", "Digest x"]
)
def test_a_wrong_token_is_not_made_good_by_a_cookie(fortress, told):
    said = told.format(token=fortress.keys.operator, key=fortress.keys.key.decode())

    held(fortress, fortress.ask("GET", "/tasks", fortress.browser(Authorization=said)), 401)


def test_a_token_orders_without_a_form(fortress):
    reply = fortress.ask("POST", "/api/v1/tasks", fortress.bearer(), b"{}")

    assert reply.status == 200
    assert b"somebody via console" in reply.body
    assert fortress.reached == [("POST", "/api/v1/tasks", "operator", b"{}")]


def test_a_viewer_looks_and_orders_nothing(fortress):
    for headers in (fortress.bearer("viewer"), fortress.browser("viewer")):
        held(fortress, fortress.ask("POST", "/api/v1/tasks", headers, b"{}"), 403)
        held(fortress, fortress.ask("DELETE", "/tasks/1", headers), 403)
        assert fortress.ask("POST", "/api/v1/look", headers, b"{}").status == 200  # what the table of orders allows
        assert fortress.ask("GET", "/tasks", headers).status == 200
        fortress.reached.clear()


def test_a_cookie_is_a_session(fortress):
    cookie, _ = fortress.session("viewer")

    reply = fortress.ask("GET", "/tasks", {"Cookie": f"other=1; {fortress.cookie}={cookie}; x"})

    assert (reply.status, fortress.reached) == (200, [("GET", "/tasks", "viewer", b"")])


def bad_cookies(fortress):
    good, _ = fortress.session()
    viewer, _ = fortress.session("viewer")
    name = fortress.cookie
    yield f"{name}={fortress.session(at=fortress.now - 12 * 3600)[0]}"
    yield f"{name}={fortress.session(key=b'another project')[0]}"
    yield f"{name}={viewer.replace('viewer', 'operator')}"
    yield f"{name}={viewer.rpartition('.')[0]}.{good.rpartition('.')[2]}"
    head, role, session, expiry, mac = good.split(".")
    yield f"{name}={head}.{role}.{session}.{int(expiry) + 9}.{mac}"
    yield f"{name}={head}.{role}.{session}.{expiry}.{mac.upper()}"
    yield f"{name}={good}; {name}={viewer}"
    yield f"{name}={good}; {name}={good}"
    yield f"{name}={good[:-1]}"
    yield f'{name}="{good}"'
    yield f"{name}={good}\xff"
    yield f"{name}="
    yield f"keisei-other={good}"
    yield f"{name}={'1.' * 3000}"
    yield ""


@pytest.mark.parametrize("number", range(15))
def test_a_bad_cookie_is_nobody(fortress, number):
    cookie = list(bad_cookies(fortress))[number]

    held(fortress, fortress.ask("GET", "/tasks", {"Cookie": cookie}), 401)
    held(fortress, fortress.ask("POST", "/tasks", fortress.browser(Cookie=cookie), b"{}"), 401)


def test_a_neighbour_s_cookie_of_the_same_name_shuts_nobody_out(fortress):
    cookie, _ = fortress.session("viewer")

    for header in (
        f"{fortress.cookie}=x; {fortress.cookie}={cookie}",
        f"{fortress.cookie}={cookie}; {fortress.cookie}=",
    ):
        assert fortress.ask("GET", "/tasks", {"Cookie": header}).status == 200


# --- forms


@pytest.mark.parametrize("told", [None, "", "x", "0" * 64, "\xff"])
def test_an_order_of_a_session_needs_its_own_token(fortress, told):
    held(fortress, fortress.ask("POST", "/tasks", fortress.browser(X_CSRF_Token=told), b"{}"), 403)


def test_the_token_of_another_session_is_wrong(fortress):
    _, other = fortress.session()

    held(fortress, fortress.ask("POST", "/tasks", fortress.browser(X_CSRF_Token=other), b"{}"), 403)


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        ("csrf={csrf}&subject=x", "application/x-www-form-urlencoded", 200),
        ("subject=x&csrf={csrf}", "application/x-www-form-urlencoded; charset=utf-8", 200),
        ("subject=x", "application/x-www-form-urlencoded", 403),
        ("csrf=", "application/x-www-form-urlencoded", 403),
        ("csrf=x&csrf={csrf}", "application/x-www-form-urlencoded", 403),
        ("csrf={csrf}&csrf=x", "application/x-www-form-urlencoded", 403),
        ("xcsrf={csrf}", "application/x-www-form-urlencoded", 403),
        ("csrf={csrf}", "text/plain", 403),
        ('{{"csrf": "{csrf}"}}', "application/json", 403),
    ],
)
def test_a_form_carries_it_in_a_field(fortress, body, kind, status):
    headers = fortress.browser(Content_Type=kind)
    csrf = headers.pop("X-CSRF-Token")

    reply = fortress.ask("POST", "/tasks", headers, body.format(csrf=csrf).encode())

    assert (reply.status, len(fortress.reached)) == (status, int(status == 200))


def test_a_wrong_token_in_the_header_is_not_made_good_by_the_form(fortress):
    headers = fortress.browser(Content_Type="application/x-www-form-urlencoded")
    body = f"csrf={headers['X-CSRF-Token']}".encode()

    held(fortress, fortress.ask("POST", "/tasks", {**headers, "X-CSRF-Token": "x"}, body), 403)


# --- paths


@pytest.mark.parametrize(
    "path",
    [
        "/static/../secret",
        "/static/%2e%2e/secret",
        "/static/..%2fsecret",
        "/static/%2e%2e%2fsecret",
        "/static/..\\secret",
        "/static/..%5csecret",
        "/static//secret",
        "//evil.example/x",
        "/%2fevil.example/x",
        "/./tasks",
        "/tasks/.",
        "/tasks/..",
        "/static/app.css%00.png",
        "/tasks/%0d%0aSet-Cookie:%20x=1",
        "/tasks/%7f",
        "/tasks/%ff",
        "/" + "a" * 3000,
    ],
)
def test_a_path_that_leads_elsewhere_is_refused(fortress, path):
    held(fortress, fortress.ask("GET", path, fortress.bearer()), 400)


@pytest.mark.parametrize("path", ["/atoms/kei-task::create", "/tasks/%C3%A4", "/tasks/", "/tasks/a%20b", "/tasks/..."])
def test_an_odd_path_is_a_path(fortress, path):
    assert fortress.ask("GET", path, fortress.bearer()).status == 200


def test_twice_encoded_dots_lead_nowhere(fortress):
    reply = fortress.ask("GET", "/static/%252e%252e/secret")

    assert (reply.status, b"secret" in reply.body) == (404, False)


# --- bodies


@pytest.mark.parametrize("path", ["/api/v1/tasks", "/hooks/x"])
@pytest.mark.parametrize("length", [4097, 10**12, 10**18])
def test_a_body_that_is_said_to_be_too_large_is_not_read(fortress, path, length):
    headers = {**fortress.bearer(), "Content-Length": str(length), "Expect": "100-continue"}

    held(fortress, fortress.ask("POST", path, headers), 413)


@pytest.mark.parametrize(
    ("path", "size", "status"), [("/tasks", 1025, 413), ("/hooks/x", 1025, 200), ("/hooks/x", 4097, 413)]
)
def test_a_body_without_a_length_is_counted(fortress, path, size, status):
    body = b"".join(b"1\r\nx\r\n" for _ in range(size)) + b"0\r\n\r\n"

    reply = fortress.ask("POST", path, {**fortress.bearer(), "Transfer-Encoding": "chunked"}, body)

    assert reply.status == status
    assert [len(each[3]) for each in fortress.reached] == ([size] if status == 200 else [])
    assert fortress.guard._bodies.held == fortress.guard._deliveries.held == 0


@pytest.mark.parametrize("framing", ["Content-Length: 5", "Transfer-Encoding: chunked"])
@pytest.mark.parametrize("path", ["/tasks", "/hooks/x"])
def test_a_slow_body_is_not_waited_for(fortress, framing, path):
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{fortress.port}\r\n{framing}\r\n"

    reply = fortress.raw(f"{head}Authorization: Bearer {fortress.keys.operator}\r\n\r\n".encode() + b"1\r\n")

    held(fortress, reply, 408)
    assert reply.headers["connection"] == "close"


def test_who_hangs_up_in_the_middle_has_ordered_nothing(fortress):
    with fortress.connect() as line:
        head = f"POST /tasks HTTP/1.1\r\nHost: 127.0.0.1:{fortress.port}\r\nContent-Length: 10\r\n"
        line.sendall(f"{head}Authorization: Bearer {fortress.keys.operator}\r\n\r\n12345".encode())
        line.shutdown(socket.SHUT_WR)
        reply = read(line)

    assert (reply and reply.status, fortress.reached) in ((None, []), (400, []))


@pytest.mark.parametrize(
    "framing",
    [
        "Content-Length: 5\r\nContent-Length: 6",
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 5",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
        "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding: xchunked",
        "Transfer-Encoding : chunked",
        "Content-Length: +5",
        "Content-Length: 5, 6",
        "Content-Length: -1",
        "Content-Length: 0x5",
    ],
)
def test_a_request_within_a_request_is_not_heard(fortress, framing):
    inner = f"0\r\n\r\nPOST /smuggled HTTP/1.1\r\nHost: 127.0.0.1:{fortress.port}\r\n\r\n"
    head = (
        f"POST /tasks HTTP/1.1\r\nHost: 127.0.0.1:{fortress.port}\r\nAuthorization: Bearer {fortress.keys.operator}\r\n"
    )

    with fortress.connect() as line:
        line.sendall(f"{head}{framing}\r\n\r\n{inner}".encode())
        line.shutdown(socket.SHUT_WR)
        data = b""
        while piece := line.recv(65_536):
            data += piece

    assert parsed(data).status in (400, 501)
    assert data.count(b"HTTP/1.1 ") == 1  # nothing after it was read as a request
    assert fortress.reached == []


def test_who_is_refused_while_it_sends_sees_the_answer_and_may_go_on(fortress):
    host = f"Host: 127.0.0.1:{fortress.port}\r\n"
    with fortress.connect() as line:
        line.sendall(f"POST /tasks HTTP/1.1\r\n{host}Content-Length: 900\r\n\r\n".encode() + b"x" * 100)
        data = b""
        while not data.endswith(b"</html>\n"):
            data += line.recv(65_536)
        assert data.startswith(b"HTTP/1.1 401 ")
        line.sendall(b"x" * 800 + f"GET /healthz HTTP/1.1\r\n{host}Connection: close\r\n\r\n".encode())
        assert read(line).status == 200


def test_bodies_together_are_bounded(tmp_path):
    with open_fortress(tmp_path, bodies=1000, body_s=5.0) as fortress, fortress.connect() as line:
        head = f"POST /tasks HTTP/1.1\r\nHost: 127.0.0.1:{fortress.port}\r\nContent-Length: 900\r\n"
        line.sendall(f"{head}Authorization: Bearer {fortress.keys.operator}\r\n\r\n".encode() + b"x" * 800)
        while fortress.guard._bodies.held < 800:
            assert fortress.ask("GET", "/healthz").status == 200
        fortress.reached.clear()

        held(fortress, reply := fortress.ask("POST", "/tasks", fortress.bearer(), b"x" * 300), 503)
        assert reply.headers["retry-after"] == "2"
        assert fortress.ask("POST", "/hooks/x", {}, b"x" * 300).status == 200  # strangers' are counted apart


# --- answers


def test_every_answer_is_dressed(fortress):
    asked = [("GET", "/tasks"), ("GET", "/nothing"), ("GET", "/broken"), ("GET", "/healthz"), ("HEAD", "/tasks")]
    for method, path in asked:
        headers = fortress.ask(method, path, fortress.bearer()).headers
        assert headers["content-security-policy"] == CSP
        assert headers["x-frame-options"] == "DENY"  # whatever the application says
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        assert headers["cross-origin-opener-policy"] == headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["cache-control"] == "no-store"
        assert "permissions-policy" in headers
        assert not {"server", "strict-transport-security", "access-control-allow-origin"} & set(headers)
    assert "unsafe" not in CSP


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/static/app.css", "no-cache"),
        ("/static/app.css?v=1", "public, max-age=31536000, immutable"),
        ("/static/none.css?v=1", "no-store"),
    ],
)
def test_files_are_kept_by_their_version(fortress, path, told):
    assert fortress.ask("GET", path).headers["cache-control"] == told


def test_a_bug_is_told_to_us_and_to_nobody_else(fortress):
    fortress.bugs.clear()

    page, api = (fortress.ask("GET", path, fortress.bearer()) for path in ("/broken", "/api/v1/broken"))
    half = fortress.ask("GET", "/half", fortress.bearer())

    assert (page.status, api.status) == (500, 500)
    assert b"secret words" not in page.body + api.body + half.body
    assert not half.body.endswith(b"0\r\n\r\n")  # broken off, and seen to be
    assert [str(each) for each in fortress.bugs] == ["secret words"] * 3


def test_a_header_never_becomes_two(fortress):
    fortress.bugs.clear()

    reply = fortress.ask("GET", "/injecting?to=/x%0d%0aSet-Cookie:%20a=b", fortress.bearer())

    assert (reply.status, "set-cookie" in reply.headers) == (500, False)
    assert "line break" in str(fortress.bugs[0])
    assert fortress.ask("GET", "/injecting?to=/x", fortress.bearer()).headers["location"] == "/x"


def test_there_are_no_web_sockets(fortress):
    headers = {"Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="}

    with fortress.connect() as line:
        told = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        line.sendall(
            f"GET /x HTTP/1.1\r\nHost: 127.0.0.1:{fortress.port}\r\nConnection: upgrade\r\n{told}\r\n".encode()
        )
        line.shutdown(socket.SHUT_WR)
        held(fortress, read(line), 401)


# --- coming in and leaving


def test_a_link_lets_in_once(fortress):
    key = fortress.link()

    first, again = fortress.follow(key), fortress.follow(key)

    assert first.status == 200
    assert b'http-equiv="refresh"' in first.body
    assert (first.headers["referrer-policy"], first.headers["cache-control"]) == ("no-referrer", "no-store")
    cookie, _, rest = first.headers["set-cookie"].partition("; ")
    assert rest == "Path=/; Max-Age=43200; HttpOnly; SameSite=Strict"
    assert (again.status, "set-cookie" in again.headers) == (410, False)
    assert b"keisei console link" in again.body
    assert key.encode() not in first.body + again.body
    assert fortress.ask("GET", "/tasks", {"Cookie": cookie}).status == 200
    assert fortress.reached == [("GET", "/tasks", "operator", b"")]


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec_Purpose": "prefetch;prerender"},
        {"Purpose": "prefetch"},
        {"Sec_Fetch_Dest": "image", "Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors"},
        {"Sec_Fetch_Dest": "iframe", "Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"},
        {"Sec_Fetch_Dest": "empty", "Sec_Fetch_Site": "same-origin"},
    ],
)
def test_who_only_looks_at_a_link_does_not_use_it_up(fortress, headers):
    key = fortress.link()

    assert fortress.follow(key, **headers).status in (403, 503)
    for method in ("HEAD", "POST", "OPTIONS"):
        assert fortress.ask(method, f"/enter?key={key}").status == 405
    followed = {"Sec_Fetch_Dest": "document", "Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}
    assert fortress.follow(key, **followed).status == 200


@pytest.mark.parametrize(
    "query", ["", "?key=", "?key=x", "?key=../operator-token", "?key=%00", "?key=%ff", "?" + "a=1&" * 50]
)
def test_a_link_that_is_none_is_told(fortress, query):
    held(fortress, fortress.ask("GET", f"/enter{query}"), 410)


@pytest.mark.parametrize(
    ("place", "goes"),
    [
        ("/forge", "/forge"),
        ("//evil.example", "/"),
        ("https://evil.example/", "/"),
        ("/%0d%0aset-cookie:a=b", "/"),
        ("/x%22%3E%3Cscript%3E", "/"),
        ("/forge&to=/tasks", "/"),
    ],
)
def test_a_link_leads_to_a_page_of_ours_and_nowhere_else(fortress, place, goes):
    reply = fortress.ask("GET", f"/enter?key={fortress.link()}&to={place}")
    assert f'content="0; url={goes}"' in reply.body.decode()


def test_who_leaves_is_gone_whoever_kept_the_cookie(fortress):
    headers = fortress.browser("viewer")
    held(fortress, fortress.ask("POST", "/leave", {**headers, "X-CSRF-Token": "x"}), 403)
    assert fortress.ask("GET", "/leave", headers).status == 405

    reply = fortress.ask("POST", "/leave", headers)

    assert reply.status == 200
    assert reply.headers["set-cookie"] == set_cookie(fortress.cookie, "", is_tls=False, seconds=0)
    held(fortress, fortress.ask("GET", "/tasks", headers), 401)
    held(fortress, fortress.ask("POST", "/leave", fortress.bearer()), 403)
