"""Behind a proxy: browsers come by its name and by TLS, and nothing that a request says of itself is believed."""

import asyncio

import pytest

from keisei.console.address import address
from keisei.console.guard import Guard, GuardConfig
from keisei.console.key import open_keys
from keisei.console.link import make_link

NAME = "console.example"


@pytest.fixture
def asked(tmp_path):
    reached = []

    async def app(scope, _receive, send):
        reached.append((scope["scheme"], scope["client"][0]))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    here = address(behind_proxy=f"https://{NAME}")
    guard = Guard(app, GuardConfig(home_folder=tmp_path, address=here, account="x"))

    def ask(method="GET", path="/tasks", query="", **headers):
        sent = []

        async def send(message):
            sent.append(message)

        async def receive():
            return {"type": "http.request", "body": b"", "more_body": False}

        told = {"host": NAME, "authorization": f"Bearer {open_keys(tmp_path).operator}", **headers}
        raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in told.items() if value is not None]
        scope = {"type": "http", "method": method, "path": path, "query_string": query.encode(), "headers": raw}
        asyncio.run(guard({**scope, "scheme": "http", "client": ("10.0.0.1", 1)}, receive, send))
        return sent[0]["status"], {name.decode(): value.decode() for name, value in sent[0]["headers"]}

    ask.reached, ask.folder = reached, tmp_path
    return ask


def test_the_public_name_is_served_as_browsers_see_it(asked):
    status, headers = asked(
        x_forwarded_for="1.2.3.4", x_forwarded_proto="http", forwarded="for=1.2.3.4;host=evil.example"
    )

    assert (status, asked.reached) == (200, [("https", "10.0.0.1")])
    assert headers["strict-transport-security"] == "max-age=31536000"


@pytest.mark.parametrize(
    "host", ["127.0.0.1:4314", "localhost:4314", "localhost", f"{NAME}:4314", f"{NAME}.", f"x.{NAME}"]
)
def test_no_other_name_is_served(asked, host):
    assert asked(host=host)[0] == asked(host=host, x_forwarded_host=NAME)[0] == 421
    assert asked.reached == []


@pytest.mark.parametrize(
    ("origin", "status"),
    [(f"https://{NAME}", 200), (f"http://{NAME}", 403), (f"https://{NAME}:444", 403), ("null", 403)],
)
def test_its_origin_is_the_proxy_s(asked, origin, status):
    assert asked("POST", origin=origin)[0] == status
    assert len(asked.reached) == int(status == 200)


def test_its_cookie_is_for_tls_alone(asked):
    key = make_link(asked.folder, "viewer")

    status, headers = asked(path="/enter", query=f"key={key}", authorization=None)
    again, _ = asked(authorization=None, cookie=headers["set-cookie"].partition(";")[0])

    assert (status, again) == (200, 200)
    assert headers["set-cookie"].startswith("__Host-keisei-")
    assert headers["set-cookie"].endswith("; Secure")
