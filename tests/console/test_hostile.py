"""A hostile browser against the whole console: every page, twin, order and route there is.

The house is full of hostile text (tests/console/hostile.py), and the console is served as it is for people. Whatever is
refused has changed nothing: no row, no file.
"""

import hashlib
import http.cookies
import json
import re
from itertools import groupby
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlencode

import msgspec
import pytest

from keisei.console import table
from keisei.console.app import FORM
from keisei.console.guard_header import CSP
from keisei.console.link import make_link
from keisei.console.page import API, Order
from keisei.console.pipe_session import Sessions
from tests.console import hostile
from tests.console.hostile import FILES, MARKUP, PIPE, SECRET, Markup, evil, open_stronghold, read

JSON = "application/json"
HOOK = "a secret that is long enough"
SCRIPT = {"task_type": "script", "payload": {"args": ["-c", "true"]}}
SHAS = {
    f"{name.lower()}_sha256": hashlib.sha256(FILES[f".keisei/agents/indra/{name}.md"].encode()).hexdigest()
    for name in ("SOUL", "PURPOSE")
}
BODIES = {
    "/tasks": SCRIPT,
    "/tasks/run": {"instruction": "Mend it.", "role": "read-only"},
    "/schedules": {"name": "n", "every": "1d", **SCRIPT},
    "/workflows": {"type": "release", "key": "k"},
    "/workflows/{workflow_id}/signal": {"signal": "written"},
    "/workflows/{workflow_id}/transition": {"state": "done"},
    "/approvals/{approval_id}/answer": {"text": "yes"},
    "/agents/{agent_id}/accept": SHAS,
    "/atoms/{atom_id}/invoke": {"input": {"path": "x"}},
    "/pipes/plan": {"pipe": PIPE},
    "/pipes/run": {"pipe": PIPE},
    "/forge/look": {"draft": {}},
    "/forge/infer": {"example": {"a": 1}, "side": "input"},
    "/forge/schema": {"draft": {}, "side": "input"},
    "/forge/try": {"draft": {}},
    "/forge/write": {"draft": {}, "seen": "x"},
    "/forge/undo": {"receipt_id": "x"},
}
"""What each order needs to be carried out, or nearly; others need nothing."""
OPERATORS = [order for order in table.ORDERS if order.needs == "operator"]


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KEISEI_TEST_HOOK_SECRET", HOOK)
        with open_stronghold(tmp_path_factory.mktemp("a stronghold"), body=60_000) as made:
            for page in table.PAGES:  # whatever is opened when it is first asked for
                made.get(made.filled(page.twin))
            yield made


@pytest.fixture
def unchanged(house):
    """Whatever the test does has changed nothing."""
    if house.known is None:
        house.known = house.digest()
    yield
    before, house.known = house.known, house.digest()
    assert [name for name in {**before, **house.known} if before.get(name) != house.known.get(name)] == []
    assert house.bugs == []


def checked(reply, where):
    """The page, which has every header and nothing in it that is not ours."""
    assert reply is not None, where
    assert reply.status < 500, (where, reply)
    dressed(reply, where)
    assert reply.headers["content-type"] == "text/html; charset=utf-8", where
    page = Markup(reply.body.decode("utf-8"))
    assert page.faults == [], where
    assert [page.tags.count(tag) for tag in ("html", "body", "main", "h1")] == [1, 1, 1, 1], where
    return page


def dressed(reply, where):
    policies = reply.headers["content-security-policy"]
    assert CSP in policies, where
    assert "unsafe" not in policies, where
    assert reply.headers["x-content-type-options"] == "nosniff", where
    assert reply.headers["x-frame-options"] == "DENY", where
    assert reply.headers["cross-origin-opener-policy"] == "same-origin", where
    assert reply.headers["cross-origin-resource-policy"] == "same-origin", where
    assert reply.headers["cache-control"] == "no-store", where
    assert "access-control-allow-origin" not in reply.headers, where
    assert "server" not in reply.headers, where


# --- what agents write ------------------------------------------------------------------------------------------------


PAGE = re.compile(r"/(?!api/|static/|attempts/[^/]*/evidence/|tasks/[^/]*/artifacts/)")
"""A link to a page of ours, and not to a file."""


@pytest.fixture(scope="module")
def shown(house):
    """Every page there is, by its address, with those they lead to."""
    plan = house.ask(
        "POST", f"{API}/pipes/plan", {**house.bearer(), "Content-Type": JSON}, json.dumps({"pipe": PIPE}).encode()
    )
    told = [house.filled(page.path) for page in table.PAGES]
    told.append(f"/atoms/kei-shop%3A%3Alook/calls/{house.failed_call}")
    told += [f"/attempts/{run.id}" for run in house.runs] + [f"/tasks/{house.ids['pending']}"]
    told += [f"/pipes/new?plan={json.loads(plan.body)['plan_id']}", "/tasks/new?task_type=odd", "/ledger?limit=200"]
    told += [f"/ledger/{number}" for number in range(1, int(house.ids["seq"]))]
    told += ["/approvals?status=all", "/workflows?status=all", "/runners?gone=true", "/forge?edit=kei-shop%3A%3Alook"]
    found = {address: house.get(address) for address in dict.fromkeys(told)}
    linked = {link.partition("#")[0] for reply in found.values() for link in Markup(reply.body.decode()).links}
    own = sorted(link for link in linked - set(found) if PAGE.match(link))
    for _, group in groupby(own, lambda link: link.split("/")[1].partition("?")[0]):
        found |= {address: house.get(address) for address in list(group)[:6]}
    return found


def test_every_page_and_all_they_lead_to_show_hostile_text_as_text(shown):
    for address, reply in shown.items():
        checked(reply, address)
        assert reply.status in (200, 400, 404), address


HIDDEN = {
    "approval-key", "artifact", "decider", "diagnostics-key", "error", "path", "pipe-given", "report", "session",
    "skill", "subtype", "version",
}  # fmt: skip
"""What no page shows today, or shows only as a file."""


def test_hostile_text_of_every_kind_was_really_there(shown):
    pages = "\n".join(reply.body.decode() for reply in shown.values())
    wanted = set(re.findall(r'evil\(\s*["\']([a-z-]+)["\']', Path(hostile.__file__).read_text()))
    missing = {name for name in wanted if not re.search(rf"evil-{name}\b", pages)}
    assert missing <= HIDDEN
    assert "&lt;x-evil onmarker=1" in pages


def test_the_parser_sees_what_it_is_there_for():
    tags = ("<a href='javascript:evil(1)'>", "<b onclick=1>", "<p style='x'>", "<script src='//evil'>", "<!--evil-->")
    for text in (MARKUP, *tags, "\x1b", "\u202e"):
        assert Markup(f"<p>{text}</p>").faults, text
    assert Markup("<p title='&lt;x-evil&gt;'>&lt;x-evil onmarker=1&gt;</p><a href='/x?javascript:'>").faults == []


def test_every_twin_is_json_and_says_so(house):
    for page in table.PAGES:
        reply = house.get(house.filled(page.twin))
        dressed(reply, page.twin)
        assert reply.status == 200, (page.twin, reply.body[:300])
        assert reply.headers["content-type"] == JSON
        assert isinstance(json.loads(reply.body), dict)


def queried(page):
    """The words that can be asked of a page."""
    return [
        field.encode_name for field in msgspec.structs.fields(page.asks) if f"{{{field.encode_name}" not in page.path
    ]


QUESTIONS = [evil("asked"), "\x00", "%00\r\nSet-Cookie: a=b", "x" * 9000, "\uff19" * 10, "-1", "null"]


@pytest.mark.parametrize("words", QUESTIONS, ids=range(len(QUESTIONS)))
@pytest.mark.usefixtures("unchanged")
def test_hostile_questions_are_data(house, words):
    for page in table.PAGES:
        names = queried(page)
        checked(house.get(f"{house.filled(page.path)}?{urlencode(dict.fromkeys(names, words))}"), page.path)
        for name in names if words in QUESTIONS[:2] else ():
            reply = house.get(f"{house.filled(page.twin)}?{urlencode({name: words})}")
            assert reply.status < 500, (page.twin, name)
            json.loads(reply.body)
            assert "set-cookie" not in reply.headers


@pytest.mark.usefixtures("unchanged")
def test_hostile_names_of_questions_and_cookies_and_keys_are_data(house):
    query = urlencode({MARKUP: MARKUP, "__proto__": "x", "csrf": "x"})
    for page in table.PAGES:
        checked(house.get(f"{house.filled(page.path)}?{query}&&=&%ff=%ff"), page.path)
    cookie = house.session()[0]
    for words in (f"a={MARKUP.replace(';', '')}; {cookie}", f"{cookie}; {'x' * 9000}", f"=;;;=; {cookie}"):
        reply = house.ask("GET", "/", {"Cookie": words, "X-Forwarded-Host": "evil.example", "Referer": MARKUP})
        assert checked(reply, words)
        assert b"evil.example" not in reply.body
    for key in (MARKUP, "a" * 201, "", "\x7f"):
        head = {**house.bearer(), "Content-Type": JSON, "Idempotency-Key": key}
        assert house.ask("POST", f"{API}/runners/resume", head, b"{}").status == 422


# --- files ------------------------------------------------------------------------------------------------------------


def downloads(house):
    for attempt in (house.ids["attempt_id"], house.ids["running"]):
        listed = json.loads(house.get(f"{API}/attempts/{attempt}").body)["files"]
        yield from (f"/attempts/{attempt}/evidence/{quote(each['name'], safe='')}" for each in listed)
    yield from (f"/tasks/{house.ids['task_id']}/artifacts/{each}" for each in house.artifacts)


@pytest.mark.usefixtures("unchanged")
def test_files_are_kept_by_browsers_and_never_shown_by_them(house):
    seen = 0
    for path in downloads(house):
        for address in (path, API + path):
            reply = house.get(address)
            assert SECRET.encode() not in reply.body, address
            assert reply.status in (200, 404), address
            dressed(reply, address)
            if reply.status == 404:
                continue
            seen += 1
            assert reply.headers["content-disposition"].startswith("attachment; filename*=UTF-8''"), address
            assert not re.search(r"[\"'<>;\s]", reply.headers["content-disposition"].split("''")[1]), address
            assert reply.headers["content-type"] in ("text/plain; charset=utf-8", "application/octet-stream"), address
    assert seen >= 2 * 8


@pytest.mark.usefixtures("unchanged")
def test_links_that_lead_out_of_the_house_are_not_followed(house):
    first, *others = house.artifacts
    assert house.get(f"/tasks/{house.ids['task_id']}/artifacts/{first}").status == 200
    for artifact in others:
        assert house.get(f"/tasks/{house.ids['task_id']}/artifacts/{artifact}").status == 404
    reply = house.get(f"/attempts/{house.ids['running']}/evidence/relay.jsonl")
    assert (reply.status, SECRET.encode() in reply.body) == (404, False)


# --- paths ------------------------------------------------------------------------------------------------------------

UP = "%2e%2e%2f"
TRICKS = [
    "..", "%2e%2e", f"{UP * 8}etc%2fpasswd", f"{UP * 3}secret.txt", "..%5c..%5csecret.txt", "a%00.log",
    "%0d%0aSet-Cookie:%20a=b", "%c0%ae%c0%ae%c0%af", "%ff", "%ed%a0%80", "x" * 3000, "x" * 1900, "a//b",
    "%2f%2fevil.example", "%ef%bc%8f%ef%bc%8e%ef%bc%8e", "%f0%9f%92%a9", "a;b=c", "%E2%80%AE", "%20",
    "%3Cx-evil%20onmarker%3D1%3E", "%7B%7B7*7%7D%7D", "1%27%20OR%201=1--", "9" * 40, "constructor",
]  # fmt: skip


def addresses():
    """Method and path of everything with a name in its path."""
    for page in table.PAGES:
        yield from (("GET", path) for path in (page.path, page.twin) if "{" in path)
    for order in table.ORDERS:
        yield from (("POST", path) for path in (order.twin,) if "{" in path)
    for route in table.ROUTES:
        if "{" in route.path and not route.path.endswith("/stream"):
            yield from ((method, route.path) for method in (route.methods or {"GET", "POST"}) - {"HEAD"})


@pytest.mark.parametrize("trick", TRICKS, ids=range(len(TRICKS)))
@pytest.mark.usefixtures("unchanged")
def test_no_path_leads_out_of_the_house(house, trick):
    for method, path in addresses():
        for name in re.findall(r"\{[^}]*\}", path):
            address = house.filled(path.replace(name, "\0")).replace("\0", trick)
            head = {**house.bearer(), **({"Content-Type": JSON} if method == "POST" else {})}
            reply = house.ask(method, address, head, body(path.removeprefix(API)) if method == "POST" else b"")
            assert 400 <= reply.status < 500, (method, address, reply)
            dressed(reply, address)
            assert SECRET.encode() not in reply.body, address
            assert b"root:" not in reply.body, address
            assert "set-cookie" not in reply.headers, address
            assert "location" not in reply.headers, address
            if reply.headers["content-type"].startswith("text/html"):
                assert Markup(reply.body.decode()).faults == [], address


@pytest.mark.usefixtures("unchanged")
def test_streams_of_nothing_are_no_streams(house):
    for trick in TRICKS:
        reply = house.ask("GET", f"{API}/attempts/{trick}/stream", house.bearer())
        assert 400 <= reply.status < 500, (trick, reply)


# --- orders -----------------------------------------------------------------------------------------------------------


def body(path):
    return json.dumps(BODIES.get(path, {})).encode()


def words(path, csrf):
    said = {name: json.dumps(each) if isinstance(each, dict) else each for name, each in BODIES.get(path, {}).items()}
    return urlencode({**said, **({"csrf": csrf} if csrf is not None else {})}).encode()


def target(house, path):
    """Where an order is asked for, so that it would be carried out."""
    return house.filled(path.replace("{task_id}/cancel", "{pending}/cancel"))


def program(house, order, *, method="POST", host=None, data=None, role="operator", **head):
    """A request as a program with a token sends it, but for what is said otherwise; None leaves a header out."""
    told = {**house.bearer(role), "Content-Type": JSON}
    told |= {name.replace("_", "-"): value for name, value in head.items()}
    told = {name: value for name, value in told.items() if value is not None}
    content = body(order.path) if data is None else data
    return house.request(method, target(house, order.twin), told, content, host=host)


def browser(house, order, *, host=None, csrf="own", kind=FORM, role="operator", **head):
    """A form as one of our pages sends it, but for what is said otherwise."""
    cookie, own = house.session(role)
    given = {"own": own, "none": None, "wrong": "0" * 64, "other": house.session(role)[1]}[csrf]
    told = {"Cookie": cookie, "Origin": house.origin, "Sec-Fetch-Site": "same-origin", "Content-Type": kind}
    told |= {name.replace("_", "-"): value for name, value in head.items()}
    told = {name: value for name, value in told.items() if value is not None}
    return house.request("POST", target(house, order.path), told, words(order.path, given), host=host)


def chunked(house, order):
    data = b"%x\r\n%b\r\n0\r\n\r\n" % (70_000, b" " * 70_000)
    return program(house, order, data=data, Transfer_Encoding="chunked")


ATTACKS = {
    "another name": (421, lambda h, o: program(h, o, host="evil.example")),
    "another name, our port": (421, lambda h, o: program(h, o, host=f"evil.example:{h.port}")),
    "another site's page with a token": (403, lambda h, o: program(h, o, Origin="https://evil.example")),
    "a sandboxed page": (403, lambda h, o: program(h, o, Origin="null")),
    "another site, as the browser says": (403, lambda h, o: program(h, o, Sec_Fetch_Site="cross-site")),
    "a neighbour's site": (403, lambda h, o: program(h, o, Sec_Fetch_Site="same-site")),
    "no token": (401, lambda h, o: program(h, o, Authorization=None)),
    "a wrong token": (401, lambda h, o: program(h, o, Authorization="Bearer x")),
    "the token as a password": (401, lambda h, o: program(h, o, Authorization=f"Basic {h.keys.operator}")),
    "the token as a cookie": (401, lambda h, o: program(h, o, Authorization=None, Cookie=f"keisei={h.keys.operator}")),
    "put": (405, lambda h, o: program(h, o, method="PUT")),
    "delete": (405, lambda h, o: program(h, o, method="DELETE")),
    "patch": (405, lambda h, o: program(h, o, method="PATCH")),
    "text": (415, lambda h, o: program(h, o, Content_Type="text/plain")),
    "no kind": (415, lambda h, o: program(h, o, Content_Type=None)),
    "a form to the API": (415, lambda h, o: program(h, o, Content_Type=FORM)),
    "too large by its own word": (413, lambda h, o: program(h, o, data=b" ", Content_Length=str(10**9))),
    "too large in pieces": (413, chunked),
    "two lengths": (400, lambda h, o: program(h, o, Transfer_Encoding="chunked", Content_Length="2")),
    "not JSON": (422, lambda h, o: program(h, o, data=b"{'")),
    "a list": (422, lambda h, o: program(h, o, data=b"[1]")),
    "unknown words": (422, lambda h, o: program(h, o, data=b'{"x-evil": 1}')),
    "a well of brackets": (422, lambda h, o: program(h, o, data=b'{"x": ' + b"[" * 50_000)),
    "no Unicode": (422, lambda h, o: program(h, o, data=b'{"\xff": 1}')),
    "a form of another name": (421, lambda h, o: browser(h, o, host="evil.example")),
    "a form of another site": (403, lambda h, o: browser(h, o, Origin="https://evil.example")),
    "a form of another site that hides": (403, lambda h, o: browser(h, o, Origin="null", Sec_Fetch_Site=None)),
    "a form that comes from another site": (403, lambda h, o: browser(h, o, Origin=None, Sec_Fetch_Site="cross-site")),
    "a form from nowhere": (403, lambda h, o: browser(h, o, Origin=None, Sec_Fetch_Site=None)),
    "a form without its token": (403, lambda h, o: browser(h, o, csrf="none")),
    "a form with a wrong token": (403, lambda h, o: browser(h, o, csrf="wrong")),
    "a form with another session's token": (403, lambda h, o: browser(h, o, csrf="other")),
    "a form without its session": (401, lambda h, o: browser(h, o, Cookie=None)),
    "a form as text": (403, lambda h, o: browser(h, o, kind="text/plain")),
    "a form in parts": (403, lambda h, o: browser(h, o, kind="multipart/form-data; boundary=x")),
    "a form as JSON": (403, lambda h, o: browser(h, o, kind=JSON)),
}  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.usefixtures("unchanged")
def test_no_order_is_carried_out_for_a_hostile_browser(house, attack):
    status, made = ATTACKS[attack]
    for order in table.ORDERS:
        reply = house.raw(made(house, order))
        assert reply is not None, order.path
        assert reply.status == status, (order.path, reply)
        dressed(reply, order.path)


class Old(NamedTuple):
    """An order at one of the original's addresses."""

    path: str

    @property
    def twin(self):
        return self.path


OLD = [
    Old(route.path) for route in table.ROUTES if "POST" in getattr(getattr(route, "endpoint", None), "_handlers", {})
]
BODIES |= {
    "/api/tasks/queue": {"message": "Mend it."},
    "/api/schedules": {"name": "n", "interval_seconds": 60, "task": SCRIPT},
    "/api/sensors/events": {"sensor_id": "s", "source_ref": "r", "dedupe_key": "k", "payload": {}},
    "/api/pause": {"paused": False},
}
AT_THE_DOOR = {name: each for name, each in ATTACKS.items() if each[0] not in (415, 422) and "form" not in name}


@pytest.mark.parametrize("attack", AT_THE_DOOR)
@pytest.mark.usefixtures("unchanged")
def test_no_old_order_is_carried_out_either(house, attack):
    assert {"/api/tasks/queue", "/api/tasks/{task_id}/cancel", "/api/pause"} <= {order.path for order in OLD}
    status, made = AT_THE_DOOR[attack]
    for order in OLD:
        reply = house.raw(made(house, order))
        assert reply.status == status, (order.path, reply)
        dressed(reply, order.path)


@pytest.mark.usefixtures("unchanged")
def test_a_session_orders_nothing_old_without_its_token(house):
    told = {"Authorization": None, "Cookie": house.session()[0], "Origin": house.origin}
    for kind in (JSON, "text/plain", FORM, None):
        for order in OLD:
            assert house.raw(program(house, order, **told, Content_Type=kind)).status == 403, (order.path, kind)
    for order in OLD:
        assert house.raw(program(house, order, role="viewer")).status == 403, order.path


@pytest.mark.parametrize("made", [program, browser])
@pytest.mark.usefixtures("unchanged")
def test_viewers_order_nothing(house, made):
    for order in OPERATORS:
        assert house.raw(made(house, order, role="viewer")).status == 403, order.path


@pytest.mark.usefixtures("unchanged")
def test_what_viewers_may_ask_for_changes_nothing(house):
    free = [order for order in table.ORDERS if order.needs == "viewer"]
    assert {order.path for order in free} == {
        "/pipes/plan", "/forge/look", "/forge/infer", "/forge/schema", "/ledger/verify"
    }  # fmt: skip
    for order in free:
        for head in ({}, {"Idempotency-Key": "once"}):
            assert house.raw(program(house, order, role="viewer", **head)).status < 500, order.path
        assert house.raw(browser(house, order, role="viewer")).status < 500, order.path


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
@pytest.mark.usefixtures("unchanged")
def test_looking_orders_nothing(house, method):
    for order in table.ORDERS:
        for path in (order.path, order.twin):
            head = {**house.bearer(), "X-HTTP-Method-Override": "POST", "Content-Type": JSON}
            query = f"?_method=POST&{words(order.path, 'x').decode()[:1500]}"
            reply = house.ask(method, target(house, path) + query, head)
            assert reply.status < 500, (method, path)
            assert reply.status != 303


@pytest.mark.usefixtures("unchanged")
def test_orders_that_come_drop_by_drop_are_not_carried_out(house):
    lines = []
    for order in table.ORDERS:
        for made in (program(house, order, data=b'{"a": 1}'), browser(house, order)):
            line = house.connect()
            line.sendall(made[:-3])
            lines.append(line)
    for line in lines:
        with line:
            assert read(line).status == 408


@pytest.mark.usefixtures("unchanged")
def test_half_an_order_and_gone_is_not_carried_out(house):
    for order in table.ORDERS:
        with house.connect() as line:
            line.sendall(program(house, order, data=b"{}" + b" " * 40)[:-3])
    assert house.ask("GET", "/healthz").status == 200


@pytest.mark.usefixtures("unchanged")
def test_two_requests_in_one_are_not_two_orders(house):
    """A body that another reader would take for the next request, with everything an order needs."""
    order = next(each for each in table.ORDERS if each.path == "/runners/estop")
    inner = program(house, order)
    for head, content in (
        ({"Transfer-Encoding": "chunked", "Content-Length": "5"}, b"0\r\n\r\n"),
        ({"Transfer-Encoding": "chunked, identity"}, b"0\r\n\r\n"),
        ({"Transfer-Encoding": "xchunked"}, b"0\r\n\r\n"),
        ({"Content-Length": "+0"}, b""),
    ):
        outer = house.request("POST", "/nowhere", {**head, "Content-Type": JSON}, content)
        reply = house.raw(outer.replace(b"Connection: close", b"Connection: keep-alive") + inner)
        assert reply.status in (400, 401, 501), head


@pytest.mark.usefixtures("unchanged")
def test_deliveries_that_nobody_signed_are_no_events(house):
    for head in ({}, {"X-Hub-Signature-256": "sha256=" + "0" * 64, "X-GitHub-Delivery": "1", "X-GitHub-Event": "push"}):
        for name in ("gh", "none", quote(MARKUP, safe="")):
            reply = house.ask("POST", f"/hooks/{name}", {**head, "Content-Type": JSON}, b'{"a": 1}')
            assert 400 <= reply.status < 500, (name, reply)
            dressed(reply, name)


@pytest.mark.usefixtures("unchanged")
def test_nobody_else_ends_a_session(house):
    cookie, csrf = house.session()
    told = {"Cookie": cookie, "Content-Type": FORM}
    for head, content in (
        ({"Origin": "https://evil.example"}, f"csrf={csrf}"),
        ({"Origin": house.origin}, ""),
        ({"Origin": house.origin}, "csrf=x"),
        ({"Sec-Fetch-Site": "cross-site"}, f"csrf={csrf}"),
    ):
        assert house.ask("POST", "/leave", told | head, content.encode()).status == 403
    assert house.ask("GET", "/leave", {"Cookie": cookie}).status == 405
    assert house.ask("GET", "/", {"Cookie": cookie}).status == 200


# --- who looks --------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("unchanged")
def test_strangers_see_nothing(house):
    paths = [page.path for page in table.PAGES] + [page.twin for page in table.PAGES]
    paths += [route.path for route in table.ROUTES if "GET" in (route.methods or {"GET"})]
    paths = [path for path in paths if path != "/healthz"]
    for path in [
        *(house.filled(path.replace("{rest:path}", "rest")) for path in paths),
        f"{API}/openapi.json",
        "/nowhere",
        f"{API}/nowhere",
    ]:
        for head in (
            {},
            {"Cookie": "keisei=x"},
            {"Authorization": "Bearer "},
            {"Origin": "https://evil.example", **house.bearer()},
        ):
            reply = house.ask("GET", path, head)
            assert reply.status in (401, 403), path
            assert b"evil-" not in reply.body, path
            dressed(reply, path)


@pytest.mark.usefixtures("unchanged")
def test_viewers_see_no_secret_of_the_house(house):
    for page in table.PAGES:
        for path in (page.path, page.twin):
            reply = house.get(house.filled(path), role="viewer")
            assert reply.status == 200, path
            for secret in (house.keys.operator, house.keys.viewer, house.keys.key.decode(), HOOK):
                assert secret.encode() not in reply.body, path


@pytest.mark.usefixtures("unchanged")
def test_another_site_may_lead_here_and_read_nothing(house):
    cookie = {"Cookie": house.session()[0]}
    followed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert house.ask("GET", "/tasks", cookie | followed).status == 200
    for framed in ("iframe", "frame", "embed", "object", "script", "image", "style", "empty"):
        assert house.ask("GET", "/tasks", cookie | followed | {"Sec-Fetch-Dest": framed}).status == 403
    for mode in ("cors", "no-cors", "websocket"):
        assert house.ask("GET", "/tasks", cookie | followed | {"Sec-Fetch-Mode": mode}).status == 403
    assert house.ask("GET", f"{API}/tasks", cookie | followed).status == 403


@pytest.mark.usefixtures("unchanged")
def test_answers_are_kept_by_nobody_and_known_by_what_they_say(house):
    cookie = {"Cookie": house.session()[0]}
    first = house.ask("GET", f"{API}/roles", cookie)
    again = house.ask("GET", f"{API}/roles", cookie | {"If-None-Match": first.headers["etag"]})
    assert (again.status, again.body, again.headers["cache-control"]) == (304, b"", "no-store")
    stranger = house.ask("GET", f"{API}/roles", {"If-None-Match": first.headers["etag"]})
    assert stranger.status == 401
    assert "etag" not in stranger.headers
    other = house.ask("GET", f"{API}/roles", cookie | {"If-None-Match": MARKUP + ',W/"x",' * 2000})
    assert other.status == 200


# --- coming in --------------------------------------------------------------------------------------------------------


def test_a_link_lets_in_once_and_leads_nowhere_else(house):
    house.known = None
    key = make_link(house.premises.home.folder, "viewer")
    ahead = house.ask("GET", f"/enter?key={key}", {"Sec-Purpose": "prefetch"})
    framed = house.ask("GET", f"/enter?key={key}", {"Sec-Fetch-Dest": "iframe"})
    posted = house.ask("POST", f"/enter?key={key}")
    assert (ahead.status, framed.status, posted.status) == (503, 403, 405)

    first = house.ask("GET", f"/enter?key={key}&to=https://evil.example&then=//evil.example&next=javascript:evil(1)")

    assert first.status == 200
    assert b"evil" not in first.body
    assert "location" not in first.headers
    (cookie,) = http.cookies.SimpleCookie(first.headers["set-cookie"]).values()
    assert (cookie["httponly"], cookie["samesite"], cookie["path"], cookie["domain"]) == (True, "Strict", "/", "")
    assert key.encode() not in first.body
    assert house.ask("GET", f"/enter?key={key}").status == 410
    inside = {"Cookie": f"{cookie.key}={cookie.value}"}
    assert house.ask("GET", "/", inside).status == 200
    forged = cookie.value.replace(".viewer.", ".operator.")
    assert house.ask("GET", "/", {"Cookie": f"{cookie.key}={forged}"}).status == 401


DEEPLY = {"payload", "context", "input", "draft", "example", "task"}
"""Fields that take any JSON."""
DEEP = b"[" * 900 + b"]" * 900


def test_orders_that_are_nested_deeply_are_no_bugs(tmp_path):
    """Deeper than rules go down, and not so deep that nobody reads it."""
    with open_stronghold(tmp_path, body=60_000) as house:
        for order in (*table.ORDERS, *OLD):
            for name in DEEPLY & set(order.asks.__struct_encode_fields__ if isinstance(order, Order) else DEEPLY):
                data = body(order.path)[:-1] + b'%b"%b": {"deep": %b}}' % (
                    b", " if BODIES.get(order.path) else b"", name.encode(), DEEP
                )  # fmt: skip
                reply = house.raw(program(house, order, data=data))
                assert reply.status < 500, (order.path, name, reply)
        for page in table.PAGES:
            assert house.get(house.filled(page.path)).status < 500, page.path


def test_no_order_sends_a_browser_to_another_place(tmp_path):
    """Every order in its own right, asked as it should be: they are carried out, and lead to a page of ours."""
    with open_stronghold(tmp_path) as house:
        carried = {}
        for order in table.ORDERS:
            before = house.digest()
            evil_words = {"then": "//evil.example", "to": "https://evil.example", "next": "//evil.example"}
            made = browser(house, order)
            head, _, content = made.partition(b"\r\n\r\n")
            content += b"&" + urlencode(evil_words).encode()
            head = re.sub(rb"Content-Length: \d+", b"Content-Length: %d" % len(content), head)
            reply = house.raw(head + b"\r\n\r\n" + content)
            assert reply.status in (303, 404, 409, 422), (order.path, reply)
            if reply.status == 303:
                assert re.match(r"/(?!/)", reply.headers["location"]), order.path
                assert "evil" not in reply.headers["location"], order.path
            for thread in list(house.premises.keep(Sessions)._threads):
                thread.join()
            carried[order.path] = (reply.status == 303, house.digest() != before)
        assert house.bugs == []
    changing = {path for path, (_, changed) in carried.items() if changed}
    assert changing >= CHANGING  # so that `unchanged` above means something
    assert not changing & {order.path for order in table.ORDERS if order.needs == "viewer"}


CHANGING = {
    "/tasks", "/tasks/{task_id}/cancel", "/tasks/{task_id}/retry", "/runners/pause", "/runners/resume",
    "/runners/estop", "/runners/{runner_id}/drain", "/approvals/{approval_id}/approve",
    "/landings/{landing_id}/approve", "/landings/{landing_id}/reject", "/workflows",
    "/workflows/{workflow_id}/signal", "/schedules", "/schedules/{schedule_id:path}/pause",
    "/schedules/{schedule_id:path}/resume", "/schedules/{schedule_id:path}/delete",
    "/sensors/{sensor_id:path}/pause", "/sensors/{sensor_id:path}/resume", "/agents/{agent_id}/accept",
    "/atoms/{atom_id}/invoke", "/pipes/run",
}  # fmt: skip
"""Orders that change something in a house like this."""
